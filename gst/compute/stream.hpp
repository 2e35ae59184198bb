/* Streams of an element, by the names of kernel arguments
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include <gst/common/arrayformat.hpp>

namespace compute {
/* Spectra as a camera gives them are gray video; npyparse, which makes either, is to know
 * that arrays are meant. */
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
  /* Lines that may stand apart, and how many bytes of each count. */
  gsize lines () const { return is_video ? array.shape[0] : 1; }
  gsize line_bytes () const { return array.bytes () / lines (); }
  /* From one line to the next where they do not stand apart. */
  gsize row_bytes () const
  {
    return is_video ? line_bytes ()
                    : array.length (0) * opencl::info_of (array.type).size;
  }
};

/* Format and size from fixed caps */
bool stream_of_caps (const char *name, GstCaps *caps, Stream &stream, GError **error);
} // namespace compute
