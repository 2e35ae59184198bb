/* openclkernelmixer: runs a user-supplied kernel on several inputs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclkernelmixer
 * @title: openclkernelmixer
 *
 * Combines several inputs, video or arrays in device memory, by a kernel from a file
 * (`location`) or a text (`source`), or by one `expression` for each element. The name of
 * a requested pad is that of the kernel argument to which it is bound. Without a name,
 * pads are `a`, `b`, and so on. All else is as in `openclkernel`: `a_width` and
 * `a_stride` belong to the input `a`, `width` and `stride` to the output. The output has
 * the caps of the first pad unless downstream or `output-caps` require others. Arrays in
 * an expression are broadcast as in NumPy.
 *
 * Each buffer of the first pad gives one output frame, in the thread of that pad. From every
 * other pad the element takes the buffer for that time, and waits for it. So pads that get
 * their buffers from one `tee` need a `queue` each. The last buffer of a pad that has ended
 * stays in use.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 openclkernelmixer name=m expression="mix (left, right, share)" \
 *   arguments=a,share=0.3 ! opencldownload ! videoconvert ! autovideosink \
 *   videotestsrc ! video/x-raw,format=RGBA ! openclupload ! m.left \
 *   videotestsrc pattern=ball ! video/x-raw,format=RGBA ! openclupload ! m.right
 * ]|
 */
#include "elements.h"
#include "kernelfilter.hpp"

#include <gst/common/buffers.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclmemory.h>

GST_DEBUG_CATEGORY_STATIC (opencl_kernel_mixer_debug);
#define GST_CAT_DEFAULT opencl_kernel_mixer_debug

using compute::Stream;
using opencl::AuxiliaryStream;

#define INPUT_CAPS                                                                       \
  GST_STATIC_CAPS (COMPUTE_CAPS ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"))

/* GstBaseTransform requires a template of this name. */
static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_REQUEST, INPUT_CAPS);
static GstStaticPadTemplate named_template =
    GST_STATIC_PAD_TEMPLATE ("%s", GST_PAD_SINK, GST_PAD_REQUEST, INPUT_CAPS);

G_DECLARE_FINAL_TYPE (GstOpenCLKernelMixer, gst_opencl_kernel_mixer, GST,
    OPENCL_KERNEL_MIXER, GstOpenclKernel)

struct _GstOpenCLKernelMixer {
  GstOpenclKernel parent;

  GstPad *main; /* the first requested pad, without a parent before that */
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLKernelMixer, gst_opencl_kernel_mixer,
    gst_opencl_kernel_filter_get_type (),
    GST_DEBUG_CATEGORY_INIT (
        opencl_kernel_mixer_debug, "openclkernelmixer", 0, "User-supplied kernels"))
GST_ELEMENT_REGISTER_DEFINE (openclkernelmixer, "openclkernelmixer", GST_RANK_NONE,
    gst_opencl_kernel_mixer_get_type ())

/* --- pads --- */

static bool
has_pad (GstElement *element, const char *name)
{
  GstPad *pad = gst_element_get_static_pad (element, name);
  const bool found = pad != nullptr;
  gst_clear_object (&pad);
  return found;
}

/* Returns the first letter that is not the name of a pad. */
static std::string
free_name (GstElement *element)
{
  std::string name = "a";
  while (name[0] < 'z' && has_pad (element, name.c_str ()))
    name[0]++;
  return name;
}

static void
add_main_pad (GstOpenCLKernelMixer *self, const std::string &name)
{
  gst_object_set_name (GST_OBJECT (self->main), name.c_str ());
  if (GST_STATE (self) > GST_STATE_READY)
    gst_pad_set_active (self->main, TRUE);
  gst_element_add_pad (GST_ELEMENT (self), self->main);
  opencl::ObjectLock lock (self);
  self->parent.others->formats.main = name;
}

static GstPad *
gst_opencl_kernel_mixer_request_new_pad (
    GstElement *element, GstPadTemplate *templ, const gchar *wanted, const GstCaps *)
{
  GstOpenCLKernelMixer *self = GST_OPENCL_KERNEL_MIXER (element);
  const std::string name = wanted ? wanted : free_name (element);

  /* `output`, `output0` … are outputs. */
  if (has_pad (element, name.c_str ())
      || (g_str_has_prefix (name.c_str (), "output")
          && name.find_first_not_of ("0123456789", strlen ("output"))
                 == std::string::npos)) {
    GST_WARNING_OBJECT (element, "the pad name \"%s\" is in use", name.c_str ());
    return nullptr;
  }
  if (GST_OBJECT_PARENT (self->main))
    return self->parent.streams->request (element, templ, name.c_str ());
  add_main_pad (self, name);
  return self->main;
}

static void
gst_opencl_kernel_mixer_release_pad (GstElement *element, GstPad *pad)
{
  GstOpenCLKernelMixer *self = GST_OPENCL_KERNEL_MIXER (element);
  if (pad != self->main)
    return self->parent.streams->release (element, pad);
  gst_pad_set_active (pad, FALSE);
  gst_element_remove_pad (element, pad);
}

/* --- caps --- */

/* `output-caps` may have another framerate than the inputs. */
static GstCaps *
gst_opencl_kernel_mixer_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  if (direction == GST_PAD_SRC)
    return opencl::filtered_caps (
        gst_pad_get_pad_template_caps (transform->sinkpad), filter);
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_kernel_mixer_parent_class)
      ->transform_caps (transform, direction, caps, filter);
}

/* --- the frames of the other pads --- */

static bool
find_stream (
    const char *name, const AuxiliaryStream::Frame &frame, Stream &stream, GError **error)
{
  stream.name = name;
  stream.is_video = frame.is_video;
  stream.array = frame.array;
  if (!frame.is_video)
    return true;
  stream.format = GST_VIDEO_INFO_FORMAT (&frame.info);
  return opencl::array_of_video (&frame.info, stream.array, error);
}

/* Output caps follow from the caps of all inputs. */
static void
wait_for_caps (GstOpenclKernel *base)
{
  std::vector<Stream> formats;
  bool is_known = true;

  for (const auto &stream : base->streams->all ()) {
    AuxiliaryStream::Frame caps;
    formats.emplace_back ();
    is_known =
        is_known && stream->wait_for_caps (caps)
        && find_stream (GST_OBJECT_NAME (stream->pad ()), caps, formats.back (), nullptr);
  }
  opencl::ObjectLock lock (base);
  base->others->formats.is_known = is_known;
  base->others->formats.others = formats;
}

static gboolean
gst_opencl_kernel_mixer_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_CAPS)
    wait_for_caps (GST_OPENCL_KERNEL_FILTER (transform));
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_kernel_mixer_parent_class)
      ->sink_event (transform, event);
}

static gboolean
gst_opencl_kernel_mixer_src_event (GstBaseTransform *transform, GstEvent *event)
{
  auto send = [&] {
    return GST_BASE_TRANSFORM_CLASS (gst_opencl_kernel_mixer_parent_class)
        ->src_event (transform, event);
  };
  return GST_EVENT_TYPE (event) == GST_EVENT_SEEK
             ? GST_OPENCL_KERNEL_FILTER (transform)->streams->seek (event, send)
             : send ();
}

static GstFlowReturn
flow_without_frame (GstOpenclKernel *base, AuxiliaryStream &stream)
{
  if (stream.is_interrupted ())
    return GST_FLOW_FLUSHING;
  if (!stream.has_ended ()) /* it begins later */
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  if (gst_opencl_filter_drain (GST_OPENCL_FILTER (base))) /* no error ended it */
    GST_ELEMENT_ERROR (base, STREAM, FAILED,
        ("no frame on pad %s, which is not linked or has ended",
            GST_OBJECT_NAME (stream.pad ())),
        (nullptr));
  return GST_FLOW_ERROR;
}

static bool
is_same (const Stream &a, const Stream &b)
{
  return a == b && a.format == b.format;
}

/* Applies other formats, before the next frame is processed. */
static bool
change_formats (GstOpenclKernel *base, const std::vector<Stream> &formats)
{
  GstBaseTransform *transform = GST_BASE_TRANSFORM (base);
  GstBaseTransformClass *klass = GST_BASE_TRANSFORM_GET_CLASS (base);
  compute::InputFormats &inputs = base->others->formats;

  if (inputs.is_known
      && std::equal (formats.begin (), formats.end (), inputs.others.begin (),
          inputs.others.end (), is_same))
    return true;
  GST_OBJECT_LOCK (base);
  inputs.others = formats;
  inputs.is_known = true;
  GST_OBJECT_UNLOCK (base);
  GstCaps *input = gst_pad_get_current_caps (transform->sinkpad);
  GstCaps *output = gst_pad_get_current_caps (transform->srcpad);
  GstCaps *outputs =
      input ? klass->transform_caps (transform, GST_PAD_SINK, input, nullptr) : nullptr;
  const bool stays = outputs && output && gst_caps_can_intersect (outputs, output);
  if (!stays)
    gst_base_transform_reconfigure_src (transform);
  const bool is_set = !stays || klass->set_caps (transform, input, output);
  gst_clear_caps (&input);
  gst_clear_caps (&output);
  gst_clear_caps (&outputs);
  return is_set;
}

/* Chooses the frame of each other pad for the time of the main one. */
static GstFlowReturn
choose_frames (GstOpenclKernel *base, GstBuffer **input)
{
  compute::OtherInputs &others = *base->others;
  const GstClockTime time = opencl::running_time_of (
      GST_BASE_TRANSFORM (base)->segment, GST_BUFFER_PTS (*input));
  const guint losses_before = std::exchange (others.losses, 0);
  std::vector<Stream> formats;

  others.frames.clear ();
  for (const auto &stream : base->streams->all ()) {
    const AuxiliaryStream::Frame &frame = stream->frame_at (time);
    if (!frame.buffer)
      return flow_without_frame (base, *stream);
    others.frames.push_back ({frame, stream});
    others.losses += stream->losses ();
    formats.emplace_back ();
    find_stream (GST_OBJECT_NAME (stream->pad ()), frame, formats.back (), nullptr);
  }
  if (others.losses > losses_before) {
    *input = gst_buffer_make_writable (*input);
    GST_BUFFER_FLAG_SET (*input, GST_BUFFER_FLAG_DISCONT);
  }
  return change_formats (base, formats) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

static GstFlowReturn
gst_opencl_kernel_mixer_submit_input_buffer (
    GstBaseTransform *transform, gboolean discont, GstBuffer *input)
{
  const GstFlowReturn flow = choose_frames (GST_OPENCL_KERNEL_FILTER (transform), &input);
  if (flow == GST_FLOW_OK)
    return GST_BASE_TRANSFORM_CLASS (gst_opencl_kernel_mixer_parent_class)
        ->submit_input_buffer (transform, discont, input);
  gst_buffer_unref (input);
  return flow;
}

/* --- the class --- */

static void
gst_opencl_kernel_mixer_finalize (GObject *object)
{
  gst_object_unref (GST_OPENCL_KERNEL_MIXER (object)->main);
  G_OBJECT_CLASS (gst_opencl_kernel_mixer_parent_class)->finalize (object);
}

static void
gst_opencl_kernel_mixer_init (GstOpenCLKernelMixer *self)
{
  self->main = GST_PAD (gst_object_ref (GST_BASE_TRANSFORM_SINK_PAD (self)));
  gst_element_remove_pad (GST_ELEMENT (self), self->main);
}

static void
gst_opencl_kernel_mixer_class_init (GstOpenCLKernelMixerClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_opencl_kernel_mixer_finalize;
  opencl::describe_element (klass, "OpenCL kernel mixer",
      "Filter/Editor/Video/Compositor",
      "Combines several inputs with a user-supplied OpenCL kernel or expression");
  transform_class->transform_caps = gst_opencl_kernel_mixer_transform_caps;
  transform_class->sink_event = gst_opencl_kernel_mixer_sink_event;
  transform_class->src_event = gst_opencl_kernel_mixer_src_event;
  transform_class->submit_input_buffer = gst_opencl_kernel_mixer_submit_input_buffer;
  opencl::StreamPads<&GstOpenclKernel::streams>::install (
      klass, {&sink_template, &named_template});
  element_class->request_new_pad = gst_opencl_kernel_mixer_request_new_pad;
  element_class->release_pad = gst_opencl_kernel_mixer_release_pad;
}
