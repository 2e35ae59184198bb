/* Tests of keying in 16 bits: the rules of the keying elements on RGBA64_LE, in integers
 * and doubles
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/as-gpu.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/videoframes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

using namespace check;

namespace {
using Pixel = std::array<int, 4>; /* red, green, blue, alpha; 0 to 65535 */

struct Deep {
  int width, height;
  std::vector<Pixel> pixels;

  Deep (int width, int height)
      : width (width), height (height), pixels (size_t (width) * height)
  {
  }
  Pixel &at (int x, int y) { return pixels[size_t (y) * width + x]; }
  const Pixel &at (int x, int y) const { return pixels[size_t (y) * width + x]; }
  bool has (int x, int y) const { return x >= 0 && y >= 0 && x < width && y < height; }
};

const int levels = 65535;
const Pixel green = {0x20 * 257, 0xa0 * 257, 0x40 * 257, levels};
#define KEY "key-color=0xff20a040 "

/* Pixels that differ from the key by less than a level of 8 bits, on both sides of
 * `threshold`, among other colours; all with alpha */
Deep
film (int width, int height, int threshold, unsigned seed)
{
  Deep picture (width, height);
  std::mt19937 random (seed);
  for (Pixel &pixel : picture.pixels) {
    pixel = green;
    if (random () % 4 == 0)
      for (int c = 0; c < 3; c++)
        pixel[c] = int (random () % (levels + 1));
    else {
      int &component = pixel[random () % 3];
      const int away = threshold + int (random () % 5) - 3;
      component += component + away <= levels ? away : -away;
      component = std::max (component, 0);
    }
    pixel[3] = 1 + int (random () % levels);
  }
  return picture;
}

video::Picture
made_of (const Deep &deep, const char *format, int padding)
{
  video::Picture picture (video::info_of (format, deep.width, deep.height), padding);
  video::View view (picture, GST_MAP_WRITE);
  for (int y = 0; y < deep.height; y++)
    for (int x = 0; x < deep.width; x++)
      for (int c = 0; c < 4; c++)
        view.set (c, x, y, view.is_wide () ? deep.at (x, y)[c] : deep.at (x, y)[c] / 257);
  return picture;
}

Deep
read (const video::Picture &picture)
{
  Deep deep (picture.info.width, picture.info.height);
  video::View view (picture);
  for (int y = 0; y < deep.height; y++)
    for (int x = 0; x < deep.width; x++)
      for (int c = 0; c < 4; c++)
        deep.at (x, y)[c] = view.at (c, x, y);
  return deep;
}

Deep
through (const std::string &elements, const Deep &deep, int padding = 0,
    const char *format = "RGBA64_LE")
{
  const GstVideoInfo info = video::info_of (format, deep.width, deep.height);
  video::Run run (elements, info, info);
  return read (run (made_of (deep, format, padding)));
}

void
assert_same (
    const Deep &got, const Deep &expected, int tolerance, const std::string &what)
{
  for (int y = 0; y < expected.height; y++)
    for (int x = 0; x < expected.width; x++)
      for (int c = 0; c < 4; c++)
        fail_unless (abs (got.at (x, y)[c] - expected.at (x, y)[c]) <= tolerance,
            "%s, %dx%d: component %d of %d,%d is %d, expected %d", what.c_str (),
            expected.width, expected.height, c, x, y, got.at (x, y)[c],
            expected.at (x, y)[c]);
}

int
distance (const Pixel &a, const Pixel &b)
{
  return abs (a[0] - b[0]) + abs (a[1] - b[1]) + abs (a[2] - b[2]);
}

int
threshold_of (double tolerance)
{
  return int (std::ceil (tolerance * (3 * levels)));
}

Deep
keyed (Deep picture, double tolerance)
{
  for (Pixel &pixel : picture.pixels)
    if (distance (pixel, green) < threshold_of (tolerance))
      pixel[3] = 0;
  return picture;
}

/* One iteration of `rule`, which returns whether a pixel is keyed. Its arguments are the
 * pixel's state, its number of keyed neighbours, its value, and the keyed neighbours
 * within the frame. */
using Neighbour = std::array<int, 2>;
const Neighbour around[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

template <typename Rule>
std::vector<bool>
iterated (const Deep &picture, const std::vector<bool> &keys, bool outside, Rule rule)
{
  std::vector<bool> next = keys;
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++) {
      std::vector<Neighbour> keyed_ones;
      int count = 0;
      for (const Neighbour &step : around) {
        const int column = x + step[0], line = y + step[1];
        const bool is_inside = picture.has (column, line);
        const bool is_keyed =
            is_inside ? bool (keys[size_t (line) * picture.width + column]) : outside;
        count += is_keyed;
        if (is_keyed && is_inside)
          keyed_ones.push_back ({column, line});
      }
      const size_t at = size_t (y) * picture.width + x;
      next[at] = rule (bool (keys[at]), count, picture.at (x, y), keyed_ones);
    }
  return next;
}

/* noisereduce fill-iterations=1 iterations=2 ! flowkey iterations=3 */
Deep
repaired (const Deep &filmed, double tolerance)
{
  const Deep after_key = keyed (filmed, tolerance);
  std::vector<bool> keys;
  for (const Pixel &pixel : after_key.pixels)
    keys.push_back (pixel[3] == 0);
  using Ones = std::vector<Neighbour>;
  auto fill = [] (bool is, int count, const Pixel &, const Ones &) {
    return is || count >= 2;
  };
  auto reduce = [] (bool is, int count, const Pixel &, const Ones &) {
    return is && count >= 3;
  };
  auto flow = [&] (bool is, int, const Pixel &pixel, const Ones &ones) {
    for (const Neighbour &one : ones)
      is = is || distance (pixel, filmed.at (one[0], one[1])) < threshold_of (tolerance);
    return is;
  };
  keys = iterated (filmed, keys, false, fill);
  for (int n = 0; n < 2; n++)
    keys = iterated (filmed, keys, true, reduce);
  for (int n = 0; n < 3; n++)
    keys = iterated (filmed, keys, false, flow);
  Deep result = filmed;
  for (size_t n = 0; n < keys.size (); n++)
    if (keys[n])
      result.pixels[n][3] = 0;
  return result;
}

const std::pair<int, int> sizes[] = {{1, 1}, {7, 3}, {33, 17}, {163, 95}};
} // namespace

TEST (test_deep_distance_is_decided_in_sixteen_bits)
{
  for (double tolerance : {0.02501, 0.2})
    for (const auto &size : sizes)
      for (int padding : {0, 4, 3}) {
        const Deep picture = film (size.first, size.second, threshold_of (tolerance), 1);
        const std::string element =
            "chromakey " KEY "tolerance=" + std::to_string (tolerance);
        assert_same (
            through (element, picture, padding), keyed (picture, tolerance), 0, element);
      }
}

TEST (test_deep_keys_are_repaired_by_the_same_rules)
{
  const double tolerance = 0.025;
  const std::string run =
      "chromakey " KEY "! noisereduce fill-iterations=1 iterations=2 ! "
      "flowkey iterations=3";
  for (const std::string &elements : {run, std::string ("openclupload ! ") + run})
    for (const auto &size : sizes) {
      const Deep picture = film (size.first, size.second, threshold_of (tolerance), 2);
      assert_same (
          through (elements, picture), repaired (picture, tolerance), 0, elements);
    }
}

/* Chroma in 16 bits: flow stops at the limit. */
TEST (test_deep_flow_stops_at_its_limit)
{
  Deep picture (300, 2);
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 300; x++)
      picture.at (x, y) = {green[0] + 60 * x, green[1], green[2], levels};
  Deep got = through ("chromakey " KEY "tolerance=0.0005 ! flowkey iterations=0 "
                      "tolerance=0.01 limit=0.02 " KEY,
      picture);
  const double limit = std::floor (std::pow (0.02 * 255 * 128, 2)) * 257 * 257;
  for (int x = 0; x < 300; x++) {
    const double red = 60. * x, cb = -21 * red, cr = 64 * red;
    const bool expected = cb * cb + cr * cr <= limit;
    fail_unless ((got.at (x, 0)[3] == 0) == expected, "column %d", x);
  }
}

/* Edges have 0.8 of the default balance. */
static Pixel
by_difference (Pixel pixel, const Pixel &screen, double similarity, double smoothness)
{
  auto excess = [] (const Pixel &of) {
    const double one = of[0] / 257., other = of[2] / 257.;
    return of[1] / 257. - (0.4 * std::min (one, other) + 0.6 * std::max (one, other));
  };
  const double far = 1 - excess (pixel) / excess (screen);
  const double matte = std::clamp ((far - similarity) / smoothness, 0., 1.);
  pixel[3] = int (std::lround (pixel[3] * matte));
  return pixel;
}

TEST (test_deep_difference_has_alphas_between_those_of_eight_bits)
{
  Deep picture (700, 3), expected (700, 3);
  for (int y = 0; y < 3; y++)
    for (int x = 0; x < 700; x++) {
      picture.at (x, y) = {
          green[0] + 3 * x, green[1] - 7 * x, green[2] + 5 * x, 60000 - 13 * y};
      expected.at (x, y) = by_difference (picture.at (x, y), green, 0.05, 0.15);
    }
  Deep got =
      through ("chromakey " KEY "mixing=levels method=difference plate=none refine=false "
               "core=false similarity=0.05 smoothness=0.15",
          picture);
  assert_same (got, expected, 2, "difference");
  std::set<int> alphas;
  for (int x = 0; x < 700; x++)
    alphas.insert (got.at (x, 0)[3]);
  fail_unless (alphas.size () > 256, "%u", unsigned (alphas.size ()));
}

/* Encoded as a lossless image file */
static std::string
encoded (const Deep &deep)
{
  Harness encode ("videoconvert dither=none ! openjpegenc ! image/x-jpc ! identity",
      text ("video/x-raw,format=RGBA64_LE,width=%d,height=%d,framerate=1/1", deep.width,
          deep.height));
  Owned<GstBuffer> bytes =
      encode.pass (gst_buffer_ref (made_of (deep, "RGBA64_LE", 0).buffer));
  const Bytes all = read_buffer (bytes);
  return std::string (all.begin (), all.end ());
}

/* A 16-bit screen in a lossless file, whose light falls by a third of a level of 8 bits
 * per column */
TEST (test_deep_plate_of_a_file_keeps_its_sixteen_bits)
{
  const int width = 301, height = 40;
  if (is_missing ("openjpegenc"))
    return;
  Deep screen (width, height), picture (width, height), expected (width, height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      screen.at (x, y) = {green[0], green[1] - 85 * x, green[2], levels};
      picture.at (x, y) = {green[0] + 8 * x, green[1] - 90 * x - 400, green[2], 60000};
      expected.at (x, y) = by_difference (picture.at (x, y), screen.at (x, y), 0, 1);
    }
  const std::string element =
      "chromakey " KEY "mixing=levels method=difference refine=false "
      "core=false similarity=0 smoothness=1 plate=file plate-location=";
  const Folder folder;
  const std::string path = folder.write ("plate.j2c", encoded (screen));
  assert_same (through (element + path, picture), expected, 4, "plate");
}

/* 16-bit frames with values of 8-bit levels give the same result as 8-bit frames. */
TEST_ROWS (test_deep_keying_of_levels_of_eight_bits_is_that_of_eight_bits,
    std::vector<const char *> ({
        "chromakey " KEY "mixing=levels method=difference spill=1 plate=measured",
        "chromakey method=chroma quiet=true linear=true auto-key=screen",
        "chromakey " KEY "tolerance=0.1 spill=0.6 auto-key=rectangle opacity=0.5",
        "chromakey " KEY "mixing=levels method=difference spill=1 spill-method=average",
        "chromakey key-color=0xff30b050 method=chroma plate=none shadow=0.7 linear=true",
        "chromakey key-color=0xff30b050 method=difference shadow=1 plate=none core=false",
        "chromakey " KEY
        "mixing=levels method=chroma spill=1 key-colors=<0xff96405a,0xffa0705a>",
        "chromakey " KEY "tolerance=0.1 spill=1 key-colors=<0xff96405a,0xffa0705a>",
        "chromakey " KEY "spill=1 spill-method=luminance-preserving spill-balance=0.3",
        "chromakey " KEY "method=chroma garbage-polygon=<0.1,0,0.9,0.3,0.2,1>",
        "chromakey " KEY "tolerance=0.1 ! matteshape grow=-2 feather=4",
        "chromakey " KEY "tolerance=0.1 ! matteshape grow=1.4 invert=true",
        "chromakey " KEY "tolerance=0.1 ! matterefine subsample=3",
        "splashkey block-size=9",
    }))
{
  Deep picture (163, 71);
  std::mt19937 random (4);
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++) {
      Pixel &pixel = picture.at (x, y);
      pixel = green;
      if (x / 20 % 3 == 1)
        pixel = {150 * 257, x * 257, 90 * 257, levels};
      for (int c = 0; c < 3; c++)
        pixel[c] += 257 * int (random () % 6);
      pixel[3] = 200 * 257;
    }
  Deep expected = through (row, picture, 0, "RGBA"), got = through (row, picture, 6);
  for (Pixel &pixel : expected.pixels)
    for (int &component : pixel)
      component *= 257;
  /* Colours below little alpha are less exact. */
  for (Deep *deep : {&expected, &got})
    for (Pixel &pixel : deep->pixels)
      for (int c = 0; c < 3; c++)
        pixel[c] = int (int64_t (pixel[c]) * pixel[3] / levels);
  assert_same (got, expected, 2 * 257, row);
}

TEST (test_deep_colour_is_put_where_it_is_keyed)
{
  Deep picture = keyed (film (65, 33, threshold_of (0.1), 5), 0.1);
  const Pixel color = {0x11 * 257, 0x22 * 257, 0x33 * 257, 0x80 * 257};
  Deep painted = picture, over = picture;
  for (Pixel &pixel : painted.pixels)
    if (pixel[3] == 0)
      pixel = color;
  for (Pixel &pixel : over.pixels) {
    const double a = double (pixel[3]) / levels, b = double (color[3]) / levels * (1 - a);
    for (int c = 0; c < 3; c++)
      pixel[c] = int (std::lround ((pixel[c] * a + color[c] * b) / (a + b)));
    pixel[3] = int (std::lround (levels * (a + b)));
  }
  assert_same (through ("keyfill color=0x80112233", picture), painted, 0, "paint");
  assert_same (through ("keyfill method=composite color=0x80112233", picture), over, 1,
      "composite");
}

TEST (test_deep_matte_grows_by_a_disc_and_is_inverted)
{
  const Deep picture = film (65, 33, 1000, 6);
  Deep expected = picture;
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++) {
      int most = 0;
      for (int down = -3; down <= 3; down++)
        for (int across = -3; across <= 3; across++)
          if (across * across + down * down <= 9)
            most =
                std::max (most, picture.at (std::clamp (x + across, 0, picture.width - 1),
                                    std::clamp (y + down, 0, picture.height - 1))[3]);
      expected.at (x, y)[3] = levels - most;
    }
  assert_same (through ("matteshape grow=3 invert=true", picture), expected, 0, "grow");
}

/* 10 bits in and out: pixels that are not keyed do not change. Each camera format, with a
 * planar format of the same samples. */
const struct TenBits {
  const char *label, *planar;
} cameras[] = {{"P010_10LE", "I420_10LE"}, {"v210", "I422_10LE"}};

TEST_ROWS (test_cameras_of_ten_bits_keep_their_levels_through_a_key, cameras)
{
  const GstVideoInfo info = video::info_of (row.planar, 252, 8, "bt709");
  video::Picture picture (info);
  {
    video::View view (picture, GST_MAP_WRITE);
    for (int c = 0; c < 3; c++)
      for (int y = 0; y < view.height (c); y++)
        for (int x = 0; x < view.width (c); x++)
          view.set (c, x, y, c == 0 ? 300 + x : 500 + 8 * c);
  }
  const std::string device = "openclconvert ! video/x-raw(memory:OpenCLMemory),format=";
  const std::string camera = device + row.label + " ! ";
  video::Run run (camera + device + "RGBA64_LE ! chromakey ! noisereduce ! " + camera
                      + "openclconvert",
      info, info);
  const int differs = video::largest_difference (run (picture), picture);
  fail_unless (differs <= 1, "%d", differs);
}
