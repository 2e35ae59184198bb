/* Checks OpenCL return codes and reports failures
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/elementerror.hpp>
#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * gst_opencl_error_name:
 * @code: (type gint): an OpenCL return code
 *
 * Returns: (transfer none): its name as in cl.h ("CL_INVALID_VALUE"), or
 *   "unknown OpenCL error"
 */
GST_OPENCL_API const gchar *gst_opencl_error_name (cl_int code);

/**
 * gst_opencl_check:
 * @code: (type gint): the return code of an OpenCL call
 * @call: the call's name, "clCreateBuffer"
 * @error: (out) (optional): set when @code is not CL_SUCCESS; one that is set already
 *   is kept, so that the first failure is the one reported
 *
 * Converts an OpenCL return code to an error.
 *
 * Returns: whether @code is CL_SUCCESS
 */
GST_OPENCL_API gboolean gst_opencl_check (cl_int code, const gchar *call, GError **error);

/**
 * gst_opencl_post_error:
 * @element: the element that failed
 * @error: (transfer full): the reason; freed
 * @place: the position in the sources that the debug text names
 *
 * Posts one element error. The first line of the error is the message. Further lines,
 * such as a build log, are the debug text. Errors of #GST_RESOURCE_ERROR,
 * #GST_STREAM_ERROR, #GST_LIBRARY_ERROR and #GST_CORE_ERROR keep domain and code. Those
 * of #GST_OPENCL_ERROR are mapped to the nearest #GstResourceError or #GstLibraryError.
 */
GST_OPENCL_API void gst_opencl_post_error (GstElement *element, GError *error,
    const opencl::Place &place = opencl::Place::here ());

G_END_DECLS
