/* Input or output of an element, with the name of its kernel argument
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>

namespace compute {
/* domain=wavelength is left out, because raw spectra are also gray video. npyparse can
 * output application/x-oct or arrays. Without this domain it chooses arrays. */
#define COMPUTE_CAPS(features)                                                           \
  "video/x-raw" features ", format = (string) " ARRAY_VIDEO_FORMATS                      \
  ", width = (int) [ 1, 2147483647 ], height = (int) [ 1, 2147483647 ], "                \
  "framerate = (fraction) [ 0/1, 2147483647/1 ]; " TENSORS_CAPS (                        \
      features) "; application/x-oct" features                                           \
                ", domain = (string) { depth, wavenumber }, "                            \
                "format = (string) { F32LE, CF32LE }, samples = (int) [ 1, max ], "      \
                "lines = (int) [ 1, max ], framerate = (fraction) [ 0/1, "               \
                "2147483647/1 ]"

struct Stream {
  std::string name;
  opencl::ArrayFormat array;
  bool is_video = false;

  gsize width () const { return is_video ? array.shape[1] : array.length (0); }
  gsize height () const { return is_video ? array.shape[0] : array.length (1); }
  /* Number of rows that may have padding between them, and bytes of a row without
   * padding */
  gsize lines () const { return is_video ? array.shape[0] : 1; }
  gsize line_bytes () const { return array.bytes () / lines (); }
  /* Row stride without padding */
  gsize row_bytes () const
  {
    return is_video ? line_bytes ()
                    : array.length (0) * opencl::info_of (array.type).size;
  }
};

/* Reads format and size from fixed caps. */
bool stream_of_caps (const char *name, GstCaps *caps, Stream &stream, GError **error);
} // namespace compute
