/* Tests of precompiled programs: program binaries and SPIR-V
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "negativespirv.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include "programs.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"
#include "tests/faults/realopencl.hpp"

#include <CL/cl_ext.h>
#include <atomic>

using namespace programs;
using check::Folder;
using check::Owned;

namespace {
const char *const negative =
    "kernel void negative (global const uchar *input, global uchar *output, int stride)\n"
    "{\n"
    "  size_t i = get_global_id (1) * stride + get_global_id (0);\n"
    "  output[i] = 255 - input[i];\n"
    "}\n";
const char *const shifted = /* the same with an argument of its own */
    "kernel void shifted (global const uchar *input, global uchar *output, int stride,\n"
    "    uchar by)\n"
    "{\n"
    "  size_t i = get_global_id (1) * stride + get_global_id (0);\n"
    "  output[i] = input[i] + by;\n"
    "}\n";

std::atomic<bool> describes_arguments{true};
std::atomic<int> binaries_loaded{0};
std::string il_program; /* to clCreateProgramWithIL */

cl_program
program_of_source (cl_context context, const char *source)
{
  cl_int code;
  cl_program program = clCreateProgramWithSource (context, 1, &source, nullptr, &code);
  fail_unless_equals_int (code, CL_SUCCESS);
  return program;
}

/* Returns the driver's binary of `source`, as poclcc does. */
std::string
binary_of (const char *source)
{
  Owned<GstOpenCLContext> context = gst_opencl_context_new (nullptr, nullptr);
  const cl_device_id device = gst_opencl_context_get_device (context);
  cl_program program =
      program_of_source (gst_opencl_context_get_handle (context), source);
  size_t size = 0;
  fail_unless_equals_int (
      clBuildProgram (program, 1, &device, "-cl-kernel-arg-info", nullptr, nullptr),
      CL_SUCCESS);
  clGetProgramInfo (program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  std::string binary (size, '\0');
  char *bytes = &binary[0];
  fail_unless_equals_int (
      clGetProgramInfo (program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr),
      CL_SUCCESS);
  clReleaseProgram (program);
  return binary;
}

std::string
words (bool swapped)
{
  std::string bytes;
  for (guint32 word : negative_spirv) {
    const guint32 written = swapped ? GUINT32_SWAP_LE_BE (word) : word;
    bytes.append (reinterpret_cast<const char *> (&written), sizeof written);
  }
  return bytes;
}

Bytes
frame (int seed)
{
  Bytes bytes (64 * 9);
  for (gsize n = 0; n < bytes.size (); n++)
    bytes[n] = guint8 (n * n + 31 * n + gsize (seed));
  return bytes;
}

const std::string gray = video ("GRAY8", 64, 9);

void
expect_negative (const Bytes &got, const Bytes &input)
{
  fail_unless_equals_uint64 (got.size (), input.size ());
  for (gsize n = 0; n < input.size (); n++)
    fail_unless_equals_int (got[n], 255 - input[n]);
}

/* Returns the only error of the element with this file. */
std::string
error_of (const std::string &location, const std::string &more = "",
    const std::string &caps = gray, gsize size = 64 * 9)
{
  Chain chain ("openclkernel name=k location=" + location + " " + more, caps);
  chain.start ();
  chain.push (Bytes (size, 1));
  const Messages messages = messages_on (chain.bus, 30 * GST_SECOND);
  fail_unless_equals_int (int (messages.errors.size ()), 1);
  return messages.errors[0];
}

void
expect_contains (const std::string &text, const std::vector<std::string> &parts)
{
  for (const std::string &part : parts)
    fail_unless (text.find (part) != std::string::npos, "no \"%s\" in: %s", part.c_str (),
        text.c_str ());
}

std::string
platform_name ()
{
  Owned<GstOpenCLContext> context = gst_opencl_context_new (nullptr, nullptr);
  cl_platform_id platform;
  char name[256] = "";
  clGetDeviceInfo (gst_opencl_context_get_device (context), CL_DEVICE_PLATFORM,
      sizeof platform, &platform, nullptr);
  clGetPlatformInfo (platform, CL_PLATFORM_NAME, sizeof name, name, nullptr);
  return name;
}

const char *const video_parameters =
    "global const uchar *input, global uchar *output, int stride";

/* openclkernel for any driver: most do not describe the arguments of a compiled
 * program */
std::string
kernel_of (const std::string &location, const std::string &more = "")
{
  return "openclkernel name=k location=" + location + " parameters=\"" + video_parameters
         + more + "\" ";
}
} // namespace

extern "C" {
cl_int
clGetKernelArgInfo (cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t room,
    void *value, size_t *size)
{
  return describes_arguments
             ? REAL (clGetKernelArgInfo) (kernel, index, what, room, value, size)
             : CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

cl_program
clCreateProgramWithBinary (cl_context context, cl_uint n, const cl_device_id *devices,
    const size_t *sizes, const unsigned char **binaries, cl_int *status, cl_int *code)
{
  binaries_loaded++;
  return REAL (clCreateProgramWithBinary) (
      context, n, devices, sizes, binaries, status, code);
}
}

/* --- program binaries --- */

TEST (test_openclkernel_runs_a_program_binary)
{
  Folder folder;
  const std::string location = folder.write ("negative.bin", binary_of (negative));
  const Bytes input = frame (1);
  Chain chain (kernel_of (location), gray);
  expect_negative (chain.run (input).bytes, input);
  Chain from_source ("openclkernel location=" + folder.write ("k.cl", negative), gray);
  fail_unless (from_source.run (input).bytes == chain.run (input).bytes);
}

/* As FPGA boards are: an accelerator without a compiler */
TEST (test_openclkernel_runs_a_program_binary_on_an_accelerator)
{
  Folder folder;
  const std::string location = folder.write ("negative.bin", binary_of (negative));
  const cl_device_type accelerator = CL_DEVICE_TYPE_ACCELERATOR;
  const cl_bool no = CL_FALSE;
  const Bytes input = frame (1);

  counting::override_device_info (CL_DEVICE_TYPE, &accelerator, sizeof accelerator);
  counting::override_device_info (CL_DEVICE_COMPILER_AVAILABLE, &no, sizeof no);
  g_setenv ("GST_OPENCL_DEVICE", "accelerator", TRUE);
  Chain chain (kernel_of (location), gray);
  expect_negative (chain.run (input).bytes, input);
  g_unsetenv ("GST_OPENCL_DEVICE");
  counting::restore_device_info ();
}

namespace {
/* Returns true if the driver describes the arguments of a kernel of `binary`. */
bool
is_described (const std::string &binary)
{
  Owned<GstOpenCLContext> context = gst_opencl_context_new (nullptr, nullptr);
  const cl_device_id device = gst_opencl_context_get_device (context);
  const auto *bytes = reinterpret_cast<const unsigned char *> (binary.data ());
  const size_t size = binary.size ();
  char name[64] = "";
  cl_program program = clCreateProgramWithBinary (gst_opencl_context_get_handle (context),
      1, &device, &size, &bytes, nullptr, nullptr);
  fail_unless_equals_int (
      clBuildProgram (program, 1, &device, "-cl-kernel-arg-info", nullptr, nullptr),
      CL_SUCCESS);
  cl_kernel kernel = clCreateKernel (program, "negative", nullptr);
  const bool described =
      clGetKernelArgInfo (kernel, 0, CL_KERNEL_ARG_NAME, sizeof name, name, nullptr)
      == CL_SUCCESS;
  clReleaseKernel (kernel);
  clReleaseProgram (program);
  return described;
}
} // namespace

/* Needs no `parameters` if the driver describes the arguments. */
TEST (test_openclkernel_binds_a_described_binary_by_name)
{
  Folder folder;
  const std::string binary = binary_of (negative);
  const std::string location = folder.write ("negative.bin", binary);
  if (!is_described (binary)) {
    expect_contains (error_of (location), {"negative", "set `parameters`"});
    return;
  }
  const Bytes input = frame (1);
  Chain chain ("openclkernel location=" + location, gray);
  expect_negative (chain.run (input).bytes, input);
}

#ifdef POCLCC
TEST (test_openclkernel_runs_what_poclcc_compiled)
{
  Folder folder;
  const std::string location = folder.file ("negative.pocl");
  const std::string command =
      POCLCC " -o " + location + " " + folder.write ("negative.cl", negative);
  int status = -1;
  fail_unless (
      g_spawn_command_line_sync (command.c_str (), nullptr, nullptr, &status, nullptr));
  fail_unless_equals_int (status, 0);
  const Bytes input = frame (2);
  Chain chain (kernel_of (location), gray);
  expect_negative (chain.run (input).bytes, input);
}
#endif

/* New arguments do not load the file again; `reload` does. */
TEST (test_openclkernel_loads_a_program_binary_once_and_at_reload)
{
  Folder folder;
  const std::string location = folder.write ("k.bin", binary_of (shifted));
  const Bytes input = frame (3);
  Chain chain (kernel_of (location, ", uchar by") + "arguments=a,by=3", gray);
  GstElement *element = chain.element ();
  const int before = binaries_loaded;

  fail_unless_equals_int (chain.run (input).bytes[5], guint8 (input[5] + 3));
  g_object_set (element, "arguments", gst_structure_new_from_string ("a,by=4"), nullptr);
  fail_unless_equals_int (chain.run (input).bytes[5], guint8 (input[5] + 4));
  fail_unless_equals_int (binaries_loaded - before, 1);
  folder.write ("k.bin", std::string ("\0no program", 11));
  g_signal_emit_by_name (element, "reload");
  fail_unless_equals_int (chain.run (input).bytes[5], guint8 (input[5] + 4));
  const Messages messages = messages_on (chain.bus);
  fail_unless (messages.errors.empty () && messages.warnings.size () == 1);
  g_object_set (element, "arguments", nullptr, "parameters", video_parameters, nullptr);
  folder.write ("k.bin", binary_of (negative));
  g_signal_emit_by_name (element, "reload");
  expect_negative (chain.run (input).bytes, input);
}

TEST (test_openclkernel_names_a_binary_of_another_driver)
{
  Folder folder;
  const std::string program = check::contents_of ("/proc/self/exe").substr (0, 65536);
  const std::string assembly =
      "//\n// for a GPU\n//\n\n.version 7.1\n.target sm_52, texmode\n"
      ".address_size 64\n\n.visible .entry k () { ret; }\n";
  expect_contains (error_of (folder.write ("elf", program)),
      {"/elf does not build on ", platform_name (), "CL_INVALID_BINARY"});
  if (platform_name ().find ("NVIDIA") == std::string::npos)
    expect_contains (error_of (folder.write ("ptx", assembly)),
        {"/ptx does not build on ", "CL_INVALID_BINARY"});
}

TEST (test_openclkernel_tells_that_arguments_are_not_described)
{
  Folder folder;
  const std::string location = folder.write ("k.bin", binary_of (negative));
  describes_arguments = false;
  const std::string error = error_of (location);
  describes_arguments = true;
  expect_contains (error, {"\"negative\"", "does not report", "-cl-kernel-arg-info"});
}

static const struct {
  const char *parameters, *error;
} wrong_parameters[] = {
    {"global const uchar *input, global uchar *output",
        "2 are declared (__global const uchar *input, __global uchar *output), but the "
        "kernel "
        "has 3"},
    {"global const uchar *input,, int stride", "\"\" is not a parameter"},
    {"global const uchar *input, global uchar *output, stride",
        "\" stride\" is neither a number nor a pointer"},
    {"global const uchar *input, uchar *output, int stride",
        "is neither a number nor a pointer"},
    {"global const uchar *input, global image2d_t output, int stride",
        "is neither a number nor"},
    {"global const uchar *input, global uchar *output, int 4",
        "no value for its argument"},
};

TEST_ROWS (test_openclkernel_refuses_wrong_parameters, wrong_parameters)
{
  Folder folder;
  const std::string location = folder.write ("k.bin", binary_of (negative));
  expect_contains (
      error_of (location, std::string ("parameters=\"") + row.parameters + "\""),
      {row.error});
}

/* Spellings of the parameters that OpenCL C allows */
static const char *const spellings[] = {
    "__global const unsigned char *restrict input, __global uchar* output, const int "
    "stride",
    " const  global uchar * input,global uchar*output ,\tsigned int stride",
};

TEST (test_openclkernel_refuses_parameters_of_opencl_c)
{
  Folder folder;
  expect_contains (error_of (folder.write ("k.cl", negative),
                       "parameters=\"global const uchar *other, global uchar *output\""),
      {"parameters is set", "OpenCL C", "unset it"});
}

TEST_ROWS (test_openclkernel_reads_parameters_as_opencl_c, spellings)
{
  Folder folder;
  const Bytes input = frame (8);
  Chain chain ("openclkernel parameters=\"" + std::string (row)
                   + "\" location=" + folder.write ("k.bin", binary_of (negative)),
      gray);
  expect_negative (chain.run (input).bytes, input);
}

TEST (test_openclkernel_asks_for_the_size_of_a_binary_over_an_array)
{
  const char *array_parameters =
      " parameters=\"global const int *input, global int *output\"";
  const char *source = "kernel void twice (global const int *input, global int *output)"
                       " { size_t i = get_global_id (0); output[i] = 2 * input[i]; }";
  Folder folder;
  const std::string location = folder.write ("k.bin", binary_of (source));
  expect_contains (
      error_of (location, array_parameters, tensors ("int32", "7"), 28), {"global-size"});
  Chain chain ("openclkernel global-size=count location=" + location + array_parameters,
      tensors ("int32", "7"));
  const auto made =
      values_of<gint32> (chain.run (bytes_of (std::vector<gint32> (7, 21))).bytes);
  fail_unless (made == std::vector<gint32> (7, 42));
}

/* --- SPIR-V --- */

namespace {
bool
driver_accepts_spirv ()
{
  Owned<GstOpenCLContext> context = gst_opencl_context_new (nullptr, nullptr);
  char versions[256] = "";
  clGetDeviceInfo (gst_opencl_context_get_device (context), CL_DEVICE_IL_VERSION_KHR,
      sizeof versions, versions, nullptr);
  return strstr (versions, "SPIR-V") != nullptr;
}

/* Stand-in for a driver that translates this one program */
cl_program
create_with_il (cl_context context, const void *il, size_t size, cl_int *code)
{
  il_program.assign (static_cast<const char *> (il), size);
  *code = CL_SUCCESS;
  return program_of_source (context, negative);
}

std::atomic<bool> has_translator{false};
} // namespace

extern "C" void *
clGetExtensionFunctionAddressForPlatform (cl_platform_id platform, const char *name)
{
  if (has_translator && strcmp (name, "clCreateProgramWithILKHR") == 0)
    return reinterpret_cast<void *> (create_with_il);
  return REAL (clGetExtensionFunctionAddressForPlatform) (platform, name);
}

TEST (test_openclkernel_hands_spirv_to_the_driver)
{
  const char versions[] = "SPIR-V_1.0 SPIR-V_1.2";
  Folder folder;
  counting::override_device_info (CL_DEVICE_IL_VERSION_KHR, versions, sizeof versions);
  has_translator = true;
  for (bool swapped : {false, true}) {
    const Bytes input = frame (4 + swapped);
    const std::string location = folder.write ("negative.spv", words (swapped));
    Chain chain ("openclkernel name=k location=" + location, gray);
    il_program.clear ();
    expect_negative (chain.run (input).bytes, input);
    fail_unless (il_program == words (false));
  }
  has_translator = false;
  counting::restore_device_info ();
}

/* Tests the driver itself. */
TEST (test_openclkernel_runs_spirv_or_names_the_driver)
{
  Folder folder;
  const std::string location = folder.write ("negative.spv", words (false));
  if (!driver_accepts_spirv ()) {
    expect_contains (error_of (location),
        {"negative.spv is SPIR-V", platform_name (), "cl_khr_il_program"});
    return;
  }
  const Bytes input = frame (6);
  Chain chain (kernel_of (location), gray);
  expect_negative (chain.run (input).bytes, input);
}
