/* Tests of the text in plots of octsignal, by the pixels of the plot
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../harness.hpp"
#include "depthframes.hpp"

#include <set>

using namespace check;

namespace {
/* Consecutive rows or columns with text */
struct Group {
  gsize begin, end;

  double size () const { return double (end - begin); }
};

/* RGBA plot */
class Plot {
public:
  Plot (Harness &harness, GstBuffer *frame, gsize width, gsize height)
      : width (width), height (height), pixels (read_buffer (harness.pass (frame)))
  {
    fail_unless_equals_int (pixels.size (), width * height * 4);
    while (bottom > 0 && !is_line (bottom))
      bottom--;
    for (left = 0; left < width && !is_axis (left);)
      left++;
    fail_unless (
        bottom > height / 2 && left < width / 2, "axes at %zu, %zu", left, bottom);
  }

  /* Distinct greens in the rows of text above the curves */
  gsize levels_of_text () const
  {
    std::set<guint8> levels;
    for (gsize n = 0; n < left * height / 8; n++)
      levels.insert (green (n % left, n / left));
    return levels.size ();
  }
  bool has_text_at_edge () const
  {
    for (gsize x = 0; x < width; x++) {
      if (is_ink (x, 0) || is_ink (x, height - 1))
        return true;
    }
    for (gsize y = 0; y < height; y++) {
      if (is_ink (0, y) || is_ink (width - 1, y))
        return true;
    }
    return false;
  }
  /* Numbers left of the vertical axis, between the text above and below */
  std::vector<Group> rows () const
  {
    return groups (height / 4, bottom - 1, 1, [this] (gsize y) {
      bool found = false;
      for (gsize x = 0; x + 1 < left; x++)
        found |= is_ink (x, y);
      return found;
    });
  }
  /* Numbers and units below the horizontal axis. Letters are closer than `apart`. */
  std::vector<Group> columns (gsize apart) const
  {
    return groups (0, width, apart, [this] (gsize x) {
      bool found = false;
      for (gsize y = bottom + 1; y < height; y++)
        found |= is_ink (x, y);
      return found;
    });
  }

private:
  guint8 green (gsize x, gsize y) const { return pixels[(y * width + x) * 4 + 1]; }
  bool is_ink (gsize x, gsize y) const { return green (x, y) > 40; }
  bool is_line (gsize y) const
  {
    gsize inked = 0;
    for (gsize x = 0; x < width; x++)
      inked += is_ink (x, y);
    return inked > width * 7 / 10;
  }
  bool is_axis (gsize x) const
  {
    gsize inked = 0;
    for (gsize y = 0; y < height; y++)
      inked += is_ink (x, y);
    return inked > height * 4 / 10;
  }
  template <typename HasInk>
  static std::vector<Group> groups (gsize from, gsize to, gsize apart, HasInk has_ink)
  {
    std::vector<Group> found;
    for (gsize n = from; n < to; n++) {
      if (!has_ink (n))
        continue;
      if (found.empty () || n >= found.back ().end + apart)
        found.push_back ({n, n});
      found.back ().end = n + 1;
    }
    return found;
  }

  const gsize width, height;
  const Bytes pixels;
  gsize bottom = height - 1, left = 0;
};

const char *const spectra =
    "application/x-oct(memory:OpenCLMemory),domain=wavelength,format=F32LE,samples=1024,"
    "lines=1,framerate=25/1";
const char *const depths_caps =
    "application/"
    "x-oct(memory:OpenCLMemory),domain=depth,format=F32LE,samples=512,lines=1,"
    "framerate=25/1,quantity=amplitude,depth-step=3.45";

/* From 0 to `most` */
GstBuffer *
ramp (gsize values, float most, guint frame)
{
  std::vector<double> line;
  for (gsize n = 0; n < values; n++)
    line.push_back (float (n) * most / float (values));
  return depths::timed (depths::bytes_of<float> (line), frame);
}

/* Height of a digit: of the lowest number whose neighbours are seen */
double
digit_height (const Plot &plot)
{
  const std::vector<Group> rows = plot.rows ();
  fail_unless (rows.size () >= 2, "%zu rows of text", rows.size ());
  return rows[rows.size () / 2].size ();
}

struct Size {
  const char *label;
  gsize width, height;
};

const std::vector<Size> sizes = {
    {"320x200", 320, 200},
    {"397x336", 397, 336},
    {"640x360", 640, 360},
    {"1280x300", 1280, 300},
    {"300x900", 300, 900},
    {"3840x2160", 3840, 2160},
};

std::string
plot_of (const Size &size, const char *more = "")
{
  return text ("octsignal interval=0 %s ! video/x-raw(ANY),format=RGBA,width=%zu,"
               "height=%zu ! opencldownload",
      more, size.width, size.height);
}

/* Text lies wholly in the picture, is antialiased, and grows with the picture. */
void
check_text (const Plot &plot, const Size &size)
{
  const double digit = digit_height (plot);
  fail_if (plot.has_text_at_edge ());
  fail_unless (plot.levels_of_text () >= 12, "%zu levels", plot.levels_of_text ());
  fail_unless (digit >= 0.018 * double (std::min (size.width, size.height)), "%g", digit);
  for (const Group &row : plot.rows ())
    fail_unless (row.size () < 1.3 * digit, "%g of %g", row.size (), digit);
}
} // namespace

TEST_ROWS (test_octsignal_text_of_depths, sizes)
{
  Harness harness (plot_of (row), depths_caps);
  const Plot plot (harness, ramp (512, 900, 0), row.width, row.height);
  check_text (plot, row);
  const double digit = digit_height (plot);
  /* dB, at least two numbers such as 0.5, and mm */
  const std::vector<Group> columns = plot.columns (gsize (0.4 * digit));
  fail_unless (columns.size () >= 4, "%zu groups", columns.size ());
  for (const Group &column : columns)
    fail_unless (column.size () < 3.5 * digit, "%g of %g", column.size (), digit);
  const Group &unit = columns.back ();
  fail_unless (unit.size () > 1.8 * digit && unit.size () < 3.2 * digit, "%g of %g",
      unit.size (), digit);
}

TEST_ROWS (test_octsignal_text_of_spectra, sizes)
{
  Harness harness (plot_of (row), spectra);
  const Plot plot (harness, ramp (1024, 60000, 0), row.width, row.height);
  check_text (plot, row);
  const double digit = digit_height (plot);
  const std::vector<Group> columns = plot.columns (gsize (0.4 * digit));
  fail_unless (columns.size () >= 2, "%zu groups", columns.size ());
  for (const Group &column : columns)
    fail_unless (column.size () < 4.5 * digit, "%g of %g", column.size (), digit);
}

/* Values of any size have labels that fit. */
TEST_ROWS (
    test_octsignal_text_of_any_values, std::vector<double>{1e-9, 1e-3, 1, 1e7, 1e30})
{
  const Size size = {"", 400, 240};
  Harness harness (plot_of (size), spectra);
  check_text (Plot (harness, ramp (1024, float (row), 0), size.width, size.height), size);
}

TEST (test_octsignal_text_size_changes_while_playing)
{
  const Size size = {"", 800, 600};
  Harness harness (plot_of (size, "text-size=12"), spectra);
  const double small =
      digit_height (Plot (harness, ramp (1024, 900, 0), size.width, size.height));
  set_together (harness.find ("octsignal"), "text-size=36");
  harness.pass (ramp (1024, 900, 1));
  harness.pass (ramp (1024, 900, 2));
  harness.pass (ramp (1024, 900, 3));
  const double large =
      digit_height (Plot (harness, ramp (1024, 900, 4), size.width, size.height));
  fail_unless (small >= 7 && small <= 11, "%g", small);
  fail_unless (
      std::abs (large - 3 * small) <= 4, "%g and %g", small, large); /* whole pixels */
}
