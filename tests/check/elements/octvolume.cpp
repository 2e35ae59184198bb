/* Tests of octvolume: every B-scan in its row, in volumes and in en face projections
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthframes.hpp"

#include <gst/opencl/gstopenclbuffer.h>

#include <set>

#include "gst/oct/octscanmeta.h"
#include "gst/opencl/opencl.h"

using namespace check;
using namespace depths;

namespace {
const guint n_rows = 5;

/* --- B-scans; values have the order [line * n_depths + depth] --- */

struct Kind {
  std::string label;
  const char *type; /* of numbers in the volume */
  gsize bytes;      /* of its values */
  double spread, middle;
};

const Kind kinds[] = {
    {"GRAY8", "uint8", 1, 40, 120},
    {"GRAY16_LE", "uint16", 2, 8000, 30000},
    {"F32LE", "float32", 4, 20, 30},
    {"CF32LE", "float32", 4, 20, 30},
};

const Kind &levels = kinds[2];

bool
is_picture (const Kind &kind)
{
  return kind.label[0] == 'G';
}

/* Values in the type of the volume; of complex depths, amplitudes */
Values
b_scan_of (const Kind &kind, guint seed)
{
  Values values;
  const double most = kind.bytes == 1 ? 255 : kind.bytes == 2 ? 65535 : 1e9;
  for (const Complex &pair : speckle (seed)) {
    const double value = kind.middle + pair.real () / 100 * kind.spread;
    values.push_back (is_picture (kind) ? std::nearbyint (std::clamp (value, 0.0, most))
                                        : std::abs (double (float (value))));
  }
  return values;
}

/* Columns of an image are A-lines; rows are padded to multiples of 4 bytes. */
template <typename Number>
Bytes
picture_bytes (const Values &values)
{
  const gsize pitch = (n_lines * sizeof (Number) + 3) / 4 * 4;
  Bytes bytes (pitch * n_depths, 0xee);
  for (gsize line = 0; line < n_lines; line++) {
    for (gsize depth = 0; depth < n_depths; depth++) {
      const Number value = Number (values[line * n_depths + depth]);
      memcpy (bytes.data () + depth * pitch + line * sizeof value, &value, sizeof value);
    }
  }
  return bytes;
}

Bytes
bytes_of_b_scan (const Kind &kind, const Values &values)
{
  if (is_picture (kind))
    return kind.bytes == 1 ? picture_bytes<guint8> (values)
                           : picture_bytes<guint16> (values);
  if (kind.label == "F32LE")
    return bytes_of<float> (values);
  Values parts; /* with varying phases */
  for (gsize n = 0; n < values.size (); n++) {
    parts.push_back (values[n] * std::cos (0.3 * double (n)));
    parts.push_back (values[n] * std::sin (0.3 * double (n)));
  }
  return bytes_of<float> (parts);
}

GstBuffer *
frame_of (const Kind &kind, const Values &values, guint time, guint flags = 0)
{
  return timed (bytes_of_b_scan (kind, values), time, flags);
}

/* (transfer full): the buffer with octscan's meta */
GstBuffer *
scanned (GstBuffer *buffer, guint64 volume, guint b_scan, guint b_scans = n_rows,
    guint repeat = 0, guint repeats = 1)
{
  GstOctScan scan = {};
  scan.volume = volume;
  scan.b_scan = b_scan;
  scan.b_scans = b_scans;
  scan.repeat = repeat;
  scan.repeats = repeats;
  scan.frame = (volume * b_scans + b_scan) * repeats + repeat;
  gst_buffer_set_oct_scan (buffer, &scan);
  return buffer;
}

/* --- volumes --- */

std::string
volume_line (const std::string &settings = "b-scans=5")
{
  return "octvolume " + settings
         + " ! capsfilter caps=\"other/tensors(memory:OpenCLMemory)\"";
}

Values
numbers_of_kind (const Kind &kind, GstBuffer *buffer)
{
  const Bytes bytes = read_buffer (buffer);
  return kind.bytes == 1   ? numbers_in<guint8> (bytes)
         : kind.bytes == 2 ? numbers_in<guint16> (bytes)
                           : numbers_in<float> (bytes);
}

/* Missing rows are zero. */
Values
volume_of (const std::vector<Values> &rows)
{
  Values volume;
  for (const Values &row : rows) {
    const Values lines = row.empty () ? Values (n_lines * n_depths) : row;
    volume.insert (volume.end (), lines.begin (), lines.end ());
  }
  return volume;
}

void
expect_volume (const Kind &kind, GstBuffer *buffer, const std::vector<Values> &rows,
    const std::string &what)
{
  expect_near (numbers_of_kind (kind, buffer), volume_of (rows),
      kind.label == "CF32LE" ? 1e-5 * 200 : 0, what);
}

bool
is_marked (GstBuffer *buffer)
{
  return GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_CORRUPTED);
}

/* --- en face projections --- */

using Pixel = std::function<double (const double *line)>;

/* Projection of the existing rows; others are black. `shown` maps a number to 0 … 1. */
Values
picture_from (const std::vector<Values> &rows, const Pixel &pixel,
    const std::function<double (double)> &shown)
{
  Values picture;
  for (const Values &row : rows) {
    for (gsize line = 0; line < n_lines; line++) {
      const double value = row.empty () ? -INFINITY : pixel (&row[line * n_depths]);
      picture.push_back (255 * std::clamp (shown (value), 0.0, 1.0));
    }
  }
  return picture;
}

double
in_sixty_decibels (double value)
{
  return value / 60;
}

Values
pixels_in (GstBuffer *buffer)
{
  const gsize pitch = (n_lines + 3) / 4 * 4;
  const Bytes all = read_buffer (buffer);
  Values pixels;
  expect_equal (all.size () % pitch, gsize (0));
  for (gsize row = 0; row < all.size () / pitch; row++)
    for (gsize line = 0; line < n_lines; line++)
      pixels.push_back (all[row * pitch + line]);
  return pixels;
}

Pixel
mean_between (gsize start, gsize count)
{
  return [=] (const double *line) {
    double sum = 0;
    for (gsize n = start; n < start + count; n++)
      sum += line[n];
    return sum / double (count);
  };
}

Pixel
maximum_between (gsize start, gsize count)
{
  return [=] (const double *line) {
    return *std::max_element (line + start, line + start + count);
  };
}

/* First depth at which the mean over `reach` depths to both sides exceeds `level` */
gint
surface_of (const double *line, gint from, gint reach, double level)
{
  for (gint depth = from; depth < gint (n_depths); depth++) {
    double sum = 0;
    gint count = 0;
    for (gint n = std::max (0, depth - reach);
         n <= std::min (gint (n_depths) - 1, depth + reach); n++, count++)
      sum += line[n];
    if (sum / count > level)
      return depth;
  }
  return -1;
}

/* Compares images; values are rounded as kernels round them. */
void
expect_picture (GstBuffer *buffer, const Values &expected, const std::string &what)
{
  expect_near (pixels_in (buffer), expected, 0.501, what);
}
} // namespace

/* --- volumes --- */

TEST_ROWS (test_octvolume_gives_a_volume_when_its_last_b_scan_has_come, kinds)
{
  Harness harness (volume_line (), frame_caps (row.label));
  for (guint volume = 0; volume < 3; volume++) {
    std::vector<Values> rows;
    for (guint n = 0; n < n_rows; n++) {
      expect_equal (waiting (harness), 0u);
      rows.push_back (b_scan_of (row, volume * n_rows + n));
      harness.push (frame_of (row, rows.back (), volume * n_rows + n));
    }
    Owned<GstBuffer> out = harness.pull ();
    expect_volume (row, out, rows, text ("volume %u", volume));
    expect_equal (GST_BUFFER_PTS (out), volume * n_rows * each);
    expect_equal (GST_BUFFER_DURATION (out), n_rows * each);
    fail_if (is_marked (out));
  }
  Owned<GstCaps> expected = gst_caps_from_string (
      text ("other/tensors(memory:OpenCLMemory),format=static,num_tensors=1,types=%s,"
            "dimensions=(string)37:21:5,framerate=10/1",
          row.type)
          .c_str ());
  fail_unless (gst_caps_is_subset (harness.caps (), expected));
}

namespace {
/* Pushes the B-scans of four volumes, holds their outputs, and then checks each of them. */
template <typename Check>
void
hold_volumes (Harness &harness, Check check)
{
  std::vector<std::vector<Values>> volumes (4);
  std::vector<Owned<GstBuffer>> held;
  guint time = 0;
  for (std::vector<Values> &rows : volumes) {
    for (guint n = 0; n < n_rows; n++, time++) {
      rows.push_back (b_scan_of (levels, time));
      harness.push (frame_of (levels, rows.back (), time));
    }
    held.push_back (harness.pull ());
  }
  for (gsize n = 0; n < volumes.size (); n++)
    check (held[n], volumes[n], text ("volume %zu", n));
}
} // namespace

/* Each volume keeps its contents as long as a buffer holds it. */
TEST (test_octvolume_never_writes_a_volume_that_somebody_holds)
{
  Harness harness (volume_line (), frame_caps ("F32LE"));
  hold_volumes (harness, [] (GstBuffer *held, const auto &rows, const auto &what) {
    expect_volume (levels, held, rows, what);
  });
}

namespace {
cl_mem
handle_of (GstBuffer *buffer)
{
  cl_mem handle = nullptr;
  fail_unless (gst_opencl_buffer_get_handle (buffer, &handle, nullptr));
  return handle;
}
} // namespace

TEST_ROWS (test_octvolume_gives_the_live_volume_after_each_b_scan, kinds)
{
  Harness harness (volume_line ("b-scans=5 live=true"), frame_caps (row.label));
  std::vector<Values> rows (n_rows);
  cl_mem first = nullptr;
  for (guint n = 0; n < 2 * n_rows + 2; n++) {
    rows[n % n_rows] = b_scan_of (row, n);
    Owned<GstBuffer> out = harness.pass (frame_of (row, rows[n % n_rows], n));
    expect_volume (row, out, rows, text ("after %u", n));
    expect_equal (GST_BUFFER_PTS (out), n * each);
    if (!first)
      first = handle_of (out);
    fail_unless (handle_of (out) == first, "B-scan %u: copied without need", n);
  }
}

/* As a buffer, and as memory alone: the part is a sub-memory, which has no reference to the
 * buffer. */
TEST_ROWS (test_octvolume_live_volume_is_not_changed_while_held, {"buffer", "memory"})
{
  Harness harness (volume_line ("b-scans=5 live=true"), frame_caps ("F32LE"));
  std::vector<Values> rows (n_rows), then;
  Owned<GstBuffer> held;
  for (guint n = 0; n < 7; n++) {
    rows[n % n_rows] = b_scan_of (levels, n);
    Owned<GstBuffer> out = harness.pass (frame_of (levels, rows[n % n_rows], n));
    expect_volume (levels, out, rows, text ("after %u", n));
    if (n == 2) {
      const bool whole = std::string (row) == "buffer";
      held = whole ? gst_buffer_ref (out) : gst_buffer_new ();
      if (!whole)
        gst_buffer_append_memory (held, gst_buffer_get_memory (out, 0));
      then = rows;
    }
  }
  expect_volume (levels, held, then, "held since the third");
}

/* --- lost B-scans --- */

namespace {
/* Ways to detect the loss of B-scans 2 and 3 of the first volume and 1 of the next */
struct Loss {
  std::string label;
  bool by_meta, by_time, by_gap;
};

const Loss losses[] = {
    {"numbers", true, false, false},
    {"times", false, true, false},
    {"empty buffers", false, false, true},
};

bool
is_lost (guint n)
{
  return n == 2 || n == 3 || n == n_rows + 1;
}

void
push_with_losses (Harness &harness, const Loss &loss, std::vector<Values> &rows, guint n)
{
  bool after = n > 0 && is_lost (n - 1);
  rows.push_back (is_lost (n) ? Values () : b_scan_of (levels, n));
  if (is_lost (n) && !loss.by_gap)
    return;
  const guint flags = (is_lost (n) ? guint (GST_BUFFER_FLAG_GAP) : 0)
                      | (after && loss.by_time ? guint (GST_BUFFER_FLAG_DISCONT) : 0);
  const Values &values = is_lost (n) ? b_scan_of (levels, 99) : rows.back ();
  GstBuffer *buffer = frame_of (levels, values, n, flags);
  harness.push (loss.by_meta ? scanned (buffer, n / n_rows, n % n_rows) : buffer);
}
} // namespace

/* Rows of the previous sweep are removed. */
TEST_ROWS (test_octvolume_blackens_lost_rows_of_the_picture, losses)
{
  Harness harness (
      "octvolume b-scans=5 ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"",
      frame_caps ("F32LE", n_lines, n_depths, "50/1", "velocity"));
  std::vector<Values> rows;
  for (guint n = 0; n < 3 * n_rows; n++) {
    push_with_losses (harness, row, rows, n);
    if (waiting (harness) == 0)
      continue;
    Owned<GstBuffer> out = harness.pull ();
    std::vector<Values> shown (n_rows);
    for (guint of = 0; of <= n; of++)
      shown[of % n_rows] = rows[of];
    /* The range is -10 to 10 mm/s, so that 0 would be grey. */
    expect_picture (out,
        picture_from (shown, mean_between (0, n_depths),
            [] (double value) { return (value + 10) / 20; }),
        text ("after %u", n));
    const bool missing = std::any_of (rows.end () - std::min<gssize> (n + 1, n_rows),
        rows.end (), [] (const Values &values) { return values.empty (); });
    expect_equal (is_marked (out), missing, text ("after %u", n));
  }
}

/* A row that follows a repeated one repeats the same. */
TEST_ROWS (test_octvolume_repeats_rows_before_lost_ones, losses)
{
  Harness harness ("octvolume b-scans=5 lost-rows=repeat ! capsfilter "
                   "caps=\"video/x-raw(memory:OpenCLMemory)\"",
      frame_caps ("F32LE", n_lines, n_depths, "50/1", "velocity"));
  std::vector<Values> rows, shown (n_rows);
  std::vector<bool> marked (n_rows);
  for (guint n = 0; n < 3 * n_rows; n++) {
    push_with_losses (harness, row, rows, n);
    const guint at = n % n_rows;
    marked[at] = is_lost (n);
    shown[at] = is_lost (n) ? shown[at - 1] : rows[n];
    if (waiting (harness) == 0)
      continue;
    Owned<GstBuffer> out = harness.pull ();
    Values expected = picture_from (shown, mean_between (0, n_depths),
        [] (double value) { return (value + 10) / 20; });
    for (guint of = 0; of < n_rows; of++)
      expected[of * n_lines] = marked[of] ? 255 : expected[of * n_lines];
    expect_picture (out, expected, text ("after %u", n));
  }
}

TEST (test_octvolume_forgets_a_row_that_was_lost_twice)
{
  Harness harness ("octvolume ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory)\"",
      frame_caps ("F32LE"));
  bool marked = false;
  for (guint n = 0; n < 3 * n_rows; n++) {
    if (n % n_rows == 1 && n < 2 * n_rows)
      continue;
    harness.push (
        scanned (frame_of (levels, b_scan_of (levels, n), n), n / n_rows, n % n_rows));
    marked = is_marked (harness.pull ());
    expect_equal (marked, n > 1 && n < 2 * n_rows + 1, text ("after %u", n));
  }
}

namespace {
struct Cut {
  std::string label;
  std::set<guint> lost;
  /* Begin and end of the volumes, in frames */
  std::vector<std::pair<guint, guint>> times;
};
} // namespace

/* A volume lasts from the start of its first B-scan to the end of its last one. */
TEST_ROWS (test_octvolume_ends_before_the_next_one_begins,
    std::vector<Cut>{{"whole", {}, {{0, 5}, {5, 10}, {10, 15}}},
        {"without its end", {4}, {{0, 4}, {5, 10}, {10, 15}}},
        {"without its start", {5}, {{0, 5}, {6, 10}, {10, 15}}},
        {"without both", {3, 4, 5}, {{0, 3}, {6, 10}, {10, 15}}}})
{
  Harness harness (volume_line (), frame_caps ("F32LE"));
  for (guint n = 0; n < 3 * n_rows; n++) {
    if (!row.lost.count (n))
      harness.push (
          scanned (frame_of (levels, b_scan_of (levels, n), n), n / n_rows, n % n_rows));
  }
  for (const auto &[from, to] : row.times) {
    Owned<GstBuffer> out = harness.pull ();
    expect_equal (GST_BUFFER_PTS (out), from * each, row.label);
    expect_equal (GST_BUFFER_DURATION (out), (to - from) * each, row.label);
  }
}

TEST (test_octvolume_ends_a_volume_whose_end_is_lost)
{
  Harness harness (volume_line (), frame_caps ("F32LE"));
  std::vector<Values> rows (n_rows);
  for (guint n = 0; n < 3; n++) {
    rows[n] = b_scan_of (levels, n);
    harness.push (scanned (frame_of (levels, rows[n], n), 0, n));
  }
  expect_equal (waiting (harness), 0u);
  const Values next = b_scan_of (levels, 9);
  harness.push (scanned (frame_of (levels, next, 7), 1, 2));
  Owned<GstBuffer> out = harness.pull ();
  expect_volume (levels, out, rows, "the one that was cut short");
  fail_unless (is_marked (out));
  harness.send (gst_event_new_eos ());
  expect_volume (levels, harness.pull (), {{}, {}, next, {}, {}}, "what came until EOS");
}

TEST (test_octvolume_takes_the_last_of_repeats)
{
  Harness harness (volume_line ("b-scans=0"), frame_caps ("F32LE"));
  std::vector<Values> rows;
  for (guint n = 0; n < 3; n++) {
    for (guint repeat = 0; repeat < 2; repeat++) {
      expect_equal (waiting (harness), 0u);
      const Values values = b_scan_of (levels, 2 * n + repeat);
      if (repeat == 1)
        rows.push_back (values);
      harness.push (
          scanned (frame_of (levels, values, 2 * n + repeat), 0, n, 3, repeat, 2));
    }
  }
  expect_volume (levels, harness.pull (), rows, "of three");
  Owned<GstCaps> expected = gst_caps_from_string (
      "other/tensors(memory:OpenCLMemory),dimensions=(string)37:21:3,framerate=25/3");
  fail_unless (gst_caps_can_intersect (harness.caps (), expected));
}

/* --- projection --- */

namespace {
struct View {
  std::string label;
  Pixel pixel;
};

const View views[] = {
    {"", mean_between (0, n_depths)},
    {"projection=maximum", maximum_between (0, n_depths)},
    {"slab-start=7 slab-depths=11", mean_between (7, 11)},
    {"projection=maximum slab-start=30 slab-depths=40",
        maximum_between (30, n_depths - 30)},
    {"slab-start=36", mean_between (36, 1)},
};

double
shown_of (const Kind &kind, double value)
{
  if (is_picture (kind))
    return value / (kind.bytes == 1 ? 255 : 65535);
  if (kind.label == "CF32LE")
    return 20 * std::log10 (std::max (value, 1e-6)) / 60;
  return value / 60;
}
} // namespace

TEST_ROWS (test_octvolume_shows_each_b_scan_as_a_row_of_the_picture, kinds)
{
  for (const View &view : views) {
    Harness harness (
        "octvolume b-scans=5 " + view.label
            + " ! capsfilter "
              "caps=\"video/x-raw(memory:OpenCLMemory),format=GRAY8,width=21,height=5\"",
        frame_caps (row.label));
    std::vector<Values> rows (n_rows);
    for (guint n = 0; n < n_rows + 2; n++) {
      rows[n % n_rows] = b_scan_of (row, n);
      Owned<GstBuffer> out = harness.pass (frame_of (row, rows[n % n_rows], n));
      auto shown = [&] (double value) { return shown_of (row, value); };
      expect_picture (out, picture_from (rows, view.pixel, shown),
          view.label + text (" after %u", n));
      expect_equal (GST_BUFFER_PTS (out), n * each);
    }
  }
}

TEST (test_octvolume_shows_what_lies_below_the_surface)
{
  for (gint start : {-2, 0, 3}) {
    Harness harness (
        text ("octvolume b-scans=5 surface=true surface-level=40 "
              "surface-smooth=3 surface-from=4 slab-start=%d slab-depths=6 "
              "! capsfilter caps=\"video/x-raw(memory:OpenCLMemory),format=GRAY8\"",
            start),
        frame_caps ("F32LE"));
    /* No mean is so close to 40 that rounding matters. */
    std::vector<Values> rows (n_rows);
    for (guint n = 0; n < n_rows; n++) {
      rows[n] = b_scan_of (levels, n);
      std::fill_n (rows[n].begin (), n_depths, 10); /* an A-line without a surface */
      Owned<GstBuffer> out = harness.pass (frame_of (levels, rows[n], n));
      auto pixel = [&] (const double *line) {
        const gint surface = surface_of (line, 4, 1, 40);
        if (surface < 0 || surface + start >= gint (n_depths))
          return -double (INFINITY);
        const gsize from = gsize (surface + start);
        return mean_between (from, std::min<gsize> (6, n_depths - from)) (line);
      };
      expect_picture (out, picture_from (rows, pixel, in_sixty_decibels),
          text ("from %d, after %u", start, n));
    }
  }
}

TEST (test_octvolume_makes_pictures_of_16_bits)
{
  Harness harness (
      "octvolume b-scans=1 ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory),"
      "format=GRAY16_LE\"",
      frame_caps ("F32LE"));
  const Values values = b_scan_of (levels, 3);
  const Bytes bytes = read_buffer (harness.pass (frame_of (levels, values, 0)));
  Values expected;
  for (gsize line = 0; line < n_lines; line++)
    expected.push_back (
        65535
        * std::clamp (
            mean_between (0, n_depths) (&values[line * n_depths]) / 60, 0.0, 1.0));
  Values got = numbers_in<guint16> (bytes);
  got.resize (n_lines);
  expect_near (got, expected, 0.52, "16 bits");
}

/* --- whole projections --- */

namespace {
std::string
whole_line (const std::string &settings = "b-scans=5 emit=volume")
{
  return "octvolume " + settings
         + " ! capsfilter caps=\"video/x-raw(memory:OpenCLMemory),format=GRAY8\"";
}

void
expect_whole (GstBuffer *out, const std::vector<Values> &rows, const std::string &what)
{
  expect_picture (
      out, picture_from (rows, mean_between (0, n_depths), in_sixty_decibels), what);
}
} // namespace

/* `live` is for volumes and changes nothing here. */
TEST (test_octvolume_emits_whole_projections)
{
  for (const char *settings :
      {"b-scans=5 emit=volume", "b-scans=5 emit=volume live=true"}) {
    Harness harness (whole_line (settings), frame_caps ("F32LE"));
    for (guint volume = 0; volume < 3; volume++) {
      std::vector<Values> rows;
      for (guint n = 0; n < n_rows; n++) {
        expect_equal (waiting (harness), 0u);
        rows.push_back (b_scan_of (levels, volume * n_rows + n));
        harness.push (frame_of (levels, rows.back (), volume * n_rows + n));
      }
      Owned<GstBuffer> out = harness.pull ();
      expect_whole (out, rows, text ("%s, volume %u", settings, volume));
      expect_equal (GST_BUFFER_PTS (out), volume * n_rows * each);
      expect_equal (GST_BUFFER_DURATION (out), n_rows * each);
      fail_if (is_marked (out));
      GstOctScan scan;
      fail_unless (gst_buffer_get_oct_scan (out, &scan));
      expect_equal (scan.volume, guint64 (volume));
    }
    Owned<GstCaps> expected = gst_caps_from_string (
        "video/x-raw(memory:OpenCLMemory),width=21,height=5,framerate=10/1");
    fail_unless (gst_caps_is_subset (harness.caps (), expected));
    fail_unless (harness.messages ().is_clean ());
  }
}

/* Only a projection that grows row by row repeats rows. */
TEST (test_octvolume_blackens_lost_rows_of_whole_projections)
{
  Harness harness (
      whole_line ("b-scans=5 emit=volume lost-rows=repeat"), frame_caps ("F32LE"));
  std::vector<Values> rows, next;
  for (guint n = 0; n < n_rows; n++)
    push_with_losses (harness, losses[0], rows, n);
  expect_whole (harness.pull (), rows, "rows 2 and 3 are lost");
  for (guint n = n_rows; n + 1 < 2 * n_rows; n++)
    push_with_losses (harness, losses[0], next, n);
  next.emplace_back ();
  push_with_losses (harness, losses[0], rows, 2 * n_rows);
  expect_whole (harness.pull (), next, "row 1 and the last one are lost");
}

/* A projection that downstream holds is not written by the next volume. */
TEST (test_octvolume_whole_projections_can_be_held)
{
  Harness harness (whole_line (), frame_caps ("F32LE"));
  hold_volumes (harness, [] (GstBuffer *held, const auto &rows, const auto &what) {
    expect_whole (held, rows, what);
  });
}

/* Volumes are as without `emit`. */
TEST (test_octvolume_emit_does_not_apply_to_volumes)
{
  Harness harness (volume_line ("b-scans=5 emit=volume live=true"), frame_caps ("F32LE"));
  std::vector<Values> rows (n_rows);
  for (guint n = 0; n < n_rows; n++) {
    rows[n] = b_scan_of (levels, n);
    Owned<GstBuffer> out = harness.pass (frame_of (levels, rows[n], n));
    expect_volume (levels, out, rows, text ("after %u", n));
  }
}

/* --- property changes --- */

TEST (test_octvolume_length_set_during_negotiation)
{
  Harness harness (volume_line ("b-scans=2"));
  Owned<GstElement> volume = harness.find ("octvolume");
  guint n = 0;
  auto expect_rows = [&] (guint missing, guint length, const char *what) {
    std::vector<Values> rows (missing);
    for (guint row = missing; row < length; row++, n++) {
      rows.push_back (b_scan_of (levels, n));
      harness.push (frame_of (levels, rows.back (), n));
    }
    expect_volume (levels, harness.pull (), rows, what);
  };

  set_during_negotiation (volume, "b-scans=6");
  harness.set_caps (frame_caps ("F32LE"));
  expect_rows (0, 6, "at the start");
  set_together (volume, "b-scans=2");
  set_during_negotiation (volume, "b-scans=5");
  harness.push (frame_of (levels, b_scan_of (levels, 0), n++)); /* the first row of two */
  /* B-scans 5 to 9, of which 5 and 6 were rows of other volumes */
  expect_rows (2, 5, "while it plays");
  expect_rows (0, 5, "after that");
  expect_equal (waiting (harness), 0u);
}

TEST (test_octvolume_keeps_its_length_where_downstream_takes_no_other)
{
  Harness harness ("octvolume b-scans=5 ! capsfilter "
                   "caps=\"video/x-raw(memory:OpenCLMemory),height=5\"",
      frame_caps ("F32LE"));
  harness.pass (frame_of (levels, b_scan_of (levels, 0), 0));
  set_together (harness.find ("octvolume"), "b-scans=7");
  harness.pass (frame_of (levels, b_scan_of (levels, 1), 1));
  expect_warnings (harness.bus, "another height", {"downstream does not accept"});
}

TEST (test_octvolume_goes_on_with_b_scans_of_another_size)
{
  Harness harness (volume_line (), frame_caps ("F32LE"));
  harness.push (frame_of (levels, b_scan_of (levels, 0), 0));
  harness.set_caps (frame_caps ("F32LE", n_lines, n_depths - 1));
  const gsize size = n_lines * (n_depths - 1);
  Values all (size, 0.0);
  for (guint n = 1; n < 2 * n_rows; n++) {
    Values values = b_scan_of (levels, n);
    values.resize (size);
    all.insert (all.end (), values.begin (), values.end ());
    harness.push (frame_of (levels, values, n));
  }
  const Values rest (all.begin () + gssize (n_rows * size), all.end ());
  all.resize (n_rows * size);
  expect_near (pull_numbers (harness), all, 0, "all but the first");
  expect_near (pull_numbers (harness), rest, 0, "the next volume");
}
