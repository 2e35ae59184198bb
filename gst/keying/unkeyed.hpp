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

/* What an element does to the alpha of what it does not key */
enum class Keying {
  hard, /* nothing but its opacity, */
  soft, /* or more */
};

/* For an element that makes `output` of `input`, keys more of it and multiplies all else
 * by `opacity`: `output` keeps the picture that was there before, so that whoever takes a
 * key back finds its alpha, whatever stands between the elements. What copies a buffer
 * keeps it; what makes another picture does not. */
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

/* What keep_unkeyed() has put into a frame's buffer, or else the frame itself; mapped
 * for its queue as long as this lives. */
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
