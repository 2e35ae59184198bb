/* Restores the input colour and alpha of pixels that are no longer keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "inputformat.hpp"
#include "readframe.hpp"

namespace keying {
/* Opacities are in 1/65536. */
const cl_uint full_opacity = 65536;

/* How an element changes the alpha of pixels that it does not key */
enum class Keying {
  hard, /* multiplies it by the opacity only */
  soft, /* may change it otherwise */
};

/* For an element that makes `output` from `input`, keys more of it and multiplies the
 * other alpha by `opacity`. `output` keeps a reference to the frame before keying, so
 * that a later element that restores pixels finds their alpha. A copy of the buffer
 * keeps that reference; a new frame does not. */
void keep_unkeyed (GstBuffer *output, GstBuffer *input, cl_uint opacity = full_opacity,
    Keying keying = Keying::hard);
/* The same, of an input of `format`: what a camera gives is opaque. */
void keep_unkeyed (GstBuffer *output, GstBuffer *input, const InputFormat &format,
    cl_uint opacity = full_opacity, Keying keying = Keying::hard);

/* A picture, and the opacity that it is seen with; one of no data is opaque. */
struct Seen {
  const GstOpenCLFrame *frame = nullptr;
  cl_uint opacity = full_opacity;
};

/* The frame that keep_unkeyed() attached to the buffer, or else the frame itself. It
 * is mapped for its queue during the lifetime of this object. */
class Unkeyed {
public:
  /* With `opacity` after all that the frame has seen */
  bool map (const GstOpenCLFrame *frame, cl_uint opacity, const GstVideoInfo *info,
      cl_command_queue queue, GError **error);
  /* The same, of a frame as it was filmed */
  bool map (const InputFrame &filmed, cl_uint opacity, const InputFormat &format,
      cl_command_queue queue, GError **error);

  /* The picture before the last soft key, and the one before that: arguments of a kernel,
   * as unkeyed.clh has them */
  const Seen &unkeyed () const { return seen[0]; }
  const Seen &deeper () const { return seen[1]; }

private:
  ReadFrame mapped[2];
  Seen seen[2];
};
} // namespace keying
