/* Tests of paths, child processes, locks and stored verdicts
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/folder.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/stopped.hpp"

#include <gst/common/platform.hpp>
#include <gst/common/verdict.hpp>

#include <thread>

using namespace check;
using opencl::ChildResult;

namespace {
const struct {
  const char *label, *path, *separators, *name;
} paths[] = {
    {"a name alone", "p.cl", "/", "p.cl"},
    {"a folder", "/home/me/p.cl", "/", "p.cl"},
    {"a folder alone", "/home/me/", "/", ""},
    {"a backslash on Linux", "/home/a\\p.cl", "/", "a\\p.cl"},
    {"a colon on Linux", "C:p.cl", "/", "C:p.cl"},
    {"a name alone on Windows", "p.cl", "\\/", "p.cl"},
    {"a drive and backslashes", "C:\\me\\p.cl", "\\/", "p.cl"},
    {"a backslash before a slash", "C:\\me/p.cl", "\\/", "p.cl"},
    {"a slash before a backslash", "C:/me\\p.cl", "\\/", "p.cl"},
    {"a drive without a folder", "C:p.cl", "\\/", "p.cl"},
    {"a share", "\\\\host\\share\\p.cl", "\\/", "p.cl"},
    {"a stream of a file", "me\\p.cl:s", "\\/", "p.cl:s"},
    {"nothing", "", "\\/", ""},
};
} // namespace

TEST_ROWS (test_name_of_file, paths)
{
  const std::string path = row.path;
  expect_equal (opencl::name_of_file (path, row.separators), std::string (row.name));
  expect_equal (
      path.substr (0, opencl::begin_of_name (path, row.separators)) + row.name, path);
}

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

/* The limit counts the time in which this process runs. */
TEST (test_child_process_of_a_stopped_process_is_in_time)
{
  std::thread other ([] { stop_for (3); });
  const ChildResult result = opencl::run_child ({"/bin/sh", "-c", "sleep 4"}, "", {0, 3});
  other.join ();
  expect_equal (result.end, ChildResult::ended);
}

/* The thread or process that holds the lock may be stopped. */
/* The first one is the memory in bytes: this machine has some, and more than 2 GB count as 2 GB. */
TEST (test_resources_of_a_process_are_in_bytes)
{
  const gdouble memory = opencl::resources_of_process ().at (0);
  fail_unless (memory > 1e8 && memory <= 2e9, "%g", memory);
}

TEST (test_lock_of_a_file_is_waited_for_up_to_its_limit)
{
  const Folder folder;
  const auto first = opencl::lock_file (folder.file ("lock"), 1);
  const gint64 start = g_get_monotonic_time ();
  opencl::lock_file (folder.file ("lock"), 1);
  const gint64 waited = g_get_monotonic_time () - start;
  fail_unless (waited >= G_USEC_PER_SEC && waited < 60 * G_USEC_PER_SEC);
}

namespace {
const struct {
  const char *label, *text;
  gdouble days;                   /* since the verdict was stored */
  std::vector<gdouble> resources; /* of the process that asks; stored: 5, 7 */
  bool counts;
} verdicts[] = {
    {"at once", "unusable: crashes: Aborted", 0, {5, 7}, true},
    {"with less", "unusable: crashes: Aborted", 0.9, {4, 7}, true},
    {"with more of the first", "unusable: crashes: Aborted", 0, {6, 7}, false},
    {"with more of the last", "unusable: crashes: Aborted", 0, {5, 8}, false},
    {"after a day", "unusable: crashes: Aborted", 1, {5, 7}, false},
    {"before", "unusable: crashes: Aborted", -1, {5, 7}, false},
    {"wrong values are kept", "wrong: values differ", 1000, {9, 9}, true},
    {"right", "right", 1000, {9, 9}, true},
};
const gint64 day = 86400, stored_at = 1000 * day;
} // namespace

TEST_ROWS (test_verdict_counts, verdicts)
{
  const Folder folder;
  const std::string path = folder.file ("verdict");
  fail_unless (opencl::store_verdict (
      path, "build", "engine", opencl::parse_verdict (row.text), {stored_at, {5, 7}}));
  const opencl::Circumstances now = {stored_at + gint64 (row.days * day), row.resources};
  expect_equal (opencl::load_verdict (path, "build", now).text (),
      std::string (row.counts ? row.text : "pending"));
  expect_equal (
      opencl::load_verdict (path, "other", now).text (), std::string ("pending"));
}

TEST (test_verdict_lasts_longer_each_time)
{
  const Folder folder;
  const std::string path = folder.file ("verdict");
  const opencl::Verdict crash = opencl::parse_verdict ("unusable: crashes: Aborted");
  opencl::Circumstances now = {stored_at, {5}};
  for (const gint64 days : {1, 2, 4, 8, 16, 30, 30}) {
    fail_unless (opencl::store_verdict (path, "build", "engine", crash, now));
    now.time += days * day - 1;
    fail_unless (
        opencl::load_verdict (path, "build", now).is_fault (), "%d days", int (days));
    now.time++;
    fail_unless (
        !opencl::load_verdict (path, "build", now).is_fault (), "%d days", int (days));
  }
}
