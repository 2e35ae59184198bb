/* octwindowinterp calibrate=true: calibration from mirror spectra while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "backgroundmean.hpp"

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

  LiveCalibration ();
  ~LiveCalibration ();

  /* Forgets the previous mirror. Must be called when the format of spectra changes. */
  void forget ();

  /* Waits until all results are posted. */
  void wait ();

  /* Enqueues the mean of `spectra`. Another thread reads it, calibrates, and posts the
   * result as a message of `element`, or a WARNING if it fails. */
  bool enqueue (GstElement *element, GstOpenCLContext *context, SampleFormat input,
      const RawSpectra &spectra, const Request &request, cl_command_queue queue,
      GError **error);

private:
  struct Job;
  struct Mirrors;

  static void calibrate (GstElement *element, gpointer mirrors);

  std::shared_ptr<Mirrors> mirrors;
};
} // namespace oct
