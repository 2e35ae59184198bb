/* OpenCL C and built programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "programs.hpp"

#include "hooks.hpp"

#include <gst/common/platform.hpp>
#include <gst/opencl/core/gstopenclcheck.h>

#include <algorithm>
#include <cstdio>
#include <gio/gio.h>
#include <set>
#include <sstream>

#define LIBRARY_FOLDER "/org/freedesktop/gstreamer/opencl/library/"

namespace opencl {
/* --- sources --- */

namespace {
/* A GResource, or a file on disk */
struct File {
  std::string path;
  bool on_disk = false;

  bool operator<(const File &other) const { return path < other.path; }
  File beside (const std::string &name) const
  {
    return {path.substr (0, begin_of_name (path)) + name, on_disk};
  }
};

bool
exists (const File &file)
{
  return file.on_disk ? g_file_test (file.path.c_str (), G_FILE_TEST_IS_REGULAR)
                      : g_resources_get_info (file.path.c_str (),
                          G_RESOURCE_LOOKUP_FLAGS_NONE, nullptr, nullptr, nullptr);
}

bool
read_file (const File &file, std::string &text, GError **error)
{
  if (file.on_disk)
    return opencl::read_file (file.path, text, error);
  GBytes *bytes =
      g_resources_lookup_data (file.path.c_str (), G_RESOURCE_LOOKUP_FLAGS_NONE, error);
  if (!bytes)
    return false;
  gsize size;
  auto *data = static_cast<const char *> (g_bytes_get_data (bytes, &size));
  text.assign (data, size);
  g_bytes_unref (bytes);
  return true;
}

/* Returns the text after `prefix` and blanks, or an empty string */
std::string
after (const std::string &text, const char *prefix)
{
  gsize at = text.find_first_not_of (" \t");
  if (at == std::string::npos || text.compare (at, strlen (prefix), prefix) != 0)
    return "";
  at = text.find_first_not_of (" \t", at + strlen (prefix));
  return at == std::string::npos ? "" : text.substr (at);
}

/* Returns a file's name as `#line` takes it, without characters that end or escape a string. */
std::string
quotable (std::string name)
{
  for (char &c : name)
    c = strchr ("\"\\\n\r", c) ? '_' : c;
  return name;
}

/* Returns the file that `line` of `from` includes. Its path is empty if the line includes
 * none, or one that is left to the compiler. */
File
file_of_include (const std::string &line, const File &from)
{
  std::string name = after (after (line, "#"), "include");
  if (name.empty () || (name[0] != '"' && name[0] != '<'))
    return {};
  gsize end = name.find (name[0] == '<' ? '>' : '"', 1);
  if (end == std::string::npos)
    return {};
  std::string file = name.substr (1, end - 1);
  if (name[0] == '"' && !from.path.empty () && exists (from.beside (file)))
    return from.beside (file);
  File of_library = {LIBRARY_FOLDER + file};
  return exists (of_library) ? of_library : File ();
}

class Expansion {
public:
  /* `#line` makes the compiler count lines as in the original file. */
  bool add_file (const File &file, GError **error)
  {
    std::string text, name = quotable (name_of_file (file.path));
    if (!included.insert (file).second)
      return true;
    if (!read_file (file, text, error))
      return false;
    result += "#line 1 \"" + name + "\"\n";
    return add_lines (text, file, name, error);
  }

  bool add_lines (
      const std::string &text, const File &from, const std::string &name, GError **error)
  {
    std::istringstream lines (text);
    std::string line;
    for (guint number = 1; std::getline (lines, line); number++) {
      File file = file_of_include (line, from);
      if (file.path.empty ()) {
        result += line + '\n';
        continue;
      }
      if (!add_file (file, error))
        return false;
      result += "#line " + std::to_string (number + 1) + " \"" + name + "\"\n";
    }
    return true;
  }

  std::string result;

private:
  std::set<File> included;
};
} // namespace

static bool
expand (const File &file, std::string &source, GError **error)
{
  Expansion expansion;
  if (!expansion.add_file (file, error))
    return false;
  source = std::move (expansion.result);
  return true;
}

bool
source_of_resource (const char *path, std::string &source, GError **error)
{
  return expand ({path}, source, error);
}

std::string
source_of_text (const char *text)
{
  Expansion expansion;
  expansion.result = "#line 1 \"source\"\n";
  expansion.add_lines (text, {}, "source", nullptr);
  return std::move (expansion.result);
}

bool
source_of_file (const char *path, std::string &source, GError **error)
{
  return expand ({path, true}, source, error);
}

/* Returns "file:line" for a line of the expanded `source`, counted from 1. */
static std::string
place_of_line (const std::string &source, gulong wanted)
{
  std::istringstream lines (source);
  std::string line, name = "source";
  gulong number = 0;

  for (gulong n = 1; n <= wanted && std::getline (lines, line); n++) {
    unsigned long next;
    char file[256];
    number++;
    if (sscanf (line.c_str (), "#line %lu \"%255[^\"]\"", &next, file) == 2) {
      number = next - 1;
      name = file;
    }
  }
  return name + ":" + std::to_string (number);
}

std::string
map_log_lines (const std::string &log, const std::string &source)
{
  static const std::string mark = "<kernel>:";
  std::string named;
  gsize rest = 0, at;

  while ((at = log.find (mark, rest)) != std::string::npos) {
    gsize number = at + mark.size (), end = log.find_first_not_of ("0123456789", number);
    std::string digits = log.substr (number, std::min (end, log.size ()) - number);
    bool is_line = !digits.empty () && digits.size () <= 9;
    named += log.substr (rest, at - rest);
    named += is_line ? place_of_line (source, std::stoul (digits)) : mark + digits;
    rest = number + digits.size ();
  }
  return named + log.substr (rest);
}

/* --- cache of built programs in a process --- */

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
