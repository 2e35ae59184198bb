/* What a pixel that is not keyed any more gets back
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "original.hpp"

namespace keying {
namespace {
struct OriginalMeta {
  GstMeta meta;
  GstBuffer *buffer; /* held; nobody writes it any more */
  cl_uint opacity;
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
set_original (GstBuffer *buffer, GstBuffer *original, cl_uint opacity)
{
  auto *meta = reinterpret_cast<OriginalMeta *> (
      gst_buffer_add_meta (buffer, original_meta_info (), nullptr));
  meta->buffer = gst_buffer_ref (original);
  meta->opacity = opacity;
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
  set_original (to, original->buffer, original->opacity);
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

void
keep_original (GstBuffer *output, GstBuffer *input, cl_uint opacity)
{
  const OriginalMeta *known = original_of (input);
  if (!known)
    return set_original (output, input, opacity);
  set_original (output, known->buffer, product (known->opacity, opacity));
}

bool
Original::map (const GstOpenCLFrame *input, const GstVideoInfo *info,
    cl_command_queue queue, GError **error)
{
  const OriginalMeta *known = original_of (input->buffer);

  frame_ = input;
  if (!known || !is_beside (known->buffer, input->memory))
    return true;
  if (!gst_opencl_frame_map (
          &mapped, info, 0, known->buffer, queue, GST_MAP_READ, error)) {
    mapped.memory = nullptr;
    return false;
  }
  frame_ = &mapped;
  opacity_ = known->opacity;
  return true;
}

Original::~Original ()
{
  cl_event event;

  if (!mapped.memory)
    return;
  if (gst_opencl_check (
          clEnqueueMarkerWithWaitList (mapped.queue, 0, nullptr, &event), "", nullptr)) {
    gst_opencl_frame_unmap (&mapped, event);
    clReleaseEvent (event);
  }
}

cl_uint
Original::opacity (cl_uint further) const
{
  return product (opacity_, further);
}
} // namespace keying
