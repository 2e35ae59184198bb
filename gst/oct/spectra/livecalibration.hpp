/* octwindowinterp calibrate=true: calibration from mirror spectra while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "backgroundmean.hpp"
#include "elementjobs.hpp"

#include <string>

namespace oct {
/* Calibrates from the mean spectra of a frame and of the previous mirror, if any. */
class LiveCalibration {
public:
  struct Request {
    std::vector<double> background; /* spectrum without the mirror, or empty */
    bool same_side;                 /* both mirrors are on the same side of zero delay */
    std::string folder;             /* folder for calibration files, or empty */
  };

  /* Forgets the previous mirror. Must be called when the format of spectra changes. */
  void forget ();

  /* Waits until all results are posted. */
  void wait () { jobs.wait (); }

  /* Enqueues the mean of `spectra`. Another thread reads it, calibrates, and posts the
   * result as a message of `element`, or a WARNING if it fails. */
  bool enqueue (GstElement *element, GstOpenCLContext *context, SampleFormat input,
      const RawSpectra &spectra, const Request &request, cl_command_queue queue,
      GError **error);

private:
  struct Mirrors {
    std::mutex mutex;
    std::vector<double> before; /* previous mirror's spectrum, or empty */
  };
  struct Mean {
    cl::CommandQueue queue;
    std::shared_ptr<BackgroundMean> owner;
    std::shared_ptr<cl::Buffer> values;
    gsize samples;
  };

  static void calibrate (
      GstElement *element, Mirrors &mirrors, const Mean &mean, const Request &request);

  ElementJobs jobs;
  std::shared_ptr<Mirrors> mirrors = std::make_shared<Mirrors> ();
};
} // namespace oct
