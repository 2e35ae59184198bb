/* Spectra that octwindowinterp defers to a directly following octfft
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../shared/pendingwork.hpp"
#include "spectrumstage.hpp"

namespace oct {
struct PendingSpectra {
  static constexpr const char *type_name = "GstOctDeferredSpectra";

  std::shared_ptr<SpectrumStage> stage;
  RawSpectra raw;
  std::shared_ptr<cl::Buffer> mean; /* (nullable): the background, else that of `stage` */

  BackgroundSpectrum background () const
  {
    return mean ? BackgroundSpectrum{(*mean) (), 0} : stage->background ();
  }

  bool write (cl_command_queue queue, cl_mem data, gsize offset, GError **error)
  {
    return stage->enqueue (
        queue, raw, background (), data, offset / sizeof (cl_float), error);
  }
};

using DeferredSpectra = PendingWork<PendingSpectra>;
} // namespace oct
