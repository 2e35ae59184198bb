/* opencl-bench: OCT pipelines and their input
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "run.hpp"

namespace bench {
/* Size of a frame of spectra, with samples of 16 bits */
struct OctFrame {
  unsigned samples, lines;

  double bytes_in () const { return 2.0 * samples * lines; }
  double bytes_out () const { return 0.5 * samples * lines; } /* GRAY8, half the bins */
  Result::Sizes sizes () const { return {{"samples", samples}, {"lines", lines}}; }
};

/* Wavelength range in metres, about that of a 1310 nm spectrometer, and dispersion of
 * OctChain::DISPERSION */
constexpr double wavelength_min = 1187.176e-9, wavelength_max = 1432.842e-9;
constexpr double dispersion_a2 = 7.994e-5, dispersion_a3 = 2.67e-9;
/* Displayed range in dB */
constexpr double db_min = 0, db_max = 80;

/* Variants of the chain. PLAIN resamples, without background subtraction. */
enum class OctChain {
  PLAIN,
  DISPERSION,
  BACKGROUND_FRAME,
  BACKGROUND_ROLLING,
  NO_RESAMPLING,
  NUFFT,
  FIXED_PATTERN,    /* octbackground, with octdisplay */
  AVERAGE,          /* octaverage of four frames */
  ANGIOGRAPHY,      /* octangio of four repeats, with octdisplay */
  FULL_ANGIOGRAPHY, /* the same, aligned, with threshold, without projections */
  DYNAMICS,         /* octdynamic of 32 repeats, liv in colour */
  SWIFTNESS,        /* the same, swiftness */
  DOPPLER,          /* octdoppler, with octdisplay */
  SIGNAL,           /* octsignal for spectra and A-scans in their own branches */
  FLATTEN,          /* octflatten, with octdisplay */
  ATTENUATION,      /* octattenuation with a window and noise, with octdisplay */
  VOLUME,           /* of 512 depths: en face, and rendered with each B-scan */
};

constexpr unsigned rendered_size = 1024; /* width and height of VOLUME */

/* Returns the number of input frames per output frame. */
unsigned frames_of (OctChain which);

/* Returns the elements that convert spectra to images on the device. */
std::string oct_chain (OctChain which);

/* Returns a source of spectra on the device (octtestsrc with caps). */
std::string made_spectra (const OctFrame &frame, const std::string &properties);

/* Sets `feed` to the first frame of that source. */
bool hold_spectra (const OctFrame &frame, Feed &feed, std::string &error);

/* The same in host memory: `copies` buffers, or the contents for a pool */
bool host_spectra (const OctFrame &frame, Feed::Kind kind, unsigned copies, Feed &feed,
    std::string &error);

/* Replaces the frames of `feed` by `copies` copies of the first one in host memory. */
bool to_host (Feed &feed, Feed::Kind kind, unsigned copies, std::string &error);
} // namespace bench
