/* Input frames that are held until their group is complete
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>

#include <memory>
#include <vector>

namespace oct {
/* Keeps references to the buffers instead of copies. Meanwhile their pools allocate
 * others. */
class HeldFrames {
public:
  /* Number of buffer arguments of the kernels */
  static constexpr guint most = 8;

  ~HeldFrames () { clear (); }

  void hold (const GstOpenCLFrame *frame);
  void clear ();
  gsize size () const { return buffers.size (); }

  /* Maps all held frames for reading. Call release() after the work that reads them is
   * enqueued, and also if map() fails. */
  bool map (bool video, gsize bytes, cl_command_queue queue, GError **error);
  const std::vector<GstOpenCLFrame> &frames () const { return mapped; }
  bool release (cl_command_queue queue, GError **error);

private:
  std::vector<GstBuffer *> buffers;
  std::vector<GstOpenCLFrame> mapped;
  GstVideoInfo info;
};
} // namespace oct
