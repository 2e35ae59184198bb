/* opencl-bench: the cases of convolutions
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "session.hpp"

namespace bench {
/* Each size by the method that is chosen for it, and by others' programs. */
std::vector<Case> convolutions_of_compute ();
} // namespace bench
