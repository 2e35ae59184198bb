/* Simulates a full disk; include it once per program
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
/* Bytes until the disk is full; negative: unlimited */
std::atomic<gssize> room{-1};
} // namespace check

/* Overrides the C library's function. */
extern "C" ssize_t
pwrite64 (int descriptor, const void *data, size_t size, off64_t offset)
{
  using Write = ssize_t (*) (int, const void *, size_t, off64_t);
  static const Write write = reinterpret_cast<Write> (dlsym (RTLD_NEXT, "pwrite64"));
  if (check::room >= 0 && offset > 0) { /* a header is rewritten in place */
    if (check::room == 0) {
      errno = ENOSPC;
      return -1;
    }
    size = std::min (size, gsize (check::room));
    check::room -= gssize (size);
  }
  return write (descriptor, data, size, offset);
}
