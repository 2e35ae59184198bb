/* Whether the element of a streaming thread stops
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "stopscope.hpp"

#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclerror.h>

#include <utility>

namespace opencl {
namespace {
thread_local StopScope *scope_of_thread = nullptr;

/* A pad that stops is in no mode before it waits for its streaming thread. Of several pads, one
 * may stop alone. */
bool
have_stopped (const GList *pads)
{
  bool stopped = pads != nullptr;
  for (; pads && stopped; pads = pads->next) {
    const ObjectLock lock (pads->data);
    stopped = GST_PAD_MODE (pads->data) == GST_PAD_MODE_NONE;
  }
  return stopped;
}

bool
is_stopping (GstElement *element)
{
  const ObjectLock lock (element);
  return have_stopped (element->srcpads) || have_stopped (element->sinkpads);
}
} // namespace

StopScope::StopScope (GstElement *element)
    : element (element), outer (std::exchange (scope_of_thread, this))
{
}

StopScope::~StopScope ()
{
  scope_of_thread = outer;
}

bool
StopScope::refuses_builds (GError **error)
{
  if (!scope_of_thread || !is_stopping (scope_of_thread->element))
    return false;
  scope_of_thread->refused = true;
  g_set_error_literal (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_BUILD,
      "No program is built, because the element stops");
  return true;
}

bool
StopScope::has_refused ()
{
  return scope_of_thread && scope_of_thread->refused;
}
} // namespace opencl
