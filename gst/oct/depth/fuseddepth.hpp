/* From raw spectra to depth in one launch
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../spectra/rawspectra.hpp"

#include <memory>

namespace oct {
enum class DepthFormat {
  gray8,   /* a picture: a column is an A-line */
  gray16,  /* the same in 16 bits */
  levels,  /* float32, decibels or amplitude, an A-line after the other */
  complex, /* pairs of float32, an A-line after the other */
};

/* How A-lines are spread over a device. */
enum class DepthForm {
  suiting, /* groups, or on a CPU lanes */
  groups,  /* a work-group makes an A-line, in registers and local memory */
  lanes,   /* a work-item makes as many at once as its vectors have lanes */
};

/* What a FusedDepth is made for. */
struct FusedDepthFormat {
  SampleFormat input = SampleFormat::u16le;
  DepthFormat output = DepthFormat::gray8;
  guint samples = 0;
  gsize taps =
      1; /* of SpectrumTables, 0: of spectra as octfft takes them, without tables */
  bool complex = false;    /* the tables begin with a phase, or the spectra are complex */
  bool background = false; /* one is subtracted */
  gsize local_memory = 0;  /* bytes that a work-group may take, 0: what the device has */
  DepthForm form = DepthForm::suiting;

  bool operator== (const FusedDepthFormat &other) const
  {
    return input == other.input && output == other.output && samples == other.samples
           && taps == other.taps && complex == other.complex
           && background == other.background && local_memory == other.local_memory
           && form == other.form;
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

  /* Also where it would not be faster. Null with an error where the device cannot. */
  static std::unique_ptr<FusedDepth> make (
      GstOpenCLContext *context, const FusedDepthFormat &format, GError **error);

  virtual ~FusedDepth () = default;

  /* One launch; neither allocates nor waits. `tables` are SpectrumTables::words,
   * `background` float32 from a word of the buffer on (of any buffer, where none is
   * subtracted). */
  virtual bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error) = 0;
};
} // namespace oct
