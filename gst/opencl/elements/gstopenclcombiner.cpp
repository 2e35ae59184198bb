/* Base class of elements that combine several streams of any caps on the device
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "gstopenclcombiner-private.h"

#include "aggregatorparts.hpp"

#include <gst/common/buffers.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/core/hooks.hpp>

#include <vector>

GST_DEBUG_CATEGORY_STATIC (gst_opencl_combiner_debug);
#define GST_CAT_DEFAULT gst_opencl_combiner_debug

using opencl::Counting;
using opencl::ElementCore;
using opencl::Format;

/* --- a pad --- */

struct _GstOpenCLCombinerPad {
  GstAggregatorPad parent;

  GstCaps *caps; /* (nullable): of the next buffer; streaming thread */
  Format format;
  guint n_invalid;    /* frames in a row */
  GstBuffer *current; /* (nullable): current buffer; object lock */
  GstCaps *current_caps;
};

G_DEFINE_FINAL_TYPE (
    GstOpenCLCombinerPad, gst_opencl_combiner_pad, GST_TYPE_AGGREGATOR_PAD)

/* Replaces the current buffer by `buffer` (transfer full) (nullable). */
static void
set_current (GstOpenCLCombinerPad *pad, GstBuffer *buffer)
{
  GST_OBJECT_LOCK (pad);
  GstBuffer *before = pad->current;
  pad->current = buffer;
  GST_OBJECT_UNLOCK (pad);
  gst_clear_buffer (&before);
  if (buffer)
    gst_caps_replace (&pad->current_caps, pad->caps);
}

/* (transfer full) (nullable): another thread may flush the pad meanwhile */
static GstBuffer *
ref_current (GstOpenCLCombinerPad *pad)
{
  GST_OBJECT_LOCK (pad);
  GstBuffer *buffer = pad->current ? gst_buffer_ref (pad->current) : nullptr;
  GST_OBJECT_UNLOCK (pad);
  return buffer;
}

static GstFlowReturn
gst_opencl_combiner_pad_flush (GstAggregatorPad *pad, GstAggregator *aggregator)
{
  set_current (GST_OPENCL_COMBINER_PAD (pad), nullptr);
  return GST_FLOW_OK;
}

static void
gst_opencl_combiner_pad_finalize (GObject *object)
{
  GstOpenCLCombinerPad *pad = GST_OPENCL_COMBINER_PAD (object);
  set_current (pad, nullptr);
  gst_clear_caps (&pad->caps);
  gst_clear_caps (&pad->current_caps);
  G_OBJECT_CLASS (gst_opencl_combiner_pad_parent_class)->finalize (object);
}

static void
gst_opencl_combiner_pad_class_init (GstOpenCLCombinerPadClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = gst_opencl_combiner_pad_finalize;
  GST_AGGREGATOR_PAD_CLASS (klass)->flush = gst_opencl_combiner_pad_flush;
  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_COMBINER_PAD, GstPluginAPIFlags (0));
}

static void
gst_opencl_combiner_pad_init (GstOpenCLCombinerPad *pad)
{
}

/* --- the element --- */

namespace {
/* Inputs of one frame in the order of the pads, with a reference to each */
struct Inputs {
  ~Inputs ()
  {
    for (GstPad *pad : pads)
      gst_object_unref (pad);
    for (GstBuffer *buffer : buffers)
      gst_clear_buffer (&buffer);
    for (GstCaps *caps : all_caps)
      gst_clear_caps (&caps);
  }

  GstOpenCLCombinerPad *pad (gsize n) const { return GST_OPENCL_COMBINER_PAD (pads[n]); }
  guint size () const { return guint (pads.size ()); }

  std::vector<GstPad *> pads;
  std::vector<GstBuffer *> buffers;
  std::vector<GstCaps *> all_caps;
};
} // namespace

typedef struct {
  ElementCore *core;
  Format output;
  std::vector<Format> *inputs;
  std::vector<GstCaps *> *input_caps; /* caps that are in use */
  bool refused;                       /* caps were refused, and an error is posted */
  bool has_loss; /* an invalid frame was dropped since the last output */
} GstOpenCLCombinerPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (
    GstOpenCLCombiner, gst_opencl_combiner, GST_TYPE_AGGREGATOR,
    G_ADD_PRIVATE (GstOpenCLCombiner);
    GST_DEBUG_CATEGORY_INIT (gst_opencl_combiner_debug, "openclcombiner", 0,
        "Base class of combiners on OpenCL devices"))

static GstOpenCLCombinerPrivate *
private_of (gpointer combiner)
{
  return static_cast<GstOpenCLCombinerPrivate *> (
      gst_opencl_combiner_get_instance_private (GST_OPENCL_COMBINER (combiner)));
}

static ElementCore &
core_of (gpointer combiner)
{
  return *private_of (combiner)->core;
}

static GstAggregatorClass *
parent_of_all ()
{
  return GST_AGGREGATOR_CLASS (gst_opencl_combiner_parent_class);
}

/* --- life cycle --- */

static void
forget_inputs (GstOpenCLCombiner *self)
{
  GstOpenCLCombinerPrivate *priv = private_of (self);
  for (GstCaps *caps : *priv->input_caps)
    gst_caps_unref (caps);
  priv->input_caps->clear ();
  priv->inputs->clear ();
  priv->refused = false;
}

static bool
collect_pads (GstOpenCLCombiner *self, Inputs &inputs)
{
  GST_OBJECT_LOCK (self);
  for (GList *item = GST_ELEMENT (self)->sinkpads; item; item = item->next)
    inputs.pads.push_back (GST_PAD (gst_object_ref (item->data)));
  GST_OBJECT_UNLOCK (self);
  return !inputs.pads.empty ();
}

static void
clear_current (GstOpenCLCombiner *self)
{
  Inputs inputs;
  collect_pads (self, inputs);
  for (gsize n = 0; n < inputs.pads.size (); n++)
    set_current (inputs.pad (n), nullptr);
}

static bool
get_format (GstOpenCLCombiner *self, GstCaps *caps, Format &format)
{
  format = Format (caps);
  if (format.names_video)
    return format.is_video;
  return GST_OPENCL_COMBINER_GET_CLASS (self)->get_frame_size (self, caps, &format.size);
}

namespace {
struct Base {
  static ElementCore &core (gpointer combiner) { return core_of (combiner); }
  static GstAggregatorClass *parent () { return parent_of_all (); }
  static bool open (gpointer combiner, GError **error)
  {
    auto *self = GST_OPENCL_COMBINER (combiner);
    GstOpenCLCombinerClass *klass = GST_OPENCL_COMBINER_GET_CLASS (self);
    return !klass->open || klass->open (self, error);
  }
  static void close (gpointer combiner)
  {
    auto *self = GST_OPENCL_COMBINER (combiner);
    GstOpenCLCombinerClass *klass = GST_OPENCL_COMBINER_GET_CLASS (self);
    forget_inputs (self);
    if (klass->close)
      klass->close (self);
  }
  static void drop_inputs (gpointer combiner)
  {
    clear_current (GST_OPENCL_COMBINER (combiner));
  }
  static bool get_format (gpointer combiner, GstCaps *caps, Format &format)
  {
    return ::get_format (GST_OPENCL_COMBINER (combiner), caps, format);
  }
};
using Parts = opencl::AggregatorParts<Base>;
} // namespace

/* --- choice of the input buffers --- */

/* An empty GAP buffer or an invalid frame does not replace the current one. Returns false for
 * an invalid frame. */
static bool
set_current_if_valid (
    GstOpenCLCombiner *self, GstOpenCLCombinerPad *pad, GstBuffer *buffer)
{
  const bool is_gap = GST_BUFFER_FLAG_IS_SET (buffer, GST_BUFFER_FLAG_GAP)
                      && gst_buffer_get_size (buffer) == 0;
  const bool is_valid = is_gap
                        || gst_opencl_check_frame (GST_ELEMENT (self), buffer,
                               pad->format.video (), pad->format.size, &pad->n_invalid)
                               == GST_FLOW_OK;

  if (is_valid && !is_gap)
    set_current (pad, buffer);
  else
    gst_buffer_unref (buffer);
  private_of (self)->has_loss |= !is_valid;
  return is_valid;
}

/* Returns the running time of the start or the `end` of a buffer, GST_CLOCK_TIME_NONE if
 * it is unknown. */
static GstClockTime
running_time (GstOpenCLCombinerPad *pad, GstBuffer *buffer, bool end)
{
  GstAggregatorPad *of = GST_AGGREGATOR_PAD (pad);
  GstClockTime time = GST_BUFFER_PTS (buffer);

  if (end && GST_CLOCK_TIME_IS_VALID (time))
    time = GST_BUFFER_DURATION_IS_VALID (buffer) ? time + GST_BUFFER_DURATION (buffer)
                                                 : GST_CLOCK_TIME_NONE;
  return opencl::running_time_of (of->segment, time);
}

/* Advances the first pad to its next buffer. Returns GST_FLOW_EOS if there is no more. */
static GstFlowReturn
advance_first (GstOpenCLCombiner *self, GstOpenCLCombinerPad *pad)
{
  GstBuffer *next = gst_aggregator_pad_pop_buffer (GST_AGGREGATOR_PAD (pad));
  if (!next)
    return gst_aggregator_pad_is_eos (GST_AGGREGATOR_PAD (pad))
               ? GST_FLOW_EOS
               : GST_AGGREGATOR_FLOW_NEED_DATA;
  return set_current_if_valid (self, pad, next) ? GST_FLOW_OK
                                                : GST_AGGREGATOR_FLOW_NEED_DATA;
}

/* Returns whether the current buffer of the pad is still the one at `time`. `next`
 * (nullable) is the buffer after it. */
static bool
is_still_current (GstOpenCLCombinerPad *pad, GstBuffer *next, GstClockTime time)
{
  GstBuffer *current = ref_current (pad);
  if (!current)
    return false;
  const GstClockTime end = running_time (pad, current, true);
  gst_buffer_unref (current);
  const GstClockTime start = next ? running_time (pad, next, false) : GST_CLOCK_TIME_NONE;
  if (next)
    return GST_CLOCK_TIME_IS_VALID (start) && GST_CLOCK_TIME_IS_VALID (time)
           && start > time;
  return GST_CLOCK_TIME_IS_VALID (end) && GST_CLOCK_TIME_IS_VALID (time) && end > time;
}

/* Advances the pad to its buffer at `time`, or to the next one if buffers have no
 * time. */
static GstFlowReturn
advance_other (
    GstOpenCLCombiner *self, GstOpenCLCombinerPad *pad, GstClockTime time, bool timeout)
{
  GstAggregatorPad *of = GST_AGGREGATOR_PAD (pad);

  for (;;) {
    GstBuffer *next = gst_aggregator_pad_peek_buffer (of);
    const bool still = is_still_current (pad, next, time);
    const bool has_no_time =
        next
        && (!GST_CLOCK_TIME_IS_VALID (time)
            || !GST_CLOCK_TIME_IS_VALID (running_time (pad, next, false)));
    const bool is_next = next != nullptr;
    gst_clear_buffer (&next);
    if (still)
      return GST_FLOW_OK;
    if (!is_next && (timeout || gst_aggregator_pad_is_eos (of))) {
      GstBuffer *current = ref_current (pad);
      const bool has_current = current != nullptr;
      gst_clear_buffer (&current);
      return has_current ? GST_FLOW_OK
             : timeout   ? GST_AGGREGATOR_FLOW_NEED_DATA
                         : GST_FLOW_EOS;
    }
    if (!is_next)
      return GST_AGGREGATOR_FLOW_NEED_DATA;
    if (GstBuffer *popped = gst_aggregator_pad_pop_buffer (of)) /* NULL if flushed */
      set_current_if_valid (self, pad, popped);
    if (has_no_time)
      return GST_FLOW_OK;
  }
}

/* Advances the first pad last, so that its buffer stays queued if another pad has none
 * yet. */
static GstFlowReturn
choose_buffers (GstOpenCLCombiner *self, Inputs &inputs, bool timeout)
{
  GstBuffer *first = gst_aggregator_pad_peek_buffer (GST_AGGREGATOR_PAD (inputs.pads[0]));
  const GstClockTime time =
      first ? running_time (inputs.pad (0), first, false) : GST_CLOCK_TIME_NONE;
  const bool is_there = first != nullptr;
  GstFlowReturn flow = GST_FLOW_OK;

  gst_clear_buffer (&first);
  for (gsize n = 1; is_there && flow == GST_FLOW_OK && n < inputs.pads.size (); n++)
    flow = advance_other (self, inputs.pad (n), time, timeout);
  if (flow == GST_FLOW_OK)
    flow = advance_first (self, inputs.pad (0));
  for (gsize n = 0; flow == GST_FLOW_OK && n < inputs.pads.size (); n++) {
    inputs.buffers.push_back (ref_current (inputs.pad (n)));
    inputs.all_caps.push_back (inputs.pad (n)->current_caps
                                   ? gst_caps_ref (inputs.pad (n)->current_caps)
                                   : nullptr);
    if (!inputs.buffers.back () || !inputs.all_caps.back ())
      flow = GST_AGGREGATOR_FLOW_NEED_DATA; /* flushed meanwhile */
  }
  return flow;
}

/* --- caps --- */

static gboolean
gst_opencl_combiner_sink_event (
    GstAggregator *aggregator, GstAggregatorPad *pad, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS) {
    GstCaps *caps;
    gst_event_parse_caps (event, &caps);
    gst_caps_replace (&GST_OPENCL_COMBINER_PAD (pad)->caps, caps);
    get_format (
        GST_OPENCL_COMBINER (aggregator), caps, GST_OPENCL_COMBINER_PAD (pad)->format);
  }
  return parent_of_all ()->sink_event (aggregator, pad, event);
}

static bool
are_same (const std::vector<GstCaps *> &a, const std::vector<GstCaps *> &b)
{
  bool same = a.size () == b.size ();
  for (gsize n = 0; same && n < a.size (); n++)
    same = gst_caps_is_equal (a[n], b[n]);
  return same;
}

/* Finds the output caps, once the caps of all inputs are known. */
static GstFlowReturn
gst_opencl_combiner_update_src_caps (
    GstAggregator *aggregator, GstCaps *downstream, GstCaps **result)
{
  GstOpenCLCombiner *self = GST_OPENCL_COMBINER (aggregator);
  GstOpenCLCombinerPrivate *priv = private_of (self);
  GError *error = nullptr;
  Inputs inputs;

  if (priv->input_caps->empty () || !collect_pads (self, inputs)
      || inputs.size () != priv->input_caps->size ())
    return GST_AGGREGATOR_FLOW_NEED_DATA;
  GstCaps *outputs = GST_OPENCL_COMBINER_GET_CLASS (self)->find_output (
      self, inputs.pads.data (), priv->input_caps->data (), inputs.size (), &error);
  if (!outputs) {
    priv->refused = true;
    priv->core->report (error);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  *result = gst_caps_intersect_full (outputs, downstream, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (outputs);
  return gst_caps_is_empty (*result) ? GST_FLOW_NOT_NEGOTIATED : GST_FLOW_OK;
}

static gboolean
gst_opencl_combiner_negotiated_src_caps (GstAggregator *aggregator, GstCaps *caps)
{
  GstOpenCLCombiner *self = GST_OPENCL_COMBINER (aggregator);
  GstOpenCLCombinerPrivate *priv = private_of (self);
  GError *error = nullptr;
  Inputs inputs;
  Counting counting (*priv->core);
  const opencl::Busy preparing;

  if (!priv->core->drain_for_caps () || !collect_pads (self, inputs)
      || inputs.size () != priv->input_caps->size ()
      || !get_format (self, caps, priv->output))
    return FALSE;
  priv->inputs->resize (inputs.size ());
  for (gsize n = 0; n < inputs.size (); n++) {
    if (!get_format (self, (*priv->input_caps)[n], (*priv->inputs)[n]))
      return FALSE;
  }
  if (!GST_OPENCL_COMBINER_GET_CLASS (self)->set_formats (self, inputs.pads.data (),
          priv->input_caps->data (), inputs.size (), caps, &error)) {
    priv->refused = true;
    priv->core->report (error);
    return FALSE;
  }
  priv->core->reset_failures ();
  return parent_of_all ()->negotiated_src_caps (aggregator, caps);
}

/* Negotiates output caps if the input caps have changed, or if settings require
 * others. */
static bool
negotiate_caps (GstOpenCLCombiner *self, const Inputs &inputs)
{
  GstOpenCLCombinerPrivate *priv = private_of (self);
  GstOpenCLCombinerClass *klass = GST_OPENCL_COMBINER_GET_CLASS (self);
  const bool other_inputs = !are_same (inputs.all_caps, *priv->input_caps);
  GstCaps *output = gst_pad_get_current_caps (GST_AGGREGATOR_SRC_PAD (self));
  bool wanted = other_inputs || !output;

  if (other_inputs) {
    forget_inputs (self);
    for (GstCaps *caps : inputs.all_caps)
      priv->input_caps->push_back (gst_caps_ref (caps));
  } else if (output && klass->update) {
    wanted = klass->update (self, const_cast<GstPad **> (inputs.pads.data ()),
        priv->input_caps->data (), inputs.size (), output);
  }
  gst_clear_caps (&output);
  return !wanted || gst_aggregator_negotiate (GST_AGGREGATOR (self));
}

/* --- a frame --- */

static bool
map_inputs (GstOpenCLCombiner *self, Inputs &inputs, std::vector<GstOpenCLFrame> &frames,
    GError **error)
{
  GstOpenCLCombinerPrivate *priv = private_of (self);

  for (gsize n = 0; n < inputs.size (); n++) {
    const Format &format = (*priv->inputs)[n];
    GstOpenCLFrame frame;
    if (!opencl::map_input (
            *priv->core, inputs.buffers[n], format.video (), format.size, &frame, error))
      return false;
    frames.push_back (frame);
  }
  return true;
}

/* All frames are unmapped with one event. */
static bool
combine_inputs (GstOpenCLCombiner *self, Inputs &inputs, GstBuffer *buffer,
    cl_event *event, GError **error)
{
  GstOpenCLCombinerPrivate *priv = private_of (self);
  std::vector<GstOpenCLFrame> frames;

  const bool enqueued = opencl::enqueue_output (
      *priv->core, priv->output, buffer,
      [&] (const GstOpenCLFrame *output) {
        return map_inputs (self, inputs, frames, error)
               && GST_OPENCL_COMBINER_GET_CLASS (self)->combine (self, frames.data (),
                   inputs.size (), output, priv->core->queue (), error);
      },
      event, error);
  for (GstOpenCLFrame &frame : frames) {
    if (*event)
      gst_opencl_frame_unmap (&frame, *event);
  }
  return enqueued;
}

/* Converts the first pad's running time to a timestamp of the output segment, which
 * starts at the target of the last seek. */
static void
stamp (GstOpenCLCombiner *self, const Inputs &inputs, GstBuffer *output)
{
  GstAggregatorPad *source = GST_AGGREGATOR_PAD (GST_AGGREGATOR_SRC_PAD (self));
  const GstClockTime time = running_time (inputs.pad (0), inputs.buffers[0], false);

  gst_buffer_copy_into (output, inputs.buffers[0], GST_BUFFER_COPY_FLAGS, 0, -1);
  if (std::exchange (private_of (self)->has_loss, false))
    GST_BUFFER_FLAG_SET (output, GST_BUFFER_FLAG_DISCONT);
  GST_BUFFER_DTS (output) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION (output) = GST_BUFFER_DURATION (inputs.buffers[0]);
  GST_OBJECT_LOCK (source);
  GST_BUFFER_PTS (output) =
      gst_segment_position_from_running_time (&source->segment, GST_FORMAT_TIME, time);
  if (GST_BUFFER_PTS_IS_VALID (output))
    source->segment.position =
        GST_BUFFER_PTS (output)
        + (GST_BUFFER_DURATION_IS_VALID (output) ? GST_BUFFER_DURATION (output) : 0);
  GST_OBJECT_UNLOCK (source);
}

static GstFlowReturn
make_frame (GstOpenCLCombiner *self, Inputs &inputs)
{
  GstBuffer *output = nullptr;

  if (!negotiate_caps (self, inputs))
    return GST_PAD_IS_FLUSHING (GST_AGGREGATOR_SRC_PAD (self)) ? GST_FLOW_FLUSHING
           : private_of (self)->refused                        ? GST_FLOW_ERROR
                                                               : GST_FLOW_NOT_NEGOTIATED;
  GstFlowReturn flow = opencl::acquire_output (
      GST_AGGREGATOR (self), core_of (self), private_of (self)->output.size, &output);
  if (flow != GST_FLOW_OK)
    return flow;
  stamp (self, inputs, output);
  if (GST_BUFFER_PTS_IS_VALID (output))
    gst_object_sync_values (GST_OBJECT (self), GST_BUFFER_PTS (output));
  if (!opencl::enqueue_frame (core_of (self), [&] (cl_event *event, GError **error) {
        return combine_inputs (self, inputs, output, event, error);
      })) {
    gst_buffer_unref (output);
    return GST_FLOW_ERROR;
  }
  return gst_aggregator_finish_buffer (GST_AGGREGATOR (self), output);
}

/* Waits for all frames in flight before EOS. */
static GstFlowReturn
gst_opencl_combiner_aggregate (GstAggregator *aggregator, gboolean timeout)
{
  GstOpenCLCombiner *self = GST_OPENCL_COMBINER (aggregator);
  Counting counting (core_of (self));
  Inputs inputs;

  if (!collect_pads (self, inputs))
    return GST_FLOW_EOS;
  /* After a failure, the last frame of an ended input must not be used again. */
  if (core_of (self).has_failed ())
    return GST_FLOW_ERROR;
  GstFlowReturn flow = choose_buffers (self, inputs, timeout);
  if (flow == GST_FLOW_OK)
    flow = make_frame (self, inputs);
  if (flow == GST_FLOW_EOS)
    core_of (self).drain ();
  return flow;
}

/* --- the class --- */

static void
gst_opencl_combiner_finalize (GObject *object)
{
  GstOpenCLCombinerPrivate *priv = private_of (object);
  forget_inputs (GST_OPENCL_COMBINER (object));
  delete priv->core;
  delete priv->inputs;
  delete priv->input_caps;
  G_OBJECT_CLASS (gst_opencl_combiner_parent_class)->finalize (object);
}

static void
gst_opencl_combiner_class_init (GstOpenCLCombinerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstAggregatorClass *aggregator_class = GST_AGGREGATOR_CLASS (klass);

  object_class->finalize = gst_opencl_combiner_finalize;
  Parts::install (klass);
  aggregator_class->aggregate = gst_opencl_combiner_aggregate;
  aggregator_class->sink_event = gst_opencl_combiner_sink_event;
  aggregator_class->update_src_caps = gst_opencl_combiner_update_src_caps;
  aggregator_class->negotiated_src_caps = gst_opencl_combiner_negotiated_src_caps;

  gst_type_mark_as_plugin_api (GST_TYPE_OPENCL_COMBINER, GstPluginAPIFlags (0));
}

static void
gst_opencl_combiner_init (GstOpenCLCombiner *self)
{
  GstOpenCLCombinerPrivate *priv = private_of (self);
  priv->core = new ElementCore (GST_ELEMENT (self));
  priv->inputs = new std::vector<Format>;
  priv->input_caps = new std::vector<GstCaps *>;
}

GstOpenCLContext *
gst_opencl_combiner_get_context (GstOpenCLCombiner *combiner)
{
  g_return_val_if_fail (GST_IS_OPENCL_COMBINER (combiner), nullptr);
  return core_of (combiner).context ();
}
