/* Common code of all elements on a device, for every base class
 *
 * The rules of the three base classes stand here once: which context an element takes,
 * how far it runs ahead and when nothing may be in flight any more, whose buffers it
 * fills and which memory it copies first, and how a failure is told.
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/context/gstopenclinflight.h>
#include <gst/opencl/base/gstopenclstatistics.h>
#include <gst/opencl/elements/inputwatch.hpp>
#include <gst/opencl/context/threadqueues.hpp>

#include <atomic>
#include <mutex>

namespace opencl {
/* Size, alignment and memory of the buffers that caps describe */
struct Format {
  Format () = default;
  explicit Format (GstCaps *caps); /* `size` only of raw video */

  bool names_video = false; /* the caps are of raw video, */
  bool is_video = false;    /* and valid */
  bool is_device_memory = false;
  GstVideoInfo info;
  gsize size = 0; /* of a frame; 0 where buffers are of many sizes */

  const GstVideoInfo *video () const { return is_video ? &info : nullptr; }
};

class ElementCore {
public:
  /* Not owned: the element owns this */
  explicit ElementCore (GstElement *element);
  ~ElementCore ();
  static ElementCore *of (gpointer element);
  ElementCore (const ElementCore &) = delete;
  ElementCore &operator= (const ElementCore &) = delete;

  /* --- properties: `device` and `async-depth` --- */

  /* Also sets the class's accessors, which a subclass's own do not meet. */
  static void install_properties (GObjectClass *klass);
  guint async_depth ();

  /* --- the context: gst_opencl_ensure_context() has the rule --- */

  /* For GstElementClass.set_context: the last one given before a run is the one of that
   * run; while it runs the element keeps what it has. */
  void set_context (GstContext *given);
  /* Before it starts, too, where its device is named. */
  bool answer_context_query (GstQuery *query);
  /* Between open and close, where it is constant. */
  GstOpenCLContext *context () const { return context_; }
  /* (transfer full) (nullable): at any time, in any thread */
  GstOpenCLContext *ref_context ();
  /* (nullable): the compute queue of the streaming thread, which commands of the element go
   * to; null before open() and after close() */
  cl_command_queue queue ();
  /* For work that is deferred, which goes to the same queue from other threads. */
  const std::shared_ptr<ElementQueues> &queues () const { return queues_; }

  /* --- life cycle --- */

  bool open (GError **error);
  bool is_open () const { return opened; }
  void close ();

  /* --- failures --- */

  /* One element error for one failure: frames in flight fail together, and caps that were
   * refused come again before EOS. `error` is (transfer full). In any thread. */
  void report (GError *error);
  /* For GstAggregatorClass.negotiate, whose class returns that caps were not `agreed` on with
   * the next frame only, which may not come. Returns `agreed`. */
  gboolean report_unless_negotiated (gboolean agreed, GstPad *source);
  /* Reports a failure that another element saw, such as a frame that it failed to map.
   * The element takes no more frames until start_afresh(). */
  void report_lost_frame (GError *error);
  /* A frame went well: the next failure is another one, unless it was the device's. */
  void forget_failure ();
  /* At a flush and at new caps. */
  void start_afresh ();
  /* Whether a device error, of this element or of another one in the pipeline, has ended the
   * stream: then no buffer may be sent any more, until start_afresh() of the element that
   * failed. */
  bool has_failed ();

  /* --- frames in flight --- */

  /* Waits until one more may be enqueued, on the queue of the calling thread. */
  bool admit (GError **error);
  /* `event` (transfer full) (nullable) completes with a frame. */
  void add (cl_event event);
  /* Waits for all of them; what fails is reported. */
  bool drain ();
  /* Before new caps: the same, and what is enqueued for them goes to the queue of the
   * calling thread. */
  bool drain_for_caps ();

  /* --- buffers --- */

  /* How many buffers of a pool are made before one is used again: of device memory that
   * is written and read on one queue, as many as are held. */
  static constexpr guint as_needed = 0;

  /* For an ALLOCATION query from upstream: a pool for `caps`; `in_turn` is for device
   * memory. */
  void propose_pool (GstQuery *query, GstCaps *caps, const Format &format, guint in_turn);
  /* Puts the pool to use first in the answer of downstream: the one that downstream
   * offers where it is of the memory of `caps`, `host` or not, in this context, else
   * one's own. Reports where there is none. */
  bool decide_pool (GstQuery *query, GstCaps *caps, gsize size, bool host, guint in_turn);
  /* (transfer full) (nullable): a pool whose failures the element reports */
  GstBufferPool *make_pool (bool host, GstCaps *caps, gsize size, guint in_turn);

  /* Reports that `pool` (nullable) has no buffer, unless its creator has already done
   * so. */
  void report_no_buffer (GstBufferPool *pool, gsize size);

  /* Marks the memory of an input that other threads hold too, as behind a `tee`. */
  static void mark_shared (GstBuffer *input);
  /* Marks it if the caller does not hold the only reference. */
  static void mark_if_shared (GstBuffer *input);
  bool owns (GstBuffer *buffer) const;
  /* (transfer full) (nullable): `buffer` itself where it is of one memory of this
   * context, else a copy in one, with its layout */
  GstBuffer *import (GstBuffer *buffer, GError **error);

  InputWatch &inputs () { return inputs_; }

  /* --- statistics, see Counting --- */

  /* (nullable): before the first run */
  GstOpenCLStatistics *statistics () const { return statistics_; }

private:
  static void set_property (
      GObject *object, guint id, const GValue *value, GParamSpec *pspec);
  static void get_property (GObject *object, guint id, GValue *value, GParamSpec *pspec);
  gchar *dup_device ();
  void warn_of_memory_mismatch ();
  void settle_on_named_device ();
  void drop_context_of_another_device (const gchar *wanted);
  bool ensure_import_pool (gsize size, GError **error);

  GstElement *const element;
  GstOpenCLContext *context_ = nullptr; /* object lock */
  gchar *device;                        /* (nullable); object lock */
  guint async_depth_;                   /* object lock */
  std::atomic<bool> opened{false};      /* written with the object lock */
  enum class Told { NOTHING, FAILURE, DEVICE_FAILURE };
  void post (GError *error, Told what);
  std::recursive_mutex telling; /* held while a failure is reported */
  std::atomic<Told> told{Told::NOTHING};
  InputWatch inputs_;
  const std::shared_ptr<ElementQueues> queues_ = std::make_shared<ElementQueues> ();
  GstOpenCLInFlight *const in_flight;
  GstOpenCLStatistics *statistics_ = nullptr; /* owned by the element */
  GstBufferPool *import_pool = nullptr;
  gsize import_size = 0;
};

/* Counts for the element while in scope. */
class Counting {
public:
  explicit Counting (const ElementCore &core)
      : previous (gst_opencl_statistics_enter (core.statistics ()))
  {
  }
  ~Counting () { gst_opencl_statistics_leave (previous); }
  Counting (const Counting &) = delete;
  Counting &operator= (const Counting &) = delete;

private:
  GstOpenCLStatistics *previous;
};
} // namespace opencl
