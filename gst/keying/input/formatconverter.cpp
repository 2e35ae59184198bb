/* Converts camera formats (NV12, YUY2 …) to the RGBA format being keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "formatconverter.hpp"

#include "pixelformats.hpp"

#include <gst/opencl/context/devicebuffer.hpp>

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
FormatConverter::take (const GstOpenCLFrame *input, GstOpenCLFrame *made,
    cl_command_queue queue, GError **error)
{
  const GstVideoInfo &picture = format.output ();
  const gsize columns = (gsize (picture.width) + 7) / 8;
  const gsize stride = work_stride_of (&picture);

  if (!pixels ()
      && !opencl::make_buffer (context, stride * picture.height, pixels, error))
    return false;
  *made = {};
  made->buffer = input->buffer;
  made->data = pixels ();
  made->stride[0] = gint (stride);
  const GstOpenCLFrame *output = made;
  return kernel.launch (queue, columns, picture.height, error, format.of (input), output,
      cl_uint (picture.width), cl_uint (picture.height));
}
} // namespace keying
