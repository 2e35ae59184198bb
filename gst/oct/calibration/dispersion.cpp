/* Phase that compensates the dispersion of the sample arm
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "dispersion.hpp"

#include <cmath>
#include <gst/gst.h>

namespace oct {
bool
dispersion_check (const Dispersion &dispersion, GError **error)
{
  if (dispersion.phase.given () && (dispersion.a2 != 0 || dispersion.a3 != 0)) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "dispersion-phase %s is set together with dispersion-a2 %.9g and dispersion-a3 "
        "%.9g, expected either the file or the coefficients",
        dispersion.phase.path.c_str (), dispersion.a2, dispersion.a3);
    return false;
  }
  return values_file_check (dispersion.phase, error);
}

bool
dispersion_load (const Dispersion &dispersion, gsize samples, std::vector<double> &phase,
    GError **error)
{
  if (!dispersion_check (dispersion, error))
    return false;
  if (dispersion.phase.given ())
    return values_file_load (dispersion.phase, samples, phase, error);

  phase.resize (samples);
  for (gsize m = 0; m < samples; m++) {
    double q = m - samples / 2.0;
    phase[m] = dispersion.a2 * q * q + dispersion.a3 * q * q * q;
    if (std::isfinite (phase[m]))
      continue;
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "dispersion-a2 %.9g, dispersion-a3 %.9g: the phase at wavenumber %" G_GSIZE_FORMAT
        " is %g, expected a finite number",
        dispersion.a2, dispersion.a3, m, phase[m]);
    return false;
  }
  return true;
}
} // namespace oct
