/* Sticky event with the calibration of the spectra in a stream
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:octcalibration
 * @title: GstOctCalibration
 *
 * `octfileparse` sends this event before the spectra of a recording. It is a custom
 * sticky downstream event (%GST_EVENT_CUSTOM_DOWNSTREAM_STICKY) whose structure is named
 * %GST_OCT_CALIBRATION_NAME. Elements that do not know it pass it on, such as `queue`,
 * `tee`, `openclupload` and `octscan`. An application can send it too, from an `appsrc`.
 *
 * All fields are optional:
 *
 * - `resample-map` (#GstValueArray of doubles): sample at each even wavenumber, as in the
 *   property `resample-map` of `octwindowinterp`, with a value for each sample of an
 *   A-line
 * - `background` (#GstValueArray of doubles): background at each sample, in units of the
 *   samples
 * - `dispersion-phase` (#GstValueArray of doubles): phase of each even wavenumber in rad
 * - `wavenumber-step` (double): distance between even wavenumbers in rad/µm
 * - `refractive-index` (double): refractive index of the sample, by which `octfft` divides
 *   depths
 * - `centre-wavelength` (double): centre wavelength of the light source in nm
 * - `full-scale` (double): value at which samples are saturated
 *
 * `octwindowinterp` uses a field only if none of its properties sets the same. The event
 * applies to the following frames, until the next one or until the next stream begins. An
 * empty structure ends its effect.
 *
 * Since: 0.3
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_OCT_CALIBRATION_NAME "GstOctCalibration"

/**
 * gst_event_is_oct_calibration:
 * @event: an event
 *
 * Returns: %TRUE if the event has the calibration of a stream
 *
 * Since: 0.3
 */
static inline gboolean
gst_event_is_oct_calibration (GstEvent *event)
{
  return GST_EVENT_TYPE (event) == GST_EVENT_CUSTOM_DOWNSTREAM_STICKY
         && gst_event_has_name (event, GST_OCT_CALIBRATION_NAME);
}

G_END_DECLS
