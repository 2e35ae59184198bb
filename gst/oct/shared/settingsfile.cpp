/* Settings files: properties of an element in a file, one NAME=VALUE per line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "settingsfile.hpp"

#include <gst/common/platform.hpp>

#include <cstring>
#include <locale>
#include <sstream>
#include <utility>
#include <vector>

namespace oct {
namespace {
using Words = std::vector<std::pair<std::string, std::string>>;

/* Position of a line, for messages */
struct Line {
  const std::string &path;
  guint number;
  std::string text;
};

bool
fail_at_line (const Line &line, const std::string &expected, GError **error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "settings file %s, line %u: \"%.80s\", expected %s", line.path.c_str (),
      line.number, line.text.c_str (), expected.c_str ());
  return false;
}

template <typename Spec>
std::string
expected_number (const Spec *spec, const char *kind)
{
  std::ostringstream text;
  text.imbue (std::locale::classic ());
  text << kind << " from " << spec->minimum << " to " << spec->maximum;
  return text.str ();
}

std::string
expected_name (const GEnumClass *names)
{
  std::string text = "one of";
  for (guint n = 0; n < names->n_values; n++)
    text += (n ? ", " : " ") + std::string (names->values[n].value_nick);
  return text;
}

std::string
expected_value (GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_DOUBLE (spec))
    return G_PARAM_SPEC_DOUBLE (spec)->maximum < G_MAXDOUBLE
               ? expected_number (G_PARAM_SPEC_DOUBLE (spec), "a number")
           : G_PARAM_SPEC_DOUBLE (spec)->minimum < 0 ? "a number"
                                                     : "a number of 0 or more";
  if (G_IS_PARAM_SPEC_UINT (spec))
    return expected_number (G_PARAM_SPEC_UINT (spec), "a whole number");
  if (G_IS_PARAM_SPEC_ENUM (spec))
    return expected_name (G_PARAM_SPEC_ENUM (spec)->enum_class);
  if (GST_IS_PARAM_SPEC_ARRAY_LIST (spec))
    return "numbers as in <1, 2.5>";
  return G_IS_PARAM_SPEC_BOOLEAN (spec) ? "true or false" : "text in UTF-8";
}

/* Arrays keep the type of each value, which their property may not accept. */
bool
holds_numbers (const GValue *array)
{
  guint n = 0;
  while (n < gst_value_array_get_size (array)
         && g_value_type_transformable (
             G_VALUE_TYPE (gst_value_array_get_value (array, n)), G_TYPE_DOUBLE))
    n++;
  return n == gst_value_array_get_size (array);
}

/* Returns whether the property accepts the value as it is. gst_util_set_object_arg()
 * ignores a value that it cannot parse and reads an empty number as 0, and GObject changes
 * one that is out of range. */
bool
is_accepted (GParamSpec *spec, const std::string &text)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, spec->value_type);
  const bool good = (!text.empty () || spec->value_type == G_TYPE_STRING)
                    && gst_value_deserialize_with_pspec (&value, text.c_str (), spec)
                    && (!GST_VALUE_HOLDS_ARRAY (&value) || holds_numbers (&value))
                    && !g_param_value_validate (spec, &value);
  g_value_unset (&value);
  return good;
}

/* Returns the property of that name, or null if the file may not set it. */
GParamSpec *
own_property (GstElement *element, const std::string &name)
{
  GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), name.c_str ());
  const bool is_own =
      spec && name != "settings" && spec->owner_type == G_OBJECT_TYPE (element);
  return is_own ? spec : nullptr;
}

/* Returns the value of a property. A text that names a file in the folder of the settings gets
 * the path of that file; other relative paths are those of the current folder. */
std::string
value_of (const GParamSpec *spec, const std::string &value, const std::string &path)
{
  if (spec->value_type != G_TYPE_STRING || value.empty ()
      || g_path_is_absolute (value.c_str ()))
    return value;
  gchar *folder = g_path_get_dirname (path.c_str ());
  gchar *beside = g_build_filename (folder, value.c_str (), nullptr);
  const std::string found =
      g_file_test (beside, G_FILE_TEST_EXISTS) ? std::string (beside) : value;
  g_free (beside);
  g_free (folder);
  return found;
}

std::string
kind_of (GstElement *element)
{
  const GstElementFactory *factory = gst_element_get_factory (element);
  return factory ? GST_OBJECT_NAME (factory) : G_OBJECT_TYPE_NAME (element);
}

/* Properties of octwindowinterp until 0.3. The first ones had no effect on frames. */
const char *const without_effect[] = {
    "calibrate", "calibrate-same-side", "calibration-folder", "sharpen", nullptr};
const char *const converted[] = {"chirp", "resample-polynomial", nullptr};

/* Parses a line. Ignores empty lines and those that begin with #. */
bool
read_line (GstElement *element, const Line &line, Words &words, GError **error)
{
  const gsize sign = line.text.find ('=');
  const std::string name = line.text.substr (0, sign);
  if (line.text.empty () || line.text[0] == '#'
      || g_strv_contains (without_effect, name.c_str ()))
    return true;
  if (g_strv_contains (converted, name.c_str ()))
    return fail_at_line (
        line, "a resample-map, to which oct-calibrate --settings FILE converts", error);
  GParamSpec *spec = sign == std::string::npos ? nullptr : own_property (element, name);
  if (!spec)
    return fail_at_line (
        line, "a property of " + kind_of (element) + " as NAME=VALUE", error);
  const std::string value = value_of (spec, line.text.substr (sign + 1), line.path);
  if (!is_accepted (spec, value))
    return fail_at_line (line, expected_value (spec), error);
  words.emplace_back (name, value);
  return true;
}

bool
read_settings (GstElement *element, const std::string &path, Words &words, GError **error)
{
  std::string text;
  if (path.empty ())
    return true;
  if (!opencl::read_file (path, text, error)) {
    g_prefix_error (error, "settings file ");
    return false;
  }
  gchar **lines = g_strsplit (text.c_str (), "\n", -1);
  bool good = strlen (text.c_str ()) == text.size ()
              || fail_at_line ({path, g_strv_length (lines), "\\0"}, "text", error);
  for (guint n = 0; lines[n] && good; n++)
    good = read_line (element, {path, n + 1, g_strstrip (lines[n])}, words, error);
  g_strfreev (lines);
  return good;
}

void
load_settings_file (GstElement *element, GParamSpec *, gpointer)
{
  Words words;
  GError *error = nullptr;
  gchar *path = nullptr;
  g_object_get (element, "settings", &path, nullptr);
  if (read_settings (element, path ? path : "", words, &error)) {
    g_object_freeze_notify (G_OBJECT (element));
    for (const auto &[name, value] : words)
      gst_util_set_object_arg (G_OBJECT (element), name.c_str (), value.c_str ());
    g_object_thaw_notify (G_OBJECT (element));
  }
  g_clear_error (&error);
  g_free (path);
}
} // namespace

bool
settings_file_check (GstElement *element, const std::string &path, GError **error)
{
  Words words;
  return read_settings (element, path, words, error);
}

void
settings_file_follow (GstElement *element)
{
  g_signal_connect (
      element, "notify::settings", G_CALLBACK (load_settings_file), nullptr);
}
} // namespace oct
