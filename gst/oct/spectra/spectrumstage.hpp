/* Converts raw spectra to windowed spectra at even wavenumbers: tables and kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "rawspectra.hpp"
#include "../calibration/spectrumtables.hpp"

#include <gst/opencl/device/kernel.hpp>

#include <memory>
#include <mutex>

namespace oct {
/* Format of the spectra that a SpectrumStage processes */
struct SpectrumFormat {
  SampleFormat input = SampleFormat::u16le;
  guint samples = 0;
  guint oversampling = 1;  /* output points per even wavenumber */
  bool complex = false;    /* dispersion is compensated */
  bool background = false; /* a background is subtracted */
};

/* Background that is subtracted from every A-line: float32, at an offset in words */
struct BackgroundSpectrum {
  cl_mem buffer = nullptr; /* owned by a stage or a mean, which outlives this */
  cl_uint offset = 0;
};

/* Immutable, because deferred frames share it: new settings need a new stage. enqueue()
 * is thread-safe. */
class SpectrumStage {
public:
  /* Uploads the tables. enqueue() builds the kernels when a frame first needs them. */
  static std::shared_ptr<SpectrumStage> make (GstOpenCLContext *context,
      const SpectrumFormat &format, const SpectrumTables &tables, GError **error);

  /* `output`: offset in `data`, in floats */
  bool enqueue (cl_command_queue queue, const RawSpectra &spectra,
      const BackgroundSpectrum &background, cl_mem data, cl_ulong output, GError **error);

  const SpectrumFormat &format () const { return format_; }
  gsize taps () const { return taps_; }
  gsize points () const { return points_; }
  /* Resample map; empty if samples are even in wavenumber */
  const std::vector<double> &map () const { return map_; }
  cl_mem tables () const { return tables_ (); }

  /* Returns the background in the tables. Undefined if none is subtracted. */
  BackgroundSpectrum background () const { return {tables_ (), background_offset_}; }

private:
  /* A-lines per work-item, which reads the tables only once for them */
  static constexpr guint lines_of_item = 4;

  struct Unref {
    void operator() (GstOpenCLContext *context) const { gst_object_unref (context); }
  };

  struct MakeSpectrum {
    bool created = false;
    opencl::Kernel kernel;
  };

  bool create (MakeSpectrum &made, bool for_aligned, GError **error);

  std::unique_ptr<GstOpenCLContext, Unref> context_;
  SpectrumFormat format_;
  cl::Buffer tables_;
  std::vector<double> map_;
  gsize taps_ = 0;
  gsize points_ = 0;              /* per output A-line */
  cl_uint background_offset_ = 0; /* of the background in the tables */
  std::mutex launching;           /* guards creation of a kernel and its arguments */
  MakeSpectrum aligned;
  MakeSpectrum unaligned;
};
} // namespace oct
