/* Restores the input colour and alpha of pixels that are no longer keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "input/inputformat.hpp"
#include <gst/opencl/device/readframe.hpp>
#include <gst/opencl/gstopenclframe.h>

namespace keying {
/* Opacities are in 1/65536. */
const cl_uint full_opacity = 65536;

/* How an element changes the alpha of pixels that it does not key */
enum class Keying {
  hard, /* only multiplies it by its opacity */
  soft, /* may give it any value */
};

/* For an element that makes `output` from `input`, keys further pixels, and multiplies
 * the alpha of the others by `opacity`. `output` keeps a reference to the frame before
 * keying and the product of all opacities since. A later element computes the alpha of
 * restored pixels from them. A copy of the buffer keeps that reference, a new frame does
 * not. */
void keep_unkeyed (GstBuffer *output, GstBuffer *input, cl_uint opacity = full_opacity,
    Keying keying = Keying::hard);
/* The same for an input of `format`. Camera formats are opaque. */
void keep_unkeyed (GstBuffer *output, GstBuffer *input, const InputFormat &format,
    cl_uint opacity = full_opacity, Keying keying = Keying::hard);

/* A frame before keying, and the opacity to multiply its alpha by. Without a frame, alpha
 * is opaque. */
struct AlphaSource {
  const GstOpenCLFrame *frame = nullptr;
  cl_uint opacity = full_opacity;
};

/* The frame that keep_unkeyed() attached to the buffer, or else the frame itself. It
 * is mapped for its queue during the lifetime of this object. */
class Unkeyed {
public:
  /* `opacity` is that of the element itself. It multiplies the opacities of earlier
   * elements. */
  bool map (const GstOpenCLFrame *frame, cl_uint opacity, const GstVideoInfo *info,
      cl_command_queue queue, GError **error);
  /* The same for a frame in a camera's format */
  bool map (const InputFrame &input, cl_uint opacity, const InputFormat &format,
      cl_command_queue queue, GError **error);

  /* Arguments of a kernel (unkeyed.clh). A restored pixel has the alpha of unkeyed(), the
   * frame before the last soft key, or else before the first key. If that frame was keyed
   * itself, a pixel that is transparent there has the alpha of deeper(), the frame before
   * that key. */
  const AlphaSource &unkeyed () const { return sources[0]; }
  const AlphaSource &deeper () const { return sources[1]; }

private:
  opencl::ReadFrame mapped[2];
  AlphaSource sources[2];
};
} // namespace keying
