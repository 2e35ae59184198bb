/* Adds an element's step to a chain of keying elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "chaindeferral.hpp"

#include "input/pixelformats.hpp"
#include "unkeyed.hpp"

#include <gst/common/buffers.hpp>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/gstopencldeferred.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

struct _GstKeyingDeferredChain {
  GstOpenCLDeferred parent;

  std::shared_ptr<keying::KeyChainKernel> *kernel;
  keying::KeyChain *chain;
  keying::Place place;
};

G_DEFINE_FINAL_TYPE (
    GstKeyingDeferredChain, gst_keying_deferred_chain, GST_TYPE_OPENCL_DEFERRED)

static gboolean
gst_keying_deferred_chain_fill (GstOpenCLDeferred *deferred, cl_mem data, gsize offset,
    cl_command_queue queue, GError **error)
{
  GstKeyingDeferredChain *self = GST_KEYING_DEFERRED_CHAIN (deferred);
  GstOpenCLFrame made = {};

  made.data = data;
  made.offset[0] = offset + self->place.offset;
  made.stride[0] = self->place.stride;
  return (*self->kernel)
      ->enqueue_chain (
          queue, *self->chain, gst_opencl_deferred_get_source (deferred), &made, error);
}

static void
gst_keying_deferred_chain_finalize (GObject *object)
{
  GstKeyingDeferredChain *self = GST_KEYING_DEFERRED_CHAIN (object);

  delete self->kernel;
  delete self->chain;
  G_OBJECT_CLASS (gst_keying_deferred_chain_parent_class)->finalize (object);
}

static void
gst_keying_deferred_chain_class_init (GstKeyingDeferredChainClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_keying_deferred_chain_finalize;
  GST_OPENCL_DEFERRED_CLASS (klass)->fill = gst_keying_deferred_chain_fill;
}

static void
gst_keying_deferred_chain_init (GstKeyingDeferredChain *self)
{
}

static GstKeyingDeferredChain *
gst_keying_deferred_chain_new (std::shared_ptr<keying::KeyChainKernel> kernel,
    const keying::KeyChain &chain, const GstOpenCLFrame *source,
    const keying::Place &place)
{
  auto *self = static_cast<GstKeyingDeferredChain *> (
      g_object_new (GST_TYPE_KEYING_DEFERRED_CHAIN, nullptr));
  self->kernel = new std::shared_ptr<keying::KeyChainKernel> (std::move (kernel));
  self->chain = new keying::KeyChain (chain);
  gst_opencl_deferred_set_source (GST_OPENCL_DEFERRED (self), source);
  self->place = place;
  return self;
}

namespace keying {
namespace {
/* Returns true if `buffer` has exactly one memory, of this context. */
bool
is_of_context (GstBuffer *buffer, GstOpenCLContext *context)
{
  GstMemory *memory =
      gst_buffer_n_memory (buffer) == 1 ? gst_buffer_peek_memory (buffer, 0) : nullptr;
  return memory && gst_is_opencl_memory (memory)
         && gst_opencl_memory_get_context (memory) == context;
}

/* Returns false if `buffer` has other memory, or does not match its caps. The filter then
 * processes the frame without a chain, and reports the error. */
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
         && opencl::end_of_rows (
                place->offset, place->stride, height, bytes_of_pixel (info) * width)
                <= gst_buffer_get_size (buffer);
}

bool
find_place_of_output (GstOpenCLFilter *filter, GstBuffer *output, Place *place)
{
  return find_place (output, gst_opencl_filter_get_video_info (filter, GST_PAD_SRC),
      gst_opencl_filter_get_context (filter), place);
}

/* The planes of camera formats are found when the frame is mapped. */
bool
is_plain_input (GstOpenCLFilter *filter, const InputFormat &format, GstBuffer *input)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  Place place;
  return format.is_of_camera () ? is_of_context (input, context)
                                : find_place (input, &format.input (), context, &place);
}
} // namespace

void
ChainDeferral::set_format (GstOpenCLContext *context, const InputFormat &format)
{
  kernel_ = std::make_shared<KeyChainKernel> (context, format);
}

void
ChainDeferral::close ()
{
  kernel_.reset ();
}

bool
ChainDeferral::is_trusted (GstOpenCLFilter *filter)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  if (gst_opencl_context_trusts_engine (context, "key-run"))
    return true;
  gst_opencl_context_warn_of_engine (
      context, "key-run", GST_ELEMENT (filter), "kernels of each element");
  return false;
}

void
ChainDeferral::attach (GstOpenCLFilter *filter,
    const std::shared_ptr<KeyChainKernel> &kernel, const KeyChain &chain,
    const GstOpenCLFrame *source, GstBuffer *output, const Place &place)
{
  GstKeyingDeferredChain *deferred =
      gst_keying_deferred_chain_new (kernel, chain, source, place);
  keep_unkeyed (output, source->buffer, kernel->format (), chain.key ().opacity);
  gst_opencl_filter_defer (filter, GST_OPENCL_DEFERRED (deferred), output);
  g_object_unref (deferred);
}

ChainDeferral::Outcome
ChainDeferral::defer (GstOpenCLFilter *filter, const KeyChain &chain, GstBuffer *input,
    GstBuffer *output, GError **error)
{
  Place to;
  GstOpenCLFrame source;

  if (!gst_opencl_filter_can_defer (filter, input, output) || !is_trusted (filter)
      || !is_plain_input (filter, kernel_->format (), input)
      || !find_place_of_output (filter, output, &to))
    return Outcome::plain;
  if (!gst_opencl_frame_map (&source, &kernel_->format ().input (), 0, input,
          gst_opencl_filter_get_queue (filter), GST_MAP_READ, error))
    return Outcome::failed;
  attach (filter, kernel_, chain, &source, output, to);
  return Outcome::done;
}

ChainDeferral::Outcome
ChainDeferral::begin (GstOpenCLFilter *filter,
    const std::function<bool (KeyChain &)> &add, GstBuffer *input, GstBuffer *output,
    GError **error)
{
  KeyChain chain;

  return add (chain) ? defer (filter, chain, input, output, error) : Outcome::plain;
}

bool
ChainDeferral::finish (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
    const KeyChain &chain, GstBuffer *output, cl_event *event, GError **error)
{
  cl_command_queue queue = gst_opencl_filter_get_queue (filter);
  GstOpenCLFrame source = *gst_opencl_deferred_get_source (pending);
  const std::shared_ptr<KeyChainKernel> &kernel =
      *GST_KEYING_DEFERRED_CHAIN (pending)->kernel;
  GstOpenCLFrame made;

  if (!gst_opencl_frame_map (
          &made, &kernel->format ().output (), 0, output, queue, GST_MAP_WRITE, error))
    return false;
  keep_unkeyed (output, source.buffer, kernel->format (), chain.key ().opacity);
  bool enqueued = kernel->enqueue_chain (queue, chain, &source, &made, error);
  return gst_opencl_frames_unmap (
             queue, &source, &made, event, enqueued ? error : nullptr)
         && enqueued;
}

GstOpenCLMergeResult
ChainDeferral::merge (GstOpenCLFilter *filter,
    const std::function<bool (KeyChain &)> &add, GstOpenCLDeferred *pending,
    GstBuffer *output, cl_event *event, GError **error)
{
  KeyChain chain = *GST_KEYING_DEFERRED_CHAIN (pending)->chain;
  Place to;

  if (!add (chain))
    return GST_OPENCL_NOT_MERGED;
  if (gst_opencl_filter_can_defer (filter, output, output)
      && find_place_of_output (filter, output, &to)) {
    attach (filter, *GST_KEYING_DEFERRED_CHAIN (pending)->kernel, chain,
        gst_opencl_deferred_get_source (pending), output, to);
    return GST_OPENCL_MERGED;
  }
  return finish (filter, pending, chain, output, event, error) ? GST_OPENCL_MERGED
                                                               : GST_OPENCL_MERGE_FAILED;
}
} // namespace keying
