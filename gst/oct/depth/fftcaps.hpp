/* Caps of octfft: spectra at even wavenumbers, and depths or images
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "depthengine.hpp"
#include "displayrange.hpp"
#include <gst/opencl/device/gstopenclfft.h>

namespace oct {
const guint most_fft_depths = most_samples / 2;

struct FftSettings {
  Scale scale = Scale::log;
  double db_min = 0;
  double db_max = 60;
  bool db_auto = false;
  bool flip = false;
  guint depth_start = 0;
  guint depth_count = 0; /* 0: all that remain */
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO;
  Fused fused = Fused::automatic;
  double refractive_index = 0; /* 0: that of the stream */
  double depth_step = 0;       /* µm in air; 0: that of the caps */
  double line_step = 0;        /* µm; 0: that of the caps */
  bool true_scale = false;

  bool check_range (GError **error) const;
  /* Checks the range, and that A-lines of this number of samples have the depths. */
  bool check (guint samples, GError **error) const;
  /* Returns the settings with their depths limited to those of `samples`. */
  FftSettings fitted (guint samples) const;
  /* Returns the number of depths of the output for this number of samples. */
  guint depths_of (guint samples) const;
};

/* Format of the spectra of a frame */
struct Spectra {
  guint samples = 0;
  guint lines = 0;
  guint oversampling = 1;
  bool complex = false;

  /* Number of wavenumbers without oversampling. */
  guint wavenumbers () const { return samples / oversampling; }

  gsize line_bytes () const
  {
    return gsize (samples) * sizeof (cl_float) * (complex ? 2 : 1);
  }
};

/* Append the caps of the other pad for one structure. `outputs`, `inputs`: template of
 * that pad. `starts`: no caps were negotiated before */
void append_fft_outputs (GstCaps *caps, GstStaticPadTemplate *outputs,
    const GstStructure *input, const FftSettings &settings);
void append_fft_inputs (GstCaps *caps, GstStaticPadTemplate *inputs,
    const GstStructure *output, const FftSettings &settings, bool starts);
/* Sets the quantity and the first depth in caps of numbers. */
void describe_fft_output (
    GstCaps *output, const GstCaps *input, const FftSettings &settings);
bool parse_wavenumbers (const GstCaps *caps, Spectra &spectra);
} // namespace oct
