/* Tests of matterefine against its rule, in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/harness.hpp"

#include "keyingreference.hpp"

#include <array>

using namespace check;
using namespace keying_reference;
using keying_frames::ElementUnderTest;

namespace {
using Vector = std::array<double, 4>; /* red, green, blue and alpha, 0 to 1 */

template <typename Value> struct Plane {
  int width = 0, height = 0;
  std::vector<Value> values;

  Plane () = default;
  Plane (int a_width, int a_height)
      : width (a_width), height (a_height), values (size_t (a_width) * a_height)
  {
  }
  Value &at (int x, int y) { return values[size_t (y) * width + x]; }
  const Value &at (int x, int y) const { return values[size_t (y) * width + x]; }
  /* Beyond the plane that of the nearest edge */
  const Value &near (int x, int y) const
  {
    return at (std::clamp (x, 0, width - 1), std::clamp (y, 0, height - 1));
  }
};

struct Rule {
  int subsample = 1, radius = 2; /* radius in cells of the grid */
  double epsilon = 3e-5, black = 0, white = 1, smoothing = 0;
};

Vector
levels_of (const Pixel &pixel)
{
  return {pixel.red / 255., pixel.green / 255., pixel.blue / 255., pixel.alpha / 255.};
}

Plane<Vector>
grid_of (const Picture &picture, int size)
{
  Plane<Vector> grid (
      (picture.width + size - 1) / size, (picture.height + size - 1) / size);
  Plane<int> counts (grid.width, grid.height);
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++) {
      counts.at (x / size, y / size)++;
      for (int c = 0; c < 4; c++)
        grid.at (x / size, y / size)[c] += levels_of (picture.at (x, y))[c];
    }
  for (size_t n = 0; n < grid.values.size (); n++)
    for (double &value : grid.values[n])
      value /= counts.values[n];
  return grid;
}

/* Calls `visit` with each value of a window that is within the plane. */
template <typename Value, typename Visit>
void
for_window (const Plane<Value> &plane, int x, int y, int radius, Visit visit)
{
  for (int v = std::max (y - radius, 0); v <= std::min (y + radius, plane.height - 1);
       v++)
    for (int u = std::max (x - radius, 0); u <= std::min (x + radius, plane.width - 1);
         u++)
      visit (plane.at (u, v));
}

Vector
mean_of_window (const Plane<Vector> &plane, int x, int y, int radius)
{
  Vector sum = {};
  int count = 0;
  for_window (plane, x, y, radius, [&] (const Vector &value) {
    count++;
    for (int c = 0; c < 4; c++)
      sum[c] += value[c];
  });
  for (double &value : sum)
    value /= count;
  return sum;
}

double
determinant (const double (&m)[3][3])
{
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
         - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
         + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The factors of red, green and blue, and the constant: by Cramer's rule */
Vector
fitted (const Plane<Vector> &grid, int x, int y, const Rule &rule)
{
  const Vector mean = mean_of_window (grid, x, y, rule.radius);
  double covariance[3][4] = {};
  int count = 0;
  for_window (grid, x, y, rule.radius, [&] (const Vector &value) {
    count++;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 4; j++)
        covariance[i][j] += (value[i] - mean[i]) * (value[j] - mean[j]);
  });
  double matrix[3][3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      matrix[i][j] = covariance[i][j] / count + (i == j ? rule.epsilon : 0);
  Vector line = {0, 0, 0, mean[3]};
  for (int c = 0; c < 3; c++) {
    double replaced[3][3];
    memcpy (replaced, matrix, sizeof matrix);
    for (int i = 0; i < 3; i++)
      replaced[i][c] = covariance[i][3] / count;
    line[c] = determinant (replaced) / determinant (matrix);
    line[3] -= line[c] * mean[c];
  }
  return line;
}

/* Value of a grid at a pixel, by linear interpolation between the centres of cells */
template <typename Value, typename Component>
double
between (const Plane<Value> &grid, int size, int x, int y, Component component)
{
  const double across = (x + 0.5) / size - 0.5, down = (y + 0.5) / size - 0.5;
  const int left = int (floor (across)), above = int (floor (down));
  double sum = 0;
  for (int v = 0; v < 2; v++)
    for (int u = 0; u < 2; u++)
      sum += (u ? across - left : 1 - across + left)
             * (v ? down - above : 1 - down + above)
             * component (grid.near (left + u, above + v));
  return sum;
}

/* Alpha of each pixel, 0 to 1 */
Plane<double>
refined (const Picture &picture, const Rule &rule)
{
  const Plane<Vector> grid = grid_of (picture, rule.subsample);
  Plane<Vector> lines (grid.width, grid.height), means = lines;
  for (int y = 0; y < grid.height; y++)
    for (int x = 0; x < grid.width; x++)
      lines.at (x, y) = fitted (grid, x, y, rule);
  for (int y = 0; y < grid.height; y++)
    for (int x = 0; x < grid.width; x++)
      means.at (x, y) = mean_of_window (lines, x, y, rule.radius);
  Plane<double> alpha (picture.width, picture.height);
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++) {
      const Vector color = levels_of (picture.at (x, y));
      double value = 0;
      for (int c = 0; c < 4; c++)
        value += (c < 3 ? color[c] : 1)
                 * between (means, rule.subsample, x, y,
                     [&] (const Vector &line) { return line[c]; });
      alpha.at (x, y) =
          std::clamp ((value - rule.black) / (rule.white - rule.black), 0., 1.);
    }
  return alpha;
}

/* Keeps alpha of earlier frames where nothing changes. */
class Smoother {
public:
  explicit Smoother (const Rule &a_rule) : rule (a_rule) {}

  Plane<double> next (const Picture &picture)
  {
    const Plane<Vector> grid = grid_of (picture, rule.subsample);
    Plane<double> alpha = refined (picture, rule);
    if (!earlier.width) {
      mean = grid;
      return earlier = alpha;
    }
    const Plane<double> kept = kept_parts (grid);
    for (int y = 0; y < alpha.height; y++)
      for (int x = 0; x < alpha.width; x++) {
        const double change = earlier.at (x, y) - alpha.at (x, y);
        const double part =
            between (kept, rule.subsample, x, y, [] (double v) { return v; });
        alpha.at (x, y) += part * fade (change / 0.3) * change;
      }
    for (size_t n = 0; n < grid.values.size (); n++)
      for (int c = 0; c < 3; c++)
        mean.values[n][c] =
            kept.values[n] * mean.values[n][c] + (1 - kept.values[n]) * grid.values[n][c];
    return earlier = alpha;
  }

private:
  static double fade (double change)
  {
    return fabs (change) >= 1 ? 0 : pow (1 - change * change, 2);
  }

  static double length_of (const Vector &color)
  {
    return hypot (hypot (color[0], color[1]), color[2]);
  }

  Plane<double> kept_parts (const Plane<Vector> &grid) const
  {
    Plane<double> kept (grid.width, grid.height);
    Plane<Vector> changes (grid.width, grid.height);
    for (size_t n = 0; n < grid.values.size (); n++)
      for (int c = 0; c < 3; c++)
        changes.values[n][c] = grid.values[n][c] - mean.values[n][c];
    for (int y = 0; y < grid.height; y++)
      for (int x = 0; x < grid.width; x++) {
        double most = 0;
        for_window (changes, x, y, 1,
            [&] (const Vector &change) { most = std::max (most, length_of (change)); });
        const double of_mean = length_of (mean_of_window (changes, x, y, 1));
        kept.at (x, y) = rule.smoothing * fade (std::max (of_mean / 0.02, most / 0.06));
      }
    return kept;
  }

  Rule rule;
  Plane<Vector> mean;
  Plane<double> earlier;
};

/* A disc with a soft, blocky matte before a background, with noise in colours and alpha */
Picture
scene (int width, int height, uint32_t seed, int noise = 8, double centre = 0.4)
{
  Random random (seed);
  Picture picture (width, height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      auto inside = [&] (int u, int v) {
        const double from = hypot (u - centre * width, v - 0.5 * height);
        return std::clamp (0.3 * height - from + 0.5, 0., 1.);
      };
      const double share = inside (x, y), coarse = inside (x / 3 * 3 + 1, y / 3 * 3 + 1);
      auto mixed = [&] (int thing, int behind) {
        return uint8_t (share * thing + (1 - share) * behind + random.below (noise + 1));
      };
      picture.at (x, y) = {mixed (200, 30), mixed (150, 60 + x % 16), mixed (90, 120),
          uint8_t (20 + 200 * coarse + random.below (noise + 1))};
    }
  return picture;
}

void
assert_refined (const Picture &result, const Picture &picture,
    const Plane<double> &expected, const std::string &what)
{
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++) {
      const Pixel &is = result.at (x, y), &was = picture.at (x, y);
      const double wanted = 255 * expected.at (x, y);
      fail_unless (fabs (is.alpha - wanted) <= 0.55,
          "%s at %d,%d of %dx%d: %d, expected %g", what.c_str (), x, y, picture.width,
          picture.height, is.alpha, wanted);
      fail_unless (
          is.red == was.red && is.green == was.green && is.blue == was.blue, "colours");
    }
}

void
set_rule (ElementUnderTest &element, const Rule &rule)
{
  element.set ("matterefine", "subsample", rule.subsample, "radius",
      rule.radius * rule.subsample, "epsilon", rule.epsilon, "black", rule.black, "white",
      rule.white, "smoothing", rule.smoothing);
}
} // namespace

TEST (test_matterefine_is_a_guided_filter_at_every_size)
{
  ElementUnderTest element ("matterefine");
  for (const auto &[width, height] : {std::pair (1, 1), std::pair (9, 1),
           std::pair (1, 7), std::pair (33, 31), std::pair (75, 40)}) {
    for (const Rule &rule : {Rule{1, 1}, Rule{4, 2}, Rule{3, 1, 1e-6}, Rule{16, 1, 1},
             Rule{1, 100, 0.01}, Rule{2, 3, 1e-3, 0.2, 0.7}}) {
      set_rule (element, rule);
      for (const Picture &picture :
          {scene (width, height, 1), noise (width, height, 2, 30)}) {
        const Plane<double> expected = refined (picture, rule);
        const size_t n = size_t (width + rule.subsample);
        assert_refined (element.run (picture, keying_frames::formats[n % 4],
                            keying_frames::layouts[n % 6]),
            picture, expected, text ("%d, %d", rule.subsample, rule.radius));
      }
    }
  }
}

/* The matte that the test makes has 256 columns in a frame of 512. */
TEST (test_matterefine_chooses_grid_and_radius_from_the_frame_size)
{
  ElementUnderTest element ("matterefine black=0 white=1 smoothing=0");
  for (const auto &[width, height, size] :
      {std::tuple (250, 20, 1), std::tuple (512, 20, 2), std::tuple (30, 700, 3)}) {
    const Picture picture = scene (width, height, 4);
    assert_refined (
        element.run (picture), picture, refined (picture, {size, 2}), "automatic");
  }
  /* A radius of less than a cell counts as one cell. */
  const Picture picture = scene (60, 40, 5);
  element.set ("matterefine", "subsample", 4, "radius", 1);
  assert_refined (element.run (picture), picture, refined (picture, {4, 1}), "radius");
}

TEST (test_matterefine_leaves_even_mattes_alone)
{
  ElementUnderTest element ("matterefine epsilon=1e-6");
  for (int alpha : {0, 255, 77}) {
    if (alpha == 77)
      element.set ("matterefine", "black", 0., "white", 1.);
    for (int subsample : {1, 4, 5, 16}) {
      element.set ("matterefine", "subsample", subsample);
      for (uint32_t seed : {1, 2, 3}) {
        Picture picture = noise (133, 61, seed, 0);
        for (Pixel &pixel : picture.pixels)
          pixel.alpha = uint8_t (alpha);
        assert_same (element.run (picture), picture, text ("alpha %d", alpha).c_str ());
      }
    }
  }
}

TEST (test_matterefine_limits_of_black_and_white)
{
  ElementUnderTest element ("matterefine smoothing=0 subsample=2 black=0.99 white=0.01");
  Picture picture (20, 20, {1, 2, 3, 255});
  assert_same (element.run (picture), picture, "white");
  for (Pixel &pixel : picture.pixels)
    pixel.alpha = 250;
  Picture expected (20, 20, {1, 2, 3, 0});
  assert_same (element.run (picture), expected, "black");
}

/* The state keeps 16 bits of alpha. */
TEST (test_matterefine_smooths_where_nothing_changes)
{
  ElementUnderTest element ("matterefine");
  for (const Rule &rule : {Rule{1, 1, 1e-3, 0, 1, 0.8}, Rule{4, 2, 3e-5, 0.05, 0.95, 0.7},
           Rule{3, 1, 1e-4, 0, 1, 1}}) {
    set_rule (element, rule);
    element.negotiate (Picture (75, 40), keying_frames::formats[0]);
    element.flush (false);
    Smoother smoother (rule);
    for (uint32_t frame = 0; frame < 8; frame++) {
      const double centre = frame < 4 ? 0.4 : 0.4 + 0.02 * frame;
      const Picture picture = scene (75, 40, frame, frame % 3 ? 2 : 6, centre);
      assert_refined (element.run (picture), picture, smoother.next (picture),
          text ("smoothing %g, frame %u", rule.smoothing, frame));
    }
  }
}

/* QoS messages of a late sink must not drop frames, since later ones depend on them. */
TEST (test_matterefine_drops_no_late_frame)
{
  Harness harness ("matterefine", "video/x-raw(memory:OpenCLMemory),format=RGBA,width=16,"
                                  "height=16,framerate=30/1");
  gst_harness_push_upstream_event (
      harness, gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 2, GST_SECOND, GST_SECOND));
  GstBuffer *buffer = pattern_buffer (16 * 16 * 4, 1);
  GST_BUFFER_PTS (buffer) = GST_SECOND / 30;
  harness.push (buffer);
  harness.pull ();
}
