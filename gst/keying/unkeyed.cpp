/* Restores the input colour and alpha of pixels that are no longer keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "unkeyed.hpp"

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>

namespace keying {
namespace {
const GstOpenCLFrame opaque = {};

struct UnkeyedMeta {
  GstMeta meta;
  GstBuffer *buffer; /* held, never written again; null: the frame was opaque */
  cl_uint opacity;
  Keying keying; /* of the element that made the buffer with this meta */
};

const GstMetaInfo *unkeyed_meta_info ();

GType
unkeyed_api ()
{
  static gsize type = 0;
  /* Elements that do not know this tag drop the meta. */
  static const gchar *tags[] = {"keying", nullptr};
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_meta_api_type_register ("GstKeyingUnkeyedAPI", tags));
  return type;
}

UnkeyedMeta *
unkeyed_of (GstBuffer *buffer)
{
  return reinterpret_cast<UnkeyedMeta *> (gst_buffer_get_meta (buffer, unkeyed_api ()));
}

cl_uint
product (cl_uint a, cl_uint b)
{
  return cl_uint ((guint64 (a) * b + full_opacity / 2) / full_opacity);
}

void
set_unkeyed (GstBuffer *buffer, GstBuffer *unkeyed, cl_uint opacity, Keying keying)
{
  auto *meta = reinterpret_cast<UnkeyedMeta *> (
      gst_buffer_add_meta (buffer, unkeyed_meta_info (), nullptr));
  meta->buffer = unkeyed ? gst_buffer_ref (unkeyed) : nullptr;
  meta->opacity = opacity;
  meta->keying = keying;
}

gboolean
init_meta (GstMeta *meta, gpointer, GstBuffer *)
{
  reinterpret_cast<UnkeyedMeta *> (meta)->buffer = nullptr;
  return TRUE;
}

void
free_meta (GstMeta *meta, GstBuffer *)
{
  gst_clear_buffer (&reinterpret_cast<UnkeyedMeta *> (meta)->buffer);
}

gboolean
transform_meta (GstBuffer *to, GstMeta *meta, GstBuffer *, GQuark type, gpointer data)
{
  auto *unkeyed = reinterpret_cast<UnkeyedMeta *> (meta);
  if (!GST_META_TRANSFORM_IS_COPY (type)
      || static_cast<GstMetaTransformCopy *> (data)->region)
    return FALSE;
  set_unkeyed (to, unkeyed->buffer, unkeyed->opacity, unkeyed->keying);
  return TRUE;
}

const GstMetaInfo *
unkeyed_meta_info ()
{
  static const GstMetaInfo *info = nullptr;
  if (g_once_init_enter (&info))
    g_once_init_leave (
        &info, gst_meta_register (unkeyed_api (), "GstKeyingUnkeyed",
                   sizeof (UnkeyedMeta), init_meta, free_meta, transform_meta));
  return info;
}

bool
is_beside (GstBuffer *buffer, GstMemory *memory)
{
  return gst_buffer_n_memory (buffer) == 1
         && gst_is_opencl_memory (gst_buffer_peek_memory (buffer, 0))
         && gst_opencl_memory_get_context (gst_buffer_peek_memory (buffer, 0))
                == gst_opencl_memory_get_context (memory);
}
} // namespace

/* Frames before a soft key do not tell the alpha that it computed. So pixels are restored
 * from its output. */
void
keep_unkeyed (GstBuffer *output, GstBuffer *input, cl_uint opacity, Keying keying)
{
  const UnkeyedMeta *known = unkeyed_of (input);
  if (!known || known->keying == Keying::soft)
    return set_unkeyed (output, input, opacity, keying);
  set_unkeyed (output, known->buffer, product (known->opacity, opacity), keying);
}

void
keep_unkeyed (GstBuffer *output, GstBuffer *input, const InputFormat &format,
    cl_uint opacity, Keying keying)
{
  if (format.is_of_camera ())
    set_unkeyed (output, nullptr, opacity, keying);
  else
    keep_unkeyed (output, input, opacity, keying);
}

bool
Unkeyed::map (const InputFrame &input, cl_uint opacity, const InputFormat &format,
    cl_command_queue queue, GError **error)
{
  if (!format.is_of_camera ())
    return map (input.frame (), opacity, &format.output (), queue, error);
  sources[0] = sources[1] = {&opaque, opacity};
  return true;
}

bool
Unkeyed::map (const GstOpenCLFrame *frame, cl_uint opacity, const GstVideoInfo *info,
    cl_command_queue queue, GError **error)
{
  sources[0] = sources[1] = {frame, opacity};
  for (int n = 0; n < 2; n++) {
    const UnkeyedMeta *known = unkeyed_of (sources[n].frame->buffer);
    if (known && !known->buffer) {
      sources[n] = sources[1] = {&opaque, product (known->opacity, sources[n].opacity)};
      return true;
    }
    if (!known || !is_beside (known->buffer, frame->memory))
      return true;
    if (!mapped[n].map (known->buffer, info, 0, queue, error))
      return false;
    sources[n] = {mapped[n].frame (), product (known->opacity, sources[n].opacity)};
    sources[1] = sources[n];
  }
  return true;
}
} // namespace keying
