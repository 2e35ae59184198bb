/* Loads cairo, which draws text and which not every server has
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "cairo.hpp"

#include <gmodule.h>
#include <string>

namespace opencl {
namespace {
struct Loaded {
  Cairo cairo;
  std::string error; /* empty: loaded */

  Loaded ();
};

Loaded::Loaded ()
{
  GModule *module = g_module_open (CAIRO_LIBRARY, G_MODULE_BIND_LOCAL);
  bool found = module != nullptr;
#define OPENCL_CAIRO_FIND(name)                                                          \
  found = found                                                                          \
          && g_module_symbol (                                                           \
              module, "cairo_" #name, reinterpret_cast<gpointer *> (&cairo.name));
  OPENCL_CAIRO_FUNCTIONS (OPENCL_CAIRO_FIND)
#undef OPENCL_CAIRO_FIND
  if (found)
    g_module_make_resident (module);
  else
    error = std::string ("cairo is missing, which draws text: ") + g_module_error ();
}
} // namespace

const Cairo *
Cairo::load (GError **error)
{
  static const Loaded loaded;
  if (loaded.error.empty ())
    return &loaded.cairo;
  g_set_error_literal (
      error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_INIT, loaded.error.c_str ());
  return nullptr;
}
} // namespace opencl
