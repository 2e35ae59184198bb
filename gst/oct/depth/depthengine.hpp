/* From spectra to depth, by the engine that suits a device, a length and the settings
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../spectra/rawspectra.hpp"

#include <gst/opencl/fft/gstopenclfft.h>

#include <memory>

namespace oct {
enum class DepthFormat {
  gray8,   /* a picture: a column is an A-line */
  gray16,  /* the same in 16 bits */
  levels,  /* float32, decibels or amplitude, an A-line after the other */
  complex, /* pairs of float32, an A-line after the other */
};

/* How A-lines are spread over a device, where all is done in one launch. */
enum class DepthForm {
  suiting, /* groups, or on a CPU lanes */
  groups,  /* a work-group makes an A-line, in registers and local memory */
  lanes,   /* a work-item makes as many at once as its vectors have lanes */
};

/* Whether octwindowinterp's work is done in one launch with octfft's. */
enum class Fused {
  automatic,
  never,
  always,
};

/* Configuration of a DepthEngine */
struct EngineFormat {
  SampleFormat input = SampleFormat::u16le;
  DepthFormat output = DepthFormat::gray8;
  guint samples = 0;      /* of an A-line */
  guint points = 0;       /* of its spectrum as it is transformed; 0: as many */
  guint oversampling = 1; /* of them for one of the even wavenumbers: the first half of
                             each oversampling are depths */
  guint lines = 0;        /* of a frame; of no meaning in one launch */
  gsize taps =
      1; /* of SpectrumTables, 0: of spectra as octfft takes them, without tables */
  bool complex = false;    /* the tables begin with a phase, or the spectra are complex */
  bool background = false; /* one is subtracted */
  gsize local_memory = 0;  /* bytes that a work-group may take, 0: what the device has */
  DepthForm form = DepthForm::suiting;
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO;

  /* Resampling and windowing are to be done too. */
  bool from_raw () const { return taps > 0; }

  guint length () const { return points ? points : samples; }
  /* Number of depths */
  guint depths () const { return length () / oversampling / 2; }

  bool operator== (const EngineFormat &other) const
  {
    return input == other.input && output == other.output && samples == other.samples
           && points == other.points && oversampling == other.oversampling
           && taps == other.taps && complex == other.complex
           && background == other.background && local_memory == other.local_memory
           && form == other.form && lines == other.lines && library == other.library;
  }
};

/* Where depths go, and which. */
struct DepthOutput {
  cl_mem data;
  gsize offset;  /* in bytes, as the stride; multiples of the size of a value */
  gssize stride; /* of a picture from depth to depth, upwards too; else between A-lines */
  guint first;
  guint depths; /* first + depths at most samples / 2 */
  bool logarithmic;
  double black; /* of a picture, in decibels or amplitude, whichever it shows */
  double white;

  /* Step between A-lines, in values of `bytes` bytes */
  cl_int pitch (gsize bytes) const { return cl_int (stride / gssize (bytes)); }
};

/* Makes depth of spectra that are made, or, in one launch while an A-line stays on the
 * chip, of raw ones; results of engines differ by rounding alone. */
class DepthEngine {
public:
  /* The fastest that takes `format`; null where raw spectra are better, or only, made
   * apart. */
  static bool choose (GstOpenCLContext *context, const EngineFormat &format, Fused fused,
      std::unique_ptr<DepthEngine> &engine, GError **error);

  /* Name of the self-check */
  static constexpr const char *fused_engine = "fused-depth";

  /* Whether one that does all in one launch is faster and the settings allow it. */
  static bool wants_fused_engine (
      GstOpenCLContext *context, const EngineFormat &format, Fused fused);

  /* Whether choose() looks for one: not until the self-check has found it right. */
  static bool wants_one_launch (
      GstOpenCLContext *context, const EngineFormat &format, Fused fused);

  /* Whether the device can do it in one launch, and is faster for it. */
  static bool is_faster_in_one (GstOpenCLContext *context, const EngineFormat &format);

  /* Also where it would not be faster. Null with an error where the device cannot. */
  static std::unique_ptr<DepthEngine> make_in_one (
      GstOpenCLContext *context, const EngineFormat &format, GError **error);

  virtual ~DepthEngine () = default;

  /* Neither allocates nor waits. `tables` are SpectrumTables::words, `background` float32
   * from a word of the buffer on; any buffers, where none are needed. */
  virtual bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error) = 0;
};
} // namespace oct
