/* octwindowinterp calibrate=true: what the mirror tells whose spectra are playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "backgroundmean.hpp"

#include <string>

namespace oct {
/* A frame's mean spectrum is a mirror's, and with the one before it a pair. */
class LiveCalibration {
public:
  struct Wish {
    std::vector<double> background; /* without the mirror, or empty */
    bool same_side;                 /* of zero delay are both mirrors */
    std::string folder;             /* where files go, or empty */
  };

  LiveCalibration ();
  ~LiveCalibration ();

  /* Mirrors of other samples make no pair with those to come. */
  void forget ();

  /* Until all that was taken is told. */
  void wait ();

  /* Enqueues the mean of `spectra`, and reads it and reckons in another thread, which posts
   * what it finds as a message of `element`, or a WARNING. */
  bool take (GstElement *element, GstOpenCLContext *context, SampleFormat input,
      const RawSpectra &spectra, const Wish &wish, cl_command_queue queue,
      GError **error);

private:
  struct Job;
  struct Mirrors;

  static void calibrate (GstElement *element, gpointer mirrors);

  std::shared_ptr<Mirrors> mirrors;
};
} // namespace oct
