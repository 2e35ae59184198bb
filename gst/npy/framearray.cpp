/* Frames of NumPy arrays: reads .npy headers and checks shapes
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "framearray.hpp"

#include <algorithm>

namespace npy {

static gboolean
fail (GError **error, const std::vector<gsize> &shape, const char *wrong,
    const char *expected)
{
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "an array of shape %s %s, %s", opencl::npy_shape_text (shape).c_str (), wrong,
      expected);
  return FALSE;
}

/* (nullable): `format` of application/x-oct caps for numbers of `type` */
static const char *
spectra_format (opencl::NumberType type)
{
  using opencl::NumberType;
  const struct {
    NumberType type;
    const char *format;
  } formats[] = {{NumberType::u8, "U8"}, {NumberType::i8, "S8"},
      {NumberType::u16, "U16LE"}, {NumberType::i16, "S16LE"}, {NumberType::u32, "U32LE"},
      {NumberType::i32, "S32LE"}, {NumberType::f32, "F32LE"}, {NumberType::f64, "F32LE"}};
  for (const auto &known : formats) {
    if (known.type == type)
      return known.format;
  }
  return nullptr;
}

static const char *
spectra_fault (const std::vector<gsize> &shape)
{
  const char *wrong = nullptr;

  if (shape.empty () || shape.size () > 3)
    wrong = "has the wrong number of dimensions";
  for (gsize length : shape)
    wrong = length == 0 ? "is empty" : wrong;
  for (gsize i = shape.size () > 2 ? 1 : 0; !wrong && i < shape.size (); i++)
    wrong = shape[i] > gsize (G_MAXINT) ? "has more than 2147483647 lines or samples"
                                        : nullptr;
  return wrong;
}

static gboolean
check_spectra (const opencl::NpyHeader &header, GError **error)
{
  if (header.complex || !spectra_format (header.type)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        ".npy header: values are of type '%s', expected u1, i1, u2, i2, u4, i4, f4 or "
        "f8, or a downstream element that accepts " TENSORS_NAME,
        header.descr.c_str ());
    return FALSE;
  }
  const char *wrong = spectra_fault (header.shape);
  return !wrong
         || fail (error, header.shape, wrong,
             "expected (samples,), (lines, samples) or (frames, lines, samples)");
}

static gboolean
check_tensors (const opencl::NpyHeader &header, View view, GError **error)
{
  const std::vector<gsize> &shape = header.shape;
  const gsize rank = shape.size () + (header.complex ? 1 : 0) - (view.split ? 1 : 0);

  if (std::find (shape.begin (), shape.end (), 0u) != shape.end ())
    return fail (error, shape, "is empty", "expected 1 or more in each dimension");
  if (view.split && shape.empty ())
    return fail (error, shape, "cannot be split", "expected one dimension or more");
  if (rank > G_N_ELEMENTS (FrameArray::lengths))
    return fail (error, shape, "has too many dimensions", "expected 16 at most");
  return TRUE;
}

GstCaps *
FrameArray::make_caps () const
{
  if (!view.as_tensors)
    return gst_caps_new_simple ("application/x-oct", "domain", G_TYPE_STRING,
        "wavelength", "format", G_TYPE_STRING, spectra_format (type), "samples",
        G_TYPE_INT, gint (lengths[1]), "lines", G_TYPE_INT, gint (lengths[0]), nullptr);
  GstStructure *structure = gst_structure_new (TENSORS_NAME, "format", G_TYPE_STRING,
      "static", "num_tensors", G_TYPE_INT, 1, nullptr);
  opencl::set_array_fields (structure, format ());
  return gst_caps_new_full (structure, nullptr);
}

gboolean
frame_array_parse (
    const guint8 *data, gsize size, View view, FrameArray &array, GError **error)
{
  opencl::NpyHeader header;

  if (!opencl::npy_parse_header (data, size, header, error))
    return FALSE;
  if (!(view.as_tensors ? check_tensors (header, view, error)
                        : check_spectra (header, error)))
    return FALSE;

  const bool split = view.as_tensors ? view.split : header.shape.size () > 2;
  const guint64 frames = split ? header.shape[0] : 1;
  std::vector<gsize> shape (header.shape.begin () + (split ? 1 : 0), header.shape.end ());
  if (!view.as_tensors && shape.size () < 2)
    shape.insert (shape.begin (), 1);
  if (header.complex)
    shape.push_back (2);
  array = {};
  array.view = view;
  array.type = header.type;
  array.big_endian = header.big_endian;
  array.rank = shape.size ();
  std::copy (shape.begin (), shape.end (), array.lengths);
  array.frames = frames;
  array.header_bytes = header.data_offset;
  array.frame_bytes = header.data_size () / frames;
  return TRUE;
}

} // namespace npy
