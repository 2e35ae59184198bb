/* Formats of spectra in caps
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "rawspectra.hpp"

#include <gst/gst.h>

namespace oct {
struct CapsFormat {
  const char *media_type;
  const char *format;
  SampleFormat sample; /* format that the kernels read, after unpacking */
  guint bits;
  bool integer;
  const char *unpack; /* (nullable) option of the unpacking kernel */

  /* Returns the option of unpack.cl for this format, even if it needs no unpacking. */
  const char *unpacking () const
  {
    static const char *const plain_options[] = {
        "UNPACK_U8", "UNPACK_U16LE", "UNPACK_U16BE", "UNPACK_F32LE"};
    return unpack ? unpack : plain_options[gsize (sample)];
  }
  /* Each A-line begins at a byte. */
  gsize line_bytes (gsize samples) const { return (samples * bits + 7) / 8; }
  bool is_signed () const { return format[0] == 'S'; }
  /* Returns the maximum of a sample after the shift; 0 for floats. */
  guint full_scale (guint shift) const
  {
    return integer ? guint (((guint64 (1) << (bits - is_signed ())) - 1) >> shift) : 0;
  }
};

/* Reads the size and the format of fixed caps of spectra; null if they are none. */
const CapsFormat *parse_spectra (const GstCaps *caps, guint *samples, guint *lines);
} // namespace oct
