/* Steps of a chain of keying elements that run in one kernel launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "keyrun.hpp"

#include <algorithm>

namespace keying {
/* Alpha times opacity is rounded: what stays below a half is 0. */
cl_uint
DistanceKey::least_alpha () const
{
  const cl_uint half = 32768, none = 65536;
  return opacity == 0 ? none : std::min (none, (half + opacity - 1) / opacity);
}

bool
FlowRule::operator== (const FlowRule &other) const
{
  return mask == other.mask && threshold == other.threshold && key_cb == other.key_cb
         && key_cr == other.key_cr && limit == other.limit;
}

bool
KeyRun::add (Step step, guint iterations)
{
  if (iterations == 0)
    return true;
  if (iterations > deepest - depth_ || count_ == sizeof steps_)
    return false;
  steps_ |= cl_ulong (cl_uint (step) << 6 | iterations) << 8 * count_++;
  depth_ += iterations;
  return true;
}

bool
KeyRun::add_noise_reduction (guint fills, guint reductions)
{
  KeyRun longer = *this;

  if (!longer.add (Step::fill, fills) || !longer.add (Step::reduce, reductions))
    return false;
  *this = longer;
  return true;
}

/* There is one pair of planes that say where it flows. */
bool
KeyRun::add_flow (const FlowRule &rule, guint iterations)
{
  if ((flows_ && !(rule == rule_)) || !add (Step::flow, iterations))
    return false;
  rule_ = rule;
  flows_ = true;
  return true;
}
} // namespace keying
