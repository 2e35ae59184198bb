/* Finds a linked element that does not take OpenCL memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "memorymismatch.hpp"

#include <gst/opencl/gstopenclmemory.h>

namespace opencl {
namespace {
bool
is_device_memory (const GstCapsFeatures *features)
{
  return gst_caps_features_contains (features, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
}

bool
is_only_device_memory (const GstCaps *caps)
{
  bool is = !gst_caps_is_any (caps) && !gst_caps_is_empty (caps);
  for (guint n = 0; n < gst_caps_get_size (caps); n++)
    is = is && is_device_memory (gst_caps_get_features (caps, n));
  return is;
}

/* Returns false for EMPTY caps, which may have another cause. */
bool
has_no_device_memory (const GstCaps *caps)
{
  bool is = !gst_caps_is_any (caps) && !gst_caps_is_empty (caps);
  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    const GstCapsFeatures *features = gst_caps_get_features (caps, n);
    is = is && !gst_caps_features_is_any (features) && !is_device_memory (features);
  }
  return is;
}

std::string
name_of_parent (GstPad *pad)
{
  GstObject *parent = gst_object_get_parent (GST_OBJECT (pad));
  std::string name = parent ? GST_OBJECT_NAME (parent) : "an element";
  gst_clear_object (&parent);
  return name;
}
} // namespace

std::string
find_memory_mismatch (GstPad *source)
{
  GstPad *peer = gst_pad_get_peer (source);
  std::string text;
  if (!peer)
    return text;
  GstCaps *given = gst_pad_get_pad_template_caps (source);
  GstCaps *taken = gst_pad_query_caps (peer, nullptr);
  if (is_only_device_memory (given) && has_no_device_memory (taken))
    text = name_of_parent (source) + " sends frames in OpenCL memory, which "
           + name_of_parent (peer) + " does not accept: add opencldownload between them";
  gst_caps_unref (taken);
  gst_caps_unref (given);
  gst_object_unref (peer);
  return text;
}
} // namespace opencl
