/* graymean: the smallest aggregator on the device, in C, outside of the project's tree
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-graymean
 *
 * The mean of any number of gray pictures of one size. An aggregator writes its pad
 * templates and enqueues what makes one frame of those that its pads have; timing and
 * negotiation are #GstVideoAggregator's.
 *
 * ```
 * gst-launch-1.0 videotestsrc ! openclupload ! graymean name=mean ! opencldownload ! \
 *     autovideosink videotestsrc pattern=ball ! openclupload ! mean.
 * ```
 */
#include <gst/opencl/opencl.h>

/* Once for each input, so that any number of them is one kernel. */
static const gchar *source =
    "#include <frame.clh>\n"
    "__kernel void\n"
    "add (FRAME (const, input), FRAME (, output), uint width, uint height, uint n,\n"
    "    uint count)\n"
    "{\n"
    "  uint x = get_global_id (0), y = get_global_id (1);\n"
    "  if (x >= width || y >= height)\n"
    "    return;\n"
    "  uint before = n ? LINE (output, y)[x] : 0;\n"
    "  LINE (output, y)[x] = (uchar)(before + LINE (input, y)[x] / count);\n"
    "}\n";

#define GRAY_CAPS                                                                        \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, "GRAY8")

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink_%u", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (GRAY_CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (GRAY_CAPS));

#define GRAY_TYPE_MEAN (gray_mean_get_type ())
G_DECLARE_FINAL_TYPE (GrayMean, gray_mean, GRAY, MEAN, GstOpenCLAggregator)

struct _GrayMean {
  GstOpenCLAggregator parent;
  GstOpenCLKernel *kernel;
};

G_DEFINE_TYPE (GrayMean, gray_mean, GST_TYPE_OPENCL_AGGREGATOR)
GST_ELEMENT_REGISTER_DEFINE (graymean, "graymean", GST_RANK_NONE, GRAY_TYPE_MEAN)

static gboolean
gray_mean_open (GstOpenCLAggregator *aggregator, GError **error)
{
  GrayMean *self = GRAY_MEAN (aggregator);

  self->kernel = gst_opencl_kernel_new (
      gst_opencl_aggregator_get_context (aggregator), source, "add", NULL, error);
  return self->kernel != NULL;
}

static void
gray_mean_close (GstOpenCLAggregator *aggregator)
{
  g_clear_pointer (&GRAY_MEAN (aggregator)->kernel, gst_opencl_kernel_unref);
}

static gboolean
gray_mean_combine (GstOpenCLAggregator *aggregator,
    const GstOpenCLAggregatorInput *inputs, guint n_inputs, const GstOpenCLFrame *output,
    cl_command_queue queue, GError **error)
{
  GstOpenCLKernel *kernel = GRAY_MEAN (aggregator)->kernel;
  guint32 width = GST_VIDEO_INFO_WIDTH (&output->info);
  guint32 height = GST_VIDEO_INFO_HEIGHT (&output->info);
  guint32 n, count = n_inputs;

  for (n = 0; n < count; n++) {
    if (!gst_opencl_kernel_set_frame (kernel, 0, &inputs[n].frame, 0, error)
        || !gst_opencl_kernel_set_frame (kernel, 3, output, 0, error)
        || !gst_opencl_kernel_set_value (kernel, 6, sizeof width, &width, error)
        || !gst_opencl_kernel_set_value (kernel, 7, sizeof height, &height, error)
        || !gst_opencl_kernel_set_value (kernel, 8, sizeof n, &n, error)
        || !gst_opencl_kernel_set_value (kernel, 9, sizeof count, &count, error)
        || !gst_opencl_kernel_launch (kernel, queue, width, height, error))
      return FALSE;
  }
  return TRUE;
}

static void
gray_mean_init (GrayMean *self)
{
  (void)self;
}

static void
gray_mean_class_init (GrayMeanClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstOpenCLAggregatorClass *aggregator_class = GST_OPENCL_AGGREGATOR_CLASS (klass);

  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &sink_template, GST_TYPE_OPENCL_AGGREGATOR_PAD);
  gst_element_class_add_static_pad_template_with_gtype (
      element_class, &src_template, GST_TYPE_AGGREGATOR_PAD);
  gst_element_class_set_static_metadata (element_class, "Gray mean",
      "Filter/Editor/Video/Compositor", "The mean of gray pictures", "Somebody else");
  aggregator_class->open = gray_mean_open;
  aggregator_class->close = gray_mean_close;
  aggregator_class->combine = gray_mean_combine;
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (graymean, plugin);
}

#define PACKAGE "out-of-tree"
GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, graymean,
    "An aggregator outside of the project's tree", plugin_init, "1.0", "LGPL", PACKAGE,
    PACKAGE)
