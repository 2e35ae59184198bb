/* What a pixel that is not keyed any more gets back
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl.h>

namespace keying {
/* Opacities are in 1/65536. */
const cl_uint full_opacity = 65536;

/* For an element that makes `output` of `input` and may key more of it, all else times
 * `opacity`: `output` keeps the picture that was there before anything was keyed, so that
 * whoever takes a key back finds the alpha there, whatever stands between the elements.
 * What copies a buffer keeps it; what makes another picture does not. */
void keep_original (GstBuffer *output, GstBuffer *input, cl_uint opacity = full_opacity);

/* What keep_original() has put into a frame's buffer, or else the frame itself; mapped
 * for its queue as long as this lives. */
class Original {
public:
  Original () = default;
  ~Original ();
  Original (const Original &) = delete;
  Original &operator= (const Original &) = delete;

  bool map (const GstOpenCLFrame *input, const GstVideoInfo *info, cl_command_queue queue,
      GError **error);

  const GstOpenCLFrame *frame () const { return frame_; }
  /* Of the original until now, and of `further` after that */
  cl_uint opacity (cl_uint further = full_opacity) const;

private:
  GstOpenCLFrame mapped = {};
  const GstOpenCLFrame *frame_ = nullptr;
  cl_uint opacity_ = full_opacity;
};
} // namespace keying
