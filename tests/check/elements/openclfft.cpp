/* Tests of openclfft: a transform in double precision, layouts, settings and errors
 *
 * tests/check/pipelines/arrays.py compares with numpy.fft.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"
#include "tests/check/as-gpu.hpp"
#include "tests/check/fft-libraries.hpp"
#include "tests/check/fourier.hpp"

using namespace programs;
using fourier::Complex;
using fourier::Line;

namespace {
const bool takes_long = check::set_test_timeout (300);

std::vector<float>
drawn (gsize count)
{
  std::mt19937 random (5);
  std::vector<float> numbers (count);
  for (float &number : numbers)
    number = float (random () % 2001) / 1000 - 1;
  return numbers;
}

std::vector<float>
pairs_of (const Line &line)
{
  std::vector<float> pairs;
  for (const Complex &number : line)
    pairs.insert (pairs.end (), {float (number.real ()), float (number.imag ())});
  return pairs;
}

Line
line_of (const std::vector<float> &pairs)
{
  Line line;
  for (gsize n = 0; n + 1 < pairs.size (); n += 2)
    line.emplace_back (pairs[n], pairs[n + 1]);
  return line;
}

std::vector<float>
process (const std::string &element, const std::string &dimensions,
    const std::vector<float> &numbers)
{
  Chain chain (element, tensors ("float32", dimensions));
  return values_of<float> (chain.run (bytes_of (numbers)).bytes);
}

/* Transforms columns of an array of (outer, length, inner) complex numbers. */
Line
transform_columns (const Line &array, gsize length, gsize inner)
{
  Line made (array.size ());
  for (gsize n = 0; n < array.size (); n++) {
    if (n / inner % length != 0)
      continue;
    Line column (length);
    for (gsize i = 0; i < length; i++)
      column[i] = array[n + i * inner];
    column = fourier::transform (column);
    for (gsize i = 0; i < length; i++)
      made[n + i * inner] = column[i];
  }
  return made;
}
} // namespace

TEST (test_middle_axis_agrees_with_double_precision)
{
  const std::vector<float> numbers = drawn (5 * 77 * 19 * 2);
  check::expect_near (process ("openclfft axes=1", "2:19:77:5", numbers),
      pairs_of (transform_columns (line_of (numbers), 77, 19)), 1e-4, "middle axis");
}

TEST (test_planes_agree_with_double_precision)
{
  const std::vector<float> numbers = drawn (6 * 30 * 64 * 2);
  const Line rows = transform_columns (line_of (numbers), 64, 1);
  check::expect_near (process ("openclfft axes=1,2", "2:64:30:6", numbers),
      pairs_of (transform_columns (rows, 30, 64)), 1e-3, "planes");
}

TEST (test_each_library_agrees_with_double_precision)
{
  const std::vector<float> numbers = drawn (7 * 120);
  Line array (numbers.begin (), numbers.end ());
  for (const char *library : check::fft_libraries ())
    check::expect_near (
        process (std::string ("openclfft fft-library=") + library, "120:7", numbers),
        pairs_of (transform_columns (array, 120, 1)), 1e-4, library);
}

TEST_ROWS (test_inverse_returns_to_the_input,
    {"axes=0", "axes=1", "axes=2", "axes=0,1", "axes=2,0", "axes=1,2"})
{
  const std::vector<float> numbers = drawn (6 * 10 * 14);
  const std::string axes = std::string (row) + " ";
  check::expect_near (
      process ("openclfft half-spectrum=true " + axes
                   + "! openclfft inverse=true half-spectrum=true " + axes,
          "14:10:6", numbers),
      numbers, 1e-5, "half spectrum");
  const std::vector<float> complex = process (
      "openclfft " + axes + "! openclfft inverse=true " + axes, "14:10:6", numbers);
  for (gsize n = 0; n < numbers.size (); n++)
    fail_unless (std::abs (complex[2 * n] - numbers[n]) < 1e-5
                 && std::abs (complex[2 * n + 1]) < 1e-5);
}

TEST (test_a_frame_may_begin_within_its_memory)
{
  const std::vector<float> numbers = drawn (40 * 2);
  const Bytes bytes = bytes_of (numbers);
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, bytes.size (), nullptr);
  gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ());
  gst_buffer_resize (buffer, 80, 160);
  Chain chain ("openclfft", tensors ("float32", "2:20"));
  chain.start ();
  chain.push (buffer);
  const Line line = line_of ({numbers.begin () + 20, numbers.begin () + 60});
  check::expect_near (values_of<float> (chain.pull ().bytes),
      pairs_of (fourier::transform (line)), 1e-5, "frame at byte 80");
}

TEST (test_a_length_that_the_library_refuses_is_an_error)
{
  if (!check::has_clfft ())
    return;
  Chain chain ("openclfft fft-library=clfft", tensors ("float32", "17:2"));
  chain.start ();
  chain.push (Bytes (2 * 17 * 4));
  const Messages messages = messages_on (chain.bus, 20 * GST_SECOND);
  fail_unless_equals_uint64 (messages.errors.size (), 1);
  check::expect_contains (messages.errors[0], {"17 samples"});
}
