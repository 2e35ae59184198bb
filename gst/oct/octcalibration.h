/* Sticky event with the calibration of the spectra in a stream, and meta with the background
 * of a frame
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
 * A frame that was recorded with a background of its own has it in a custom meta named
 * %GST_OCT_BACKGROUND_META_NAME. Its field `background` (#GBytes) contains doubles in host
 * byte order, one for each sample of an A-line. It replaces the event's `background` for
 * this frame, and has no effect without that field of the event.
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

#define GST_OCT_BACKGROUND_META_NAME "GstOctBackgroundMeta"

/**
 * gst_oct_background_meta_register:
 *
 * Registers the meta. Thread-safe, and may be called repeatedly.
 *
 * Since: 0.4
 */
static inline void
gst_oct_background_meta_register (void)
{
  static gsize registered = 0;
  if (g_once_init_enter (&registered)) {
    static const gchar *no_tags[] = {NULL};
    if (!gst_meta_get_info (GST_OCT_BACKGROUND_META_NAME))
      gst_meta_register_custom (GST_OCT_BACKGROUND_META_NAME, no_tags, NULL, NULL, NULL);
    g_once_init_leave (&registered, 1);
  }
}

/**
 * gst_buffer_get_oct_background:
 * @buffer: a buffer
 * @n_samples: (out): the number of values
 *
 * Returns: (array length=n_samples) (transfer none) (nullable): the background of the
 *   frame, valid as long as the buffer
 *
 * Since: 0.4
 */
static inline const gdouble *
gst_buffer_get_oct_background (GstBuffer *buffer, gsize *n_samples)
{
  GstCustomMeta *meta;
  const GValue *value;
  gsize bytes = 0;
  const gdouble *values;

  gst_oct_background_meta_register ();
  meta = gst_buffer_get_custom_meta (buffer, GST_OCT_BACKGROUND_META_NAME);
  value =
      meta ? gst_structure_get_value (gst_custom_meta_get_structure (meta), "background")
           : NULL;
  if (!value || !G_VALUE_HOLDS (value, G_TYPE_BYTES) || !g_value_get_boxed (value))
    return NULL;
  values =
      (const gdouble *)g_bytes_get_data ((GBytes *)g_value_get_boxed (value), &bytes);
  *n_samples = bytes / sizeof (gdouble);
  return values;
}

/**
 * gst_buffer_set_oct_background:
 * @buffer: a writable buffer
 * @values: (array length=n_samples): the background of the frame
 * @n_samples: the number of values, as many as samples of an A-line
 *
 * Sets the meta of a buffer, replacing an existing one.
 *
 * Since: 0.4
 */
static inline void
gst_buffer_set_oct_background (GstBuffer *buffer, const gdouble *values, gsize n_samples)
{
  GBytes *bytes = g_bytes_new (values, n_samples * sizeof (gdouble));
  GstCustomMeta *meta;

  gst_oct_background_meta_register ();
  meta = gst_buffer_get_custom_meta (buffer, GST_OCT_BACKGROUND_META_NAME);
  if (!meta)
    meta = gst_buffer_add_custom_meta (buffer, GST_OCT_BACKGROUND_META_NAME);
  gst_structure_set (
      gst_custom_meta_get_structure (meta), "background", G_TYPE_BYTES, bytes, NULL);
  g_bytes_unref (bytes);
}

G_END_DECLS
