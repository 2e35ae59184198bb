/* openclconvolve: convolutions of images and arrays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclconvolve
 * @title: openclconvolve
 *
 * Convolves gray and RGB video, each colour by itself, and arrays of real numbers,
 * (images, height, width, channels) or, with `layout=nchw`, (images, channels, height,
 * width).
 *
 * `kernel` is a .npy file or an array as text, "<<0,1,0>,<1,-4,1>,<0,1,0>>". With two
 * axes, (height, width), it is used for every channel. With three axes, each channel has
 * its own kernel. With four axes, (filters, channels of a group, height, width) or
 * (height, width, channels of a group, filters), each filter sums all channels of its
 * group. For video, the kernel has two or three axes.
 *
 * The element reads `kernel` and `bias` at the start, and whenever caps or a property
 * other than `scale` and `offset` change. It keeps no copy on the host, so the files must
 * exist until the element stops. A file whose shape has changed is accepted when the
 * property is set again.
 *
 * Alpha is copied unless `alpha` is set. With the default `padding` and `stride` each
 * pixel keeps its own alpha. Otherwise an output pixel gets the alpha of the input pixel
 * under the middle of the kernel. If a kernel has an even number of rows or columns, the
 * upper or left of the two in the middle counts.
 *
 * The output is activation (Σ kernel · input + bias), for video times `scale` plus
 * `offset`, rounded and saturated. Arrays of 8 and 16 bit integers become float32. Sums
 * are computed in float32. float64 arrays use double precision, which needs `method`
 * direct or auto and a device that supports it. All properties can change while playing.
 * Settings that do not fit cause one WARNING, and the previous ones stay in use.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! video/x-raw,format=GRAY8 ! openclupload ! \
 *   openclconvolve kernel="<<0,1,0>,<1,-4,1>,<0,1,0>>" offset=128 border=clamp ! \
 *   opencldownload ! videoconvert ! autovideosink
 * ]| Edge detection
 */
#include "elements.h"
#include "streamcaps.hpp"

#include <gst/convolution/convolver.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/common/settings.hpp>
#include <gst/opencl/gstopenclframe.h>

#include <mutex>

GST_DEBUG_CATEGORY_STATIC (opencl_convolve_debug);
#define GST_CAT_DEFAULT opencl_convolve_debug

using compute::Convolution;
using compute::ConvolutionSettings;
using compute::Convolver;
using compute::Placement;
using compute::Stream;
using compute::TapsSource;

#define DEVICE_MEMORY GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY
#define CONVOLVE_CAPS(types)                                                             \
  "video/x-raw(" DEVICE_MEMORY "), format = (string) " ARRAY_VIDEO_FORMATS               \
  ", width = (int) [ 1, 2147483647 ], height = (int) [ 1, 2147483647 ], "                \
  "framerate = (fraction) [ 0/1, 2147483647/1 ]; " TENSORS_CAPS_OF (                     \
      "(" DEVICE_MEMORY ")", types)

/* --- enumerations --- */

static const opencl::EnumTypeOf<compute::Border> border_type ("GstOpenCLConvolveBorder",
    {{compute::Border::zero, "Zero padding", "zero"},
        {compute::Border::clamp, "Repeat the edge value", "clamp"},
        {compute::Border::mirror, "Mirror without repeating the edge value", "mirror"},
        {compute::Border::wrap, "Wrap around to the opposite edge", "wrap"}});

static const opencl::EnumTypeOf<compute::Activation> activation_type (
    "GstOpenCLConvolveActivation",
    {{compute::Activation::none, "None", "none"},
        {compute::Activation::relu, "max (x, 0)", "relu"},
        {compute::Activation::relu6, "min (max (x, 0), 6)", "relu6"},
        {compute::Activation::hardswish, "x relu6 (x + 3) / 6", "hardswish"},
        {compute::Activation::sigmoid, "1 / (1 + exp (-x))", "sigmoid"},
        {compute::Activation::silu, "x sigmoid (x)", "silu"}});

static const opencl::EnumTypeOf<compute::Method> method_type ("GstOpenCLConvolveMethod",
    {{compute::Method::automatic, "Fastest method for the sizes", "auto"},
        {compute::Method::direct, "Direct summation", "direct"},
        {compute::Method::separable, "Rows, then columns (separable kernels)",
            "separable"},
        {compute::Method::winograd,
            "Winograd F(4x4, 3x3) (arrays, 3x3 kernel, stride 1, dilation 1, one group)",
            "winograd"},
        {compute::Method::fft, "Multiplication of Fourier spectra", "fft"}});

static const opencl::EnumTypeOf<compute::TensorLayout> layout_type (
    "GstOpenCLConvolveLayout",
    {{compute::TensorLayout::nhwc, "(images, height, width, channels)", "nhwc"},
        {compute::TensorLayout::nchw, "(images, channels, height, width)", "nchw"}});

static const opencl::EnumTypeOf<compute::KernelLayout> kernel_layout_type (
    "GstOpenCLConvolveKernelLayout",
    {{compute::KernelLayout::automatic,
         "Layout that matches the channels (oihw preferred)", "auto"},
        {compute::KernelLayout::oihw, "(filters, channels, height, width)", "oihw"},
        {compute::KernelLayout::hwio, "(height, width, channels, filters)", "hwio"}});

static const opencl::EnumTypeOf<compute::Flip> flip_type ("GstOpenCLConvolveFlip",
    {{compute::Flip::automatic, "Flip for video only", "auto"},
        {compute::Flip::no, "Do not flip (correlation)", "false"},
        {compute::Flip::yes, "Flip (convolution in the strict sense)", "true"}});

/* --- the element --- */

G_DECLARE_FINAL_TYPE (
    GstOpenCLConvolve, gst_opencl_convolve, GST, OPENCL_CONVOLVE, GstOpenCLFilter)

/* Kernel and bias with known shapes. Several threads query caps. */
struct OpenedTaps {
  std::mutex lock;
  TapsSource kernel, bias;
};

struct _GstOpenCLConvolve {
  GstOpenCLFilter parent;

  opencl::Settings<ConvolutionSettings> *settings;
  OpenedTaps *opened;
  std::unique_ptr<Convolver> *convolver; /* for the caps in use, else empty */
  Convolution *convolution;
};

G_DEFINE_TYPE_WITH_CODE (GstOpenCLConvolve, gst_opencl_convolve, GST_TYPE_OPENCL_FILTER,
    GST_DEBUG_CATEGORY_INIT (
        opencl_convolve_debug, "openclconvolve", 0, "OpenCL convolution"))
GST_ELEMENT_REGISTER_DEFINE (
    openclconvolve, "openclconvolve", GST_RANK_NONE, gst_opencl_convolve_get_type ())

static const opencl::PropertyTable<ConvolutionSettings> properties = {
    {"kernel", "Kernel",
        "Convolution kernel: a .npy file, or an array as text, such as "
        "<<0,1,0>,<1,-4,1>,<0,1,0>> (set again to read the file again)",
        &ConvolutionSettings::kernel, opencl::playing, &ConvolutionSettings::kernel_sets},
    {"kernel-layout", "Kernel layout", "Axis order of a kernel with four axes",
        &ConvolutionSettings::kernel_layout, kernel_layout_type, opencl::playing},
    {"layout", "Layout", "Axis order of arrays", &ConvolutionSettings::layout,
        layout_type, opencl::playing},
    {"bias", "Bias", "Bias: one number per filter, or one for all (.npy file or text)",
        &ConvolutionSettings::bias, opencl::playing, &ConvolutionSettings::bias_sets},
    {"stride", "Stride", "Distance between kernel positions, in rows and columns",
        &ConvolutionSettings::stride, {1, 1024}, opencl::playing},
    {"dilation", "Dilation",
        "Distance between kernel weights, in rows and columns (1 = adjacent)",
        &ConvolutionSettings::dilation, {1, 1024}, opencl::playing},
    {"padding", "Padding",
        "Rows and columns added on each side of the input (-1 = output size is input "
        "size / stride, rounded up)",
        &ConvolutionSettings::padding, {-1, 4096}, opencl::playing},
    {"groups", "Groups", "Number of channel groups, each with its own filters",
        &ConvolutionSettings::groups, {1, 1 << 20}, opencl::playing},
    {"border", "Border", "Values outside the input", &ConvolutionSettings::border,
        border_type, opencl::playing},
    {"activation", "Activation", "Activation function applied after the bias",
        &ConvolutionSettings::activation, activation_type, opencl::playing},
    {"flip", "Flip", "Rotate the kernel by 180 degrees", &ConvolutionSettings::flip,
        flip_type, opencl::playing},
    {"method", "Method", "Convolution method", &ConvolutionSettings::method, method_type,
        opencl::playing},
    {"scale", "Scale", "Factor applied to the output after the activation (video)",
        &ConvolutionSettings::scale, {-G_MAXFLOAT, G_MAXFLOAT}, opencl::controllable},
    {"offset", "Offset", "Value added after scale, in levels: 0 … 255 for 8 bits (video)",
        &ConvolutionSettings::offset, {-G_MAXFLOAT, G_MAXFLOAT}, opencl::controllable},
    {"alpha", "Alpha", "Convolve the alpha channel as well (video)",
        &ConvolutionSettings::alpha, opencl::playing},
};

/* --- what it computes --- */

static bool
open_taps (GstOpenCLConvolve *self, const ConvolutionSettings &settings,
    TapsSource &kernel, TapsSource &bias, GError **error)
{
  OpenedTaps *opened = self->opened;
  std::lock_guard<std::mutex> guard (opened->lock);

  if (settings.kernel.empty ()) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "kernel is not set, expected a .npy file or an array such as "
        "<<0,1,0>,<1,-4,1>,<0,1,0>>");
    return false;
  }
  if (!compute::open_taps (
          "kernel", settings.kernel, settings.kernel_sets, opened->kernel, error)
      || !compute::open_taps (
          "bias", settings.bias, settings.bias_sets, opened->bias, error))
    return false;
  kernel = opened->kernel;
  bias = opened->bias;
  return true;
}

/* Files may have changed while the element was stopped. */
static void
forget_taps (GstOpenCLConvolve *self)
{
  std::lock_guard<std::mutex> guard (self->opened->lock);
  self->opened->kernel = self->opened->bias = {};
}

static bool
find_convolution (GstOpenCLConvolve *self, const ConvolutionSettings &settings,
    GstCaps *input, Convolution &convolution, opencl::ArrayFormat &output, GError **error)
{
  TapsSource kernel, bias;
  Stream stream;
  GstVideoInfo info;

  if (!open_taps (self, settings, kernel, bias, error)
      || !compute::stream_of_caps ("input", input, stream, error))
    return false;
  gst_video_info_init (&info);
  if (stream.is_video)
    gst_video_info_from_caps (&info, input);
  return compute::make_convolution (settings, kernel, bias, stream.array,
      GST_VIDEO_INFO_FORMAT (&info), convolution, output, error);
}

/* --- caps --- */

/* Returns the output caps for fixed caps, or NULL if there are none. */
static GstStructure *
output_of (GstOpenCLConvolve *self, const ConvolutionSettings &settings,
    const GstStructure *input, GError **error)
{
  GstCaps *caps = gst_caps_new_full (gst_structure_copy (input), nullptr);
  GstStructure *made = nullptr;
  Convolution convolution;
  opencl::ArrayFormat output;

  if (gst_caps_is_fixed (caps)
      && find_convolution (self, settings, caps, convolution, output, error)) {
    made = gst_structure_copy (input);
    if (convolution.video)
      gst_structure_set (made, "width", G_TYPE_INT, gint (output.shape[1]), "height",
          G_TYPE_INT, gint (output.shape[0]), nullptr);
    else
      opencl::set_array_fields (made, output);
  }
  gst_caps_unref (caps);
  return made;
}

static compute::OutputOf
output_for (GstOpenCLConvolve *self, const ConvolutionSettings &settings)
{
  return [self, settings] (const GstStructure *input, GError **error) {
    return output_of (self, settings, input, error);
  };
}

/* Returns caps of the same kind and any size. Fixed caps without an output stay as
 * they are: set_caps reports the reason. */
static GstStructure *
any_size (const GstStructure *structure, bool fixed_stay)
{
  GstStructure *any = gst_structure_copy (structure);
  if (fixed_stay && compute::is_fixed (structure))
    return any;
  gst_structure_remove_fields (any, "width", "height", "types", "dimensions", nullptr);
  if (gst_structure_has_name (any, "video/x-raw"))
    gst_structure_set (any, "width", GST_TYPE_INT_RANGE, 1, G_MAXINT, "height",
        GST_TYPE_INT_RANGE, 1, G_MAXINT, nullptr);
  return any;
}

static GstCaps *
outputs_of (GstOpenCLConvolve *self, const ConvolutionSettings &settings, GstCaps *inputs)
{
  GstCaps *result = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (inputs); n++) {
    const GstStructure *input = gst_caps_get_structure (inputs, n);
    GstStructure *output = output_of (self, settings, input, nullptr);
    gst_caps_append_structure_full (result, output ? output : any_size (input, true),
        gst_caps_features_new_single (DEVICE_MEMORY));
  }
  return result;
}

static GstCaps *
gst_opencl_convolve_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstOpenCLConvolve *self = GST_OPENCL_CONVOLVE (transform);
  GstCaps *result;

  if (direction == GST_PAD_SINK) {
    result = outputs_of (self, self->settings->current (), caps);
  } else {
    result = gst_caps_new_empty ();
    for (guint n = 0; n < gst_caps_get_size (caps); n++)
      gst_caps_append_structure_full (result,
          any_size (gst_caps_get_structure (caps, n), false),
          gst_caps_features_new_single (DEVICE_MEMORY));
  }
  return opencl::filtered_caps (result, filter);
}

/* --- life --- */

static gboolean
gst_opencl_convolve_open (GstOpenCLFilter *filter, GError **error)
{
  GstOpenCLConvolve *self = GST_OPENCL_CONVOLVE (filter);
  TapsSource kernel, bias;
  forget_taps (self);
  return open_taps (self, self->settings->committed (), kernel, bias, error);
}

/* Changes nothing if it fails. */
static bool
make_convolver (GstOpenCLConvolve *self, const ConvolutionSettings &settings,
    GstCaps *input, GstCaps *output, GError **error)
{
  Convolution convolution;
  opencl::ArrayFormat made;

  if (!find_convolution (self, settings, input, convolution, made, error)
      || !compute::check_agreed (made, output, error))
    return false;
  const compute::Levels levels = {settings.scale, settings.offset};
  /* Settings that change the output caps come here twice. */
  if (*self->convolver && *self->convolution == convolution) {
    (*self->convolver)->set_levels (levels);
    return true;
  }
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  std::unique_ptr<Convolver> convolver = Convolver::create (context, convolution, error);
  if (!convolver)
    return false;
  if (convolution.method == compute::Method::automatic)
    compute::warn_of_wrong_methods (context, GST_ELEMENT (self));
  GST_INFO_OBJECT (self, "method=%s uses %s", compute::name_of (convolution.method),
      compute::name_of (convolver->method ()));
  convolver->set_levels (levels);
  *self->convolver = std::move (convolver);
  *self->convolution = std::move (convolution);
  return true;
}

/* --- frames --- */

static Placement
place_in (const GstOpenCLFrame *frame, const Convolution &convolution,
    const compute::Extent &extent, opencl::NumberType type)
{
  Placement place = convolution.place_of (extent, type);
  place.offset = frame->offset[0];
  if (convolution.video) {
    place.offset += convolution.first_component * opencl::info_of (type).size;
    place.line = frame->stride[0];
  }
  return place;
}

static gboolean
gst_opencl_convolve_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLConvolve *self = GST_OPENCL_CONVOLVE (filter);
  const Convolution &convolution = *self->convolution;
  const double weights = double (convolution.taps () * convolution.channels_of_group ()
                                 * convolution.output.channels);
  gst_opencl_profile_add_work ("",
      2 * weights * double (convolution.output.pixels () * convolution.output.images),
      weights * sizeof (cl_float));
  return (*self->convolver)
      ->enqueue (queue,
          {input->data,
              place_in (input, convolution, convolution.input, convolution.input_type)},
          {output->data, place_in (output, convolution, convolution.output,
                             convolution.output_type)},
          error);
}

/* --- the class --- */

static void
gst_opencl_convolve_init (GstOpenCLConvolve *self)
{
  self->settings = new opencl::Settings<ConvolutionSettings> (self, properties);
  self->opened = new OpenedTaps ();
  self->convolver = new std::unique_ptr<Convolver> ();
  self->convolution = new Convolution ();
  /* The result may be a measurement: QoS must not drop frames. */
  gst_base_transform_set_qos_enabled (GST_BASE_TRANSFORM (self), FALSE);
}

static void
gst_opencl_convolve_class_init (GstOpenCLConvolveClass *klass)
{
  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  opencl::install_settings<&GstOpenCLConvolve::settings, &GstOpenCLConvolve::opened,
      &GstOpenCLConvolve::convolver, &GstOpenCLConvolve::convolution> (klass, properties);

  opencl::describe_element (klass, "OpenCL convolution", "Filter/Effect/Video",
      "Convolves video and arrays with a kernel in device memory",
      {CONVOLVE_CAPS ("{ float32, float64, float16, uint8, int8, uint16, int16 }"),
          CONVOLVE_CAPS ("{ float32, float64, float16 }")});

  transform_class->transform_caps = gst_opencl_convolve_transform_caps;
  filter_class->open = gst_opencl_convolve_open;
  compute::ArrayFilter<&GstOpenCLConvolve::settings, &GstOpenCLConvolve::convolver,
      make_convolver, output_for>::install (filter_class);
  filter_class->transform = gst_opencl_convolve_transform;
}
