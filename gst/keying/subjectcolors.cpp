/* Colours of the subject beside its edges: kernels/keying/subject.cl
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "subjectcolors.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "input/pixelformats.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/subject.cl"

namespace keying {
const cl_int block_size = 16;               /* BLOCK of the kernels */
const gsize pairs_of_rows = block_size / 2; /* PAIRS */

struct Block {
  cl_float4 color;
  alignas (cl_float4) cl_int kind;
  cl_float solid;
};

void
SubjectColors::prepare (
    GstOpenCLContext *of, const GstVideoInfo *info, const std::string (&options)[2])
{
  context = of;
  width = cl_uint (info->width), height = cl_uint (info->height);
  block_columns = (info->width + block_size - 1) / block_size;
  block_rows = (info->height + block_size - 1) / block_size;
  for (guint linear : {0, 1}) {
    measure_subject[linear].prepare (
        context, KERNELS, "measure_subject", options[linear]);
    for (guint extras : {0, 1})
      compare[linear][extras].prepare (context, KERNELS, "compare_with_subject",
          options[linear] + extras_option (extras));
  }
  spread_across.prepare (context, KERNELS, "spread_across", options[0]);
  spread_down.prepare (context, KERNELS, "spread_down", options[0]);
}

bool
SubjectColors::make_buffers (GError **error)
{
  const gsize count = gsize (block_columns) * block_rows;
  return subject ()
         || (opencl::make_buffer (context, count * sizeof (cl_float4), measured, error)
             && opencl::make_buffer (context, count * sizeof (cl_int), kinds, error)
             && opencl::make_buffer (
                 context, 2 * count * sizeof (cl_float4), across, error)
             && opencl::make_buffer (context, count * sizeof (Block), subject, error));
}

bool
SubjectColors::measure (
    const GstOpenCLFrame *keyed, bool linear, cl_command_queue queue, GError **error)
{
  const opencl::Groups blocks = {
      gsize (block_columns), gsize (block_rows), pairs_of_rows};
  return make_buffers (error)
         && measure_subject[linear].launch_groups (
             queue, blocks, error, keyed, width, height, measured (), kinds ())
         && spread_across.launch (queue, gsize (block_columns), gsize (block_rows), error,
             measured (), block_columns, block_rows, across ())
         && spread_down.launch (queue, gsize (block_columns), gsize (block_rows), error,
             across (), kinds (), block_columns, block_rows, subject ());
}
} // namespace keying
