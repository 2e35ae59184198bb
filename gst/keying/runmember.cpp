/* An element's part in runs over several elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "runmember.hpp"

namespace keying {
namespace {
struct Unref {
  void operator() (GstKeyingDeferredRun *deferred) const { g_object_unref (deferred); }
};
using Pending = std::unique_ptr<GstKeyingDeferredRun, Unref>;

cl_command_queue
compute_queue (GstOpenCLFilter *filter)
{
  return gst_opencl_context_get_queue (
      gst_opencl_filter_get_context (filter), GST_OPENCL_QUEUE_COMPUTE);
}

bool
find_own_place (GstOpenCLFilter *filter, GstBuffer *buffer, Place *place)
{
  return find_place (buffer, gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
      gst_opencl_filter_get_context (filter), place);
}

/* What makes all of the picture in `buffer`, and no other */
Pending
pending_of (GstOpenCLFilter *filter, GstBuffer *buffer, const Place &place)
{
  GstOpenCLDeferred *deferred =
      gst_opencl_memory_ref_deferred (gst_buffer_peek_memory (buffer, 0));
  if (!deferred || !GST_IS_KEYING_DEFERRED_RUN (deferred)) {
    g_clear_object (&deferred);
    return nullptr;
  }
  Pending pending (GST_KEYING_DEFERRED_RUN (deferred));
  const GstVideoInfo *info = gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  return gst_keying_deferred_run_makes (pending.get (), info, place) ? std::move (pending)
                                                                     : nullptr;
}
} // namespace

void
RunMember::set_format (GstOpenCLContext *context, const GstVideoInfo *info)
{
  runner_ = std::make_shared<KeyRunner> (context, info);
}

void
RunMember::close ()
{
  runner_.reset ();
}

void
RunMember::ask_downstream (GstQuery *allocation)
{
  defers_ = gst_query_find_allocation_meta (
      allocation, GST_KEYING_DEFERRED_RUN_API_TYPE, nullptr);
}

void
RunMember::offer (GstQuery *allocation)
{
  gst_query_add_allocation_meta (allocation, GST_KEYING_DEFERRED_RUN_API_TYPE, nullptr);
}

void
RunMember::attach (const KeyRun &run, const GstOpenCLFrame *source, GstBuffer *output,
    const Place &place)
{
  GstKeyingDeferredRun *deferred =
      gst_keying_deferred_run_new (runner_, run, source, place);
  gst_opencl_memory_defer (
      gst_buffer_peek_memory (output, 0), GST_OPENCL_DEFERRED (deferred));
  g_object_unref (deferred);
}

RunMember::Outcome
RunMember::leave (GstOpenCLFilter *filter, const KeyRun &run, GstBuffer *input,
    GstBuffer *output, GError **error)
{
  Place from, to;
  GstOpenCLFrame source;

  if (!defers_ || !find_own_place (filter, input, &from)
      || !find_own_place (filter, output, &to))
    return Outcome::plain;
  if (!gst_opencl_frame_map (&source, runner_->info (), 0, input, compute_queue (filter),
          GST_MAP_READ, error))
    return Outcome::failed;
  attach (run, &source, output, to);
  return Outcome::done;
}

RunMember::Outcome
RunMember::finish (GstOpenCLFilter *filter, GstKeyingDeferredRun *pending,
    const KeyRun &run, GstBuffer *output, cl_event *event, GError **error)
{
  cl_command_queue queue = compute_queue (filter);
  GstOpenCLFrame source = *gst_opencl_deferred_get_source (GST_OPENCL_DEFERRED (pending));
  GstOpenCLFrame made;

  if (!gst_opencl_frame_map (
          &made, runner_->info (), 0, output, queue, GST_MAP_WRITE, error))
    return Outcome::failed;
  bool enqueued = runner_->enqueue (queue, run, &source, &made, error);
  bool finished =
      gst_opencl_frames_finish (queue, &source, &made, event, enqueued ? error : nullptr);
  return enqueued && finished ? Outcome::done : Outcome::failed;
}

RunMember::Outcome
RunMember::take_part (GstOpenCLFilter *filter, const std::function<bool (KeyRun &)> &add,
    GstBuffer *input, GstBuffer *output, cl_event *event, GError **error)
{
  Place from, to;

  if (!find_own_place (filter, input, &from) || !find_own_place (filter, output, &to))
    return Outcome::plain;
  Pending pending = pending_of (filter, input, from);
  KeyRun run = pending ? gst_keying_deferred_run_get_run (pending.get ()) : KeyRun ();
  if (pending && add (run)) {
    if (!defers_)
      return finish (filter, pending.get (), run, output, event, error);
    attach (run, gst_opencl_deferred_get_source (GST_OPENCL_DEFERRED (pending.get ())),
        output, to);
    return Outcome::done;
  }
  /* What is pending is done when the input is mapped. */
  pending.reset ();
  run = KeyRun ();
  return defers_ && add (run) ? leave (filter, run, input, output, error)
                              : Outcome::plain;
}
} // namespace keying
