/* octwindowinterp sharpen=true: dispersion of the sample while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "livesharpening.hpp"

#include "../calibration/sharpness.hpp"

#include <gst/opencl/base/devicebuffer.hpp>
#include <gst/opencl/base/profile.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <utility>

namespace oct {
static const gsize needed = 4; /* B-scans */

/* Shared with the searching thread */
struct LiveSharpening::Search {
  std::vector<double> map;
  SampleFormat format;
  gsize samples, lines, stride, collected = 0;
  std::vector<cl::Buffer> frames; /* copies, until they are read */
  cl::CommandQueue queue;
  std::atomic<bool> is_over{false}; /* cancelled, or the result is being posted */
  std::promise<void> end;
  std::future<void> ended = end.get_future ();

  bool read (std::vector<double> &values, GError **error);
  static void run (GstElement *element, gpointer search);
};

static double
sample_at (const guint8 *at, SampleFormat format)
{
  switch (format) {
  case SampleFormat::u8:
    return *at;
  case SampleFormat::u16le:
    return GST_READ_UINT16_LE (at);
  case SampleFormat::u16be:
    return GST_READ_UINT16_BE (at);
  default:
    return double (GST_READ_FLOAT_LE (at));
  }
}

bool
LiveSharpening::Search::read (std::vector<double> &values, GError **error)
{
  for (const cl::Buffer &frame : std::exchange (frames, {})) {
    std::vector<guint8> bytes (frame.getInfo<CL_MEM_SIZE> ());
    if (!gst_opencl_check (clEnqueueReadBuffer (queue (), frame (), CL_TRUE, 0,
                               bytes.size (), bytes.data (), 0, nullptr,
                               opencl::Profiled (queue (), opencl::command::download)),
            "clEnqueueReadBuffer", error))
      return false;
    for (gsize n = 0; n < lines * samples; n++)
      values.push_back (sample_at (
          &bytes[n / samples * stride + n % samples * sample_of (format).bytes], format));
  }
  return true;
}

static void
apply (GstElement *element, const SampleDispersion &found, double half)
{
  g_object_set (element, "dispersion-phase", nullptr, "dispersion-a2", found.a2,
      "dispersion-a3", found.a3, nullptr);
  gst_element_post_message (element,
      gst_message_new_element (GST_OBJECT (element),
          gst_structure_new ("octwindowinterp-dispersion", "dispersion-a2", G_TYPE_DOUBLE,
              found.a2, "dispersion-a3", G_TYPE_DOUBLE, found.a3, "square", G_TYPE_DOUBLE,
              found.a2 * half * half, "square-error", G_TYPE_DOUBLE, found.square_error,
              "cube", G_TYPE_DOUBLE, found.a3 * half * half * half, "cube-error",
              G_TYPE_DOUBLE, found.cube_error, nullptr)));
}

static void
warn (GstElement *element, const char *why)
{
  GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS,
      ("The dispersion of the sample was not found: %s", why), (nullptr));
}

void
LiveSharpening::Search::run (GstElement *element, gpointer data)
{
  Search &search = **static_cast<std::shared_ptr<Search> *> (data);
  std::vector<double> values;
  SampleDispersion found;
  GError *error = nullptr;
  const bool good =
      search.read (values, &error)
      && sample_dispersion (values, search.lines, search.map, found, &error);
  if (!search.is_over.exchange (true)) {
    if (good)
      apply (element, found, double (search.map.size ()) / 2);
    else
      warn (element, error->message);
  }
  g_clear_error (&error);
  search.end.set_value ();
}

void
LiveSharpening::begin (std::vector<double> map)
{
  search = std::make_shared<Search> ();
  search->map = std::move (map);
}

bool
LiveSharpening::is_collecting () const
{
  return search && search->collected < needed;
}

bool
LiveSharpening::add (GstElement *element, GstOpenCLContext *context, SampleFormat format,
    const RawSpectra &spectra, cl_command_queue queue, GError **error)
{
  const gsize stride = gsize (spectra.stride);
  const gsize bytes =
      stride * (spectra.lines - 1) + spectra.samples * sample_of (format).bytes;
  cl::Buffer copy;
  search->format = format;
  search->samples = spectra.samples;
  search->lines = spectra.lines;
  search->stride = stride;
  search->queue = opencl::retained<cl::CommandQueue> (queue, error);
  if (!search->queue () || !opencl::make_buffer (context, bytes, copy, error)
      || !gst_opencl_check (
          clEnqueueCopyBuffer (queue, spectra.data, copy (), spectra.offset, 0, bytes, 0,
              nullptr, opencl::Profiled (queue, opencl::command::copy)),
          "clEnqueueCopyBuffer", error))
    return false;
  search->frames.push_back (std::move (copy));
  if (++search->collected < needed)
    return true;
  clFlush (queue);
  gst_element_call_async (element, Search::run, new std::shared_ptr<Search> (search),
      [] (gpointer data) { delete static_cast<std::shared_ptr<Search> *> (data); });
  return true;
}

void
LiveSharpening::cancel (GstElement *element, const char *why)
{
  if (search && !search->is_over.exchange (true) && why)
    warn (element, why);
  search.reset ();
}

void
LiveSharpening::wait (GstPad *pad)
{
  const std::chrono::milliseconds each (10);
  while (search && search->ended.wait_for (each) != std::future_status::ready
         && !GST_PAD_IS_FLUSHING (pad))
    continue;
}
} // namespace oct
