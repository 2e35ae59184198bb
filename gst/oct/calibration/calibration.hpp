/* Wavenumber calibration: map from even wavenumbers to samples of a spectrometer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "valuesfile.hpp"

namespace oct {
/* Calibration from properties. At most one kind may be set. */
struct Calibration {
  ValuesFile wavelengths{"wavelengths", ""};
  double wavelength_min = 0; /* 0: not given */
  double wavelength_max = 0;
  ValuesFile resample_map{"resample-map", ""};

  bool given () const
  {
    return wavelengths.given () || wavelength_min != 0 || wavelength_max != 0
           || resample_map.given ();
  }
};

/* Checks what does not depend on the number of samples: at most one kind of calibration,
 * a valid range, an existing file. */
bool calibration_check (const Calibration &calibration, GError **error);

/* Fills `map` with the position of each even wavenumber, in samples with fractions. Fills
 * `places`, unless null, with the position of each sample, in even wavenumbers. Both stay
 * empty without a calibration: samples are then even in wavenumber. */
bool calibration_load (const Calibration &calibration, const Samples &samples,
    std::vector<double> &map, GError **error, std::vector<double> *places = nullptr);

/* Step between even wavenumbers in rad/µm, for wavelengths in units of `unit` µm; 0 if
 * unknown */
double calibration_step (
    const Calibration &calibration, const Samples &samples, double unit);

/* Returns the map for `places`, the position of each sample in even wavenumbers. It is
 * the inverse function, limited to the first and the last sample. */
std::vector<double> map_of_places (const std::vector<double> &places);

/* The same for values of a file. Fails unless they strictly rise or fall. `of` names the
 * file in messages. */
bool map_of_chirp (const std::string &of, const std::vector<double> &places,
    std::vector<double> &map, GError **error);

/* Fails unless the map strictly rises or falls within the samples. `of` names its source
 * in messages. */
bool check_resample_map (
    const std::string &of, const std::vector<double> &map, GError **error);

/* Returns the map for wavelengths of samples, which must be positive and strictly rise or
 * fall. Wavenumbers k = 2 pi / wavelength are spaced evenly from the first to the last
 * sample. Positions between samples are interpolated linearly in k. */
std::vector<double> resample_map_of_wavelengths (const std::vector<double> &wavelengths);

/* Dispersion from properties: either coefficients in rad or a file */
struct Dispersion {
  double a2 = 0;
  double a3 = 0;
  ValuesFile phase{"dispersion-phase", ""};

  bool given () const { return a2 != 0 || a3 != 0 || phase.given (); }
};

/* Checks what does not depend on the number of samples. */
bool dispersion_check (const Dispersion &dispersion, GError **error);

/* Fills `phase`, in rad, for multiplication by exp(-i phase): the values of the file, or
 * a2 q^2 + a3 q^3 with q = m - samples / 2 (not rounded). All values are zero if no
 * dispersion is given. */
bool dispersion_load (const Dispersion &dispersion, gsize samples,
    std::vector<double> &phase, GError **error);
} // namespace oct
