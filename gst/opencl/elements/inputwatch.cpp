/* Reports an input without data, which other inputs of the element wait for
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "inputwatch.hpp"

#include "elementcore.hpp"

#include <gst/base/gstaggregator.h>
#include <gst/common/outermost.hpp>
#include <gst/opencl/core/busy.hpp>

#include <string>

namespace opencl {
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
is_main (GstPad *pad)
{
  GstPadTemplate *of = GST_PAD_PAD_TEMPLATE (pad);
  return of && GST_PAD_TEMPLATE_PRESENCE (of) == GST_PAD_ALWAYS;
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
  static gboolean look (GstElement *, GstPad *pad, gpointer data)
  {
    auto *stall = static_cast<Stall *> (data);
    if (has_data (pad))
      g_set_object (&stall->waiting, pad);
    else if (!stall->missing && (is_main (pad) || GST_IS_AGGREGATOR_PAD (pad))
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

gboolean
fire (GstClock *, GstClockTime, GstClockID, gpointer data)
{
  auto *element =
      static_cast<GstElement *> (g_weak_ref_get (static_cast<GWeakRef *> (data)));
  if (element)
    ElementCore::of (element)->inputs ().check ();
  gst_clear_object (&element);
  return TRUE;
}

/* The timer may outlive the element. */
GWeakRef *
new_weak_ref (GstElement *element)
{
  auto *weak = new GWeakRef;
  g_weak_ref_init (weak, element);
  return weak;
}

void
free_weak_ref (gpointer data)
{
  auto *weak = static_cast<GWeakRef *> (data);
  g_weak_ref_clear (weak);
  delete weak;
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
  gst_clock_id_wait_async (timer, fire, new_weak_ref (element), free_weak_ref);
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
  if (time == 1 && is_main (missing_pad) && !gst_pad_is_linked (missing_pad))
    ElementCore::of (element)->report (g_error_new (GST_CORE_ERROR, GST_CORE_ERROR_PAD,
        "Pad %s is not linked, but pad %s waits for it: link the main input, as in "
        "\"... ! openclupload ! %s.%s\"",
        missing, waiting, GST_OBJECT_NAME (element), missing));
  else if (time == checks_before_warning)
    GST_ELEMENT_WARNING (element, CORE, PAD,
        ("Pad %s receives no data, but pad %s waits for it: %s", missing, waiting,
            cause_of (missing_pad).c_str ()),
        (nullptr));
}
} // namespace opencl
