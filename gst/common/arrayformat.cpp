/* Number types, and the array format of caps: number type and shape
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "arrayformat.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace opencl {
/* --- number types --- */

namespace {
/* In the order of the enumeration */
constexpr NumberInfo numbers[] = {
    {NumberType::i8, "int8", "char", 'i', 1},
    {NumberType::u8, "uint8", "uchar", 'u', 1},
    {NumberType::i16, "int16", "short", 'i', 2},
    {NumberType::u16, "uint16", "ushort", 'u', 2},
    {NumberType::i32, "int32", "int", 'i', 4},
    {NumberType::u32, "uint32", "uint", 'u', 4},
    {NumberType::i64, "int64", "long", 'i', 8},
    {NumberType::u64, "uint64", "ulong", 'u', 8},
    {NumberType::f16, "float16", "half", 'f', 2},
    {NumberType::f32, "float32", "float", 'f', 4},
    {NumberType::f64, "float64", "double", 'f', 8},
};

template <typename Condition>
const NumberInfo *
find (Condition condition)
{
  auto found = std::find_if (std::begin (numbers), std::end (numbers), condition);
  return found == std::end (numbers) ? nullptr : found;
}
} // namespace

const NumberInfo &
info_of (NumberType type)
{
  return numbers[int (type)];
}

const NumberInfo *
number_named (const char *name)
{
  return find (
      [=] (const NumberInfo &number) { return strcmp (number.name, name) == 0; });
}

const NumberInfo *
number_of_opencl (const char *name)
{
  return find (
      [=] (const NumberInfo &number) { return strcmp (number.opencl, name) == 0; });
}

const NumberInfo *
number_of_kind (char kind, gsize size)
{
  return find ([=] (const NumberInfo &number) {
    return number.kind == kind && number.size == size;
  });
}

/* --- arrays --- */

namespace {
/* Maximum rank in NNStreamer */
constexpr gsize most_dimensions = 16;

template <typename... Arguments>
bool
fail (GError **error, const char *format, Arguments... arguments)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, format, arguments...);
  return false;
}

bool
fits_into_memory (const ArrayFormat &array, GError **error)
{
  gsize bytes = info_of (array.type).size;
  for (gsize length : array.shape) {
    if (!g_size_checked_mul (&bytes, bytes, length) || bytes > gsize (G_MAXSSIZE))
      return fail (error, "an array of dimensions %s does not fit into memory",
          dimensions_text (array.shape).c_str ());
  }
  return true;
}

/* `types` and `dimensions` (nullable): of one tensor */
bool
array_of_tensor (
    const gchar *types, const gchar *dimensions, ArrayFormat &array, GError **error)
{
  const NumberInfo *number = types ? number_named (types) : nullptr;

  if (!number)
    return fail (error, "types=%s in array caps, expected one of " TENSORS_TYPES,
        types ? types : "(none)");
  if (!dimensions)
    return fail (
        error, "array caps have no dimensions, expected for example 640:480%s", "");
  array.type = number->type;
  return parse_dimensions (dimensions, array.shape, error)
         && fits_into_memory (array, error);
}

bool
array_of_tensors (const GstStructure *structure, ArrayFormat &array, GError **error)
{
  return array_of_tensor (gst_structure_get_string (structure, "types"),
      gst_structure_get_string (structure, "dimensions"), array, error);
}

/* Reads "float32,uint8". NNStreamer also takes "float32.uint8". */
std::vector<std::string>
split_field (const GstStructure *structure, const char *field)
{
  std::vector<std::string> words;
  const gchar *text = gst_structure_get_string (structure, field);
  gchar **split = g_strsplit_set (text ? text : "", ",.", -1);
  for (gchar **word = split; *word; word++)
    words.push_back (g_strstrip (*word));
  g_strfreev (split);
  return words;
}

/* Sample types of spectra; all other formats are floats. */
const struct {
  const char *format;
  NumberType type;
} oct_integers[] = {{"U8", NumberType::u8}, {"S8", NumberType::i8},
    {"U16LE", NumberType::u16}, {"S16LE", NumberType::i16}, {"U32LE", NumberType::u32},
    {"S32LE", NumberType::i32}};

bool
array_of_oct (const GstStructure *structure, ArrayFormat &array, GError **error)
{
  const gchar *format = gst_structure_get_string (structure, "format");
  gint samples = 0, lines = 0;

  if (!format || !gst_structure_get_int (structure, "samples", &samples)
      || !gst_structure_get_int (structure, "lines", &lines) || samples < 1 || lines < 1)
    return fail (error, "OCT caps need format, samples and lines%s", "");
  array.type = NumberType::f32;
  for (const auto &known : oct_integers) {
    if (g_str_equal (format, known.format))
      array.type = known.type;
  }
  array.shape = {gsize (lines), gsize (samples)};
  if (format[0] == 'C')
    array.shape.push_back (2);
  return true;
}
} // namespace

gsize
ArrayFormat::count () const
{
  gsize numbers = 1;
  for (gsize length : shape)
    numbers *= length;
  return numbers;
}

bool
array_of_caps (GstCaps *caps, ArrayFormat &array, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);

  if (gst_structure_has_name (structure, TENSORS_NAME))
    return array_of_tensors (structure, array, error);
  if (gst_structure_has_name (structure, "application/x-oct"))
    return array_of_oct (structure, array, error);
  return fail (error,
      "%s is not supported, expected " TENSORS_NAME " or application/x-oct",
      gst_structure_get_name (structure));
}

bool
arrays_of_caps (GstCaps *caps, std::vector<ArrayFormat> &arrays, GError **error)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  gint tensors = 1;
  gsize bytes = 0;

  gst_structure_get_int (structure, "num_tensors", &tensors);
  arrays.resize (1);
  if (tensors == 1 || !gst_structure_has_name (structure, TENSORS_NAME))
    return array_of_caps (caps, arrays[0], error);
  const auto types = split_field (structure, "types"),
             dimensions = split_field (structure, "dimensions");
  if (gsize (tensors) != types.size () || types.size () != dimensions.size ())
    return fail (error, "num_tensors=%d in array caps, but types=%s and dimensions=%s",
        tensors, gst_structure_get_string (structure, "types"),
        gst_structure_get_string (structure, "dimensions"));
  arrays.resize (types.size ());
  for (gsize n = 0; n < arrays.size (); n++) {
    if (!array_of_tensor (types[n].c_str (), dimensions[n].c_str (), arrays[n], error))
      return false;
    if (!g_size_checked_add (&bytes, bytes, arrays[n].bytes ())
        || bytes > gsize (G_MAXSSIZE))
      return fail (error, "arrays of dimensions %s do not fit into memory",
          gst_structure_get_string (structure, "dimensions"));
  }
  return true;
}

bool
array_of_video (const GstVideoInfo *info, ArrayFormat &array, GError **error)
{
  const gint bytes = (GST_VIDEO_INFO_COMP_DEPTH (info, 0) + 7) / 8;
  const gint pixel = GST_VIDEO_INFO_COMP_PSTRIDE (info, 0);

  if (GST_VIDEO_INFO_N_PLANES (info) != 1 || bytes > 2 || pixel < bytes
      || pixel % bytes != 0 || GST_VIDEO_INFO_IS_YUV (info))
    return fail (error, "video of format %s is not supported, expected gray or RGB",
        GST_VIDEO_INFO_NAME (info));
  array.type = bytes == 1 ? NumberType::u8 : NumberType::u16;
  array.shape = {gsize (info->height), gsize (info->width)};
  if (pixel > bytes)
    array.shape.push_back (gsize (pixel / bytes));
  return true;
}

std::string
dimensions_text (const std::vector<gsize> &shape)
{
  std::string text;
  for (auto length = shape.rbegin (); length != shape.rend (); ++length)
    text += (text.empty () ? "" : ":") + std::to_string (*length);
  return text.empty () ? "1" : text;
}

bool
parse_dimensions (const char *text, std::vector<gsize> &shape, GError **error)
{
  const char *at = text;

  shape.clear ();
  for (;;) {
    gchar *end;
    const guint64 length = g_ascii_isdigit (*at) ? g_ascii_strtoull (at, &end, 10) : 0;
    if (length == 0 || length > guint64 (G_MAXSSIZE) || shape.size () == most_dimensions)
      return fail (
          error, "dimensions=%s, expected 1 to 16 numbers, for example 640:480", text);
    shape.push_back (gsize (length));
    if (*end == '\0')
      break;
    at = *end == ':' ? end + 1 : "";
  }
  std::reverse (shape.begin (), shape.end ());
  return true;
}

void
set_array_fields (GstStructure *structure, const ArrayFormat &array)
{
  const gsize rank_of_others = 4;
  std::vector<gsize> shape = array.shape;
  GValue spellings = G_VALUE_INIT;
  g_value_init (&spellings, GST_TYPE_LIST);

  for (;;) {
    GValue text = G_VALUE_INIT;
    g_value_init (&text, G_TYPE_STRING);
    g_value_set_string (&text, dimensions_text (shape).c_str ());
    gst_value_list_append_and_take_value (&spellings, &text);
    if (shape.size () >= rank_of_others)
      break;
    shape.insert (shape.begin (), 1);
  }
  gst_structure_set (
      structure, "types", G_TYPE_STRING, info_of (array.type).name, nullptr);
  if (gst_value_list_get_size (&spellings) == 1)
    gst_structure_set_value (
        structure, "dimensions", gst_value_list_get_value (&spellings, 0));
  else
    gst_structure_set_value (structure, "dimensions", &spellings);
  g_value_unset (&spellings);
}
} // namespace opencl
