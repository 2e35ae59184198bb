/* Tests of octregister: shifts that are known, and the mean of volumes that moved
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"

#include "gst/oct/octscanmeta.h"

using namespace check;
using namespace depths;

namespace {
const gsize n_z = 64, n_x = 48, n_y = 7;

/* Structures in reference to a sample of unlimited size, Gaussian in each direction */
struct Blob {
  double z, x, y, height, radius;
};

std::vector<Blob>
blobs (guint seed)
{
  std::mt19937 random (seed);
  std::uniform_real_distribution<double> part (0, 1);
  std::vector<Blob> sample;
  for (guint n = 0; n < 900; n++) {
    const double z = part (random) * (n_z + 40) - 20, x = part (random) * (n_x + 40) - 20;
    const double y = part (random) * (n_y + 8) - 4, height = 10 + 20 * part (random);
    sample.push_back ({z, x, y, height, 1.2 + part (random)});
  }
  return sample;
}

/* Displacement of a B-scan: structures are this much deeper and further on */
struct Shift {
  double z = 0, x = 0;
  gint y = 0;
};
using Shifts = std::vector<Shift>;

/* Volume in double precision, with noise */
Values
volume_of (const std::vector<Blob> &sample, const Shifts &shifts, guint seed = 0,
    double noise = 0)
{
  std::mt19937 random (seed);
  std::normal_distribution<double> normal;
  Values volume (n_z * n_x * n_y, 40);
  for (gsize y = 0; y < n_y; y++) {
    const Shift shift = shifts.empty () ? Shift () : shifts[y];
    for (const Blob &blob : sample) {
      const double away_y = double (gssize (y) - shift.y) - blob.y;
      const double height = blob.height * std::exp (-away_y * away_y / 2);
      if (height < 1e-3)
        continue;
      for (gsize x = 0; x < n_x; x++) {
        const double away_x = (double (x) - shift.x - blob.x) / blob.radius;
        if (std::abs (away_x) > 4)
          continue;
        for (gsize z = 0; z < n_z; z++) {
          const double away_z = (double (z) - shift.z - blob.z) / blob.radius;
          volume[(y * n_x + x) * n_z + z] +=
              height * std::exp (-away_x * away_x - away_z * away_z);
        }
      }
    }
  }
  for (double &value : volume)
    value += noise * normal (random);
  return volume;
}

std::string
volume_caps (const std::string &type = "float32", const std::string &rate = "12/1")
{
  return text ("other/tensors(memory:OpenCLMemory),format=static,num_tensors=1,types=%s,"
               "dimensions=%zu:%zu:%zu,framerate=%s,depth-step=2.5,line-step=5.0",
      type.c_str (), n_z, n_x, n_y, rate.c_str ());
}

Bytes
bytes_of_type (const Values &values, const std::string &type)
{
  Values rounded = values;
  if (type == "float32")
    return bytes_of<float> (values);
  for (double &value : rounded)
    value = std::round (type == "uint8" ? value : 100 * value);
  return type == "uint8" ? bytes_of<guint8> (rounded) : bytes_of<guint16> (rounded);
}

Shifts
random_shifts (guint seed, double axial, double lateral, gint rows = 0)
{
  std::mt19937 random (seed);
  std::uniform_real_distribution<double> part (-1, 1);
  Shifts shifts;
  for (gsize y = 0; y < n_y; y++) {
    const double z = axial * part (random), x = lateral * part (random);
    shifts.push_back ({z, x, rows});
  }
  return shifts;
}

/* Shifts and coefficients of the next message */
struct Found {
  guint64 volume = 0;
  std::map<std::string, Values> fields;
};

std::vector<Found>
messages_of (Harness &harness)
{
  std::vector<Found> all;
  while (GstMessage *message = gst_bus_pop_filtered (harness.bus, GST_MESSAGE_ELEMENT)) {
    const GstStructure *structure = gst_message_get_structure (message);
    if (gst_structure_has_name (structure, "octregister")) {
      Found found;
      gst_structure_get_uint64 (structure, "volume", &found.volume);
      for (const char *name : {"axial", "lateral", "b-scan", "correlation"}) {
        const GValue *array = gst_structure_get_value (structure, name);
        for (guint n = 0; n < gst_value_array_get_size (array); n++)
          found.fields[name].push_back (
              g_value_get_double (gst_value_array_get_value (array, n)));
      }
      all.push_back (found);
    }
    gst_message_unref (message);
  }
  return all;
}

/* Greatest difference of the mean from the truth, away from the ends, relative to the
 * standard deviation of the truth */
double
error_of (const Values &mean, const Values &truth, gsize out, gsize rows_out = 0)
{
  double sum = 0, squares = 0, power = 0, average = 0, count = 0;
  for (bool second : {false, true}) {
    for (gsize at = 0; at < mean.size (); at++) {
      const gsize z = at % n_z, x = at / n_z % n_x, y = at / n_z / n_x;
      if (z < out || z >= n_z - out || x < out || x >= n_x - out || y < rows_out
          || y >= n_y - rows_out)
        continue;
      if (!second) {
        sum += truth[at];
        count++;
        continue;
      }
      squares += std::pow (mean[at] - truth[at], 2);
      power += std::pow (truth[at] - average, 2);
    }
    average = sum / count;
  }
  return std::sqrt (squares / power);
}

void
expect_shifts (const Found &found, const Shifts &shifts, double most, guint lost_rows = 0)
{
  for (gsize y = lost_rows; y < n_y - lost_rows; y++) {
    const double z = found.fields.at ("axial")[y], x = found.fields.at ("lateral")[y];
    fail_unless (std::abs (z - shifts[y].z) <= most && std::abs (x - shifts[y].x) <= most
                     && found.fields.at ("b-scan")[y] == shifts[y].y,
        "B-scan %zu: %g, %g, %g of %g, %g, %d", y, z, x, found.fields.at ("b-scan")[y],
        shifts[y].z, shifts[y].x, shifts[y].y);
  }
}
} // namespace

/* Shifts are within 0.2 pixels of the truth, and the mean is as sharp as one volume. */
TEST_ROWS (
    test_octregister_finds_shifts, std::vector<std::string>{"float32", "uint8", "uint16"})
{
  const std::vector<Blob> sample = blobs (3);
  const Values truth = volume_of (sample, {});
  Harness harness ("octregister volumes=4", volume_caps (row));
  std::vector<Shifts> shifts = {{}};
  for (guint n = 0; n < 4; n++) {
    if (n > 0)
      shifts.push_back (random_shifts (n, 7.5, 5.5));
    harness.push (timed (bytes_of_type (volume_of (sample, shifts[n]), row), n));
  }
  Values mean = pull_numbers (harness);
  for (double &value : mean)
    value /= row == "uint16" ? 100 : 1;
  const std::vector<Found> found = messages_of (harness);
  fail_unless (found.size () >= 2, "%zu messages", found.size ());
  for (const Found &of : found)
    expect_shifts (of, shifts[of.volume], 0.2);
  const double error = error_of (mean, truth, 9);
  const double most = row == "uint8" ? 0.05 : 0.03; /* rounded input */
  fail_unless (error <= most, "%s: the mean is off by %.3f", row.c_str (), error);
}

/* The mean has less noise than a volume. */
TEST (test_octregister_mean_of_noisy_volumes)
{
  const std::vector<Blob> sample = blobs (4);
  const Values truth = volume_of (sample, {});
  Harness harness ("octregister volumes=8", volume_caps ());
  Values blurred (truth.size ());
  double single = 0;
  for (guint n = 0; n < 8; n++) {
    const Shifts shifts = n > 0 ? random_shifts (20 + n, 4, 4) : Shifts ();
    const Values volume = volume_of (sample, shifts, n, 4);
    for (gsize at = 0; at < volume.size (); at++)
      blurred[at] += volume[at] / 8;
    if (n == 0)
      single = error_of (volume, truth, 6);
    harness.push (timed (bytes_of<float> (volume), n));
  }
  const double error = error_of (pull_numbers (harness), truth, 6);
  const double without = error_of (blurred, truth, 6);
  fail_unless (error <= 0.4 * single && error <= 0.4 * without,
      "off by %.3f, one volume by %.3f, without registration by %.3f", error, single,
      without);
}

/* B-scans out of place are added where they belong. Those that belong outside of the
 * volume have no counterpart. */
TEST (test_octregister_finds_b_scans)
{
  const std::vector<Blob> sample = blobs (5);
  const Values truth = volume_of (sample, {});
  for (gint rows : {-1, 1, 2}) {
    Harness harness ("octregister volumes=2 b-scan-shift=2", volume_caps ());
    const Shifts shifts = random_shifts (30, 3, 3, rows);
    harness.push (timed (bytes_of<float> (truth), 0));
    harness.push (timed (bytes_of<float> (volume_of (sample, shifts)), 1));
    const double error = error_of (pull_numbers (harness), truth, 6, 2);
    harness.send (gst_event_new_eos ());
    const std::vector<Found> found = messages_of (harness);
    expect_equal (found.size (), gsize (1));
    expect_shifts (found[0], shifts, 0.2, 2);
    fail_unless (error <= 0.03, "%d rows: the mean is off by %.3f", rows, error);
  }
}

/* The B-scans of a blink do not darken the mean. */
TEST (test_octregister_leaves_out_b_scans_of_a_blink)
{
  const std::vector<Blob> sample = blobs (6);
  const Values truth = volume_of (sample, {});
  Values blink = volume_of (sample, random_shifts (40, 2, 2));
  std::mt19937 random (1);
  std::normal_distribution<double> normal;
  for (gsize at = 2 * n_z * n_x; at < 4 * n_z * n_x; at++)
    blink[at] = 10 + normal (random);
  Harness harness ("octregister volumes=2", volume_caps ());
  harness.push (timed (bytes_of<float> (truth), 0));
  harness.push (timed (bytes_of<float> (blink), 1));
  const double error = error_of (pull_numbers (harness), truth, 5);
  fail_unless (error <= 0.03, "off by %.3f", error);
}

TEST (test_octregister_says_what_comes_out)
{
  Harness harness ("octregister volumes=3", volume_caps ("uint8"));
  const Values volume = volume_of (blobs (7), {});
  for (guint n = 0; n < 6; n++)
    harness.push (timed (bytes_of<guint8> (volume), n));
  Owned<GstCaps> expected =
      gst_caps_from_string (volume_caps ("float32", "4/1").c_str ());
  fail_unless (gst_caps_can_intersect (harness.caps (), expected));
  for (guint n = 0; n < 2; n++) {
    Owned<GstBuffer> out = harness.pull ();
    expect_equal (GST_BUFFER_PTS (out), 3 * n * each);
    expect_equal (GST_BUFFER_DURATION (out), 3 * each);
    fail_unless (!GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_DISCONT));
  }
  expect_equal (waiting (harness), 0u);
}

/* --- ends, losses, changes --- */

namespace {
const Values &
still_volume ()
{
  static const Values volume = volume_of (blobs (9), {});
  return volume;
}

/* The same volume, with `value` added to tell volumes apart */
GstBuffer *
flat (guint value, guint frame, guint flags = 0)
{
  Values values = still_volume ();
  for (double &of : values)
    of += value;
  return timed (bytes_of<float> (values), frame, flags);
}

/* Adds the number of a volume. */
GstBuffer *
numbered (GstBuffer *buffer, guint volume)
{
  GstOctScan scan = {};
  scan.frame = scan.volume = volume;
  scan.b_scans = scan.repeats = 1;
  gst_buffer_set_oct_scan (buffer, &scan);
  return buffer;
}

/* Mean of the values that were added to the volumes of a mean, away from the ends */
double
added_to (const Values &mean)
{
  double sum = 0, count = 0;
  for (gsize at = 0; at < mean.size (); at++) {
    if (at % n_z < 4 || at % n_z >= n_z - 4 || at / n_z % n_x < 4
        || at / n_z % n_x >= n_x - 4)
      continue;
    sum += mean[at] - still_volume ()[at];
    count++;
  }
  return sum / count;
}
} // namespace

TEST (test_octregister_ends_with_fewer_volumes_at_eos)
{
  for (guint volumes : {4u, 0u}) {
    Harness harness (text ("octregister volumes=%u", volumes), volume_caps ());
    for (guint n = 0; n < 3; n++)
      harness.push (flat (10 * n, n));
    expect_equal (waiting (harness), 0u);
    harness.send (gst_event_new_eos ());
    expect_equal (waiting (harness), 1u);
    expect_near (Values{added_to (pull_numbers (harness))}, Values{10}, 0.02, "EOS");
    expect_equal (messages_of (harness).size (), gsize (2));
  }
}

/* A flush while the first of two finished means is pushed also drops the second one. */
TEST (test_octregister_flush_drops_finished_means)
{
  Harness harness ("octregister volumes=2", volume_caps ());
  gulong probe = 0;
  probe = watch (harness->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, [&] (GstPadProbeInfo *) {
    gst_pad_remove_probe (harness->sinkpad, probe);
    harness.send (gst_event_new_flush_start ());
    harness.send (gst_event_new_flush_stop (TRUE));
    return GST_PAD_PROBE_DROP;
  });
  harness.push (numbered (flat (100, 0), 0));
  harness.push (numbered (flat (200, 3), 3)); /* ends the mean of 0 and that of 2 and 3 */
  harness.start_segment ();
  harness.push (numbered (flat (10, 4), 4));
  harness.push (numbered (flat (20, 5), 5));
  Owned<GstBuffer> out = harness.pull ();
  expect_near (Values{added_to (numbers_in<float> (read_buffer (out)))}, Values{15}, 0.02,
      "after the flush");
  fail_unless (GST_BUFFER_FLAG_IS_SET (out, GST_BUFFER_FLAG_DISCONT));
  expect_equal (waiting (harness), 0u);
}

TEST (test_octregister_takes_no_incomplete_reference)
{
  Harness harness ("octregister volumes=2", volume_caps ());
  harness.push (flat (100, 0, GST_BUFFER_FLAG_CORRUPTED));
  harness.push (flat (10, 1));
  expect_near (Values{added_to (pull_numbers (harness))}, Values{10}, 0.02, "first");
  harness.push (flat (10, 2));
  harness.push (flat (20, 3, GST_BUFFER_FLAG_CORRUPTED));
  expect_near (Values{added_to (pull_numbers (harness))}, Values{15}, 0.02, "second");
  harness.push (flat (100, 4, GST_BUFFER_FLAG_GAP));
  harness.push (flat (30, 5));
  expect_near (Values{added_to (pull_numbers (harness))}, Values{30}, 0.02, "gap");
  expect_equal (waiting (harness), 0u);
}

/* Volumes belong to the mean that their numbers tell, also after others were lost. */
TEST (test_octregister_never_mixes_means)
{
  Harness harness ("octregister volumes=3", volume_caps ());
  for (guint volume : {0u, 1u, 4u, 6u, 7u, 8u}) {
    harness.push (numbered (flat (10 * volume, volume), volume));
  }
  for (double expected : {5.0, 40.0, 70.0})
    expect_near (
        Values{added_to (pull_numbers (harness))}, Values{expected}, 0.02, "mean");
  expect_equal (waiting (harness), 0u);
}

TEST (test_octregister_new_caps)
{
  Harness harness ("octregister volumes=2", volume_caps ());
  harness.push (flat (100, 0));
  harness.set_caps (
      "other/tensors(memory:OpenCLMemory),format=static,num_tensors=1,types=float32,"
      "dimensions=5:4:3,framerate=12/1");
  for (guint n = 0; n < 2; n++)
    harness.push (timed (bytes_of<float> (Values (60, 4.0 + 2 * n)), 1 + n));
  /* Without any structure nothing correlates, so the first volume remains. */
  expect_near (pull_numbers (harness), Values (60, 4), 1e-6, "other caps");
}

/* NaN stays where it is. */
TEST (test_octregister_nan)
{
  const std::vector<Blob> sample = blobs (8);
  const Values truth = volume_of (sample, {});
  Values broken = truth;
  broken[n_z * n_x * 3 + 500] = NAN;
  Harness harness ("octregister volumes=2", volume_caps ());
  harness.push (timed (bytes_of<float> (truth), 0));
  harness.push (timed (bytes_of<float> (broken), 1));
  expect_near (pull_numbers (harness), truth, 1e-3, "the B-scan is left out");
}
