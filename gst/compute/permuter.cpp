/* Copies of arrays with their dimensions in another order
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "permuter.hpp"

#include <gst/opencl/base/devicebuffer.hpp>

#include <algorithm>

namespace compute {
/* Merges neighbours that are contiguous on both sides. x is the innermost of the output.
 * y is the innermost of the input among the others. */
void
Permuter::order (std::vector<PermutedDimension> dimensions)
{
  std::vector<PermutedDimension> merged;
  auto by = [] (gint64 PermutedDimension::*stride) {
    return [stride] (const PermutedDimension &a, const PermutedDimension &b) {
      return a.*stride < b.*stride;
    };
  };
  std::stable_sort (dimensions.begin (), dimensions.end (), by (&PermutedDimension::to));
  for (const PermutedDimension &added : dimensions) {
    if (added.length == 1)
      continue;
    PermutedDimension *last = merged.empty () ? nullptr : &merged.back ();
    if (last && added.from == last->from * last->length
        && added.to == last->to * last->length)
      last->length *= added.length;
    else
      merged.push_back (added);
  }
  while (merged.size () < 2)
    merged.push_back ({1, 0, 0});
  x = merged[0];
  auto innermost = std::min_element (
      merged.begin () + 1, merged.end (), by (&PermutedDimension::from));
  y = *innermost;
  merged.erase (innermost);
  outer.assign (merged.begin () + 1, merged.end ());
}

bool
Permuter::create_kernel (GstOpenCLContext *context, Permuted elements, GError **error)
{
  const std::string options =
      std::string (" -DFROM=") + (elements == Permuted::complex ? "float2" : "float")
      + " -DTO=" + (elements == Permuted::real ? "float" : "float2")
      + " -DWIDENS=" + (elements == Permuted::real_to_complex ? "1" : "0")
      + " -DTILE=" + std::to_string (tile);
  return kernel.create (context, "/org/freedesktop/gstreamer/opencl/compute/permute.cl",
      "permute", options.c_str (), error);
}

bool
Permuter::create (GstOpenCLContext *context, Permuted elements,
    const std::vector<PermutedDimension> &dimensions, GError **error)
{
  order (dimensions);
  std::vector<cl_long> table;
  for (const PermutedDimension &dimension : {x, y})
    table.insert (table.end (), {dimension.length, dimension.from, dimension.to});
  for (const PermutedDimension &dimension : outer)
    table.insert (table.end (), {dimension.length, dimension.from, dimension.to});
  geometry = opencl::make_table (
      context, table.data (), table.size () * sizeof (cl_long), error);
  if (!geometry ())
    return false;
  const bool transposes = x.length > 1 && y.length > 1 && y.from < x.from;
  tile = transposes ? 16 : 1;
  while (create_kernel (context, elements, error)) {
    if (kernel.allows (tile * tile))
      return true;
    tile /= 2;
  }
  return false;
}

bool
Permuter::enqueue (cl_command_queue queue, cl_mem from, gint64 from_offset, cl_mem to,
    gint64 to_offset, GError **error)
{
  gsize others = 1;
  for (const PermutedDimension &dimension : outer)
    others *= gsize (dimension.length);
  if (!kernel.set_all (error, from, cl_long (from_offset), to, cl_long (to_offset),
          geometry (), cl_uint (outer.size ())))
    return false;
  if (tile == 1)
    return kernel.enqueue (queue, gsize (x.length), gsize (y.length) * others, error);
  auto tiles = [this] (gint64 length) { return (gsize (length) + tile - 1) / tile; };
  const gsize group = tile * tile;
  const gsize global = tiles (x.length) * tiles (y.length) * others * group;
  return gst_opencl_launch (queue, kernel.handle (), 1, &global, &group, error);
}
} // namespace compute
