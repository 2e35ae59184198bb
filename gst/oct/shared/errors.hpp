/* Errors of settings and of formats
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

/* Set an error of settings that are invalid or contradict each other, or of data or caps
 * that cannot be processed. The further arguments are those of printf(). The value is
 * false. */
#define REFUSE_SETTINGS(error, ...)                                                      \
  (g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, __VA_ARGS__), false)
#define REFUSE_FORMAT(error, ...)                                                        \
  (g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT, __VA_ARGS__), false)
