/* Helpers for bins: elements, ghost pads, forwarded properties, the pipeline of an element
 *
 * Not installed: public headers contain no C++ types.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <functional>

namespace opencl {
/* Creates an element, with the name `name` or an automatic one, and adds it to `bin`. If
 * there is no such factory, returns nullptr and stores the factory's name in `missing`,
 * unless that is set already. The state of an element `is_locked` does not follow that of
 * the bin. (transfer none) (nullable) */
GstElement *add_to_bin (gpointer bin, const gchar *factory, const gchar **missing,
    const gchar *name = nullptr, bool is_locked = false);

/* Stops and removes an element, whatever the state of `bin` becomes meanwhile. */
void remove_from_bin (gpointer bin, GstElement *element);

/* Adds a ghost pad `name` to `bin`, whose target is the pad `pad` of the element `of`. */
void add_ghost_pad (gpointer bin, const gchar *name, GstElement *of, const gchar *pad);

/* Returns true if `missing` is null. Otherwise posts an element error that names it. */
bool report_missing (gpointer bin, const gchar *missing);

/* Default value of a property in the bin, where it differs from the element's default */
struct OwnDefault {
  const gchar *name, *value;
};
void set_own_defaults (gpointer part, const OwnDefault *begin, const OwnDefault *end);

/* Copies properties of type `of` that `is_wanted` accepts to `klass`, with ids from
 * `first` on. Skips construct-only properties. The class implements them
 * with forward_set () and forward_get (). */
void install_properties_of (GObjectClass *klass, GType of, guint first,
    const std::function<bool (GParamSpec *)> &is_wanted,
    const OwnDefault *begin = nullptr, const OwnDefault *end = nullptr);

/* Sets or gets the property of `part` (nullable) that has the same name */
void forward_set (gpointer part, const GValue *value, GParamSpec *spec);
void forward_get (gpointer part, GValue *value, GParamSpec *spec);

/* Makes `part` (nullable) follow control bindings of the controllable properties of
 * `outer`, all or those that `is_wanted` accepts, at the stream time of its own frames. */
void forward_bindings (gpointer outer, gpointer part,
    const std::function<bool (GParamSpec *)> &is_wanted = nullptr);

/* Returns a predicate that accepts `device` and the properties of the class itself,
 * without those of its parents. */
std::function<bool (GParamSpec *)> is_class_property_or_device (GType type);

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
