/* Arrays of numbers from a property: a .npy file, or nested lists as text
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "taps.hpp"

#include <gst/gst.h>
#include <gst/common/npyfile.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace compute {
namespace {
/* Parses nested lists whose lengths are equal at each level: the text form of
 * GstValueArray, including its types before numbers. */
class Reader {
public:
  explicit Reader (const std::string &text) : at (text.c_str ()) {}

  bool read () { return read_value (0) && (skip (), *at == '\0'); }

  std::vector<gsize> shape;
  std::vector<double> values;

private:
  static constexpr gsize deepest = 4;

  void skip ()
  {
    while (g_ascii_isspace (*at))
      at++;
    if (*at == '(') /* a type, "(double)" */
      if (const char *end = strchr (at, ')'))
        at = end + 1;
    while (g_ascii_isspace (*at))
      at++;
  }

  bool read_number (double &number)
  {
    gchar *end;
    number = g_ascii_strtod (at, &end);
    const bool any = end != at;
    at = end;
    return any && std::isfinite (number);
  }

  bool read_value (gsize depth)
  {
    skip ();
    if (*at == '<' || *at == '{')
      return depth < deepest && read_list (depth);
    double number, divisor = 1;
    if (!read_number (number) || (known_depth && depth != innermost))
      return false;
    if (*at == '/' && (at++, !read_number (divisor) || divisor == 0))
      return false;
    innermost = depth;
    known_depth = true;
    values.push_back (number / divisor);
    return true;
  }

  bool read_list (gsize depth)
  {
    const char end = *at == '<' ? '>' : '}';
    gsize length = 0;
    do {
      at++;
      if (!read_value (depth + 1))
        return false;
      length++;
      skip ();
    } while (*at == ',');
    if (*at != end)
      return false;
    at++;
    if (shape.size () <= depth)
      shape.resize (depth + 1);
    const bool same = shape[depth] == 0 || shape[depth] == length;
    shape[depth] = length;
    return same;
  }

  const char *at;
  gsize innermost = 0;
  bool known_depth = false;
};

bool
is_list (const std::string &text)
{
  const gsize first = text.find_first_not_of (" \t\n");
  if (first == std::string::npos)
    return false;
  gchar *end;
  g_ascii_strtod (text.c_str () + first, &end);
  const bool only_number = end != text.c_str () + first && (*end == '\0' || *end == '/');
  return strchr ("<{(", text[first]) || only_number;
}

bool
read_list (const char *property, const std::string &text, Reader &reader, GError **error)
{
  if (reader.read ())
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%s=%.200s is not an array of numbers, expected for example "
      "<<0,1,0>,<1,-4,1>,<0,1,0>>",
      property, text.c_str ());
  return false;
}

/* Takes @reason. */
bool
fail_to_read (const char *property, GError *reason, GError **error)
{
  g_propagate_prefixed_error (error, reason, "%s cannot be read: ", property);
  return false;
}

/* Finds the shape of taps given as a list or a file. */
bool
find_shape (const char *property, const std::string &text, std::vector<gsize> &shape,
    GError **error)
{
  if (is_list (text)) {
    Reader reader (text);
    if (!read_list (property, text, reader, error))
      return false;
    shape = std::move (reader.shape);
    return true;
  }
  opencl::NpyHeader header;
  GError *reason = nullptr;
  if (!opencl::npy_load_header (text.c_str (), header, &reason))
    return fail_to_read (property, reason, error);
  shape = std::move (header.shape);
  return true;
}

template <typename Number>
bool
read_file (const char *property, const TapsSource &source, std::vector<Number> &values,
    GError **error)
{
  std::vector<gsize> shape;
  GError *reason = nullptr;
  bool loaded;
  if constexpr (std::is_same_v<Number, float>)
    loaded = opencl::npy_load_floats (source.text.c_str (), values, shape, &reason);
  else
    loaded = opencl::npy_load_doubles (source.text.c_str (), values, shape, &reason);
  if (!loaded)
    return fail_to_read (property, reason, error);
  if (shape == source.shape)
    return true;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
      "%s: %s has changed its shape from %s to %s, set the property again", property,
      source.text.c_str (), opencl::npy_shape_text (source.shape).c_str (),
      opencl::npy_shape_text (shape).c_str ());
  return false;
}
} // namespace

gsize
TapsSource::count () const
{
  gsize count = text.empty () ? 0 : 1;
  for (gsize length : shape)
    count *= length;
  return count;
}

bool
open_taps (const char *property, const std::string &text, guint sets, TapsSource &source,
    GError **error)
{
  TapsSource opened = {text, is_list (text) ? 0 : sets, {}};
  if (text == source.text && opened.sets == source.sets)
    return true;
  if (!text.empty () && !find_shape (property, text, opened.shape, error))
    return false;
  source = std::move (opened);
  return true;
}

template <typename Number>
bool
read_taps (const char *property, const TapsSource &source, std::vector<Number> &values,
    GError **error)
{
  if (is_list (source.text)) {
    Reader reader (source.text);
    if (!read_list (property, source.text, reader, error))
      return false;
    values.assign (reader.values.begin (), reader.values.end ());
  } else if (!read_file (property, source, values, error)) {
    return false;
  }
  const bool all_finite = std::all_of (values.begin (), values.end (),
      [] (Number value) { return std::isfinite (value); });
  if (all_finite && !values.empty ())
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%s: %.200s is empty or has NaN or infinite values", property,
      source.text.c_str ());
  return false;
}
template bool read_taps (
    const char *, const TapsSource &, std::vector<float> &, GError **);
template bool read_taps (
    const char *, const TapsSource &, std::vector<double> &, GError **);
} // namespace compute
