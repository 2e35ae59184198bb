/* Caps of depths: layout of B-scans, and the caps of the other pad of a filter
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthcaps.hpp"

#include <algorithm>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclframe.h>

namespace oct {
namespace {
/* An output frame has at least one A-line, even if the input has fewer than a group. */
void
change_lines (GstStructure *structure, const CapsChange &change, bool to_output)
{
  const char *field = lines_field (structure, change.rows);
  const gint64 every = gint64 (change.lines) * change.parts, dropped = change.dropped;

  if (every == 1 && dropped == 0 && change.wanted == 0)
    return;
  const auto [least, most] =
      limits_of (gst_structure_get_value (structure, field), {1, G_MAXINT});
  if (change.wanted > 0)
    set_limits (structure, field,
        to_output ? Limits{change.wanted, change.wanted}
                  : Limits{(change.wanted + dropped) * every, G_MAXINT});
  else if (to_output)
    set_limits (structure, field, {least / every - dropped, most / every - dropped});
  else
    set_limits (structure, field,
        {least == 1 ? 1 : (least + dropped) * every,
            (most + dropped) * every + every - 1});
}

void
change_rate (GstStructure *structure, const CapsChange &change, bool to_output)
{
  const guint more = to_output ? change.parts : change.frames;
  const guint fewer = to_output ? change.frames : change.parts;
  if (more != fewer && gst_structure_has_field (structure, "framerate")
      && !set_scaled_rate (structure, structure, more, fewer))
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
change_steps (GstStructure *structure, const CapsChange &change, bool to_output)
{
  if (change.lines > 1)
    widen_pixels (structure, change.lines, to_output);
  if (to_output) {
    const double step = change.lines * double_field (structure, "line-step");
    set_known (structure, {{"line-step", change.line_step > 0 ? change.line_step : step},
                              {"b-scan-step", change.b_scan_step}});
    return;
  }
  if (change.lines > 1 || change.line_step > 0)
    gst_structure_remove_field (structure, "line-step");
  if (change.b_scan_step > 0)
    gst_structure_remove_field (structure, "b-scan-step");
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

/* Converts caps of depths to those of images, or back: (transfer full) (nullable) */
GstStructure *
image_caps_of (const GstStructure *from, const CapsChange &change, bool to_output)
{
  if (is_video (from) == to_output)
    return nullptr;
  GstStructure *to = gst_structure_from_string (
      !to_output
          ? "application/x-oct, domain=(string)depth, format=(string){F32LE, CF32LE}"
      : change.colours ? "video/x-raw, format=(string)RGBA"
                       : "video/x-raw, format=(string){GRAY8, GRAY16_LE}",
      nullptr);
  if (!to_output && change.from)
    gst_structure_set (to, "format", G_TYPE_STRING, change.from, nullptr);
  copy_field (to, lines_field (to), from, lines_field (from));
  copy_field (to, depths_field (to), from, depths_field (from));
  copy_field (to, "framerate", from, "framerate");
  change_rate (to, change, to_output);
  if (to_output && change.true_scale)
    set_true_scale (
        to, double_field (from, "line-step"), double_field (from, "depth-step"));
  return to;
}

/* Converts caps of one pad to those of the other: (transfer full) (nullable) */
GstStructure *
changed (const GstStructure *from, const CapsChange &change, bool to_output)
{
  const char *needed = to_output ? change.from : change.to;
  const char *made = to_output ? change.to : change.from;
  const bool image = is_video (from);

  if (change.makes_image || (image && change.colours))
    return image_caps_of (from, change, to_output);
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
append_any_format (GstCaps *caps, GstStructure *structure)
{
  for (const char *format : {"CF32LE", "F32LE"}) {
    GstStructure *one = gst_structure_copy (structure);
    gst_structure_set (one, "format", G_TYPE_STRING, format, nullptr);
    append_on_device (caps, one);
  }
  gst_structure_free (structure);
}
} // namespace

GstCaps *
other_side (
    const GstCaps *caps, const CapsChange &change, bool to_output, GstCaps *filter)
{
  return each_of_caps (
      caps,
      [&] (GstCaps *result, const GstStructure *one) {
        GstStructure *structure = changed (one, change, to_output);
        if (structure && !to_output && change.to && !change.from)
          append_any_format (result, structure);
        else if (structure)
          append_on_device (result, structure);
        if (structure && to_output && change.colours)
          append_on_device (result, image_caps_of (one, change, true));
      },
      filter);
}

bool
CapsChange::operator== (const CapsChange &other) const
{
  return frames == other.frames && lines == other.lines && parts == other.parts
         && dropped == other.dropped && wanted == other.wanted && rows == other.rows
         && line_step == other.line_step && b_scan_step == other.b_scan_step
         && makes_image == other.makes_image && colours == other.colours
         && true_scale == other.true_scale && g_strcmp0 (from, other.from) == 0
         && g_strcmp0 (to, other.to) == 0 && g_strcmp0 (quantity, other.quantity) == 0;
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
    {"RGBA", 4, "uchar4", false},
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
  layout.video = is_video (structure);
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
  layout.depth_step = double_field (structure, "depth-step");
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
      " and has a stride of %d bytes, expected multiples of %" G_GSIZE_FORMAT,
      frame->offset[0], frame->stride[0], bytes);
  return false;
}

} // namespace oct
