/* octaverage: averages B-scans and neighbouring A-lines
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
/**
 * SECTION:element-octaverage
 *
 * Averages groups of N B-scans (`frames`) and groups of M neighbouring A-lines (`lines`),
 * of depths or of B-scan images. Each group gives one output frame with the duration of
 * its N frames. With `rolling` each input frame gives one output frame: the moving
 * average of the last N frames, and of the M A-lines around each A-line.
 *
 * The element averages the input values (decibels, if an image shows decibels). For
 * complex depths, which `octfft` produces on request, it can also average complex values,
 * amplitudes or levels. The mean of complex values reduces noise most if the phase is
 * stable.
 *
 * A lost B-scan (DISCONT, GAP) drops the group that it belongs to and restarts a rolling
 * mean, so frames from before and after a loss are not mixed. A change of settings within
 * a group does the same. Later groups keep their positions, which the frames'
 * #GstOctScanMeta or timestamps determine. The next output frame is marked with DISCONT.
 *
 * Groups never cross the end of a volume. They never cross the end of a B-scan's repeats
 * either, if these are enough for a group (`octscan`). Leftover B-scans are dropped.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 octtestsrc ! octwindowinterp wavelength-min=1187 wavelength-max=1433 !
 * octfft ! octaverage frames=4 rolling=true ! opencldownload ! videoconvert !
 * autovideosink
 * ]|
 *
 * Since: 0.2
 */
#include <algorithm>

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/device/kernel.hpp>
#include <gst/opencl/gstopenclframe.h>

#include "depth/depthfilter.hpp"
#include "shared/bufferaccess.hpp"
#include "elements.h"

#define KERNELS "/org/freedesktop/gstreamer/opencl/oct/octaverage.cl"

OCT_PADS (OCT_IMAGE_CAPS "; " OCT_DEPTH_CAPS ("{F32LE, CF32LE}"),
    OCT_IMAGE_CAPS "; " OCT_DEPTH_CAPS ("{F32LE, CF32LE}"));

namespace {
enum class Mean {
  values,
  complex,
  linear,
  log,
};

const guint most_frames = 1024, most_lines = 1024;

struct AverageSettings {
  guint frames = 4;
  guint lines = 1;
  bool rolling = false;
  Mean mean = Mean::values;
};

struct AverageState {
  opencl::Kernel kernel, mean_of_frames;
  oct::HeldFrames held;
  std::string built; /* options of the kernel */
  opencl::WorkBuffer kept;
  guint seen = 0; /* number of frames in the rolling mean */
  guint next = 0; /* index of the oldest one */
};

class Average : public oct::DepthFilterOf<AverageSettings, AverageState> {
public:
  using DepthFilterOf::DepthFilterOf;

  bool prepare (GstOpenCLContext *context, GError **error) override;
  void forget () override
  {
    seen = next = 0;
    held.clear ();
  }
  bool keep (const GstOpenCLFrame *frame, guint position, cl_command_queue queue,
      GError **error) override
  {
    if (!holds ())
      return enqueue (frame, nullptr, position, queue, error);
    held.hold (frame, position);
    return true;
  }
  bool transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error) override;

protected:
  oct::CapsChange change_for (const AverageSettings &wanted) const override;
  bool breaks (const AverageSettings &wanted) const override
  {
    return wanted.frames != in_force.frames || wanted.lines != in_force.lines
           || wanted.rolling != in_force.rolling || wanted.mean != in_force.mean;
  }

private:
  bool is_real_of_complex () const { return input.complex && !output.complex; }
  /* Limited to the number of A-lines in the input. */
  guint lines_of_mean () const
  {
    return guint (std::min<gsize> (in_force.lines, input.lines));
  }
  /* Small groups of whole frames are held and averaged in one launch. */
  bool holds () const
  {
    return !in_force.rolling && in_force.frames <= oct::HeldFrames::most
           && lines_of_mean () == 1 && !is_real_of_complex ();
  }
  /* Rows of a frame as kernel arguments */
  struct Rows {
    cl_mem data = nullptr;
    cl_ulong offset = 0, pitch = 0;

    Rows () = default;
    Rows (const GstOpenCLFrame *frame, const oct::DepthLayout &layout)
        : data (frame->data), offset (frame->offset[0]),
          pitch (layout.image ? gsize (frame->stride[0]) : layout.depths * layout.bytes)
    {
    }
    auto arguments () const { return std::tie (data, offset, pitch); }
  };
  /* Frames of the mean and what is kept of them, as kernel arguments */
  struct Group {
    cl_uint lines, every; /* A-lines of the input, and how many make one of the output */
    cl_uint rolling;
    cl_mem kept;
    cl_ulong plane; /* values of a kept frame */
    cl_uint next;   /* position of the frame */
    cl_uint frames, keeps_sum, outputs;

    auto arguments () const
    {
      return std::tie (
          lines, every, rolling, kept, plane, next, frames, keeps_sum, outputs);
    }
  };
  bool average_held (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
      cl_command_queue queue, GError **error);
  std::string options () const;
  bool enqueue (const GstOpenCLFrame *from, const GstOpenCLFrame *to, guint position,
      cl_command_queue queue, GError **error);
};

oct::CapsChange
Average::change_for (const AverageSettings &wanted) const
{
  oct::CapsChange change;
  if (!wanted.rolling) {
    change.frames = wanted.frames;
    change.lines = wanted.lines;
  }
  if (wanted.mean != Mean::values)
    change.from = change.to = "CF32LE";
  if (wanted.mean == Mean::linear || wanted.mean == Mean::log) {
    change.to = "F32LE";
    change.quantity = wanted.mean == Mean::log ? "decibels" : "amplitude";
  }
  return change;
}

std::string
Average::options () const
{
  if (output.image)
    return output.bytes == 1
               ? "-DSTORED=uchar -DFULL=255.0f -DVALUE=float -DELEMENT=uchar"
               : "-DSTORED=ushort -DFULL=65535.0f -DVALUE=float -DELEMENT=ushort";
  if (!is_real_of_complex ())
    return output.complex ? "-DSTORED=float2 -DVALUE=float2 -DELEMENT=float"
                          : "-DSTORED=float -DVALUE=float -DELEMENT=float";
  return std::string ("-DINPUT=float2 -DSTORED=float -DVALUE=float ")
         + (in_force.mean == Mean::log ? "-DDECIBELS" : "-DLINEAR");
}

bool
Average::prepare (GstOpenCLContext *context, GError **error)
{
  const gsize planes = in_force.rolling ? in_force.frames : 1;
  const gsize value = output.complex ? sizeof (cl_float2) : sizeof (cl_float);
  const gsize bytes = holds () ? value : output.depths * output.lines * planes * value;
  if (!kept.resize (context, bytes, error))
    return false;
  if (options () == built)
    return true;
  built.clear ();
  if (!kernel.create (context, KERNELS, "average", options (), error)
      || (!is_real_of_complex ()
          && !mean_of_frames.create (
              context, KERNELS, "mean_of_frames", options (), error)))
    return false;
  built = options ();
  return true;
}

/* Adds a frame to the mean. `to` is null if the group is not complete yet. */
bool
Average::enqueue (const GstOpenCLFrame *from, const GstOpenCLFrame *to, guint position,
    cl_command_queue queue, GError **error)
{
  const gsize columns = output.image ? output.lines : output.depths;
  const gsize rows = output.image ? output.depths : output.lines;
  Rows output_rows;
  output_rows.data = kept ();
  if (to)
    output_rows = Rows (to, output);
  Group group;
  group.lines = cl_uint (input.lines);
  group.every = cl_uint (lines_of_mean ());
  group.rolling = in_force.rolling;
  group.kept = kept ();
  group.plane = columns * rows;
  group.next = in_force.rolling ? next : position;
  group.frames = in_force.rolling ? seen + 1 : in_force.frames;
  group.keeps_sum = !in_force.rolling || in_force.frames == 1;
  group.outputs = to != nullptr;

  return kernel.launch (queue, columns, rows, error, Rows (from, input), output_rows,
      cl_uint (columns), cl_uint (rows), cl_uint (input.image), group);
}

bool
Average::average_held (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  const gsize wide = 16, element = input.complex ? sizeof (cl_float) : input.bytes;
  const gsize rows = output.image ? output.depths : output.lines;
  const gsize columns =
      (output.image ? output.lines : output.depths) * (input.bytes / element);
  cl_ulong8 offsets = {};
  cl_uint8 pitches = {};
  cl_mem data[oct::HeldFrames::most];
  for (guint n = 0; n < oct::HeldFrames::most; n++) {
    const Rows frame (n < held.frames ().size () ? &held.frames ()[n] : from, input);
    data[n] = frame.data;
    offsets.s[n] = frame.offset;
    pitches.s[n] = cl_uint (frame.pitch);
  }
  return mean_of_frames.launch (queue, (columns + wide - 1) / wide, rows, error, data[0],
      data[1], data[2], data[3], data[4], data[5], data[6], data[7], offsets, pitches,
      cl_uint (columns), cl_uint (rows), cl_uint (in_force.frames), Rows (to, output));
}

bool
Average::transform (const GstOpenCLFrame *from, const GstOpenCLFrame *to,
    cl_command_queue queue, GError **error)
{
  if (holds ()) {
    const bool made = held.map (input.video, input.size (), queue, error)
                      && average_held (from, to, queue, error);
    return held.release (queue, made ? error : nullptr) && made;
  }
  if (in_force.rolling)
    seen = std::min (seen, in_force.frames - 1);
  if (!enqueue (from, to, in_force.frames - 1, queue, error))
    return false;
  if (in_force.rolling) {
    seen++;
    next = (next + 1) % in_force.frames;
  }
  return true;
}
} // namespace

const opencl::EnumTypeOf<Mean> mean_type = {
    "GstOctMean", {
                      {Mean::values, "Input values, unchanged", "values"},
                      {Mean::complex, "Complex values", "complex"},
                      {Mean::linear, "Amplitudes of complex values", "linear"},
                      {Mean::log, "Decibels of complex values", "log"},
                  }};

const opencl::PropertyTable<AverageSettings> properties = {
    {"frames", "B-scans", "Number of B-scans to average", &AverageSettings::frames,
        {1, most_frames}, opencl::playing},
    {"lines", "A-lines",
        "Number of neighbouring A-lines to average; an incomplete group at the end of a "
        "B-scan is dropped",
        &AverageSettings::lines, {1, most_lines}, opencl::playing},
    {"rolling", "Rolling",
        "Output a moving average for each B-scan and each A-line, over the last B-scans "
        "and the A-lines around it, instead of one mean per group",
        &AverageSettings::rolling, opencl::playing},
    {"mean", "Mean", "Values to average; all except values need format CF32LE",
        &AverageSettings::mean, mean_type, opencl::playing},
};

static const oct::DepthElement<Average> element = {"GstOctAverage", &sink_template,
    &src_template, properties, "OCT average",
    "Averages B-scans and neighbouring A-lines, on an OpenCL device"};

OCT_DEPTH_ELEMENT_REGISTER_DEFINE (octaverage, element)
