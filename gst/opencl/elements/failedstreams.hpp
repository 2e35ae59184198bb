/* Streams that a device error ended, shared by all elements of a pipeline
 *
 * When one element fails, its source ends the stream, and all other elements see an end like
 * any other: a branch of a tee, a mixer that has further inputs. A stream is known by the
 * group of its STREAM_START event, which is the same in all branches; without one nothing is
 * known.
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* For the streams of all pads of an element. In any thread. */
void mark_streams_failed (GstElement *element);
void unmark_streams (GstElement *element);
bool has_failed_stream (GstElement *element);
} // namespace opencl
