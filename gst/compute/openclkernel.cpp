/* openclkernel: runs a user-supplied kernel on frames and arrays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclkernel
 * @title: openclkernel
 *
 * Runs a kernel from a file (`location`: OpenCL C, a program binary or SPIR-V) or a text
 * (`source`), or one `expression` for each element, over video and arrays in device
 * memory. The kernel's arguments are bound by name. Most drivers do not report the names
 * for a binary or SPIR-V. `parameters` must then declare them.
 *
 * - `input`, `output`: pointers to the input and the output frame, or images
 *   (`image2d_t`). If the kernel has no such name, the output is the only pointer or image
 *   that it writes, and the input is the first one that it reads. An input that is not
 *   declared const is copied for each frame, because other elements may use it. The output
 *   holds old values unless `fill-output` is set, so a kernel that adds to it, such as a
 *   histogram, needs `fill-output=0`
 * - `inputs` and `outputs` give other names. An output that has the name of an input begins
 *   with a copy of its contents: an in-out argument
 * - `output0`, `output1` …: several outputs in one buffer, with `num_tensors`, and lists
 *   of `types` and `dimensions`, in `output-caps`. `output0` then stands for the output
 * - `width`, `height`, `pixels`, `count` (of components of all pixels, or of elements),
 *   `shape0` … `shape3` (innermost first): size of the output. With the name of an array
 *   before them, `input_width`: of that array
 * - `stride`, `output_stride`, `input_stride`: row stride in bytes. If the kernel has no
 *   stride for an array, its rows are contiguous
 * - `frame` or `index` (counted from 0), `time` (in seconds)
 * - `previous`: pointer to the last output, zeros at the first frame. Its rows have the
 *   stride of the output's, unless the kernel has `previous_stride`
 * - all others: values of `arguments`. A value is a number; an array for a vector or a struct;
 *   a .npy file for a pointer or a struct; the number of elements of local memory; or words such
 *   as `linear+clamp-to-edge` for a sampler
 *
 * An `expression` has the operators of C, `**` for powers, and the functions of OpenCL C. Its
 * names are `x` (the input; inputs of openclkernelmixer have the names of their pads), the fields
 * of `arguments`, `frame`, `time`, `previous`, and `i0` … `i3` (indices of the element, innermost
 * first). Components of video are 0 to 1. Types and shapes follow NumPy: integers are exact in
 * 64 bits, and `/` is true division.
 *
 * A pointer to a .npy file of `arguments` that is not const keeps its contents from frame
 * to frame. A seek, a flush, a DISCONT buffer and a restart set it back to the file's
 * contents, and `previous` to zeros, unless `keep-state` is set. Other formats always do.
 *
 * Unless `global-size` is set, there is a work-item for each pixel of the output, or for
 * each element of an array. For arrays, the work-items have one dimension, two if the
 * kernel calls `get_global_id (1)`, or three if it calls `get_global_id (2)`. Dimension 0
 * is then `shape0`, 1 is `shape1`, and the last one covers all other elements. A program
 * that is not OpenCL C needs `global-size` for arrays.
 *
 * `global-size` and `local-size` are expressions of numbers and of the sizes above, with `+`,
 * `-`, `*`, `/` and parentheses. A quotient in a size of only `*` and `/` is rounded up, as in
 * `width/4`. In other sizes it is rounded down as in C, as in `(width+15)/16*16`. Without
 * `local-size` the device chooses the work-group; a GPU takes a row.
 *
 * The action signal `describe` (a context) returns the kernel's parameters, while the
 * element is stopped: a #GstStructure `kernel` with a string for each, such as "global
 * written float32 4 16 __global float4 *x" (address space; written or const; type, lanes and
 * bytes of an element; declaration), or `error` with a `message`.
 *
 * Settings and the file itself (signal `reload`) can change while playing. A program that
 * does not build or does not fit causes one WARNING, and the previous one stays in use.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=RGBA ! openclupload ! \
 *   openclkernel expression="x * x" ! opencldownload ! videoconvert ! autovideosink
 * ]|
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=GRAY8 ! openclupload ! openclkernel \
 *   source="kernel void negative (global const uchar *input, global uchar *output, int \
 *   stride, uchar white) { size_t i = get_global_id (1) * stride + get_global_id (0); \
 *   output[i] = white - input[i]; }" arguments="arguments,white=255" ! opencldownload ! \
 *   videoconvert ! autovideosink
 * ]|
 */
#include "elements.h"
#include "kernelfilter.hpp"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclframe.h>

GST_DEBUG_CATEGORY_STATIC (opencl_kernel_debug);
#define GST_CAT_DEFAULT opencl_kernel_debug

using compute::LiveProgram;
using compute::ProgramSettings;
using compute::Stream;

G_DEFINE_TYPE_WITH_CODE (GstOpenclKernel, gst_opencl_kernel_filter,
    GST_TYPE_OPENCL_FILTER,
    GST_DEBUG_CATEGORY_INIT (
        opencl_kernel_debug, "openclkernel", 0, "User-supplied kernels"))
GST_ELEMENT_REGISTER_DEFINE (
    openclkernel, "openclkernel", GST_RANK_NONE, gst_opencl_kernel_filter_get_type ())

static const opencl::PropertyTable<ProgramSettings> properties =
    compute::program_properties ();

/* --- caps --- */

static GstCaps *
outputs_of (GstOpenclKernel *self, const ProgramSettings &settings, GstCaps *caps)
{
  GST_OBJECT_LOCK (self);
  const compute::InputFormats inputs = self->others->formats;
  GST_OBJECT_UNLOCK (self);
  return compute::outputs_of (settings, caps, inputs);
}

static GstCaps *
gst_opencl_kernel_filter_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstOpenclKernel *self = GST_OPENCL_KERNEL_FILTER (transform);
  const ProgramSettings settings = self->settings->current ();
  GstCaps *result = direction == GST_PAD_SINK ? outputs_of (self, settings, caps)
                                              : compute::inputs_of (settings, caps);

  return opencl::filtered_caps (result, filter);
}

static GstCaps *
gst_opencl_kernel_filter_fixate_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  GstCaps *fixed = compute::fixate_like (others, gst_caps_ref (caps));
  GST_DEBUG_OBJECT (
      transform, "chose %" GST_PTR_FORMAT " for %" GST_PTR_FORMAT, fixed, caps);
  return fixed;
}

/* --- the program --- */

/* The name of the only input depends on the kind of the program. */
static bool
find_streams (GstOpenclKernel *self, const ProgramSettings &settings, GstCaps *input,
    GstCaps *output, std::vector<Stream> &streams, GError **error)
{
  const compute::InputFormats &inputs = self->others->formats;
  const bool is_only = inputs.main == "x" && inputs.others.empty ();
  const char *name =
      is_only && settings.expression.empty () ? "input" : inputs.main.c_str ();

  streams.resize (1);
  if (!compute::stream_of_caps (name, input, streams[0], error))
    return false;
  streams.insert (streams.end (), inputs.others.begin (), inputs.others.end ());
  return compute::append_outputs (output, streams, error);
}

static gboolean
gst_opencl_kernel_filter_open (GstOpenCLFilter *filter, GError **error)
{
  GstOpenclKernel *self = GST_OPENCL_KERNEL_FILTER (filter);
  self->frames = 0;
  return self->program->open (gst_opencl_filter_get_context (filter), error);
}

static void
gst_opencl_kernel_filter_close (GstOpenCLFilter *filter)
{
  GST_OPENCL_KERNEL_FILTER (filter)->program->close ();
}

static gboolean
gst_opencl_kernel_filter_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOpenclKernel *self = GST_OPENCL_KERNEL_FILTER (filter);
  auto streams = [&] (const ProgramSettings &settings, std::vector<Stream> &found,
                     GError **why) {
    return find_streams (self, settings, input, output, found, why);
  };
  /* A mixer continues with the first frame of its other pads. */
  return !self->others->formats.is_known || self->program->adopt (streams, error);
}

/* Keeps the caps in use if they fit `wanted`. */
static bool
choose_output (GstOpenclKernel *self, const ProgramSettings &wanted, GstCaps *input,
    GstCaps **output, GError **error)
{
  auto fixate = [input] (GstCaps *caps) {
    return compute::fixate_like (caps, gst_caps_ref (input));
  };
  return compute::choose_output (GST_BASE_TRANSFORM_SRC_PAD (self),
      outputs_of (self, wanted, input),
      wanted.output_caps == self->settings->current ().output_caps, fixate, output,
      error);
}

static void
gst_opencl_kernel_filter_begin_frame (GstOpenCLFilter *filter, GstBuffer *)
{
  GstOpenclKernel *self = GST_OPENCL_KERNEL_FILTER (filter);
  auto update = [self] (GstCaps *input, GstCaps **output) {
    auto streams = [&] (const ProgramSettings &wanted, std::vector<Stream> &found,
                       GError **error) {
      return choose_output (self, wanted, input, output, error)
             && find_streams (self, wanted, input, *output, found, error);
    };
    return self->settings->is_started () && self->program->update (streams);
  };
  compute::update_output (GST_BASE_TRANSFORM (self), update);
}

/* --- frames --- */

static gboolean
gst_opencl_kernel_filter_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP)
    GST_OPENCL_KERNEL_FILTER (transform)->program->start_over ();
  return GST_BASE_TRANSFORM_CLASS (gst_opencl_kernel_filter_parent_class)
      ->sink_event (transform, event);
}

/* Returns the stream time in seconds, or 0 if the buffer has no timestamp. */
static double
time_of (GstBaseTransform *transform, GstBuffer *buffer)
{
  const GstClockTime time = transform->segment.format == GST_FORMAT_TIME
                                ? gst_segment_to_stream_time (&transform->segment,
                                    GST_FORMAT_TIME, GST_BUFFER_PTS (buffer))
                                : GST_BUFFER_PTS (buffer);
  return GST_CLOCK_TIME_IS_VALID (time) ? double (time) / GST_SECOND : 0;
}

static gboolean
gst_opencl_kernel_filter_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenclKernel *self = GST_OPENCL_KERNEL_FILTER (filter);
  const compute::Moment moment = {
      self->frames++, time_of (GST_BASE_TRANSFORM (filter), output->buffer)};
  std::vector<opencl::ReadFrame> others (self->others->frames.size ());
  std::vector<const GstOpenCLFrame *> frames = {input};

  for (gsize n = 0; n < others.size (); n++) {
    if (!self->others->frames[n].map (filter, others[n], queue, error))
      return FALSE;
    frames.push_back (others[n].frame ());
  }
  frames.push_back (output);
  return self->program->enqueue_kernel (queue, frames, moment, error);
}

/* --- the class --- */

static void
gst_opencl_kernel_filter_init (GstOpenclKernel *self)
{
  self->settings = new opencl::Settings<ProgramSettings> (self, properties);
  self->program = new LiveProgram (self, self->settings);
  self->streams = new opencl::AuxiliaryStreams;
  self->others = new compute::OtherInputs;
  /* The result may be a measurement: QoS must not drop frames. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_opencl_kernel_filter_class_init (GstOpenclKernelClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOpenclKernel::settings, &GstOpenclKernel::program,
      &GstOpenclKernel::streams, &GstOpenclKernel::others> (klass, properties);
  compute::install_actions<GstOpenclKernel> (klass);

  opencl::describe_element (klass, "OpenCL kernel", "Filter/Effect/Video",
      "Runs a user-supplied OpenCL kernel or expression on video and arrays",
      {COMPUTE_CAPS ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")"),
          COMPUTE_OUTPUT_CAPS ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")")});

  transform_class->transform_caps = gst_opencl_kernel_filter_transform_caps;
  transform_class->fixate_caps = gst_opencl_kernel_filter_fixate_caps;
  transform_class->sink_event = gst_opencl_kernel_filter_sink_event;
  filter_class->open = gst_opencl_kernel_filter_open;
  filter_class->close = gst_opencl_kernel_filter_close;
  filter_class->set_formats = gst_opencl_kernel_filter_set_formats;
  filter_class->get_frame_size = opencl::get_array_size;
  filter_class->begin_frame = gst_opencl_kernel_filter_begin_frame;
  filter_class->transform = gst_opencl_kernel_filter_transform;
}
