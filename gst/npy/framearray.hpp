/* Frames of NumPy arrays: their number, size and caps
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>
#include <gst/common/npyfile.hpp>

namespace npy {

/* How an array is interpreted: as raw spectra, or as tensors of any numbers. With
 * `split`, the outermost dimension of tensors counts frames. */
struct View {
  bool as_tensors;
  bool split;
};

/* Frames of one .npy file. `frames` is 0 before a header is read. */
struct FrameArray {
  View view;
  opencl::NumberType type;
  bool big_endian;
  gsize rank; /* dimensions of a frame; their lengths, outermost first */
  gsize lengths[16];
  guint64 frames;
  gsize header_bytes;
  gsize frame_bytes;

  guint64 bytes () const { return header_bytes + frames * frame_bytes; }
  opencl::ArrayFormat format () const { return {type, {lengths, lengths + rank}}; }
  /* Spectra have no float64 format. It is converted to float32. */
  bool is_narrowed () const
  {
    return !view.as_tensors && type == opencl::NumberType::f64;
  }
  gsize output_bytes () const { return is_narrowed () ? frame_bytes / 2 : frame_bytes; }
  /* Returns caps without a framerate. Those of arrays list all equivalent spellings of the
   * dimensions. (transfer full) */
  GstCaps *make_caps () const;
};

/* Parses the header at the start of `data`. Spectra have the shape (samples,), (lines,
 * samples) or (frames, lines, samples). */
gboolean frame_array_parse (
    const guint8 *data, gsize size, View view, FrameArray &array, GError **error);

} // namespace npy
