/* Plugin "keyingopencl": green-screen keying on OpenCL devices
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elements.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean registered = FALSE;

  registered |= GST_ELEMENT_REGISTER (chromakey, plugin);
  registered |= GST_ELEMENT_REGISTER (flowkey, plugin);
  registered |= GST_ELEMENT_REGISTER (greenscreenbin, plugin);
  registered |= GST_ELEMENT_REGISTER (keyfill, plugin);
  registered |= GST_ELEMENT_REGISTER (matterefine, plugin);
  registered |= GST_ELEMENT_REGISTER (matteshape, plugin);
  registered |= GST_ELEMENT_REGISTER (noisereduce, plugin);
  registered |= GST_ELEMENT_REGISTER (splashkey, plugin);

  return registered;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, keyingopencl,
    "Keying on OpenCL devices", plugin_init, PACKAGE_VERSION, GST_LICENSE, PACKAGE_NAME,
    PACKAGE_ORIGIN)
