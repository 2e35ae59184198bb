/* Plugin "inferenceopencl": neural networks on OpenCL devices
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elements.h"
#include "outputsmeta.hpp"

static gboolean
plugin_init (GstPlugin *plugin)
{
  const gchar *tags[] = {GST_META_TAG_VIDEO_SIZE_STR, nullptr};
  gst_meta_register_custom (CLASS_MAP_META, tags, nullptr, nullptr, nullptr);
  return GST_ELEMENT_REGISTER (openclinference, plugin)
         && GST_ELEMENT_REGISTER (opencltensordecoder, plugin)
         && GST_ELEMENT_REGISTER (opencldrawboxes, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, inferenceopencl,
    "Neural networks on OpenCL devices", plugin_init, PACKAGE_VERSION, GST_LICENSE,
    PACKAGE_NAME, PACKAGE_ORIGIN)
