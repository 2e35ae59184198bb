/* GObject specifications and values of property types
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "settings.hpp"

#include <cmath>

namespace opencl {
GParamSpec *
commit_spec ()
{
  static GParamSpec *const spec = g_param_spec_ref_sink (
      g_param_spec_boolean ("commit", nullptr, nullptr, FALSE, G_PARAM_READABLE));
  return spec;
}

EnumType::EnumType (const char *name, std::vector<GEnumValue> values)
    : name (name), values (std::move (values))
{
  this->values.push_back ({0, nullptr, nullptr});
}

GType
EnumType::get () const
{
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static (name, values.data ()));
  return type;
}

GParamSpec *
new_spec (const PropertyText &text, Range<gint> range, gint initial)
{
  return g_param_spec_int (
      text.name, text.nick, text.blurb, range.least, range.most, initial, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, Range<guint> range, guint initial)
{
  return g_param_spec_uint (
      text.name, text.nick, text.blurb, range.least, range.most, initial, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, Range<guint64> range, guint64 initial)
{
  return g_param_spec_uint64 (
      text.name, text.nick, text.blurb, range.least, range.most, initial, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, Range<gfloat> range, gfloat initial)
{
  return g_param_spec_float (
      text.name, text.nick, text.blurb, range.least, range.most, initial, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, Range<gdouble> range, gdouble initial)
{
  return g_param_spec_double (
      text.name, text.nick, text.blurb, range.least, range.most, initial, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, Range<Fraction> range, const Fraction &initial)
{
  return gst_param_spec_fraction (text.name, text.nick, text.blurb, range.least.numerator,
      range.least.denominator, range.most.numerator, range.most.denominator,
      initial.numerator, initial.denominator, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, bool initial)
{
  return g_param_spec_boolean (text.name, text.nick, text.blurb, initial, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, const std::string &initial)
{
  return g_param_spec_string (text.name, text.nick, text.blurb,
      initial.empty () ? nullptr : initial.c_str (), text.flags);
}

/* GstParamSpecArray has no default value. */
GParamSpec *
new_spec (const PropertyText &text, const std::vector<double> &)
{
  return gst_param_spec_array (text.name, text.nick, text.blurb, nullptr, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, const std::vector<guint> &)
{
  return new_spec (text, std::vector<double> ());
}

GParamSpec *
new_spec (const PropertyText &text, const Structure &)
{
  return g_param_spec_boxed (
      text.name, text.nick, text.blurb, GST_TYPE_STRUCTURE, text.flags);
}

GParamSpec *
new_spec (const PropertyText &text, const Caps &)
{
  return g_param_spec_boxed (text.name, text.nick, text.blurb, GST_TYPE_CAPS, text.flags);
}

GParamSpec *
new_enum_spec (const PropertyText &text, GType type, gint initial)
{
  return g_param_spec_enum (text.name, text.nick, text.blurb, type, initial, text.flags);
}

void
read_value (const GValue *from, gint &to)
{
  to = g_value_get_int (from);
}

void
read_value (const GValue *from, guint &to)
{
  to = g_value_get_uint (from);
}

void
read_value (const GValue *from, guint64 &to)
{
  to = g_value_get_uint64 (from);
}

/* Rejects NaN, which GObject does not clamp to the range. */
template <typename Number>
static void
read_number (Number from, Number &to)
{
  if (std::isnan (from))
    g_warning ("NaN is not a valid value");
  else
    to = from;
}

void
read_value (const GValue *from, gfloat &to)
{
  read_number (g_value_get_float (from), to);
}

void
read_value (const GValue *from, gdouble &to)
{
  read_number (g_value_get_double (from), to);
}

void
read_value (const GValue *from, Fraction &to)
{
  to = {
      gst_value_get_fraction_numerator (from), gst_value_get_fraction_denominator (from)};
}

void
read_value (const GValue *from, bool &to)
{
  to = g_value_get_boolean (from);
}

void
read_value (const GValue *from, std::string &to)
{
  const gchar *text = g_value_get_string (from);
  to = text ? text : "";
}

/* Accepts numbers of any type: GST_TYPE_ARRAY keeps the type of each value. Returns FALSE
 * if there is another type. */
template <typename Number>
static bool
read_numbers (const GValue *from, GType type, Number (*get) (const GValue *),
    std::vector<Number> &numbers)
{
  for (guint n = 0; n < gst_value_array_get_size (from); n++) {
    GValue number = G_VALUE_INIT;
    g_value_init (&number, type);
    if (!g_value_transform (gst_value_array_get_value (from, n), &number)) {
      g_warning ("value %u is a %s, expected an array of numbers", n,
          G_VALUE_TYPE_NAME (gst_value_array_get_value (from, n)));
      return false;
    }
    numbers.push_back (get (&number));
  }
  return true;
}

void
read_value (const GValue *from, std::vector<double> &to)
{
  std::vector<double> numbers;
  if (read_numbers (from, G_TYPE_DOUBLE, g_value_get_double, numbers))
    to = numbers;
}

void
read_value (const GValue *from, std::vector<guint> &to)
{
  std::vector<gint64> numbers;
  if (read_numbers (from, G_TYPE_INT64, g_value_get_int64, numbers))
    to.assign (numbers.begin (), numbers.end ());
}

void
read_value (const GValue *from, Structure &to)
{
  auto *structure = static_cast<GstStructure *> (g_value_dup_boxed (from));
  to = structure ? Structure (structure, gst_structure_free) : nullptr;
}

void
read_value (const GValue *from, Caps &to)
{
  auto *caps = static_cast<GstCaps *> (g_value_dup_boxed (from));
  to = caps ? Caps (caps, gst_caps_unref) : nullptr;
}

void
write_value (gint from, GValue *to)
{
  g_value_set_int (to, from);
}

void
write_value (guint from, GValue *to)
{
  g_value_set_uint (to, from);
}

void
write_value (guint64 from, GValue *to)
{
  g_value_set_uint64 (to, from);
}

void
write_value (gfloat from, GValue *to)
{
  g_value_set_float (to, from);
}

void
write_value (gdouble from, GValue *to)
{
  g_value_set_double (to, from);
}

void
write_value (const Fraction &from, GValue *to)
{
  gst_value_set_fraction (to, from.numerator, from.denominator);
}

void
write_value (bool from, GValue *to)
{
  g_value_set_boolean (to, from);
}

void
write_value (const std::string &from, GValue *to)
{
  g_value_set_string (to, from.empty () ? nullptr : from.c_str ());
}

template <typename Number>
static void
append_numbers (const std::vector<Number> &from, GType type, GValue *to)
{
  for (Number number : from) {
    GValue value = G_VALUE_INIT;
    g_value_init (&value, type);
    write_value (number, &value);
    gst_value_array_append_and_take_value (to, &value);
  }
}

void
write_value (const std::vector<double> &from, GValue *to)
{
  append_numbers (from, G_TYPE_DOUBLE, to);
}

void
write_value (const std::vector<guint> &from, GValue *to)
{
  append_numbers (from, G_TYPE_UINT, to);
}

void
write_value (const Structure &from, GValue *to)
{
  g_value_set_boxed (to, from.get ());
}

void
write_value (const Caps &from, GValue *to)
{
  g_value_set_boxed (to, from.get ());
}

void
describe_element (gpointer klass, const char *name, const char *classification,
    const char *description, const AlwaysPads &pads,
    std::initializer_list<GstStaticPadTemplate *> others)
{
  auto *element_class = GST_ELEMENT_CLASS (klass);
  auto add = [&] (const char *pad, GstPadDirection direction, const char *caps) {
    GstCaps *made = caps ? gst_caps_from_string (caps) : nullptr;
    if (made)
      gst_element_class_add_pad_template (
          element_class, gst_pad_template_new (pad, direction, GST_PAD_ALWAYS, made));
    gst_clear_caps (&made);
  };
  gst_element_class_set_static_metadata (
      element_class, name, classification, description, "The gst-opencl developers");
  add ("sink", GST_PAD_SINK, pads.sink);
  add ("src", GST_PAD_SRC, pads.src);
  for (GstStaticPadTemplate *pad : others)
    gst_element_class_add_static_pad_template (element_class, pad);
}

void
warn_of_settings (gpointer owner, const GError *reason)
{
  GstObject *poster = GST_OBJECT_CAST (gst_object_ref (owner));
  if (!GST_IS_ELEMENT (poster)) {
    GstObject *pad = poster;
    poster = gst_object_get_parent (pad);
    gst_object_unref (pad);
  }
  if (!poster)
    return;
  gchar *message = g_utf8_make_valid (reason->message, -1);
  gchar **parts = g_strsplit (message, "\n", 2);
  gst_element_message_full (GST_ELEMENT_CAST (poster), GST_MESSAGE_WARNING,
      reason->domain, reason->code,
      g_strdup_printf ("%s; the previous settings stay in use", parts[0]),
      g_strdup (parts[1]), __FILE__, GST_FUNCTION, __LINE__);
  g_strfreev (parts);
  g_free (message);
  gst_object_unref (poster);
}

GstCaps *
accepted_by_peer (GstPad *source, GstCaps *outputs, GError **error)
{
  GstCaps *taken = gst_pad_peer_query_caps (source, outputs);
  if (!gst_caps_is_empty (taken))
    return taken;
  gchar *text = gst_caps_to_string (outputs);
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "downstream does not accept %s", text);
  g_free (text);
  gst_caps_unref (taken);
  return nullptr;
}

bool
is_accepted_downstream (GstBaseTransform *transform, GstCaps *outputs, GError **error)
{
  GstCaps *taken =
      accepted_by_peer (GST_BASE_TRANSFORM_SRC_PAD (transform), outputs, error);
  const bool any = taken != nullptr;
  gst_clear_caps (&taken);
  gst_caps_unref (outputs);
  return any;
}

bool
match_negotiated_caps (GstCaps *outputs, GstCaps *agreed)
{
  const bool are = gst_caps_can_intersect (outputs, agreed);
  gst_caps_unref (outputs);
  return are;
}
} // namespace opencl
