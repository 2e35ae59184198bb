/* Input samples and their weights for each row or column of a scaled image
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl.h>
#include <gst/gst.h>

#include <vector>

namespace transfer {
enum class ScaleMethod {
  nearest,
  bilinear,
  area,
  lanczos,
};

/* Returns Lanczos weights with three lobes, widened when the size decreases. Each of
 * `out_size` positions has the index of its first input sample and lanczos_taps ()
 * weights. `fields`: number of interleaved fields. */
std::vector<cl_float> lanczos_table (gint in_size, gint out_size, gint fields);
gint lanczos_taps (gint in_size, gint out_size);

/* Weights of one direction. Each position of the output has the index of its first input
 * sample and `taps` weights, all of samples that exist. */
struct ScaleTable {
  gint taps = 0;
  std::vector<cl_float> values;
};

ScaleTable scale_table (ScaleMethod method, gint in_size, gint out_size);
} // namespace transfer
