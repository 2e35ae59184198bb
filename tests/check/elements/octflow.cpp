/* Tests of moving and static tissue: from octtestsrc's phantom to velocities and
 * angiograms
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"

using namespace check;
using namespace depths;

namespace {
/* --- position of the phantom's vessel --- */

struct Phantom {
  gsize samples, lines;

  gsize bins () const { return samples / 2; }
  double surface (double across) const { return 0.15 - 0.05 * std::sin (G_PI * across); }
  /* Distance from the vessel's axis; 1 at its wall */
  double away (gsize line, gsize bin) const
  {
    const double across = (line + 0.5) / lines, deep = double (bin) / bins ();
    return std::hypot (
        (across - 0.66) / 0.085, (deep - surface (across) - 0.185) / 0.050);
  }
  /* Returns true well inside tissue. */
  bool is_tissue (gsize line, gsize bin) const
  {
    const double below = double (bin) / bins () - surface ((line + 0.5) / lines);
    return away (line, bin) > 1.6 && below > 0.02 && below < 0.35;
  }
  bool is_blood (gsize line, gsize bin) const { return away (line, bin) < 0.8; }

  std::string source (const std::string &settings) const
  {
    return text ("octtestsrc %s ! video/x-raw(memory:OpenCLMemory),width=%zu,height=%zu,"
                 "framerate=50/1",
        settings.c_str (), samples, lines);
  }
};

std::string
to_depth (const char *background)
{
  return text (" ! octwindowinterp wavelength-min=1187 wavelength-max=1433 background=%s "
               "! octfft",
      background);
}

/* Returns the values at positions of one kind. */
template <typename Which>
Values
chosen (const Phantom &phantom, const Values &values, Which which)
{
  Values some;
  for (gsize line = 0; line < phantom.lines; line++) {
    for (gsize bin = 0; bin < phantom.bins (); bin++) {
      if (which (line, bin))
        some.push_back (values[line * phantom.bins () + bin]);
    }
  }
  return some;
}

double
median (Values values)
{
  fail_unless (values.size () > 20, "%zu values", values.size ());
  std::nth_element (
      values.begin (), values.begin () + gssize (values.size () / 2), values.end ());
  return values[values.size () / 2];
}

/* Returns the numbers of the n-th frame. */
Values
last_numbers (const std::string &line, guint n)
{
  Pipeline pipeline (line + " ! opencldownload ! appsink name=out sync=false");
  pipeline.start ();
  Values numbers;
  for (guint i = 0; i < n; i++) {
    Owned<GstSample> sample = pipeline.pull ();
    fail_unless (
        sample.operator->() != nullptr, "%s", collect (pipeline.bus).line ().c_str ());
    numbers = numbers_in<float> (read_buffer (gst_sample_get_buffer (sample)));
  }
  return numbers;
}

/* Probability that a value of blood is above a value of tissue */
double
area_under_curve (const Values &blood, Values tissue)
{
  std::sort (tissue.begin (), tissue.end ());
  double above = 0;
  for (double value : blood)
    above += double (
        std::lower_bound (tissue.begin (), tissue.end (), value) - tissue.begin ());
  return above / (double (blood.size ()) * double (tissue.size ()));
}

/* --- velocities --- */

const double line_rate = 20000;
/* The phase turns by pi from one A-line to the next. */
const double fastest = 1310e-6 * line_rate / 4;

struct Flow {
  std::string label;
  double velocity; /* mm/s */
};
} // namespace

TEST_ROWS (test_octflow_velocity_of_the_phantom_is_found,
    std::vector<Flow>{{"downwards", 0.25 * fastest}, {"upwards", -0.4 * fastest},
        {"nearly a half turn", 0.9 * fastest}, {"so upwards", -0.9 * fastest}})
{
  const Phantom phantom = {512, 2048};
  const guint n_frames = 16;
  Pipeline pipeline (
      phantom.source (text ("velocity=%.17g line-rate=%g noise=5 num-buffers=%u",
          row.velocity, line_rate, n_frames))
      + to_depth ("none")
      + text (" ! octdoppler line-rate=%g invert=true window-depths=7 window-lines=64 ! "
              "opencldownload ! appsink name=out sync=false",
          line_rate));
  pipeline.start ();
  /* Blood that flows past is different each time. */
  double blood = 0, tissue = 0;
  for (guint n = 0; n < n_frames; n++) {
    Owned<GstSample> sample = pipeline.pull ();
    const Values velocities =
        numbers_in<float> (read_buffer (gst_sample_get_buffer (sample)));
    blood += median (chosen (phantom, velocities, [&] (gsize line, gsize bin) {
      return phantom.away (line, bin) < 0.6;
    })) / n_frames;
    tissue += median (chosen (phantom, velocities, [&] (gsize line, gsize bin) {
      return phantom.is_tissue (line, bin);
    })) / n_frames;
  }
  fail_unless (std::abs (blood / row.velocity - 1) <= 0.02, "%s: %g mm/s, expected %g",
      row.label.c_str (), blood, row.velocity);
  fail_unless (std::abs (tissue) <= 0.01 * fastest, "%s: tissue moves by %g mm/s",
      row.label.c_str (), tissue);
}

/* --- angiograms --- */

TEST_ROWS (test_octflow_angiogram_separates_vessel_from_tissue,
    {std::string ("method=speckle-variance"), std::string ("method=decorrelation"),
        std::string ("method=complex-variance")})
{
  const Phantom phantom = {512, 128};
  const Values angiogram =
      last_numbers (phantom.source ("velocity=1 line-rate=20000 noise=5 num-buffers=4")
                        + to_depth ("frame") + " ! octangio repeats=4 " + row,
          1);
  const double area = area_under_curve (
      chosen (phantom, angiogram,
          [&] (gsize line, gsize bin) { return phantom.is_blood (line, bin); }),
      chosen (phantom, angiogram,
          [&] (gsize line, gsize bin) { return phantom.is_tissue (line, bin); }));
  fail_unless (area >= 0.95, "%s: %g", row.c_str (), area);
}

/* --- scans --- */

/* A corrected resonant scan equals a linear scan. */
TEST (test_octflow_scans_that_come_back_show_the_same)
{
  const Phantom phantom = {256, 512};
  const std::string still = " noise=0 num-buffers=4 seed=3";
  const std::string levels = " ! octwindowinterp ! octfft scale=linear ! ";
  const std::string numbers =
      "capsfilter caps=\"application/x-oct(memory:OpenCLMemory),format=F32LE\"";
  for (guint n : {1u, 2u}) {
    const Values even =
        last_numbers (phantom.source ("velocity=0.001" + still) + levels + numbers, n);
    const Values back = last_numbers (
        phantom.source ("velocity=0.001 bidirectional=true sinusoidal=0.9" + still)
            + levels + numbers
            + " ! octscan reverse=odd sinusoidal=0.9 interpolation=linear",
        n);
    const Values untouched = last_numbers (
        phantom.source ("velocity=0.001 bidirectional=true sinusoidal=0.9" + still)
            + levels + numbers,
        n);
    double away = 0, power = 0, without = 0;
    for (gsize at = 0; at < even.size (); at++) {
      if (at % phantom.bins () < 12)
        continue; /* bins of the light source's own spectrum */
      away += std::pow (back[at] - even[at], 2);
      without += std::pow (untouched[at] - even[at], 2);
      power += even[at] * even[at];
    }
    fail_unless (away < 0.02 * power, "frame %u: %g", n, away / power);
    fail_unless (without > 0.05 * power, "frame %u untouched: %g", n, without / power);
  }
}
