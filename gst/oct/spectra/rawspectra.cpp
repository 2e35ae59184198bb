/* Raw spectra on the device, and their memory layout
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "rawspectra.hpp"

namespace oct {
/* In the order of SampleFormat. */
static const Sample samples[] = {
    {"LOAD_U8", 1},
    {"LOAD_U16LE", 2},
    {"LOAD_U16BE", 2},
    {"LOAD_F32LE", 4},
};

const Sample &
sample_of (SampleFormat format)
{
  return samples[gsize (format)];
}

bool
check_samples (guint samples, GError **error)
{
  if (samples >= least_samples && samples <= most_samples)
    return true;
  return REFUSE_FORMAT (error, "%u samples per A-line, expected %u to %u", samples,
      least_samples, most_samples);
}

namespace {
const CapsFormat caps_formats[] = {
    {"video/x-raw", "GRAY8", SampleFormat::u8, 8, true, nullptr},
    {"video/x-raw", "GRAY16_LE", SampleFormat::u16le, 16, true, nullptr},
    {"video/x-raw", "GRAY16_BE", SampleFormat::u16be, 16, true, nullptr},
    {"application/x-oct", "U8", SampleFormat::u8, 8, true, nullptr},
    {"application/x-oct", "U16LE", SampleFormat::u16le, 16, true, nullptr},
    {"application/x-oct", "U16BE", SampleFormat::u16be, 16, true, nullptr},
    {"application/x-oct", "F32LE", SampleFormat::f32le, 32, false, nullptr},
    {"application/x-oct", "CF32LE", SampleFormat::f32le, 64, false, nullptr},
    {"application/x-oct", "S8", SampleFormat::f32le, 8, true, "UNPACK_S8"},
    {"application/x-oct", "S16LE", SampleFormat::f32le, 16, true, "UNPACK_S16LE"},
    {"application/x-oct", "S16BE", SampleFormat::f32le, 16, true, "UNPACK_S16BE"},
    {"application/x-oct", "S32LE", SampleFormat::f32le, 32, true, "UNPACK_S32LE"},
    {"application/x-oct", "U32LE", SampleFormat::f32le, 32, true, "UNPACK_U32LE"},
    {"application/x-oct", "MONO10P", SampleFormat::u16le, 10, true, "UNPACK_10P"},
    {"application/x-oct", "MONO12P", SampleFormat::u16le, 12, true, "UNPACK_12P"},
    {"application/x-oct", "MONO12PACKED", SampleFormat::u16le, 12, true,
        "UNPACK_12PACKED"},
};

const CapsFormat *
find_format (const GstStructure *structure)
{
  for (const CapsFormat &format : caps_formats) {
    if (gst_structure_has_name (structure, format.media_type)
        && g_strcmp0 (gst_structure_get_string (structure, "format"), format.format) == 0)
      return &format;
  }
  return nullptr;
}
} // namespace

const CapsFormat *
parse_spectra (const GstCaps *caps, guint *samples, guint *lines)
{
  const GstStructure *structure = gst_caps_get_structure (caps, 0);
  bool video = gst_structure_has_name (structure, "video/x-raw");
  gint columns, rows;

  if (!gst_structure_get_int (structure, video ? "width" : "samples", &columns)
      || !gst_structure_get_int (structure, video ? "height" : "lines", &rows))
    return nullptr;
  *samples = columns;
  *lines = rows;
  return find_format (structure);
}
} // namespace oct
