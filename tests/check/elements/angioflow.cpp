/* Tests of octangio's noise threshold, projection artefacts and structure
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"

#include "gst/oct/octscanmeta.h"

using namespace check;
using namespace depths;

namespace {
const gsize bins = 160, columns = 48;

/* Complex Gaussian noise of power 1 */
Pairs
noise (guint seed, gsize n = bins * columns)
{
  std::mt19937 random (seed);
  std::normal_distribution<double> normal (0, std::sqrt (0.5));
  Pairs pairs (n);
  for (Complex &value : pairs) {
    const double real = normal (random);
    value = Complex (real, normal (random));
  }
  return pairs;
}

Pairs
scaled_pairs (Pairs pairs, double by)
{
  for (Complex &value : pairs)
    value *= by;
  return as_float (pairs);
}

std::vector<Values>
angiograms_of (const std::string &settings, const std::vector<Pairs> &repeats,
    gsize lines = columns, gsize depths = bins)
{
  Harness harness (text ("octangio repeats=%zu ", repeats.size ()) + settings,
      frame_caps ("CF32LE", lines, depths));
  for (guint n = 0; n < repeats.size (); n++)
    harness.push (complex_frame (repeats[n], n));
  std::vector<Values> results;
  while (waiting (harness) > 0)
    results.push_back (pull_numbers (harness));
  return results;
}

Values
powers_of (const std::vector<Pairs> &repeats)
{
  Values powers (repeats[0].size ());
  for (const Pairs &repeat : repeats) {
    for (gsize at = 0; at < powers.size (); at++)
      powers[at] += std::norm (repeat[at]) / double (repeats.size ());
  }
  return powers;
}

/* --- noise floor --- */

struct Scene {
  std::string label;
  gsize first, end; /* depths of tissue, 30 dB above the noise */
  double gain = 1;  /* of all values */
  gsize dead = 0;   /* A-lines of zeros */
  gsize broken = 0; /* A-lines of NaN */
};

/* Repeats of noise of power 1 and of tissue, before the gain */
std::vector<Pairs>
repeats_of (const Scene &scene, guint n)
{
  const Pairs tissue = noise (77);
  std::vector<Pairs> repeats;
  for (guint repeat = 0; repeat < n; repeat++) {
    Pairs pairs = noise (100 + repeat);
    for (gsize at = 0; at < pairs.size (); at++) {
      const gsize line = at / bins, depth = at % bins;
      if (depth >= scene.first && depth < scene.end)
        pairs[at] += 31.6 * tissue[at];
      if (line < scene.dead)
        pairs[at] = 0;
      else if (line < scene.dead + scene.broken)
        pairs[at] = Complex (NAN, NAN);
    }
    repeats.push_back (scaled_pairs (pairs, scene.gain));
  }
  return repeats;
}
} // namespace

/* Values are zero below the noise power times the threshold, and unchanged above it. The
 * noise floor may be 1 dB wrong. */
TEST_ROWS (test_octangio_threshold_above_noise,
    std::vector<Scene>{{"air above", 60, 160}, {"air below", 0, 110},
        {"thin tissue", 70, 80}, {"little air", 20, 160}, {"small values", 60, 160, 1e-4},
        {"large values", 60, 160, 1e4}, {"A-lines of zeros", 60, 160, 1, 12},
        {"A-lines of NaN", 60, 160, 1, 0, 3}})
{
  for (const char *method : {"speckle-variance", "decorrelation", "complex-variance"}) {
    for (double snr : {3.0, 9.0}) {
      const std::vector<Pairs> repeats = repeats_of (row, 4);
      const Values powers = powers_of (repeats);
      const std::string settings = text ("method=%s", method);
      const Values all = angiograms_of (settings, repeats)[0];
      const Values some =
          angiograms_of (settings + text (" threshold-snr=%g", snr), repeats)[0];
      gsize zeros = 0, others = 0;
      for (gsize at = 0; at < all.size (); at++) {
        const double level = 10 * std::log10 (powers[at] / (row.gain * row.gain));
        if (!(level >= snr - 1) && some[at] == 0)
          zeros++;
        else if (level > snr + 1 && some[at] == all[at])
          others++;
        else
          fail_unless (std::abs (level - snr) <= 1, "%s, %s, %g dB: level %g gives %g",
              row.label.c_str (), method, snr, level, some[at]);
      }
      fail_unless (zeros > 300 && others > 100, "%zu zeros, %zu values", zeros, others);
    }
  }
}

/* The greater of both thresholds counts. */
TEST (test_octangio_threshold_above_noise_and_absolute)
{
  const std::vector<Pairs> repeats = repeats_of ({"", 60, 160}, 2);
  const Values powers = powers_of (repeats);
  const Values low = angiograms_of ("threshold-snr=6 threshold=25", repeats)[0];
  const Values high = angiograms_of ("threshold-snr=30 threshold=5", repeats)[0];
  for (gsize at = 0; at < powers.size (); at++) {
    fail_unless ((low[at] != 0) == (powers[at] >= std::pow (10, 2.5)), "%zu", at);
    if (powers[at] < std::pow (10, 2.9))
      expect_equal (high[at], 0.0, "30 dB above noise of 0 dB");
  }
}

/* --- projection artefacts --- */

namespace {
/* Depths with the same power and the same relative change between two repeats */
struct Part {
  gsize first, end;
  double amplitude, change;
};

/* Values that do not vary along A-lines. Air has an amplitude of 1. */
std::vector<Pairs>
two_repeats (const std::vector<Part> &parts)
{
  std::vector<Pairs> repeats (2, Pairs (bins * columns, 1));
  for (gsize at = 0; at < bins * columns; at++) {
    for (const Part &part : parts) {
      if (at % bins < part.first || at % bins >= part.end)
        continue;
      repeats[0][at] = part.amplitude;
      repeats[1][at] = part.amplitude * (1 + part.change);
    }
  }
  return {as_float (repeats[0]), as_float (repeats[1])};
}

/* Share of the depths in a range that are above 0, over all A-lines */
double
share_above_zero (const Values &angiogram, gsize first, gsize end)
{
  double count = 0;
  for (gsize at = 0; at < angiogram.size (); at++)
    count += at % bins >= first && at % bins < end && angiogram[at] > 0;
  return count / double ((end - first) * columns);
}

struct Tail {
  std::string label;
  std::vector<Part> parts; /* a vessel, and another part below it */
  double ratio;
  bool stays; /* whether the other part stays */
};
} // namespace

/* The part below the vessel stays if its flow, divided by the logarithm of its power, is
 * large enough. At edges the means over 7 depths have less power, so with a ratio of 1
 * only edges stay. */
TEST_ROWS (test_octangio_resolves_projections,
    std::vector<Tail>{
        {"tail of a vessel", {{30, 50, 1000, 1}, {60, 90, 1000, 0.3}}, 0.4, false},
        {"vessel of equal flow", {{30, 50, 1000, 1}, {60, 90, 1000, 1.02}}, 1, true},
        {"vessel of less flow", {{30, 50, 1000, 1}, {60, 90, 1000, 0.9}}, 1, false},
        {"the same with another ratio", {{30, 50, 1000, 1}, {60, 90, 1000, 0.9}}, 0.4,
            true},
        {"less flow in a darker part", {{30, 50, 1000, 1}, {60, 90, 100, 0.9}}, 1, true},
        {"darker tail", {{30, 50, 1000, 1}, {60, 90, 100, 0.3}}, 0.4, false}})
{
  for (const char *method : {"complex-variance", "speckle-variance", "decorrelation"}) {
    const std::vector<Pairs> repeats = two_repeats (row.parts);
    const std::string settings = text (
        "method=%s projection-resolved=true projection-ratio=%g", method, row.ratio);
    const Values before = angiograms_of (text ("method=%s", method), repeats)[0];
    const Values after = angiograms_of (settings, repeats)[0];
    const Part &vessel = row.parts[0], &below = row.parts[1];
    for (gsize at = 0; at < after.size (); at++)
      fail_unless (after[at] == 0 || after[at] == before[at], "%zu: %g, before %g", at,
          after[at], before[at]);
    const std::string label = row.label + ", " + method;
    const double kept = share_above_zero (after, vessel.first, vessel.end);
    const double under = share_above_zero (after, below.first, below.end);
    fail_unless (kept > 0 && (row.stays ? under > 0 : under == 0),
        "%s: %g of the vessel, %g below", label.c_str (), kept, under);
    if (row.ratio < 1)
      expect_equal (
          share_above_zero (after, vessel.first + 3, vessel.end - 3), 1.0, label);
    if (row.ratio < 1 && row.stays)
      expect_equal (share_above_zero (after, below.first + 3, below.end - 3), 1.0, label);
  }
}

/* Speckle: a vessel with new grains in each repeat, its tail, and static tissue. */
TEST (test_octangio_projection_resolved_keeps_vessels)
{
  const Pairs still = noise (1);
  std::vector<Pairs> repeats;
  const auto is_vessel = [] (gsize line, gsize depth) {
    return line >= 15 && line < 33 && depth >= 40 && depth < 65;
  };
  const auto is_tail = [] (gsize line, gsize depth) {
    return line >= 15 && line < 33 && depth >= 65;
  };
  for (guint n = 0; n < 4; n++) {
    const Pairs moving = noise (10 + n), dark = noise (20 + n);
    Pairs pairs;
    for (gsize at = 0; at < still.size (); at++) {
      const gsize line = at / bins, depth = at % bins;
      const double part = is_vessel (line, depth) ? 1 : is_tail (line, depth) ? 0.2 : 0;
      pairs.push_back (
          (depth < 25 ? 0.0 : 100.0)
              * (std::sqrt (1 - part) * still[at] + std::sqrt (part) * moving[at])
          + dark[at]);
    }
    repeats.push_back (as_float (pairs));
  }
  const Values before = angiograms_of ("", repeats)[0];
  const Values after = angiograms_of ("projection-resolved=true", repeats)[0];
  double vessel[2] = {}, tail[2] = {};
  for (gsize at = 0; at < before.size (); at++) {
    const gsize line = at / bins, depth = at % bins;
    for (bool resolved : {false, true}) {
      const double value = (resolved ? after : before)[at];
      vessel[resolved] += is_vessel (line, depth) ? value : 0;
      tail[resolved] += is_tail (line, depth) ? value : 0;
    }
  }
  fail_unless (vessel[1] >= 0.9 * vessel[0] && tail[1] <= 0.1 * tail[0],
      "%.3f of the vessel, %.3f of the tail are left", vessel[1] / vessel[0],
      tail[1] / tail[0]);
}

/* Changes while playing need no new group, and lost frames still end one. */
TEST (test_octangio_projection_resolved_while_playing)
{
  const std::vector<Pairs> repeats =
      two_repeats ({{30, 50, 1000, 1}, {60, 90, 1000, 0.3}});
  Harness harness ("octangio repeats=2", frame_caps ("CF32LE", columns, bins));
  guint frame = 0;
  for (const char *settings : {"projection-resolved=false", "projection-resolved=true",
           "projection-resolved=true method=decorrelation threshold-snr=6",
           "projection-resolved=false threshold-snr=0"}) {
    harness.push (complex_frame (repeats[0], frame++));
    set_together (harness.find ("octangio"), settings);
    harness.push (complex_frame (repeats[1], frame++));
    const double under = share_above_zero (pull_numbers (harness), 63, 87);
    expect_equal (under, strstr (settings, "true") ? 0.0 : 1.0, settings);
  }
  harness.push (complex_frame (repeats[0], frame));
  harness.push (complex_frame (repeats[1], frame + 3, GST_BUFFER_FLAG_DISCONT));
  expect_equal (waiting (harness), 0u);
  expect_warnings (harness.bus, "settings", {});
}

/* --- structure and en face angiogram --- */

namespace {
const gsize shown_lines = 16, shown_depths = 80;
const guint positions = 5;

gsize
surface_of (guint position, gsize line)
{
  return 10 + 3 * position + line;
}

/* Tissue from the surface on, and a vessel 20 to 24 depths below it in some A-lines.
 * Below, an artefact that is brighter than the vessel. */
Pairs
b_scan (guint position, guint repeat)
{
  Pairs pairs;
  for (gsize line = 0; line < shown_lines; line++) {
    for (gsize depth = 0; depth < shown_depths; depth++) {
      const gssize below = gssize (depth) - gssize (surface_of (position, line));
      const bool vessel = below >= 20 && below < 24 && (line + position) % 3 == 0;
      const bool artefact = below >= 30 || (below < -5 && depth > 2);
      const double amplitude = below < 0 ? 1 : 1000;
      pairs.push_back (amplitude * (1 + repeat * (vessel ? 0.5 : artefact ? 5 : 0.0)));
    }
  }
  return as_float (pairs);
}

/* Whether the projection shows the vessels and nothing else */
void
expect_vessels (const Bytes &picture, guint rows, const std::vector<guint> &lost = {})
{
  const Values pixels = pixels_in (picture, 1, shown_lines, positions);
  for (guint row = 0; row < rows; row++) {
    const bool is_lost = std::find (lost.begin (), lost.end (), row) != lost.end ();
    for (gsize line = 0; line < shown_lines; line++) {
      const bool vessel = !is_lost && (line + row) % 3 == 0;
      const double pixel = pixels[row * shown_lines + line];
      fail_unless (
          vessel ? pixel > 200 : pixel == 0, "row %u, A-line %zu: %g", row, line, pixel);
    }
  }
}

std::string
above (const std::string &slab, const std::string &between = "")
{
  return "octangio repeats=2 method=speckle-variance ! " + between
         + "octvolume b-scans=5 projection=maximum surface=true surface-level=40 "
           "surface-from=3 db-min=20 db-max=40 "
         + slab + " ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory),format=GRAY8\"";
}

std::string
shown_caps (const std::string &more = "")
{
  return frame_caps ("CF32LE", shown_lines, shown_depths) + more;
}

GstBuffer *
numbered (guint position, guint repeat)
{
  GstBuffer *buffer = complex_frame (b_scan (position, repeat), 2 * position + repeat);
  GstOctScan scan = {};
  scan.frame = 2 * position + repeat;
  scan.b_scan = position;
  scan.repeat = repeat;
  scan.b_scans = positions;
  scan.repeats = 2;
  gst_buffer_set_oct_scan (buffer, &scan);
  return buffer;
}
} // namespace

/* The surface is that of the tissue, not of the angiogram, which is brighter above it. */
TEST_ROWS (test_octvolume_angiogram_below_surface_of_structure,
    std::vector<std::string>{"", "queue ! ", "identity ! queue ! identity ! ",
        "tee name=t ! queue ! fakesink async=false t. ! queue ! "})
{
  Harness harness (above ("slab-start=15 slab-depths=12", row), shown_caps ());
  for (guint n = 0; n < 2 * positions; n++)
    harness.push (complex_frame (b_scan (n / 2, n % 2), n));
  for (guint position = 0; position < positions; position++) {
    Owned<GstBuffer> out = harness.pull ();
    expect_vessels (read_buffer (out), position + 1);
  }
  expect_warnings (harness.bus, "surface", {});
}

/* Lost B-scans, of which the numbers tell, do not move structure and angiogram apart. */
TEST (test_octvolume_angiogram_below_surface_with_lost_b_scans)
{
  Harness harness (above ("slab-start=15 slab-depths=12", "queue ! "), shown_caps ());
  for (guint position : {0, 1, 3, 4}) {
    harness.push (numbered (position, 0));
    if (position != 3)
      harness.push (numbered (position, 1));
  }
  Bytes last;
  for (guint n = 0; n < 3; n++)
    last = read_buffer (harness.pull ());
  expect_vessels (last, positions, {2, 3});
}

/* Micrometres: depths of 2.5 µm */
TEST (test_octvolume_slab_in_micrometres)
{
  Harness harness (above ("slab-unit=um slab-start=38 slab-depths=30"),
      shown_caps (",depth-step=2.5"));
  for (guint n = 0; n < 2 * positions; n++)
    harness.push (complex_frame (b_scan (n / 2, n % 2), n));
  Bytes last;
  for (guint n = 0; n < positions; n++)
    last = read_buffer (harness.pull ());
  expect_vessels (last, positions);
}

TEST (test_octvolume_slab_in_micrometres_needs_depth_step)
{
  Harness harness (above ("slab-unit=um"), shown_caps ());
  harness.push (complex_frame (b_scan (0, 0), 0));
  harness.push (complex_frame (b_scan (0, 1), 1));
  harness.messages ().expect_one_error ({"slab-unit=um", "depth-step"});

  Harness playing (above ("slab-start=15 slab-depths=12"), shown_caps ());
  set_together (playing.find ("octvolume"), "slab-unit=bins");
  for (guint n = 0; n < 2 * positions; n++) {
    playing.push (complex_frame (b_scan (n / 2, n % 2), n));
    if (n == 3)
      set_together (playing.find ("octvolume"), "slab-unit=um");
  }
  Bytes last;
  for (guint n = 0; n < positions; n++)
    last = read_buffer (playing.pull ());
  expect_vessels (last, positions);
  expect_warnings (playing.bus, "unit", {"slab-unit=um"});
}

/* Without its structure, as from a file, the surface of an angiogram means little. */
TEST (test_octvolume_warns_of_angiogram_without_structure)
{
  Harness harness ("octvolume b-scans=5 surface=true ! capsfilter "
                   "caps=\"video/x-raw(memory:OpenCLMemory)\"",
      frame_caps ("F32LE", shown_lines, shown_depths, "25/1", "variance"));
  for (guint n = 0; n < 3; n++)
    harness.push (timed (bytes_of<float> (Values (shown_lines * shown_depths, 1)), n));
  expect_warnings (harness.bus, "structure", {"the angiogram comes without"});
}
