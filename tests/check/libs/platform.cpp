/* Tests of child processes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/common/platform.hpp>

#include <thread>

using namespace check;
using opencl::ChildResult;

namespace {
struct Child {
  const char *label, *script;
  std::string input;
  opencl::ChildLimits limits;
  ChildResult::End end;
  std::string output;
};

std::vector<Child>
children ()
{
  const std::string large (3000000, 'x');
  return {
      {"prints its input", "cat", "a\nb", {}, ChildResult::ended, "a\nb"},
      {"prints more than a pipe holds", "cat", large, {}, ChildResult::ended, large},
      {"fails", "echo a; echo b >&2; exit 3", "", {}, ChildResult::ended, "a\n"},
      {"aborts", "echo a; kill -ABRT $$", "", {}, ChildResult::crashed, "a\n"},
      {"is stopped", "echo a; kill -TERM $$", "", {}, ChildResult::stopped, "a\n"},
      {"works too long", "while :; do :; done", "", {1, 60}, ChildResult::timeout, ""},
      {"sleeps too long", "echo a; exec sleep 60", "", {60, 1}, ChildResult::timeout,
          "a\n"},
  };
}
} // namespace

TEST_ROWS (test_child_process_ends, children ())
{
  const ChildResult result =
      opencl::run_child ({"/bin/sh", "-c", row.script}, row.input, row.limits);
  expect_equal (result.end, row.end);
  fail_unless (result.output == row.output, "%s", row.label);
  const bool by_signal =
      row.end == ChildResult::crashed || row.end == ChildResult::stopped;
  expect_equal (!result.reason.empty () && result.end != ChildResult::timeout, by_signal);
}

TEST (test_child_process_that_is_missing)
{
  const ChildResult result = opencl::run_child ({"/nonexistent/program"}, "", {});
  expect_equal (result.end, ChildResult::not_started);
}

TEST (test_child_process_is_cancelled)
{
  std::atomic<bool> cancelled{false};
  const gint64 start = g_get_monotonic_time ();
  std::thread other ([&] {
    g_usleep (100000);
    cancelled = true;
  });
  opencl::ChildLimits limits;
  limits.cancelled = &cancelled;
  const ChildResult result =
      opencl::run_child ({"/bin/sh", "-c", "exec sleep 300"}, "", limits);
  other.join ();
  expect_equal (result.end, ChildResult::timeout);
  fail_unless (g_get_monotonic_time () - start < 200 * G_USEC_PER_SEC);
}
