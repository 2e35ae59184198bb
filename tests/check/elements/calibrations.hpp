/* Calibration files of each kind, and the maps that they give
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/check/gstcheck.h>

#include "gst/oct/calibration/calibration.hpp"

namespace check {
inline oct::Calibration
calibration_of (oct::ValuesFile oct::Calibration::*file, const std::string &path)
{
  oct::Calibration calibration;
  (calibration.*file).path = path;
  return calibration;
}

inline oct::Calibration
of_wavelengths (const std::string &path)
{
  return calibration_of (&oct::Calibration::wavelengths, path);
}

inline oct::Calibration
of_map (const std::string &path)
{
  return calibration_of (&oct::Calibration::resample_map, path);
}

inline std::vector<double>
load_map (const oct::Calibration &calibration, gsize samples)
{
  std::vector<double> map;
  GError *error = nullptr;
  fail_unless (oct::calibration_load (calibration, samples, map, &error), "%s",
      error ? error->message : "no error set");
  return map;
}
} // namespace check
