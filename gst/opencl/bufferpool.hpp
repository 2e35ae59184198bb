/* gstreamer-opencl: what the library's own files know of a pool
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclbufferpool.h>

namespace opencl {
/* `error` is (transfer full). */
using ReportFailure = void (*) (GstElement *owner, GError *error);

/* Whoever takes a buffer, a source of another plugin perhaps, only hears that there is
 * none: why is `owner`'s to say, from any thread. Not for a pool that is in use. */
void pool_reports_to (GstBufferPool *pool, GstElement *owner, ReportFailure report);

/* Whether somebody has been told why `pool` (nullable) has no buffer. */
bool pool_has_reported (GstBufferPool *pool);
} // namespace opencl
