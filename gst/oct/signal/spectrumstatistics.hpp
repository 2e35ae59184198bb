/* Mean, minimum, maximum and saturation of the spectra of a frame, on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../spectra/capsformat.hpp"

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

/* Distribution of A-lines over work-items, as few blocks as keep the device busy */
guint lines_of_block (GstOpenCLContext *context, guint lines);
/* Number of adjacent values per work-item, and the option of the kernels for it */
guint width_of_items (GstOpenCLContext *context, gsize values);
std::string width_option (guint wide);
} // namespace oct
