/* Separable convolution: rows, then columns
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "convolvestages.hpp"

#include <cmath>
#include <gst/opencl/gstopenclerror.h>

namespace compute {
namespace {
using Column = std::vector<double>;

/* Largest remainder, relative to the largest tap, at which taps count as separable:
 * below the rounding of float32 */
const double most_left = 1e-6;

double
product_of (const cl_float *line, const Column &across)
{
  double sum = 0;
  for (gsize x = 0; x < across.size (); x++)
    sum += double (line[x]) * across[x];
  return sum;
}

/* Finds down · across, which is `taps` (lines × columns) if that is a product: all rows are
 * multiples of the longest one. */
void
first_product (
    const cl_float *taps, gsize lines, gsize columns, Column &down, Column &across)
{
  double longest = 0;
  down.assign (lines, 0);
  across.assign (columns, 0);
  for (gsize y = 0; y < lines; y++) {
    const Column line (taps + y * columns, taps + (y + 1) * columns);
    const double square = product_of (taps + y * columns, line);
    if (square > longest) {
      longest = square;
      across = line;
    }
  }
  for (gsize y = 0; y < lines && longest > 0; y++)
    down[y] = product_of (taps + y * columns, across) / longest;
}

bool
is_product (const cl_float *taps, const Column &down, const Column &across)
{
  double largest = 0, left = 0;
  for (gsize y = 0; y < down.size (); y++)
    for (gsize x = 0; x < across.size (); x++) {
      const double tap = taps[y * across.size () + x];
      if (!std::isfinite (tap))
        return false;
      largest = std::fmax (largest, std::fabs (tap));
      left = std::fmax (left, std::fabs (tap - down[y] * across[x]));
    }
  return left <= most_left * largest;
}

/* Appends the factors of all filters. Returns false if one is not separable. */
bool
find_products (const Convolution &convolution, const Filters &filters, Column &downs,
    Column &acrosses)
{
  const std::vector<cl_float> weights = filters.weights_in_order (convolution);
  for (gsize filter = 0; filter < convolution.output.channels; filter++) {
    const cl_float *taps = weights.data () + filter * convolution.taps ();
    Column down, across;
    first_product (taps, convolution.tap_lines, convolution.tap_columns, down, across);
    if (!is_product (taps, down, across))
      return false;
    downs.insert (downs.end (), down.begin (), down.end ());
    acrosses.insert (acrosses.end (), across.begin (), across.end ());
  }
  return true;
}

std::vector<cl_float>
floats_of (const Column &values)
{
  return std::vector<cl_float> (values.begin (), values.end ());
}

class Separable : public Convolver {
public:
  bool create (const Device &device, const Convolution &convolution, const Column &downs,
      const Column &acrosses, std::vector<cl_float> bias, GError **error)
  {
    GstOpenCLContext *context = device.context;
    if (!gathering.create_planes (device, convolution, convolution.reach_lines (),
            convolution.reach_columns (), error))
      return false;
    const gsize filters = convolution.output.channels;
    const gsize width = convolution.output.width;
    const gsize pitch = (width + 15) / 16 * 16;
    PlaneTaps::Task columns = PlaneTaps::task_of (convolution, gathering);
    PlaneTaps::Task lines = columns;
    lines.tap_lines = lines.stride.y = lines.dilation.y = 1;
    lines.height = gathering.lines ();
    lines.finishing = Finishing ();
    columns.planes = columns.groups = filters;
    columns.pitch = pitch;
    columns.tap_columns = columns.stride.x = columns.dilation.x = 1;

    const gssize line = gssize (pitch * sizeof (cl_float));
    between.place.column = sizeof (cl_float);
    between.place.line = line;
    between.place.channel = line * gssize (lines.height);
    between.place.image = between.place.channel * gssize (filters);
    summed = PlaneTaps::make_planes (
        context, lines.images * filters * lines.height * pitch, error);
    between.data = summed ();
    return summed ()
           && across.create (context, lines, floats_of (acrosses),
               std::vector<cl_float> (filters), error)
           && down.create (context, columns, floats_of (downs), bias, error)
           && kept.create (context, convolution, error);
  }

  bool enqueue (cl_command_queue queue, const Region &input, const Region &output,
      GError **error) override
  {
    return gathering.enqueue (queue, input, error)
           && across.enqueue (queue, gathering.data (), between, error)
           && down.enqueue (queue, summed (), output, error)
           && kept.enqueue (queue, input, output, error);
  }

  void set_levels (const Levels &levels) override { down.set_levels (levels); }

private:
  Gathering gathering;
  PlaneTaps across, down;
  cl::Buffer summed;
  Region between;
  KeptComponent kept;
};
} // namespace

bool
is_separable (const Convolution &convolution, const Filters &filters)
{
  Column downs, acrosses;
  return convolution.channels_of_group () == 1
         && find_products (convolution, filters, downs, acrosses);
}

std::unique_ptr<Convolver>
make_separable (const Device &device, const Convolution &convolution,
    const Filters &filters, GError **error)
{
  Column downs, acrosses;

  if (convolution.channels_of_group () != 1
      || !find_products (convolution, filters, downs, acrosses)) {
    g_set_error (error, GST_OPENCL_ERROR, GST_OPENCL_ERROR_UNSUPPORTED,
        "method=separable: %s, expected a separable kernel and one channel per group",
        convolution.channels_of_group () != 1 ? "the filters have several channels"
                                              : "the kernel is not separable");
    return nullptr;
  }
  return create_convolver<Separable> (
      device, convolution, downs, acrosses, filters.biases_in_order (convolution), error);
}
} // namespace compute
