/* The elements that the plugin "transferopencl" registers
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

GST_ELEMENT_REGISTER_DECLARE (openclcompositor);
GST_ELEMENT_REGISTER_DECLARE (openclcompositorbin);
GST_ELEMENT_REGISTER_DECLARE (openclconvert);
GST_ELEMENT_REGISTER_DECLARE (openclconvertbin);
GST_ELEMENT_REGISTER_DECLARE (opencldownload);
GST_ELEMENT_REGISTER_DECLARE (openclfilterbin);
GST_ELEMENT_REGISTER_DECLARE (openclupload);

/* Types of the elements whose properties the bins forward */
GType gst_opencl_compositor_get_type (void);
GType gst_opencl_convert_get_type (void);

/* The tracer that it registers, too */
GType gst_opencl_stats_tracer_get_type (void);

G_END_DECLS
