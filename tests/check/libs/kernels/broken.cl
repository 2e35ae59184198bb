#include "two.clh"
#include "broken.clh"

kernel void
broken_in_line_7 (global int *sum)
{
  *sum = undeclared_there;
}
