/* Statistics of the spectra or the depths of a frame over its A-lines, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../depth/depthcaps.hpp"
#include "../spectra/rawspectra.hpp"
#include "peak.hpp"

#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <string>

namespace oct {
/* Rows of the result, of one value per sample */
enum class SpectrumRow : guint {
  chosen, /* of the chosen A-line, or the mean */
  mean,
  background, /* rolling mean over frames */
  minimum,
  maximum,
  saturated, /* number of A-lines, as is the next */
  valid,
  rows,
};

/* Mean, minimum, maximum and saturation of spectra */
class SpectrumStatistics {
public:
  struct Request {
    gint line;         /* -1: the mean */
    guint shift;       /* bits to the right, of integers */
    double full_scale; /* saturated from here on; 0: nothing is */
    guint background_frames;
  };

  bool create (GstOpenCLContext *context, const CapsFormat &format, guint samples,
      guint lines, GError **error);
  /* Starts the rolling mean again. */
  void forget () { frames = 0; }
  /* Number of values of the result */
  gsize size () const { return gsize (SpectrumRow::rows) * samples; }
  bool enqueue (cl_command_queue queue, const GstOpenCLFrame *frame,
      const Request &request, cl_mem result, GError **error);

private:
  struct Kernels {
    opencl::Kernel sum, find;
  };

  Kernels *kernels_for (const GstOpenCLFrame *frame, cl_long stride, GError **error);

  GstOpenCLContext *context = nullptr; /* owned by the element, which outlives this */
  const CapsFormat *format = nullptr;
  Kernels kernels[2]; /* for any alignment, and for that of samples */
  cl::Buffer partial, background;
  guint samples = 0, lines = 0;
  gsize line_bytes = 0;
  guint wide = 1; /* samples per work-item */
  cl_uint lines_of_block = 1, blocks = 1;
  guint frames = 0; /* in the rolling mean */
};

/* Mean intensities of depths */
class DepthStatistics {
public:
  bool create (GstOpenCLContext *context, const DepthLayout &layout, GError **error);
  /* Number of values of the result */
  gsize size () const { return 2 * depths + (complex ? 1 + around_blocks * around : 0); }
  /* `line` -1: the mean of all. `least_bin`: first bin in which a peak is searched */
  bool enqueue (cl_command_queue queue, const GstOpenCLFrame *frame, gint line,
      guint least_bin, cl_mem result, GError **error);
  AScan read (const float *result, gint line, guint least_bin) const;

private:
  static constexpr guint around = 32; /* values between bins around a peak */
  static constexpr guint most_around_blocks = 32;

  opencl::Kernel sum, find, sum_around;
  cl::Buffer partial;
  gsize depths = 0;
  guint wide = 1; /* depths per work-item */
  guint lines = 0, first_bin = 0, value_bytes = 4;
  bool complex = false;
  cl_uint lines_of_block = 1, blocks = 1, around_blocks = 1;
};
} // namespace oct
