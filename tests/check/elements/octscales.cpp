/* Tests of scales: micrometres per depth bin and per A-line, along the chain
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"
#include "tests/check/folder.hpp"

using namespace check;
using namespace depths;

namespace {
const gsize samples = 256, lines = 8;

std::string
spectra_caps ()
{
  return text ("video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,width=%zu,height=%zu,"
               "framerate=50/1",
      samples, lines);
}

/* Depth step in µm of a spectrum between two wavelengths in µm */
double
depth_step (double first, double last, double index = 1)
{
  const double span = 2 * G_PI * std::abs (1 / first - 1 / last);
  return G_PI / (samples * span / (samples - 1) * index);
}

Bytes
spectra_of_a_mirror (double first, double last, double depth)
{
  Values values;
  for (gsize line = 0; line < lines; line++) {
    for (gsize j = 0; j < samples; j++) {
      const double k = 2 * G_PI / (first + (last - first) * j / (samples - 1));
      values.push_back (std::round (30000 + 9000 * std::cos (2 * k * depth)));
    }
  }
  return bytes_of<guint16> (values);
}

/* Returns 0 if the field is missing. */
double
field_of (Harness &harness, const char *field)
{
  double value = 0;
  Owned<GstCaps> caps = harness.caps ();
  gst_structure_get_double (gst_caps_get_structure (caps, 0), field, &value);
  return value;
}

void
expect_close (double got, double expected, const std::string &what)
{
  fail_unless (std::abs (got - expected) <= 1e-9 * std::abs (expected),
      "%s: %.12g, expected %.12g", what.c_str (), got, expected);
}

Owned<GstBuffer>
pass (Harness &harness, guint n)
{
  return harness.pass (timed (spectra_of_a_mirror (1.2, 1.4, 100), n));
}

struct Unit {
  std::string label;
  double micrometres;
};

const Unit units[] = {{"nm", 1e-3}, {"um", 1}, {"m", 1e6}};
const std::string numbers =
    " ! capsfilter caps=\"application/x-oct(memory:OpenCLMemory),format=F32LE\"";
} // namespace

TEST_ROWS (test_octscales_the_depth_step_follows_from_the_wavelengths, units)
{
  for (bool falling : {false, true}) {
    const double first = falling ? 1.4 : 1.2, last = falling ? 1.2 : 1.4;
    Harness harness (text ("octwindowinterp wavelength-min=%.17g wavelength-max=%.17g "
                           "wavelength-unit=%s ! octfft refractive-index=1.38%s",
                         first / row.micrometres, last / row.micrometres,
                         row.label.c_str (), numbers.c_str ()),
        spectra_caps ());
    pass (harness, 0);
    expect_close (
        field_of (harness, "depth-step"), depth_step (first, last, 1.38), row.label);
  }
}

TEST (test_octscales_the_depth_step_follows_from_a_file)
{
  const Folder folder;
  std::string content;
  for (gsize j = 0; j < samples; j++)
    content += text ("%.17g\n", 800 + 100 * std::pow (double (j) / (samples - 1), 1.1));
  Harness harness (
      text ("octwindowinterp wavelengths=%s wavelength-unit=nm ! octfft%s",
          folder.write ("wavelengths.txt", content).c_str (), numbers.c_str ()),
      spectra_caps ());
  pass (harness, 0);
  expect_close (field_of (harness, "depth-step"), depth_step (0.8, 0.9), "file");
}

TEST (test_octscales_a_mirror_is_where_the_depth_step_says)
{
  const double depth = 117.3;
  Harness harness ("octwindowinterp wavelength-min=1.2 wavelength-max=1.4 "
                   "wavelength-unit=um ! octfft scale=linear"
                       + numbers,
      spectra_caps ());
  harness.push (timed (spectra_of_a_mirror (1.2, 1.4, depth), 0));
  const Values got = pull_numbers (harness);
  const auto peak = std::max_element (got.begin () + 5, got.begin () + samples / 2);
  const double found = double (peak - got.begin ()) * field_of (harness, "depth-step");
  fail_unless (std::abs (found - depth) <= depth_step (1.2, 1.4) / 2 + 1e-9,
      "%g µm, expected %g", found, depth);
}

TEST (test_octscales_no_scale_without_known_values)
{
  for (const char *settings :
      {"wavelength-min=1187 wavelength-max=1433", "wavelength-unit=nm"}) {
    Harness harness (std::string ("octwindowinterp ") + settings + " ! octfft" + numbers,
        spectra_caps ());
    pass (harness, 0);
    expect_equal (field_of (harness, "depth-step"), 0.0);
    expect_equal (field_of (harness, "line-step"), 0.0);
  }
}

/* Averaged A-lines have a larger spacing. */
TEST (test_octscales_go_along_the_chain)
{
  Harness harness (
      "octscan line-step=5 b-scan-step=11 ! octwindowinterp "
      "wavelength-min=1200 wavelength-max=1400 wavelength-unit=nm ! octfft ! "
      "octaverage frames=1 lines=4 mean=complex ! octangio repeats=2",
      spectra_caps ());
  harness.push (timed (spectra_of_a_mirror (1.2, 1.4, 100), 0));
  harness.push (timed (spectra_of_a_mirror (1.2, 1.4, 100), 1));
  harness.pull ();
  expect_close (field_of (harness, "depth-step"), depth_step (1.2, 1.4), "depth");
  expect_close (field_of (harness, "line-step"), 20, "line");
  expect_close (field_of (harness, "b-scan-step"), 11, "B-scan");
}

/* Returns -1 if the field is missing. */
static gint
first_depth (Harness &harness)
{
  gint first = -1;
  Owned<GstCaps> caps = harness.caps ();
  gst_structure_get_int (gst_caps_get_structure (caps, 0), "depth-start", &first);
  return first;
}

TEST (test_octscales_caps_tell_the_first_depth)
{
  Harness harness ("octwindowinterp ! octfft depth-count=20" + numbers, spectra_caps ());
  GstElement *fft = harness.find ("octfft");
  pass (harness, 0);
  expect_equal (first_depth (harness), 0);
  set_together (fft, "depth-start=30");
  pass (harness, 1);
  expect_equal (first_depth (harness), 30);
  set_together (fft, "depth-start=200");
  pass (harness, 2);
  expect_warnings (harness.bus, "too deep", {"depth-start is 200"});
  expect_equal (first_depth (harness), 30);
}

TEST (test_octscales_the_first_depth_goes_along_the_chain)
{
  const struct {
    std::string elements;
    gint first;
  } chains[] = {
      {"octaverage frames=1 lines=4 mean=complex ! octangio repeats=2", 30},
      {"octbackground ! octdoppler line-rate=1000 ! octscan flyback=1", 30},
      {"octvolume b-scans=2 ! "
       "capsfilter caps=\"other/tensors(memory:OpenCLMemory)\"",
          30},
      {"octdisplay", -1},
      {"octvolume b-scans=2 ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"", -1},
  };
  for (const auto &chain : chains) {
    Harness harness ("octwindowinterp ! octfft depth-start=30 ! capsfilter "
                     "caps=\"application/x-oct(memory:OpenCLMemory),format=CF32LE\" ! "
                         + chain.elements,
        spectra_caps ());
    for (guint n = 0; n < 2; n++)
      harness.push (timed (spectra_of_a_mirror (1.2, 1.4, 100), n));
    harness.pull ();
    expect_equal (first_depth (harness), chain.first, chain.elements);
  }
}

/* Pushes frame 0 with depths from 3 on, and the others with depths from 40 on. */
static void
push_with_other_depths (Harness &harness)
{
  harness.push (timed (spectra_of_a_mirror (1.2, 1.4, 40), 0));
  while (waiting (harness) > 0)
    harness.pull ();
  set_together (harness.find ("octfft"), "depth-start=40");
  for (guint n = 1; n < 4; n++)
    harness.push (timed (spectra_of_a_mirror (1.2, 1.4, 40 + 7 * n), n));
}

/* Pushes frames with depths from 40 on. */
static void
push_from (Harness &harness, guint first)
{
  for (guint n = first; n < 4; n++)
    harness.push (timed (spectra_of_a_mirror (1.2, 1.4, 40 + 7 * n), n));
}

static std::string
with_depths (guint first, const std::string &elements)
{
  return text ("octscan repeats=2 ! octwindowinterp ! "
               "octfft depth-count=20 depth-start=%u ! ",
             first)
         + elements;
}

const std::string floats =
    "capsfilter caps=\"application/x-oct(memory:OpenCLMemory),format=F32LE\" ! ";

/* No output combines frames of different depths. */
TEST (test_octscales_other_depths_mix_with_none_before)
{
  const struct {
    std::string elements;
    guint first; /* first output after the change */
  } chains[] = {
      {"octaverage frames=2", 2},
      {"octaverage frames=2 rolling=true", 1},
      {floats + "octaverage frames=2 rolling=true", 1},
      {"octangio repeats=2", 2},
      {"octdoppler between=frames quantity=phase", 1},
  };
  for (const auto &chain : chains) {
    Harness turned (with_depths (3, chain.elements), spectra_caps ());
    Harness anew (with_depths (40, chain.elements), spectra_caps ());
    push_with_other_depths (turned);
    push_from (anew, chain.first);
    fail_if (waiting (anew) == 0, "%s", chain.elements.c_str ());
    expect_equal (waiting (turned), waiting (anew), chain.elements);
    while (waiting (anew) > 0)
      assert_same (
          read_buffer (turned.pull ()), read_buffer (anew.pull ()), chain.elements);
  }
}

/* The row before the change is empty after it, wherever it is. */
TEST (test_octscales_other_depths_restart_a_live_volume)
{
  const std::string volume = floats
                             + "octvolume b-scans=2 live=true ! "
                               "capsfilter caps=\"other/tensors(memory:OpenCLMemory)\"";
  Harness turned (with_depths (3, volume), spectra_caps ());
  Harness anew (with_depths (40, volume), spectra_caps ());
  auto rows_of = [] (const Bytes &both) {
    const auto middle = both.begin () + gssize (both.size () / 2);
    std::vector<Bytes> rows = {
        Bytes (both.begin (), middle), Bytes (middle, both.end ())};
    std::sort (rows.begin (), rows.end ());
    return rows;
  };
  push_with_other_depths (turned);
  push_from (anew, 1);
  fail_unless (
      rows_of (read_buffer (turned.pull ())) == rows_of (read_buffer (anew.pull ())));
}

TEST (test_octscales_a_picture_has_true_proportions_when_asked)
{
  Harness harness ("octwindowinterp wavelength-min=1200 wavelength-max=1400 "
                   "wavelength-unit=nm ! octfft line-step=20",
      spectra_caps ());
  gint numerator, denominator;
  auto ratio = [&] {
    numerator = denominator = 1;
    Owned<GstCaps> caps = harness.caps ();
    gst_structure_get_fraction (
        gst_caps_get_structure (caps, 0), "pixel-aspect-ratio", &numerator, &denominator);
    return double (numerator) / denominator;
  };
  pass (harness, 0);
  expect_equal (ratio (), 1.0);
  set_together (harness.find ("octfft"), "true-scale=true");
  pass (harness, 1);
  const double expected = 20 / depth_step (1.2, 1.4);
  fail_unless (
      std::abs (ratio () / expected - 1) < 1e-3, "%g, expected %g", ratio (), expected);
  /* Sinks multiply it by sizes. */
  fail_unless (
      numerator <= 10000 && denominator <= 10000, "%d/%d", numerator, denominator);
}
