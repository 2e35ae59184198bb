/* k-clock: resamples A-lines to even wavenumbers by the fringes of a clock channel
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "../calibration/spectrumtables.hpp"
#include "framebuffers.hpp"
#include "unpacking.hpp"

namespace oct {
class ClockedSpectra {
public:
  /* `option`: UNPACK_… option of the sample format, see unpack.cl. */
  bool create (
      GstOpenCLContext *context, Clock clock, const std::string &option, GError **error);

  /* Resamples `samples` samples from `first` on to even wavenumbers between the first and
   * the last of them. `spectra` has two channels of `all` samples each. It becomes one
   * channel of float32 samples. */
  bool enqueue (cl_command_queue queue, guint all, guint first, guint samples,
      RawSpectra &spectra, GError **error);

private:
  bool make_room (gsize numbers, GError **error);

  GstOpenCLContext *context = nullptr; /* owned by the element, which outlives this */
  Clock clock = Clock::none;
  Unpacking unpacking;
  opencl::Kernel find_analytic_signal, find_positions, resample;
  gsize group = 1;
  cl::Buffer weights, analytic, positions;
  gsize room = 0; /* capacity of `analytic` and `positions`, in samples */
  FrameBuffers made;
};
} // namespace oct
