kernel void
alignment (global int *found)
{
  *found = ALIGNMENT;
}
