/* Phases and depths in the fixed-point units of the kernels of octtestsrc
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <gst/opencl/base/opencl-hpp.hpp>

#include <cmath>

constexpr double one_turn = 4294967296.0; /* one turn, in the kernels' phase units */

/* Converts to a phase, which wraps around. Accepts negative numbers. */
inline cl_uint
turns_from_double (double turns)
{
  return cl_uint (
      static_cast<guint64> (std::llround ((turns - std::floor (turns)) * one_turn)));
}

/* Converts to a fixed-point number in units of 2^-32. Negative numbers wrap around. */
inline cl_ulong
fixed_number (double number)
{
  return static_cast<guint64> (std::llround (number * one_turn));
}

inline cl_uint2
fixed_depth (double depth)
{
  const cl_ulong fixed = fixed_number (depth);
  return {{cl_uint (fixed >> 32), cl_uint (fixed)}};
}
