/* Settings files: properties of an element in a file, one NAME=VALUE per line
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "settingsfile.hpp"

#include <gst/common/regularfile.hpp>

#include <utility>
#include <vector>

namespace oct {
namespace {
using Words = std::vector<std::pair<std::string, std::string>>;

bool
fail_at_word (
    GstElement *element, const std::string &path, const std::string &word, GError **error)
{
  const GstElementFactory *factory = gst_element_get_factory (element);
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "settings file %s: \"%.80s\", expected a property of %s as NAME=VALUE",
      path.c_str (), word.c_str (),
      factory ? GST_OBJECT_NAME (factory) : G_OBJECT_TYPE_NAME (element));
  return false;
}

bool
is_own_property (GstElement *element, const std::string &name)
{
  const GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), name.c_str ());
  return spec && name != "settings" && spec->owner_type == G_OBJECT_TYPE (element);
}

/* Returns the value of a property. A text that names a file in the folder of the settings gets
 * the path of that file; other relative paths are those of the current folder. */
std::string
value_of (GstElement *element, const std::string &name, const std::string &value,
    const std::string &path)
{
  const GParamSpec *spec =
      g_object_class_find_property (G_OBJECT_GET_CLASS (element), name.c_str ());
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

/* Ignores empty lines and those that begin with #. */
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
  bool good = true;
  gchar **lines = g_strsplit (text.c_str (), "\n", -1);
  for (gchar **line = lines; *line && good; line++) {
    const std::string word = g_strstrip (*line);
    const gsize sign = word.find ('=');
    if (word.empty () || word[0] == '#')
      continue;
    const std::string name = word.substr (0, sign);
    good = sign != std::string::npos && is_own_property (element, name);
    if (good)
      words.emplace_back (name, value_of (element, name, word.substr (sign + 1), path));
    else
      fail_at_word (element, path, word, error);
  }
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
