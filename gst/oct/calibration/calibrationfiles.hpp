/* A calibration in files that octwindowinterp reads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <string>

#include "mirrors.hpp"

namespace oct {
bool write_npy (
    const std::string &path, const std::vector<double> &values, GError **error);

/* resample-map.npy, with a `phase` dispersion-phase.npy, and what names them,
 * settings.txt, in a folder that is there; `settings` is lengthened by what that file
 * says. */
bool write_calibration (const std::string &folder, const MirrorCalibration &found,
    bool phase, std::string &settings, GError **error);

/* Lines of NAME=VALUE, for octwindowinterp's property `settings`. */
bool write_settings (
    const std::string &folder, const std::string &settings, GError **error);
} // namespace oct
