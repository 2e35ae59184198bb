/* Converts raw spectra to windowed spectra at even wavenumbers: tables and kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "rawspectra.hpp"
#include "../calibration/spectrumtables.hpp"

#include <gst/opencl/kernel/kernel.hpp>

#include <memory>
#include <mutex>

namespace oct {
/* Format of the spectra that a SpectrumStage processes */
struct SpectrumFormat {
  SampleFormat input = SampleFormat::u16le;
  guint samples = 0;
  guint oversampling = 1;  /* points of the output for one of the even wavenumbers */
  bool complex = false;    /* dispersion is compensated */
  bool background = false; /* one is subtracted */
};

/* Background that is subtracted from every A-line: float32, from an offset in words of
 * a buffer */
struct BackgroundSpectrum {
  cl_mem buffer = nullptr; /* of a stage or of a mean, which lives as long */
  cl_uint offset = 0;
};

/* Frames share it, those not made yet too: it is replaced, and never changed. Any thread
 * may enqueue. */
class SpectrumStage {
public:
  /* Tables only: kernels are built for the first frame that needs them. */
  static std::shared_ptr<SpectrumStage> make (GstOpenCLContext *context,
      const SpectrumFormat &format, const SpectrumTables &tables, GError **error);

  /* `background` is float32 from a word of a buffer on; `output` is counted in floats. */
  bool enqueue (cl_command_queue queue, const RawSpectra &spectra,
      const BackgroundSpectrum &background, cl_mem data, cl_ulong output, GError **error);

  const SpectrumFormat &format () const { return format_; }
  gsize taps () const { return taps_; }
  gsize points () const { return points_; }
  cl_mem tables () const { return tables_ (); }

  /* The one in the tables (of no meaning where none is subtracted). */
  BackgroundSpectrum background () const { return {tables_ (), background_offset_}; }

private:
  /* A-lines of a work-item, which share what it reads of the tables. */
  static constexpr guint lines_of_item = 4;

  struct Unref {
    void operator() (GstOpenCLContext *context) const { gst_object_unref (context); }
  };

  struct MakeSpectrum {
    bool created = false;
    opencl::Kernel kernel;
  };

  bool upload (const SpectrumTables &tables, GError **error);
  bool create (MakeSpectrum &made, bool for_aligned, GError **error);

  std::unique_ptr<GstOpenCLContext, Unref> context_;
  SpectrumFormat format_;
  cl::Buffer tables_;
  gsize taps_ = 0;
  gsize points_ = 0;              /* of an A-line of the output */
  cl_uint background_offset_ = 0; /* of the one in the tables */
  std::mutex launching; /* a kernel's arguments are set one by one, and it is made once */
  MakeSpectrum aligned;
  MakeSpectrum unaligned;
};
} // namespace oct
