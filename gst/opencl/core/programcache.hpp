/* Cache of built programs in a process
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/base/opencl-hpp.hpp>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace opencl {
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
