/* Random values for the properties that an application may change while a pipeline plays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

namespace soak {
/* Values stay near the default: the largest ones would allocate gigabytes. */
constexpr gint reach_of_integers = 24;
constexpr gdouble reach_of_numbers = 100;

template <typename Number>
Number
near_default (GRand *chance, Number initial, Number least, Number most, Number reach)
{
  const gdouble low = std::max (gdouble (least), gdouble (initial) - reach);
  const gdouble high = std::min (gdouble (most), gdouble (initial) + reach);
  return Number (
      g_rand_double_range (chance, low, high + (std::is_integral_v<Number> ? 0.999 : 0)));
}

/* Returns false for a property of another type. */
inline bool
choose_value (GRand *chance, GParamSpec *spec, GValue *value)
{
  if (G_IS_PARAM_SPEC_BOOLEAN (spec)) {
    g_value_set_boolean (value, g_rand_boolean (chance));
  } else if (G_IS_PARAM_SPEC_ENUM (spec)) {
    const GEnumClass *choices = G_PARAM_SPEC_ENUM (spec)->enum_class;
    const gint n = g_rand_int_range (chance, 0, gint (choices->n_values));
    g_value_set_enum (value, choices->values[n].value);
  } else if (G_IS_PARAM_SPEC_INT (spec)) {
    const GParamSpecInt *range = G_PARAM_SPEC_INT (spec);
    g_value_set_int (value, near_default (chance, range->default_value, range->minimum,
                                range->maximum, reach_of_integers));
  } else if (G_IS_PARAM_SPEC_UINT (spec)) {
    const GParamSpecUInt *range = G_PARAM_SPEC_UINT (spec);
    g_value_set_uint (value, near_default (chance, range->default_value, range->minimum,
                                 range->maximum, guint (reach_of_integers)));
  } else if (G_IS_PARAM_SPEC_DOUBLE (spec)) {
    const GParamSpecDouble *range = G_PARAM_SPEC_DOUBLE (spec);
    g_value_set_double (value, near_default (chance, range->default_value, range->minimum,
                                   range->maximum, reach_of_numbers));
  } else {
    return false;
  }
  return true;
}

struct Knob {
  GObject *object;
  GParamSpec *spec;
};

inline void
add_knobs (GObject *object, std::vector<Knob> &knobs)
{
  guint n = 0;
  GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (object), &n);
  for (guint i = 0; i < n; i++) {
    if (specs[i]->owner_type == G_OBJECT_TYPE (object)
        && specs[i]->flags & G_PARAM_WRITABLE
        && specs[i]->flags & GST_PARAM_MUTABLE_PLAYING)
      knobs.push_back ({object, specs[i]});
  }
  g_free (specs);
}

/* Elements of the project and their pads; the pipeline holds references to these. */
inline std::vector<Knob>
knobs_of (GstElement *pipeline)
{
  std::vector<Knob> knobs;
  GstIterator *elements = gst_bin_iterate_recurse (GST_BIN (pipeline));
  auto add = [] (const GValue *value, gpointer data) {
    auto *found = static_cast<std::vector<Knob> *> (data);
    auto *element = GST_ELEMENT (g_value_get_object (value));
    GstElementFactory *factory = gst_element_get_factory (element);
    const gchar *name =
        factory ? gst_plugin_feature_get_plugin_name (GST_PLUGIN_FEATURE (factory)) : "";
    const char *const plugins[] = {"transferopencl", "octopencl", "keyingopencl",
        "computeopencl", "inferenceopencl"};
    if (std::none_of (std::begin (plugins), std::end (plugins),
            [&] (const char *own) { return strcmp (own, name) == 0; }))
      return;
    add_knobs (G_OBJECT (element), *found);
    for (GList *pad = element->sinkpads; pad; pad = pad->next)
      add_knobs (G_OBJECT (pad->data), *found);
  };
  gst_iterator_foreach (elements, add, &knobs);
  gst_iterator_free (elements);
  return knobs;
}
} // namespace soak
