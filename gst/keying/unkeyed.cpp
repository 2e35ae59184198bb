/* Restores the input colour and alpha of pixels that are no longer keyed
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "unkeyed.hpp"

namespace keying {
namespace {
const GstOpenCLFrame opaque = {};

struct OriginalMeta {
  GstMeta meta;
  GstBuffer *buffer; /* held; nobody writes it any more; null: it was opaque */
  cl_uint opacity;
  Keying keying; /* of the element that made the buffer with this meta */
};

const GstMetaInfo *original_meta_info ();

GType
original_api ()
{
  static gsize type = 0;
  /* A tag that no element knows to keep */
  static const gchar *tags[] = {"keying", nullptr};
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, gst_meta_api_type_register ("GstKeyingOriginalAPI", tags));
  return type;
}

OriginalMeta *
original_of (GstBuffer *buffer)
{
  return reinterpret_cast<OriginalMeta *> (gst_buffer_get_meta (buffer, original_api ()));
}

cl_uint
product (cl_uint a, cl_uint b)
{
  return cl_uint ((guint64 (a) * b + full_opacity / 2) / full_opacity);
}

void
set_original (GstBuffer *buffer, GstBuffer *original, cl_uint opacity, Keying keying)
{
  auto *meta = reinterpret_cast<OriginalMeta *> (
      gst_buffer_add_meta (buffer, original_meta_info (), nullptr));
  meta->buffer = original ? gst_buffer_ref (original) : nullptr;
  meta->opacity = opacity;
  meta->keying = keying;
}

gboolean
init_meta (GstMeta *meta, gpointer, GstBuffer *)
{
  reinterpret_cast<OriginalMeta *> (meta)->buffer = nullptr;
  return TRUE;
}

void
free_meta (GstMeta *meta, GstBuffer *)
{
  gst_clear_buffer (&reinterpret_cast<OriginalMeta *> (meta)->buffer);
}

gboolean
transform_meta (GstBuffer *to, GstMeta *meta, GstBuffer *, GQuark type, gpointer data)
{
  auto *original = reinterpret_cast<OriginalMeta *> (meta);
  if (!GST_META_TRANSFORM_IS_COPY (type)
      || static_cast<GstMetaTransformCopy *> (data)->region)
    return FALSE;
  set_original (to, original->buffer, original->opacity, original->keying);
  return TRUE;
}

const GstMetaInfo *
original_meta_info ()
{
  static const GstMetaInfo *info = nullptr;
  if (g_once_init_enter (&info))
    g_once_init_leave (
        &info, gst_meta_register (original_api (), "GstKeyingOriginal",
                   sizeof (OriginalMeta), init_meta, free_meta, transform_meta));
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

/* The alpha that a soft key made is none that the picture before it could tell. */
void
keep_original (GstBuffer *output, GstBuffer *input, cl_uint opacity, Keying keying)
{
  const OriginalMeta *known = original_of (input);
  if (!known || known->keying == Keying::soft)
    return set_original (output, input, opacity, keying);
  set_original (output, known->buffer, product (known->opacity, opacity), keying);
}

void
keep_original (GstBuffer *output, GstBuffer *input, const FilmedFormat &format,
    cl_uint opacity, Keying keying)
{
  if (format.is_of_camera ())
    set_original (output, nullptr, opacity, keying);
  else
    keep_original (output, input, opacity, keying);
}

bool
Original::map (const Filmed &filmed, cl_uint opacity, const FilmedFormat &format,
    cl_command_queue queue, GError **error)
{
  if (!format.is_of_camera ())
    return map (filmed.frame (), opacity, &format.output (), queue, error);
  seen[0] = seen[1] = {&opaque, opacity};
  return true;
}

bool
Original::map (const GstOpenCLFrame *frame, cl_uint opacity, const GstVideoInfo *info,
    cl_command_queue queue, GError **error)
{
  seen[0] = seen[1] = {frame, opacity};
  for (int n = 0; n < 2; n++) {
    const OriginalMeta *known = original_of (seen[n].frame->buffer);
    if (known && !known->buffer) {
      seen[n] = seen[1] = {&opaque, product (known->opacity, seen[n].opacity)};
      return true;
    }
    if (!known || !is_beside (known->buffer, frame->memory))
      return true;
    if (!mapped[n].map (known->buffer, info, queue, error))
      return false;
    seen[n] = {mapped[n].frame (), product (known->opacity, seen[n].opacity)};
    seen[1] = seen[n];
  }
  return true;
}
} // namespace keying
