/* Files of tensors beside an ONNX model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "externaldata.hpp"

#include <gst/gst.h>
#include <gst/common/regularfile.hpp>

#include <cstdlib>
#include <limits.h>

namespace inference {
bool
map_file (const std::string &file, MappedFile &mapped, GError **error)
{
  GMappedFile *contents = g_mapped_file_new (file.c_str (), FALSE, error);
  if (!contents)
    return false;
  mapped.owner = std::shared_ptr<const void> (contents,
      [] (void *data) { g_mapped_file_unref (static_cast<GMappedFile *> (data)); });
  mapped.data = reinterpret_cast<const guint8 *> (g_mapped_file_get_contents (contents));
  mapped.size = g_mapped_file_get_length (contents);
  return true;
}

static std::string
resolved (const std::string &path)
{
  char *real = realpath (path.c_str (), nullptr);
  const std::string text = real ? real : "";
  free (real);
  return text;
}

bool
map_external_file (const std::string &folder, const std::string &location,
    MappedFile &mapped, GError **error)
{
  const std::string root = resolved (folder);
  const std::string path =
      folder.empty () || location.empty () || g_path_is_absolute (location.c_str ())
          ? ""
          : resolved (folder + "/" + location);

  if (path.empty () || path.compare (0, root.size () + 1, root + "/") != 0) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND,
        "external data \"%s\": expected a file below the folder of the model",
        location.c_str ());
    return false;
  }
  return map_file (path, mapped, error);
}
} // namespace inference
