/* grayramp: the smallest source on the device, in C, outside of the project's tree
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-grayramp
 *
 * Makes a ramp of gray that moves by a level a frame. A source writes a pad template, says
 * which size it makes where it may choose, and enqueues the kernel that writes a frame.
 *
 * ```
 * gst-launch-1.0 grayramp ! opencldownload ! autovideosink
 * ```
 */
#include <gst/opencl/opencl.h>

static const gchar *source =
    "#include <frame.clh>\n"
    "__kernel void\n"
    "ramp (FRAME (, output), uint width, uint height, uint first)\n"
    "{\n"
    "  uint x = get_global_id (0), y = get_global_id (1);\n"
    "  if (x < width && y < height)\n"
    "    LINE (output, y)[x] = (uchar)(x + first);\n"
    "}\n";

static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (GST_VIDEO_CAPS_MAKE_WITH_FEATURES (
            GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY, "GRAY8")));

#define GRAY_TYPE_RAMP (gray_ramp_get_type ())
G_DECLARE_FINAL_TYPE (GrayRamp, gray_ramp, GRAY, RAMP, GstOpenCLSrc)

struct _GrayRamp {
  GstOpenCLSrc parent;
  GstOpenCLKernel *kernel;
};

G_DEFINE_TYPE (GrayRamp, gray_ramp, GST_TYPE_OPENCL_SRC)
GST_ELEMENT_REGISTER_DEFINE (grayramp, "grayramp", GST_RANK_NONE, GRAY_TYPE_RAMP)

static gboolean
gray_ramp_open (GstOpenCLSrc *src, GError **error)
{
  GrayRamp *self = GRAY_RAMP (src);

  self->kernel = gst_opencl_kernel_new (
      gst_opencl_src_get_context (src), source, "ramp", NULL, error);
  return self->kernel != NULL;
}

static void
gray_ramp_close (GstOpenCLSrc *src)
{
  g_clear_pointer (&GRAY_RAMP (src)->kernel, gst_opencl_kernel_unref);
}

static gboolean
gray_ramp_fill_frame (GstOpenCLSrc *src, guint64 number, GstClockTime time,
    const GstOpenCLFrame *frame, cl_command_queue queue, GError **error)
{
  GstOpenCLKernel *kernel = GRAY_RAMP (src)->kernel;
  guint32 width = GST_VIDEO_INFO_WIDTH (&frame->info);
  guint32 height = GST_VIDEO_INFO_HEIGHT (&frame->info);
  guint32 first = (guint32)number;

  (void)time;
  return gst_opencl_kernel_set_frame (kernel, 0, frame, 0, error)
         && gst_opencl_kernel_set_value (kernel, 3, sizeof width, &width, error)
         && gst_opencl_kernel_set_value (kernel, 4, sizeof height, &height, error)
         && gst_opencl_kernel_set_value (kernel, 5, sizeof first, &first, error)
         && gst_opencl_kernel_launch (kernel, queue, width, height, error);
}

/* Where downstream leaves it open */
static GstCaps *
gray_ramp_fixate (GstBaseSrc *src, GstCaps *caps)
{
  GstStructure *fields;

  caps = gst_caps_make_writable (caps);
  fields = gst_caps_get_structure (caps, 0);
  gst_structure_fixate_field_nearest_int (fields, "width", 320);
  gst_structure_fixate_field_nearest_int (fields, "height", 240);
  gst_structure_fixate_field_nearest_fraction (fields, "framerate", 30, 1);
  return GST_BASE_SRC_CLASS (gray_ramp_parent_class)->fixate (src, caps);
}

static void
gray_ramp_init (GrayRamp *self)
{
  (void)self;
}

static void
gray_ramp_class_init (GrayRampClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstOpenCLSrcClass *src_class = GST_OPENCL_SRC_CLASS (klass);

  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "Gray ramp", "Source/Video",
      "Makes a ramp of gray that moves", "Somebody else");
  GST_BASE_SRC_CLASS (klass)->fixate = gray_ramp_fixate;
  src_class->open = gray_ramp_open;
  src_class->close = gray_ramp_close;
  src_class->fill_frame = gray_ramp_fill_frame;
}

static gboolean
plugin_init (GstPlugin *plugin)
{
  return GST_ELEMENT_REGISTER (grayramp, plugin);
}

#define PACKAGE "out-of-tree"
GST_PLUGIN_DEFINE (GST_VERSION_MAJOR, GST_VERSION_MINOR, grayramp,
    "A source outside of the project's tree", plugin_init, "1.0", "LGPL", PACKAGE,
    PACKAGE)
