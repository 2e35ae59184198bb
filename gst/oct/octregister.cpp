/* octregister: registers repeated volumes with the first one and averages them
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octregister
 *
 * Averages `volumes` volumes (`other/tensors` of dimensions depth:lines:b-scans, from
 * `octvolume`) of a sample that moves between and during them, as an eye does. Each
 * B-scan of a volume is registered with the first volume by a rigid shift in depth, across
 * A-lines, and with `b-scan-shift` to another B-scan, the simplest case of Kraus et al.
 * (2012). It is moved back by cubic interpolation and added to the mean.
 *
 * The shift is that of the greatest correlation coefficient within `axial-shift` depths,
 * `lateral-shift` A-lines and `b-scan-shift` B-scans, between depths and between A-lines
 * by a Gaussian through its neighbours. A B-scan whose coefficient is below
 * `min-correlation`, such as that of a blink, is left out of the mean. Voxels that no
 * later volume shows have the value of the first one.
 *
 * The output is float32. The number of a volume (#GstOctScanMeta, or counted) determines
 * which mean it belongs to, so a lost volume leaves others in their means. A volume with
 * missing B-scans (CORRUPTED) cannot be the first one of a mean, and is dropped there. At
 * EOS the element outputs the mean of the volumes so far. With `volumes=0` it averages all
 * volumes until EOS. A flush, new caps and a change of `volumes` drop the present mean, and
 * the next one has the flag DISCONT.
 *
 * For each registered volume the element posts a message `octregister`, with the fields
 * `volume` (guint64, its number since the start), and `axial`, `lateral`, `b-scan` and
 * `correlation`, arrays of a double for each B-scan: how many depths deeper, A-lines and
 * B-scans further the structures of the first volume are, and the coefficient.
 *
 * It takes complete volumes: `live=true` of octvolume repeats parts of them.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc num-buffers=256 ! octscan b-scans=64 !
 * octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft ! octvolume !
 * "other/tensors(ANY),num_tensors=1" ! octregister volumes=4 ! opencldownload !
 * octfilesink location=mean.nrrd
 * ]|
 *
 * Since: 0.3
 */
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <gst/common/arrayformat.hpp>
#include <gst/common/buffers.hpp>
#include <gst/common/filteredcaps.hpp>
#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/device/devicevalues.hpp>
#include <gst/opencl/core/deviceinfo.hpp>
#include <gst/opencl/device/frameaccess.h>
#include <gst/opencl/gstopenclerror.h>
#include <gst/opencl/gstopenclmemory.h>
#include <gst/opencl/core/gstopenclcheck.h>
#include <gst/opencl/device/gstopenclfilter-private.h>
#include <gst/opencl/elements/filterelement.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "shared/arrayfield.hpp"
#include "elements.h"
#include "octscanmeta.h"
#include "volume/readyvolumes.hpp"
#include "volume/volumecaps.hpp"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octregister.cl"

OCT_PADS (OCT_VOLUME_CAPS, TENSORS_CAPS_OF (ON_DEVICE, "float32"));

namespace {
using opencl::NumberType;

const guint most_volumes = 255; /* of the counters in the kernels */
const guint most_shifts = 32, most_b_scan_shifts = 4;
/* Number of A-lines and depths of a B-scan that the search at whole lags uses, at least
 * half of it */
const guint searched_lines = 32, searched_depths = 256;
const guint refined_lines = 128;
const gsize largest_group = 64;

struct RegisterSettings {
  guint volumes = 4;
  guint axial_shift = 16;
  guint lateral_shift = 8;
  guint b_scan_shift = 0;
  double min_correlation = 0.1;
};

/* As in the kernels */
struct Shift {
  cl_float axial, lateral, row, correlation;
};

struct RegisterWork {
  RegisterSettings in_force;
  NumberType type = NumberType::f32;
  cl_uint depths = 0, lines = 0, rows = 0;

  gsize group = 1;
  opencl::Kernel correlate, find_shifts, refine_shifts, start_sum, add_volume, mean;
  cl::Buffer sum, counts, shifts;
  opencl::WorkBuffer scores;
  opencl::ReadBack found; /* shifts of the volume `found_volume` */
  guint64 found_volume = 0;

  std::unique_ptr<GstBuffer, oct::ReleaseBuffer> reference;
  guint collected = 0;            /* volumes in the mean */
  guint64 number = 0;             /* of the present volume, lost ones included */
  guint64 next_number = 0;        /* of the next volume, if it does not tell */
  guint64 mean_number = 0;        /* of the mean in progress, from those of its volumes */
  std::optional<guint64> skipped; /* mean that a change of settings has cut off */
  GstClockTime time = GST_CLOCK_TIME_NONE,
               duration = GST_CLOCK_TIME_NONE; /* of the input */
  bool empty = false, incomplete = false;      /* the same */
  oct::FramePool pool;
  oct::ReadyVolumes ready;

  gsize values () const { return gsize (depths) * lines * rows; }
};
} // namespace

G_DECLARE_FINAL_TYPE (
    GstOctRegister, gst_oct_register, GST, OCT_REGISTER, GstOpenCLFilter)

struct _GstOctRegister {
  GstOpenCLFilter parent;

  opencl::Settings<RegisterSettings> *settings;
  RegisterWork *work;
};

/* --- caps --- */

/* Sets the frame rate of the other pad. With volumes=0 there is one mean, at EOS. */
static void
change_rate (GstStructure *structure, guint volumes, bool to_output)
{
  const guint more = to_output ? 1 : volumes, fewer = to_output ? volumes : 1;
  if (volumes > 0 && oct::set_scaled_rate (structure, structure, more, fewer))
    return;
  gst_structure_remove_field (structure, "framerate");
  if (to_output && volumes == 0)
    gst_structure_set (structure, "framerate", GST_TYPE_FRACTION, 0, 1, nullptr);
}

/* (transfer full): caps of the other pad */
static GstCaps *
other_side (GstCaps *caps, guint volumes, bool to_output)
{
  GstCaps *any =
      gst_static_pad_template_get_caps (to_output ? &src_template : &sink_template);
  GstCaps *others = gst_caps_copy (caps);
  for (guint n = 0; n < gst_caps_get_size (others); n++) {
    GstStructure *structure = gst_caps_get_structure (others, n);
    change_rate (structure, volumes, to_output);
    oct::copy_field (structure, "types", gst_caps_get_structure (any, 0), "types");
  }
  gst_caps_unref (any);
  return others;
}

static GstCaps *
gst_oct_register_transform_caps (
    GstBaseTransform *base, GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  const RegisterSettings settings = GST_OCT_REGISTER (base)->settings->current ();
  return opencl::filtered_caps (
      other_side (caps, settings.volumes, direction == GST_PAD_SINK), filter);
}

/* --- settings --- */

static cl_int4
limits_of (const RegisterWork &work)
{
  const RegisterSettings &settings = work.in_force;
  return {{cl_int (std::min (settings.axial_shift, (work.depths - 1) / 2)),
      cl_int (std::min (settings.lateral_shift, (work.lines - 1) / 2)),
      cl_int (std::min (settings.b_scan_shift, work.rows - 1)), 0}};
}

static gsize
lags_of (const cl_int4 &limits)
{
  return gsize (2 * limits.s[0] + 1) * gsize (2 * limits.s[1] + 1)
         * gsize (2 * limits.s[2] + 1);
}

/* Makes room for the coefficients of all lags. Work that is enqueued keeps its buffer. */
static bool
create_scores (GstOctRegister *self, GError **error)
{
  RegisterWork &work = *self->work;
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  return work.scores.resize (context,
      std::max<gsize> (9, lags_of (limits_of (work))) * work.rows * sizeof (cl_float),
      error);
}

/* Drops the volumes collected so far, and means that were not pushed yet. */
static void
restart (RegisterWork &work)
{
  work.ready.is_break =
      work.ready.is_break || work.collected > 0 || work.ready.size () > 0;
  work.ready.drop ();
  work.reference.reset ();
  work.collected = 0;
}

/* Returns the number of the mean that a volume belongs to. The volume's number alone
 * decides, so a change of settings moves no others. */
static guint64
mean_of (const RegisterWork &work, guint64 number)
{
  const guint volumes = work.in_force.volumes;
  return volumes > 0 ? number / volumes : 0;
}

static void
update_settings (GstOctRegister *self)
{
  RegisterWork &work = *self->work;

  if (!self->settings->is_started ())
    return;
  self->settings->update ([&] (const RegisterSettings &wanted, GError **error) {
    auto outputs = [&] (GstCaps *input) {
      return other_side (input, wanted.volumes, true);
    };
    if (wanted.volumes != work.in_force.volumes) {
      if (!oct::renegotiate (self, outputs, error))
        return false;
      restart (work);
    }
    const RegisterSettings before = std::exchange (work.in_force, wanted);
    if (create_scores (self, error))
      return true;
    work.in_force = before;
    return false;
  });
}

/* Leaves out the rest of a mean that a change of its size cuts off. */
static void
skip_cut_mean (RegisterWork &work, guint volumes_before)
{
  const guint volumes = work.in_force.volumes;
  if (volumes == volumes_before)
    return;
  work.skipped.reset ();
  if (volumes > 0 && work.number % volumes != 0)
    work.skipped = mean_of (work, work.number);
}

/* --- formats --- */

static bool
read_size (GstCaps *caps, RegisterWork &work, GError **error)
{
  opencl::ArrayFormat array;
  if (!oct::parse_volume (caps, G_MAXINT, array, error))
    return false;
  work.type = array.type;
  work.depths = cl_uint (array.length (0));
  work.lines = cl_uint (array.length (1));
  work.rows = cl_uint (array.length (2));
  return true;
}

static bool
create_kernels (GstOctRegister *self, GError **error)
{
  RegisterWork &work = *self->work;
  GstOpenCLContext *context = gst_opencl_filter_get_context (GST_OPENCL_FILTER (self));
  work.group = opencl::is_cpu (context) ? 1 : largest_group;
  const std::string options = std::string ("-DNUMBER=")
                              + opencl::info_of (work.type).opencl
                              + " -DGROUP=" + std::to_string (work.group);
  const gsize rows = work.rows;
  return opencl::create_kernels (context, KERNELS, options,
             {{work.correlate, "correlate"}, {work.find_shifts, "find_shifts"},
                 {work.refine_shifts, "refine_shifts"}, {work.start_sum, "start_sum"},
                 {work.add_volume, "add_volume"}, {work.mean, "mean_volume"}},
             error)
         && opencl::make_buffer (
             context, work.values () * sizeof (cl_float), work.sum, error)
         && opencl::make_buffer (
             context, work.values () * sizeof (cl_ushort), work.counts, error)
         && opencl::make_buffer (context, rows * sizeof (Shift), work.shifts, error)
         && work.found.create_block (
             context, rows * sizeof (Shift) / sizeof (cl_uint), error);
}

static void post_shifts (GstOctRegister *self, bool waits);

static gboolean
gst_oct_register_set_formats (
    GstOpenCLFilter *filter, GstCaps *input, GstCaps *output, GError **error)
{
  GstOctRegister *self = GST_OCT_REGISTER (filter);
  RegisterWork &work = *self->work;
  const cl_uint depths = work.depths, lines = work.lines, rows = work.rows;
  const NumberType type = work.type;
  auto outputs = [&] (const RegisterSettings &wanted) {
    return other_side (input, wanted.volumes, true);
  };
  auto accepts = [] (const RegisterSettings &, GError **) { return true; };

  const guint volumes = work.in_force.volumes;
  if (!opencl::adopt_for_caps (
          *self->settings, GST_BASE_TRANSFORM (self), output, outputs, accepts, error))
    return FALSE;
  work.in_force = self->settings->current ();
  if (volumes != work.in_force.volumes)
    restart (work);
  skip_cut_mean (work, volumes);
  if (!read_size (input, work, error))
    return FALSE;
  if (work.pool.bytes () > 0 && depths == work.depths && lines == work.lines
      && rows == work.rows && type == work.type)
    return create_scores (self, error);
  post_shifts (self, true);
  restart (work);
  return create_kernels (self, error)
         && work.pool.create (
             filter, "a volume", work.values () * sizeof (cl_float), error)
         && create_scores (self, error);
}

/* --- messages --- */

/* Posts the shifts of the last volume once they have been read back. */
static void
post_shifts (GstOctRegister *self, bool waits)
{
  RegisterWork &work = *self->work;
  if (!work.found.is_under_way () || !(waits || work.found.has_ended ()))
    return;
  const gsize rows = work.found.bytes () / sizeof (Shift);
  GError *error = nullptr;
  const cl_uint *words = work.found.wait (&error);
  if (!words) {
    GST_ELEMENT_WARNING (self, RESOURCE, READ,
        ("The shifts of volume %" G_GUINT64_FORMAT " were not read: %s",
            work.found_volume, error->message),
        (nullptr));
    g_error_free (error);
    return;
  }
  std::vector<Shift> shifts (rows);
  memcpy (shifts.data (), words, work.found.bytes ());
  GstStructure *structure = gst_structure_new (
      "octregister", "volume", G_TYPE_UINT64, work.found_volume, nullptr);
  const struct {
    const char *name;
    cl_float Shift::*member;
  } fields[] = {{"axial", &Shift::axial}, {"lateral", &Shift::lateral},
      {"b-scan", &Shift::row}, {"correlation", &Shift::correlation}};
  for (const auto &field : fields) {
    std::vector<double> values;
    for (const Shift &shift : shifts)
      values.push_back (double (shift.*field.member));
    oct::set_array (structure, field.name, values);
  }
  gst_element_post_message (
      GST_ELEMENT (self), gst_message_new_element (GST_OBJECT (self), structure));
}

/* --- volumes --- */

/* Finds the shifts of a volume's B-scans: at whole lags in a part of the values, then
 * between lags in more of them. */
static bool
find_shifts (RegisterWork &work, const GstOpenCLFrame &reference,
    const GstOpenCLFrame *volume, cl_command_queue queue, GError **error)
{
  const cl_int4 limits = limits_of (work), around = {{1, 1, 0, 0}};
  const auto step = [] (cl_uint all, guint wanted) {
    return std::max<cl_uint> (1, all / wanted);
  };
  const auto correlate = [&] (bool fine, const cl_int4 &lags, cl_uint line_step,
                             cl_uint depth_step) {
    return work.correlate.launch_groups (queue, lags_of (lags) * work.rows, work.group,
        error, reference.data, cl_ulong (reference.offset[0]), volume->data,
        cl_ulong (volume->offset[0]), work.depths, work.lines, work.rows, cl_uint (fine),
        lags, line_step, depth_step, work.shifts (), work.scores ());
  };
  return correlate (false, limits, step (work.lines, searched_lines),
             step (work.depths, searched_depths))
         && work.find_shifts.launch (queue, work.rows, 1, error, work.scores (),
             work.rows, limits, work.shifts ())
         && correlate (true, around, step (work.lines, refined_lines), 1)
         && work.refine_shifts.launch (queue, work.rows, 1, error, work.scores (),
             work.rows, limits, work.shifts ());
}

static bool
add_volume (GstOctRegister *self, const GstOpenCLFrame *volume, cl_command_queue queue,
    GError **error)
{
  RegisterWork &work = *self->work;
  const gsize all_lines = gsize (work.lines) * work.rows;
  if (!oct::with_mapped (work.reference.get (), nullptr,
          work.values () * opencl::info_of (work.type).size, GST_MAP_READ, queue, error,
          [&] (const GstOpenCLFrame &reference) {
            return find_shifts (work, reference, volume, queue, error);
          }))
    return false;
  if (!work.add_volume.launch (queue, work.depths, all_lines, error, volume->data,
          cl_ulong (volume->offset[0]), work.depths, work.lines, work.rows,
          work.shifts (), limits_of (work).s[2], cl_float (work.in_force.min_correlation),
          work.sum (), work.counts ()))
    return false;
  post_shifts (self, true); /* of the volume before, read long ago */
  work.found_volume = work.number;
  return work.found.read (queue, work.shifts (), error);
}

static bool
start_mean (RegisterWork &work, const GstOpenCLFrame *volume, cl_command_queue queue,
    GError **error)
{
  const gsize all_lines = gsize (work.lines) * work.rows;
  work.reference.reset (gst_buffer_ref (volume->buffer));
  work.ready.start = work.time;
  return work.start_sum.launch (queue, work.depths, all_lines, error, volume->data,
      cl_ulong (volume->offset[0]), work.depths, cl_uint (all_lines), work.sum (),
      work.counts ());
}

/* Computes the mean into a buffer that is ready to be pushed. */
static bool
finish_mean (GstOctRegister *self, cl_command_queue queue, GError **error)
{
  RegisterWork &work = *self->work;
  const gsize all_lines = gsize (work.lines) * work.rows;
  work.reference.reset ();
  work.collected = 0;
  GstBuffer *mean = work.pool.acquire (error);
  if (!mean)
    return false;
  work.ready.add (mean, work.mean_number);
  return oct::with_mapped (mean, nullptr, work.pool.bytes (), GST_MAP_WRITE, queue, error,
      [&] (const GstOpenCLFrame &frame) {
        return work.mean.launch (queue, work.depths, all_lines, error, work.sum (),
            work.counts (), work.depths, cl_uint (all_lines), frame.data,
            cl_ulong (frame.offset[0]));
      });
}

/* --- frames --- */

static void
gst_oct_register_begin_frame (GstOpenCLFilter *filter, GstBuffer *input)
{
  GstOctRegister *self = GST_OCT_REGISTER (filter);
  RegisterWork &work = *self->work;
  GstOctScan scan;

  work.number = gst_buffer_get_oct_scan (input, &scan) ? scan.volume : work.next_number;
  work.next_number = work.number + 1;
  work.time = GST_BUFFER_PTS (input);
  work.duration = GST_BUFFER_DURATION (input);
  work.empty = GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_GAP);
  work.incomplete = GST_BUFFER_FLAG_IS_SET (input, GST_BUFFER_FLAG_CORRUPTED);
  const guint volumes = work.in_force.volumes;
  update_settings (self);
  if (self->settings->is_started ())
    skip_cut_mean (work, volumes);
  post_shifts (self, false);
}

/* Adds a volume to the mean. */
static bool
collect (GstOctRegister *self, const GstOpenCLFrame *input, cl_command_queue queue,
    GError **error)
{
  RegisterWork &work = *self->work;
  if (!oct::check_volume_alignment (input, work.type, error)
      || !(work.collected == 0 ? start_mean (work, input, queue, error)
                               : add_volume (self, input, queue, error)))
    return false;
  work.collected++;
  work.ready.end = oct::end_of (work.time, work.duration);
  return true;
}

static gboolean
gst_oct_register_submit (GstOpenCLFilter *filter, const GstOpenCLFrame *input,
    cl_command_queue queue, guint *outputs, GError **error)
{
  GstOctRegister *self = GST_OCT_REGISTER (filter);
  RegisterWork &work = *self->work;
  const guint volumes = work.in_force.volumes;
  const guint64 mean = mean_of (work, work.number);

  if (work.collected > 0 && mean != work.mean_number && !finish_mean (self, queue, error))
    return FALSE;
  work.mean_number = mean;
  const bool is_first = work.collected == 0;
  if (work.empty || (is_first && work.incomplete) || work.skipped == mean) {
    GST_INFO_OBJECT (self, "dropping a volume with missing B-scans or after a change");
    work.ready.is_break = work.ready.is_break || is_first;
  } else if (!collect (self, input, queue, error)) {
    return FALSE;
  }
  const bool is_last =
      volumes > 0 ? work.number % volumes == volumes - 1 : work.collected == most_volumes;
  if (work.collected > 0 && is_last && !finish_mean (self, queue, error))
    return FALSE;
  *outputs = work.ready.size ();
  return TRUE;
}

static gboolean
gst_oct_register_transform (GstOpenCLFilter *, const GstOpenCLFrame *,
    const GstOpenCLFrame *, cl_command_queue, GError **)
{
  return TRUE; /* means are complete before, in submit */
}

static GstFlowReturn
gst_oct_register_prepare_output_buffer (
    GstBaseTransform *base, GstBuffer *, GstBuffer **output)
{
  *output = GST_OCT_REGISTER (base)->work->ready.take ();
  return GST_FLOW_OK;
}

/* Pushes the mean of the volumes so far before EOS. */
static void
push_rest (GstOctRegister *self)
{
  RegisterWork &work = *self->work;
  cl_command_queue queue = gst_opencl_filter_get_queue (GST_OPENCL_FILTER (self));
  GError *error = nullptr;

  if (!gst_opencl_filter_drain (GST_OPENCL_FILTER (self)))
    return;
  post_shifts (self, true);
  if (work.collected == 0)
    return;
  if (!finish_mean (self, queue, &error)) {
    gst_opencl_post_error (GST_ELEMENT (self), error);
    work.ready.drop ();
    return;
  }
  work.ready.push_all (GST_OPENCL_FILTER (self));
}

static gboolean
gst_oct_register_sink_event (GstBaseTransform *base, GstEvent *event)
{
  GstOctRegister *self = GST_OCT_REGISTER (base);
  const GstEventType type = GST_EVENT_TYPE (event);

  if (self->work && type == GST_EVENT_EOS && self->settings->is_started ())
    push_rest (self);
  const gboolean handled = opencl::base_transform ()->sink_event (base, event);
  if (self->work && type == GST_EVENT_FLUSH_STOP) {
    restart (*self->work);
    self->work->next_number = 0;
    self->work->skipped.reset ();
  }
  return handled;
}

/* --- properties --- */

const opencl::PropertyTable<RegisterSettings> properties = {
    {"volumes", "Volumes",
        "Number of volumes to average (0 = all until EOS, at most 255)",
        &RegisterSettings::volumes, {0, most_volumes}, opencl::playing},
    {"axial-shift", "Axial shift",
        "Maximum displacement of a B-scan relative to the first volume, in depth bins",
        &RegisterSettings::axial_shift, {0, most_shifts}, opencl::playing},
    {"lateral-shift", "Lateral shift",
        "Maximum displacement of a B-scan relative to the first volume, in A-lines",
        &RegisterSettings::lateral_shift, {0, most_shifts}, opencl::playing},
    {"b-scan-shift", "B-scan shift",
        "Maximum displacement of a B-scan relative to the first volume, in B-scans",
        &RegisterSettings::b_scan_shift, {0, most_b_scan_shifts}, opencl::playing},
    {"min-correlation", "Minimum correlation",
        "Correlation coefficient with the first volume below which a B-scan is left out",
        &RegisterSettings::min_correlation, {-1, 1}, opencl::playing},
};

/* --- the class --- */

using Opened = opencl::WorkWhileOpen<GstOctRegister>;

static const opencl::FilterElement<GstOctRegister, &GstOctRegister::work> element = {
    "GstOctRegister", properties, "OCT volume registration", "Filter/Effect",
    "Registers and averages repeated volumes on an OpenCL device",
    {&sink_template, &src_template},
    {gst_oct_register_transform_caps, gst_oct_register_prepare_output_buffer,
        gst_oct_register_sink_event, Opened::open, Opened::close,
        gst_oct_register_set_formats, opencl::get_array_size<GstOpenCLFilter>,
        gst_oct_register_begin_frame, gst_oct_register_submit,
        gst_oct_register_transform},
    nullptr,
    /* QoS must not drop volumes, since each is part of a mean. */
    opencl::keeps_all_frames};

OPENCL_FILTER_DEFINE (octregister, gst_oct_register, element)
