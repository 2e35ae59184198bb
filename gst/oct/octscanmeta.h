/* Custom meta with the position of a buffer's B-scan in the scan
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:octscanmeta
 * @title: GstOctScanMeta
 *
 * `octscan` attaches this meta to each buffer to identify its B-scan. It is a custom meta
 * named %GST_OCT_SCAN_META_NAME, so applications need no library to read it. Its
 * structure has the fields `frame` and `volume` (guint64), `b-scan`, `repeat`, `b-scans`
 * and `repeats` (guint) and `reversed` (gboolean).
 *
 * Elements that copy the metas of a buffer keep it: `tee`, `queue`, and every element
 * that produces one output frame per input frame. A frame produced from several repeats
 * or B-scans has the meta of the first one, with its numbers counted in output frames.
 *
 * The functions below give C programs access to the meta. They need only GStreamer.
 *
 * Since: 0.2
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_OCT_SCAN_META_NAME "GstOctScanMeta"

/**
 * GstOctScan:
 * @frame: number of B-scans before this one, including repeats and lost ones
 * @volume: number of volumes before this one
 * @b_scan: index of the B-scan in its volume, without repeats
 * @repeat: index of the repeat of this B-scan
 * @b_scans: number of B-scans in a volume, without repeats (0 = unlimited)
 * @repeats: number of repeats of each B-scan, at least 1
 * @reversed: whether the A-lines were acquired in the opposite order
 *
 * Since: 0.2
 */
typedef struct {
  guint64 frame;
  guint64 volume;
  guint b_scan;
  guint repeat;
  guint b_scans;
  guint repeats;
  gboolean reversed;
} GstOctScan;

/**
 * gst_oct_scan_meta_register:
 *
 * Registers the meta. Thread-safe, and may be called repeatedly. The plugin `octopencl`
 * also calls it.
 *
 * Since: 0.2
 */
static inline void
gst_oct_scan_meta_register (void)
{
  static gsize registered = 0;
  if (g_once_init_enter (&registered)) {
    static const gchar *no_tags[] = {NULL};
    if (!gst_meta_get_info (GST_OCT_SCAN_META_NAME))
      gst_meta_register_custom (GST_OCT_SCAN_META_NAME, no_tags, NULL, NULL, NULL);
    g_once_init_leave (&registered, 1);
  }
}

/**
 * gst_buffer_get_oct_scan:
 * @buffer: a buffer
 * @scan: (out caller-allocates): position of the buffer's B-scan
 *
 * Gets the meta of a buffer.
 *
 * Returns: %TRUE if the buffer has a valid meta
 *
 * Since: 0.2
 */
static inline gboolean
gst_buffer_get_oct_scan (GstBuffer *buffer, GstOctScan *scan)
{
  GstCustomMeta *meta;

  gst_oct_scan_meta_register ();
  meta = gst_buffer_get_custom_meta (buffer, GST_OCT_SCAN_META_NAME);
  return meta
         && gst_structure_get (gst_custom_meta_get_structure (meta), "frame",
             G_TYPE_UINT64, &scan->frame, "volume", G_TYPE_UINT64, &scan->volume,
             "b-scan", G_TYPE_UINT, &scan->b_scan, "repeat", G_TYPE_UINT, &scan->repeat,
             "b-scans", G_TYPE_UINT, &scan->b_scans, "repeats", G_TYPE_UINT,
             &scan->repeats, "reversed", G_TYPE_BOOLEAN, &scan->reversed, NULL);
}

/**
 * gst_buffer_set_oct_scan:
 * @buffer: a writable buffer
 * @scan: position of the buffer's B-scan
 *
 * Sets the meta of a buffer, replacing an existing one.
 *
 * Since: 0.2
 */
static inline void
gst_buffer_set_oct_scan (GstBuffer *buffer, const GstOctScan *scan)
{
  GstCustomMeta *meta;

  gst_oct_scan_meta_register ();
  meta = gst_buffer_get_custom_meta (buffer, GST_OCT_SCAN_META_NAME);
  if (!meta)
    meta = gst_buffer_add_custom_meta (buffer, GST_OCT_SCAN_META_NAME);
  gst_structure_set (gst_custom_meta_get_structure (meta), "frame", G_TYPE_UINT64,
      scan->frame, "volume", G_TYPE_UINT64, scan->volume, "b-scan", G_TYPE_UINT,
      scan->b_scan, "repeat", G_TYPE_UINT, scan->repeat, "b-scans", G_TYPE_UINT,
      scan->b_scans, "repeats", G_TYPE_UINT, scan->repeats, "reversed", G_TYPE_BOOLEAN,
      scan->reversed, NULL);
}

G_END_DECLS
