/* Cache of built programs in a process
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programcache.hpp"

#include <gst/opencl/core/busy.hpp>
#include <gst/opencl/base/gstopenclcheck.h>

namespace opencl {
cl_program
ProgramCache::get (const std::string &key, const Build &build, GError **error)
{
  std::shared_ptr<Entry> entry = find_or_add (key);
  std::lock_guard<std::mutex> guard (entry->lock);

  if (!entry->program ()) {
    const Busy building;
    entry->program = build ();
  }
  cl_program handle = entry->program ();
  if (!handle)
    remove (key, entry);
  else if (gst_opencl_check (clRetainProgram (handle), "clRetainProgram", error))
    return handle;
  return nullptr;
}

gsize
ProgramCache::size ()
{
  std::lock_guard<std::mutex> guard (lock);
  return entries.size ();
}

std::shared_ptr<ProgramCache::Entry>
ProgramCache::find_or_add (const std::string &key)
{
  std::lock_guard<std::mutex> guard (lock);
  auto found = entries.find (key);

  if (found != entries.end ()) {
    recent.splice (recent.begin (), recent, found->second.place);
    return found->second.entry;
  }
  recent.push_front (key);
  auto entry = std::make_shared<Entry> ();
  entries.emplace (key, Cached{entry, recent.begin ()});
  if (entries.size () > maximum) {
    entries.erase (recent.back ());
    recent.pop_back ();
  }
  return entry;
}

/* Forgets a program that failed to build, so that the next request builds it again. */
void
ProgramCache::remove (const std::string &key, const std::shared_ptr<Entry> &entry)
{
  std::lock_guard<std::mutex> guard (lock);
  auto found = entries.find (key);

  if (found == entries.end () || found->second.entry != entry)
    return;
  recent.erase (found->second.place);
  entries.erase (found);
}
} // namespace opencl
