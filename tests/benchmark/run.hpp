/* opencl-bench: runs a pipeline and measures what arrives at its sink
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "result.hpp"
#include "source.hpp"
#include "statistics.hpp"

#include <string>

namespace bench {
/* A launch line with a benchmarksource for each feed, by name, and a fakesink named
 * "sink" */
struct Line {
  std::string text;
  std::vector<std::pair<std::string, Feed>> feeds;
  double amount = 1; /* counted units per frame */
};

/* End of a pipeline. With a queue the sink waits for one frame while the next is
 * enqueued. Latency is measured without one. */
extern const char *const sink;
extern const char *const queued_sink;

/* One run of a pipeline. Frames in host memory are mapped at the sink, so that they count
 * once their data has arrived. */
class Run {
public:
  Run (const Line &line, const Timing &timing, Gate *gate = nullptr);
  ~Run ();

  Run (const Run &) = delete;
  void start ();
  /* Wait until the windows are complete or `frames` have arrived, or for an error. */
  void wait ();
  void wait_for_frames (unsigned frames);
  void stop ();
  bool is_complete ();

  const std::string &error () const { return failure; }
  /* Valid after stop() */
  const std::vector<double> &rates () const { return windows.per_second (); }
  const std::vector<double> &delays () const { return latencies; }
  guint64 frames () const { return arrived; }
  /* Returns the units counted so far, while playing. */
  double amount_so_far ();

private:
  static GstPadProbeReturn on_buffer (GstPad *, GstPadProbeInfo *, gpointer);
  void arrive (GstBuffer *buffer, bool on_device);
  template <typename Condition> void wait_until (Condition condition);
  void check_bus ();

  std::string failure; /* before `pipeline`, since parsing may set it */
  Element pipeline;
  double amount;
  std::mutex lock;
  std::condition_variable changed;
  Windows windows;
  std::vector<double> latencies;
  bool stamped = true; /* timestamps say when a frame was pushed */
  guint64 arrived = 0;
};

/* Measures the rates of a line and, if the sink gets host memory, its latencies. */
void measure (const Line &line, const Timing &timing, Result &result);

/* Measures one frame at a time, while the pipeline is idle. */
void measure_latency (const Line &line, const Timing &timing, Result &result);

/* Sets `feed` to the first frame of a line that ends with an appsink named "sink". */
bool hold_frame (const std::string &text,
    const std::vector<std::pair<std::string, Feed>> &feeds, Feed &feed,
    std::string &error);
} // namespace bench
