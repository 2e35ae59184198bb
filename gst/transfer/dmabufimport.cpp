/* A camera's or decoder's dma_buf as device memory, without a copy
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "dmabufimport.hpp"

#include <gst/allocators/gstdmabuf.h>
#include <gst/opencl/opencl-hpp.hpp>
#include <gst/video/gstvideometa.h>

#include <memory>

namespace {
/* What a memory keeps of its import, as long as it lives: sources have a few, which come
 * again and again. */
GQuark
import_quark ()
{
  static const GQuark quark = g_quark_from_static_string ("gst-opencl-dma-buf-import");
  return quark;
}

/* The buffer of all of `whole`. What is known is taken out while it is looked at: a branch
 * of a tee on another device may do so at the same time. */
cl::Buffer
find_or_import (GstOpenCLContext *context, GstMemory *whole, GError **error)
{
  GstMiniObject *object = GST_MINI_OBJECT_CAST (whole);
  std::unique_ptr<cl::Buffer> known (
      static_cast<cl::Buffer *> (gst_mini_object_steal_qdata (object, import_quark ())));

  if (!known
      || known->getInfo<CL_MEM_CONTEXT> () () != gst_opencl_context_get_handle (context))
    known = std::make_unique<cl::Buffer> (
        gst_opencl_context_import_fd (context, GST_OPENCL_HANDLE_DMA_BUF,
            gst_dmabuf_memory_get_fd (whole), whole->maxsize, error));
  cl::Buffer buffer = *known;
  if (buffer ())
    gst_mini_object_set_qdata (object, import_quark (), known.release (),
        [] (gpointer import) { delete static_cast<cl::Buffer *> (import); });
  return buffer;
}
} // namespace

bool
is_dma_buf (GstBuffer *buffer)
{
  return gst_buffer_n_memory (buffer) == 1
         && gst_is_dmabuf_memory (gst_buffer_peek_memory (buffer, 0));
}

GstBuffer *
import_dma_buf (GstOpenCLContext *context, GstBuffer *input, GError **error)
{
  GstMemory *part = gst_buffer_peek_memory (input, 0);
  GstMemory *whole = part->parent ? part->parent : part;
  const cl::Buffer handle = find_or_import (context, whole, error);
  if (!handle ())
    return nullptr;
  GstMemory *memory = gst_opencl_memory_new_acquired (
      context, handle (), whole->maxsize, gst_buffer_ref (input),
      [] (gpointer buffer) { gst_buffer_unref (GST_BUFFER (buffer)); }, error);
  if (!memory) {
    gst_buffer_unref (input);
    return nullptr;
  }
  gst_memory_resize (memory, part->offset, part->size);
  GST_MINI_OBJECT_FLAG_SET (memory, GST_MEMORY_FLAG_READONLY);

  GstBuffer *output = gst_buffer_new ();
  gst_buffer_append_memory (output, memory);
  if (GstVideoMeta *meta = gst_buffer_get_video_meta (input))
    gst_buffer_add_video_meta_full (output, meta->flags, meta->format, meta->width,
        meta->height, meta->n_planes, meta->offset, meta->stride);
  return output;
}
