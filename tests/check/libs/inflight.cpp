/* Tests of the limit on frames in flight
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/gstopenclinflight.h>
#include <gst/opencl/gstopenclerror.h>

using namespace check;

namespace {
/* Frames that finish when the test opens their gates */
struct Frames {
  GstOpenCLContext *context = new_context ();
  GstOpenCLInFlight *in_flight = gst_opencl_in_flight_new ();
  std::vector<std::unique_ptr<Gate>> gates;

  ~Frames ()
  {
    gst_opencl_in_flight_free (in_flight);
    gates.clear ();
    gst_object_unref (context);
  }

  void add ()
  {
    gates.push_back (std::make_unique<Gate> (context));
    gst_opencl_in_flight_add (in_flight, gates.back ()->event);
  }

  guint64 throttled ()
  {
    GstOpenCLCounts counts;
    gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &counts);
    return counts.throttled;
  }
};

void
assert_admits (Frames &frames, guint depth)
{
  guint64 before = frames.throttled ();
  fail_unless (gst_opencl_in_flight_admit (frames.in_flight, depth, nullptr));
  expect_equal (frames.throttled (), before); /* without waiting */
}

/* Fails unless `work` blocks until `gate` opens. */
template <typename Work>
void
assert_waits_for (Gate &gate, Work work)
{
  std::atomic<bool> done{false};
  std::thread thread ([&] {
    work ();
    done = true;
  });
  g_usleep (80000);
  bool waited = !done;
  gate.open ();
  thread.join ();
  fail_unless (waited);
}
} // namespace

TEST (test_in_flight_admits_as_many_as_its_depth_and_waits_then)
{
  for (guint depth : {1u, 2u, 5u}) {
    Frames frames;
    for (guint i = 0; i < depth; i++) {
      assert_admits (frames, depth);
      frames.add ();
    }
    for (int more = 0; more < 3; more++) {
      /* The oldest frame makes room. */
      assert_waits_for (*frames.gates[more], [&] {
        fail_unless (gst_opencl_in_flight_admit (frames.in_flight, depth, nullptr));
      });
      frames.add ();
    }
  }
}

TEST (test_in_flight_counts_a_wait_as_throttled_only_when_it_blocked)
{
  Frames frames;
  GstOpenCLCounts counts;
  guint64 before = frames.throttled ();

  frames.add ();
  frames.gates[0]->open ();
  fail_unless (gst_opencl_in_flight_admit (frames.in_flight, 1, nullptr));
  expect_equal (frames.throttled (), before);
  frames.add ();
  assert_waits_for (*frames.gates[1],
      [&] { fail_unless (gst_opencl_in_flight_admit (frames.in_flight, 1, nullptr)); });
  expect_equal (frames.throttled (), before + 1);
  gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &counts);
  expect_equal (counts.host_waits, 0);
}

TEST (test_in_flight_drain_waits_for_every_frame)
{
  Frames frames;
  fail_unless (gst_opencl_in_flight_drain (frames.in_flight, nullptr)); /* no frames */
  for (int i = 0; i < 4; i++)
    frames.add ();
  for (int i : {1, 0, 2})
    frames.gates[i]->open ();
  assert_waits_for (*frames.gates[3],
      [&] { fail_unless (gst_opencl_in_flight_drain (frames.in_flight, nullptr)); });
  assert_admits (frames, 1);
}

TEST (test_in_flight_smaller_depth_waits_for_the_frames_too_many)
{
  Frames frames;
  for (int i = 0; i < 5; i++)
    frames.add ();
  for (int i : {0, 1, 2})
    frames.gates[i]->open ();
  assert_waits_for (*frames.gates[3],
      [&] { fail_unless (gst_opencl_in_flight_admit (frames.in_flight, 2, nullptr)); });
}

TEST (test_in_flight_reports_a_failed_frame_once)
{
  for (bool drains : {false, true}) {
    Frames frames;
    Owned<GError> error;
    for (int i = 0; i < 3; i++)
      frames.add ();
    frames.gates[0]->open ();
    frames.gates[1]->fail_call ();
    frames.gates[2]->open ();
    fail_if (drains ? gst_opencl_in_flight_drain (frames.in_flight, error.out ())
                    : gst_opencl_in_flight_admit (frames.in_flight, 2, error.out ()));
    fail_unless (error && error->domain == GST_OPENCL_ERROR);
    expect_contains (error->message, {"CL_OUT_OF_RESOURCES"});
    assert_admits (frames, 1);
    fail_unless (gst_opencl_in_flight_drain (frames.in_flight, error.out ()));
  }
}

TEST (test_in_flight_drain_waits_also_behind_a_failed_frame)
{
  Frames frames;
  Owned<GError> error;
  for (int i = 0; i < 3; i++)
    frames.add ();
  frames.gates[0]->fail_call ();
  frames.gates[1]->fail_call ();
  assert_waits_for (*frames.gates[2],
      [&] { fail_if (gst_opencl_in_flight_drain (frames.in_flight, error.out ())); });
}
