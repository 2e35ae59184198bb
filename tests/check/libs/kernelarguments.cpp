/* Tests of kernel arguments that are set only when they change
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../opencl-check.hpp"
#include "../opencl-counting.hpp"

#include <gst/opencl/kernelarguments.hpp>

using namespace check;

namespace {
const char *const source = "kernel void weigh (global int *sum, int value, long weight)"
                           "{ *sum = value * (int) weight; }";

/* A kernel that writes value * weight to one of two buffers. */
struct Weighing {
  GstOpenCLContext *context = new_context ();
  cl::Kernel kernel;
  cl::Buffer sums[2];
  opencl::KernelArguments arguments;

  Weighing ()
  {
    cl_int code;
    cl::Program program (
        gst_opencl_context_get_program (context, source, nullptr, nullptr));
    kernel = cl::Kernel (clCreateKernel (program (), "weigh", &code));
    fail_unless_equals_int (code, CL_SUCCESS);
    for (cl::Buffer &sum : sums) {
      sum = cl::Buffer (clCreateBuffer (gst_opencl_context_get_handle (context),
          CL_MEM_READ_WRITE, sizeof (cl_int), nullptr, &code));
      fail_unless_equals_int (code, CL_SUCCESS);
    }
  }
  ~Weighing () { gst_object_unref (context); }

  bool set (int sum, cl_int value, cl_long weight, GError **error)
  {
    return arguments.set (kernel (), 0, sums[sum](), error)
           && arguments.set (kernel (), 1, value, error)
           && arguments.set (kernel (), 2, weight, error);
  }

  void assert_sum (int sum, cl_int expected)
  {
    const gsize one = 1;
    cl_int found = -1;
    cl_command_queue queue = queue_of (context);
    fail_unless (gst_opencl_launch (queue, kernel (), 1, &one, nullptr, nullptr));
    fail_unless_equals_int (clEnqueueReadBuffer (queue, sums[sum](), CL_TRUE, 0,
                                sizeof found, &found, 0, nullptr, nullptr),
        CL_SUCCESS);
    fail_unless_equals_int (found, expected);
  }
};

unsigned
calls ()
{
  return counting::count (counting::SET_KERNEL_ARGUMENT);
}
} // namespace

GST_START_TEST (test_kernel_arguments_are_set_when_they_change_and_buffers_always)
{
  struct {
    int sum;
    cl_int value;
    cl_long weight;
    unsigned calls;
  } launches[] = {
      {0, 2, 3, 3},
      {0, 2, 3, 1}, /* the buffer, whose handle may be another's by now */
      {1, 2, 3, 1},
      {1, 5, 3, 2},
      {0, 5, -7, 2},
      {0, 2, 3, 3},
  };
  Weighing weighing;

  for (auto &launch : launches) {
    unsigned before = calls ();
    fail_unless (weighing.set (launch.sum, launch.value, launch.weight, nullptr));
    fail_unless_equals_int (calls () - before, launch.calls);
    weighing.assert_sum (launch.sum, launch.value * launch.weight);
  }
}
GST_END_TEST;

GST_START_TEST (test_kernel_argument_that_could_not_be_set_is_set_again)
{
  Weighing weighing;
  GError *error = nullptr;

  fail_unless (weighing.set (0, 2, 3, nullptr));
  counting::let_fail (counting::SET_KERNEL_ARGUMENT, 2, CL_OUT_OF_RESOURCES);
  fail_if (weighing.set (0, 4, 3, &error));
  fail_unless (error != nullptr);
  g_error_free (error);
  fail_unless (weighing.set (0, 4, 3, nullptr));
  weighing.assert_sum (0, 12);
}
GST_END_TEST;

GST_START_TEST (test_kernel_arguments_of_another_kernel_are_all_set)
{
  Weighing weighing;

  fail_unless (weighing.set (0, 2, 3, nullptr));
  weighing.arguments.forget ();
  unsigned before = calls ();
  fail_unless (weighing.set (0, 2, 3, nullptr));
  fail_unless_equals_int (calls () - before, 3);
}
GST_END_TEST;

static Suite *
kernelarguments_suite ()
{
  Suite *suite = suite_create ("kernelarguments");
  TCase *general = tcase_create ("general");

  suite_add_tcase (suite, general);
  tcase_add_test (
      general, test_kernel_arguments_are_set_when_they_change_and_buffers_always);
  tcase_add_test (general, test_kernel_argument_that_could_not_be_set_is_set_again);
  tcase_add_test (general, test_kernel_arguments_of_another_kernel_are_all_set);
  return suite;
}

GST_CHECK_MAIN (kernelarguments);
