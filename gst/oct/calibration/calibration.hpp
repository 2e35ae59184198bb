/* Where each even wavenumber lies between the samples of a spectrometer
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>
#include <vector>

#include "valuesfile.hpp"

namespace oct {
/* As the properties give it; at most one of these ways. */
struct Calibration {
  ValuesFile wavelengths{"wavelengths", ""};
  double wavelength_min = 0; /* 0: not given */
  double wavelength_max = 0;
  ValuesFile resample_map{"resample-map", ""};
  ValuesFile chirp{"chirp", "", true}; /* a map the other way round */
  std::string polynomial;              /* coefficients of a map, the constant one first */

  bool given () const
  {
    return wavelengths.given () || wavelength_min != 0 || wavelength_max != 0
           || is_map ();
  }
  bool is_map () const
  {
    return resample_map.given () || chirp.given () || !polynomial.empty ();
  }
};

/* Checks that need no number of samples: at most one kind of calibration, a valid
 * range, an existing file. */
bool calibration_check (const Calibration &calibration, GError **error);

/* Fills map with r: for each even wavenumber the fractional sample at which it lies.
 * Leaves it empty where no calibration is given: the samples are even in wavenumber.
 * Likewise `places`, where it is wanted: for each sample the fractional even wavenumber. */
bool calibration_load (const Calibration &calibration, const Samples &samples,
    std::vector<double> &map, GError **error, std::vector<double> *places = nullptr);

/* Step between even wavenumbers in rad/µm, for wavelengths in units of `unit` µm; 0 if
 * unknown */
double calibration_step (
    const Calibration &calibration, const Samples &samples, double unit);

/* A map, of where each sample lies on the even grid: that turned round. Beyond the first
 * and the last sample there is nothing. */
std::vector<double> map_of_places (const std::vector<double> &places);

/* r of wavelengths that are positive and rise, or fall, strictly: the wavenumbers
 * k = 2 pi / wavelength, evenly from the first to the last, ends included, looked up in
 * the k of the samples with straight lines between them. */
std::vector<double> resample_map_of_wavelengths (const std::vector<double> &wavelengths);
} // namespace oct
