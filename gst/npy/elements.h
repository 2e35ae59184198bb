/* The elements that the plugin "npyopencl" registers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* GST_ELEMENT_REGISTER_DECLARE (NAME); one line per element, in alphabetical order. */
GST_ELEMENT_REGISTER_DECLARE (npyparse);
GST_ELEMENT_REGISTER_DECLARE (npysink);

GST_TYPE_FIND_REGISTER_DECLARE (npy);

G_END_DECLS
