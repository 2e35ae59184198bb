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
 * Each buffer of the first pad gives one output frame. From every other pad the element
 * takes the buffer for that time. The last buffer of a pad that has ended stays in use.
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
#include "liveprogram.hpp"

#include <gst/opencl/elements/gstopenclcombiner-private.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclframe.h>

GST_DEBUG_CATEGORY_STATIC (opencl_kernel_mixer_debug);
#define GST_CAT_DEFAULT opencl_kernel_mixer_debug

using compute::LiveProgram;
using compute::ProgramSettings;
using compute::Stream;

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("%s", GST_PAD_SINK, GST_PAD_REQUEST,
        GST_STATIC_CAPS (COMPUTE_CAPS ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")")));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (
            COMPUTE_OUTPUT_CAPS ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")")));

G_DECLARE_FINAL_TYPE (GstOpenCLKernelMixer, gst_opencl_kernel_mixer, GST,
    OPENCL_KERNEL_MIXER, GstOpenCLCombiner)

struct _GstOpenCLKernelMixer {
  GstOpenCLCombiner parent;

  opencl::Settings<ProgramSettings> *settings;
  LiveProgram *program;
  guint64 frames; /* since open */
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLKernelMixer, gst_opencl_kernel_mixer,
    GST_TYPE_OPENCL_COMBINER,
    GST_DEBUG_CATEGORY_INIT (
        opencl_kernel_mixer_debug, "openclkernelmixer", 0, "User-supplied kernels"))
GST_ELEMENT_REGISTER_DEFINE (openclkernelmixer, "openclkernelmixer", GST_RANK_NONE,
    gst_opencl_kernel_mixer_get_type ())

static const opencl::PropertyTable<ProgramSettings> properties =
    compute::program_properties ();

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

static GstAggregatorPad *
gst_opencl_kernel_mixer_create_new_pad (GstAggregator *aggregator, GstPadTemplate *templ,
    const gchar *wanted, const GstCaps *caps)
{
  GstElement *element = GST_ELEMENT (aggregator);
  const std::string name = wanted ? wanted : free_name (element);

  /* `output`, `output0` … are outputs. */
  if (has_pad (element, name.c_str ())
      || (g_str_has_prefix (name.c_str (), "output")
          && name.find_first_not_of ("0123456789", strlen ("output"))
                 == std::string::npos)) {
    GST_WARNING_OBJECT (element, "the pad name \"%s\" is in use", name.c_str ());
    return nullptr;
  }
  return GST_AGGREGATOR_PAD (g_object_new (GST_TYPE_OPENCL_COMBINER_PAD, "name",
      name.c_str (), "direction", templ->direction, "template", templ, nullptr));
}

/* --- caps --- */

static bool
find_inputs (GstPad **pads, GstCaps **inputs, guint n_inputs,
    std::vector<Stream> &streams, GError **error)
{
  streams.resize (n_inputs);
  for (guint n = 0; n < n_inputs; n++) {
    if (!compute::stream_of_caps (
            GST_OBJECT_NAME (pads[n]), inputs[n], streams[n], error))
      return false;
  }
  return true;
}

static GstCaps *
outputs_of (const ProgramSettings &settings, GstPad **pads, GstCaps **inputs,
    guint n_inputs, GError **error)
{
  std::vector<Stream> streams;
  const GstStructure *first = gst_caps_get_structure (inputs[0], 0);

  if (!find_inputs (pads, inputs, n_inputs, streams, error))
    return nullptr;
  if (!settings.expression.empty ())
    return compute::outputs_of_expression (settings, streams, first, error);
  return compute::outputs_of (settings, inputs[0]);
}

static GstCaps *
gst_opencl_kernel_mixer_find_output (GstOpenCLCombiner *combiner, GstPad **pads,
    GstCaps **inputs, guint n_inputs, GError **error)
{
  GstOpenCLKernelMixer *self = GST_OPENCL_KERNEL_MIXER (combiner);
  return outputs_of (self->settings->current (), pads, inputs, n_inputs, error);
}

/* Fixates to the caps of the first input, as far as possible. */
static GstCaps *
gst_opencl_kernel_mixer_fixate_src_caps (GstAggregator *aggregator, GstCaps *caps)
{
  GList *first = GST_ELEMENT (aggregator)->sinkpads;
  GstCaps *like = first ? gst_pad_get_current_caps (GST_PAD (first->data)) : nullptr;
  return like ? compute::fixate_like (caps, like) : gst_caps_fixate (caps);
}

/* --- the program --- */

static gboolean
gst_opencl_kernel_mixer_open (GstOpenCLCombiner *combiner, GError **error)
{
  GstOpenCLKernelMixer *self = GST_OPENCL_KERNEL_MIXER (combiner);
  self->frames = 0;
  return self->program->open (gst_opencl_combiner_get_context (combiner), error);
}

static void
gst_opencl_kernel_mixer_close (GstOpenCLCombiner *combiner)
{
  GST_OPENCL_KERNEL_MIXER (combiner)->program->close ();
}

static GstFlowReturn
gst_opencl_kernel_mixer_flush (GstAggregator *aggregator)
{
  GST_OPENCL_KERNEL_MIXER (aggregator)->program->start_over ();
  return GST_AGGREGATOR_CLASS (gst_opencl_kernel_mixer_parent_class)->flush (aggregator);
}

static gboolean
gst_opencl_kernel_mixer_set_formats (GstOpenCLCombiner *combiner, GstPad **pads,
    GstCaps **inputs, guint n_inputs, GstCaps *output, GError **error)
{
  auto streams = [&] (const ProgramSettings &, std::vector<Stream> &found, GError **why) {
    return find_inputs (pads, inputs, n_inputs, found, why)
           && compute::append_outputs (output, found, why);
  };
  return GST_OPENCL_KERNEL_MIXER (combiner)->program->adopt (streams, error);
}

static gboolean
gst_opencl_kernel_mixer_update (GstOpenCLCombiner *combiner, GstPad **pads,
    GstCaps **inputs, guint n_inputs, GstCaps *before)
{
  GstOpenCLKernelMixer *self = GST_OPENCL_KERNEL_MIXER (combiner);
  GstAggregator *aggregator = GST_AGGREGATOR (self);
  GstCaps *output = gst_caps_ref (before);
  auto fixate = [aggregator] (GstCaps *caps) {
    return gst_opencl_kernel_mixer_fixate_src_caps (aggregator, caps);
  };
  auto streams = [&] (const ProgramSettings &wanted, std::vector<Stream> &found,
                     GError **error) {
    GstCaps *outputs = outputs_of (wanted, pads, inputs, n_inputs, error);
    const bool may_stay = wanted.output_caps == self->settings->current ().output_caps;
    return outputs
           && compute::choose_output (
               aggregator->srcpad, outputs, may_stay, fixate, &output, error)
           && find_inputs (pads, inputs, n_inputs, found, error)
           && compute::append_outputs (output, found, error);
  };
  const bool other = self->settings->is_started () && self->program->update (streams)
                     && !gst_caps_is_equal (before, output);
  gst_caps_unref (output);
  return other;
}

static gboolean
gst_opencl_kernel_mixer_combine (GstOpenCLCombiner *combiner,
    const GstOpenCLFrame *inputs, guint n_inputs, const GstOpenCLFrame *output,
    cl_command_queue queue, GError **error)
{
  GstOpenCLKernelMixer *self = GST_OPENCL_KERNEL_MIXER (combiner);
  const GstClockTime time = GST_BUFFER_PTS (output->buffer);
  std::vector<const GstOpenCLFrame *> frames;

  for (guint n = 0; n < n_inputs; n++)
    frames.push_back (&inputs[n]);
  frames.push_back (output);
  return self->program->enqueue (queue, frames,
      {self->frames++, GST_CLOCK_TIME_IS_VALID (time) ? double (time) / GST_SECOND : 0},
      error);
}

/* --- the class --- */

static void
gst_opencl_kernel_mixer_init (GstOpenCLKernelMixer *self)
{
  self->settings = new opencl::Settings<ProgramSettings> (self, properties);
  self->program = new LiveProgram (self, self->settings);
}

static void
gst_opencl_kernel_mixer_class_init (GstOpenCLKernelMixerClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstAggregatorClass *aggregator_class = GST_AGGREGATOR_CLASS (klass);
  GstOpenCLCombinerClass *combiner_class = GST_OPENCL_COMBINER_CLASS (klass);

  opencl::install_settings<&GstOpenCLKernelMixer::settings,
      &GstOpenCLKernelMixer::program> (klass, properties);
  compute::install_reload<GstOpenCLKernelMixer> (klass);

  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &sink_template, GST_TYPE_OPENCL_COMBINER_PAD);
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &src_template, GST_TYPE_AGGREGATOR_PAD);
  opencl::describe_element (klass, "OpenCL kernel mixer",
      "Filter/Editor/Video/Compositor",
      "Combines several inputs with a user-supplied OpenCL kernel or expression");

  aggregator_class->create_new_pad = gst_opencl_kernel_mixer_create_new_pad;
  aggregator_class->flush = gst_opencl_kernel_mixer_flush;
  aggregator_class->fixate_src_caps = gst_opencl_kernel_mixer_fixate_src_caps;
  combiner_class->open = gst_opencl_kernel_mixer_open;
  combiner_class->close = gst_opencl_kernel_mixer_close;
  combiner_class->get_frame_size = opencl::get_array_size;
  combiner_class->find_output = gst_opencl_kernel_mixer_find_output;
  combiner_class->set_formats = gst_opencl_kernel_mixer_set_formats;
  combiner_class->update = gst_opencl_kernel_mixer_update;
  combiner_class->combine = gst_opencl_kernel_mixer_combine;
}
