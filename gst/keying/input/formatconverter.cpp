/* Converts camera formats (NV12, YUY2 …) to the RGBA format being keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "formatconverter.hpp"

#include "pixelformats.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace keying {
void
FormatConverter::prepare (GstOpenCLContext *of, const InputFormat &of_camera)
{
  context = of;
  format = of_camera;
  kernel.prepare (context, "/org/freedesktop/gstreamer/opencl/keying/formatconverter.cl",
      "convert_format", format.options ());
}

bool
FormatConverter::convert (const GstOpenCLFrame *input, GstOpenCLFrame *result,
    cl_command_queue queue, GError **error)
{
  const GstVideoInfo &info = format.output ();
  const gsize columns = (gsize (info.width) + 7) / 8;
  const gsize stride = work_stride_of (&info);

  if (!pixels () && !opencl::make_buffer (context, stride * info.height, pixels, error))
    return false;
  *result = {};
  result->buffer = input->buffer;
  result->data = pixels ();
  result->stride[0] = gint (stride);
  const GstOpenCLFrame *output = result;
  return kernel.launch (queue, columns, info.height, error, format.of (input), output,
      cl_uint (info.width), cl_uint (info.height));
}
} // namespace keying
