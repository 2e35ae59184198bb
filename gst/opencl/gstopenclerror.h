/* Checks OpenCL return codes and reports failures
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS

/**
 * GST_OPENCL_ERROR:
 *
 * Domain of the errors that come from OpenCL itself; codes are #GstOpenCLError.
 *
 * Since: 0.2
 */
#define GST_OPENCL_ERROR (gst_opencl_error_quark ())

/**
 * GstOpenCLError:
 * @GST_OPENCL_ERROR_FAILED: a call failed; the message names the call and the code
 * @GST_OPENCL_ERROR_NO_DEVICE: no device, or none that matches what was asked for
 * @GST_OPENCL_ERROR_BUILD: a program did not build; the message carries the build log
 * @GST_OPENCL_ERROR_NO_MEMORY: the device or the host ran out of memory
 * @GST_OPENCL_ERROR_UNSUPPORTED: the device or library cannot do what was asked for
 *
 * Why something failed.
 *
 * Since: 0.2
 */
typedef enum {
  GST_OPENCL_ERROR_FAILED,
  GST_OPENCL_ERROR_NO_DEVICE,
  GST_OPENCL_ERROR_BUILD,
  GST_OPENCL_ERROR_NO_MEMORY,
  GST_OPENCL_ERROR_UNSUPPORTED,
} GstOpenCLError;

#define GST_TYPE_OPENCL_ERROR (gst_opencl_error_get_type ())
/**
 * gst_opencl_error_get_type:
 *
 * Returns: the #GType of #GstOpenCLError
 *
 * Since: 0.2
 */
GST_OPENCL_API GType gst_opencl_error_get_type (void);

/**
 * gst_opencl_error_quark:
 *
 * Returns: %GST_OPENCL_ERROR
 *
 * Since: 0.2
 */
GST_OPENCL_API GQuark gst_opencl_error_quark (void);

/**
 * gst_opencl_error_name:
 * @code: (type gint): an OpenCL return code
 *
 * Returns: (transfer none): its name as in cl.h ("CL_INVALID_VALUE"), or
 *   "unknown OpenCL error"
 *
 * Since: 0.2
 */
GST_OPENCL_API const gchar *gst_opencl_error_name (cl_int code);

/**
 * gst_opencl_check:
 * @code: (type gint): what an OpenCL call returned
 * @call: the call's name, "clCreateBuffer"
 * @error: (out) (optional): set when @code is not CL_SUCCESS; one that is set already
 *   is kept, so that the first failure is the one reported
 *
 * The one place where OpenCL return codes become errors.
 *
 * Returns: whether @code is CL_SUCCESS
 *
 * Since: 0.2
 */
GST_OPENCL_API gboolean gst_opencl_check (cl_int code, const gchar *call, GError **error);

/**
 * gst_opencl_post_error:
 * @element: the element that failed
 * @error: (transfer full): why; freed
 *
 * Posts one element error. The first line of the message is what a user reads, the rest
 * (a build log) goes into the debug text. Errors of #GST_RESOURCE_ERROR,
 * #GST_STREAM_ERROR, #GST_LIBRARY_ERROR and #GST_CORE_ERROR keep domain and code; those of
 * #GST_OPENCL_ERROR are mapped to the nearest #GstResourceError or #GstLibraryError.
 *
 * Since: 0.2
 */
GST_OPENCL_API void gst_opencl_post_error (GstElement *element, GError *error);

G_END_DECLS
