/* Plugin "octopencl": OCT processing on OpenCL devices
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/gst.h>

#include "elements.h"
#include "octscanmeta.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean registered = FALSE;

  gst_oct_scan_meta_register ();

  /* One line per element, in alphabetical order. */
  registered |= GST_ELEMENT_REGISTER (octangio, plugin);
  registered |= GST_ELEMENT_REGISTER (octattenuation, plugin);
  registered |= GST_ELEMENT_REGISTER (octaverage, plugin);
  registered |= GST_ELEMENT_REGISTER (octbackground, plugin);
  registered |= GST_ELEMENT_REGISTER (octdisplay, plugin);
  registered |= GST_ELEMENT_REGISTER (octdoppler, plugin);
  registered |= GST_ELEMENT_REGISTER (octdynamic, plugin);
  registered |= GST_ELEMENT_REGISTER (octfft, plugin);
  registered |= GST_ELEMENT_REGISTER (octfileparse, plugin);
  registered |= GST_ELEMENT_REGISTER (octfilesink, plugin);
  registered |= GST_ELEMENT_REGISTER (octflatten, plugin);
  registered |= GST_ELEMENT_REGISTER (octrawparse, plugin);
  registered |= GST_ELEMENT_REGISTER (octregister, plugin);
  registered |= GST_ELEMENT_REGISTER (octrender, plugin);
  registered |= GST_ELEMENT_REGISTER (octscan, plugin);
  registered |= GST_ELEMENT_REGISTER (octsignal, plugin);
  registered |= GST_ELEMENT_REGISTER (octsurface, plugin);
  registered |= GST_ELEMENT_REGISTER (octtestsrc, plugin);
  registered |= GST_ELEMENT_REGISTER (octvolume, plugin);
  registered |= GST_ELEMENT_REGISTER (octwindowinterp, plugin);
  registered |= GST_TYPE_FIND_REGISTER (oct, plugin);

  return registered;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, octopencl,
    "Optical coherence tomography on OpenCL devices", plugin_init, PACKAGE_VERSION,
    GST_LICENSE, PACKAGE_NAME, PACKAGE_ORIGIN)
