/* Reads files of numbers for octwindowinterp: one value per sample of an A-line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "valuesfile.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gst/gst.h>

#include <gst/common/npyfile.hpp>
#include <gst/common/platform.hpp>

namespace oct {
using opencl::RegularFile;

namespace {
const gsize longest_line = 4096;
const char white_space[] = " \t\r\n\v\f";

/* Returns the start of a line for a message, escaped, as the file may be binary. */
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

/* Parses a number with a decimal point in every locale. */
bool
parse_number (const std::string &text, double &number)
{
  gchar *end = nullptr;
  number = g_ascii_strtod (text.c_str (), &end);
  return end == text.c_str () + text.size ();
}

/* Reads lines of a file. Limits their length, because the file may be binary. */
class Lines {
public:
  explicit Lines (RegularFile &file) : file (file) {}

  enum class Next { LINE, END, TOO_LONG, FAILED };
  Next next (std::string &line, GError **error)
  {
    line.clear ();
    for (char character; get (character, error);) {
      if (character == '\n')
        return Next::LINE;
      if (line.size () == longest_line)
        return Next::TOO_LONG;
      line += character;
    }
    return failed ? Next::FAILED : line.empty () ? Next::END : Next::LINE;
  }

private:
  bool get (char &character, GError **error)
  {
    if (at == there) {
      failed = !file.read (block, sizeof block, there, error);
      at = 0;
      if (failed || there == 0)
        return false;
    }
    character = block[at++];
    return true;
  }

  RegularFile &file;
  char block[4096] = {};
  gsize at = 0, there = 0;
  bool failed = false;
};

bool
fail_at_line (const ValuesFile &file, gsize n, const std::string &is, GError **error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
      "%s: line %" G_GSIZE_FORMAT " is %s, expected one number per line, or a .npy file",
      file.described ().c_str (), n, is.c_str ());
  return false;
}

/* Reads at most `most` values. Ignores the rest of the file. */
bool
load_text (const ValuesFile &file, RegularFile &opened, gsize most,
    std::vector<double> &values, GError **error)
{
  Lines lines (opened);
  std::string line;
  Lines::Next next = Lines::Next::LINE;
  for (gsize n = 1; values.size () < most; n++) {
    next = lines.next (line, error);
    if (next == Lines::Next::TOO_LONG)
      return fail_at_line (
          file, n, "longer than " + std::to_string (longest_line) + " characters", error);
    if (next != Lines::Next::LINE)
      break;
    std::string text = without_comment_and_blanks (line);
    double number;
    if (text.empty ())
      continue;
    if (!parse_number (text, number))
      return fail_at_line (file, n, quoted (text), error);
    values.push_back (number);
  }
  return next != Lines::Next::FAILED;
}

bool
open_file (const ValuesFile &file, RegularFile &opened, GError **error)
{
  GError *reason = nullptr;
  if (opened.open (file.path.c_str (), &reason))
    return true;
  g_propagate_prefixed_error (
      error, reason, "%s cannot be opened: ", file.described ().c_str ());
  return false;
}

bool
detect_npy (RegularFile &opened, bool &is_npy, GError **error)
{
  char begin[sizeof opencl::npy_magic] = {};
  gsize done;
  if (!opened.read (begin, sizeof begin, done, error) || !opened.rewind (error))
    return false;
  is_npy = memcmp (begin, opencl::npy_magic, sizeof opencl::npy_magic) == 0;
  return true;
}

bool
check_count (
    const ValuesFile &file, gsize samples, gsize count, bool more, GError **error)
{
  if (count == samples)
    return true;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "%s: %" G_GSIZE_FORMAT " values%s, expected %" G_GSIZE_FORMAT
      " (samples per A-line)",
      file.described ().c_str (), count, more ? " or more" : "", samples);
  return false;
}

/* Checks the number of values in the header before reading any. */
bool
load_npy (
    const ValuesFile &file, gsize samples, std::vector<double> &values, GError **error)
{
  opencl::NpyHeader header;
  std::vector<gsize> shape;
  GError *reason = nullptr;
  const bool has_header = opencl::npy_load_header (file.path.c_str (), header, &reason);
  if (has_header
      && !check_count (
          file, samples, header.data_size () / header.value_size (), false, error))
    return false;
  if (has_header && opencl::npy_load_doubles (file.path.c_str (), values, shape, &reason))
    return true;
  g_propagate_prefixed_error (
      error, reason, "%s file ", file.name); /* the reason names the path */
  return false;
}

bool
check_values (const ValuesFile &file, gsize samples, const std::vector<double> &values,
    GError **error)
{
  if (!check_count (file, samples, values.size (), values.size () > samples, error))
    return false;
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
  RegularFile opened;
  return !file.given () || open_file (file, opened, error);
}

bool
values_file_load (
    const ValuesFile &file, gsize samples, std::vector<double> &values, GError **error)
{
  RegularFile opened;
  bool is_npy = false;
  values.clear ();
  if (!open_file (file, opened, error) || !detect_npy (opened, is_npy, error))
    return false;
  const bool loaded = is_npy ? load_npy (file, samples, values, error)
                             : load_text (file, opened, samples + 1, values, error);
  return loaded && check_values (file, samples, values, error);
}

bool
values_file_load_used (const ValuesFile &file, const Samples &samples,
    std::vector<double> &values, GError **error)
{
  if (samples.used == samples.all
      || !values_file_load (file, samples.all, values, nullptr))
    return values_file_load (file, samples.used, values, error);
  values.erase (values.begin () + gssize (samples.first + samples.used), values.end ());
  values.erase (values.begin (), values.begin () + gssize (samples.first));
  return true;
}

/* Reads all values of a file, whatever their number. */
static bool
load_all (const ValuesFile &file, std::vector<double> &values, GError **error)
{
  RegularFile opened;
  bool is_npy = false;
  std::vector<gsize> shape;
  values.clear ();
  if (!open_file (file, opened, error) || !detect_npy (opened, is_npy, error))
    return false;
  return is_npy
             ? bool (opencl::npy_load_doubles (file.path.c_str (), values, shape, error))
             : load_text (file, opened, most_samples, values, error);
}

bool
values_file_load_range (const ValuesFile &file, gsize first, gsize count,
    std::vector<double> &values, GError **error)
{
  std::vector<double> all;
  if (!load_all (file, all, error))
    return false;
  if (all.size () != count && all.size () < first + count) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
        "%s: %" G_GSIZE_FORMAT " values, expected %" G_GSIZE_FORMAT
        " or at least %" G_GSIZE_FORMAT,
        file.described ().c_str (), all.size (), count, first + count);
    return false;
  }
  const gsize begin = all.size () == count ? 0 : first;
  values.assign (all.begin () + gssize (begin), all.begin () + gssize (begin + count));
  return check_values (file, count, values, error);
}
} // namespace oct
