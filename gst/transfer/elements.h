/* The elements that the plugin "opencl" registers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE (openclcompositor);
GST_ELEMENT_REGISTER_DECLARE (openclconvert);
GST_ELEMENT_REGISTER_DECLARE (opencldownload);
GST_ELEMENT_REGISTER_DECLARE (openclupload);

G_END_DECLS
