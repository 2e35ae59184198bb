// Precompiled header of the tests. Each file still includes what it needs, so a build with meson's
// b_pch=false works too.
//
// SPDX-License-Identifier: LGPL-2.1-or-later

#include "harness.hpp"

#include <functional>
#include <gst/opencl/opencl.h>
