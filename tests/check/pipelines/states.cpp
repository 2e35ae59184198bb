/* Tests that every element passes through all states, and that its properties can be set
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/catalogue.hpp"
#include "tests/check/folder.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/onnxmodel.hpp"

using namespace check;

namespace {
/* An element with the properties that it needs to start. A sink without a stream does not
 * preroll. */
GstElement *
make (const std::string &name)
{
  static const Folder folder;
  static const std::vector<catalogue::Line> elements =
      catalogue::lines ("element", folder.path);
  static const std::string model =
      folder.write ("matte.onnx", red_matte_model ().bytes ());
  for (const catalogue::Line &line : elements) {
    if (line.name == name)
      return launch (name + " " + line.text);
  }
  ck_abort_msg ("%s is missing in tests/catalogue.txt", name.c_str ());
}

/* A source may return NO_PREROLL; an asynchronous change must finish. */
void
go_to (GstElement *element, GstState state)
{
  GstStateChangeReturn change = gst_element_set_state (element, state);
  if (change == GST_STATE_CHANGE_ASYNC)
    change = gst_element_get_state (element, nullptr, nullptr, 20 * GST_SECOND);
  fail_unless (
      change == GST_STATE_CHANGE_SUCCESS || change == GST_STATE_CHANGE_NO_PREROLL,
      "%s does not reach %s", GST_OBJECT_NAME (element),
      gst_element_state_get_name (state));
}

const GstState sequence[] = {GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_PLAYING,
    GST_STATE_PAUSED, GST_STATE_PLAYING, GST_STATE_PAUSED, GST_STATE_READY,
    GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_NULL, GST_STATE_PLAYING, GST_STATE_NULL,
    GST_STATE_READY, GST_STATE_NULL};

const char *const chains[] = {
    "videotestsrc ! openclupload ! opencldownload ! fakesink",
    "videotestsrc is-live=true ! openclupload ! queue ! opencldownload ! fakesink",
    "videotestsrc ! video/x-raw,format=GRAY16_LE,width=256,height=4 ! openclupload ! "
    "octwindowinterp ! queue ! octfft ! opencldownload ! fakesink",
    "octtestsrc ! video/x-raw(memory:OpenCLMemory),width=256,height=4 ! octwindowinterp "
    "! "
    "octfft ! fakesink",
    "videotestsrc ! openclupload ! openclconvert ! chromakey ! noisereduce ! queue ! "
    "flowkey iterations=0 ! keyfill ! openclcompositor ! opencldownload ! fakesink",
    "videotestsrc ! openclupload ! openclconvert ! splashkey ! mix.sink_1 videotestsrc ! "
    "openclupload ! openclconvert ! mix.sink_0 openclcompositor name=mix ! fakesink",
    "videotestsrc ! openclupload ! tee name=t t. ! queue ! opencldownload ! fakesink t. "
    "! "
    "queue ! fakesink",
};

void
check_property (GstElement *element, GParamSpec *spec)
{
  GValue value = G_VALUE_INIT;

  fail_unless (g_param_spec_get_blurb (spec) && *g_param_spec_get_blurb (spec),
      "%s has no blurb", spec->name);
  fail_unless (g_param_spec_get_nick (spec) && *g_param_spec_get_nick (spec), "no nick");
  g_value_init (&value, spec->value_type);
  if (spec->flags & G_PARAM_READABLE)
    g_object_get_property (G_OBJECT (element), spec->name, &value);
  if ((spec->flags & G_PARAM_READABLE) && (spec->flags & G_PARAM_WRITABLE))
    g_object_set_property (G_OBJECT (element), spec->name, &value);
  /* A GParamSpec of an array has no usable default. What the element needs stays. */
  const bool is_needed =
      (spec->flags & G_PARAM_READABLE) && !g_param_value_defaults (spec, &value);
  if ((spec->flags & G_PARAM_WRITABLE) && spec->value_type != GST_TYPE_ARRAY
      && !is_needed) {
    g_param_value_set_default (spec, &value);
    g_object_set_property (G_OBJECT (element), spec->name, &value);
  }
  g_value_unset (&value);
}

/* Properties of GObject and of the base classes are not tested here. */
bool
is_own (GParamSpec *spec)
{
  return (spec->flags & G_PARAM_WRITABLE) && !(spec->flags & G_PARAM_CONSTRUCT_ONLY)
         && spec->owner_type != GST_TYPE_OBJECT;
}
} // namespace

TEST (test_every_element_goes_up_and_down_alone)
{
  for (const std::string &name : element_names ()) {
    Owned<GstElement> element = make (name);
    for (guint round = 0; round < 3; round++) {
      for (GstState state : sequence)
        go_to (element, state);
    }
  }
}

TEST (test_chains_go_up_and_down)
{
  for (const char *line : chains) {
    Owned<GstElement> pipeline = launch (line);
    Owned<GstBus> bus = gst_element_get_bus (pipeline);
    for (guint round = 0; round < 5; round++) {
      for (GstState state : sequence)
        go_to (pipeline, state);
    }
    fail_unless (collect (bus).errors.empty (), "%s", line);
  }
}

/* Stopped at once, while it starts. */
TEST (test_chains_stop_before_they_have_started)
{
  for (const char *line : chains) {
    Owned<GstElement> pipeline = launch (line);
    Owned<GstBus> bus = gst_element_get_bus (pipeline);
    for (guint round = 0; round < 20; round++) {
      gst_element_set_state (pipeline, GST_STATE_PLAYING);
      g_usleep (round * 500);
      gst_element_set_state (pipeline, round % 2 ? GST_STATE_NULL : GST_STATE_READY);
    }
    fail_unless (collect (bus).errors.empty (), "%s", line);
    gst_element_set_state (pipeline, GST_STATE_NULL);
  }
}

/* Pipelines share one context, which exists while any of them runs. */
TEST (test_pipelines_start_and_stop_beside_each_other)
{
  std::vector<std::thread> threads;
  for (const char *line : chains) {
    threads.emplace_back ([line] {
      Owned<GstElement> pipeline = gst_parse_launch (line, nullptr);
      for (guint round = 0; round < 15; round++) {
        gst_element_set_state (pipeline, GST_STATE_PLAYING);
        g_usleep (g_random_int_range (0, 40000));
        gst_element_set_state (pipeline, GST_STATE_NULL);
      }
      Owned<GstBus> bus = gst_element_get_bus (pipeline);
      GstMessage *error = gst_bus_pop_filtered (bus, GST_MESSAGE_ERROR);
      g_assert_null (error);
    });
  }
  for (std::thread &thread : threads)
    thread.join ();
}

TEST (test_every_property_can_be_read_and_set_to_its_default)
{
  for (const std::string &name : element_names ()) {
    Owned<GstElement> element = make (name);
    guint n_specs;
    GParamSpec **specs =
        g_object_class_list_properties (G_OBJECT_GET_CLASS (element), &n_specs);
    for (guint i = 0; i < n_specs; i++) {
      if (is_own (specs[i]))
        check_property (element, specs[i]);
    }
    g_free (specs);
    go_to (element, GST_STATE_PAUSED);
    go_to (element, GST_STATE_NULL);
  }
}

TEST (test_every_element_has_metadata)
{
  std::vector<std::string> names = element_names ();
  fail_unless (names.size () >= 13, "only %zu elements", names.size ());
  for (const std::string &name : names) {
    GstElementFactory *factory = gst_element_factory_find (name.c_str ());
    for (const char *key : {GST_ELEMENT_METADATA_LONGNAME, GST_ELEMENT_METADATA_KLASS,
             GST_ELEMENT_METADATA_DESCRIPTION, GST_ELEMENT_METADATA_AUTHOR}) {
      const gchar *text = gst_element_factory_get_metadata (factory, key);
      fail_unless (text && *text, "%s has no %s", name.c_str (), key);
    }
    gst_object_unref (factory);
  }
}

/* Elements are created but not started, as by a registry or an editor. */
TEST (test_elements_that_are_never_started_are_freed)
{
  for (const std::string &name : element_names ()) {
    Owned<GstElement> element = make (name);
    expect_equal (G_OBJECT (element)->ref_count, 1u, name);
    gpointer watched = element.operator->();
    g_object_add_weak_pointer (G_OBJECT (element), &watched);
    element = nullptr;
    fail_unless (watched == nullptr, "%s is not freed", name.c_str ());
  }
}
