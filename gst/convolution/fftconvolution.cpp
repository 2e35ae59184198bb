/* Convolution by multiplication of Fourier spectra
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvestages.hpp"

#include <gst/opencl/core/gstopenclcontext-private.hpp>
#include <gst/opencl/device/gstopenclfft.h>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/gstopenclcontext.h>

namespace compute {
namespace {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/convolution/convolvespectrum.cl"

struct FreePlan {
  void operator() (GstOpenCLFFT *plan) const { gst_opencl_fft_free (plan); }
};
using Plan = std::unique_ptr<GstOpenCLFFT, FreePlan>;

/* Returns the smallest even length, at least `least`, without prime factors above 7.
 * Transforms of such lengths are fast. */
gsize
fast_length (gsize least)
{
  for (gsize length = least + least % 2;; length += 2) {
    gsize rest = length;
    for (gsize factor : {2, 3, 5, 7}) {
      while (rest % factor == 0)
        rest /= factor;
    }
    if (rest == 1)
      return length;
  }
}

class Spectral : public Convolver {
public:
  bool create (const Device &device, const Convolution &convolution,
      const Filters &weights, GError **error)
  {
    GstOpenCLContext *context = device.context;
    lines = fast_length (convolution.reach_lines ());
    columns = fast_length (convolution.reach_columns ());
    images = convolution.input.images;
    channels = convolution.input.channels;
    filters = convolution.output.channels;
    groups = convolution.groups;
    in_lanes = convolves_on_cpu (context);
    return gathering.create_planes (device, convolution, lines, columns, error)
           && create_plans (context, error) && create_memory (context, error)
           && transform_taps (context, convolution, weights, error)
           && create_ending (context, convolution, weights, error)
           && kernel.create (
               context, RESOURCE, "multiply_spectra", "-cl-mad-enable", error)
           && kept.create (context, convolution, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    const gsize run = in_lanes ? 2048 : 1;
    return gathering.enqueue (queue, input, error)
           && gst_opencl_fft_enqueue (
               forward.get (), queue, gathering.data (), spectra (), error)
           && kernel.set_all (error, spectra (), cl_int (channels),
               cl_int (channels / groups), taps (), cl_int (filters),
               cl_int (filters / groups), cl_int (bins ()), products (), cl_int (run),
               cl_int (images * filters))
           && enqueue_products (queue, run, error)
           && gst_opencl_fft_enqueue (
               inverse.get (), queue, products (), planes (), error)
           && ending.enqueue (queue, planes (), output, error)
           && kept.enqueue (queue, input, output, error);
  }

  void set_levels (const Levels &levels) override { ending.set_levels (levels); }

private:
  gsize bins () const { return (columns / 2 + 1) * lines; }

  bool enqueue_products (cl_command_queue queue, gsize run, GError **error)
  {
    const gsize runs = (bins () + run - 1) / run;
    if (in_lanes)
      return kernel.enqueue_groups (queue, {runs * images * filters, 1, 1}, error);
    return kernel.enqueue (queue, runs * images * filters, 1, error);
  }

  Plan make_plan (GstOpenCLContext *context, GstOpenCLFFTDirection direction, gsize batch,
      gsize pitch, GError **error) const
  {
    GstOpenCLFFTDescription description = {};
    description.direction = direction;
    description.real = TRUE;
    description.normalized = direction == GST_OPENCL_FFT_INVERSE;
    description.dimensions = 2;
    description.lengths[0] = columns;
    description.lengths[1] = lines;
    description.batch = batch;
    GstOpenCLFFTStrides &real =
        direction == GST_OPENCL_FFT_INVERSE ? description.output : description.input;
    real.row = pitch;
    real.transform = pitch * lines;
    return Plan (gst_opencl_fft_new_described (context, &description, error));
  }

  bool create_plans (GstOpenCLContext *context, GError **error)
  {
    forward = make_plan (
        context, GST_OPENCL_FFT_FORWARD, images * channels, gathering.pitch (), error);
    if (!forward)
      return false;
    inverse =
        make_plan (context, GST_OPENCL_FFT_INVERSE, images * filters, columns, error);
    return inverse != nullptr;
  }

  bool create_memory (GstOpenCLContext *context, GError **error)
  {
    const gsize bin = sizeof (cl_float2);
    spectra = opencl::make_buffer (context, images * channels * bins () * bin, error);
    if (!spectra ())
      return false;
    products = opencl::make_buffer (context, images * filters * bins () * bin, error);
    if (!products ())
      return false;
    taps = opencl::make_buffer (
        context, filters * (channels / groups) * bins () * bin, error);
    if (!taps ())
      return false;
    planes = PlaneTaps::make_planes (context, images * filters * lines * columns, error);
    return planes () != nullptr;
  }

  /* Transforms the taps once, padded to the size of the input planes. */
  bool transform_taps (GstOpenCLContext *context, const Convolution &convolution,
      const Filters &weights, GError **error)
  {
    const gsize of_group = channels / groups;
    const Distance &dilation = convolution.dilation;
    std::vector<cl_float> spread (filters * of_group * lines * columns);
    for (gsize filter = 0; filter < filters; filter++)
      for (gsize channel = 0; channel < of_group; channel++)
        for (gsize y = 0; y < convolution.tap_lines; y++)
          for (gsize x = 0; x < convolution.tap_columns; x++)
            spread[((filter * of_group + channel) * lines + y * dilation.y) * columns
                   + x * dilation.x] = weights.weight (filter, channel, y, x);
    cl::Buffer table = opencl::make_table (
        context, spread.data (), spread.size () * sizeof (cl_float), error);
    if (!table ())
      return false;
    Plan plan =
        make_plan (context, GST_OPENCL_FFT_FORWARD, filters * of_group, columns, error);
    return plan
           && gst_opencl_fft_enqueue (plan.get (),
               gst_opencl_context_get_thread_queue (context, GST_OPENCL_QUEUE_COMPUTE),
               table (), taps (), error);
  }

  /* Creates the last stage, which applies stride, bias, activation and scale. */
  bool create_ending (GstOpenCLContext *context, const Convolution &convolution,
      const Filters &weights, GError **error)
  {
    PlaneTaps::Task task;
    task.images = images;
    task.planes = task.groups = task.filters = filters;
    task.plane_lines = lines;
    task.pitch = columns;
    task.tap_lines = task.tap_columns = 1;
    task.stride = convolution.stride;
    task.height = convolution.output.height;
    task.width = convolution.output.width;
    task.finishing = Finishing (convolution);
    return ending.create (context, task, std::vector<cl_float> (filters, 1),
        weights.biases_in_order (convolution), error);
  }

  gsize lines, columns, images, channels, filters, groups;
  bool in_lanes;
  Gathering gathering;
  Plan forward, inverse;
  cl::Buffer spectra, taps, products, planes;
  opencl::Kernel kernel;
  PlaneTaps ending;
  KeptComponent kept;
};
} // namespace

std::unique_ptr<Convolver>
make_fft (const Device &device, const Convolution &convolution, const Filters &filters,
    GError **error)
{
  return create_convolver<Spectral> (device, convolution, filters, error);
}
} // namespace compute
