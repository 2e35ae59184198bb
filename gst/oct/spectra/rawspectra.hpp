/* Raw spectra on the device, and their memory layout
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../calibration/valuesfile.hpp"

#include <gst/opencl/base/opencl-hpp.hpp>

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
} // namespace oct
