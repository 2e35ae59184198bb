/* gst-opencl-check: compares the result of an engine with that of the host
 *
 * gst-opencl-check DEVICE ENGINE FILE BUILD: prints the verdict, and stores it in FILE
 * for the build BUILD. The name of FILE is a checksum of device, driver and engine. A
 * driver may hang or abort, so a child process does the work: the same program without
 * BUILD. Without arguments the program prints the names of the engines.
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
#include <gst/common/platform.hpp>
#include <cstdlib>
#include <iostream>

using opencl::Verdict;

namespace {
const guint times_as_long = 3; /* limit of the elapsed time, for a driver that sleeps */

/* Precedes the child's verdict. A driver may print other text before. */
const std::string mark = "verdict: ";

/* With GST_OPENCL_SELF_CHECK=0, opencl-devices --check still checks. */
guint
timeout_in_seconds ()
{
  const guint seconds = opencl::seconds_of_check ();
  return seconds > 0 ? seconds : opencl::usual_seconds_of_check;
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
         && opencl::name_of_file (file)
                == opencl::name_of_verdict (opencl::identity_of (device), engine);
}

/* Runs in the child process, which the driver may abort, also when it is unloaded. */
[[noreturn]] void
work (const char *device, const char *engine, const char *file)
{
  prepare_environment (device);
  gst_init (nullptr, nullptr);
  const Verdict verdict =
      has_device (device, engine, file)
          ? opencl::check_engine (engine)
          : Verdict{Verdict::unchecked, "the child process does not find the device"};
  std::cout << mark << verdict.text () << std::flush;
  std::_Exit (0);
}

Verdict
check_in_child (const std::vector<std::string> &arguments)
{
  using opencl::ChildResult;
  const guint seconds = timeout_in_seconds ();
  const ChildResult child =
      opencl::run_child (arguments, "", {seconds, times_as_long * seconds});
  const gsize at = child.output.rfind (mark);
  switch (child.end) {
  case ChildResult::timeout:
    return {Verdict::failed,
        "hangs: no result after " + std::to_string (child.processor_seconds)
            + " s of processor time (GST_OPENCL_SELF_CHECK=SECONDS allows more)"};
  case ChildResult::crashed:
    return {Verdict::wrong, "crashes: " + child.reason};
  case ChildResult::stopped:
    return {Verdict::failed, "crashes: " + child.reason};
  case ChildResult::not_started:
    return {Verdict::unchecked, "cannot create a process"};
  default:
    return opencl::parse_verdict (
        at == std::string::npos ? "" : child.output.substr (at + mark.size ()));
  }
}
} // namespace

int
main (int count, char **arguments)
{
  arguments = opencl::arguments_in_utf8 (arguments);
  if (count == 1) {
    for (const std::string &name : opencl::names_of_engines ())
      std::cout << name << "\n";
    return 0;
  }
  if (count == 4)
    work (arguments[1], arguments[2], arguments[3]);
  if (count != 5) {
    std::cerr << "expected DEVICE ENGINE FILE BUILD\n";
    return 2;
  }
  opencl::lower_priority (); /* frames have priority */
  const Verdict verdict = check_in_child ({arguments, arguments + 4});
  if (verdict.is_final ())
    opencl::store_verdict (arguments[3], arguments[4], arguments[2], verdict);
  std::cout << verdict.text () << std::endl;
  return 0;
}
