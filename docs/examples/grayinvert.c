/* grayinvert: the smallest filter on the device, in C, outside of the project's tree
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-grayinvert
 *
 * Turns black to white and white to black. A filter writes its pad templates, makes its
 * kernel when the device is there, and enqueues it for each frame.
 *
 * ```
 * gst-launch-1.0 videotestsrc ! openclupload ! grayinvert ! opencldownload ! autovideosink
 * ```
 */
#include <gst/opencl/opencl.h>

static const gchar *source =
    "#include <frame.clh>\n"
    "__kernel void\n"
    "invert (FRAME (const, input), FRAME (, output), uint width, uint height)\n"
    "{\n"
    "  uint x = get_global_id (0), y = get_global_id (1);\n"
    "  if (x < width && y < height)\n"
    "    LINE (output, y)[x] = 255 - LINE (input, y)[x];\n"
    "}\n";

#define GRAY_CAPS                                                                        \
  GST_VIDEO_CAPS_MAKE_WITH_FEATURES (GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, "GRAY8")

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE (
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS (GRAY_CAPS));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (GRAY_CAPS));

#define GRAY_TYPE_INVERT (gray_invert_get_type ())
G_DECLARE_FINAL_TYPE (GrayInvert, gray_invert, GRAY, INVERT, GstOpenCLFilter)

struct _GrayInvert {
  GstOpenCLFilter parent;
  GstOpenCLKernel *kernel;
};

G_DEFINE_TYPE (GrayInvert, gray_invert, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (grayinvert, "grayinvert", GST_RANK_NONE, GRAY_TYPE_INVERT)

static gboolean
gray_invert_open (GstOpenCLFilter *filter, GError **error)
{
  GrayInvert *self = GRAY_INVERT (filter);

  self->kernel = gst_opencl_kernel_new (
      gst_opencl_filter_get_context (filter), source, "invert", NULL, error);
  return self->kernel != NULL;
}

static void
gray_invert_close (GstOpenCLFilter *filter)
{
  GrayInvert *self = GRAY_INVERT (filter);

  g_clear_pointer (&self->kernel, gst_opencl_kernel_unref);
}

static gboolean
gray_invert_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLKernel *kernel = GRAY_INVERT (filter)->kernel;
  guint32 width = GST_VIDEO_INFO_WIDTH (&input->info);
  guint32 height = GST_VIDEO_INFO_HEIGHT (&input->info);

  return gst_opencl_kernel_set_frame (kernel, 0, input, 0, error)
         && gst_opencl_kernel_set_frame (kernel, 3, output, 0, error)
         && gst_opencl_kernel_set_value (kernel, 6, sizeof width, &width, error)
         && gst_opencl_kernel_set_value (kernel, 7, sizeof height, &height, error)
         && gst_opencl_kernel_launch (kernel, queue, width, height, error);
}

static void
gray_invert_init (GrayInvert *self)
{
  (void)self;
}

static void
gray_invert_class_init (GrayInvertClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Gray inverter",
      "Filter/Effect/Video", "Turns black to white and white to black", "Somebody else");
  filter_class->open = gray_invert_open;
  filter_class->close = gray_invert_close;
  filter_class->transform = gray_invert_transform;
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (grayinvert, plugin);
}

#define PACKAGE "out-of-tree"
GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, grayinvert,
    "A filter outside of the project's tree", plugin_init, "1.0", "LGPL", PACKAGE,
    PACKAGE)
