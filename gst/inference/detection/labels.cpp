/* Names of classes from a file
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "labels.hpp"

#include <gst/common/platform.hpp>

namespace inference {
constexpr gsize most_bytes = 1 << 20, longest_label = 256;

static bool
read_text (const std::string &path, std::string &text, GError **error)
{
  opencl::RegularFile file;
  gsize done = 0;
  if (!file.open (path.c_str (), error))
    return false;
  if (file.size () > most_bytes) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "%" G_GUINT64_FORMAT " bytes, expected a label a line, up to %" G_GSIZE_FORMAT
        " bytes",
        file.size (), most_bytes);
    return false;
  }
  text.resize (gsize (file.size ()));
  if (!file.read (text.data (), text.size (), done, error))
    return false;
  text.resize (done);
  return true;
}

bool
load_labels (const std::string &file, std::vector<std::string> &labels, GError **error)
{
  std::string text;
  if (!read_text (file, text, error)) {
    g_prefix_error (error, "label-file: %s: ", file.c_str ());
    return false;
  }
  labels.clear ();
  for (gsize begin = 0; begin < text.size ();) {
    const gsize end = std::min (text.find ('\n', begin), text.size ());
    gsize length = end - begin;
    if (length > 0 && text[end - 1] == '\r')
      length--;
    labels.push_back (text.substr (begin, length));
    if (length > longest_label
        || !g_utf8_validate (text.data () + begin, gssize (length), nullptr)) {
      g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
          "label-file: %s: line %" G_GSIZE_FORMAT
          ": expected UTF-8 of up to %" G_GSIZE_FORMAT " bytes",
          file.c_str (), labels.size (), longest_label);
      return false;
    }
    begin = end + 1;
  }
  return true;
}
} // namespace inference
