/* Tests of the k-clock: the fringes of its own clock resample each A-line evenly in
 * wavenumber
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthchain.hpp"

#include <cstring>

using check::Bytes;
using check::DepthChain;
using reference::Values;

namespace {
const gsize samples = 512, lines = 5;

/* A nonlinear sweep with jitter, different in each A-line; from 0 to the last sample */
Values
sweep (gsize line)
{
  const double last = samples - 1, bend = 0.05 + 0.04 * double (line);
  Values places;
  for (gsize j = 0; j < samples; j++) {
    const double u = double (j) / last;
    places.push_back (
        last
        * (u + bend * u * (1 - u)
            + 0.002 * std::sin (G_PI * u) * std::sin (6 * u + double (line))));
  }
  return places;
}

/* Spectrum of mirrors at some depths, at one wavenumber */
double
fringes (double place)
{
  double sum = 0;
  for (double depth : {13.0, 40.3, 77.0})
    sum += 1000 * std::cos (2 * G_PI * depth * place / samples + depth);
  return sum;
}

/* The clock has four to five samples per fringe, and an offset. */
double
clock_at (double place)
{
  return 5000 + 3000 * std::cos (2 * G_PI * 0.22 * place + 1);
}

/* Both channels, in the order of `format` */
std::vector<Values>
lines_of (bool interleaved, double offset)
{
  std::vector<Values> all;
  for (gsize line = 0; line < lines; line++) {
    const Values places = sweep (line);
    Values x (2 * samples);
    for (gsize j = 0; j < samples; j++) {
      x[interleaved ? 2 * j : j] = std::round (offset + fringes (places[j]));
      x[interleaved ? 2 * j + 1 : samples + j] = std::round (clock_at (places[j]));
    }
    all.push_back (x);
  }
  return all;
}

Bytes
bytes_of (const std::vector<Values> &all, const std::string &format)
{
  Bytes bytes;
  for (const Values &line : all) {
    for (double value : line) {
      guint8 four[4];
      if (format == "F32LE")
        GST_WRITE_FLOAT_LE (four, float (value));
      else if (format == "U16BE")
        GST_WRITE_UINT16_BE (four, guint16 (value));
      else
        GST_WRITE_UINT16_LE (four, guint16 (gint16 (value)));
      bytes.insert (bytes.end (), four, four + (format == "F32LE" ? 4 : 2));
    }
  }
  return bytes;
}

/* Windowed spectrum of the same mirrors at even wavenumbers, in double precision */
fourier::Line
expected_depths (double offset)
{
  Values x;
  for (gsize m = 0; m < samples; m++)
    x.push_back (offset + fringes (double (m)));
  return reference::depths_of (reference::spectrum_of ({}, x));
}

/* The largest difference of an A-line's amplitudes from bin 5 on, relative to the largest
 * of these */
double
worst_of (const fourier::Line &found, const fourier::Line &expected, gsize count)
{
  double largest = 0, worst = 0;
  fail_unless_equals_int (found.size (), count * expected.size ());
  for (gsize n = 0; n < found.size (); n++) {
    const gsize bin = n % expected.size ();
    if (bin < 5)
      continue;
    largest = std::max (largest, std::abs (expected[bin]));
    worst = std::max (worst, std::abs (std::abs (found[n]) - std::abs (expected[bin])));
  }
  return worst / largest;
}

struct Kind {
  std::string label, format;
  bool interleaved;
  double offset;
};
} // namespace

TEST_ROWS (test_each_a_line_is_even_by_its_own_clock,
    std::vector<Kind>{{"float, interleaved", "F32LE", true, 0},
        {"float, behind", "F32LE", false, 0}, {"signed", "S16LE", true, 0},
        {"unsigned", "U16LE", true, 8000}, {"high byte first", "U16BE", false, 8000}})
{
  const std::string where = row.interleaved ? "interleaved" : "behind";
  DepthChain chain ("k-clock=" + where, "", 2 * samples, lines, row.format);
  const fourier::Line expected = expected_depths (row.offset);
  const Bytes frame = bytes_of (lines_of (row.interleaved, row.offset), row.format);
  for (guint n = 0; n < 3; n++) {
    const double worst = worst_of (chain.pass_bytes (frame), expected, lines);
    fail_unless (worst < 0.02, "%s: %g of the largest", row.label.c_str (), worst);
  }
  fail_unless (chain.harness.messages ().is_clean ());
}

/* The clock's filter leaves no phase for 20 samples at each end. If the step of a sweep
 * changes evenly, they can be extrapolated: spectra are right from the first sample to
 * the last. */
TEST (test_the_ends_of_an_a_line_are_even_by_its_own_clock)
{
  const double last = samples - 1;
  for (double bend : {-0.4, 0.4}) {
    Values x (2 * samples);
    for (gsize j = 0; j < samples; j++) {
      const double u = double (j) / last, place = last * (u + bend * u * (1 - u));
      x[j] = fringes (place);
      x[samples + j] = clock_at (place);
    }
    check::Harness harness (
        "openclupload ! octwindowinterp k-clock=behind window=rectangular ! "
        "application/x-oct(memory:OpenCLMemory),domain=wavenumber,format=F32LE ! "
        "opencldownload",
        "application/x-oct,domain=wavelength,framerate=25/1,format=F32LE,samples=1024,"
        "lines=1");
    const Bytes found =
        check::read_buffer (harness.pass (check::buffer_of (bytes_of ({x}, "F32LE"))));
    fail_unless_equals_int (found.size (), 4 * samples);
    for (gsize m = 0; m < samples; m++) {
      const double value = double (samples) / 2 * GST_READ_FLOAT_LE (&found[4 * m]);
      fail_unless (std::abs (value - fringes (double (m))) < 150,
          "bend %g, wavenumber %d: %g, expected %g of 3000", bend, int (m), value,
          fringes (double (m)));
    }
  }
}

/* Without the clock, peaks are broadened. */
TEST (test_without_the_clock_the_sweep_is_seen)
{
  Bytes frame;
  for (const Values &line : lines_of (false, 0)) {
    const Bytes one =
        bytes_of ({Values (line.begin (), line.begin () + samples)}, "F32LE");
    frame.insert (frame.end (), one.begin (), one.end ());
  }
  DepthChain chain ("", "", samples, lines);
  const double worst = worst_of (chain.pass_bytes (frame), expected_depths (0), lines);
  fail_unless (worst > 0.3, "%g of the largest", worst);
}

TEST (test_a_clock_comes_and_goes_while_it_plays)
{
  const Bytes frame = bytes_of (lines_of (true, 0), "F32LE");
  const fourier::Line expected = expected_depths (0);
  DepthChain chain ("", "", 2 * samples, lines);
  const gsize before = chain.pass_bytes (frame).size ();
  check::set_together (chain.find ("octwindowinterp"), "k-clock=interleaved");
  fail_unless (worst_of (chain.pass_bytes (frame), expected, lines) < 0.02);
  check::set_together (
      chain.find ("octwindowinterp"), "wavelength-min=1 wavelength-max=2");
  fail_unless (worst_of (chain.pass_bytes (frame), expected, lines) < 0.02);
  fail_unless_equals_int (chain.harness.messages ().warnings.size (), 1);
  check::set_together (
      chain.find ("octwindowinterp"), "wavelength-min=0 wavelength-max=0 k-clock=none");
  fail_unless_equals_int (chain.pass_bytes (frame).size (), before);
}

/* Depths may be invalid, but frames continue, and those of the next frame are right. */
TEST (test_k_clock_without_progress_does_not_stop_the_stream)
{
  DepthChain chain ("k-clock=behind", "", 2 * samples, lines);
  const Values nothing (2 * samples * lines);
  chain.pass (nothing);
  Values broken = nothing;
  broken[samples + 7] = NAN;
  chain.pass (broken);
  const Bytes frame = bytes_of (lines_of (false, 0), "F32LE");
  fail_unless (worst_of (chain.pass_bytes (frame), expected_depths (0), lines) < 0.02);
}
