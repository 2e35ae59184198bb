/* Read-only buffers of a context, one for each table of values
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "sharedtables.hpp"

namespace opencl {
namespace {
/* SHA-1 in GLib takes 0.4 of the time of SHA-256. Equal sums of different tables would need
 * tables that were made for that. */
std::string
key_of (const void *values, gsize size)
{
  gchar *sum = g_compute_checksum_for_data (
      G_CHECKSUM_SHA1, static_cast<const guchar *> (values), size);
  const std::string key = std::string (sum) + "/" + std::to_string (size);
  g_free (sum);
  return key;
}

/* Returns true if only this class has a reference. */
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
SharedTables::get (const void *values, gsize size,
    const std::function<cl::Buffer ()> &make, GError **error)
{
  const std::string key = key_of (values, size);
  std::lock_guard<std::mutex> guard (lock);
  const auto found = tables.find (key);
  if (found != tables.end ())
    return retained<cl::Buffer> (found->second (), error);
  for (auto table = tables.begin (); table != tables.end ();)
    table = is_unused (table->second) ? tables.erase (table) : std::next (table);
  cl::Buffer made = make ();
  if (!made ())
    return made;
  cl::Buffer shared = retained<cl::Buffer> (made (), error);
  if (shared ())
    tables.emplace (key, std::move (made));
  return shared;
}
} // namespace opencl
