/* octdisplay: converts depths and quantities derived from them to grey images
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octdisplay
 *
 * Converts depths to the image that octfft would produce: columns are A-lines, and depth
 * increases downwards. The `quantity` field of the caps selects the mapping:
 *
 * - Amplitudes, decibels and variances are shown in decibels from `db-min` (black) to
 *   `db-max` (white). With `scale=linear`, amplitudes or variances are mapped linearly
 *   between the values of these levels.
 * - Other quantities are shown from `min` to `max`. If both are 0, the range is 0 to 1
 *   for decorrelation, -π to π for phase and -10 to 10 mm/s for velocity. Middle grey
 *   then means no motion. `colormap=flow` of openclconvert has colours for flow.
 *
 * Values without a `quantity` in the caps are taken as decibels.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433 !
 * octfft ! octdoppler line-rate=100000 invert=true threshold=40 ! octdisplay min=-2 max=2 !
 * openclconvert colormap=flow ! opencldownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.2
 */
#include <gst/opencl/gstopenclframe.h>
#include "depth/depthfilter.hpp"
#include "depth/displayrange.hpp"
#include "elements.h"

OCT_PADS (OCT_DEPTH_CAPS ("{F32LE, CF32LE}"), OCT_IMAGE_CAPS);

namespace {
using oct::ValueType;

struct DisplaySettings {
  oct::DisplayRange range;
  bool db_auto = false;
  bool flip = false;
  bool true_scale = false;
};

struct DisplayState {
  oct::Display display;
  bool created = false;
  ValueType created_type = ValueType::complex;
  oct::DepthFormat created_format = oct::DepthFormat::gray8;
};

class ImageDisplay : public oct::DepthFilterOf<DisplaySettings, DisplayState> {
public:
  using DepthFilterOf::DepthFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;
  /* An automatic range needs the depths in memory, so they cannot stay deferred. */
  bool can_merge () const override { return !finds_range (); }
  bool merge (oct::PendingDepths &depths, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override
  {
    return depths.write_image (display, queue, image_in (to), error);
  }

protected:
  oct::CapsChange change_for (const DisplaySettings &wanted) const override;
  bool check (const DisplaySettings &wanted, GError **error) const override
  {
    return wanted.range.check (error);
  }

private:
  const oct::Quantity &quantity () const { return oct::quantity_of (input); }
  oct::DepthFormat format () const { return oct::depth_format_of (output); }
  oct::DepthOutput image_in (const GstOpenCLFrame *to) const;
  bool finds_range () const { return in_force.db_auto && quantity ().decibels; }
};

oct::CapsChange
ImageDisplay::change_for (const DisplaySettings &wanted) const
{
  oct::CapsChange change;
  change.makes_image = true;
  change.true_scale = wanted.true_scale;
  return change;
}

bool
ImageDisplay::prepare (GstOpenCLContext *context, GError **error)
{
  const ValueType value_type = quantity ().value_type;
  if (!created || created_type != value_type || created_format != format ()) {
    created = false;
    if (!display.create (context, value_type, format (), error))
      return false;
    created = true;
    created_type = value_type;
    created_format = format ();
  }
  return !finds_range () || display.has_range () || display.create_range (error);
}

oct::DepthOutput
ImageDisplay::image_in (const GstOpenCLFrame *to) const
{
  oct::DepthOutput image = {};
  image.data = to->data;
  image.offset = to->offset[0];
  image.stride = to->stride[0];
  image.depths = guint (output.depths);
  in_force.range.apply_to (quantity (), image);
  return in_force.flip ? oct::flipped (image) : image;
}

bool
ImageDisplay::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  const oct::DepthOutput image = image_in (to);
  const oct::DisplayInput values = {from->data, from->offset[0] / input.bytes,
      guint (input.depths), guint (input.lines)};
  return finds_range () ? display.enqueue_in_range (queue, values, image, error)
                        : display.enqueue (queue, values, image, error);
}
} // namespace

const opencl::PropertyTable<DisplaySettings> properties = oct::joined<DisplaySettings> (
    oct::display_range_properties<DisplaySettings> (),
    {
        {"db-auto", "Automatic range",
            "Find the black and white levels from the image instead of db-min and "
            "db-max, smoothed over frames: one pixel in 20 is below black, one in 1000 "
            "above white (input in decibels)",
            &DisplaySettings::db_auto, opencl::playing},
        {"flip", "Flip", "Show the first depth in the bottom row", &DisplaySettings::flip,
            opencl::playing},
        {"true-scale", "True scale",
            "Set the pixel-aspect-ratio from line-step and depth-step of the caps, if "
            "both are present",
            &DisplaySettings::true_scale, opencl::playing},
    });

static const oct::DepthElement<ImageDisplay> element = {"GstOctDisplay", &sink_template,
    &src_template, properties, "OCT display",
    "Converts OCT depths to grey images on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octdisplay, element)
