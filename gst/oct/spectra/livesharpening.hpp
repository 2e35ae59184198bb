/* octwindowinterp sharpen=true: dispersion of the sample while playing
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "rawspectra.hpp"

#include <gst/gst.h>
#include <vector>

namespace oct {
/* Collects B-scans, in which another thread searches. It sets the dispersion of the element
 * and posts it as a message, or posts a WARNING. Methods are for the streaming thread. */
class LiveSharpening {
public:
  /* Begins to collect spectra with this resample map. */
  void begin (std::vector<double> map);
  bool is_collecting () const;
  /* Enqueues a copy of a B-scan. The last one starts the search. */
  bool add (GstElement *element, GstOpenCLContext *context, SampleFormat format,
      const RawSpectra &spectra, cl_command_queue queue, GError **error);
  /* Forgets the search. A WARNING has the reason, unless it is null. */
  void cancel (GstElement *element, const char *why);
  /* Waits until the result is posted, or `pad` is flushing. */
  void wait (GstPad *pad);

private:
  struct Search;

  std::shared_ptr<Search> search; /* null if none was begun */
};
} // namespace oct
