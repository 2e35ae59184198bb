/* opencl-bench: shared pointers to GStreamer objects
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <memory>

namespace bench {
using Buffer = std::shared_ptr<GstBuffer>;
using Caps = std::shared_ptr<GstCaps>;
using Element = std::shared_ptr<GstElement>;

/* Each takes ownership of the reference. */
inline Buffer
hold (GstBuffer *buffer)
{
  return Buffer (buffer, gst_buffer_unref);
}

inline Caps
hold (GstCaps *caps)
{
  return Caps (caps, gst_caps_unref);
}

inline Element
hold (GstElement *element)
{
  return Element (element, gst_object_unref);
}
} // namespace bench
