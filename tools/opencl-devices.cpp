/* opencl-devices: lists OpenCL devices by the names that the property `device` takes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "commandline.hpp"
#include "commit.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/devicechoice.hpp>
#include <gst/opencl/device/selfcheck.hpp>

#include <gst/common/platform.hpp>
#include <gst/common/text.hpp>
#include <gst/common/verdict.hpp>

#include <cstring>
#include <filesystem>

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
  return opencl::take_text (g_format_size_full (bytes, G_FORMAT_SIZE_IEC_UNITS));
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
    const opencl::Verdict parsed = opencl::parse_verdict (verdict);
    line (engine == engines ? "self-check" : "")
        << *engine << ": " << (parsed.result ? verdict : "not checked yet") << std::endl;
    all_right = all_right && !parsed.is_fault ();
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
                << opencl::device_info<cl_uint> (handle, CL_DEVICE_MAX_COMPUTE_UNITS)
                << " compute units\n";
  line ("version") << handle.getInfo<CL_DEVICE_VERSION> ().c_str () << ", driver "
                   << handle.getInfo<CL_DRIVER_VERSION> ().c_str () << "\n";
  line ("memory") << bytes_of (device.memory) << ", largest buffer "
                  << bytes_of (opencl::device_info<cl_ulong> (
                         handle, CL_DEVICE_MAX_MEM_ALLOC_SIZE))
                  << ", local memory "
                  << bytes_of (
                         opencl::device_info<cl_ulong> (handle, CL_DEVICE_LOCAL_MEM_SIZE))
                  << "\n";
  line ("features") << features_of (handle) << "\n";
  if (device.fault.empty () && device.has_compiler)
    return print_verdicts (handle, checks);
  line ("usable for") << (device.fault.empty ()
                              ? "precompiled programs (openclkernel): it has no compiler"
                              : "nothing: it " + device.fault)
                      << "\n";
  return true;
}

bool
forget_verdicts ()
{
  std::error_code code;
  const std::string folder = opencl::cache_folder ("verdicts");
  std::filesystem::remove_all (std::filesystem::u8path (folder), code);
  if (code)
    std::cerr << folder << ": " << code.message () << "\n";
  return !code;
}

constexpr const char *plugins[] = {"transferopencl", "npyopencl", "computeopencl",
    "inferenceopencl", "octopencl", "keyingopencl"};

void
print_versions ()
{
  gchar *distribution = g_get_os_info (G_OS_INFO_KEY_PRETTY_NAME);
  std::cout << "versions\n";
  line ("gst-opencl") << PACKAGE_VERSION "\n";
  line ("commit") << (*GST_OPENCL_COMMIT ? GST_OPENCL_COMMIT
                                         : "unknown: built without git")
                  << "\n";
  line ("build") << BUILD_OPTIONS "\n";
  line ("GStreamer") << std::string (gst_version_string ()).substr (strlen ("GStreamer "))
                     << "\n";
  line ("GLib") << glib_major_version << "." << glib_minor_version << "."
                << glib_micro_version << "\n";
  line ("system") << (distribution ? distribution : "unknown") << ", "
                  << opencl::name_of_system () << "\n";
  g_free (distribution);
}

/* Variables of GStreamer, this project, the OpenCL loader and PoCL */
void
print_environment ()
{
  gchar **names = g_listenv ();
  std::cout << "environment\n";
  for (gchar **name = names; *name; name++) {
    for (const char *prefix : {"GST_", "OCL_", "POCL_"})
      if (g_str_has_prefix (*name, prefix))
        std::cout << "    " << *name << "=" << g_getenv (*name) << "\n";
  }
  g_strfreev (names);
}

void
print_plugins ()
{
  std::cout << "plugins\n";
  for (const char *name : plugins) {
    GstPlugin *plugin = gst_registry_find_plugin (gst_registry_get (), name);
    std::cout << "    " << std::left << std::setw (17) << name;
    if (plugin)
      std::cout << gst_plugin_get_version (plugin) << "  "
                << gst_plugin_get_filename (plugin) << "\n";
    else
      std::cout << "not found: see docs/trouble.md\n";
    g_clear_object (&plugin);
  }
}

/* Prints the number and size of the files in a folder and its folders. */
void
print_cache (const char *title, const std::string &folder)
{
  namespace fs = std::filesystem;
  std::error_code code;
  guint64 files = 0, bytes = 0;
  fs::recursive_directory_iterator place (fs::u8path (folder), code);
  for (; !code && place != fs::recursive_directory_iterator (); place.increment (code)) {
    std::error_code gone; /* another process removes files */
    const bool is_file = place->is_regular_file (gone);
    const auto size = is_file ? place->file_size (gone) : 0;
    files += is_file && !gone;
    bytes += gone ? 0 : size;
  }
  line (title) << files << " files, " << bytes_of (bytes) << "  " << folder << "\n";
}

/* PoCL's folder is that of its documentation. */
void
print_caches ()
{
  const char *const programs = g_getenv ("GST_OPENCL_PROGRAM_CACHE");
  const char *const pocl = g_getenv ("POCL_CACHE_DIR");
  const std::string cache = g_get_user_cache_dir ();
  std::cout << "caches\n";
  print_cache ("programs", programs && *programs && strcmp (programs, "0") != 0
                               ? programs
                               : opencl::cache_folder ("programs"));
  print_cache ("self-check", opencl::cache_folder ("verdicts"));
  print_cache ("PoCL", pocl && *pocl ? pocl : cache + G_DIR_SEPARATOR_S "pocl");
}

void
print_report ()
{
  print_versions ();
  print_environment ();
  print_plugins ();
  print_caches ();
  std::cout << "devices" << std::endl;
}

constexpr opencl::CommandLine command = {"opencl-devices", "[DEVICE]",
    "Lists the OpenCL devices by the names that the property device of the elements and "
    "the\n"
    "environment variable GST_OPENCL_DEVICE accept, and the results of the self-check.\n"
    "DEVICE selects some: auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a "
    "name.",
    "The device that elements use is marked (selected). The exit status is 1 if no "
    "device can\n"
    "be used or, with --check, if an engine is wrong."};

struct Asked {
  gboolean checks = FALSE, forgets = FALSE, reports = FALSE;
  gchar **devices = nullptr;

  ~Asked () { g_strfreev (devices); }
};

/* Returns false where the program ends with `status`. */
bool
parse_arguments (char **argv, Asked &asked, int &status)
{
  const GOptionEntry entries[] = {{"check", 0, 0, G_OPTION_ARG_NONE, &asked.checks,
                                      "Run the self-check again", nullptr},
      {"forget", 0, 0, G_OPTION_ARG_NONE, &asked.forgets,
          "Remove the results of the self-check of all devices", nullptr},
      {"report", 0, 0, G_OPTION_ARG_NONE, &asked.reports,
          "Also print versions, environment, plugins and caches, for a bug report",
          nullptr},
      {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &asked.devices, nullptr,
          nullptr},
      {}};
  if (!opencl::parse_command_line (command, entries, argv, status))
    return false;
  if (!asked.devices || !asked.devices[1])
    return true;
  const std::string reason = std::string ("unexpected argument ") + asked.devices[1];
  status = opencl::refuse_arguments (command, reason.c_str ());
  return false;
}
} // namespace

int
main (int argc, char *argv[])
{
  Asked asked;
  int status = 0;
  if (!parse_arguments (argv, asked, status))
    return status;
  const char *const named = asked.devices ? asked.devices[0] : nullptr;
  const std::string choice = opencl::effective_device (named);
  GError *error = nullptr;
  bool all_right = true;

  gst_init (nullptr, nullptr);
  if (asked.forgets && !forget_verdicts ())
    return 1;
  if (asked.reports)
    print_report ();
  const std::vector<opencl::ListedDevice> listed = opencl::list_devices ();
  std::vector<opencl::DeviceDescription> described;
  for (const opencl::ListedDevice &entry : listed)
    described.push_back (opencl::describe_device (entry.device, entry.index));
  const int selected = opencl::choose_among (described, choice.c_str (), &error);
  for (size_t n = 0; n < listed.size (); n++) {
    if (!named || opencl::device_is_chosen (described[n], choice.c_str ()))
      all_right =
          print (listed[n], described[n], int (n) == selected, asked.checks) && all_right;
  }
  if (selected >= 0)
    return asked.checks && !all_right ? 1 : 0;
  std::cerr << error->message << "\ndocs/trouble.md says what to do\n";
  g_error_free (error);
  return 1;
}
