/* Plugin "npyopencl": NumPy's .npy files
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/gst.h>

#include "elements.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean registered = FALSE;

  /* One line per element, in alphabetical order. */
  registered |= GST_ELEMENT_REGISTER (npyparse, plugin);
  registered |= GST_ELEMENT_REGISTER (npysink, plugin);
  registered |= GST_TYPE_FIND_REGISTER (npy, plugin);

  return registered;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, npyopencl, "NumPy .npy files",
    plugin_init, PACKAGE_VERSION, GST_LICENSE, PACKAGE_NAME, PACKAGE_ORIGIN)
