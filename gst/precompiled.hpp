// Precompiled headers of the library and the plugins: headers of other projects that most files
// include. They took half of a build's time. Each file still includes what it needs, so a build
// with meson's b_pch=false works too.
//
// SPDX-License-Identifier: LGPL-2.1-or-later

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gst/base/base.h>
#include <gst/video/video.h>

#include <gst/opencl/core/opencl-hpp.hpp>
