/* Tests of octrender against a ray caster in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"

using namespace check;
using namespace depths;

namespace {
/* --- a volume; values have the order [(b_scan * lines + line) * depths + depth] --- */

struct Volume {
  std::array<gsize, 3> size; /* depths, lines, B-scans */
  Values values;

  double at (gsize x, gsize y, gsize z) const
  {
    return values[(z * size[1] + y) * size[0] + x];
  }
};

/* A hollow object in the dark that is larger than a brick and partly bright */
Volume
some_volume (std::array<gsize, 3> size, double full)
{
  Volume volume = {size, {}};
  std::mt19937 random (7);
  std::uniform_real_distribution<float> noise (0, 1);
  for (gsize z = 0; z < size[2]; z++) {
    for (gsize y = 0; y < size[1]; y++) {
      for (gsize x = 0; x < size[0]; x++) {
        const bool dark = x < size[0] / 3 || y + 9 < z;
        const double value = (dark ? 0.1 : 0.7) * noise (random);
        volume.values.push_back (std::nearbyint (value * full));
      }
    }
  }
  return volume;
}

std::string
volume_caps (const Volume &volume, const std::string &type, const std::string &more = "")
{
  return text ("other/tensors(memory:OpenCLMemory),format=static,num_tensors=1,types=%s,"
               "dimensions=(string)%zu:%zu:%zu,framerate=10/1",
             type.c_str (), volume.size[0], volume.size[1], volume.size[2])
         + more;
}

Bytes
bytes_of_type (const Volume &volume, const std::string &type)
{
  return type == "uint8"    ? bytes_of<guint8> (volume.values)
         : type == "uint16" ? bytes_of<guint16> (volume.values)
                            : bytes_of<float> (volume.values);
}

/* --- the ray caster --- */

struct View {
  std::string label; /* properties of the element */
  double azimuth = 0, elevation = 0, zoom = 1, step = 1;
  std::array<double, 3> voxel = {1, 1, 1};
  bool alpha = false;
  double opacity = 0.1;
};

using Point = std::array<double, 3>;

double
interpolated (const Volume &volume, const Point &place)
{
  gsize low[3], high[3];
  double part[3], sum = 0;
  for (guint n = 0; n < 3; n++) {
    const double at = std::clamp (place[n] - 0.5, 0.0, double (volume.size[n] - 1));
    low[n] = gsize (at);
    high[n] = std::min (low[n] + 1, volume.size[n] - 1);
    part[n] = at - double (low[n]);
  }
  for (guint corner = 0; corner < 8; corner++) {
    double weight = 1;
    gsize at[3];
    for (guint n = 0; n < 3; n++) {
      const bool upper = corner >> n & 1;
      weight *= upper ? part[n] : 1 - part[n];
      at[n] = upper ? high[n] : low[n];
    }
    sum += weight * volume.at (at[0], at[1], at[2]);
  }
  return sum;
}

struct Seen {
  double light = 0, hidden = 0;
};

/* Samples of a ray within the volume, enlarged by `margin` voxels */
Seen
seen_along (const Volume &volume, const View &view, const Point &start,
    const Point &along, double black, double white, double margin)
{
  double brightest = 0, light = 0, passes = 1;
  for (int n = -4000; n <= 4000; n++) {
    Point place;
    bool inside = true;
    for (guint side = 0; side < 3; side++) {
      place[side] = start[side] + n * along[side];
      inside = inside && place[side] >= -margin
               && place[side] <= double (volume.size[side]) + margin;
    }
    if (!inside)
      continue;
    const double value =
        std::clamp ((interpolated (volume, place) - black) / (white - black), 0.0, 1.0);
    const double hides = 1 - std::pow (1 - view.opacity * value, view.step);
    brightest = std::max (brightest, value);
    light += passes * hides * value;
    passes *= 1 - hides;
  }
  return view.alpha ? Seen{light, 1 - passes} : Seen{brightest, 1};
}

double
dot (const Point &a, const Point &b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Calls `look` with the ray of each pixel of an image of `width` by `height`. Rays are
 * rotated by matrices; lengths are in the unit of `voxel`. */
template <typename Look>
void
cast (const Volume &volume, const View &view, gsize width, gsize height, const Look &look)
{
  const double a = view.azimuth * G_PI / 180, e = view.elevation * G_PI / 180;
  Point box, middle;
  for (guint n = 0; n < 3; n++) {
    box[n] = double (volume.size[n]) * view.voxel[n];
    middle[n] = double (volume.size[n]) / 2;
  }
  const double pixel =
      std::sqrt (dot (box, box)) / (double (std::min (width, height)) * view.zoom);
  const double step =
      view.step * *std::min_element (view.voxel.begin (), view.voxel.end ());
  /* Returns a direction of the view (down, right, away) in the volume: first rotated by
   * the elevation, then about the depth axis. */
  auto turned = [&] (double down, double right, double away, double length) {
    const double depth = down * std::cos (e) + away * std::sin (e);
    const double far = away * std::cos (e) - down * std::sin (e);
    const double line = right * std::cos (a) - far * std::sin (a);
    const double b_scan = right * std::sin (a) + far * std::cos (a);
    return Point{depth * length / view.voxel[0], line * length / view.voxel[1],
        b_scan * length / view.voxel[2]};
  };
  const Point along = turned (0, 0, 1, step);
  for (gsize y = 0; y < height; y++) {
    for (gsize x = 0; x < width; x++) {
      const Point off = turned ((double (y) + 0.5 - double (height) / 2) * pixel,
          (double (x) + 0.5 - double (width) / 2) * pixel, 0, 1);
      look (y * width + x,
          Point{middle[0] + off[0], middle[1] + off[1], middle[2] + off[2]}, along);
    }
  }
}

/* Fails unless each pixel is among those that rounding allows: a sample on the volume's
 * boundary may be inside or outside. `level_of` and `hidden_of` give the values of a
 * pixel. */
template <typename Check>
void
check_picture (const Volume &volume, const View &view, gsize width, gsize height,
    double black, double white, const Check &check)
{
  guint has_visible_pixels = 0;
  cast (volume, view, width, height,
      [&] (gsize pixel, const Point &start, const Point &along) {
        Seen least = {1e9, 1e9}, most = {-1e9, -1e9};
        for (double margin : {-1e-4, 1e-4}) {
          const Seen seen = seen_along (volume, view, start, along, black, white, margin);
          least = {
              std::min (least.light, seen.light), std::min (least.hidden, seen.hidden)};
          most = {std::max (most.light, seen.light), std::max (most.hidden, seen.hidden)};
        }
        check (pixel, least, most);
        has_visible_pixels += most.light > 0.05;
      });
  fail_unless (has_visible_pixels > width * height / 20, "the image is empty");
}

void
expect_between (double got, double least, double most, const std::string &what)
{
  fail_unless (got >= 255 * least - 1 && got <= 255 * most + 1,
      "%s is %g, expected %g to %g", what.c_str (), got, 255 * least, 255 * most);
}

void
check_gray (GstBuffer *buffer, const Volume &volume, const View &view, gsize width,
    gsize height, double black, double white)
{
  const Bytes bytes = read_buffer (buffer);
  const gsize pitch = (width + 3) / 4 * 4;
  check_picture (volume, view, width, height, black, white,
      [&] (gsize pixel, const Seen &least, const Seen &most) {
        expect_between (bytes[pixel / width * pitch + pixel % width], least.light,
            most.light,
            view.label + text (": pixel %zu, %zu", pixel % width, pixel / width));
      });
}

const gsize width = 37, height = 29;

std::string
render_line (const std::string &settings, const std::string &format = "GRAY8")
{
  return "octrender " + settings + " ! "
         + text ("capsfilter caps=\"video/x-raw(memory:OpenCLMemory),format=%s,width=%zu,"
                 "height=%zu\"",
             format.c_str (), width, height);
}

const std::array<gsize, 3> usual_size = {21, 27, 19}; /* no multiple of a brick */

GstBuffer *
volume_buffer (const Volume &volume, const std::string &type, guint frame = 0)
{
  GstBuffer *buffer = timed (bytes_of_type (volume, type), 0);
  GST_BUFFER_PTS (buffer) = frame * GST_SECOND / 10;
  GST_BUFFER_DURATION (buffer) = GST_SECOND / 10;
  return buffer;
}

const View views[] = {
    {"zoom=1"},
    {"azimuth=90", 90},
    {"elevation=90", 0, 90},
    {"azimuth=33 elevation=21 zoom=1.5", 33, 21, 1.5},
    {"azimuth=-130 elevation=-55 step=0.37", -130, -55, 1, 0.37},
    {"azimuth=20 elevation=10 depth-step=0.5 line-step=2 b-scan-step=3", 20, 10, 1, 1,
        {0.5, 2, 3}},
    {"mode=alpha azimuth=33 elevation=21", 33, 21, 1, 1, {1, 1, 1}, true, 0.1},
    {"mode=alpha azimuth=10 elevation=80 opacity=0.6 step=0.5", 10, 80, 1, 0.5, {1, 1, 1},
        true, 0.6},
    {"mode=alpha azimuth=200 opacity=1 step=2", 200, 0, 1, 2, {1, 1, 1}, true, 1},
};
} // namespace

TEST_ROWS (test_octrender_shows_what_each_ray_meets, views)
{
  const Volume volume = some_volume (usual_size, 255);
  Harness harness (render_line (row.label), volume_caps (volume, "uint8"));
  Owned<GstBuffer> out = harness.pass (volume_buffer (volume, "uint8"));
  check_gray (out, volume, row, width, height, 0, 255);
}

namespace {
struct Sheet {
  std::string label;
  gsize axis, at;
};

std::vector<Sheet>
sheets_beside_bricks ()
{
  std::vector<Sheet> sheets;
  for (gsize axis = 0; axis < 3; axis++) {
    for (gsize at : {0, 7, 8, 15, 16, 18})
      sheets.push_back ({text ("axis %zu at %zu", axis, at), axis, at});
  }
  return sheets;
}
} // namespace

/* A ray interpolates voxels of the next brick, too. */
TEST_ROWS (test_octrender_skips_no_sheet_in_the_dark, sheets_beside_bricks ())
{
  Volume volume = {usual_size, {}};
  for (gsize n = 0; n < usual_size[0] * usual_size[1] * usual_size[2]; n++) {
    const gsize places[] = {n % usual_size[0], n / usual_size[0] % usual_size[1],
        n / usual_size[0] / usual_size[1]};
    volume.values.push_back (places[row.axis] == row.at ? 250 : 0);
  }
  const View view = {row.label, 33, 21, 1, 0.37, {1, 1, 1}, true, 0.5};
  Harness harness (
      render_line ("mode=alpha azimuth=33 elevation=21 step=0.37 opacity=0.5"),
      volume_caps (volume, "uint8"));
  check_gray (harness.pass (volume_buffer (volume, "uint8")), volume, view, width, height,
      0, 255);
}

namespace {
struct Type {
  std::string label;
  /* Full scale of the volume, and white of an image with default properties */
  double full, white;
};
const Type types[] = {{"uint8", 255, 255}, {"uint16", 65535, 65535}, {"float32", 60, 60}};
} // namespace

TEST_ROWS (test_octrender_takes_numbers_of_each_type, types)
{
  const Volume volume = some_volume (usual_size, row.full);
  Harness harness (
      render_line ("azimuth=33 elevation=21"), volume_caps (volume, row.label));
  const View view = {row.label, 33, 21};
  check_gray (harness.pass (volume_buffer (volume, row.label)), volume, view, width,
      height, 0, row.white);
}

TEST_ROWS (test_octrender_leaves_out_what_is_below_its_range, types)
{
  const Volume volume = some_volume (usual_size, row.full);
  const double black = row.full / 4, white = row.full / 2;
  for (const View &view : {View{"mode=maximum", 120, 40},
           View{"mode=alpha opacity=0.1", 120, 40, 1, 1, {1, 1, 1}, true, 0.1}}) {
    Harness harness (render_line (view.label
                                  + text (" azimuth=120 elevation=40 min=%.9g max=%.9g",
                                      black, white)),
        volume_caps (volume, row.label));
    check_gray (harness.pass (volume_buffer (volume, row.label)), volume, view, width,
        height, black, white);
  }
}

TEST (test_octrender_gives_straight_colours_and_what_they_hide)
{
  const Volume volume = some_volume (usual_size, 255);
  const View view = {"RGBA", 33, 21, 1, 1, {1, 1, 1}, true, 0.3};
  Harness harness (render_line ("mode=alpha azimuth=33 elevation=21 opacity=0.3", "RGBA"),
      volume_caps (volume, "uint8"));
  const Bytes bytes = read_buffer (harness.pass (volume_buffer (volume, "uint8")));
  check_picture (volume, view, width, height, 0, 255,
      [&] (gsize pixel, const Seen &least, const Seen &most) {
        const guint8 *at = &bytes[4 * pixel];
        const std::string what = text ("pixel %zu", pixel);
        fail_unless (at[0] == at[1] && at[1] == at[2], "%s is not gray", what.c_str ());
        expect_between (at[3], least.hidden, most.hidden, what + ": alpha");
        /* Composited over black, and so rounded twice. */
        const double over_black = at[0] * at[3] / 255.0;
        fail_unless (
            over_black >= 255 * least.light - 1.5 && over_black <= 255 * most.light + 1.5,
            "%s is %g over black", what.c_str (), over_black);
      });
}

TEST (test_octrender_takes_lengths_of_voxels_from_the_caps)
{
  const Volume volume = some_volume (usual_size, 255);
  Harness harness (render_line ("azimuth=33 elevation=21 line-step=6"),
      volume_caps (volume, "uint8",
          ",depth-step=(double)3,line-step=(double)9,b-scan-step=(double)12"));
  const View view = {"of the caps", 33, 21, 1, 1, {3, 6, 12}};
  check_gray (harness.pass (volume_buffer (volume, "uint8")), volume, view, width, height,
      0, 255);
}

TEST (test_octrender_takes_a_plane_and_a_line_for_volumes)
{
  for (const auto &size :
      std::vector<std::array<gsize, 3>>{{21, 27, 1}, {1, 40, 30}, {33, 1, 1}}) {
    const Volume volume = some_volume (size, 255);
    Harness harness (render_line ("azimuth=33 elevation=21 zoom=2 step=0.2"),
        volume_caps (volume, "uint8"));
    const Bytes bytes = read_buffer (harness.pass (volume_buffer (volume, "uint8")));
    const View view = {"flat", 33, 21, 2, 0.2};
    const gsize pitch = (width + 3) / 4 * 4;
    cast (volume, view, width, height,
        [&] (gsize pixel, const Point &start, const Point &along) {
          Seen least = {1, 1}, most = {0, 0};
          for (double margin : {-1e-4, 1e-4}) {
            const Seen seen = seen_along (volume, view, start, along, 0, 255, margin);
            least.light = std::min (least.light, seen.light);
            most.light = std::max (most.light, seen.light);
          }
          expect_between (bytes[pixel / width * pitch + pixel % width], least.light,
              most.light, text ("pixel %zu", pixel));
        });
  }
}

TEST (test_octrender_turns_with_each_picture)
{
  const Volume volume = some_volume (usual_size, 255);
  Harness harness (render_line ("azimuth=10 turn=7 elevation=21 frames=3"),
      volume_caps (volume, "uint8"));
  for (guint frame = 0; frame < 2; frame++) {
    harness.push (volume_buffer (volume, "uint8", frame));
    expect_equal (waiting (harness), 3u);
    for (guint n = 3 * frame; n < 3 * frame + 3; n++) {
      Owned<GstBuffer> out = harness.pull ();
      const View view = {text ("picture %u", n), 10 + 7.0 * n, 21};
      check_gray (out, volume, view, width, height, 0, 255);
      fail_unless (
          std::abs (GST_CLOCK_DIFF (GST_BUFFER_PTS (out), n * GST_SECOND / 30)) < 10);
    }
  }
  Owned<GstCaps> expected =
      gst_caps_from_string ("video/x-raw(memory:OpenCLMemory),framerate=30/1");
  fail_unless (gst_caps_can_intersect (harness.caps (), expected));
}

TEST (test_octrender_framerate_set_during_negotiation)
{
  const Volume volume = some_volume (usual_size, 255);
  Harness harness (render_line ("frames=1"));
  Owned<GstElement> render = harness.find ("octrender");
  auto expect_frames = [&] (guint n, guint frames, int rate) {
    harness.push (volume_buffer (volume, "uint8", n));
    expect_equal (waiting (harness), frames);
    for (guint i = 0; i < frames; i++)
      harness.pull ();
    Owned<GstCaps> expected = gst_caps_new_simple (
        "video/x-raw", "framerate", GST_TYPE_FRACTION, rate, 1, nullptr);
    gst_caps_set_features_simple (
        expected, gst_caps_features_new_single ("memory:OpenCLMemory"));
    fail_unless (gst_caps_can_intersect (harness.caps (), expected), "not %d/s", rate);
  };

  set_during_negotiation (render, "frames=3");
  harness.set_caps (volume_caps (volume, "uint8"));
  expect_frames (0, 3, 30);
  set_together (render, "frames=2");
  set_during_negotiation (render, "frames=4");
  expect_frames (1, 2, 20);
  expect_frames (2, 4, 40);
}

TEST (test_octrender_keeps_a_range_that_made_sense)
{
  const Volume volume = some_volume (usual_size, 255);
  Harness harness (render_line ("min=20 max=120"), volume_caps (volume, "uint8"));
  harness.pass (volume_buffer (volume, "uint8"));
  set_together (harness.find ("octrender"), "min=200 max=150");
  const View view = {"as before"};
  check_gray (harness.pass (volume_buffer (volume, "uint8", 1)), volume, view, width,
      height, 20, 120);
  expect_warnings (harness.bus, "min above max", {"min is 200"});
}

/* The order of the device's commands is that of the queue. */
TEST (test_octrender_shows_a_live_volume_as_far_as_it_is_filled)
{
  const gsize b_scans = 9;
  const Volume whole = some_volume ({n_depths, n_lines, b_scans}, 60);
  Harness harness (
      "octvolume b-scans=9 live=true ! " + render_line ("azimuth=33 elevation=21"),
      frame_caps ("F32LE"));
  Volume filled = whole;
  std::fill (filled.values.begin (), filled.values.end (), 0);
  const gsize b_scan = n_depths * n_lines;
  for (gsize n = 0; n < b_scans; n++) {
    const Values values (whole.values.begin () + gssize (n * b_scan),
        whole.values.begin () + gssize ((n + 1) * b_scan));
    std::copy (
        values.begin (), values.end (), filled.values.begin () + gssize (n * b_scan));
    Owned<GstBuffer> out = harness.pass (timed (bytes_of<float> (values), guint (n)));
    if (n < 4) /* until then hardly anything is visible */
      continue;
    check_gray (out, filled, {text ("after %zu", n), 33, 21}, width, height, 0, 60);
  }
}
