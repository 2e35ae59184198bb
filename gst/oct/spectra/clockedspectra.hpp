/* k-clock: A-lines on even wavenumbers by the fringes of a second channel
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
  /* `option` is of the kernel that makes numbers of samples. */
  bool create (
      GstOpenCLContext *context, Clock clock, const std::string &option, GError **error);

  /* `spectra` are of both channels, `all` samples each, of which `samples` from `first` on
   * are wanted, and become float32 on wavenumbers that are even from the first to the last
   * of them. */
  bool enqueue (cl_command_queue queue, guint all, guint first, guint samples,
      RawSpectra &spectra, GError **error);

private:
  bool make_room (gsize numbers, GError **error);

  GstOpenCLContext *context = nullptr; /* of the element, which outlives this */
  Clock clock = Clock::none;
  Unpacking unpacking;
  opencl::Kernel find_turning, find_places, resample;
  gsize group = 1;
  cl::Buffer weights, turning, places;
  gsize room = 0; /* numbers of a channel that these hold */
  FrameBuffers made;
};
} // namespace oct
