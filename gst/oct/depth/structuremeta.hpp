/* Meta that carries the structure beside an angiogram
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace oct {
/* Mean power of the repeats of an angiogram, as float32 and in the layout of the
 * angiogram's depths. octangio attaches it; octvolume finds the surface in it. It stays
 * with the buffer in `queue`, `tee` and elements that keep metas, so it needs no
 * synchronisation. */
struct StructureMeta {
  GstMeta meta;
  GstBuffer *powers; /* in device memory */
  gsize depths, lines;
};

/* Attaches `powers` (transfer full) to a writable buffer, in place of an earlier one. */
void set_structure (GstBuffer *buffer, GstBuffer *powers, gsize depths, gsize lines);
/* (transfer none) (nullable) */
const StructureMeta *structure_of (GstBuffer *buffer);
} // namespace oct
