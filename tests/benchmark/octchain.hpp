/* opencl-bench: the OCT chain and its input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "run.hpp"

namespace bench {
/* 2048 samples of 16 bits and the like. */
struct OctFrame {
  unsigned samples, lines;

  double bytes_in () const { return 2.0 * samples * lines; }
  double bytes_out () const { return 0.5 * samples * lines; } /* GRAY8, half the bins */
  Result::Sizes sizes () const { return {{"samples", samples}, {"lines", lines}}; }
};

/* The wavelengths that are resampled from, in m: about those of a spectrometer of 1310
 * nm; and the dispersion where there is some. */
constexpr double wavelength_min = 1187.176e-9, wavelength_max = 1432.842e-9;
constexpr double dispersion_a2 = 7.994e-5, dispersion_a3 = 2.67e-9;
/* Content of the image */
constexpr double db_min = 0, db_max = 80;

/* Steps in addition to, or in place of, resampling without background */
enum class OctChain {
  PLAIN,
  DISPERSION,
  BACKGROUND_FRAME,
  BACKGROUND_ROLLING,
  NO_RESAMPLING,
  NUFFT,
  FIXED_PATTERN, /* taken out, with its display */
  AVERAGE,       /* pictures, of four each */
  ANGIOGRAPHY,   /* of four repeats each, with its display */
  DOPPLER,       /* likewise, of each */
  VOLUME,        /* of 512 depths, en face and seen ray by ray with each B-scan */
};

constexpr unsigned rendered_size = 1024; /* width and height, of VOLUME */

/* Frames of spectra that one of the output is of. */
unsigned frames_of (OctChain which);

/* Elements that make a picture of spectra on the device. */
std::string oct_chain (OctChain which);

/* Frames that octtestsrc makes on the device. */
std::string made_spectra (const OctFrame &frame, const std::string &properties);

/* The first of them. */
bool hold_spectra (const OctFrame &frame, Feed &feed, std::string &error);

/* The same in host memory: `copies` of ordinary memory, or the contents of a pool. */
bool host_spectra (const OctFrame &frame, Feed::Kind kind, unsigned copies, Feed &feed,
    std::string &error);

/* `feed`'s first frame in ordinary host memory, `copies` times. */
bool to_host (Feed &feed, Feed::Kind kind, unsigned copies, std::string &error);
} // namespace bench
