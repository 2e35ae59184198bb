/* keyfill against its rule
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include "keyingreference.hpp"

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;

static Pixel
color_of (guint argb)
{
  return {
      uint8_t (argb >> 16), uint8_t (argb >> 8), uint8_t (argb), uint8_t (argb >> 24)};
}

static Picture
painted (Picture picture, Pixel color)
{
  for (Pixel &pixel : picture.pixels) {
    if (pixel.alpha == 0)
      pixel = color;
  }
  return picture;
}

TEST (test_keyfill_paints_keyed_pixels_and_no_other)
{
  ElementUnderTest element ("keyfill");
  assert_same (element.run (noise (40, 30, 1, 50)),
      painted (noise (40, 30, 1, 50), {0, 0, 0, 255}), "default");
  for (guint color : {0xff3366ccu, 0x00ff00ffu, 0x80010203u}) {
    element.set ("keyfill", "color", color);
    for (const auto &format : keying_frames::formats) {
      for (const Layout &layout : keying_frames::layouts) {
        for (const auto &[width, height] : {std::pair (77, 41), std::pair (1, 1)}) {
          Picture picture = noise (width, height, 2, 50);
          assert_same (element.run (picture, format, layout),
              painted (picture, color_of (color)), "painted");
        }
      }
    }
  }
}

/* Returns true if `actual` is the composite of both, in real numbers. */
static bool
is_composite (const Pixel &actual, const Pixel &over, const Pixel &under)
{
  double a = over.alpha / 255., b = under.alpha / 255. * (1 - a), both = a + b;
  if (both == 0)
    return actual == over;
  auto near = [] (double wanted, uint8_t is) { return fabs (wanted - is) <= 0.5 + 1e-9; };
  return near ((over.red * a + under.red * b) / both, actual.red)
         && near ((over.green * a + under.green * b) / both, actual.green)
         && near ((over.blue * a + under.blue * b) / both, actual.blue)
         && near (255 * both, actual.alpha);
}

TEST (test_keyfill_composites_as_over_does_rounded)
{
  ElementUnderTest element ("keyfill method=composite");
  Picture picture = noise (256, 100, 3, 20);
  for (guint color : {0xff3366ccu, 0x00ff00ffu, 0x80010203u}) {
    element.set ("keyfill", "color", color);
    Picture result = element.run (picture, keying_frames::formats[3]);
    for (size_t n = 0; n < picture.pixels.size (); n++) {
      if (!is_composite (result.pixels[n], picture.pixels[n], color_of (color)))
        ck_abort_msg ("pixel %d over %08x", int (n), color);
    }
  }
}

/* The upper field is white, the lower one black. */
TEST (test_keyfill_scales_fields_of_a_background_each_by_itself)
{
  const char *const common =
      "appsrc name=%s format=time caps=video/x-raw,format=RGBA,width=%d,height=%d,"
      "framerate=25/1,interlace-mode=interleaved ! openclupload ! ";
  Pipeline pipeline (text (common, "behind", 8, 8) + "key.background_0 "
                     + text (common, "film", 16, 16)
                     + "keyfill name=key ! opencldownload ! appsink name=out sync=false");
  Bytes background;
  for (int y = 0; y < 8; y++) {
    for (int n = 0; n < 4 * 8; n++)
      background.push_back (n % 4 == 3 || y % 2 == 0 ? 255 : 0);
  }
  pipeline.start ();
  for (const auto &[name, bytes] :
      {std::pair ("behind", background), std::pair ("film", Bytes (4 * 16 * 16, 0))}) {
    GstAppSrc *source = GST_APP_SRC (pipeline[name]);
    GstBuffer *buffer = gst_buffer_new_memdup (bytes.data (), bytes.size ());
    GST_BUFFER_PTS (buffer) = 0;
    GST_BUFFER_DURATION (buffer) = GST_SECOND / 25;
    gst_app_src_push_buffer (source, buffer);
    gst_app_src_end_of_stream (source);
  }
  const Bytes made = read_buffer (gst_sample_get_buffer (pipeline.pull ()));
  for (int n = 0; n < 4 * 16 * 16; n++) {
    const int expected = n % 4 == 3 || n / 64 % 2 == 0 ? 255 : 0;
    fail_unless_equals_int (made[n], expected);
  }
}
