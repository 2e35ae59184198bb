/* A frame of an auxiliary stream on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl.h>

#include <functional>

#include "auxiliarystream.hpp"

namespace keying {
/* The last picture of a side stream, for work that is done once for each */
class AuxiliaryFrame {
public:
  using Take = std::function<bool (const GstOpenCLFrame *, const GstVideoInfo *)>;

  /* Calls `take` where there is another picture at `time` than before. */
  bool follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams,
      const std::string &name, GstClockTime time, cl_command_queue queue,
      const Take &take, GError **error);
  bool is_there () const { return number > 0; }

private:
  guint number = 0; /* of the picture, 0 where there is none */
  std::weak_ptr<AuxiliaryStream> stream;
};

} // namespace keying
