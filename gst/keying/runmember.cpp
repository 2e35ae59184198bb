/* Adds an element's step to a chain of keying elements
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "runmember.hpp"

#include "unkeyed.hpp"

#include <gst/opencl/kernel/selfcheck.hpp>

namespace keying {
namespace {
bool
find_place_of_output (GstOpenCLFilter *filter, GstBuffer *output, Place *place)
{
  return find_place (output, gst_opencl_filter_get_video_info (filter, GST_PAD_SRC),
      gst_opencl_filter_get_context (filter), place);
}

/* Where a camera's planes lie mapping says. */
bool
is_plain_input (GstOpenCLFilter *filter, const InputFormat &format, GstBuffer *input)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  Place place;
  return format.is_of_camera () ? is_of_context (input, context)
                                : find_place (input, &format.input (), context, &place);
}
} // namespace

void
RunMember::set_format (GstOpenCLContext *context, const InputFormat &format)
{
  runner_ = std::make_shared<KeyRunner> (context, format);
}

void
RunMember::close ()
{
  runner_.reset ();
}

bool
RunMember::is_trusted (GstOpenCLFilter *filter)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);
  if (gst_opencl_context_trusts_engine (context, "key-run"))
    return true;
  gst_opencl_context_warn_of_engine (
      context, "key-run", GST_ELEMENT (filter), "kernels of each element");
  return false;
}

void
RunMember::attach (GstOpenCLFilter *filter, const std::shared_ptr<KeyRunner> &runner,
    const KeyRun &run, const GstOpenCLFrame *source, GstBuffer *output,
    const Place &place)
{
  GstKeyingDeferredRun *deferred =
      gst_keying_deferred_run_new (runner, run, source, place);
  keep_unkeyed (output, source->buffer, runner->format (), run.key ().opacity);
  gst_opencl_filter_defer (filter, GST_OPENCL_DEFERRED (deferred), output);
  g_object_unref (deferred);
}

RunMember::Outcome
RunMember::leave (GstOpenCLFilter *filter, const KeyRun &run, GstBuffer *input,
    GstBuffer *output, GError **error)
{
  Place to;
  GstOpenCLFrame source;

  if (!gst_opencl_filter_can_defer (filter, input, output) || !is_trusted (filter)
      || !is_plain_input (filter, runner_->format (), input)
      || !find_place_of_output (filter, output, &to))
    return Outcome::plain;
  if (!gst_opencl_frame_map (&source, &runner_->format ().input (), 0, input,
          gst_opencl_filter_get_queue (filter), GST_MAP_READ, error))
    return Outcome::failed;
  attach (filter, runner_, run, &source, output, to);
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
  cl_command_queue queue = gst_opencl_filter_get_queue (filter);
  GstOpenCLFrame source = *gst_opencl_deferred_get_source (pending);
  const std::shared_ptr<KeyRunner> &runner =
      gst_keying_deferred_run_get_runner (GST_KEYING_DEFERRED_RUN (pending));
  GstOpenCLFrame made;

  if (!gst_opencl_frame_map (
          &made, &runner->format ().output (), 0, output, queue, GST_MAP_WRITE, error))
    return false;
  keep_unkeyed (output, source.buffer, runner->format (), run.key ().opacity);
  bool enqueued = runner->enqueue (queue, run, &source, &made, error);
  return gst_opencl_frames_unmap (
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
      && find_place_of_output (filter, output, &to)) {
    attach (filter,
        gst_keying_deferred_run_get_runner (GST_KEYING_DEFERRED_RUN (pending)), run,
        gst_opencl_deferred_get_source (pending), output, to);
    return GST_OPENCL_TAKEN_UP;
  }
  return finish (filter, pending, run, output, event, error) ? GST_OPENCL_TAKEN_UP
                                                             : GST_OPENCL_TAKE_UP_FAILED;
}
} // namespace keying
