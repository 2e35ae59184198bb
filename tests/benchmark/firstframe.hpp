/* opencl-bench: the time from a process's start to its first frame
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "session.hpp"

namespace bench {
/* Starts this program with empty kernel caches, and then with those that the first start
 * filled. Prints two results: WHAT-cold and WHAT-warm. */
void measure_first_frames (
    Session &session, const std::string &what, const Result::Sizes &sizes);
} // namespace bench
