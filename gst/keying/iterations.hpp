/* Iterates a mask in tiles until nothing changes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <functional>
#include <memory>

namespace keying {
/* Tile of a work-group in local memory, and its number of work-items */
struct TileShape {
  gsize words;
  gsize rows;
  gsize items;

  static TileShape best_for (GstOpenCLContext *context);
  std::string options () const;

  /* Maximum number of iterations of a launch. The margin of a tile has as many rows,
   * which are read but not written. */
  guint depth () const { return guint (rows / 4); }
  /* Returns the work-groups of a plane. Tiles have a margin of one word at both sides. */
  opencl::Groups groups_of_plane (const GstVideoInfo *info, guint iterations) const;
};

/* Row and plane sizes of a mask with one bit per pixel */
gsize words_of_line (const GstVideoInfo *info);
gsize bytes_of_plane (const GstVideoInfo *info);

/* Two buffers, of which each launch reads one and writes the other */
class PingPong {
public:
  bool create_buffers (GstOpenCLContext *context, gsize bytes, GError **error);
  bool created () const { return buffers[1]() != nullptr; }
  cl_mem current () const { return buffers[which](); }
  cl_mem other () const { return buffers[1 - which](); }
  void swap () { which = 1 - which; }

private:
  cl::Buffer buffers[2];
  gsize which = 0;
};

/* Consecutive launches on one mask. Each sets a flag on the device if it changed
 * anything. With few launches the host never reads the flag. With many, it reads the
 * flag at intervals. So it stops when nothing changes any more, or when the pad is
 * flushing. */
class IterationRun {
public:
  /* Maximum number of launches between two reads of the flag */
  static const guint max_unread = 32;

  bool create_flags (GstOpenCLContext *context, GError **error);

  /* Calls `launch` with up to `depth` iterations at a time, and with the index of the
   * launch since the last read of the flag. Pass the index to the kernel with changed(). */
  bool run (GstPad *pad, cl_command_queue queue, guint iterations, guint depth,
      const std::function<bool (cl_uint part, cl_uint index)> &launch, GError **error);
  cl_mem changed () const { return flags (); }

private:
  bool clear (cl_command_queue queue, GError **error);
  bool is_over (
      GstPad *pad, cl_command_queue queue, guint last, bool *over, GError **error);

  cl::Buffer flags;
  std::unique_ptr<cl_uint> answer; /* the flag, as last read */
};

/* Writes `output`, the input with the pixels of `plane` keyed, by the kernel apply_keyed. */
bool apply_keyed (opencl::FrameKernel &kernel, const GstVideoInfo &info,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, cl_mem plane,
    cl_command_queue queue, GError **error);
} // namespace keying
