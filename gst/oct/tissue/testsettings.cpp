/* Settings of octtestsrc's simulated spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "testsettings.hpp"

#include "../shared/errors.hpp"

#include <algorithm>
#include <cmath>

bool
oct_test_settings_validate (const OctTestSettings &settings, GError **error)
{
  if (!(settings.wavelength_min > 0 && settings.wavelength_max > 0
          && settings.wavelength_min != settings.wavelength_max))
    return REFUSE_SETTINGS (error,
        "wavelength-min %g and wavelength-max %g: expected two different values above 0",
        settings.wavelength_min, settings.wavelength_max);
  if (settings.depths.size () != settings.amplitudes.size ())
    return REFUSE_SETTINGS (error,
        "amplitudes: %zu values, expected %zu (one for each depth)",
        settings.amplitudes.size (), settings.depths.size ());
  if (settings.pattern == OCT_TEST_PATTERN_FLAT && settings.depths.empty ())
    return REFUSE_SETTINGS (error, "depths: no value, expected one (pattern=flat)");
  return true;
}

static bool
is_within (double depth, guint samples)
{
  return depth >= 0 && depth <= samples / 2.0;
}

static bool
validate_volume (
    const OctTestSettings &settings, guint samples, guint lines, GError **error)
{
  const double most = 1 << 22; /* A-lines of the phantom, about 500 MB of tables */
  const oct::TissueNodes nodes =
      oct::tissue_nodes_of (settings, oct::tissue_scan_of (settings, samples, lines));
  if (double (nodes.columns) * nodes.rows <= most
      && double (settings.b_scans) * lines <= most)
    return true;
  return REFUSE_SETTINGS (error,
      "b-scans %u, %u A-lines, line-step %g, b-scan-step %g: the volume is too large",
      settings.b_scans, lines, settings.line_step, settings.b_scan_step);
}

bool
oct_test_settings_validate_for (
    const OctTestSettings &settings, guint samples, guint lines, GError **error)
{
  if (!oct_test_settings_validate (settings, error)
      || (settings.is_volume () && !validate_volume (settings, samples, lines, error)))
    return false;
  gsize used = 0; /* number of depths */
  if (settings.pattern == OCT_TEST_PATTERN_FLAT)
    used = 1;
  else if (settings.pattern == OCT_TEST_PATTERN_MIRRORS)
    used = settings.depths.size ();
  for (gsize n = 0; n < used; n++) {
    if (!is_within (settings.depths[n], samples))
      return REFUSE_SETTINGS (error,
          "depths: %g, expected 0 to %g (half of %u samples per A-line)",
          settings.depths[n], samples / 2.0, samples);
  }
  return true;
}

OctTestSettings
oct_test_settings_within (OctTestSettings settings, guint samples)
{
  for (gsize n = 0; n < settings.depths.size (); n++) {
    if (!is_within (settings.depths[n], samples))
      settings.depths[n] = settings.amplitudes[n] = 0;
  }
  return settings;
}

namespace oct {
TissueScan
tissue_scan_of (const OctTestSettings &settings, guint samples, guint lines)
{
  const double refractive_index = 1.38;
  const double range =
      std::abs (1 / settings.wavelength_min - 1 / settings.wavelength_max);
  TissueScan scan;
  scan.lines = lines;
  scan.b_scans = settings.b_scans;
  scan.depths = samples / 2;
  scan.depth_step =
      (samples - 1) / (2 * samples * range) / 1000 / refractive_index; /* from nm */
  scan.line_step = settings.line_step > 0 ? settings.line_step : tissue_width / lines;
  scan.b_scan_step = settings.b_scan_step;
  if (settings.b_scan_step == 0)
    scan.b_scan_step =
        settings.b_scans > 1 ? tissue_width / settings.b_scans : scan.line_step;
  return scan;
}

/* Motion is at most 2.5 times its rms. An A-line needs the nodes beside its nearest one. */
TissueNodes
tissue_nodes_of (const OctTestSettings &settings, const TissueScan &scan)
{
  const double around = 2.5 * settings.motion / node_distance + 2;
  TissueNodes nodes;
  nodes.first = int (std::lround (scan.x_of (0) - around));
  nodes.first_row = int (std::lround (scan.y_of (0) - around));
  nodes.columns = guint (1 - 2 * nodes.first);
  nodes.rows = guint (1 - 2 * nodes.first_row);
  return nodes;
}
} // namespace oct
