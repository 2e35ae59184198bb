/* The older names of what harness.hpp has
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

namespace testing {
using namespace check;
}
