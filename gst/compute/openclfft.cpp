/* openclfft: Fourier transforms of arrays
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

/**
 * SECTION:element-openclfft
 * @title: openclfft
 *
 * Transforms arrays of float32 or float64 along one or two axes, as numpy.fft does. float64
 * needs a device with double precision, and VkFFT.
 *
 * Complex numbers are an innermost dimension of 2 (real, imaginary). Input with such a
 * dimension is complex, other input is real. `axes` counts the dimensions of the array of
 * these numbers in NumPy's order, outermost first, without that dimension of 2. -1 is the
 * innermost one, which is also the default.
 *
 * | inverse | half-spectrum | input | output | numpy.fft |
 * |---|---|---|---|---|
 * | false | false | real or complex | complex, of the same length | fft, fft2 |
 * | false | true | real | complex, bins 0 to N/2 of the last of `axes` | rfft, rfft2 |
 * | true | false | real or complex | complex, of the same length | ifft, ifft2 |
 * | true | true | complex, M bins | real, 2 (M - 1) samples | irfft, irfft2 |
 *
 * With `half-spectrum`, input of a forward transform is real, also with an innermost
 * dimension of 2. Inverse transforms divide by the number of samples.
 *
 * All properties can change while playing. Settings that do not fit cause one WARNING, and
 * the previous ones stay in use.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 openclkernelsrc num-buffers=1 expression="sin (i0 * 0.1)" \
 *   output-caps="other/tensors,types=float32,dimensions=(string)1000:8" ! \
 *   openclfft half-spectrum=true ! npysink location=spectra.npy
 * ]| Spectra of eight lines
 */
#include "streamcaps.hpp"
#include "arraytransform.hpp"
#include "elements.h"

#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>

#include <cmath>

using compute::ArrayTransform;
using compute::Stream;
using compute::TransformShape;
using opencl::ArrayFormat;

#define FFT_CAPS                                                                         \
  TENSORS_CAPS_OF ("(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY ")", "{ float32, float64 "  \
                                                                  "}")

namespace {
struct FftSettings {
  std::string axes;
  bool inverse = false;
  bool half_spectrum = false;
  GstOpenCLFFTLibrary library = GST_OPENCL_FFT_LIBRARY_AUTO;
};

/* A transform of one input format */
struct Engine {
  TransformShape shape;
  ArrayTransform transform;
};
} // namespace

/* GstOpenCLFFT is a plan of the library. */
G_DECLARE_FINAL_TYPE (
    GstOpenCLFFTFilter, gst_opencl_fft_filter, GST, OPENCL_FFT_FILTER, GstOpenCLFilter)

struct _GstOpenCLFFTFilter {
  GstOpenCLFilter parent;

  opencl::Settings<FftSettings> *settings;
  std::unique_ptr<Engine> *engine; /* for the caps in use, else empty */
};

static const opencl::PropertyTable<FftSettings> properties = {
    {"axes", "Axes",
        "One or two dimensions to transform, numbered as in NumPy, such as 0,1 (-1 or "
        "empty = innermost; a dimension for real and imaginary part is not counted)",
        &FftSettings::axes, opencl::playing},
    {"inverse", "Inverse", "Inverse transform, divided by the number of samples",
        &FftSettings::inverse, opencl::playing},
    {"half-spectrum", "Half spectrum",
        "Use only bins 0 to N/2 of the last axis, for real input (with inverse: for real "
        "output)",
        &FftSettings::half_spectrum, opencl::playing},
    {"fft-library", "FFT library", "FFT library", &FftSettings::library,
        gst_opencl_fft_library_get_type, opencl::playing},
};

/* --- what it computes --- */

static bool
refuse (GError **error, const std::string &text)
{
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, "%s", text.c_str ());
  return false;
}

/* Separates the dimension of 2 of complex input from the others. */
static bool
find_input (const FftSettings &settings, const ArrayFormat &array, TransformShape &shape,
    GError **error)
{
  const bool must_be_real = settings.half_spectrum && !settings.inverse;
  const bool complex = array.length (0) == 2 && array.shape.size () > 1 && !must_be_real;
  shape.input = array.shape;
  shape.real_input = !complex;
  if (complex)
    shape.input.pop_back ();
  if (settings.half_spectrum && settings.inverse && !complex)
    return refuse (
        error, "dimensions=" + opencl::dimensions_text (array.shape)
                   + ", but inverse=true half-spectrum=true takes complex numbers, whose "
                     "innermost dimension is 2");
  return true;
}

static bool
find_axes (const FftSettings &settings, TransformShape &shape, GError **error)
{
  const gsize rank = shape.input.size ();
  if (!compute::parse_axes (settings.axes, rank, shape.axes, error))
    return false;
  if (shape.axes.size () > 2)
    return refuse (error, "axes=" + settings.axes + ", expected one or two axes");
  if (shape.axes.empty ())
    shape.axes = {rank - 1};
  return true;
}

static bool
find_output (const FftSettings &settings, TransformShape &shape, GError **error)
{
  shape.output = shape.input;
  if (!settings.half_spectrum)
    return true;
  gsize &length = shape.output[shape.axes.back ()];
  if (settings.inverse && length < 2)
    return refuse (error, "a half spectrum of 1 bin, expected at least 2");
  length = settings.inverse ? 2 * (length - 1) : length / 2 + 1;
  shape.real_output = settings.inverse;
  return true;
}

static bool
find_shape (const FftSettings &settings, const Stream &input, TransformShape &shape,
    GError **error)
{
  shape = {};
  shape.half = settings.half_spectrum;
  shape.inverse = settings.inverse;
  shape.library = settings.library;
  shape.is_double = input.array.type == opencl::NumberType::f64;
  return find_input (settings, input.array, shape, error)
         && find_axes (settings, shape, error) && find_output (settings, shape, error);
}

static ArrayFormat
output_array (const TransformShape &shape)
{
  ArrayFormat array = {
      shape.is_double ? opencl::NumberType::f64 : opencl::NumberType::f32, shape.output};
  if (!shape.real_output)
    array.shape.push_back (2);
  return array;
}

static compute::ArrayOutputOf
output_for (const FftSettings &settings)
{
  return [settings] (const Stream &input, ArrayFormat &output, GError **error) {
    TransformShape shape;
    if (!find_shape (settings, input, shape, error))
      return false;
    output = output_array (shape);
    return true;
  };
}

static compute::OutputOf
tensors_for (GstOpenCLFFTFilter *, const FftSettings &settings)
{
  return compute::tensors_of (output_for (settings));
}

static bool
create_engine (
    GstOpenCLFFTFilter *self, const TransformShape &shape, bool copies, GError **error)
{
  auto engine = std::make_unique<Engine> ();
  engine->shape = shape;
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  if (!engine->transform.create_plan (context, shape, copies, error))
    return false;
  *self->engine = std::move (engine);
  return true;
}

/* Changes nothing if it fails. */
static bool
make_engine (GstOpenCLFFTFilter *self, const FftSettings &settings, GstCaps *input,
    GstCaps *output, GError **error)
{
  Stream stream;
  TransformShape shape;
  if (!compute::stream_of_caps ("input", input, stream, error)
      || !find_shape (settings, stream, shape, error)
      || !compute::check_agreed (output_array (shape), output, error))
    return false;
  /* Settings that change the output caps come here twice. */
  if (*self->engine && (*self->engine)->shape == shape)
    return true;
  return create_engine (self, shape, false, error);
}

/* --- caps --- */

static GstCaps *
gst_opencl_fft_filter_transform_caps (GstBaseTransform *transform,
    GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstOpenCLFFTFilter *self = GST_OPENCL_FFT_FILTER (transform);
  GstCaps *result = direction == GST_PAD_SINK ? compute::array_outputs (
                        caps, output_for (self->settings->current ()))
                                              : compute::array_inputs (caps, false);
  return opencl::filtered_caps (result, filter);
}

/* --- frames --- */

/* The usual count, 5 N log2 N of complex numbers, whichever radix is used */
static double
flop_of (const TransformShape &shape)
{
  const std::vector<gsize> &signal = shape.inverse ? shape.output : shape.input;
  double samples = shape.real_input || shape.real_output ? 2.5 : 5, levels = 0;
  for (gsize length : signal)
    samples *= double (length);
  for (gsize axis : shape.axes)
    levels += std::log2 (double (signal[axis]));
  return samples * levels;
}

static gboolean
gst_opencl_fft_filter_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLFFTFilter *self = GST_OPENCL_FFT_FILTER (filter);
  const TransformShape shape = (*self->engine)->shape;
  gint64 from, to;
  if (!compute::element_offset (
          input->offset[0], shape.number_bytes (shape.real_input), from, error)
      || !compute::element_offset (
          output->offset[0], shape.number_bytes (shape.real_output), to, error))
    return FALSE;
  const bool needs_copies = from != 0 || to != 0;
  if (needs_copies && !(*self->engine)->transform.takes_offsets ()
      && !create_engine (self, shape, true, error))
    return FALSE;
  gst_opencl_profile_add_work ("", flop_of (shape), 0);
  return (*self->engine)
      ->transform.enqueue_transform (queue, input->data, from, output->data, to, error);
}

/* --- the class --- */

static const opencl::FilterElement<GstOpenCLFFTFilter, &GstOpenCLFFTFilter::engine>
    element = {"GstOpenCLFFTFilter", properties, "OpenCL Fourier transform", "Filter",
        "Transforms arrays along one or two axes in device memory", {FFT_CAPS, FFT_CAPS},
        {gst_opencl_fft_filter_transform_caps, gst_opencl_fft_filter_transform},
        compute::ArrayFilter<&GstOpenCLFFTFilter::settings, &GstOpenCLFFTFilter::engine,
            make_engine, tensors_for>::install,
        /* The result may be a measurement: QoS must not drop frames. */
        opencl::keeps_all_frames, opencl::create_members<&GstOpenCLFFTFilter::engine>};

OPENCL_FILTER_DEFINE (openclfft, gst_opencl_fft_filter, element)
