/* Common code of the base classes of all elements on a device
 *
 * Every filter, source and aggregator has one ElementCore. The base class calls it in this
 * order: open(), then admit() and finish() for each frame, drain() where frames must be over,
 * close(). CHECK_INVARIANT (n, condition) checks invariant n below in a debug build.
 *
 * States of an element. `context_` may be set before open(): the application or a neighbour's
 * query has chosen it. The object lock protects it.
 *
 *   state   opened  context_        queues_     frames in flight
 *   CLOSED  false   any             none        0
 *   OPEN    true    set, constant   any thread  0 … async-depth
 *
 *   from    event                                                   to
 *   CLOSED  set_context(), answer_context_query()                   CLOSED
 *   CLOSED  open() finds a context                                  OPEN
 *   CLOSED  open() fails; close()                                   CLOSED
 *   OPEN    admit() or drain_for_caps() in another thread: the new
 *           queue waits for the old one                             OPEN
 *   OPEN    close(), after drain()                                  CLOSED
 *
 * Failures (`reported`), in each of these states. A device failure ends the streams of all
 * elements in the pipeline (streamwatch.cpp):
 *
 *   from            event                                           to
 *   NOTHING         post(): posts one element error                 FAILURE, DEVICE_FAILURE
 *   FAILURE         post(): logs                                    FAILURE, DEVICE_FAILURE
 *   FAILURE         forget_failure(): a frame has succeeded         NOTHING
 *   DEVICE_FAILURE  post(): logs; admit(): fails                    DEVICE_FAILURE
 *   any             reset_failures(): open(), new caps, flush, seek NOTHING
 *
 * States of a frame in an element:
 *
 *   from      event                                                  to
 *   (arrives) gst_opencl_check_frame(): contradicts its caps         dropped
 *   (arrives) import(): in other memory                              a copy, as below
 *   (arrives) admit() waits until there is room                      ADMITTED
 *   ADMITTED  the subclass enqueues; finish (event)                  IN_FLIGHT
 *   ADMITTED  the subclass fails: finish() reports it                lost
 *   ADMITTED  gst_opencl_filter_defer(); finish (nullptr)            DEFERRED
 *   DEFERRED  the next filter merges the work                        IN_FLIGHT of that filter
 *   DEFERRED  any other access runs it (storage.cpp)                 enqueued, in no element's
 *                                                                    limit
 *   DEFERRED  the buffer returns to its pool unread                  lost, without a cost
 *   IN_FLIGHT admit() of a later frame, or drain(), sees its event   over, or report()
 *
 * Changes between two frames of a stream. They do not affect a frame in flight, because OpenCL
 * retains the kernels of its commands:
 *
 * - A verdict of the self-check arrives in any thread, which only counts it
 *   (gst_opencl_get_n_verdicts()). Elements ask in the streaming thread and between frames:
 *   octfft compares that number in begin_frame() and chooses its engines again, and filters of
 *   keying ask for each frame. A RECONFIGURE event then makes upstream ask again whether its
 *   work can be merged. Work that was deferred before runs by itself if it cannot be merged now.
 * - New settings are taken in begin_frame(). If they need programs or tables in a live
 *   pipeline, a thread (Preparation) builds these while frames use the old settings. It is
 *   joined before the new ones are used, and in close().
 * - Once the pads have stopped, the streaming thread builds no more programs (StopScope). What
 *   then fails is not reported.
 * - Caps change only after drain_for_caps(). Refused caps leave the old formats.
 *
 * Invariants:
 *
 *  1. An open element has a context, which is that of all its frames (admit(), owns()).
 *  2. A closed element has no frame in flight and adds none (add(), close()): base classes drain
 *     before they close. Deferred work may outlive the element. It then runs on the queue of the
 *     thread that needs it, as leave() has cleared `queues_`.
 *  3. Between admit() and the next one, all commands of a frame go to one queue, that of
 *     `queues_` (admit()). Therefore the element's own device memory needs no events.
 *  4. After admit(), fewer than async-depth frames are in flight (gst_opencl_in_flight_admit()).
 *  5. admit(), finish() and drain() are called in one thread at a time: the streaming thread, or a
 *     state change when that has stopped. A thread that only compiles calls none of them
 *     (admit(), add()).
 *  6. Of failures with one cause, one is posted: post() holds `report_lock`, so a second thread
 *     returns after the error is on the bus. DEVICE_FAILURE is not forgotten before
 *     reset_failures() (admit()).
 *  7. Failures are marked on the streams after the error is posted, because the other elements
 *     then stop without naming a cause (post()).
 *  8. The import pool belongs to the context of 1, and its buffers have at least `import_size`
 *     bytes (ensure_import_pool()).
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elementcore.hpp"

#include "streamwatch.hpp"
#include <gst/common/buffers.hpp>
#include <gst/common/settings.hpp>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/gstopenclbuffer.h>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/core/devicechoice.hpp>
#include <gst/opencl/core/frame.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/core/invariant.hpp>
#include <gst/opencl/core/memory.hpp>
#include <gst/opencl/core/pool.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>

#include <algorithm>
#include <string>
#include <utility>

namespace opencl {
namespace {
enum {
  PROP_0,
  PROP_DEVICE,
  PROP_ASYNC_DEPTH,
};

const guint default_async_depth = 4;

GQuark
core_quark ()
{
  static const GQuark quark = g_quark_from_static_string ("gst-opencl-element-core");
  return quark;
}

void
report_as_owner (GstElement *owner, GError *error)
{
  ElementCore *core = ElementCore::of (owner);
  if (core)
    core->report_lost_frame (error);
  else
    g_error_free (error);
}
} // namespace

Format::Format (GstCaps *caps)
{
  GstCapsFeatures *features = gst_caps_get_features (caps, 0);

  is_device_memory =
      features
      && gst_caps_features_contains (features, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
  is_opaque = features
              && (gst_caps_features_contains (features, "memory:GLMemory")
                  || gst_caps_features_contains (features, "memory:DMABuf"));
  names_video = gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw");
  is_video = names_video && video_info_of_caps (caps, info);
  if (is_video)
    size = GST_VIDEO_INFO_SIZE (&info);
}

ElementCore::ElementCore (GstElement *element)
    : element (element), device (g_strdup (GST_OPENCL_DEVICE_DEFAULT)),
      async_depth_ (default_async_depth),
      inputs_ (
          element, [this] (GError *error, const Place &place) { report (error, place); }),
      in_flight (gst_opencl_in_flight_new ())
{
}

ElementCore::~ElementCore ()
{
  gst_opencl_in_flight_free (in_flight);
  gst_clear_object (&context_);
  g_free (device);
}

ElementCore *
ElementCore::attach (gpointer element)
{
  auto *core = new ElementCore (GST_ELEMENT (element));
  g_object_set_qdata_full (G_OBJECT (element), core_quark (), core,
      [] (gpointer gone) { delete static_cast<ElementCore *> (gone); });
  return core;
}

ElementCore *
ElementCore::of (gpointer element)
{
  return static_cast<ElementCore *> (
      g_object_get_qdata (G_OBJECT (element), core_quark ()));
}

/* --- properties --- */

void
ElementCore::install (GObjectClass *klass)
{
  const auto flags =
      GParamFlags (G_PARAM_READWRITE | G_PARAM_CONSTRUCT | G_PARAM_STATIC_STRINGS);

  GST_ELEMENT_CLASS (klass)->set_context = set_context;
  klass->set_property = set_property;
  klass->get_property = get_property;
  g_object_class_install_property (klass, PROP_DEVICE,
      g_param_spec_string ("device", "Device",
          "Device to run on: auto (the neighbours' device, else GST_OPENCL_DEVICE, else "
          "the best GPU, else the CPU), gpu, cpu, accelerator, PLATFORM:DEVICE by index, "
          "or part of the device's name",
          GST_OPENCL_DEVICE_DEFAULT, GParamFlags (flags | GST_PARAM_MUTABLE_READY)));
  g_object_class_install_property (klass, PROP_ASYNC_DEPTH,
      g_param_spec_uint ("async-depth", "Async depth",
          "Maximum number of frames in flight on the device", 1, 64, default_async_depth,
          GParamFlags (flags | GST_PARAM_MUTABLE_PLAYING)));
}

void
ElementCore::set_property (
    GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  ElementCore &core = *of (object);
  const ObjectLock lock (object);

  if (id == PROP_ASYNC_DEPTH) {
    core.async_depth_ = g_value_get_uint (value);
    return;
  }
  g_free (core.device);
  core.device = g_value_dup_string (value);
}

void
ElementCore::get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  const ElementCore &core = *of (object);
  const ObjectLock lock (object);

  if (id == PROP_ASYNC_DEPTH)
    g_value_set_uint (value, core.async_depth_);
  else
    g_value_set_string (value, core.device);
}

gchar *
ElementCore::dup_device ()
{
  const ObjectLock lock (element);
  return g_strdup (device);
}

guint
ElementCore::async_depth ()
{
  const ObjectLock lock (element);
  return async_depth_;
}

/* --- the context --- */

void
ElementCore::set_context (GstElement *element, GstContext *given)
{
  ElementCore &core = *of (element);
  GstOpenCLContext *taken = nullptr;
  gchar *wanted = core.dup_device ();

  if (gst_opencl_handle_set_context (element, given, wanted, &taken)) {
    GST_OBJECT_LOCK (element);
    if (!core.opened)
      std::swap (core.context_, taken);
    GST_OBJECT_UNLOCK (element);
    gst_clear_object (&taken);
  }
  g_free (wanted);
  /* No base class of GStreamer's has another one. */
  GST_ELEMENT_CLASS (g_type_class_peek (GST_TYPE_ELEMENT))->set_context (element, given);
}

GstOpenCLContext *
ElementCore::ref_context ()
{
  const ObjectLock lock (element);
  return context_ ? GST_OPENCL_CONTEXT (gst_object_ref (context_)) : nullptr;
}

/* Elements start from the sink. An element with a named device must choose it when a
 * neighbour asks, before elements with device=auto choose another one. */
void
ElementCore::use_named_device ()
{
  gchar *wanted = dup_device ();

  if (wanted && *wanted && g_strcmp0 (wanted, GST_OPENCL_DEVICE_DEFAULT) != 0)
    gst_opencl_ensure_context_alone (
        element, wanted, &context_, nullptr); /* reported when this element starts */
  g_free (wanted);
}

/* The context may be the answer to a neighbour's query, for an earlier value of
 * `device`. */
void
ElementCore::drop_context_of_another_device (const gchar *wanted)
{
  GstOpenCLContext *dropped = nullptr;

  GST_OBJECT_LOCK (element);
  if (context_ && !gst_opencl_context_matches (context_, wanted))
    std::swap (context_, dropped);
  GST_OBJECT_UNLOCK (element);
  gst_clear_object (&dropped);
}

bool
ElementCore::answer_context_query (GstQuery *query)
{
  const gchar *type;

  if (GST_QUERY_TYPE (query) != GST_QUERY_CONTEXT
      || !gst_query_parse_context_type (query, &type)
      || g_strcmp0 (type, GST_OPENCL_CONTEXT_TYPE) != 0)
    return false;
  GstOpenCLContext *context = ref_context ();
  if (!context) {
    use_named_device ();
    context = ref_context ();
  }
  const bool answered = gst_opencl_handle_context_query (element, query, context);
  gst_clear_object (&context);
  return answered;
}

cl_command_queue
ElementCore::queue ()
{
  cl_command_queue queue = queues_->compute ();
  if (queue || !context_)
    return queue;
  queues_->enter (context_);
  return queues_->compute ();
}

/* --- life cycle --- */

/* Elements start from the sink, so autovideosink has chosen its sink by now. If caps have
 * nothing in common, a source later posts an error without this cause. */
void
ElementCore::warn_of_memory_mismatch ()
{
  GstPad *source = gst_element_get_static_pad (element, "src");
  const std::string mismatch = source ? find_memory_mismatch (source) : "";
  if (!mismatch.empty ())
    GST_ELEMENT_WARNING (
        element, CORE, NEGOTIATION, ("%s", mismatch.c_str ()), (nullptr));
  gst_clear_object (&source);
}

bool
ElementCore::open (GError **error)
{
  gchar *wanted = dup_device ();

  reset_failures ();
  statistics_ = gst_opencl_statistics_of (element);
  drop_context_of_another_device (wanted);
  const bool found = gst_opencl_ensure_context (element, wanted, &context_, error);
  g_free (wanted);
  GST_OBJECT_LOCK (element);
  opened = found;
  GST_OBJECT_UNLOCK (element);
  if (found) {
    warn_of_memory_mismatch ();
    inputs_.start ();
  }
  return found;
}

void
ElementCore::close ()
{
  inputs_.stop ();
  release_pool (&import_pool);
  CHECK_INVARIANT (2, gst_opencl_in_flight_is_empty (in_flight));
  queues_->leave ();
  GST_OBJECT_LOCK (element);
  GstOpenCLContext *context = std::exchange (context_, nullptr);
  opened = false;
  GST_OBJECT_UNLOCK (element);
  gst_clear_object (&context);
}

/* --- failures --- */

void
ElementCore::report (GError *error, const Place &place)
{
  g_return_if_fail (error != nullptr); /* a subclass failed without an error */
  post (error,
      error->domain == GST_OPENCL_ERROR ? Reported::DEVICE_FAILURE : Reported::FAILURE,
      place);
}

gboolean
ElementCore::report_unless_negotiated (gboolean agreed, GstPad *source)
{
  if (!agreed && !GST_PAD_IS_FLUSHING (source))
    report (g_error_new (GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION,
        "%s and the elements downstream have no caps in common",
        GST_OBJECT_NAME (element)));
  return agreed;
}

void
ElementCore::report_lost_frame (GError *error)
{
  post (error, Reported::DEVICE_FAILURE);
}

void
ElementCore::forget_failure ()
{
  Reported failure = Reported::FAILURE;
  inputs_.mark_frame_seen ();
  reported.compare_exchange_strong (failure, Reported::NOTHING);
}

void
ElementCore::reset_failures ()
{
  if (reported.exchange (Reported::NOTHING) == Reported::DEVICE_FAILURE)
    unmark_streams (element);
}

bool
ElementCore::has_failed ()
{
  if (reported != Reported::DEVICE_FAILURE)
    return has_failed_stream (element);
  std::lock_guard<std::recursive_mutex> guard (report_lock); /* a thread may be posting */
  return true;
}

/* The second thread returns only after the first one has posted the error. Otherwise
 * the application could see EOS, or an error without a cause, first. */
void
ElementCore::post (GError *error, Reported what, const Place &place)
{
  if (StopScope::has_refused ()) {
    GST_DEBUG_OBJECT (element, "failed while it stops: %s", error->message);
    g_error_free (error);
    return;
  }
  GstOpenCLContext *context =
      error->domain == GST_OPENCL_ERROR ? ref_context () : nullptr;
  {
    std::lock_guard<std::recursive_mutex> guard (report_lock);
    const Reported before = reported.load ();
    reported = std::max (before, what);
    if (before == Reported::NOTHING) {
      gst_opencl_post_error (element, error, place);
    } else {
      GST_DEBUG_OBJECT (element, "failed again: %s", error->message);
      g_error_free (error);
    }
    /* Last, because other elements stop when they see it, and their sources post errors
     * that name no cause. */
    if (what == Reported::DEVICE_FAILURE)
      mark_streams_failed (element);
  }
  if (context)
    gst_opencl_context_check_device (context);
  gst_clear_object (&context);
}

/* --- frames in flight --- */

bool
ElementCore::admit (GError **error)
{
  CHECK_INVARIANT (1, opened && context_);
  CHECK_INVARIANT (5, !compiles_only ());
  if (reported == Reported::DEVICE_FAILURE) {
    g_set_error (
        error, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, "The device failed earlier");
    return false;
  }
  if (!opencl::check_process (error))
    return false;
  queues_->enter (context_);
  return gst_opencl_in_flight_admit (in_flight, async_depth (), error);
}

void
ElementCore::add (cl_event event)
{
  if (!event)
    return;
  CHECK_INVARIANT (2, opened);
  CHECK_INVARIANT (5, !compiles_only ());
  gst_opencl_in_flight_add (in_flight, event);
  clReleaseEvent (event);
}

bool
ElementCore::finish (bool enqueued, cl_event event, GError *error)
{
  add (event);
  if (enqueued)
    forget_failure ();
  else
    report (error);
  return enqueued;
}

bool
ElementCore::drain ()
{
  GError *error = nullptr;

  if (gst_opencl_in_flight_drain (in_flight, &error))
    return true;
  report (error);
  return false;
}

bool
ElementCore::drain_for_caps ()
{
  if (!drain ())
    return false;
  queues_->enter (context_);
  return true;
}

/* --- pools --- */

static void
put_pool_first (GstQuery *query, GstBufferPool *pool, gsize size, guint min_buffers)
{
  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_set_nth_allocation_pool (
        query, 0, pool, size_in_config (size), min_buffers, 0);
  else
    gst_query_add_allocation_pool (query, pool, size_in_config (size), min_buffers, 0);
}

static bool
configure_pool (GstBufferPool *pool, GstCaps *caps, gsize size, guint min_buffers)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);

  gst_buffer_pool_config_set_params (config, caps, size_in_config (size), min_buffers, 0);
  if (caps && gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw"))
    gst_buffer_pool_config_add_option (config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  return gst_buffer_pool_set_config (pool, config);
}

GstBufferPool *
ElementCore::make_pool (bool host, GstCaps *caps, gsize size, guint min_buffers)
{
  GstOpenCLContext *context = ref_context ();
  GstBufferPool *pool =
      context ? gst_opencl_buffer_pool_new_configured (context, host, caps, size)
              : nullptr;
  gst_clear_object (&context);
  if (!pool)
    return nullptr;
  configure_pool (pool, caps, size, min_buffers);
  pool_reports_to (pool, std::make_shared<FrameOwner> (element, report_as_owner));
  return pool;
}

/* Upstream fills one buffer of host memory while the device still reads those of the
 * frames in flight. */
static guint
min_buffers_for_upstream (const Format &format, guint min_buffers, guint async_depth)
{
  return format.is_device_memory ? min_buffers
                                 : MAX (async_depth + 1, guint (GST_OPENCL_MIN_BUFFERS));
}

/* Offers pinned memory to upstream elements that work in system memory, as it transfers
 * fastest. If the device works in host memory, offers device memory. */
void
ElementCore::propose_pool (
    GstQuery *query, GstCaps *caps, const Format &format, guint min_buffers)
{
  GstOpenCLContext *context = ref_context ();
  if (!context) /* upstream queries while this element stops */
    return;
  if (format.size > 0) {
    const bool host =
        !format.is_device_memory && !gst_opencl_context_shares_host_memory (context);
    min_buffers = min_buffers_for_upstream (format, min_buffers, async_depth ());
    GstBufferPool *pool = make_pool (host, caps, format.size, min_buffers);
    gst_query_add_allocation_pool (
        query, pool, size_in_config (format.size), min_buffers, 0);
    gst_clear_object (&pool);
  }
  gst_query_add_allocation_meta (query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_object_unref (context);
}

/* Returns whether `pool` has the memory that this element would allocate itself. */
static bool
is_usable_pool (GstBufferPool *pool, GstOpenCLContext *context, bool host)
{
  if (!pool || !GST_IS_OPENCL_BUFFER_POOL (pool))
    return false;
  GstOpenCLBufferPool *opencl_pool = GST_OPENCL_BUFFER_POOL (pool);
  return bool (gst_opencl_buffer_pool_is_host (opencl_pool)) == host
         && gst_opencl_buffer_pool_get_context (opencl_pool) == context;
}

bool
ElementCore::decide_pool (
    GstQuery *query, GstCaps *caps, gsize size, bool host, guint min_buffers)
{
  GstBufferPool *pool = nullptr;
  guint proposed_size = 0, proposed_min_buffers = 0;

  if (gst_query_get_n_allocation_pools (query) > 0)
    gst_query_parse_nth_allocation_pool (
        query, 0, &pool, &proposed_size, &proposed_min_buffers, nullptr);
  if (is_usable_pool (pool, context_, host)) {
    size = MAX (size, gsize (proposed_size));
    min_buffers = MAX (min_buffers, proposed_min_buffers);
  } else {
    gst_clear_object (&pool);
  }
  if (size == 0) /* buffers differ in size, and no pool was offered */
    return true;
  if (!pool || !configure_pool (pool, caps, size, min_buffers)
      || !pool_holds (pool, size)) {
    gst_clear_object (&pool);
    pool = make_pool (host, caps, size, min_buffers);
  }
  if (!pool) {
    report (g_error_new (GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "Cannot create a buffer pool for frames of %" G_GSIZE_FORMAT " bytes", size));
    return false;
  }
  put_pool_first (query, pool, size, min_buffers);
  gst_object_unref (pool);
  return true;
}

void
ElementCore::report_no_buffer (GstBufferPool *pool, gsize size)
{
  if (!pool_has_reported (pool))
    report (g_error_new (GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "No memory for a frame of %" G_GSIZE_FORMAT " bytes on %s", size,
        gst_opencl_context_get_device_name (context_)));
}

/* --- input in other memory --- */

void
ElementCore::mark_shared (GstBuffer *input)
{
  for (guint i = 0; i < gst_buffer_n_memory (input); i++) {
    GstMemory *memory = gst_buffer_peek_memory (input, i);
    if (gst_is_opencl_memory (memory))
      storage_of (memory).mark_shared ();
  }
}

/* A copy of a buffer has the same memory, or memory with the same storage. */
static bool
is_memory_shared (GstMemory *memory)
{
  return gst_is_opencl_memory (memory)
         && (GST_MINI_OBJECT_REFCOUNT_VALUE (memory) > 1 || is_storage_shared (memory));
}

void
ElementCore::mark_if_shared (GstBuffer *input)
{
  bool is_shared = GST_MINI_OBJECT_REFCOUNT_VALUE (input) > 1;
  for (guint i = 0; !is_shared && i < gst_buffer_n_memory (input); i++)
    is_shared = is_memory_shared (gst_buffer_peek_memory (input, i));
  if (is_shared)
    mark_shared (input);
}

bool
ElementCore::owns (GstBuffer *buffer) const
{
  if (gst_buffer_n_memory (buffer) != 1)
    return false;
  GstMemory *memory = gst_buffer_peek_memory (buffer, 0);
  return gst_is_opencl_memory (memory)
         && gst_opencl_context_get_handle (gst_opencl_memory_get_context (memory))
                == gst_opencl_context_get_handle (context_);
}

/* The pool has no caps, because each buffer brings its layout in a GstVideoMeta. It has
 * several buffers, because uploads use a queue of their own. */
bool
ElementCore::ensure_import_pool (gsize size, GError **error)
{
  CHECK_INVARIANT (8, opened);
  if (import_pool && import_size >= size)
    return true;
  release_pool (&import_pool);
  import_pool = gst_opencl_buffer_pool_new_configured (context_, FALSE, nullptr, size);
  import_size = size;
  if (import_pool && gst_buffer_pool_set_active (import_pool, TRUE))
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
      "No device memory for frames of %" G_GSIZE_FORMAT " bytes", size);
  return false;
}

GstBuffer *
ElementCore::import (GstBuffer *buffer, GError **error)
{
  const gsize size = gst_buffer_get_size (buffer);
  GstBuffer *imported = nullptr;
  cl_event event = nullptr;

  if (owns (buffer))
    return gst_buffer_ref (buffer);
  GST_DEBUG_OBJECT (element, "copying %" GST_PTR_FORMAT, buffer);
  if (!ensure_import_pool (size, error))
    return nullptr;
  if (gst_buffer_pool_acquire_buffer (import_pool, &imported, nullptr) != GST_FLOW_OK) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_MEMORY,
        "No device memory for a frame of %" G_GSIZE_FORMAT " bytes", size);
    return nullptr;
  }
  gst_buffer_set_size (imported, size);
  gst_buffer_copy_into (imported, buffer, GST_BUFFER_COPY_FLAGS, 0, -1);
  if (!gst_opencl_buffer_copy_async (
          context_, imported, buffer, nullptr, &event, error)) {
    gst_buffer_unref (imported);
    return nullptr;
  }
  if (event)
    clReleaseEvent (event);
  if (GstVideoMeta *meta = gst_buffer_get_video_meta (buffer))
    gst_buffer_add_video_meta_full (imported, meta->flags, meta->format, meta->width,
        meta->height, meta->n_planes, meta->offset, meta->stride);
  return imported;
}
} // namespace opencl

GstFlowReturn
gst_opencl_check_frame (GstElement *element, GstBuffer *buffer, const GstVideoInfo *info,
    gsize size, guint *n_in_a_row)
{
  opencl::PlaneLayouts layout;
  GError *error = nullptr;

  if (opencl::is_one_frame (buffer, info, size, &error)
      && (!info || opencl::layout_of (buffer, info, layout, &error))) {
    *n_in_a_row = 0;
    return GST_FLOW_OK;
  }
  error = opencl::drop_invalid_frame (element, *n_in_a_row, error);
  if (!error)
    return GST_FLOW_CUSTOM_SUCCESS;
  opencl::ElementCore::of (element)->report_lost_frame (error);
  return GST_FLOW_ERROR;
}
