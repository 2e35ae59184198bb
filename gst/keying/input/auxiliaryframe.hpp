/* A frame of an auxiliary stream on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclfilter.h>

#include <functional>

#include "auxiliarystream.hpp"

namespace keying {
/* Current frame of an auxiliary stream. Lets the element process each frame once. */
class AuxiliaryFrame {
public:
  using Process = std::function<bool (const GstOpenCLFrame *, const GstVideoInfo *)>;

  /* Calls `process` if the frame at `time` is not that of the previous call. */
  bool follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams,
      const std::string &name, GstClockTime time, cl_command_queue queue,
      const Process &process, GError **error);
  bool exists () const { return number > 0; }

private:
  guint number = 0; /* of the frame, 0 = none */
  std::weak_ptr<AuxiliaryStream> stream;
};

} // namespace keying
