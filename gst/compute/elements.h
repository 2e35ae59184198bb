/* The elements that the plugin "computeopencl" registers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE (openclconvolve);
GST_ELEMENT_REGISTER_DECLARE (openclfft);
GST_ELEMENT_REGISTER_DECLARE (openclkernel);
GST_ELEMENT_REGISTER_DECLARE (openclkernelmixer);
GST_ELEMENT_REGISTER_DECLARE (openclkernelsrc);
GST_ELEMENT_REGISTER_DECLARE (openclreduce);

G_END_DECLS
