/* An auxiliary frame, mapped for a queue
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>

namespace keying {
/* Commands that are enqueued during the lifetime of this object may read the frame. */
class ReadFrame {
public:
  ReadFrame () = default;
  ~ReadFrame ();
  ReadFrame (const ReadFrame &) = delete;
  ReadFrame &operator= (const ReadFrame &) = delete;

  bool map (GstBuffer *buffer, const GstVideoInfo *info, cl_command_queue queue,
      GError **error);
  const GstOpenCLFrame *frame () const { return &mapped; }

private:
  GstOpenCLFrame mapped = {};
  GstBuffer *held = nullptr; /* buffer of `mapped` */
};
} // namespace keying
