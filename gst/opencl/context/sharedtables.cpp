/* Read-only buffers of a context that are shared by all who need the same values
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "sharedtables.hpp"

namespace opencl {
namespace {
std::string
key_of (const void *values, gsize size)
{
  GChecksum *checksum = g_checksum_new (G_CHECKSUM_SHA256);
  const guchar *bytes = static_cast<const guchar *> (values);
  const gsize most = 1 << 30; /* the length is a gssize */
  for (gsize begin = 0; begin < size; begin += most)
    g_checksum_update (checksum, bytes + begin, gssize (MIN (most, size - begin)));
  const std::string key =
      std::string (g_checksum_get_string (checksum)) + "/" + std::to_string (size);
  g_checksum_free (checksum);
  return key;
}

/* Does only this class have a reference? */
bool
is_unused (const cl::Buffer &buffer)
{
  cl_uint references = 0;
  return clGetMemObjectInfo (
             buffer (), CL_MEM_REFERENCE_COUNT, sizeof references, &references, nullptr)
             == CL_SUCCESS
         && references == 1;
}
} // namespace

cl::Buffer
SharedTables::get (
    const void *values, gsize size, const std::function<cl::Buffer ()> &make)
{
  const std::string key = key_of (values, size);
  std::lock_guard<std::mutex> guard (lock);
  const auto found = tables.find (key);
  if (found != tables.end ())
    return found->second;
  for (auto table = tables.begin (); table != tables.end ();)
    table = is_unused (table->second) ? tables.erase (table) : std::next (table);
  cl::Buffer made = make ();
  if (made ())
    tables[key] = made;
  return made;
}
} // namespace opencl
