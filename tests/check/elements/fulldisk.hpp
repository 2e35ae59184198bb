/* A disk that is full, for a program that includes this once
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <glib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <unistd.h>

namespace check {
/* Bytes that the disk still takes; negative: any number. */
std::atomic<gssize> room{-1};
} // namespace check

/* In front of the C library's */
extern "C" ssize_t
pwrite64 (int descriptor, const void *data, size_t size, off64_t offset)
{
  using Write = ssize_t (*) (int, const void *, size_t, off64_t);
  static const Write write = reinterpret_cast<Write> (dlsym (RTLD_NEXT, "pwrite64"));
  if (check::room >= 0 && offset > 0) { /* a header stands where one stood before */
    if (check::room == 0) {
      errno = ENOSPC;
      return -1;
    }
    size = std::min (size, gsize (check::room));
    check::room -= gssize (size);
  }
  return write (descriptor, data, size, offset);
}
