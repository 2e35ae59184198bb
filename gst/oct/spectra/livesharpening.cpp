/* octwindowinterp sharpen=true: dispersion of the sample while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "livesharpening.hpp"

#include "../calibration/sharpness.hpp"
#include "../recordings/rawformat.hpp"

#include <gst/opencl/core/devicebuffer.hpp>
#include <gst/opencl/core/profile.hpp>
#include <gst/opencl/device/devicevalues.hpp>

#include <algorithm>
#include <utility>

namespace oct {
using Values = std::vector<double>;

static const gsize needed = 4;        /* B-scans */
static const gsize most_lines = 1024; /* first A-lines of each */

/* Copies of B-scans */
struct LiveSharpening::Spectra {
  Values map;
  const RawFormat *format = nullptr;
  gsize lines = 0, stride = 0, bytes = 0;
  std::vector<cl::Buffer> frames;
  cl::CommandQueue queue;

  bool copy (GstOpenCLContext *context, SampleFormat of, const RawSpectra &frame,
      cl_command_queue enqueued, GError **error);
  bool read (Values &values, GError **error) const;
  void search (GstElement *element, std::atomic<bool> &is_over) const;
};

bool
LiveSharpening::Spectra::copy (GstOpenCLContext *context, SampleFormat of,
    const RawSpectra &frame, cl_command_queue enqueued, GError **error)
{
  const char *const names[] = {"U8", "U16LE", "U16BE", "F32LE"};
  format = find_raw_format (names[gsize (of)]);
  lines = std::min<gsize> (frame.lines, most_lines);
  stride = gsize (frame.stride);
  queue = opencl::retained<cl::CommandQueue> (enqueued, error);
  bytes = stride * (lines - 1) + format->line_bytes (frame.samples);
  return queue () && opencl::make_buffer (context, bytes, frames.emplace_back (), error)
         && gst_opencl_check (clEnqueueCopyBuffer (enqueued, frame.data,
                                  frames.back () (), frame.offset, 0, bytes, 0, nullptr,
                                  opencl::Profiled (enqueued, opencl::command::copy)),
             "clEnqueueCopyBuffer", error)
         && gst_opencl_check (clFlush (enqueued), "clFlush", error);
}

bool
LiveSharpening::Spectra::read (Values &values, GError **error) const
{
  for (const cl::Buffer &frame : frames) {
    std::vector<guint8> raw (bytes);
    if (!opencl::read_values (queue (), frame (), raw, error))
      return false;
    for (gsize n = 0; n < lines * map.size (); n++)
      values.push_back (format->read (&raw[n / map.size () * stride], n % map.size ()));
  }
  return true;
}

static void
warn (GstElement *element, const char *why)
{
  GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS,
      ("The dispersion of the sample was not found: %s", why), (nullptr));
}

static void
use (GstElement *element, const SampleDispersion &found, double half)
{
  g_object_set (element, "dispersion-phase", nullptr, "dispersion-a2", found.a2,
      "dispersion-a3", found.a3, nullptr);
  GstStructure *fields = gst_structure_new ("octwindowinterp-dispersion", "square",
      G_TYPE_DOUBLE, found.a2 * half * half, "square-error", G_TYPE_DOUBLE,
      found.square_error, "cube", G_TYPE_DOUBLE, found.a3 * half * half * half,
      "cube-error", G_TYPE_DOUBLE, found.cube_error, nullptr);
  gst_element_post_message (
      element, gst_message_new_element (GST_OBJECT (element), fields));
}

void
LiveSharpening::Spectra::search (GstElement *element, std::atomic<bool> &is_over) const
{
  Values values;
  SampleDispersion found;
  GError *error = nullptr;
  const bool good = !is_over && read (values, &error)
                    && sample_dispersion (values, lines, map, found, &error);
  const bool is_late = is_over.exchange (true);
  if (good && !is_late)
    use (element, found, double (map.size ()) / 2);
  else if (!is_late)
    warn (element, error->message);
  g_clear_error (&error);
}

void
LiveSharpening::cancel (GstElement *element, const char *why)
{
  if (is_over && !is_over->exchange (true) && why)
    warn (element, why);
  spectra.reset ();
}

void
LiveSharpening::finish (GstElement *element)
{
  if (spectra)
    cancel (element, "the stream ended before 4 B-scans");
  jobs.wait ();
}

bool
LiveSharpening::add (GstElement *element, GstOpenCLContext *context,
    const WindowInterpSettings &settings, const SpectrumStage &stage,
    const RawSpectra &frame, cl_command_queue queue, GError **error)
{
  if (std::exchange (sharpenings, settings.sharpenings) != settings.sharpenings) {
    cancel (element, nullptr);
    is_over = std::make_shared<std::atomic<bool>> (!settings.sharpen);
    spectra = settings.sharpen ? std::make_shared<Spectra> () : nullptr;
  }
  if (!spectra)
    return true;
  spectra->map = stage.map ();
  for (gsize m = spectra->map.size (); m < frame.samples; m++)
    spectra->map.push_back (double (m));
  if (!spectra->copy (context, stage.format ().input, frame, queue, error))
    return false;
  if (spectra->frames.size () == needed)
    jobs.run (element, [of = std::exchange (spectra, {}), over = is_over] (
                           auto *self) { of->search (self, *over); });
  return true;
}
} // namespace oct
