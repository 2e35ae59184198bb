/* Report of the profile: messages while a pipeline runs, a table at the end
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "profilereport.hpp"

#include <gst/common/elementbin.hpp>
#include <gst/opencl/core/profile.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace transfer {
namespace {
constexpr GstClockTime interval = GST_SECOND; /* between messages of an element */

std::string
group_text (const gsize *group)
{
  return group[0] == 0 ? ""
                       : std::to_string (group[0]) + "x" + std::to_string (group[1]) + "x"
                             + std::to_string (group[2]);
}

std::vector<TimeRow>
rows_of (GstOpenCLStatistics *statistics)
{
  std::vector<TimeRow> rows;
  gst_opencl_statistics_foreach_time (
      statistics,
      [] (const GstOpenCLTime *time, gpointer data) {
        static_cast<std::vector<TimeRow> *> (data)->push_back ({"", time->kernel,
            time->layer, time->count, time->time, group_text (time->group),
            time->local_memory, time->flop, time->bytes, time->work_time});
      },
      &rows);
  gchar *name = gst_opencl_statistics_get_name (statistics);
  for (TimeRow &row : rows)
    row.element = name;
  g_free (name);
  return rows;
}
} // namespace

std::vector<TimeRow>
rows_of (const std::vector<GstOpenCLStatistics *> &elements)
{
  std::vector<TimeRow> all;
  for (GstOpenCLStatistics *statistics : elements) {
    std::vector<TimeRow> rows = rows_of (statistics);
    std::move (rows.begin (), rows.end (), std::back_inserter (all));
  }
  std::stable_sort (all.begin (), all.end (),
      [] (const TimeRow &a, const TimeRow &b) { return a.time > b.time; });
  return all;
}

/* --- table --- */

namespace {
/* Three names, and numbers */
constexpr gsize n_names = 3, n_always = 7, n_cells = 15;
using Cells = std::array<std::string, n_cells>;
using Widths = std::array<gsize, n_cells>;

std::string
number (const char *format, double value)
{
  std::array<char, 64> digits;
  return g_ascii_formatd (digits.data (), digits.size (), format, value);
}

/* Returns value / by, or "" where one of them is not known. */
std::string
quotient (const char *format, double value, double by)
{
  return value > 0 && by > 0 ? number (format, value / by) : "";
}

Cells
cells_of (const TimeRow &row, GstClockTime total, const DeviceRates &rates)
{
  const double time = double (row.work_time), count = double (row.count);
  return {row.element, row.kernel, row.layer, std::to_string (row.count),
      number ("%.3f", row.time * 1e-6), number ("%.1f", row.time * 1e-3 / row.count),
      number ("%.1f", total > 0 ? 100.0 * row.time / total : 0), row.group,
      row.local_memory > 0 ? std::to_string (row.local_memory) : "",
      quotient ("%.3f", row.bytes, 1e6 * count), quotient ("%.3f", row.flop, 1e6 * count),
      quotient ("%.2f", row.bytes, time), quotient ("%.2f", row.flop, time),
      quotient ("%.1f", 100 * row.bytes, time * rates.memory),
      quotient ("%.1f", 100 * row.flop, time * rates.arithmetic)};
}

/* Counts characters, not bytes: names may have any. */
gsize
width_of (const std::string &cell)
{
  return g_utf8_strlen (cell.c_str (), -1);
}

void
append_line (std::string &text, const Cells &cells, const Widths &widths)
{
  std::string line;
  for (gsize n = 0; n < cells.size (); n++) {
    if (widths[n] == 0)
      continue;
    const std::string gap (widths[n] - width_of (cells[n]), ' ');
    line += n == 0 ? "" : "  ";
    line += n < n_names ? cells[n] + gap : gap + cells[n];
  }
  text += line + "\n";
}
} // namespace

std::string
table_of (const std::vector<TimeRow> &rows, const DeviceRates &rates)
{
  GstClockTime total = 0;
  std::vector<Cells> lines = {
      {"element", "kernel", "layer", "count", "total ms", "mean us", "%", "group",
          "local B", "MB", "MFLOP", "GB/s", "GFLOP/s", "memory %", "arithmetic %"}};
  Widths widths{};
  std::string text;

  if (rows.empty ())
    return text;
  for (const TimeRow &row : rows)
    total += row.time;
  for (const TimeRow &row : rows)
    lines.push_back (cells_of (row, total, rates));
  for (const Cells &cells : lines)
    for (gsize n = 0; n < cells.size (); n++)
      widths[n] = std::max (widths[n], width_of (cells[n]));
  for (gsize n = n_always; n < n_cells; n++)
    if (std::all_of (lines.begin () + 1, lines.end (),
            [n] (const Cells &cells) { return cells[n].empty (); }))
      widths[n] = 0;
  for (const Cells &cells : lines)
    append_line (text, cells, widths);
  return text;
}

/* --- messages --- */

namespace {
GstMessage *
new_message (GstElement *element, const TimeRow &row)
{
  return gst_message_new_element (GST_OBJECT (element),
      gst_structure_new ("opencl-profile", "kernel", G_TYPE_STRING, row.kernel.c_str (),
          "layer", G_TYPE_STRING, row.layer.c_str (), "count", G_TYPE_UINT64, row.count,
          "time-ns", G_TYPE_UINT64, row.time, "group", G_TYPE_STRING, row.group.c_str (),
          "local-memory", G_TYPE_UINT64, row.local_memory, "bytes", G_TYPE_UINT64,
          guint64 (row.bytes), "flop", G_TYPE_UINT64, guint64 (row.flop), nullptr));
}
} // namespace

ProfileMessages::Posted &
ProfileMessages::posted_by (GstElement *element)
{
  const auto [entry, is_new] = all.try_emplace (gst_opencl_statistics_of (element));
  if (is_new)
    g_weak_ref_set (&entry->second.element, element);
  return entry->second;
}

/* Posts without the lock, because handlers of messages may do anything. */
void
ProfileMessages::post_changes (GstElement *element)
{
  std::vector<TimeRow> rows = rows_of (gst_opencl_statistics_of (element));
  {
    std::lock_guard<std::mutex> guard (lock);
    Counts &counts = posted_by (element).counts;
    const auto is_known = [&counts] (const TimeRow &row) {
      return std::exchange (counts[{row.kernel, row.layer}], row.count) == row.count;
    };
    rows.erase (std::remove_if (rows.begin (), rows.end (), is_known), rows.end ());
  }
  for (const TimeRow &row : rows)
    gst_element_post_message (element, new_message (element, row));
}

void
ProfileMessages::post_if_due (GstElement *element, GstClockTime now)
{
  {
    std::lock_guard<std::mutex> guard (lock);
    Posted &posted = posted_by (element);
    if (posted.last == 0)
      posted.last = now;
    if (now < posted.last + interval)
      return;
    posted.last = now;
  }
  gst_opencl_profile_poll ();
  post_changes (element);
}

void
ProfileMessages::finish (GstElement *element)
{
  gst_opencl_profile_finish (gst_opencl_statistics_of (element));
  post_changes (element);
}

/* (transfer full) */
std::vector<GstElement *>
ProfileMessages::ref_elements ()
{
  std::vector<GstElement *> living;
  std::lock_guard<std::mutex> guard (lock);
  for (auto &entry : all) {
    if (gpointer element = g_weak_ref_get (&entry.second.element))
      living.push_back (GST_ELEMENT (element));
  }
  return living;
}

void
ProfileMessages::finish_pipeline_of (GstObject *object)
{
  GstObject *pipeline = opencl::ref_outermost (object);
  for (GstElement *element : ref_elements ()) {
    if (GST_OBJECT (element) == pipeline
        || gst_object_has_as_ancestor (GST_OBJECT (element), pipeline))
      finish (element);
    gst_object_unref (element);
  }
  gst_object_unref (pipeline);
}
} // namespace transfer
