/* Arrays in the structures of messages and events
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <vector>

namespace oct {
/* Sets a field of type GstValueArray. */
inline void
set_array (GstStructure *structure, const char *field, const std::vector<double> &values)
{
  GValue array = G_VALUE_INIT, entry = G_VALUE_INIT;
  gst_value_array_init (&array, guint (values.size ()));
  g_value_init (&entry, G_TYPE_DOUBLE);
  for (double value : values) {
    g_value_set_double (&entry, value);
    gst_value_array_append_value (&array, &entry);
  }
  g_value_unset (&entry);
  gst_structure_take_value (structure, field, &array);
}
} // namespace oct
