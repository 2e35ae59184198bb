/* Tells whether a frame was mixed as light or as levels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "mixing.hpp"

#include <gst/opencl/core/devicebuffer.hpp>

#include <cmath>

namespace keying {
namespace {
const guint counter_count = 3;
/* Units of the logarithm of the likelihood ratio, as in subject.cl */
const gdouble evidence_unit = 1. / 32;
const gdouble least_ratio = 100;
/* Largest share of pixels for light in frames of mixed levels. It is 0.02 to 0.12 in drawn
 * pictures of mixed levels, and 0.79 to 0.97 of mixed light, but down to 0.2 after the chroma
 * subsampling of JPEG, which mixes levels. What is not clear is light. */
const gdouble most_of_light = 0.15;
} // namespace

bool
Mixing::create_counters (GstOpenCLContext *context, GError **error)
{
  return opencl::make_buffer (context, counter_count * sizeof (cl_uint), counters, error)
         && numbers.create_block (context, counter_count, error);
}

bool
Mixing::begin (cl_command_queue queue, GError **error)
{
  const cl_uint zero = 0;
  return gst_opencl_check (clEnqueueFillBuffer (queue, counters (), &zero, sizeof zero, 0,
                               counter_count * sizeof zero, 0, nullptr,
                               opencl::Profiled (queue, opencl::command::fill)),
      "clEnqueueFillBuffer", error);
}

bool
Mixing::end (cl_command_queue queue, guint &pixels, GError **error)
{
  const cl_uint *counted =
      numbers.read (queue, counters (), error) ? numbers.wait (error) : nullptr;
  if (!counted)
    return false;
  const guint all = counted[0] + counted[1];
  const bool is_of_levels =
      counted[0] < most_of_light * all
      && cl_int (counted[2]) * evidence_unit >= std::log (least_ratio);
  pixels = is_of_levels ? all : 0;
  return true;
}
} // namespace keying
