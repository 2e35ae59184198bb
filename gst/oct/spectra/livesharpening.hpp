/* octwindowinterp sharpen=true: dispersion of the sample while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "elementjobs.hpp"
#include "spectrumstage.hpp"
#include "windowinterpsettings.hpp"

#include <atomic>

namespace oct {
/* Collects B-scans, in which another thread searches. It sets the dispersion of the element
 * and posts it as a message, or posts a WARNING. */
class LiveSharpening {
public:
  bool wants (const WindowInterpSettings &settings) const
  {
    return spectra || settings.sharpenings != sharpenings;
  }
  /* Enqueues a copy of a B-scan, if wanted. The last one starts the search. */
  bool add (GstElement *element, GstOpenCLContext *context,
      const WindowInterpSettings &settings, const SpectrumStage &stage,
      const RawSpectra &frame, cl_command_queue queue, GError **error);
  /* Ends the search. A WARNING has the reason, unless it is null. */
  void cancel (GstElement *element, const char *why);
  /* At the end of the stream: waits until the result is posted. */
  void finish (GstElement *element);

private:
  struct Spectra;

  ElementJobs jobs;
  guint sharpenings = 0;            /* WindowInterpSettings::sharpenings of the search */
  std::shared_ptr<Spectra> spectra; /* while it collects, else null */
  std::shared_ptr<std::atomic<bool>> is_over; /* cancelled or posted; null at first */
};
} // namespace oct
