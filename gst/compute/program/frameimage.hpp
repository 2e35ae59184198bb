/* Images that a kernel reads or writes in place of frames, and samplers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "signature.hpp"
#include "../streamcaps.hpp"

#include <memory>

namespace compute {
/* An image2d_t of a stream. It is the frame's buffer where the device makes images of
 * buffers (cl_khr_image2d_from_buffer), else a copy on the device. */
class FrameImage {
public:
  /* Fails if the device has no image of the stream's format and size. `as_integers`: 8
   * and 16 bits are integers to the kernel, else 0 … 1. `is_filled`: an image that the
   * kernel only writes has the buffer's contents before. */
  static std::unique_ptr<FrameImage> make (GstOpenCLContext *context,
      const Stream &stream, const Parameter &parameter, bool as_integers, bool is_filled,
      GError **error);

  /* Returns the row stride that saves copies, for rows that have `stride` now. */
  gsize row_stride (gsize stride) const;

  /* Makes the image of `buffer`, whose rows have this stride. Call end() after the
   * kernel. */
  bool begin (cl_command_queue queue, cl_mem buffer, gsize stride, GError **error);
  bool end (cl_command_queue queue, cl_mem buffer, gsize stride, GError **error);
  /* The image between begin() and end() */
  cl_mem handle () const { return shared () ? shared () : copied (); }

  gsize width = 0, height = 0;

private:
  bool find_format (
      const Stream &stream, const Parameter &parameter, bool as_integers, GError **error);
  bool check_size (const Stream &stream, GError **error) const;
  cl::Memory create (cl_mem buffer, gsize stride, cl_int *code) const;
  bool may_share (cl_mem buffer, gsize stride) const;
  bool copy (
      cl_command_queue queue, cl_mem buffer, gsize stride, bool to_image, GError **error);

  GstOpenCLContext *context = nullptr; /* outlives this */
  cl_image_format format{};
  bool is_video = false, is_read = false, is_written = false;
  gsize line = 0;      /* bytes of a row without padding; arrays have no padding */
  gsize pitch = 0;     /* row strides of shared buffers are multiples of it (0 = none) */
  gsize alignment = 1; /* of a shared buffer's start, in bytes */
  cl::Memory copied;   /* made at the first use */
  cl::Memory shared;   /* of the frame between begin() and end() */
};

/* Creates a sampler from words such as "linear+clamp-to-edge+normalized". */
bool make_sampler (GstOpenCLContext *context, const Parameter &parameter,
    const GValue *value, cl::Sampler &sampler, GError **error);
} // namespace compute
