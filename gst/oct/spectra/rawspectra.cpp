/* Raw spectra on the device, and their memory layout
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "rawspectra.hpp"

namespace oct {
/* In the order of SampleFormat. */
static const Sample samples[] = {
    {"LOAD_U8", 1},
    {"LOAD_U16LE", 2},
    {"LOAD_U16BE", 2},
    {"LOAD_F32LE", 4},
};

const Sample &
sample_of (SampleFormat format)
{
  return samples[gsize (format)];
}

bool
check_samples (guint samples, GError **error)
{
  if (samples >= least_samples && samples <= most_samples)
    return true;
  g_set_error (error, GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
      "%u samples per A-line, expected %u to %u", samples, least_samples, most_samples);
  return false;
}
} // namespace oct
