/* gstreamer-opencl: which OpenCL device "auto", "gpu", "0:1" or a name means
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "devicechoice.hpp"

#include "gstopenclcontext.h"
#include "gstopenclerror.h"

#include <algorithm>
#include <mutex>

namespace opencl {
namespace {
struct ListedDevice {
  cl::Device device;
  std::string index;
  std::string name;
  cl_device_type type;
  double speed;
};

std::string
device_name (const cl::Device &device)
{
  std::string name = device.getInfo<CL_DEVICE_NAME> ();
  while (!name.empty () && name.back () == '\0')
    name.pop_back ();
  return name;
}

/* Only to order devices of one kind: the device with more and faster units is better. */
double
rough_speed (const cl::Device &device)
{
  return double (device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS> ())
         * device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY> ();
}

std::vector<ListedDevice>
list_devices ()
{
  /* The first of these calls sets up the ICD loader and its platforms. Where two threads
   * begin at once, one may find that there are no devices. */
  static std::mutex first_call;
  std::lock_guard<std::mutex> guard (first_call);
  std::vector<ListedDevice> listed;
  std::vector<cl::Platform> platforms;
  cl::Platform::get (&platforms); /* none is an empty list, whatever the code */

  for (size_t p = 0; p < platforms.size (); p++) {
    std::vector<cl::Device> devices;
    platforms[p].getDevices (CL_DEVICE_TYPE_ALL, &devices);
    for (size_t d = 0; d < devices.size (); d++) {
      listed.push_back ({devices[d], std::to_string (p) + ":" + std::to_string (d),
          device_name (devices[d]), devices[d].getInfo<CL_DEVICE_TYPE> (),
          rough_speed (devices[d])});
    }
  }
  return listed;
}

bool
contains_ignoring_case (const std::string &text, const char *part)
{
  gchar *folded_text = g_utf8_casefold (text.c_str (), -1);
  gchar *folded_part = g_utf8_casefold (part, -1);
  bool found = strstr (folded_text, folded_part) != nullptr;
  g_free (folded_text);
  g_free (folded_part);
  return found;
}

bool
is_index (const char *choice)
{
  return g_regex_match_simple (
      "^[0-9]+:[0-9]+$", choice, GRegexCompileFlags (0), GRegexMatchFlags (0));
}

int
rank_of_type (cl_device_type type)
{
  if (type & CL_DEVICE_TYPE_GPU)
    return 2;
  return type & CL_DEVICE_TYPE_CPU ? 1 : 0;
}

bool
is_better (const ListedDevice &a, const ListedDevice &b)
{
  int rank_a = rank_of_type (a.type), rank_b = rank_of_type (b.type);
  return rank_a != rank_b ? rank_a > rank_b : a.speed > b.speed;
}

void
set_no_device_error (
    const char *choice, const std::vector<ListedDevice> &listed, GError **error)
{
  if (listed.empty ()) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE,
        "No OpenCL device for device=%s: no platform is installed that has one (see "
        "clinfo -l; pocl-opencl-icd runs on any CPU)",
        choice);
    return;
  }
  std::string present;
  for (const ListedDevice &device : listed)
    present += (present.empty () ? "" : ", ") + device.index + " " + device.name;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE,
      "No OpenCL device matches device=%s: expected auto, gpu, cpu, PLATFORM:DEVICE or "
      "part of a name of: %s",
      choice, present.c_str ());
}
} // namespace

const char *
effective_device (const char *device)
{
  if (device && *device && strcmp (device, GST_OPENCL_DEVICE_DEFAULT) != 0)
    return device;
  const char *fallback = g_getenv ("GST_OPENCL_DEVICE");
  return fallback && *fallback ? fallback : GST_OPENCL_DEVICE_DEFAULT;
}

bool
device_is_chosen (const cl::Device &device, const std::string &index, const char *choice)
{
  if (strcmp (choice, GST_OPENCL_DEVICE_DEFAULT) == 0)
    return true;
  if (strcmp (choice, "gpu") == 0)
    return device.getInfo<CL_DEVICE_TYPE> () & CL_DEVICE_TYPE_GPU;
  if (strcmp (choice, "cpu") == 0)
    return device.getInfo<CL_DEVICE_TYPE> () & CL_DEVICE_TYPE_CPU;
  if (is_index (choice))
    return index == choice;
  return contains_ignoring_case (device_name (device), choice);
}

bool
choose_device (const char *choice, cl::Device &device, GError **error)
{
  std::vector<ListedDevice> listed = list_devices ();
  std::vector<ListedDevice> matching;
  std::copy_if (listed.begin (), listed.end (), std::back_inserter (matching),
      [choice] (const ListedDevice &entry) {
        return device_is_chosen (entry.device, entry.index, choice);
      });
  if (matching.empty ()) {
    set_no_device_error (choice, listed, error);
    return false;
  }
  std::stable_sort (matching.begin (), matching.end (), is_better);
  device = matching.front ().device;
  return true;
}

std::string
device_index (const cl::Device &device)
{
  for (const ListedDevice &entry : list_devices ()) {
    if (entry.device () == device ())
      return entry.index;
  }
  return "";
}
} // namespace opencl
