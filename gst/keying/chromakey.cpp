/* chromakey: makes pixels of the key colour transparent
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-chromakey
 *
 * Makes a screen of one colour transparent: `key-color` or, with `auto-key`, a colour
 * measured from the first frame. Input is RGBA (8 or 16 bits per component) or a camera
 * format (NV12, I420, YUY2 …). Output is RGBA. Camera formats are converted as by
 * `openclconvert`: within the keying kernel, or in a launch before it if the kernel reads
 * a frame several times (soft methods, and fused chains on a GPU).
 *
 * `method=distance` is a hard key. Pixels that differ from the key by less than
 * `tolerance` get alpha 0, others keep their alpha. The difference is the mean of red,
 * green and blue, or that of one `channel`, and is 1 from black to white. The other
 * methods are soft, for hair and motion blur. Alpha rises from 0 at a distance of
 * `similarity` to 1 at `similarity` + `smoothness`. The screen colour has distance 0,
 * grey and black have distance 1. `chroma` measures the distance in the CbCr plane.
 * `difference` measures how far the screen's component exceeds a mix of the other two
 * (`balance`). With `refine` edges follow the luma of the frame, which has a higher
 * resolution than its chroma.
 *
 * `key-colors` adds keys to `key-color` or the key of `auto-key`, for a screen of two
 * greens or with blue tape (`key-colors="<0xff2040c0,0xff30b060>"`). A pixel is keyed by
 * the nearest key, and `spill` removes the light of that key. With `relative` each key has
 * its own tolerance. `plate` and `channel` belong to the first key. Further keys have the
 * same colour everywhere, and their largest component is their screen's component.
 *
 * `plate` selects the clean plate, which is the screen colour at each position. By
 * default it is measured near the key colour in each frame, so that it follows the light.
 * With `plate=measured` it is remembered where the foreground covers the screen, so that
 * edges there stay stable. `plate=frozen` keeps the last measured plate. `plate=file` is
 * an image of the empty screen, which also shows its folds.
 *
 * With `linear` the soft methods work in linear light. Use it for images that were mixed
 * in linear light: by a lens, by a renderer or by `openclcompositor linear=true`.
 *
 * With `quiet` alpha is computed from a temporal mean where nothing moves. Red, green and
 * blue are those of the input frame.
 *
 * The request pads `holdout` and `garbage` take mattes of any size. The element keeps the
 * input pixels where the holdout matte is white, and makes pixels transparent where the
 * garbage matte is white. The request pad `plate` takes the image of `plate=file`. Each
 * of these pads takes a stream synchronised with the input, or one frame for all input
 * frames. They are linked by name only (`key.garbage`), never by gst_element_link(). If
 * one of them is linked and the pad `sink` is not, the element posts an error after a
 * second. If one gets no frame, the element posts a warning after five seconds.
 *
 * `auto-key=screen` searches for a frame in which at least a sixteenth of the pixels have
 * the same green or blue. Until then frames pass opaque, and a warning is posted after
 * one second. The element message "chromakey-key" has the colour as `key-color`. The
 * colour then stays, with two exceptions. It follows a screen that gets brighter, as in a
 * fade-in. A frame that shows only one colour may be a title card, so a screen of another
 * colour after it replaces the key. Set `auto-key` again to search for another screen.
 *
 * With `subject` the colours of the subject are measured where the key is opaque. At edges
 * near them, alpha is the place of a pixel's colour between the subject and the screen, and
 * `spill` gives edges the subject's colours, also below transparent pixels beside them, so
 * that a blur or a scaler mixes in no light of the screen. Without `subject`, alpha takes
 * the subject for grey.
 *
 * With `core` the interior of the foreground is opaque. This includes large areas of
 * glass that let less than two fifths of the screen through.
 *
 * Alpha is straight, and multiplied with the alpha of the input. Red, green and blue are
 * not changed, unless `spill` removes the light of the screen from them. `spill-method`
 * selects how. `unmix` subtracts the screen's share where the matte is partly
 * transparent, removes the screen's hue elsewhere, and keeps luma. The other methods do
 * not use the matte. They lower the screen's component, for instance green, to a limit.
 * `limit` takes the larger of the other two components, which changes least. `average`
 * takes their mean, weighted by `spill-balance`, which darkens. `luminance-preserving`
 * does as `average`, and adds grey so that luma is kept. These three keep colours whose
 * hue is far from the screen's, such as an olive or turquoise shirt before a green screen.
 * `unmix` makes such a shirt paler, so that green is not its largest component. Skin
 * stays with every method.
 *
 * With `shadow` the soft methods keep shadows that fall on the screen, as black with
 * alpha, so that they darken the new background. Alpha is at least `shadow` times the part
 * of the plate's luma that is missing. Up to a twentieth missing is noise. Use
 * `plate=measured`, `frozen` or `file`, which show the screen without the shadow.
 * `plate=adaptive` takes a shadow of more than a few blocks for a darker screen, and
 * `plate=none` takes every dark part of the screen for a shadow. Soft methods take a dark
 * shadow for partly opaque: raise `similarity` or set `spill` to remove its green.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc pattern=smpte ! video/x-raw,format=RGBA ! openclupload !
 * chromakey method=chroma spill=1 ! keyfill method=composite color=0xff0000ff !
 * opencldownload ! videoconvert ! autovideosink
 * ]|
 */
#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/deviceinfo.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/kernel.hpp>
#include <gst/common/buffers.hpp>
#include <gst/common/colorconversion.hpp>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/device/selfcheck.hpp>
#include <gst/opencl/gstopenclfilter.h>
#include <gst/opencl/gstopenclframe.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "elements.h"
#include "input/inputformat.hpp"
#include "mattes.hpp"
#include "unkeyed.hpp"
#include "input/imagefile.hpp"
#include "input/pixelformats.hpp"
#include "input/readback.hpp"
#include "input/readframe.hpp"
#include "chainmember.hpp"
#include "screenplate.hpp"
#include "screensearch.hpp"
#include "subjectcolors.hpp"
#include "input/formatconverter.hpp"

#define FOLDER "/org/freedesktop/gstreamer/opencl/keying/"
#define KERNELS FOLDER "chromakey.cl"

GST_DEBUG_CATEGORY_STATIC (chroma_key_debug);
#define GST_CAT_DEFAULT chroma_key_debug

namespace {
using keying::ChainMember;
using keying::Channel;
using keying::Plate;

enum class Method {
  distance,
  chroma,
  difference,
};

enum class AutoKey {
  none,
  top_left,
  top_right,
  bottom_left,
  bottom_right,
  rectangle,
  screen,
};

/* As in softkey.clh */
enum class SpillMethod {
  unmix,
  limit,
  average,
  luminance_preserving,
};

struct Rectangle {
  guint x = 0, y = 0;
  guint width = 32, height = 32;
};

struct ChromaKeySettings {
  Method method = Method::distance;
  guint key_color = 0xff00ff00;
  std::vector<guint> key_colors;
  gdouble tolerance = 0.025;
  bool relative = false;
  Channel channel = Channel::all;
  gdouble balance = 0.75;
  gdouble similarity = 0.08;
  gdouble smoothness = 0.95;
  Plate plate = Plate::adaptive;
  std::string plate_location;
  bool adaptive = true; /* else Plate::adaptive is none */
  bool refine = true;
  bool core = false;
  bool subject = false;
  bool quiet = false;
  bool linear = false;
  gdouble spill = 0;
  SpillMethod spill_method = SpillMethod::unmix;
  gdouble spill_balance = 0.5;
  gdouble shadow = 0;
  bool invert = false;
  gdouble opacity = 1;
  AutoKey auto_key = AutoKey::none;
  Rectangle rectangle;
  guint auto_key_revision = 1; /* counts changes of these two */
};

const gsize most_keys = 8; /* beside key-color */

/* Work-items of measure_key(), which runs as one work-group */
const gsize measuring_group = 256;

/* Output size of a work-item and of a work-group of key_gpu(). The first entry of `tiles`
 * that fits the local memory is used. */
const gsize item_columns = 4, item_rows = 8, tile_columns = 128;
const struct {
  gsize rows;
  cl_ulong local_bytes;
} tiles[] = {{32, 43 * 1024}, {16, 25 * 1024}, {8, 0}};
/* Maximum output size of a work-item of key_cpu() */
const gsize wide_columns = 256, wide_rows = 64;
const cl_uint wide_run = 256; /* of the temporal mean, in one row */

/* Kernels of the soft methods */
struct SoftKernels {
  opencl::FrameKernel key_cpu;
  /* [plate image][refine][core]: 0 = without, 1 = with */
  opencl::FrameKernel key_gpu[2][2][2];
};

/* Messages posted for one search for a screen */
struct Messages {
  guint revision = 0; /* auto_key_revision of the search */
  guint key = 0;      /* last key posted, or 0 */
  bool warned = false;
};

/* State of the streaming thread */
struct ChromaKeyWork {
  keying::InputFormat format;             /* of the input */
  GstVideoInfo info;                      /* of the output */
  opencl::FrameKernel key_by_distance[2]; /* [extras] */
  gsize tile_rows = 0;
  bool wide = false;      /* use key_cpu() instead of key_gpu() */
  SoftKernels soft[2][2]; /* [linear][extras] */
  bool has_curve = false; /* the transfer function is known */
  opencl::FrameKernel measure_key;
  opencl::FrameKernel quieten;
  cl::Buffer auto_key;
  keying::ReadBack measured_key;
  keying::ScreenSearch search;
  keying::ScreenPlate plate;
  keying::SubjectColors subject;
  keying::AuxiliaryFrame plate_frame; /* from the plate pad */
  keying::Mattes mattes;
  cl::Buffer means[2]; /* temporal means, of four components; made when first needed */
  cl::Buffer quiet;    /* denoised frame */
  keying::FormatConverter pixels;
  guint newer_mean = 0;
  bool has_mean = false;
  guint measured_revision = 0; /* auto_key_revision of auto_key */
  guint host_revision = 0;     /* auto_key_revision of host_key */
  guint host_key = 0;
  guint sent_key = 0; /* last key sent (0xffRRGGBB), or 0 */
  Messages posted;
};
} // namespace

#define GST_TYPE_CHROMA_KEY (gst_chroma_key_get_type ())
G_DECLARE_FINAL_TYPE (GstChromaKey, gst_chroma_key, GST, CHROMA_KEY, GstOpenCLFilter)

struct _GstChromaKey {
  GstOpenCLFilter parent;

  opencl::Settings<ChromaKeySettings> *settings;
  std::string *plate_location; /* of plate_sample */
  GstSample *plate_sample;     /* (nullable): the last image read */
  keying::AuxiliaryStreams *sides;
  bool warned_of_plate; /* warned that the plate pad is not used */
  GstClockTime time;    /* running time of the current frame */
  ChromaKeyWork *work;  /* between set_formats and close, else null */
  ChainMember *member;
};

G_DEFINE_TYPE (GstChromaKey, gst_chroma_key, GST_TYPE_OPENCL_FILTER)
GST_ELEMENT_REGISTER_DEFINE (chromakey, "chromakey", GST_RANK_NONE, GST_TYPE_CHROMA_KEY)

static GType
method_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (Method::distance),
          "Hard key: RGB distance from the key colour below tolerance", "distance"},
      {gint (Method::chroma),
          "Soft key: chroma distance from the key colour in the CbCr plane", "chroma"},
      {gint (Method::difference),
          "Soft key: colour difference, the screen's component minus the other two",
          "difference"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstChromaKeyMethod", values);
  return type;
}

static GType
auto_key_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (AutoKey::none), "Use key-color", "none"},
      {gint (AutoKey::top_left), "Mean of the top left corner (1/16 of width and height)",
          "top-left"},
      {gint (AutoKey::top_right), "Mean of the top right corner", "top-right"},
      {gint (AutoKey::bottom_left), "Mean of the bottom left corner", "bottom-left"},
      {gint (AutoKey::bottom_right), "Mean of the bottom right corner", "bottom-right"},
      {gint (AutoKey::rectangle), "Mean of the rectangle auto-key-x, -y, -width, -height",
          "rectangle"},
      {gint (AutoKey::screen),
          "Colour of a green or blue screen found anywhere in the frame", "screen"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstKeyingAutoKey", values);
  return type;
}

static GType
spill_method_get_type (void)
{
  static const GEnumValue values[] = {
      {gint (SpillMethod::unmix),
          "Subtract the screen's share, then remove its hue and keep luma", "unmix"},
      {gint (SpillMethod::limit),
          "Limit the screen's component to the larger of the other two", "limit"},
      {gint (SpillMethod::average),
          "Limit the screen's component to the weighted mean of the other two",
          "average"},
      {gint (SpillMethod::luminance_preserving),
          "As average, then add grey so that luma is kept", "luminance-preserving"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static ("GstKeyingSpillMethod", values);
  return type;
}

/* Properties */

const opencl::PropertyTable<ChromaKeySettings> properties = {
    {"method", "Method", "Keying method", &ChromaKeySettings::method, method_get_type,
        keying::playing_flags},
    {"key-color", "Key color",
        "Key colour that becomes transparent, 0xAARRGGBB (alpha is ignored)",
        &ChromaKeySettings::key_color, {0, G_MAXUINT}, keying::playing_flags},
    {"key-colors", "Key colors",
        "Up to 8 further key colours, 0xAARRGGBB (alpha is ignored)",
        &ChromaKeySettings::key_colors, opencl::playing},
    {"tolerance", "Tolerance",
        "Maximum distance from the key colour (1 = distance of black and white; "
        "method=distance)",
        &ChromaKeySettings::tolerance, {0, 1}, keying::playing_flags},
    {"relative", "Relative",
        "Multiply tolerance by the saturation of the key colour (for pale screens)",
        &ChromaKeySettings::relative, keying::playing_flags},
    {"channel", "Channel",
        "Component that tolerance compares (soft methods: component of the screen "
        "colour)",
        &ChromaKeySettings::channel, keying::channel_get_type, keying::playing_flags},
    {"balance", "Balance",
        "Component that the screen's component is compared with (0 = smaller of the "
        "other two, 1 = larger; method=difference)",
        &ChromaKeySettings::balance, {0, 1}, keying::playing_flags},
    {"similarity", "Similarity",
        "Chroma distance below which pixels are fully transparent (0 = screen colour, 1 "
        "= grey; soft methods)",
        &ChromaKeySettings::similarity, {0, 2}, keying::playing_flags},
    {"smoothness", "Smoothness",
        "Width of the transition from transparent to opaque, beyond similarity (soft "
        "methods)",
        &ChromaKeySettings::smoothness, {0, 2}, keying::playing_flags},
    {"plate", "Plate",
        "Source of the clean plate, the screen colour at each position (soft methods)",
        &ChromaKeySettings::plate, keying::plate_get_type, keying::playing_flags},
    {"plate-location", "Plate location",
        "Image of the empty screen (plate=file, unless the plate pad is linked)",
        &ChromaKeySettings::plate_location, opencl::playing},
    {"adaptive", "Adaptive", "Deprecated: use plate=none instead of FALSE",
        &ChromaKeySettings::adaptive,
        GParamFlags (keying::playing_flags | G_PARAM_DEPRECATED)},
    {"refine", "Refine",
        "Refine matte edges by luma, which has a higher resolution than chroma (soft "
        "methods)",
        &ChromaKeySettings::refine, keying::playing_flags},
    {"core", "Core",
        "Make the interior of the foreground opaque (core matte; soft methods)",
        &ChromaKeySettings::core, keying::playing_flags},
    {"subject", "Subject",
        "Compare edges with the colours of the subject beside them (soft methods)",
        &ChromaKeySettings::subject, keying::playing_flags},
    {"quiet", "Quiet", "Reduce flicker of still edges due to camera noise (soft methods)",
        &ChromaKeySettings::quiet, keying::playing_flags},
    {"linear", "Linear", "Key in linear light (soft methods)", &ChromaKeySettings::linear,
        keying::playing_flags},
    {"spill", "Spill", "Strength of spill suppression (0 = none)",
        &ChromaKeySettings::spill, {0, 1}, keying::playing_flags},
    {"spill-method", "Spill method",
        "Method of spill suppression, for colours of a hue near the screen's",
        &ChromaKeySettings::spill_method, spill_method_get_type, keying::playing_flags},
    {"spill-balance", "Spill balance",
        "Weight of the second of the two components that limit the screen's (green "
        "screen: 0 = red, 1 = blue; spill-method=average and luminance-preserving)",
        &ChromaKeySettings::spill_balance, {0, 1}, keying::playing_flags},
    {"shadow", "Shadow",
        "Strength of shadows on the screen, which become black with alpha (0 = none; "
        "soft methods, unless inverted)",
        &ChromaKeySettings::shadow, {0, 1}, keying::playing_flags},
    {"invert", "Invert", "Make pixels unlike the key colour transparent instead",
        &ChromaKeySettings::invert, keying::playing_flags},
    {"opacity", "Opacity",
        "Factor that multiplies the alpha of pixels that are not keyed",
        &ChromaKeySettings::opacity, {0, 1}, keying::playing_flags},
    {"auto-key", "Auto key",
        "Source of the key colour: key-color, or the first frame after a change of this "
        "property (screen = first frame with a screen)",
        &ChromaKeySettings::auto_key, auto_key_get_type, keying::playing_flags,
        &ChromaKeySettings::auto_key_revision},
    {"auto-key-x", "Auto key left", "First column of the rectangle (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.x; }, {0, G_MAXINT},
        keying::playing_flags, &ChromaKeySettings::auto_key_revision},
    {"auto-key-y", "Auto key top", "First row of the rectangle (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.y; }, {0, G_MAXINT},
        keying::playing_flags, &ChromaKeySettings::auto_key_revision},
    {"auto-key-width", "Auto key width",
        "Width of the rectangle in pixels (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.width; }, {1, G_MAXINT},
        keying::playing_flags, &ChromaKeySettings::auto_key_revision},
    {"auto-key-height", "Auto key height",
        "Height of the rectangle in pixels (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.height; },
        {1, G_MAXINT}, keying::playing_flags, &ChromaKeySettings::auto_key_revision},
};

static ChromaKeySettings
get_settings (gpointer self)
{
  return GST_CHROMA_KEY (self)->settings->current ();
}

static Plate
plate_of (const ChromaKeySettings &settings)
{
  return settings.plate == Plate::adaptive && !settings.adaptive ? Plate::none
                                                                 : settings.plate;
}

/* Reads the plate image, unless it is loaded or comes from the plate pad. */
static bool
read_plate (GstChromaKey *self, const ChromaKeySettings &wanted, GError **error)
{
  if (wanted.plate != Plate::file
      || (self->plate_sample && wanted.plate_location == *self->plate_location)
      || self->sides->find ("plate"))
    return true;
  if (wanted.plate_location.empty ()) {
    g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "plate=file: set plate-location or link the plate pad");
    return false;
  }
  GstSample *sample = keying::load_image (wanted.plate_location, error);
  if (!sample)
    return false;
  if (self->plate_sample)
    gst_sample_unref (self->plate_sample);
  self->plate_sample = sample;
  *self->plate_location = wanted.plate_location;
  if (self->work)
    self->work->plate.drop_image ();
  return true;
}

/* Returns TRUE if the settings fit the caps and the plate image can be read. */
static bool
accept_settings (GstChromaKey *self, const GstVideoInfo *info,
    const ChromaKeySettings &wanted, GError **error)
{
  opencl::TransferFunction curve;
  if (wanted.linear && !opencl::transfer_function_of (info, curve)) {
    g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "linear=true: unknown transfer function in the input colorimetry; set "
        "colorimetry or linear=false");
    return false;
  }
  if (wanted.key_colors.size () > most_keys) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "key-colors: %zu colours, at most %zu are allowed", wanted.key_colors.size (),
        most_keys);
    return false;
  }
  return read_plate (self, wanted, error);
}

/* Kernels and work memory */

static void
drop_work (GstChromaKey *self)
{
  delete self->work;
  self->work = nullptr;
  self->member->close ();
}

static void
gst_chroma_key_close (GstOpenCLFilter *filter)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  drop_work (self);
  self->warned_of_plate = false;
  self->settings->stop ();
}

static gsize
tile_rows_for (cl_ulong local_bytes)
{
  for (const auto &tile : tiles) {
    if (local_bytes >= tile.local_bytes)
      return tile.rows;
  }
  g_return_val_if_reached (0);
}

static void
create_soft_kernels (GstOpenCLContext *context, const ChromaKeyWork &work,
    SoftKernels &kernels, const std::string &options)
{
  kernels.key_cpu.prepare (context, FOLDER "chromakey_cpu.cl", "key_cpu",
      options + " -DWIDE_ROWS=" + std::to_string (wide_rows));
  const std::string tile = options + " -cl-mad-enable -DRECIPROCAL=native_recip"
                           + " -DTILE_COLUMNS=" + std::to_string (tile_columns)
                           + " -DTILE_ROWS=" + std::to_string (work.tile_rows)
                           + " -DITEM_ROWS=" + std::to_string (item_rows);
  for (guint which = 0; which < 8; which++) {
    const guint plate_image = which >> 2, refine = which >> 1 & 1, core = which & 1;
    kernels.key_gpu[plate_image][refine][core].prepare (context,
        FOLDER "chromakey_gpu.cl", "key_gpu",
        tile + " -DREFINE=" + std::to_string (refine) + " -DCORE=" + std::to_string (core)
            + " -DPLATE_IMAGE=" + std::to_string (plate_image));
  }
}

/* `soft`: build options of the soft methods, for encoded levels and for linear light */
static void
create_kernels (
    GstOpenCLContext *context, ChromaKeyWork &work, const std::string (&soft)[2])
{
  const std::string options = work.format.options ();
  work.wide = opencl::is_cpu (context);
  work.tile_rows = tile_rows_for (opencl::local_memory (context));
  for (guint linear : {0, 1})
    for (guint extras : {0, 1})
      create_soft_kernels (context, work, work.soft[linear][extras],
          soft[linear] + keying::extras_option (extras));
  const struct {
    opencl::FrameKernel &kernel;
    const char *name;
    guint extras;
  } kernels[] = {
      {work.key_by_distance[0], "key_by_distance", 0},
      {work.key_by_distance[1], "key_by_distance", 1},
      {work.measure_key, "measure_key", 0},
      {work.quieten, "quiet", 0},
  };
  for (const auto &entry : kernels)
    entry.kernel.prepare (context, KERNELS, entry.name,
        options + keying::extras_option (entry.extras)
            + " -DGROUP=" + std::to_string (measuring_group));
}

static gboolean
gst_chroma_key_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  GstOpenCLContext *context = gst_opencl_filter_get_context (filter);

  const keying::InputFormat format (
      *gst_opencl_filter_get_video_info (filter, GST_PAD_SINK),
      *gst_opencl_filter_get_video_info (filter, GST_PAD_SRC));
  const GstVideoInfo *info = &format.output ();
  auto accept = [&] (const ChromaKeySettings &wanted, GError **reason) {
    return accept_settings (self, info, wanted, reason);
  };

  if (!self->settings->adopt (accept, error))
    return FALSE;
  /* A source may change the framerate after a seek. The known screen stays valid. */
  if (self->work && self->work->format.is_equivalent (format))
    return TRUE;
  drop_work (self);
  self->work = new ChromaKeyWork;
  ChromaKeyWork &work = *self->work;
  work.format = format;
  work.info = *info;
  self->member->set_format (context, format);
  opencl::TransferFunction curve;
  work.has_curve = opencl::transfer_function_of (info, curve);
  const std::string light = opencl::transfer_function_options (curve);
  const std::string options = keying::pixel_options (info);
  const std::string soft[] = {options, options + light};
  create_kernels (context, work, soft);
  work.mattes.prepare (context, info, format.options ());
  work.subject.prepare (context, info, soft);
  if (format.is_of_camera ())
    work.pixels.prepare (context, format);
  if (opencl::make_buffer (context, sizeof (cl_uint), work.auto_key, error)
      && work.measured_key.create (context, 1, error)
      && work.search.create (context, format, format.options (), error)
      && work.plate.create (context, info, soft, error))
    return TRUE;
  drop_work (self); /* otherwise the next set_formats() would reuse it */
  return FALSE;
}

/* Processing */

/* Clips to the frame, to at least one pixel. */
static Rectangle
clip (const Rectangle &wanted, guint width, guint height)
{
  Rectangle clipped;
  clipped.x = std::min (wanted.x, width - 1);
  clipped.y = std::min (wanted.y, height - 1);
  clipped.width = std::max (1u, std::min (wanted.width, width - clipped.x));
  clipped.height = std::max (1u, std::min (wanted.height, height - clipped.y));
  return clipped;
}

static Rectangle
rectangle_of (const ChromaKeySettings &settings, guint width, guint height)
{
  bool right = settings.auto_key == AutoKey::top_right
               || settings.auto_key == AutoKey::bottom_right;
  bool bottom = settings.auto_key == AutoKey::bottom_left
                || settings.auto_key == AutoKey::bottom_right;
  Rectangle corner;

  if (settings.auto_key == AutoKey::rectangle)
    return clip (settings.rectangle, width, height);
  corner.width = std::max (1u, width / 16);
  corner.height = std::max (1u, height / 16);
  corner.x = right ? width - corner.width : 0;
  corner.y = bottom ? height - corner.height : 0;
  return corner;
}

/* Returns TRUE if kernels read the key colour from the device buffer auto_key. */
static bool
is_on_device (const ChromaKeySettings &settings)
{
  return settings.auto_key != AutoKey::none && settings.auto_key != AutoKey::screen;
}

/* Measures the key colour and writes it to the device buffer auto_key. */
static gboolean
measure_key (ChromaKeyWork &work, const ChromaKeySettings &settings,
    const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
{
  const opencl::Groups one_group = {1, 1, measuring_group};

  if (!is_on_device (settings) || work.measured_revision == settings.auto_key_revision)
    return TRUE;
  work.measured_revision = settings.auto_key_revision;
  Rectangle from = rectangle_of (settings, work.info.width, work.info.height);
  return work.measure_key.launch_groups (queue, one_group, error, work.format.of (input),
      cl_uint (from.x), cl_uint (from.y), cl_uint (from.width), cl_uint (from.height),
      work.auto_key ());
}

/* Returns TRUE if the host knows the key colour of the next frame. */
static bool
knows_key (const ChromaKeyWork &work, const ChromaKeySettings &settings)
{
  if (settings.auto_key == AutoKey::screen)
    return work.search.key () != 0;
  return settings.auto_key == AutoKey::none
         || (work.measured_revision == settings.auto_key_revision
             && work.host_revision == work.measured_revision);
}

/* Returns the key colour if the host knows it, else key-color. */
static guint
known_key (const ChromaKeyWork &work, const ChromaKeySettings &settings)
{
  if (!knows_key (work, settings) || settings.auto_key == AutoKey::none)
    return settings.key_color;
  return settings.auto_key == AutoKey::screen ? work.search.key () : work.host_key;
}

/* Sends a new key colour to flowkey, before the first frame that is keyed with it. */
static void
send_key (GstChromaKey *self, const ChromaKeySettings &settings)
{
  ChromaKeyWork &work = *self->work;
  if (!knows_key (work, settings))
    return;
  guint key = known_key (work, settings) | 0xff000000;
  if (key == work.sent_key)
    return;
  work.sent_key = key;
  gst_pad_push_event (GST_BASE_TRANSFORM_SRC_PAD (self), keying::new_key_event (key));
}

/* Reads the key colour back, once per key. The host needs it for `relative` and for
 * flowkey's limit. */
static bool
read_back_key (GstChromaKey *self, const ChromaKeySettings &settings,
    cl_command_queue queue, GError **error)
{
  ChromaKeyWork &work = *self->work;
  if (knows_key (work, settings))
    return true;
  if (!work.measured_key.read (queue, work.auto_key (), error))
    return false;
  const cl_uint *key = work.measured_key.wait (error);
  if (!key)
    return false;
  work.host_key = *key;
  work.host_revision = work.measured_revision;
  GST_INFO_OBJECT (self, "measured key colour 0x%08x", work.host_key);
  send_key (self, settings);
  return true;
}

/* auto-key=screen */

static void
warn_of_no_screen (GstChromaKey *self)
{
  const keying::ScreenSearch &search = self->work->search;
  GST_ELEMENT_WARNING (self, STREAM, FAILED,
      ("No green or blue screen found: %.1f %% of the frame has the same green or blue, "
       "at least %.1f %% are needed. Frames pass opaque until a screen is found. Light "
       "the screen, or set auto-key=none and key-color.",
          100 * search.share (), 100 * keying::ScreenSearch::least_share),
      ("looked for %" GST_TIME_FORMAT, GST_TIME_ARGS (search.missing_for ())));
}

/* Posts a new key colour, or a warning if there is none after `timeout`. */
static void
report_screen (
    GstChromaKey *self, const ChromaKeySettings &settings, GstClockTime timeout)
{
  ChromaKeyWork &work = *self->work;
  Messages &posted = work.posted;
  const guint key = work.search.key ();

  if (posted.revision != settings.auto_key_revision)
    posted = {settings.auto_key_revision};
  if (key == 0 && !posted.warned && work.search.missing_for () >= timeout) {
    posted.warned = true;
    warn_of_no_screen (self);
  }
  if (key == posted.key)
    return;
  posted.key = key;
  GST_INFO_OBJECT (self, "found a screen of colour 0x%08x", key);
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("chromakey-key", "key-color", G_TYPE_UINT, key, nullptr)));
}

static bool
look_for_screen (GstChromaKey *self, const ChromaKeySettings &settings,
    const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
{
  if (self->work->search.is_due () && !self->work->search.look (input, queue, error))
    return false;
  report_screen (self, settings, GST_SECOND);
  send_key (self, settings);
  return true;
}

/* At EOS. Streams shorter than a second get the warning here. */
static void
end_search (GstChromaKey *self)
{
  const ChromaKeySettings settings = get_settings (self);
  GError *error = nullptr;
  if (settings.auto_key != AutoKey::screen || !self->work
      || !self->work->search.has_begun ())
    return;
  if (self->work->search.finish (&error))
    report_screen (self, settings, 0);
  g_clear_error (&error); /* a device error, which the frames in flight report */
}

static gboolean
gst_chroma_key_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstChromaKey *self = GST_CHROMA_KEY (transform);
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    end_search (self);
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP && self->work)
    self->work->plate.forget ();
  self->sides->follow_event (event);
  return GST_BASE_TRANSFORM_CLASS (gst_chroma_key_parent_class)
      ->sink_event (transform, event);
}

static bool
is_linear (const ChromaKeyWork &work, const ChromaKeySettings &settings)
{
  return settings.linear && work.has_curve;
}

/* Returns 1 if kernels need the code for settings that few users change. */
static guint
extras_of (const ChromaKeySettings &settings)
{
  return !settings.key_colors.empty () || settings.shadow > 0
         || (settings.spill > 0 && settings.spill_method != SpillMethod::unmix);
}

static cl_uint8
further_keys (const ChromaKeySettings &settings)
{
  cl_uint8 keys = {};
  std::copy (settings.key_colors.begin (), settings.key_colors.end (), keys.s);
  return keys;
}

static keying::ScreenKey
screen_key_of (const ChromaKeyWork &work, const ChromaKeySettings &settings)
{
  return {work.auto_key (), cl_uint (is_on_device (settings)), known_key (work, settings),
      work.measured_revision, is_linear (work, settings)};
}

static cl_uint
opacity_of (const ChromaKeySettings &settings)
{
  return cl_uint (std::lround (settings.opacity * keying::full_opacity));
}

static cl_uint
threshold_of (const ChromaKeyWork &work, const ChromaKeySettings &settings, guint key)
{
  const gdouble part = settings.relative ? keying::saturation_of (key) : 1;
  return keying::difference_threshold (
      part * settings.tolerance, settings.channel, &work.info);
}

static cl_uint8
further_thresholds (const ChromaKeyWork &work, const ChromaKeySettings &settings)
{
  cl_uint8 thresholds = {};
  std::transform (settings.key_colors.begin (), settings.key_colors.end (), thresholds.s,
      [&] (guint key) { return threshold_of (work, settings, key); });
  return thresholds;
}

static keying::DistanceKey
distance_key_of (const ChromaKeyWork &work, const ChromaKeySettings &settings)
{
  keying::DistanceKey key;
  key.color = known_key (work, settings);
  key.mask = keying::component_mask (&work.info, settings.channel);
  key.threshold = threshold_of (work, settings, key.color);
  key.inverted = settings.invert ? -1 : 0;
  key.opacity = opacity_of (settings);
  return key;
}

static gboolean
key_by_distance (ChromaKeyWork &work, const ChromaKeySettings &settings,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, cl_command_queue queue,
    GError **error)
{
  cl_uint width = work.info.width, height = work.info.height;
  keying::DistanceKey key = distance_key_of (work, settings);

  return work.key_by_distance[extras_of (settings)].launch (queue, (width + 7) / 8,
      height, error, work.format.of (input), output, width, height, key.color, key.mask,
      key.threshold, key.inverted, key.opacity, cl_uint (settings.channel),
      cl_float (settings.spill), cl_uint (settings.spill_method),
      cl_float (settings.spill_balance), further_keys (settings),
      further_thresholds (work, settings), cl_uint (settings.key_colors.size ()));
}

/* Frames of one launch. Distances are computed from `seen`. */
struct Frames {
  const GstOpenCLFrame *seen, *input, *output;
  SoftKernels *kernels;
};

/* Sets the arguments that both kernels have, then `after`. */
template <typename... After>
static gboolean
set_keyer (opencl::Kernel *kernel, ChromaKeyWork &work, const ChromaKeySettings &settings,
    const Frames &frames, GError **error, After... after)
{
  /* Practically a hard edge. The kernels divide by it, and rounding errors of distances
   * are smaller. */
  const gdouble least_smoothness = 1e-4;

  return kernel->set_all (error, frames.seen, frames.input, frames.output,
      cl_uint (work.info.width), cl_uint (work.info.height), work.auto_key (),
      cl_uint (is_on_device (settings)), cl_uint (known_key (work, settings)),
      work.plate.colors (), work.plate.columns (), work.plate.rows (),
      work.plate.block_size (), work.plate.image (), work.plate.image_stride (),
      cl_uint (settings.method == Method::difference), cl_uint (settings.channel),
      cl_float (settings.balance), cl_float (settings.similarity),
      cl_float (std::max (settings.smoothness, least_smoothness)),
      cl_uint (settings.invert), cl_float (settings.opacity), cl_float (settings.spill),
      cl_uint (settings.spill_method), cl_float (settings.spill_balance),
      further_keys (settings), cl_uint (settings.key_colors.size ()),
      cl_float (settings.shadow), after...);
}

/* For GPUs, with tiles in local memory */
static gboolean
key_gpu (ChromaKeyWork &work, const ChromaKeySettings &settings, const Frames &frames,
    cl_command_queue queue, GError **error)
{
  gsize width = work.info.width, height = work.info.height;
  opencl::Kernel *kernel =
      frames.kernels
          ->key_gpu[work.plate.image_stride () > 0][settings.refine][settings.core]
          .variant ({frames.seen, frames.input, frames.output}, error);

  return kernel && set_keyer (kernel, work, settings, frames, error)
         && kernel->enqueue_groups (queue,
             {(width + tile_columns - 1) / tile_columns,
                 (height + work.tile_rows - 1) / work.tile_rows,
                 tile_columns / item_columns * (work.tile_rows / item_rows)},
             error);
}

/* For CPUs, in tiles of similar height */
static gboolean
key_cpu (ChromaKeyWork &work, const ChromaKeySettings &settings, const Frames &frames,
    cl_command_queue queue, GError **error)
{
  gsize width = work.info.width, height = work.info.height;
  gsize tiles = (height + wide_rows - 1) / wide_rows;
  gsize rows = (height + tiles - 1) / tiles;
  opencl::Kernel *kernel =
      frames.kernels->key_cpu.variant ({frames.seen, frames.input, frames.output}, error);

  return kernel
         && set_keyer (kernel, work, settings, frames, error, cl_uint (settings.refine),
             cl_uint (settings.core), cl_uint (rows))
         && kernel->enqueue_groups (queue,
             {(width + wide_columns - 1) / wide_columns, (height + rows - 1) / rows, 1},
             error);
}

/* Vectors of four pixels in a row of a temporal mean */
static gsize
mean_stride_of (const GstVideoInfo &info)
{
  return (gsize (info.width) + 3) / 4;
}

static gboolean
ensure_means (GstOpenCLContext *context, ChromaKeyWork &work, GError **error)
{
  gsize vectors = mean_stride_of (work.info) * gsize (work.info.height);
  gsize stride = keying::work_stride_of (&work.info);

  for (cl::Buffer &mean : work.means)
    if (!mean ())
      mean = opencl::make_buffer (context, vectors * sizeof (cl_short16), error);
  if (!work.quiet ())
    work.quiet = opencl::make_buffer (context, stride * work.info.height, error);
  return work.means[0]() && work.means[1]() && work.quiet ();
}

/* Converts camera formats once, since soft methods read the frame several times. */
static bool
convert_format (ChromaKeyWork &work, const GstOpenCLFrame **input, GstOpenCLFrame *pixels,
    cl_command_queue queue, GError **error)
{
  if (!work.format.is_of_camera ())
    return true;
  if (!work.pixels.convert (*input, pixels, queue, error))
    return false;
  *input = pixels;
  return true;
}

/* Writes the denoised frame to `seen`, in work memory. */
static gboolean
quieten (GstOpenCLContext *context, ChromaKeyWork &work, const GstOpenCLFrame *input,
    GstOpenCLFrame *seen, cl_command_queue queue, GError **error)
{
  const cl_uint width = work.info.width, height = work.info.height;
  const cl_uint run = work.wide ? wide_run : 16;

  if (!ensure_means (context, work, error))
    return FALSE;
  seen->data = work.quiet ();
  seen->stride[0] = gint (keying::work_stride_of (&work.info));
  const cl::Buffer &before = work.means[work.newer_mean];
  const cl::Buffer &after = work.means[1 - work.newer_mean];
  if (!work.quieten.launch (queue, (width + run - 1) / run, height, error, input,
          const_cast<const GstOpenCLFrame *> (seen), width, height,
          cl_uint (!work.has_mean), before (), after (),
          cl_uint (mean_stride_of (work.info)), run))
    return FALSE;
  work.newer_mean = 1 - work.newer_mean;
  return TRUE;
}

static bool
scale_plate (GstChromaKey *self, cl_command_queue queue, GError **error)
{
  keying::ReadFrame image;
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, gst_sample_get_caps (self->plate_sample)))
    g_return_val_if_reached (false);
  GstBuffer *buffer = gst_opencl_filter_import (
      GST_OPENCL_FILTER (self), gst_sample_get_buffer (self->plate_sample), error);
  bool set = buffer && image.map (buffer, &info, queue, error)
             && self->work->plate.set_image (image.frame (), &info, queue, error);
  gst_clear_buffer (&buffer);
  return set;
}

static bool
follow_plate (GstChromaKey *self, const ChromaKeySettings &settings,
    const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
{
  ChromaKeyWork &work = *self->work;
  auto set_image = [&] (const GstOpenCLFrame *image, const GstVideoInfo *info) {
    return work.plate.set_image (image, info, queue, error);
  };
  if (settings.plate == Plate::file
      && !work.plate_frame.follow (GST_OPENCL_FILTER (self), *self->sides, "plate",
          self->time, queue, set_image, error))
    return false;
  if (settings.plate == Plate::file && !work.plate.has_image ()
      && !scale_plate (self, queue, error))
    return false;
  return work.plate.follow (
      plate_of (settings), screen_key_of (work, settings), input, queue, error);
}

static bool
key_frames (ChromaKeyWork &work, const ChromaKeySettings &settings, const Frames &frames,
    cl_command_queue queue, GError **error)
{
  return work.wide ? key_cpu (work, settings, frames, queue, error)
                   : key_gpu (work, settings, frames, queue, error);
}

/* Keys, then compares the frame with the colours of its subject. */
static bool
key_by_subject (ChromaKeyWork &work, const ChromaKeySettings &settings,
    const Frames &frames, cl_command_queue queue, GError **error)
{
  const bool linear = is_linear (work, settings);
  const gsize columns = (gsize (work.info.width) + 7) / 8;
  ChromaKeySettings plain = settings;
  plain.spill = plain.shadow = 0;
  plain.opacity = 1;
  plain.invert = false;
  Frames plain_frames = frames;
  plain_frames.kernels = &work.soft[linear][extras_of (plain)];
  if (!key_frames (work, plain, plain_frames, queue, error)
      || !work.subject.measure (frames.output, linear, queue, error))
    return false;
  opencl::Kernel *kernel =
      work.subject.comparison (linear, extras_of (settings))
          .variant ({frames.seen, frames.input, frames.output}, error);
  return kernel
         && set_keyer (kernel, work, settings, frames, error, work.subject.blocks (),
             work.subject.columns (), work.subject.rows ())
         && kernel->enqueue (queue, columns, gsize (work.info.height), error);
}

/* The temporal mean restarts at a discontinuity, such as a seek. */
static gboolean
key_softly (GstOpenCLContext *context, ChromaKeyWork &work,
    const ChromaKeySettings &settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLFrame quiet = {};
  Frames frames = {
      input, input, output, &work.soft[is_linear (work, settings)][extras_of (settings)]};

  if (!gst_opencl_context_require_engine (context, "soft-key", error))
    return FALSE;
  if (GST_BUFFER_IS_DISCONT (input->buffer))
    work.has_mean = false;
  if (settings.quiet) {
    if (!quieten (context, work, input, &quiet, queue, error))
      return FALSE;
    frames.seen = &quiet;
  }
  work.has_mean = settings.quiet;
  return settings.subject ? key_by_subject (work, settings, frames, queue, error)
                          : key_frames (work, settings, frames, queue, error);
}

/* Keys nothing, while no screen is found. */
static gboolean
key_nothing (ChromaKeyWork &work, ChromaKeySettings settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  settings.tolerance = settings.spill = settings.shadow = 0;
  settings.key_colors.clear ();
  settings.invert = false;
  work.has_mean = false;
  return key_by_distance (work, settings, input, output, queue, error);
}

/* Discards frames of the plate pad, so that they do not block its upstream. */
static void
discard_plate_frames (GstChromaKey *self, const ChromaKeySettings &settings)
{
  std::shared_ptr<keying::AuxiliaryStream> stream = self->sides->find ("plate");
  if (!stream)
    return;
  if (settings.plate != Plate::file && !std::exchange (self->warned_of_plate, true))
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
        ("Frames of the plate pad are ignored: set plate=file and a soft method"),
        (nullptr));
  stream->frame_at (self->time);
}

static gboolean
key (GstChromaKey *self, const ChromaKeySettings &settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  ChromaKeyWork &work = *self->work;
  const bool searches = settings.auto_key == AutoKey::screen;

  if (searches && !look_for_screen (self, settings, input, queue, error))
    return FALSE;
  const bool has_key = !searches || work.search.key () != 0;
  if (!has_key || settings.plate != Plate::file || settings.method == Method::distance)
    discard_plate_frames (self, settings);
  if (!has_key)
    return key_nothing (work, settings, input, output, queue, error);
  if (!measure_key (work, settings, input, queue, error))
    return FALSE;
  if (settings.method == Method::distance)
    return read_back_key (self, settings, queue, error)
           && key_by_distance (work, settings, input, output, queue, error);
  GstOpenCLFrame pixels = {};
  return convert_format (work, &input, &pixels, queue, error)
         && follow_plate (self, settings, input, queue, error)
         && key_softly (context, work, settings, input, output, queue, error);
}

static gboolean
gst_chroma_key_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  ChromaKeyWork &work = *self->work;
  ChromaKeySettings settings = get_settings (self);
  bool hard = settings.method == Method::distance;

  if (!work.mattes.follow (filter, *self->sides, self->time, queue, error))
    return FALSE;
  keying::keep_unkeyed (output->buffer, input->buffer, work.format, opacity_of (settings),
      hard && !work.mattes.has_any () ? keying::Keying::hard : keying::Keying::soft);
  return key (self, settings, input, output, queue, error)
         && work.mattes.apply (
             work.format.of (input), output, settings.opacity, queue, error);
}

/* Fused chains */

/* chromakey starts chains and does not merge those of upstream. */
static const GstOpenCLDeferral deferral = {
    gst_keying_deferred_chain_get_type, nullptr, nullptr};

/* Returns TRUE if a chain can start with this frame. A chain does not change colours, and
 * cannot contain the launches that measure a key or search for a screen. */
static bool
can_start_chain (const ChromaKeyWork &work, const ChromaKeySettings &settings)
{
  return settings.method == Method::distance && settings.spill == 0
         && settings.key_colors.empty () && knows_key (work, settings)
         && !(settings.auto_key == AutoKey::screen && work.search.is_due ());
}

static gboolean
gst_chroma_key_process (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  self->settings->update ([&] (const ChromaKeySettings &wanted, GError **reason) {
    return accept_settings (self, &self->work->info, wanted, reason);
  });
  ChromaKeySettings settings = get_settings (self);
  ChainMember::Outcome outcome = ChainMember::Outcome::plain;
  self->time = opencl::running_time_of (
      GST_BASE_TRANSFORM (self)->segment, GST_BUFFER_PTS (input));
  if (settings.auto_key == AutoKey::screen
      && !self->work->search.next (settings.auto_key_revision, self->time, error))
    return FALSE;
  send_key (self, settings);
  if (can_start_chain (*self->work, settings) && !self->sides->has_any ())
    outcome = self->member->defer (filter,
        keying::KeyChain (distance_key_of (*self->work, settings)), input, output, error);
  if (outcome == ChainMember::Outcome::plain)
    return GST_OPENCL_FILTER_CLASS (gst_chroma_key_parent_class)
        ->process (filter, input, output, event, error);
  return outcome == ChainMember::Outcome::done;
}

/* Auxiliary pads */

#define SIDE_CAPS(formats)                                                               \
  "video/x-raw(" GST_CAPS_FEATURE_MEMORY_OPENCL_MEMORY "), format=" formats              \
  ", width=[1, 32768], height=[1, 32768]; video/x-raw, format=" formats                  \
  ", width=[1, 32768], height=[1, 32768]"

static GstStaticPadTemplate garbage_template = GST_STATIC_PAD_TEMPLATE (
    "garbage", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (SIDE_CAPS ("GRAY8")));
static GstStaticPadTemplate holdout_template = GST_STATIC_PAD_TEMPLATE (
    "holdout", GST_PAD_SINK, GST_PAD_REQUEST, GST_STATIC_CAPS (SIDE_CAPS ("GRAY8")));
static GstStaticPadTemplate plate_template =
    GST_STATIC_PAD_TEMPLATE ("plate", GST_PAD_SINK, GST_PAD_REQUEST,
        GST_STATIC_CAPS (SIDE_CAPS ("{RGBA, BGRA, ARGB, ABGR, RGBA64_LE}")));

static GstPad *
gst_chroma_key_request_new_pad (
    GstElement *element, GstPadTemplate *of, const gchar *name, const GstCaps *)
{
  return GST_CHROMA_KEY (element)->sides->request (element, of, name);
}

static void
gst_chroma_key_release_pad (GstElement *element, GstPad *pad)
{
  GST_CHROMA_KEY (element)->sides->release (element, pad);
}

static GstStateChangeReturn
gst_chroma_key_change_state (GstElement *element, GstStateChange change)
{
  GST_CHROMA_KEY (element)->sides->follow_state (change);
  return GST_ELEMENT_CLASS (gst_chroma_key_parent_class)->change_state (element, change);
}

static void
set_up_sides (GstElementClass *klass)
{
  gst_element_class_add_static_pad_template (klass, &garbage_template);
  gst_element_class_add_static_pad_template (klass, &holdout_template);
  gst_element_class_add_static_pad_template (klass, &plate_template);
  klass->request_new_pad = gst_chroma_key_request_new_pad;
  klass->release_pad = gst_chroma_key_release_pad;
  klass->change_state = gst_chroma_key_change_state;
}

static void
gst_chroma_key_init (GstChromaKey *self)
{
  self->sides = new keying::AuxiliaryStreams;
  self->settings = new opencl::Settings<ChromaKeySettings> (self, properties);
  self->plate_location = new std::string;
  self->member = new ChainMember;
}

static void
gst_chroma_key_finalize (GObject *object)
{
  GstChromaKey *self = GST_CHROMA_KEY (object);
  if (self->plate_sample)
    gst_sample_unref (self->plate_sample);
  delete self->plate_location;
  delete self->sides;
  delete self->work;
  delete self->member;
  G_OBJECT_CLASS (gst_chroma_key_parent_class)->finalize (object);
}

static void
gst_chroma_key_class_init (GstChromaKeyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GstOpenCLFilterClass *filter_class = GST_OPENCL_FILTER_CLASS (klass);

  object_class->finalize = gst_chroma_key_finalize;
  opencl::install_settings<&GstChromaKey::settings> (klass, properties);

  keying::set_up_camera_class (filter_class);
  set_up_sides (GST_ELEMENT_CLASS (klass));
  gst_element_class_set_static_metadata (GST_ELEMENT_CLASS (klass), "Chroma key",
      "Filter/Effect/Video",
      "Makes pixels of the key colour transparent on an OpenCL device",
      "The gst-opencl developers");

  GST_BASE_TRANSFORM_CLASS (klass)->sink_event = gst_chroma_key_sink_event;
  filter_class->close = gst_chroma_key_close;
  filter_class->set_formats = gst_chroma_key_set_formats;
  filter_class->transform = gst_chroma_key_transform;
  filter_class->process = gst_chroma_key_process;
  gst_opencl_filter_class_set_deferral (filter_class, &deferral);

  GST_DEBUG_CATEGORY_INIT (chroma_key_debug, "chromakey", 0, "Chroma key");
}
