/* Error domain of OpenCL
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
 * @GST_OPENCL_ERROR_NO_DEVICE: no device, or none that matches the request
 * @GST_OPENCL_ERROR_BUILD: a program did not build; the message carries the build log
 * @GST_OPENCL_ERROR_NO_MEMORY: the device or the host ran out of memory
 * @GST_OPENCL_ERROR_UNSUPPORTED: the device or library does not support the request
 *
 * Error codes of %GST_OPENCL_ERROR.
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

G_END_DECLS
