/* Which B-scan of a scan a buffer is
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:octscanmeta
 * @title: GstOctScanMeta
 *
 * `octscan` says of each buffer which B-scan it is. It does so by a custom meta of the name
 * %GST_OCT_SCAN_META_NAME, so that applications need no library to read it: its structure
 * has the fields `frame` and `volume` (guint64), `b-scan`, `repeat`, `b-scans` and `repeats`
 * (guint) and `reversed` (gboolean). Whatever copies a buffer's metas keeps it: `tee`,
 * `queue`, and every element that makes one frame of one. What is made of several repeats
 * or B-scans has that of the first, counted in what is made.
 *
 * The functions here are the same for C, and need nothing but GStreamer.
 *
 * Since: 0.2
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_OCT_SCAN_META_NAME "GstOctScanMeta"

/**
 * GstOctScan:
 * @frame: B-scans before this one, repeats and lost ones counted too
 * @volume: volumes before
 * @b_scan: B-scans before in the volume, repeats not counted
 * @repeat: times that the same B-scan was taken before
 * @b_scans: in a volume; 0: it has no end
 * @repeats: of each B-scan, at least 1
 * @reversed: the A-lines were taken in the opposite order of that in which they are now
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
 * Makes the meta known, once for all threads; the plugin `octopencl` does so too.
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
 * @scan: (out caller-allocates): which B-scan it is
 *
 * Returns: whether that is known
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
 * @scan: which B-scan it is, in place of what it was until now
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
