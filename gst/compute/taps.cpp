/* Arrays of numbers that a property names: a .npy file, or nested lists as they are written
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "taps.hpp"

#include <gst/gst.h>
#include <gst/opencl/npyfile.hpp>

#include <cmath>
#include <cstring>

namespace compute {
namespace {
/* Lists in lists, all of a level equally long. GstValueArray's own text, with the types
 * that it puts before numbers. */
class Reader {
public:
  Reader (const std::string &text, Taps &taps) : at (text.c_str ()), taps (taps) {}

  bool read () { return read_value (0) && (skip (), *at == '\0'); }

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
    taps.values.push_back (number / divisor);
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
    if (taps.shape.size () <= depth)
      taps.shape.resize (depth + 1);
    const bool same = taps.shape[depth] == 0 || taps.shape[depth] == length;
    taps.shape[depth] = length;
    return same;
  }

  const char *at;
  Taps &taps;
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
are_finite (const std::vector<double> &values)
{
  for (double value : values) {
    if (!std::isfinite (value))
      return false;
  }
  return !values.empty ();
}
} // namespace

std::shared_ptr<const Taps>
read_taps (const char *property, const std::string &text, GError **error)
{
  auto taps = std::make_shared<Taps> ();
  GError *reason = nullptr;

  if (is_list (text)) {
    if (Reader (text, *taps).read ())
      return taps;
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "%s=%.200s is no array of numbers, expected such as <<0,1,0>,<1,-4,1>,<0,1,0>>",
        property, text.c_str ());
    return nullptr;
  }
  if (!opencl::npy_load_doubles (text.c_str (), taps->values, taps->shape, &reason)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
        "%s cannot be read: %s", property, reason->message);
    g_error_free (reason);
    return nullptr;
  }
  if (are_finite (taps->values))
    return taps;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "%s: %s has no numbers, or some that are not finite", property, text.c_str ());
  return nullptr;
}
} // namespace compute
