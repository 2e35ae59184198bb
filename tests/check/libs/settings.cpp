/* Tests of properties that are committed together as one set of values
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include <gst/common/settings.hpp>

#include "tests/check/harness.hpp"

#include <atomic>

using namespace check;

namespace {
enum class Mood {
  calm,
  wild,
};

GType
mood_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Mood::calm), "Calm", "calm"},
      {gint (Mood::wild), "Wild", "wild"},
      {0, nullptr, nullptr},
  };
  static gsize type = 0;
  if (g_once_init_enter (&type))
    g_once_init_leave (&type, g_enum_register_static ("SettingsTestMood", values));
  return type;
}

struct Inner {
  double depth = 2.5;
};

/* A value of each type; `low` must be below `high`. */
struct Values {
  gint low = -1;
  gint high = 9;
  guint count = 7;
  guint64 big = G_MAXUINT32 + G_GUINT64_CONSTANT (1);
  gfloat ratio = 0.5f;
  Inner inner;
  bool on = true;
  Mood mood = Mood::wild;
  std::string path;
  std::string name = "initial";
  std::vector<double> numbers = {1, 2.5};
  opencl::Fraction rate = {25, 1};
  guint path_revision = 0;
};

const GParamFlags lax = GParamFlags (opencl::playing | G_PARAM_LAX_VALIDATION);

const opencl::PropertyTable<Values> properties = {
    {"low", "Low", "The low one", &Values::low, {-100, 100}, opencl::controllable},
    {"high", "High", "The high one", &Values::high, {-100, 100}, opencl::playing},
    {"count", "Count", "A count", &Values::count, {0, G_MAXUINT}, opencl::ready},
    {"big", "Big", "A big one", &Values::big, {0, G_MAXUINT64}, opencl::playing},
    {"ratio", "Ratio", "A ratio", &Values::ratio, {0, 1}, lax},
    {"depth", "Depth", "Within", [] (Values &v) -> double & { return v.inner.depth; },
        {-10, 10}, lax},
    {"on", "On", "Whether", &Values::on, opencl::playing},
    {"mood", "Mood", "Which", &Values::mood, mood_get_type, opencl::playing},
    {"path", "Path", "Where", &Values::path, opencl::playing, &Values::path_revision},
    {"label", "Label", "Whose", &Values::name, opencl::playing},
    {"numbers", "Numbers", "Many", &Values::numbers, opencl::playing},
    {"rate", "Rate", "How fast", &Values::rate, {{0, 1}, {G_MAXINT, 1}}, opencl::playing},
};

struct Knobs {
  GstElement parent;
  opencl::Settings<Values> *settings;
  /* (nullable); called once */
  std::atomic<const std::function<void (Knobs *)> *> meanwhile;
};
typedef GstElementClass KnobsClass;

G_DEFINE_TYPE (Knobs, knobs, GST_TYPE_ELEMENT)

void (*notify_settings) (GObject *, guint, GParamSpec **);

/* Calls `meanwhile` just before the element notifies, as if another thread ran then. */
void
knobs_dispatch (GObject *object, guint n, GParamSpec **specs)
{
  Knobs *self = reinterpret_cast<Knobs *> (object);
  if (const auto *meanwhile = self->meanwhile.exchange (nullptr))
    (*meanwhile) (self);
  notify_settings (object, n, specs);
}

void
knobs_class_init (KnobsClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  opencl::install_settings<&Knobs::settings> (klass, properties);
  notify_settings =
      std::exchange (object_class->dispatch_properties_changed, knobs_dispatch);
}

void
knobs_init (Knobs *self)
{
  self->settings = new opencl::Settings<Values> (self, properties);
}

bool
accept (const Values &values, GError **error)
{
  if (values.low < values.high)
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "low is %d and high is %d", values.low, values.high);
  return false;
}

/* An element with a bus. */
class Element {
public:
  Element ()
  {
    self = static_cast<Knobs *> (g_object_new (knobs_get_type (), nullptr));
    gst_object_ref_sink (self);
    gst_element_set_bus (&self->parent, bus);
  }
  ~Element ()
  {
    gst_element_set_bus (&self->parent, nullptr);
    gst_object_unref (self);
    gst_object_unref (bus);
  }

  void set (const char *settings) { set_together (self, settings); }
  opencl::Settings<Values> &settings () { return *self->settings; }

  /* Adopts the settings, as a streaming thread does at its first caps. */
  void start () { fail_unless (settings ().adopt (accept, nullptr)); }

  Knobs *self;
  GstBus *bus = gst_bus_new ();
};
} // namespace

TEST (test_settings_of_every_type_have_defaults_and_come_back_as_set)
{
  const struct {
    const char *name, *initial, *value;
  } rows[] = {
      {"low", "-1", "-77"},
      {"high", "9", "77"},
      {"count", "7", "4294967295"},
      {"big", "4294967296", "18446744073709551615"},
      {"ratio", "0.5", "0.25"},
      {"depth", "2.5", "-7.125"},
      {"on", "true", "false"},
      {"mood", "wild", "calm"},
      {"path", "NULL", "/a/path"},
      {"label", "initial", "another"},
      {"numbers", "< (double)1, (double)2.5 >", "< (double)3, (double)4, (double)5 >"},
      {"rate", "25/1", "30000/1001"},
  };
  Element element;
  for (const auto &row : rows) {
    GParamSpec *spec =
        g_object_class_find_property (G_OBJECT_GET_CLASS (element.self), row.name);
    for (const char *expected : {row.initial, row.value}) {
      std::string writable = expected; /* a copy, because GStreamer writes to the text */
      if (expected == row.value)
        gst_util_set_object_arg (G_OBJECT (element.self), row.name, writable.c_str ());
      GValue value = G_VALUE_INIT;
      g_value_init (&value, spec->value_type);
      g_object_get_property (G_OBJECT (element.self), row.name, &value);
      bool null = G_VALUE_HOLDS_STRING (&value) && !g_value_get_string (&value);
      Owned<gchar> text = null ? g_strdup ("NULL") : gst_value_serialize (&value);
      fail_unless (g_str_has_prefix (text, expected), "%s is %s, expected %s", row.name,
          text.operator->(), expected);
      g_value_unset (&value);
    }
  }
  g_object_set (element.self, "path", nullptr, nullptr);
  fail_unless (element.settings ().committed ().path.empty ());
}

TEST (test_settings_that_are_no_numbers_leave_the_array_as_it_is)
{
  Element element;
  std::string words = "< (string)one, (string)two >";
  ASSERT_WARNING (
      gst_util_set_object_arg (G_OBJECT (element.self), "numbers", words.c_str ()));
  fail_unless (
      element.settings ().committed ().numbers == std::vector<double> ({1, 2.5}));
}

/* Values out of range are clamped, but NaN has no nearest value. */
TEST (test_settings_that_are_not_a_number_leave_the_number_as_it_is)
{
  Element element;
  ASSERT_WARNING (g_object_set (element.self, "ratio", gdouble (NAN), nullptr));
  ASSERT_WARNING (g_object_set (element.self, "depth", gdouble (NAN), nullptr));
  fail_unless (element.settings ().committed ().ratio == 0.5f);
  fail_unless (element.settings ().committed ().inner.depth == 2.5);
  g_object_set (element.self, "depth", gdouble (INFINITY), nullptr);
  fail_unless (element.settings ().committed ().inner.depth == 10);
}

TEST (test_settings_set_together_are_committed_together)
{
  Element element;
  g_object_freeze_notify (G_OBJECT (element.self));
  g_object_set (element.self, "low", 50, nullptr);
  expect_equal (element.settings ().committed ().low, -1);
  g_object_set (element.self, "high", 60, nullptr);
  gint low = 0;
  g_object_get (element.self, "low", &low, nullptr);
  expect_equal (low, 50); /* a getter returns the new value before the commit */
  expect_equal (element.settings ().committed ().high, 9);
  g_object_thaw_notify (G_OBJECT (element.self));
  expect_equal (element.settings ().committed ().low, 50);
  expect_equal (element.settings ().committed ().high, 60);
}

TEST (test_contradicting_settings_keep_previous_and_warn_once)
{
  Element element;
  element.start ();
  fail_if (element.settings ().update (accept)); /* nothing new */
  element.set ("low=20");
  for (int frame = 0; frame < 3; frame++)
    fail_if (element.settings ().update (accept));
  expect_equal (element.settings ().current ().low, -1);
  expect_equal (element.settings ().committed ().low, 20);
  expect_warnings (
      element.bus, "low", {"low is 20 and high is 9; the previous settings stay in use"});

  element.set ("count=8"); /* refused for the reason already reported */
  fail_if (element.settings ().update (accept));
  expect_equal (element.settings ().current ().count, 7);
  expect_warnings (element.bus, "count", {});

  element.set ("high=30");
  fail_unless (element.settings ().update (accept));
  expect_equal (element.settings ().current ().low, 20);
  expect_equal (element.settings ().current ().high, 30);
  expect_equal (element.settings ().current ().count, 8);
  element.set ("high=9"); /* the earlier reason is reported again */
  fail_if (element.settings ().update (accept));
  expect_warnings (element.bus, "high", {"low is 20 and high is 9"});
}

TEST (test_settings_that_contradict_at_the_start_are_an_error)
{
  Element element;
  element.set ("low=20");
  for (int start = 0; start < 2; start++) {
    Owned<GError> error;
    fail_if (element.settings ().adopt (accept, error.out ()));
    expect_equal (error->message, "low is 20 and high is 9");
    fail_if (element.settings ().is_started ());
    element.set ("high=30");
    fail_unless (element.settings ().adopt (accept, nullptr));
    element.settings ().stop ();
    element.set ("high=9");
  }
  expect_warnings (element.bus, "at the start", {});
}

/* New caps: refused values are tried again, without a message. */
TEST (test_settings_refused_before_are_taken_when_caps_allow_them)
{
  Element element;
  gint limit = 10;
  auto fits = [&] (const Values &values, GError **error) {
    if (values.high < limit)
      return true;
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "high is %d, expected less than %d", values.high, limit);
    return false;
  };
  fail_unless (element.settings ().adopt (fits, nullptr));
  element.set ("high=15");
  fail_if (element.settings ().update (fits));
  expect_warnings (element.bus, "refused", {"high is 15, expected less than 10"});
  limit = 12;
  fail_unless (element.settings ().adopt (fits, nullptr));
  expect_equal (element.settings ().current ().high, 9);
  fail_if (element.settings ().update (fits));
  expect_warnings (element.bus, "still refused", {});
  limit = 20;
  fail_unless (element.settings ().adopt (fits, nullptr));
  expect_equal (element.settings ().current ().high, 15);
  fail_if (element.settings ().update (fits));
  expect_warnings (element.bus, "taken", {});
}

TEST (test_settings_count_how_often_a_property_was_set)
{
  Element element;
  element.start ();
  for (guint n = 1; n <= 3; n++) {
    element.set ("path=/the/same on=false");
    fail_unless (element.settings ().update (accept));
    expect_equal (element.settings ().current ().path_revision, n);
  }
  element.set ("on=true");
  fail_unless (element.settings ().update (accept));
  expect_equal (element.settings ().current ().path_revision, 3);
}

TEST (test_settings_reverted_by_the_element_are_no_change)
{
  Element element;
  element.start ();
  element.set ("on=true count=3");
  fail_unless (element.settings ().update (accept));
  element.settings ().amend ([] (Values &values) { values.on = false; });
  gboolean on = TRUE;
  g_object_get (element.self, "on", &on, nullptr);
  fail_if (on);
  fail_if (element.settings ().committed ().on);
  fail_if (element.settings ().update (accept));
}

/* One thread notifies of a set of values while another is halfway through its next
 * set. */
TEST (test_settings_half_set_during_notify_wait_for_the_rest)
{
  Element element;
  element.start ();
  guint notified = 0;
  auto count = +[] (GObject *, GParamSpec *, gpointer notified) {
    ++*static_cast<guint *> (notified);
  };
  g_signal_connect (element.self, "notify", G_CALLBACK (count), &notified);
  const std::function<void (Knobs *)> set_half = [] (Knobs *self) {
    g_object_freeze_notify (G_OBJECT (self));
    g_object_set (self, "low", -35, nullptr);
  };
  element.self->meanwhile = &set_half;
  element.set ("low=-40 high=-30");
  fail_if (element.settings ().update (accept));
  expect_equal (element.settings ().current ().low, -1);
  g_object_set (element.self, "high", 50, nullptr);
  g_object_thaw_notify (G_OBJECT (element.self));
  fail_unless (element.settings ().update (accept));
  expect_equal (element.settings ().current ().low, -35);
  expect_equal (element.settings ().current ().high, 50);
  expect_equal (notified, 4u);
}

/* `high` is always `low` + 10, and the label begins with `low`. */
static gpointer
set_often (gpointer data)
{
  for (gint n = 0; n < 10000; n++) {
    gint low = n % 2 ? 40 : -40;
    std::string label = std::to_string (low) + " of a text too long to be kept in place";
    g_object_set (data, "low", low, "high", low + 10, "label", label.c_str (), "path",
        "x", nullptr);
  }
  return nullptr;
}

/* The streaming thread sets another property, as a controller does. */
TEST (test_settings_set_from_any_thread_are_never_seen_half)
{
  Element element;
  element.set ("low=0 high=10");
  g_object_set (element.self, "label", "0 of a text", nullptr);
  element.start ();
  GThread *thread = g_thread_new ("set", set_often, element.self);
  guint taken = 0;
  for (guint frame = 0; frame < 20000; frame++) {
    g_object_set (element.self, "count", frame, nullptr);
    auto is_whole = [] (const Values &values, GError **) {
      expect_equal (values.high, values.low + 10);
      expect_equal (std::stoi (values.name), values.low);
      return true;
    };
    taken += element.settings ().update (is_whole);
    Values current = element.settings ().current ();
    expect_equal (current.high, current.low + 10);
  }
  g_thread_join (thread);
  element.settings ().update (accept);
  expect_equal (element.settings ().current ().low, 40);
  fail_unless (taken > 0);
  expect_warnings (element.bus, "whole sets", {});
}
