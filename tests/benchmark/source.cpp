/* opencl-bench: benchmarksource, a source that pushes frames as fast as downstream takes
 * them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "source.hpp"
#include "statistics.hpp"

#include <gst/base/gstpushsrc.h>
#include <gst/opencl/gstopenclmemory.h>

namespace bench {
struct SourceState {
  Feed feed;
  Gate *gate = nullptr;
  guint64 count = 0;
};
} // namespace bench

#define BENCHMARK_TYPE_SOURCE (benchmark_source_get_type ())
G_DECLARE_FINAL_TYPE (BenchmarkSource, benchmark_source, BENCHMARK, SOURCE, GstPushSrc)

struct _BenchmarkSource {
  GstPushSrc parent;
  bench::SourceState *state;
};

G_DEFINE_FINAL_TYPE (BenchmarkSource, benchmark_source, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

static GstCaps *
benchmark_source_get_caps (GstBaseSrc *source, GstCaps *filter)
{
  const bench::Caps &caps = BENCHMARK_SOURCE (source)->state->feed.caps;
  if (!caps)
    return gst_caps_new_any ();
  return filter ? gst_caps_intersect_full (filter, caps.get (), GST_CAPS_INTERSECT_FIRST)
                : gst_caps_ref (caps.get ());
}

/* Returns TRUE if the buffer's memory was seen before, and marks it as seen. */
static gboolean
is_known (GstBuffer *buffer)
{
  static const GQuark quark = g_quark_from_static_string ("opencl-bench-filled");
  GstMiniObject *memory = GST_MINI_OBJECT (gst_buffer_peek_memory (buffer, 0));
  const gboolean known = gst_mini_object_get_qdata (memory, quark) != nullptr;
  gst_mini_object_set_qdata (memory, quark, GINT_TO_POINTER (1), nullptr);
  return known;
}

static gboolean
write_contents (GstBuffer *buffer, GstBuffer *contents)
{
  GstMapInfo from, to;
  const gboolean known = is_known (buffer);

  if (!gst_buffer_map (buffer, &to, GST_MAP_WRITE))
    return FALSE;
  gboolean fits = gst_buffer_map (contents, &from, GST_MAP_READ);
  if (fits) {
    fits = from.size == to.size;
    if (fits && !known)
      memcpy (to.data, from.data, from.size);
    gst_buffer_unmap (contents, &from);
  }
  gst_buffer_unmap (buffer, &to);
  return fits;
}

/* Returns TRUE for pinned memory, and for device memory of devices that share host
 * memory. */
static gboolean
is_without_copy (GstMemory *memory)
{
  return gst_is_opencl_host_memory (memory) || gst_is_opencl_memory (memory);
}

static GstFlowReturn
fill_from_pool (BenchmarkSource *self, GstBuffer **buffer)
{
  GstBufferPool *pool = gst_base_src_get_buffer_pool (GST_BASE_SRC (self));
  GstFlowReturn flow =
      pool ? gst_buffer_pool_acquire_buffer (pool, buffer, nullptr) : GST_FLOW_ERROR;

  if (flow == GST_FLOW_OK && !is_without_copy (gst_buffer_peek_memory (*buffer, 0))) {
    gst_clear_buffer (buffer);
    flow = GST_FLOW_ERROR;
  }
  gst_clear_object (&pool);
  if (flow == GST_FLOW_ERROR)
    GST_ELEMENT_ERROR (self, RESOURCE, FAILED,
        ("downstream offered no pool of pinned or device memory"), (NULL));
  if (flow != GST_FLOW_OK
      || write_contents (*buffer, self->state->feed.frames.front ().get ()))
    return flow;
  GST_ELEMENT_ERROR (self, RESOURCE, FAILED,
      ("a buffer of the pool cannot be filled with a frame"), (NULL));
  gst_clear_buffer (buffer);
  return GST_FLOW_ERROR;
}

/* Returns a new buffer that shares the memory of the next frame. */
static GstBuffer *
share_next (const bench::SourceState &state)
{
  const auto &frames = state.feed.frames;
  return gst_buffer_copy (frames[state.count % frames.size ()].get ());
}

static GstFlowReturn
benchmark_source_create (GstPushSrc *source, GstBuffer **buffer)
{
  BenchmarkSource *self = BENCHMARK_SOURCE (source);
  bench::SourceState &state = *self->state;

  if (state.gate && !state.gate->wait ())
    return GST_FLOW_FLUSHING;
  if (state.feed.kind == bench::Feed::POOL) {
    GstFlowReturn flow = fill_from_pool (self, buffer);
    if (flow != GST_FLOW_OK)
      return flow;
  } else
    *buffer = share_next (state);
  const GstClockTime duration = state.feed.duration;
  GST_BUFFER_PTS (*buffer) =
      duration ? state.count * duration : GstClockTime (bench::now () * GST_SECOND);
  GST_BUFFER_DURATION (*buffer) = duration ? duration : GST_CLOCK_TIME_NONE;
  state.count++;
  return GST_FLOW_OK;
}

static gboolean
benchmark_source_unlock (GstBaseSrc *source)
{
  bench::Gate *gate = BENCHMARK_SOURCE (source)->state->gate;
  if (gate)
    gate->shut (true);
  return TRUE;
}

static gboolean
benchmark_source_unlock_stop (GstBaseSrc *source)
{
  bench::Gate *gate = BENCHMARK_SOURCE (source)->state->gate;
  if (gate)
    gate->shut (false);
  return TRUE;
}

static gboolean
benchmark_source_is_seekable (GstBaseSrc *source)
{
  return FALSE;
}

static void
benchmark_source_finalize (GObject *object)
{
  delete BENCHMARK_SOURCE (object)->state;
  G_OBJECT_CLASS (benchmark_source_parent_class)->finalize (object);
}

static void
benchmark_source_class_init (BenchmarkSourceClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseSrcClass *source_class = GST_BASE_SRC_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = benchmark_source_finalize;
  gst_element_class_set_static_metadata (element_class, "Benchmark source", "Source",
      "Pushes frames as fast as downstream accepts them", "GStreamer OpenCL developers");
  gst_element_class_add_static_pad_template (element_class, &src_template);
  source_class->get_caps = benchmark_source_get_caps;
  source_class->unlock = benchmark_source_unlock;
  source_class->unlock_stop = benchmark_source_unlock_stop;
  source_class->is_seekable = benchmark_source_is_seekable;
  GST_PUSH_SRC_CLASS (klass)->create = benchmark_source_create;
}

static void
benchmark_source_init (BenchmarkSource *self)
{
  self->state = new bench::SourceState;
  gst_base_src_set_format (GST_BASE_SRC (self), GST_FORMAT_TIME);
}

namespace bench {
void
Gate::open_once ()
{
  std::lock_guard<std::mutex> guard (lock);
  permits++;
  changed.notify_all ();
}

bool
Gate::wait ()
{
  std::unique_lock<std::mutex> guard (lock);
  changed.wait (guard, [this] { return is_shut || permits > 0; });
  if (is_shut)
    return false;
  permits--;
  return true;
}

void
Gate::shut (bool is_shut)
{
  std::lock_guard<std::mutex> guard (lock);
  this->is_shut = is_shut;
  changed.notify_all ();
}

void
register_source ()
{
  gst_element_register (nullptr, "benchmarksource", GST_RANK_NONE, BENCHMARK_TYPE_SOURCE);
}

void
set_feed (GstElement *source, const Feed &feed, Gate *gate)
{
  SourceState &state = *BENCHMARK_SOURCE (source)->state;
  state.feed = feed;
  state.gate = gate;
}
} // namespace bench
