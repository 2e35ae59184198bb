/* Reads Header.xml of a Thorlabs .oct recording
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "octheader.hpp"

#include <gst/gst.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace oct {
namespace {
/* A header has about 400 bytes for each B-scan. GMarkup keeps as much as it cannot parse
 * yet. */
const gsize most_header_bytes = 32 << 20;
const gsize most_text_bytes = 4096;
const gsize most_depth = 32;
const guint most_ranges = 16;
const gsize most_files = 400000;

struct Parser {
  OctHeader *header;
  std::string path;           /* such as "Ocity/Image/SizePixel" */
  std::vector<gsize> parents; /* lengths of the paths of enclosing elements */
  std::string text;           /* of the innermost element */
};

void
set_error (GError **error, const std::string &what)
{
  g_set_error (
      error, GST_STREAM_ERROR, GST_STREAM_ERROR_DECODE, "Header.xml: %s", what.c_str ());
}

/* Returns 0 for text that is not a finite number. */
double
number_of (const char *text)
{
  gchar *end = nullptr;
  const double number = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && std::isfinite (number) ? number : 0;
}

/* Values of elements, by the path of the element */
const struct {
  const char *path;
  double OctHeader::*member;
} numbers[] = {
    {"Ocity/Image/SizePixel/SizeZ", &OctHeader::pixels_z},
    {"Ocity/Image/SizePixel/SizeX", &OctHeader::pixels_x},
    {"Ocity/Image/SizePixel/SizeY", &OctHeader::pixels_y},
    {"Ocity/Image/SizeReal/SizeZ", &OctHeader::size_z},
    {"Ocity/Image/SizeReal/SizeX", &OctHeader::size_x},
    {"Ocity/Image/SizeReal/SizeY", &OctHeader::size_y},
    {"Ocity/Acquisition/IntensityAveraging/BScans", &OctHeader::repeats_intensity},
    {"Ocity/Acquisition/IntensityAveraging/AScans", &OctHeader::lines_intensity},
    {"Ocity/Acquisition/SpeckleAveraging/FastAxis", &OctHeader::lines_speckle},
    {"Ocity/Acquisition/SpeckleAveraging/SlowAxis", &OctHeader::repeats_speckle},
    {"Ocity/Acquisition/RefractiveIndex", &OctHeader::refractive_index},
    {"Ocity/Instrument/CentralWavelength", &OctHeader::central_wavelength},
    {"Ocity/Instrument/BinaryToElectronCountScaling", &OctHeader::electrons_per_count},
    {"Ocity/Instrument/BitDepth", &OctHeader::bit_depth},
};

const struct {
  const char *name;
  guint DataFile::*member;
} sizes[] = {
    {"SizeZ", &DataFile::size_z},
    {"SizeX", &DataFile::size_x},
    {"SizeY", &DataFile::size_y},
    {"BytesPerPixel", &DataFile::bytes_per_pixel},
};

bool
read_whole (const char *name, const char *text, guint &number, GError **error)
{
  guint64 value;
  if (g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT32, &value, nullptr)) {
    number = guint (value);
    return true;
  }
  set_error (error, std::string (name) + "=\"" + std::string (text).substr (0, 40)
                        + "\" of a DataFile, expected a whole number");
  return false;
}

/* Reads an attribute such as ScanRegionEnd0. Other attributes are ignored. */
bool
read_range (const char *name, const char *text, DataFile &file, GError **error)
{
  const struct {
    const char *format;
    std::vector<LineRange> DataFile::*ranges;
    guint LineRange::*member;
  } attributes[] = {
      {"ScanRegionStart%u%n", &DataFile::scan, &LineRange::begin},
      {"ScanRegionEnd%u%n", &DataFile::scan, &LineRange::end},
      {"ApoRegionStart%u%n", &DataFile::apodization, &LineRange::begin},
      {"ApoRegionEnd%u%n", &DataFile::apodization, &LineRange::end},
  };
  for (const auto &attribute : attributes) {
    guint n = 0;
    int end = 0;
    if (sscanf (name, attribute.format, &n, &end) != 1 || name[end] != '\0')
      continue;
    if (n >= most_ranges) {
      set_error (error, std::string (name).substr (0, 40)
                            + " of a DataFile, expected at most "
                            + std::to_string (most_ranges) + " regions");
      return false;
    }
    auto &ranges = file.*attribute.ranges;
    ranges.resize (std::max<gsize> (ranges.size (), n + 1));
    return read_whole (name, text, ranges[n].*attribute.member, error);
  }
  return true;
}

bool
read_attribute (const char *name, const char *text, DataFile &file, GError **error)
{
  if (g_str_equal (name, "Type"))
    file.type = text;
  else if (g_str_equal (name, "RangeZ"))
    file.range_z = number_of (text);
  for (const auto &size : sizes) {
    if (g_str_equal (name, size.name))
      return read_whole (name, text, file.*size.member, error);
  }
  return read_range (name, text, file, error);
}

/* Returns `missing` without a unit, 0 for one of counts (where `missing` is 0 too), and NAN
 * for an unknown one. */
double
millimetres_of (
    const gchar **names, const gchar **values, double missing, std::string &unknown_unit)
{
  /* replace_other_characters() changes a micro sign, but not a character reference. */
  static const std::pair<const char *, double> units[] = {{"mm", 1}, {"um", 1e-3},
      {"?um", 1e-3}, {"\xc2\xb5m", 1e-3}, {"\xce\xbcm", 1e-3}, {"nm", 1e-6}, {"cm", 10},
      {"m", 1e3}, {"px", 0}, {"pixel", 0}, {"pixels", 0}};
  for (gsize n = 0; names[n]; n++) {
    if (!g_str_equal (names[n], "Unit"))
      continue;
    for (const auto &[unit, millimetres] : units) {
      if (g_str_equal (values[n], unit) && (millimetres > 0 || missing == 0))
        return millimetres;
    }
    unknown_unit = "\"" + std::string (values[n]).substr (0, 40) + "\"";
    return NAN;
  }
  return missing;
}

/* Converts sizes to mm. Some recordings have the size of a pixel in place of the number of
 * pixels. Both are NAN if their unit is unknown. */
void
convert_sizes (OctHeader &header)
{
  const std::pair<double OctHeader::*, double OctHeader::*> axes[] = {
      {&OctHeader::pixels_z, &OctHeader::size_z},
      {&OctHeader::pixels_x, &OctHeader::size_x},
      {&OctHeader::pixels_y, &OctHeader::size_y}};
  for (const auto &[pixels, size] : axes) {
    const double length = header.*pixels * header.pixel_millimetres;
    header.*size *= header.real_millimetres;
    if (!(length <= 0))
      header.*pixels = std::round (std::fabs (header.*size) / length);
  }
}

/* Attributes of an element are read when it begins, its text when it ends. */
void
begin_element (GMarkupParseContext *, const gchar *name, const gchar **names,
    const gchar **values, gpointer data, GError **error)
{
  auto &parser = *static_cast<Parser *> (data);
  if (parser.parents.size () == most_depth)
    return set_error (
        error, "more than " + std::to_string (most_depth) + " nested elements");
  if (parser.parents.empty () && !g_str_equal (name, "Ocity"))
    return set_error (error,
        "the document is <" + std::string (name).substr (0, 40) + ">, expected <Ocity>");
  parser.parents.push_back (parser.path.size ());
  parser.path += (parser.path.empty () ? "" : "/") + std::string (name);
  parser.text.clear ();
  if (parser.path == "Ocity/Image/SizePixel")
    parser.header->pixel_millimetres =
        millimetres_of (names, values, 0, parser.header->unknown_unit);
  if (parser.path == "Ocity/Image/SizeReal")
    parser.header->real_millimetres =
        millimetres_of (names, values, 1, parser.header->unknown_unit);
  if (parser.path != "Ocity/DataFiles/DataFile")
    return;
  if (parser.header->files.size () == most_files)
    return set_error (
        error, "more than " + std::to_string (most_files) + " elements DataFile");
  DataFile &file = parser.header->files.emplace_back ();
  for (gsize n = 0; names[n]; n++) {
    if (!read_attribute (names[n], values[n], file, error))
      return;
  }
}

void
add_text (GMarkupParseContext *, const gchar *text, gsize size, gpointer data, GError **)
{
  auto &parser = *static_cast<Parser *> (data);
  parser.text.append (text, std::min (size, most_text_bytes - parser.text.size ()));
}

void
end_element (GMarkupParseContext *, const gchar *, gpointer data, GError **)
{
  auto &parser = *static_cast<Parser *> (data);
  OctHeader &header = *parser.header;
  gchar *text = g_strstrip (g_strndup (parser.text.data (), parser.text.size ()));
  for (const auto &number : numbers) {
    if (parser.path == number.path)
      header.*number.member = number_of (text);
  }
  if (parser.path == "Ocity/Instrument/RawDataIsSigned")
    header.is_signed = g_ascii_strcasecmp (text, "true") == 0;
  if (parser.path == "Ocity/DataFiles/DataFile") {
    header.files.back ().name = text;
    std::replace (
        header.files.back ().name.begin (), header.files.back ().name.end (), '\\', '/');
  }
  g_free (text);
  parser.path.resize (parser.parents.back ());
  parser.parents.pop_back ();
  parser.text.clear ();
}

const GMarkupParser callbacks = {begin_element, end_element, add_text, nullptr, nullptr};

/* All values that are read are ASCII, but for the unit "µm". Comments may be in any encoding,
 * which GMarkup does not convert. The last byte of a micro sign in Latin-1 and UTF-8, and
 * that of a Greek mu, become "u". */
void
replace_other_characters (gchar *block, gsize size)
{
  std::transform (block, block + size, block, [] (guchar c) {
    return gchar (c < 0x80 ? c : c == 0xb5 || c == 0xbc ? 'u' : '?');
  });
}

gsize
byte_order_mark (const gchar *block, gsize size)
{
  return size >= 3 && memcmp (block, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

bool
parse_blocks (const ReadHeader &read, GMarkupParseContext *context, GError **error)
{
  std::vector<gchar> block (1 << 16);
  gsize done = 0;
  for (gsize total = 0;; total += done) {
    if (!read (block.data (), block.size (), done, error))
      return false;
    if (done == 0)
      return g_markup_parse_context_end_parse (context, error);
    if (total + done > most_header_bytes) {
      set_error (error,
          "longer than the maximum of " + std::to_string (most_header_bytes) + " bytes");
      return false;
    }
    const gsize skipped = total == 0 ? byte_order_mark (block.data (), done) : 0;
    replace_other_characters (block.data (), done);
    if (!g_markup_parse_context_parse (
            context, block.data () + skipped, gssize (done - skipped), error))
      return false;
  }
}
} // namespace

bool
oct_header_read (const ReadHeader &read, OctHeader &header, GError **error)
{
  GError *reason = nullptr;
  header = OctHeader ();
  Parser parser = {&header, {}, {}, {}};
  GMarkupParseContext *context =
      g_markup_parse_context_new (&callbacks, GMarkupParseFlags (0), &parser, nullptr);
  const bool parsed = parse_blocks (read, context, &reason);
  g_markup_parse_context_free (context);
  if (!parsed && reason->domain == G_MARKUP_ERROR) {
    set_error (error, reason->message);
    g_error_free (reason);
  } else if (!parsed) {
    g_propagate_error (error, reason);
  }
  convert_sizes (header);
  return parsed;
}
} // namespace oct
