/* OpenCL C and built programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/core/opencl-hpp.hpp>

#include <functional>
#include <glib.h>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace opencl {
/* Loads a resource. Returns false with an error if there is no such resource. */
bool source_of_resource (const char *path, std::string &source, GError **error);

/* Loads a file. Returns false with an error if it cannot be read. */
bool source_of_file (const char *path, std::string &source, GError **error);

/* Resolves the includes of `text`, which a build log calls "source". */
std::string source_of_text (const char *text);

/* Returns the build log of `source` with the original files and lines. NVIDIA's compiler
 * ignores `#line` and counts the lines of the expanded source: "<kernel>:25". */
std::string map_log_lines (const std::string &log, const std::string &source);

/* The most recently used programs of a context. Threads that want the same program build
 * it once; threads that want different ones do not wait for each other. A program that
 * leaves the cache lives as long as its kernels. */
class ProgramCache {
public:
  /* More than all elements of a pipeline use at once; PoCL takes 0.2 MB for each. */
  static constexpr gsize maximum = 64;

  /* Returns an empty program with an error set if the build fails. */
  using Build = std::function<cl::Program ()>;

  /* Returns the program of `key`, and builds it if it is not in the cache. (transfer
   * full) (nullable) */
  cl_program get (const std::string &key, const Build &build, GError **error);
  gsize size ();

private:
  struct Entry {
    std::mutex lock; /* held while the program is built */
    cl::Program program;
  };
  struct Cached {
    std::shared_ptr<Entry> entry;
    std::list<std::string>::iterator place; /* in `recent` */
  };

  std::shared_ptr<Entry> find_or_add (const std::string &key);
  void remove (const std::string &key, const std::shared_ptr<Entry> &entry);

  std::mutex lock;
  std::map<std::string, Cached> entries;
  std::list<std::string> recent; /* keys, most recently used first */
};
} // namespace opencl
