/* octscan: sorts the A-lines of a scanner into B-scans
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octscan
 *
 * Sorts A-lines by their position in the sample, and marks each buffer with its B-scan
 * and volume. An input buffer holds `b-scans-per-buffer` consecutive B-scans. Each B-scan
 * is output as a separate buffer.
 *
 * A B-scan begins with a sweep over the sample. Its last `flyback` A-lines are outside
 * the sweep and are dropped. The scanner lags by `delay` A-lines, which
 * `oct-calibrate --flat FILE --bidirectional` finds. `reverse` reverses
 * every second B-scan of a bidirectional scanner. `reverse-samples` reverses the spectra
 * of a light source whose every second sweep runs backwards. Positions that have no
 * A-lines because of the delay are left out, at one end or, with `reverse`, at both. Of
 * the remaining A-lines, the element outputs `lines` from `first-line` on.
 *
 * A resonant scanner moves sinusoidally. With `sinusoidal` the element picks evenly
 * spaced A-lines. The value 1 means that a sweep is a whole half period, from one turning
 * point to the other. A smaller value is the fraction of the half period, about its
 * centre.
 *
 * Property changes while playing take effect with the next buffer, which is marked with
 * DISCONT. Buffers keep their numbers, so directions and the rows of volumes do not
 * change.
 *
 * Each B-scan is taken `repeats` times, and `b-scans` B-scans form a volume. The first
 * buffer begins a volume. After a loss (DISCONT, GAP) the timestamps determine the number
 * of lost buffers, so directions, repeats and volumes stay correct. Without timestamps,
 * the next buffer begins a volume, or a B-scan if volumes are unlimited. Buffers that
 * were dropped because they were too short are counted in any case. Each buffer has its
 * position in a #GstOctScanMeta, from which `octangio` and `octaverage` also know the
 * repeats.
 *
 * The input is raw spectra, spectra or depths. With `columns` it is B-scan images, whose
 * columns are A-lines. Packed samples, which do not fill whole bytes, stay packed.
 * `reverse-samples` and `interpolation=linear` do not support them.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octscan flyback=32 reverse=odd repeats=4 b-scans=128 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft ! opencldownload !
 * videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.2
 */
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>

#include "depth/depthfilter.hpp"
#include "elements.h"
#include "octscanmeta.h"
#include "shared/settingsfile.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octscan.cl"

#define SCAN_CAPS                                                                        \
  OCT_SPECTRUM_CAPS "; " OCT_CAPS ("{wavenumber, depth}", "{F32LE, CF32LE}")

OCT_PADS (SCAN_CAPS, SCAN_CAPS);

namespace {
enum class Every {
  none,
  odd, /* the second, fourth, … */
  even,
};

enum class Between {
  nearest,
  linear,
};

const guint most_parts = 4096, most_lines = 1 << 20;

struct ScanSettings {
  guint parts = 1;
  guint flyback = 0;
  double delay = 0;
  guint first_line = 0;
  guint lines = 0;
  Every reverse = Every::none;
  Every reverse_samples = Every::none;
  double sinusoidal = 0;
  Between interpolation = Between::nearest;
  guint repeats = 1;
  guint b_scans = 0;
  bool columns = false;
  double line_step = 0; /* µm; 0: that of the input caps */
  double b_scan_step = 0;
  std::string file; /* path of property `settings` */

  /* Number of A-lines of a sweep that are missing in its B-scan because of the delay. */
  guint missing () const { return guint (std::max (0.0, std::ceil (delay) - flyback)); }
  /* Number of A-lines of the sweep before the first one that can be output. */
  guint start () const { return reverse == Every::none ? 0 : missing (); }
  guint dropped () const { return flyback + start () + missing () + first_line; }
};

struct ScanState {
  opencl::Kernel kernel;
  std::string built; /* options of the kernel */
  cl::Buffer forward, backward;
};

class Scan : public oct::DepthFilterOf<ScanSettings, ScanState> {
public:
  using DepthFilterOf::DepthFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  guint outputs () override { return in_force.parts; }
  guint period () const override;
  void describe (GstBuffer *buffer, guint index) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::CapsChange change_for (const ScanSettings &wanted) const override;
  bool check (const ScanSettings &wanted, GError **error) const override;
  bool breaks (const ScanSettings &wanted) const override;

private:
  guint lines_of_part () const { return guint (input.lines / in_force.parts); }
  std::string options () const;
  bool is_reversed (guint64 frame) const
  {
    return in_force.reverse != Every::none
           && (frame % 2 == 1) == (in_force.reverse == Every::odd);
  }
  double time_at (double position) const;
  bool make_places (
      GstOpenCLContext *context, bool reversed, cl::Buffer &places, GError **error) const;
};

oct::CapsChange
Scan::change_for (const ScanSettings &wanted) const
{
  oct::CapsChange change;
  change.parts = wanted.parts;
  change.dropped = wanted.dropped ();
  change.wanted = wanted.lines;
  change.rows = !wanted.columns;
  change.line_step = wanted.line_step;
  change.b_scan_step = wanted.b_scan_step;
  return change;
}

/* A group must not mix B-scans of different geometry. */
bool
Scan::breaks (const ScanSettings &wanted) const
{
  auto geometry = [] (const ScanSettings &of) {
    return std::tie (of.parts, of.flyback, of.delay, of.first_line, of.lines, of.reverse,
        of.reverse_samples, of.sinusoidal, of.interpolation, of.repeats, of.b_scans);
  };
  return geometry (wanted) != geometry (in_force);
}

bool
Scan::check (const ScanSettings &wanted, GError **error) const
{
  if (!oct::settings_file_check (GST_ELEMENT (element ()), wanted.file, error))
    return false;
  if (input.packed
      && (wanted.reverse_samples != Every::none
          || wanted.interpolation == Between::linear)) {
    return REFUSE_SETTINGS (error,
        "samples are packed, expected reverse-samples=none and interpolation=nearest");
  }
  const gsize there = input.lines / wanted.parts;
  const gsize needed = gsize (wanted.dropped ()) + std::max (1u, wanted.lines);
  if (needed <= there)
    return true;
  return REFUSE_SETTINGS (error,
      "b-scans-per-buffer=%u: B-scans have %" G_GSIZE_FORMAT " A-lines, expected "
      "%" G_GSIZE_FORMAT " or more for lines=%u first-line=%u flyback=%u delay=%g",
      wanted.parts, there, needed, wanted.lines, wanted.first_line, wanted.flyback,
      wanted.delay);
}

/* Number of buffers after which volumes (repeats, if unlimited) and directions start
 * again */
guint
Scan::period () const
{
  const guint64 volume = guint64 (in_force.repeats) * std::max (1u, in_force.b_scans);
  const guint64 frames =
      in_force.reverse == Every::none ? volume : std::lcm (volume, guint64 (2));
  return guint (
      std::min<guint64> (std::lcm (frames, in_force.parts) / in_force.parts, G_MAXUINT));
}

void
Scan::describe (GstBuffer *buffer, guint index)
{
  const guint64 frame = frame_number * in_force.parts + index;
  const guint64 place = frame / in_force.repeats;
  GstOctScan scan = {};
  scan.frame = frame;
  scan.repeat = guint (frame % in_force.repeats);
  scan.repeats = in_force.repeats;
  scan.b_scans = in_force.b_scans;
  scan.b_scan = guint (in_force.b_scans > 0 ? place % in_force.b_scans : place);
  scan.volume = in_force.b_scans > 0 ? place / in_force.b_scans : 0;
  scan.reversed = is_reversed (frame);
  gst_buffer_set_oct_scan (buffer, &scan);
}

/* Returns the time in the sweep, in A-lines, at which the scanner is at a position. */
double
Scan::time_at (double position) const
{
  const double sweep = double (lines_of_part ()) - in_force.flyback;
  if (in_force.sinusoidal == 0 || sweep < 2)
    return position;
  /* Distance from the centre of the sweep; 1 at its last A-line */
  const double away = 2 * position / (sweep - 1) - 1;
  const double edge = in_force.sinusoidal * G_PI / 2;
  const double angle = std::asin (std::clamp (away * std::sin (edge), -1.0, 1.0));
  return (angle / edge + 1) / 2 * (sweep - 1);
}

bool
Scan::make_places (
    GstOpenCLContext *context, bool reversed, cl::Buffer &places, GError **error) const
{
  const guint last_of_part = lines_of_part () - 1;
  const double end = double (last_of_part - in_force.flyback);
  const bool nearest = in_force.interpolation == Between::nearest;
  std::vector<cl_uint2> lines (output.lines);

  for (gsize n = 0; n < lines.size (); n++) {
    const double time =
        time_at (double (in_force.start ()) + in_force.first_line + double (n));
    double line = in_force.delay + (reversed ? end - time : time);
    line = std::clamp (nearest ? std::round (line) : line, 0.0, double (last_of_part));
    /* A position that is an integer up to rounding must not be interpolated. */
    const double whole = std::floor (line + 1e-6);
    const cl_float part = cl_float (std::max (0.0, line - whole));
    cl_uint bits;
    memcpy (&bits, &part, sizeof bits);
    lines[n] = {{cl_uint (whole), part < 1e-6f ? 0 : bits}};
  }
  return opencl::make_table (context, lines, places, error);
}

std::string
Scan::options () const
{
  std::string options = std::string ("-DSTORED=") + input.stored;
  if (input.swapped)
    options += " -DSWAPPED";
  else if (!g_str_has_prefix (input.stored, "float"))
    options += " -DWHOLE";
  if (in_force.interpolation == Between::linear)
    options += " -DLINEAR";
  if (in_force.columns && input.video)
    options += " -DCOLUMNS";
  if (in_force.reverse_samples != Every::none)
    options += in_force.reverse_samples == Every::odd ? " -DREVERSED=1" : " -DREVERSED=0";
  return options;
}

bool
Scan::prepare (GstOpenCLContext *context, GError **error)
{
  if (options () != built) {
    built.clear ();
    if (!kernel.create (context, KERNELS, "arrange", options (), error))
      return false;
    built = options ();
  }
  return make_places (context, false, forward, error)
         && make_places (context, true, backward, error);
}

bool
Scan::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  const guint index = output_index ();
  const bool reversed = is_reversed (frame_number * in_force.parts + index);
  const gsize columns = input.image ? output.lines : input.depths;
  const gsize rows = input.image ? input.depths : output.lines;
  auto pitch = [this] (const GstOpenCLFrame *frame, const oct::DepthLayout &layout) {
    return cl_uint (
        layout.video ? gsize (frame->stride[0]) / input.bytes : layout.depths);
  };

  return kernel.launch (queue, columns, rows, error, from->data,
      cl_ulong (from->offset[0]), pitch (from, input), cl_uint (index * lines_of_part ()),
      reversed ? backward () : forward (), cl_uint (input.depths), cl_uint (output.lines),
      to->data, cl_ulong (to->offset[0]), pitch (to, output));
}
} // namespace

const opencl::EnumTypeOf<Every> every_type = {
    "GstOctEvery", {
                       {Every::none, "None", "none"},
                       {Every::odd, "The second, fourth, …", "odd"},
                       {Every::even, "The first, third, …", "even"},
                   }};

const opencl::EnumTypeOf<Between> between_type = {"GstOctScanInterpolation",
    {
        {Between::nearest, "Nearest A-line", "nearest"},
        {Between::linear,
            "Linear interpolation between two A-lines; attenuates parts of spectra in "
            "which the two differ",
            "linear"},
    }};

const opencl::PropertyTable<ScanSettings> properties = {
    {"b-scans-per-buffer", "B-scans in a buffer",
        "Number of consecutive B-scans in each input buffer; leftover A-lines are "
        "dropped",
        &ScanSettings::parts, {1, most_parts}, opencl::playing},
    {"flyback", "Flyback",
        "Number of A-lines at the end of each B-scan that are outside the sweep",
        &ScanSettings::flyback, {0, most_lines}, opencl::playing},
    {"delay", "Delay", "Number of A-lines by which the scanner lags",
        &ScanSettings::delay, {0, most_lines}, opencl::playing},
    {"first-line", "First line",
        "Number of A-lines to leave out at the start of the sweep",
        &ScanSettings::first_line, {0, most_lines}, opencl::playing},
    {"lines", "Lines", "Number of A-lines to output (0 = all from first-line on)",
        &ScanSettings::lines, {0, most_lines}, opencl::playing},
    {"reverse", "Reverse",
        "B-scans to reverse because they were scanned in the opposite direction",
        &ScanSettings::reverse, every_type, opencl::playing},
    {"reverse-samples", "Reverse samples",
        "A-lines of a buffer whose samples are in reverse order",
        &ScanSettings::reverse_samples, every_type, opencl::playing},
    {"sinusoidal", "Sinusoidal",
        "Fraction of a half sine period that a sweep covers, about its centre (0 = "
        "constant scanner speed)",
        &ScanSettings::sinusoidal, {0, 1}, opencl::playing},
    {"interpolation", "Interpolation", "Interpolation between A-lines",
        &ScanSettings::interpolation, between_type, opencl::playing},
    {"repeats", "Repeats", "Number of times each B-scan is acquired before the next one",
        &ScanSettings::repeats, {1, most_parts}, opencl::playing},
    {"b-scans", "B-scans",
        "Number of B-scans in a volume, without repeats (0 = unlimited)",
        &ScanSettings::b_scans, {0, most_lines}, opencl::playing},
    {"line-step", "Line step",
        "Distance between A-lines in micrometres, written to the caps (0 = line-step of "
        "the input caps, if present)",
        &ScanSettings::line_step, {0, 1e9}, opencl::playing},
    {"b-scan-step", "B-scan step",
        "Distance between B-scans in micrometres, written to the caps (0 = b-scan-step "
        "of the input caps, if present)",
        &ScanSettings::b_scan_step, {0, 1e9}, opencl::playing},
    {"columns", "Columns",
        "Whether A-lines are the columns of raw video, as in B-scan images",
        &ScanSettings::columns, opencl::ready},
    {"settings", "Settings file",
        "Set properties of this element from a file with one NAME=VALUE per line, as "
        "written by oct-calibrate --flat",
        &ScanSettings::file, opencl::playing},
};

static const oct::DepthElement<Scan> element = {"GstOctScanElement", &sink_template,
    &src_template, properties, "OCT scan",
    "Sorts A-lines by their position in the sample on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octscan, element)
