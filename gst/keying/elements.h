/* The elements that the plugin "keyingopencl" registers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE (chromakey);
GST_ELEMENT_REGISTER_DECLARE (flowkey);
GST_ELEMENT_REGISTER_DECLARE (greenscreenbin);
GST_ELEMENT_REGISTER_DECLARE (keyfill);
GST_ELEMENT_REGISTER_DECLARE (matterefine);
GST_ELEMENT_REGISTER_DECLARE (matteshape);
GST_ELEMENT_REGISTER_DECLARE (noisereduce);
GST_ELEMENT_REGISTER_DECLARE (splashkey);

G_END_DECLS
