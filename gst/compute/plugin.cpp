/* Plugin "computeopencl": user-supplied programs, convolutions, reductions and
 * Fourier transforms
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elements.h"

static gboolean
plugin_init (GstPlugin *plugin)
{
  gboolean registered = FALSE;

  /* In alphabetical order */
  registered |= GST_ELEMENT_REGISTER (openclconvolve, plugin);
  registered |= GST_ELEMENT_REGISTER (openclfft, plugin);
  registered |= GST_ELEMENT_REGISTER (openclkernel, plugin);
  registered |= GST_ELEMENT_REGISTER (openclkernelmixer, plugin);
  registered |= GST_ELEMENT_REGISTER (openclkernelsrc, plugin);
  registered |= GST_ELEMENT_REGISTER (openclreduce, plugin);

  return registered;
}

GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, computeopencl,
    "User-supplied programs and operations on arrays on OpenCL devices", plugin_init,
    PACKAGE_VERSION, GST_LICENSE, PACKAGE_NAME, PACKAGE_ORIGIN)
