/* What turns raw spectra into windowed ones that are even in wavenumber: tables and
 * kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "backgroundmean.hpp"
#include "rawspectra.hpp"
#include "../calibration/spectrumtables.hpp"

#include <memory>
#include <mutex>

namespace oct {
/* What a SpectrumStage is made for. */
struct SpectrumFormat {
  SampleFormat input = SampleFormat::u16le;
  guint samples = 0;
  bool complex = false;    /* dispersion is compensated */
  bool background = false; /* one is subtracted */
};

/* Frames share it, those not made yet too: it is replaced, and never changed. Any thread
 * may enqueue. */
class SpectrumStage {
public:
  /* Tables only: kernels are built for the first frame that needs them. */
  static std::shared_ptr<SpectrumStage> make (GstOpenCLContext *context,
      const SpectrumFormat &format, const SpectrumTables &tables, GError **error);

  /* `mean` is the background to subtract, empty where that is in the tables or there is
   * none; `output` is counted in floats. */
  bool enqueue (cl_command_queue queue, const RawSpectra &spectra, const cl::Buffer &mean,
      cl_mem data, cl_ulong output, GError **error);

  /* Those that suit how the samples lie, or null. */
  BackgroundKernels *background_kernels (const RawSpectra &spectra, GError **error);

  const SpectrumFormat &format () const { return format_; }
  gsize taps () const { return taps_; }
  cl_mem tables () const { return tables_ (); }
  cl_uint background_offset () const { return background_offset_; }

private:
  /* A-lines of a work-item, which share what it reads of the tables. */
  static constexpr guint lines_of_item = 4;

  struct Unref {
    void operator() (GstOpenCLContext *context) const { gst_object_unref (context); }
  };

  struct Kernels {
    bool created = false;
    opencl::Kernel make_spectrum;
    BackgroundKernels background;
  };

  bool upload (const SpectrumTables &tables, GError **error);
  bool create (Kernels &kernels, bool for_aligned, GError **error);
  Kernels *suiting (const RawSpectra &spectra, GError **error);

  std::unique_ptr<GstOpenCLContext, Unref> context_;
  SpectrumFormat format_;
  cl::Buffer tables_;
  gsize taps_ = 0;
  cl_uint background_offset_ = 0; /* of the one in the tables */
  std::mutex launching; /* a kernel's arguments are set one by one, and it is made once */
  Kernels aligned;
  Kernels unaligned;
};
} // namespace oct
