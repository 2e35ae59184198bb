/* An element's part in runs over several elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "runmember.hpp"

#include "original.hpp"

namespace keying {
namespace {
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
RunMember::attach (GstOpenCLFilter *filter, const KeyRun &run,
    const GstOpenCLFrame *source, GstBuffer *output, const Place &place)
{
  GstKeyingDeferredRun *deferred =
      gst_keying_deferred_run_new (runner_, run, source, place);
  keep_original (output, source->buffer, run.key ().opacity);
  gst_opencl_filter_defer (filter, GST_OPENCL_DEFERRED (deferred), output);
  g_object_unref (deferred);
}

RunMember::Outcome
RunMember::leave (GstOpenCLFilter *filter, const KeyRun &run, GstBuffer *input,
    GstBuffer *output, GError **error)
{
  Place from, to;
  GstOpenCLFrame source;

  if (!gst_opencl_filter_can_defer (filter, input, output)
      || !find_own_place (filter, input, &from) || !find_own_place (filter, output, &to))
    return Outcome::plain;
  if (!gst_opencl_frame_map (&source, runner_->info (), 0, input, compute_queue (filter),
          GST_MAP_READ, error))
    return Outcome::failed;
  attach (filter, run, &source, output, to);
  return Outcome::done;
}

RunMember::Outcome
RunMember::begin (GstOpenCLFilter *filter, const std::function<bool (KeyRun &)> &add,
    GstBuffer *input, GstBuffer *output, GError **error)
{
  KeyRun run;

  return add (run) ? leave (filter, run, input, output, error) : Outcome::plain;
}

bool
RunMember::finish (GstOpenCLFilter *filter, GstOpenCLDeferred *pending, const KeyRun &run,
    GstBuffer *output, cl_event *event, GError **error)
{
  cl_command_queue queue = compute_queue (filter);
  GstOpenCLFrame source = *gst_opencl_deferred_get_source (pending);
  GstOpenCLFrame made;

  if (!gst_opencl_frame_map (
          &made, runner_->info (), 0, output, queue, GST_MAP_WRITE, error))
    return false;
  keep_original (output, source.buffer, run.key ().opacity);
  bool enqueued = runner_->enqueue (queue, run, &source, &made, error);
  return gst_opencl_frames_finish (
             queue, &source, &made, event, enqueued ? error : nullptr)
         && enqueued;
}

GstOpenCLTakenUp
RunMember::take_up (GstOpenCLFilter *filter, const std::function<bool (KeyRun &)> &add,
    GstOpenCLDeferred *pending, GstBuffer *output, cl_event *event, GError **error)
{
  KeyRun run = gst_keying_deferred_run_get_run (GST_KEYING_DEFERRED_RUN (pending));
  Place to;

  if (!add (run))
    return GST_OPENCL_LEFT;
  if (gst_opencl_filter_can_defer (filter, output, output)
      && find_own_place (filter, output, &to)) {
    attach (filter, run, gst_opencl_deferred_get_source (pending), output, to);
    return GST_OPENCL_TAKEN_UP;
  }
  return finish (filter, pending, run, output, event, error) ? GST_OPENCL_TAKEN_UP
                                                             : GST_OPENCL_TAKE_UP_FAILED;
}
} // namespace keying
