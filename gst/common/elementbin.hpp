/* Bins that upload and download by themselves: what they are put together with
 *
 * Not installed: no C++ type stands in a public header.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <functional>

namespace opencl {
/* (transfer none) (nullable): in `bin`; the first factory that is not there goes into
 * `missing`. */
GstElement *add_to_bin (gpointer bin, const gchar *factory, const gchar **missing);

/* A pad of `bin` that stands for that of `of`. */
void add_ghost_pad (gpointer bin, const gchar *name, GstElement *of, const gchar *pad);

/* Whether nothing is missing; else an element error says what. */
bool report_missing (gpointer bin, const gchar *missing);

/* A value that a property has in the bin where it is not set. */
struct OwnDefault {
  const gchar *name, *value;
};
void set_own_defaults (gpointer part, const OwnDefault *begin, const OwnDefault *end);

/* Makes the properties of type `of` that `is_wanted` and that are not deprecated
 * `klass`'s, too, from the number `first` on. What is done with them is the class's:
 * forward_set () and forward_get () by name. */
void install_properties_of (GObjectClass *klass, GType of, guint first,
    const std::function<bool (GParamSpec *)> &is_wanted,
    const OwnDefault *begin = nullptr, const OwnDefault *end = nullptr);

/* To `part` (nullable) */
void forward_set (gpointer part, const GValue *value, GParamSpec *spec);
void forward_get (gpointer part, GValue *value, GParamSpec *spec);

/* Returns a predicate that accepts the properties of the class itself, without those of its
 * parents, and `device`. */
std::function<bool (GParamSpec *)> of_class_or_device (GType type);
} // namespace opencl
