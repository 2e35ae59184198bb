/* octvolume: collects B-scans into a volume or an en face projection
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octvolume
 *
 * Collects B-scans (depths or images of them) on the device. Downstream caps select the
 * output:
 *
 * - video: the en face projection. Rows are B-scans and columns are A-lines. Each B-scan
 *   updates its row and gives a new output frame. With `emit=volume` there is one output
 *   frame for each volume, after its last B-scan. A pixel is the mean or maximum
 *   (`projection`) of a slab of its A-line: `slab-depths` depths from `slab-start` on.
 *   With `surface` the slab starts relative to the surface of the sample. The surface is
 *   the first depth whose level, averaged over `surface-smooth` depths, is above
 *   `surface-level`. An angiogram of `octangio` has the mean power of its repeats with
 *   it; the surface is found there, and `surface-level` is in dB on the scale of octfft.
 *   With `slab-unit=um` the slab is in micrometres.
 * - `other/tensors`: the volume, of dimensions depth:lines:b-scans, after its last
 *   B-scan. With `live` the volume is output in its present state after each B-scan. The
 *   buffers then share one memory. If downstream still holds it, the element continues
 *   with a copy. The volume has the amplitudes of complex depths, and other values
 *   unchanged.
 *
 * The #GstOctScanMeta from `octscan` determines the row of a B-scan. The last repeat
 * replaces the others. Without the meta the element counts B-scans, and computes the
 * number of lost ones (DISCONT, GAP) from timestamps. A lost B-scan leaves zeros in the
 * volume and black in the projection, and does not move other rows. With
 * `lost-rows=repeat`, its row of a projection that is output with each B-scan is that
 * before it, with a white mark at the start. Such buffers have the flag CORRUPTED. An
 * incomplete volume, or its projection with `emit=volume`, is output with the first
 * B-scan of the next one, or at EOS. A volume is dropped if a device error interrupts
 * it. A change of `b-scans`, `emit`, `live`, the size of the B-scans or their depths
 * (`depth-start`, `depth-count` of octfft) drops the present volume. The next one has
 * the flag DISCONT. B-scans keep their numbers.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 octtestsrc ! octscan b-scans=128 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft !
 * octvolume projection=maximum slab-start=60 ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=64 ! octscan b-scans=64 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft ! octvolume !
 * "other/tensors(ANY),num_tensors=1" ! opencldownload ! npysink location=volume%d.npy
 * ]|
 *
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=256 velocity=1 line-rate=20000 !
 * octscan repeats=4 b-scans=64 ! octwindowinterp wavelength-min=1187
 * wavelength-max=1433 background=frame ! octfft ! octangio !
 * octvolume projection=maximum surface=true surface-level=110 surface-from=8
 * slab-start=30 slab-depths=200 db-auto=true ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 *
 * Since: 0.2
 */
#include <utility>

#include <gst/common/arrayformat.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>
#include "depth/structuremeta.hpp"
#include "elements.h"
#include "octscanmeta.h"
#include "spectra/elementqueries.hpp"
#include "volume/readyvolumes.hpp"
#include "volume/volumecaps.hpp"
#include "volume/volumestore.hpp"

OCT_PADS (OCT_IMAGE_CAPS "; " OCT_DEPTH_CAPS ("{F32LE, CF32LE}"),
    OCT_IMAGE_CAPS "; " OCT_VOLUME_CAPS);

namespace {
using oct::VolumeExtent;

const guint most_b_scans = 1 << 16, most_depths = 1 << 20;
const guint most_smooth = 255;

/* When a projection is output */
enum class Emit {
  row,    /* with each B-scan */
  volume, /* once per volume */
};

/* Rows of lost B-scans in the projection after each B-scan */
enum class LostRows {
  black,
  repeat,
};

struct VolumeSettings {
  guint b_scans = 0; /* 0: from the meta of the buffers, or the default */
  Emit emit = Emit::row;
  bool live = false;
  LostRows lost_rows = LostRows::black;
  oct::Slab slab;
  oct::DisplayRange range;
  bool true_scale = false;

  oct::VolumeOutput output () const { return {emit == Emit::volume, live, true_scale}; }
};

/* State of the streaming thread. */
struct VolumeWork {
  VolumeSettings in_force;
  oct::DepthLayout input;
  bool makes_image = false;
  guint pixel_bytes = 1;
  gsize volume_bytes = 0;

  /* Position of the present B-scan. */
  oct::FrameSequence sequence;
  oct::FrameSequence::Arrival arrival;
  std::optional<GstOctScan> scan;
  bool lost = false;
  guint missing = 0; /* number of lost frames that were invalid */
  oct::VolumeRows rows;

  /* The projection */
  oct::EnFace en_face;
  bool cleared = false;
  bool warned = false; /* of an angiogram without structure */

  /* The volume */
  oct::VolumeStore store;

  /* Whole volumes or their projections */
  oct::ReadyVolumes ready;

  /* The output is the projection after each B-scan. */
  bool emits_rows () const { return makes_image && in_force.emit == Emit::row; }
};
} // namespace

G_DECLARE_FINAL_TYPE (GstOctVolume, gst_oct_volume, GST, OCT_VOLUME, GstOpenCLFilter)

struct _GstOctVolume {
  GstOpenCLFilter parent;

  opencl::Settings<VolumeSettings> *settings;
  VolumeWork *work;
  VolumeExtent
      meta_extent; /* from the meta of the buffers; protected by the object lock */
};

/* --- caps --- */

static VolumeExtent
extent_of (GstOctVolume *self, const VolumeSettings &settings)
{
  GST_OBJECT_LOCK (self);
  VolumeExtent extent = self->meta_extent;
  GST_OBJECT_UNLOCK (self);
  if (settings.b_scans > 0)
    extent.b_scans = settings.b_scans;
  return extent;
}

/* (transfer full) */
static GstCaps *
outputs_of (GstCaps *inputs, const VolumeSettings &settings, const VolumeExtent &extent)
{
  return oct::volume_outputs_of (inputs, extent, settings.output ());
}

/* Returns the input caps for output caps (transfer full). The columns of a projection are
 * the A-lines of the input. Other sizes are not restricted. */
static GstCaps *
inputs_of (GstCaps *outputs)
{
  GstCaps *inputs = gst_caps_new_empty ();
  for (guint n = 0; n < gst_caps_get_size (outputs); n++) {
    const GstStructure *output = gst_caps_get_structure (outputs, n);
    GstCaps *any = gst_static_pad_template_get_caps (&sink_template);
    any = gst_caps_make_writable (any);
    for (guint i = 0; i < gst_caps_get_size (any); i++) {
      GstStructure *input = gst_caps_get_structure (any, i);
      oct::copy_field (input, oct::lines_field (input), output, "width");
    }
    inputs = gst_caps_merge (inputs, any);
  }
  return inputs;
}

static GstCaps *
gst_oct_volume_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  GstOctVolume *self = GST_OCT_VOLUME (base);
  const VolumeSettings settings = self->settings->current ();
  GstCaps *result = direction == GST_PAD_SINK
                        ? outputs_of (caps, settings, extent_of (self, settings))
                        : inputs_of (caps);
  return opencl::filtered_caps (result, filter);
}

/* --- settings --- */

static void
drop_volumes (VolumeWork &work)
{
  work.ready.drop ();
  work.store.drop ();
}

/* Drops the present volume. B-scans keep their numbers. */
static void
restart_volume (VolumeWork &work, guint b_scans)
{
  oct::FrameSequence::Grouping grouping;

  work.ready.is_break = work.ready.is_break || work.rows.began ();
  drop_volumes (work);
  work.cleared = false;
  work.rows.restart (b_scans);
  grouping.period = b_scans;
  grouping.frame_duration = work.input.frame_duration ();
  work.sequence.set_grouping (grouping);
}

/* `depth_step` is that of the caps, or 0 */
static bool
check_settings (const VolumeSettings &wanted, double depth_step, GError **error)
{
  if (wanted.slab.smooth % 2 != 1) {
    return REFUSE_SETTINGS (
        error, "surface-smooth is %u, expected an odd number", wanted.slab.smooth);
  }
  if (wanted.slab.unit == oct::Slab::Unit::micrometres && !(depth_step > 0)) {
    return REFUSE_SETTINGS (error,
        "slab-unit=um, but the caps have no depth-step; set wavelength-unit of "
        "octwindowinterp and take depths instead of B-scan images");
  }
  return wanted.range.check (error);
}

/* Renegotiates for other settings or another extent, if downstream accepts their caps. */
static bool
renegotiate (GstOctVolume *self, const VolumeSettings &settings,
    const VolumeExtent &extent, GError **error)
{
  auto outputs = [&] (GstCaps *input) { return outputs_of (input, settings, extent); };
  return oct::renegotiate (self, outputs, error);
}

static void
update_settings (GstOctVolume *self)
{
  VolumeWork &work = *self->work;

  if (!self->settings->is_started ())
    return;
  bool changes_buffers = false;
  self->settings->update ([&] (const VolumeSettings &wanted, GError **error) {
    const bool changes_caps = wanted.b_scans != work.in_force.b_scans
                              || wanted.emit != work.in_force.emit
                              || wanted.live != work.in_force.live
                              || wanted.true_scale != work.in_force.true_scale;
    if (!check_settings (wanted, work.input.depth_step, error)
        || (changes_caps && !renegotiate (self, wanted, extent_of (self, wanted), error)))
      return false;
    changes_buffers =
        wanted.live != work.in_force.live || wanted.emit != work.in_force.emit;
    work.in_force = wanted;
    return true;
  });
  if (changes_buffers)
    restart_volume (work, work.rows.rows ());
}

/* Takes the size of the volume from the meta of the buffer if `b-scans` is 0. */
static void
update_extent (GstOctVolume *self)
{
  VolumeWork &work = *self->work;
  const VolumeExtent now = extent_of (self, work.in_force);
  VolumeExtent meta_extent = now;
  GError *error = nullptr;

  if (!work.scan || !self->settings->is_started ())
    return;
  meta_extent.repeats = std::max (1u, work.scan->repeats);
  if (work.in_force.b_scans == 0 && work.scan->b_scans > 0)
    meta_extent.b_scans = std::min (work.scan->b_scans, most_b_scans);
  if (!(meta_extent != now))
    return;
  if (renegotiate (self, work.in_force, meta_extent, &error)) {
    GST_OBJECT_LOCK (self);
    self->meta_extent = meta_extent;
    GST_OBJECT_UNLOCK (self);
  } else {
    self->settings->warn (error);
  }
}

/* --- formats --- */

static guint
b_scans_of (const oct::DepthLayout &layout, gsize volume_bytes)
{
  const gsize number = opencl::info_of (oct::volume_type_of (layout)).size;
  return guint (volume_bytes / (gsize (layout.lines) * layout.depths * number));
}

static bool
prepare_image (GstOctVolume *self, guint b_scans, GError **error)
{
  VolumeWork &work = *self->work;
  return work.en_face.create (gst_opencl_filter_get_context (GST_OPENCL_FILTER (self)),
      work.input, b_scans, work.pixel_bytes, error);
}

/* Returns whether the present volume continues with other caps. */
static bool
continues (const VolumeWork &work, const oct::DepthLayout &input, gsize volume_bytes,
    guint pixel_bytes, guint b_scans)
{
  return input.lines == work.input.lines && input.depths == work.input.depths
         && input.first_depth == work.input.first_depth && input.bytes == work.input.bytes
         && input.complex == work.input.complex && input.video == work.input.video
         && input.quantity == work.input.quantity && volume_bytes == work.volume_bytes
         && pixel_bytes == work.pixel_bytes && b_scans == work.rows.rows ();
}

static gboolean
gst_oct_volume_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctVolume *self = GST_OCT_VOLUME (filter);
  VolumeWork &work = *self->work;
  const GstVideoInfo *image = gst_opencl_filter_get_video_info (filter, GST_PAD_SRC);
  oct::DepthLayout layout;
  gsize volume_bytes = 0;
  auto outputs = [&] (const VolumeSettings &wanted) {
    return outputs_of (input, wanted, extent_of (self, wanted));
  };

  if (!oct::parse_depth_layout (input, false, layout)) {
    return REFUSE_FORMAT (error, "unsupported caps, expected depths or B-scan images");
  }
  if (!image && !opencl::get_array_size (filter, output, &volume_bytes))
    return FALSE;
  const Emit emit = work.in_force.emit;
  auto accepts = [&] (const VolumeSettings &wanted, GError **why) {
    return check_settings (wanted, layout.depth_step, why);
  };
  if (!opencl::adopt_for_caps (
          *self->settings, GST_BASE_TRANSFORM (self), output, outputs, accepts, error))
    return FALSE;
  work.in_force = self->settings->current ();
  const guint b_scans =
      image ? guint (GST_VIDEO_INFO_HEIGHT (image)) : b_scans_of (layout, volume_bytes);
  const guint pixel_bytes = image ? guint (GST_VIDEO_INFO_COMP_DEPTH (image, 0) / 8) : 0;
  const bool same = continues (work, layout, volume_bytes, pixel_bytes, b_scans)
                    && work.in_force.emit == emit;
  work.input = layout;
  if (same)
    return TRUE;
  work.makes_image = image != nullptr;
  work.pixel_bytes = pixel_bytes;
  work.volume_bytes = volume_bytes;
  restart_volume (work, b_scans);
  return work.makes_image
             ? prepare_image (self, b_scans, error)
             : work.store.create (filter, layout, b_scans, volume_bytes, error);
}

static gboolean
gst_oct_volume_open (GstOpenCLFilter *filter, GError **)
{
  GstOctVolume *self = GST_OCT_VOLUME (filter);
  self->work = new VolumeWork;
  GST_OBJECT_LOCK (self);
  self->meta_extent = VolumeExtent ();
  GST_OBJECT_UNLOCK (self);
  return TRUE;
}

static void
gst_oct_volume_close (GstOpenCLFilter *filter)
{
  GstOctVolume *self = GST_OCT_VOLUME (filter);
  self->settings->stop ();
  if (self->work)
    drop_volumes (*self->work);
  delete std::exchange (self->work, nullptr);
}

/* --- volumes --- */

/* Adds a volume, or its projection, to the output. Takes ownership of `buffer`. */
static void
add_to_output (VolumeWork &work, GstBuffer *buffer, bool incomplete)
{
  work.ready.add (buffer, work.rows.volume ());
  if (incomplete)
    GST_BUFFER_FLAG_SET (buffer, GST_BUFFER_FLAG_CORRUPTED);
}

/* (transfer full) (nullable): an output buffer for a projection */
static GstBuffer *
acquire_image (GstOctVolume *self, GError **error)
{
  GstBufferPool *pool = gst_base_transform_get_buffer_pool (GST_BASE_TRANSFORM (self));
  GstBuffer *image = nullptr;
  if (pool && gst_buffer_pool_set_active (pool, TRUE))
    gst_buffer_pool_acquire_buffer (pool, &image, nullptr);
  gst_clear_object (&pool);
  if (!image)
    g_set_error_literal (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
        "failed to allocate an en face projection");
  return image;
}

/* Writes the projection of the present volume to `image`. */
static bool
write_image (GstOctVolume *self, GstBuffer *image, GError **error)
{
  VolumeWork &work = *self->work;
  GstOpenCLFilter *filter = GST_OPENCL_FILTER (self);
  cl_command_queue queue = gst_opencl_filter_get_queue (filter);
  return oct::with_mapped (image, gst_opencl_filter_get_video_info (filter, GST_PAD_SRC),
      0, GST_MAP_WRITE, queue, error, [&] (const GstOpenCLFrame &frame) {
        return work.en_face.show (&frame, work.in_force.range, queue, error);
      });
}

/* (transfer full) (nullable): the projection of the present volume. Rows that never
 * arrived are black, and may still have pixels of the volume before. */
static GstBuffer *
make_image (GstOctVolume *self, GError **error)
{
  VolumeWork &work = *self->work;
  cl_command_queue queue = gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self));
  for (guint row = 0; row < work.rows.rows (); row++) {
    if (!work.rows.is_filled (row) && !work.en_face.clear_row (row, queue, error))
      return nullptr;
  }
  GstBuffer *image = acquire_image (self, error);
  if (image && !write_image (self, image, error))
    gst_clear_buffer (&image);
  return image;
}

/* (transfer full) (nullable): the present volume. B-scans that never arrived are zero. */
static GstBuffer *
take_volume (VolumeWork &work, bool whole, GError **error)
{
  if (!whole
      && !work.store.clear (
          [&] (guint row) { return !work.rows.is_filled (row); }, error))
    return nullptr;
  return work.store.take ();
}

/* Ends the volume, which is then output, or its projection. */
static bool
finish_volume (GstOctVolume *self, GError **error)
{
  VolumeWork &work = *self->work;
  bool whole = true;

  work.rows.end ();
  /* The allocation of the volume failed, which was reported. */
  if (!work.makes_image && !work.store.has_volume ())
    return true;
  for (guint row = 0; row < work.rows.rows (); row++)
    whole = whole && work.rows.is_filled (row);
  GstBuffer *output =
      work.makes_image ? make_image (self, error) : take_volume (work, whole, error);
  if (!output)
    return false;
  add_to_output (work, output, !whole);
  return true;
}

/* Outputs the volume in its present state. */
static void
show_live_volume (VolumeWork &work)
{
  work.ready.start = work.arrival.time;
  add_to_output (work, work.store.share (), work.rows.has_gaps ());
}

/* --- frames --- */

static void
gst_oct_volume_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  GstOctVolume *self = GST_OCT_VOLUME (filter);
  VolumeWork &work = *self->work;
  GstOctScan scan;

  work.scan.reset ();
  if (gst_buffer_get_oct_scan (input, &scan))
    work.scan = scan;
  update_settings (self);
  update_extent (self);
  work.arrival.time = GST_BUFFER_PTS (input);
  work.arrival.duration = GST_BUFFER_DURATION (input);
  work.arrival.lost =
      work.lost || GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_DISCONT);
  work.arrival.missing = std::exchange (work.missing, 0);
  work.arrival.empty = GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_GAP);
  work.lost = false;
}

/* Returns the index of the B-scan over all volumes. */
static guint64
place_of (VolumeWork &work)
{
  work.sequence.next (work.arrival);
  if (!work.scan)
    return work.sequence.number ();
  return work.scan->volume * work.scan->b_scans + work.scan->b_scan;
}

/* Returns the structure beside an angiogram, if the surface is to be found in it.
 * (transfer none) (nullable) */
static GstBuffer *
surface_structure_of (GstOctVolume *self, GstBuffer *input)
{
  VolumeWork &work = *self->work;
  if (!work.in_force.slab.surface)
    return nullptr;
  const oct::StructureMeta *structure = oct::structure_of (input);
  if (structure && structure->depths == work.input.depths
      && structure->lines == work.input.lines)
    return structure->powers;
  const bool is_angiogram =
      work.input.quantity == "variance" || work.input.quantity == "decorrelation";
  if ((structure || is_angiogram) && !std::exchange (work.warned, true))
    GST_ELEMENT_WARNING (self, STREAM, FORMAT,
        ("the angiogram comes without the structure that octangio attaches, or with one "
         "of another size; the surface is found in the angiogram itself"),
        (nullptr));
  return nullptr;
}

/* Adds a row of the projection, of a slab below the surface of `structure` (nullable). */
static bool
put_row (VolumeWork &work, const GstOpenCLFrame *input, GstBuffer *structure, guint row,
    cl_command_queue queue, GError **error)
{
  const oct::Slab slab = work.in_force.slab.in_bins (work.input.depth_step);
  const gsize bytes = work.input.depths * work.input.lines * sizeof (cl_float);

  if (!structure)
    return work.en_face.put_row (input, nullptr, row, slab, queue, error);
  return oct::with_mapped (structure, nullptr, bytes, GST_MAP_READ, queue, error,
      [&] (const GstOpenCLFrame &powers) {
        return work.en_face.put_row (input, &powers, row, slab, queue, error);
      });
}

static bool
put_into_image (GstOctVolume *self, const GstOpenCLFrame *input,
    const oct::VolumeRows::Step &step, cl_command_queue queue, GError **error)
{
  VolumeWork &work = *self->work;
  if (!work.cleared && !work.en_face.clear (queue, error))
    return false;
  work.cleared = true;
  const bool repeats =
      work.in_force.lost_rows == LostRows::repeat && work.in_force.emit == Emit::row;
  for (guint row : step.lost) {
    if (!(repeats ? work.en_face.repeat_row (row, queue, error)
                  : work.en_face.clear_row (row, queue, error)))
      return false;
  }
  GstBuffer *structure =
      step.stores ? surface_structure_of (self, input->buffer) : nullptr;
  return !step.stores || put_row (work, input, structure, step.row, queue, error);
}

static bool
put_into_volume (GstOctVolume *self, const GstOpenCLFrame *input,
    const oct::VolumeRows::Step &step, GError **error)
{
  VolumeWork &work = *self->work;
  if (!work.store.ensure (work.in_force.live, error))
    return false;
  if (work.in_force.live && !step.lost.empty ()) {
    auto is_lost = [&] (guint row) {
      return std::find (step.lost.begin (), step.lost.end (), row) != step.lost.end ();
    };
    if (!work.store.clear (is_lost, error))
      return false;
  }
  return !step.stores || work.store.put (input, step.row, error);
}

static gboolean
gst_oct_volume_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  GstOctVolume *self = GST_OCT_VOLUME (filter);
  VolumeWork &work = *self->work;
  const guint64 place = place_of (work);
  const bool last = !work.scan || work.scan->repeat + 1 >= work.scan->repeats;
  const bool is_live = !work.makes_image && work.in_force.live;
  const bool collects = !is_live && !work.emits_rows ();

  *outputs = 0;
  if (collects && work.rows.leaves (place) && !finish_volume (self, error))
    return FALSE;
  const oct::VolumeRows::Step step = work.rows.next (place, last, work.arrival.empty);
  if (step.begins)
    work.ready.start = work.arrival.time;
  work.ready.end = oct::end_of (work.arrival.time, work.arrival.duration);
  if (work.makes_image ? !put_into_image (self, input, step, queue, error)
                       : !put_into_volume (self, input, step, error))
    return FALSE;
  if (is_live)
    show_live_volume (work);
  if (collects && step.completes && !finish_volume (self, error))
    return FALSE;
  if (step.completes)
    work.rows.end ();
  /* A second volume follows next time. */
  *outputs = work.emits_rows () || work.ready.size () > 0 ? 1 : 0;
  return TRUE;
}

static gboolean
gst_oct_volume_transform (GstOpenCLFilter *filter, const GstOpenCLFrame *,
    const GstOpenCLFrame *output, cl_command_queue queue, GError **error)
{
  VolumeWork &work = *GST_OCT_VOLUME (filter)->work;
  /* Whole volumes are complete before, in submit. */
  return !work.emits_rows ()
         || work.en_face.show (output, work.in_force.range, queue, error);
}

static GstFlowReturn
gst_oct_volume_prepare_output_buffer (
    GstBaseTransform *base, GstBuffer *input, GstBuffer **output)
{
  VolumeWork &work = *GST_OCT_VOLUME (base)->work;

  if (work.emits_rows ())
    return opencl::base_transform ()->prepare_output_buffer (base, input, output);
  *output = work.ready.take ();
  return GST_FLOW_OK;
}

static gboolean
gst_oct_volume_copy_metadata (GstBaseTransform *base, GstBuffer *input, GstBuffer *output)
{
  if (!opencl::base_transform ()->copy_metadata (base, input, output))
    return FALSE;
  GST_BUFFER_FLAG_UNSET (output, GST_BUFFER_FLAG_GAP);
  if (GST_OCT_VOLUME (base)->work->rows.has_gaps ())
    GST_BUFFER_FLAG_SET (output, GST_BUFFER_FLAG_CORRUPTED);
  return TRUE;
}

/* Pushes the incomplete last volume, or its projection, before EOS. */
static void
push_rest (GstOctVolume *self)
{
  VolumeWork &work = *self->work;
  GError *error = nullptr;

  if (work.emits_rows ())
    return;
  if (!gst_opencl_filter_drain (GST_OPENCL_FILTER (self))) {
    drop_volumes (work);
    return;
  }
  const bool is_shown = !work.makes_image && work.in_force.live;
  if (work.rows.began () && !is_shown && !finish_volume (self, &error)) {
    gst_opencl_post_error (GST_ELEMENT (self), error);
    drop_volumes (work);
    return;
  }
  work.ready.push_all (GST_OPENCL_FILTER (self));
}

static gboolean
gst_oct_volume_sink_event (GstBaseTransform *base, GstEvent *event)
{
  GstOctVolume *self = GST_OCT_VOLUME (base);
  const GstEventType type = GST_EVENT_TYPE (event);

  if (self->work) {
    if (type == GST_EVENT_EOS)
      push_rest (self);
    if (type == GST_EVENT_GAP)
      self->work->lost = true;
    if (gst_event_has_name (event, GST_OPENCL_LOST_FRAME))
      self->work->missing++;
  }
  const gboolean handled = opencl::base_transform ()->sink_event (base, event);
  if (self->work && type == GST_EVENT_FLUSH_STOP && self->settings->is_started ()) {
    self->work->sequence.restart ();
    restart_volume (*self->work, self->work->rows.rows ());
  }
  return handled;
}

/* --- properties --- */

const opencl::EnumTypeOf<Emit> emit_type = {"GstOctVolumeEmit",
    {
        {Emit::row, "The projection after each B-scan", "row"},
        {Emit::volume, "The projection of a whole volume after its last B-scan",
            "volume"},
    }};

const opencl::EnumTypeOf<LostRows> lost_rows_type = {"GstOctVolumeLostRows",
    {
        {LostRows::black, "Black", "black"},
        {LostRows::repeat, "The row before, with a white mark at its start", "repeat"},
    }};

const opencl::PropertyTable<VolumeSettings> properties = oct::joined<VolumeSettings> (
    {
        {"b-scans", "B-scans",
            "Number of B-scans in a volume (0 = number from the octscan meta of the "
            "buffers, or 512 without it)",
            &VolumeSettings::b_scans, {0, most_b_scans}, opencl::playing},
        {"emit", "Emit",
            "When an en face projection is output (ignored for volumes, see live)",
            &VolumeSettings::emit, emit_type, opencl::playing},
        {"live", "Live",
            "Output the volume in its present state after each B-scan, instead of only "
            "after its last one (ignored for en face projections, see emit)",
            &VolumeSettings::live, opencl::playing},
        {"lost-rows", "Lost rows",
            "Content of the rows of lost B-scans (en face projection that is output "
            "after each B-scan)",
            &VolumeSettings::lost_rows, lost_rows_type, opencl::ready},
        {"projection", "Projection",
            "Projection over the depths of the slab for each en face pixel",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::projection),
            oct::projection_type, opencl::playing},
        {"slab-start", "Start of the slab",
            "First depth of the slab in slab-unit, relative to the surface and possibly "
            "negative with surface=true",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::start),
            {-gint (most_depths), gint (most_depths)}, opencl::playing},
        {"slab-depths", "Depths of the slab",
            "Extent of the slab in slab-unit (0 = all from slab-start on)",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::depths), {0, most_depths},
            opencl::playing},
        {"slab-unit", "Unit of the slab", "Unit of slab-start and slab-depths",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::unit), oct::slab_unit_type,
            opencl::playing},
        {"surface", "Surface",
            "Measure slab-start from the surface of the sample instead of the first "
            "depth",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::surface), opencl::playing},
        {"surface-level", "Surface level",
            "Level above which the first depth is taken as the surface, in the units of "
            "the input, or for angiograms in dB of the mean power of the repeats",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::threshold), {-1e9, 1e9},
            opencl::playing},
        {"surface-smooth", "Surface smoothing",
            "Number of depths, centred on each depth, over which its level is averaged "
            "(odd)",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::smooth), {1, most_smooth},
            opencl::playing},
        {"surface-from", "Surface from",
            "First depth bin that may be the surface, counted from zero delay, below the "
            "residue of the mean spectrum",
            opencl::nested (&VolumeSettings::slab, &oct::Slab::surface_from),
            {0, most_depths}, opencl::playing},
        {"true-scale", "True scale",
            "Set the pixel-aspect-ratio from line-step and b-scan-step of the caps, if "
            "both are present",
            &VolumeSettings::true_scale, opencl::playing},
    },
    oct::display_range_properties<VolumeSettings> ());

/* --- the class --- */

/* Elements that keep depths get volumes. */
static GstCaps *
gst_oct_volume_fixate_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *others)
{
  if (direction == GST_PAD_SINK)
    others = oct::choose_kept_depths (GST_BASE_TRANSFORM_SRC_PAD (base), others);
  return opencl::base_transform ()->fixate_caps (base, direction, caps, others);
}

/* A volume keeps depths, a projection shows them. */
static gboolean
gst_oct_volume_query (GstBaseTransform *base, GstPadDirection direction, GstQuery *query)
{
  oct::KeptDepths *depths =
      direction == GST_PAD_SINK ? oct::asked_by<oct::KeptDepths> (query) : nullptr;
  if (!depths)
    return opencl::base_transform ()->query (base, direction, query);
  oct::ask_peer (GST_BASE_TRANSFORM_SRC_PAD (base), *depths);
  GstCaps *video = gst_caps_from_string ("video/x-raw(ANY)");
  GstCaps *taken = gst_pad_peer_query_caps (GST_BASE_TRANSFORM_SRC_PAD (base), nullptr);
  if (!depths->are_shown && !gst_caps_can_intersect (taken, video))
    depths->are_kept = true;
  gst_caps_unref (taken);
  gst_caps_unref (video);
  return TRUE;
}

static const opencl::FilterElement<GstOctVolume, &GstOctVolume::work> element = {
    "GstOctVolume", properties, "OCT volume", "Filter/Converter/OCT/Video",
    "Collects B-scans into volumes or en face projections on an OpenCL device",
    {&sink_template, &src_template},
    {gst_oct_volume_transform_caps, gst_oct_volume_query,
        gst_oct_volume_prepare_output_buffer, gst_oct_volume_copy_metadata,
        gst_oct_volume_sink_event, gst_oct_volume_open, gst_oct_volume_close,
        gst_oct_volume_set_formats, opencl::get_array_size<GstOpenCLFilter>,
        gst_oct_volume_begin_frame, gst_oct_volume_submit, gst_oct_volume_transform,
        opencl::FixateCaps{gst_oct_volume_fixate_caps}},
    nullptr,
    /* QoS must not drop B-scans, since each is a row of the volume. */
    opencl::keeps_all_frames,
    [] (GstOctVolume *self) { self->meta_extent = VolumeExtent (); }};

OPENCL_FILTER_DEFINE (octvolume, gst_oct_volume, element)
