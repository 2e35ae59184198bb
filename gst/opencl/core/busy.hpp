/* Tells whether a thread compiles, or waits for the device
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <atomic>

namespace opencl {
/* While in scope, the thread builds a program, launches a kernel, which may compile it, or
 * waits for the device. Used only by the library. */
class Busy {
public:
  Busy () { ++threads; }
  ~Busy () { --threads; }
  Busy (const Busy &) = delete;
  Busy &operator= (const Busy &) = delete;

  static bool is_any_thread () { return threads > 0; }

private:
  static inline std::atomic<int> threads{0};
};
} // namespace opencl
