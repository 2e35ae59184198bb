/* Runs the registered tests of a program
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "harness.hpp"

#include <gst/opencl/gstopenclcontext.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <unistd.h>
#include <vector>

#ifdef _WIN32 /* lacks these; the script that runs a program there limits its time */
#define SIGALRM SIGBREAK
#define SIGBUS SIGABRT
#define alarm(seconds)
#define tcase_set_timeout(tcase, seconds)
#endif

#undef _ck_assert_failed /* here the function of Check */

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
  std::vector<std::pair<void (*) (), void (*) ()>> around; /* before, after a test */
  double seconds = 0;
  bool forks = false;
  std::string beginning; /* of the names of tests that need measured data */
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

/* Adds a test, or each of its rows. Returns how many of them GST_CHECKS chooses. Check keeps
 * pointers to the names and does not copy them. */
int
add (TCase *tcase, const RegisteredTest &test)
{
  static std::deque<std::string> names;
  const std::vector<std::string> labels =
      test.labels ? test.labels () : std::vector<std::string> (1);
  int row = 0, chosen = 0;

  for (const std::string &label : labels) {
    names.push_back (
        test.labels ? std::string (test.name) + " [" + label + "]" : test.name);
    const char *name = names.back ().c_str ();
    _tcase_add_test (tcase, test.run, name, 0, 0, row, row + 1);
    chosen += _gst_check_run_test_func (name) ? 1 : 0;
    row++;
  }
  return chosen;
}

bool
is_one_process ()
{
  const gchar *fork = g_getenv ("CK_FORK");
  return fork && g_str_equal (fork, "no");
}

/* With CK_FORK=no all tests share one process, which keeps this context for them and so
 * compiles a program once. Otherwise each test has a process of its own, which isolates
 * its faults, and each pipeline in it creates a context. */
class HeldContext {
public:
  HeldContext ()
  {
    if (is_one_process ())
      context = gst_opencl_context_new (nullptr, nullptr);
  }
  ~HeldContext () { g_clear_object (&context); }
  HeldContext (const HeldContext &) = delete;

private:
  GstOpenCLContext *context = nullptr;
};

/* Variables that one test sets must not reach the next one in a shared process. */
class SavedEnvironment {
public:
  SavedEnvironment () : saved (g_get_environ ()) {}
  ~SavedEnvironment () { g_strfreev (saved); }
  SavedEnvironment (const SavedEnvironment &) = delete;

  void restore () const
  {
    gchar **now = g_get_environ ();
    for (gchar **line = now; *line; line++) {
      const std::string name (*line, strcspn (*line, "="));
      const gchar *before = g_environ_getenv (saved, name.c_str ());
      if (!before)
        g_unsetenv (name.c_str ());
      else if (*line != name + "=" + before)
        g_setenv (name.c_str (), before, TRUE);
    }
    g_strfreev (now);
  }

private:
  gchar **saved;
};

const SavedEnvironment *environment = nullptr;
constexpr char data_variable[] = "GST_OPENCL_TEST_DATA";

/* --- crashes and hangs in a shared process, which Check reports only if it forks --- */

volatile const char *running = ""; /* "" between tests */
unsigned timeout_seconds = 0;      /* 0 for none */

void
name_running_test (int signal)
{
  const char *name = const_cast<const char *> (running);
  const char *what = signal == SIGALRM ? ": timeout\n" : ": crash\n";
  if (write (STDERR_FILENO, name, strlen (name)) < 0
      || write (STDERR_FILENO, what, strlen (what)) < 0)
    _exit (1);
  std::signal (signal, SIG_DFL);
  raise (signal);
}

void
read_timeout ()
{
  const gchar *wanted = g_getenv ("CK_DEFAULT_TIMEOUT"),
              *factor = g_getenv ("CK_TIMEOUT_MULTIPLIER");
  double seconds = program ().seconds;
  if (seconds <= 0)
    seconds = wanted ? g_ascii_strtod (wanted, nullptr) : 0;
  timeout_seconds = unsigned (seconds * (factor ? g_ascii_strtod (factor, nullptr) : 1));
}

/* Ends the process without destructors, which would wait for pipelines that play. */
[[noreturn]] void
exit_after_failure ()
{
  std::fflush (stdout);
  std::fflush (stderr);
  _exit (1);
}

/* A GLib warning fails a test, too, and Check then jumps out of it. */
void
exit_unless_ended ()
{
  if (!is_one_process () || !*const_cast<const char *> (running))
    return;
  std::fprintf (stderr, "%s: failed\n", const_cast<const char *> (running));
  exit_after_failure ();
}

/* Check and LLVM, which PoCL uses, install handlers of their own that name no test. Those
 * of a sanitizer stay. */
void
watch_test (const char *name)
{
  running = name;
  std::signal (SIGALRM, name_running_test);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal (signal, name_running_test);
#endif
  alarm (timeout_seconds);
}
} // namespace

void
fail_test (const char *file, int line, const char *expression, ...)
{
  va_list values;
  va_start (values, expression);
  const char *format = va_arg (values, const char *);
  gchar *message = format ? g_strdup_vprintf (format, values) : g_strdup (expression);
  va_end (values);
  if (!is_one_process ())
    _ck_assert_failed (file, line, expression, "%s", message, nullptr);
  std::fprintf (
      stderr, "%s:%d: %s: %s\n", file, line, const_cast<const char *> (running), message);
  exit_after_failure ();
}

bool
register_test (const char *name, void (*run) (int), Labels labels)
{
  program ().tests.push_back ({name, run, std::move (labels)});
  return true;
}

bool
around_each_test (void (*before) (), void (*after) ())
{
  program ().around.emplace_back (before, after);
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
require_data (const char *beginning)
{
  program ().beginning = beginning;
  return true;
}

std::string
data_path (const std::string &name)
{
  const char *folder = g_getenv (data_variable);
  return std::string (folder ? folder : "") + "/" + name;
}

void
report_skip (const std::string &why)
{
  g_print ("NOT CHECKED: %s\n", why.c_str ());
}

bool
is_missing (const std::string &element)
{
  GstElementFactory *factory = gst_element_factory_find (element.c_str ());
  if (!factory)
    report_skip ("no " + element);
  const bool is = !factory;
  gst_clear_object (&factory);
  return is;
}

void
begin (const char *name, const char *file, int line)
{
  GST_DEBUG ("test start");
  exit_unless_ended ();
  if (environment)
    environment->restore ();
  tcase_fn_start (name, file, line);
  if (is_one_process ())
    watch_test (name);
}

void
end ()
{
  gst_task_cleanup_all (); /* waits for threads of elements that a test left running */
  if (is_one_process ())
    alarm (0);
  running = "";
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
  const bool special =
      argc > 1 && !program ().beginning.empty () && g_str_equal (argv[1], "data");
  if (special && data_path ("") == "/") {
    report_skip (std::string ("no ") + data_variable);
    return 77; /* meson's exit status for skipped tests */
  }
  Suite *suite = suite_create (name);
  TCase *tcase = tcase_create ("general");
  suite_add_tcase (suite, tcase);
  for (const auto &[before, after] : program ().around)
    tcase_add_checked_fixture (tcase, before, after);
  if (program ().seconds > 0)
    tcase_set_timeout (tcase, program ().seconds);
  int chosen = 0;
  for (const RegisteredTest &test : program ().tests)
    if (special == is_special (test))
      chosen += add (tcase, test);
  if (chosen == 0) {
    g_printerr ("%s has no test that GST_CHECKS chooses\n", name);
    return 1;
  }
  if (program ().forks)
    g_unsetenv ("CK_FORK");
  const HeldContext held;
  const SavedEnvironment saved;
  environment = &saved;
  read_timeout ();
  const int failed = gst_check_run_suite (suite, name, argv[0]);
  exit_unless_ended ();
  return failed;
}
