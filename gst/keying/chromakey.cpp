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
 * The soft methods work in linear light, which a lens, a renderer and `openclcompositor
 * linear=true` mix. With `mixing=levels` they work in encoded levels, which programs that
 * compose pictures often mix. `mixing=auto` decides once for a stream, before its first
 * keyed frame leaves. It chooses levels if at least 500 pixels at edges of that frame show
 * clearly that levels were mixed, or if the transfer function is not known. It never does
 * so for camera formats, or for RGBA with a transfer function of video, such as BT.709,
 * which openclconvert keeps. `linear` says what is in force, and setting it sets `mixing`.
 * The element message "chromakey-mixing" has it as `linear`, and as `levels-pixels` the
 * number of pixels that are evidence for levels.
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
 * `garbage-polygon` makes all outside of a polygon transparent, such as lamps or the
 * studio beside the screen. Draw it around what is to stay. Edges that cross each other
 * follow the even-odd rule. It adds to the garbage matte.
 *
 * `auto-key=screen` searches for a frame in which at least a sixteenth of the pixels have
 * the same green or blue. Until then frames pass opaque, and a warning is posted after
 * one second. The element message "chromakey-key" has the colour as `key-color`. The
 * colour then stays, with two exceptions. It follows a screen that gets brighter, as in a
 * fade-in. A frame that shows only one colour may be a title card, so a screen of another
 * colour after it replaces the key. Set `auto-key` again to search for another screen.
 *
 * Soft methods measure the colours of the subject where the key is opaque. At edges near
 * them, alpha is the place of a pixel's colour between the subject and the screen, and
 * `spill` gives edges the subject's colours, also below transparent pixels beside them, so
 * that a blur or a scaler mixes in no light of the screen. Far from them, alpha takes the
 * subject for grey. With `refine` distances are cut off at `similarity` only where all
 * around is near the screen. With `method=difference` yellow and white cloth stays by its
 * red and blue light.
 *
 * With `core` the interior of the foreground is opaque, except for glass, smoke and veils,
 * which are smooth and partly clear.
 *
 * Alpha is straight, and multiplied with the alpha of the input. Red, green and blue are
 * not changed, unless `spill` removes the light of the screen from them. Soft methods
 * subtract the screen's share where the matte is partly transparent. `spill-method` selects
 * what happens to the rest of the screen's hue. `unmix` removes it, and keeps luma. The
 * other methods lower the screen's component, for instance green, to a limit. `limit`
 * takes the larger of the other two components, which changes least. `average` takes their
 * mean, weighted by `spill-balance`, which darkens. `luminance-preserving` does as
 * `average`, and adds grey so that luma is kept. These three keep colours whose
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
#include <gst/common/buffers.hpp>
#include <gst/common/colorconversion.hpp>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/device/gstopencldeferral.h>
#include <gst/opencl/device/readframe.hpp>
#include <gst/opencl/elements/auxiliarystream.hpp>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>
#include <gst/opencl/gstopenclmemory.h>

#include <utility>

#include "chaindeferral.hpp"
#include "elements.h"
#include "garbagepolygon.hpp"
#include "input/imagefile.hpp"
#include "keyer.hpp"
#include "screen/screenplate.hpp"

GST_DEBUG_CATEGORY_STATIC (chroma_key_debug);
#define GST_CAT_DEFAULT chroma_key_debug

namespace {
using keying::AutoKey;
using keying::ChainDeferral;
using keying::ChromaKeySettings;
using keying::Method;
using keying::MixingMode;
using keying::Plate;
using keying::SpillMethod;

/* Messages posted for one search for a screen */
struct Messages {
  guint revision = 0; /* auto_key_revision of the search */
  guint key = 0;      /* last key posted, or 0 */
  bool warned = false;
};

/* State of the streaming thread */
struct ChromaKeyWork {
  keying::Keyer keyer;
  opencl::AuxiliaryFrame plate_frame; /* from the plate pad */
  keying::Mattes mattes;
  guint sent_key = 0; /* last key sent (0xffRRGGBB), or 0 */
  Messages posted;
};

/* The last image of Plate::file that was read */
struct PlateImage {
  ~PlateImage () { clear (); }
  void clear () { gst_clear_mini_object (reinterpret_cast<GstMiniObject **> (&sample)); }

  std::string location;
  GstSample *sample = nullptr; /* (nullable) */
};
} // namespace

G_DECLARE_FINAL_TYPE (GstChromaKey, gst_chroma_key, GST, CHROMA_KEY, GstOpenCLFilter)

struct _GstChromaKey {
  GstOpenCLFilter parent;

  opencl::Settings<ChromaKeySettings> *settings;
  PlateImage *plate_image;
  opencl::AuxiliaryStreams *sides;
  bool warned_of_plate;  /* warned that the plate pad is not used */
  bool found_levels;     /* by mixing=auto, with judged_revision */
  guint judged_revision; /* mixing_revision of the last decision, or 0 */
  GstClockTime time;     /* running time of the current frame */
  ChromaKeyWork *work;   /* between set_formats and close, else null */
  ChainDeferral *deferral;
};

const opencl::EnumTypeOf<Method> method_type ("GstChromaKeyMethod",
    {
        {Method::distance, "Hard key: RGB distance from the key colour below tolerance",
            "distance"},
        {Method::chroma,
            "Soft key: chroma distance from the key colour in the CbCr plane", "chroma"},
        {Method::difference,
            "Soft key: colour difference, the screen's component minus the other two",
            "difference"},
    });

const opencl::EnumTypeOf<AutoKey> auto_key_type ("GstKeyingAutoKey",
    {
        {AutoKey::none, "Use key-color", "none"},
        {AutoKey::rectangle, "Mean of the rectangle auto-key-x, -y, -width, -height",
            "rectangle"},
        {AutoKey::screen, "Colour of a green or blue screen found anywhere in the frame",
            "screen"},
    });

const opencl::EnumTypeOf<SpillMethod> spill_method_type ("GstKeyingSpillMethod",
    {
        {SpillMethod::unmix,
            "Subtract the screen's share, then remove its hue and keep luma", "unmix"},
        {SpillMethod::limit,
            "Limit the screen's component to the larger of the other two", "limit"},
        {SpillMethod::average,
            "Limit the screen's component to the weighted mean of the other two",
            "average"},
        {SpillMethod::luminance_preserving,
            "As average, then add grey so that luma is kept", "luminance-preserving"},
    });

const opencl::EnumTypeOf<MixingMode> mixing_type ("GstKeyingMixing",
    {
        {MixingMode::automatic,
            "Light, unless edges of the first frame show clearly that levels were mixed",
            "auto"},
        {MixingMode::light, "Linear light, as mixed by lenses and renderers", "light"},
        {MixingMode::levels, "Encoded levels, as mixed by many programs for pictures",
            "levels"},
    });

/* Properties */

/* `mixing` and `linear` set each other. */
static opencl::Property<ChromaKeySettings>
mixing_property (opencl::Property<ChromaKeySettings> property)
{
  property.set = [] (const GValue *from, ChromaKeySettings &to) {
    to.mixing = G_VALUE_HOLDS_ENUM (from)    ? MixingMode (g_value_get_enum (from))
                : g_value_get_boolean (from) ? MixingMode::light
                                             : MixingMode::levels;
    to.linear = to.mixing != MixingMode::levels;
  };
  property.commit = [commit = property.commit] (
                        ChromaKeySettings &from, ChromaKeySettings &to) {
    commit (from, to);
    to.mixing = from.mixing;
    to.linear = from.linear;
  };
  return property;
}

const GParamFlags plain_flags = GParamFlags (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS);

const opencl::PropertyTable<ChromaKeySettings> properties = {
    {"method", "Method", "Keying method", &ChromaKeySettings::method, method_type,
        opencl::controllable},
    {"key-color", "Key color",
        "Key colour that becomes transparent, 0xAARRGGBB (alpha is ignored)",
        &ChromaKeySettings::key_color, {0, G_MAXUINT}, opencl::controllable},
    {"key-colors", "Key colors",
        "Up to 8 further key colours, 0xAARRGGBB, as \"<0xff1e3cbe, 0xff00c000>\" "
        "(alpha is ignored)",
        &ChromaKeySettings::key_colors, opencl::playing},
    {"tolerance", "Tolerance",
        "Maximum distance from the key colour (1 = distance of black and white; "
        "method=distance)",
        &ChromaKeySettings::tolerance, {0, 1}, opencl::controllable},
    {"relative", "Relative",
        "Multiply tolerance by the saturation of the key colour (for pale screens)",
        &ChromaKeySettings::relative, opencl::controllable},
    {"channel", "Channel",
        "Colour component to key by: its difference is compared with tolerance (soft "
        "methods: it dominates the screen colour)",
        &ChromaKeySettings::channel, keying::channel_type, opencl::controllable},
    {"balance", "Balance",
        "Reference for the component of the screen colour (0 = smaller of the other two "
        "components, 1 = larger; method=difference)",
        &ChromaKeySettings::balance, {0, 1}, opencl::controllable},
    {"similarity", "Similarity",
        "Chroma distance below which pixels are fully transparent (0 = screen colour, 1 "
        "= grey; soft methods)",
        &ChromaKeySettings::similarity, {0, 2}, opencl::controllable},
    {"smoothness", "Smoothness",
        "Width of the transition from transparent to opaque, beyond similarity (soft "
        "methods)",
        &ChromaKeySettings::smoothness, {0, 2}, opencl::controllable},
    {"plate", "Plate",
        "Source of the clean plate, the screen colour at each position (soft methods)",
        &ChromaKeySettings::plate, keying::plate_type, opencl::controllable},
    {"plate-location", "Plate location",
        "Image of the empty screen (plate=file, unless the plate pad is linked)",
        &ChromaKeySettings::plate_location, opencl::playing},
    {"garbage-polygon", "Garbage polygon",
        "Corners of a polygon outside of which all is transparent, x and y as shares of "
        "width and height, as \"<0.1, 0.2, 0.9, 0.2, 0.5, 0.8>\" (empty = none)",
        &ChromaKeySettings::garbage_polygon, opencl::playing},
    {"refine", "Refine",
        "Refine matte edges by luma, which has a higher resolution than chroma (soft "
        "methods)",
        &ChromaKeySettings::refine, opencl::controllable},
    {"core", "Core",
        "Make the interior of the foreground opaque (core matte; soft methods)",
        &ChromaKeySettings::core, opencl::controllable},
    {"subject", "Subject", "Deprecated: without effect, always TRUE",
        [] (ChromaKeySettings &s) -> bool & { return s.subject = true; },
        GParamFlags (opencl::controllable | G_PARAM_DEPRECATED)},
    {"quiet", "Quiet", "Reduce flicker of still edges due to camera noise (soft methods)",
        &ChromaKeySettings::quiet, opencl::controllable},
    mixing_property (
        {"mixing", "Mixing", "Whether edges mix light or encoded levels (soft methods)",
            &ChromaKeySettings::mixing, mixing_type, opencl::controllable,
            &ChromaKeySettings::mixing_revision}),
    mixing_property ({"linear", "Linear",
        "Key in linear light. TRUE sets mixing=light, FALSE sets mixing=levels",
        &ChromaKeySettings::linear, plain_flags}),
    {"auto-linear", "Auto linear", "Deprecated: no effect, see mixing",
        &ChromaKeySettings::auto_linear, GParamFlags (plain_flags | G_PARAM_DEPRECATED)},
    {"spill", "Spill", "Strength of spill suppression (0 = none)",
        &ChromaKeySettings::spill, {0, 1}, opencl::controllable},
    {"spill-method", "Spill method",
        "Spill suppression method (applies to hues near that of the screen)",
        &ChromaKeySettings::spill_method, spill_method_type, opencl::controllable},
    {"spill-balance", "Spill balance",
        "Balance of the two components that limit the screen's component (green screen: "
        "0 = red, 1 = blue; spill-method=average and luminance-preserving)",
        &ChromaKeySettings::spill_balance, {0, 1}, opencl::controllable},
    {"shadow", "Shadow",
        "Strength of shadows on the screen, kept as translucent black (0 = none; soft "
        "methods without invert)",
        &ChromaKeySettings::shadow, {0, 1}, opencl::controllable},
    {"invert", "Invert", "Make pixels transparent that differ from the key colour",
        &ChromaKeySettings::invert, opencl::controllable},
    {"opacity", "Opacity", "Factor for the alpha of pixels that are not keyed",
        &ChromaKeySettings::opacity, {0, 1}, opencl::controllable},
    {"auto-key", "Auto key",
        "Source of the key colour: key-color, or the first frame after a change of this "
        "property (screen = first frame with a screen)",
        &ChromaKeySettings::auto_key, auto_key_type, opencl::controllable,
        &ChromaKeySettings::auto_key_revision},
    {"auto-key-x", "Auto key left", "First column of the rectangle (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.x; }, {0, G_MAXINT},
        opencl::controllable, &ChromaKeySettings::auto_key_revision},
    {"auto-key-y", "Auto key top", "First row of the rectangle (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.y; }, {0, G_MAXINT},
        opencl::controllable, &ChromaKeySettings::auto_key_revision},
    {"auto-key-width", "Auto key width",
        "Width of the rectangle in pixels (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.width; }, {1, G_MAXINT},
        opencl::controllable, &ChromaKeySettings::auto_key_revision},
    {"auto-key-height", "Auto key height",
        "Height of the rectangle in pixels (auto-key=rectangle)",
        [] (ChromaKeySettings &s) -> guint & { return s.rectangle.height; },
        {1, G_MAXINT}, opencl::controllable, &ChromaKeySettings::auto_key_revision},
};

static ChromaKeySettings
get_settings (gpointer self)
{
  return GST_CHROMA_KEY (self)->settings->current ();
}

/* Reads the plate image, unless it is loaded or comes from the plate pad. */
static bool
read_plate (GstChromaKey *self, const ChromaKeySettings &wanted, GError **error)
{
  if (wanted.plate != Plate::file
      || (self->plate_image->sample
          && wanted.plate_location == self->plate_image->location)
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
  self->plate_image->clear ();
  self->plate_image->sample = sample;
  self->plate_image->location = wanted.plate_location;
  if (self->work)
    self->work->keyer.plate.drop_image ();
  return true;
}

/* Returns TRUE if the settings fit the caps and the plate image can be read. */
static bool
accept_settings (GstChromaKey *self, const GstVideoInfo *info,
    const ChromaKeySettings &wanted, GError **error)
{
  opencl::TransferFunction curve;
  if (wanted.mixing == MixingMode::light && !opencl::transfer_function_of (info, curve)) {
    g_set_error_literal (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "mixing=light: unknown transfer function in the input colorimetry; set "
        "colorimetry or mixing=levels");
    return false;
  }
  if (wanted.key_colors.size () > keying::most_keys) {
    g_set_error (error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
        "key-colors: %zu colours, at most %zu are allowed", wanted.key_colors.size (),
        keying::most_keys);
    return false;
  }
  return keying::check_polygon (wanted.garbage_polygon, error)
         && read_plate (self, wanted, error);
}

/* Kernels and work memory */

static void
drop_work (GstChromaKey *self)
{
  delete self->work;
  self->work = nullptr;
  self->deferral->close ();
}

static void
gst_chroma_key_close (GstOpenCLFilter *filter)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  drop_work (self);
  self->warned_of_plate = false;
  self->judged_revision = 0;
  self->settings->stop ();
}

/* Warns of frames that are keyed, but not as one would expect. */
static void
warn_of_frames (GstChromaKey *self, const GstVideoInfo *input, const GstVideoInfo *output)
{
  const GstVideoTransferFunction transfer = input->colorimetry.transfer;
  const bool is_hdr = transfer == GST_VIDEO_TRANSFER_SMPTE2084
                      || transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67;
  if (GST_VIDEO_INFO_IS_INTERLACED (input))
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("The fields of interlaced frames are keyed together, so what moves has combs; "
         "put deinterlace before this element"),
        (nullptr));
  if (is_hdr && GST_VIDEO_INFO_COMP_DEPTH (output, 0) <= 8)
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("The levels of HDR (PQ or HLG) become 8 bits here, and stay HDR; convert the "
         "film to BT.709 first, or choose an output of 16 bits"),
        (nullptr));
}

/* Returns whether frames can have mixed levels. Frames that were converted from film keep its
 * transfer function, and JPEG has none. */
static bool
is_picture (const keying::InputFormat &format)
{
  const GstVideoTransferFunction transfer = format.output ().colorimetry.transfer;
  return !format.is_of_camera ()
         && (transfer == GST_VIDEO_TRANSFER_SRGB
             || transfer == GST_VIDEO_TRANSFER_UNKNOWN);
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

  /* A source may change the framerate after a seek. The known screen stays valid. */
  const bool is_same = self->work && self->work->keyer.format ().is_equivalent (format);
  if (self->work && is_picture (self->work->keyer.format ()) != is_picture (format))
    self->judged_revision = 0;
  if (!self->settings->adopt (accept, error))
    return FALSE;
  if (is_same)
    return TRUE;
  warn_of_frames (self, gst_opencl_filter_get_video_info (filter, GST_PAD_SINK), info);
  drop_work (self);
  self->work = new ChromaKeyWork;
  self->deferral->set_format (context, format);
  self->work->mattes.prepare (context, info, format.options ());
  if (self->work->keyer.create (context, format, error))
    return TRUE;
  drop_work (self); /* otherwise the next set_formats() would reuse it */
  return FALSE;
}

/* The key colour */

/* Sends a new key colour to flowkey, before the first frame that is keyed with it. */
static void
send_key (GstChromaKey *self, const ChromaKeySettings &settings)
{
  ChromaKeyWork &work = *self->work;
  if (!work.keyer.knows_key (settings))
    return;
  guint key = work.keyer.known_key (settings) | 0xff000000;
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
  keying::Keyer &keyer = self->work->keyer;
  if (keyer.knows_key (settings))
    return true;
  if (!keyer.read_back_key (queue, error))
    return false;
  GST_INFO_OBJECT (self, "measured key colour 0x%08x", keyer.known_key (settings));
  send_key (self, settings);
  return true;
}

/* auto-key=screen */

static void
warn_of_no_screen (GstChromaKey *self)
{
  const keying::ScreenSearch &search = self->work->keyer.search;
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
  Messages &posted = self->work->posted;
  const keying::ScreenSearch &search = self->work->keyer.search;
  const guint key = search.key ();

  if (posted.revision != settings.auto_key_revision)
    posted = {settings.auto_key_revision};
  if (key == 0 && !posted.warned && search.missing_for () >= timeout) {
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
  keying::ScreenSearch &search = self->work->keyer.search;
  if (search.is_due () && !search.look (input, queue, error))
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
      || !self->work->keyer.search.has_begun ())
    return;
  if (self->work->keyer.search.finish (&error))
    report_screen (self, settings, 0);
  g_clear_error (&error); /* a device error, which the frames in flight report */
}

static gboolean
gst_chroma_key_sink_event (GstBaseTransform *transform, GstEvent *event)
{
  GstChromaKey *self = GST_CHROMA_KEY (transform);
  if (GST_EVENT_TYPE (event) == GST_EVENT_STREAM_START)
    self->judged_revision = 0;
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    end_search (self);
  if (GST_EVENT_TYPE (event) == GST_EVENT_FLUSH_STOP && self->work)
    self->work->keyer.plate.forget ();
  return opencl::base_transform ()->sink_event (transform, event);
}

static bool
scale_plate (GstChromaKey *self, cl_command_queue queue, GError **error)
{
  opencl::ReadFrame image;
  GstVideoInfo info;

  if (!gst_video_info_from_caps (&info, gst_sample_get_caps (self->plate_image->sample)))
    g_return_val_if_reached (false);
  GstBuffer *buffer = gst_opencl_filter_import (
      GST_OPENCL_FILTER (self), gst_sample_get_buffer (self->plate_image->sample), error);
  bool set = buffer && image.map (buffer, &info, 0, queue, error)
             && self->work->keyer.plate.set_image (image.frame (), &info, queue, error);
  gst_clear_buffer (&buffer);
  return set;
}

static bool
follow_plate (GstChromaKey *self, const ChromaKeySettings &settings,
    const GstOpenCLFrame *input, cl_command_queue queue, GError **error)
{
  keying::Keyer &keyer = self->work->keyer;
  auto set_image = [&] (const GstOpenCLFrame *image,
                       const opencl::AuxiliaryStream::Frame &of) {
    return keyer.plate.set_image (image, &of.info, queue, error);
  };
  if (settings.plate == Plate::file
      && !self->work->plate_frame.follow (GST_OPENCL_FILTER (self), *self->sides, "plate",
          self->time, queue, set_image, error))
    return false;
  if (settings.plate == Plate::file && !keyer.plate.has_image ()
      && !scale_plate (self, queue, error))
    return false;
  return keyer.plate.follow (
      settings.plate, keyer.screen_key (settings), input, queue, error);
}

/* Discards frames of the plate pad, so that they do not block its upstream. */
static void
discard_plate_frames (GstChromaKey *self, const ChromaKeySettings &settings)
{
  std::shared_ptr<opencl::AuxiliaryStream> stream = self->sides->find ("plate");
  if (!stream)
    return;
  if (settings.plate != Plate::file && !std::exchange (self->warned_of_plate, true))
    GST_ELEMENT_WARNING (self, LIBRARY, SETTINGS,
        ("Frames of the plate pad are ignored: set plate=file and a soft method"),
        (nullptr));
  stream->frame_at (self->time);
}

/* mixing=auto */

/* Minimum number of pixels that say that levels were mixed */
const guint enough_pixels = 500;

/* Shows the decision in `linear`, and posts it. */
static void
report_mixing (GstChromaKey *self, guint levels_pixels)
{
  const bool linear = !self->found_levels;
  auto show = [=] (ChromaKeySettings &settings) {
    if (settings.mixing == MixingMode::automatic)
      settings.linear = linear;
  };
  if (self->settings->amend (show).linear != linear)
    g_object_notify (G_OBJECT (self), "linear");
  GST_INFO_OBJECT (self, "%s were mixed", linear ? "light" : "levels");
  gst_element_post_message (GST_ELEMENT (self),
      gst_message_new_element (GST_OBJECT (self),
          gst_structure_new ("chromakey-mixing", "linear", G_TYPE_BOOLEAN,
              gboolean (linear), "levels-pixels", G_TYPE_UINT, levels_pixels, nullptr)));
}

/* Follows the plate, and sets settings.linear. Decides with the first frame of a stream. */
static bool
decide_mixing (GstChromaKey *self, ChromaKeySettings &settings,
    const GstOpenCLFrame *input, const GstOpenCLFrame *output, cl_command_queue queue,
    GError **error)
{
  keying::Keyer &keyer = self->work->keyer;
  const bool is_due = settings.mixing == MixingMode::automatic
                      && self->judged_revision != settings.mixing_revision;
  guint pixels = 0;
  if (settings.mixing == MixingMode::automatic)
    settings.linear = is_due || !self->found_levels;
  if (!follow_plate (self, settings, input, queue, error))
    return false;
  if (!is_due)
    return true;
  if (is_picture (keyer.format ())
      && !keyer.judge_mixing (settings, input, output, pixels, queue, error))
    return false;
  self->found_levels = pixels >= enough_pixels || !keyer.knows_light ();
  self->judged_revision = settings.mixing_revision;
  report_mixing (self, pixels);
  settings.linear = !self->found_levels;
  return settings.linear || follow_plate (self, settings, input, queue, error);
}

static gboolean
key (GstChromaKey *self, ChromaKeySettings &settings, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  keying::Keyer &keyer = self->work->keyer;
  const bool searches = settings.auto_key == AutoKey::screen;

  if (searches && !look_for_screen (self, settings, input, queue, error))
    return FALSE;
  const bool has_key = !searches || keyer.search.key () != 0;
  if (searches && settings.key_colors.size () < keying::most_keys)
    settings.tone = keyer.search.tone ();
  if (!has_key || settings.plate != Plate::file || settings.method == Method::distance)
    discard_plate_frames (self, settings);
  if (!has_key)
    return keyer.key_nothing (settings, input, output, queue, error);
  if (!keyer.measure_key (settings, input, queue, error))
    return FALSE;
  if (settings.method == Method::distance)
    return read_back_key (self, settings, queue, error)
           && keyer.key_by_distance (settings, input, output, queue, error);
  GstOpenCLFrame pixels = {};
  return keyer.convert_format (&input, &pixels, queue, error)
         && decide_mixing (self, settings, input, output, queue, error)
         && keyer.key_softly (settings, input, output, queue, error);
}

static gboolean
gst_chroma_key_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  ChromaKeyWork &work = *self->work;
  ChromaKeySettings settings = get_settings (self);
  bool hard = settings.method == Method::distance;

  if (!work.mattes.follow (filter, *self->sides, self->time, queue, error)
      || !work.mattes.set_polygon (settings.garbage_polygon, error))
    return FALSE;
  const keying::InputFormat &format = work.keyer.format ();
  keying::keep_unkeyed (output->buffer, input->buffer, format,
      settings.opacity_in_integers (),
      hard && !work.mattes.has_any () ? keying::Keying::hard : keying::Keying::soft);
  return key (self, settings, input, output, queue, error)
         && work.mattes.apply (format.of (input), output, settings.opacity, queue, error);
}

/* Fused chains */

/* chromakey starts chains and does not merge those of upstream. */
static const GstOpenCLDeferral deferral = {
    gst_keying_deferred_chain_get_type, nullptr, nullptr};

/* Returns TRUE if a chain can start with this frame. A chain does not change colours, and
 * cannot contain the launches that measure a key or search for a screen. */
static bool
can_start_chain (const keying::Keyer &keyer, const ChromaKeySettings &settings)
{
  return settings.method == Method::distance && settings.spill == 0
         && settings.key_colors.empty () && settings.garbage_polygon.empty ()
         && keyer.knows_key (settings)
         && !(settings.auto_key == AutoKey::screen && keyer.search.is_due ());
}

static gboolean
gst_chroma_key_process (GstOpenCLFilter *filter, GstBuffer *input, GstBuffer *output,
    cl_event *event, GError **error)
{
  GstChromaKey *self = GST_CHROMA_KEY (filter);
  keying::Keyer &keyer = self->work->keyer;
  self->settings->update ([&] (const ChromaKeySettings &wanted, GError **reason) {
    return accept_settings (self, &keyer.info (), wanted, reason);
  });
  ChromaKeySettings settings = get_settings (self);
  ChainDeferral::Outcome outcome = ChainDeferral::Outcome::plain;
  self->time = opencl::running_time_of (
      GST_BASE_TRANSFORM (self)->segment, GST_BUFFER_PTS (input));
  if (settings.auto_key == AutoKey::screen
      && !keyer.search.next (settings.auto_key_revision, self->time, error))
    return FALSE;
  send_key (self, settings);
  if (can_start_chain (keyer, settings) && !self->sides->has_any ())
    outcome = self->deferral->defer (
        filter, keying::KeyChain (keyer.distance_key (settings)), input, output, error);
  if (outcome == ChainDeferral::Outcome::plain)
    return opencl::base_filter ()->process (filter, input, output, event, error);
  return outcome == ChainDeferral::Outcome::done;
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

static const opencl::FilterElement<GstChromaKey, &GstChromaKey::plate_image,
    &GstChromaKey::sides, &GstChromaKey::work, &GstChromaKey::deferral>
    element = {"GstChromaKey", properties, "Chroma key", "Filter/Effect/Video",
        "Makes pixels of the key colour transparent on an OpenCL device", {},
        {gst_chroma_key_sink_event, gst_chroma_key_close, gst_chroma_key_set_formats,
            gst_chroma_key_transform, gst_chroma_key_process, &deferral},
        [] (GstOpenCLFilterClass *klass) {
          keying::set_up_camera_class (klass);
          opencl::StreamPads<&GstChromaKey::sides>::install (
              klass, {&garbage_template, &holdout_template, &plate_template});
          GST_DEBUG_CATEGORY_INIT (chroma_key_debug, "chromakey", 0, "Chroma key");
        },
        opencl::drops_late_frames,
        [] (GstChromaKey *self) {
          opencl::create_members<&GstChromaKey::sides, &GstChromaKey::plate_image,
              &GstChromaKey::deferral> (self);
          auto notify = [] (GObject *object) { g_object_notify (object, "linear"); };
          g_signal_connect (self, "notify::mixing",
              G_CALLBACK (static_cast<void (*) (GObject *)> (notify)), nullptr);
        }};

OPENCL_FILTER_DEFINE (chromakey, gst_chroma_key, element)
