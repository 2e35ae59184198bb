/* Tests of openclconvolve
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvereference.hpp"

#include <gst/opencl/gstopenclcontext.h>
#include "programs.hpp"
#include "tests/check/device-kind.hpp"
#include "tests/check/one-context.hpp"
#include "tests/check/opencl-counting.hpp"

#include <glib/gstdio.h>
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>

using namespace programs;
using opencl::NumberType;
using reference::Case;

namespace {
const bool takes_long = check::set_test_timeout (300);

/* Random numbers between -1 and 1 */
class Random {
public:
  explicit Random (guint seed) : state (seed * 2654435761u + 977) {}

  guint next ()
  {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  }
  int between (int least, int most) { return least + int (next () % (most - least + 1)); }
  template <typename T> T one_of (const std::vector<T> &values)
  {
    return values[next () % values.size ()];
  }
  std::vector<float> floats (gsize count)
  {
    std::vector<float> values (count);
    for (float &value : values)
      value = float (next ()) / (1 << 23) - 1;
    return values;
  }

private:
  guint32 state;
};

std::vector<double>
doubles (const std::vector<float> &values)
{
  return {values.begin (), values.end ()};
}

std::string
text_of (const Case &of)
{
  gchar *text = g_strdup_printf ("%d images of %d x %dx%d, %d filters of %dx%d in %d "
                                 "groups, stride %d, dilation %d, padding %d, border %s, "
                                 "%s, %s",
      of.images, of.channels, of.height, of.width, of.filters, of.lines, of.columns,
      of.groups, of.stride, of.dilation, of.padding, of.border.c_str (),
      of.activation.c_str (), of.nchw ? "nchw" : "nhwc");
  std::string copy = text;
  g_free (text);
  return copy;
}

std::string
dimensions_of (const Case &of)
{
  return opencl::dimensions_text (
      of.nchw ? std::vector<gsize>{gsize (of.images), gsize (of.channels),
          gsize (of.height), gsize (of.width)}
              : std::vector<gsize>{gsize (of.images), gsize (of.height), gsize (of.width),
                  gsize (of.channels)});
}

std::string
element_of (const Case &of, const std::string &method)
{
  return "openclconvolve name=k method=" + method + " stride="
         + std::to_string (of.stride) + " dilation=" + std::to_string (of.dilation)
         + " padding=" + std::to_string (of.padding)
         + " groups=" + std::to_string (of.groups) + " border=" + of.border
         + " activation=" + of.activation + " layout=" + (of.nchw ? "nchw" : "nhwc");
}

/* Relative to the largest number */
void
assert_near (const std::vector<double> &got, const std::vector<double> &expected,
    double tolerance, const std::string &what)
{
  fail_unless (got.size () == expected.size (), "%s: %d numbers, expected %d",
      what.c_str (), int (got.size ()), int (expected.size ()));
  double largest = 1e-30;
  for (double value : expected)
    largest = std::max (largest, fabs (value));
  for (gsize n = 0; n < got.size (); n++) {
    if (!(fabs (got[n] - expected[n]) <= tolerance * largest))
      ck_abort_msg ("%s: number %d is %.9g, expected %.9g of at most %g", what.c_str (),
          int (n), got[n], expected[n], largest);
  }
}

struct Layer {
  std::vector<float> input, kernel, bias;
};

Layer
random_layer (const Case &of, guint seed)
{
  Random random (seed);
  return {random.floats (gsize (of.images) * of.channels * of.height * of.width),
      random.floats (gsize (of.filters) * of.of_group () * of.lines * of.columns),
      random.floats (gsize (of.filters))};
}

/* Compares `of` by `method` in float32 with double precision. */
void
check_layer (const Case &of, const Layer &layer, const std::string &method,
    double tolerance, const std::string &more = "")
{
  Folder folder;
  const std::string kernel = save<float> (folder, "kernel.npy", NumberType::f32,
      {gsize (of.filters), gsize (of.of_group ()), gsize (of.lines), gsize (of.columns)},
      layer.kernel);
  const std::string bias =
      save<float> (folder, "bias.npy", NumberType::f32, {gsize (of.filters)}, layer.bias);
  Chain chain (element_of (of, method) + " kernel-layout=oihw kernel=" + kernel
                   + " bias=" + bias + " " + more,
      tensors ("float32", dimensions_of (of)));
  const Output output = chain.run (bytes_of (layer.input));
  assert_near (doubles (values_of<float> (output.bytes)),
      reference::convolve (
          of, doubles (layer.input), doubles (layer.kernel), doubles (layer.bias)),
      tolerance, method + ": " + text_of (of));
}

/* Limits of random test cases, within those of a method */
struct Limits {
  int most_taps = 31;
  std::vector<int> strides = {1, 2, 3}, dilations = {1, 2};
  std::vector<int> groups = {1, 1, 2, 4};
  bool depthwise = false;
};

Case
drawn (Random &random, const Limits &limits)
{
  Case of;
  of.nchw = random.between (0, 1);
  of.images = random.between (1, 2);
  of.groups = random.one_of (limits.groups);
  of.channels = of.groups * random.one_of<int> ({1, 2, 3, 4, 7});
  of.filters = of.groups * random.one_of<int> ({1, 2, 5, 8, 16, 33});
  if (limits.depthwise || random.between (0, 3) == 0)
    of.filters = of.groups = of.channels;
  of.lines = random.one_of<int> ({1, 2, 3, 3, 5, 7});
  of.columns = random.one_of<int> ({1, 2, 3, 3, 4, 7});
  of.stride = random.one_of (limits.strides);
  of.dilation = random.one_of (limits.dilations);
  of.padding = random.between (-1, 3);
  of.border = random.one_of<std::string> ({"zero", "clamp", "mirror", "wrap"});
  of.activation = random.one_of<std::string> (
      {"none", "none", "relu", "relu6", "hardswish", "sigmoid", "silu"});
  of.height = random.between (of.seen (of.lines), of.seen (of.lines) + 29);
  of.width = random.between (of.seen (of.columns), of.seen (of.columns) + 45);
  return of;
}

void
check_drawn (
    const std::string &method, int cases, double tolerance, const Limits &limits = {})
{
  Random random (guint (method.size ()) * 31 + method[0]);
  for (int n = 0; n < cases; n++) {
    const Case of = drawn (random, limits);
    check_layer (of, random_layer (of, guint (n)), method, tolerance);
  }
}

/* One channel and one filter */
Case
plane (int height, int width, int lines, int columns)
{
  Case of;
  of.height = height;
  of.width = width;
  of.lines = lines;
  of.columns = columns;
  return of;
}
} // namespace

/* --- methods --- */

TEST (test_direct_agrees_with_double_precision)
{
  check_drawn ("direct", 40, 1e-5);
}

TEST (test_fft_agrees_with_double_precision)
{
  check_drawn ("fft", 14, 1e-5);
  Case of = plane (45, 61, 31, 31);
  of.border = "wrap";
  check_layer (of, random_layer (of, 3), "fft", 1e-5);
}

TEST (test_winograd_agrees_with_double_precision)
{
  Random random (9);
  for (int n = 0; n < 20; n++) {
    Case of = drawn (random, {});
    of.lines = of.columns = 3;
    of.stride = of.dilation = of.groups = 1;
    of.filters = random.one_of<int> ({1, 5, 16, 33});
    check_layer (of, random_layer (of, guint (n)), "winograd", 1e-4);
  }
  Case of = plane (13, 17, 3, 3);
  of.channels = of.filters = 64;
  check_layer (of, random_layer (of, 4), "winograd", 1e-4);
}

TEST (test_separable_agrees_with_double_precision)
{
  Random random (10);
  for (int n = 0; n < 25; n++) {
    Case of = drawn (random, {});
    of.groups = of.channels;
    of.filters = of.channels * random.between (1, 2);
    if (n == 0)
      of.lines = of.columns = 31;
    of.height += of.seen (of.lines), of.width += of.seen (of.columns);
    Layer layer = random_layer (of, guint (n));
    const std::vector<float> factors = random.floats (gsize (of.lines) + of.columns);
    for (int f = 0; f < of.filters; f++)
      for (int y = 0; y < of.lines; y++)
        for (int x = 0; x < of.columns; x++)
          layer.kernel[(f * of.lines + y) * of.columns + x] =
              factors[(y + f) % of.lines] * factors[of.lines + x];
    check_layer (of, layer, "separable", 1e-5);
  }
}

/* Uses the kernels for GPUs on any device. */
TEST (test_groups_of_work_items_agree_with_double_precision)
{
  check::set_debug_switch ("convolve-groups", "1");
  check_drawn ("direct", 12, 1e-5);
  Case of = plane (19, 37, 3, 3);
  of.channels = 24;
  of.filters = 136;
  for (const char *method : {"direct", "winograd", "fft"})
    check_layer (of, random_layer (of, 8), method, 2e-5);
  of = plane (5, 7, 3, 3); /* few and deep: several groups share a sum */
  of.channels = 144;
  of.filters = 26;
  of.groups = 2;
  of.activation = "relu6";
  check_layer (of, random_layer (of, 8), "direct", 2e-5);
  check_drawn ("fft", 4, 1e-5);
}

/* Depthwise convolution with a lane for each channel; by single work-items and by
 * work-groups */
TEST_ROWS (test_channels_by_themselves_agree_with_double_precision, {"0", "1"})
{
  check::set_debug_switch ("convolve-groups", row);
  Random random (11);
  for (int n = 0; n < 14; n++) {
    Limits limits;
    limits.depthwise = true;
    limits.groups = {4, 5, 8, 16, 21, 35};
    Case of = drawn (random, limits);
    of.nchw = false;
    if (n == 0)
      of.lines = 31, of.columns = 15;
    of.height += of.seen (of.lines), of.width += of.seen (of.columns);
    check_layer (of, random_layer (of, guint (n)), "direct", 1e-5);
  }
}

TEST (test_direct_takes_kernels_of_every_size_to_31)
{
  const int sizes[][2] = {{1, 1}, {1, 31}, {31, 1}, {9, 8}, {11, 11}, {15, 16}, {31, 31}};
  for (const auto &size : sizes) {
    Case of = plane (45, 61, size[0], size[1]);
    of.border = "mirror";
    check_layer (of, random_layer (of, 3), "direct", 1e-5);
  }
}

/* Small and large cases, for any choice of method */
TEST (test_auto_agrees_with_double_precision)
{
  check_drawn ("auto", 10, 1e-4);
  Case of = plane (67, 70, 61, 59);
  of.border = "clamp";
  check_layer (of, random_layer (of, 6), "auto", 1e-5);
  of = plane (21, 20, 3, 3);
  of.channels = of.filters = 32;
  check_layer (of, random_layer (of, 7), "auto", 1e-4);
  of.channels = of.filters = of.groups = 6;
  of.lines = of.columns = 5;
  Layer layer = random_layer (of, 8);
  for (gsize n = 0; n < layer.kernel.size (); n++)
    layer.kernel[n] = float (n / 5 % 5 + 1) * float (n % 5 + 1);
  check_layer (of, layer, "auto", 1e-5);
}

static void
keep_message (GstDebugCategory *, GstDebugLevel, const gchar *, const gchar *, gint,
    GObject *, GstDebugMessage *message, gpointer kept)
{
  static_cast<std::vector<std::string> *> (kept)->push_back (
      gst_debug_message_get (message));
}

/* One line for each chosen method, with GST_DEBUG=openclconvolve:4 */
TEST (test_auto_logs_the_chosen_method)
{
  static std::vector<std::string> logged;
  gst_debug_add_log_function (keep_message, &logged, nullptr);
  gst_debug_set_threshold_for_name ("openclconvolve", GST_LEVEL_INFO);
  Case of = plane (21, 20, 3, 3);
  of.channels = of.filters = 32;
  for (const char *method : {"auto", "direct"})
    check_layer (of, random_layer (of, 7), method, 1e-4);
  of.filters = of.groups = of.channels;
  check_layer (of, random_layer (of, 7), "auto", 1e-4);
  gst_debug_remove_log_function (keep_message);
  const std::vector<std::string> expected = {"method=auto uses winograd",
      "method=direct uses direct", "method=auto uses direct"};
  std::vector<std::string> methods;
  for (const std::string &line : logged)
    if (line.rfind ("method=", 0) == 0)
      methods.push_back (line);
  fail_unless (methods == expected, "%d lines", int (methods.size ()));
}

/* Building the plan of an FFT takes long. */
TEST (test_what_is_made_is_made_once)
{
  static std::vector<std::string> logged;
  gst_debug_add_log_function (keep_message, &logged, nullptr);
  gst_debug_set_threshold_for_name ("openclconvolve", GST_LEVEL_INFO);
  Chain chain (
      "openclconvolve name=k kernel=<<1,2,1>> method=fft", tensors ("float32", "8:6"));
  const Bytes input = bytes_of (std::vector<float> (48, 1));
  auto made = [] {
    const gsize lines = gsize (std::count_if (logged.begin (), logged.end (),
        [] (const std::string &line) { return line.rfind ("method=", 0) == 0; }));
    logged.clear ();
    return int (lines);
  };
  chain.run (input);
  fail_unless_equals_int (made (), 1);
  g_object_set (chain.element (), "padding", 1, nullptr);
  fail_unless_equals_uint64 (chain.run (input).bytes.size (), 8 * 8 * sizeof (float));
  fail_unless_equals_int (made (), 1);
  g_object_set (chain.element (), "kernel", "<<1,2,1>>", nullptr);
  chain.run (input);
  fail_unless_equals_int (made (), 0);
  gst_debug_remove_log_function (keep_message);
}

TEST (test_direct_takes_64_filters_of_64_channels)
{
  Case of = plane (13, 17, 3, 3);
  of.channels = of.filters = 64;
  check_layer (of, random_layer (of, 4), "direct", 1e-5);
}

/* --- arrays --- */

/* The same layer with other layouts of kernel and input */
TEST (test_kernels_are_taken_in_either_layout)
{
  Case of = plane (9, 12, 3, 2);
  of.channels = 3;
  of.filters = 5;
  const Layer layer = random_layer (of, 5);
  const std::vector<double> expected = reference::convolve (
      of, doubles (layer.input), doubles (layer.kernel), std::vector<double> (5));
  std::vector<float> turned (layer.kernel.size ());
  for (int f = 0; f < 5; f++)
    for (int c = 0; c < 3; c++)
      for (int tap = 0; tap < 6; tap++)
        turned[(tap * 3 + c) * 5 + f] = layer.kernel[(f * 3 + c) * 6 + tap];
  Folder folder;
  const std::string oihw =
      save<float> (folder, "a.npy", NumberType::f32, {5, 3, 3, 2}, layer.kernel);
  const std::string hwio =
      save<float> (folder, "b.npy", NumberType::f32, {3, 2, 3, 5}, turned);
  for (const std::string &kernel : {oihw, hwio, hwio + " kernel-layout=hwio"}) {
    Chain chain (element_of (of, "direct") + " kernel=" + kernel,
        tensors ("float32", dimensions_of (of)));
    const Output output = chain.run (bytes_of (layer.input));
    assert_near (doubles (values_of<float> (output.bytes)), expected, 1e-5, kernel);
    fail_unless (strstr (output.caps.c_str (), "5:12:9"), "%s", output.caps.c_str ());
  }
}

TEST (test_a_kernel_of_two_axes_is_every_channels)
{
  Case of = plane (8, 21, 3, 3);
  of.channels = of.filters = of.groups = 3;
  Layer layer = random_layer (of, 6);
  for (int n = 0; n < 27; n++)
    layer.kernel[n] = float (n % 9) / 4 - 1;
  const std::string text = "<<-1,-0.75,-1/2>,<-1/4,0,0.25>,<0.5,3/4,1>>";
  Chain chain (
      "openclconvolve kernel=\"" + text + "\" bias=0.125", tensors ("float32", "3:21:8"));
  const Output output = chain.run (bytes_of (layer.input));
  assert_near (doubles (values_of<float> (output.bytes)),
      reference::convolve (of, doubles (layer.input), doubles (layer.kernel),
          std::vector<double> (3, 0.125)),
      1e-5, "of two axes");
  fail_unless (strstr (output.caps.c_str (), "3:21:8"), "%s", output.caps.c_str ());
}

/* One channel, and six independent channels */
template <typename T, typename Made>
static void
check_type (const std::string &type, const std::string &made, int channels = 1)
{
  const std::vector<T> input =
      filled<T> (7 * 9 * channels, [] (gsize n) { return T (n * 37 % 120); });
  Case of = plane (7, 9, 3, 3);
  of.channels = of.filters = of.groups = channels;
  std::vector<double> kernel;
  for (int n = 0; n < channels; n++)
    kernel.insert (kernel.end (), {1, 2, 1, 0, 3, 0, -1, -2, 0.5});
  const std::string dimensions =
      channels > 1 ? std::to_string (channels) + ":9:7" : "9:7";
  Chain chain ("openclconvolve kernel=\"<<1,2,1>,<0,3,0>,<-1,-2,0.5>>\"",
      tensors (type, dimensions));
  const Output output = chain.run (bytes_of (input));
  fail_unless (strstr (output.caps.c_str (), made.c_str ()), "%s", output.caps.c_str ());
  const std::vector<Made> got = values_of<Made> (output.bytes);
  assert_near ({got.begin (), got.end ()},
      reference::convolve (
          of, {input.begin (), input.end ()}, kernel, std::vector<double> (channels)),
      1e-5, type);
  if (channels == 1)
    check_type<T, Made> (type, made, 6);
}

TEST (test_numbers_of_other_types_are_convolved_as_real_ones)
{
  check_type<guint8, float> ("uint8", "float32");
  check_type<gint8, float> ("int8", "float32");
  check_type<guint16, float> ("uint16", "float32");
  check_type<gint16, float> ("int16", "float32");
  check_type<double, double> ("float64", "float64");
}

/* The test above covers all caps of the pad templates. */
TEST (test_pads_take_and_make_the_types_that_are_convolved)
{
  const std::pair<const char *, const char *> promised[] = {
      {"sink", "{ float32, float64, float16, uint8, int8, uint16, int16 }"},
      {"src", "{ float32, float64, float16 }"}};
  GstElement *element = check::launch ("openclconvolve");
  for (const auto &pad : promised) {
    GstCaps *caps =
        gst_pad_template_get_caps (gst_element_get_pad_template (element, pad.first));
    GValue types = G_VALUE_INIT;
    g_value_init (&types, GST_TYPE_LIST);
    fail_unless (gst_value_deserialize (&types, pad.second));
    fail_unless_equals_int (
        gst_value_compare (
            gst_structure_get_value (gst_caps_get_structure (caps, 1), "types"), &types),
        GST_VALUE_EQUAL);
    g_value_unset (&types);
    gst_caps_unref (caps);
  }
  gst_object_unref (element);
}

/* --- float64 --- */

using Doubles = std::vector<double>;

/* 1 + n · 1e-12, which is 1 in float32 */
static Doubles
near_one (gsize count, guint seed)
{
  Random random (seed);
  return filled<double> (
      count, [&] (gsize) { return 1 + random.between (-1000, 1000) * 1e-12; });
}

static std::vector<long double>
long_doubles (const Doubles &values)
{
  return {values.begin (), values.end ()};
}

/* Compared in 64 bits of mantissa. A double sum of n products has an error below n times
 * 2^-52 of the sum of their magnitudes. */
static void
check_float64 (const Case &of, guint seed, const std::string &more)
{
  const Doubles input =
      near_one (gsize (of.images) * of.channels * of.height * of.width, seed);
  Doubles kernel =
      near_one (gsize (of.filters) * of.of_group () * of.lines * of.columns, seed + 1);
  Doubles bias = near_one (gsize (of.filters), seed + 2);
  for (gsize n = 0; n < kernel.size (); n += 2)
    kernel[n] = -kernel[n];

  Folder folder;
  const std::string kernel_file = save<double> (folder, "kernel.npy", NumberType::f64,
      {gsize (of.filters), gsize (of.of_group ()), gsize (of.lines), gsize (of.columns)},
      kernel);
  const std::string bias_file =
      save<double> (folder, "bias.npy", NumberType::f64, {gsize (of.filters)}, bias);
  Chain chain (element_of (of, "auto") + " kernel-layout=oihw kernel=" + kernel_file
                   + " bias=" + bias_file + " " + more,
      tensors ("float64", dimensions_of (of)));
  const Doubles got = values_of<double> (chain.run (bytes_of (input)).bytes);
  const std::vector<long double> expected = reference::convolve_in (
      of, long_doubles (input), long_doubles (kernel), long_doubles (bias));
  const int products = of.of_group () * of.lines * of.columns + 1;
  fail_unless_equals_uint64 (got.size (), expected.size ());
  for (gsize n = 0; n < got.size (); n++)
    if (!(fabsl (got[n] - expected[n]) <= products * products * 2.3e-16L))
      ck_abort_msg ("%s: number %d is %.17g, expected %.17g", text_of (of).c_str (),
          int (n), got[n], double (expected[n]));
}

TEST (test_openclconvolve_float64_in_double_precision)
{
  Random random (17);
  for (int n = 0; n < 20; n++)
    check_float64 (drawn (random, {}), guint (n), n % 2 ? "" : "method=direct");
}

/* Numbers in text are parsed as doubles too. */
TEST (test_openclconvolve_float64_kernel_as_text)
{
  Chain chain (
      "openclconvolve kernel=\"<<0.1>>\" bias=\"1e-9\"", tensors ("float64", "2:1"));
  const Doubles got = values_of<double> (chain.run (bytes_of (Doubles{1, 3})).bytes);
  const double rounding = 1.2e-16;
  fail_unless (fabs (got[0] - 0.100000001) < rounding, "%.17g", got[0]);
  fail_unless (fabs (got[1] - 0.300000001) < rounding, "%.17g", got[1]);
}

/* Returns the only error of a chain with a float64 array. */
static std::string
error_of_float64 (const std::string &more)
{
  Chain chain ("openclconvolve kernel=\"<<1>>\" " + more, tensors ("float64", "4:4"));
  chain.start ();
  chain.push (bytes_of (Doubles (16, 1)));
  const Messages messages = messages_on (chain.bus, 20 * GST_SECOND);
  fail_unless_equals_uint64 (messages.errors.size (), 1);
  return messages.errors[0];
}

TEST (test_openclconvolve_float64_with_a_method_in_float)
{
  for (const char *method : {"separable", "winograd", "fft"}) {
    const std::string error = error_of_float64 (std::string ("method=") + method);
    const std::string start = std::string ("method=") + method + " computes in float32";
    fail_unless (g_str_has_prefix (error.c_str (), start.c_str ()), "%s", error.c_str ());
  }
}

TEST (test_openclconvolve_float64_without_double_precision)
{
  const cl_device_fp_config none = 0;
  counting::override_device_info (CL_DEVICE_DOUBLE_FP_CONFIG, &none, sizeof none);
  const std::string error = error_of_float64 ("");
  fail_unless (strstr (error.c_str (), "float64") && strstr (error.c_str (), "float32"),
      "%s", error.c_str ());
  counting::restore_device_info ();
}

/* A float16 is 2^(exponent - 15) · (1 + fraction / 1024). */
static double
number_of_half (guint16 bits)
{
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size =
      exponent ? ldexp (1024 + fraction, exponent - 25) : ldexp (fraction, -24);
  return bits >> 15 ? -size : size;
}

/* For positive numbers that float16 can represent */
static guint16
half_of_number (double number)
{
  int exponent;
  const double fraction = frexp (number, &exponent); /* 0.5 … 1 */
  return number == 0 ? 0 : guint16 ((exponent + 14) << 10 | int (fraction * 2048 - 1024));
}

static std::vector<double>
magnitudes (std::vector<double> numbers)
{
  for (double &number : numbers)
    number = fabs (number);
  return numbers;
}

/* Does method=auto take the kernel of tensor cores, which rounds weights to 16 bits? A CPU does
 * with the switch convolve-groups only. */
static bool
may_round_weights (const Case &of)
{
  cl_device_type type = 0;
  clGetDeviceInfo (gst_opencl_context_get_device (check::held_context), CL_DEVICE_TYPE,
      sizeof type, &type, nullptr);
  return of.groups == 1
         && (type != CL_DEVICE_TYPE_CPU
             || check::debug_switch ("convolve-groups") == "1");
}

/* Output is rounded once, when it is written: to half of the last bit. */
static void
check_halves (const Case &of, const std::string &method)
{
  Layer layer = random_layer (of, 12);
  std::vector<guint16> input (layer.input.size ());
  for (gsize n = 0; n < input.size (); n++) {
    layer.input[n] = float (n * 37 % 129) / 16;
    input[n] = half_of_number (layer.input[n]);
  }
  Folder folder;
  const std::string kernel = save<float> (folder, "k.npy", NumberType::f32,
      {gsize (of.filters), gsize (of.of_group ()), gsize (of.lines), gsize (of.columns)},
      layer.kernel);
  Chain chain (
      element_of (of, method) + " kernel-layout=oihw kernel=" + kernel + " bias=0.25",
      tensors ("float16", dimensions_of (of)));
  const Output output = chain.run (bytes_of (input));
  fail_unless (strstr (output.caps.c_str (), "float16"), "%s", output.caps.c_str ());
  const std::vector<guint16> got = values_of<guint16> (output.bytes);
  const std::vector<double> expected = reference::convolve (of, doubles (layer.input),
      doubles (layer.kernel), std::vector<double> (of.filters, 0.25));
  fail_unless_equals_uint64 (got.size (), expected.size ());
  std::vector<double> rounded (got.size ());
  if (method == "auto" && may_round_weights (of))
    rounded = reference::convolve (of, magnitudes (doubles (layer.input)),
        magnitudes (doubles (layer.kernel)), std::vector<double> (of.filters, 0.25));
  double largest = 0;
  for (double value : expected)
    largest = std::max (largest, fabs (value));
  for (gsize n = 0; n < got.size (); n++) {
    const double value = number_of_half (got[n]);
    if (!(fabs (value - expected[n])
            <= (fabs (expected[n]) + rounded[n]) / 2048 + 1e-4 * largest))
      ck_abort_msg ("%s of %s: number %d is %g, expected %g", method.c_str (),
          text_of (of).c_str (), int (n), value, expected[n]);
  }
}

TEST (test_floats_of_16_bits_are_convolved_by_every_method)
{
  Case of = plane (13, 17, 3, 3);
  of.images = 2;
  of.channels = 20;
  of.filters = 40;
  for (bool nchw : {false, true}) {
    of.nchw = nchw;
    for (const char *method : {"direct", "winograd", "fft", "auto"})
      check_halves (of, method);
    Case depthwise = of;
    depthwise.filters = depthwise.groups = depthwise.channels;
    for (const char *method : {"direct", "fft", "auto"})
      check_halves (depthwise, method);
    Case line = depthwise;
    line.lines = 1;
    line.stride = 2;
    check_halves (line, "separable");
  }
  check::set_debug_switch ("convolve-groups", "1");
  for (const char *method : {"direct", "winograd", "fft", "auto"})
    check_halves (of, method);
  of.nchw = false;
  check_halves (of, "auto");
}

/* --- video --- */

/* A frame with flat areas, edges, noise, black and white */
static Bytes
picture (int width, int height, int components)
{
  const Bytes noise = check::pattern (gsize (width) * height * components, 0);
  return filled<guint8> (noise.size (), [&] (gsize n) {
    const int x = int (n) / components % width, y = int (n) / components / width;
    const int c = int (n) % components;
    if ((x / 16 + y / 12) % 3 == 0)
      return guint8 (c * 80);
    if ((x / 16 + y / 12) % 3 == 1)
      return noise[n];
    return guint8 ((x * 5 + y * 3 + c * 40) % 256);
  });
}

/* Result of FFmpeg's filter of the same name for GRAY8 and RGBA, within a level */
template <typename Sample>
static void
check_video (const char *format, int components, int first, int colors,
    const std::string &more, double scale, double offset, bool alpha = false)
{
  const int width = 76, height = 33;
  const int most = std::numeric_limits<Sample>::max ();
  const Bytes bytes = picture (width, height, components);
  const std::vector<Sample> input = filled<Sample> (bytes.size (),
      [&] (gsize n) { return Sample (bytes[n] * (most / 255) + n % (most / 255)); });
  const std::vector<double> kernel = {1, 2, 1, 0, 3, 0, -1, -2, -1};
  const std::vector<double> turned (kernel.rbegin (), kernel.rend ());
  Chain chain (
      "openclconvolve kernel=\"<<1,2,1>,<0,3,0>,<-1,-2,-1>>\" border=mirror " + more,
      video (format, width, height));
  const std::vector<Sample> got = values_of<Sample> (chain.run (bytes_of (input)).bytes);
  fail_unless_equals_uint64 (got.size (), input.size ());
  Case of = plane (height, width, 3, 3);
  of.border = "mirror";
  for (int c = 0; c < components; c++) {
    std::vector<double> one (gsize (width) * height);
    for (gsize n = 0; n < one.size (); n++)
      one[n] = input[n * components + c];
    const bool kept = !alpha && (c < first || c >= first + colors);
    const std::vector<double> sums = reference::convolve (of, one, turned, {0});
    for (gsize n = 0; n < one.size (); n++) {
      const double value =
          kept ? one[n] : CLAMP (nearbyint (sums[n] * scale + offset), 0, most);
      if (fabs (got[n * components + c] - value) > 1e-3)
        ck_abort_msg ("%s: component %d of pixel %d is %d, expected %g", format, c,
            int (n), got[n * components + c], value);
    }
  }
}

TEST (test_each_colour_of_video_is_convolved_and_alpha_kept)
{
  check_video<guint8> ("GRAY8", 1, 0, 1, "scale=0.5 offset=10", 0.5, 10);
  check_video<guint8> ("RGBA", 4, 0, 3, "scale=0.5", 0.5, 0);
  check_video<guint8> ("BGRx", 4, 0, 3, "offset=100", 1, 100);
  check_video<guint8> ("ARGB", 4, 1, 3, "scale=0.25 offset=60", 0.25, 60);
  check_video<guint8> ("ABGR", 4, 0, 4, "scale=0.25 alpha=true", 0.25, 0, true);
}

/* By the kernels for CPUs and those for GPUs */
TEST_ROWS (test_sixty_four_bit_video_is_convolved, {"0", "1"})
{
  check::set_debug_switch ("convolve-groups", row);
  check_video<guint16> ("RGBA64_LE", 4, 0, 3, "scale=0.5", 0.5, 0);
  check_video<guint16> ("BGRA64_LE", 4, 0, 3, "method=direct scale=0.25", 0.25, 0);
  check_video<guint16> ("ARGB64_LE", 4, 1, 3, "scale=0.25 offset=600", 0.25, 600);
  check_video<guint16> ("ABGR64_LE", 4, 0, 4, "scale=0.25 alpha=true", 0.25, 0, true);
  check_video<guint16> ("ARGB64", 4, 1, 3, "scale=0.25", 0.25, 0);
}

/* Text of a kernel of zeros, with a one at (line, column) */
static std::string
unit_kernel (int lines, int columns, int line, int column)
{
  std::string text = "<";
  for (int y = 0; y < lines; y++) {
    text += y ? ",<" : "<";
    for (int x = 0; x < columns; x++)
      text += std::string (x ? "," : "") + (y == line && x == column ? "1" : "0");
    text += ">";
  }
  return text + ">";
}

struct AlphaPlace {
  const char *format;
  int alpha; /* component of a pixel */
};

constexpr AlphaPlace alpha_places[] = {
    {"RGBA", 3}, {"BGRA", 3}, {"ARGB", 0}, {"ABGR", 0}, {"xRGB", 0}};

/* Alpha is that of the input pixel, whatever the size of the kernel. Tests the kernels
 * for CPUs and those for GPUs. */
TEST_ROWS (test_openclconvolve_alpha_with_even_kernels, {"0", "1"})
{
  const int sizes[][2] = {{1, 2}, {2, 1}, {2, 2}, {3, 4}, {6, 3}, {10, 8}};
  const int width = 23, height = 21;
  const Bytes input = check::pattern (gsize (width) * height * 4, 0);
  int place = 0;

  check::set_debug_switch ("convolve-groups", row);
  for (const auto &size : sizes) {
    for (const char *more : {"method=direct", "method=separable flip=false",
             "method=direct dilation=3 border=mirror", "method=fft"}) {
      if (strstr (more, "fft") && size[0] != 2) /* building each plan takes long */
        continue;
      const AlphaPlace &of = alpha_places[place++ % G_N_ELEMENTS (alpha_places)];
      Chain chain ("openclconvolve kernel=\"" + unit_kernel (size[0], size[1], 0, 0)
                       + "\" " + more,
          video (of.format, width, height));
      const Bytes got = chain.run (input).bytes;
      fail_unless_equals_uint64 (got.size (), input.size ());
      for (int n = 0; n < width * height; n++)
        fail_unless (got[n * 4 + of.alpha] == input[n * 4 + of.alpha],
            "%s, %dx%d, %s: alpha of pixel %d, %d is %d, expected %d", of.format, size[0],
            size[1], more, n % width, n / width, got[n * 4 + of.alpha],
            input[n * 4 + of.alpha]);
    }
  }
}

/* With a stride or without padding, alpha is that of the pixel at the middle tap; of an
 * even kernel, the first of the two middle taps. A kernel with 1 at this tap returns the
 * colour of the same pixel. */
TEST (test_openclconvolve_alpha_position_with_stride_and_padding)
{
  const int sizes[][2] = {{1, 2}, {2, 2}, {4, 3}, {3, 4}, {3, 3}, {10, 8}};
  const int width = 37, height = 29;
  const Bytes noise = check::pattern (gsize (width) * height, 0);
  const Bytes input =
      filled<guint8> (noise.size () * 4, [&] (gsize n) { return noise[n / 4]; });

  for (const auto &size : sizes) {
    for (const char *more : {"stride=2", "padding=0", "stride=3 padding=1", "padding=4",
             "stride=2 method=separable"}) {
      Chain chain (
          "openclconvolve flip=false border=clamp kernel=\""
              + unit_kernel (size[0], size[1], (size[0] - 1) / 2, (size[1] - 1) / 2)
              + "\" " + more,
          video ("RGBA", width, height));
      const Bytes got = chain.run (input).bytes;
      for (gsize n = 0; n < got.size (); n += 4)
        fail_unless (got[n + 3] == got[n],
            "%dx%d, %s: alpha of pixel %d is %d, expected %d", size[0], size[1], more,
            int (n / 4), got[n + 3], got[n]);
    }
  }
}

TEST (test_gray_of_16_bits_is_convolved_to_its_last_bit)
{
  const std::vector<guint16> input =
      filled<guint16> (64 * 20, [] (gsize n) { return guint16 (n * 40503); });
  Chain chain ("openclconvolve flip=false kernel=\"<<1,2,1>,<2,4,2>,<1,2,1>>\" "
               "scale=0.0625 border=clamp",
      video ("GRAY16_LE", 64, 20));
  const std::vector<guint16> got =
      values_of<guint16> (chain.run (bytes_of (input)).bytes);
  Case of = plane (20, 64, 3, 3);
  of.border = "clamp";
  const std::vector<double> sums = reference::convolve (
      of, {input.begin (), input.end ()}, {1, 2, 1, 2, 4, 2, 1, 2, 1}, {0});
  for (gsize n = 0; n < got.size (); n++) {
    if (got[n] != nearbyint (sums[n] / 16))
      ck_abort_msg (
          "pixel %d is %d, expected %g", int (n), got[n], nearbyint (sums[n] / 16));
  }
}

/* A frame that starts within its memory and has padded rows */
TEST (test_video_of_any_layout_is_convolved)
{
  const Bytes input = check::pattern (37 + 80 * 9, 1);
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, input.size (), nullptr);
  gst_buffer_fill (buffer, 0, input.data (), input.size ());
  gsize offsets[] = {37, 0, 0, 0};
  gint strides[] = {80, 0, 0, 0};
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 52, 9, 1, offsets, strides);
  Chain chain ("openclconvolve kernel=\"<0,0,1>\"", video ("GRAY8", 52, 9));
  chain.start ();
  chain.push (buffer);
  const Bytes got = chain.pull ().bytes; /* flipped, so the right neighbour */
  for (int y = 0; y < 9; y++)
    for (int x = 0; x < 52; x++)
      fail_unless_equals_int (got[y * 52 + x], x > 0 ? input[37 + y * 80 + x - 1] : 0);
}

TEST (test_stride_and_padding_change_the_size_of_video)
{
  Chain chain ("openclconvolve stride=2 padding=0 kernel=\"<<0,0,0>,<0,1,0>,<0,0,0>>\"",
      video ("RGBA", 41, 23));
  const Bytes input = picture (41, 23, 4);
  const Output output = chain.run (input);
  fail_unless (strstr (output.caps.c_str (), "width=(int)20")
               && strstr (output.caps.c_str (), "height=(int)11"));
  for (int y = 0; y < 11; y++)
    for (int x = 0; x < 20; x++)
      for (int c = 0; c < 4; c++)
        fail_unless_equals_int (output.bytes[(y * 20 + x) * 4 + c],
            input[((2 * y + 1) * 41 + 2 * x + 1) * 4 + c]);
}

/* --- property changes --- */

static const guint8 *
gray_of (const Output &output)
{
  return output.bytes.data ();
}

/* --- files --- */

/* Saves a kernel with this number of filters of 1024 channels; all weights are 1/1024. */
static std::string
save_layer (const Folder &folder, const std::string &name, gsize filters)
{
  return save<float> (folder, name, NumberType::f32, {filters, 1024, 3, 3},
      std::vector<float> (filters * 1024 * 9, 1.0f / 1024));
}

static void
convolve_ones (Chain &chain)
{
  const Output output = chain.run (bytes_of (std::vector<float> (1024 * 3 * 3, 1)));
  fail_unless_equals_float (values_of<float> (output.bytes)[4], 9); /* the centre */
}

/* PoCL's buffers, also in this process, hold the filters once, as floats. A sanitizer
 * keeps freed memory. */
TEST (test_openclconvolve_frees_filters_after_upload)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  Folder folder;
  const gsize filters = 1024, kib = filters * 1024 * 9 * sizeof (float) / 1024;
  const std::string small = save_layer (folder, "small.npy", 8);
  const std::string large = save_layer (folder, "large.npy", filters);
  const std::string element = "openclconvolve method=direct layout=nchw kernel=";

  /* Compiles the kernels. */
  Chain first (element + small, tensors ("float32", "3:3:1024"));
  convolve_ones (first);
  const gsize before = check::resident_kib ();
  Chain second (element + large, tensors ("float32", "3:3:1024"));
  convolve_ones (second);
  const gsize after = check::resident_kib ();
  fail_unless (after < before + kib * 2, "%d KiB more for filters of %d KiB",
      int (after - before), int (kib));
#endif
}

/* First number of the output for an input of ones */
static float
number_of (Chain &chain)
{
  chain.push (bytes_of (std::vector<float> (4 * 4, 1)));
  return values_of<float> (chain.pull ().bytes)[0];
}

TEST (test_openclconvolve_reads_files_with_caps_and_settings)
{
  Folder folder;
  const auto save_kernel = [&] (float weight, gsize columns) {
    return save<float> (folder, "kernel.npy", NumberType::f32, {1, columns},
        std::vector<float> (columns, weight));
  };
  Chain chain (
      "openclconvolve name=k kernel=" + save_kernel (2, 1), tensors ("float32", "4:4"));
  chain.start ();
  fail_unless_equals_float (number_of (chain), 2);
  save_kernel (3, 1);
  fail_unless_equals_float (number_of (chain), 2);
  gst_util_set_object_arg (G_OBJECT (chain.element ()), "border", "clamp");
  fail_unless_equals_float (number_of (chain), 3);

  save_kernel (4, 2); /* a file of another shape is read only when its property is set */
  gst_util_set_object_arg (G_OBJECT (chain.element ()), "border", "mirror");
  fail_unless_equals_float (number_of (chain), 3);
  const Messages messages = messages_on (chain.bus);
  fail_unless_equals_uint64 (messages.warnings.size (), 1);
  fail_unless (
      strstr (messages.warnings[0].c_str (), "changed its shape from (1, 1) to (1, 2)"),
      "%s", messages.warnings[0].c_str ());
  g_object_set (chain.element (), "kernel", folder.file ("kernel.npy").c_str (), nullptr);
  fail_unless_equals_float (number_of (chain), 8);

  save_kernel (5, 1);
  gst_element_set_state (chain.pipeline, GST_STATE_READY);
  chain.start ();
  fail_unless_equals_float (number_of (chain), 5);
}

TEST (test_openclconvolve_changes_scale_without_its_file)
{
  Folder folder;
  const std::string kernel =
      save<float> (folder, "kernel.npy", NumberType::f32, {1, 1}, {2});
  const Bytes frame (16 * 4, 40);
  for (const char *method : {"direct", "separable", "fft"}) {
    Chain chain (
        std::string ("openclconvolve name=k method=") + method + " kernel=" + kernel,
        video ("GRAY8", 16, 4));
    fail_unless_equals_int (gray_of (chain.run (frame))[5], 80);
    g_assert_cmpint (g_rename (kernel.c_str (), folder.file ("away").c_str ()), ==, 0);
    g_object_set (chain.element (), "scale", 0.5, "offset", 7.0, nullptr);
    chain.push (frame);
    fail_unless_equals_int (gray_of (chain.pull ())[5], 47);
    fail_unless_equals_uint64 (messages_on (chain.bus).warnings.size (), 0);
    g_assert_cmpint (g_rename (folder.file ("away").c_str (), kernel.c_str ()), ==, 0);
  }
}

/* --- errors at the start --- */
