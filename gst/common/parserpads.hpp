/* Pads of parsers that pull from sources with random access
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* Activate function of a sink pad: pulls if upstream is seekable, else takes buffers. */
gboolean activate_parser_pad (GstPad *sink, GstObject *parent);

/* Starts the stream of a parser that pulls, in the group of its source. */
void push_parser_stream_start (GstElement *parser, GstPad *sink, GstPad *src);

/* Pushes the first frame. Waits up to half a second for a link: decodebin starts a parser before it
 * links what follows it. */
GstFlowReturn push_first_frame (GstPad *src, GstBuffer *frame);
} // namespace opencl
