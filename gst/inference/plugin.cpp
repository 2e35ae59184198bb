/* Plugin "inferenceopencl": neural networks on OpenCL devices
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elements.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (openclinference, plugin)
         && GST_ELEMENT_REGISTER (opencltensordecoder, plugin)
         && GST_ELEMENT_REGISTER (opencldrawboxes, plugin);
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, inferenceopencl,
    "Neural networks on OpenCL devices", plugin_init, PACKAGE_VERSION, GST_LICENSE,
    PACKAGE_NAME, PACKAGE_ORIGIN)
