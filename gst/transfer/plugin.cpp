/* Plugin "transferopencl": upload, download, conversion, composition and openclstats
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elements.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean registered = FALSE;

  registered |= GST_ELEMENT_REGISTER (openclcompositor, plugin);
  registered |= GST_ELEMENT_REGISTER (openclcompositorbin, plugin);
  registered |= GST_ELEMENT_REGISTER (openclconvert, plugin);
  registered |= GST_ELEMENT_REGISTER (openclconvertbin, plugin);
  registered |= GST_ELEMENT_REGISTER (opencldownload, plugin);
  registered |= GST_ELEMENT_REGISTER (openclfilterbin, plugin);
  registered |= GST_ELEMENT_REGISTER (openclupload, plugin);
  registered |=
      gst_tracer_register (plugin, "openclstats", gst_opencl_stats_tracer_get_type ());

  return registered;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, transferopencl,
    "Upload, download, conversion and composition on OpenCL devices", plugin_init,
    PACKAGE_VERSION, GST_LICENSE, PACKAGE_NAME, PACKAGE_ORIGIN)
