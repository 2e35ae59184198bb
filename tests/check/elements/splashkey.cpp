/* Tests of splashkey against its rule
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include "keyingreference.hpp"

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;

/* Means of blocks in exact integers: sums over the pixels */
struct Store {
  std::map<std::pair<int, int>, std::array<long, 3>> sums;

  Picture key (Picture picture, int block_size, double tolerance)
  {
    for (int top = 0; top < picture.height; top += block_size) {
      for (int left = 0; left < picture.width; left += block_size)
        key_block (picture, left, top, block_size, tolerance);
    }
    return picture;
  }

private:
  void key_block (Picture &picture, int left, int top, int block_size, double tolerance)
  {
    int right = std::min (left + block_size, picture.width);
    int bottom = std::min (top + block_size, picture.height);
    std::array<long, 3> now = {0, 0, 0};
    for (int y = top; y < bottom; y++) {
      for (int x = left; x < right; x++) {
        now[0] += picture.at (x, y).red;
        now[1] += picture.at (x, y).green;
        now[2] += picture.at (x, y).blue;
      }
    }
    auto stored = sums.insert ({{left, top}, now}).first;
    long differs = 0;
    for (int n = 0; n < 3; n++)
      differs += labs (now[n] - stored->second[n]);
    long pixels = long (right - left) * (bottom - top);
    if (differs >= ceil (tolerance * double (765 * pixels)))
      return;
    stored->second = now;
    for (int y = top; y < bottom; y++) {
      for (int x = left; x < right; x++)
        picture.at (x, y).alpha = 0;
    }
  }
};

/* A scene that drifts, and an object that moves in it */
static Picture
scene (int width, int height, int time)
{
  Random random (1);
  Picture picture (width, height);
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      bool thing = abs (x - 7 * time) < 12 && abs (y - 20) < 15;
      Pixel &pixel = picture.at (x, y);
      pixel.red = uint8_t (random.below (30) + 5 * time + (thing ? 60 : 0));
      pixel.green = uint8_t (random.below (200));
      pixel.blue = uint8_t (random.below (30) + 2 * x % 100 + (thing ? 70 : 0));
      pixel.alpha = uint8_t (1 + random.below (255));
    }
  }
  return picture;
}

TEST (test_splashkey_is_its_rule_frame_after_frame)
{
  for (int block_size : {1, 2, 7, 16, 33, 256}) {
    ElementUnderTest element ("splashkey");
    Store store;
    size_t keyed = 0, pixels = 0;
    element.set ("splashkey", "block-size", block_size, "tolerance", 0.015);
    for (int time = 0; time < 6; time++) {
      Picture picture = scene (101, 67, time);
      Picture result = element.run (picture, keying_frames::formats[time % 4 == 3]);
      /* New caps reset the background. */
      if (time == 3 || time == 4)
        store = Store ();
      assert_same (result, store.key (picture, block_size, 0.015), "splashkey");
      keyed += mask_of (result).count ();
      pixels += picture.pixels.size ();
    }
    fail_unless (keyed > 0 && (block_size > 100 || keyed < pixels));
  }
}

TEST (test_splashkey_follows_slow_changes_of_light_and_sees_sudden_ones)
{
  ElementUnderTest element ("splashkey tolerance=0.04");
  for (int light = 0; light < 200; light += 10)
    fail_unless (mask_of (element.run (Picture (64, 64,
                              {uint8_t (light), uint8_t (light), uint8_t (light), 255})))
                     .count ()
                 == 64 * 64);
  fail_unless (
      mask_of (element.run (Picture (64, 64, {230, 230, 230, 255}))).count () == 0);
  /* Pixels of the foreground do not change the background. */
  fail_unless (
      mask_of (element.run (Picture (64, 64, {190, 190, 190, 255}))).count () == 64 * 64);
}

TEST (test_splashkey_reset_fills_the_store_once)
{
  ElementUnderTest element ("splashkey");
  Picture dark (50, 50), bright (50, 50, {255, 255, 255, 255});
  gboolean reset;
  element.run (dark);
  assert_same (element.run (bright), bright, "sudden");
  element.set ("splashkey", "reset", TRUE);
  fail_unless (mask_of (element.run (bright)).count () == 50 * 50);
  Owned<GstElement> splashkey = element.element ("splashkey");
  g_object_get (splashkey, "reset", &reset, nullptr);
  fail_unless (!reset);
  assert_same (element.run (dark), dark, "sudden again");
}
