/* Harness for tests: elements in a GstHarness, pipelines, and their messages
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "expect.hpp"
#include "owned.hpp"
#include "slowness.hpp"
#include "test.hpp"

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

namespace check {
using Bytes = std::vector<guint8>;

/* Where the tracer `leaks` looks at what is left alive (tests/run.sh --leaks): a test that
 * leaves something, for a reason that it gives, is none there. */
inline bool
looks_for_leaks ()
{
  const char *tracers = g_getenv ("GST_TRACERS");
  return tracers && strstr (tracers, "leaks");
}

/* --- what was said --- */

/* Messages of a bus, or the end of a pipeline */
struct Outcome {
  bool eos = false;
  std::vector<std::string> errors; /* "element: message", in the order of posting */
  std::vector<std::string> warnings;
  std::vector<std::string> details; /* of the errors: what is meant for developers */

  /* Messages of the element whose name is `element` */
  std::vector<std::string> errors_of (const char *element) const;
  /* Neither an error nor a warning. */
  bool is_clean () const { return errors.empty () && warnings.empty (); }
  /* All errors in one line. */
  std::string line () const;
  /* Just one error, in which all these stand. */
  void expect_one_error (const std::vector<std::string> &parts = {}) const;
};

/* Returns the messages on the bus, without waiting. */
Outcome collect (GstBus *bus);

/* Fails unless just these warnings were posted since; each is the beginning of one. What
 * else is on the bus before them is lost, but for errors, which fail the test. */
void expect_warnings (
    GstBus *bus, const std::string &when, const std::vector<std::string> &expected);

/* As g_strdup_printf(). */
std::string text (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* --- bytes --- */

/* Bytes that differ everywhere and from seed to seed. */
Bytes pattern (gsize size, guint seed);

/* Maps a buffer for reading; the test fails if it cannot be mapped. */
Bytes read_memory (GstMemory *memory);
Bytes read_buffer (GstBuffer *buffer);

void write_memory (GstMemory *memory, const Bytes &bytes);

/* (transfer full): a buffer of ordinary memory. */
GstBuffer *buffer_of (const Bytes &bytes);
GstBuffer *pattern_buffer (gsize size, guint seed);

void assert_same (const Bytes &got, const Bytes &expected, const std::string &what);

/* `buffer` holds `size` bytes of pattern(). */
void check_pattern (GstBuffer *buffer, gsize size, guint seed);

/* --- elements --- */

/* A bin or an element of a launch line; one that does not parse fails the test. */
GstElement *launch (const std::string &line);

/* Sets "name=value name=value …" as one set; "name=" sets NULL. */
void set_together (gpointer object, const std::string &settings);

/* An element, or a chain of them, between two pads of the test, with a bus. */
class Harness {
public:
  explicit Harness (const std::string &line, const std::string &caps = "");
  /* (transfer floating) */
  explicit Harness (GstElement *element, const std::string &caps = "");
  Harness (const Harness &) = delete;
  ~Harness ();

  operator GstHarness * () const { return harness; }
  GstHarness *operator->() const { return harness; }
  GstElement *element () const { return harness->element; }
  /* The first of that factory; fails the test where there is none. */
  Owned<GstElement> find (const char *factory) const;

  /* Caps of the input */
  void set_caps (const std::string &caps);
  /* Caps of the output */
  Owned<GstCaps> caps () const { return gst_pad_get_current_caps (harness->sinkpad); }

  /* (transfer full) */
  GstFlowReturn push (GstBuffer *buffer) { return gst_harness_push (harness, buffer); }
  /* Fails the test, with what was said, where nothing comes. */
  Owned<GstBuffer> pull ();
  Owned<GstBuffer> pass (GstBuffer *buffer);
  bool send (GstEvent *event) { return gst_harness_push_event (harness, event); }
  void flush ();
  void start_segment (GstFormat format = GST_FORMAT_TIME, guint64 start = 0);
  /* Through READY, as an application that starts again. */
  void restart (const std::string &caps);

  /* Since the last call. */
  Outcome said () { return collect (bus); }

  GstHarness *harness;
  Owned<GstBus> bus;
};

/* An element by itself (transfer floating), with a bus. */
class LoneElement {
public:
  explicit LoneElement (GstElement *element);
  explicit LoneElement (const char *factory);
  LoneElement (const LoneElement &) = delete;
  ~LoneElement ();

  operator GstElement * () const { return element; }
  template <typename Other> explicit operator Other * () const
  {
    return reinterpret_cast<Other *> (element.operator->());
  }
  /* Whether it gets there. */
  bool goes_to (GstState state);
  Outcome said () { return collect (bus); }

  Owned<GstElement> element;
  Owned<GstBus> bus;
};

/* Names of all elements of the project's plugins. */
std::vector<std::string> element_names ();

/* --- pipelines --- */

constexpr GstClockTime timeout = 60 * GST_SECOND;

/* Sets `pipeline` to PLAYING and waits for EOS, or for an error and, for a moment, for
 * further ones. */
Outcome play (GstElement *pipeline);

/* A pipeline of a launch line, which ends with the test. */
class Pipeline {
public:
  explicit Pipeline (const std::string &line);
  Pipeline (const Pipeline &) = delete;
  ~Pipeline ();

  operator GstElement * () const { return pipeline; }
  template <typename Other> explicit operator Other * () const
  {
    return reinterpret_cast<Other *> (pipeline);
  }
  /* The element of that name, which the pipeline holds; fails where there is none. */
  GstElement *operator[] (const std::string &name) const;
  Owned<GstPad> pad (const std::string &element, const char *name) const;

  void start () { gst_element_set_state (pipeline, GST_STATE_PLAYING); }
  /* And waits until it is there. */
  void set_state (GstState state);
  Outcome play () { return check::play (pipeline); }
  /* To the end, which must come without an error. */
  void play_to_the_end ();
  Outcome said () { return collect (bus); }

  /* The next of an appsink; nothing at the end. */
  Owned<GstSample> pull (const std::string &sink = "out") const;

  Owned<GstElement> pipeline;
  Owned<GstBus> bus;
};

/* A pipeline from the first to the last. */
Outcome run (const std::string &line);

/* --- pads --- */

using Look = std::function<GstPadProbeReturn (GstPadProbeInfo *info)>;

/* Calls `look` as a probe; what it refers to must outlive the pad. */
gulong watch (GstPad *pad, GstPadProbeType type, Look look);

/* Sets the property once, when the element queries downstream caps, like a user who
 * changes it during negotiation. */
void set_while_caps_are_agreed (GstElement *element, const std::string &settings);

/* Allocation that the upstream element offers for frames of these caps */
struct Offered {
  Owned<GstQuery> query;
  Owned<GstBufferPool> pool;
  guint size = 0, min = 0, max = 0;
};
Offered ask_allocation (Harness &harness, const std::string &caps);

/* A buffer of that pool, with these bytes. */
Owned<GstBuffer> filled_of (GstBufferPool *pool, const Bytes &bytes);

/* Answers the ALLOCATION queries that come to the test's pad behind the element. */
void offer_pool (Harness &harness, GstBufferPool *pool, guint size);

/* --- time and room --- */

/* Work in a thread of its own. */
class Worker {
public:
  template <typename Work>
  explicit Worker (Work work)
      : thread ([this, work] {
          work ();
          done = true;
        })
  {
  }
  ~Worker () { thread.join (); }
  bool ended () const { return done; }
  bool stays_blocked () const
  {
    g_usleep (150000);
    return !done;
  }

private:
  std::atomic<bool> done{false};
  std::thread thread;
};

/* Calls `work` with 0, 1, … `n` - 1, each in a thread of its own, and waits for all. */
template <typename Work>
void
together (guint n, Work work)
{
  std::vector<std::thread> threads;
  for (guint i = 0; i < n; i++)
    threads.emplace_back ([&work, i] { work (i); });
  for (std::thread &thread : threads)
    thread.join ();
}

/* Whether `condition` becomes true within ten seconds of an idle machine. */
template <typename Condition>
bool
soon (Condition condition)
{
  const gint64 timeout = gint64 (10 * G_TIME_SPAN_SECOND * slowness ());
  for (const gint64 start = g_get_monotonic_time ();
       g_get_monotonic_time () < start + timeout;) {
    if (condition ())
      return true;
    g_usleep (5000);
  }
  return false;
}

/* Resident memory of this process in KiB. */
gsize resident_kib ();
} // namespace check
