/* Tests of video filters in every format, and at every small width: the right edge is treated as the left one,
 * and bytes beside the rows are never read
 *
 * A mirrored frame must give the mirrored output. Kernels treat the last columns
 * otherwise than the first ones, as their vectors begin at the left.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/keyingframes.hpp"
#include "tests/check/one-context.hpp"

using namespace keying_frames;

namespace {
const bool takes_long = check::set_test_timeout (300);

#define RGBA "capsfilter caps=\"video/x-raw(ANY),format=RGBA\""

struct Filter {
  const char *label;
  /* Widths whose outputs are symmetric: multiples of it. The blocks of some begin at the
   * left. 0: none */
  int block = 1;
  int tolerance = 0; /* sums of a mirrored block are rounded otherwise */
  /* Tolerance of noise, where a pixel at a threshold may count in one of the two only;
   * 255: not compared */
  int noisy = tolerance;
};

const Filter filters[] = {
    {"chromakey"},
    {"chromakey channel=green tolerance=0.2"},
    {"chromakey relative=true spill=1"},
    {"chromakey method=chroma plate=none spill=1", 16, 1},
    {"chromakey method=chroma plate=none refine=false core=false", 16, 1},
    {"chromakey method=chroma plate=none quiet=true", 16, 1},
    {"chromakey method=chroma plate=none linear=false spill=1 shadow=0.7", 16, 1},
    {"chromakey method=chroma plate=adaptive", 0},
    {"noisereduce iterations=1"},
    {"noisereduce iterations=7 fill-iterations=3"},
    {"flowkey iterations=1 tolerance=0.3"},
    {"flowkey iterations=9 tolerance=0.3"},
    {"flowkey iterations=0 tolerance=0.3"},
    {"chromakey ! noisereduce ! flowkey"},
    {"matteshape grow=3"},
    {"matteshape grow=-2.5 feather=2", 1, 1},
    {"matteshape feather=6 invert=true", 1, 1},
    {"matterefine radius=3 subsample=1", 1, 2},
    {"matterefine radius=4 subsample=2", 2, 2},
    {"keyfill color=0xff204060"},
    {"splashkey", 0},
    {"openclconvert ! video/x-raw(ANY),format=BGRA ! openclconvert ! " RGBA},
    {"openclconvert ! video/x-raw(ANY),format=Y444 ! openclconvert ! " RGBA, 1, 1},
    {"openclconvolve kernel=<<(double)1,-2,1>,<3,5,3>,<-1,0,-1>> scale=0.125", 1, 1},
    {"openclkernel expression=\"1 - x * x\""},
};

/* Runs of screen, grey edges, subject and noise, with edges everywhere, also in the last
 * columns. Alpha is a mask. */
Picture
scene (int width, int height, uint32_t seed)
{
  Random random (seed);
  Picture picture (width, height);
  for (int y = 0; y < height; y++) {
    uint32_t kind = random.below (4);
    for (int x = 0; x < width; x++) {
      if (random.below (5) == 0)
        kind = random.below (4);
      const auto near = [&] (int level) { return uint8_t (level + random.below (12)); };
      const Pixel kinds[] = {{near (10), near (230), near (20), 0},
          {near (180), near (120), near (90), 255},
          {near (90), near (170), near (60), 255},
          {near (random.below (240)), near (random.below (240)),
              near (random.below (240)), uint8_t (255 * random.below (2))}};
      picture.at (x, y) = kinds[kind];
    }
  }
  return picture;
}

/* Screen, with a subject in the last columns, another one in as many first columns, if there
 * is room, and a mixed column beside each */
Picture
scene_at_the_edges (int width, int height, int columns)
{
  Picture picture (width, height, {10, 230, 20, 255});
  for (int y = height / 4; y < height; y++) {
    for (int x = 0; x <= columns && 2 * columns + 2 <= width; x++)
      picture.at (x, y) =
          x < columns ? Pixel{60, 80, 200, 255} : Pixel{35, 155, 110, 255};
    for (int x = std::max (0, width - columns - 1); x < width; x++)
      picture.at (x, y) =
          x < width - columns ? Pixel{95, 175, 55, 255} : Pixel{180, 120, 90, 255};
  }
  return picture;
}

std::vector<Picture>
scenes (int width)
{
  std::vector<Picture> pictures;
  for (int height : {1, 2, 19})
    pictures.push_back (scene (width, height, uint32_t (97 * width + height)));
  return pictures;
}

std::vector<Picture>
scenes_at_the_edges (int width)
{
  std::vector<Picture> pictures;
  for (int columns : {1, 3, 4, 5, 8})
    pictures.push_back (scene_at_the_edges (width, 19, columns));
  return pictures;
}

Picture
mirrored (const Picture &picture)
{
  Picture mirror (picture.width, picture.height);
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++)
      mirror.at (x, y) = picture.at (picture.width - 1 - x, y);
  return mirror;
}

int
largest_difference (const Pixel &a, const Pixel &b)
{
  return std::max (std::max (abs (a.red - b.red), abs (a.green - b.green)),
      std::max (abs (a.blue - b.blue), abs (a.alpha - b.alpha)));
}

void
expect_similar (
    const Picture &got, const Picture &expected, int tolerance, const std::string &what)
{
  for (int y = 0; y < got.height; y++)
    for (int x = 0; x < got.width; x++) {
      const Pixel &a = got.at (x, y), &b = expected.at (x, y);
      fail_unless (largest_difference (a, b) <= tolerance,
          "%s, %dx%d: pixel %d,%d is %d,%d,%d,%d, expected %d,%d,%d,%d", what.c_str (),
          got.width, got.height, x, y, a.red, a.green, a.blue, a.alpha, b.red, b.green,
          b.blue, b.alpha);
    }
}

std::vector<int>
widths ()
{
  std::vector<int> all;
  for (int width = 1; width <= 17; width++)
    all.push_back (width);
  all.insert (all.end (), {31, 32, 33, 48, 64, 67});
  return all;
}

/* Elements keep the colour of earlier frames, or their noise: a new one for each. */
Picture
made (const char *launch, const Picture &picture, Layout layout = {0, 0},
    const Format &format = formats[0])
{
  ElementUnderTest element (launch);
  return element.run (picture, format, layout);
}
} // namespace

/* The tests of the elements compute their rules in RGBA. */
TEST_ROWS (test_every_format_and_layout_is_as_rgba,
    {"chromakey key-color=0xff11c863", "noisereduce fill-iterations=1 iterations=4",
        "noisereduce iterations=40", "flowkey iterations=3 limit=0.3",
        "flowkey iterations=40", "flowkey iterations=0 tolerance=0.3",
        "flowkey iterations=0 tolerance=0.3 limit=0.3", "splashkey block-size=16",
        "matterefine radius=4 subsample=2", "matteshape grow=-2.5 feather=2",
        "keyfill color=0xff204060", "chromakey ! noisereduce ! flowkey"})
{
  const Picture picture = scene (77, 41, 3), expected = made (row, picture);
  for (const Format &format : formats)
    for (const Layout &layout : layouts)
      expect_similar (made (row, picture, layout, format), expected, 0,
          std::string (row) + " in " + format.name);
}

TEST_ROWS (test_bytes_beside_the_rows_change_nothing, filters)
{
  for (int width : widths ())
    for (const Picture &picture : scenes (width)) {
      const Picture packed = made (row.label, picture);
      for (const Layout &layout : {layouts[1], layouts[3]})
        expect_similar (made (row.label, picture, layout), packed, 0, row.label);
    }
}

TEST_ROWS (test_mirrored_frames_give_mirrored_ones, filters)
{
  for (int width : widths ()) {
    if (row.block == 0 || width % row.block != 0)
      continue;
    for (bool noisy : {true, false})
      for (const Picture &picture : noisy ? scenes (width) : scenes_at_the_edges (width))
        expect_similar (mirrored (made (row.label, mirrored (picture))),
            made (row.label, picture), noisy ? row.noisy : row.tolerance, row.label);
  }
}
