/* Tests of random.clh, the random numbers for user kernels
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"

#ifdef HAVE_RANDOM123
#include <Random123/philox.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>

using namespace programs;

namespace {
const gsize millions = 10 * 1000 * 1000;

/* Returns an array that a kernel makes with `call`, an expression of the index n; four
 * floats or two doubles each. */
template <typename T>
std::vector<T>
drawn (const char *type, const char *element, const std::string &call, gsize count)
{
  const gsize lanes = 16 / sizeof (T);
  Chain chain (
      std::string ("openclkernelsrc num-buffers=1 source=\"#include <random.clh>\n"
                   "kernel void draw (global ")
      + element + " *output) { const ulong n = get_global_id (0); output[n] = " + call
      + "; }\" global-size=" + std::to_string (count / lanes)
      + " output-caps=other/tensors,types=" + type + ",dimensions=(string)"
      + std::to_string (count));
  chain.start ();
  return values_of<T> (chain.pull ().bytes);
}

using Words = std::array<guint32, 4>;

struct Known {
  Words counter;
  std::array<guint32, 2> key;
  Words words;
};

/* Values from the authors' own code */
const Known known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

std::string
list (std::initializer_list<guint32> words)
{
  std::string text;
  for (guint32 word : words)
    text += (text.empty () ? "" : ", ") + std::to_string (word) + "u";
  return text;
}

/* Statistics of a distribution's numbers */
struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

template <typename T>
Moments
moments_of (const std::vector<T> &values)
{
  Moments m;
  const double n = double (values.size ());
  for (double value : values)
    m.mean += value / n;
  for (double value : values) {
    const double d = value - m.mean;
    m.variance += d * d / n;
    m.skewness += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
  }
  m.skewness /= pow (m.variance, 1.5);
  m.kurtosis /= m.variance * m.variance;
  return m;
}

/* Kolmogorov-Smirnov distance from `distribution`, times the root of the number of
 * values. It exceeds 1.95 in one of a thousand sets. */
template <typename T, typename Distribution>
double
kolmogorov_smirnov (std::vector<T> values, Distribution distribution)
{
  const double n = double (values.size ());
  double largest = 0;
  std::sort (values.begin (), values.end ());
  for (gsize i = 0; i < values.size (); i++) {
    const double p = distribution (double (values[i]));
    largest = std::max ({largest, p - double (i) / n, double (i + 1) / n - p});
  }
  return largest * sqrt (n);
}

double
normal_distribution (double x)
{
  return 0.5 * erfc (-x / sqrt (2));
}

template <typename T>
void
assert_normal (const std::vector<T> &values)
{
  const double n = double (values.size ());
  const Moments m = moments_of (values);
  fail_unless (fabs (m.mean) < 4 / sqrt (n), "mean %g", m.mean);
  fail_unless (fabs (m.variance - 1) < 4 * sqrt (2 / n), "variance %g", m.variance);
  fail_unless (fabs (m.skewness) < 4 * sqrt (6 / n), "skewness %g", m.skewness);
  fail_unless (fabs (m.kurtosis - 3) < 4 * sqrt (24 / n), "kurtosis %g", m.kurtosis);
  const double distance = kolmogorov_smirnov (values, normal_distribution);
  fail_unless (distance < 1.95, "Kolmogorov-Smirnov %g", distance);
}

/* FNV-1a hash of the bits */
template <typename T>
guint64
hash_of (const std::vector<T> &values)
{
  guint64 hash = 0xcbf29ce484222325;
  for (guint8 byte : bytes_of (values))
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}
} // namespace

TEST (test_words_are_those_of_the_paper)
{
  for (const Known &row : known) {
    const auto made = drawn<guint32> ("uint32", "uint4",
        "philox4x32 ((uint4) ("
            + list ({row.counter[0], row.counter[1], row.counter[2], row.counter[3]})
            + "), (uint2) (" + list ({row.key[0], row.key[1]}) + "))",
        4);
    fail_unless (std::equal (made.begin (), made.end (), row.words.begin ()));
  }
}

#ifdef HAVE_RANDOM123
TEST (test_words_are_those_of_random123)
{
  const guint64 seed = 0x123456789abcdef0, base = 0xfffffff0, draw = 0x1000000002;
  const auto made = drawn<guint32> ("uint32", "uint4",
      "random_words (" + std::to_string (seed) + "UL, n + " + std::to_string (base)
          + "UL, " + std::to_string (draw) + "UL)",
      40000);
  for (gsize n = 0; n < 10000; n++) {
    const guint64 index = base + n;
    const philox4x32_ctr_t counter = {
        {guint32 (index), guint32 (index >> 32), guint32 (draw), guint32 (draw >> 32)}};
    const philox4x32_key_t key = {{guint32 (seed), guint32 (seed >> 32)}};
    const philox4x32_ctr_t words = philox4x32 (counter, key);
    fail_unless (std::equal (words.v, words.v + 4, made.begin () + 4 * n), "%d", int (n));
  }
}
#endif

TEST (test_uniform_numbers_are_even_from_0_to_1)
{
  const auto values =
      drawn<float> ("float32", "float4", "random_uniform4 (7, n, 0)", millions);
  const Moments m = moments_of (values);
  fail_unless (*std::min_element (values.begin (), values.end ()) >= 0);
  fail_unless (*std::max_element (values.begin (), values.end ()) < 1);
  fail_unless (fabs (m.mean - 0.5) < 4 / sqrt (12.0 * millions), "%g", m.mean);
  fail_unless (fabs (m.variance * 12 - 1) < 4 * sqrt (0.8 / millions), "%g", m.variance);
  const double distance = kolmogorov_smirnov (values, [] (double x) { return x; });
  fail_unless (distance < 1.95, "Kolmogorov-Smirnov %g", distance);
}

TEST (test_normal_numbers_are_normal)
{
  assert_normal (
      drawn<float> ("float32", "float4", "random_normal4 (3, n, 0)", millions));
}

TEST (test_normal_numbers_of_double_precision_are_normal)
{
  assert_normal (drawn<double> (
      "float64", "double2", "random_normal_double2 (5, n, 1)", millions / 5));
}

/* Box-Muller transform of the same words in double precision */
TEST (test_normal_numbers_are_those_of_box_and_muller)
{
  const gsize count = 400000;
  const auto words = drawn<guint32> ("uint32", "uint4", "random_words (9, n, 4)", count);
  const auto values =
      drawn<float> ("float32", "float4", "random_normal4 (9, n, 4)", count);
  const auto wide =
      drawn<double> ("float64", "double2", "random_normal_double2 (9, n, 4)", count / 2);
  for (gsize n = 0; n < count; n += 4) {
    for (gsize pair = 0; pair < 2; pair++) {
      const double even = double ((words[n + 2 * pair] >> 9) + 0.5) / (1 << 23);
      const double angle = G_PI * double (words[n + 2 * pair + 1] >> 8) / (1 << 23);
      const double radius = sqrt (-2 * log (even));
      fail_unless (fabs (values[n + 2 * pair] - radius * cos (angle)) < 4e-6);
      fail_unless (fabs (values[n + 2 * pair + 1] - radius * sin (angle)) < 4e-6);
    }
    const guint64 first = guint64 (words[n]) << 32 | words[n + 1];
    const guint64 second = guint64 (words[n + 2]) << 32 | words[n + 3];
    const double radius = sqrt (-2 * log (ldexp (double (first >> 11) + 0.5, -53)));
    const double angle = G_PI * ldexp (double (second >> 11), -52);
    fail_unless (fabs (wide[n / 2] - radius * cos (angle)) < 1e-13);
    fail_unless (fabs (wide[n / 2 + 1] - radius * sin (angle)) < 1e-13);
  }
}

/* The expected values were computed on one device; all devices must agree. */
TEST (test_numbers_are_the_same_on_every_device)
{
  struct Row {
    guint64 hash, expected;
  };
  const gsize count = 1 << 20;
  const Row rows[] = {
      {hash_of (drawn<guint32> ("uint32", "uint4", "random_words (1, n, 2)", count)),
          0xc1cc06a75314f2d8},
      {hash_of (drawn<float> ("float32", "float4", "random_uniform4 (1, n, 2)", count)),
          0xa79bfbcdcf9bedaa},
      {hash_of (drawn<float> ("float32", "float4", "random_normal4 (1, n, 2)", count)),
          0x2fb6bd891d971c00},
      {hash_of (drawn<double> (
           "float64", "double2", "random_uniform_double2 (1, n, 2)", count)),
          0xee73f655f658f3d4},
      {hash_of (drawn<double> (
           "float64", "double2", "random_normal_double2 (1, n, 2)", count)),
          0x290d612fb0546982},
  };
  for (const Row &row : rows) {
    if (row.hash != row.expected)
      g_printerr ("row %d: 0x%016" G_GINT64_MODIFIER "x\n", int (&row - rows), row.hash);
  }
  for (const Row &row : rows)
    fail_unless (row.hash == row.expected);
}
