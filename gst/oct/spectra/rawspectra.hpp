/* Raw spectra on the device, and their memory layout
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../calibration/valuesfile.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>

#include <memory>

namespace oct {
enum class SampleFormat {
  u8,
  u16le,
  u16be,
  f32le,
};

struct Sample {
  const char *option; /* build option of the kernels */
  gsize bytes;        /* size of a sample; offsets and strides may be unaligned */
};

const Sample &sample_of (SampleFormat format);

bool check_samples (guint samples, GError **error);

struct RawSpectra {
  cl_mem data;
  cl_ulong offset; /* in bytes */
  cl_long stride;  /* in bytes */
  cl_uint samples;
  cl_uint lines;
  cl_uint shift;
  /* (nullable) Kernels count NaN and infinite samples of float input in it. */
  std::shared_ptr<cl::Buffer> counter;
  std::shared_ptr<cl::Buffer>
      unpacked;         /* (nullable) owns `data` if samples were converted */
  bool is_read = false; /* an enqueued command reads the frame */

  cl_mem counter_data () const { return counter ? (*counter) () : nullptr; }

  /* Returns whether every A-line starts at a multiple of `bytes` bytes. */
  bool is_multiple_of (gsize bytes) const
  {
    return offset % bytes == 0 && stride % cl_long (bytes) == 0;
  }
};

struct CapsFormat {
  const char *media_type;
  const char *format;
  SampleFormat sample; /* format that the kernels read, after unpacking */
  guint bits;
  bool integer;
  const char *unpack; /* (nullable) option of the unpacking kernel */

  /* Returns the option of unpack.cl for this format, even if it needs no unpacking. */
  const char *unpacking () const
  {
    static const char *const plain_options[] = {
        "UNPACK_U8", "UNPACK_U16LE", "UNPACK_U16BE", "UNPACK_F32LE"};
    return unpack ? unpack : plain_options[gsize (sample)];
  }
  /* Each A-line begins at a byte. */
  gsize line_bytes (gsize samples) const { return (samples * bits + 7) / 8; }
  bool is_signed () const { return format[0] == 'S'; }
  /* Returns the maximum of a sample after the shift; 0 for floats. */
  guint full_scale (guint shift) const
  {
    return integer ? guint (((guint64 (1) << (bits - is_signed ())) - 1) >> shift) : 0;
  }
};

/* Reads the size and the format of fixed caps of spectra; null if they are none. */
const CapsFormat *parse_spectra (const GstCaps *caps, guint *samples, guint *lines);
} // namespace oct
