/* A frame of an auxiliary stream on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "auxiliaryframe.hpp"

#include <gst/opencl/elements/gstopenclfilter-private.h>

#include "readframe.hpp"

namespace keying {
bool
AuxiliaryFrame::follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams,
    const std::string &name, GstClockTime time, cl_command_queue queue, const Take &take,
    GError **error)
{
  std::shared_ptr<AuxiliaryStream> found = streams.find (name);

  if (!found || found != stream.lock ())
    number = 0;
  stream = found;
  if (!found)
    return true;
  const AuxiliaryStream::Picture &picture = found->picture_at (time);
  if (picture.number == number)
    return true;
  GstBuffer *buffer = gst_opencl_filter_import (filter, picture.buffer, error);
  ReadFrame frame;
  bool taken = buffer && frame.map (buffer, &picture.info, queue, error)
               && take (frame.frame (), &picture.info);
  gst_clear_buffer (&buffer);
  number = taken ? picture.number : 0;
  return taken;
}
} // namespace keying
