/* Files of tensors beside an ONNX model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "externaldata.hpp"

#include <gst/common/platform.hpp>

#include <cstdlib>
#include <limits.h>

namespace inference {
static std::string
resolved (const std::string &path)
{
  char *real = realpath (path.c_str (), nullptr);
  const std::string text = real ? real : "";
  free (real);
  return text;
}

/* The size is compared before the allocation. */
static bool
read_part (
    const char *path, guint64 offset, gsize size, std::string &data, GError **error)
{
  opencl::RegularFile file;
  gsize done = 0;
  if (!file.open (path, error))
    return false;
  if (offset <= file.size () && size <= file.size () - offset) {
    data.resize (size);
    if (!file.seek (offset, error) || !file.read (&data[0], size, done, error))
      return false;
    if (done == size)
      return true;
  }
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
      "%" G_GSIZE_FORMAT " bytes expected at %" G_GUINT64_FORMAT, size, offset);
  return false;
}

bool
read_external_data (const std::string &folder, const std::string &location,
    guint64 offset, gsize size, std::string &data, GError **error)
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
  if (read_part (path.c_str (), offset, size, data, error))
    return true;
  g_prefix_error (error, "external data \"%s\": ", location.c_str ());
  return false;
}
} // namespace inference
