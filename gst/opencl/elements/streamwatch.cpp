/* Detects streams that cannot go on
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "streamwatch.hpp"

#include <gst/common/elementbin.hpp>
#include <gst/opencl/core/hooks.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/base/gstaggregator.h>
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>

namespace opencl {
/* --- failed streams --- */

namespace {
using Groups = std::set<guint>;

/* Belongs to the pipeline, or to the outermost bin or element if there is none. */
struct FailedStreams {
  std::mutex lock;
  Groups groups;
};

GQuark
streams_quark ()
{
  static const GQuark quark = g_quark_from_static_string ("gst-opencl-failed-streams");
  return quark;
}

/* Returns the group ids of the streams of all pads. */
Groups
groups_of (GstElement *element)
{
  Groups groups;
  auto add = [] (GstElement *, GstPad *pad, gpointer groups) -> gboolean {
    guint group;
    GstEvent *event = gst_pad_get_sticky_event (pad, GST_EVENT_STREAM_START, 0);
    if (event && gst_event_parse_group_id (event, &group))
      static_cast<Groups *> (groups)->insert (group);
    gst_clear_event (&event);
    return TRUE;
  };
  gst_element_foreach_pad (element, add, &groups);
  return groups;
}

/* Calls `work` under the lock with the failed streams and those of the element. If no
 * stream has ever failed, it is called only if `makes` is set. */
template <typename Work>
void
with_failed_streams (GstElement *element, bool makes, Work work)
{
  GstObject *outermost = ref_outermost (element);

  GST_OBJECT_LOCK (outermost);
  auto *streams = static_cast<FailedStreams *> (
      g_object_get_qdata (G_OBJECT (outermost), streams_quark ()));
  if (!streams && makes) {
    streams = new FailedStreams;
    g_object_set_qdata_full (G_OBJECT (outermost), streams_quark (), streams,
        [] (gpointer data) { delete static_cast<FailedStreams *> (data); });
  }
  GST_OBJECT_UNLOCK (outermost);
  if (streams) {
    const Groups groups = groups_of (element);
    std::lock_guard<std::mutex> guard (streams->lock);
    work (streams->groups, groups);
  }
  gst_object_unref (outermost);
}
} // namespace

void
mark_streams_failed (GstElement *element)
{
  with_failed_streams (element, true, [] (Groups &failed, const Groups &groups) {
    failed.insert (groups.begin (), groups.end ());
  });
}

void
unmark_streams (GstElement *element)
{
  with_failed_streams (element, false, [] (Groups &failed, const Groups &groups) {
    for (guint group : groups)
      failed.erase (group);
  });
}

bool
has_failed_stream (GstElement *element)
{
  bool has_failed = false;
  with_failed_streams (element, false, [&] (Groups &failed, const Groups &groups) {
    has_failed = std::any_of (groups.begin (), groups.end (),
        [&failed] (guint group) { return failed.count (group) > 0; });
  });
  return has_failed;
}

/* --- linked elements that do not take OpenCL memory --- */

namespace {
bool
is_device_memory (const GstCapsFeatures *features)
{
  return gst_caps_features_contains (features, GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY);
}

bool
is_only_device_memory (const GstCaps *caps)
{
  bool is = !gst_caps_is_any (caps) && !gst_caps_is_empty (caps);
  for (guint n = 0; n < gst_caps_get_size (caps); n++)
    is = is && is_device_memory (gst_caps_get_features (caps, n));
  return is;
}

/* Returns true if no caps allow OpenCL memory. EMPTY caps give false, since linking then
 * fails for another reason. */
bool
has_no_device_memory (const GstCaps *caps)
{
  bool is = !gst_caps_is_any (caps) && !gst_caps_is_empty (caps);
  for (guint n = 0; n < gst_caps_get_size (caps); n++) {
    const GstCapsFeatures *features = gst_caps_get_features (caps, n);
    is = is && !gst_caps_features_is_any (features) && !is_device_memory (features);
  }
  return is;
}

std::string
name_of_parent (GstPad *pad)
{
  GstObject *parent = gst_object_get_parent (GST_OBJECT (pad));
  std::string name = parent ? GST_OBJECT_NAME (parent) : "an element";
  gst_clear_object (&parent);
  return name;
}
} // namespace

std::string
find_memory_mismatch (GstPad *source)
{
  GstPad *peer = gst_pad_get_peer (source);
  std::string text;
  if (!peer)
    return text;
  GstCaps *given = gst_pad_get_pad_template_caps (source);
  GstCaps *taken = gst_pad_query_caps (peer, nullptr);
  if (is_only_device_memory (given) && has_no_device_memory (taken))
    text = name_of_parent (source) + " sends frames in OpenCL memory, which "
           + name_of_parent (peer) + " does not accept: add opencldownload between them";
  gst_caps_unref (taken);
  gst_caps_unref (given);
  gst_object_unref (peer);
  return text;
}

namespace {
/* Returns the elements that convert `given` to `taken`, as a part of a gst-launch-1.0 line. */
std::string
find_converters (const GstCaps *given, const GstCaps *taken)
{
  if (gst_caps_is_empty (given) || gst_caps_can_intersect (given, taken))
    return "";
  const GstStructure *from = gst_caps_get_structure (given, 0);
  const GstStructure *to = gst_caps_get_structure (taken, 0);
  const std::string upload = has_no_device_memory (given) ? "openclupload" : "";
  const gchar *needs = gst_structure_get_string (to, "domain");
  if (!needs)
    return gst_structure_has_name (to, gst_structure_get_name (from)) ? upload : "";
  /* Raw spectra are video, too. Each element takes the domain before its own. */
  const gchar *has = gst_structure_has_name (from, "video/x-raw")
                         ? "wavelength"
                         : gst_structure_get_string (from, "domain");
  static const struct {
    const gchar *domain, *element;
  } steps[] = {
      {"wavelength", ""}, {"wavenumber", "octwindowinterp"}, {"depth", "octfft"}};
  std::string chain = upload;
  bool passed = false;
  for (const auto &step : steps) {
    if (passed)
      chain += (chain.empty () ? "" : " ! ") + std::string (step.element);
    passed |= g_strcmp0 (step.domain, has) == 0;
    if (g_str_equal (step.domain, needs))
      return passed ? chain : "";
  }
  return "";
}
} // namespace

void
warn_of_missing_element (GstElement *element, GstPad *sink)
{
  GstObject *bin = gst_object_get_parent (GST_OBJECT (element));
  GstPad *source = nullptr;
  if (bin && GST_IS_BIN (bin) && GST_STATE (bin) == GST_STATE_NULL) {
    GST_OBJECT_LOCK (bin);
    /* The newest child is the first one. */
    const GList *item = g_list_find (GST_BIN_CHILDREN (bin), element);
    if (item && item->next)
      source = gst_element_get_static_pad (GST_ELEMENT (item->next->data), "src");
    GST_OBJECT_UNLOCK (bin);
  }
  if (source && !gst_pad_is_linked (source) && !gst_pad_is_linked (sink)) {
    GstCaps *given = gst_pad_query_caps (source, nullptr);
    GstCaps *taken = gst_pad_get_pad_template_caps (sink);
    const std::string missing = find_converters (given, taken);
    /* A link that fails asks several times. */
    const gchar *told = "opencl-told-of-missing-element";
    if (!missing.empty () && !g_object_get_data (G_OBJECT (element), told)) {
      g_object_set_data (G_OBJECT (element), told, element);
      GST_WARNING_OBJECT (element,
          "%s cannot be linked to this element: add %s before %s",
          name_of_parent (source).c_str (), missing.c_str (), GST_OBJECT_NAME (element));
    }
    gst_caps_unref (taken);
    gst_caps_unref (given);
  }
  gst_clear_object (&source);
  gst_clear_object (&bin);
}

/* --- inputs without data --- */

namespace {
const GstClockTime period = GST_SECOND;
const guint checks_before_warning = 5; /* that found the same input without data */

bool
can_have_several_inputs (GstElement *element)
{
  GList *item = gst_element_class_get_pad_template_list (GST_ELEMENT_GET_CLASS (element));
  for (; item; item = item->next) {
    auto *entry = static_cast<GstPadTemplate *> (item->data);
    if (entry->direction == GST_PAD_SINK && entry->presence == GST_PAD_REQUEST)
      return true;
  }
  return false;
}

bool
is_main (GstElement *element, GstPad *pad)
{
  return GST_IS_BASE_TRANSFORM (element) && pad == GST_BASE_TRANSFORM_SINK_PAD (element);
}

bool
has_data (GstPad *pad)
{
  return GST_IS_AGGREGATOR_PAD (pad)
             ? gst_aggregator_pad_has_buffer (GST_AGGREGATOR_PAD (pad))
             : gst_pad_has_current_caps (pad);
}

bool
has_ended (GstPad *pad)
{
  GstEvent *end = gst_pad_get_sticky_event (pad, GST_EVENT_EOS, 0);
  const bool has = end != nullptr;
  gst_clear_event (&end);
  return has;
}

/* A required input without data, and an input that waits for it: (nullable), with
 * references */
struct Stall {
  Stall () = default;
  ~Stall ()
  {
    gst_clear_object (&missing);
    gst_clear_object (&waiting);
  }
  Stall (const Stall &) = delete;

  /* For gst_element_foreach_sink_pad() */
  static gboolean look (GstElement *element, GstPad *pad, gpointer data)
  {
    auto *stall = static_cast<Stall *> (data);
    if (has_data (pad))
      g_set_object (&stall->waiting, pad);
    else if (!stall->missing && (is_main (element, pad) || GST_IS_AGGREGATOR_PAD (pad))
             && !has_ended (pad))
      g_set_object (&stall->missing, pad);
    return TRUE;
  }

  GstPad *missing = nullptr, *waiting = nullptr;
};

/* (transfer full) (nullable): the sink pad whose data the source pad `pad` sends */
GstPad *
input_of (GstPad *pad)
{
  GstIterator *links = gst_pad_iterate_internal_links (pad);
  GValue item = G_VALUE_INIT;
  GstPad *input = nullptr;

  if (links && gst_iterator_next (links, &item) == GST_ITERATOR_OK) {
    input = GST_PAD (g_value_dup_object (&item));
    g_value_unset (&item);
  }
  if (links)
    gst_iterator_free (links);
  return input;
}

/* Follows the links of `pad` upstream, and describes the pad where they end. */
std::string
cause_of (GstPad *pad)
{
  GstPad *end = GST_PAD (gst_object_ref (pad));
  bool is_linked = true;
  for (GstPad *next = end; next;) {
    next = GST_PAD_IS_SINK (end) ? gst_pad_get_peer (end) : input_of (end);
    is_linked = next || GST_PAD_IS_SRC (end);
    if (next) {
      gst_object_unref (end);
      end = next;
    }
  }
  GstElement *element = gst_pad_get_parent_element (end);
  const std::string place = std::string ("pad ") + GST_OBJECT_NAME (end) + " of "
                            + (element ? GST_OBJECT_NAME (element) : "no element");
  gst_clear_object (&element);
  gst_object_unref (end);
  return place + (is_linked ? " sends nothing" : " is not linked");
}

/* Live sources send nothing until the pipeline plays. */
bool
is_held (GstElement *element, GstPad *missing)
{
  GstObject *outermost = ref_outermost (element);
  bool is_live = GST_STATE_TARGET (outermost) != GST_STATE_PLAYING;
  gst_object_unref (outermost);
  GstQuery *query = is_live ? gst_query_new_latency () : nullptr;
  gboolean live = FALSE;
  if (query && gst_pad_peer_query (missing, query))
    gst_query_parse_latency (query, &live, nullptr, nullptr);
  if (query)
    gst_query_unref (query);
  return live;
}

/* The timer may outlive the element, which owns `watch`. */
struct Watched {
  Watched (GstElement *element, InputWatch *watch) : watch (watch)
  {
    g_weak_ref_init (&this->element, element);
  }
  ~Watched () { g_weak_ref_clear (&element); }
  Watched (const Watched &) = delete;

  GWeakRef element;
  InputWatch *const watch;
};

/* After a stop of the process, the clock fires once for each period that passed. Only the
 * last one counts. */
gboolean
fire (GstClock *clock, GstClockTime time, GstClockID, gpointer data)
{
  if (gst_clock_get_time (clock) > time + period)
    return TRUE;
  auto *watched = static_cast<Watched *> (data);
  auto *element = static_cast<GstElement *> (g_weak_ref_get (&watched->element));
  if (element)
    watched->watch->check ();
  gst_clear_object (&element);
  return TRUE;
}
} // namespace

void
InputWatch::start ()
{
  stop ();
  has_frame = false;
  checks = 0;
  if (!can_have_several_inputs (element))
    return;
  GstClock *clock = gst_system_clock_obtain ();
  timer = gst_clock_new_periodic_id (clock, gst_clock_get_time (clock) + period, period);
  gst_clock_id_wait_async (timer, fire, new Watched (element, this),
      [] (gpointer data) { delete static_cast<Watched *> (data); });
  gst_object_unref (clock);
}

void
InputWatch::stop ()
{
  if (!timer)
    return;
  gst_clock_id_unschedule (timer);
  gst_clock_id_unref (timer);
  timer = nullptr;
}

void
InputWatch::wake ()
{
  if (!GST_IS_AGGREGATOR (element))
    return;
  GstQuery *latency = gst_query_new_latency ();
  gst_element_query (element, latency);
  gst_query_unref (latency);
}

void
InputWatch::check ()
{
  if (has_frame.exchange (false)) {
    checks = 0;
    return;
  }
  if (Busy::is_any_thread ())
    return;
  wake ();
  Stall stall;
  gst_element_foreach_sink_pad (element, Stall::look, &stall);
  if (!stall.missing || !stall.waiting || is_held (element, stall.missing))
    checks = 0;
  else
    report (stall.missing, stall.waiting, ++checks);
}

void
InputWatch::report (GstPad *missing_pad, GstPad *waiting_pad, guint time)
{
  const gchar *missing = GST_OBJECT_NAME (missing_pad);
  const gchar *waiting = GST_OBJECT_NAME (waiting_pad);
  if (time == 1 && is_main (element, missing_pad) && !gst_pad_is_linked (missing_pad))
    report_error (
        g_error_new (GST_CORE_ERROR, GST_CORE_ERROR_PAD,
            "Pad %s is not linked, but pad %s waits for it: link the main input, as in "
            "\"... ! openclupload ! %s.%s\"",
            missing, waiting, GST_OBJECT_NAME (element), missing),
        Place::here ());
  else if (time == checks_before_warning)
    GST_ELEMENT_WARNING (element, CORE, PAD,
        ("Pad %s receives no data, but pad %s waits for it: %s", missing, waiting,
            cause_of (missing_pad).c_str ()),
        (nullptr));
}
} // namespace opencl
