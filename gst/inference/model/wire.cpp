/* Reader of the protobuf wire format, and tensor data in files beside the model
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "wire.hpp"

#include <gst/common/platform.hpp>

#include <cstring>
#include <cstdlib>
#include <limits.h>

namespace inference {
bool
WireReader::read_varint (guint64 &value)
{
  value = 0;
  for (guint shift = 0; shift < 64; shift += 7) {
    if (at == end)
      return fail ();
    const guint8 byte = *at++;
    value |= guint64 (byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return fail ();
}

/* Fixed-size numbers are little-endian. */
bool
WireReader::read_fixed (gsize size)
{
  if (gsize (end - at) < size)
    return fail ();
  integer = 0;
  for (gsize n = 0; n < size; n++)
    integer |= guint64 (at[n]) << (8 * n);
  at += size;
  return true;
}

bool
WireReader::next ()
{
  guint64 key, length;

  bytes = {};
  integer = 0;
  if (is_broken || at == end || !read_varint (key))
    return false;
  field = guint32 (key >> 3);
  type = guint32 (key & 7);
  switch (type) {
  case varint:
    return read_varint (integer);
  case fixed64:
    return read_fixed (8);
  case fixed32:
    return read_fixed (4);
  case delimited:
    if (!read_varint (length) || length > guint64 (end - at))
      return fail ();
    bytes = {at, gsize (length)};
    at += length;
    return true;
  default:
    return fail ();
  }
}

float
WireReader::as_float () const
{
  const guint32 bits = guint32 (integer);
  float value;
  memcpy (&value, &bits, sizeof value);
  return value;
}

void
WireReader::append_to (std::vector<gint64> &values)
{
  if (type != delimited) {
    values.push_back (as_signed ());
    return;
  }
  WireReader packed (bytes);
  while (packed.at != packed.end && packed.read_varint (packed.integer))
    values.push_back (packed.as_signed ());
  is_broken |= packed.is_broken;
}

template <typename Number>
void
WireReader::append_fixed (std::vector<Number> &values)
{
  auto append = [&] (guint64 bits) {
    Number value;
    const guint32 half = guint32 (bits);
    if (sizeof value == sizeof half)
      memcpy (&value, &half, sizeof half);
    else
      memcpy (&value, &bits, sizeof value);
    values.push_back (value);
  };
  if (type != delimited) {
    append (integer);
    return;
  }
  WireReader packed (bytes);
  while (packed.at != packed.end && packed.read_fixed (sizeof (Number)))
    append (packed.integer);
  is_broken |= packed.is_broken;
}

void
WireReader::append_to (std::vector<float> &values)
{
  append_fixed (values);
}

void
WireReader::append_to (std::vector<double> &values)
{
  append_fixed (values);
}

/* --- files of tensors beside an ONNX model --- */

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
      "%" G_GSIZE_FORMAT " bytes expected at offset %" G_GUINT64_FORMAT, size, offset);
  return false;
}

bool
read_external_data (const std::string &folder, const std::string &location,
    guint64 offset, gsize size, std::string &data, GError **error)
{
  const std::string root = opencl::resolved_path (folder);
  const std::string path =
      folder.empty () || location.empty () || g_path_is_absolute (location.c_str ())
          ? ""
          : opencl::resolved_path (folder + "/" + location);

  if (path.empty () || path.compare (0, root.size () + 1, root + G_DIR_SEPARATOR) != 0) {
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
