/* Iterates a mask in tiles until nothing changes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "iterations.hpp"

#include "unkeyed.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>

namespace keying {
/* Launches between two reads of the flag: a few milliseconds on a GPU, half a second on a
 * CPU with a frame of 4096x2160 */
static const guint launches_per_read = 8;

/* Counts the planes of flow_planes(), the kernel that needs the most. */
static gsize
local_memory_of (const TileShape &shape)
{
  const gsize planes = 4, margin_rows = 2;
  return planes * (shape.rows + margin_rows) * shape.words * sizeof (cl_uint);
}

/* A GPU holds several work-groups in its local memory. On a CPU local memory is cache,
 * and one work-item processes all words with vector instructions. */
TileShape
TileShape::best_for (GstOpenCLContext *context)
{
  const cl_ulong local_memory = opencl::local_memory (context);
  TileShape shape =
      opencl::is_cpu (context) ? TileShape{16, 128, 1} : TileShape{8, 64, 256};
  while (shape.rows > 4 && local_memory_of (shape) > local_memory)
    shape.rows /= 2;
  return shape;
}

std::string
TileShape::options () const
{
  return " -DTILE_WORDS=" + std::to_string (words)
         + " -DTILE_ROWS=" + std::to_string (rows);
}

static gsize
count_of (gsize size, gsize part)
{
  return (size + part - 1) / part;
}

opencl::Groups
TileShape::groups_of_plane (const GstVideoInfo *info, guint iterations) const
{
  return {count_of (words_of_line (info), words - 2),
      count_of (GST_VIDEO_INFO_HEIGHT (info), rows - 2 * iterations), items};
}

gsize
words_of_line (const GstVideoInfo *info)
{
  return count_of (GST_VIDEO_INFO_WIDTH (info), 32);
}

gsize
bytes_of_plane (const GstVideoInfo *info)
{
  return words_of_line (info) * 4 * GST_VIDEO_INFO_HEIGHT (info);
}

bool
PingPong::create_buffers (GstOpenCLContext *context, gsize bytes, GError **error)
{
  for (cl::Buffer &buffer : buffers) {
    buffer = opencl::make_buffer (context, bytes, error);
    if (!buffer ())
      return false;
  }
  return true;
}

bool
IterationRun::create_flags (GstOpenCLContext *context, GError **error)
{
  flags = opencl::make_buffer (context, max_unread * sizeof (cl_uint), error);
  return flags () != nullptr;
}

bool
IterationRun::clear (cl_command_queue queue, GError **error)
{
  const cl_uint unchanged = 0;
  return gst_opencl_check (clEnqueueFillBuffer (queue, flags (), &unchanged,
                               sizeof unchanged, 0, max_unread * sizeof unchanged, 0,
                               nullptr, opencl::Profiled (queue, opencl::command::fill)),
      "clEnqueueFillBuffer", error);
}

bool
IterationRun::is_over (
    GstPad *pad, cl_command_queue queue, guint last, bool *over, GError **error)
{
  gst_opencl_count_throttled ();
  gst_opencl_count_download (sizeof *answer);
  if (!answer)
    answer = std::make_unique<cl_uint> (0);
  cl_event event = nullptr;
  cl_int code = clEnqueueReadBuffer (queue, flags (), CL_FALSE, last * sizeof *answer,
      sizeof *answer, answer.get (), 0, nullptr,
      opencl::Profiled (queue, opencl::command::download, &event));
  if (!gst_opencl_check (code, "clEnqueueReadBuffer", error))
    return false;
  clFlush (queue);
  gboolean is_read = FALSE;
  const bool succeeded = gst_opencl_wait (event, &is_read, error);
  clReleaseEvent (event);
  *over = *answer == 0 || GST_PAD_IS_FLUSHING (pad);
  if (!is_read)
    (void)answer.release (); /* leaked, since the device may still write it */
  return succeeded;
}

bool
IterationRun::run (GstPad *pad, cl_command_queue queue, guint iterations, guint depth,
    const std::function<bool (cl_uint part, cl_uint index)> &launch, GError **error)
{
  guint launches = guint (count_of (iterations, depth));
  guint at_once = launches <= max_unread ? launches : launches_per_read;
  bool over = false;

  for (guint begin = 0; begin < launches && !over; begin += at_once) {
    guint count = std::min (at_once, launches - begin);
    if (!clear (queue, error))
      return false;
    for (guint index = 0; index < count; index++) {
      if (!launch (std::min (depth, iterations - (begin + index) * depth), index))
        return false;
    }
    if (begin + count < launches && !is_over (pad, queue, count - 1, &over, error))
      return false;
  }
  return true;
}

bool
apply_keyed (opencl::FrameKernel &kernel, const GstVideoInfo &info,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, cl_mem plane,
    cl_command_queue queue, GError **error)
{
  const cl_uint words = words_of_line (&info);
  Unkeyed unkeyed;

  return unkeyed.map (input, full_opacity, &info, queue, error)
         && kernel.launch (queue, 4 * words, gsize (info.height), error, input, output,
             unkeyed.unkeyed ().frame, unkeyed.unkeyed ().opacity,
             unkeyed.deeper ().frame, unkeyed.deeper ().opacity, cl_uint (info.width),
             cl_uint (info.height), plane, words);
}
} // namespace keying
