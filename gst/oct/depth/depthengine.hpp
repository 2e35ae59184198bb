/* Depth engine: computes depths from spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../spectra/rawspectra.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/gstopenclfft.h>

#include <memory>

namespace oct {
enum class DepthFormat {
  gray8,   /* image whose columns are A-lines */
  gray16,  /* the same with 16 bits */
  levels,  /* float32 decibels or amplitudes, A-line by A-line */
  complex, /* pairs of float32, A-line by A-line */
};

/* Work distribution of fused engines */
enum class DepthForm {
  automatic, /* lanes on a CPU, otherwise groups */
  groups,    /* a work-group computes an A-line, in registers and local memory */
  lanes,     /* a work-item computes one A-line per vector lane */
};

/* Whether octfft uses a fused kernel, together with an octwindowinterp upstream */
enum class Fused {
  automatic,
  never,
  always,
};

/* Configuration of a DepthEngine */
struct EngineFormat {
  SampleFormat input = SampleFormat::u16le;
  DepthFormat output = DepthFormat::gray8;
  guint samples = 0;      /* per A-line */
  guint points = 0;       /* per transform; 0: `samples` */
  guint oversampling = 1; /* points per even wavenumber; divides the number of depths */
  guint lines = 0;        /* per frame; not used by fused engines */
  gsize taps = 1; /* of SpectrumTables; 0: the input is spectra at even wavenumbers */
  bool complex = false;    /* the tables have a phase, or the spectra are complex */
  bool background = false; /* a background is subtracted */
  gsize local_memory = 0;  /* maximum per work-group in bytes; 0: that of the device */
  DepthForm form = DepthForm::automatic;
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO;

  /* Whether the input is raw spectra, which are resampled and windowed first */
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

/* Range of depths to compute, and their memory */
struct DepthOutput {
  cl_mem data;
  gsize offset;  /* in bytes, as is `stride`; both are multiples of the size of a value */
  gssize stride; /* of image rows (negative if flipped), otherwise of A-lines */
  guint first;
  guint depths; /* first + depths is at most EngineFormat::depths () */
  bool logarithmic;
  double black; /* of an image, in units of the displayed quantity */
  double white;

  /* Step between A-lines, in values of `bytes` bytes */
  cl_int pitch (gsize bytes) const { return cl_int (stride / gssize (bytes)); }
};

/* Computes depths from spectra. Fused engines do so in one launch, keep an A-line on the
 * chip, and also take raw spectra. The results of all engines differ only by rounding. */
class DepthEngine {
public:
  /* Creates the fastest engine for `format`. `engine` is null if raw spectra must be, or
   * are better, resampled by a separate kernel. */
  static bool choose (GstOpenCLContext *context, const EngineFormat &format, Fused fused,
      std::unique_ptr<DepthEngine> &engine, GError **error);

  /* Name of the self-check */
  static constexpr const char *fused_engine = "fused-depth";

  /* Returns whether a fused engine is faster and the settings allow it. */
  static bool wants_fused_engine (
      GstOpenCLContext *context, const EngineFormat &format, Fused fused);

  /* Returns whether choose() tries a fused engine: after its self-check has passed, or
   * for raw spectra with Fused::always. */
  static bool tries_fused (
      GstOpenCLContext *context, const EngineFormat &format, Fused fused);

  /* Returns whether the device supports a fused engine for `format` and is faster with
   * it. */
  static bool is_fused_faster (GstOpenCLContext *context, const EngineFormat &format);

  /* Creates a fused engine, even if it is slower. Returns null with an error if the
   * device does not support it. */
  static std::unique_ptr<DepthEngine> make_fused (
      GstOpenCLContext *context, const EngineFormat &format, GError **error);

  virtual ~DepthEngine () = default;

  /* Neither allocates nor waits. `tables` contains SpectrumTables::words. `background`
   * contains float32 values from word `background_offset` on. If `format` needs neither,
   * any buffer is accepted. */
  virtual bool enqueue (cl_command_queue queue, const RawSpectra &spectra, cl_mem tables,
      cl_mem background, cl_uint background_offset, const DepthOutput &output,
      GError **error) = 0;
};

struct DepthValue {
  const char *options;
  gsize bytes;
  double full; /* value of a white pixel; 0 if the output is no image */
};

const DepthValue &value_of (DepthFormat format);
inline const DepthValue &
value_of (const EngineFormat &format)
{
  return value_of (format.output);
}

/* Creates a table of exp (-2 pi i k / samples) for all k. */
bool create_roots (
    GstOpenCLContext *context, guint samples, cl::Buffer &roots, GError **error);

/* Engine that uses an FFT library, for all lengths that this supports. The input is
 * spectra at even wavenumbers. */
std::unique_ptr<DepthEngine> make_fft_engine (
    GstOpenCLContext *context, const EngineFormat &format, GError **error);

/* Maximum number of taps per point in fused kernels */
constexpr gsize most_taps_on_chip = 16;

/* Number of samples repeated beyond each end of an A-line, as in
 * kernels/oct/tables.clh */
constexpr gsize
edge_of (gsize taps)
{
  return taps > 8 ? 8 : 4;
}

/* Scale from a level (log2 of the power, or the amplitude) to an output value:
 * max (level * factor + zero, least) */
struct DepthScaling {
  cl_float factor;
  cl_float zero;
  cl_float least;

  auto arguments () const { return std::tie (factor, zero, least); }
};

/* Returns the scale that maps black to 0 and white to `full`. With `full` 0 it maps a
 * level to level * `unit`. `unit` converts levels to the unit of black, white and
 * `least`. */
DepthScaling scaling_to (
    double full, double unit, double least, const DepthOutput &output);

DepthScaling scaling_of (const EngineFormat &format, const DepthOutput &output);

/* Checks that offset and stride are multiples of `bytes`, the size of a value. */
bool check_alignment (const DepthOutput &output, gsize bytes, GError **error);

/* Returns the number of bytes of local memory that a work-group may use. */
inline gsize
local_memory_of (GstOpenCLContext *context, const EngineFormat &format)
{
  gsize memory = opencl::device_info<cl_ulong> (context, CL_DEVICE_LOCAL_MEM_SIZE);
  return format.local_memory > 0 && format.local_memory < memory ? format.local_memory
                                                                 : memory;
}
} // namespace oct
