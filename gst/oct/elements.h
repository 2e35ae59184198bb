/* Registration functions of the elements of plugin "octopencl"
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* GST_ELEMENT_REGISTER_DECLARE (NAME); one line per element, in alphabetical order. */
GST_ELEMENT_REGISTER_DECLARE (octangio);
GST_ELEMENT_REGISTER_DECLARE (octattenuation);
GST_ELEMENT_REGISTER_DECLARE (octaverage);
GST_ELEMENT_REGISTER_DECLARE (octbackground);
GST_ELEMENT_REGISTER_DECLARE (octdisplay);
GST_ELEMENT_REGISTER_DECLARE (octdoppler);
GST_ELEMENT_REGISTER_DECLARE (octfft);
GST_ELEMENT_REGISTER_DECLARE (octfileparse);
GST_ELEMENT_REGISTER_DECLARE (octfilesink);
GST_ELEMENT_REGISTER_DECLARE (octflatten);
GST_ELEMENT_REGISTER_DECLARE (octrawparse);
GST_ELEMENT_REGISTER_DECLARE (octregister);
GST_ELEMENT_REGISTER_DECLARE (octrender);
GST_ELEMENT_REGISTER_DECLARE (octscan);
GST_ELEMENT_REGISTER_DECLARE (octsignal);
GST_ELEMENT_REGISTER_DECLARE (octsurface);
GST_ELEMENT_REGISTER_DECLARE (octtestsrc);
GST_ELEMENT_REGISTER_DECLARE (octvolume);
GST_ELEMENT_REGISTER_DECLARE (octwindowinterp);

GST_TYPE_FIND_REGISTER_DECLARE (oct);

G_END_DECLS
