/* Garbage matte and holdout matte from auxiliary streams
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "mattes.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/gstopenclfilter.h>

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/mattes.cl"

namespace keying {
void
Mattes::prepare (
    GstOpenCLContext *of, const GstVideoInfo *info, const std::string &options)
{
  context = of;
  width = info->width, height = info->height;
  scale_matte.prepare (context, KERNELS, "scale_matte", options);
  apply_mattes.prepare (context, KERNELS, "apply_mattes", options);
}

bool
Mattes::scale (Matte &matte, const GstOpenCLFrame *frame, const GstVideoInfo *info,
    cl_command_queue queue, GError **error)
{
  if (!matte.plane ()
      && !opencl::make_buffer (context, gsize (width) * height, matte.plane, error))
    return false;
  return scale_matte.launch (queue, width, height, error, frame, cl_uint (info->width),
      cl_uint (info->height), cl_uint (width), cl_uint (height), matte.plane ());
}

bool
Mattes::follow (GstOpenCLFilter *filter, AuxiliaryStreams &streams, GstClockTime time,
    cl_command_queue queue, GError **error)
{
  for (Matte *matte : {&garbage, &holdout}) {
    auto scale_this = [&] (const GstOpenCLFrame *frame, const GstVideoInfo *info) {
      return scale (*matte, frame, info, queue, error);
    };
    if (!matte->frame.follow (
            filter, streams, matte->name, time, queue, scale_this, error))
      return false;
  }
  return true;
}

bool
Mattes::apply (const InputFrame &input, const GstOpenCLFrame *output, gdouble opacity,
    cl_command_queue queue, GError **error)
{
  const bool has_garbage = garbage.frame.exists ();
  const bool has_holdout = holdout.frame.exists ();
  if (!has_garbage && !has_holdout)
    return true;
  cl_mem any = has_garbage ? garbage.plane () : holdout.plane ();
  return apply_mattes.launch (queue, width, height, error, input, output, cl_uint (width),
      cl_uint (height), cl_uint (has_garbage), any, cl_uint (has_holdout),
      has_holdout ? holdout.plane () : any, cl_float (opacity));
}
} // namespace keying
