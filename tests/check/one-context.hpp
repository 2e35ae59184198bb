/* gstreamer-opencl tests: all elements of a test in one context
 *
 * Elements share the context of a device as long as it has an owner, with its built programs.
 * A test that holds a context builds each program once, however many elements it starts and
 * stops. A vendor's compiler takes up to a second for one program.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

#include <gst/opencl/opencl.h>

namespace check {
inline GstOpenCLContext *held_context = nullptr;

/* A file that includes this holds one in each of its tests. */
inline const bool one_context_is_held = around_each_test (
    [] {
      held_context = gst_opencl_context_new (nullptr, nullptr);
      fail_unless (held_context != nullptr);
    },
    [] { gst_clear_object (&held_context); });
} // namespace check
