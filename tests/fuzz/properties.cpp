/* Fuzzing: every property of every element, set from a string as gst-launch-1.0 does
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstreamer.hpp"

#include <vector>

using fuzz::promise;

namespace {
struct Place {
  GstElement *element;
  GParamSpec *spec;
};

/* GstBaseSink's and GstAggregator's, which complain of what their specifications allow */
const char *const complaining[] = {"render-delay", "latency", nullptr};

bool
is_own (GParamSpec *spec)
{
  return (spec->flags & G_PARAM_WRITABLE) && !(spec->flags & G_PARAM_CONSTRUCT_ONLY)
         && spec->owner_type != GST_TYPE_OBJECT
         && !g_strv_contains (complaining, spec->name);
}

void
add_properties (GstElement *element, std::vector<Place> &places)
{
  guint n;
  GParamSpec **specs = g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n);

  for (guint i = 0; i < n; i++) {
    if (is_own (specs[i]))
      places.push_back ({element, specs[i]});
  }
  g_free (specs);
}

std::vector<Place>
all_properties ()
{
  std::vector<Place> places;

  fuzz::start_gstreamer ();
  for (const char *plugin : {"computeopencl", "inferenceopencl", "keyingopencl",
           "npyopencl", "octopencl", "transferopencl"}) {
    GList *features =
        gst_registry_get_feature_list_by_plugin (gst_registry_get (), plugin);
    for (GList *item = features; item; item = item->next) {
      if (GST_IS_ELEMENT_FACTORY (item->data))
        add_properties (fuzz::make_element (GST_OBJECT_NAME (item->data)), places);
    }
    gst_plugin_feature_list_free (features);
  }
  promise (places.size () > 50, "elements have properties");
  return places;
}

/* Does what gst_util_set_object_arg () does, in two steps. GStreamer's parser may log a critical
 * warning for invalid text, but setting the resulting value must not. */
void
set_from_text (const Place &place, const std::string &text)
{
  GValue value = G_VALUE_INIT;

  g_value_init (&value, place.spec->value_type);
  fuzz::parses_structure = true;
  const bool is_value =
      gst_value_deserialize_with_pspec (&value, text.c_str (), place.spec);
  fuzz::parses_structure = false;
  if (is_value)
    g_object_set_property (G_OBJECT (place.element), place.spec->name, &value);
  g_value_unset (&value);
}

/* An accepted value can be written as a string and read again. */
void
check_round (const Place &place)
{
  GValue value = G_VALUE_INIT;

  if (!(place.spec->flags & G_PARAM_READABLE))
    return;
  g_value_init (&value, place.spec->value_type);
  g_object_get_property (G_OBJECT (place.element), place.spec->name, &value);
  promise (!g_param_value_validate (place.spec, &value), place.spec->name);
  if (!G_VALUE_HOLDS_BOXED (&value) || g_value_get_boxed (&value))
    g_free (gst_value_serialize (&value));
  g_object_set_property (G_OBJECT (place.element), place.spec->name, &value);
  g_value_unset (&value);
}
} // namespace

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const auto &places = *new std::vector<Place> (all_properties ());
  fuzz::Input input (data, size);

  while (input.remaining () > 0) {
    const Place &place = places[input.take<guint16> () % places.size ()];
    const std::string text = input.take_text ();
    set_from_text (place, text);
    check_round (place);
  }
  return 0;
}
