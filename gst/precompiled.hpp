// What most files of the library and the plugins include and nobody here changes, compiled
// once for each of them: half of a build's time was these headers. Each file includes what it
// needs all the same (meson's b_pch=false builds without).
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

#include <gst/opencl/base/opencl-hpp.hpp>
