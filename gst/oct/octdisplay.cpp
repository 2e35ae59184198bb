/* octdisplay: a picture of depths, or of what was made of them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octdisplay
 *
 * Ends any chain of depths with the picture that octfft would make of them: a column an
 * A-line, depth downwards. What numbers are the caps say (`quantity`): amplitudes, decibels
 * and variances are shown in decibels from `db-min`, black, to `db-max`, white, or with
 * `scale=linear` by amplitudes, or variances, of so many decibels. Other numbers are shown
 * from `min` to `max`, both 0 for what suits them: decorrelations from 0 to 1, phases from
 * -π to π, velocities from -10 to 10 mm/s, so that a middle gray stands still; `colormap=flow`
 * of openclconvert has colours for that. Numbers of which nothing is said are decibels.
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
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <cmath>

#include "depth/depthfilter.hpp"
#include "depth/display.hpp"
#include "elements.h"

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink", GST_PAD_SINK,
    GST_PAD_ALWAYS, GST_STATIC_CAPS (OCT_DEPTH_CAPS ("{F32LE, CF32LE}")));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE (
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS (OCT_PICTURE_CAPS));

namespace {
using oct::Numbers;
using oct::Scale;

const double most_value = 1e9;

struct Settings {
  Scale scale = Scale::log;
  double db_min = 0;
  double db_max = 60;
  bool db_auto = false;
  double min = 0; /* both 0: as suits the quantity */
  double max = 0;
  bool flip = false;
  bool true_scale = false;
};

struct Quantity {
  const char *name;
  Numbers numbers;
  bool decibels; /* is shown in them */
  double min, max;
};

/* The last one is what is not told. */
const Quantity quantities[] = {
    {"amplitude", Numbers::amplitudes, true, 0, 0},
    {"variance", Numbers::powers, true, 0, 0},
    {"decorrelation", Numbers::values, false, 0, 1},
    {"phase", Numbers::values, false, -G_PI, G_PI},
    {"velocity", Numbers::values, false, -10, 10},
    {"decibels", Numbers::values, true, 0, 0},
};

const Quantity complex_numbers = {"", Numbers::complex, true, 0, 0};

class Picture : public oct::DepthFilterOf<Settings> {
public:
  using DepthFilterOf::DepthFilterOf;

  void release () override
  {
    display = oct::Display ();
    created = false;
  }
  bool prepare (GstOpenCLContext *context, GError **error) override;
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::DepthChange change_of (const Settings &wanted) const override;
  bool check (const Settings &wanted, GError **error) const override;
  bool breaks (const Settings &wanted) const override { return false; }

private:
  const Quantity &quantity () const;
  oct::DepthFormat format () const
  {
    return output.bytes == 1 ? oct::DepthFormat::gray8 : oct::DepthFormat::gray16;
  }
  bool finds_range () const { return in_force.db_auto && quantity ().decibels; }
  void set_range (oct::DepthOutput &picture) const;

  oct::Display display;
  bool created = false;
  Numbers created_numbers = Numbers::complex;
  oct::DepthFormat created_format = oct::DepthFormat::gray8;
};

oct::DepthChange
Picture::change_of (const Settings &wanted) const
{
  oct::DepthChange change;
  change.shows = true;
  change.true_scale = wanted.true_scale;
  return change;
}

bool
Picture::check (const Settings &wanted, GError **error) const
{
  if (wanted.db_min < wanted.db_max
      && (wanted.min < wanted.max || (wanted.min == 0 && wanted.max == 0)))
    return true;
  g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
      "db-min is %g and db-max is %g, min is %g and max is %g, expected db-min below "
      "db-max and min below max",
      wanted.db_min, wanted.db_max, wanted.min, wanted.max);
  return false;
}

const Quantity &
Picture::quantity () const
{
  if (input.complex)
    return complex_numbers;
  for (const Quantity &entry : quantities) {
    if (input.quantity == entry.name)
      return entry;
  }
  return *(std::end (quantities) - 1);
}

bool
Picture::prepare (GstOpenCLContext *context, GError **error)
{
  const Numbers numbers = quantity ().numbers;
  if (!created || created_numbers != numbers || created_format != format ()) {
    created = false;
    if (!display.create (context, numbers, format (), error))
      return false;
    created = true;
    created_numbers = numbers;
    created_format = format ();
  }
  return !finds_range () || display.has_range () || display.create_range (context, error);
}

/* Decibels that come in are never amplitudes. */
void
Picture::set_range (oct::DepthOutput &picture) const
{
  const Quantity &shown = quantity ();
  picture.logarithmic = in_force.scale == Scale::log || shown.numbers == Numbers::values;
  picture.black = in_force.db_min;
  picture.white = in_force.db_max;
  if (!shown.decibels) {
    const bool told = in_force.min < in_force.max;
    picture.black = told ? in_force.min : shown.min;
    picture.white = told ? in_force.max : shown.max;
  } else if (!picture.logarithmic) {
    const double tenfold = shown.numbers == Numbers::powers ? 10 : 20;
    picture.black = std::pow (10, in_force.db_min / tenfold);
    picture.white = std::pow (10, in_force.db_max / tenfold);
  }
}

bool
Picture::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  oct::DepthOutput picture = {};
  picture.data = to->data;
  picture.offset = to->offset[0];
  picture.stride = to->stride[0];
  picture.depths = guint (output.depths);
  set_range (picture);
  if (in_force.flip)
    picture = oct::flipped (picture);
  const oct::Shown shown = {from->data, from->offset[0] / input.bytes,
      guint (input.depths), guint (input.lines)};
  if (!oct::check_places (from, input.bytes, error))
    return false;
  return finds_range () ? display.enqueue_in_range (queue, shown, picture, error)
                        : display.enqueue (queue, shown, picture, error);
}
} // namespace

#define GST_TYPE_OCT_DISPLAY (gst_oct_display_get_type ())
G_DECLARE_FINAL_TYPE (GstOctDisplay, gst_oct_display, GST, OCT_DISPLAY, GstOctDepthFilter)

struct _GstOctDisplay {
  GstOctDepthFilter parent;

  opencl::Settings<Settings> *settings;
};

G_DEFINE_TYPE (GstOctDisplay, gst_oct_display, GST_TYPE_OCT_DEPTH_FILTER)
GST_ELEMENT_REGISTER_DEFINE (
    octdisplay, "octdisplay", GST_RANK_NONE, GST_TYPE_OCT_DISPLAY)

const opencl::PropertyTable<Settings> properties = {
    {"scale", "Scale", "How what is shown in decibels is scaled", &Settings::scale,
        oct::scale_get_type, opencl::playing},
    {"db-min", "Black level", "Level that is black, in dB; below db-max",
        &Settings::db_min, {oct::least_db, oct::most_db}, opencl::controllable},
    {"db-max", "White level", "Level that is white, in dB; above db-min",
        &Settings::db_max, {oct::least_db, oct::most_db}, opencl::controllable},
    {"db-auto", "Automatic range",
        "Whether black and white of what is shown in decibels are found of the picture "
        "instead, steadily over frames: one in 20 of its pixels is darker than black, "
        "one "
        "in 1000 brighter than white",
        &Settings::db_auto, opencl::playing},
    {"min", "Least number",
        "That is black, of numbers that are not shown in decibels; min and max 0: as "
        "suits them",
        &Settings::min, {-most_value, most_value}, opencl::controllable},
    {"max", "Greatest number",
        "That is white, of numbers that are not shown in decibels; above min",
        &Settings::max, {-most_value, most_value}, opencl::controllable},
    {"flip", "Flip", "Whether the first depth is the lowest row", &Settings::flip,
        opencl::playing},
    {"true-scale", "True scale",
        "Whether the picture's pixel-aspect-ratio is that of the caps' line-step and "
        "depth-step, where both are there",
        &Settings::true_scale, opencl::playing},
};

static void
gst_oct_display_init (GstOctDisplay *self)
{
  self->settings = new opencl::Settings<Settings> (self, properties);
  gst_oct_depth_filter_set_work (self, new Picture (self, self->settings));
}

static void
gst_oct_display_finalize (GObject *object)
{
  delete GST_OCT_DISPLAY (object)->settings;
  G_OBJECT_CLASS (gst_oct_display_parent_class)->finalize (object);
}

static void
gst_oct_display_class_init (GstOctDisplayClass *klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = gst_oct_display_finalize;
  opencl::install_settings<&GstOctDisplay::settings> (klass, properties);
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class, "OCT display",
      "Filter/Effect/Video", "Makes pictures of OCT depths, on an OpenCL device",
      "The gst-opencl developers");
  gst_type_mark_as_plugin_api (oct::scale_get_type (), GstPluginAPIFlags (0));
}
