/* Runs the registered tests of a program
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "harness.hpp"

#include <gst/opencl/opencl.h>

#include <deque>

namespace check {
namespace {
struct RegisteredTest {
  const char *name;
  void (*run) (int);
  Labels labels;
};

/* Filled before main(), by the TEST macros */
struct Program {
  std::vector<RegisteredTest> tests;
  void (*before) () = nullptr;
  void (*after) () = nullptr;
  double seconds = 0;
  bool forks = false;
  /* Arguments of require_argument() */
  std::string argument, beginning;
  bool (*is_available) () = nullptr;
};

Program &
program ()
{
  static Program only;
  return only;
}

bool
is_special (const RegisteredTest &test)
{
  const std::string &beginning = program ().beginning;
  return !beginning.empty () && g_str_has_prefix (test.name, beginning.c_str ());
}

/* Check keeps pointers to the names and does not copy them. */
void
add (TCase *tcase, const RegisteredTest &test)
{
  static std::deque<std::string> names;

  if (!test.labels) {
    _tcase_add_test (tcase, test.run, test.name, 0, 0, 0, 1);
    return;
  }
  int row = 0;
  for (const std::string &label : test.labels ()) {
    names.push_back (std::string (test.name) + " [" + label + "]");
    _tcase_add_test (tcase, test.run, names.back ().c_str (), 0, 0, row, row + 1);
    row++;
  }
}
/* With CK_FORK=no all tests share one process, which keeps this context for them.
 * Otherwise each test has a process of its own, which isolates its faults, and creates a
 * context. That takes a vendor's driver seconds if many processes do it at once. */
class HeldContext {
public:
  HeldContext ()
  {
    const gchar *fork = g_getenv ("CK_FORK");
    if (fork && g_str_equal (fork, "no"))
      context = gst_opencl_context_new (nullptr, nullptr);
  }
  ~HeldContext () { g_clear_object (&context); }
  HeldContext (const HeldContext &) = delete;

private:
  GstOpenCLContext *context = nullptr;
};
} // namespace

bool
register_test (const char *name, void (*run) (int), Labels labels)
{
  program ().tests.push_back ({name, run, std::move (labels)});
  return true;
}

bool
around_each_test (void (*before) (), void (*after) ())
{
  program ().before = before;
  program ().after = after;
  return true;
}

bool
set_test_timeout (double seconds)
{
  program ().seconds = seconds;
  return true;
}

bool
fork_each_test ()
{
  program ().forks = true;
  return true;
}

bool
require_argument (const char *argument, const char *beginning, bool (*is_available) ())
{
  program ().argument = argument;
  program ().beginning = beginning;
  program ().is_available = is_available;
  return true;
}

std::string
data_path (const char *variable, const std::string &name)
{
  const char *folder = g_getenv (variable);
  return std::string (folder ? folder : "") + "/" + name;
}

void
report_skip (const std::string &why)
{
  g_print ("NOT CHECKED: %s\n", why.c_str ());
}

bool
has_folder (const std::string &path)
{
  const bool has = g_file_test (path.c_str (), G_FILE_TEST_IS_DIR);
  if (!has)
    report_skip ("no " + path);
  return has;
}

void
begin (const char *name, const char *file, int line)
{
  GST_DEBUG ("test start");
  tcase_fn_start (name, file, line);
}

void
end ()
{
  gst_task_cleanup_all ();
  /* Another thread releases objects after the device has used them. The tracer `leaks`
   * would not wait for it. */
  if (g_getenv ("GST_TRACERS"))
    g_usleep (200000);
}
} // namespace check

int
main (int argc, char **argv)
{
  using namespace check;
  /* The self-check distrusts an engine that takes too long, but tests must not depend on
   * time. */
  g_setenv ("GST_OPENCL_SELF_CHECK", "0", FALSE);
  gst_check_init (&argc, &argv);
  g_autofree gchar *name = g_path_get_basename (argv[0]);
  const bool special = argc > 1 && program ().argument == argv[1];
  if (special && !program ().is_available ())
    return 77; /* meson's exit status for skipped tests */
  Suite *suite = suite_create (name);
  TCase *tcase = tcase_create ("general");
  suite_add_tcase (suite, tcase);
  if (program ().before || program ().after)
    tcase_add_checked_fixture (tcase, program ().before, program ().after);
  if (program ().seconds > 0)
    tcase_set_timeout (tcase, program ().seconds);
  for (const RegisteredTest &test : program ().tests)
    if (special == is_special (test))
      add (tcase, test);
  if (program ().forks)
    g_unsetenv ("CK_FORK");
  const HeldContext held;
  return gst_check_run_suite (suite, name, argv[0]);
}
