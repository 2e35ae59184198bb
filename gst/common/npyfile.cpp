/* Reads .npy files of NumPy and makes their headers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "npyfile.hpp"
#include "platform.hpp"

namespace opencl {

namespace {

constexpr gsize magic_size = sizeof npy_magic;

/* Headers by NumPy have about a hundred characters; only record arrays need more. */
constexpr gsize longest_dictionary = G_MAXUINT16;

/* NumPy's maximum before version 2 */
constexpr gsize most_dimensions = 32;

/* Records within records */
constexpr int deepest_record = 8;

#define EXPECTED_TYPES ", expected '<u2', '<f4', '<f8' or another number of fixed size"

/* `size` includes the magic, the version and the length of the dictionary that
 * follows. */
struct Preface {
  gsize size;
  gsize dictionary;
};

/* `data` must include the two bytes of the version, and the version must be known. */
Preface
preface_of (const guint8 *data, gsize size)
{
  gsize length_size = data[magic_size] == 1 ? 2 : 4;
  gsize preface = magic_size + 2 + length_size;

  if (size < preface)
    return {preface, 0};
  /* Little-endian, at any alignment */
  guint32 length = 0;
  std::memcpy (&length, data + magic_size + 2, length_size);
  return {preface, GUINT32_FROM_LE (length)};
}

gboolean
version_is_known (const guint8 *data)
{
  return data[magic_size] >= 1 && data[magic_size] <= 3 && data[magic_size + 1] == 0;
}

/* Escapes and shortens bytes for a message. */
std::string
printable (const char *text, gsize size)
{
  constexpr gsize longest = 40;

  while (size > 0 && g_ascii_isspace (text[size - 1]))
    size--;
  gchar *bytes = g_strndup (text, std::min (size, longest));
  gchar *escaped = g_strescape (bytes, nullptr);
  std::string result = escaped;

  g_free (escaped);
  g_free (bytes);
  return size > longest ? result + "…" : result;
}

gboolean
fail (GError **error, GstStreamError code, const std::string &message)
{
  g_set_error_literal (error, GST_STREAM_ERROR, code, message.c_str ());
  return FALSE;
}

/* Parses the header's Python dictionary of a string, a bool and a tuple of integers.
 * Only records nest, up to a limit. */
class DictionaryReader {
public:
  DictionaryReader (const char *text, gsize size, NpyRecords records, GError **error)
      : position (text), end (text + size), records (records), error (error)
  {
  }

  gboolean read (NpyHeader &header, gboolean &fortran_order);

private:
  gboolean read_entry (NpyHeader &header, gboolean &fortran_order);
  gboolean read_string (const char *what, std::string &value);
  gboolean read_descr (NpyHeader &header);
  gboolean read_record (gsize &bytes, int depth);
  gboolean read_field (gsize &bytes, int depth);
  gboolean read_bool (gboolean &value);
  gboolean read_shape (std::vector<gsize> &value);
  gboolean read_length (gsize &value);
  gboolean expect (const char *token, const char *what);
  gboolean accept (const char *token);
  void skip_spaces ();
  gboolean unexpected (const std::string &expected);

  const char *position;
  const char *end;
  NpyRecords records;
  GError **error;
  gboolean has_descr = FALSE;
  gboolean has_fortran_order = FALSE;
  gboolean has_shape = FALSE;
};

void
DictionaryReader::skip_spaces ()
{
  while (position < end && g_ascii_isspace (*position))
    position++;
}

gboolean
DictionaryReader::accept (const char *token)
{
  gsize length = strlen (token);

  skip_spaces ();
  if (gsize (end - position) < length || memcmp (position, token, length) != 0)
    return FALSE;
  position += length;
  return TRUE;
}

gboolean
DictionaryReader::unexpected (const std::string &expected)
{
  std::string found =
      position == end ? "its end" : "\"" + printable (position, end - position) + "\"";

  return fail (error, GST_STREAM_ERROR_DECODE,
      ".npy header: found " + found + ", expected " + expected);
}

gboolean
DictionaryReader::expect (const char *token, const char *what)
{
  return accept (token) || unexpected (what);
}

gboolean
DictionaryReader::read_string (const char *what, std::string &value)
{
  skip_spaces ();
  if (position == end || (*position != '\'' && *position != '"'))
    return unexpected (what);

  const char *closing = std::find (position + 1, end, *position);
  if (closing == end)
    return unexpected (std::string (what) + " with a closing quote");
  value.assign (position + 1, closing);
  position = closing + 1;
  return TRUE;
}

/* Returns the bytes of a field of type "<f4" or "|V3", or 0. Padding is of the type V. */
gsize
size_of_field (const std::string &descr)
{
  const char order = descr.size () > 2 ? descr[0] : ' ';
  const char kind = descr.size () > 2 ? descr[1] : ' ';
  guint64 size = 0;
  if ((order != '<' && order != '|' && order != '>')
      || !g_ascii_string_to_unsigned (
          descr.c_str () + 2, 10, 1, G_MAXINT32, &size, nullptr))
    return 0;
  if (kind == 'V' || kind == 'S' || (kind == 'b' && size == 1))
    return gsize (size);
  const bool is_swapped = order == '>' && size > 1;
  const bool is_number = kind == 'c' ? size == 8 || size == 16
                                     : number_of_kind (kind, gsize (size)) != nullptr;
  return is_number && !is_swapped ? gsize (size) : 0;
}

/* ('a', '<f4'), ('b', '<f4', (3,)) or ('c', [('x', '<i4')]) */
gboolean
DictionaryReader::read_field (gsize &bytes, int depth)
{
  std::string text;
  std::vector<gsize> shape;
  gsize size = 0;

  if (!expect ("(", "\"(\" before a field"))
    return FALSE;
  if (!read_string ("the name of a field", text) || !expect (",", "\",\" after a name"))
    return FALSE;
  skip_spaces ();
  if (position < end && *position == '[') {
    if (!read_record (size, depth + 1))
      return FALSE;
  } else {
    const char *start = position;
    if (!read_string ("the type of a field", text))
      return FALSE;
    size = size_of_field (text);
    if (size == 0) {
      position = start;
      return unexpected ("a field of bytes or little-endian numbers");
    }
  }
  if (accept (",") && !read_shape (shape))
    return FALSE;
  for (gsize length : shape) {
    if (!g_size_checked_mul (&size, size, length) || size > gsize (G_MAXINT32))
      return unexpected ("a record of less than 2 GiB");
  }
  bytes += size;
  return bytes <= gsize (G_MAXINT32) ? expect (")", "\")\" after a field")
                                     : unexpected ("a record of less than 2 GiB");
}

gboolean
DictionaryReader::read_record (gsize &bytes, int depth)
{
  if (depth == deepest_record)
    return unexpected ("records in records up to 8 deep");
  if (!expect ("[", "\"[\""))
    return FALSE;
  while (!accept ("]")) {
    if (!read_field (bytes, depth))
      return FALSE;
    if (!accept (","))
      return expect ("]", "\",\" or \"]\" after a field");
  }
  return TRUE;
}

gboolean
DictionaryReader::read_descr (NpyHeader &header)
{
  skip_spaces ();
  const char *start = position;
  if (start == end || *start != '[') {
    if (!read_string ("the string of 'descr'", header.descr))
      return FALSE;
    if (records == NpyRecords::TAKE && header.descr.compare (0, 2, "|V") == 0)
      header.record = size_of_field (header.descr);
    return TRUE;
  }
  if (records == NpyRecords::REFUSE)
    return fail (error, GST_STREAM_ERROR_FORMAT,
        ".npy header: 'descr' is the record " + printable (start, end - start)
            + EXPECTED_TYPES);
  if (!read_record (header.record, 0))
    return FALSE;
  header.descr = printable (start, position - start);
  return header.record > 0 || unexpected ("a record of a byte or more");
}

gboolean
DictionaryReader::read_bool (gboolean &value)
{
  value = accept ("True");
  return value || accept ("False") || unexpected ("True or False for 'fortran_order'");
}

gboolean
DictionaryReader::read_length (gsize &value)
{
  const char *first = position;
  guint64 length = 0;

  while (position < end && g_ascii_isdigit (*position)) {
    if (!g_uint64_checked_mul (&length, length, 10)
        || !g_uint64_checked_add (&length, length, *position - '0')
        || length > guint64 (G_MAXSSIZE)) {
      position = first;
      return unexpected ("a dimension that fits into memory in 'shape'");
    }
    position++;
  }
  if (position == first)
    return unexpected ("a dimension of 0 or more in 'shape'");
  /* Python 2 writes long integers with an L. */
  if (position < end && *position == 'L')
    position++;
  value = gsize (length);
  return TRUE;
}

gboolean
DictionaryReader::read_shape (std::vector<gsize> &value)
{
  constexpr auto separator = "\",\" or \")\" after a dimension in 'shape'";

  value.clear ();
  if (!expect ("(", "\"(\" after 'shape'"))
    return FALSE;
  while (!accept (")")) {
    gsize length;

    if (value.size () == most_dimensions)
      return unexpected ("32 dimensions at most in 'shape'");
    if (!read_length (length))
      return FALSE;
    value.push_back (length);
    if (accept (","))
      continue;
    /* (3) is a number in Python, (3,) a tuple. */
    if (value.size () == 1)
      return unexpected ("\",\" after the first dimension in 'shape'");
    return expect (")", separator);
  }
  return TRUE;
}

gboolean
DictionaryReader::read_entry (NpyHeader &header, gboolean &fortran_order)
{
  constexpr auto keys = "one each of 'descr', 'fortran_order' and 'shape'";
  const char *start = position;
  std::string key;

  if (!read_string (keys, key) || !expect (":", "\":\" after a key"))
    return FALSE;
  if (key == "descr" && !std::exchange (has_descr, TRUE))
    return read_descr (header);
  if (key == "fortran_order" && !std::exchange (has_fortran_order, TRUE))
    return read_bool (fortran_order);
  if (key == "shape" && !std::exchange (has_shape, TRUE))
    return read_shape (header.shape);
  position = start;
  return unexpected (keys);
}

gboolean
DictionaryReader::read (NpyHeader &header, gboolean &fortran_order)
{
  if (!expect ("{", "\"{\""))
    return FALSE;
  while (!accept ("}")) {
    if (!read_entry (header, fortran_order))
      return FALSE;
    if (accept (","))
      continue;
    if (!expect ("}", "\",\" or \"}\" after a value"))
      return FALSE;
    break;
  }
  skip_spaces ();
  if (position != end)
    return unexpected ("only spaces after \"}\"");
  if (!has_descr || !has_fortran_order || !has_shape)
    return unexpected ("'descr', 'fortran_order' and 'shape'");
  return TRUE;
}

/* The complex type "<c8" is two "<f4". A type of one byte has no byte order: "|u1". */
gboolean
find_type (NpyHeader &header, GError **error)
{
  header.type = NumberType::u8;
  if (header.record > 0)
    return TRUE;
  const std::string &descr = header.descr;
  const char order = descr.size () > 2 ? descr[0] : ' ';
  char kind = descr.size () > 2 ? descr[1] : ' ';
  gsize size = descr.size () > 2 ? strtoul (descr.c_str () + 2, nullptr, 10) : 0;
  const bool one_byte = size == 1;

  header.complex = kind == 'c';
  if (header.complex) {
    kind = 'f';
    size /= 2;
  } else if (kind == 'b' && one_byte) {
    kind = 'u';
  }
  const NumberInfo *found = number_of_kind (kind, size);
  if (header.complex && found && found->type == NumberType::f16)
    found = nullptr; /* NumPy has no complex32 */
  if (found && (order == '<' || order == '>' || (order == '|' && one_byte))) {
    header.type = found->type;
    header.big_endian = order == '>' && !one_byte;
    return TRUE;
  }
  const bool objects = descr == "|O" || descr == "O";
  return fail (error, GST_STREAM_ERROR_FORMAT,
      ".npy header: values are of type '" + printable (descr.data (), descr.size ()) + "'"
          + (objects ? " (Python objects)" : "") + EXPECTED_TYPES);
}

gboolean
check_data_size (const NpyHeader &header, GError **error)
{
  gsize bytes = header.value_size ();

  /* A dimension of 0 leaves no values, however large the others are. */
  if (std::find (header.shape.begin (), header.shape.end (), 0u) != header.shape.end ())
    return TRUE;
  for (gsize length : header.shape) {
    if (!g_size_checked_mul (&bytes, bytes, length)
        || bytes > gsize (G_MAXSSIZE) - header.data_offset)
      return fail (error, GST_STREAM_ERROR_FORMAT,
          ".npy header: shape " + npy_shape_text (header.shape)
              + " does not fit into memory");
  }
  return TRUE;
}

gboolean
parse_dictionary (
    const char *text, gsize size, NpyHeader &header, NpyRecords records, GError **error)
{
  gboolean fortran_order = FALSE;
  DictionaryReader reader (text, size, records, error);

  header.record = 0;
  if (!reader.read (header, fortran_order) || !find_type (header, error))
    return FALSE;
  /* C and Fortran order are the same for one dimension. */
  if (fortran_order && header.shape.size () > 1)
    return fail (error, GST_STREAM_ERROR_FORMAT,
        ".npy header: an array of shape " + npy_shape_text (header.shape)
            + " has 'fortran_order': True, expected False: save numpy.ascontiguousarray "
              "(array)");
  return check_data_size (header, error);
}

gboolean
check_preface (const guint8 *data, gsize size, GError **error)
{
  gsize magic = std::min (size, magic_size);

  if (size == 0 || memcmp (data, npy_magic, magic) != 0)
    return fail (error, GST_STREAM_ERROR_WRONG_TYPE,
        "not a .npy file: it begins with \""
            + printable (reinterpret_cast<const char *> (data), magic)
            + "\", expected \"\\223NUMPY\"");
  if (size >= magic_size + 2 && !version_is_known (data))
    return fail (error, GST_STREAM_ERROR_FORMAT,
        ".npy format version " + std::to_string (data[magic_size]) + "."
            + std::to_string (data[magic_size + 1]) + ", expected 1.0, 2.0 or 3.0");
  return TRUE;
}

gboolean
check_header_is_whole (const guint8 *data, gsize size, GError **error)
{
  gsize needed = npy_header_size (data, size);

  if (size < needed)
    return fail (error, GST_STREAM_ERROR_DECODE,
        ".npy header is truncated: " + std::to_string (size) + " bytes, expected "
            + std::to_string (needed));
  gsize dictionary = preface_of (data, size).dictionary;
  if (dictionary > longest_dictionary)
    return fail (error, GST_STREAM_ERROR_DECODE,
        ".npy header claims to be " + std::to_string (dictionary)
            + " bytes long, expected at most " + std::to_string (longest_dictionary));
  return TRUE;
}

template <typename T>
double
read_as (const guint8 *data)
{
  T value;
  memcpy (&value, data, sizeof value);
  return double (value);
}

double
read_half (const guint8 *data)
{
  return float_of_half (guint16 (read_as<guint16> (data)));
}

double
value_at (NumberType type, const guint8 *data)
{
  /* In the order of the enumeration */
  static constexpr double (*readers[]) (const guint8 *) = {read_as<gint8>,
      read_as<guint8>, read_as<gint16>, read_as<guint16>, read_as<gint32>,
      read_as<guint32>, read_as<gint64>, read_as<guint64>, read_half, read_as<gfloat>,
      read_as<gdouble>};
  return readers[int (type)](data);
}

gboolean
check_data_is_whole (const NpyHeader &header, gsize size, GError **error)
{
  const gsize there = size - header.data_offset;
  if (there >= header.data_size ())
    return TRUE;
  return fail (error, GST_STREAM_ERROR_DECODE,
      ".npy data is truncated: " + std::to_string (there) + " bytes, expected "
          + std::to_string (header.data_size ()) + " for shape "
          + npy_shape_text (header.shape));
}

/* Reads the file up to the end of its header. */
gboolean
open_file (
    const char *path, RegularFile &file, std::vector<guint8> &begin, GError **error)
{
  if (file.open (path, error) && file.read_header (0, npy_header_size, begin, error))
    return TRUE;
  g_prefix_error (error, "%s: ", path);
  return FALSE;
}

/* Reads the header and the values, but nothing after them. Returns fewer bytes if the
 * file is truncated. The caller's parser reports a file without a header. */
gboolean
read_file (const char *path, gchar **contents, gsize *size, GError **error)
{
  RegularFile file;
  std::vector<guint8> begin;
  NpyHeader header;
  gsize done = 0;

  if (!open_file (path, file, begin, error))
    return FALSE;
  *size = begin.size ();
  if (npy_parse_header (begin.data (), begin.size (), header, nullptr, NpyRecords::TAKE))
    *size = gsize (MIN (
        MAX (file.size (), begin.size ()), header.data_offset + header.data_size ()));
  *contents = static_cast<gchar *> (g_try_malloc (MAX (*size, 1)));
  if (!*contents) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "%s: cannot allocate %" G_GSIZE_FORMAT " bytes", path, *size);
    return FALSE;
  }
  memcpy (*contents, begin.data (), begin.size ());
  if (!file.read (*contents + begin.size (), *size - begin.size (), done, error)) {
    g_prefix_error (error, "%s: ", path);
    g_clear_pointer (contents, g_free);
    return FALSE;
  }
  *size = begin.size () + done;
  return TRUE;
}

} // namespace

gsize
NpyHeader::value_size () const
{
  return record > 0 ? record : info_of (type).size * (complex ? 2 : 1);
}

gsize
NpyHeader::data_size () const
{
  gsize bytes = value_size ();

  for (gsize length : shape)
    bytes *= length;
  return bytes;
}

std::string
npy_shape_text (const std::vector<gsize> &shape)
{
  std::string text = "(";

  for (gsize length : shape)
    text += (text.size () > 1 ? ", " : "") + std::to_string (length);
  return text + (shape.size () == 1 ? ",)" : ")");
}

gsize
npy_header_size (const guint8 *data, gsize size)
{
  if (size < magic_size + 2)
    return size < magic_size || memcmp (data, npy_magic, magic_size) == 0 ? magic_size + 2
                                                                          : magic_size;
  if (!version_is_known (data) || memcmp (data, npy_magic, magic_size) != 0)
    return magic_size + 2;

  Preface preface = preface_of (data, size);
  return preface.size
         + (preface.dictionary > longest_dictionary ? 0 : preface.dictionary);
}

gboolean
npy_parse_header (
    const guint8 *data, gsize size, NpyHeader &header, GError **error, NpyRecords records)
{
  if (!check_preface (data, size, error) || !check_header_is_whole (data, size, error))
    return FALSE;

  Preface preface = preface_of (data, size);
  header.data_offset = preface.size + preface.dictionary;
  return parse_dictionary (reinterpret_cast<const char *> (data) + preface.size,
      preface.dictionary, header, records, error);
}

gboolean
npy_load (const char *path, NpyArray &array, GError **error, NpyRecords records)
{
  gchar *contents = nullptr;
  gsize size = 0;

  if (!read_file (path, &contents, &size, error))
    return FALSE;
  array.contents.reset (reinterpret_cast<guint8 *> (contents), g_free);
  if (!npy_parse_header (array.contents.get (), size, array.header, error, records)
      || !check_data_is_whole (array.header, size, error)) {
    g_prefix_error (error, "%s: ", path);
    return FALSE;
  }
  if (array.header.big_endian)
    npy_swap_bytes (array.contents.get () + array.header.data_offset,
        array.header.data_size (), info_of (array.header.type).size);
  return TRUE;
}

void
npy_swap_bytes (guint8 *values, gsize size, gsize number_size)
{
  for (gsize at = 0; number_size > 1 && at + number_size <= size; at += number_size)
    std::reverse (values + at, values + at + number_size);
}

std::string
npy_make_header (NumberType type, bool complex, const std::vector<gsize> &shape)
{
  constexpr gsize alignment = 64, longest_count = 20;
  const NumberInfo &number = info_of (type);
  const bool one_byte = number.size == 1;
  const char order = one_byte ? '|' : G_BYTE_ORDER == G_LITTLE_ENDIAN ? '<' : '>';
  std::string text = std::string ("{'descr': '") + order + (complex ? 'c' : number.kind)
                     + std::to_string (number.size * (complex ? 2 : 1))
                     + "', 'fortran_order': False, 'shape': " + npy_shape_text (shape)
                     + ", }";
  const gsize preface = magic_size + 4;
  const gsize digits = shape.empty () ? 0 : std::to_string (shape[0]).size ();
  const gsize most = preface + text.size () - digits + longest_count + 1;
  const gsize length = (most + alignment - 1) / alignment * alignment - preface;

  text.resize (length - 1, ' ');
  text += '\n';
  std::string header (reinterpret_cast<const char *> (npy_magic), magic_size);
  header += {1, 0, char (length & 255), char (length >> 8)};
  return header + text;
}

gboolean
npy_load_header (const char *path, NpyHeader &header, GError **error)
{
  RegularFile file;
  std::vector<guint8> begin;

  if (!open_file (path, file, begin, error))
    return FALSE;
  if (npy_parse_header (begin.data (), begin.size (), header, error))
    return TRUE;
  g_prefix_error (error, "%s: ", path);
  return FALSE;
}

/* Converts all values. A complex value becomes two numbers. */
template <typename Number>
static void
convert_numbers (const NpyArray &array, std::vector<Number> &values)
{
  const gsize parts = array.header.complex ? 2 : 1;
  const gsize number_size = array.header.value_size () / parts;
  values.resize (array.header.data_size () / number_size);
  for (gsize i = 0; i < values.size (); i++)
    values[i] = Number (value_at (array.header.type, array.values () + i * number_size));
}

gboolean
npy_load_pairs (const char *path, std::vector<double> &values, std::vector<gsize> &shape,
    GError **error)
{
  NpyArray array;

  if (!npy_load (path, array, error))
    return FALSE;
  shape = array.header.shape;
  if (!array.header.complex && (shape.empty () || shape.back () != 2)) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "%s: values are of type '%s' and shape %s, expected complex values or pairs",
        path, array.header.descr.c_str (), npy_shape_text (shape).c_str ());
    return FALSE;
  }
  if (!array.header.complex)
    shape.pop_back ();
  convert_numbers (array, values);
  return TRUE;
}

template <typename Number>
static gboolean
load_numbers (const char *path, std::vector<Number> &values, std::vector<gsize> &shape,
    GError **error)
{
  NpyArray array;

  if (!npy_load (path, array, error))
    return FALSE;
  if (array.header.complex) {
    g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
        "%s: values are of type '%s', expected real values", path,
        array.header.descr.c_str ());
    return FALSE;
  }
  convert_numbers (array, values);
  shape = std::move (array.header.shape);
  return TRUE;
}

gboolean
npy_load_doubles (const char *path, std::vector<double> &values,
    std::vector<gsize> &shape, GError **error)
{
  return load_numbers (path, values, shape, error);
}

gboolean
npy_load_floats (const char *path, std::vector<float> &values, std::vector<gsize> &shape,
    GError **error)
{
  return load_numbers (path, values, shape, error);
}

} // namespace opencl
