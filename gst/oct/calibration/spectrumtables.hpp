/* Tables of window, resampling and dispersion for the kernel of octwindowinterp
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <algorithm>

#include "calibration.hpp"
#include "gridding.hpp"
#include "interpolation.hpp"
#include "streamcalibration.hpp"
#include "windowfunction.hpp"

namespace oct {
/* Position of the samples of a k-clock, a second channel from whose fringes the
 * wavenumbers of each A-line are computed */
enum class Clock {
  none,
  interleaved, /* one after each sample of the first channel */
  consecutive, /* all after the samples of the first channel */
};

/* Minimum number of samples per channel that the filter of a k-clock needs */
constexpr guint least_clocked_samples = 128;

/* Settings from properties */
struct SpectrumSettings {
  Calibration calibration;
  Interpolation interpolation = Interpolation::linear;
  Window window;
  Dispersion dispersion;
  bool background_from_file = false;
  ValuesFile background{"background-file", ""};

  guint first_sample = 0;
  guint samples = 0; /* samples of an A-line that are used; 0: all from first_sample on */
  Clock clock = Clock::none;
  guint padded_samples = 0; /* wavenumbers after zero padding; 0: no padding */

  SharedCalibration stream;          /* used where the settings above set nothing */
  bool background_of_stream = false; /* instead of a file */
  guint shift = 0;                   /* bits by which samples are shifted right */

  /* Returns the samples in use. `all` includes both channels. */
  Samples used_of (gsize all) const;
  /* Returns the number of output points of an A-line with `all` samples. */
  gsize points_of (gsize all) const
  {
    return std::max<gsize> (padded_samples, used_of (all).used) * oversampling ();
  }

  /* Returns TRUE if the number of output points always equals that of samples. */
  bool keeps_samples () const
  {
    return !gridded () && channels () == 1 && first_sample == 0 && samples == 0
           && padded_samples == 0;
  }

  /* Number of channels of an A-line */
  guint channels () const { return clock == Clock::none ? 1 : 2; }

  /* The output is a grid of gridding_oversampling points per wavenumber. */
  bool gridded () const
  {
    return interpolation == Interpolation::nufft
           && (calibration.given () || uses_stream_map ());
  }
  guint oversampling () const { return gridded () ? gridding_oversampling : 1; }

  /* A k-clock leaves no use for what the stream has for each sample. */
  bool uses_stream () const { return stream && clock == Clock::none; }
  bool uses_stream_map () const
  {
    return uses_stream () && !calibration.given () && !stream->resample_map.empty ();
  }
  bool uses_stream_phase () const
  {
    return uses_stream () && !dispersion.given () && !stream->dispersion_phase.empty ();
  }
  bool uses_stream_background () const
  {
    return uses_stream () && !stream->background.empty ();
  }
  /* The spectrum is complex. */
  bool complex () const { return dispersion.given () || uses_stream_phase (); }

  /* Returns the wavenumber step in rad/µm that the stream states, for the samples in use;
   * 0 if unknown. */
  double stream_step (gsize all) const;
};

/* Gap in words between the weights of consecutive taps, as in kernels/oct/tables.clh */
constexpr gsize weight_gap = 16;

/* Contents of `words`, in this order:
 *  - (cos, -sin) of the phase of each point, if the spectrum is complex
 *  - the sample of each point's first tap, as an integer
 *  - weights times window: all points of tap 0, weight_gap words, all points of tap 1, …
 *  - the background, if it is from a file */
struct SpectrumTables {
  gsize taps = 0;
  gsize points = 0;            /* output points of an A-line */
  std::vector<double> map;     /* empty if nothing calibrates */
  gsize background_offset = 0; /* in words */
  std::vector<guint32> words;  /* float32 or int32 */
};

/* Checks what does not depend on the number of samples. */
bool spectrum_settings_check (const SpectrumSettings &settings, GError **error);

/* Checks that the selected samples exist, and that their number can be transformed. */
bool spectrum_samples_check (
    const SpectrumSettings &settings, gsize samples, GError **error);

/* Reads the background of the samples in use, from the file or the stream. It is empty if
 * neither is used. */
bool background_load (const SpectrumSettings &settings, gsize samples,
    std::vector<double> &background, GError **error);

bool spectrum_tables_load (const SpectrumSettings &settings, gsize samples, bool complex,
    SpectrumTables &tables, GError **error);
} // namespace oct
