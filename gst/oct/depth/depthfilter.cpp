/* Common code of the depth filters: caps, settings and groups of frames
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "depthfilter.hpp"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/gstopencldeferred.h>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include "../shared/settingsfile.hpp"

namespace oct {
bool
check_change (const DepthFilter &filter, const CapsChange &change, GError **error)
{
  if (!change.from || filter.input.complex == (g_strcmp0 (change.from, "CF32LE") == 0))
    return !filter.scan || ScanGroups::check (*filter.scan, change.frames, error);
  return REFUSE_SETTINGS (error, "the input is %s, expected %s of domain=depth",
      filter.input.complex ? "complex" : "not complex", change.from);
}
} // namespace oct

using oct::DepthFilter;
using oct::FrameSequence;

typedef struct {
  DepthFilter *work;
  bool prepared;   /* prepare() was called for the settings in force */
  bool caps_match; /* the settings in force match the negotiated caps */
  bool lost;       /* frames before the next one were lost */
  guint missing;   /* number of those that were invalid */
  bool outdated;   /* frames kept so far cannot be used with the next one */
  bool break_in_output;
  bool began;     /* a frame has arrived whose scan fits the groups */
  bool is_misfit; /* the scan of the last frame does not fit them */
  GstCaps *input_caps;
  FrameSequence *sequence;
  FrameSequence::Arrival arrival;
  std::optional<GstOctScan> *first; /* scan of the group's first frame */
} GstOctDepthFilterPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (
    GstOctDepthFilter, gst_oct_depth_filter, GST_TYPE_OPENCL_FILTER)

static GstOctDepthFilterPrivate &
private_of (gpointer filter)
{
  return *static_cast<GstOctDepthFilterPrivate *> (
      gst_oct_depth_filter_get_instance_private (GST_OCT_DEPTH_FILTER (filter)));
}

void
oct::init_depth_element (gpointer filter, DepthFilter *work)
{
  private_of (filter).work = work;
  if (g_object_class_find_property (G_OBJECT_GET_CLASS (filter), "settings"))
    settings_file_follow (GST_ELEMENT (filter));
}

/* --- caps --- */

static GstCaps *
gst_oct_depth_filter_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  return oct::other_side (
      caps, private_of (base).work->change (), direction == GST_PAD_SINK, filter);
}

/* (transfer full): caps of the sink pad, but with any number of A-lines */
static GstCaps *
inputs_of_any_lines (GstBaseTransform *base, GstCaps *filter, bool rows)
{
  GstQuery *query = gst_query_new_caps (nullptr);
  GstCaps *inputs = nullptr;

  if (GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
          ->query (base, GST_PAD_SINK, query))
    gst_query_parse_caps_result (query, &inputs);
  inputs = inputs ? gst_caps_copy (inputs) : gst_caps_new_empty ();
  gst_query_unref (query);
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    GstStructure *input = gst_caps_get_structure (inputs, n);
    oct::set_limits (input, oct::lines_field (input, rows), {1, G_MAXINT});
  }
  return opencl::filtered_caps (inputs, filter);
}

/* Before the first caps, the sink pad also accepts frames with too few A-lines for the
 * property `lines`, as its last choice. DepthFilter::adopt() then fails with a reason.
 * Later, a property of an upstream element must not cause that error. */
static gboolean
gst_oct_depth_filter_query (
    GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
  GstCaps *filter, *strict;

  if (!GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
           ->query (base, direction, query))
    return FALSE;
  if (GST_QUERY_TYPE (query) != GST_QUERY_CAPS || direction != GST_PAD_SINK
      || gst_pad_has_current_caps (GST_BASE_TRANSFORM_SINK_PAD (base)))
    return TRUE;
  const oct::CapsChange change = private_of (base).work->change ();
  if (change.wanted == 0)
    return TRUE;
  gst_query_parse_caps (query, &filter);
  gst_query_parse_caps_result (query, &strict);
  GstCaps *all = gst_caps_copy (strict);
  gst_caps_append (all, inputs_of_any_lines (base, filter, change.rows));
  gst_query_set_caps_result (query, all);
  gst_caps_unref (all);
  return TRUE;
}

static gboolean
gst_oct_depth_filter_get_frame_size (GstOpenCLFilter *filter, GstCaps *caps, gsize *size)
{
  oct::DepthLayout layout;
  if (!oct::parse_depth_layout (caps, private_of (filter).work->change ().rows, layout))
    return FALSE;
  *size = layout.size ();
  return TRUE;
}

/* Sets the groups of the settings in force. Frames keep their numbers. */
static void
set_grouping (GstOpenCLFilter *filter, GstOctDepthFilterPrivate &priv)
{
  FrameSequence::Grouping grouping;

  grouping.frames = priv.work->change ().frames;
  grouping.period = priv.work->period ();
  grouping.frame_duration = priv.work->input.frame_duration ();
  gst_opencl_filter_set_group (filter, grouping.frames + (priv.work->outputs () == 0));
  if (priv.sequence->set_grouping (grouping))
    priv.break_in_output = priv.outdated = true;
}

/* Ends the present group, because its frames cannot be used with the next one. */
static void
break_group (GstOctDepthFilterPrivate &priv)
{
  if (priv.sequence->break_group ())
    priv.break_in_output = true;
  priv.outdated = true;
}

static gboolean
gst_oct_depth_filter_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);

  const bool rows = priv.work->change ().rows;
  if (!oct::parse_depth_layout (input, rows, priv.work->input)
      || !oct::parse_depth_layout (output, rows, priv.work->output)) {
    return REFUSE_FORMAT (
        error, "unsupported caps, expected depths, B-scan images or spectra");
  }
  bool breaks_group = false;
  if (!priv.work->adopt (breaks_group, error))
    return FALSE;
  /* Settings changed since these caps were negotiated. The first frame renegotiates. */
  priv.caps_match = opencl::match_negotiated_caps (
      oct::other_side (input, priv.work->change (), true), output);
  if (!priv.caps_match)
    gst_base_transform_reconfigure_src (GST_BASE_TRANSFORM (filter));
  if (breaks_group || (priv.input_caps && !gst_caps_is_equal (priv.input_caps, input)))
    break_group (priv);
  gst_caps_replace (&priv.input_caps, input);
  set_grouping (filter, priv);
  priv.prepared = false;
  return TRUE;
}

static void
gst_oct_depth_filter_close (GstOpenCLFilter *filter)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);
  priv.work->stop ();
  priv.work->scan.reset ();
  priv.sequence->restart ();
  priv.first->reset ();
  gst_clear_caps (&priv.input_caps);
  priv.prepared = priv.lost = priv.break_in_output = priv.outdated = false;
  priv.began = priv.is_misfit = false;
  priv.missing = 0;
}

/* --- frames --- */

static void
apply_settings (GstOpenCLFilter *filter, GstOctDepthFilterPrivate &priv)
{
  bool breaks_group = false;

  if (priv.work->update (breaks_group))
    priv.prepared = false;
  if (!breaks_group)
    return;
  break_group (priv);
  set_grouping (filter, priv);
  /* break_group() marks only groups, but single frames do not continue others either. */
  if (priv.work->change ().frames == 1)
    priv.break_in_output = true;
}

static void
gst_oct_depth_filter_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);
  DepthFilter &work = *priv.work;
  GstOctScan scan;

  work.scan.reset ();
  if (gst_buffer_get_oct_scan (input, &scan))
    work.scan = scan;
  apply_settings (filter, priv);
  priv.arrival.time = GST_BUFFER_PTS (input);
  priv.arrival.duration = GST_BUFFER_DURATION (input);
  priv.arrival.lost =
      priv.lost || GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_DISCONT);
  priv.arrival.missing = std::exchange (priv.missing, 0);
  priv.arrival.empty = GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_GAP);
  priv.arrival.number.reset ();
  priv.arrival.unit = 0;
  if (work.scan) {
    priv.arrival.number = scan.frame;
    priv.arrival.unit = oct::ScanGroups (scan, work.change ().frames).unit ();
  }
  priv.lost = false;
}

/* Checks that groups fit the scan. If a change of octscan's properties makes them too
 * large, frames are left out, with one warning. At the start this is an error. */
static bool
fits_scan (GstOpenCLFilter *filter, GstOctDepthFilterPrivate &priv, GError **error)
{
  const DepthFilter &work = *priv.work;
  GError *reason = nullptr;

  if (!work.scan || oct::ScanGroups::check (*work.scan, work.change ().frames, &reason)) {
    priv.began = true;
    priv.is_misfit = false;
    return true;
  }
  if (!priv.began) {
    g_propagate_error (error, reason);
    return false;
  }
  if (!priv.is_misfit)
    GST_ELEMENT_WARNING (filter, LIBRARY, SETTINGS,
        ("%s; dropping these frames", reason->message), (nullptr));
  g_error_free (reason);
  priv.is_misfit = priv.arrival.empty = true;
  return true;
}

static gboolean
gst_oct_depth_filter_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  GstOctDepthFilterPrivate &priv = private_of (filter);
  DepthFilter &work = *priv.work;

  *outputs = 0;
  if (!fits_scan (filter, priv, error))
    return FALSE;
  if (priv.caps_match) {
    if (!priv.prepared && !work.prepare (gst_opencl_filter_get_context (filter), error))
      return FALSE;
    priv.prepared = true;
  } else {
    priv.arrival.empty = true;
  }
  const FrameSequence::Part part = priv.sequence->next (priv.arrival);
  work.frame_number = priv.sequence->number ();
  const bool lost = priv.sequence->lost () || priv.arrival.empty;
  const bool is_in_group =
      part == FrameSequence::Part::some || part == FrameSequence::Part::last;
  if (lost || priv.outdated)
    work.forget ();
  priv.outdated = false;
  priv.break_in_output =
      priv.break_in_output || lost || part == FrameSequence::Part::incomplete;
  if (priv.sequence->position () == 0)
    *priv.first = work.scan;
  if (!is_in_group)
    return TRUE;
  if (part == FrameSequence::Part::some)
    return oct::check_frame_alignment (input, work.input.bytes, error)
           && work.keep (input, priv.sequence->position (), queue, error);
  *outputs = work.outputs ();
  return *outputs > 0 || work.finish (input, queue, error);
}

static gboolean
gst_oct_depth_filter_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  DepthFilter &work = *private_of (filter).work;
  return oct::check_frame_alignment (input, work.input.bytes, error)
         && oct::check_frame_alignment (output, work.output.bytes, error)
         && work.transform (input, output, queue, error)
         && work.finish (input, queue, error);
}

/* --- deferring depths to an octdisplay --- */

static gboolean
defer (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output, cl_event *event,
    GError **error)
{
  DepthFilter &work = *private_of (filter).work;
  GstOpenCLFrame frame;

  if (!gst_opencl_frame_map (&frame, nullptr, work.input.size (), input,
          gst_opencl_filter_get_queue (filter), GST_MAP_READ, error))
    return FALSE;
  bool reads = false;
  std::shared_ptr<oct::PendingDepths> depths =
      work.defer (&frame, frame.queue, reads, error);
  GstOpenCLFrame read = frame;
  if ((reads
          && !gst_opencl_frames_unmap (
              frame.queue, &read, nullptr, event, depths ? error : nullptr))
      || !depths)
    return FALSE;
  oct::DeferredDepths::defer (filter, depths, &frame, output);
  return TRUE;
}

/* Checks also that both buffers are aligned as kernels require. */
static bool
can_defer (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output)
{
  const DepthFilter &work = *private_of (filter).work;
  auto is_aligned = [] (GstBuffer *buffer, gsize bytes) {
    return gst_opencl_memory_get_offset (gst_buffer_peek_memory (buffer, 0)) % bytes == 0;
  };
  return work.can_defer () && gst_opencl_filter_can_defer (filter, input, output)
         && is_aligned (input, work.input.bytes)
         && is_aligned (output, work.output.bytes);
}

static gboolean
gst_oct_depth_filter_process (GstOpenCLFilter *filter, GstBuffer *input,
    GstBuffer *output, cl_event *event, GError **error)
{
  if (can_defer (filter, input, output))
    return defer (filter, input, output, event, error);
  return GST_OPENCL_FILTER_CLASS (gst_oct_depth_filter_parent_class)
      ->process (filter, input, output, event, error);
}

static gboolean
gst_oct_depth_filter_can_merge (GstOpenCLFilter *filter)
{
  return private_of (filter).work->can_merge ();
}

static GstOpenCLMergeResult
gst_oct_depth_filter_merge (GstOpenCLFilter *filter, GstOpenCLDeferred *pending,
    GstBuffer *buffer, cl_event *event, GError **error)
{
  DepthFilter &work = *private_of (filter).work;
  if (!work.can_merge ())
    return GST_OPENCL_NOT_MERGED;
  return oct::DeferredDepths::merge (filter, pending, buffer, work.output.size (), event,
      error, [&] (const GstOpenCLFrame *output) {
        return work.merge (
            oct::DeferredDepths::of (pending), output, output->queue, error);
      });
}

static const GstOpenCLDeferral deferral = {oct::DeferredDepths::get_type,
    gst_oct_depth_filter_can_merge, gst_oct_depth_filter_merge};

/* Sets the time of a group, from the start of its first frame to the end of its last
 * one. */
static gboolean
gst_oct_depth_filter_copy_metadata (
    GstBaseTransform *base, GstBuffer *input, GstBuffer *output)
{
  GstOctDepthFilterPrivate &priv = private_of (base);

  if (!GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
           ->copy_metadata (base, input, output))
    return FALSE;
  if (GST_CLOCK_TIME_IS_VALID (priv.sequence->start ())) {
    GST_BUFFER_PTS (output) = priv.sequence->start ();
    GST_BUFFER_DURATION (output) = priv.sequence->duration ();
  }
  if (priv.break_in_output)
    GST_BUFFER_FLAG_SET (output, GST_BUFFER_FLAG_DISCONT);
  else
    GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_DISCONT);
  priv.break_in_output = false;
  const guint frames = priv.work->change ().frames;
  if (frames > 1 && *priv.first) {
    const GstOctScan scan =
        oct::ScanGroups (**priv.first, frames).scan_of_group (**priv.first);
    gst_buffer_set_oct_scan (output, &scan);
  }
  priv.work->describe (
      output, gst_opencl_filter_get_output_index (GST_OPENCL_FILTER (base)));
  return TRUE;
}

static gboolean
gst_oct_depth_filter_sink_event (GstBaseTransform *base, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_GAP
      || GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    private_of (base).lost = true;
  if (gst_event_has_name (event, GST_OPENCL_LOST_FRAME)) {
    private_of (base).missing++;
    gst_event_unref (event); /* the number of outputs may differ */
    return TRUE;
  }
  return GST_BASE_TRANSFORM_CLASS (gst_oct_depth_filter_parent_class)
      ->sink_event (base, event);
}

/* --- the class --- */

static void
gst_oct_depth_filter_init (GstOctDepthFilter *self)
{
  private_of (self).sequence = new FrameSequence;
  private_of (self).first = new std::optional<GstOctScan>;
  /* QoS of a slow display must not drop frames that another branch records. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_oct_depth_filter_finalize (GObject *object)
{
  delete private_of (object).work;
  delete private_of (object).sequence;
  delete private_of (object).first;
  G_OBJECT_CLASS (gst_oct_depth_filter_parent_class)->finalize (object);
}

static void
gst_oct_depth_filter_class_init (GstOctDepthFilterClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_oct_depth_filter_finalize;
  transform_class->transform_caps = gst_oct_depth_filter_transform_caps;
  transform_class->query = gst_oct_depth_filter_query;
  transform_class->copy_metadata = gst_oct_depth_filter_copy_metadata;
  transform_class->sink_event = gst_oct_depth_filter_sink_event;
  filter_class->close = gst_oct_depth_filter_close;
  filter_class->set_formats = gst_oct_depth_filter_set_formats;
  filter_class->get_frame_size = gst_oct_depth_filter_get_frame_size;
  filter_class->begin_frame = gst_oct_depth_filter_begin_frame;
  filter_class->submit = gst_oct_depth_filter_submit;
  filter_class->transform = gst_oct_depth_filter_transform;
  filter_class->process = gst_oct_depth_filter_process;
  gst_opencl_filter_class_set_deferral (filter_class, &deferral);
  gst_type_mark_as_plugin_api (GST_TYPE_OCT_DEPTH_FILTER, GstPluginAPIFlags (0));
}
