/* Tests of openclconvert that scales planes, as on a GPU: samples against double precision,
 * chroma at the positions that its siting gives
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/check/one-context.hpp"
#include "tests/check/opencl-check.hpp"
#include "tests/check/opencl-counting.hpp"
#include "tests/check/videoframes.hpp"

#include <cmath>
#include <vector>

using video::info_of;
using video::Picture;
using video::Run;
using video::View;

namespace {
const bool reports_gpu = check::around_each_test (
    [] {
      const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
      counting::override_device_info (CL_DEVICE_TYPE, &gpu, sizeof gpu);
    },
    nullptr);

struct Size {
  int in[2], out[2];
};

/* Reductions by whole and other numbers, an enlargement, one of each, small and large
 * reductions of sides that are no multiple of any tile */
const Size sizes[] = {{{400, 134}, {200, 67}}, {{402, 99}, {134, 33}},
    {{331, 100}, {200, 75}}, {{66, 35}, {199, 70}}, {{50, 90}, {100, 30}},
    {{640, 24}, {80, 24}}, {{301, 203}, {29, 21}}, {{5, 3}, {2, 9}}, {{1, 1}, {3, 2}}};

const char *const methods[] = {"nearest", "bilinear", "area", "lanczos"};

/* Weight of an input sample that is `off` samples away. `ratio`: input samples for each of
 * the output */
double
weight (const std::string &method, double off, double ratio)
{
  const double wide = std::max (1., ratio), at = off / wide;
  if (method == "bilinear")
    return std::max (0., 1 - std::fabs (off));
  if (method == "area")
    return std::max (
        0., std::min (off + 0.5, ratio / 2) - std::max (off - 0.5, -ratio / 2));
  if (std::fabs (at) >= 3)
    return 0;
  return at == 0 ? 1
                 : 3 * std::sin (G_PI * at) * std::sin (G_PI * at / 3)
                       / (G_PI * G_PI * at * at);
}

struct Share {
  int at;
  double weight;
};

/* Input samples of an output sample, whose centre is at `middle` among those of the input.
 * Beyond an edge the last one repeats. */
std::vector<Share>
shares (const std::string &method, double middle, double ratio, int count)
{
  if (method == "nearest")
    return {{std::clamp (int (std::floor (middle + 0.5 + 1e-9)), 0, count - 1), 1}};
  const int reach = int (3 * std::max (1., ratio)) + 2;
  std::vector<Share> all;
  double sum = 0;
  for (int at = int (std::floor (middle)) - reach; at <= middle + reach; at++) {
    const double of = weight (method, at - middle, ratio);
    all.push_back ({std::clamp (at, 0, count - 1), of});
    sum += of;
  }
  for (Share &share : all)
    share.weight /= sum;
  return all;
}

/* Position of a chroma sample among those of luma */
double
luma_of_chroma (double chroma, int subsampling, bool is_cosited)
{
  const int shared = 1 << subsampling;
  return shared * chroma + (is_cosited ? 0 : (shared - 1) / 2.);
}

/* Position of output sample `at` among the samples of the input */
double
position (int at, double ratio, int subsampling, bool is_cosited)
{
  const double luma = (luma_of_chroma (at, subsampling, is_cosited) + 0.5) * ratio - 0.5;
  return (luma - luma_of_chroma (0, subsampling, is_cosited)) / (1 << subsampling);
}

struct Sides {
  int subsampling[2];
  bool cosited[2];
};

Sides
sides_of (const GstVideoInfo &info, int component)
{
  return {{int (info.finfo->w_sub[component]), int (info.finfo->h_sub[component])},
      {bool (info.chroma_site & GST_VIDEO_CHROMA_SITE_H_COSITED),
          bool (info.chroma_site & GST_VIDEO_CHROMA_SITE_V_COSITED)}};
}

/* Compares a component with the same filter in double precision. Samples are counted in
 * units of `unit`, as formats have unused low bits. */
void
check_component (const std::string &method, const Picture &picture, const Picture &made,
    int c, int unit, bool whole_range)
{
  const View from (picture), to (made);
  const Sides sides = sides_of (picture.info, c);
  const double full = to.is_wide () ? whole_range ? 65535 : (1 << 10) - 1 : 255;
  const double ratio[2] = {double (picture.info.width) / made.info.width,
      double (picture.info.height) / made.info.height};
  std::vector<std::vector<Share>> columns;
  for (int x = 0; x < to.width (c); x++)
    columns.push_back (
        shares (method, position (x, ratio[0], sides.subsampling[0], sides.cosited[0]),
            ratio[0], from.width (c)));
  for (int y = 0; y < to.height (c); y++) {
    const auto rows =
        shares (method, position (y, ratio[1], sides.subsampling[1], sides.cosited[1]),
            ratio[1], from.height (c));
    for (int x = 0; x < to.width (c); x++) {
      double sum = 0;
      for (const Share &row : rows)
        for (const Share &column : columns[x])
          sum += row.weight * column.weight * from.at (c, column.at, row.at) / unit;
      const double expected = std::clamp (sum, 0., full);
      fail_unless (std::fabs (to.at (c, x, y) / double (unit) - expected) < 0.51,
          "%s %s %dx%d to %dx%d, component %d at %d,%d: %g, expected %g", method.c_str (),
          GST_VIDEO_INFO_NAME (&made.info), picture.info.width, picture.info.height,
          made.info.width, made.info.height, c, x, y, to.at (c, x, y) / double (unit),
          expected);
    }
  }
}

/* 10 bits of P010 are the upper ones of 16. */
Picture
random_samples (const GstVideoInfo &info, int unit, int padding)
{
  Picture picture = video::random_picture (info, 5, padding);
  const bool is_low = GST_VIDEO_INFO_COMP_DEPTH (&info, 0) == 10 && unit == 1;
  View view (picture, GST_MAP_READWRITE);
  for (int c = 0; c < view.components (); c++)
    for (int y = 0; y < view.height (c); y++)
      for (int x = 0; x < view.width (c); x++)
        view.set (
            c, x, y, is_low ? view.at (c, x, y) >> 6 : view.at (c, x, y) / unit * unit);
  return picture;
}

void
check_scaled (const char *method, const char *format, const Size &size, const char *site,
    int padding)
{
  const GstVideoInfo in = info_of (format, size.in[0], size.in[1], nullptr, site);
  const GstVideoInfo out = info_of (format, size.out[0], size.out[1], nullptr, site);
  const int unit = g_str_has_prefix (format, "P010") ? 64 : 1;
  const bool whole = GST_VIDEO_INFO_COMP_DEPTH (&in, 0) == 16;
  const Picture picture = random_samples (in, unit, padding);
  Run run (std::string ("openclconvert scale-method=") + method, in, out);
  const Picture made = run (picture);
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS (&in); c++)
    check_component (method, picture, made, int (c), unit, whole);
  fail_unless_equals_uint64 (
      check::counts_of (run.harness.find ("openclconvert")).launches, 1);
}
} // namespace

TEST_ROWS (test_convert_scales_samples_of_every_kind_as_double_precision_does,
    {"NV12", "Y42B", "A420", "NV21", "GRAY8", "RGB", "BGRx", "GBR", "P010_10LE",
        "I420_10LE", "GRAY16_LE", "AYUV64"})
{
  for (const Size &size : {sizes[0], sizes[2]})
    check_scaled ("lanczos", row, size, "mpeg2", 3);
}

TEST_ROWS (test_convert_scales_to_every_size_as_double_precision_does, sizes)
{
  for (const char *method : methods)
    for (int padding : {0, 3, 12})
      check_scaled (method, "I420", row, "jpeg", padding);
  check_scaled ("lanczos", "RGBA", row, "jpeg", 0);
}

TEST_ROWS (test_convert_scales_chroma_at_its_site, {"jpeg", "mpeg2", "cosited"})
{
  for (const Size &size : {sizes[0], sizes[2]})
    check_scaled ("lanczos", "NV12", size, row, 0);
}

/* A smooth pattern of the frame, 0 to 1 */
static double
pattern (double u, double v)
{
  return 0.5 + 0.2 * std::sin (7 * u + 1) + 0.2 * std::cos (5 * v - u);
}

/* The same pattern is filmed in both sizes, sample by sample where each lies. */
TEST_ROWS (test_convert_scales_without_moving_chroma, {"jpeg", "mpeg2", "cosited"})
{
  const char *const format = "I420";
  for (const char *to : {format, "Y444"})
    for (const char *method : {"bilinear", "lanczos"})
      for (const Size &size : {sizes[0], sizes[2], sizes[3]}) {
        Picture pictures[2] = {
            Picture (info_of (format, size.in[0], size.in[1], nullptr, row)),
            Picture (info_of (to, size.out[0], size.out[1], nullptr, row))};
        for (const Picture &picture : pictures) {
          const GstVideoInfo &info = picture.info;
          video::fill (picture, [&] (int c, int x, int y) {
            const Sides sides = sides_of (info, c);
            const double at_x =
                luma_of_chroma (x, sides.subsampling[0], sides.cosited[0]);
            const double at_y =
                luma_of_chroma (y, sides.subsampling[1], sides.cosited[1]);
            return pattern ((at_x + 0.5) / info.width, (at_y + 0.5) / info.height);
          });
        }
        Run run (std::string ("openclconvert scale-method=") + method, pictures[0].info,
            pictures[1].info);
        const Picture made = run (pictures[0]);
        const View is (made), wanted (pictures[1]);
        const int most = g_str_equal (format, to) ? 1 : 2; /* chroma is rounded twice */
        /* Samples repeat beyond the edges, where the pattern goes on. */
        const int beside = 4 * std::max (1, size.out[0] / size.in[0]);
        for (int c = 0; c < 3; c++)
          for (int y = beside; y < is.height (c) - beside; y++)
            for (int x = beside; x < is.width (c) - beside; x++)
              fail_unless (std::abs (is.at (c, x, y) - wanted.at (c, x, y)) <= most,
                  "%s %s to %s %dx%d, component %d at %d,%d: %d, expected %d", method,
                  format, to, size.out[0], size.out[1], c, x, y, is.at (c, x, y),
                  wanted.at (c, x, y));
      }
}
