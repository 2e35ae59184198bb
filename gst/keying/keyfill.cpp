/* keyfill: replaces keyed pixels by a colour
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-keyfill
 *
 * Replaces pixels of alpha 0 by `color`, including its alpha. With `method=composite` all
 * pixels are composited over the colour.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! video/x-raw,format=RGBA ! openclupload !
 * chromakey tolerance=0.3 ! keyfill color=0xff0000ff ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <gst/opencl/kernel/kernel.hpp>
#include <gst/opencl/opencl.h>

#include "elements.h"
#include "input/pixelformats.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/keying/keyfill.cl"

GST_DEBUG_CATEGORY_STATIC (key_fill_debug);
#define GST_CAT_DEFAULT key_fill_debug

namespace {
enum class Method {
  paint,
  composite,
};

struct KeyFillSettings {
  guint color = 0xff000000;
  Method method = Method::paint;
};

/* State of the streaming thread */
struct KeyFillWork {
  GstVideoInfo info;
  opencl::FrameKernel paint;
  opencl::FrameKernel composite, composite_opaque;
};
} // namespace

#define GST_TYPE_KEY_FILL (gst_key_fill_get_type ())
G_DECLARE_FINAL_TYPE (GstKeyFill, gst_key_fill, GST, KEY_FILL, GstOpenCLFilter)

struct _GstKeyFill {
  GstOpenCLFilter parent;

  opencl::Settings<KeyFillSettings> *settings;
  KeyFillWork *work; /* between set_formats and close, else null */
};

G_DEFINE_TYPE (GstKeyFill, gst_key_fill, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (keyfill, "keyfill", GST_RANK_NONE, GST_TYPE_KEY_FILL)

static GType
method_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Method::paint), "Replace pixels of alpha 0 by the colour", "paint"},
      {gint (Method::composite), "Composite all pixels over the colour", "composite"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstKeyFillMethod", values);
  return type;
}

const opencl::PropertyTable<KeyFillSettings> properties = {
    {"color", "Color", "Fill colour, 0xAARRGGBB", &KeyFillSettings::color, {0, G_MAXUINT},
        keying::playing_flags},
    {"method", "Method", "Fill method", &KeyFillSettings::method, method_get_type,
        keying::playing_flags},
};

static void
gst_key_fill_close (GstOpenCLFilter *filter)
{
  GstKeyFill *self = GST_KEY_FILL (filter);
  delete self->work;
  self->work = nullptr;
}

static gboolean
gst_key_fill_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstKeyFill *self = GST_KEY_FILL (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);

  gst_key_fill_close (filter);
  self->work = new KeyFillWork;
  KeyFillWork &work = *self->work;
  work.info = *gst_opencl_filter_get_video_info (filter, GST_PAD_SINK);
  const std::string options = keying::pixel_options (&work.info);
  work.paint.prepare (context, KERNELS, "paint_keyed", options);
  work.composite.prepare (context, KERNELS, "composite_over_color", options);
  work.composite_opaque.prepare (
      context, KERNELS, "composite_over_color", options + " -DOPAQUE=1");
  return TRUE;
}

static gboolean
gst_key_fill_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstKeyFill *self = GST_KEY_FILL (filter);
  KeyFillWork &work = *self->work;
  KeyFillSettings settings = self->settings->committed ();
  cl_uint width = work.info.width, height = work.info.height;
  opencl::FrameKernel &method = settings.method == Method::paint ? work.paint
                                : settings.color >> 24 == 0xff   ? work.composite_opaque
                                                                 : work.composite;
  return method.launch (queue, (width + 7) / 8, height, error, input, output, width,
      height, cl_uint (settings.color));
}

static void
gst_key_fill_init (GstKeyFill *self)
{
  self->settings = new opencl::Settings<KeyFillSettings> (self, properties);
}

static void
gst_key_fill_class_init (GstKeyFillClass *klass)
{
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstKeyFill::settings, &GstKeyFill::work> (klass, properties);

  keying::set_up_class (filter_class);
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Key fill",
      "Filter/Effect/Video", "Replaces keyed pixels by a colour on an OpenCL device",
      "The gst-opencl developers");

  filter_class->close = gst_key_fill_close;
  filter_class->set_formats = gst_key_fill_set_formats;
  filter_class->transform = gst_key_fill_transform;

  GST_DEBUG_CATEGORY_INIT (key_fill_debug, "keyfill", 0, "Key fill");
}
