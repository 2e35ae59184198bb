/* The pipeline of an element
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

namespace opencl {
/* Returns the pipeline that contains `object`, or the outermost bin or element if there is
 * none. (transfer full) */
inline GstObject *
ref_outermost (gpointer object)
{
  auto *outermost = GST_OBJECT (gst_object_ref (object));
  while (GstObject *parent = gst_object_get_parent (outermost)) {
    gst_object_unref (outermost);
    outermost = parent;
  }
  return outermost;
}
} // namespace opencl
