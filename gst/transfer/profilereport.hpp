/* Report of the profile: messages while a pipeline runs, a table at the end
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/profile.hpp>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace transfer {
/* One row of the table: the device's time of one element in one kernel and layer */
struct TimeRow {
  std::string element, kernel, layer;
  guint64 count;
  GstClockTime time;
  std::string group;    /* "256x1x1"; empty: the driver's choice */
  guint64 local_memory; /* bytes of a work-group */
  double flop, bytes; /* of the element or layer; 0: not known, or another kernel's row */
  GstClockTime work_time; /* of all kernels that do this */
};

/* Rates of the device in GB/s and GFLOP/s; 0: not known */
struct DeviceRates {
  double memory = 0, arithmetic = 0;
};

/* Returns the times of all `elements`, the longest first. */
std::vector<TimeRow> rows_of (const std::vector<GstOpenCLStatistics *> &elements);

/* Returns the rows as text, or "" if there are none. Columns without a value are left out. */
std::string table_of (const std::vector<TimeRow> &rows, const DeviceRates &rates);

/* Posts the times of elements as messages. May be used from any thread. */
class ProfileMessages {
public:
  /* Posts those times of `element` that changed, if its last message is a second old. */
  void post_if_due (GstElement *element, GstClockTime now);
  /* Measures all commands of `element` first. */
  void finish (GstElement *element);
  /* finish() for each element of the same pipeline */
  void finish_pipeline_of (GstObject *object);

private:
  /* By kernel and layer */
  using Counts = std::map<std::pair<std::string, std::string>, guint64>;
  struct Posted {
    Posted () { g_weak_ref_init (&element, nullptr); }
    ~Posted () { g_weak_ref_clear (&element); }
    Posted (const Posted &) = delete;
    Posted &operator= (const Posted &) = delete;

    GWeakRef element;
    GstClockTime last = 0; /* time of the last message */
    Counts counts;
  };

  Posted &posted_by (GstElement *element); /* requires the lock */
  void post_changes (GstElement *element);
  std::vector<GstElement *> ref_elements ();

  std::mutex lock;
  std::map<GstOpenCLStatistics *, Posted> all; /* the tracer owns the statistics */
};
} // namespace transfer
