/* Messages and overlays that report the measurements of octsignal
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../spectra/elementqueries.hpp"
#include "framestatistics.hpp"
#include "plot.hpp"

#include <gst/opencl/device/devicevalues.hpp>

#include <deque>

namespace oct {
const guint text_lines = 4;

struct SignalSettings {
  gint line = -1;
  guint64 interval = GST_SECOND / 10;
  bool post_messages = true;
  bool message_values = false;
  guint bit_shift = 0;
  guint full_scale = 0;
  guint background_frames = 16;
  guint dc_depths = 8;
  double min_snr = 14;
  bool roll_off = false;
  guint roll_offs = 0; /* counts how often it was set */
  guint text_size = 0;
};

/* A frame whose numbers are on their way to the host */
struct Measurement {
  cl::Buffer result;
  opencl::ReadBack read;
  SignalSettings settings;
  GstClockTime timestamp, stream_time, running_time, duration;
};

struct SignalWork {
  std::string domain;
  guint lines = 0;
  guint points = 0;      /* samples or depths of an A-line */
  double depth_step = 0; /* µm; 0: unknown */
  DepthLayout depths;
  const CapsFormat *format = nullptr; /* null for depths */
  SpectrumStatistics spectrum_statistics;
  DepthStatistics depth_statistics;
  PlotDrawing drawing;
  std::unique_ptr<Overlay> overlay;
  bool overlay_changed = false;
  Axis x, y;
  bool has_numbers = false;          /* the axes are those of a measurement */
  const GstBuffer *buffer = nullptr; /* the present one */

  SignalSettings in_force;
  guint roll_offs = 0; /* SignalSettings::roll_offs of the curve */
  RollOff roll_off;
  bool has_roll_off = false;
  std::vector<std::unique_ptr<Measurement>> free;
  std::deque<std::unique_ptr<Measurement>> waiting;

  bool is_depth () const { return !format; }
  gsize result_values () const
  {
    return is_depth () ? depth_statistics.size () : spectrum_statistics.size ();
  }
  /* After bit-shift; 0: unknown */
  double full_scale (const SignalSettings &settings) const
  {
    const guint of_format = format->full_scale (settings.bit_shift);
    if (settings.full_scale == 0 || of_format == 0)
      return std::max (settings.full_scale, of_format);
    return std::min (settings.full_scale, of_format);
  }
};

/* Each makes an overlay of the numbers of a measurement. Returns the message (transfer
 * full). */
GstStructure *report_spectrum (
    SignalWork &work, const Measurement &of, const float *values);
GstStructure *report_depths (SignalWork &work, const Measurement &of, const float *values,
    const PeakWidths &widths);
} // namespace oct
