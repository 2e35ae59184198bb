/* Detects streams that cannot go on
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/elementerror.hpp>
#include <gst/gst.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace opencl {
/* These functions act on the streams of all pads of an element, in any thread. */
void mark_streams_failed (GstElement *element);
void unmark_streams (GstElement *element);
bool has_failed_stream (GstElement *element);

/* If `source` sends only OpenCL memory and the next element takes only other memory,
 * returns a text that names both elements and suggests opencldownload. Else returns an
 * empty text. */
std::string find_memory_mismatch (GstPad *source);

/* For the caps query of a sink pad, which is all that an element sees of a failed link such
 * as "octtestsrc ! octfft". gst-launch-1.0 and most applications add elements in the order of
 * their links. So if `sink` cannot be linked to the element that was added before, but a
 * converter would help, logs a warning that names the converter. */
void warn_of_missing_element (GstElement *element, GstPad *sink);

/* An element with several inputs outputs no frame before its main pad (the always pad),
 * or each pad of an aggregator, has data. If the main pad is not linked after a second,
 * that is an element error. Until then an application may link it in a running pipeline.
 * Other inputs without data are a WARNING after five seconds, because a network source or
 * a decoder may take longer. This also holds for pads that are added while playing. Time
 * does not count while a thread is Busy, or while a live source waits for PLAYING. */
class InputWatch {
public:
  /* Reports an error (transfer full) as the element's, from a place. */
  using Report = std::function<void (GError *error, const Place &place)>;
  /* `element` owns this. */
  InputWatch (GstElement *element, Report report)
      : element (element), report_error (std::move (report))
  {
  }
  ~InputWatch () { stop (); }
  InputWatch (const InputWatch &) = delete;
  InputWatch &operator= (const InputWatch &) = delete;

  void start ();
  void stop ();
  /* Called for each frame in the streaming thread: no input is missing at the moment. */
  void mark_frame_seen () { has_frame.store (true, std::memory_order_relaxed); }

  /* Wakes the streaming thread of a live aggregator. It sleeps if an input did not know its
   * latency yet, and the others wait for it. */
  void wake ();
  /* Called by the timer, every second. */
  void check ();

private:
  void report (GstPad *missing, GstPad *waiting, guint time);

  GstElement *const element;
  const Report report_error;
  GstClockID timer = nullptr; /* (nullable) */
  std::atomic<guint> checks{0};
  std::atomic<bool> has_frame{false};
};
} // namespace opencl
