/* gstreamer-opencl tests: one context for all elements of a test
 *
 * Elements share the context of a device, and its built programs, as long as the context
 * has an owner. A test that holds a context builds each program once, however many
 * elements it starts and stops. A vendor's compiler takes up to a second for one program.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "harness.hpp"

#include <gst/opencl/gstopenclcontext.h>

namespace check {
inline GstOpenCLContext *held_context = nullptr;

/* Every test of a file that includes this header holds a context. */
inline const bool one_context_is_held = around_each_test (
    [] {
      held_context = gst_opencl_context_new (nullptr, nullptr);
      fail_unless (held_context != nullptr);
    },
    [] { gst_clear_object (&held_context); });
} // namespace check
