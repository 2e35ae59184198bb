/* Trust in engines: asks for the verdict of the self-check
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "selfcheck.hpp"

#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

namespace opencl {
namespace {
Verdict
lookup_verdict (cl_device_id device, const char *engine, Lookup lookup)
{
  const auto verdict = driver_hooks ().verdict;
  return verdict ? verdict (cl::Device (device, true), engine, lookup)
                 : Verdict{Verdict::unchecked, "this library has no self-check"};
}

Verdict
verdict_of (GstOpenCLContext *context, const char *engine, Lookup lookup)
{
  if (seconds_of_check () == 0)
    return {Verdict::unchecked, "GST_OPENCL_SELF_CHECK is 0"};
  if (lookup == Lookup::start && g_getenv ("GST_OPENCL_WAIT_FOR_CHECKS"))
    lookup = Lookup::wait;
  return lookup_verdict (gst_opencl_context_get_device (context), engine, lookup);
}

std::string
fault_text (GstOpenCLContext *context, const char *engine, const Verdict &verdict)
{
  const cl::Device device (gst_opencl_context_get_device (context), true);
  return "engine \"" + std::string (engine) + "\" fails on "
         + platform_text (device, CL_PLATFORM_NAME) + ", driver "
         + device.getInfo<CL_DRIVER_VERSION> () + ", "
         + gst_opencl_context_get_device_name (context) + ": " + verdict.difference;
}

bool
is_first_warning (GstOpenCLContext *context, const char *engine)
{
  const std::string key = std::string ("warned-of-") + engine;
  GST_OBJECT_LOCK (context);
  const bool is_first = !g_object_get_data (G_OBJECT (context), key.c_str ());
  g_object_set_data (G_OBJECT (context), key.c_str (), GINT_TO_POINTER (1));
  GST_OBJECT_UNLOCK (context);
  return is_first;
}
} // namespace

bool
is_faulty_engine (GstOpenCLContext *context, const char *engine)
{
  return verdict_of (context, engine, Lookup::start).is_fault ();
}
} // namespace opencl

gboolean
gst_opencl_context_trusts_engine (GstOpenCLContext *context, const gchar *engine)
{
  const opencl::Verdict verdict =
      opencl::verdict_of (context, engine, opencl::Lookup::start);
  return verdict.result == opencl::Verdict::right
         || verdict.result == opencl::Verdict::unchecked;
}

gboolean
gst_opencl_context_require_engine (
    GstOpenCLContext *context, const gchar *engine, GError **error)
{
  const opencl::Verdict verdict =
      opencl::verdict_of (context, engine, opencl::Lookup::wait);
  if (!verdict.is_fault ())
    return TRUE;
  g_set_error_literal (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
      opencl::fault_text (context, engine, verdict).c_str ());
  return FALSE;
}

gboolean
gst_opencl_context_warn_of_engine (GstOpenCLContext *context, const gchar *engine,
    GstElement *element, const gchar *instead)
{
  const opencl::Verdict verdict =
      opencl::verdict_of (context, engine, opencl::Lookup::peek);
  if (!verdict.is_fault ())
    return FALSE;
  const std::string fault = opencl::fault_text (context, engine, verdict);
  if (opencl::is_first_warning (context, engine))
    GST_ELEMENT_WARNING (
        element, LIBRARY, FAILED, ("%s; using %s", fault.c_str (), instead), (nullptr));
  return TRUE;
}

guint
gst_opencl_get_n_verdicts (void)
{
  return opencl::driver_hooks ().n_verdicts;
}

gchar **
gst_opencl_get_engines (void)
{
  const auto engines = opencl::driver_hooks ().engines;
  return g_strsplit (engines ? engines ().c_str () : "", "\n", -1);
}

gchar *
gst_opencl_device_get_verdict (gpointer device, const gchar *engine, gboolean rerun)
{
  const auto lookup = rerun ? opencl::Lookup::rerun : opencl::Lookup::stored;
  const opencl::Verdict verdict =
      opencl::lookup_verdict (static_cast<cl_device_id> (device), engine, lookup);
  return g_strdup (verdict.text ().c_str ());
}
