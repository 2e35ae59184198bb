/* octwindowinterp calibrate=true: calibration from mirror spectra while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "livecalibration.hpp"

#include "../shared/arrayfield.hpp"
#include "../calibration/mirrors.hpp"

#include <gst/opencl/core/opencl-hpp.hpp>
#include <gst/opencl/device/devicevalues.hpp>

#include <utility>

namespace oct {
namespace {
using Values = std::vector<double>;

bool
read_mean (cl_command_queue queue, cl_mem mean, const Values &background, Values &mirror,
    GError **error)
{
  std::vector<cl_float> values (mirror.size ());
  if (!opencl::read_values (queue, mean, values, error))
    return false;
  mirror.assign (values.begin (), values.end ());
  for (gsize j = 0; j < background.size (); j++)
    mirror[j] -= background[j];
  return true;
}

void
post (GstElement *element, const MirrorCalibration &found)
{
  const bool two = !found.dispersion.empty ();
  GstStructure *structure = gst_structure_new ("octwindowinterp-calibration", "mirrors",
      G_TYPE_INT, two ? 2 : 1, "width-before", G_TYPE_DOUBLE, found.width_before,
      "width-after", G_TYPE_DOUBLE, found.width_after, nullptr);
  set_array (structure, "resample-map", found.map);
  if (two)
    set_array (structure, "dispersion-phase", found.dispersion);
  gst_element_post_message (
      element, gst_message_new_element (GST_OBJECT (element), structure));
}
} // namespace

void
LiveCalibration::calibrate (
    GstElement *element, Mirrors &mirrors, const Mean &mean, const Request &request)
{
  std::unique_lock<std::mutex> lock (mirrors.mutex, std::defer_lock);
  GError *error = nullptr;
  Values mirror (mean.samples);
  MirrorCalibration found;
  std::string settings;
  bool good =
      read_mean (mean.queue (), (*mean.values) (), request.background, mirror, &error);
  if (good) {
    lock.lock ();
    const Values before = std::exchange (mirrors.before, mirror);
    lock.unlock ();
    good = calibration_of_mirrors (before.empty () ? mirror : before,
               before.empty () ? before : mirror, !request.same_side, found, &error)
           && (request.folder.empty ()
               || write_calibration (
                   request.folder, found, !before.empty (), settings, &error));
  }
  if (good)
    post (element, found);
  else {
    /* Either mirror may be the wrong one. */
    lock.lock ();
    mirrors.before.clear ();
    lock.unlock ();
    GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS,
        ("Calibration from this frame failed: %s", error->message), (nullptr));
  }
  g_clear_error (&error);
}

void
LiveCalibration::forget ()
{
  std::lock_guard<std::mutex> lock (mirrors->mutex);
  mirrors->before.clear ();
}

bool
LiveCalibration::enqueue (GstElement *element, GstOpenCLContext *context,
    SampleFormat input, const RawSpectra &spectra, const Request &request,
    cl_command_queue queue, GError **error)
{
  /* Shared, as a copy of a queue may fail. */
  const auto mean = std::make_shared<Mean> ();
  mean->owner = std::make_shared<BackgroundMean> ();
  mean->samples = spectra.samples;
  mean->queue = opencl::retained<cl::CommandQueue> (queue, error);
  if (!mean->queue ()
      || !mean->owner->create (context, input, spectra.samples, spectra.lines, 0, error)
      || !mean->owner->update (spectra, queue, mean->values, error))
    return false;
  clFlush (queue);
  jobs.run (element, [mirrors = mirrors, mean, request] (
                         GstElement *of) { calibrate (of, *mirrors, *mean, request); });
  return true;
}
} // namespace oct
