/* Tests of openclkernel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"
#include "tests/check/as-gpu.hpp"
#include "tests/check/opencl-check.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/video/video.h>

#include <cmath>
#include <limits>

using namespace programs;
using opencl::NumberType;

namespace {
const char *const negative =
    "kernel void negative (global const uchar *input, global uchar *output, int stride)"
    " { size_t i = get_global_id (1) * stride + get_global_id (0);"
    " output[i] = 255 - input[i]; }";

std::string
quoted (const std::string &text)
{
  return "\"" + text + "\"";
}

std::string
with_source (const std::string &source, const std::string &more = "")
{
  return "openclkernel name=k source=" + quoted (source) + " " + more;
}

Bytes
pattern (gsize size, guint seed = 1)
{
  return check::pattern (size, seed);
}

/* GStreamer's default stride, a multiple of four bytes */
gsize
stride_of (gsize line)
{
  return (line + 3) / 4 * 4;
}

/* Compares rows without their padding. */
void
assert_lines (const Bytes &got, gsize line, gsize lines,
    const std::function<int (gsize y, gsize x)> &expected, const char *what)
{
  fail_unless_equals_uint64 (got.size (), stride_of (line) * lines);
  for (gsize y = 0; y < lines; y++) {
    for (gsize x = 0; x < line; x++) {
      const int value = got[y * stride_of (line) + x];
      if (value != expected (y, x))
        ck_abort_msg ("%s: line %d, byte %d is %d, expected %d", what, int (y), int (x),
            value, expected (y, x));
    }
  }
}

template <typename T>
void
assert_near (const Bytes &bytes, const std::vector<double> &expected, double tolerance,
    const char *what)
{
  const std::vector<T> got = values_of<T> (bytes);
  fail_unless (got.size () == expected.size (), "%s: %d numbers, expected %d", what,
      int (got.size ()), int (expected.size ()));
  for (gsize n = 0; n < got.size (); n++) {
    if (!(fabs (double (got[n]) - expected[n]) <= tolerance * (1 + fabs (expected[n]))))
      ck_abort_msg ("%s: number %d is %g, expected %g", what, int (n), double (got[n]),
          expected[n]);
  }
}
} // namespace

/* --- kernels --- */

TEST (test_a_kernel_of_three_lines_runs_over_video_of_any_width)
{
  for (int width : {64, 97, 1}) {
    Chain chain (with_source (negative), video ("GRAY8", width, 11));
    const Bytes input = pattern (stride_of (width) * 11);
    const Output output = chain.run (input);
    assert_lines (
        output.bytes, width, 11,
        [&] (gsize y, gsize x) { return 255 - input[y * stride_of (width) + x]; },
        "negative");
  }
}

/* A frame that starts within its memory and has padded rows */
TEST (test_a_kernel_takes_frames_of_any_layout)
{
  for (const char *arguments :
      {"int stride", "int input_stride, int stride", "int width"}) {
    const bool knows = strstr (arguments, "input_stride");
    const std::string source =
        std::string ("kernel void k (global const uchar *input, global uchar *output, ")
        + arguments
        + ") { size_t y = get_global_id (1), x = get_global_id (0); output[y * "
        + (strstr (arguments, "width") ? "width" : "stride") + " + x] = 3 * input[y * "
        + (knows                          ? "input_stride"
            : strstr (arguments, "width") ? "width"
                                          : "stride")
        + " + x]; }";
    Chain chain (with_source (source), video ("GRAY8", 50, 9));
    const Bytes input = pattern (37 + 80 * 9);
    GstBuffer *buffer = gst_buffer_new_allocate (nullptr, input.size (), nullptr);
    gst_buffer_fill (buffer, 0, input.data (), input.size ());
    gsize offsets[] = {37, 0, 0, 0};
    gint strides[] = {80, 0, 0, 0};
    gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
        GST_VIDEO_FORMAT_GRAY8, 50, 9, 1, offsets, strides);
    chain.start ();
    chain.push (buffer);
    assert_lines (
        chain.pull ().bytes, 50, 9,
        [&] (gsize y, gsize x) { return guint8 (3 * input[37 + y * 80 + x]); },
        arguments);
  }
}

TEST (test_a_kernel_has_a_work_item_for_each_pixel_of_every_format)
{
  for (const char *format : {"RGBA", "BGRx", "RGB", "GRAY8", "GRAY16_LE", "ARGB64"}) {
    GstVideoInfo info;
    gst_video_info_set_format (&info, gst_video_format_from_string (format), 33, 7);
    const gsize pixel = GST_VIDEO_INFO_COMP_PSTRIDE (&info, 0);
    const std::string source =
        "kernel void k (global const uchar *input, global uchar *output, int stride, int "
        "width, int height) { for (int b = 0; b < PIXEL; b++) { size_t i = get_global_id "
        "(1) * stride + PIXEL * get_global_id (0) + b; output[i] = input[i] ^ "
        "(get_global_size (0) == width && get_global_size (1) == height ? 0x55 : 0); } }";
    Chain chain (with_source (source, "options=-DPIXEL=" + std::to_string (pixel)),
        video (format, 33, 7));
    const Bytes input = pattern (GST_VIDEO_INFO_SIZE (&info));
    const gsize stride = GST_VIDEO_INFO_PLANE_STRIDE (&info, 0);
    assert_lines (
        chain.run (input).bytes, 33 * pixel, 7,
        [&] (gsize y, gsize x) { return input[y * stride + x] ^ 0x55; }, format);
  }
}

/* Scalars of every type, vectors, a file, local memory, and arguments with reserved
 * names */
TEST (test_arguments_are_bound_by_their_names)
{
  Folder folder;
  const std::string weights =
      save<float> (folder, "w.npy", NumberType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const std::string source =
      "kernel void k (char c, uchar uc, short s, ushort us, int i, uint ui, long l, "
      "ulong ul, float f, double d, float4 v, uchar3 three, global const float *w, "
      "ulong w_count, int w_shape1, constant float2 *pairs, local int *tile, "
      "uint count, int shape0, int shape1, int input_count, uint frame, float time, "
      "global const float *input, global double *output) {"
      " size_t n = get_global_id (0); if (n > 0) { tile[get_local_id (0)] = n;"
      " output[n] = tile[get_local_id (0)] + input[n]; return; }"
      " double values[] = {c, uc, s, us, i, ui, l, ul, f, d, v.x, v.w, three.x, three.z,"
      " w[5], w_count, w_shape1, pairs[2].y, count, shape0, shape1, input_count, frame,"
      " time}; double sum = 0; for (int k = 0; k < 24; k++) sum += values[k] * (k + 1);"
      " output[0] = sum; }";
  const std::string arguments =
      "arguments=\"a,c=-7,uc=200,s=-3000,us=60000,i=-100000,ui=(uint)4000000000,"
      "l=(gint64)-5000000000,ul=(guint64)9007199254740993,f=0.5,d=1/8,v=<1,2,3,4.5>,"
      "three=<7,8,9>,w="
      + weights + ",pairs=" + weights + ",tile=64\"";
  Chain chain (with_source (source, arguments + " local-size=4") + " ! "
                   + tensors ("float64", "4:3").replace (13, 0, "(memory:OpenCLMemory)"),
      tensors ("float32", "4:3"));
  const std::vector<double> values = {-7, 200, -3000, 60000, -100000, 4000000000, -5e9,
      9007199254740993.0, 0.5, 0.125, 1, 4.5, 7, 9, 6, 6, 2, 6, 12, 4, 3, 12, 1, 0.04};
  std::vector<double> expected (12);
  for (gsize n = 0; n < values.size (); n++)
    expected[0] += values[n] * double (n + 1);
  for (gsize n = 1; n < 12; n++)
    expected[n] = double (n) + 100;
  const Bytes input = bytes_of (std::vector<float> (12, 100));
  chain.run (input);
  chain.push (input);
  assert_near<double> (chain.pull ().bytes, expected, 1e-8, "arguments");
}

/* OpenCL C has names for the ends of each integer type. */
TEST (test_arguments_reach_the_ends_of_their_types)
{
  const struct {
    const char *type, *value, *same;
  } ends[] = {{"char", "-128", "CHAR_MIN"}, {"char", "127", "CHAR_MAX"},
      {"uchar", "255", "UCHAR_MAX"}, {"short", "-32768", "SHRT_MIN"},
      {"short", "32767", "SHRT_MAX"}, {"ushort", "65535", "USHRT_MAX"},
      {"int", "(int)-2147483648", "INT_MIN"}, {"int", "2147483647", "INT_MAX"},
      {"uint", "(uint)4294967295", "UINT_MAX"},
      {"long", "(gint64)-9223372036854775808", "LONG_MIN"},
      {"long", "(gint64)9223372036854775807", "LONG_MAX"},
      {"ulong", "(guint64)18446744073709551615", "ULONG_MAX"}};
  for (const auto &end : ends) {
    const std::string source = std::string ("kernel void k (") + end.type
                               + " n, global const float *input, global float *output) {"
                                 " output[get_global_id (0)] = n == "
                               + end.same + "; }";
    Chain chain (with_source (source, std::string ("arguments=a,n=") + end.value),
        tensors ("float32", "2"));
    assert_near<float> (
        chain.run (bytes_of (std::vector<float> (2))).bytes, {1, 1}, 0, end.same);
  }
}

TEST (test_a_kernel_of_fixed_groups_runs_in_them)
{
  const char *source =
      "kernel __attribute__ ((reqd_work_group_size (5, 1, 1))) void k (global const int "
      "*input, global int *output) { size_t n = get_global_id (0); output[n] = input[n] "
      "+ "
      "get_local_size (0); }";
  Chain chain (with_source (source), tensors ("int32", "20"));
  assert_near<gint32> (chain.run (bytes_of (std::vector<gint32> (20, 1))).bytes,
      std::vector<double> (20, 6), 0, "groups of 5");
}

/* Work-groups that the element chooses are no larger than the work. On a GPU they are
 * rows. */
TEST (test_groups_that_are_not_asked_for_divide_the_work)
{
  const char *source =
      "kernel void k (global const uchar *input, global int *output) { size_t y = "
      "get_global_id (1), x = get_global_id (0), n = y * get_global_size (0) + x; "
      "output[n] = input[n] + get_global_size (0) % get_local_size (0) + 1000 * "
      "get_global_size (0) + 10 * (get_local_size (0) > 31 && get_local_size (1) == 1); "
      "}";
  GstOpenCLContext *context = gst_opencl_context_new (nullptr, nullptr);
  const bool on_cpu = opencl::is_cpu (context);
  gst_object_unref (context);
  for (int width : {3840, 1920, 97, 48, 1}) {
    const std::string dimensions = std::to_string (width) + ":5";
    Chain chain (with_source (source, "global-size=shape0,shape1 output-caps=other/"
                                      "tensors,types=int32,dimensions=(string)"
                                          + dimensions),
        tensors ("uint8", dimensions));
    const std::vector<gint32> got =
        values_of<gint32> (chain.run (Bytes (5 * width, 1)).bytes);
    for (gint32 number : got) {
      const int row = number - 1 - 1000 * width;
      fail_unless (row == 10 || (row == 0 && (on_cpu || width % 32 != 0)), "%d of %d",
          number, width);
    }
  }
}

TEST (test_nested_parentheses_of_global_size_are_limited)
{
  check::Pipeline pipeline (
      "openclkernelsrc name=k source=\"kernel void k (global int *output) { }\" "
      "output-caps=\"other/tensors,types=int32,dimensions=(string)4\" ! fakesink");
  g_object_set (
      pipeline["k"], "global-size", std::string (1000000, '(').c_str (), nullptr);
  pipeline.play ().expect_one_error ({"k"});
}

TEST (test_global_size_uses_names)
{
  const char *source =
      "kernel void k (global const int *input, global int *output, int shape0) { size_t "
      "x = "
      "get_global_id (0), y = get_global_id (1); for (int n = 0; n < 3; n++) if (3 * x + "
      "n "
      "< shape0) output[y * shape0 + 3 * x + n] = 100 * get_global_size (0) + "
      "get_global_size (1) + input[0]; }";
  Chain chain (with_source (source, "global-size=\"shape0/3, shape1\" local-size=1,2"),
      tensors ("int32", "10:6"));
  assert_near<gint32> (chain.run (bytes_of (std::vector<gint32> (60, 1000))).bytes,
      std::vector<double> (60, 1406), 0, "4 x 6 work-items");
}

/* Expected: C's arithmetic, or rounded up, with width 10, height 6 and 4 components */
static const struct {
  const char *size;
  guint32 x, y, z;
} expressions_of_sizes[] = {
    {"width*height", 60, 1, 1},
    {"pixels, count, count/4", 60, 240, 60},
    {"(width+15)/16*16, (height + 3) / 4 * 4", 16, 8, 1},
    {"(shape0+15)/16*16,(shape1+15)/16*16,(shape2+15)/16*16", 16, 16, 16},
    {"width/4,height/4", 3, 2, 1},
    {"width/4*4,width*2/3", 12, 7, 1},
    {"width*height/7,(width*height)/7", 9, 8, 1},
    {"(width)/4, width/4+0, 1+width*height-7/2", 2, 2, 1 + 60 - 3},
    {"input_width*2,input_pixels-input_height,input_count/7", 20, 54, 35},
    {"((((3))))*(2+2*(1+1)),9-8-1+1", 18, 1, 1},
};

TEST_ROWS (test_global_size_takes_expressions_of_sizes, expressions_of_sizes)
{
  const char *source =
      "kernel void k (global const uchar *input, global uint *output) { size_t x = "
      "get_global_id (0), y = get_global_id (1), z = get_global_id (2); if (x + y + z == "
      "0) for (int n = 0; n < 3; n++) output[n] = get_global_size (n); }";
  Chain chain (with_source (source, std::string ("global-size=") + quoted (row.size)
                                        + " local-size=1+0,(2-1)"),
      video ("RGBA", 10, 6));
  const auto got = values_of<guint32> (chain.run (pattern (240)).bytes);
  fail_unless (got[0] == row.x && got[1] == row.y && got[2] == row.z,
      "%s: %u x %u x %u, expected %u x %u x %u", row.size, got[0], got[1], got[2], row.x,
      row.y, row.z);
}

/* The expected value encodes global id and global size of each element of an array of
 * shape (2, 3, 4). */
#define PLACES(x, y, z)                                                                  \
  "size_t n = (" z " * get_global_size (1) + " y ") * get_global_size (0) + " x ";"      \
  " output[n] = n + 100 * get_global_size (0) + 10000 * get_global_size (1)"             \
  " + 1000000 * get_global_size (2); "
#define KERNEL(name)                                                                     \
  "kernel void " name " (global const int *input, global int *output) { "
#define ONE KERNEL ("one") PLACES ("get_global_id (0)", "0", "0") "} "
#define TWO KERNEL ("two") PLACES ("get_global_id (0)", "get_global_id ( 1u )", "0") "} "

static const struct {
  const char *properties, *source;
  int size; /* encoded by the kernel */
} kernels_over_arrays[] = {
    {"", ONE, 1012400},
    {"", TWO, 1060400},
    {"",
        KERNEL ("k")
            PLACES ("get_global_id (0)", "get_global_id (1)", "get_global_id (2)") "}",
        2030400},
    {"local-size=2,3",
        KERNEL ("k") PLACES ("(2 * get_group_id (0) + get_local_id (0))",
            "(3 * get_group_id (1) + get_local_id (1))", "0") "}",
        1060400},
    {"global-size=count", TWO, 1012400},
    /* Only the source of the kernel and of functions that it calls counts. */
    {"kernel=one", ONE TWO, 1012400},
    {"kernel=two", ONE TWO, 1060400},
    {"",
        "size_t row () { return get_global_id (1); } " KERNEL ("k")
            PLACES ("get_global_id (0)", "row ()", "0") "}",
        1060400},
    {"",
        "\n#define ROW get_global_id (1)\n" KERNEL ("k")
            PLACES ("get_global_id (0)", "ROW", "0") "}",
        1060400},
    {"",
        "int row () { return get_global_id (1); } /* } */ " KERNEL ("k")
            PLACES ("get_global_id (0)", "0", "0") "// get_global_id (1)\n}",
        1012400},
    {"",
        KERNEL ("k") "\n#ifdef ROWS\nget_global_id (1);\n#endif\n" PLACES (
            "get_global_id (0)", "0", "0") "}",
        1012400},
};

TEST_ROWS (
    test_work_items_of_arrays_have_the_dimensions_of_the_kernel, kernels_over_arrays)
{
  Folder folder;
  const std::string location = folder.write ("kernel.cl", row.source);
  Chain chain ("openclkernel name=k location=" + location + " " + row.properties,
      tensors ("int32", "4:3:2"));
  auto expected = filled<gint32> (24, [&] (gsize n) { return row.size + gint32 (n); });
  const Bytes got = chain.run (bytes_of (std::vector<gint32> (24, 1))).bytes;
  fail_unless (got == bytes_of (expected), "%s: %d, expected %d", row.source,
      values_of<gint32> (got)[23], row.size + 23);
}

TEST (test_files_include_files_beside_them_and_those_of_the_library)
{
  Folder folder;
  folder.write ("twice.clh", "inline int twice (int x) { return 2 * x; }\n");
  const std::string location = folder.write ("main.cl",
      "#include \"twice.clh\"\n#include <random.clh>\n"
      "kernel void k (global const int *input, global int *output) {\n"
      " size_t n = get_global_id (0);\n"
      " output[n] = twice (input[n]) + (random_uniform (1, n, 0) < 1.0f);\n}\n");
  Chain chain ("openclkernel name=k location=" + location, tensors ("int32", "5"));
  assert_near<gint32> (chain.run (bytes_of (std::vector<gint32> (5, 20))).bytes,
      std::vector<double> (5, 41), 0, "includes");
}

/* --- expressions --- */

namespace {
/* Arrays of shape (2, 3, 4) and smaller ones, with NumPy's broadcasting */
struct Broadcast {
  const char *dimensions;   /* of x */
  std::vector<gsize> shape; /* of w */
  const char *result;
};

const Broadcast broadcasts[] = {
    {"4:3:2", {2, 3, 4}, "4:3:2"},
    {"4:3:2", {4}, "4:3:2"},
    {"4:3:2", {1}, "4:3:2"},
    {"4:3:2", {}, "4:3:2"},
    {"4:3:2", {3, 1}, "4:3:2"},
    {"4:3:2", {2, 1, 4}, "4:3:2"},
    {"4:3:2", {2, 1, 1}, "4:3:2"},
    {"4:3", {2, 1, 1}, "4:3:2"},
    {"1:3", {4}, "4:3"},
    {"1", {5, 7}, "7:5"},
    {"4:1:2:1", {3, 1, 3, 1}, "4:3:2:3"},
    {"7:1:2:1:2", {2, 1, 3, 2, 1, 3, 7}, ""},
    {"33:5", {33}, "33:5"},
    {"32:5", {5, 1}, "32:5"},
};

/* Index in an array of `shape` for index `n` of an array of `result`; both innermost
 * first */
gsize
place_of (gsize n, const std::vector<gsize> &result, const std::vector<gsize> &shape)
{
  gsize place = 0, stride = 1;
  for (gsize d = 0; d < result.size (); d++) {
    const gsize at = n % result[d];
    n /= result[d];
    if (d >= shape.size ())
      continue;
    place += shape[d] == 1 ? 0 : at * stride;
    stride *= shape[d];
  }
  return place;
}

std::vector<gsize>
lengths_of (const char *dimensions)
{
  std::vector<gsize> shape;
  fail_unless (opencl::parse_dimensions (dimensions, shape, nullptr));
  return std::vector<gsize> (shape.rbegin (), shape.rend ());
}

gsize
product_of (const std::vector<gsize> &lengths)
{
  gsize product = 1;
  for (gsize length : lengths)
    product *= length;
  return product;
}
} // namespace

TEST_ROWS (test_expressions_broadcast_as_numpy_does, broadcasts)
{
  Folder folder;
  const std::vector<gsize> of_x = lengths_of (row.dimensions);
  const std::vector<gsize> of_w (row.shape.rbegin (), row.shape.rend ());
  auto x = filled<float> (product_of (of_x), [] (gsize n) { return float (n); });
  auto w =
      filled<float> (product_of (of_w), [] (gsize n) { return float (100 + 7 * n); });
  const std::string file = save<float> (folder, "w.npy", NumberType::f32, row.shape, w);
  Chain chain ("openclkernel name=k expression=\"x - gain * w\" arguments=\"a,gain=0.5,w="
                   + file + "\"",
      tensors ("float32", row.dimensions));
  if (!*row.result) {
    chain.start ();
    chain.push (bytes_of (x));
    fail_unless (!messages_on (chain.bus, 10 * GST_SECOND).errors.empty ());
    return;
  }
  const std::vector<gsize> result = lengths_of (row.result);
  std::vector<double> expected;
  for (gsize n = 0; n < product_of (result); n++)
    expected.push_back (
        x[place_of (n, result, of_x)] - 0.5 * w[place_of (n, result, of_w)]);
  const Output output = chain.run (bytes_of (x));
  assert_near<float> (output.bytes, expected, 1e-6, row.dimensions);
  fail_unless (output.caps.find ("dimensions=(string)" + std::string (row.result))
                   != std::string::npos,
      "%s", output.caps.c_str ());
}

/* Results are rounded to even and saturated. Computation is in double precision if an
 * input is. */
TEST (test_expressions_take_and_make_every_type_of_number)
{
  struct Row {
    const char *type, *expression;
    std::function<Bytes (const std::vector<double> &)> encode;
    std::vector<double> input, output;
  };
  auto as = [] (auto zero) {
    return [=] (const std::vector<double> &values) {
      return bytes_of (filled<decltype (zero)> (
          values.size (), [&] (gsize n) { return decltype (zero) (values[n]); }));
    };
  };
  const Row rows[] = {
      {"uint8", "x * 1.5", as (guint8 ()), {0, 1, 3, 5, 200}, {0, 2, 4, 8, 255}},
      {"int8", "x * 3", as (gint8 ()), {-128, -1, 0, 41, 43}, {-128, -3, 0, 123, 127}},
      {"uint16", "x - 5", as (guint16 ()), {0, 5, 6, 65535}, {0, 0, 1, 65530}},
      {"int16", "-x", as (gint16 ()), {-32768, -1, 7}, {32767, 1, -7}},
      {"uint32", "x / 2", as (guint32 ()), {0, 7, 65536}, {0, 4, 32768}},
      {"int32", "x / 2", as (gint32 ()), {-7, 3, -65536}, {-4, 2, -32768}},
      {"uint64", "x + 1", as (guint64 ()), {0, 1000}, {1, 1001}},
      {"int64", "x * x", as (gint64 ()), {-3000, 5}, {9000000, 25}},
      {"float32", "sqrt (x)", as (float ()), {4, 9, 16}, {2, 3, 4}},
      {"float64", "x + 1e-12", as (double ()), {1, 2}, {1 + 1e-12, 2 + 1e-12}},
      {"float64", "1.0 / x", as (double ()), {3, 7}, {1.0 / 3, 1.0 / 7}},
      {"int32", "x > 1 ? 10 : -10", as (gint32 ()), {0, 1, 2}, {-10, -10, 10}},
  };
  for (const Row &row : rows) {
    Chain chain (
        "openclkernel name=k expression=\"" + std::string (row.expression) + "\"",
        tensors (row.type, std::to_string (row.input.size ())));
    const Bytes expected = row.encode (row.output);
    fail_unless (chain.run (row.encode (row.input)).bytes == expected, "%s of %s",
        row.expression, row.type);
  }
}

namespace {
/* An expression of a scalar, which is broadcast */
struct Arithmetic {
  const char *type, *expression;
  gint64 input, output;
  const char *more = "";
};

const gint64 large = G_GINT64_CONSTANT (1) << 53;

/* In addition to pipelines/expressions.py */
const Arithmetic arithmetics[] = {
    /* Integers are exact beyond 2^24 and 2^53. */
    {"int32", "x", 16777217, 16777217},
    {"int64", "x + g", large, large + 1, "arguments=\"a,g=(gint64)1\""},
    {"uint64", "x - 1 - (x > -1) + (-1 < x)", -1, -2},
    {"int32", "x / 3 * 3", 2000000001, 2000000001},
    /* Integers do not wrap at their own width; the output is saturated. */
    {"uint8", "x * 300 // 300 + 1", 255, 255},
    {"int32", "x * x", -65536, G_MAXINT32},
    /* NumPy's division */
    {"int32", "x * (1/2) + x % 0 + x // 0", 10, 5},
    {"int32", "x % 5 * 1000 + x // 2 * 10 + x // 2.5", -7, 2957},
    {"int64", "x // -1 + x % -1", G_MININT64, G_MININT64},
    {"int64", "(x >> 64) + (x << 64) + (x >> -1)", -3, -2},
    /* Any function accepts any mixture of numbers. */
    {"int32", "clamp (x, 0, 1) + max (x, 1) + min (frame, x) + sqrt (4)", 7, 10},
    {"int32", "pow (2, x) + pown (x, 2.5) + native_sqrt (16) + ldexp (x, 2)", 3, 33},
    {"int64", "max (x, 2) + mul24 (4, 3) + rotate (1, 1)", large + 1, large + 15},
    {"int32", "mix (0, x, 0.25f) + smoothstep (0, 2, 1) * 2 + isequal (x, 40)", 40, 12},
    /* Casts */
    {"int32", "(uchar) x * 1000 + (uchar) (x + 0.75)", 300, 44255},
    {"int32", "convert_int_rtp (x / 2) * 10 + (int) (x / 2.0)", -7, -33},
    {"int32", "(bool) x + (double) x / 2 + as_uint (as_float (x))", 5, 8},
    /* Names */
    {"int32", "x * GAIN * ONE", 2, 14, "options=\"-DGAIN=3+4 -D ONE\""},
    {"int32", "int + real * kernel", 1, 7, "arguments=a,int=1,real=2,kernel=3"},
    {"int32", "(INT_MIN + 1 < x ? UCHAR_MAX : -0x10) + M_PI_F", 0, 258},
};

/* Bytes of `number` in `type` */
Bytes
bytes_of_integer (const char *type, gint64 number)
{
  const Bytes all = bytes_of (std::vector<gint64>{number});
  return Bytes (all.begin (), all.begin () + gssize (opencl::number_named (type)->size));
}
} // namespace

TEST_ROWS (test_expressions_compute_in_the_types_of_numpy, arithmetics)
{
  Chain chain ("openclkernel name=k expression=\"" + std::string (row.expression) + "\" "
                   + row.more,
      tensors (row.type, "1"));
  const Bytes got = chain.run (bytes_of_integer (row.type, row.input)).bytes;
  gint64 number = 0;
  memcpy (&number, got.data (), got.size ());
  fail_unless (got == bytes_of_integer (row.type, row.output),
      "%s of %s is 0x%" G_GINT64_MODIFIER "x, expected %" G_GINT64_FORMAT, row.expression,
      row.type, number, row.output);
}

/* float32 has no numbers between 2^24 and 2^24 + 2. */
TEST (test_indices_of_an_expression_are_exact_beyond_2_24)
{
  const gsize count = (1 << 24) + 1000;
  Chain chain ("openclkernelsrc num-buffers=1 expression=\"i0 & 255\" "
               "output-caps=other/tensors,types=uint8,dimensions=(string)"
               + std::to_string (count));
  chain.start ();
  const Bytes bytes = chain.pull ().bytes;
  fail_unless_equals_uint64 (bytes.size (), count);
  for (gsize n = 0; n < count; n++)
    fail_unless (bytes[n] == guint8 (n), "index %" G_GSIZE_FORMAT, n);
}

TEST (test_expressions_of_a_device_without_float64_are_of_float32)
{
  const cl_device_fp_config none = 0;
  counting::override_device_info (CL_DEVICE_DOUBLE_FP_CONFIG, &none, sizeof none);
  {
    Chain chain (
        "openclkernel name=k expression=\"x / 2 + 0.25\"", tensors ("int32", "2"));
    const std::vector<gint32> input = {16777217, 5}, expected = {8388608, 3};
    fail_unless (values_of<gint32> (chain.run (bytes_of (input)).bytes) == expected);
  }
  for (const char *properties : {"expression=\"(double) x\"",
           "expression=x output-caps=other/tensors,types=float64"}) {
    Chain chain (
        std::string ("openclkernel name=k ") + properties, tensors ("float32", "2"));
    chain.start ();
    chain.push (Bytes (8));
    const Messages messages = messages_on (chain.bus, 10 * GST_SECOND);
    fail_unless (
        messages.errors.size () == 1
            && messages.errors[0].find ("is float64, which the device does not support")
                   != std::string::npos,
        "%s", properties);
  }
  counting::restore_device_info ();
}

/* A compiler knows the value, and its conversion would be undefined. */
TEST (test_expressions_of_a_constant_out_of_range_are_saturated)
{
  struct Row {
    const char *type;
    Bytes least, most;
  };
  auto row = [] (const char *type, auto zero) {
    using Limits = std::numeric_limits<decltype (zero)>;
    return Row{type, bytes_of (std::vector{Limits::min ()}),
        bytes_of (std::vector{Limits::max ()})};
  };
  const Row rows[] = {row ("uint8", guint8 ()), row ("int8", gint8 ()),
      row ("uint16", guint16 ()), row ("int16", gint16 ()), row ("uint32", guint32 ()),
      row ("int32", gint32 ()), row ("uint64", guint64 ()), row ("int64", gint64 ())};
  for (const Row &row : rows) {
    auto expect = [&] (const std::string &expression, const Bytes &expected) {
      Chain chain ("openclkernel name=k expression=\"" + expression + "\"",
          tensors (row.type, "1"));
      fail_unless (chain.run (row.most).bytes == expected, "%s of %s",
          expression.c_str (), row.type);
    };
    expect ("3e19f", row.most);
    expect ("-INFINITY", row.least);
    expect ("NAN", Bytes (row.most.size (), 0));
  }
}

/* Sizes around the tiles, and one that gives each work-item of a GPU 8 x 8 elements */
TEST (test_expressions_multiply_matrices)
{
  Folder folder;
  struct Row {
    gsize rows, depth, columns;
  };
  for (const Row &row : {Row{1, 5, 3}, {65, 33, 70}, {16, 300, 17}, {2101, 19, 2000}}) {
    auto numbers = [] (gsize count, int most) {
      return filled<float> (
          count, [=] (gsize n) { return float (int (n * 7919 % 31) % most - 3); });
    };
    const auto x = numbers (row.rows * row.depth, 9);
    const auto w = numbers (row.depth * row.columns, 7);
    const std::string file =
        save<float> (folder, "w.npy", NumberType::f32, {row.depth, row.columns}, w);
    Chain chain ("openclkernel expression=\"x @ w\" arguments=a,w=" + file,
        tensors (
            "float32", std::to_string (row.depth) + ":" + std::to_string (row.rows)));
    const auto got = values_of<float> (chain.run (bytes_of (x)).bytes);
    std::vector<float> sums (row.rows * row.columns);
    for (gsize n = 0; n < row.rows * row.depth; n++)
      for (gsize c = 0; c < row.columns; c++)
        sums[n / row.depth * row.columns + c] +=
            x[n] * w[n % row.depth * row.columns + c];
    fail_unless (
        got == sums, "%d x %d x %d", int (row.rows), int (row.depth), int (row.columns));
  }
}

TEST (test_expressions_take_and_make_numbers_of_16_bits)
{
  /* 1, -2, 0.5, 65504 (the largest) */
  Chain chain ("openclkernel name=k expression=\"x / 2\"", tensors ("float16", "4"));
  const std::vector<guint16> expected = {0x3800, 0xbc00, 0x3400, 0x77ff};
  const Output output =
      chain.run (bytes_of (std::vector<guint16>{0x3c00, 0xc000, 0x3800, 0x7bff}));
  fail_unless (values_of<guint16> (output.bytes) == expected);
}

/* float16 from a file is broadcast and converted to and from other types. A user's kernel
 * reads it as OpenCL C does without cl_khr_fp16. */
TEST (test_numbers_of_16_bits_come_from_everywhere_and_go_everywhere)
{
  Folder folder;
  const std::string w = save<guint16> (
      folder, "w.npy", NumberType::f16, {3}, {0x3c00, 0xc000, 0x3800}); /* 1, -2, 0.5 */
  const std::vector<guint16> halves = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
  const Bytes input = bytes_of (halves); /* 1 … 6 */
  const std::string tensor = tensors ("float16", "3:2");
  {
    Chain chain ("openclkernel expression=\"x * w\" arguments=a,w=" + w, tensor);
    const std::vector<guint16> expected = {
        0x3c00, 0xc400, 0x3e00, 0x4400, 0xc900, 0x4200}; /* 1, -4, 1.5, 4, -10, 3 */
    fail_unless (values_of<guint16> (chain.run (input).bytes) == expected);
  }
  {
    Chain chain ("openclkernel expression=\"x / 8\" "
                 "output-caps=other/tensors,types=float32",
        tensor);
    assert_near<float> (
        chain.run (input).bytes, {0.125, 0.25, 0.375, 0.5, 0.625, 0.75}, 0, "to float32");
  }
  {
    Chain chain ("openclkernel expression=\"x / 2\" "
                 "output-caps=other/tensors,types=float16",
        tensors ("uint8", "4"));
    const std::vector<guint16> expected = {0x3800, 0x3c00, 0x5640, 0x57f8};
    fail_unless (values_of<guint16> (chain.run ({1, 2, 200, 255}).bytes) == expected);
  }
  {
    Chain chain (with_source ("kernel void k (global const half *input, global half "
                              "*output, global const half *w) { size_t n = get_global_id "
                              "(0); vstore_half (vload_half (n, input) + vload_half (n % "
                              "3, w), n, output); }",
                     "arguments=a,w=" + w),
        tensor);
    const std::vector<guint16> expected = {
        0x4000, 0x0000, 0x4300, 0x4500, 0x4200, 0x4680}; /* 2, 0, 3.5, 5, 3, 6.5 */
    fail_unless (values_of<guint16> (chain.run (input).bytes) == expected);
  }
}

/* Each component is 0 … 1, also alpha. Padding of rows does not change. */
TEST (test_expressions_over_video_are_of_each_component)
{
  struct Format {
    const char *name;
    gsize components;
  };
  for (const Format &format :
      {Format{"RGBA", 4}, {"xBGR", 4}, {"BGR", 3}, {"GRAY8", 1}}) {
    for (int width : {64, 33}) {
      Chain chain (
          "openclkernel name=k expression=\"0.25f + x * gain\" arguments=a,gain=0.5",
          video (format.name, width, 5));
      const gsize line = width * format.components;
      const Bytes input = pattern (stride_of (line) * 5);
      assert_lines (
          chain.run (input).bytes, line, 5,
          [&] (gsize y, gsize x) {
            return int (rint (63.75 + input[y * stride_of (line) + x] * 0.5));
          },
          format.name);
    }
  }
}

TEST (test_an_expression_that_is_its_input_changes_no_bit)
{
  for (const char *format : {"GRAY8", "GRAY16_LE", "RGBA", "RGBA64_LE"}) {
    Chain chain ("openclkernel name=k expression=x", video (format, 256, 256));
    GstVideoInfo info;
    gst_video_info_set_format (&info, gst_video_format_from_string (format), 256, 256);
    const Bytes input = filled<guint8> (GST_VIDEO_INFO_SIZE (&info),
        [] (gsize n) { return guint8 (n % 2 ? n >> 9 : n >> 1); });
    fail_unless (chain.run (input).bytes == input, "%s", format);
  }
}

/* Components of 16 bits are ushort in a kernel, and 0 … 1 in an expression. */
TEST (test_components_of_sixty_four_bit_pixels)
{
  const std::vector<guint16> input =
      filled<guint16> (37 * 5 * 4, [] (gsize n) { return guint16 (n * 40503); });
  const std::string reversed = with_source (
      "kernel void k (global const ushort4 *input, global ushort4 *output, int width) { "
      "size_t n = get_global_id (1) * width + get_global_id (0); output[n] = "
      "input[n].wzyx; }");
  for (const char *format :
      {"RGBA64_LE", "BGRA64_LE", "ARGB64_LE", "ABGR64_LE", "ARGB64"}) {
    Chain kernel (reversed, video (format, 37, 5));
    Chain expression (
        "openclkernel name=k expression=\"0.25 + x * 0.5\"", video (format, 37, 5));
    const auto swapped = values_of<guint16> (kernel.run (bytes_of (input)).bytes);
    const auto made = values_of<guint16> (expression.run (bytes_of (input)).bytes);
    fail_unless_equals_uint64 (made.size (), input.size ());
    for (gsize n = 0; n < input.size (); n++) {
      fail_unless_equals_int (swapped[n], input[n / 4 * 4 + 3 - n % 4]);
      fail_unless (std::abs (made[n] - (16383.75 + input[n] * 0.5)) <= 0.501, "%s: %d",
          format, made[n]);
    }
  }
}

/* Masks of a row, of a column and of colours, as NumPy broadcasts arrays to an image */
TEST (test_arrays_are_broadcast_over_video)
{
  Folder folder;
  struct Row {
    std::vector<gsize> shape;
    std::function<gsize (gsize y, gsize x, gsize c)> place;
  };
  const Row rows[] = {
      {{7, 1, 1}, [] (gsize y, gsize, gsize) { return y; }},
      {{10, 1}, [] (gsize, gsize x, gsize) { return x; }},
      {{4}, [] (gsize, gsize, gsize c) { return c; }},
      {{7, 10, 4}, [] (gsize y, gsize x, gsize c) { return (y * 10 + x) * 4 + c; }},
  };
  for (const Row &row : rows) {
    gsize count = 1;
    for (gsize length : row.shape)
      count *= length;
    auto mask = filled<double> (count, [] (gsize n) { return double (n % 5) / 4; });
    const std::string file =
        save<double> (folder, "m.npy", NumberType::f64, row.shape, mask);
    Chain chain ("openclkernel name=k expression=\"x * mask\" arguments=a,mask=" + file,
        video ("RGBA", 10, 7));
    const Bytes input = pattern (40 * 7), output = chain.run (input).bytes;
    for (gsize n = 0; n < input.size (); n++) {
      const double expected = input[n] * mask[row.place (n / 40, n % 40 / 4, n % 4)];
      fail_unless (fabs (output[n] - expected) <= 0.5 + 1e-6,
          "byte %d is %d, expected %g", int (n), output[n], expected);
    }
  }
}

TEST (test_an_expression_has_index_and_time)
{
  Chain chain (
      "openclkernel name=k expression=\"x + i0 + 10 * i1 + 100 * i2 + 1000 * frame "
      "+ 100000 * time\"",
      tensors ("float32", "3:2:2"));
  chain.run (bytes_of (std::vector<float> (12, 0.5)));
  chain.push (bytes_of (std::vector<float> (12, 0.5)));
  auto expected = filled<double> (12, [] (gsize n) {
    return 0.5 + double (n % 3 + 10 * (n / 3 % 2) + 100 * (n / 6)) + 1000 + 4000;
  });
  assert_near<float> (chain.pull ().bytes, expected, 1e-6, "places");
}

/* --- caps --- */

#define DEVICE "(memory:OpenCLMemory)"

TEST (test_output_caps_are_what_the_property_or_downstream_says)
{
  const char *source =
      "kernel void k (global const uchar *input, global float *output, int input_stride) "
      "{ size_t n = get_global_id (0); output[n] = input[n]; }";
  struct Row {
    const char *properties, *after, *expected;
  };
  const Row rows[] = {
      {"output-caps=other/tensors,types=float32,dimensions=(string)6:2", "",
          "dimensions=(string)6:2"},
      {"", " ! other/tensors" DEVICE ",types=float32,dimensions=(string)6:2:1:1",
          "dimensions=(string)6:2:1:1"},
      {"", " ! video/x-raw" DEVICE ",format=GRAY8,width=48,height=1", "width=(int)48"},
  };
  for (const Row &row : rows) {
    Chain chain (with_source (source, std::string (row.properties) + " global-size=12")
                     + row.after,
        video ("GRAY8", 12, 3));
    const Output output = chain.run (pattern (36));
    fail_unless (
        output.caps.find (row.expected) != std::string::npos, "%s", output.caps.c_str ());
    fail_unless (output.caps.find ("framerate=(fraction)25/1") != std::string::npos);
    fail_unless_equals_uint64 (output.bytes.size (), 48);
    fail_unless (values_of<float> (output.bytes)[7] == float (pattern (36)[7]));
  }
}

/* Results of networks begin with a batch axis. */
TEST (test_arrays_with_a_batch_axis_become_pictures)
{
  struct Row {
    const char *dimensions, *picture;
  };
  const Row rows[] = {{"20:3", "GRAY8,width=20,height=3"},
      {"20:3:1", "GRAY8,width=20,height=3"}, {"20:3:1:1", "GRAY8,width=20,height=3"},
      {"4:5:3:1", "RGBA,width=5,height=3"}};
  for (const Row &row : rows) {
    Chain chain ("openclkernel name=k expression=\"x / 255\" ! video/x-raw" DEVICE
                 ",format="
                     + std::string (row.picture),
        tensors ("uint8", row.dimensions));
    fail_unless (chain.run (pattern (60)).bytes == pattern (60), "%s", row.dimensions);
  }
}

/* A buffer with other owners is not changed, even if the kernel may write its input. */
TEST (test_a_kernel_that_writes_its_input_changes_a_copy)
{
  const char *source =
      "kernel void k (global uchar *input, global uchar *output, int "
      "stride) { size_t i = get_global_id (1) * stride + get_global_id (0); "
      "output[i] = input[i]; input[i] = 0; }";
  Chain chain ("tee name=t ! queue ! " + with_source (source) + " ! fakesink t. ! queue",
      video ("GRAY8", 32, 8));
  const Bytes input = pattern (32 * 8);
  for (int n = 0; n < 5; n++)
    fail_unless (chain.run (input).bytes == input);
}

/* --- errors --- */

namespace {
struct Mistake {
  const char *properties; /* W is a .npy file of float32, shape (3,); F is a text file */
  const char *expected;   /* part of the message */
  const char *debug = ""; /* part of the debug text */
};

#define SOURCE(arguments, body) "source=\"kernel void k (" arguments ") { " body " }\" "
#define STRUCT(parameter)                                                                \
  "source=\"typedef struct { float a; int b; } par; typedef struct { par first, last; "  \
  "} "                                                                                   \
  "deep; kernel void k (global int *output, " parameter ") { }\" "
#define COPY(arguments)                                                                  \
  SOURCE ("global const int *input, global int *output" arguments,                       \
      "output[get_global_id (0)] = input[get_global_id (0)];")

const Mistake mistakes[] = {
    {"", "0 of location, source and expression are set, expected one"},
    {"source=x expression=x", "2 of location, source and expression are set"},
    {"location=/no/such.cl", "location /no/such.cl cannot be read"},
    {SOURCE ("global int *output", "output[0] = nothing;"),
        "source:1:", "use of undeclared identifier 'nothing'"},
    {"source=\"int f (int x) { return x; }\"", "The program has no kernel"},
    {"source=\"kernel void a (global int *output) { } kernel void b (global int *output) "
     "{ "
     "}\"",
        "set `kernel` to one of: a, b"},
    {"kernel=c source=\"kernel void a (global int *output) { }\"",
        "no kernel \"c\"; its kernels: a"},
    {SOURCE ("global const int *input", ""),
        "has no argument \"output\"; the kernel's arguments: __global const int *input"},
    {COPY (", float gain"),
        "no value for its argument \"gain\"; the kernel's arguments: "
        "__global const int *input, __global int *output, float gain"},
    {COPY (", float gain") "arguments=a,gain=1,gian=2",
        "no argument \"gian\"; the kernel's"},
    {COPY (", float gain") "arguments=a,gain=much", "\"gain\" is set to a gchararray"},
    {COPY (", int n") "arguments=a,n=2.5", "int n: the type cannot hold 2.5"},
    {COPY (", uchar n") "arguments=a,n=256", "uchar n: the type cannot hold 256"},
    {COPY (", uint n") "arguments=a,n=-1", "uint n: the type cannot hold -1"},
    {COPY (", float4 v") "arguments=a,v=<1,2,3>", "float4 v: 3 numbers, expected 4"},
    {COPY (", float4 v") "arguments=a,v=1", "float4 v: 1 numbers, expected 4"},
    {COPY (", global const float *w"), "no array for its argument \"w\""},
    {COPY (", global const float *w") "arguments=a,w=3",
        "\"w\" is an array: expected the"},
    {COPY (", global const float *w") "arguments=a,w=/no/such.npy", "/no/such.npy"},
    {COPY (", global const float *w") "arguments=a,w=F", "not a .npy file"},
    {COPY (", global const double *w") "arguments=a,w=W",
        "holds an array of shape (3,) and type '<f4', which does not fit the argument "
        "\"__global const double *w\""},
    {COPY (", global const float2 *w") "arguments=a,w=W", "const float2 *w"},
    {COPY (", local float *tile"), "no value for its argument \"tile\""},
    {COPY (", local float *tile") "arguments=a,tile=much", "\"tile\" is local memory"},
    {COPY (", local float *tile") "arguments=a,tile=2.5", "\"tile\" is local memory"},
    {COPY (", local float *tile") "arguments=a,tile=1000000000",
        "\"tile\" needs 4000000000 bytes of local memory"},
    {COPY (", local long *tile") "arguments=\"a,tile=(guint64)4611686018427387904\"",
        "\"tile\" needs 36893488147419103232 bytes of local memory"},
    {COPY ("") "arguments=a,input=W",
        "\"input\" is an input or the output, and cannot be set"},
    {COPY (", image2d_t i"), "\"i\" is an image, expected a read_only image that is an"},
    {STRUCT ("par p"),
        "\"p\" is a struct: expected numbers (float p.a, int p.b) or the name of a .npy "
        "file with one record; the kernel's"},
    {STRUCT ("par p") "arguments=a,p=<1>",
        "par p: 1 numbers, expected 2: float p.a, int p.b"},
    {STRUCT ("par p") "arguments=a,p=<1,2.5>", "int p.b: the type cannot hold 2.5"},
    {STRUCT ("par p") "arguments=a,p=W", "\"par p\" has 8 bytes, but "},
    {STRUCT ("par p") "arguments=a,p=F", "not a .npy file"},
    {STRUCT ("deep p"),
        "\"p\" is a struct: expected the name of a .npy file with one record"},
    {STRUCT ("deep p") "arguments=a,p=W", "\"deep p\" has 16 bytes, but "},
    {STRUCT ("global const par *p") "arguments=a,p=W",
        "which does not fit the argument \"__global const par *p\" of 8 bytes"},
    {COPY ("") "local-size=7", "global-size 20 is not a multiple of local-size 7"},
    {COPY ("") "global-size=20,3 local-size=4,2",
        "global-size 20x3 is not a multiple of local-size 4x2"},
    {COPY ("") "local-size=1000000 global-size=1000000",
        "A work-group of 1000000 is too large"},
    {COPY ("") "global-size=0", "global-size=\"0\": expected one to three"},
    {COPY ("") "global-size=depth", "global-size=\"depth\": expected one to three"},
    {COPY ("") "global-size=20*-1", "global-size=\"20*-1\": expected one to three"},
    {COPY ("") "global-size=width*heigth", "; \"heigth\" is not the name of a size"},
    {COPY ("") "global-size=20*", "; a number or a name is missing"},
    {COPY ("") "global-size=20%3", "; \"%\" is not an operator"},
    {COPY ("") "global-size=(20", "; \")\" is missing"},
    {COPY ("") "global-size=(20))", "; \")\" is not an operator"},
    {COPY ("") "global-size=0x10", "; 0x10 is not a number or too large"},
    {COPY ("") "global-size=20-20", "; the size is 0"},
    {COPY ("") "global-size=20-21+5", "; a difference is below 0"},
    {COPY ("") "global-size=20/(count-20)", "; a divisor is 0"},
    {COPY ("") "global-size=4294967296*4294967296", "; a product is too large"},
    {COPY ("") "global-size=18446744073709551615+1", "; a sum is too large"},
    {COPY ("") "global-size=18446744073709551616", "6 is not a number or too large"},
    {COPY ("") "local-size=1,1,1,1", "local-size=\"1,1,1,1\": expected one to three"},
    {"local-size=2 source=\"kernel __attribute__ ((reqd_work_group_size (4, 1, 1))) void "
     "k "
     "(global int *output) { }\"",
        "requires work-groups of 4x1x1"},
    {"source=\"kernel __attribute__ ((reqd_work_group_size (8, 1, 1))) void k "
     "(global int *output) { }\"",
        "global-size 20x1x1 is not a multiple of local-size 8x1x1"},
    {"expression=\"x + nothing\"",
        "expression:1:5: unknown name 'nothing', expected one of frame, i0, i1, i2, i3, "
        "time, x"},
    {"expression=\"x +\"", "expression:1:4: expected an operand, found the end"},
    {"expression=\"(x + 1\"", "expression:1:7: expected ')', found the end"},
    {"expression=\"2 * sqroot (x)\"", "expression:1:5: unknown function 'sqroot'"},
    {"expression=\"pow (x)\"", "expression:1:1: 'pow' takes 2 arguments, not 1"},
    {"expression=\"x + (float4) x\"",
        "expression:1:6: 'float4': vectors are not supported"},
    {"expression=\"x / 2 & 1\"",
        "expression:1:7: '&' needs integers, use a cast such as"},
    {"expression=\"x + 1.5.2\"", "expression:1:5: '1.5.2' is not a number"},
    {"expression=\"18446744073709551616\"",
        "expression:1:1: '18446744073709551616' exceeds 64 bits"},
    {"expression=\"x * GAIN\" options=\"-DGAIN=2+\"",
        "expression:1:5: 'GAIN' is \"2+\", which is not an expression"},
    {"expression=\"x + w\" arguments=a,w=W",
        "cannot be broadcast together: x (20,), w (3,)"},
    {"expression=\"x + w\" arguments=a,w=/no/such.npy", "/no/such.npy"},
    {"expression=\"x + g\" arguments=a,g=<1,2>",
        "The argument \"g\" has 2 numbers, expected 1"},
};

std::string
with_files (const char *properties, Folder &folder)
{
  std::string text = properties;
  const std::string array =
      save<float> (folder, "w.npy", NumberType::f32, {3}, {1, 2, 3});
  const std::string other = folder.write ("text", "no array");
  for (gsize at; (at = text.find ("=W")) != std::string::npos;)
    text.replace (at, 2, "=" + array);
  for (gsize at; (at = text.find ("=F")) != std::string::npos;)
    text.replace (at, 2, "=" + other);
  return text;
}

void
assert_one_message (const std::vector<std::string> &messages, const Mistake &mistake)
{
  fail_unless (messages.size () == 1, "%s: %d messages, expected one: %s",
      mistake.properties, int (messages.size ()),
      messages.empty () ? "" : messages.back ().c_str ());
  const gsize end = messages[0].find ('\n');
  fail_unless (messages[0].substr (0, end).find (mistake.expected) != std::string::npos
                   && messages[0].find (mistake.debug, end) != std::string::npos,
      "%s: \"%s\", expected \"%s\" and \"%s\"", mistake.properties, messages[0].c_str (),
      mistake.expected, mistake.debug);
}
} // namespace

TEST_ROWS (test_a_mistake_at_the_start_is_one_error_that_says_what_is_wrong, mistakes)
{
  Folder folder;
  Chain other ("openclkernel expression=\"x * 2\"", tensors ("int32", "4"));
  Chain chain ("openclkernel name=k " + with_files (row.properties, folder),
      tensors ("int32", "20"));
  const Bytes input = bytes_of (std::vector<gint32> (4, 5));
  const Bytes twice = bytes_of (std::vector<gint32> (4, 10));
  fail_unless (other.run (input).bytes == twice);
  chain.start ();
  GstBuffer *buffer = gst_buffer_new_allocate (nullptr, 80, nullptr);
  gst_app_src_push_buffer (GST_APP_SRC (chain.in), buffer);
  assert_one_message (messages_on (chain.bus, 20 * GST_SECOND).errors, row);
  fail_unless (other.run (input).bytes == twice, "%s", row.properties);
}

/* No property that is set while playing stops the pipeline. */
TEST_ROWS (test_a_mistake_while_playing_is_one_warning_and_the_program_goes_on, mistakes)
{
  Folder folder;
  const std::string good = "expression=\"x + 1\"";
  Chain chain ("openclkernel name=k " + good, tensors ("int32", "20"));
  const Bytes input = bytes_of (std::vector<gint32> (20, 5));
  const Bytes expected = bytes_of (std::vector<gint32> (20, 6));
  fail_unless (chain.run (input).bytes == expected);

  /* The same properties as at the start: all others are unset. */
  GstElement *mistaken =
      check::launch ("openclkernel name=m " + with_files (row.properties, folder));
  GObject *element = G_OBJECT (chain.element ());
  const char *const names[] = {"location", "source", "expression", "kernel", "options",
      "arguments", "global-size", "local-size"};
  g_object_freeze_notify (element);
  for (const char *name : names) {
    GValue value = G_VALUE_INIT;
    g_object_get_property (G_OBJECT (mistaken), name, &value);
    g_object_set_property (element, name, &value);
    g_value_unset (&value);
  }
  g_object_thaw_notify (element);
  gst_object_unref (mistaken);
  for (int n = 0; n < 3; n++)
    fail_unless (chain.run (input).bytes == expected, "%s", row.properties);
  const Messages messages = messages_on (chain.bus);
  fail_unless (messages.errors.empty (), "%s", row.properties);
  assert_one_message (messages.warnings, row);

  g_object_freeze_notify (element);
  for (const char *name : names)
    g_object_set (element, name, nullptr, nullptr);
  g_object_set (element, "expression", "x + 2", nullptr);
  g_object_thaw_notify (element);
  fail_unless (chain.run (input).bytes == bytes_of (std::vector<gint32> (20, 7)));
}

TEST (test_a_file_that_is_mended_is_read_again_while_it_plays)
{
  Folder folder;
  auto write = [&] (const char *value) {
    return folder.write ("k.cl", std::string ("kernel void k (global const int *input,\n"
                                              "    global int *output, int gain)\n"
                                              "{\n"
                                              "  output[get_global_id (0)] = ")
                                     + value + ";\n}\n");
  };
  const std::string location = write ("gain * input[0]");
  Chain chain ("openclkernel name=k arguments=a,gain=3 location=" + location,
      tensors ("int32", "4"));
  GstElement *element = chain.element ();
  const Bytes input = bytes_of (std::vector<gint32> (4, 5));
  auto made = [&] { return values_of<gint32> (chain.run (input).bytes)[0]; };

  fail_unless_equals_int (made (), 15);
  write ("gain * inptu[0]");
  fail_unless_equals_int (made (), 15);
  /* Setting another property does not read the file. */
  g_object_set (
      element, "arguments", gst_structure_new_from_string ("a,gain=4"), nullptr);
  fail_unless_equals_int (made (), 20);
  g_signal_emit_by_name (element, "reload");
  fail_unless_equals_int (made (), 20);
  fail_unless_equals_int (made (), 20);
  Messages messages = messages_on (chain.bus);
  fail_unless (messages.errors.empty () && messages.warnings.size () == 1);
  fail_unless (messages.warnings[0].find ("k.cl:4:") != std::string::npos, "%s",
      messages.warnings[0].c_str ());
  write ("gain + input[0]");
  fail_unless_equals_int (made (), 20);
  g_signal_emit_by_name (element, "reload");
  fail_unless_equals_int (made (), 9);
  fail_unless (messages_on (chain.bus).warnings.empty ());
}

/* A stop waits for the work in flight on the device, and no longer. */
TEST (test_a_kernel_that_runs_long_ends_with_its_pipeline)
{
  const char *source =
      "kernel void k (global const int *input, global int *output, int rounds) { int sum "
      "= "
      "input[0]; for (int n = 0; n < rounds; n++) for (int m = 0; m < 1000000; m++) sum "
      "= sum "
      "* 1664525 + 1013904223 + output[0]; output[get_global_id (0)] = sum; }";
  Chain other ("openclkernel expression=\"x * 2\"", tensors ("int32", "4"));
  const Bytes input = bytes_of (std::vector<gint32> (4, 5));
  const Bytes twice = bytes_of (std::vector<gint32> (4, 10));
  fail_unless (other.run (input).bytes == twice);
  {
    Chain chain (with_source (source, "arguments=a,rounds=50 async-depth=2"),
        tensors ("int32", "4"));
    chain.start ();
    for (int n = 0; n < 20; n++)
      chain.push (input);
    g_usleep (200000);
    g_object_set (chain.element (), "arguments",
        gst_structure_new_from_string ("a,rounds=1"), nullptr);
    for (int n = 0; n < 20; n++)
      chain.pull ();
    fail_unless (messages_on (chain.bus).errors.empty ());
  }
  fail_unless (other.run (input).bytes == twice);
}

/* --- property changes --- */

TEST (test_output_caps_set_during_negotiation_apply_to_next_frame)
{
  const char *source = "kernel void k (global const uchar *input, global uchar *output) "
                       "{ output[get_global_id (0)] = input[get_global_id (0)] + 1; }";
  const std::string caps = "output-caps=other/tensors,dimensions=(string)";
  Chain chain (with_source (source, caps + "5"), tensors ("uint8", "10"));
  const Bytes input = pattern (10);
  expect_equal (chain.run (input).bytes.size (), gsize (5));
  check::set_together (chain.element (), caps + "3");
  check::set_during_negotiation (chain.element (), caps + "7");
  expect_equal (chain.run (input).bytes.size (), gsize (3));
  expect_equal (chain.run (input).bytes.size (), gsize (7));
}

/* --- state between frames --- */

namespace {
const char *const sums =
    "kernel void k (global const float *input, global float *output, global float *sum, "
    "global const float *previous) { size_t n = get_global_id (0); sum[n] += input[n]; "
    "output[n] = sum[n] + 100 * previous[n]; }";

/* Adds 2 to the sum and passes a frame. Expected: the sum, plus 100 times the output
 * before. */
void
expect_sums (Chain &chain, gsize count, std::vector<double> expected, const char *what)
{
  for (double number : expected)
    assert_near<float> (chain.run (bytes_of (std::vector<float> (count, 2))).bytes,
        std::vector<double> (count, number), 1e-6, what);
}

void
seek (Chain &chain)
{
  fail_unless (
      gst_element_seek_simple (chain.pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
}

const struct {
  const char *name;
  void (*happens) (Chain &);
  bool keeps; /* without keep-state */
} events[] = {
    {"flushing seek", seek, false},
    {"restart",
        [] (Chain &chain) {
          chain.set_state (GST_STATE_NULL);
          chain.start ();
        },
        false},
    {"ready",
        [] (Chain &chain) {
          chain.set_state (GST_STATE_READY);
          chain.start ();
        },
        false},
    {"settings",
        [] (Chain &chain) {
          g_object_set (chain.element (), "options", "-DOTHER", nullptr);
        },
        true},
    {"framerate",
        [] (Chain &chain) {
          gst_util_set_object_arg (G_OBJECT (chain.in), "caps",
              "other/tensors,format=static,num_tensors=1,types=float32,"
              "dimensions=(string)4,framerate=9/1");
        },
        true},
};
} // namespace

/* After 2 and 204: 6 and 20400 with the state, 2 and 0 without */
TEST_ROWS (test_state_of_a_kernel_is_set_back_unless_it_is_to_be_kept, events)
{
  for (bool keep : {false, true}) {
    Folder folder;
    const std::string zeros =
        save<float> (folder, "z.npy", NumberType::f32, {4}, {0, 0, 0, 0});
    Chain chain (with_source (sums, "arguments=a,sum=" + zeros
                                        + " keep-state=" + (keep ? "true" : "false")),
        tensors ("float32", "4"));
    g_object_set (chain.in, "stream-type", 1, nullptr); /* seekable */
    g_signal_connect (
        chain.in, "seek-data", G_CALLBACK (+[] () -> gboolean { return TRUE; }), nullptr);
    expect_sums (chain, 4, {2, 204}, row.name);
    row.happens (chain);
    expect_sums (chain, 4,
        keep || row.keeps ? std::vector<double>{20406, 2040608}
                          : std::vector<double>{2, 204},
        row.name);
  }
}

/* A file that has changed meanwhile is not read again without `reload`. */
TEST (test_state_of_a_kernel_ends_with_its_caps_and_with_reload)
{
  Folder folder;
  const std::string array =
      save<float> (folder, "z.npy", NumberType::f32, {4}, {0, 0, 0, 0});
  Chain chain (with_source (sums, "keep-state=true arguments=a,sum=" + array),
      tensors ("float32", "4"));
  expect_sums (chain, 4, {2, 204}, "before");
  for (const char *dimensions : {"3", "4"}) {
    gst_util_set_object_arg (
        G_OBJECT (chain.in), "caps", tensors ("float32", dimensions).c_str ());
    expect_sums (chain, gsize (dimensions[0] - '0'), {2, 204}, dimensions);
  }
  save<float> (folder, "z.npy", NumberType::f32, {4}, {5, 5, 5, 5});
  expect_sums (chain, 4, {20406}, "the file has changed");
  g_signal_emit_by_name (chain.element (), "reload");
  expect_sums (chain, 4, {2040607}, "reload");
}

/* Each frame is the frame plus half of the output before, in rows with padding. */
TEST (test_previous_is_the_last_output_in_its_layout)
{
  struct Row {
    const char *arguments, *at, *previous_at, *more;
  };
  const Row rows[] = {
      {", int width", "y * width + x", "y * width + x", ""},
      {", int stride", "y * stride + x", "y * stride + x", ""},
      {", int input_stride, int output_stride", "y * input_stride + x",
          "y * output_stride + x", ""},
      {", int stride, int previous_stride", "y * stride + x", "y * previous_stride + x",
          ""},
  };
  for (const Row &row : rows)
    for (const char *qualifier : {"const ", ""}) {
      const std::string source =
          std::string ("kernel void k (global const uchar *input, global uchar *output, "
                       "global ")
          + qualifier + "uchar *previous" + row.arguments
          + ") { size_t x = get_global_id (0), y = get_global_id (1); uchar before = "
            "previous["
          + row.previous_at + "]; "
          + (*qualifier ? "" : std::string ("previous[") + row.previous_at + "] = 7; ")
          + "output["
          + (strstr (row.arguments, "output_stride") ? row.previous_at : row.at)
          + "] = input[" + row.at + "] / 2 + before / 2; }";
      Chain chain (with_source (source), video ("GRAY8", 50, 9));
      std::vector<int> expected (50 * 9, 0);
      for (guint frame = 0; frame < 3; frame++) {
        const Bytes input = pattern (52 * 9, frame + 1);
        for (gsize n = 0; n < expected.size (); n++)
          expected[n] = input[n / 50 * 52 + n % 50] / 2 + expected[n] / 2;
        assert_lines (
            chain.run (input).bytes, 50, 9,
            [&] (gsize y, gsize x) { return expected[y * 50 + x]; }, row.arguments);
      }
    }
}

TEST (test_previous_is_the_last_output_of_an_expression)
{
  Chain chain ("openclkernel expression=\"x + previous / 2\" "
               "output-caps=other/tensors,types=float64",
      tensors ("float32", "7:3"));
  Chain gray ("openclkernel expression=\"(x + previous) / 2\"", video ("GRAY8", 50, 3));
  std::vector<double> expected (21, 0), levels (150, 0);
  for (gsize frame = 0; frame < 3; frame++) {
    const auto numbers =
        filled<float> (21, [&] (gsize n) { return float (n) + 10 * float (frame); });
    for (gsize n = 0; n < 21; n++)
      expected[n] = double (numbers[n]) + expected[n] / 2;
    assert_near<double> (chain.run (bytes_of (numbers)).bytes, expected, 0, "array");
    const Bytes input = pattern (52 * 3, guint (frame) + 1);
    for (gsize n = 0; n < 150; n++)
      levels[n] = std::nearbyint ((input[n / 50 * 52 + n % 50] + levels[n]) / 2);
    const Bytes got = gray.run (input).bytes;
    for (gsize n = 0; n < 150; n++)
      fail_unless (std::abs (got[n / 50 * 52 + n % 50] - levels[n]) <= 1);
    for (gsize n = 0; n < 150; n++)
      levels[n] = got[n / 50 * 52 + n % 50];
  }
}

TEST (test_previous_of_arguments_is_an_array_or_a_number)
{
  Folder folder;
  const std::string ones = save<float> (folder, "o.npy", NumberType::f32, {2}, {1, 8});
  const char *source = "kernel void k (global const float *input, global float *output, "
                       "global const float *previous) { size_t n = get_global_id (0); "
                       "output[n] = input[n] + previous[n]; }";
  Chain chain (
      with_source (source, "arguments=a,previous=" + ones), tensors ("float32", "2"));
  Chain number ("openclkernel expression=\"x + previous\" arguments=a,previous=3.0",
      tensors ("float32", "2"));
  for (int frame = 0; frame < 2; frame++) {
    const Bytes input = bytes_of (std::vector<float>{5, 6});
    assert_near<float> (chain.run (input).bytes, {6, 14}, 0, "array");
    assert_near<float> (number.run (input).bytes, {8, 9}, 0, "number");
  }
}

/* --- several outputs --- */

/* The second output begins where no number of 32 bits may be: after 450 bytes. */
TEST (test_several_outputs_are_one_buffer_in_any_places)
{
  const char *source =
      "kernel void k (global const uchar *input, global uchar *output0, global uint "
      "*output1, global uint *output2, int input_stride, int width, int output1_count, "
      "int output1_width, int output2_shape0, int count, uint frame) { size_t x = "
      "get_global_id (0), y = get_global_id (1); uchar v = input[y * input_stride + x]; "
      "output0[y * width + x] = 255 - v; atomic_inc (output1 + v / 64); if (x + y == 0) "
      "{ "
      "output2[0] = output1_count; output2[1] = output1_width; output2[2] = "
      "output2_shape0; output2[3] = count; output2[4] = frame; } }";
  Chain chain (
      with_source (source,
          "fill-output=0" + several_outputs (3, "uint8,uint32,uint32", "50:9,4,5")),
      video ("GRAY8", 50, 9));
  for (guint32 frame = 0; frame < 3; frame++) {
    const Bytes input = pattern (52 * 9, frame + 1);
    std::vector<guint32> counts (4, 0);
    Bytes expected;
    for (gsize n = 0; n < 450; n++) {
      const guint8 value = input[n / 50 * 52 + n % 50];
      expected.push_back (guint8 (255 - value));
      counts[value / 64]++;
    }
    for (const Bytes &more :
        {bytes_of (counts), bytes_of (std::vector<guint32>{4, 4, 5, 450, frame})})
      expected.insert (expected.end (), more.begin (), more.end ());
    const Output output = chain.run (input);
    fail_unless_equals_uint64 (output.bytes.size (), expected.size ());
    for (gsize n = 0; n < expected.size (); n++)
      fail_unless (output.bytes[n] == expected[n], "frame %u, byte %d: %u, expected %u",
          frame, int (n), output.bytes[n], expected[n]);
    for (const char *field :
        {"num_tensors=(int)3", "types=(string)\"uint8\\,uint32\\,uint32\"",
            "dimensions=(string)\"50:9\\,4\\,5\""})
      fail_unless (
          output.caps.find (field) != std::string::npos, "%s", output.caps.c_str ());
  }
}

/* Outputs that begin at a multiple of 4096 bytes, which each device can address */
TEST (test_each_of_several_outputs_has_its_previous_one)
{
  const char *source =
      "kernel void k (global const int *input, global int *output0, global float "
      "*output1, "
      "global const int *previous0, global const float *previous1) { size_t n = "
      "get_global_id (0); output0[n] = input[n] + 2 * previous0[n]; output1[n] = 0.5f * "
      "input[n] + previous1[n]; }";
  Chain chain (with_source (source, several_outputs (2, "int32,float32", "1024,1024:1")),
      tensors ("int32", "1024"));
  std::vector<gint32> sums (1024, 0);
  std::vector<float> halves (1024, 0);
  for (int frame = 0; frame < 3; frame++) {
    const auto input =
        filled<gint32> (1024, [&] (gsize n) { return gint32 (n) * (frame + 1); });
    for (gsize n = 0; n < 1024; n++) {
      sums[n] = input[n] + 2 * sums[n];
      halves[n] += 0.5f * float (input[n]);
    }
    Bytes expected = bytes_of (sums), second = bytes_of (halves);
    expected.insert (expected.end (), second.begin (), second.end ());
    fail_unless (chain.run (bytes_of (input)).bytes == expected, "frame %d", frame);
  }
}

/* --- the contents of the output before the kernel runs --- */

namespace {
const char *const histogram =
    "kernel void k (global const uchar *input, global uint *output) "
    "{ atomic_inc (output + input[get_global_id (0)]); }";
const char *const old_values = "atomic function on output";

/* Output elements are 16, and work-items 1000. */
const char *const sixteen_of_1000 =
    "global-size=1000 output-caps=\"other/tensors,types=uint32,dimensions=(string)16\" ";

std::vector<guint32>
counts_of (const Bytes &values, guint32 first)
{
  std::vector<guint32> counts (16, first);
  for (guint8 value : values)
    counts[value]++;
  return counts;
}

/* Other values for each frame */
Bytes
small_values (guint frame)
{
  Bytes values (1000);
  for (gsize n = 0; n < values.size (); n++)
    values[n] = guint8 ((n * (frame + 3) / 7) % 16);
  return values;
}
} // namespace

TEST (test_fill_output_starts_each_histogram_from_that_byte)
{
  Chain chain (with_source (histogram, std::string ("fill-output=0 ") + sixteen_of_1000),
      tensors ("uint8", "1000"));
  for (guint frame = 0; frame < 12; frame++) {
    const Bytes values = small_values (frame);
    const guint32 first = frame < 8 ? 0 : 0x01010101u;
    if (frame == 8)
      g_object_set (chain.element (), "fill-output", 1, nullptr);
    fail_unless (
        values_of<guint32> (chain.run (values).bytes) == counts_of (values, first),
        "frame %u", frame);
  }
  const Messages messages = messages_on (chain.bus);
  fail_unless (messages.warnings.empty () && messages.errors.empty ());
}

/* Rows with and without padding, in the frame and in a buffer of the kernel's own */
TEST_ROWS (
    test_fill_output_fills_every_pixel_of_video, {"", "int stride, ", "int width, "})
{
  const std::string source = "kernel void k (global const uchar *input, "
                             + std::string (row) + "global uchar *output) "
                             + "{ if (get_global_id (0) + get_global_id (1) == 0) "
                             + "output[0] = 7; }";
  for (int width : {97, 64, 1}) {
    Chain chain (with_source (source, "fill-output=200"), video ("GRAY8", width, 5));
    for (guint frame = 0; frame < 3; frame++)
      assert_lines (
          chain.run (pattern (stride_of (width) * 5)).bytes, width, 5,
          [] (gsize y, gsize x) { return x + y == 0 ? 7 : 200; }, "filled");
  }
}

TEST (test_fill_output_fills_those_of_sources_and_mixers)
{
  const std::string caps =
      "output-caps=\"other/tensors,types=uint32,dimensions=(string)16,"
      "framerate=10/1\" ";
  const std::string body = "{ atomic_add (&output[get_global_id (0) % 16], 5u); }";
  const std::string source = "openclkernelsrc num-buffers=9 global-size=32 fill-output=0 "
                             "source=\"kernel void k (global uint *output) "
                             + body + "\" " + caps;
  const std::string mixer = "openclkernelmixer global-size=32 fill-output=0 "
                            "source=\"kernel void k (global const "
                            "uint *a, global uint *output) "
                            + body + "\" " + caps;
  for (const std::string &line : {source, source + " ! " + mixer}) {
    Chain chain (line);
    chain.start ();
    for (guint frame = 0; frame < 9; frame++)
      fail_unless (
          values_of<guint32> (chain.pull ().bytes) == std::vector<guint32> (16, 10));
    fail_unless (messages_on (chain.bus).warnings.empty ());
  }
}

/* Each call reads what the output holds, unless it only stores or has another target. */
TEST (test_atomic_functions_on_the_output_are_one_warning_without_fill_output)
{
  const struct {
    const char *call;
    bool warns;
  } calls[] = {{"atomic_inc (output);", true}, {"atomic_add (&output[3], 1u);", true},
      {"atomic_max (((volatile global uint *) output) + 1, 2u);", true},
      {"atom_cmpxchg (output, 0u, 1u);", true},
      {"/* atomic_inc (output); */ output[0] = 1;", false},
      {"local uint sum; sum = 0; atomic_add (&sum, output[0]); output[1] = sum;", false}};
  for (const auto &row : calls) {
    const std::string source = "kernel void k (global const uchar *input, "
                               "global uint *output) { "
                               + std::string (row.call) + " }";
    for (const char *fill : {"", "fill-output=0 "}) {
      Chain chain (with_source (source, std::string (fill) + sixteen_of_1000),
          tensors ("uint8", "1000"));
      for (guint frame = 0; frame < 3; frame++)
        chain.run (small_values (frame));
      const Messages messages = messages_on (chain.bus);
      const bool warns = row.warns && *fill == 0;
      fail_unless_equals_uint64 (messages.warnings.size (), warns);
      if (warns)
        check::expect_contains (messages.warnings[0], {old_values, "fill-output=0"});
    }
  }
}

/* --- local memory --- */

namespace {
/* Runs a kernel with two local-memory arguments of `a` and `b` bytes, which declares
 * `own` bytes itself. Returns the errors. */
std::vector<std::string>
errors_with_local_memory (gsize a, gsize b, gsize own)
{
  const std::string source =
      "kernel void k (global int *output, local char *a, local char *b) { local char own["
      + std::to_string (own)
      + "]; own[get_local_id (0)] = a[0] = b[0] = 1; barrier (CLK_LOCAL_MEM_FENCE); "
        "output[get_global_id (0)] = own[get_local_id (1)] + a[0] + b[0]; }";
  const check::Outcome outcome = check::run (
      "openclkernelsrc num-buffers=1 source=\"" + source
      + "\" arguments=\"x,a=" + std::to_string (a) + ",b=" + std::to_string (b)
      + "\" output-caps=other/tensors,types=int32,dimensions=(string)4 ! fakesink");
  return outcome.errors;
}

gsize
local_memory_of_device ()
{
  GstOpenCLContext *context = check::new_context ();
  cl_ulong size = 0;
  fail_unless_equals_int (clGetDeviceInfo (gst_opencl_context_get_device (context),
                              CL_DEVICE_LOCAL_MEM_SIZE, sizeof size, &size, nullptr),
      CL_SUCCESS);
  gst_object_unref (context);
  return gsize (size);
}

struct LocalRow {
  gsize a, b, own;
  bool fits;
};

void
expect_local_memory (const std::vector<LocalRow> &rows, gsize all)
{
  for (const LocalRow &row : rows) {
    const std::vector<std::string> errors =
        errors_with_local_memory (row.a, row.b, row.own);
    fail_unless (row.fits == errors.empty (), "%zu, %zu, %zu: %s", row.a, row.b, row.own,
        errors.empty () ? "no error" : errors[0].c_str ());
    if (row.fits)
      continue;
    const auto says = [&] (gsize size) {
      return errors[0].find (" " + std::to_string (size) + " ") != std::string::npos;
    };
    fail_unless ((says (row.a) || says (row.b)) && says (all), "%s", errors[0].c_str ());
  }
}
} // namespace

/* The sum is limited: PoCL ends the process if it is too large. NVIDIA's driver uses up
 * to four bytes itself. */
TEST (test_openclkernel_local_memory_of_all_arguments_fits_the_device)
{
  const gsize all = local_memory_of_device ();
  expect_local_memory (
      {{all / 2, all / 4, 512, true}, {all - 1040, 512, 512, true}, {all, 1, 1, false},
          {all / 2 + 1, all / 2, 1, false}, {1, 4 * all, 1, false}},
      all);
}

TEST (test_openclkernel_local_memory_that_the_kernel_declares_counts)
{
  const gsize all = local_memory_of_device ();
  expect_local_memory ({{all / 2, all / 2, 512, false}}, all);
}
