/* Settings of octwindowinterp, and the caps that they make
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../calibration/spectrumtables.hpp"
#include "../shared/octcaps.hpp"
#include "elementqueries.hpp"

namespace oct {
enum class BackgroundMethod {
  none,
  frame,
  rolling,
  file,
  automatic, /* of the stream, if it has one */
};

enum class Unit {
  none,
  nanometres,
  micrometres,
  metres,
};

/* Properties of the output spectra that caps contain */
struct SpectrumShape {
  bool complex = false;
  guint points = 0; /* per A-line */
  double step = 0;  /* wavenumber-step, rad/µm */
  double refractive_index = 0;

  bool operator== (const SpectrumShape &other) const
  {
    return complex == other.complex && points == other.points && step == other.step
           && refractive_index == other.refractive_index;
  }
};

struct WindowInterpSettings {
  SpectrumSettings spectrum;
  Unit unit = Unit::none;
  double depth_step = 0; /* µm in air, without padding; 0: from the wavelengths */
  BackgroundMethod background = BackgroundMethod::automatic;
  guint background_frames = 16;
  guint bit_shift = 0;
  guint full_scale = 0;      /* 0: maximum of the format */
  std::string file;          /* path of property `settings` */
  guint tables_revision = 0; /* counts changes that need new tables */

  /* Returns the settings for tables and spectra. */
  SpectrumSettings tables_settings () const;
  bool is_clocked () const { return spectrum.clock != Clock::none; }
  bool complex () const { return spectrum.complex (); }

  bool subtracts_stream_background () const
  {
    return background == BackgroundMethod::automatic
           && spectrum.uses_stream_background ();
  }
  bool subtracts () const
  {
    return background == BackgroundMethod::automatic
               ? subtracts_stream_background ()
               : background != BackgroundMethod::none;
  }

  /* Returns the output for this number of samples. */
  SpectrumShape shape_of (guint samples) const
  {
    return {complex (), guint (spectrum.points_of (samples)), step_of (samples),
        spectrum.stream ? spectrum.stream->refractive_index : 0};
  }
  /* Returns whether the mean of earlier frames is not valid for the new settings. */
  bool restarts_mean (const WindowInterpSettings &after) const;

  /* Returns the wavenumber step of the output in rad/µm, or 0 if unknown. */
  double step_of (guint samples) const;
  /* Returns the widths of the peak of a mirror in theory. */
  PeakWidths widths_of (guint samples) const;
};

extern const opencl::PropertyTable<WindowInterpSettings> window_interp_properties;

/* Append the caps of the other pad for one structure. `inputs`: template of the sink pad */
void append_spectra_outputs (
    GstCaps *caps, const GstStructure *input, const WindowInterpSettings &settings);
void append_spectra_inputs (GstCaps *caps, GstStaticPadTemplate *inputs,
    const GstStructure *output, const WindowInterpSettings &settings);
} // namespace oct
