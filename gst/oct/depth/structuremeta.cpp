/* Meta that carries the structure beside an angiogram
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "structuremeta.hpp"

namespace oct {
namespace {
gboolean
init_meta (GstMeta *meta, gpointer, GstBuffer *)
{
  reinterpret_cast<StructureMeta *> (meta)->powers = nullptr;
  return TRUE;
}

void
free_meta (GstMeta *meta, GstBuffer *)
{
  gst_clear_buffer (&reinterpret_cast<StructureMeta *> (meta)->powers);
}

/* Only whole buffers keep it. */
gboolean
transform_meta (GstBuffer *to, GstMeta *meta, GstBuffer *, GQuark type, gpointer data)
{
  const StructureMeta *from = reinterpret_cast<StructureMeta *> (meta);
  if (!GST_META_TRANSFORM_IS_COPY (type)
      || static_cast<GstMetaTransformCopy *> (data)->region)
    return FALSE;
  set_structure (to, gst_buffer_ref (from->powers), from->depths, from->lines);
  return TRUE;
}

GType
meta_api_type ()
{
  static const gchar *no_tags[] = {nullptr};
  static const GType type =
      gst_meta_api_type_register ("GstOctStructureMetaAPI", no_tags);
  return type;
}

const GstMetaInfo *
meta_info ()
{
  static const GstMetaInfo *info =
      gst_meta_register (meta_api_type (), "GstOctStructureMeta", sizeof (StructureMeta),
          init_meta, free_meta, transform_meta);
  return info;
}
} // namespace

const StructureMeta *
structure_of (GstBuffer *buffer)
{
  return reinterpret_cast<StructureMeta *> (
      gst_buffer_get_meta (buffer, meta_api_type ()));
}

void
set_structure (GstBuffer *buffer, GstBuffer *powers, gsize depths, gsize lines)
{
  GstMeta *meta = gst_buffer_get_meta (buffer, meta_api_type ());
  if (!meta)
    meta = gst_buffer_add_meta (buffer, meta_info (), nullptr);
  StructureMeta *structure = reinterpret_cast<StructureMeta *> (meta);
  gst_clear_buffer (&structure->powers);
  structure->powers = powers;
  structure->depths = depths;
  structure->lines = lines;
}
} // namespace oct
