/* Tests of kernels with images and samplers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"
#include "tests/check/opencl-check.hpp"

#include <gst/video/video.h>

using namespace programs;
using opencl::NumberType;

namespace {
#define AT "const int2 at = (int2) (get_global_id (0), get_global_id (1)); "
#define KERNEL(parameters, body)                                                         \
  "openclkernel name=k source=\"constant sampler_t nearest = "                           \
  "CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST; "                                   \
  "kernel void k (" parameters ") { " AT body " }\" "
#define IMAGES "read_only image2d_t input, write_only image2d_t output"

const char *const copies =
    KERNEL (IMAGES, "write_imagef (output, at, read_imagef (input, nearest, at));");

Bytes
pattern (gsize size)
{
  return check::pattern (size, 1);
}

bool
has_images_of (const char *format)
{
  const std::string caps = video (format, 4, 4);
  const check::Owned<GstCaps> parsed = gst_caps_from_string (caps.c_str ());
  GstVideoInfo info;
  fail_unless (gst_video_info_from_caps (&info, parsed));
  Chain chain (copies, caps);
  chain.start ();
  chain.push (Bytes (info.size));
  for (;;) {
    const check::Owned<GstSample> sample =
        gst_app_sink_try_pull_sample (GST_APP_SINK (chain.out), GST_SECOND / 10);
    if (sample)
      return true;
    if (!messages_on (chain.bus).errors.empty ())
      return false;
  }
}

/* A frame of GRAY8 that begins at byte 37 of its memory, with rows of 80 bytes */
GstBuffer *
padded_frame (const Bytes &bytes)
{
  GstBuffer *buffer = check::buffer_of (bytes);
  gsize offsets[] = {37, 0, 0, 0};
  gint strides[] = {80, 0, 0, 0};
  gst_buffer_add_video_meta_full (buffer, GST_VIDEO_FRAME_FLAG_NONE,
      GST_VIDEO_FORMAT_GRAY8, 50, 9, 1, offsets, strides);
  return buffer;
}
} // namespace

/* 61 pixels of one or two bytes have padding after them. */
const struct {
  const char *format;
  gsize pixel;
} formats[] = {{"GRAY8", 1}, {"GRAY16_LE", 2}, {"RGBA", 4}, {"RGBx", 4}, {"BGRA", 4},
    {"BGRx", 4}, {"RGBA64_LE", 8}};

TEST_ROWS (test_images_of_all_formats_keep_every_bit, formats)
{
  for (gsize width : {64, 61}) {
    const gsize line = width * row.pixel, stride = (line + 3) / 4 * 4;
    Chain chain (copies, video (row.format, int (width), 11));
    const Bytes input = pattern (stride * 11);
    for (int frame = 0; frame < 2; frame++) {
      const Bytes got = chain.run (input).bytes;
      fail_unless_equals_uint64 (got.size (), input.size ());
      for (gsize y = 0; y < 11; y++)
        fail_unless (
            memcmp (got.data () + y * stride, input.data () + y * stride, line) == 0,
            "%s, row %d", row.format, int (y));
    }
  }
}

/* Whatever the order in memory, .x is red and .w is alpha. */
TEST (test_components_of_images_are_red_green_blue_alpha)
{
  const struct {
    const char *format;
    Bytes pixel;
  } orders[] = {{"RGBA", {255, 153, 51, 102}}, {"BGRA", {51, 153, 255, 102}},
      {"ARGB", {102, 255, 153, 51}}, {"ABGR", {102, 51, 153, 255}}, {"GRAY8", {255}}};
  for (const auto &order : orders) {
    if (!has_images_of (order.format))
      continue;
    Chain chain (
        KERNEL (IMAGES, "write_imagef (output, at, (float4) (1, 0.6f, 0.2f, 0.4f));"),
        video (order.format, 4, 1));
    const Bytes got = chain.run (Bytes (4 * order.pixel.size ())).bytes;
    fail_unless (
        Bytes (got.begin (), got.begin () + gssize (order.pixel.size ())) == order.pixel,
        "%s", order.format);
  }
}

TEST (test_images_take_frames_of_any_layout)
{
  const Bytes input = pattern (37 + 80 * 9);
  Chain chain (copies, video ("GRAY8", 50, 9));
  chain.start ();
  chain.push (padded_frame (input));
  const Bytes got = chain.pull ().bytes;
  for (gsize y = 0; y < 9; y++)
    fail_unless (memcmp (got.data () + 52 * y, input.data () + 37 + 80 * y, 50) == 0);
}

/* `stride` is that of the output alone, so an image may have longer rows. */
TEST (test_an_image_and_a_pointer_in_one_kernel)
{
  const char *half = KERNEL (
      "read_only image2d_t input, global uchar *output, int stride, int input_width",
      "output[at.y * stride + at.x] = 255 * read_imagef (input, nearest, 2 * at).x + "
      "input_width - 20;");
  Chain chain (std::string (half) + "output-caps=video/x-raw,width=10,height=3",
      video ("GRAY8", 20, 6));
  const Bytes input = pattern (20 * 6);
  const Bytes got = chain.run (input).bytes;
  for (gsize n = 0; n < 30; n++)
    fail_unless_equals_int (
        got[n / 10 * 12 + n % 10], input[n / 10 * 2 * 20 + n % 10 * 2]);
}

TEST (test_kernels_may_read_integers)
{
  Chain chain (
      KERNEL (IMAGES,
          "write_imageui (output, at, read_imageui (input, nearest, at) / 2 + 1);"),
      video ("RGBA", 6, 2));
  const Bytes input = pattern (48), got = chain.run (input).bytes;
  for (gsize n = 0; n < 48; n++)
    fail_unless_equals_int (got[n], input[n] / 2 + 1);
}

TEST (test_arrays_are_images)
{
  const char *sums = KERNEL (IMAGES,
      "write_imagef (output, at, read_imagef (input, nearest, at) + at.x + 100 * at.y);");
  for (const char *dimensions : {"6:4", "4:3:2", "1:6:4", "1:6:4:1"}) {
    const gsize channels = dimensions[0] == '4' ? 4 : 1, width = channels == 4 ? 3 : 6;
    Chain chain (sums, tensors ("float32", dimensions));
    const auto input = filled<gfloat> (24, [] (gsize n) { return gfloat (n) / 8; });
    const auto got = values_of<gfloat> (chain.run (bytes_of (input)).bytes);
    fail_unless_equals_uint64 (got.size (), 24);
    for (gsize n = 0; n < 24; n++)
      fail_unless_equals_float (
          double (got[n]), double (input[n]) + double (n / channels % width)
                               + 100 * double (n / channels / width));
  }
}

/* The kernel writes the left half. */
TEST (test_an_image_may_be_filled_before_it_is_written)
{
  const char *left =
      KERNEL (IMAGES, "if (at.x < 8) write_imagef (output, at, (float4) (1));");
  Chain chain (std::string (left) + "fill-output=7", video ("GRAY8", 16, 3));
  const Bytes got = chain.run (pattern (48)).bytes;
  for (gsize n = 0; n < 48; n++)
    fail_unless_equals_int (got[n], n % 16 < 8 ? 255 : 7);
}

/* Halfway between two pixels */
TEST (test_samplers_are_made_from_words)
{
  const struct {
    const char *words, *x;
    int expected;
  } samplers[] = {{"linear", "1", 50}, {"nearest", "0.9f", 0}, {"linear", "-3", 0},
      {"linear+clamp-to-edge", "4", 100}, {"clamp+nearest", "4", 0},
      {"normalized", "0.75f", 100}, {"normalized+repeat", "1.75f", 100}};
  for (const auto &sampler : samplers) {
    Chain chain ("openclkernel source=\"kernel void k (" IMAGES
                 ", sampler_t how) { write_imagef (output, (int2) (get_global_id (0), 0),"
                 " read_imagef (input, how, (float2) ("
                     + std::string (sampler.x)
                     + ", 0.5f))); }\" arguments=a,how=" + sampler.words,
        video ("GRAY8", 2, 1));
    const Bytes got = chain.run ({0, 100, 0, 0}).bytes;
    fail_unless (abs (got[0] - sampler.expected) <= 1, "%s at %s: %d, expected %d",
        sampler.words, sampler.x, got[0], sampler.expected);
  }
}

/* The names are those of programs for other frameworks. */
TEST (test_other_names_are_bound_in_order)
{
  Chain chain ("openclkernel source=\"kernel void k (global uchar *dst, uint index, "
               "global const uchar *src, uchar by) { const size_t n = get_global_id (1) "
               "* 8 + get_global_id (0); dst[n] = src[n] + index * by; }\" "
               "arguments=a,by=10",
      video ("GRAY8", 8, 2));
  const Bytes input = filled<guint8> (16, [] (gsize n) { return guint8 (n); });
  for (int frame = 0; frame < 3; frame++) {
    const Bytes got = chain.run (input).bytes;
    for (gsize n = 0; n < 16; n++)
      fail_unless_equals_int (got[n], int (n) + 10 * frame);
  }
}

TEST (test_a_program_with_images_follows_one_with_pointers)
{
  Chain chain ("openclkernel name=k expression=\"1 - x\"", video ("GRAY8", 8, 2));
  const Bytes input = pattern (16);
  Bytes negative = input;
  for (guint8 &byte : negative)
    byte = guint8 (255 - byte);
  fail_unless (chain.run (input).bytes == negative);
  const check::Owned<GstElement> other = gst_parse_launch (copies, nullptr);
  check::Owned<gchar> source;
  g_object_get (other, "source", source.out (), nullptr);
  g_object_set (
      chain.element (), "expression", "", "source", source.operator->(), nullptr);
  fail_unless (chain.run (input).bytes == input);
}
