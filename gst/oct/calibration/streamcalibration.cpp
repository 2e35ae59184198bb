/* Calibration that comes with a stream, in a GstOctCalibration event
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "streamcalibration.hpp"

#include "../shared/arrayfield.hpp"
#include "../octcalibration.h"

namespace oct {
namespace {
const struct {
  const char *name;
  std::vector<double> StreamCalibration::*member;
} arrays[] = {
    {"resample-map", &StreamCalibration::resample_map},
    {"background", &StreamCalibration::background},
    {"dispersion-phase", &StreamCalibration::dispersion_phase},
};

const struct {
  const char *name;
  double StreamCalibration::*member;
} numbers[] = {
    {"wavenumber-step", &StreamCalibration::wavenumber_step},
    {"refractive-index", &StreamCalibration::refractive_index},
    {"centre-wavelength", &StreamCalibration::centre_wavelength},
    {"full-scale", &StreamCalibration::full_scale},
};

void
read_array (const GValue *array, std::vector<double> &values)
{
  if (!array || !GST_VALUE_HOLDS_ARRAY (array))
    return;
  for (guint n = 0; n < gst_value_array_get_size (array); n++) {
    const GValue *value = gst_value_array_get_value (array, n);
    if (!G_VALUE_HOLDS_DOUBLE (value))
      return values.clear ();
    values.push_back (g_value_get_double (value));
  }
}
} // namespace

GstEvent *
stream_calibration_event (const StreamCalibration &calibration)
{
  GstStructure *structure = gst_structure_new_empty (GST_OCT_CALIBRATION_NAME);
  for (const auto &array : arrays) {
    if (!(calibration.*array.member).empty ())
      set_array (structure, array.name, calibration.*array.member);
  }
  for (const auto &number : numbers) {
    if (calibration.*number.member > 0)
      gst_structure_set (
          structure, number.name, G_TYPE_DOUBLE, calibration.*number.member, nullptr);
  }
  return gst_event_new_custom (GST_EVENT_CUSTOM_DOWNSTREAM_STICKY, structure);
}

bool
stream_calibration_parse (GstEvent *event, StreamCalibration &calibration)
{
  calibration = StreamCalibration ();
  if (!gst_event_is_oct_calibration (event))
    return false;
  const GstStructure *structure = gst_event_get_structure (event);
  for (const auto &array : arrays)
    read_array (
        gst_structure_get_value (structure, array.name), calibration.*array.member);
  for (const auto &number : numbers)
    gst_structure_get_double (structure, number.name, &(calibration.*number.member));
  return true;
}
} // namespace oct
