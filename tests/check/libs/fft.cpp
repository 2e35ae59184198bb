/* Fourier transforms of many lines against a transform in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include <gst/opencl/opencl.h>
#include <gst/opencl/opencl-hpp.hpp>

#include "../fourier.hpp"

/* Last: its macro fail() breaks the headers of C++. */
#include <gst/check/gstcheck.h>

using fourier::Complex;
using fourier::Line;

namespace {
const gsize common_lengths[] = {
    64, 1000, 1001, 1024, 1536, 2000, 2048, 4096, 8192, 16384};
const gsize clfft_lengths[] = {64, 1001, 1024, 2048, 16384}; /* slow to compile */
const gsize bluestein_lengths[] = {17, 127, 2039, 4099, 9999, 16337};
const gsize short_lengths[] = {2, 3, 31};
const gsize batches[] = {1, 7};
const double tolerance = 2e-6; /* of the largest bin */

/* Lines of noise, and what comes out of them. */
struct Lines {
  gsize length;
  bool real;
  std::vector<float> samples;
  std::vector<Line> bins;

  Lines (gsize length, gsize lines, bool real, unsigned seed = 1)
      : length (length), real (real), samples (length * lines * (real ? 1 : 2))
  {
    std::mt19937 random (seed);
    std::uniform_real_distribution<float> noise (-1, 1);
    for (float &sample : samples)
      sample = noise (random);
    for (gsize l = 0; l < lines; l++)
      bins.push_back (fourier::transform (line (l)));
  }

  Line line (gsize l) const
  {
    Line values (length);
    for (gsize n = 0; n < length; n++) {
      const float *at = &samples[(l * length + n) * (real ? 1 : 2)];
      values[n] = Complex (at[0], real ? 0 : at[1]);
    }
    return values;
  }

  gsize bytes (gsize lines) const
  {
    return lines * length * (real ? 1 : 2) * sizeof (float);
  }
};

class Device {
public:
  Device ()
  {
    GError *error = nullptr;
    context = gst_opencl_context_new (nullptr, &error);
    fail_unless (context != nullptr, "%s", error ? error->message : "");
    queue = gst_opencl_context_get_queue (context, GST_OPENCL_QUEUE_COMPUTE);
  }

  ~Device () { gst_object_unref (context); }

  cl::Buffer buffer (gsize bytes, const void *contents = nullptr) const
  {
    cl_int code;
    cl_mem_flags flags = CL_MEM_READ_WRITE | (contents ? CL_MEM_COPY_HOST_PTR : 0);
    cl::Buffer made (clCreateBuffer (gst_opencl_context_get_handle (context), flags,
        bytes, const_cast<void *> (contents), &code));
    fail_unless_equals_int (code, CL_SUCCESS);
    return made;
  }

  std::vector<float> read (cl_command_queue from, const cl::Buffer &buffer) const
  {
    size_t bytes = 0;
    clGetMemObjectInfo (buffer (), CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
    std::vector<float> contents (bytes / sizeof (float));
    fail_unless_equals_int (clEnqueueReadBuffer (from, buffer (), CL_TRUE, 0, bytes,
                                contents.data (), 0, nullptr, nullptr),
        CL_SUCCESS);
    return contents;
  }

  GstOpenCLContext *context = nullptr;
  cl_command_queue queue = nullptr;
};

GstOpenCLFFT *
make_plan (const Device &device, GstOpenCLFFTLibrary library, gsize length, gsize lines,
    bool real)
{
  GError *error = nullptr;
  GstOpenCLFFT *fft =
      gst_opencl_fft_new (device.context, library, length, lines, real, &error);
  fail_unless (fft != nullptr, "%s", error ? error->message : "");
  fail_unless (gst_opencl_fft_get_library (fft) != GST_OPENCL_FFT_LIBRARY_AUTO);
  fail_unless (
      gst_opencl_fft_get_output_stride (fft) >= (real ? length / 2 + 1 : length));
  return fft;
}

cl::Buffer
enqueue (const Device &device, GstOpenCLFFT *fft, cl_command_queue queue,
    const cl::Buffer &input, gsize lines)
{
  gsize stride = gst_opencl_fft_get_output_stride (fft);
  cl::Buffer output = device.buffer (lines * stride * 2 * sizeof (float));
  GError *error = nullptr;
  fail_unless (gst_opencl_fft_enqueue (fft, queue, input (), output (), &error), "%s",
      error ? error->message : "");
  return output;
}

void
assert_bins (const Lines &lines, gsize count, gsize stride, const std::vector<float> &got)
{
  gsize bins = lines.real ? lines.length / 2 + 1 : lines.length;
  double largest = 0, worst = 0;
  for (gsize l = 0; l < count; l++) {
    for (gsize b = 0; b < bins; b++) {
      const float *at = &got[(l * stride + b) * 2];
      double difference = std::abs (Complex (at[0], at[1]) - lines.bins[l][b]);
      largest = std::max (largest, std::abs (lines.bins[l][b]));
      worst = difference <= worst ? worst : difference; /* keeps a NaN too */
    }
  }
  fail_unless (worst <= tolerance * largest,
      "%" G_GSIZE_FORMAT " %s lines of %" G_GSIZE_FORMAT ": off by %g of %g", count,
      lines.real ? "real" : "complex", lines.length, worst, largest);
}

void
check_transform (
    const Device &device, GstOpenCLFFTLibrary library, const Lines &lines, gsize count)
{
  GstOpenCLFFT *fft = make_plan (device, library, lines.length, count, lines.real);
  cl::Buffer input = device.buffer (lines.bytes (count), lines.samples.data ());
  cl::Buffer output = enqueue (device, fft, device.queue, input, count);

  assert_bins (lines, count, gst_opencl_fft_get_output_stride (fft),
      device.read (device.queue, output));
  std::vector<float> after = device.read (device.queue, input);
  fail_unless (memcmp (after.data (), lines.samples.data (), lines.bytes (count)) == 0,
      "The input was changed");
  gst_opencl_fft_free (fft);
}

template <gsize count>
void
check_lengths (
    const Device &device, GstOpenCLFFTLibrary library, const gsize (&lengths)[count])
{
  for (bool real : {true, false}) {
    for (gsize length : lengths) {
      Lines lines (
          length, *std::max_element (std::begin (batches), std::end (batches)), real);
      for (gsize batch : batches)
        check_transform (device, library, lines, batch);
    }
  }
}

void
assert_refused (
    const Device &device, GstOpenCLFFTLibrary library, gsize length, const char *message)
{
  GError *error = nullptr;
  fail_if (gst_opencl_fft_library_accepts (library, length));
  fail_if (gst_opencl_fft_new (device.context, library, length, 4, TRUE, &error));
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
  fail_unless_equals_string (error->message, message);
  g_clear_error (&error);
}
} // namespace

GST_START_TEST (test_vkfft_is_right_for_common_lengths)
{
  Device device;
  check_lengths (device, GST_OPENCL_FFT_LIBRARY_VKFFT, common_lengths);
}
GST_END_TEST;

GST_START_TEST (test_vkfft_is_right_for_lengths_with_large_prime_factors)
{
  Device device;
  for (bool real : {true, false}) {
    for (gsize length : bluestein_lengths)
      check_transform (device, GST_OPENCL_FFT_LIBRARY_VKFFT, Lines (length, 3, real), 3);
  }
}
GST_END_TEST;

GST_START_TEST (test_both_libraries_are_right_for_short_lines)
{
  Device device;
  for (GstOpenCLFFTLibrary library :
      {GST_OPENCL_FFT_LIBRARY_VKFFT, GST_OPENCL_FFT_LIBRARY_CLFFT}) {
    for (gsize length : short_lengths) {
      if (gst_opencl_fft_library_accepts (library, length)) {
        check_transform (device, library, Lines (length, 3, true), 3);
        check_transform (device, library, Lines (length, 3, false), 3);
      }
    }
  }
}
GST_END_TEST;

GST_START_TEST (test_clfft_is_right_for_common_lengths)
{
  Device device;
  check_lengths (device, GST_OPENCL_FFT_LIBRARY_CLFFT, clfft_lengths);
}
GST_END_TEST;

GST_START_TEST (test_any_number_of_lines_is_transformed)
{
  Device device;
  for (GstOpenCLFFTLibrary library :
      {GST_OPENCL_FFT_LIBRARY_VKFFT, GST_OPENCL_FFT_LIBRARY_CLFFT}) {
    Lines lines (64, 1025, true);
    for (gsize count : {2, 16, 33, 500, 999, 1025})
      check_transform (device, library, lines, count);
  }
}
GST_END_TEST;

/* Longer than any local memory, where VkFFT has no real transform of odd lengths. */
GST_START_TEST (test_vkfft_is_right_for_a_long_odd_real_line)
{
  Device device;
  check_transform (device, GST_OPENCL_FFT_LIBRARY_VKFFT, Lines (295245, 2, true), 2);
}
GST_END_TEST;

GST_START_TEST (test_a_plan_transforms_one_frame_after_another)
{
  const gsize length = 64, count = 5;
  Device device;
  for (GstOpenCLFFTLibrary library :
      {GST_OPENCL_FFT_LIBRARY_VKFFT, GST_OPENCL_FFT_LIBRARY_CLFFT}) {
    GstOpenCLFFT *fft = make_plan (device, library, length, count, true);
    gsize stride = gst_opencl_fft_get_output_stride (fft);
    Lines first (length, count, true, 1), second (length, count, true, 2);
    cl::Buffer input1 = device.buffer (first.bytes (count), first.samples.data ());
    cl::Buffer input2 = device.buffer (second.bytes (count), second.samples.data ());

    cl::Buffer output1 = enqueue (device, fft, device.queue, input1, count);
    cl::Buffer output2 = enqueue (device, fft, device.queue, input2, count);
    assert_bins (first, count, stride, device.read (device.queue, output1));
    assert_bins (second, count, stride, device.read (device.queue, output2));
    gst_opencl_fft_free (fft);
  }
}
GST_END_TEST;

GST_START_TEST (test_a_plan_may_be_freed_before_its_transform_has_finished)
{
  Device device;
  for (GstOpenCLFFTLibrary library :
      {GST_OPENCL_FFT_LIBRARY_VKFFT, GST_OPENCL_FFT_LIBRARY_CLFFT}) {
    Lines lines (64, 301, true);
    GstOpenCLFFT *fft = make_plan (device, library, 64, 301, true);
    gsize stride = gst_opencl_fft_get_output_stride (fft);
    cl::Buffer input = device.buffer (lines.bytes (301), lines.samples.data ());
    cl::Buffer output = enqueue (device, fft, device.queue, input, 301);
    gst_opencl_fft_free (fft);
    assert_bins (lines, 301, stride, device.read (device.queue, output));
  }
}
GST_END_TEST;

GST_START_TEST (test_a_plan_works_on_any_queue_of_its_context)
{
  Device device;
  cl_command_queue queue =
      gst_opencl_context_get_queue (device.context, GST_OPENCL_QUEUE_UPLOAD);
  for (GstOpenCLFFTLibrary library :
      {GST_OPENCL_FFT_LIBRARY_VKFFT, GST_OPENCL_FFT_LIBRARY_CLFFT}) {
    Lines lines (64, 3, false);
    GstOpenCLFFT *fft = make_plan (device, library, 64, 3, false);
    gsize stride = gst_opencl_fft_get_output_stride (fft);
    cl::Buffer input = device.buffer (lines.bytes (3), lines.samples.data ());
    clFinish (device.queue); /* a plan's first transform may still be on its way */
    cl::Buffer output = enqueue (device, fft, queue, input, 3);
    assert_bins (lines, 3, stride, device.read (queue, output));
    gst_opencl_fft_free (fft);
  }
}
GST_END_TEST;

GST_START_TEST (test_auto_takes_vkfft_and_a_named_library_is_kept)
{
  const struct {
    GstOpenCLFFTLibrary wanted, expected;
  } cases[] = {
      {GST_OPENCL_FFT_LIBRARY_AUTO, GST_OPENCL_FFT_LIBRARY_VKFFT},
      {GST_OPENCL_FFT_LIBRARY_VKFFT, GST_OPENCL_FFT_LIBRARY_VKFFT},
      {GST_OPENCL_FFT_LIBRARY_CLFFT, GST_OPENCL_FFT_LIBRARY_CLFFT},
  };
  Device device;
  for (const auto &entry : cases) {
    GstOpenCLFFT *fft = make_plan (device, entry.wanted, 64, 2, true);
    fail_unless_equals_int (gst_opencl_fft_get_library (fft), entry.expected);
    gst_opencl_fft_free (fft);
  }
}
GST_END_TEST;

GST_START_TEST (test_clfft_refuses_a_length_with_a_larger_prime_factor_than_13)
{
  Device device;
  assert_refused (device, GST_OPENCL_FFT_LIBRARY_CLFFT, 2039,
      "clFFT cannot transform 2039 samples: prime factors must be at most 13; "
      "use fft-library=vkfft or auto");
  assert_refused (device, GST_OPENCL_FFT_LIBRARY_CLFFT, 34,
      "clFFT cannot transform 34 samples: prime factors must be at most 13; "
      "use fft-library=vkfft or auto");
  fail_unless (gst_opencl_fft_library_accepts (GST_OPENCL_FFT_LIBRARY_CLFFT, 1001));
  fail_unless (gst_opencl_fft_library_accepts (GST_OPENCL_FFT_LIBRARY_AUTO, 2039));
}
GST_END_TEST;

GST_START_TEST (test_a_line_of_one_sample_is_refused)
{
  Device device;
  assert_refused (device, GST_OPENCL_FFT_LIBRARY_VKFFT, 1,
      "VkFFT cannot transform 1 samples: a line has 2 samples or more");
  assert_refused (device, GST_OPENCL_FFT_LIBRARY_AUTO, 1,
      "VkFFT cannot transform 1 samples: a line has 2 samples or more");
}
GST_END_TEST;

GST_START_TEST (test_launches_are_counted)
{
  Device device;
  for (GstOpenCLFFTLibrary library :
      {GST_OPENCL_FFT_LIBRARY_VKFFT, GST_OPENCL_FFT_LIBRARY_CLFFT}) {
    Lines lines (64, 2, true);
    GstOpenCLFFT *fft = make_plan (device, library, 64, 2, true);
    cl::Buffer input = device.buffer (lines.bytes (2), lines.samples.data ());
    GstOpenCLCounts before, after;
    gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &before);
    enqueue (device, fft, device.queue, input, 2);
    gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &after);
    fail_unless_equals_uint64 (after.launches - before.launches, 1);
    clFinish (device.queue);
    gst_opencl_fft_free (fft);
  }
}
GST_END_TEST;

static Suite *
fft_suite (void)
{
  Suite *suite = suite_create ("fft");
  TCase *chain = tcase_create ("general");
  suite_add_tcase (suite, chain);
  tcase_add_test (chain, test_vkfft_is_right_for_common_lengths);
  tcase_add_test (chain, test_vkfft_is_right_for_lengths_with_large_prime_factors);
  tcase_add_test (chain, test_vkfft_is_right_for_a_long_odd_real_line);
  tcase_add_test (chain, test_clfft_is_right_for_common_lengths);
  tcase_add_test (chain, test_both_libraries_are_right_for_short_lines);
  tcase_add_test (chain, test_any_number_of_lines_is_transformed);
  tcase_add_test (chain, test_a_plan_transforms_one_frame_after_another);
  tcase_add_test (chain, test_a_plan_may_be_freed_before_its_transform_has_finished);
  tcase_add_test (chain, test_a_plan_works_on_any_queue_of_its_context);
  tcase_add_test (chain, test_auto_takes_vkfft_and_a_named_library_is_kept);
  tcase_add_test (chain, test_clfft_refuses_a_length_with_a_larger_prime_factor_than_13);
  tcase_add_test (chain, test_a_line_of_one_sample_is_refused);
  tcase_add_test (chain, test_launches_are_counted);
  return suite;
}

GST_CHECK_MAIN (fft);
