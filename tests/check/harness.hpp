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

/* Returns true if the tracer `leaks` is active (tests/run.sh --leaks). Tests with an
 * explained leak are skipped then. */
inline bool
checks_leaks ()
{
  const char *tracers = g_getenv ("GST_TRACERS");
  return tracers && strstr (tracers, "leaks");
}

/* --- messages --- */

/* Messages of a bus, and whether EOS was among them */
struct Outcome {
  bool eos = false;
  std::vector<std::string> errors; /* "element: message", in the order of posting */
  std::vector<std::string> warnings;
  std::vector<std::string> details; /* debug texts of the errors */

  /* Messages of the element whose name is `element` */
  std::vector<std::string> errors_of (const char *element) const;
  bool is_clean () const { return errors.empty () && warnings.empty (); }
  std::string line () const;
  /* Fails unless there is exactly one error, and it contains all `parts`. */
  void expect_one_error (const std::vector<std::string> &parts = {}) const;
};

/* Returns the messages on the bus, without waiting. */
Outcome collect (GstBus *bus);

/* Fails unless exactly these warnings were posted since the last call. Each expected text
 * is the beginning of a message. Errors also fail the test; other messages are
 * discarded. */
void expect_warnings (
    GstBus *bus, const std::string &when, const std::vector<std::string> &expected);

/* Like g_strdup_printf() */
std::string text (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* --- bytes --- */

/* Returns pseudo-random bytes, others for each seed. */
Bytes pattern (gsize size, guint seed);

/* Maps a buffer for reading; the test fails if it cannot be mapped. */
Bytes read_memory (GstMemory *memory);
Bytes read_buffer (GstBuffer *buffer);

void write_memory (GstMemory *memory, const Bytes &bytes);

/* (transfer full): a buffer of system memory */
GstBuffer *buffer_of (const Bytes &bytes);
GstBuffer *pattern_buffer (gsize size, guint seed);

void assert_same (const Bytes &got, const Bytes &expected, const std::string &what);

/* Fails unless `buffer` holds pattern (size, seed). */
void check_pattern (GstBuffer *buffer, gsize size, guint seed);

/* --- elements --- */

/* Returns the bin or element of a launch line. Fails the test if the line does not
 * parse. */
GstElement *launch (const std::string &line);

/* Sets "name=value name=value …" in one commit; "name=" sets NULL. */
void set_together (gpointer object, const std::string &settings);

/* An element or a chain of elements between two pads of the test, with a bus */
class Harness {
public:
  explicit Harness (const std::string &line, const std::string &caps = "");
  /* (transfer floating) */
  explicit Harness (
      GstElement *element, const std::string &caps = "", const char *sink = "sink");
  Harness (const Harness &) = delete;
  ~Harness ();

  operator GstHarness * () const { return harness; }
  GstHarness *operator->() const { return harness; }
  /* Returns the bin that a launch line makes, also of one element. find() returns elements. */
  GstElement *element () const { return harness->element; }
  /* Returns the first element of that factory. Fails the test if there is none. */
  Owned<GstElement> find (const char *factory) const;

  /* Caps of the input */
  void set_caps (const std::string &caps);
  /* Caps of the output */
  Owned<GstCaps> caps () const { return gst_pad_get_current_caps (harness->sinkpad); }

  /* (transfer full) */
  GstFlowReturn push (GstBuffer *buffer) { return gst_harness_push (harness, buffer); }
  /* Fails the test, with the messages posted so far, if no buffer comes. */
  Owned<GstBuffer> pull ();
  Owned<GstBuffer> pass (GstBuffer *buffer);
  bool send (GstEvent *event) { return gst_harness_push_event (harness, event); }
  void flush ();
  void start_segment (GstFormat format = GST_FORMAT_TIME, guint64 start = 0);
  /* Restarts through READY, as an application does. */
  void restart (const std::string &caps);

  /* Returns the messages since the last call. */
  Outcome messages () { return collect (bus); }

  GstHarness *harness;
  Owned<GstBus> bus;
};

/* An element without pads of the test (transfer floating), with a bus */
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
  /* Returns true if the element reaches `state`. */
  bool reaches_state (GstState state);
  Outcome messages () { return collect (bus); }

  Owned<GstElement> element;
  Owned<GstBus> bus;
};

/* Names of all elements of the project's plugins. */
std::vector<std::string> element_names ();

/* --- pipelines --- */

constexpr GstClockTime timeout = 60 * GST_SECOND;

/* Sets `pipeline` to PLAYING and waits for EOS or an error. After an error it waits
 * briefly for further ones. */
Outcome play (GstElement *pipeline);

/* The same, but returns the WARNINGs too, and waits for no further errors. */
Outcome play_with_warnings (GstElement *pipeline);

/* A pipeline of a launch line, stopped at the end of its scope */
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
  /* Returns the element of that name, owned by the pipeline. Fails if there is none. */
  GstElement *operator[] (const std::string &name) const;
  Owned<GstPad> pad (const std::string &element, const char *name) const;

  void start () { gst_element_set_state (pipeline, GST_STATE_PLAYING); }
  /* Waits until the pipeline has reached `state`. */
  void set_state (GstState state);
  Outcome play () { return check::play (pipeline); }
  /* Plays until EOS; an error fails the test. */
  void play_to_eos ();
  Outcome messages () { return collect (bus); }

  /* Returns the next sample of an appsink, or nothing at EOS. */
  Owned<GstSample> pull (const std::string &sink = "out") const;

  Owned<GstElement> pipeline;
  Owned<GstBus> bus;
};

/* Plays a pipeline until EOS or an error. */
Outcome run (const std::string &line);

/* --- pads --- */

using Look = std::function<GstPadProbeReturn (GstPadProbeInfo *info)>;

/* Adds `look` as a pad probe. What it captures by reference must outlive the pad. */
gulong watch (GstPad *pad, GstPadProbeType type, Look look);

/* Sets the properties once, when the element queries downstream caps, like a user who
 * changes them during negotiation. */
void set_during_negotiation (GstElement *element, const std::string &settings);

/* Allocation that the upstream element offers for frames of these caps */
struct Allocation {
  Owned<GstQuery> query;
  Owned<GstBufferPool> pool;
  guint size = 0, min = 0, max = 0;
};
Allocation query_allocation (Harness &harness, const std::string &caps);

/* Returns a buffer of `pool` with these bytes. */
Owned<GstBuffer> filled_buffer (GstBufferPool *pool, const Bytes &bytes);

/* Offers `pool` in reply to ALLOCATION queries that reach the test's sink pad. */
void offer_pool (Harness &harness, GstBufferPool *pool, guint size);

/* --- time and memory --- */

/* Runs `work` in a thread of its own. */
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

/* Returns true if `condition` becomes true within a minute, or longer on a slow
 * machine. */
template <typename Condition>
bool
soon (Condition condition)
{
  /* A kernel may have to be compiled first. */
  const gint64 timeout = gint64 (60 * G_TIME_SPAN_SECOND * slowness ());
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
