/* octflatten: corrects the optical path, so that a flat target looks flat
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octflatten
 *
 * The optical path from the scanner to a flat target differs with the direction of the
 * beam, so the target looks curved. This element moves each A-line towards zero delay by
 * z(x, y) depths. x is the position of the A-line in its B-scan, from -1 at the first
 * A-line to 1 at the last. y is that of the B-scan in its volume, from -1 to 1, taken
 * from the #GstOctScanMeta of octscan. Without it y is 0.
 *
 * z is a polynomial. Its `coefficients` are in depths, sorted by degree: of 1, x, y, x²,
 * xy, y², x³, x²y, xy², y³ and so on, up to degree 6. `oct-calibrate --flat` finds them
 * from a recording of a flat target, and writes them to a file for `settings`:
 * |[
 * oct-calibrate --flat flat.npy
 * ]|
 *
 * The coefficients are valid for A-lines with the same step between depths, and for
 * B-scans with the same A-lines: `first-line` and `lines` of octscan change x.
 *
 * Depths between bins are interpolated: complex depths over 16 bins (Lanczos), amplitudes
 * over 8, other values linearly. Complex depths are best: a peak keeps its level within
 * 0.02 dB, that of amplitudes within 0.05 dB, and that of decibels within 1.6 dB. A
 * structure keeps its phase when it is moved, so octdoppler and octangio measure the same
 * before and after. With `padded-samples` of octwindowinterp, the phase of a structure
 * changes with z, which octdoppler shows as flow where z differs between A-lines.
 *
 * Depths that come from outside the A-line are 0.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433 !
 * octfft ! octflatten coefficients="<0,0,0,40>" ! octdisplay ! opencldownload !
 * videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.3
 */
#include <algorithm>
#include <cmath>
#include <vector>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "calibration/interpolation.hpp"
#include "depth/depthfilter.hpp"
#include "depth/depthandimagekernel.hpp"
#include "elements.h"
#include "shared/settingsfile.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octflatten.cl"

/* Degree and number of terms of the polynomial */
static constexpr gsize most_order = 6, most_terms = 28;

OCT_PADS (OCT_DEPTH_CAPS ("CF32LE") "; " OCT_DEPTH_CAPS ("F32LE"),
    OCT_DEPTH_CAPS ("CF32LE") "; " OCT_DEPTH_CAPS ("F32LE"));

namespace {
/* Steps between two depths, to which z is rounded */
const guint fraction_bits = 10, fractions = 1 << fraction_bits;

struct FlattenSettings {
  std::vector<double> coefficients;
  std::string file; /* path of property `settings` */
};

/* Deferred A-lines of a frame */
class PendingFlat : public oct::PendingDepths {
public:
  std::shared_ptr<oct::DepthAndImageKernel> kernels;
  std::string options;
  cl::Buffer weights;
  cl_mem data;
  cl_ulong offset;
  cl_float8 curve;
  cl_uint depths, lines;
  bool on_cpu; /* a work-item moves an A-line */

  bool write (cl_command_queue queue, cl_mem to, gsize at, GError **error) override
  {
    std::lock_guard<std::mutex> guard (kernels->launching);
    return kernels->find.set_all (
               error, data, offset, curve, depths, lines, weights (), to, cl_ulong (at))
           && (on_cpu ? kernels->find.enqueue_groups (queue, {lines, 1, 1}, error)
                      : kernels->find.enqueue (queue, depths, lines, error));
  }
  bool write_image (oct::Display &display, cl_command_queue queue,
      const oct::DepthOutput &image, GError **error) override
  {
    std::lock_guard<std::mutex> guard (kernels->launching);
    return kernels->create_show (
               display, KERNELS, "show_flat", options + display.input_option (), error)
           && kernels->enqueue (display, queue, image, lines, depths, error, data, offset,
               curve, depths, lines, weights (),
               cl_uint (display.is_logarithmic (image)));
  }
};

struct FlattenState {
  std::shared_ptr<oct::DepthAndImageKernel> kernels;
  cl::Buffer weights;
  std::string built; /* options of the kernel */
  bool on_cpu = false;
  bool warned = false; /* that B-scans have no position */
};

class Flattening : public oct::DepthFilterOf<FlattenSettings, FlattenState> {
public:
  using DepthFilterOf::DepthFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;
  bool can_defer () const override { return !on_cpu; }
  std::shared_ptr<oct::PendingDepths> defer (const GstOpenCLFrame *from,
      cl_command_queue queue, bool &reads, GError **error) override
  {
    reads = false;
    return flat_in (from);
  }

protected:
  oct::CapsChange change_for (const FlattenSettings &wanted) const override { return {}; }
  bool check (const FlattenSettings &wanted, GError **error) const override;

private:
  bool is_amplitude () const { return !input.complex && input.quantity == "amplitude"; }
  oct::Interpolation interpolation () const
  {
    return input.complex     ? oct::Interpolation::lanczos16
           : is_amplitude () ? oct::Interpolation::lanczos
                             : oct::Interpolation::linear;
  }
  std::string options (GstOpenCLContext *context, gsize taps) const;
  bool make_weights (GstOpenCLContext *context, const oct::Taps &taps, GError **error);
  double position_of_b_scan ();
  cl_float8 curve ();
  std::shared_ptr<PendingFlat> flat_in (const GstOpenCLFrame *from);
};

/* Powers of x and y of a term: terms are sorted by degree, and within a degree by the power
 * of y */
static std::pair<gsize, gsize>
powers_of (gsize term)
{
  gsize degree = 0;
  for (; term > degree; degree++)
    term -= degree + 1;
  return {degree - term, term};
}

/* Returns the coefficients of 1, x, x^2, … for one y. */
static std::array<double, most_order + 1>
in_x (const std::vector<double> &coefficients, double y)
{
  std::array<double, most_order + 1> sums = {};
  for (gsize term = 0; term < coefficients.size (); term++) {
    const auto [of_x, of_y] = powers_of (term);
    sums[of_x] += coefficients[term] * std::pow (y, of_y);
  }
  return sums;
}

static bool
depends_on_y (const std::vector<double> &coefficients)
{
  for (gsize term = 0; term < coefficients.size (); term++)
    if (powers_of (term).second > 0 && coefficients[term] != 0)
      return true;
  return false;
}

bool
Flattening::check (const FlattenSettings &wanted, GError **error) const
{
  if (!oct::settings_file_check (GST_ELEMENT (element ()), wanted.file, error))
    return false;
  const bool finite = std::all_of (wanted.coefficients.begin (),
      wanted.coefficients.end (), [] (double c) { return std::isfinite (c); });
  if (wanted.coefficients.size () <= most_terms && finite)
    return true;
  return REFUSE_SETTINGS (error,
      "coefficients: %" G_GSIZE_FORMAT " numbers%s, expected at most %" G_GSIZE_FORMAT
      " finite ones",
      wanted.coefficients.size (), finite ? "" : " with NaN or infinite ones",
      most_terms);
}

std::string
Flattening::options (GstOpenCLContext *context, gsize taps) const
{
  std::string options = "-DTAPS=" + std::to_string (taps)
                        + " -DFRACTIONS=" + std::to_string (fractions) + ".0f"
                        + " -DFRACTION_BITS=" + std::to_string (fraction_bits);
  if (input.complex)
    options += " -DCOMPLEX";
  if (is_amplitude ())
    options += " -DPOSITIVE";
  if (on_cpu)
    options += " -DLANES=" + std::to_string (opencl::float_lanes (context));
  return options;
}

/* Tables for a point from one depth to the next, far from both ends of an A-line */
static oct::Taps
taps_between_depths (oct::Interpolation interpolation)
{
  const double middle = fractions / 2.0, almost_one = 1 - 1e-12;
  std::vector<double> map;
  for (guint n = 0; n <= fractions; n++)
    map.push_back (middle + std::min (n / double (fractions), almost_one));
  return oct::interpolation_taps (interpolation, map, map.size ());
}

bool
Flattening::make_weights (
    GstOpenCLContext *context, const oct::Taps &taps, GError **error)
{
  const gsize steps = fractions + 1;
  std::vector<cl_float> values (steps * taps.count);
  for (gsize step = 0; step < steps; step++)
    for (gsize tap = 0; tap < taps.count; tap++) {
      const bool is_odd = (tap + 1 - taps.count / 2) % 2 != 0;
      const double sign = input.complex && is_odd ? -1 : 1;
      values[step * taps.count + tap] =
          cl_float (sign * taps.weights[tap * steps + step]);
    }
  return opencl::make_table (context, values, weights, error);
}

bool
Flattening::prepare (GstOpenCLContext *context, GError **error)
{
  on_cpu = opencl::is_cpu (context);
  const oct::Taps taps = taps_between_depths (interpolation ());
  const std::string wanted = options (context, taps.count);
  if (wanted == built)
    return true;
  built.clear ();
  kernels = std::make_shared<oct::DepthAndImageKernel> ();
  if (!make_weights (context, taps, error)
      || !kernels->find.create (context, KERNELS, "flatten", wanted, error))
    return false;
  built = wanted;
  return true;
}

/* Returns y. Warns once if z depends on it but the frame has no position. */
double
Flattening::position_of_b_scan ()
{
  if (scan && scan->b_scans > 1)
    return 2.0 * scan->b_scan / (scan->b_scans - 1) - 1;
  if (!warned && !scan && depends_on_y (in_force.coefficients)) {
    warned = true;
    GST_ELEMENT_WARNING (element (), LIBRARY, SETTINGS,
        ("coefficients depend on the B-scan, but frames have no position in a volume; "
         "set b-scans of octscan"),
        (nullptr));
  }
  return 0;
}

cl_float8
Flattening::curve ()
{
  cl_float8 curve = {};
  const std::array<double, most_order + 1> terms =
      in_x (in_force.coefficients, position_of_b_scan ());
  for (gsize n = 0; n < terms.size (); n++)
    curve.s[n] = cl_float (terms[n]);
  return curve;
}

std::shared_ptr<PendingFlat>
Flattening::flat_in (const GstOpenCLFrame *from)
{
  auto flat = std::make_shared<PendingFlat> ();
  flat->kernels = kernels;
  flat->options = " " + built;
  flat->weights = weights;
  flat->data = from->data;
  flat->offset = from->offset[0];
  flat->curve = curve ();
  flat->depths = cl_uint (input.depths);
  flat->lines = cl_uint (input.lines);
  flat->on_cpu = on_cpu;
  return flat;
}

bool
Flattening::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  return flat_in (from)->write (queue, to->data, to->offset[0], error);
}
} // namespace

const opencl::PropertyTable<FlattenSettings> properties = {
    {"coefficients", "Coefficients",
        "Coefficients of the optical path z(x, y) in depths: of 1, x, y, x^2, xy, y^2, "
        "x^3, x^2 y, … up to degree 6 (missing ones are 0), \"<0,0,0,40>\"",
        &FlattenSettings::coefficients, opencl::playing},
    {"settings", "Settings file",
        "Set properties of this element from a file with one NAME=VALUE per line, as "
        "written by oct-calibrate --flat",
        &FlattenSettings::file, opencl::playing},
};

static const oct::DepthElement<Flattening> element = {"GstOctFlatten", &sink_template,
    &src_template, properties, "OCT flattening",
    "Corrects the optical path of OCT A-lines on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octflatten, element)
