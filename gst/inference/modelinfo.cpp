/* Description of a model's inputs and outputs in a file beside it, as GStreamer's
 * onnxinference reads it
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "modelinfo.hpp"

#include <gst/common/platform.hpp>

#include <cmath>
#include <gst/gst.h>

namespace inference {
namespace {
/* A key that is missing gives an empty text. */
std::string
text_of (GKeyFile *file, const char *group, const char *key)
{
  gchar *value = g_key_file_get_string (file, group, key, nullptr);
  const std::string text = value ? value : "";
  g_free (value);
  return text;
}

bool
parse_number (const gchar *text, double &number)
{
  gchar *end;
  number = g_ascii_strtod (text, &end);
  return end != text && *g_strchug (end) == '\0' && std::isfinite (number);
}

bool
parse_ranges (const std::string &text, std::vector<std::pair<double, double>> &ranges)
{
  gchar **parts = g_strsplit (text.c_str (), ";", -1);
  bool valid = true;
  for (gchar **part = parts; *part && valid; part++) {
    if (!**part)
      continue;
    gchar **limits = g_strsplit (*part, ",", -1);
    double low = 0, high = 0;
    valid = g_strv_length (limits) == 2 && parse_number (limits[0], low)
            && parse_number (limits[1], high) && low != high;
    ranges.emplace_back (low, high);
    g_strfreev (limits);
  }
  g_strfreev (parts);
  return valid;
}

bool
parse_dims (const std::string &text, Shape &dims)
{
  gchar **parts = g_strsplit (text.c_str (), ",", -1);
  bool valid = true;
  for (gchar **part = parts; *part && valid; part++) {
    double length = 0;
    valid = parse_number (*part, length) && length >= -1 && length <= G_MAXINT32
            && length == std::floor (length);
    dims.push_back (gint64 (length));
  }
  g_strfreev (parts);
  return valid;
}

/* Other programs read the same file, and later versions of them more keys. */
void
warn_of_unknown_keys (GKeyFile *file, const char *group)
{
  static const char *const known[] = {
      "id", "group-id", "dir", "type", "dims", "dims-order", "ranges", nullptr};
  gchar **keys = g_key_file_get_keys (file, group, nullptr, nullptr);
  for (gchar **key = keys; *key; key++) {
    if (!g_strv_contains (known, *key))
      GST_WARNING ("[%s] %s is not a key that openclinference knows", group, *key);
  }
  g_strfreev (keys);
}

bool
read_tensor (GKeyFile *file, const char *group, TensorInfo &info, GError **error)
{
  const std::string dims = text_of (file, group, "dims"),
                    dir = text_of (file, group, "dir"),
                    ranges = text_of (file, group, "ranges"),
                    order = text_of (file, group, "dims-order");
  const bool is_unused = dir.empty () && ranges.empty ();
  const struct {
    bool good;
    const char *key;
    const std::string &value;
    const char *expected;
  } values[] = {
      {dir == "input" || dir == "output" || is_unused, "dir", dir, "input or output"},
      {dims.empty () || parse_dims (dims, info.dims), "dims", dims,
          "lengths with commas"},
      {ranges.empty () || parse_ranges (ranges, info.ranges), "ranges", ranges,
          "minimum,maximum"},
      {order == "row-major" || order == "col-major" || order.empty (), "dims-order",
          order, "row-major or col-major"},
  };
  info.name = group;
  info.id = text_of (file, group, "id");
  info.order = order.empty () ? info.order : order;
  info.is_input = dir == "input";
  info.type = text_of (file, group, "type");
  warn_of_unknown_keys (file, group);
  for (const auto &value : values) {
    if (value.good)
      continue;
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "[%s] %s=%s, expected %s", group, value.key, value.value.c_str (),
        value.expected);
    return false;
  }
  return true;
}
} // namespace

TensorInfo
ModelInfo::named (const std::string &name) const
{
  TensorInfo unnamed;
  for (const TensorInfo &tensor : tensors)
    if (tensor.name == name && !tensor.id.empty ())
      return tensor;
  unnamed.id = name;
  return unnamed;
}

bool
load_model_info (const std::string &file, ModelInfo &info, GError **error)
{
  std::string text;
  GError *reason = nullptr;
  if (!opencl::read_file (file, text, &reason)) {
    if (!g_error_matches (reason, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND)) {
      g_propagate_error (error, reason);
      return false;
    }
    g_error_free (reason);
    return true;
  }
  GKeyFile *contents = g_key_file_new ();
  bool read = g_key_file_load_from_data (
      contents, text.data (), text.size (), G_KEY_FILE_NONE, error);
  gchar **groups = read ? g_key_file_get_groups (contents, nullptr) : nullptr;
  for (gchar **group = groups; read && group && *group; group++) {
    TensorInfo tensor;
    if (g_str_equal (*group, "modelinfo")) {
      info.group = text_of (contents, *group, "group-id");
      continue;
    }
    read = read_tensor (contents, *group, tensor, error);
    info.tensors.push_back (tensor);
  }
  g_strfreev (groups);
  g_key_file_free (contents);
  if (!read)
    g_prefix_error (error, "%s: ", file.c_str ());
  return read;
}
} // namespace inference
