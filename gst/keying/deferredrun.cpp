/* A chain of keying steps that is deferred to the next element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "deferredrun.hpp"

#include <gst/opencl/memory/planelayout.hpp>

#include "pixelformats.hpp"

struct _GstKeyingDeferredRun {
  GstOpenCLDeferred parent;

  std::shared_ptr<keying::KeyRunner> *runner;
  keying::KeyRun *run;
  keying::Place place;
};

G_DEFINE_FINAL_TYPE (
    GstKeyingDeferredRun, gst_keying_deferred_run, GST_TYPE_OPENCL_DEFERRED)

static gboolean
gst_keying_deferred_run_fill (GstOpenCLDeferred *deferred, cl_mem data, gsize offset,
    cl_command_queue queue, GError **error)
{
  GstKeyingDeferredRun *self = GST_KEYING_DEFERRED_RUN (deferred);
  GstOpenCLFrame made = {};

  made.data = data;
  made.offset[0] = offset + self->place.offset;
  made.stride[0] = self->place.stride;
  return (*self->runner)
      ->enqueue (
          queue, *self->run, gst_opencl_deferred_get_source (deferred), &made, error);
}

static void
gst_keying_deferred_run_finalize (GObject *object)
{
  GstKeyingDeferredRun *self = GST_KEYING_DEFERRED_RUN (object);

  delete self->runner;
  delete self->run;
  G_OBJECT_CLASS (gst_keying_deferred_run_parent_class)->finalize (object);
}

static void
gst_keying_deferred_run_class_init (GstKeyingDeferredRunClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_keying_deferred_run_finalize;
  GST_OPENCL_DEFERRED_CLASS (klass)->fill = gst_keying_deferred_run_fill;
}

static void
gst_keying_deferred_run_init (GstKeyingDeferredRun *self)
{
}

GstKeyingDeferredRun *
gst_keying_deferred_run_new (std::shared_ptr<keying::KeyRunner> runner,
    const keying::KeyRun &run, const GstOpenCLFrame *source, const keying::Place &place)
{
  auto *self = static_cast<GstKeyingDeferredRun *> (
      g_object_new (GST_TYPE_KEYING_DEFERRED_RUN, nullptr));
  self->runner = new std::shared_ptr<keying::KeyRunner> (std::move (runner));
  self->run = new keying::KeyRun (run);
  gst_opencl_deferred_set_source (GST_OPENCL_DEFERRED (self), source);
  self->place = place;
  return self;
}

const keying::KeyRun &
gst_keying_deferred_run_get_run (GstKeyingDeferredRun *deferred)
{
  return *deferred->run;
}

const std::shared_ptr<keying::KeyRunner> &
gst_keying_deferred_run_get_runner (GstKeyingDeferredRun *deferred)
{
  return *deferred->runner;
}

namespace keying {
bool
is_of_context (GstBuffer *buffer, GstOpenCLContext *context)
{
  GstMemory *memory =
      gst_buffer_n_memory (buffer) == 1 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  return memory && gst_is_opencl_memory (memory)
         && gst_opencl_memory_get_context (memory) == context;
}

bool
find_place (
    GstBuffer *buffer, const GstVideoInfo *info, GstOpenCLContext *context, Place *place)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta (buffer);
  gsize width = info->width, height = info->height;

  if (!is_of_context (buffer, context))
    return false;
  if (meta
      && (meta->format != GST_VIDEO_INFO_FORMAT (info) || meta->width != width
          || meta->height != height))
    return false;
  place->offset = meta ? meta->offset[0] : GST_VIDEO_INFO_PLANE_OFFSET (info, 0);
  place->stride = meta ? meta->stride[0] : GST_VIDEO_INFO_PLANE_STRIDE (info, 0);
  return place->stride >= gint (bytes_of_pixel (info) * width)
         && opencl::end_of_lines (
                place->offset, place->stride, height, bytes_of_pixel (info) * width)
                <= gst_buffer_get_size (buffer);
}
} // namespace keying
