/* The element that allocated a memory
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* A failed map or acquire returns no reason to its caller. The element that allocated the
 * frame reports it instead. Pools and their memories share this object. It holds no
 * reference to the element. All functions may be called from any thread. */
class FrameOwner {
public:
  /* `error` is (transfer full). */
  using Report = void (*) (GstElement *owner, GError *error);

  FrameOwner (GstElement *owner, Report callback) : callback (callback)
  {
    g_weak_ref_init (&element, owner);
  }
  ~FrameOwner () { g_weak_ref_clear (&element); }
  FrameOwner (const FrameOwner &) = delete;
  FrameOwner &operator= (const FrameOwner &) = delete;

  /* Reports `error` (transfer full). Returns false if the element no longer exists. */
  bool report (GError *error)
  {
    auto *owner = static_cast<GstElement *> (g_weak_ref_get (&element));
    if (!owner) {
      g_error_free (error);
      return false;
    }
    callback (owner, error);
    gst_object_unref (owner);
    return true;
  }

private:
  GWeakRef element;
  const Report callback;
};
} // namespace opencl
