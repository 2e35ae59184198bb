/* The files of numbers that octwindowinterp reads: one value for each sample of an A-line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "valuesfile.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <gst/gst.h>

#include <gst/opencl/npyfile.hpp>

namespace oct {
namespace {
const char white_space[] = " \t\r\n\v\f";

/* Long enough to recognise, short enough for a message; escaped, as the file may well be
 * a binary one. */
std::string
quoted (const std::string &text)
{
  gchar *escaped = g_strescape (text.substr (0, 40).c_str (), nullptr);
  std::string result = std::string ("\"") + escaped + "\"";
  g_free (escaped);
  return result;
}

std::string
without_comment_and_blanks (const std::string &line)
{
  std::string text = line.substr (0, line.find ('#'));
  gsize begin = text.find_first_not_of (white_space);
  if (begin == std::string::npos)
    return "";
  return text.substr (begin, text.find_last_not_of (white_space) + 1 - begin);
}

/* The point is a point in every locale. */
bool
parse_number (const std::string &text, double &number)
{
  gchar *end = nullptr;
  number = g_ascii_strtod (text.c_str (), &end);
  return end == text.c_str () + text.size ();
}

bool
load_text (const ValuesFile &file, std::ifstream &stream, std::vector<double> &values,
    GError **error)
{
  std::string line;
  for (gsize n = 1; std::getline (stream, line); n++) {
    std::string text = without_comment_and_blanks (line);
    double number;
    if (text.empty ())
      continue;
    if (!parse_number (text, number)) {
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
          "%s: line %" G_GSIZE_FORMAT " is %s, expected one number a line, or .npy",
          file.described ().c_str (), n, quoted (text).c_str ());
      return false;
    }
    values.push_back (number);
  }
  return true;
}

bool
open_stream (const ValuesFile &file, std::ifstream &stream, GError **error)
{
  errno = 0;
  bool folder = g_file_test (file.path.c_str (), G_FILE_TEST_IS_DIR);
  if (!folder)
    stream.open (file.path, std::ios::in | std::ios::binary);
  if (stream.is_open ())
    return true;
  int code = folder ? EISDIR : errno;
  g_set_error (error, GST_RESOURCE_ERROR,
      code == ENOENT ? GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_READ,
      "%s cannot be opened: %s", file.described ().c_str (), g_strerror (code));
  return false;
}

bool
begins_with_npy_magic (std::ifstream &stream)
{
  char begin[sizeof opencl::npy_magic] = {};
  stream.read (begin, sizeof begin);
  stream.clear ();
  stream.seekg (0);
  return memcmp (begin, opencl::npy_magic, sizeof begin) == 0;
}

bool
load_npy (const ValuesFile &file, std::vector<double> &values, GError **error)
{
  std::vector<gsize> shape;
  GError *reason = nullptr;
  if (opencl::npy_load_doubles (file.path.c_str (), values, shape, &reason))
    return true;
  g_propagate_prefixed_error (
      error, reason, "%s file ", file.name); /* it names the path */
  return false;
}

bool
check_values (const ValuesFile &file, gsize samples, const std::vector<double> &values,
    GError **error)
{
  if (values.size () != samples) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s: %" G_GSIZE_FORMAT " values, expected %" G_GSIZE_FORMAT
        " (samples per A-line)",
        file.described ().c_str (), values.size (), samples);
    return false;
  }
  for (gsize n = 0; n < samples; n++) {
    if (std::isfinite (values[n]))
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s: value %" G_GSIZE_FORMAT " is %g, expected a finite number",
        file.described ().c_str (), n, values[n]);
    return false;
  }
  return true;
}
} // namespace

bool
values_file_check (const ValuesFile &file, GError **error)
{
  std::ifstream stream;
  return !file.given () || open_stream (file, stream, error);
}

bool
values_file_load (
    const ValuesFile &file, gsize samples, std::vector<double> &values, GError **error)
{
  std::ifstream stream;
  if (!open_stream (file, stream, error))
    return false;
  values.clear ();
  bool loaded = begins_with_npy_magic (stream) ? load_npy (file, values, error)
                                               : load_text (file, stream, values, error);
  return loaded && check_values (file, samples, values, error);
}
} // namespace oct
