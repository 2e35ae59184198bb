/* Finds out whether the pictures of a stream were mixed as light or as levels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "mixing.hpp"

#include <gst/opencl/core/devicebuffer.hpp>

namespace keying {
namespace {
const guint counter_count = 2;
const guint64 interval = 4;
/* Numbers of pixels and of looks that are enough */
const guint enough_votes = 40, enough_looks = 8;
/* Largest share of pixels for light in pictures of mixed levels, and pixels that are taken
 * for light in advance. Of 23 cut-outs with votes, the share is 0 to 0.6 for mixed levels, in
 * half of them below 0.2, and 0.35 to 0.8 for mixed light; in films 0.34 to 0.6. What is not
 * clear is light. */
const gdouble most_of_light = 0.3;
const guint in_advance = 3;
} // namespace

bool
Mixing::create_counters (GstOpenCLContext *context, GError **error)
{
  return opencl::make_buffer (context, counter_count * sizeof (cl_uint), counters, error)
         && numbers.create_block (context, counter_count, error);
}

bool
Mixing::is_due ()
{
  const bool enough = looks >= enough_looks && of_light + of_levels >= enough_votes;
  return frames++ % interval == 0 && !enough && !is_of_levels ();
}

bool
Mixing::begin (cl_command_queue queue, GError **error)
{
  const cl_uint zero = 0;
  return (!numbers.is_under_way () || add (error))
         && gst_opencl_check (clEnqueueFillBuffer (queue, counters (), &zero, sizeof zero,
                                  0, counter_count * sizeof zero, 0, nullptr,
                                  opencl::Profiled (queue, opencl::command::fill)),
             "clEnqueueFillBuffer", error);
}

bool
Mixing::end (cl_command_queue queue, GError **error)
{
  return numbers.read (queue, counters (), error) && (looks++ > 0 || add (error));
}

bool
Mixing::add (GError **error)
{
  const cl_uint *counted = numbers.wait (error);
  if (!counted)
    return false;
  of_light += counted[0];
  of_levels += counted[1];
  return true;
}

bool
Mixing::is_of_levels () const
{
  const guint light = of_light + in_advance;
  return light < most_of_light * (light + of_levels);
}
} // namespace keying
