/* Buffer pool of device memory or pinned host memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "frame.hpp"
#include "memory.hpp"
#include "pool.hpp"

#include <gst/common/videoformats.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclmemory.h>

#include <gst/video/gstvideometa.h>
#include <gst/video/gstvideopool.h>
#include <gst/video/video.h>

#include <atomic>
#include <mutex>
#include <vector>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_buffer_pool_debug);
#define GST_CAT_DEFAULT gst_opencl_buffer_pool_debug

namespace {
/* Maximum number of idle buffers that are skipped. It is a multiple of any usual
 * async-depth, the number of frames in flight of a slow branch. */
constexpr gsize max_skipped = 64;

/* Number of buffers, and the error of a failed allocation with the element that reports
 * it */
struct Growth {
  std::atomic<guint> n_buffers{0};
  std::atomic<guint> min_buffers{0}; /* minimum before one is used again */
  std::atomic<bool> is_full{false};  /* no memory for another buffer */
  std::mutex lock;                   /* protects `error` */
  GError *error = nullptr;           /* (nullable): of the last allocation that failed */
  std::shared_ptr<opencl::FrameOwner> owner; /* (nullable) */
};
} // namespace

struct _GstOpenCLBufferPool {
  GstBufferPool parent;
  GstOpenCLContext *context;
  gboolean host;
  Growth *growth;
  gsize large_size; /* size that G_MAXUINT means in a configuration, or 0 */
  /* as configured */
  gsize size;
  gboolean adds_video_meta;
  gboolean has_padding; /* padding is cleared, so that it leaks no old contents */
  GstVideoInfo info;
  GstVideoAlignment alignment;
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLBufferPool, gst_opencl_buffer_pool,
    GST_TYPE_BUFFER_POOL,
    GST_DEBUG_CATEGORY_INIT (
        gst_opencl_buffer_pool_debug, "openclbufferpool", 0, "OpenCL buffer pools"))

static const gchar **
gst_opencl_buffer_pool_get_options (GstBufferPool *pool)
{
  static const gchar *options[] = {
      GST_BUFFER_POOL_OPTION_VIDEO_META, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT, nullptr};
  return options;
}

/* Takes the video layout from the caps, with the requested alignment. */
static gboolean
configure_video (GstOpenCLBufferPool *self, GstStructure *config, GstCaps *caps)
{
  if (!opencl::video_info_of_caps (caps, self->info)) {
    GST_WARNING_OBJECT (self, "invalid caps %" GST_PTR_FORMAT, caps);
    return FALSE;
  }
  gst_video_alignment_reset (&self->alignment);
  if (gst_buffer_pool_config_has_option (
          config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT)) {
    gst_buffer_pool_config_get_video_alignment (config, &self->alignment);
    if (!gst_video_info_align (&self->info, &self->alignment))
      return FALSE;
    gst_buffer_pool_config_set_video_alignment (config, &self->alignment);
  }
  self->adds_video_meta =
      gst_buffer_pool_config_has_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  self->size = MAX (self->size, GST_VIDEO_INFO_SIZE (&self->info));
  self->has_padding = opencl::has_padding (&self->info, self->size);
  return TRUE;
}

static gboolean
gst_opencl_buffer_pool_set_config (GstBufferPool *pool, GstStructure *config)
{
  GstOpenCLBufferPool *self = GST_OPENCL_BUFFER_POOL (pool);
  GstCaps *caps;
  guint size, min_buffers, max_buffers;

  if (!gst_buffer_pool_config_get_params (
          config, &caps, &size, &min_buffers, &max_buffers))
    return FALSE;
  self->size = size == G_MAXUINT && self->large_size > 0 ? self->large_size : size;
  self->growth->min_buffers = min_buffers;
  self->growth->is_full = false;
  self->adds_video_meta = FALSE;
  self->has_padding = FALSE;
  if (caps && gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw")
      && !configure_video (self, config, caps))
    return FALSE;
  gst_buffer_pool_config_set_params (
      config, caps, opencl::size_in_config (self->size), min_buffers, max_buffers);

  return GST_BUFFER_POOL_CLASS (gst_opencl_buffer_pool_parent_class)
      ->set_config (pool, config);
}

/* --- growth --- */

/* Allocates nothing ahead: a still image needs only one buffer. */
static gboolean
gst_opencl_buffer_pool_start (GstBufferPool *pool)
{
  return TRUE;
}

static void
keep_error (Growth &growth, GError *error)
{
  std::lock_guard<std::mutex> guard (growth.lock);
  g_clear_error (&growth.error);
  growth.error = error;
}

/* Reports why there is no buffer. The caller, which may be a source of another plugin,
 * does not learn it. */
static void
report_error (GstOpenCLBufferPool *self)
{
  Growth &growth = *self->growth;
  GError *error = nullptr;
  {
    std::lock_guard<std::mutex> guard (growth.lock);
    std::swap (error, growth.error);
  }
  if (error && growth.owner)
    growth.owner->report (g_steal_pointer (&error));
  g_clear_error (&error);
}

static GstFlowReturn
acquire_idle_or_new (GstBufferPool *pool, GstBuffer **buffer, bool *is_new,
    GstBufferPoolAcquireParams *params)
{
  std::atomic<guint> &n_buffers = GST_OPENCL_BUFFER_POOL (pool)->growth->n_buffers;
  const guint before = n_buffers;
  GstFlowReturn flow = GST_BUFFER_POOL_CLASS (gst_opencl_buffer_pool_parent_class)
                           ->acquire_buffer (pool, buffer, params);
  *is_new = n_buffers != before;
  return flow;
}

static bool
delays_writer (GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);
    if ((gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory))
        && opencl::storage_of (memory).delays_writer ())
      return true;
  }
  return false;
}

/* A buffer returns to the pool while the device still uses it, and its next writer waits
 * for that. So the pool allocates new buffers before it reuses one: up to the minimum of
 * the configuration, and further while the idle ones would make an upload wait on the
 * host, or any writer wait for another thread, which may be slow. It skips at most
 * `max_skipped` idle buffers. If there is no memory for more, the pool reuses the
 * buffers that it has. */
static GstFlowReturn
gst_opencl_buffer_pool_acquire_buffer (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  GstOpenCLBufferPool *self = GST_OPENCL_BUFFER_POOL (pool);
  Growth &growth = *self->growth;
  std::vector<GstBuffer *> idle;
  bool is_new;
  GstFlowReturn flow = acquire_idle_or_new (pool, buffer, &is_new, params);
  auto is_skipped = [&] {
    return growth.n_buffers < growth.min_buffers
           || (!growth.is_full && idle.size () < max_skipped && delays_writer (*buffer));
  };

  GstBufferPoolAcquireParams without_waiting = {};
  if (params)
    without_waiting = *params;
  without_waiting.flags = GstBufferPoolAcquireFlags (
      without_waiting.flags | GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT);
  while (flow == GST_FLOW_OK && !is_new && is_skipped ()) {
    idle.push_back (*buffer);
    flow = acquire_idle_or_new (pool, buffer, &is_new, &without_waiting);
  }
  if (flow != GST_FLOW_OK && !idle.empty ()) {
    GST_INFO_OBJECT (self, "no room for more than %u buffers", growth.n_buffers.load ());
    if (flow == GST_FLOW_ERROR) {
      growth.min_buffers = growth.n_buffers.load ();
      growth.is_full = true;
    }
    *buffer = idle.front ();
    idle.erase (idle.begin ());
    flow = GST_FLOW_OK;
  }
  for (GstBuffer *other : idle)
    GST_BUFFER_POOL_GET_CLASS (pool)->release_buffer (pool, other);
  if (flow == GST_FLOW_ERROR)
    report_error (self);
  return flow;
}

static void
gst_opencl_buffer_pool_free_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  GST_OPENCL_BUFFER_POOL (pool)->growth->n_buffers--;
  GST_BUFFER_POOL_CLASS (gst_opencl_buffer_pool_parent_class)->free_buffer (pool, buffer);
}

static GstFlowReturn
gst_opencl_buffer_pool_alloc_buffer (
    GstBufferPool *pool, GstBuffer **buffer, GstBufferPoolAcquireParams *params)
{
  GstOpenCLBufferPool *self = GST_OPENCL_BUFFER_POOL (pool);
  GError *error = nullptr;
  GstMemory *memory = opencl::allocate_memory (self->context, self->host, self->size,
      self->has_padding ? opencl::Contents::zeros : opencl::Contents::undefined, &error);
  if (!memory) {
    GST_INFO_OBJECT (self, "%s", error->message);
    keep_error (*self->growth,
        g_error_new (error->domain, error->code,
            "No memory for a frame of %" G_GSIZE_FORMAT " bytes on %s: %s", self->size,
            gst_opencl_context_get_device_name (self->context), error->message));
    g_error_free (error);
    return GST_FLOW_ERROR;
  }

  self->growth->n_buffers++;
  opencl::storage_of (memory).set_owner (self->growth->owner);
  *buffer = gst_buffer_new ();
  gst_buffer_append_memory (*buffer, memory);
  if (self->adds_video_meta) {
    GstVideoMeta *meta = gst_buffer_add_video_meta_full (*buffer,
        GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT (&self->info),
        GST_VIDEO_INFO_WIDTH (&self->info), GST_VIDEO_INFO_HEIGHT (&self->info),
        GST_VIDEO_INFO_N_PLANES (&self->info), self->info.offset, self->info.stride);
    gst_video_meta_set_alignment (meta, self->alignment);
  }
  return GST_FLOW_OK;
}

/* Called when a buffer returns to the pool. Discards its contents, unless another buffer
 * holds the memory too. In that case the pool drops this buffer. */
static void
gst_opencl_buffer_pool_reset_buffer (GstBufferPool *pool, GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory (buffer); i++) {
    GstMemory *memory = gst_buffer_peek_memory (buffer, i);
    if (!gst_memory_is_writable (memory))
      continue;
    if (gst_is_opencl_memory (memory) || gst_is_opencl_host_memory (memory))
      gst_opencl_memory_invalidate (memory);
  }
  GST_BUFFER_POOL_CLASS (gst_opencl_buffer_pool_parent_class)
      ->reset_buffer (pool, buffer);
}

static void
gst_opencl_buffer_pool_finalize (GObject *object)
{
  GstOpenCLBufferPool *self = GST_OPENCL_BUFFER_POOL (object);
  Growth *growth = self->growth;

  gst_object_unref (self->context);
  G_OBJECT_CLASS (gst_opencl_buffer_pool_parent_class)->finalize (object);
  g_clear_error (&growth->error);
  delete growth;
}

static void
gst_opencl_buffer_pool_class_init (GstOpenCLBufferPoolClass *klass)
{
  GstBufferPoolClass *pool_class = GST_BUFFER_POOL_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_opencl_buffer_pool_finalize;
  pool_class->get_options = gst_opencl_buffer_pool_get_options;
  pool_class->set_config = gst_opencl_buffer_pool_set_config;
  pool_class->start = gst_opencl_buffer_pool_start;
  pool_class->acquire_buffer = gst_opencl_buffer_pool_acquire_buffer;
  pool_class->free_buffer = gst_opencl_buffer_pool_free_buffer;
  pool_class->alloc_buffer = gst_opencl_buffer_pool_alloc_buffer;
  pool_class->reset_buffer = gst_opencl_buffer_pool_reset_buffer;
}

static void
gst_opencl_buffer_pool_init (GstOpenCLBufferPool *self)
{
  self->growth = new Growth;
}

static GstBufferPool *
new_pool (GstOpenCLContext *context, gboolean host)
{
  auto *self = static_cast<GstOpenCLBufferPool *> (
      g_object_new (GST_TYPE_OPENCL_BUFFER_POOL, nullptr));
  gst_object_ref_sink (self);
  self->context = GST_OPENCL_CONTEXT (gst_object_ref (context));
  self->host = host;
  return GST_BUFFER_POOL (self);
}

GstBufferPool *
gst_opencl_buffer_pool_new (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return new_pool (context, FALSE);
}

GstBufferPool *
gst_opencl_host_buffer_pool_new (GstOpenCLContext *context)
{
  g_return_val_if_fail (GST_IS_OPENCL_CONTEXT (context), nullptr);
  return new_pool (context, TRUE);
}

GstOpenCLContext *
gst_opencl_buffer_pool_get_context (GstOpenCLBufferPool *pool)
{
  g_return_val_if_fail (GST_IS_OPENCL_BUFFER_POOL (pool), nullptr);
  return pool->context;
}

gboolean
gst_opencl_buffer_pool_is_host (GstOpenCLBufferPool *pool)
{
  g_return_val_if_fail (GST_IS_OPENCL_BUFFER_POOL (pool), FALSE);
  return pool->host;
}

GstBufferPool *
gst_opencl_buffer_pool_new_configured (
    GstOpenCLContext *context, gboolean host, GstCaps *caps, gsize size)
{
  GstBufferPool *pool = host ? gst_opencl_host_buffer_pool_new (context)
                             : gst_opencl_buffer_pool_new (context);
  GstStructure *config = gst_buffer_pool_get_config (pool);

  if (size > G_MAXUINT)
    GST_OPENCL_BUFFER_POOL (pool)->large_size = size;
  gst_buffer_pool_config_set_params (
      config, caps, opencl::size_in_config (size), GST_OPENCL_MIN_BUFFERS, 0);
  if (caps && gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw"))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config (pool, config)) {
    gst_object_unref (pool);
    return nullptr;
  }
  return pool;
}

namespace opencl {
bool
pool_holds (GstBufferPool *pool, gsize size)
{
  return GST_OPENCL_BUFFER_POOL (pool)->size >= size;
}

void
pool_reports_to (GstBufferPool *pool, std::shared_ptr<FrameOwner> owner)
{
  GST_OPENCL_BUFFER_POOL (pool)->growth->owner = std::move (owner);
}

bool
pool_has_reported (GstBufferPool *pool)
{
  return pool && GST_IS_OPENCL_BUFFER_POOL (pool)
         && GST_OPENCL_BUFFER_POOL (pool)->growth->owner;
}
} // namespace opencl
