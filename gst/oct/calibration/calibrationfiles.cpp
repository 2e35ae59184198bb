/* Writes a calibration to files that octwindowinterp reads
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "calibrationfiles.hpp"

#include <gst/common/platform.hpp>
#include <gst/common/npyfile.hpp>

namespace oct {
bool
write_npy (const std::string &path, const std::vector<double> &values, GError **error)
{
  std::string bytes =
      opencl::npy_make_header (opencl::NumberType::f64, false, {values.size ()});
  bytes.append (
      reinterpret_cast<const char *> (values.data ()), values.size () * sizeof values[0]);
  return opencl::write_file (path, bytes, error);
}

bool
write_settings (const std::string &folder, const std::string &settings, GError **error)
{
  return opencl::write_file (folder + "/settings.txt", settings, error);
}

bool
write_calibration (const std::string &folder, const MirrorCalibration &found, bool phase,
    std::string &settings, GError **error)
{
  /* Names beside settings.txt: a folder's name may have a newline. */
  settings += "resample-map=resample-map.npy\n";
  if (phase)
    settings += "dispersion-phase=dispersion-phase.npy\n";
  return write_npy (folder + "/resample-map.npy", found.map, error)
         && (!phase
             || write_npy (folder + "/dispersion-phase.npy", found.dispersion, error))
         && write_settings (folder, settings, error);
}
} // namespace oct
