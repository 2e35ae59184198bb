/* Helpers for bins: elements, ghost pads and forwarded properties
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "elementbin.hpp"

#include <gst/controller/gstproxycontrolbinding.h>

namespace opencl {
GstElement *
add_to_bin (gpointer bin, const gchar *factory, const gchar **missing, const gchar *name,
    bool is_locked)
{
  GstElement *element = gst_element_factory_make (factory, name);

  if (!element) {
    *missing = *missing ? *missing : factory;
    return nullptr;
  }
  gst_element_set_locked_state (element, is_locked);
  gst_bin_add (GST_BIN (bin), element);
  return element;
}

void
remove_from_bin (gpointer bin, GstElement *element)
{
  gst_element_set_locked_state (element, TRUE);
  gst_element_set_state (element, GST_STATE_NULL);
  gst_bin_remove (GST_BIN (bin), element);
}

void
add_ghost_pad (gpointer bin, const gchar *name, GstElement *of, const gchar *pad)
{
  GstPad *target = gst_element_get_static_pad (of, pad);
  GstPadTemplate *pad_template =
      gst_element_class_get_pad_template (GST_ELEMENT_GET_CLASS (bin), name);

  gst_element_add_pad (
      GST_ELEMENT (bin), gst_ghost_pad_new_from_template (name, target, pad_template));
  gst_object_unref (target);
}

bool
report_missing (gpointer bin, const gchar *missing)
{
  if (missing)
    GST_ELEMENT_ERROR (
        bin, CORE, MISSING_PLUGIN, ("No element \"%s\"", missing), (nullptr));
  return !missing;
}

void
set_own_defaults (gpointer part, const OwnDefault *begin, const OwnDefault *end)
{
  for (; part && begin != end; begin++)
    gst_util_set_object_arg (G_OBJECT (part), begin->name, begin->value);
}

namespace {
void
init_default (
    GParamSpec *of, const OwnDefault *begin, const OwnDefault *end, GValue *value)
{
  g_value_init (value, of->value_type);
  g_param_value_set_default (of, value);
  for (; begin != end; begin++) {
    if (g_str_equal (begin->name, of->name))
      gst_value_deserialize (value, begin->value);
  }
}

/* Copies a numeric specification with its minimum and maximum. */
template <typename Spec, typename Make, typename Get>
GParamSpec *
copy_number (GParamSpec *of, GParamFlags flags, const GValue *value, Make make, Get get)
{
  auto *ends = reinterpret_cast<Spec *> (of);
  return make (of->name, g_param_spec_get_nick (of), g_param_spec_get_blurb (of),
      ends->minimum, ends->maximum, get (value), flags);
}

/* Returns nullptr for a property type that is not supported. (nullable) */
GParamSpec *
copy_of (GParamSpec *of, const GValue *value)
{
  const gchar *name = of->name, *nick = g_param_spec_get_nick (of);
  const gchar *blurb = g_param_spec_get_blurb (of);
  /* A forwarded property is not set during construction. */
  const auto flags = GParamFlags (of->flags & ~G_PARAM_CONSTRUCT);

  if (G_IS_PARAM_SPEC_BOOLEAN (of))
    return g_param_spec_boolean (name, nick, blurb, g_value_get_boolean (value), flags);
  if (G_IS_PARAM_SPEC_ENUM (of))
    return g_param_spec_enum (
        name, nick, blurb, of->value_type, g_value_get_enum (value), flags);
  if (G_IS_PARAM_SPEC_STRING (of))
    return g_param_spec_string (name, nick, blurb, g_value_get_string (value), flags);
  if (G_IS_PARAM_SPEC_DOUBLE (of))
    return copy_number<GParamSpecDouble> (
        of, flags, value, g_param_spec_double, g_value_get_double);
  if (G_IS_PARAM_SPEC_UINT (of))
    return copy_number<GParamSpecUInt> (
        of, flags, value, g_param_spec_uint, g_value_get_uint);
  if (G_IS_PARAM_SPEC_INT (of))
    return copy_number<GParamSpecInt> (
        of, flags, value, g_param_spec_int, g_value_get_int);
  if (G_IS_PARAM_SPEC_BOXED (of))
    return g_param_spec_boxed (name, nick, blurb, of->value_type, flags);
  if (GST_IS_PARAM_SPEC_ARRAY_LIST (of))
    return gst_param_spec_array (name, nick, blurb, nullptr, flags);
  if (G_IS_PARAM_SPEC_UINT64 (of))
    return copy_number<GParamSpecUInt64> (
        of, flags, value, g_param_spec_uint64, g_value_get_uint64);
  return nullptr;
}
} // namespace

void
install_properties_of (GObjectClass *klass, GType of, guint first,
    const std::function<bool (GParamSpec *)> &is_wanted, const OwnDefault *begin,
    const OwnDefault *end)
{
  auto *from = static_cast<GObjectClass *> (g_type_class_ref (of));
  guint count;
  GParamSpec **specs = g_object_class_list_properties (from, &count);

  for (guint n = 0; n < count; n++) {
    GValue value = G_VALUE_INIT;
    if (specs[n]->flags & G_PARAM_CONSTRUCT_ONLY || !is_wanted (specs[n]))
      continue;
    init_default (specs[n], begin, end, &value);
    if (GParamSpec *copy = copy_of (specs[n], &value))
      g_object_class_install_property (klass, first++, copy);
    g_value_unset (&value);
  }
  g_free (specs);
  g_type_class_unref (from);
}

void
forward_set (gpointer part, const GValue *value, GParamSpec *spec)
{
  if (part)
    g_object_set_property (G_OBJECT (part), spec->name, value);
}

void
forward_get (gpointer part, GValue *value, GParamSpec *spec)
{
  if (part)
    g_object_get_property (G_OBJECT (part), spec->name, value);
}

void
forward_bindings (
    gpointer outer, gpointer part, const std::function<bool (GParamSpec *)> &is_wanted)
{
  guint count;
  GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (outer), &count);

  for (guint n = 0; part && n < count; n++) {
    const gchar *name = specs[n]->name;
    if (specs[n]->flags & GST_PARAM_CONTROLLABLE && (!is_wanted || is_wanted (specs[n]))
        && g_object_class_find_property (G_OBJECT_GET_CLASS (part), name))
      gst_object_add_control_binding (
          GST_OBJECT (part), gst_proxy_control_binding_new (
                                 GST_OBJECT (part), name, GST_OBJECT (outer), name));
  }
  g_free (specs);
}

std::function<bool (GParamSpec *)>
is_class_property_or_device (GType type)
{
  return [type] (GParamSpec *spec) {
    return spec->owner_type == type || g_str_equal (spec->name, "device");
  };
}
} // namespace opencl
