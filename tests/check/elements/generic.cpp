/* Tests of every element, whatever it computes: flushes, restarts, gaps, segments, QoS, latency,
 * allocation, extreme property values, and compiler options without user input
 *
 * What elements need beside their defaults, or caps beyond their templates, is in
 * tests/catalogue.txt.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "tests/catalogue.hpp"
#include "tests/check/harness.hpp"
#include "tests/check/one-context.hpp"
#include "tests/check/onnxmodel.hpp"

#include <gst/base/gstaggregator.h>
#include <gst/base/gstbasetransform.h>
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <map>
#include <regex>
#include <unistd.h>

#include <CL/cl.h>

using namespace check;

namespace {
#define ON_DEVICE "(memory:OpenCLMemory)"

/* An element gets the first of these frames that its sink pads accept. One that accepts none
 * needs a row. */
struct Frames {
  const char *caps;
  gsize size;
};
const Frames all_frames[] = {
    {"video/x-raw" ON_DEVICE ",format=RGBA,width=64,height=48,framerate=25/1",
        64 * 48 * 4},
    {"video/x-raw" ON_DEVICE ",format=GRAY16_LE,width=64,height=48,framerate=25/1",
        64 * 48 * 2},
    {"application/x-oct" ON_DEVICE
     ",domain=wavenumber,format=F32LE,samples=64,lines=8,framerate=25/1",
        64 * 8 * 4},
    {"application/x-oct" ON_DEVICE
     ",domain=depth,format=F32LE,quantity=variance,samples=64,lines=8,framerate=25/1",
        64 * 8 * 4},
    {"application/x-oct" ON_DEVICE
     ",domain=depth,format=CF32LE,samples=64,lines=8,framerate=25/1",
        64 * 8 * 8},
    {"other/tensors" ON_DEVICE
     ",format=static,num_tensors=1,types=uint8,dimensions=(string)16:8:4,framerate=25/1",
        16 * 8 * 4},
    {"other/tensors" ON_DEVICE ",format=static,num_tensors=1,types=float32,dimensions=("
     "string)16:8:4,framerate=25/1",
        16 * 8 * 4 * 4},
};

/* Options that may reach a compiler's command line: definitions by the elements, with
 * plain names and numbers. User input would not match. */
const std::regex plain_options (
    "(-cl-std=CL1\\.2 -w)?( *-D[A-Za-z_][A-Za-z_0-9]*(=[-+.,A-Za-z_0-9]*)?| "
    "*-cl-[-a-z]+)*");
const char *const injection = "1 -DINJECTED=1 -I/nowhere";
std::atomic<guint> builds;
std::atomic<bool> has_own_options;

constexpr GstClockTime frame_time = 40 * GST_MSECOND;

bool
is_in (const char *const *begin, const char *const *end, const std::string &name)
{
  return std::any_of (begin, end, [&] (const char *entry) { return name == entry; });
}

/* A folder with the model of openclinference while this process runs; not while a test of it
 * does, which is another process. */
struct ModelFile {
  ModelFile ()
      : owner (getpid ()), folder (text ("%s/generic-%d", g_get_tmp_dir (), owner))
  {
    const std::string bytes = red_matte_model ().bytes ();
    g_mkdir (folder.c_str (), 0700);
    g_file_set_contents ((folder + "/matte.onnx").c_str (), bytes.data (),
        gssize (bytes.size ()), nullptr);
  }
  ~ModelFile ()
  {
    for (const char *name : {"/matte.onnx", "/out.npy", "/out.nrrd", ""})
      if (getpid () == owner)
        g_remove ((folder + name).c_str ());
  }

  int owner;
  std::string folder;
};
const ModelFile model_file;

const std::vector<catalogue::Line> elements =
    catalogue::lines ("element", model_file.folder);

const catalogue::Line &
entry_of (const std::string &name)
{
  for (const catalogue::Line &line : elements) {
    if (name == line.name)
      return line;
  }
  ck_abort_msg ("%s is missing in tests/catalogue.txt", name.c_str ());
}

/* Other elements have tests of their own: they cannot process frames that a harness makes
 * from caps alone, have no output, or not one output per input. */
bool
has_frames (const std::string &name)
{
  return entry_of (name).option ("no-frames").empty ()
         && entry_of (name).option ("groups").empty ();
}

std::string
described (const std::string &name)
{
  has_own_options = g_str_has_prefix (name.c_str (), "openclkernel");
  return name + " " + entry_of (name).text;
}

/* Returns the always pad before request pads: the order of templates differs between a
 * fresh scan and a registry cache. */
GstStaticPadTemplate *
template_of (const std::string &name, GstPadDirection direction)
{
  const Owned<GstElementFactory> factory = gst_element_factory_find (name.c_str ());
  const GList *templates = gst_element_factory_get_static_pad_templates (factory);
  GstStaticPadTemplate *found = nullptr;
  for (; templates; templates = templates->next) {
    auto *entry = static_cast<GstStaticPadTemplate *> (templates->data);
    if (entry->direction == direction && (!found || entry->presence == GST_PAD_ALWAYS))
      found = entry;
  }
  return found;
}

const Frames *
frames_of (const std::string &name)
{
  const Owned<GstCaps> taken =
      gst_static_pad_template_get_caps (template_of (name, GST_PAD_SINK));
  for (const Frames &frames : all_frames) {
    if (gst_caps_can_intersect (caps_of (frames.caps), taken))
      return &frames;
  }
  ck_abort_msg ("%s takes none of the frames in all_frames of %s: add a row",
      name.c_str (), __FILE__);
}

std::string
sink_name_of (const std::string &name)
{
  const std::string requested = entry_of (name).option ("pad");
  return requested.empty () ? template_of (name, GST_PAD_SINK)->name_template : requested;
}

/* An element between two pads of the test; of an aggregator one input is used. */
class Tested : public Harness {
public:
  explicit Tested (
      const std::string &a_name,
      const std::function<void (GstElement *)> &prepare = [] (GstElement *) {})
      : Harness (prepared (launch (described (a_name)), prepare),
          frames_of (a_name)->caps, sink_name_of (a_name).c_str ()),
        name (a_name), frames (frames_of (a_name)),
        aggregates (template_of (a_name, GST_PAD_SINK)->presence == GST_PAD_REQUEST)
  {
  }
  ~Tested ()
  {
    const Outcome outcome = messages ();
    fail_unless (
        outcome.errors.empty (), "%s: %s", name.c_str (), outcome.line ().c_str ());
  }

  GstBuffer *new_frame (guint n) const
  {
    GstBuffer *buffer = buffer_of (Bytes (frames->size, guint8 (60 + n)));
    GST_BUFFER_PTS (buffer) = n * frame_time;
    GST_BUFFER_DURATION (buffer) = frame_time;
    return buffer;
  }

  void push (guint n)
  {
    const GstFlowReturn flow = Harness::push (new_frame (n));
    fail_unless (
        flow == GST_FLOW_OK, "%s gives %s", name.c_str (), gst_flow_get_name (flow));
  }

  /* Expects frame `n` as the next output. */
  void expect (guint n)
  {
    const Owned<GstBuffer> buffer = gst_harness_pull (harness);
    fail_unless (buffer, "%s gives no frame %u", name.c_str (), n);
    fail_unless (GST_BUFFER_PTS (buffer) == n * frame_time,
        "%s gives %" GST_TIME_FORMAT ", expected frame %u", name.c_str (),
        GST_TIME_ARGS (GST_BUFFER_PTS (buffer)), n);
  }

  /* Expects an event of `type`, possibly after others. */
  void expect (GstEventType type)
  {
    for (bool found = false; !found;) {
      const Owned<GstEvent> event = gst_harness_pull_event (harness);
      fail_unless (
          event, "%s: no %s arrived", name.c_str (), gst_event_type_get_name (type));
      found = GST_EVENT_TYPE (event) == type;
    }
  }

  /* Takes all that is there; the number of frames. */
  guint take_frames ()
  {
    guint frames = 0;
    while (Owned<GstBuffer> (gst_harness_try_pull (harness)))
      frames++;
    return frames;
  }

  /* A refused value may have printed a warning. */
  void forget_errors () { messages (); }

  /* Restarts through READY. A value that a start refuses makes the change fail. */
  void restart ()
  {
    gst_element_set_state (harness->element, GST_STATE_READY);
    gst_element_set_state (harness->element, GST_STATE_PLAYING);
    gst_harness_push_event (harness, gst_event_new_stream_start ("again"));
    gst_harness_set_src_caps_str (harness, frames->caps);
  }

  const std::string name;
  const Frames *const frames;
  const bool aggregates;

private:
  static GstElement *prepared (
      GstElement *element, const std::function<void (GstElement *)> &prepare)
  {
    prepare (element);
    return element;
  }
};

using Promise = void (*) (Tested &);

/* Calls `promise` for each element that frames pass through. */
void
check_each (Promise promise)
{
  guint tested = 0;
  for (const std::string &name : element_names ()) {
    if (!template_of (name, GST_PAD_SINK) || !has_frames (name))
      continue;
    GST_INFO ("%s", name.c_str ());
    Tested element (name);
    promise (element);
    tested++;
  }
  fail_unless (tested >= 10, "only %u elements", tested);
  fail_unless (builds > 0, "no program was built");
}

void
flush (Tested &element)
{
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  element.send (gst_event_new_flush_start ());
  element.send (gst_event_new_flush_stop (TRUE));
  element.send (gst_event_new_segment (&segment));
}

void
check_flush (Tested &element)
{
  for (guint round = 0; round < 3; round++) {
    for (guint n = 0; n < 4; n++)
      element.push (n);
    flush (element);
    element.take_frames ();
    element.expect (GST_EVENT_FLUSH_STOP);
  }
  /* An aggregator outputs a frame from the segment's start on. */
  const guint n = element.aggregates ? 0 : 7;
  element.push (n);
  element.send (gst_event_new_eos ());
  element.expect (n);
}

/* GstBaseTransform ignores caps that equal the current caps of its pads. */
void
check_refused_caps (Tested &element)
{
  if (element.aggregates) /* outputs a frame when the next one arrives */
    return;
  Owned<GstCaps> caps = gst_caps_from_string (element.frames->caps);
  const guint n_fields =
      guint (gst_structure_n_fields (gst_caps_get_structure (caps, 0)));
  for (guint n = 0; n < n_fields; n++) {
    Owned<GstCaps> lacking = gst_caps_copy (caps);
    GstStructure *structure = gst_caps_get_structure (lacking, 0);
    gst_structure_remove_field (structure, gst_structure_nth_field_name (structure, n));
    element.push (3 * n);
    element.expect (3 * n);
    element.send (gst_event_new_caps (lacking));
    element.forget_errors ();
    fail_unless (element.send (gst_event_new_caps (caps)));
    element.push (3 * n + 1);
    element.expect (3 * n + 1);
  }
}

void
check_gap (Tested &element)
{
  element.push (0);
  element.send (gst_event_new_gap (frame_time, frame_time));
  element.push (2);
  element.send (gst_event_new_eos ());
  element.expect (0);
  if (!element.aggregates) /* repeats the frame before the gap */
    element.expect (2);
  element.expect (GST_EVENT_EOS);
}

void
check_segment (Tested &element)
{
  GstSegment segment;
  const GstSegment *got;
  gst_segment_init (&segment, GST_FORMAT_TIME);
  segment.rate = 2;
  segment.start = 3 * frame_time;
  segment.time = 11 * frame_time;
  segment.base = 5 * frame_time;
  element.send (gst_event_new_segment (&segment));
  element.push (3);
  element.send (gst_event_new_eos ());
  const Owned<GstBuffer> buffer = element.pull ();
  /* The segment keeps its time; an aggregator has a segment of its own. */
  const Owned<GstEvent> event =
      gst_pad_get_sticky_event (element.harness->sinkpad, GST_EVENT_SEGMENT, 0);
  gst_event_parse_segment (event, &got);
  const guint64 at =
      gst_segment_to_running_time (got, GST_FORMAT_TIME, GST_BUFFER_PTS (buffer));
  fail_unless (at == (element.aggregates ? at : 5 * frame_time),
      "%s: running time %" GST_TIME_FORMAT, element.name.c_str (), GST_TIME_ARGS (at));
  if (!element.aggregates) {
    fail_unless (
        got->rate == 2 && got->time == segment.time && got->start == segment.start,
        "%s changes the segment", element.name.c_str ());
  }
}

/* In a segment in bytes, as that of filesrc, an element outputs frames or posts one error.
 * A CRITICAL fails any test. */
void
check_segment_in_bytes (Tested &element)
{
  GstSegment segment;
  gst_segment_init (&segment, GST_FORMAT_BYTES);
  element.send (gst_event_new_segment (&segment));
  for (guint n = 0; n < 3; n++)
    gst_harness_push (element.harness, element.new_frame (n));
  element.send (gst_event_new_eos ());
  std::vector<std::string> errors;
  const bool ended = soon ([&] { /* an aggregator has a thread of its own */
    for (const std::string &error : element.messages ().errors)
      errors.push_back (error);
    return !errors.empty () || gst_harness_buffers_in_queue (element.harness) > 0;
  });
  fail_unless (ended, "%s: neither a frame nor an error", element.name.c_str ());
  fail_unless (errors.size () <= 1, "%s: %s", element.name.c_str (), errors[0].c_str ());
}

/* Caps whose fractions have extreme values, as a broken header may give them. The element
 * outputs frames, or posts one error. A CRITICAL fails any test. */
void
check_extreme_fractions (Tested &element)
{
  const std::string caps = element.frames->caps;
  const std::string rate = "framerate=25/1";
  guint n = 0;
  for (const char *value : {"0/1", "1/2147483647", "2147483647/1"}) {
    for (const char *field : {"framerate", "pixel-aspect-ratio"}) {
      const bool is_rate = std::string (field) == "framerate";
      if (!is_rate && caps.compare (0, 5, "video") != 0)
        continue;
      std::string changed = caps;
      changed.replace (changed.find (rate), rate.size (),
          is_rate ? std::string (field) + "=" + value : rate + "," + field + "=" + value);
      Owned<GstCaps> parsed = gst_caps_from_string (changed.c_str ());
      element.send (gst_event_new_caps (parsed));
      gst_harness_push (element.harness, element.new_frame (n++));
      gst_harness_push (element.harness, element.new_frame (n++));
      const Outcome outcome = element.messages ();
      fail_unless (outcome.errors.size () <= 1, "%s, %s=%s: %s", element.name.c_str (),
          field, value, outcome.line ().c_str ());
    }
  }
  element.take_frames ();
}

/* A QoS event reports a frame as an hour late; all measurements must still be output. */
void
check_qos (Tested &element)
{
  element.push (0);
  if (element.aggregates) /* in its own thread: before the event arrives */
    soon ([&] { return gst_harness_buffers_in_queue (element.harness) > 0; });
  gst_harness_push_upstream_event (element.harness,
      gst_event_new_qos (GST_QOS_TYPE_UNDERFLOW, 0.5, 3600 * GST_SECOND, 0));
  for (guint n = 1; n < 4; n++)
    element.push (n);
  element.send (gst_event_new_eos ());
  const guint frames = element.take_frames ();
  fail_unless (frames >= 1, "%s: no further output", element.name.c_str ());
  if (g_str_has_prefix (element.name.c_str (), "oct"))
    fail_unless (frames == 4, "%s leaves measurements out", element.name.c_str ());
}

void
check_latency (Tested &element)
{
  gst_harness_set_live (element.harness, TRUE);
  gst_harness_set_upstream_latency (element.harness, 70 * GST_MSECOND);
  element.push (0);
  const GstClockTime latency = gst_harness_query_latency (element.harness);
  fail_unless (latency >= 70 * GST_MSECOND && latency <= 200 * GST_MSECOND,
      "%s: latency %" GST_TIME_FORMAT, element.name.c_str (), GST_TIME_ARGS (latency));
}

/* A value near the default of a number, but different; NaN for other types */
gdouble
other_value (GParamSpec *spec)
{
  if (G_IS_PARAM_SPEC_DOUBLE (spec)) {
    auto *range = G_PARAM_SPEC_DOUBLE (spec);
    const gdouble step = MIN (range->maximum - range->minimum, 1) / 1024;
    const bool up = range->default_value + step <= range->maximum;
    return range->default_value + (up ? step : -step);
  }
  if (G_IS_PARAM_SPEC_UINT (spec)) {
    auto *range = G_PARAM_SPEC_UINT (spec);
    const bool up = range->default_value < range->maximum;
    return gdouble (range->default_value) + (up ? 1 : -1);
  }
  if (G_IS_PARAM_SPEC_INT (spec)) {
    auto *range = G_PARAM_SPEC_INT (spec);
    return range->default_value + (range->default_value < range->maximum ? 1 : -1);
  }
  return NAN;
}

void
control (GstElement *element, const char *property, gdouble value)
{
  const Owned<GstControlSource> source = gst_interpolation_control_source_new ();
  gst_timed_value_control_source_set (
      GST_TIMED_VALUE_CONTROL_SOURCE (source.operator->()), 0, value);
  gst_object_add_control_binding (GST_OBJECT (element),
      gst_direct_control_binding_new_absolute (GST_OBJECT (element), property, source));
}

bool
has_value (GstElement *element, const char *property, gdouble expected)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, G_TYPE_DOUBLE);
  g_object_get_property (G_OBJECT (element), property, &value);
  return std::abs (g_value_get_double (&value) - expected) < 1e-6;
}

guint controlled_properties = 0;

/* A frame sets controlled properties to the values of its time. */
void
check_controllers (Tested &element)
{
  GstElement *tested = element.harness->element;
  std::map<std::string, gdouble> expected;
  guint n_specs;
  GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (tested), &n_specs);

  for (guint n = 0; n < n_specs; n++) {
    const gdouble value = other_value (specs[n]);
    if (!(specs[n]->flags & GST_PARAM_CONTROLLABLE) || std::isnan (value))
      continue;
    expected[specs[n]->name] = value;
    control (tested, specs[n]->name, value);
  }
  g_free (specs);
  element.push (0);
  if (element.aggregates) /* outputs a frame when the next one arrives */
    element.push (1);
  for (const auto &[property, value] : expected) {
    fail_unless (soon ([&, &name = property, &wanted = value] {
      return has_value (tested, name.c_str (), wanted);
    }),
        "%s does not follow the controller of %s", element.name.c_str (),
        property.c_str ());
  }
  controlled_properties += guint (expected.size ());
  element.forget_errors (); /* two of the values may contradict each other */
}

/* An element works with any pool that is offered, and accepts its buffers. */
void
use_pool (Tested &element, GstBufferPool *pool, guint size)
{
  GstStructure *config = gst_buffer_pool_get_config (pool);
  GstBuffer *buffer = nullptr;

  fail_unless (size >= element.frames->size, "%s offers buffers of %u bytes",
      element.name.c_str (), size);
  gst_buffer_pool_config_set_params (config, caps_of (element.frames->caps), size, 0, 0);
  fail_unless (gst_buffer_pool_set_config (pool, config));
  fail_unless (gst_buffer_pool_set_active (pool, TRUE));
  fail_unless (gst_buffer_pool_acquire_buffer (pool, &buffer, nullptr) == GST_FLOW_OK);
  gst_buffer_memset (buffer, 0, 99, gsize (-1));
  GST_BUFFER_PTS (buffer) = 0;
  GST_BUFFER_DURATION (buffer) = frame_time;
  fail_unless (gst_harness_push (element.harness, buffer) == GST_FLOW_OK);
  element.send (gst_event_new_eos ());
  element.expect (0);
  gst_buffer_pool_set_active (pool, FALSE);
}

void
check_allocation (Tested &element)
{
  const Owned<GstCaps> caps = caps_of (element.frames->caps);
  for (bool need_pool : {false, true}) {
    const Owned<GstQuery> query = gst_query_new_allocation (caps, need_pool);
    if (!gst_pad_peer_query (element.harness->srcpad, query)
        || gst_query_get_n_allocation_pools (query) == 0 || !need_pool)
      continue;
    Owned<GstBufferPool> pool;
    guint size, least, most;
    gst_query_parse_nth_allocation_pool (query, 0, pool.out (), &size, &least, &most);
    if (pool)
      use_pool (element, pool, size);
  }
}

/* GstBaseTransform would keep an answer given after the pad has stopped for good. */
void
check_stopping_pad (Tested &element)
{
  if (!GST_IS_BASE_TRANSFORM (element.harness->element))
    return;
  element.push (0);
  Owned<GstPad> sink = gst_element_get_static_pad (
      element.harness->element, sink_name_of (element.name).c_str ());
  Owned<GstCaps> caps = gst_pad_get_current_caps (sink);
  const Owned<GstQuery> query = gst_query_new_allocation (caps, TRUE);
  gst_pad_set_active (sink, FALSE);
  fail_if (gst_pad_query (sink, query), "%s answers", element.name.c_str ());
}

/* --- properties --- */

/* Properties of GStreamer's base classes are not tested here. */
bool
is_own (GParamSpec *spec)
{
  const char *const others[] = {"GstObject", "GstBaseSrc", "GstBaseSink",
      "GstBaseTransform", "GstAggregator", "GstAggregatorPad", "GstVideoAggregator",
      "GstVideoAggregatorPad", "GstBin"};
  /* A bin has those of the aggregator in it. */
  static const auto aggregator = G_OBJECT_CLASS (g_type_class_ref (GST_TYPE_AGGREGATOR));
  return (spec->flags & G_PARAM_WRITABLE) && !(spec->flags & G_PARAM_CONSTRUCT_ONLY)
         && !is_in (
             std::begin (others), std::end (others), g_type_name (spec->owner_type))
         && !g_object_class_find_property (aggregator, spec->name);
}

using Values = std::vector<GValue>;

template <typename Set, typename Number>
void
add_value (Values &values, GParamSpec *spec, Set set, Number number)
{
  GValue value = G_VALUE_INIT;
  g_value_init (&value, spec->value_type);
  set (&value, number);
  values.push_back (value);
}

template <typename Spec, auto set>
void
add_ends (Values &values, GParamSpec *spec)
{
  const auto *range = reinterpret_cast<const Spec *> (spec);
  add_value (values, spec, set, range->minimum);
  add_value (values, spec, set, range->maximum);
}

void
add_fractions (Values &values, GParamSpec *spec)
{
  const GstParamSpecFraction *range = GST_PARAM_SPEC_FRACTION (spec);
  auto set = [] (GValue *value, std::pair<gint, gint> fraction) {
    gst_value_set_fraction (value, fraction.first, fraction.second);
  };
  add_value (values, spec, set, std::pair (range->min_num, range->min_den));
  add_value (values, spec, set, std::pair (range->max_num, range->max_den));
}

void
add_booleans (Values &values, GParamSpec *spec)
{
  for (bool value : {false, true})
    add_value (values, spec, g_value_set_boolean, value);
}

void
add_choices (Values &values, GParamSpec *spec)
{
  const GEnumClass *choices = G_PARAM_SPEC_ENUM (spec)->enum_class;
  for (guint n = 0; n < choices->n_values; n++)
    add_value (values, spec, g_value_set_enum, choices->values[n].value);
}

void
add_texts (Values &values, GParamSpec *spec)
{
  for (const char *text :
      {"", "nonsense", "/nowhere/\xff", injection, static_cast<const char *> (nullptr)})
    add_value (values, spec, g_value_set_string, text);
}

/* Extreme values of a property; for other types only the initial value */
Values
extremes_of (GParamSpec *spec)
{
  const struct {
    GType type;
    void (*add) (Values &, GParamSpec *);
  } kinds[] = {{G_TYPE_INT, add_ends<GParamSpecInt, g_value_set_int>},
      {G_TYPE_UINT, add_ends<GParamSpecUInt, g_value_set_uint>},
      {G_TYPE_INT64, add_ends<GParamSpecInt64, g_value_set_int64>},
      {G_TYPE_UINT64, add_ends<GParamSpecUInt64, g_value_set_uint64>},
      {G_TYPE_FLOAT, add_ends<GParamSpecFloat, g_value_set_float>},
      {G_TYPE_DOUBLE, add_ends<GParamSpecDouble, g_value_set_double>},
      {G_TYPE_BOOLEAN, add_booleans}, {G_TYPE_ENUM, add_choices},
      {G_TYPE_STRING, add_texts}, {GST_TYPE_FRACTION, add_fractions}};
  Values values;
  for (const auto &kind : kinds) {
    if (g_type_is_a (spec->value_type, kind.type))
      kind.add (values, spec);
  }
  if (values.empty ())
    add_value (
        values, spec, [] (GValue *, int) {}, 0);
  return values;
}

using Attempt = std::function<void (GParamSpec *, const GValue *)>;

void
try_extremes (gpointer object, const Attempt &attempt)
{
  guint n_specs;
  GParamSpec **specs =
      g_object_class_list_properties (G_OBJECT_GET_CLASS (object), &n_specs);

  for (guint n = 0; n < n_specs; n++) {
    if (!is_own (specs[n]))
      continue;
    for (GValue &value : extremes_of (specs[n])) {
      GST_INFO_OBJECT (object, "%s", specs[n]->name);
      attempt (specs[n], &value);
      g_value_unset (&value);
    }
  }
  g_free (specs);
}

/* Plays, or one element reports an error; either within the timeout of play(). */
void
start_with (const std::string &name, GParamSpec *spec, const GValue *value)
{
  const std::string tested = described (name) + " name=tested";
  const std::string size = entry_of (name).option ("size"),
                    sink = (size.empty () ? "" : " ! " + size) + " ! fakesink";
  std::string line = tested + " num-buffers=2" + sink;
  if (template_of (name, GST_PAD_SINK)) {
    const Frames *frames = frames_of (name);
    line = tested + sink
           + " fakesrc num-buffers=2 format=time sizetype=fixed "
             "filltype=zero sizemax="
           + std::to_string (frames->size) + " ! " + frames->caps + " ! tested."
           + entry_of (name).option ("pad");
  }
  Pipeline pipeline (line);
  g_object_set_property (G_OBJECT (pipeline["tested"]), spec->name, value);
  pipeline.play ();
}

/* Frames are processed without an error: a value that cannot be used leaves the previous
 * one in effect. */
void
set_while_playing (Tested &element, gpointer object)
{
  guint n = 0;
  element.push (n++);
  try_extremes (object, [&] (GParamSpec *spec, const GValue *value) {
    GValue before = G_VALUE_INIT;
    g_value_init (&before, spec->value_type);
    g_object_get_property (G_OBJECT (object), spec->name, &before);
    for (const GValue *next : {value, static_cast<const GValue *> (&before)}) {
      g_object_set_property (G_OBJECT (object), spec->name, next);
      element.push (n++);
    }
    g_value_unset (&before);
    element.take_frames ();
  });
}

/* --- properties that change while playing --- */

/* The output depends on the number of frames since the start. */
const char *const without_repetition[] = {"octsignal", "octrender", "octvolume"};
/* More than a group of any element has, and enough for a mean to settle */
constexpr guint settling_frames = 24;

/* Every choice of an enumeration; two numbers near the default */
Values
usual_values_of (GParamSpec *spec)
{
  Values values;
  if (g_type_is_a (spec->value_type, G_TYPE_ENUM))
    add_choices (values, spec);
  else if (g_type_is_a (spec->value_type, G_TYPE_BOOLEAN))
    add_value (
        values, spec, g_value_set_boolean, !G_PARAM_SPEC_BOOLEAN (spec)->default_value);
  const gdouble near = other_value (spec);
  if (std::isnan (near))
    return values;
  for (gdouble factor : {1.0, 3.0}) {
    GValue number = G_VALUE_INIT, value = G_VALUE_INIT;
    g_value_init (&number, G_TYPE_DOUBLE);
    g_value_init (&value, spec->value_type);
    g_value_copy (g_param_spec_get_default_value (spec), &value);
    g_value_transform (&value, &number);
    g_value_set_double (&number,
        g_value_get_double (&number) + factor * (near - g_value_get_double (&number)));
    if (g_value_transform (&number, &value) && !g_param_value_validate (spec, &value))
      values.push_back (value);
  }
  return values;
}

/* Frame of numbers at random, the same for each `seed` */
GstBuffer *
random_frame (const Tested &element, guint n, guint seed = 7)
{
  std::mt19937 random (seed);
  Bytes bytes (element.frames->size);
  const bool floats =
      strstr (element.frames->caps, "F32LE") || strstr (element.frames->caps, "float32");
  for (gsize at = 0; at < bytes.size (); at += floats ? 4 : 1) {
    if (floats)
      GST_WRITE_FLOAT_LE (&bytes[at], float (random () % 1000) / 8);
    else
      bytes[at] = guint8 (random ());
  }
  GstBuffer *buffer = buffer_of (bytes);
  GST_BUFFER_PTS (buffer) = n * frame_time;
  GST_BUFFER_DURATION (buffer) = frame_time;
  return buffer;
}

/* Last output after some frames, with its caps; empty if there is none */
struct Settled {
  std::string caps;
  Bytes bytes;
  bool refused = false; /* no output, or a message was posted */
};

Settled
settle (Tested &element, guint &n)
{
  Settled settled;
  for (guint frame = 0; frame < settling_frames; frame++)
    gst_harness_push (element.harness, random_frame (element, n++));
  Owned<GstCaps> caps = gst_pad_get_current_caps (element.harness->sinkpad);
  if (caps) /* outer dimensions of 1 change no array */
    settled.caps = std::regex_replace (
        std::string (Owned<gchar> (gst_caps_to_string (caps)).operator->()),
        std::regex ("(:1)+($|,)"), "$2");
  while (const Owned<GstBuffer> buffer = gst_harness_try_pull (element.harness))
    settled.bytes = read_buffer (buffer);
  settled.refused = !element.messages ().is_clean () || settled.bytes.empty ();
  return settled;
}

/* Output of a new element that starts with the value */
Settled
fresh (const std::string &name, GParamSpec *spec, const GValue *value)
{
  const auto prepare = [&] (GstElement *made) {
    g_object_set_property (G_OBJECT (made), spec->name, value);
  };
  LoneElement alone (launch (described (name)));
  prepare (alone);
  Settled settled;
  settled.refused = !alone.reaches_state (GST_STATE_PAUSED);
  if (settled.refused)
    return settled;
  Tested element (name, prepare);
  guint n = 0;
  return settle (element, n);
}

void
expect_settled (const Settled &got, const Settled &expected, const std::string &what)
{
  if (got.refused || expected.refused)
    return;
  fail_unless (got.caps == expected.caps, "%s: caps %s, expected %s", what.c_str (),
      got.caps.c_str (), expected.caps.c_str ());
  fail_unless (got.bytes == expected.bytes, "%s: not as of a new element", what.c_str ());
}

/* Changes a property to each value and back, and restarts with the last value. */
void
change_property (const std::string &name, GParamSpec *spec, Values values)
{
  Tested element (name);
  std::vector<Settled> expected;
  GValue first = G_VALUE_INIT;
  guint frames = 0;

  g_value_init (&first, spec->value_type);
  g_object_get_property (G_OBJECT (element.harness->element), spec->name, &first);
  values.push_back (first);
  for (const GValue &value : values)
    expected.push_back (fresh (name, spec, &value));
  expect_settled (settle (element, frames), expected.back (), name);
  for (gsize turn = 0; turn <= values.size (); turn++) {
    const gsize at = turn % values.size ();
    g_object_set_property (G_OBJECT (element.element ()), spec->name, &values[at]);
    expect_settled (settle (element, frames), expected[at],
        text ("%s %s, value %zu", name.c_str (), spec->name, at));
  }
  element.restart ();
  frames = 0;
  expect_settled (settle (element, frames), expected[0],
      text ("%s %s after a restart", name.c_str (), spec->name));
  for (GValue &value : values)
    g_value_unset (&value);
}

/* --- streams that begin again --- */

/* No group or ring of frames ends with it. */
constexpr guint frames_of_stream = 7;

/* Properties whose state a flush keeps: ranges and means that adapt over frames, and a view
 * that turns */
const struct {
  const char *element, *property;
} kept_over_a_flush[] = {{"octdisplay", "db-auto"}, {"octfft", "db-auto"},
    {"octrender", "turn"}, {"octwindowinterp", "background"}};

bool
keeps_over_a_flush (const std::string &element, const std::string &property)
{
  for (const auto &kept : kept_over_a_flush) {
    if (element == kept.element && property == kept.property)
      return true;
  }
  return false;
}

std::vector<Bytes>
outputs_of (Tested &element, guint begin, guint end)
{
  std::vector<Bytes> outputs;
  for (guint n = begin; n < end; n++)
    gst_harness_push (element.harness, random_frame (element, n, n));
  while (const Owned<GstBuffer> buffer = gst_harness_try_pull (element.harness))
    outputs.push_back (read_buffer (buffer));
  return outputs;
}

void
expect_outputs (Tested &element, const std::vector<Bytes> &expected, const char *what)
{
  const std::vector<Bytes> got = outputs_of (element, 0, frames_of_stream);
  const Outcome outcome = element.messages ();
  fail_unless (outcome.errors.empty (), "%s: %s", what, outcome.line ().c_str ());
  fail_unless (got.size () == expected.size (), "%s: %zu outputs, expected %zu", what,
      got.size (), expected.size ());
  for (gsize n = 0; n < got.size (); n++)
    fail_unless (got[n] == expected[n], "%s: output %zu is another", what, n);
}

/* Plays the same frames from the start, after a flush and after a restart, with a property
 * that has a value from the start. */
void
begin_again (const std::string &name, GParamSpec *spec, const GValue *value)
{
  const auto prepare = [&] (GstElement *made) {
    g_object_set_property (G_OBJECT (made), spec->name, value);
  };
  LoneElement alone (launch (described (name)));
  prepare (alone);
  if (!alone.reaches_state (GST_STATE_PAUSED))
    return;
  Tested element (name, prepare);
  const std::vector<Bytes> expected = outputs_of (element, 0, frames_of_stream);
  if (!element.messages ().is_clean ())
    return;
  const Owned<gchar> contents = gst_value_serialize (value);
  const std::string set = name + " " + spec->name + "=" + contents.operator->();
  for (guint others = 0; others < 3 && !keeps_over_a_flush (name, spec->name); others++) {
    outputs_of (element, frames_of_stream, frames_of_stream + others);
    flush (element);
    expect_outputs (element, expected, (set + " after a flush").c_str ());
  }
  element.restart ();
  expect_outputs (element, expected, (set + " after a restart").c_str ());
}

void
check_extremes (Tested &element)
{
  set_while_playing (element, element.harness->element);
  if (!element.aggregates)
    return;
  set_while_playing (
      element, Owned<GstPad> (gst_pad_get_peer (element.harness->srcpad)).operator->());
}
} // namespace

/* Overrides the OpenCL loader's function. A user's own `options` are documented as
 * code. */
extern "C" cl_int
clBuildProgram (cl_program program, cl_uint n_devices, const cl_device_id *devices,
    const char *options, void (CL_CALLBACK *notify) (cl_program, void *), void *user_data)
{
  /* The loader came with a plugin, so RTLD_NEXT does not find it. */
  static void *const loader = dlopen ("libOpenCL.so.1", RTLD_NOW);
  static const auto next =
      reinterpret_cast<decltype (&clBuildProgram)> (dlsym (loader, "clBuildProgram"));
  fail_unless (
      std::regex_match (options ? options : "", plain_options) || has_own_options,
      "unexpected build options: %s", options);
  builds++;
  return next (program, n_devices, devices, options, notify, user_data);
}

/* A plugin of another project with the same name or file would hide ours. */
TEST (test_generic_plugins_have_names_of_their_own)
{
  const std::map<std::string, const char *> plugins = {{"chromakey", "keyingopencl"},
      {"npyparse", "npyopencl"}, {"octfft", "octopencl"},
      {"openclkernel", "computeopencl"}, {"openclupload", "transferopencl"}};
  for (const auto &[element, name] : plugins) {
    Owned<GstElementFactory> factory = gst_element_factory_find (element.c_str ());
    Owned<GstPlugin> plugin =
        gst_plugin_feature_get_plugin (GST_PLUGIN_FEATURE (factory.operator->()));
    ck_assert_str_eq (gst_plugin_get_name (plugin), name);
    const std::string file = gst_plugin_get_filename (plugin);
    const std::string expected = std::string ("/libgst") + name + ".so";
    fail_unless (file.size () > expected.size ()
                     && file.substr (file.size () - expected.size ()) == expected,
        "%s is in %s", element.c_str (), file.c_str ());
    ck_assert_str_eq (gst_plugin_get_source (plugin), "gst-opencl");
    ck_assert_str_eq (gst_plugin_get_package (plugin), "GStreamer OpenCL");
    const std::string origin = gst_plugin_get_origin (plugin);
    fail_unless (!origin.empty () && origin.find ("freedesktop.org") == std::string::npos
                     && origin.find ("nknown") == std::string::npos,
        "%s has origin %s", name, origin.c_str ());
  }
}

const struct {
  const char *label;
  Promise check;
} promises[] = {
    {"flush leaves an element as new", check_flush},
    {"caps that are refused leave those before", check_refused_caps},
    {"a gap passes between frames", check_gap},
    {"a segment is kept", check_segment},
    {"a segment in bytes is tolerated or one error", check_segment_in_bytes},
    {"extreme fractions in caps are tolerated or one error", check_extreme_fractions},
    {"QoS stops nothing", check_qos},
    {"latency is passed on", check_latency},
    {"controlled properties follow their controllers", check_controllers},
    {"pools that are offered work", check_allocation},
    {"pads that stop answer for no allocation", check_stopping_pad},
    {"properties at their ends while playing stop nothing", check_extremes},
};

TEST_ROWS (test_generic_promises_hold_for_each_element, promises)
{
  check_each (row.check);
  fail_unless (row.check != check_controllers || controlled_properties >= 30, "%u",
      controlled_properties);
}

/* A launch line takes only "<1>" for an array of one number, and GStreamer does not say so. */
TEST (test_generic_blurbs_of_arrays_have_an_example)
{
  guint arrays = 0;
  for (const std::string &name : element_names ()) {
    Owned<GstElement> element = gst_element_factory_make (name.c_str (), nullptr);
    guint n_specs;
    GParamSpec **specs = g_object_class_list_properties (
        G_OBJECT_GET_CLASS (element.operator->()), &n_specs);
    for (guint n = 0; n < n_specs; n++) {
      GValue value = G_VALUE_INIT;
      std::cmatch example;
      if (specs[n]->value_type != GST_TYPE_ARRAY)
        continue;
      fail_unless (std::regex_search (g_param_spec_get_blurb (specs[n]), example,
                       std::regex ("\"(<.*>)\"")),
          "%s %s", name.c_str (), specs[n]->name);
      g_value_init (&value, GST_TYPE_ARRAY);
      fail_unless (gst_value_deserialize (&value, example[1].str ().c_str ()));
      g_value_unset (&value);
      arrays++;
    }
    g_free (specs);
  }
  fail_unless (arrays > 0);
}

TEST_ROWS (test_generic_properties_at_their_ends_start_or_say_why_not, element_names ())
{
  if (!has_frames (row))
    return;
  Owned<GstElement> element = gst_element_factory_make (row.c_str (), nullptr);
  try_extremes (element.operator->(),
      [&] (GParamSpec *spec, const GValue *value) { start_with (row, spec, value); });
}

namespace {
/* Calls `check` with each own property that has usual values. */
template <typename Check>
void
for_usual_values (const std::string &name, const Check &check)
{
  if (!template_of (name, GST_PAD_SINK)
      || template_of (name, GST_PAD_SINK)->presence == GST_PAD_REQUEST
      || !entry_of (name).option ("no-frames").empty ())
    return;
  Owned<GstElement> element = gst_element_factory_make (name.c_str (), nullptr);
  guint n_specs;
  GParamSpec **specs = g_object_class_list_properties (
      G_OBJECT_GET_CLASS (element.operator->()), &n_specs);
  for (guint n = 0; n < n_specs; n++) {
    Values values = usual_values_of (specs[n]);
    if (is_own (specs[n]) && !values.empty ())
      check (specs[n], values);
  }
  g_free (specs);
}
} // namespace

/* Whatever was set before, frames are as those of a new element with the same value. */
TEST_ROWS (test_generic_changed_properties_act_as_at_the_start, element_names ())
{
  if (is_in (std::begin (without_repetition), std::end (without_repetition), row))
    return;
  for_usual_values (row, [&] (GParamSpec *spec, const Values &values) {
    if (spec->flags & GST_PARAM_MUTABLE_PLAYING)
      change_property (row, spec, values);
  });
}

/* octsignal draws numbers when these have been read back, a frame sooner or later. */
TEST_ROWS (test_generic_streams_begin_again, element_names ())
{
  if (row == "octsignal")
    return;
  for_usual_values (row, [&] (GParamSpec *spec, const Values &values) {
    for (const GValue &value : values)
      begin_again (row, spec, &value);
  });
}

namespace {
std::vector<GstPadTemplate *>
sink_templates (GstElement *element, GstPadPresence presence)
{
  std::vector<GstPadTemplate *> found;
  GList *item = gst_element_class_get_pad_template_list (GST_ELEMENT_GET_CLASS (element));
  for (; item; item = item->next) {
    auto *entry = static_cast<GstPadTemplate *> (item->data);
    if (entry->direction == GST_PAD_SINK && entry->presence == presence)
      found.push_back (entry);
  }
  return found;
}

/* Adds an element whose source pad has `caps`. */
GstElement *
add_source (GstElement *bin, GstCaps *caps)
{
  GstElement *source = gst_element_factory_make ("capsfilter", nullptr);
  g_object_set (source, "caps", caps, nullptr);
  gst_bin_add (GST_BIN (bin), source);
  return source;
}

bool
is_linked_to_request_pad (GstElement *source)
{
  Owned<GstPad> pad = gst_element_get_static_pad (source, "src");
  Owned<GstPad> peer = gst_pad_get_peer (pad);
  return peer
         && GST_PAD_TEMPLATE_PRESENCE (GST_PAD_PAD_TEMPLATE (peer)) == GST_PAD_REQUEST;
}

/* The caps without the feature memory:OpenCLMemory */
std::string
in_system_memory (const Frames &frames)
{
  return std::regex_replace (frames.caps, std::regex ("\\(memory:OpenCLMemory\\)"), "");
}

/* Source of one frame: an element that fails cannot report it at a second frame */
std::string
source_of (const Frames &frames, const std::string &caps)
{
  return "fakesrc num-buffers=1 format=time sizetype=fixed filltype=zero sizemax="
         + std::to_string (frames.size) + " ! " + caps;
}

/* Caps of the element "late", which are set after the pipeline is linked, as
 * autovideosink chooses its sink late */
const char *const late_caps = "video/x-raw; application/x-oct; other/tensors";

/* Plays a pipeline, if it can be linked, and fails unless it ends with EOS or an error. */
Outcome
expect_an_end (const std::string &line)
{
  Outcome outcome;
  Owned<GError> error;
  Owned<GstElement> pipeline = gst_parse_launch_full (
      line.c_str (), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, error.out ());
  if (error)
    return outcome;
  Owned<GstElement> late = gst_bin_get_by_name (GST_BIN (pipeline.operator->()), "late");
  if (late)
    gst_util_set_object_arg (G_OBJECT (late.operator->()), "caps", late_caps);
  Owned<GstBus> bus = gst_element_get_bus (pipeline);
  gst_element_set_state (pipeline, GST_STATE_PLAYING);
  fail_unless (soon ([&] {
    const Outcome messages = collect (bus);
    outcome.warnings.insert (
        outcome.warnings.end (), messages.warnings.begin (), messages.warnings.end ());
    outcome.errors = messages.errors;
    return messages.eos || !messages.errors.empty ();
  }),
      "it hangs: %s", line.c_str ());
  gst_element_set_state (pipeline, GST_STATE_NULL);
  return outcome;
}

bool
has_text (const std::vector<std::string> &messages, const char *text)
{
  return std::any_of (
      messages.begin (), messages.end (), [&] (const std::string &message) {
        return message.find (text) != std::string::npos;
      });
}
} // namespace

/* Elements whose inputs are all request pads have no main input, and are skipped. */
TEST (test_generic_request_pads_are_not_linked_automatically)
{
  guint tested = 0;
  for (const std::string &name : element_names ()) {
    Owned<GstElement> model = GST_ELEMENT (g_object_ref_sink (launch (described (name))));
    const auto always = sink_templates (model, GST_PAD_ALWAYS);
    for (GstPadTemplate *of : sink_templates (model, GST_PAD_REQUEST)) {
      for (guint has_main = 0; has_main < 2 && !always.empty (); has_main++, tested++) {
        Owned<GstElement> bin = GST_ELEMENT (g_object_ref_sink (gst_bin_new (nullptr)));
        GstElement *element = launch (described (name));
        gst_bin_add (GST_BIN (bin.operator->()), element);
        GstElement *main = add_source (bin, GST_PAD_TEMPLATE_CAPS (always[0]));
        GstElement *source = add_source (bin, GST_PAD_TEMPLATE_CAPS (of));
        if (has_main)
          fail_unless (gst_element_link (main, element));
        gst_element_link (source, element);
        fail_unless (!is_linked_to_request_pad (source), "%s links %s by itself",
            name.c_str (), of->name_template);
        gst_element_unlink (source, element);
        const std::string pad =
            std::regex_replace (of->name_template, std::regex ("%[us]"), "0");
        fail_unless (gst_element_link_pads (source, nullptr, element, pad.c_str ()),
            "%s does not link %s by its name", name.c_str (), pad.c_str ());
      }
    }
  }
  fail_unless (tested >= 8, "%u", tested);
}

TEST (test_generic_pipelines_without_openclupload_end)
{
  for (const std::string &name : element_names ()) {
    const char *rest = template_of (name, GST_PAD_SRC) ? " ! fakesink" : "";
    for (const Frames &frames : all_frames)
      expect_an_end (source_of (frames, in_system_memory (frames)) + " ! "
                     + described (name) + rest);
  }
}

TEST (test_generic_pipelines_without_opencldownload_end_and_say_why)
{
  guint refused = 0;
  for (const std::string &name : element_names ()) {
    /* It also outputs other memory, and these frames are wrong input for it. */
    if (name == "openclupload")
      continue;
    for (const Frames &frames : all_frames) {
      const Outcome messages =
          expect_an_end (source_of (frames, frames.caps) + " ! " + described (name)
                         + " ! capsfilter name=late ! fakesink");
      const bool is_refused = has_text (messages.errors, "Internal data stream error");
      fail_unless (!is_refused || has_text (messages.warnings, "opencldownload"),
          "%s: %s", name.c_str (), messages.line ().c_str ());
      refused += is_refused;
    }
  }
  fail_unless (refused >= 10, "%u", refused);
}
