/* octbackground: removes fixed-pattern noise and the DC term from complex depths
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octbackground
 *
 * Removes signals that are constant over the A-lines of a B-scan of complex depths, such
 * as reflections within the optics. For each depth, the element divides the B-scan into
 * segments of `segment-lines` neighbouring A-lines. The pattern is the mean of the
 * segment with the lowest variance, separately for the real and imaginary parts (Moon,
 * Lee and Chen, 2010).
 *
 * octwindowinterp's `background=frame` subtracts the mean of all A-lines. This also
 * attenuates a flat interface, such as a cover glass, by 64 dB. octbackground keeps such
 * an interface if one segment does not contain it, or if its phase varies within each
 * segment. An interface of constant phase in all A-lines cannot be distinguished from a
 * pattern. For this case, `method=recorded` subtracts the pattern of the next B-scan
 * after it was set, for which the sample can be removed. `method=file` subtracts the mean
 * of all A-lines in a file of complex depths, as `npysink` writes it:
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=8 ! octwindowinterp wavelength-min=1187
 * wavelength-max=1433 ! octfft ! "application/x-oct(ANY),domain=depth,format=CF32LE" !
 * opencldownload ! npysink location=empty.npy
 * ]|
 *
 * A pattern is valid only for the depths at which it was recorded. When the first depth
 * or the number of depths changes (`depth-start` and `depth-count` of octfft),
 * `method=recorded` records the next B-scan. When the first depth changes, `method=file`
 * subtracts nothing until `location` is set again or the first depth is restored. A
 * WARNING message reports this.
 *
 * `weight` subtracts only a part of the pattern, such as half of it for 0.5. It may change
 * at any moment, also for a recorded pattern or one from a file.
 *
 * `dc-depths` sets the first depths to 0. They contain the mean along the spectrum, which
 * the window spreads over several bins.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433 !
 * octfft ! octbackground dc-depths=3 ! octdisplay ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 *
 * Since: 0.2
 */
#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/common/npyfile.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "depth/depthfilter.hpp"
#include "spectra/framebuffers.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octbackground.cl"

OCT_PADS (OCT_DEPTH_CAPS ("CF32LE"), OCT_DEPTH_CAPS ("CF32LE"));

namespace {
enum class Method {
  minimum_variance,
  mean,
  recorded,
  file,
  none,
};

const guint most_lines = 65536, most_depths = 32768;

struct BackgroundRemovalSettings {
  Method method = Method::minimum_variance;
  guint segment_lines = 32;
  double weight = 1;
  guint dc_depths = 0;
  guint recordings = 0; /* counts how often `method` or `location` was set */
  std::string location;
};

/* A-lines per work-item of kernel `subtract`. */
const cl_uint lines_of_item = 16;

/* Work-group of kernel `choose_segments` on a GPU: items of a slice, and slices */
const gsize gpu_items = 32, gpu_slices = 8;

/* Kernel that subtracts a pattern, shared by the element and its deferred work. */
struct Subtraction {
  std::mutex launching; /* held from the first argument of the kernel to its launch */
  opencl::Kernel kernel;
  guint wide = 0; /* floats per work-item */
};

/* Subtraction that is deferred to a following octdisplay */
class PendingSubtraction : public oct::PendingDepths {
public:
  std::shared_ptr<Subtraction> subtraction;
  std::shared_ptr<cl::Buffer> pattern; /* (nullable) */
  cl_mem input;
  gsize offset; /* in bytes */
  guint depths, lines;
  cl_float weight; /* of the pattern */
  guint empty;     /* number of first depths set to 0 */

  /* Weight of the pattern in the kernels; 0 if there is none */
  cl_float weight_of_pattern () const { return pattern ? weight : 0; }

  bool write (cl_command_queue queue, cl_mem data, gsize at, GError **error) override;
  bool write_image (oct::Display &display, cl_command_queue queue,
      const oct::DepthOutput &image, GError **error) override;
};

bool
PendingSubtraction::write (cl_command_queue queue, cl_mem data, gsize at, GError **error)
{
  std::lock_guard<std::mutex> guard (subtraction->launching);
  const cl_uint columns = 2 * depths;
  const gsize items = (columns + subtraction->wide - 1) / subtraction->wide;
  const gsize rows = (lines + lines_of_item - 1) / lines_of_item;
  return subtraction->kernel.launch (queue, items, rows, error, input,
      cl_ulong (offset / sizeof (cl_float)), cl_ulong (columns), columns, cl_uint (lines),
      pattern ? (*pattern) () : input, weight_of_pattern (), cl_uint (2 * empty),
      lines_of_item, data, cl_ulong (at / sizeof (cl_float)), cl_ulong (columns));
}

bool
PendingSubtraction::write_image (oct::Display &display, cl_command_queue queue,
    const oct::DepthOutput &image, GError **error)
{
  const oct::DisplayInput values = {input, offset / sizeof (cl_float2), depths, lines};
  const oct::Difference difference = {
      pattern ? (*pattern) () : nullptr, weight_of_pattern (), empty};
  return display.enqueue_difference (queue, values, difference, image, error);
}

struct PatternState {
  GstOpenCLContext *context = nullptr;
  opencl::Kernel find, choose;
  gsize items = 1, slices = 1; /* of a work-group of `choose` */
  std::shared_ptr<Subtraction> subtraction;
  cl::Buffer means, variances;
  oct::FrameBuffers patterns;
  std::shared_ptr<cl::Buffer> pattern; /* of this frame, or recorded */
  std::shared_ptr<cl::Buffer> loaded;  /* from the file */
  cl_uint columns = 0, segments = 0;   /* dimensions of `means` */
  guint first_depth = 0;               /* of the recorded or loaded pattern */
  bool recorded = false;               /* there is a recorded or loaded pattern */
  guint recording = 0;                 /* its BackgroundRemovalSettings::recordings */
};

class PatternRemoval
    : public oct::DepthFilterOf<BackgroundRemovalSettings, PatternState> {
public:
  using DepthFilterOf::DepthFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;
  bool can_defer () const override { return true; }
  std::shared_ptr<oct::PendingDepths> defer (const GstOpenCLFrame *from,
      cl_command_queue queue, bool &reads, GError **error) override;

protected:
  oct::CapsChange change_for (const BackgroundRemovalSettings &wanted) const override
  {
    return {};
  }
  bool check (const BackgroundRemovalSettings &wanted, GError **error) const override;

private:
  /* Returns the number of whole segments. */
  cl_uint segments_of (const BackgroundRemovalSettings &settings) const
  {
    return settings.method == Method::mean || settings.method == Method::file
               ? 1
               : cl_uint (std::max<gsize> (input.lines / settings.segment_lines, 1));
  }
  bool build (GstOpenCLContext *context, guint floats, GError **error);
  bool load (GstOpenCLContext *context, GError **error);
  void compare_depths (cl_uint wanted_columns);
  bool matches_depths () const { return first_depth == input.first_depth; }
  bool finds_pattern () const { return in_force.method != Method::none && !recorded; }
  bool find_pattern (const GstOpenCLFrame *from, cl_command_queue queue, GError **error);
};

/* Loads the mean of all A-lines of a file of complex numbers, or of pairs of real
 * ones. */
static bool
load_pattern (
    const std::string &path, gsize depths, std::vector<cl_float> &pattern, GError **error)
{
  std::vector<double> values;
  std::vector<gsize> shape;
  if (!opencl::npy_load_pairs (path.c_str (), values, shape, error))
    return false;
  const gsize floats = 2 * depths;
  if (shape.empty () || shape.back () != depths || values.empty ()) {
    return REFUSE_SETTINGS (error,
        "location %s: shape %s, expected A-lines of %" G_GSIZE_FORMAT " complex depths",
        path.c_str (), opencl::npy_shape_text (shape).c_str (), depths);
  }
  std::vector<double> mean (floats);
  const double share = double (floats) / double (values.size ());
  for (gsize n = 0; n < values.size (); n++)
    mean[n % floats] += share * values[n];
  pattern.assign (mean.begin (), mean.end ());
  for (gsize n = 0; n < floats; n++) {
    if (std::isfinite (pattern[n]))
      continue;
    return REFUSE_SETTINGS (error,
        "location %s: the mean at depth %" G_GSIZE_FORMAT " is NaN or infinite",
        path.c_str (), n / 2);
  }
  return true;
}

bool
PatternRemoval::check (const BackgroundRemovalSettings &wanted, GError **error) const
{
  std::vector<cl_float> values;
  if (wanted.method != Method::file)
    return true;
  if (!wanted.location.empty ())
    return load_pattern (wanted.location, input.depths, values, error);
  return REFUSE_SETTINGS (
      error, "location is not set, expected the path of a file for method=file");
}

/* Loads the pattern from a file that check() accepted. */
bool
PatternRemoval::load (GstOpenCLContext *context, GError **error)
{
  std::vector<cl_float> values;
  if (in_force.method != Method::file || recorded)
    return true;
  loaded = std::make_shared<cl::Buffer> ();
  recorded = load_pattern (in_force.location, input.depths, values, error)
             && opencl::make_table (context, values, *loaded, error);
  first_depth = input.first_depth;
  return recorded;
}

/* Builds the kernels, on a CPU for up to 16 floats per work-item. On a GPU it is one
 * depth: neighbours read together anyway, and wider work-items would leave it partly
 * idle. */
bool
PatternRemoval::build (GstOpenCLContext *context, guint floats, GError **error)
{
  guint wanted = opencl::is_cpu (context) ? 16 : 2;
  while (wanted > floats)
    wanted /= 2;
  if (subtraction && subtraction->wide == wanted)
    return true;
  bool shares = !opencl::is_cpu (context)
                && opencl::largest_group (context) >= gpu_items * gpu_slices;
  auto made = std::make_shared<Subtraction> ();
  made->wide = wanted;
  subtraction = nullptr;
  do {
    items = shares ? gpu_items : 1;
    slices = shares ? gpu_slices : 1;
    const std::string options = "-DWIDE=" + std::to_string (wanted)
                                + " -DITEMS=" + std::to_string (items)
                                + " -DSLICES=" + std::to_string (slices);
    if (!opencl::create_kernels (context, KERNELS, options,
            {{find, "find_segments"}, {choose, "choose_segments"},
                {made->kernel, "subtract"}},
            error))
      return false;
    shares = false;
  } while (!choose.allows (items * slices)); /* one that needs many registers may not */
  subtraction = made;
  return true;
}

/* Handles a change of the depths, for which a recorded or loaded pattern is not valid. */
void
PatternRemoval::compare_depths (cl_uint wanted_columns)
{
  const bool is_file = in_force.method == Method::file;
  const bool same_number = wanted_columns == columns;
  if (!recorded || (same_number && matches_depths ()))
    return;
  if (!is_file || same_number)
    GST_ELEMENT_WARNING (element (), LIBRARY, SETTINGS,
        ("method=%s: the pattern has %u depths from bin %u on, but the input has "
         "%" G_GSIZE_FORMAT " from bin %u on; %s",
            is_file ? "file" : "recorded", columns / 2, first_depth, input.depths,
            input.first_depth,
            is_file ? "subtracting nothing until location is set again"
                    : "recording it again"),
        (nullptr));
  if (!is_file || !same_number)
    recorded = false;
}

bool
PatternRemoval::prepare (GstOpenCLContext *of, GError **error)
{
  context = of;
  const cl_uint wanted_columns = cl_uint (2 * input.depths);
  const cl_uint wanted_segments = segments_of (in_force);
  if (in_force.recordings != recording)
    recorded = false;
  recording = in_force.recordings;
  compare_depths (wanted_columns);
  if (!build (context, wanted_columns, error) || !load (context, error))
    return false;
  if (wanted_columns == columns && wanted_segments == segments)
    return true;
  const gsize line = sizeof (cl_float) * wanted_columns;
  columns = segments = 0;
  if (!opencl::make_buffer (context, line * wanted_segments, means, error)
      || !opencl::make_buffer (context, line * wanted_segments, variances, error))
    return false;
  columns = wanted_columns;
  segments = wanted_segments;
  return true;
}

/* Finds the pattern in a buffer that no pending work reads. */
bool
PatternRemoval::find_pattern (
    const GstOpenCLFrame *from, cl_command_queue queue, GError **error)
{
  const gsize wide = subtraction->wide, needed = (columns + wide - 1) / wide;
  pattern = nullptr;
  pattern = patterns.unused (context, sizeof (cl_float) * columns, error);
  recorded = pattern && in_force.method == Method::recorded;
  first_depth = input.first_depth;
  return pattern
         && find.launch (queue, needed, segments, error, from->data,
             cl_ulong (from->offset[0] / sizeof (cl_float)), cl_ulong (columns), columns,
             cl_uint (input.lines), segments, means (), variances ())
         && choose.launch_groups (queue, (needed + items - 1) / items, items * slices,
             error, means (), variances (), columns, segments, (*pattern) ());
}

std::shared_ptr<oct::PendingDepths>
PatternRemoval::defer (
    const GstOpenCLFrame *from, cl_command_queue queue, bool &reads, GError **error)
{
  reads = finds_pattern ();
  if (reads && !find_pattern (from, queue, error))
    return nullptr;
  auto pending = std::make_shared<PendingSubtraction> ();
  pending->subtraction = subtraction;
  if (in_force.method == Method::file)
    pending->pattern = matches_depths () ? loaded : nullptr;
  else if (in_force.method != Method::none)
    pending->pattern = pattern;
  pending->input = from->data;
  pending->offset = from->offset[0];
  pending->depths = guint (input.depths);
  pending->lines = guint (input.lines);
  pending->weight = cl_float (in_force.weight);
  pending->empty = in_force.dc_depths - std::min (in_force.dc_depths, input.first_depth);
  return pending;
}

bool
PatternRemoval::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  bool reads = false;
  std::shared_ptr<oct::PendingDepths> pending = defer (from, queue, reads, error);
  return pending && pending->write (queue, to->data, to->offset[0], error);
}
} // namespace

const opencl::EnumTypeOf<Method> method_type = {"GstOctBackgroundMethod",
    {
        {Method::minimum_variance,
            "Mean of the segment of A-lines with the lowest variance, for each depth",
            "minimum-variance"},
        {Method::mean, "Mean of all A-lines, which also removes flat interfaces", "mean"},
        {Method::recorded,
            "Pattern that minimum-variance finds in the next B-scan, kept from then on; "
            "set again to record another one",
            "recorded"},
        {Method::file, "Mean of the A-lines in the file at location", "file"},
        {Method::none, "No subtraction", "none"},
    }};

const opencl::PropertyTable<BackgroundRemovalSettings> properties = {
    {"method", "Method", "Method that finds the pattern to subtract",
        &BackgroundRemovalSettings::method, method_type, opencl::playing,
        &BackgroundRemovalSettings::recordings},
    {"location", "Location",
        ".npy file of complex depths recorded without the sample: A-lines or B-scans, "
        "with as many depths as the input (method=file)",
        &BackgroundRemovalSettings::location, opencl::playing,
        &BackgroundRemovalSettings::recordings},
    {"segment-lines", "A-lines per segment",
        "Number of neighbouring A-lines in a segment; at each depth, the background is "
        "the mean of the segment with the least variance (method=minimum-variance)",
        &BackgroundRemovalSettings::segment_lines, {2, most_lines}, opencl::playing},
    {"weight", "Weight",
        "Factor of the pattern in the subtraction (0 = nothing is subtracted, 1 = the "
        "whole pattern)",
        &BackgroundRemovalSettings::weight, {0, 1}, opencl::controllable},
    {"dc-depths", "DC depths",
        "Number of depth bins from zero delay on to set to 0 (3 suits a Hann window)",
        &BackgroundRemovalSettings::dc_depths, {0, most_depths}, opencl::playing},
};

static const oct::DepthElement<PatternRemoval> element = {"GstOctBackgroundFilter",
    &sink_template, &src_template, properties, "OCT background",
    "Removes fixed-pattern noise from complex OCT depths on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octbackground, element)
