/* Includes one file by two ways, and one of a deeper folder */
#include "one.clh"
# include "two.clh" // the same by another way of writing
#include <frame.clh>

kernel void
count (global int *sum)
{
  *sum = ONE + two () + three ();
}
