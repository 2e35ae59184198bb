/* opencl-bench: baselines, the same work done by other programs
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "octchain.hpp"
#include "session.hpp"

#include <gst/opencl/opencl-prelude.h>

namespace bench {
/* The OCT chain on two CPU threads with FFTW */
void measure_fftw_chain (const OctFrame &frame, const Buffer &spectra, bool dispersion,
    const Timing &timing, Result &result);

/* Complex transforms by FFTW alone, on two threads */
void measure_fftw (const OctFrame &frame, const Timing &timing, Result &result);

/* The OCT chain as a simple OpenCL program. Each frame allocates buffers. It is written,
 * resampled, read, written, transformed by the FFT library, and read, with blocking
 * copies. */
void measure_blocking_oct (GstOpenCLContext *context, const OctFrame &frame,
    const Buffer &spectra, const Timing &timing, Result &result);

/* chromakey, 5 × noisereduce, 3 × flowkey, 5 × noisereduce as a simple OpenCL program.
 * Each step allocates buffers, launches a kernel and does a blocking read. */
void measure_blocking_keying (GstOpenCLContext *context, unsigned width, unsigned height,
    const Buffer &picture, const Timing &timing, Result &result);

/* Filters of the command ffmpeg on RGBA frames: on two CPU threads or, if `device_name`
 * is not empty, on that OpenCL device */
void measure_ffmpeg (const std::string &device_name, const std::string &filters,
    unsigned width, unsigned height, const Timing &timing, Result &result);

/* A matrix of `rows` by `depth` times one of `depth` by `width` */
struct Product {
  size_t rows, depth, width;

  double operations () const
  {
    return 2.0 * double (rows) * double (depth) * double (width);
  }
};

/* CLBlast's matrix product alone, on the same device, in operations per second */
void measure_clblast (GstOpenCLContext *context, const Product &product,
    const Timing &timing, Result &result);

/* The same work in Python: runs an embedded script, which prints a rate for each
 * window. */
void measure_python (const char *script, const std::vector<std::string> &arguments,
    const Timing &timing, Result &result);

/* Returns the text of an embedded resource. */
std::string resource_text (const char *path);
} // namespace bench
