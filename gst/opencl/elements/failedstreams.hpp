/* Streams that a device error ended, shared by all elements of a pipeline
 *
 * When one element fails, its source ends the stream. Other elements, such as those in
 * another branch of a tee or a mixer with further inputs, cannot tell this from a normal
 * EOS. A stream is identified by the group id of its STREAM_START event, which is the
 * same in all branches. Streams without a group id are not tracked.
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* These functions act on the streams of all pads of an element, in any thread. */
void mark_streams_failed (GstElement *element);
void unmark_streams (GstElement *element);
bool has_failed_stream (GstElement *element);
} // namespace opencl
