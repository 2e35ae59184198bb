/* gst-opencl-check: compares the result of an engine with stored numbers
 *
 * gst-opencl-check DEVICE ENGINE FILE PARENT: prints the verdict, which the process PARENT
 * stores in FILE. The name of FILE is a checksum of device, driver and engine. The driver may
 * make this program hang or abort, which is a verdict as well. Without arguments the program
 * prints the names of the engines.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "checkcases.hpp"

#include <gst/opencl/core/deviceinfo.hpp>

#include <gst/common/platform.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>

using opencl::Verdict;

namespace {
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

/* Returns true if the index, "PLATFORM:DEVICE", names the same device as in the calling process. The name of
 * FILE identifies device, driver and engine. */
bool
has_device (const char *index, const std::string &engine, const std::string &file)
{
  std::vector<cl::Platform> platforms;
  std::vector<cl::Device> devices;
  guint platform = 0, device = 0;
  cl::Platform::get (&platforms);
  if (sscanf (index, "%u:%u", &platform, &device) == 2 && platform < platforms.size ())
    platforms[platform].getDevices (CL_DEVICE_TYPE_ALL, &devices);
  return device < devices.size ()
         && opencl::name_of_file (file)
                == opencl::name_of_verdict (
                    opencl::identity_of (devices[device]), engine);
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
  if (count != 5) {
    std::cerr << "expected DEVICE ENGINE FILE PARENT\n";
    return 2;
  }
  opencl::end_with_parent (arguments[4]);
  opencl::lower_priority (); /* frames have priority */
  prepare_environment (arguments[1]);
  gst_init (nullptr, nullptr);
  const Verdict verdict =
      has_device (arguments[1], arguments[2], arguments[3])
          ? opencl::check_engine (arguments[2])
          : Verdict{Verdict::unchecked, "gst-opencl-check does not find the device"};
  std::cout << opencl::mark_of_verdict << verdict.text () << std::flush;
  std::_Exit (0); /* the driver may abort when it is unloaded */
}
