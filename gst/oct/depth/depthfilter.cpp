/* Common code of the depth filters: caps, settings and groups of frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthfilter.hpp"

#include "scangroups.hpp"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace oct {
namespace {
/* Minimum and maximum of an integer or of an integer range */
using Bounds = std::pair<gint64, gint64>;

bool
bounds_of (const GValue *value, Bounds &bounds)
{
  if (value && G_VALUE_HOLDS_INT (value))
    bounds = {g_value_get_int (value), g_value_get_int (value)};
  else if (value && GST_VALUE_HOLDS_INT_RANGE (value))
    bounds = {gst_value_get_int_range_min (value), gst_value_get_int_range_max (value)};
  else
    return false;
  return true;
}

void
set_bounds (GstStructure *structure, const char *field, Bounds bounds)
{
  gint least = gint (std::clamp<gint64> (bounds.first, 1, G_MAXINT));
  gint most = gint (std::clamp<gint64> (bounds.second, 1, G_MAXINT));
  if (least == most)
    gst_structure_set (structure, field, G_TYPE_INT, least, nullptr);
  else
    gst_structure_set (structure, field, GST_TYPE_INT_RANGE, least, most, nullptr);
}

const char *
lines_field (const GstStructure *structure, bool rows)
{
  if (!gst_structure_has_name (structure, "video/x-raw"))
    return "lines";
  return rows ? "height" : "width";
}

/* An output frame has at least one A-line, even if the input has fewer than a group. */
void
change_lines (GstStructure *structure, const DepthChange &change, bool to_output)
{
  const char *field = lines_field (structure, change.rows);
  const gint64 every = gint64 (change.lines) * change.parts, dropped = change.dropped;
  Bounds bounds = {1, G_MAXINT};

  if (every == 1 && dropped == 0 && change.wanted == 0)
    return;
  bounds_of (gst_structure_get_value (structure, field), bounds);
  if (change.wanted > 0)
    bounds = to_output ? Bounds{change.wanted, change.wanted}
                       : Bounds{(change.wanted + dropped) * every, G_MAXINT};
  else if (to_output)
    bounds = {bounds.first / every - dropped, bounds.second / every - dropped};
  else
    bounds = {bounds.first == 1 ? 1 : (bounds.first + dropped) * every,
        (bounds.second + dropped) * every + every - 1};
  set_bounds (structure, field, bounds);
}

void
change_rate (GstStructure *structure, const DepthChange &change, bool to_output)
{
  const GValue *rate = gst_structure_get_value (structure, "framerate");
  const gint more = gint (to_output ? change.parts : change.frames);
  const gint fewer = gint (to_output ? change.frames : change.parts);
  if (more == fewer || !rate)
    return;
  gint numerator, denominator;
  if (GST_VALUE_HOLDS_FRACTION (rate)
      && gst_util_fraction_multiply (gst_value_get_fraction_numerator (rate),
          gst_value_get_fraction_denominator (rate), more, fewer, &numerator,
          &denominator))
    gst_structure_set (
        structure, "framerate", GST_TYPE_FRACTION, numerator, denominator, nullptr);
  else
    gst_structure_set (
        structure, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr);
}

/* Sets the pixel aspect ratio of columns that are as wide as `lines` A-lines. */
void
widen_pixels (GstStructure *structure, guint lines, bool to_output)
{
  gint numerator = 0, denominator = 1;
  gst_structure_get_fraction (structure, "pixel-aspect-ratio", &numerator, &denominator);
  gst_structure_remove_field (structure, "pixel-aspect-ratio");
  if (to_output)
    set_true_scale (structure, double (numerator) * lines, denominator);
}

/* Sets the steps. Means of several A-lines are further apart. */
void
change_steps (GstStructure *structure, const DepthChange &change, bool to_output)
{
  double step = 0;
  if (change.lines > 1)
    widen_pixels (structure, change.lines, to_output);
  if (to_output && change.lines > 1
      && gst_structure_get_double (structure, "line-step", &step))
    gst_structure_set (
        structure, "line-step", G_TYPE_DOUBLE, step * change.lines, nullptr);
  if (!to_output && (change.lines > 1 || change.line_step > 0))
    gst_structure_remove_field (structure, "line-step");
  if (!to_output && change.b_scan_step > 0)
    gst_structure_remove_field (structure, "b-scan-step");
  if (to_output && change.line_step > 0)
    gst_structure_set (structure, "line-step", G_TYPE_DOUBLE, change.line_step, nullptr);
  if (to_output && change.b_scan_step > 0)
    gst_structure_set (
        structure, "b-scan-step", G_TYPE_DOUBLE, change.b_scan_step, nullptr);
}

bool
can_have_format (const GstStructure *structure, const char *format)
{
  const GValue *value = gst_structure_get_value (structure, "format");
  GValue wanted = G_VALUE_INIT;
  if (!format || !value)
    return true;
  g_value_init (&wanted, G_TYPE_STRING);
  g_value_set_static_string (&wanted, format);
  bool can = gst_value_can_intersect (value, &wanted);
  g_value_unset (&wanted);
  return can;
}

void
copy_field (
    GstStructure *to, const char *to_field, const GstStructure *from, const char *field)
{
  const GValue *value = gst_structure_get_value (from, field);
  if (value)
    gst_structure_set_value (to, to_field, value);
}

/* Converts caps of depths to those of images, or back: (transfer full) (nullable) */
GstStructure *
image_caps_of (const GstStructure *from, bool true_scale, bool to_output)
{
  const bool image = gst_structure_has_name (from, "video/x-raw");
  if (image == to_output)
    return nullptr;
  GstStructure *to = gst_structure_from_string (
      to_output
          ? "video/x-raw, format=(string){GRAY8, GRAY16_LE}"
          : "application/x-oct, domain=(string)depth, format=(string){F32LE, CF32LE}",
      nullptr);
  copy_field (to, to_output ? "width" : "lines", from, to_output ? "lines" : "width");
  copy_field (
      to, to_output ? "height" : "samples", from, to_output ? "samples" : "height");
  copy_field (to, "framerate", from, "framerate");
  double line_step = 0, depth_step = 0;
  gst_structure_get_double (from, "line-step", &line_step);
  gst_structure_get_double (from, "depth-step", &depth_step);
  if (to_output && true_scale)
    set_true_scale (to, line_step, depth_step);
  return to;
}

/* Converts caps of one pad to those of the other: (transfer full) (nullable) */
GstStructure *
changed (const GstStructure *from, const DepthChange &change, bool to_output)
{
  const char *needed = to_output ? change.from : change.to;
  const char *made = to_output ? change.to : change.from;
  const bool image = gst_structure_has_name (from, "video/x-raw");

  if (change.makes_image)
    return image_caps_of (from, change.true_scale, to_output);
  if ((image && (change.from || change.to)) || !can_have_format (from, needed))
    return nullptr;
  GstStructure *to = gst_structure_copy (from);
  change_lines (to, change, to_output);
  change_rate (to, change, to_output);
  change_steps (to, change, to_output);
  if (image)
    return to;
  if (made)
    gst_structure_set (to, "format", G_TYPE_STRING, made, nullptr);
  if (change.to)
    gst_structure_remove_field (to, "quantity");
  if (to_output && change.quantity)
    gst_structure_set (to, "quantity", G_TYPE_STRING, change.quantity, nullptr);
  return to;
}

/* Appends caps with each input format of an element that takes complex and real depths.
 * Complex ones come first, since octfft would otherwise choose decibels. Takes ownership
 * of `structure`. */
void
append_any_format (GstCaps *caps, GstStructure *structure, GstCapsFeatures *features)
{
  for (const char *format : {"CF32LE", "F32LE"}) {
    GstStructure *one = gst_structure_copy (structure);
    gst_structure_set (one, "format", G_TYPE_STRING, format, nullptr);
    gst_caps_append_structure_full (caps, one, gst_caps_features_copy (features));
  }
  gst_structure_free (structure);
}

/* (transfer full) */
GstCaps *
other_side (const GstCaps *caps, const DepthChange &change, bool to_output)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    GstStructure *structure =
        changed (gst_caps_get_structure (caps, n), change, to_output);
    if (structure && !to_output && change.to && !change.from)
      append_any_format (result, structure, gst_caps_get_features (caps, n));
    else if (structure)
      gst_caps_append_structure_full (
          result, structure, gst_caps_features_copy (gst_caps_get_features (caps, n)));
  }
  return result;
}
} // namespace

/* Limits both terms of the ratio. Sinks multiply them with frame sizes in 32 bits and
 * refuse caps with larger terms. */
void
set_true_scale (GstStructure *image, double line_step, double depth_step)
{
  const double most = 10000;
  if (!(line_step > 0) || !(depth_step > 0))
    return;
  const double ratio = std::clamp (line_step / depth_step, 1 / most, most);
  const double lesser = std::floor (most * std::min (ratio, 1 / ratio));
  const gint numerator = gint (ratio < 1 ? lesser : std::lround (lesser * ratio));
  const gint denominator = gint (ratio < 1 ? std::lround (lesser / ratio) : lesser);
  gst_structure_set (
      image, "pixel-aspect-ratio", GST_TYPE_FRACTION, numerator, denominator, nullptr);
}

bool
DepthChange::operator== (const DepthChange &other) const
{
  return frames == other.frames && lines == other.lines && parts == other.parts
         && dropped == other.dropped && wanted == other.wanted && rows == other.rows
         && line_step == other.line_step && b_scan_step == other.b_scan_step
         && makes_image == other.makes_image && true_scale == other.true_scale
         && g_strcmp0 (from, other.from) == 0 && g_strcmp0 (to, other.to) == 0
         && g_strcmp0 (quantity, other.quantity) == 0;
}

namespace {
/* Type of a value in OpenCL C */
struct StoredFormat {
  const char *name;
  gsize bytes;
  const char *stored;
  bool swapped;     /* 16 bits, big-endian */
  guint packed = 0; /* bits per packed sample, or 0 */
};

const StoredFormat stored_formats[] = {
    {"GRAY8", 1, "uchar", false},
    {"GRAY16_LE", 2, "ushort", false},
    {"GRAY16_BE", 2, "ushort", true},
    {"U8", 1, "uchar", false},
    {"S8", 1, "char", false},
    {"U16LE", 2, "ushort", false},
    {"U16BE", 2, "ushort", true},
    {"S16LE", 2, "short", false},
    {"S16BE", 2, "short", true},
    {"U32LE", 4, "uint", false},
    {"S32LE", 4, "int", false},
    {"F32LE", 4, "float", false},
    {"CF32LE", 8, "float2", false},
    {"MONO10P", 1, "uchar", false, 10},
    {"MONO12P", 1, "uchar", false, 12},
    {"MONO12PACKED", 1, "uchar", false, 12},
};
} // namespace

bool
parse_depth_layout (const GstCaps *caps, bool rows, DepthLayout &layout)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  const char *format = gst_structure_get_string (structure, "format");
  gint lines, depths;
  guint packed = 0;

  layout = DepthLayout ();
  layout.video = gst_structure_has_name (structure, "video/x-raw");
  layout.image = layout.video && !rows;
  layout.complex = g_strcmp0 (format, "CF32LE") == 0;
  for (const StoredFormat &known : stored_formats) {
    if (g_strcmp0 (format, known.name) != 0)
      continue;
    layout.bytes = known.bytes;
    layout.stored = known.stored;
    layout.swapped = known.swapped;
    packed = known.packed;
  }
  if (layout.bytes == 0
      || !gst_structure_get_int (structure, lines_field (structure, rows), &lines)
      || !gst_structure_get_int (structure,
          layout.image   ? "height"
          : layout.video ? "width"
                         : "samples",
          &depths))
    return false;
  gst_structure_get_fraction (
      structure, "framerate", &layout.rate.numerator, &layout.rate.denominator);
  if (const char *quantity = gst_structure_get_string (structure, "quantity"))
    layout.quantity = quantity;
  gst_structure_get_double (structure, "depth-step", &layout.depth_step);
  gint first = 0;
  gst_structure_get_int (structure, "depth-start", &first);
  layout.first_depth = guint (std::max (first, 0));
  layout.lines = gsize (lines);
  layout.packed = packed > 0;
  layout.depths = packed > 0 ? (gsize (depths) * packed + 7) / 8 : gsize (depths);
  return true;
}

bool
check_frame_alignment (const GstOpenCLFrame *frame, gsize bytes, GError **error)
{
  if (frame->offset[0] % bytes == 0 && frame->stride[0] % gint (bytes) == 0)
    return true;
  g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      "a buffer begins at byte %" G_GSIZE_FORMAT
      " and has a stride of %d bytes, expected "
      "multiples of %" G_GSIZE_FORMAT,
      frame->offset[0], frame->stride[0], bytes);
  return false;
}

bool
check_change (const DepthFilter &filter, const DepthChange &change, GError **error)
{
  if (!change.from || filter.input.complex == (g_strcmp0 (change.from, "CF32LE") == 0))
    return !filter.scan || ScanGroups::check (*filter.scan, change.frames, error);
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "the input is %s, expected %s of domain=depth",
      filter.input.complex ? "complex" : "not complex", change.from);
  return false;
}

GstCaps *
changed_caps (GstBaseTransform *base, const DepthChange &change)
{
  GstCaps *input = gst_pad_get_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base));
  GstCaps *output = other_side (input, change, true);
  gst_caps_unref (input);
  return output;
}
} // namespace oct

using oct::DepthFilter;
using oct::FrameSequence;

typedef struct {
  DepthFilter *work;
  bool prepared;   /* prepare() was called for the settings in force */
  bool caps_match; /* the settings in force match the negotiated caps */
  bool lost;       /* frames before the next one were lost */
  bool outdated;   /* frames kept so far cannot be used with the next one */
  bool break_in_output;
  bool began;     /* a frame has arrived whose scan fits the groups */
  bool is_misfit; /* the scan of the last frame does not fit them */
  GstCaps *input_caps;
  FrameSequence *sequence;
  FrameSequence::Arrival arrival;
  std::optional<GstOctScan> *first; /* scan of the group's first frame */
} GstOctDepthFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstOctDepthFilter, gst_oct_depth_filter, GST_TYPE_OPENCL_FILTER)

static GstOctDepthFilterPrivate &
private_of (gpointer filter)
{
  return *static_cast<GstOctDepthFilterPrivate *> (
      gst_oct_depth_filter_get_instance_private (GST_OCT_DEPTH_FILTER (filter)));
}

void
gst_oct_depth_filter_set_work (gpointer filter, DepthFilter *work)
{
  private_of (filter).work = work;
}

/* --- caps --- */

static GstCaps *
gst_oct_depth_filter_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstCaps *changed = oct::other_side (
      caps, private_of (base).work->change (), direction == GST_PAD_SINK);
  return opencl::filtered_caps (changed, filter);
}

/* (transfer full): caps of the sink pad, but with any number of A-lines */
static GstCaps *
inputs_of_any_lines (GstBaseTransform *base, GstCaps *filter, bool rows)
{
  GstQuery *query = gst_query_new_caps (nullptr);
  GstCaps *inputs = nullptr;

  if (GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
          ->query (base, GST_PAD_SINK, query))
    gst_query_parse_caps_result (query, &inputs);
  inputs = inputs ? gst_caps_copy (inputs) : gst_caps_new_empty ();
  gst_query_unref (query);
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    GstStructure *input = gst_caps_get_structure (inputs, n);
    oct::set_bounds (input, oct::lines_field (input, rows), {1, G_MAXINT});
  }
  return opencl::filtered_caps (inputs, filter);
}

/* Before the first caps, the sink pad also accepts frames with too few A-lines for the
 * property `lines`, as its last choice. DepthFilter::adopt() then fails with a reason.
 * Later, a property of an upstream element must not cause that error. */
static gboolean
gst_oct_depth_filter_query (
    GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
  GstCaps *filter, *strict;

  if (!GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
           ->query (base, direction, query))
    return FALSE;
  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS || direction != GST_PAD_SINK
      || gst_pad_has_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base)))
    return TRUE;
  const oct::DepthChange change = private_of (base).work->change ();
  if (change.wanted == 0)
    return TRUE;
  gst_query_parse_caps (query, &filter);
  gst_query_parse_caps_result (query, &strict);
  GstCaps *all = gst_caps_copy (strict);
  gst_caps_append (all, inputs_of_any_lines (base, filter, change.rows));
  gst_query_set_caps_result (query, all);
  gst_caps_unref (all);
  return TRUE;
}

static gboolean
gst_oct_depth_filter_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  oct::DepthLayout layout;
  if (!oct::parse_depth_layout (caps, private_of (filter).work->change ().rows, layout))
    return FALSE;
  *size = layout.size ();
  return TRUE;
}

/* Sets the groups of the settings in force. Frames keep their numbers. */
static void
set_grouping (GstOpenCLFilter *filter, GstOctDepthFilterPrivate &priv)
{
  FrameSequence::Grouping grouping;

  grouping.frames = priv.work->change ().frames;
  grouping.period = priv.work->period ();
  grouping.frame_duration = priv.work->input.frame_duration ();
  gst_opencl_filter_set_group (filter, grouping.frames + (priv.work->outputs () == 0));
  if (priv.sequence->set_grouping (grouping))
    priv.break_in_output = priv.outdated = true;
}

/* Ends the present group, because its frames cannot be used with the next one. */
static void
break_group (GstOctDepthFilterPrivate &priv)
{
  if (priv.sequence->break_group ())
    priv.break_in_output = true;
  priv.outdated = true;
}

static gboolean
gst_oct_depth_filter_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);

  const bool rows = priv.work->change ().rows;
  if (!oct::parse_depth_layout (input, rows, priv.work->input)
      || !oct::parse_depth_layout (output, rows, priv.work->output)) {
    g_set_error_literal (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "unsupported caps, expected depths, B-scan images or spectra");
    return FALSE;
  }
  bool breaks_group = false;
  if (!priv.work->adopt (breaks_group, error))
    return FALSE;
  /* Settings changed since these caps were negotiated. The first frame renegotiates. */
  priv.caps_match = opencl::match_negotiated_caps (
      oct::other_side (input, priv.work->change (), true), output);
  if (!priv.caps_match)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (filter));
  if (breaks_group || (priv.input_caps && !gst_caps_is_equal (priv.input_caps, input)))
    break_group (priv);
  gst_caps_replace (&priv.input_caps, input);
  set_grouping (filter, priv);
  priv.prepared = false;
  return TRUE;
}

static void
gst_oct_depth_filter_close (GstOpenCLFilter *filter)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);
  priv.work->stop ();
  priv.work->forget ();
  priv.work->release ();
  priv.work->scan.reset ();
  priv.sequence->restart ();
  priv.first->reset ();
  gst_clear_caps (&priv.input_caps);
  priv.prepared = priv.lost = priv.break_in_output = priv.outdated = false;
  priv.began = priv.is_misfit = false;
}

/* --- frames --- */

static void
apply_settings (GstOpenCLFilter *filter, GstOctDepthFilterPrivate &priv)
{
  bool breaks_group = false;

  if (priv.work->update (breaks_group))
    priv.prepared = false;
  if (!breaks_group)
    return;
  break_group (priv);
  set_grouping (filter, priv);
  /* break_group() marks only groups, but single frames do not continue others either. */
  if (priv.work->change ().frames == 1)
    priv.break_in_output = true;
}

static void
gst_oct_depth_filter_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);
  DepthFilter &work = *priv.work;
  GstOctScan scan;

  work.scan.reset ();
  if (gst_buffer_get_oct_scan (input, &scan))
    work.scan = scan;
  apply_settings (filter, priv);
  priv.arrival.time = GST_BUFFER_PTS (input);
  priv.arrival.duration = GST_BUFFER_DURATION (input);
  priv.arrival.lost =
      priv.lost || GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_DISCONT);
  priv.arrival.empty = GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_GAP);
  priv.arrival.number.reset ();
  priv.arrival.unit = 0;
  if (work.scan) {
    priv.arrival.number = scan.frame;
    priv.arrival.unit = oct::ScanGroups (scan, work.change ().frames).unit ();
  }
  priv.lost = false;
}

/* Checks that groups fit the scan. If a change of octscan's properties makes them too
 * large, frames are left out, with one warning. At the start this is an error. */
static bool
fits_scan (GstOpenCLFilter *filter, GstOctDepthFilterPrivate &priv, GError **error)
{
  const DepthFilter &work = *priv.work;
  GError *reason = nullptr;

  if (!work.scan || oct::ScanGroups::check (*work.scan, work.change ().frames, &reason)) {
    priv.began = true;
    priv.is_misfit = false;
    return true;
  }
  if (!priv.began) {
    g_propagate_error (error, reason);
    return false;
  }
  if (!priv.is_misfit)
    GST_ELEMENT_WARNING (filter, LIBRARY, SETTINGS,
        ("%s; dropping these frames", reason->message), (nullptr));
  g_error_free (reason);
  priv.is_misfit = priv.arrival.empty = true;
  return true;
}

static gboolean
gst_oct_depth_filter_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);
  DepthFilter &work = *priv.work;

  *outputs = 0;
  if (!fits_scan (filter, priv, error))
    return FALSE;
  if (priv.caps_match) {
    if (!priv.prepared && !work.prepare (gst_opencl_filter_get_context (filter), error))
      return FALSE;
    priv.prepared = true;
  } else {
    priv.arrival.empty = true;
  }
  const FrameSequence::Part part = priv.sequence->next (priv.arrival);
  work.frame_number = priv.sequence->number ();
  const bool lost = priv.sequence->lost () || priv.arrival.empty;
  const bool is_in_group =
      part == FrameSequence::Part::some || part == FrameSequence::Part::last;
  if (lost || priv.outdated)
    work.forget ();
  priv.outdated = false;
  priv.break_in_output =
      priv.break_in_output || lost || part == FrameSequence::Part::incomplete;
  if (priv.sequence->position () == 0)
    *priv.first = work.scan;
  if (!is_in_group)
    return TRUE;
  if (part == FrameSequence::Part::some)
    return work.keep (input, priv.sequence->position (), queue, error);
  *outputs = work.outputs ();
  return *outputs > 0 || work.finish (input, queue, error);
}

static gboolean
gst_oct_depth_filter_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  DepthFilter &work = *private_of (filter).work;
  return work.transform (input, output, queue, error)
         && work.finish (input, queue, error);
}

/* --- deferring depths to an octdisplay --- */

static gboolean
defer (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output, cl_event *event,
    GError **error)
{
  DepthFilter &work = *private_of (filter).work;
  GstOpenCLFrame frame;

  if (!gst_opencl_frame_map (&frame, nullptr, work.input.size (), input,
          gst_opencl_filter_get_queue (filter), GST_MAP_READ, error))
    return FALSE;
  bool reads = false;
  std::shared_ptr<oct::PendingDepths> depths =
      work.defer (&frame, frame.queue, reads, error);
  GstOpenCLFrame read = frame;
  if ((reads
          && !gst_opencl_frames_unmap (
              frame.queue, &read, nullptr, event, depths ? error : nullptr))
      || !depths)
    return FALSE;
  GstOctDeferredDepths *deferred = gst_oct_deferred_depths_new (depths, &frame);
  gst_opencl_filter_defer (filter, GST_OPENCL_DEFERRED (deferred), output);
  g_object_unref (deferred);
  return TRUE;
}

/* Checks also that both buffers are aligned as kernels require. */
static bool
can_defer (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output)
{
  const DepthFilter &work = *private_of (filter).work;
  auto is_aligned = [] (GstBuffer *buffer, gsize bytes) {
    return gst_opencl_memory_get_offset (gst_buffer_peek_memory (buffer, 0)) % bytes == 0;
  };
  return work.can_defer () && gst_opencl_filter_can_defer (filter, input, output)
         && is_aligned (input, work.input.bytes)
         && is_aligned (output, work.output.bytes);
}

static gboolean
gst_oct_depth_filter_process (GstOpenCLFilter *filter, GstBuffer *input,
    GstBuffer *output, cl_event *event, GError **error)
{
  if (can_defer (filter, input, output))
    return defer (filter, input, output, event, error);
  return GST_OPENCL_FILTER_CLASS (gst_oct_depth_filter_parent_class)
      ->process (filter, input, output, event, error);
}

static gboolean
gst_oct_depth_filter_can_merge (GstOpenCLFilter *filter)
{
  return private_of (filter).work->can_merge ();
}

static GstOpenCLMergeResult
gst_oct_depth_filter_merge (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
    GstBuffer *buffer, cl_event *event, GError **error)
{
  DepthFilter &work = *private_of (filter).work;
  cl_command_queue queue = gst_opencl_filter_get_queue (filter);
  GstOpenCLFrame output;

  if (!work.can_merge ())
    return GST_OPENCL_NOT_MERGED;
  if (!gst_opencl_frame_map (&output,
          gst_opencl_filter_get_video_info (filter, GST_PAD_SRC), work.output.size (),
          buffer, queue, GST_MAP_WRITE, error))
    return GST_OPENCL_MERGE_FAILED;
  const bool displayed =
      work.show (gst_oct_deferred_depths_get (GST_OCT_DEFERRED_DEPTHS (pending)), &output,
          queue, error);
  GstOpenCLFrame from = *gst_opencl_deferred_get_source (pending);
  return gst_opencl_frames_unmap (
             queue, &from, &output, event, displayed ? error : nullptr)
                 && displayed
             ? GST_OPENCL_MERGED
             : GST_OPENCL_MERGE_FAILED;
}

static const GstOpenCLDeferral deferral = {gst_oct_deferred_depths_get_type,
    gst_oct_depth_filter_can_merge, gst_oct_depth_filter_merge};

/* Sets the time of a group, from the start of its first frame to the end of its last
 * one. */
static gboolean
gst_oct_depth_filter_copy_metadata (
    GstBaseTransform *base, GstBuffer *input, GstBuffer *output)
{
  GstOctDepthFilterPrivate &priv = private_of (base);

  if (!GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
           ->copy_metadata (base, input, output))
    return FALSE;
  if (GST_CLOCK_TIME_IS_VALID (priv.sequence->start ())) {
    GST_BUFFER_PTS (output) = priv.sequence->start ();
    GST_BUFFER_DURATION (output) = priv.sequence->duration ();
  }
  if (priv.break_in_output)
    GST_BUFFER_FLAG_SET (output, GST_BUFFER_FLAG_DISCONT);
  else
    GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_DISCONT);
  priv.break_in_output = false;
  const guint frames = priv.work->change ().frames;
  if (frames > 1 && *priv.first) {
    const GstOctScan scan =
        oct::ScanGroups (**priv.first, frames).scan_of_group (**priv.first);
    gst_buffer_set_oct_scan (output, &scan);
  }
  priv.work->describe (
      output, gst_opencl_filter_get_output_index (GST_OPENCL_FILTER (base)));
  return TRUE;
}

static gboolean
gst_oct_depth_filter_sink_event (GstBaseTransform *base, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_GAP
      || GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    private_of (base).lost = true;
  return GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
      ->sink_event (base, event);
}

/* --- the class --- */

static void
gst_oct_depth_filter_init (GstOctDepthFilter *self)
{
  private_of (self).sequence = new FrameSequence;
  private_of (self).first = new std::optional<GstOctScan>;
  /* QoS of a slow display must not drop frames that another branch records. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_oct_depth_filter_finalize (GObject *object)
{
  delete private_of (object).work;
  delete private_of (object).sequence;
  delete private_of (object).first;
  G_OBJECT_CLASS (gst_oct_depth_filter_parent_class)->finalize (object);
}

static void
gst_oct_depth_filter_class_init (GstOctDepthFilterClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_oct_depth_filter_finalize;
  transform_class->transform_caps = gst_oct_depth_filter_transform_caps;
  transform_class->query = gst_oct_depth_filter_query;
  transform_class->copy_metadata = gst_oct_depth_filter_copy_metadata;
  transform_class->sink_event = gst_oct_depth_filter_sink_event;
  filter_class->close = gst_oct_depth_filter_close;
  filter_class->set_formats = gst_oct_depth_filter_set_formats;
  filter_class->get_frame_size = gst_oct_depth_filter_get_frame_size;
  filter_class->begin_frame = gst_oct_depth_filter_begin_frame;
  filter_class->submit = gst_oct_depth_filter_submit;
  filter_class->transform = gst_oct_depth_filter_transform;
  filter_class->process = gst_oct_depth_filter_process;
  gst_opencl_filter_class_set_deferral (filter_class, &deferral);
  gst_type_mark_as_plugin_api (GST_TYPE_OCT_DEPTH_FILTER, GstPluginAPIFlags (0));
}
