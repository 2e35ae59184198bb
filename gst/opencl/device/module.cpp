/* Modules: code that links libraries which not every system has
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "module.h"

#include <gst/common/platform.hpp>
#include <gst/opencl/gstopenclerror.h>

#include <gmodule.h>

gpointer
gst_opencl_load_module (const gchar *name, const gchar *symbol, GError **error)
{
  const std::string file = std::string (name) + "." G_MODULE_SUFFIX;
  const std::string path = opencl::find_helper_file (file);
  gpointer found = nullptr;

  GModule *module =
      path.empty () ? nullptr : g_module_open (path.c_str (), G_MODULE_BIND_LOCAL);
  if (module && g_module_symbol (module, symbol, &found))
    g_module_make_resident (module);
  else
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED, "%s",
        path.empty () ? (file + " is not installed").c_str () : g_module_error ());
  return found;
}
