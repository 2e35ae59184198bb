/* Tables of window, resampling and dispersion for the kernel of octwindowinterp
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <algorithm>

#include "calibration.hpp"
#include "dispersion.hpp"
#include "gridding.hpp"
#include "interpolation.hpp"
#include "windowfunction.hpp"

namespace oct {
/* Where the samples of a second channel are, whose fringes say how even the wavenumbers are
 * of each A-line. */
enum class Clock {
  none,
  interleaved, /* one behind each of the first channel's */
  behind,      /* all behind all of the first channel's */
};

/* Fewer of a channel are less than the filter of a clock takes. */
constexpr guint least_clocked_samples = 128;

/* As the properties give it. */
struct SpectrumSettings {
  Calibration calibration;
  Interpolation interpolation = Interpolation::linear;
  Window window;
  Dispersion dispersion;
  bool background_from_file = false;
  ValuesFile background{"background-file", ""};

  guint first_sample = 0;
  guint samples = 0; /* of an A-line that are used, 0: all that remain */
  Clock clock = Clock::none;
  guint padded_samples = 0; /* wavenumbers that are transformed, 0: as many */

  /* For this number of samples in all channels */
  Samples used_of (gsize all) const;
  /* Number of outputs of an A-line with `samples` samples */
  gsize points_of (gsize all) const
  {
    return std::max<gsize> (padded_samples, used_of (all).used) * oversampling ();
  }

  /* Whether as many points come out as samples go in, however many. */
  bool keeps_samples () const
  {
    return !gridded () && channels () == 1 && first_sample == 0 && samples == 0
           && padded_samples == 0;
  }

  /* Number of samples of an A-line */
  guint channels () const { return clock == Clock::none ? 1 : 2; }

  /* The output is a grid of gridding_oversampling points a wavenumber. */
  bool gridded () const
  {
    return interpolation == Interpolation::nufft && calibration.given ();
  }
  guint oversampling () const { return gridded () ? gridding_oversampling : 1; }
};

/* Words between the weights of one tap and those of the next, as in
 * kernels/oct/tables.clh. */
constexpr gsize weight_gap = 16;

/* One after the other: for a complex spectrum (cos, -sin) of the phase of each point; the
 * sample of each point's first tap, as integers; the weights of taps and window together,
 * all points of tap 0 and weight_gap words, then tap 1, …; the background, where it comes
 * from a file. */
struct SpectrumTables {
  gsize taps = 0;
  gsize points = 0; /* of the output */
  bool calibrated = false;
  gsize background_offset = 0; /* in words */
  std::vector<guint32> words;  /* float32 or int32 */
};

/* Checks that need no number of samples. */
bool spectrum_settings_check (const SpectrumSettings &settings, GError **error);

/* Whether the samples that are to be used are there, and as many as can be transformed. */
bool spectrum_samples_check (
    const SpectrumSettings &settings, gsize samples, GError **error);

bool spectrum_tables_load (const SpectrumSettings &settings, gsize samples, bool complex,
    SpectrumTables &tables, GError **error);
} // namespace oct
