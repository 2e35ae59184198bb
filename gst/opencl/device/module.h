/* Modules: code that links libraries which not every system has
 *
 * Not installed: for this project's own plugins.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/opencl/opencl-prelude.h>

G_BEGIN_DECLS
/**
 * gst_opencl_load_module:
 * @name: name of the module's file, without extension
 * @symbol: name of a variable of the module
 * @error: set with what is missing
 *
 * Loads a module of this library at the first call. It stays loaded.
 *
 * Returns: (nullable): the address of @symbol
 */
GST_OPENCL_API gpointer gst_opencl_load_module (
    const gchar *name, const gchar *symbol, GError **error);
G_END_DECLS
