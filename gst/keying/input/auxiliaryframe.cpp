/* A frame of an auxiliary stream on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "auxiliaryframe.hpp"

#include <gst/opencl/device/gstopenclfilter-private.h>

#include "readframe.hpp"

namespace keying {
bool
AuxiliaryFrame::follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams,
    const std::string &name, GstClockTime time, cl_command_queue queue,
    const Process &process, GError **error)
{
  std::shared_ptr<AuxiliaryStream> found = streams.find (name);

  if (!found || found != stream.lock ())
    number = 0;
  stream = found;
  if (!found)
    return true;
  const AuxiliaryStream::Frame &current = found->frame_at (time);
  if (current.number == number)
    return true;
  GstBuffer *buffer = gst_opencl_filter_import (filter, current.buffer, error);
  ReadFrame frame;
  bool processed = buffer && frame.map (buffer, &current.info, queue, error)
                   && process (frame.frame (), &current.info);
  gst_clear_buffer (&buffer);
  number = processed ? current.number : 0;
  return processed;
}
} // namespace keying
