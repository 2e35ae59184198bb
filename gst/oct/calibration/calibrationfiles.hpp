/* Writes a calibration to files that octwindowinterp reads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>

#include "mirrors.hpp"

namespace oct {
bool write_npy (
    const std::string &path, const std::vector<double> &values, GError **error);

/* Writes resample-map.npy, dispersion-phase.npy if `phase`, and settings.txt with their
 * names, to an existing folder. Appends these settings to `settings`, which is the
 * content of settings.txt. */
bool write_calibration (const std::string &folder, const MirrorCalibration &found,
    bool phase, std::string &settings, GError **error);

/* Writes lines NAME=VALUE to settings.txt, for octwindowinterp's property `settings`. */
bool write_settings (
    const std::string &folder, const std::string &settings, GError **error);
} // namespace oct
