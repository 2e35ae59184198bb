/* Tests of the counters of each element
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/gstopenclmemory.h>

using namespace check;

namespace {
GstElement *
new_element (const gchar *name)
{
  return GST_ELEMENT (gst_object_ref_sink (gst_element_factory_make ("identity", name)));
}

GstOpenCLCounts
counts_of (GstOpenCLStatistics *stats)
{
  GstOpenCLCounts counts;
  gst_opencl_statistics_get_counts (stats, &counts);
  return counts;
}

void
assert_name (GstOpenCLStatistics *stats, const gchar *expected)
{
  Owned<gchar> name = gst_opencl_statistics_get_name (stats);
  expect_equal (name, expected);
}
} // namespace

TEST (test_statistics_belong_to_one_element)
{
  Owned<GstElement> a = new_element ("a"), b = new_element ("b");
  GstOpenCLStatistics *of_a = gst_opencl_statistics_of (a);
  GstOpenCLStatistics *of_b = gst_opencl_statistics_of (b);
  GstOpenCLStatistics *of_none = gst_opencl_statistics_of (nullptr);

  fail_unless (of_a != of_b && of_a != of_none && of_b != of_none);
  fail_unless (gst_opencl_statistics_of (a) == of_a);
  fail_unless (gst_opencl_statistics_of (nullptr) == of_none);
  assert_name (of_a, "a");
  assert_name (of_b, "b");
  assert_name (of_none, "(application)");
  gst_object_set_name (GST_OBJECT (a), "renamed");
  gst_opencl_statistics_of (a);
  assert_name (of_a, "renamed");
}

TEST (test_statistics_are_made_once_by_threads_that_ask_together)
{
  for (int round = 0; round < 20; round++) {
    Owned<GstElement> element = new_element ("e");
    std::vector<GstOpenCLStatistics *> got (4);
    together (
        got.size (), [&] (guint i) { got[i] = gst_opencl_statistics_of (element); });
    for (GstOpenCLStatistics *stats : got)
      fail_unless (stats == got[0]);
  }
}

TEST (test_statistics_count_for_whoever_is_entered_in_the_thread)
{
  Owned<GstElement> a = new_element ("a"), b = new_element ("b");
  GstOpenCLStatistics *of_a = gst_opencl_statistics_of (a);
  GstOpenCLStatistics *of_b = gst_opencl_statistics_of (b);
  GstOpenCLStatistics *of_none = gst_opencl_statistics_of (nullptr);
  guint64 outside = counts_of (of_none).launches;

  gst_opencl_count_launches (1);
  GstOpenCLStatistics *before = gst_opencl_statistics_enter (of_a);
  gst_opencl_count_upload (100);
  gst_opencl_count_upload (23);
  {
    GstOpenCLStatistics *outer = gst_opencl_statistics_enter (of_b);
    fail_unless (outer == of_a);
    gst_opencl_count_download (7);
    gst_opencl_count_host_wait ();
    gst_opencl_statistics_leave (outer);
  }
  gst_opencl_count_throttled ();
  gst_opencl_count_launches (5);
  /* These launches belong to no element. */
  std::thread ([] { gst_opencl_count_launches (10); }).join ();
  gst_opencl_statistics_leave (before);
  gst_opencl_count_launches (100);

  GstOpenCLCounts ca = counts_of (of_a), cb = counts_of (of_b);
  expect_equal (ca.uploads, 2);
  expect_equal (ca.upload_bytes, 123);
  expect_equal (ca.downloads, 0);
  expect_equal (ca.host_waits, 0);
  expect_equal (ca.throttled, 1);
  expect_equal (ca.launches, 5);
  expect_equal (cb.downloads, 1);
  expect_equal (cb.download_bytes, 7);
  expect_equal (cb.host_waits, 1);
  expect_equal (cb.uploads + cb.launches + cb.throttled, 0);
  expect_equal (counts_of (of_none).launches - outside, 111);
}

TEST (test_statistics_tell_whether_there_is_anything_to_tell)
{
  Owned<GstElement> idle = new_element ("idle"), marked = new_element ("marked"),
                    counting = new_element ("counting");
  GstOpenCLCounts counts;

  fail_if (gst_opencl_statistics_get_counts (gst_opencl_statistics_of (idle), &counts));
  gst_opencl_statistics_mark (gst_opencl_statistics_of (marked));
  fail_unless (
      gst_opencl_statistics_get_counts (gst_opencl_statistics_of (marked), &counts));
  GstOpenCLStatistics *before =
      gst_opencl_statistics_enter (gst_opencl_statistics_of (counting));
  gst_opencl_count_host_wait ();
  gst_opencl_statistics_leave (before);
  fail_unless (
      gst_opencl_statistics_get_counts (gst_opencl_statistics_of (counting), &counts));
}

TEST (test_statistics_outlive_their_element)
{
  Owned<GstElement> element = new_element ("gone");
  GstOpenCLStatistics *stats =
      gst_opencl_statistics_ref (gst_opencl_statistics_of (element));
  GstOpenCLStatistics *before = gst_opencl_statistics_enter (stats);

  element = nullptr;
  gst_opencl_count_launches (3);
  gst_opencl_statistics_leave (before);
  expect_equal (counts_of (stats).launches, 3);
  assert_name (stats, "gone");
  gst_opencl_statistics_unref (stats);
}

TEST (test_statistics_of_a_cpu_map_are_its_threads)
{
  Owned<GstOpenCLContext> context = new_context ();
  Owned<GstElement> element = new_element ("mapper");
  GstOpenCLStatistics *stats = gst_opencl_statistics_of (element);
  OwnedCL<cl_kernel> kernel = make_kernel (context, change_source, "add");
  Owned<GstMemory> memory = gst_opencl_memory_new (context, 4000, nullptr);
  Gate gate (context);
  GstMapInfo map;

  write_memory (memory, pattern (4000, 1));
  gate.put_into (application_queue_of (context));
  fail_unless (
      gst_memory_map (memory, &map, GstMapFlags (GST_MAP_READWRITE | GST_MAP_OPENCL)));
  clReleaseEvent (enqueue_change (application_queue_of (context), kernel,
      gst_opencl_memory_get_handle (memory), 0, 4000, 1));
  gst_memory_unmap (memory, &map);
  std::thread reader ([&] {
    GstOpenCLStatistics *before = gst_opencl_statistics_enter (stats);
    read_memory (memory);
    read_memory (memory);
    gst_opencl_statistics_leave (before);
  });
  g_usleep (50000);
  gate.open ();
  reader.join ();
  GstOpenCLCounts counts = counts_of (stats);
  const guint64 downloads = shares_memory () ? 0 : 1;
  expect_equal (counts.downloads, downloads);
  expect_equal (counts.download_bytes, 4000 * downloads);
  expect_equal (counts.host_waits, 1);
  expect_equal (counts.uploads, 0);
}
