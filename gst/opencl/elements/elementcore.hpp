/* Common code of the base classes of all elements on a device
 *
 * Chooses the context, limits and drains the frames in flight, negotiates buffer pools,
 * copies input that is in other memory, and reports errors.
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/elementerror.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/core/profile.hpp>
#include "streamwatch.hpp"
#include <gst/opencl/core/queues.hpp>
#include <gst/opencl/core/stopscope.hpp>

#include <atomic>
#include <mutex>

namespace opencl {
/* Size, alignment and memory of the buffers that caps describe */
struct Format {
  Format () = default;
  explicit Format (GstCaps *caps); /* sets `size` for raw video only */

  bool names_video = false; /* the caps are video/x-raw */
  bool is_video = false;    /* and describe valid raw video */
  bool is_device_memory = false;
  bool is_opaque = false; /* textures or dma_bufs, whose layout only a driver knows */
  GstVideoInfo info;
  gsize size = 0; /* of a frame; 0 if buffers differ in size */

  const GstVideoInfo *video () const { return is_video ? &info : nullptr; }

  /* Sets the format of `caps`. The class (a filter's or a source's) knows the size of
   * frames that are no raw video. */
  template <typename Class, typename Element>
  bool set (const Class *klass, Element *element, GstCaps *caps)
  {
    *this = Format (caps);
    return names_video
               ? is_video
               : klass->get_frame_size && klass->get_frame_size (element, caps, &size);
  }
};

class ElementCore;

/* Counts for the element while in scope. */
class Counting {
public:
  explicit Counting (const ElementCore &core);
  ~Counting () { gst_opencl_statistics_leave (previous); }
  Counting (const Counting &) = delete;
  Counting &operator= (const Counting &) = delete;

private:
  GstOpenCLStatistics *previous;
};

/* The same in a streaming thread, which builds no more programs when the element stops */
class Streaming {
public:
  explicit Streaming (const ElementCore &core);

private:
  const Counting counting;
  const StopScope scope;
};

class ElementCore {
public:
  /* Makes the core of `element`, which owns it until it is finalized. */
  static ElementCore *attach (gpointer element);
  static ElementCore *of (gpointer element);
  ElementCore (const ElementCore &) = delete;
  ElementCore &operator= (const ElementCore &) = delete;

  /* --- properties: `device` and `async-depth` --- */

  /* Also sets set_context() and the property accessors of the class. Subclasses may have
   * accessors of their own, which GObject calls for their own properties only. */
  static void install (GObjectClass *klass);
  guint async_depth ();

  /* --- the context: see gst_opencl_ensure_context() for the rules --- */

  /* Also answers before the element starts, if its `device` property names a device. */
  bool answer_context_query (GstQuery *query);
  /* Constant between open() and close(). */
  GstOpenCLContext *context () const { return context_; }
  /* (transfer full) (nullable): may be called at any time, in any thread */
  GstOpenCLContext *ref_context ();
  /* (nullable): compute queue of the streaming thread, on which the element enqueues;
   * NULL before open() and after close() */
  cl_command_queue queue ();
  /* For deferred work, which other threads enqueue on the same queue. */
  const std::shared_ptr<ElementQueues> &queues () const { return queues_; }

  /* --- life cycle --- */

  bool open (GError **error);
  /* open() and then that of the element's class. Reports a failure. */
  template <typename Class, typename Element>
  bool open (const Class *klass, Element *self, const Place &place = Place::here ())
  {
    GError *error = nullptr;
    const bool opened = open (&error);
    const Counting counting (*this);
    if (opened && (!klass->open || klass->open (self, &error)))
      return true;
    report (error, place);
    return false;
  }
  bool is_open () const { return opened; }
  void close ();
  /* close() after that of the element's class, which is called after success and failure
   * of its open(), so that it can undo a partial one. */
  template <typename Class, typename Element>
  void close (const Class *klass, Element *self)
  {
    if (is_open () && klass->close)
      klass->close (self);
    close ();
  }

  /* --- failures --- */

  /* Posts one element error for failures with the same cause: frames in flight fail
   * together, and refused caps come again before EOS. `error` is (transfer full). May be
   * called in any thread. */
  void report (GError *error, const Place &place = Place::here ());
  /* For GstAggregatorClass.negotiate. Reports an error unless `agreed`, because
   * GstAggregator returns that failure only with the next frame, which may not come.
   * Returns `agreed`. */
  gboolean report_unless_negotiated (gboolean agreed, GstPad *source);
  /* Reports a failure that another element saw, such as a frame that it failed to map.
   * The element takes no more frames until reset_failures(). */
  void report_lost_frame (GError *error);
  /* Called when a frame has succeeded. The next failure is then reported again, unless
   * the device has failed. */
  void forget_failure ();
  /* Forgets all failures. Called at a flush and at new caps. */
  void reset_failures ();
  /* Returns whether a device error of any element in the pipeline has ended the stream.
   * Then no buffer may be sent until reset_failures() of the element that failed. */
  bool has_failed ();

  /* --- frames in flight --- */

  /* Waits until another frame may be in flight. Selects the queue of the calling
   * thread. */
  bool admit (GError **error);
  /* Ends a frame whose commands were enqueued, or reports `error` (transfer full). `event`
   * (transfer full) (nullable) completes with the frame. Returns `enqueued`. */
  bool finish (bool enqueued, cl_event event, GError *error);
  /* The same with GStreamer's result, in the scope of a Streaming */
  GstFlowReturn end (bool enqueued, cl_event event, GError *error)
  {
    if (finish (enqueued, event, error))
      return GST_FLOW_OK;
    return StopScope::has_refused () ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
  }
  /* Waits for all frames in flight, and reports a failure. */
  bool drain ();
  /* drain() for new caps, which also selects the queue of the calling thread. */
  bool drain_for_caps ();

  /* --- buffers --- */

  /* Value of `min_buffers` for device memory that is written and read on one queue: the
   * pool allocates only as many as are in use. */
  static constexpr guint as_needed = 0;

  /* Answers an ALLOCATION query from upstream with a pool for `caps`. `min_buffers`
   * applies to device memory only. */
  void propose_pool (
      GstQuery *query, GstCaps *caps, const Format &format, guint min_buffers);
  /* Puts the pool to use first in downstream's answer to an ALLOCATION query. Uses the
   * pool that downstream offers if it has the right memory (`host` or not) in this
   * context, else a new one. Reports an error if there is none. */
  bool decide_pool (
      GstQuery *query, GstCaps *caps, gsize size, bool host, guint min_buffers);
  /* (transfer full) (nullable): a pool whose failures the element reports */
  GstBufferPool *make_pool (bool host, GstCaps *caps, gsize size, guint min_buffers);

  /* Reports that `pool` (nullable) has no buffer, unless the pool reports that itself. */
  void report_no_buffer (GstBufferPool *pool, gsize size);

  /* Marks the memory of an input that other threads use too, as after a `tee`. */
  static void mark_shared (GstBuffer *input);
  /* Marks it if the caller does not hold the only reference. */
  static void mark_if_shared (GstBuffer *input);
  bool owns (GstBuffer *buffer) const;
  /* (transfer full) (nullable): `buffer` itself if it is one memory of this context, else
   * a copy with the same layout */
  GstBuffer *import (GstBuffer *buffer, GError **error);

  InputWatch &inputs () { return inputs_; }

  /* --- statistics, see Counting --- */

  /* (nullable): NULL before the first run */
  GstOpenCLStatistics *statistics () const { return statistics_; }

private:
  friend class Streaming;
  explicit ElementCore (GstElement *element);
  ~ElementCore ();
  void add (cl_event event);
  /* The last context that was set before the element starts is used. A running element
   * keeps its context. */
  static void set_context (GstElement *element, GstContext *given);
  static void set_property (
      GObject *object, guint id, const GValue *value, GParamSpec *pspec);
  static void get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec);
  gchar *dup_device ();
  void warn_of_memory_mismatch ();
  void use_named_device ();
  void drop_context_of_another_device (const gchar *wanted);
  bool ensure_import_pool (gsize size, GError **error);

  GstElement *const element;
  GstOpenCLContext *context_ = nullptr; /* object lock */
  gchar *device;                        /* (nullable); object lock */
  guint async_depth_;                   /* object lock */
  std::atomic<bool> opened{false};      /* written with the object lock */
  enum class Reported { NOTHING, FAILURE, DEVICE_FAILURE };
  void post (GError *error, Reported what, const Place &place = Place::here ());
  std::recursive_mutex report_lock; /* held while a failure is reported */
  std::atomic<Reported> reported{Reported::NOTHING};
  InputWatch inputs_;
  const std::shared_ptr<ElementQueues> queues_ = std::make_shared<ElementQueues> ();
  GstOpenCLInFlight *const in_flight;
  GstOpenCLStatistics *statistics_ = nullptr; /* owned by the element */
  GstBufferPool *import_pool = nullptr;
  gsize import_size = 0;
};

inline Counting::Counting (const ElementCore &core)
    : previous (gst_opencl_statistics_enter (core.statistics ()))
{
}

inline Streaming::Streaming (const ElementCore &core)
    : counting (core), scope (core.element)
{
}
} // namespace opencl
