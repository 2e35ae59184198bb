/* Tests of GstOpenCLKernel and of its C++ wrapper
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/core/programs.hpp>
#include <gst/opencl/core/context.hpp>
#include <gst/opencl/gstopenclerror.h>

using namespace check;

static const bool alone = fork_each_test ();

#define FOLDER "/test/kernels/"

namespace {
/* Each work-item adds `value` to the byte at its column and row in a plane. */
const char *const visit_source =
    "#include <frame.clh>\n"
    "kernel void visit (FRAME (, plane), uint columns, uint rows, uchar value) {\n"
    "  uint x = get_global_id (0), y = get_global_id (1);\n"
    "  if (x < columns && y < rows) LINE (plane, y)[x] += value; }\n";

const char *const sum_source =
    "kernel void sum (global int *sum, local int *parts, uint size, long weight) {\n"
    "  for (uint n = get_local_id (0); n < size; n += get_local_size (0)) parts[n] = 1;\n"
    "  barrier (CLK_LOCAL_MEM_FENCE);\n"
    "  if (get_global_id (0) > 0) return;\n"
    "  *sum = 0;\n"
    "  for (uint n = 0; n < size; n++) *sum += parts[n] * (int) weight; }\n";

struct Device {
  Device () : context (new_context ()), queue (queue_of (context)) {}
  ~Device () { gst_object_unref (context); }

  cl::Buffer make_bytes (const Bytes &bytes)
  {
    cl::Buffer buffer = opencl::make_buffer (context, bytes.size (), nullptr);
    fail_unless (buffer () != nullptr);
    expect_equal (clEnqueueWriteBuffer (queue, buffer (), CL_TRUE, 0, bytes.size (),
                      bytes.data (), 0, nullptr, nullptr),
        CL_SUCCESS);
    return buffer;
  }

  template <typename T> std::vector<T> read (const cl::Buffer &buffer, gsize count)
  {
    std::vector<T> values (count);
    expect_equal (clEnqueueReadBuffer (queue, buffer (), CL_TRUE, 0, count * sizeof (T),
                      values.data (), 0, nullptr, nullptr),
        CL_SUCCESS);
    return values;
  }

  GstOpenCLContext *context;
  cl_command_queue queue;
};

struct Free {
  void operator() (GstOpenCLKernel *kernel) const { gst_opencl_kernel_unref (kernel); }
};
using KernelPointer = std::unique_ptr<GstOpenCLKernel, Free>;

KernelPointer
make_kernel_of (GstOpenCLContext *context, const char *source, const char *name)
{
  GError *error = nullptr;
  KernelPointer kernel (gst_opencl_kernel_new (context, source, name, nullptr, &error));
  fail_unless (kernel != nullptr, "%s", error ? error->message : "no error");
  return kernel;
}

/* Error for a program that cannot be built */
std::string
error_of (GstOpenCLContext *context, const char *resource, const char *name)
{
  Owned<GError> error;
  fail_unless (
      gst_opencl_kernel_new_from_resource (context, resource, name, nullptr, error.out ())
      == nullptr);
  fail_unless (error != nullptr);
  std::string message = error->message;
  return message;
}

void
fail_unless_has (const std::string &text, const char *part)
{
  fail_unless (text.find (part) != std::string::npos, "no %s in %s", part, text.c_str ());
}
} // namespace

TEST (test_kernel_visits_each_column_and_row_once)
{
  const cl_uint sizes[][2] = {{1, 1}, {13, 7}, {64, 2}, {65, 3}, {300, 5}};
  const gsize offset = 5, stride = 311;
  Device device;
  KernelPointer kernel = make_kernel_of (device.context, visit_source, "visit");

  for (auto &size : sizes) {
    const Bytes before = pattern (offset + stride * 7, size[0]);
    cl::Buffer plane = device.make_bytes (before);
    GstOpenCLFrame frame = {};
    const cl_uchar value = 3;
    frame.data = plane ();
    frame.offset[1] = offset;
    frame.stride[1] = stride;
    fail_unless (
        gst_opencl_kernel_set_frame (kernel.get (), 0, &frame, 1, nullptr)
        && gst_opencl_kernel_set_value (
            kernel.get (), 3, sizeof size[0], &size[0], nullptr)
        && gst_opencl_kernel_set_value (
            kernel.get (), 4, sizeof size[1], &size[1], nullptr)
        && gst_opencl_kernel_set_value (kernel.get (), 5, sizeof value, &value, nullptr)
        && gst_opencl_kernel_launch (
            kernel.get (), device.queue, size[0], size[1], nullptr));
    Bytes expected = before;
    for (cl_uint y = 0; y < size[1]; y++)
      for (cl_uint x = 0; x < size[0]; x++)
        expected[offset + stride * y + x] += value;
    fail_unless (device.read<guint8> (plane, before.size ()) == expected);
  }
}

TEST (test_kernel_takes_buffers_local_memory_and_values)
{
  Device device;
  KernelPointer kernel = make_kernel_of (device.context, sum_source, "sum");
  cl::Buffer sum = opencl::make_buffer (device.context, sizeof (cl_int), nullptr);
  const cl_uint size = 48;
  const cl_long weight = -7;

  fail_unless (
      gst_opencl_kernel_set_buffer (kernel.get (), 0, sum (), nullptr)
      && gst_opencl_kernel_set_local (kernel.get (), 1, size * sizeof (cl_int), nullptr)
      && gst_opencl_kernel_set_value (kernel.get (), 2, sizeof size, &size, nullptr)
      && gst_opencl_kernel_set_value (kernel.get (), 3, sizeof weight, &weight, nullptr)
      && gst_opencl_kernel_launch (kernel.get (), device.queue, 64, 1, nullptr));
  expect_equal (device.read<cl_int> (sum, 1)[0], 48 * -7);
}

namespace {
/* A kernel with two arguments of local memory, which declares `own` beside them */
struct LocalKernel {
  Device device;
  KernelPointer kernel;
  gsize all; /* local memory of the device */
  Owned<GError> error;

  explicit LocalKernel (const std::string &own)
      : kernel (make_kernel_of (device.context,
          ("kernel void two (global int *sum, local int *a, local int *b) {\n" + own
              + "  a[0] = b[0] = 1; barrier (CLK_LOCAL_MEM_FENCE);\n"
                "  *sum += a[0] + b[0]; }\n")
              .c_str (),
          "two")),
        all (gsize (
            opencl::device_info<cl_ulong> (device.context, CL_DEVICE_LOCAL_MEM_SIZE)))
  {
  }

  bool set (guint index, gsize size)
  {
    error = nullptr;
    return gst_opencl_kernel_set_local (kernel.get (), index, size, error.out ());
  }

  void expect_refused (guint index, gsize size)
  {
    fail_if (set (index, size));
    fail_unless_has (error->message, std::to_string (size).c_str ());
    fail_unless_has (error->message, std::to_string (all).c_str ());
  }
};
} // namespace

/* PoCL ends the process at a launch that needs more. */
TEST (test_kernel_local_memory_beyond_that_of_the_device_is_refused)
{
  LocalKernel two ("");
  for (gsize size : {two.all + 1, G_MAXSIZE, G_MAXSIZE - 1023})
    two.expect_refused (1, size);
  const gsize rest = two.all - 16; /* NVIDIA's driver uses up to four bytes itself */
  fail_unless (two.set (1, rest - 64));
  two.expect_refused (2, 128);
  fail_unless (two.set (2, 64));
  fail_unless (two.set (1, 64)); /* replaces the earlier size */
  fail_unless (two.set (2, rest - 64));
}

TEST (test_kernel_local_memory_that_it_declares_counts)
{
  LocalKernel two ("  local int own[256]; own[get_local_id (0)] = 1;\n"
                   "  barrier (CLK_LOCAL_MEM_FENCE); *sum = own[get_local_id (1)];\n");
  two.expect_refused (1, two.all - 1023);
  fail_unless (two.set (1, two.all - 1024 - 16 - 64));
  two.expect_refused (2, 128);
  fail_unless (two.set (2, 64));
}

TEST (test_kernel_argument_of_a_wrong_size_is_refused)
{
  Device device;
  KernelPointer kernel = make_kernel_of (device.context, sum_source, "sum");
  Owned<GError> error;
  const cl_uchar small = 1;

  fail_if (
      gst_opencl_kernel_set_value (kernel.get (), 2, sizeof small, &small, error.out ()));
  fail_unless (error != nullptr);
  fail_unless_has (error->message, "CL_INVALID_ARG_SIZE");
}

/* Sizes that would divide by zero, or leave no work after rounding up */
TEST (test_kernel_launch_of_no_group_or_too_many_items_is_refused)
{
  const struct {
    gsize global, local;
    const char *reason;
  } rows[] = {{64, 0, "gst_opencl_launch failed: CL_INVALID_WORK_GROUP_SIZE"},
      {G_MAXSIZE, 64, "gst_opencl_launch failed: CL_INVALID_GLOBAL_WORK_SIZE"},
      {G_MAXSIZE - 1, 64, "gst_opencl_launch failed: CL_INVALID_GLOBAL_WORK_SIZE"}};
  Device device;
  KernelPointer kernel =
      make_kernel_of (device.context, "__kernel void nothing () {}", "nothing");

  for (const auto &row : rows) {
    Owned<GError> error;
    fail_if (
        gst_opencl_launch (device.queue, gst_opencl_kernel_get_handle (kernel.get ()), 1,
            &row.global, &row.local, error.out ()));
    fail_unless_has (error->message, row.reason);
  }
}

TEST (test_kernel_includes_each_file_once)
{
  Device device;
  opencl::Kernel kernel;
  GError *error = nullptr;
  cl::Buffer sum = opencl::make_buffer (device.context, sizeof (cl_int), nullptr);

  fail_unless (
      kernel.create (device.context, FOLDER "count.cl", "count", nullptr, &error), "%s",
      error ? error->message : "");
  fail_unless (kernel.launch (device.queue, 1, 1, nullptr, sum ()));
  expect_equal (device.read<cl_int> (sum, 1)[0], 1 + 2 + 3);
}

/* Line numbers are those of the file, before and after an included file. */
TEST (test_kernel_build_log_names_file_and_line)
{
  Device device;
  std::string log = error_of (device.context, FOLDER "broken.cl", "broken_in_line_7");
  Owned<GError> error;

  fail_unless_has (log, "broken.clh:5");
  fail_unless_has (log, "broken.cl:7");
  fail_unless (gst_opencl_kernel_new (device.context,
                   "#include <frame.clh>\n\nkernel void broken (undeclared x) {}\n",
                   "broken", nullptr, error.out ())
               == nullptr);
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_BUILD));
  fail_unless_has (error->message, "source:3");
}

/* NVIDIA's compiler counts all lines, including `#line` and those of included files. */
TEST (test_kernel_build_log_of_a_compiler_without_line_names_file_and_line)
{
  const std::string source =
      "first\n#line 1 \"a.clh\"\nin a\n#line 3 \"source\"\nthird\n";

  const std::string log =
      "<kernel>:1:9: error: x\n y\n<kernel>:3:2: note: z <kernel>:5:4";
  const std::string other = "input.cl:1: no <kernel>";

  fail_unless (opencl::map_log_lines (log, source)
               == "source:1:9: error: x\n y\na.clh:1:2: note: z source:3:4");
  fail_unless (opencl::map_log_lines (other, source) == other);
}

TEST (test_kernel_that_is_not_there_is_named)
{
  Device device;

  fail_unless_has (
      error_of (device.context, "/no/such/resource.cl", "k"), "/no/such/resource.cl");
  std::string message = error_of (device.context, FOLDER "count.cl", "no_such_kernel");
  fail_unless_has (message, "no_such_kernel");
  fail_unless_has (message, FOLDER "count.cl");
  message = error_of (device.context, FOLDER "missing.cl", "missing");
  fail_unless_has (message, "nowhere.clh");
  fail_unless_has (message, "missing.cl:2");
}

TEST (test_kernel_groups_are_as_large_as_the_device_allows)
{
  const opencl::Groups wanted[] = {{3, 5, 4, 8}, {1, 1, 1 << 20}, {2, 3, 8, 1 << 20}};
  Device device;
  opencl::Kernel kernel;

  fail_unless (
      kernel.create (device.context, FOLDER "groups.cl", "groups", nullptr, nullptr));
  for (const opencl::Groups &groups : wanted) {
    cl::Buffer found = device.make_bytes (Bytes (3 * sizeof (cl_int)));
    fail_unless (kernel.launch_groups (device.queue, groups, nullptr, found ()));
    std::vector<cl_int> values = device.read<cl_int> (found, 3);
    gsize items = gsize (values[1]) * gsize (values[2]);
    expect_equal (values[0], int (groups.columns * groups.rows));
    fail_unless (values[1] <= int (groups.items) && values[2] <= int (groups.item_rows));
    fail_unless (kernel.allows (items));
    fail_unless (items == groups.items * groups.item_rows || !kernel.allows (2 * items));
  }
}

TEST (test_kernel_built_for_a_group_runs_in_no_other)
{
  const char *source = "__kernel __attribute__ ((reqd_work_group_size (4, 2, 1))) void\n"
                       "fixed (__global int *found) { found[0] = get_local_size (0); }\n";
  Device device;
  KernelPointer kernel = make_kernel_of (device.context, source, "fixed");

  expect_equal (gst_opencl_kernel_get_group_size (kernel.get ()), 8);
}

TEST (test_kernel_variant_suits_the_worst_of_the_frames)
{
  const struct {
    gsize offsets[2];
    gint strides[2];
    cl_int alignment;
    guint builds;
  } cases[] = {
      {{0, 64}, {640, 32}, 16, 1},
      {{0, 4}, {640, 32}, 4, 2},
      {{32, 16}, {640, 36}, 4, 2},
      {{0, 0}, {641, 32}, 1, 3},
      {{0, 4}, {32, 33}, 1, 3},
      {{16, 16}, {16, 16}, 16, 3},
  };
  Device device;
  opencl::FrameKernel kernel;
  cl::Buffer found = opencl::make_buffer (device.context, sizeof (cl_int), nullptr);

  kernel.prepare (device.context, FOLDER "alignment.cl", "alignment", "");
  expect_equal (gst_opencl_context_get_n_builds (device.context), 0);
  for (auto &one : cases) {
    GstOpenCLFrame frames[2] = {};
    for (gsize n = 0; n < 2; n++) {
      frames[n].offset[0] = one.offsets[n];
      frames[n].stride[0] = one.strides[n];
    }
    opencl::Kernel *variant = kernel.variant ({&frames[0], nullptr, &frames[1]}, nullptr);
    fail_unless (variant && variant->launch (device.queue, 1, 1, nullptr, found ()));
    expect_equal (device.read<cl_int> (found, 1)[0], one.alignment);
    expect_equal (gst_opencl_context_get_n_builds (device.context), one.builds);
  }
}
