/* Tests of Fourier transforms of many layouts against a transform in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/opencl-hpp.hpp>

#include "tests/check/fft-libraries.hpp"
#include "tests/check/fourier.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"

using namespace check;
using fourier::Complex;
using fourier::Line;

namespace {
const bool takes_long = set_test_timeout (600);

const double tolerance = 1e-6;       /* RMS error, relative to the RMS of the values */
const double worst_tolerance = 2e-6; /* error of one value, relative to the largest */
const float untouched = 12345.678f;

const GstOpenCLFFTLibrary VKFFT = GST_OPENCL_FFT_LIBRARY_VKFFT;
const GstOpenCLFFTLibrary CLFFT = GST_OPENCL_FFT_LIBRARY_CLFFT;

/* Libraries of this build. The absence of clFFT has its own test. */
std::vector<GstOpenCLFFTLibrary>
libraries ()
{
  std::vector<GstOpenCLFFTLibrary> built = {VKFFT};
  if (check::has_clfft ())
    built.push_back (CLFFT);
  return built;
}

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

  cl::Buffer buffer (const std::vector<float> &contents) const
  {
    cl_int code;
    cl::Buffer made (clCreateBuffer (gst_opencl_context_get_handle (context),
        CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, contents.size () * sizeof (float),
        const_cast<float *> (contents.data ()), &code));
    expect_equal (code, CL_SUCCESS);
    return made;
  }

  std::vector<float> read (cl_command_queue from, const cl::Buffer &buffer) const
  {
    size_t bytes = 0;
    clGetMemObjectInfo (buffer (), CL_MEM_SIZE, sizeof bytes, &bytes, nullptr);
    std::vector<float> contents (bytes / sizeof (float));
    expect_equal (clEnqueueReadBuffer (from, buffer (), CL_TRUE, 0, bytes,
                      contents.data (), 0, nullptr, nullptr),
        CL_SUCCESS);
    return contents;
  }

  GstOpenCLContext *context = nullptr;
  cl_command_queue queue = nullptr;
};

/* Layout of a transform; strides are {sample, row, transform}. */
struct Case {
  gsize columns, rows; /* rows 1: one dimension */
  gsize batch = 1;
  bool real = false, inverse = false;
  GstOpenCLFFTStrides input = {}, output = {};
  bool normalized = false;

  GstOpenCLFFTDescription description (GstOpenCLFFTLibrary library) const
  {
    GstOpenCLFFTDescription description = {};
    description.library = library;
    description.direction = inverse ? GST_OPENCL_FFT_INVERSE : GST_OPENCL_FFT_FORWARD;
    description.real = real;
    description.normalized = normalized;
    description.dimensions = rows > 1 ? 2 : 1;
    description.lengths[0] = columns;
    description.lengths[1] = rows;
    description.batch = batch;
    description.input = input;
    description.output = output;
    return description;
  }

  std::string name (GstOpenCLFFTLibrary library) const
  {
    return std::string (library == CLFFT ? "clFFT" : "VkFFT") + ": "
           + std::to_string (batch) + " " + (inverse ? "inverse " : "forward ")
           + (real ? "real " : "complex ") + std::to_string (columns) + " x "
           + std::to_string (rows) + ", strides " + text_of (input) + " and "
           + text_of (output);
  }

private:
  static std::string text_of (const GstOpenCLFFTStrides &strides)
  {
    return std::to_string (strides.sample) + "/" + std::to_string (strides.row) + "/"
           + std::to_string (strides.transform);
  }
};

/* The bins of an image, row after row. */
Line
transform_image (const Line &image, gsize columns, gsize rows)
{
  Line bins;
  for (gsize row = 0; row < rows; row++) {
    const Line line = fourier::transform (
        Line (image.begin () + row * columns, image.begin () + (row + 1) * columns));
    bins.insert (bins.end (), line.begin (), line.end ());
  }
  for (gsize column = 0; rows > 1 && column < columns; column++) {
    Line line (rows);
    for (gsize row = 0; row < rows; row++)
      line[row] = bins[row * columns + column];
    line = fourier::transform (line);
    for (gsize row = 0; row < rows; row++)
      bins[row * columns + column] = line[row];
  }
  return bins;
}

/* Input or output of a case. A buffer holds `columns` of the `whole_columns` of each
 * row. */
struct Buffer {
  gsize columns, whole_columns, rows;
  bool real;
  GstOpenCLFFTStrides strides;
  std::vector<Line> images;

  gsize place (gsize n, gsize row, gsize column) const
  {
    return n * strides.transform + row * strides.row + column * strides.sample;
  }
  gsize elements () const
  {
    return place (images.size () - 1, rows - 1, columns - 1) + 1;
  }
  gsize parts () const { return real ? 1 : 2; }

  template <typename Visitor> void visit (Visitor visitor) const
  {
    for (gsize n = 0; n < images.size (); n++) {
      for (gsize row = 0; row < rows; row++) {
        for (gsize column = 0; column < columns; column++)
          visitor (
              place (n, row, column) * parts (), images[n][row * whole_columns + column]);
      }
    }
  }

  std::vector<float> contents () const
  {
    std::vector<float> floats (elements () * parts (), untouched);
    visit ([&] (gsize at, const Complex &value) {
      floats[at] = value.real ();
      if (!real)
        floats[at + 1] = value.imag ();
    });
    return floats;
  }

  void read_back ()
  {
    const std::vector<float> floats = contents ();
    std::vector<Complex *> values;
    for (Line &image : images) {
      for (Complex &value : image)
        values.push_back (&value);
    }
    auto next = values.begin ();
    visit ([&] (gsize at, const Complex &) {
      **next++ = Complex (floats[at], real ? 0 : floats[at + 1]);
    });
  }
};

/* Noise and its transform in double precision, with their buffer layouts */
struct Buffers {
  Buffer input, output;

  Buffers (const Case &which, const GstOpenCLFFTDescription &resolved, unsigned seed = 1)
  {
    const gsize bins = which.real ? which.columns / 2 + 1 : which.columns;
    input = {which.inverse ? bins : which.columns, which.columns, which.rows,
        which.real && !which.inverse, resolved.input, {}};
    output = {which.inverse ? which.columns : bins, which.columns, which.rows,
        which.real && which.inverse, resolved.output, {}};
    std::mt19937 random (seed);
    which.inverse ? make_inverse (which, random) : make_forward (which, random);
  }

private:
  static Line noise (const Case &which, std::mt19937 &random)
  {
    std::uniform_real_distribution<float> uniform (-1, 1);
    Line line (which.columns * which.rows);
    for (Complex &value : line) {
      const float real = uniform (random);
      value = Complex (real, which.real ? 0 : uniform (random));
    }
    return line;
  }

  void make_forward (const Case &which, std::mt19937 &random)
  {
    for (gsize n = 0; n < which.batch; n++)
      input.images.push_back (noise (which, random));
    input.read_back (); /* rows that overlap hold the samples written last */
    for (const Line &image : input.images)
      output.images.push_back (transform_image (image, which.columns, which.rows));
  }

  void make_inverse (const Case &which, std::mt19937 &random)
  {
    const double scale = which.normalized ? 1 : which.columns * which.rows;
    for (gsize n = 0; n < which.batch; n++) {
      Line image = noise (which, random);
      input.images.push_back (transform_image (image, which.columns, which.rows));
      for (Complex &value : image)
        value *= scale;
      output.images.push_back (image);
    }
  }
};

GstOpenCLFFT *
make_plan (const Device &device, const GstOpenCLFFTDescription &description,
    const std::string &name)
{
  GError *error = nullptr;
  GstOpenCLFFT *fft = gst_opencl_fft_new_described (device.context, &description, &error);
  fail_unless (fft != nullptr, "%s: %s", name.c_str (), error ? error->message : "");
  fail_unless (
      gst_opencl_fft_get_description (fft)->library != GST_OPENCL_FFT_LIBRARY_AUTO);
  return fft;
}

GstOpenCLFFT *
make_plan (const Device &device, GstOpenCLFFTLibrary library, const Case &which)
{
  return make_plan (device, which.description (library), which.name (library));
}

void
assert_enqueued (GstOpenCLFFT *fft, cl_command_queue queue, const cl::Buffer &input,
    const cl::Buffer &output)
{
  GError *error = nullptr;
  fail_unless (gst_opencl_fft_enqueue (fft, queue, input (), output (), &error), "%s",
      error ? error->message : "");
}

void
assert_values (
    const std::string &name, const Buffer &buffer, const std::vector<float> &got)
{
  double square = 0, difference = 0, largest = 0, worst = 0;
  std::vector<float> between = got;
  buffer.visit ([&] (gsize at, const Complex &value) {
    const Complex found (got[at], buffer.real ? 0 : got[at + 1]);
    const double off = std::abs (found - value);
    square += std::norm (value);
    difference += off * off;
    largest = std::max (largest, std::abs (value));
    worst = off <= worst ? worst : off; /* keeps a NaN too */
    std::fill_n (between.begin () + at, buffer.parts (), untouched);
  });
  const double relative = std::sqrt (difference / square);
  fail_unless (relative <= tolerance, "%s: off by %g", name.c_str (), relative);
  fail_unless (worst <= worst_tolerance * largest, "%s: off by %g of %g", name.c_str (),
      worst, largest);
  for (float value : between)
    fail_unless (value == untouched, "%s: wrote between the samples", name.c_str ());
}

void
check_case (const Device &device, GstOpenCLFFTLibrary library, const Case &which)
{
  const std::string name = which.name (library);
  GstOpenCLFFT *fft = make_plan (device, library, which);
  const Buffers buffers (which, *gst_opencl_fft_get_description (fft));
  const std::vector<float> input = buffers.input.contents ();
  const gsize output = buffers.output.elements () * buffers.output.parts ();
  expect_equal (gst_opencl_fft_get_input_size (fft), input.size () * sizeof (float));
  expect_equal (gst_opencl_fft_get_output_size (fft), output * sizeof (float));

  const cl::Buffer from = device.buffer (input);
  const cl::Buffer to = device.buffer (std::vector<float> (output, untouched));
  assert_enqueued (fft, device.queue, from, to);
  assert_values (name, buffers.output, device.read (device.queue, to));
  fail_unless (memcmp (device.read (device.queue, from).data (), input.data (),
                   input.size () * sizeof (float))
                   == 0,
      "%s: the input was changed", name.c_str ());
  gst_opencl_fft_free (fft);
}

void
assert_refused (
    const Device &device, const GstOpenCLFFTDescription &description, const char *message)
{
  Owned<GError> error;
  fail_if (gst_opencl_fft_new_described (device.context, &description, error.out ()));
  fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
  expect_equal (error->message, message);
}

void
assert_length_refused (
    const Device &device, GstOpenCLFFTLibrary library, gsize length, const char *message)
{
  fail_if (gst_opencl_fft_library_accepts (library, length));
  assert_refused (device, Case{length, 1, 4, true}.description (library), message);
}
} // namespace

/* Each plan builds one or more programs, which takes a vendor's compiler long. So the
 * cases cover each code path of a library, but not every length in every direction. */
static void
check_cases (GstOpenCLFFTLibrary library, const std::vector<Case> &cases)
{
  Device device;
  for (const Case &which : cases)
    check_case (device, library, which);
}

/* arrays.py compares all lengths up to 128 and random ones, in one and two dimensions, with
 * NumPy. Here are the edges: the lengths of OCT, factors that are large primes, single
 * lines, and lines that are longer than local memory, which VkFFT cannot transform as real
 * ones of odd length. */
TEST (test_fft_values)
{
  check_cases (VKFFT,
      {{2048, 1, 7, true}, {2048, 1, 1, true}, {1001, 1, 7, true}, {16384, 1, 7, true},
          {16384, 1, 3, true, true}, {2039, 1, 3, true}, {2039, 1, 6, true, true},
          {16337, 1, 3, true}, {2, 1, 6, true, true}, {3, 1, 6}, {295245, 1, 2, true},
          {295245, 1, 2, true, true}, {31, 31, 1, true}, {2, 129, 2, false, true},
          {512, 512, 1, true}, {512, 512, 1, true, true}});
  if (check::has_clfft ()) /* otherwise it is refused, see below */
    check_cases (
        CLFFT, {{3, 1, 7, true, true}, {1001, 1, 7, true}, {2048, 1, 7, true, true},
                   {16384, 1, 3, true}, {33, 35, 1, true}, {48, 30, 3, false, true}});
}

TEST (test_any_strides_are_honoured_and_gaps_left_alone)
{
  const Case cases[] = {
      /* Gaps between lines: even, odd, on either side. */
      {64, 1, 5, false, false, {1, 0, 70}, {1, 0, 67}},
      {64, 1, 5, true, false, {1, 0, 67}, {1, 0, 33}},
      {63, 1, 4, true, false, {1, 0, 64}, {1, 0, 33}},
      {64, 1, 5, true, true, {1, 0, 40}, {1, 0, 67}},
      {64, 1, 6, true, true, {1, 0, 40}, {1, 0, 70}},
      /* Samples that are not adjacent: columns of an image, channels of a frame. */
      {64, 1, 9, false, false, {9, 0, 1}, {9, 0, 1}},
      {60, 1, 3, true, false, {3, 0, 1}, {1, 0, 50}},
      {60, 1, 3, true, true, {1, 0, 0}, {3, 0, 1}},
      /* Overlapping rows, as for a spectrogram. */
      {64, 1, 7, true, false, {1, 0, 16}, {1, 0, 0}},
      {64, 1, 7, false, false, {1, 0, 15}, {1, 0, 0}},
  };
  check_cases (VKFFT, {std::begin (cases), std::end (cases)});
  if (check::has_clfft ()) /* clFFT supports any strides itself */
    check_cases (CLFFT, {cases[0], cases[1], cases[4], cases[6], cases[8]});
}

TEST (test_any_strides_of_images_are_honoured_and_gaps_left_alone)
{
  const Case cases[] = {
      {40, 24, 4, true, false, {4, 160, 1}, {1, 0, 0}},
      {40, 24, 4, true, true, {1, 0, 0}, {4, 160, 1}},
      /* Gaps behind rows and behind images. */
      {40, 24, 3, true, false, {1, 48, 1200}, {1, 21, 600}},
      {40, 24, 2, true, true, {1, 21, 0}, {1, 41, 1001}},
      {40, 24, 3, false, true, {1, 50, 1300}, {1, 41, 1001}},
      /* Rows and transforms are exchanged. */
      {40, 24, 3, false, false, {1, 120, 40}, {1, 0, 0}},
  };
  check_cases (VKFFT, {std::begin (cases), std::end (cases)});
  if (check::has_clfft ()) /* slow to compile */
    check_cases (CLFFT, {cases[0], {40, 24, 2, true, true, {1, 25, 0}, {1, 44, 1100}}});
}

TEST (test_long_lines_with_gaps_are_right_too)
{
  Device device;
  for (bool inverse : {false, true}) {
    check_case (
        device, VKFFT, {1 << 16, 1, 2, false, inverse, {1, 0, 65541}, {1, 0, 65600}});
    check_case (
        device, VKFFT, {1 << 16, 1, 2, true, inverse, {1, 0, 65600}, {1, 0, 65800}});
  }
}

/* VkFFT refuses them, so that a complex transform takes all bins of each row. */
TEST (test_long_odd_lines_of_a_real_image_are_right)
{
  Device device;
  for (bool inverse : {false, true})
    check_case (device, VKFFT, {10125, 3, 1, true, inverse});
}

TEST (test_an_inverse_is_normalized_where_asked)
{
  Device device;
  for (GstOpenCLFFTLibrary library : libraries ()) {
    for (bool real : {true, false}) {
      check_case (device, library, {60, 1, 3, real, true, {}, {}, true});
    }
    check_case (device, library, {16, 12, 2, true, true, {}, {}, true});
  }
}

TEST (test_any_number_of_lines_is_transformed)
{
  Device device;
  for (GstOpenCLFFTLibrary library : libraries ()) {
    for (gsize count : {2, 33, 1025})
      check_case (device, library, {64, 1, count, true});
  }
  check_case (device, VKFFT, {64, 1, 999, true, true});
  check_case (device, VKFFT, {16, 16, 301, true, true});
}

/* Frames in flight on another queue of the context, of a plan that is freed meanwhile */
TEST (test_a_plan_transforms_frames_without_allocation_or_wait)
{
  const Case cases[] = {{64, 1, 301, true}, {16, 12, 2, true, true},
      {60, 1, 300, true, true, {}, {3, 0, 180}}};
  Device device;
  cl_command_queue queue =
      gst_opencl_context_get_queue (device.context, GST_OPENCL_QUEUE_UPLOAD);
  const auto waits = [] {
    return counting::count (counting::WAIT_FOR_EVENTS)
           + counting::count (counting::FINISH);
  };
  for (GstOpenCLFFTLibrary library : libraries ()) {
    for (const Case &which : cases) {
      GstOpenCLFFT *fft = make_plan (device, library, which);
      std::vector<Buffers> frames;
      std::vector<cl::Buffer> inputs, outputs;
      for (unsigned seed : {1, 2}) {
        frames.emplace_back (which, *gst_opencl_fft_get_description (fft), seed);
        inputs.push_back (device.buffer (frames.back ().input.contents ()));
        outputs.push_back (device.buffer (std::vector<float> (
            gst_opencl_fft_get_output_size (fft) / sizeof (float), untouched)));
      }
      clFinish (device.queue); /* a plan's first transform may still be in flight */
      const unsigned made = counting::allocations (), waited = waits ();
      fail_unless (made > 0); /* the counter works */
      for (gsize n = 0; n < frames.size (); n++)
        assert_enqueued (fft, queue, inputs[n], outputs[n]);
      expect_equal (counting::allocations (), made);
      expect_equal (waits (), waited);
      gst_opencl_fft_free (fft);
      for (gsize n = 0; n < frames.size (); n++)
        assert_values (
            which.name (library), frames[n].output, device.read (queue, outputs[n]));
    }
  }
}

TEST (test_fft_on_a_queue_or_buffer_of_another_context)
{
  Device device;
  Owned<GstOpenCLContext> other = new_other_context (device.context);
  const std::vector<float> zeros (2 * 64 * 3);
  const cl::Buffer input = device.buffer (zeros), output = device.buffer (zeros);
  Owned<GstMemory> elsewhere =
      gst_opencl_memory_new (other, zeros.size () * sizeof (float), nullptr);
  const cl_mem foreign = gst_opencl_memory_get_handle (elsewhere);
  cl_command_queue foreign_queue =
      gst_opencl_context_get_queue (other, GST_OPENCL_QUEUE_COMPUTE);

  for (GstOpenCLFFTLibrary library : libraries ()) {
    GstOpenCLFFT *fft = make_plan (device, library, Case{64, 1, 3});
    auto refused = [&] (cl_command_queue queue, cl_mem from, cl_mem to) {
      Owned<GError> error;
      fail_if (gst_opencl_fft_enqueue (fft, queue, from, to, error.out ()));
      fail_unless (
          g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED), "%s",
          error->message);
    };
    refused (foreign_queue, input (), output ());
    refused (device.queue, foreign, output ());
    refused (device.queue, input (), foreign);
    gst_opencl_fft_free (fft);
  }
}

TEST (test_a_transform_in_place_or_of_too_small_a_buffer_is_refused)
{
  Device device;
  GstOpenCLFFT *fft = make_plan (device, VKFFT, {64, 1, 2});
  const cl::Buffer whole = device.buffer (std::vector<float> (64 * 2 * 2));
  const cl::Buffer small = device.buffer (std::vector<float> (64 * 2 * 2 - 1));
  const struct {
    const cl::Buffer &input, &output;
    const char *message;
  } cases[] = {
      {whole, whole, "Input and output of a transform must be different buffers"},
      {small, whole, "The input of a transform has 1020 bytes, expected at least 1024"},
      {whole, small, "The output of a transform has 1020 bytes, expected at least 1024"},
  };
  for (const auto &bad : cases) {
    Owned<GError> error;
    fail_if (gst_opencl_fft_enqueue (
        fft, device.queue, bad.input (), bad.output (), error.out ()));
    fail_unless (g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED));
    expect_equal (error->message, bad.message);
  }
  gst_opencl_fft_free (fft);
}

TEST (test_a_description_says_how_it_was_filled_in)
{
  Device device;
  GstOpenCLFFTDescription wanted = {};
  wanted.lengths[0] = 64;
  GstOpenCLFFT *fft = make_plan (device, wanted, "defaults");
  const GstOpenCLFFTDescription *resolved = gst_opencl_fft_get_description (fft);
  expect_equal (resolved->library, VKFFT);
  expect_equal (resolved->dimensions, 1);
  expect_equal (resolved->batch, 1);
  expect_equal (resolved->input.sample, 1);
  expect_equal (resolved->output.transform, 64);
  expect_equal (gst_opencl_fft_get_output_stride (fft), 64);
  gst_opencl_fft_free (fft);
}

TEST (test_a_description_that_makes_no_sense_is_refused)
{
  Device device;
  GstOpenCLFFTDescription description = Case{64, 64, 1}.description (VKFFT);
  description.dimensions = 3;
  assert_refused (device, description, "Transforms of 3 dimensions: expected 1 or 2");
  description = Case{64, 1, 1}.description (VKFFT);
  description.direction = static_cast<GstOpenCLFFTDirection> (7);
  assert_refused (device, description, "Unknown transform direction 7");
  description = Case{64, 1, 1}.description (static_cast<GstOpenCLFFTLibrary> (7));
  assert_refused (device, description, "Unknown FFT library 7");
  description = Case{64, 1, 3, false, false, {}, {1, 0, 63}}.description (VKFFT);
  assert_refused (device, description,
      "Output strides 1, 64, 63 of 3 transforms of 64 x 1: "
      "output samples overlap");
  description = Case{64, 0, 1}.description (VKFFT);
  description.dimensions = 2;
  assert_refused (device, description,
      "VkFFT cannot transform 0 samples: expected at least 2 samples");
}

/* Products and sums that overflow a gsize, in elements or in bytes */
TEST (test_fft_sizes_that_overflow_are_refused)
{
  Device device;
  const gsize large = gsize (1) << 61, root = gsize (1) << 33;
  const Case cases[] = {
      {8, 1, 2, false, false, {large, 0, 1}}, /* 7 * 2^61 */
      {9, 1, 1, false, false, {large, 0, 0}}, /* 8 * 2^61 is 0 */
      {9, 1, 1, true, false, {large, 0, 0}}, {9, 1, 1, true, true, {large, 0, 0}},
      {8, 1, 1, false, false, {}, {large, 0, 0}},
      {8, 1, 1, true, true, {}, {large, 0, 0}}, {8, 9, 1, false, false, {1, large, 0}},
      {8, 9, 1, false, false, {}, {1, large, 0}}, {8, 1, 9, false, false, {1, 0, large}},
      {8, 1, 9, false, false, {}, {1, 0, large}}, {8, root, root}, {root, root, 1},
      {2 * root, root, 1, true},
      {8, 4, root, false, false, {1, 1, 1}}, /* 2^33 transforms, whatever their strides */
  };
  for (GstOpenCLFFTLibrary library : {GST_OPENCL_FFT_LIBRARY_AUTO, VKFFT})
    for (const Case &which : cases) {
      const std::string name = which.name (library);
      Owned<GError> error;
      const GstOpenCLFFTDescription description = which.description (library);
      fail_if (gst_opencl_fft_new_described (device.context, &description, error.out ()),
          "%s", name.c_str ());
      fail_unless (
          g_error_matches (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED),
          "%s: %s", name.c_str (), error->message);
      fail_unless (
          strstr (error->message, "too large"), "%s: %s", name.c_str (), error->message);
    }
}

/* A plan does not check that such a buffer can exist. */
TEST (test_fft_sizes_beyond_32_bits)
{
  Device device;
  const gsize stride = gsize (1) << 40;
  GstOpenCLFFT *fft =
      make_plan (device, VKFFT, {8, 1, 1, false, false, {stride, 0, 0}, {1, 0, 0}});
  fail_unless_equals_uint64 (gst_opencl_fft_get_input_size (fft), 7 * stride * 8 + 8);
  gst_opencl_fft_free (fft);
}

TEST (test_auto_takes_vkfft_and_a_named_library_is_kept)
{
  Device device;
  GstOpenCLFFT *fft = make_plan (device, GST_OPENCL_FFT_LIBRARY_AUTO, {64, 1, 2, true});
  expect_equal (gst_opencl_fft_get_description (fft)->library, VKFFT);
  gst_opencl_fft_free (fft);
  for (GstOpenCLFFTLibrary library : libraries ()) {
    fft = gst_opencl_fft_new (device.context, library, 64, 2, TRUE, nullptr);
    expect_equal (gst_opencl_fft_get_description (fft)->library, library);
    gst_opencl_fft_free (fft);
  }
}

TEST (test_lengths_that_a_library_cannot_transform_are_refused)
{
  Device device;
  fail_unless (gst_opencl_fft_library_is_built (GST_OPENCL_FFT_LIBRARY_AUTO));
  fail_unless (gst_opencl_fft_library_is_built (VKFFT));
  fail_unless (gst_opencl_fft_library_accepts (GST_OPENCL_FFT_LIBRARY_AUTO, 2039));
  expect_equal (gst_opencl_fft_library_is_built (CLFFT), check::has_clfft ());
  expect_equal (gst_opencl_fft_library_accepts (CLFFT, 1001), check::has_clfft ());
  for (GstOpenCLFFTLibrary library : {VKFFT, GST_OPENCL_FFT_LIBRARY_AUTO})
    assert_length_refused (device, library, 1,
        "VkFFT cannot transform 1 samples: expected at least 2 samples");
  const char *const prime = "clFFT cannot transform 34 samples: prime factors must be at "
                            "most 13; use fft-library=vkfft or auto",
                    *const not_built =
                        "Built without clFFT: use fft-library=vkfft or auto";
  assert_length_refused (device, CLFFT, 34, check::has_clfft () ? prime : not_built);
  assert_refused (device, Case{64, 34, 1}.description (CLFFT),
      check::has_clfft () ? prime : not_built);
}

TEST (test_launches_are_counted)
{
  const struct {
    Case which;
    guint64 launches;
  } cases[] = {
      {{64, 1, 2, true}, 1},
      {{64, 1, 2, true, true}, 1},
      {{64, 32, 2}, 2},
      {{64, 1, 2, false, false, {2, 0, 128}}, 2},
  };
  Device device;
  for (const auto &entry : cases) {
    GstOpenCLFFT *fft = make_plan (device, VKFFT, entry.which);
    const Buffers buffers (entry.which, *gst_opencl_fft_get_description (fft));
    GstOpenCLCounts before, after;
    gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &before);
    assert_enqueued (fft, device.queue, device.buffer (buffers.input.contents ()),
        device.buffer (buffers.output.contents ()));
    gst_opencl_statistics_get_counts (gst_opencl_statistics_of (nullptr), &after);
    expect_equal (after.launches - before.launches, entry.launches);
    clFinish (device.queue);
    gst_opencl_fft_free (fft);
  }
}
