/* From raw spectra to depth in one launch, for those A-lines that fit a work-group
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "kernel.hpp"
#include "rawspectra.hpp"

namespace oct {
enum class DepthFormat {
  gray8,   /* a picture: a column is an A-line */
  gray16,  /* the same in 16 bits */
  levels,  /* float32, decibels or amplitude, an A-line after the other */
  complex, /* pairs of float32, an A-line after the other */
};

/* What a FusedDepth is made for. */
struct FusedDepthFormat {
  SampleFormat input = SampleFormat::u16le;
  DepthFormat output = DepthFormat::gray8;
  guint samples = 0;
  gsize taps = 1;          /* of SpectrumTables */
  bool complex = false;    /* the tables begin with a phase */
  bool background = false; /* one is subtracted */
  gsize local_memory = 0;  /* bytes that a work-group may take, 0: what the device has */

  bool operator== (const FusedDepthFormat &other) const
  {
    return input == other.input && output == other.output && samples == other.samples
           && taps == other.taps && complex == other.complex
           && background == other.background && local_memory == other.local_memory;
  }
};

/* Where depths go, and which. */
struct DepthOutput {
  cl_mem data;
  gsize offset; /* in bytes, as the stride; multiples of the size of a value */
  gsize stride; /* of a picture from depth to depth, else from A-line to A-line */
  guint first;
  guint depths; /* first + depths at most samples / 2 */
  bool logarithmic;
  double black; /* of a picture, in decibels or amplitude, whichever it shows */
  double white;
};

/* Does what octwindowinterp's and octfft's kernels do one after the other, with results
 * that differ by rounding alone, while an A-line stays on the chip. */
class FusedDepth {
public:
  /* Whether the device can, and is faster for it. Others do it in steps. */
  static bool accepts (GstOpenCLContext *context, const FusedDepthFormat &format);

  /* Also where it would not be faster. */
  bool create (GstOpenCLContext *context, const FusedDepthFormat &format, GError **error);

  /* One launch; neither allocates nor waits. `tables` are SpectrumTables::words,
   * `background` float32 from a word of the buffer on (of any buffer, where none is
   * subtracted). */
  bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error);

private:
  bool create_roots (GstOpenCLContext *context, GError **error);
  cl_uint lines_of_group (cl_uint lines) const;

  FusedDepthFormat format;
  gsize group = 0;           /* work-items in a work-group */
  cl_uint least_lines = 0;   /* that it makes, */
  cl_uint most_lines = 0;    /* a multiple of the least */
  cl_uint wanted_groups = 0; /* to have the whole device at work */
  cl::Buffer roots;
  Kernel kernel;
};
} // namespace oct
