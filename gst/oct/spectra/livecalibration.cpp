/* octwindowinterp calibrate=true: calibration from mirror spectra while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "livecalibration.hpp"

#include "../shared/arrayfield.hpp"
#include "../calibration/mirrors.hpp"

#include <gst/opencl/base/opencl-hpp.hpp>
#include <gst/opencl/base/profile.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace oct {
/* State shared with the calibration threads. Pending jobs keep it alive. */
struct LiveCalibration::Mirrors {
  std::mutex in_order; /* held by the calibrating thread, to calibrate frames in order */
  std::mutex mutex;
  std::condition_variable finished;
  std::deque<std::unique_ptr<Job>> waiting;
  guint unfinished = 0;
  std::vector<double> before; /* previous mirror's spectrum, or empty */
};

/* Everything that the calibration thread needs, even after the element has stopped. */
struct LiveCalibration::Job {
  std::shared_ptr<Mirrors> mirrors;
  cl::CommandQueue queue;
  std::shared_ptr<BackgroundMean> owner;
  std::shared_ptr<cl::Buffer> mean;
  gsize samples = 0;
  Request request;

  explicit Job (std::shared_ptr<Mirrors> of) : mirrors (std::move (of))
  {
    std::lock_guard<std::mutex> lock (mirrors->mutex);
    mirrors->unfinished++;
  }
  ~Job ()
  {
    std::lock_guard<std::mutex> lock (mirrors->mutex);
    mirrors->unfinished--;
    mirrors->finished.notify_all ();
  }
};

namespace {
using Values = std::vector<double>;

bool
read_mean (cl_command_queue queue, cl_mem mean, const Values &background, Values &mirror,
    GError **error)
{
  std::vector<cl_float> values (mirror.size ());
  const gsize bytes = values.size () * sizeof values[0];
  if (!gst_opencl_check (
          clEnqueueReadBuffer (queue, mean, CL_TRUE, 0, bytes, values.data (), 0, nullptr,
              opencl::Profiled (queue, opencl::command::download)),
          "clEnqueueReadBuffer", error))
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
LiveCalibration::calibrate (GstElement *element, gpointer data)
{
  auto *mirrors = static_cast<Mirrors *> (data);
  const std::lock_guard<std::mutex> in_order (mirrors->in_order);
  std::unique_lock<std::mutex> lock (mirrors->mutex);
  const std::unique_ptr<Job> job = std::move (mirrors->waiting.front ());
  mirrors->waiting.pop_front ();
  lock.unlock ();

  const Request &request = job->request;
  GError *error = nullptr;
  Values mirror (job->samples);
  MirrorCalibration found;
  std::string settings;
  bool good =
      read_mean (job->queue (), (*job->mean) (), request.background, mirror, &error);
  if (good) {
    lock.lock ();
    const Values before = std::exchange (mirrors->before, mirror);
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
    mirrors->before.clear ();
    lock.unlock ();
    GST_ELEMENT_WARNING (element, RESOURCE, SETTINGS,
        ("Calibration from this frame failed: %s", error->message), (nullptr));
  }
  g_clear_error (&error);
}

LiveCalibration::LiveCalibration () : mirrors (std::make_shared<Mirrors> ())
{
}

LiveCalibration::~LiveCalibration () = default;

void
LiveCalibration::forget ()
{
  std::lock_guard<std::mutex> lock (mirrors->mutex);
  mirrors->before.clear ();
}

void
LiveCalibration::wait ()
{
  std::unique_lock<std::mutex> lock (mirrors->mutex);
  mirrors->finished.wait (lock, [this] { return mirrors->unfinished == 0; });
}

bool
LiveCalibration::enqueue (GstElement *element, GstOpenCLContext *context,
    SampleFormat input, const RawSpectra &spectra, const Request &request,
    cl_command_queue queue, GError **error)
{
  auto job = std::make_unique<Job> (mirrors);
  job->owner = std::make_shared<BackgroundMean> ();
  job->samples = spectra.samples;
  job->request = request;
  job->queue = opencl::retained<cl::CommandQueue> (queue, error);
  if (!job->queue ()
      || !job->owner->create (context, input, spectra.samples, spectra.lines, 0, error)
      || !job->owner->update (spectra, queue, job->mean, error))
    return false;
  clFlush (queue);
  {
    std::lock_guard<std::mutex> lock (mirrors->mutex);
    mirrors->waiting.push_back (std::move (job));
  }
  gst_element_call_async (element, calibrate, mirrors.get (), nullptr);
  return true;
}
} // namespace oct
