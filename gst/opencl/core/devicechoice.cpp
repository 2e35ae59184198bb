/* Selects an OpenCL device by "auto", "gpu", "0:1" or a name
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "devicechoice.hpp"

#include <gst/common/platform.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

#include <cstdio>
#include <cstring>
#include <mutex>

#ifdef G_OS_WIN32
#define DRIVER_HINT "install the driver of the GPU's vendor, which brings OpenCL.dll"
#else
#define DRIVER_HINT                                                                      \
  "pocl-opencl-icd runs on any CPU; it needs a folder to write in: POCL_CACHE_DIR, "     \
  "default ~/.cache/pocl"
#endif

namespace opencl {
std::vector<ListedDevice>
list_devices ()
{
  /* The first of these calls sets up the ICD loader and its platforms. If two threads
   * make it at once, one of them may find no devices. */
  static std::mutex first_call;
  std::lock_guard<std::mutex> guard (first_call);
  std::vector<ListedDevice> listed;
  std::vector<cl::Platform> platforms;
  is_forked_child ();             /* notes forks from now on */
  cl::Platform::get (&platforms); /* stays empty on failure */

  for (size_t p = 0; p < platforms.size (); p++) {
    std::vector<cl::Device> devices;
    platforms[p].getDevices (CL_DEVICE_TYPE_ALL, &devices);
    for (size_t d = 0; d < devices.size (); d++)
      listed.push_back ({devices[d], std::to_string (p) + ":" + std::to_string (d)});
  }
  return listed;
}

bool
check_process (GError **error)
{
  if (is_forked_child ())
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "This process was forked from one that has used OpenCL, and lacks the threads of "
        "its driver: start processes with spawn");
  return !is_forked_child ();
}

namespace {
std::string
fault_of (const cl::Device &device)
{
  unsigned major = 0, minor = 0;
  std::string version = device.getInfo<CL_DEVICE_VERSION> ().c_str ();

  if (!device_info<cl_bool> (device, CL_DEVICE_AVAILABLE))
    return "is not available";
  if (sscanf (version.c_str (), "OpenCL %u.%u", &major, &minor) != 2
      || major * 100 + minor < 102)
    return "has version \"" + version + "\", expected OpenCL 1.2 or later";
  return "";
}

/* Names from a driver or a user need not be UTF-8. */
gchar *
fold (const char *text)
{
  gchar *valid = g_utf8_make_valid (text, -1);
  gchar *folded = g_utf8_casefold (valid, -1);
  g_free (valid);
  return folded;
}

bool
contains_ignoring_case (const std::string &text, const char *part)
{
  gchar *folded_text = fold (text.c_str ());
  gchar *folded_part = fold (part);
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

/* Returns the device type that `choice` names, or 0 */
cl_device_type
type_named (const char *choice)
{
  static constexpr struct {
    const char *name;
    cl_device_type type;
  } types[] = {{"gpu", CL_DEVICE_TYPE_GPU}, {"cpu", CL_DEVICE_TYPE_CPU},
      {"accelerator", CL_DEVICE_TYPE_ACCELERATOR}};
  for (const auto &known : types) {
    if (strcmp (choice, known.name) == 0)
      return known.type;
  }
  return 0;
}

/* An FPGA board cannot build an element's kernels, as its programs are compiled
 * elsewhere. It is used only on request. */
std::string
fault_for (const DeviceDescription &device, const char *choice)
{
  const bool is_named = strcmp (choice, GST_OPENCL_DEVICE_DEFAULT) != 0;
  if (!device.fault.empty () || device.has_compiler || is_named)
    return device.fault;
  return "has no compiler";
}

int
rank_of (const DeviceDescription &device)
{
  if (device.type & CL_DEVICE_TYPE_GPU)
    return device.shares_host_memory ? 2 : 3;
  return device.type & CL_DEVICE_TYPE_CPU ? 1 : 0;
}

/* Does not compare compute units and clocks, which every vendor counts differently. Large
 * frames need memory, and a device with more of it is usually the faster one. */
bool
is_better (const DeviceDescription &a, const DeviceDescription &b)
{
  if (a.has_compiler != b.has_compiler)
    return a.has_compiler;
  int rank_a = rank_of (a), rank_b = rank_of (b);
  return rank_a != rank_b ? rank_a > rank_b : a.memory > b.memory;
}

void
set_no_device_error (const std::vector<DeviceDescription> &listed, const char *choice,
    const std::string &faults, GError **error)
{
  gchar *asked = g_utf8_make_valid (choice, -1);
  std::string present;
  for (const DeviceDescription &device : listed)
    present += (present.empty () ? "" : ", ") + device.index + " " + device.name;

  if (listed.empty ())
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE,
        "No OpenCL device for device=%s: no platform offers one (" DRIVER_HINT ")",
        asked);
  else if (!faults.empty ())
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE,
        "No OpenCL device of device=%s can be used: %s", asked, faults.c_str ());
  else
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_NO_DEVICE,
        "No OpenCL device matches device=%s: expected auto, gpu, cpu, accelerator, "
        "PLATFORM:DEVICE or part of a name of: %s",
        asked, present.c_str ());
  g_free (asked);
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
has_extension (cl_device_id device, const std::string &name)
{
  size_t size = 0;
  clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, 0, nullptr, &size);
  std::string all (size, ' ');
  if (clGetDeviceInfo (device, CL_DEVICE_EXTENSIONS, size, all.data (), nullptr)
      != CL_SUCCESS)
    return false;
  return (" " + std::string (all.c_str ()) + " ").find (" " + name + " ")
         != std::string::npos;
}

DeviceDescription
describe_device (const cl::Device &device, const std::string &index)
{
  DeviceDescription description;
  gchar *name = g_utf8_make_valid (device.getInfo<CL_DEVICE_NAME> ().c_str (), -1);

  description.index = index;
  description.name = name;
  description.type = device_info<cl_device_type> (device, CL_DEVICE_TYPE);
  description.shares_host_memory =
      device_info<cl_bool> (device, CL_DEVICE_HOST_UNIFIED_MEMORY);
  description.memory = device_info<cl_ulong> (device, CL_DEVICE_GLOBAL_MEM_SIZE);
  description.fault = fault_of (device);
  description.has_compiler = device_info<cl_bool> (device, CL_DEVICE_COMPILER_AVAILABLE);
  g_free (name);
  return description;
}

bool
device_is_chosen (const DeviceDescription &device, const char *choice)
{
  if (strcmp (choice, GST_OPENCL_DEVICE_DEFAULT) == 0)
    return true;
  if (const cl_device_type type = type_named (choice))
    return device.type & type;
  if (is_index (choice))
    return device.index == choice;
  return contains_ignoring_case (device.name, choice);
}

int
choose_among (
    const std::vector<DeviceDescription> &listed, const char *choice, GError **error)
{
  int best = -1;
  std::string faults;

  for (size_t i = 0; i < listed.size (); i++) {
    const DeviceDescription &device = listed[i];
    if (!device_is_chosen (device, choice))
      continue;
    const std::string fault = fault_for (device, choice);
    if (!fault.empty ())
      faults +=
          (faults.empty () ? "" : "; ") + device.index + " " + device.name + " " + fault;
    else if (best < 0 || is_better (device, listed[best]))
      best = int (i);
  }
  if (best < 0)
    set_no_device_error (listed, choice, faults, error);
  return best;
}

bool
choose_device (const char *choice, cl::Device &device, GError **error)
{
  if (!check_process (error))
    return false;
  std::vector<ListedDevice> listed = list_devices ();
  std::vector<DeviceDescription> described;
  described.reserve (listed.size ());
  for (const ListedDevice &entry : listed)
    described.push_back (describe_device (entry.device, entry.index));
  int chosen = choose_among (described, choice, error);
  if (chosen < 0)
    return false;
  device = listed[chosen].device;
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
