/* openclkernelsrc: generates frames and arrays by a user-supplied kernel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclkernelsrc
 * @title: openclkernelsrc
 *
 * Generates video or arrays on the device by a kernel from a file (`location`) or a text
 * (`source`), or by one `expression` for each element. It uploads no frames.
 * `output-caps` or downstream's caps select the format. Arguments are bound as in
 * `openclkernel`, but there is no `input`. An expression can use `i0` … `i3` (the indices
 * of the element), `frame` and `time`.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 openclkernelsrc expression="0.5 + 0.5 * sin (0.1f * (i0 + i1) + 9 *
 * time)" \
 *   output-caps="video/x-raw,format=GRAY8,width=640,height=480" ! videoconvert ! \
 *   autovideosink
 * ]|
 * |[
 * gst-launch-1.0 openclkernelsrc num-buffers=1 expression="sqrt (i0 * i0 + i1 * i1)" \
 *   output-caps="other/tensors,types=float32,dimensions=(string)1000:1000" ! npysink \
 *   location=distance.npy
 * ]|
 */
#include "elements.h"
#include "liveprogram.hpp"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/gstopenclsrc.h>
#include <gst/opencl/gstopenclframe.h>

GST_DEBUG_CATEGORY_STATIC (opencl_kernel_src_debug);
#define GST_CAT_DEFAULT opencl_kernel_src_debug

using compute::LiveProgram;
using compute::ProgramSettings;
using compute::Stream;

#define DEFAULT_WIDTH 640
#define DEFAULT_HEIGHT 480

G_DECLARE_FINAL_TYPE (
    GstOpenCLKernelSrc, gst_opencl_kernel_src, GST, OPENCL_KERNEL_SRC, GstOpenCLSrc)

struct _GstOpenCLKernelSrc {
  GstOpenCLSrc parent;

  opencl::Settings<ProgramSettings> *settings;
  LiveProgram *program;
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLKernelSrc, gst_opencl_kernel_src, GST_TYPE_OPENCL_SRC,
    GST_DEBUG_CATEGORY_INIT (
        opencl_kernel_src_debug, "openclkernelsrc", 0, "User-supplied kernels"))
GST_ELEMENT_REGISTER_DEFINE (
    openclkernelsrc, "openclkernelsrc", GST_RANK_NONE, gst_opencl_kernel_src_get_type ())

static opencl::PropertyTable<ProgramSettings>
make_properties ()
{
  opencl::PropertyTable<ProgramSettings> table = compute::program_properties ();
  table.push_back ({"is-live", "Is live", "Act as a live source", &ProgramSettings::live,
      opencl::ready});
  return table;
}

static const opencl::PropertyTable<ProgramSettings> properties = make_properties ();

/* --- caps --- */

static GstCaps *
caps_of (GstOpenCLKernelSrc *self, const ProgramSettings &settings)
{
  GstCaps *caps = gst_pad_get_pad_template_caps (GST_BASE_SRC_PAD (self));
  if (!settings.output_caps)
    return caps;
  GstCaps *wanted = compute::complete_caps (settings.output_caps.get (), nullptr, true);
  GstCaps *both = gst_caps_intersect_full (wanted, caps, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref (wanted);
  gst_caps_unref (caps);
  return both;
}

static GstCaps *
gst_opencl_kernel_src_get_caps (GstBaseSrc *base, GstCaps *filter)
{
  GstOpenCLKernelSrc *self = GST_OPENCL_KERNEL_SRC (base);
  GstCaps *caps = caps_of (self, self->settings->current ());

  return opencl::filtered_caps (caps, filter);
}

static GstCaps *
gst_opencl_kernel_src_fixate (GstBaseSrc *base, GstCaps *caps)
{
  caps = gst_caps_make_writable (caps);
  for (guint i = 0; i < gst_caps_get_size (caps); i++) {
    GstStructure *structure = gst_caps_get_structure (caps, i);
    if (gst_structure_has_name (structure, "video/x-raw")) {
      gst_structure_fixate_field_nearest_int (structure, "width", DEFAULT_WIDTH);
      gst_structure_fixate_field_nearest_int (structure, "height", DEFAULT_HEIGHT);
    }
    gst_structure_fixate_field_nearest_fraction (structure, "framerate", 30, 1);
    if (gst_structure_has_field (structure, "pixel-aspect-ratio"))
      gst_structure_fixate_field_nearest_fraction (structure, "pixel-aspect-ratio", 1, 1);
  }
  return GST_BASE_SRC_CLASS (gst_opencl_kernel_src_parent_class)->fixate (base, caps);
}

static gboolean
gst_opencl_kernel_src_get_frame_size (GstOpenCLSrc *src, GstCaps *caps, gsize *size)
{
  std::vector<opencl::ArrayFormat> arrays;
  GError *error = nullptr;

  if (opencl::arrays_of_caps (caps, arrays, &error))
    return opencl::get_array_size (src, caps, size);
  GST_WARNING_OBJECT (src, "%s", error->message);
  g_error_free (error);
  return FALSE;
}

/* --- the program --- */

static gboolean
gst_opencl_kernel_src_open (GstOpenCLSrc *src, GError **error)
{
  GstOpenCLKernelSrc *self = GST_OPENCL_KERNEL_SRC (src);
  gst_base_src_set_live (GST_BASE_SRC (self), self->settings->committed ().live);
  return self->program->open (gst_opencl_src_get_context (src), error);
}

static void
gst_opencl_kernel_src_close (GstOpenCLSrc *src)
{
  GST_OPENCL_KERNEL_SRC (src)->program->close ();
}

static gboolean
gst_opencl_kernel_src_do_seek (GstBaseSrc *base, GstSegment *segment)
{
  GST_OPENCL_KERNEL_SRC (base)->program->start_over ();
  return GST_BASE_SRC_CLASS (gst_opencl_kernel_src_parent_class)->do_seek (base, segment);
}

static gboolean
gst_opencl_kernel_src_set_format (GstOpenCLSrc *src, GstCaps *caps, GError **error)
{
  auto streams = [&] (const ProgramSettings &, std::vector<Stream> &found, GError **why) {
    return compute::append_outputs (caps, found, why);
  };
  return GST_OPENCL_KERNEL_SRC (src)->program->adopt (streams, error);
}

/* Called before a frame is allocated, because its caps may change. */
static bool
update_settings (GstOpenCLKernelSrc *self)
{
  GstCaps *before = gst_pad_get_current_caps (GST_BASE_SRC_PAD (self));
  GstCaps *output = before ? gst_caps_ref (before) : nullptr;
  auto fixate = [self] (GstCaps *caps) {
    return gst_opencl_kernel_src_fixate (GST_BASE_SRC (self), caps);
  };
  auto streams = [&] (const ProgramSettings &wanted, std::vector<Stream> &found,
                     GError **error) {
    return compute::choose_output (GST_BASE_SRC_PAD (self), caps_of (self, wanted), true,
               fixate, &output, error)
           && compute::append_outputs (output, found, error);
  };
  bool agreed = true;

  if (before && self->settings->is_started () && self->program->update (streams)
      && !gst_caps_is_equal (before, output))
    agreed = gst_base_src_negotiate (GST_BASE_SRC (self));
  gst_clear_caps (&before);
  gst_clear_caps (&output);
  return agreed;
}

static GstFlowReturn
gst_opencl_kernel_src_alloc (GstPushSrc *push, GstBuffer **buffer)
{
  if (!update_settings (GST_OPENCL_KERNEL_SRC (push)))
    return GST_FLOW_NOT_NEGOTIATED;
  return GST_PUSH_SRC_CLASS (gst_opencl_kernel_src_parent_class)->alloc (push, buffer);
}

static gboolean
gst_opencl_kernel_src_fill_frame (GstOpenCLSrc *src, guint64 number, GstClockTime time,
    const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
{
  const compute::Moment moment = {number, double (time) / GST_SECOND};
  return GST_OPENCL_KERNEL_SRC (src)->program->enqueue_kernel (
      queue, {frame}, moment, error);
}

/* --- the class --- */

static void
gst_opencl_kernel_src_init (GstOpenCLKernelSrc *self)
{
  self->settings = new opencl::Settings<ProgramSettings> (self, properties);
  self->program = new LiveProgram (self, self->settings);
}

static void
gst_opencl_kernel_src_class_init (GstOpenCLKernelSrcClass *klass)
{
  GstBaseSrcClass *base_class = GST_BASE_SRC_CLASS (klass);
  GstOpenCLSrcClass *src_class = GST_OPENCL_SRC_CLASS (klass);

  opencl::install_settings<&GstOpenCLKernelSrc::settings, &GstOpenCLKernelSrc::program> (
      klass, properties);
  compute::install_actions<GstOpenCLKernelSrc> (klass);

  opencl::describe_element (klass, "OpenCL kernel source", "Source/Video",
      "Generates video and arrays with a user-supplied OpenCL kernel or expression",
      {nullptr, COMPUTE_OUTPUT_CAPS ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY
                                     ")") "; " COMPUTE_OUTPUT_CAPS ("")});

  base_class->get_caps = gst_opencl_kernel_src_get_caps;
  base_class->fixate = gst_opencl_kernel_src_fixate;
  base_class->do_seek = gst_opencl_kernel_src_do_seek;
  GST_PUSH_SRC_CLASS (klass)->alloc = gst_opencl_kernel_src_alloc;
  src_class->open = gst_opencl_kernel_src_open;
  src_class->close = gst_opencl_kernel_src_close;
  src_class->set_format = gst_opencl_kernel_src_set_format;
  src_class->get_frame_size = gst_opencl_kernel_src_get_frame_size;
  src_class->fill_frame = gst_opencl_kernel_src_fill_frame;
}
