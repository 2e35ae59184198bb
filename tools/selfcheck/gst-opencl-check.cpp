/* gst-opencl-check: compares the result of an engine with that of the host
 *
 * gst-opencl-check DEVICE ENGINE FILE BUILD: prints the verdict, and stores it in FILE
 * for the build BUILD. The name of FILE is a checksum of device, driver and engine. A
 * driver may hang or abort, so a child process does the work. Without arguments the
 * program prints the names of the engines.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "checkcases.hpp"

#include <gst/opencl/base/deviceinfo.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <poll.h>
#include <set>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using opencl::Verdict;

namespace {
const guint times_as_long = 3; /* limit of the elapsed time, for a driver that sleeps */

/* With GST_OPENCL_SELF_CHECK=0, opencl-devices --check still checks. */
guint
timeout_in_seconds ()
{
  const guint seconds = opencl::seconds_of_check ();
  return seconds > 0 ? seconds : opencl::usual_seconds_of_check;
}

void
limit_processor_time (guint seconds)
{
  rlimit limit;
  if (getrlimit (RLIMIT_CPU, &limit) != 0)
    return;
  limit.rlim_cur = rlim_t (seconds);
  setrlimit (RLIMIT_CPU, &limit);
}

/* A driver that hangs must not outlive the process that limits its time. */
void
end_with_parent (pid_t parent)
{
#ifdef __linux__
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (getppid () != parent)
    _exit (1);
#endif
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

/* Returns the device with an index "PLATFORM:DEVICE", or an empty one. */
cl::Device
find_device (const char *index)
{
  std::vector<cl::Platform> platforms;
  std::vector<cl::Device> devices;
  guint platform = 0, device = 0;
  cl::Platform::get (&platforms);
  if (sscanf (index, "%u:%u", &platform, &device) == 2 && platform < platforms.size ())
    platforms[platform].getDevices (CL_DEVICE_TYPE_ALL, &devices);
  return device < devices.size () ? devices[device] : cl::Device ();
}

/* Returns true if the index names the same device as in the calling process. The name of
 * FILE identifies device, driver and engine. */
bool
has_device (const char *index, const std::string &engine, const std::string &file)
{
  const cl::Device device = find_device (index);
  return device ()
         && std::filesystem::path (file).filename ()
                == opencl::name_of_verdict (opencl::identity_of (device), engine);
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
read_all (int input, guint seconds, std::string &text)
{
  const gint64 end = g_get_monotonic_time () + seconds * G_USEC_PER_SEC;
  char part[512];
  while (true) {
    const gint64 left = std::max<gint64> (end - g_get_monotonic_time (), 0) / 1000;
    pollfd waited = {input, POLLIN, 0};
    if (poll (&waited, 1, int (left)) == 0)
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

/* Another signal may come from a user, or from the system where memory is short. */
bool
is_crash (int signal)
{
  const std::set<int> crashes = {
      SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
  return crashes.count (signal) > 0;
}

Verdict
supervise (pid_t child, int input)
{
  std::string text;
  rusage used = {};
  int status = 0;
  const bool ended = read_all (input, times_as_long * timeout_in_seconds (), text);
  if (!ended)
    kill (child, SIGKILL);
  wait4 (child, &status, 0, &used);
  const int signal = WIFSIGNALED (status) ? WTERMSIG (status) : 0;
  if (!ended || signal == SIGXCPU)
    return {Verdict::failed,
        "hangs: no result after "
            + std::to_string (used.ru_utime.tv_sec + used.ru_stime.tv_sec)
            + " s of processor time (GST_OPENCL_SELF_CHECK=SECONDS allows more)"};
  if (signal)
    return {is_crash (signal) ? Verdict::wrong : Verdict::failed,
        std::string ("crashes: ") + strsignal (signal)};
  return opencl::parse_verdict (text);
}

Verdict
check_in_child (const char *device, const char *engine, const char *file)
{
  int ends[2];
  if (pipe (ends) != 0)
    return {Verdict::unchecked, "cannot create a pipe"};
  const pid_t self = getpid (), child = fork ();
  if (child == 0) {
    end_with_parent (self);
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
  if (verdict.is_final ())
    opencl::store_verdict (arguments[3], arguments[4], arguments[2], verdict);
  std::cout << verdict.text () << std::endl;
  return 0;
}
