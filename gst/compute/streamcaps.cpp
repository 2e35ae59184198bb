/* Caps of inputs and outputs, and the arrays in them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "streamcaps.hpp"

#include <algorithm>
#include <cinttypes>
#include <gst/common/videoformats.hpp>
#include <gst/opencl/gstopenclmemory.h>

namespace compute {
/* --- inputs and outputs --- */

bool
stream_of_caps (const char *name, GstCaps *caps, Stream &stream, GError **error)
{
  GstVideoInfo info;

  stream.name = name;
  stream.is_video =
      gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw");
  if (!stream.is_video)
    return opencl::array_of_caps (caps, stream.array, error);
  if (opencl::video_info_of_caps (caps, info)) {
    stream.format = GST_VIDEO_INFO_FORMAT (&info);
    return opencl::array_of_video (&info, stream.array, error);
  }
  g_set_error (
      error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, "caps of %s are not video", name);
  return false;
}

bool
stream_of_structure (
    const char *name, const GstStructure *structure, Stream &stream, GError **error)
{
  GstCaps *caps = gst_caps_new_full (gst_structure_copy (structure), nullptr);
  const bool read =
      gst_caps_is_fixed (caps) && stream_of_caps (name, caps, stream, error);
  gst_caps_unref (caps);
  return read;
}

bool
append_outputs (GstCaps *caps, std::vector<Stream> &streams, GError **error)
{
  const bool is_video =
      gst_structure_has_name (gst_caps_get_structure (caps, 0), "video/x-raw");
  std::vector<opencl::ArrayFormat> arrays;
  Stream stream;

  stream.is_output = true;
  if (!is_video && !opencl::arrays_of_caps (caps, arrays, error))
    return false;
  if (arrays.size () < 2) {
    const bool read = stream_of_caps ("output", caps, stream, error);
    streams.push_back (stream);
    return read;
  }
  for (const opencl::ArrayFormat &array : arrays) {
    stream.name = "output" + std::to_string (&array - arrays.data ());
    stream.array = array;
    streams.push_back (stream);
    stream.offset += array.bytes ();
  }
  return true;
}

/* --- output caps --- */

bool
is_fixed (const GstStructure *structure)
{
  GstCaps *caps = gst_caps_new_full (gst_structure_copy (structure), nullptr);
  const bool fixed = gst_caps_is_fixed (caps);
  gst_caps_unref (caps);
  return fixed;
}

GstCaps *
device_caps (GstStructure *structure)
{
  GstCaps *caps = gst_caps_new_empty ();
  gst_caps_append_structure_full (caps, structure,
      gst_caps_features_new_single (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY));
  return caps;
}

bool
choose_output (GstPad *source, GstCaps *outputs, bool may_stay,
    const std::function<GstCaps *(GstCaps *)> &fixate, GstCaps **output, GError **error)
{
  const bool stays = may_stay && gst_caps_can_intersect (outputs, *output);
  GstCaps *taken = stays ? nullptr : opencl::accepted_by_peer (source, outputs, error);
  if (taken)
    gst_caps_take (output, fixate (taken));
  gst_caps_unref (outputs);
  return stays || taken;
}

/* --- axes --- */

static bool
add_axis (const std::string &text, gint64 number, gsize rank, std::vector<gsize> &axes,
    GError **error)
{
  const gint64 most = gint64 (rank);
  if (number < -most || number >= most) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "axes=%s, but axes of this array are %" G_GINT64_FORMAT " … %" G_GINT64_FORMAT,
        text.c_str (), -most, most - 1);
    return false;
  }
  const gsize axis = gsize (number < 0 ? number + most : number);
  if (std::find (axes.begin (), axes.end (), axis) != axes.end ()) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "axes=%s names axis %" G_GINT64_FORMAT " twice", text.c_str (), number);
    return false;
  }
  axes.push_back (axis);
  return true;
}

bool
parse_axes (const std::string &text, gsize rank, std::vector<gsize> &axes, GError **error)
{
  axes.clear ();
  const char *at = text.c_str ();
  while (*at != '\0') {
    gchar *end;
    const gint64 number = g_ascii_strtoll (at, &end, 10);
    while (end != at && g_ascii_isspace (*end))
      end++;
    const bool continues = *end == ',' && end[1] != '\0';
    if (end == at || (*end != '\0' && !continues)) {
      g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          "axes=%s, expected numbers such as 0,-1", text.c_str ());
      return false;
    }
    if (!add_axis (text, number, rank, axes, error))
      return false;
    at = continues ? end + 1 : end;
  }
  return true;
}

/* --- caps --- */

GstStructure *
tensors_like (const GstStructure *structure)
{
  GstStructure *made = gst_structure_new (TENSORS_NAME, "format", G_TYPE_STRING, "static",
      "num_tensors", G_TYPE_INT, 1, nullptr);
  const GValue *rate =
      structure ? gst_structure_get_value (structure, "framerate") : nullptr;
  if (rate)
    gst_structure_set_value (made, "framerate", rate);
  return made;
}

OutputOf
tensors_of (const ArrayOutputOf &output_of)
{
  return [output_of] (const GstStructure *input, GError **error) -> GstStructure * {
    Stream stream;
    opencl::ArrayFormat output;
    if (!stream_of_structure ("input", input, stream, error)
        || !output_of (stream, output, error))
      return nullptr;
    GstStructure *made = tensors_like (input);
    opencl::set_array_fields (made, output);
    return made;
  };
}

static GstStructure *
output_without_settings (const GstStructure *input)
{
  Stream stream;
  GstStructure *made = tensors_like (input);
  if (stream_of_structure ("input", input, stream, nullptr))
    opencl::set_array_fields (made, stream.array);
  return made;
}

GstCaps *
array_outputs (GstCaps *inputs, const ArrayOutputOf &output_of)
{
  const OutputOf tensors = tensors_of (output_of);
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    GstStructure *output = tensors (input, nullptr);
    gst_caps_append (
        result, device_caps (output ? output : output_without_settings (input)));
  }
  return result;
}

GstCaps *
array_inputs (GstCaps *outputs, bool also_video)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (outputs); n++) {
    const GstStructure *output = gst_caps_get_structure (outputs, n);
    GstStructure *tensors = tensors_like (output);
    gst_caps_append (result, device_caps (tensors));
    if (!also_video)
      continue;
    GstStructure *video = gst_structure_copy (tensors);
    gst_structure_set_name (video, "video/x-raw");
    gst_structure_remove_fields (video, "format", "num_tensors", nullptr);
    gst_caps_append (result, device_caps (video));
  }
  return result;
}

bool
check_agreed (const opencl::ArrayFormat &made, GstCaps *output, GError **error)
{
  Stream stream;
  if (!stream_of_caps ("output", output, stream, error))
    return false;
  const opencl::ArrayFormat &agreed = stream.array;
  if (agreed.count () == made.count () && agreed.type == made.type)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "the output has dimensions %s and type %s, but its caps have dimensions %s and "
      "type %s",
      opencl::dimensions_text (made.shape).c_str (), opencl::info_of (made.type).name,
      opencl::dimensions_text (agreed.shape).c_str (),
      opencl::info_of (agreed.type).name);
  return false;
}

bool
element_offset (gsize bytes, gsize size, gint64 &elements, GError **error)
{
  elements = gint64 (bytes / size);
  if (bytes % size == 0)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "the array begins at byte %" G_GSIZE_FORMAT " of its memory, expected a multiple "
      "of %" G_GSIZE_FORMAT,
      bytes, size);
  return false;
}
} // namespace compute
