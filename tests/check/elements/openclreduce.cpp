/* Tests of openclreduce: results in double precision, layouts, settings and errors
 *
 * tests/check/pipelines/arrays.py compares with NumPy.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"
#include "tests/check/as-gpu.hpp"

#include <functional>
#include <numeric>

using namespace programs;

namespace {
const bool takes_long = check::set_test_timeout (300);

using Shape = std::vector<gsize>;
using Indices = std::vector<gsize>;
using Numbers = std::vector<double>;

gsize
product (const Shape &shape)
{
  return std::accumulate (shape.begin (), shape.end (), gsize (1), std::multiplies<> ());
}

/* Indices of the number at `position`, outermost first */
Indices
indices_of (const Shape &shape, gsize position)
{
  Indices indices (shape.size ());
  for (gsize d = shape.size (); d-- > 0;) {
    indices[d] = position % shape[d];
    position /= shape[d];
  }
  return indices;
}

gsize
position_of (const Shape &shape, const Indices &indices)
{
  gsize position = 0;
  for (gsize d = 0; d < shape.size (); d++)
    position = position * shape[d] + indices[d];
  return position;
}

struct Array {
  Shape shape;
  Numbers numbers;
};

/* All numbers that belong to one result, in C order */
std::vector<Numbers>
groups_of (const Array &array, const std::vector<gsize> &axes)
{
  Shape kept = array.shape;
  for (gsize axis : axes)
    kept[axis] = 1;
  std::vector<Numbers> groups (product (kept));
  for (gsize n = 0; n < array.numbers.size (); n++) {
    Indices indices = indices_of (array.shape, n);
    for (gsize axis : axes)
      indices[axis] = 0;
    groups[position_of (kept, indices)].push_back (array.numbers[n]);
  }
  return groups;
}

using Operation = std::function<double (const Numbers &)>;

double
variance (const Numbers &of)
{
  const double mean = std::accumulate (of.begin (), of.end (), 0.0) / double (of.size ());
  double sum = 0;
  for (double number : of)
    sum += (number - mean) * (number - mean);
  return sum / double (of.size ());
}

const std::map<std::string, Operation> operations = {
    {"sum",
        [] (const Numbers &of) { return std::accumulate (of.begin (), of.end (), 0.0); }},
    {"mean",
        [] (const Numbers &of) {
          return std::accumulate (of.begin (), of.end (), 0.0) / double (of.size ());
        }},
    {"maximum",
        [] (const Numbers &of) { return *std::max_element (of.begin (), of.end ()); }},
    {"minimum",
        [] (const Numbers &of) { return *std::min_element (of.begin (), of.end ()); }},
    {"argmax",
        [] (const Numbers &of) {
          return double (std::max_element (of.begin (), of.end ()) - of.begin ());
        }},
    {"norm",
        [] (const Numbers &of) {
          return std::sqrt (
              std::inner_product (of.begin (), of.end (), of.begin (), 0.0));
        }},
    {"argmin",
        [] (const Numbers &of) {
          return double (std::min_element (of.begin (), of.end ()) - of.begin ());
        }},
    {"variance", variance},
    {"standard-deviation", [] (const Numbers &of) { return std::sqrt (variance (of)); }},
    {"any",
        [] (const Numbers &of) {
          return std::any_of (of.begin (), of.end (), [] (double n) { return n != 0; });
        }},
    {"all",
        [] (const Numbers &of) {
          return std::all_of (of.begin (), of.end (), [] (double n) { return n != 0; });
        }},
};

/* Small integers, of which each type holds the sums exactly */
Array
drawn (const Shape &shape, guint seed)
{
  Array array = {shape, Numbers (product (shape))};
  std::mt19937 random (seed);
  for (double &number : array.numbers)
    number = double (random () % 100);
  return array;
}

template <typename T>
Bytes
bytes_as (const Numbers &numbers)
{
  return bytes_of (std::vector<T> (numbers.begin (), numbers.end ()));
}

template <typename T>
Numbers
numbers_as (const Bytes &bytes)
{
  const std::vector<T> values = values_of<T> (bytes);
  return {values.begin (), values.end ()};
}

std::string
text_of (const std::vector<gsize> &axes)
{
  std::string text;
  for (gsize axis : axes)
    text += (text.empty () ? "" : ",") + std::to_string (axis);
  return text;
}

std::string
element_of (const std::string &operation, const std::vector<gsize> &axes)
{
  return "openclreduce name=k operation=" + operation + " axes=" + text_of (axes);
}

void
check_near (const Numbers &got, const Numbers &expected, const std::string &what,
    double tolerance = 1e-7)
{
  fail_unless (got.size () == expected.size (), "%s: %zu results, expected %zu",
      what.c_str (), got.size (), expected.size ());
  for (gsize n = 0; n < got.size (); n++)
    fail_unless (std::abs (got[n] - expected[n]) <= tolerance * std::abs (expected[n]),
        "%s: result %zu is %.9g, expected %.9g", what.c_str (), n, got[n], expected[n]);
}

/* Results of float32 numbers */
void
check_results (const std::string &operation, const Bytes &got, const Numbers &expected,
    const std::string &what)
{
  const bool is_position = operation.substr (0, 3) == "arg";
  const bool is_truth = operation == "any" || operation == "all";
  const bool is_spread = operation == "variance" || operation == "standard-deviation";
  check_near (is_position ? numbers_as<gint64> (got)
              : is_truth  ? numbers_as<guint8> (got)
                          : numbers_as<float> (got),
      expected, what, is_spread ? 3e-7 : 1e-7);
}

/* Float32 numbers of one shape by one operation */
void
check_floats (
    const std::string &operation, const Shape &shape, const std::vector<gsize> &axes)
{
  const Array array = drawn (shape, guint (product (shape)));
  Chain chain (
      element_of (operation, axes), tensors ("float32", opencl::dimensions_text (shape)));
  const Bytes got = chain.run (bytes_as<float> (array.numbers)).bytes;
  Numbers expected;
  for (const Numbers &group : groups_of (array, axes))
    expected.push_back (operations.at (operation) (group));
  check_results (operation, got, expected,
      operation + " of " + opencl::dimensions_text (shape) + " along " + text_of (axes));
}
} // namespace

/* --- layouts --- */

struct Layout {
  std::string label;
  Shape shape;
  std::vector<gsize> axes;
};

/* Each way to divide the work: between lanes, work-items and work-groups */
TEST_ROWS (test_reductions_agree_with_double_precision,
    std::vector<Layout>{
        {"one number", {1}, {0}},
        {"short line", {13}, {0}},
        {"long line", {40009}, {0}},
        {"rows", {67, 1031}, {1}},
        {"short rows", {1501, 3}, {1}},
        {"few long rows", {3, 40009}, {1}},
        {"columns", {1031, 67}, {0}},
        {"columns in other pages", {401, 1031}, {0}},
        {"few columns", {40013, 3}, {0}},
        {"one of four columns", {401, 4}, {0}},
        {"middle", {5, 401, 7}, {1}},
        {"outside and inside", {301, 7, 211}, {0, 2}},
        {"outside and few inside", {12007, 5, 3}, {0, 2}},
        {"every other", {5, 7, 11, 13}, {0, 2}},
        {"the others", {5, 7, 11, 13}, {1, 3}},
        {"all", {31, 32, 33}, {0, 1, 2}},
    })
{
  /* Each pair of layout and operation is a program, so the operations take turns. */
  gsize turn = row.shape.back () / 2;
  for (const auto &[operation, compute] : operations) {
    if (turn++ % 3 == 0 && (operation.substr (0, 3) != "arg" || row.axes.size () == 1))
      check_floats (operation, row.shape, row.axes);
  }
}

TEST_ROWS (test_cumulative_sums_agree_with_double_precision,
    std::vector<Layout>{
        {"line", {40009}, {0}},
        {"rows", {67, 1031}, {1}},
        {"short rows", {501, 5}, {1}},
        {"columns", {1031, 67}, {0}},
        {"few long columns", {40013, 3}, {0}},
        {"middle", {3, 20011, 5}, {1}},
        {"one number", {1, 1}, {1}},
    })
{
  const Array array = drawn (row.shape, 1);
  const gsize axis = row.axes[0];
  Chain chain (element_of ("cumulative-sum", row.axes),
      tensors ("float32", opencl::dimensions_text (row.shape)));
  const Bytes got = chain.run (bytes_as<float> (array.numbers)).bytes;
  Numbers expected = array.numbers;
  for (gsize n = 0; n < expected.size (); n++) {
    Indices before = indices_of (row.shape, n);
    if (before[axis]-- > 0)
      expected[n] += expected[position_of (row.shape, before)];
  }
  check_near (numbers_as<float> (got), expected, row.label);
}

TEST (test_products_of_many_numbers)
{
  Numbers numbers (40009 * 3, 1);
  for (gsize n = 0; n < 40; n++)
    numbers[n * 3001] = n % 2 ? -2 : 0.25 * (1 + double (n % 3));
  double product = 1;
  for (double number : numbers)
    product *= number;
  Chain chain ("openclreduce operation=product", tensors ("float32", "3:40009"));
  check_near (numbers_as<float> (chain.run (bytes_as<float> (numbers)).bytes), {product},
      "product");
}

TEST (test_variance_of_numbers_far_from_zero)
{
  /* In float32 their mean is rounded to a multiple of 1/16. */
  Numbers numbers (10000);
  for (gsize n = 0; n < numbers.size (); n++)
    numbers[n] = 1e6 + 0.0625 * double (n % 7);
  Chain chain ("openclreduce operation=variance ddof=1", tensors ("float32", "10000"));
  check_near (numbers_as<float> (chain.run (bytes_as<float> (numbers)).bytes),
      {variance (numbers) * 10000 / 9999}, "variance");
}

/* --- elements in order --- */

/* Each way to divide the work: selection, runs, and merges of whole and of parts of runs */
TEST_ROWS (test_elements_in_order_are_those_of_a_stable_sort,
    std::vector<Layout>{
        {"one number", {1}, {0}},
        {"less than a run", {3, 13}, {1}},
        {"long line", {40009}, {0}},
        {"columns", {1031, 67}, {0}},
        {"many rows", {301, 129}, {1}},
        {"middle", {5, 401, 7}, {1}},
    })
{
  const Array array = drawn (row.shape, 5);
  const std::string caps = tensors ("float32", opencl::dimensions_text (row.shape));
  for (const bool few : {false, true}) {
    std::vector<Numbers> groups = groups_of (array, row.axes);
    Shape kept = row.shape, made = row.shape;
    gsize &count = made[row.axes[0]];
    kept[row.axes[0]] = 1;
    count = few ? std::min (count, gsize (9)) : count;
    Numbers expected (product (made));
    for (gsize n = 0; n < groups.size (); n++) {
      std::vector<gsize> order (groups[n].size ());
      std::iota (order.begin (), order.end (), 0);
      std::stable_sort (order.begin (), order.end (), [&] (gsize a, gsize b) {
        return few ? groups[n][a] > groups[n][b] : groups[n][a] < groups[n][b];
      });
      Indices indices = indices_of (kept, n);
      for (gsize &at = indices[row.axes[0]]; at < count; at++)
        expected[position_of (made, indices)] = double (order[at]);
    }
    Chain chain (element_of ("argsort", row.axes)
                     + (few ? " descending=true count=9" : " descending=false"),
        caps);
    const Bytes got = chain.run (bytes_as<float> (array.numbers)).bytes;
    check_near (numbers_as<gint64> (got), expected, row.label, 0);
  }
}

TEST (test_medians_and_histograms_of_columns)
{
  const Array array = drawn ({1031, 5}, 6);
  Numbers medians, counts;
  for (Numbers &group : groups_of (array, {0})) {
    std::sort (group.begin (), group.end ());
    medians.push_back (group[515]);
    for (double edge = 0; edge < 100; edge += 5)
      counts.push_back (double (std::count_if (group.begin (), group.end (),
          [edge] (double number) { return number >= edge && number < edge + 5; })));
  }
  Chain chain (element_of ("median", {0}), tensors ("float32", "5:1031"));
  const Bytes frame = bytes_as<float> (array.numbers);
  check_near (numbers_as<float> (chain.run (frame).bytes), medians, "median");
  Chain bins (element_of ("histogram", {0}) + " bins=20 range=<0,100>",
      tensors ("float32", "5:1031"));
  check_near (numbers_as<gint64> (bins.run (frame).bytes), counts, "histogram", 0);
}

/* --- types --- */

TEST (test_integers_have_wide_sums)
{
  const Numbers numbers (100000, 200);
  Chain bytes ("openclreduce", tensors ("uint8", "100000"));
  Output output = bytes.run (bytes_as<guint8> (numbers));
  check::expect_contains (
      output.caps + ",", {"types=(string)uint64", "dimensions=(string)1,"});
  fail_unless_equals_uint64 (values_of<guint64> (output.bytes)[0], 20000000);
  Chain means ("openclreduce operation=mean", tensors ("int16", "100000"));
  output = means.run (bytes_as<gint16> (numbers));
  check::expect_contains (output.caps, {"types=(string)float32"});
  fail_unless_equals_float (values_of<float> (output.bytes)[0], 200);
}

TEST (test_rounding_does_not_add_up)
{
  /* All errors of a plain sum have the same sign. */
  const std::vector<float> tenths (1 << 20, 1.1f);
  Chain chain ("openclreduce", tensors ("float32", "1048576"));
  const float sum = values_of<float> (chain.run (bytes_of (tenths)).bytes)[0];
  fail_unless_equals_float (sum, float (double (1.1f) * (1 << 20)));
  Chain running ("openclreduce operation=cumulative-sum", tensors ("float32", "1048576"));
  const std::vector<float> sums =
      values_of<float> (running.run (bytes_of (tenths)).bytes);
  for (gsize n = 0; n < sums.size (); n++)
    fail_unless (
        sums[n] == float (double (1.1f) * double (n + 1)), "sum %zu is %.9g", n, sums[n]);
}

TEST (test_infinite_and_nan_numbers_reach_their_results_only)
{
  std::vector<float> numbers (3 * 1000, 1);
  numbers[700] = INFINITY;
  numbers[1700] = NAN;
  for (const char *operation : {"sum", "mean", "maximum", "norm"}) {
    Chain chain (element_of (operation, {1}), tensors ("float32", "1000:3"));
    const std::vector<float> got =
        values_of<float> (chain.run (bytes_of (numbers)).bytes);
    fail_unless (std::isinf (got[0]) && std::isnan (got[1]) && std::isfinite (got[2]),
        "%s: %g, %g, %g", operation, got[0], got[1], got[2]);
  }
  Chain chain (element_of ("argmax", {1}), tensors ("float32", "1000:3"));
  fail_unless (values_of<gint64> (chain.run (bytes_of (numbers)).bytes)
               == std::vector<gint64> ({700, 700, 0}));
}

/* --- frames --- */

TEST (test_rows_of_video_may_have_padding)
{
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, 37 + 80 * 9, nullptr);
  gsize offsets[] = {37, 0, 0, 0};
  gint strides[] = {80, 0, 0, 0};
  gst_buffer_memset (buffer, 0, 255, 37 + 80 * 9);
  for (gsize y = 0; y < 9; y++)
    gst_buffer_memset (buffer, 37 + y * 80, guint8 (y), 52);
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 52, 9, 1, offsets, strides);
  Chain chain ("openclreduce axes=1 operation=maximum", video ("GRAY8", 52, 9));
  chain.start ();
  chain.push (buffer);
  fail_unless (chain.pull ().bytes == Bytes ({0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST (test_a_frame_may_begin_within_its_memory)
{
  std::vector<float> numbers (40, 100);
  std::fill (numbers.begin () + 10, numbers.begin () + 30, 2.f);
  const Bytes bytes = bytes_of (numbers);
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, bytes.size (), nullptr);
  gst_buffer_fill (buffer, 0, bytes.data (), bytes.size ());
  gst_buffer_resize (buffer, 40, 80);
  Chain chain ("openclreduce", tensors ("float32", "20"));
  chain.start ();
  chain.push (buffer);
  fail_unless_equals_float (values_of<float> (chain.pull ().bytes)[0], 40);
}

/* --- settings --- */
