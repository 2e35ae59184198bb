/* Convolution of float64 arrays in double precision
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvemethods.hpp"
#include "convolvestages.hpp"

#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/gstopenclcontext.h>
#include <gst/opencl/gstopenclerror.h>

namespace compute {
namespace {
#define RESOURCE "/org/freedesktop/gstreamer/opencl/compute/convolvedouble.cl"

class Double : public Convolver {
public:
  bool create (
      GstOpenCLContext *context, const Convolution &a_convolution, GError **error)
  {
    convolution = a_convolution;
    return create_tables (context, error) && create_kernel (context, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    const Extent &input_extent = convolution.input, &made = convolution.output;
    const Placement &from = input.place, &to = output.place;
    const gssize size = sizeof (cl_double);
    const gsize items = fours () * made.pixels () * made.images;
    return kernel.launch (queue, items, 1, error, input.data, cl_long (from.offset),
        cl_long (from.image), cl_long (from.channel), cl_long (from.line),
        cl_long (from.column), cl_int (input_extent.height), cl_int (input_extent.width),
        cl_int (convolution.top), cl_int (convolution.left), cl_int (convolution.border),
        weights (), cl_int (convolution.tap_lines), cl_int (convolution.tap_columns),
        cl_int (convolution.stride.y), cl_int (convolution.stride.x),
        cl_int (convolution.dilation.y), cl_int (convolution.dilation.x),
        cl_int (convolution.channels_of_group ()),
        cl_int (convolution.filters_of_group ()), bias (),
        cl_int (convolution.activation), cl_float (convolution.a),
        cl_float (convolution.b), output.data, cl_long (gssize (to.offset) / size),
        cl_long (to.image / size), cl_long (to.channel / size), cl_long (to.line / size),
        cl_long (to.column / size), cl_int (fours ()), cl_int (made.height),
        cl_int (made.width), cl_uint (items));
  }

private:
  bool create_tables (GstOpenCLContext *context, GError **error)
  {
    FiltersOf<double> filters;
    if (!filters.read (convolution, error))
      return false;
    weights = make_table (context, weights_of (filters), error);
    if (!weights ())
      return false;
    bias = make_table (context, biases_of (filters), error);
    return bias () != nullptr;
  }

  gsize fours_of_group () const { return (convolution.filters_of_group () + 3) / 4; }
  gsize fours () const { return convolution.groups * fours_of_group (); }

  /* Calls `use` with the index of the n-th filter of `four`, if the group has it. */
  template <typename Use> void use_filter (gsize four, gsize n, Use use) const
  {
    const gsize of_group = convolution.filters_of_group ();
    const gsize filter = four % fours_of_group () * 4 + n;
    if (filter < of_group)
      use (four / fours_of_group () * of_group + filter);
  }

  /* In the kernel's order */
  std::vector<cl_double> weights_of (const FiltersOf<double> &filters) const
  {
    const gsize channels = convolution.channels_of_group ();
    const gsize columns = convolution.tap_columns;
    const gsize of_four = convolution.taps () * channels;
    std::vector<cl_double> ordered (fours () * of_four * 4, 0);
    for (gsize four = 0; four < fours (); four++)
      for (gsize k = 0; k < of_four; k++)
        for (gsize n = 0; n < 4; n++)
          use_filter (four, n, [&] (gsize filter) {
            const gsize tap = k / channels;
            ordered[(four * of_four + k) * 4 + n] =
                filters.weight (filter, k % channels, tap / columns, tap % columns);
          });
    return ordered;
  }

  std::vector<cl_double> biases_of (const FiltersOf<double> &filters) const
  {
    std::vector<cl_double> biases (fours () * 4, 0);
    for (gsize four = 0; four < fours (); four++)
      for (gsize n = 0; n < 4; n++)
        use_filter (four, n,
            [&] (gsize filter) { biases[four * 4 + n] = filters.bias (filter); });
    return biases;
  }

  bool create_kernel (GstOpenCLContext *context, GError **error)
  {
    const char *options = convolution.nchw ? "-DINPUT_f64 -DOUTPUT_f64 -DCHANNELS_FIRST"
                                           : "-DINPUT_f64 -DOUTPUT_f64";
    return kernel.create (context, RESOURCE, "convolve_double", options, error);
  }

  Convolution convolution;
  opencl::Kernel kernel;
  cl::Buffer weights, bias;
};

const char *
name_of (Method method)
{
  /* In the order of the enumeration */
  static constexpr const char *names[] = {
      "auto", "direct", "separable", "winograd", "im2col", "fft"};
  return names[int (method)];
}
} // namespace

std::unique_ptr<Convolver>
make_double (GstOpenCLContext *context, const Convolution &convolution, GError **error)
{
  if (convolution.method != Method::automatic && convolution.method != Method::direct) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "method=%s computes in float32, expected direct or auto for float64 arrays",
        name_of (convolution.method));
    return nullptr;
  }
  if (!opencl::has_double (context)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "%s does not support double precision (float64 arrays), expected float32 or "
        "another device",
        gst_opencl_context_get_device_name (context));
    return nullptr;
  }
  auto made = std::make_unique<Double> ();
  return made->create (context, convolution, error) ? std::move (made) : nullptr;
}
} // namespace compute
