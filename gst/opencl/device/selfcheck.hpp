/* Self-check: tests whether an engine computes correctly on a device
 *
 * An engine is an implementation that some drivers compile incorrectly, such as a fused
 * kernel. The program gst-opencl-check runs it on a known input and compares the result
 * with a computation on the host. That is done once for each device, driver version and
 * build. The verdict is kept in gst-opencl/verdicts of the user's cache folder. That of a
 * crash or a failed build is kept for some days. A check that gave no result counts as wrong
 * in this process only.
 *
 * GST_OPENCL_SELF_CHECK=0 in the environment trusts every engine. Another number is the
 * processor time in seconds after which an engine counts as hanging. With
 * GST_OPENCL_WAIT_FOR_CHECKS set, elements wait for each verdict, so that results do not
 * depend on time.
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS
/* Returns TRUE if the engine passed its check or cannot be checked. Does not wait:
 * returns FALSE while the check runs. The first call for an engine without a verdict
 * starts the check. */
GST_OPENCL_API gboolean gst_opencl_context_trusts_engine (
    GstOpenCLContext *context, const gchar *engine);

/* Waits for the verdict of an engine that has no replacement. Returns FALSE with an error
 * if it is wrong. The error names driver, engine and difference. */
GST_OPENCL_API gboolean gst_opencl_context_require_engine (
    GstOpenCLContext *context, const gchar *engine, GError **error);

/* Posts a WARNING of `element` if `engine` is known to be wrong, once for each context.
 * It names driver, engine, difference and `instead`, the replacement. Returns whether the
 * engine is wrong. Starts no check. */
GST_OPENCL_API gboolean gst_opencl_context_warn_of_engine (GstOpenCLContext *context,
    const gchar *engine, GstElement *element, const gchar *instead);

/* Returns the number of verdicts since the process began. When it changes, elements that
 * were refused an engine choose again. */
GST_OPENCL_API guint gst_opencl_get_n_verdicts (void);

/* Returns the names of all engines. (transfer full) (array zero-terminated=1) */
GST_OPENCL_API gchar **gst_opencl_get_engines (void);

/* Returns "right", "wrong: DIFFERENCE", "unusable: REASON", "failed: REASON",
 * "unchecked: REASON" or "pending". The verdict is that of the cache, or with `rerun` that
 * of a new check, for which this call waits. (transfer full) */
GST_OPENCL_API gchar *gst_opencl_device_get_verdict (
    gpointer device, const gchar *engine, gboolean rerun);
G_END_DECLS

namespace opencl {
/* Returns true if an engine is known to be wrong. For engines that are used until then,
 * because they have no simpler replacement. The first call starts the check. Used only by
 * the library. */
bool is_faulty_engine (GstOpenCLContext *context, const char *engine);
} // namespace opencl
