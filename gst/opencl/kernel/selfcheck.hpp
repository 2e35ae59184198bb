/* Self-check: whether an engine computes correctly on a device
 *
 * An engine is a way to do an element's work that not every driver compiles right, such as a
 * fused kernel. The program gst-opencl-check runs it on a known input and compares the result
 * with the host's. That is done once for a device, driver version and build; the verdict is
 * kept in gst-opencl/verdicts of the user's cache folder.
 *
 * GST_OPENCL_SELF_CHECK=0 in the environment trusts every engine. Another number is the
 * processor time in seconds after which an engine counts as hanging.
 *
 * Not installed.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/gstopenclcontext.h>

G_BEGIN_DECLS
/* Does not wait: FALSE while the engine is being checked, too. The first call for an engine
 * without a verdict starts the check. */
GST_OPENCL_API gboolean gst_opencl_context_trusts_engine (
    GstOpenCLContext *context, const gchar *engine);

/* Waits for the verdict, for engines that nothing can replace. FALSE with an error that names
 * driver, engine and difference. */
GST_OPENCL_API gboolean gst_opencl_context_require_engine (
    GstOpenCLContext *context, const gchar *engine, GError **error);

/* Posts a WARNING of `element` if `engine` is known to be wrong: driver, engine, difference
 * and `instead`, what is used in its place; one for each context. Returns whether it is wrong.
 * Checks nothing. */
GST_OPENCL_API gboolean gst_opencl_context_warn_of_engine (GstOpenCLContext *context,
    const gchar *engine, GstElement *element, const gchar *instead);

/* Counts verdicts that have come since the process began: elements that were refused an engine
 * choose again when it changes. */
GST_OPENCL_API guint gst_opencl_get_n_verdicts (void);

/* (transfer full) (array zero-terminated=1): the names of all engines */
GST_OPENCL_API gchar **gst_opencl_get_engines (void);

/* (transfer full): "right", "wrong: DIFFERENCE" or "pending", as kept in the cache, or `anew`
 * after a check that this call waits for. */
GST_OPENCL_API gchar *gst_opencl_device_get_verdict (
    gpointer device, const gchar *engine, gboolean anew);
G_END_DECLS

namespace opencl {
/* Whether an engine is known to be wrong, for one that works until it is: there is no plainer
 * one. The first call starts the check. The library's own. */
bool is_faulty_engine (GstOpenCLContext *context, const char *engine);
} // namespace opencl
