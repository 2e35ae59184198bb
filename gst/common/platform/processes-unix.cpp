/* Child processes and libraries of Unix
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "../platform.hpp"
#include "../timelimit.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <locale.h>
#include <memory>
#include <poll.h>
#include <pthread.h>
#include <set>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace opencl {
namespace {
using TextFile = std::unique_ptr<FILE, int (*) (FILE *)>;

/* A file, because a pipe could break. Returns null if it cannot be written. */
TextFile
file_of (const std::string &text)
{
  TextFile file (tmpfile (), fclose);
  if (!file || fwrite (text.data (), 1, text.size (), file.get ()) != text.size ()
      || fflush (file.get ()) != 0 || fseek (file.get (), 0, SEEK_SET) != 0)
    return TextFile (nullptr, fclose);
  return file;
}

/* Other systems than Linux do not limit another process. */
void
limit_processor_time (GPid child, guint seconds)
{
#ifdef __linux__
  rlimit limit;
  if (seconds == 0 || prlimit (child, RLIMIT_CPU, nullptr, &limit) != 0)
    return;
  limit.rlim_cur = rlim_t (seconds);
  prlimit (child, RLIMIT_CPU, &limit, nullptr);
#endif
}

/* Without a function for the child to call, GLib does not copy this process, which would
 * delay its frames. */
bool
start (const std::vector<std::string> &arguments, FILE *input, GPid *child, int *output)
{
  std::vector<const char *> texts;
  for (const std::string &argument : arguments)
    texts.push_back (argument.c_str ());
  texts.push_back (nullptr);
  return g_spawn_async_with_pipes_and_fds (nullptr, texts.data (), nullptr,
      GSpawnFlags (G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN
                   | G_SPAWN_STDERR_TO_DEV_NULL),
      nullptr, nullptr, fileno (input), -1, -1, nullptr, nullptr, 0, child, nullptr,
      output, nullptr, nullptr);
}

/* Reads until the other end is closed. Returns false if the child must end before. */
bool
read_all (int input, const ChildLimits &limits, std::string &text)
{
  const int interval = limits.cancelled ? 5 : limits.seconds > 0 ? 500 : -1; /* ms */
  TimeLimit limit (limits.seconds * G_USEC_PER_SEC);
  char part[512];
  for (;;) {
    if ((limits.seconds > 0 && limit.is_over ())
        || (limits.cancelled && *limits.cancelled))
      return false;
    pollfd waited = {input, POLLIN, 0};
    if (poll (&waited, 1, interval) == 0)
      continue;
    const ssize_t count = read (input, part, sizeof part);
    if (count > 0)
      text.append (part, gsize (count));
    else if (count == 0 || errno != EINTR)
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

void
wait_for (GPid child, ChildResult &result)
{
  rusage used = {};
  int status = 0;
  while (wait4 (child, &status, 0, &used) < 0 && errno == EINTR)
    ;
  const int signal = WIFSIGNALED (status) ? WTERMSIG (status) : 0;
  result.processor_seconds = guint64 (used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  if (signal == 0 || result.end == ChildResult::timeout)
    return;
  result.reason = strsignal (signal);
  result.end = signal == SIGXCPU   ? ChildResult::timeout
               : is_crash (signal) ? ChildResult::crashed
                                   : ChildResult::stopped;
}
} // namespace

ChildResult
run_child (const std::vector<std::string> &arguments, const std::string &input,
    const ChildLimits &limits)
{
  const TextFile file = file_of (input);
  ChildResult result;
  GPid child;
  int output;
  if (!file || !start (arguments, file.get (), &child, &output))
    return result;
  limit_processor_time (child, limits.processor_seconds);
  const bool closed = read_all (output, limits, result.output);
  result.end = closed ? ChildResult::ended : ChildResult::timeout;
  if (!closed)
    kill (child, SIGKILL);
  wait_for (child, result);
  close (output);
  g_spawn_close_pid (child);
  return result;
}

bool
is_forked_child ()
{
  static std::atomic<bool> is_child{false};
  static const int registered =
      pthread_atfork (nullptr, nullptr, [] { is_child = true; });
  return registered == 0 && is_child;
}

void
lower_priority ()
{
  if (nice (10) == -1)
    g_printerr ("cannot lower the priority\n");
}

std::string
id_of_process ()
{
  return std::to_string (getpid ());
}

void
end_with_parent (const std::string &id)
{
#ifdef __linux__
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string (getppid ()) != id)
    _exit (1);
#endif
}

std::vector<double>
resources_of_process ()
{
  gchar *text = nullptr;
  g_file_get_contents ("/proc/meminfo", &text, nullptr, nullptr);
  const char *at = text ? strstr (text, "MemAvailable:") : nullptr;
  const double memory =
      at ? 1024 * g_ascii_strtod (strchr (at, ' '), nullptr) : G_MAXDOUBLE;
  std::vector<double> resources = {std::min (memory, 2e9)};
  g_free (text);
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_NOFILE,
           RLIMIT_FSIZE, RLIMIT_NPROC, RLIMIT_MEMLOCK}) {
    rlimit limit = {};
    getrlimit (kind, &limit);
    resources.push_back (double (limit.rlim_cur));
  }
  return resources;
}

std::string
find_helper_file (const std::string &name)
{
  Dl_info info;
  if (!dladdr (reinterpret_cast<void *> (&find_helper_file), &info))
    return "";
  gchar *folder = g_path_get_dirname (info.dli_fname);
  std::string found;
  for (const char *inner : {"gstreamer-opencl-1.0", "."}) {
    gchar *path = g_build_filename (folder, inner, name.c_str (), nullptr);
    if (found.empty () && g_file_test (path, G_FILE_TEST_IS_REGULAR))
      found = path;
    g_free (path);
  }
  g_free (folder);
  return found;
}

std::string
find_helper_program (const std::string &name)
{
  return find_helper_file (name);
}

std::string
name_of_system ()
{
  utsname names{};
  uname (&names);
  return std::string (names.sysname) + ' ' + names.release + ' ' + names.machine;
}

char **
arguments_in_utf8 (char **arguments)
{
  return arguments;
}

PlainNumbers::PlainNumbers ()
    : plain (newlocale (LC_ALL_MASK, "C", nullptr)),
      previous (uselocale (static_cast<locale_t> (plain)))
{
}

PlainNumbers::~PlainNumbers ()
{
  uselocale (static_cast<locale_t> (previous));
  freelocale (static_cast<locale_t> (plain));
}

void *
find_loaded_function (const char *name)
{
  return dlsym (RTLD_DEFAULT, name);
}
} // namespace opencl
