/* gst-opencl-check: compares the result of an engine with that of the host
 *
 * gst-opencl-check DEVICE ENGINE FILE BUILD: prints the verdict, and stores it in FILE
 * for the build BUILD. The name of FILE is a checksum of device, driver and engine. A
 * driver may hang or abort, so a child process does the work. Without arguments the
 * program prints the names of the engines.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/program/binarycache.hpp>
#include "checkcases.hpp"
#include <gst/opencl/context/devicechoice.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using opencl::Verdict;

namespace {
/* Processor time, including compilation. The elapsed time is longer on a loaded
 * machine. */
const int usual_timeout = 60; /* seconds */
const int times_as_long = 3;  /* limit of the elapsed time, for a driver that sleeps */

int
timeout_in_seconds ()
{
  const gchar *wanted = g_getenv ("GST_OPENCL_SELF_CHECK");
  const int seconds = wanted ? atoi (wanted) : 0;
  return seconds > 0 ? seconds : usual_timeout;
}

void
limit_processor_time (int seconds)
{
  rlimit limit;
  if (getrlimit (RLIMIT_CPU, &limit) != 0)
    return;
  limit.rlim_cur = rlim_t (seconds);
  setrlimit (RLIMIT_CPU, &limit);
}

/* The pipeline must not start checks, or write to the application's logs. */
void
prepare_environment (const char *device)
{
  for (const char *variable : {"GST_DEBUG", "GST_DEBUG_FILE", "GST_DEBUG_DUMP_DOT_DIR",
           "GST_TRACERS", "GST_OPENCL_TIMEOUT"})
    g_unsetenv (variable);
  g_setenv ("GST_OPENCL_SELF_CHECK", "0", TRUE);
  g_setenv ("GST_OPENCL_DEVICE", device, TRUE);
  g_setenv ("GST_REGISTRY_UPDATE", "no", TRUE);
}

/* Returns true if the index names the same device as in the calling process. The name of
 * FILE identifies device, driver and engine. */
bool
has_device (const char *index, const std::string &engine, const std::string &file)
{
  cl::Device device;
  if (!opencl::choose_device (index, device, nullptr))
    return false;
  const std::string all = opencl::identity_of (device) + engine;
  return std::filesystem::path (file).filename ()
         == opencl::checksum_of (all.data (), all.size ());
}

/* Runs in the child process, which the driver may abort. */
[[noreturn]] void
work (const char *device, const char *engine, const char *file, int output)
{
  limit_processor_time (timeout_in_seconds ());
  prepare_environment (device);
  gst_init (nullptr, nullptr);
  const Verdict verdict =
      has_device (device, engine, file)
          ? opencl::check_engine (engine)
          : Verdict{Verdict::unchecked, "the child process does not find the device"};
  const std::string text = verdict.text ();
  _exit (write (output, text.data (), text.size ()) == gssize (text.size ()) ? 0 : 1);
}

/* Reads until the other end is closed. Returns false if that takes too long. */
bool
read_all (int input, int seconds, std::string &text)
{
  const gint64 end = g_get_monotonic_time () + seconds * G_USEC_PER_SEC;
  char part[512];
  while (true) {
    const gint64 left = (end - g_get_monotonic_time ()) / 1000;
    pollfd waited = {input, POLLIN, 0};
    if (left <= 0 || (poll (&waited, 1, int (left)) == 0))
      return false;
    const ssize_t count = read (input, part, sizeof part);
    if (count == 0)
      return true;
    if (count > 0)
      text.append (part, gsize (count));
    else if (errno != EINTR)
      return true;
  }
}

Verdict
supervise (pid_t child, int input)
{
  const int seconds = timeout_in_seconds ();
  std::string text;
  int status = 0;
  const bool ended = read_all (input, times_as_long * seconds, text);
  if (!ended)
    kill (child, SIGKILL);
  waitpid (child, &status, 0);
  if (!ended || (WIFSIGNALED (status) && WTERMSIG (status) == SIGXCPU))
    return {
        Verdict::wrong, "hangs: no result in " + std::to_string (seconds) + " seconds"};
  if (WIFSIGNALED (status))
    return {Verdict::wrong, std::string ("crashes: ") + strsignal (WTERMSIG (status))};
  return opencl::parse_verdict (text);
}

Verdict
check_in_child (const char *device, const char *engine, const char *file)
{
  int ends[2];
  if (pipe (ends) != 0)
    return {Verdict::unchecked, "cannot create a pipe"};
  const pid_t child = fork ();
  if (child == 0) {
    close (ends[0]);
    work (device, engine, file, ends[1]);
  }
  close (ends[1]);
  const Verdict verdict = child > 0
                              ? supervise (child, ends[0])
                              : Verdict{Verdict::unchecked, "cannot create a process"};
  close (ends[0]);
  return verdict;
}
} // namespace

int
main (int count, char **arguments)
{
  if (count == 1) {
    for (const std::string &name : opencl::names_of_engines ())
      std::cout << name << "\n";
    return 0;
  }
  if (count != 5) {
    std::cerr << "expected DEVICE ENGINE FILE BUILD\n";
    return 2;
  }
  signal (SIGPIPE, SIG_IGN); /* stores the verdict even if the application has ended */
  if (nice (10) == -1)       /* frames have priority */
    std::cerr << "cannot lower the priority\n";
  const Verdict verdict = check_in_child (arguments[1], arguments[2], arguments[3]);
  if (verdict.result == Verdict::right || verdict.result == Verdict::wrong)
    opencl::store_verdict (arguments[3], arguments[4], arguments[2], verdict);
  std::cout << verdict.text () << std::endl;
  return 0;
}
