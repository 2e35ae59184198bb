/* The elements that the plugin "inferenceopencl" registers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE (opencldrawboxes);
GST_ELEMENT_REGISTER_DECLARE (openclinference);
GST_ELEMENT_REGISTER_DECLARE (opencltensordecoder);

G_END_DECLS
