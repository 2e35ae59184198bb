/* Frames that are kept as they came, until one is made of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>

#include <memory>
#include <vector>

namespace oct {
/* Buffers instead of copies of what is in them; their pools make others meanwhile. */
class HeldFrames {
public:
  /* As many as kernels take arguments for. */
  static constexpr guint most = 8;

  ~HeldFrames () { clear (); }

  void hold (const GstOpenCLFrame *frame);
  void clear ();
  gsize size () const { return buffers.size (); }

  /* All that are held, for reading, until release(), which is to follow in any case, after
   * what uses them was enqueued. */
  bool map (bool video, gsize bytes, cl_command_queue queue, GError **error);
  const std::vector<GstOpenCLFrame> &frames () const { return mapped; }
  bool release (cl_command_queue queue, GError **error);

private:
  std::vector<GstBuffer *> buffers;
  std::vector<GstOpenCLFrame> mapped;
  GstVideoInfo info;
};
} // namespace oct
