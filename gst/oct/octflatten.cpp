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
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <algorithm>
#include <cmath>
#include <vector>

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "calibration/curvature.hpp"
#include "calibration/interpolation.hpp"
#include "depth/depthfilter.hpp"
#include "elements.h"
#include "settingsfile.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octflatten.cl"

static GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (OCT_DEPTH_CAPS ("CF32LE") "; " OCT_DEPTH_CAPS ("F32LE")));
static GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE ("src", GST_PAD_SRC, GST_PAD_ALWAYS,
        GST_STATIC_CAPS (OCT_DEPTH_CAPS ("CF32LE") "; " OCT_DEPTH_CAPS ("F32LE")));

namespace {
/* Steps between two depths, to which z is rounded */
const guint fraction_bits = 10, fractions = 1 << fraction_bits;

struct FlattenSettings {
  std::vector<double> coefficients;
  std::string file; /* path of property `settings` */
};

class Flattening : public oct::DepthFilterOf<FlattenSettings> {
public:
  Flattening (gpointer element, opencl::Settings<FlattenSettings> *settings)
      : DepthFilterOf (element, settings), element (GST_ELEMENT (element))
  {
  }

  void stop () override
  {
    DepthFilterOf::stop ();
    warned = false;
  }
  void release () override
  {
    kernel = opencl::Kernel ();
    weights = cl::Buffer ();
    built.clear ();
  }
  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::DepthChange change_of (const FlattenSettings &wanted) const override { return {}; }
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

  GstElement *const element;
  opencl::Kernel kernel;
  cl::Buffer weights;
  std::string built; /* options of the kernel */
  bool on_cpu = false;
  bool warned = false; /* that B-scans have no position */
};

bool
Flattening::check (const FlattenSettings &wanted, GError **error) const
{
  if (!oct::settings_file_check (element, wanted.file, error))
    return false;
  const bool finite = std::all_of (wanted.coefficients.begin (),
      wanted.coefficients.end (), [] (double c) { return std::isfinite (c); });
  if (wanted.coefficients.size () <= oct::Curvature::most_terms && finite)
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "coefficients: %" G_GSIZE_FORMAT " numbers%s, expected at most %" G_GSIZE_FORMAT
      " finite ones",
      wanted.coefficients.size (), finite ? "" : " with NaN or infinite ones",
      oct::Curvature::most_terms);
  return false;
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
  weights = opencl::make_table (
      context, values.data (), values.size () * sizeof values[0], error);
  return weights () != nullptr;
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
  if (!make_weights (context, taps, error)
      || !kernel.create (context, KERNELS, "flatten", wanted.c_str (), error))
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
  if (!warned && !scan && oct::Curvature (in_force.coefficients).depends_on_y ()) {
    warned = true;
    GST_ELEMENT_WARNING (element, LIBRARY, SETTINGS,
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
  const std::vector<double> terms =
      oct::Curvature (in_force.coefficients).in_x (position_of_b_scan ());
  for (gsize n = 0; n < terms.size (); n++)
    curve.s[n] = cl_float (terms[n]);
  return curve;
}

bool
Flattening::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  if (!oct::check_frame_alignment (from, input.bytes, error)
      || !oct::check_frame_alignment (to, output.bytes, error)
      || !kernel.set_all (error, from->data, cl_ulong (from->offset[0]), curve (),
          cl_uint (input.depths), cl_uint (input.lines), weights (), to->data,
          cl_ulong (to->offset[0])))
    return false;
  return on_cpu ? kernel.enqueue_groups (queue, {input.lines, 1, 1}, error)
                : kernel.enqueue (queue, input.depths, input.lines, error);
}
} // namespace

#define GST_TYPE_OCT_FLATTEN (gst_oct_flatten_get_type ())
G_DECLARE_FINAL_TYPE (GstOctFlatten, gst_oct_flatten, GST, OCT_FLATTEN, GstOctDepthFilter)

struct _GstOctFlatten {
  GstOctDepthFilter parent;

  opencl::Settings<FlattenSettings> *settings;
};

G_DEFINE_TYPE (GstOctFlatten, gst_oct_flatten, GST_TYPE_OCT_DEPTH_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    octflatten, "octflatten", GST_RANK_NONE, GST_TYPE_OCT_FLATTEN)

const opencl::PropertyTable<FlattenSettings> properties = {
    {"coefficients", "Coefficients",
        "Coefficients of the optical path z(x, y) in depths: of 1, x, y, x^2, xy, y^2, "
        "x^3, x^2 y, … up to degree 6 (missing ones are 0)",
        &FlattenSettings::coefficients, opencl::playing},
    {"settings", "Settings file",
        "Set properties of this element from a file with one NAME=VALUE per line, as "
        "written by oct-calibrate --flat",
        &FlattenSettings::file, opencl::playing},
};

static void
gst_oct_flatten_init (GstOctFlatten *self)
{
  self->settings = new opencl::Settings<FlattenSettings> (self, properties);
  gst_oct_depth_filter_set_work (self, new Flattening (self, self->settings));
  oct::settings_file_follow (GST_ELEMENT (self));
}

static void
gst_oct_flatten_class_init (GstOctFlattenClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  opencl::install_settings<&GstOctFlatten::settings> (klass, properties);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT flattening",
      "Filter/Effect/Video",
      "Corrects the optical path of OCT A-lines on an OpenCL device",
      "The gst-opencl developers");
}
