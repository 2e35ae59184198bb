/* Chooses the kernel and the work-group size of a matrix multiplication
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "reduction.hpp"

#include <algorithm>

namespace compute {
#define MATMUL_KERNELS "/org/freedesktop/gstreamer/opencl/reduction/product.cl"

struct MatmulDevice {
  bool is_cpu;
  gsize float_lanes, largest_group;
};

struct MatmulKernel {
  const char *name;
  std::string options;
  gint64 run; /* rows of a work-item on a CPU */
  gsize global[3], local[3];

  MatmulKernel () = default;
  MatmulKernel (const MatmulDevice &device, opencl::NumberType type, gint64 rows,
      gint64 columns, gsize batches, gsize batch_rank)
  {
    const opencl::NumberInfo &number = opencl::info_of (type);
    const bool on_cpu = device.is_cpu && number.kind == 'f';
    const gsize lanes =
        on_cpu ? device.float_lanes / (number.size > sizeof (cl_float) ? 2 : 1) : 1;
    /* Columns of a work-item on a CPU; else rows and columns of a work-group, times `each` */
    gsize tile = on_cpu ? 2 * lanes : 16;
    while (!on_cpu && tile > 1 && tile * tile > device.largest_group)
      tile /= 2;
    const gsize each = of_work_item (number, tile, rows, columns, batches);
    auto groups = [] (gint64 length, gsize of_group) {
      return (gsize (length) + of_group - 1) / of_group;
    };
    name = on_cpu ? "multiply_cpu" : "multiply_gpu";
    options = number_macros (type, lanes) + macro ("ITEMS", gint64 (tile))
              + macro ("EACH", gint64 (each)) + macro ("BATCH_RANK", gint64 (batch_rank));
    run = std::min (rows, gint64 (96)); /* at most MOST_ROWS of the kernel */
    local[0] = local[1] = on_cpu ? 1 : tile;
    global[0] =
        on_cpu ? groups (rows, gsize (run)) : groups (columns, tile * each) * tile;
    global[1] = on_cpu ? groups (columns, tile) : groups (rows, tile * each) * tile;
    global[2] = batches;
    local[2] = 1;
  }

private:
  /* Rows and columns that a work-item of a GPU computes: more of them need fewer loads, but leave
   * fewer work-items, and more of them than 4 only fit in registers as float. */
  static gsize of_work_item (const opencl::NumberInfo &number, gsize tile, gint64 rows,
      gint64 columns, gsize batches)
  {
    if (rows <= gint64 (tile) || columns <= gint64 (tile))
      return 1;
    const bool is_float = number.kind == 'f' && number.size <= sizeof (cl_float);
    return is_float && gsize (rows) * gsize (columns) * batches >= 1 << 22 ? 8 : 4;
  }
};
} // namespace compute
