/* opencl-devices: lists OpenCL devices by the names that the property `device` takes
 *
 * opencl-devices [--check] [DEVICE]: lists all devices, or those that DEVICE names (auto,
 * gpu, cpu, accelerator, 0:1, part of a name). It marks the one that an element uses, and
 * shows the verdicts of the self-check. With --check it runs the self-check again. The
 * exit status is 1 if no device can be used or, with --check, if an engine is wrong.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/opencl/core/devicechoice.hpp>
#include <gst/opencl/device/selfcheck.hpp>

#include <cstring>

#include <iomanip>
#include <iostream>

namespace {
const char *
kind_of (const opencl::DeviceDescription &device)
{
  if (device.type & CL_DEVICE_TYPE_GPU)
    return device.shares_host_memory ? "GPU that shares host memory"
                                     : "GPU with its own memory";
  if (device.type & CL_DEVICE_TYPE_CPU)
    return "CPU";
  return device.type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "other device";
}

std::string
bytes_of (cl_ulong bytes)
{
  gchar *text = g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS);
  std::string formatted = text;
  g_free (text);
  return formatted;
}

/* Optional features that an element may request, beyond OpenCL 1.2 */
struct Feature {
  const char *extension, *name;
};
constexpr Feature features[] = {
    {"cl_khr_fp64", "double precision"},
    {"cl_khr_fp16", "half precision"},
    {"cl_khr_external_memory_opaque_fd", "memory import by file descriptor"},
    {"cl_khr_external_memory_dma_buf", "DMABuf import"},
};

std::string
features_of (const cl::Device &device)
{
  std::string names;
  for (const Feature &feature : features)
    if (opencl::has_extension (device (), feature.extension))
      names += (names.empty () ? "" : ", ") + std::string (feature.name);
  return names.empty () ? "single precision only" : names;
}

std::ostream &
line (const char *title)
{
  return std::cout << "    " << std::left << std::setw (14) << title;
}

/* Returns whether no engine is known to be wrong. */
bool
print_verdicts (const cl::Device &device, bool check)
{
  gchar **engines = gst_opencl_get_engines ();
  bool all_right = true;
  for (gchar **engine = engines; *engine; engine++) {
    gchar *verdict = gst_opencl_device_get_verdict (device (), *engine, check);
    const bool is_known = strcmp (verdict, "pending") != 0;
    line (engine == engines ? "self-check" : "")
        << *engine << ": " << (is_known ? verdict : "not checked yet") << std::endl;
    all_right = all_right && !g_str_has_prefix (verdict, "wrong")
                && !g_str_has_prefix (verdict, "failed");
    g_free (verdict);
  }
  g_strfreev (engines);
  return all_right;
}

/* Returns whether no engine is known to be wrong. */
bool
print (const opencl::ListedDevice &listed, const opencl::DeviceDescription &device,
    bool is_selected, bool checks)
{
  const cl::Device &handle = listed.device;
  std::cout << device.index << "  " << device.name << (is_selected ? "  (selected)" : "")
            << "\n";
  line ("kind") << kind_of (device) << ", "
                << handle.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS> () << " compute units\n";
  line ("version") << handle.getInfo<CL_DEVICE_VERSION> ().c_str () << ", driver "
                   << handle.getInfo<CL_DRIVER_VERSION> ().c_str () << "\n";
  line ("memory") << bytes_of (device.memory) << ", largest buffer "
                  << bytes_of (handle.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE> ())
                  << ", local memory "
                  << bytes_of (handle.getInfo<CL_DEVICE_LOCAL_MEM_SIZE> ()) << "\n";
  line ("features") << features_of (handle) << "\n";
  if (device.fault.empty () && device.has_compiler)
    return print_verdicts (handle, checks);
  line ("usable for") << (device.fault.empty ()
                              ? "precompiled programs (openclkernel): it has no compiler"
                              : "nothing: it " + device.fault)
                      << "\n";
  return true;
}
} // namespace

int
main (int argc, char *argv[])
{
  const bool checks = argc > 1 && strcmp (argv[1], "--check") == 0;
  const char *const named = argc > 1 + checks ? argv[1 + checks] : nullptr;
  const std::string choice = opencl::effective_device (named);
  GError *error = nullptr;
  bool all_right = true;

  if (argc > 2 + checks || choice == "--help") {
    std::cout << "opencl-devices [--check] [DEVICE]: lists devices by the names that the "
                 "property `device` and GST_OPENCL_DEVICE accept, and the results of the "
                 "self-check; --check runs the self-check again\n";
    return argc > 2 + checks ? 2 : 0;
  }
  gst_init (nullptr, nullptr);
  const std::vector<opencl::ListedDevice> listed = opencl::list_devices ();
  std::vector<opencl::DeviceDescription> described;
  for (const opencl::ListedDevice &entry : listed)
    described.push_back (opencl::describe_device (entry.device, entry.index));
  const int selected = opencl::choose_among (described, choice.c_str (), &error);
  for (size_t n = 0; n < listed.size (); n++) {
    if (!named || opencl::device_is_chosen (described[n], choice.c_str ()))
      all_right =
          print (listed[n], described[n], int (n) == selected, checks) && all_right;
  }
  if (selected >= 0)
    return checks && !all_right ? 1 : 0;
  std::cerr << error->message << "\n";
  g_error_free (error);
  return 1;
}
