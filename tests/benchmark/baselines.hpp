/* opencl-bench: what other programs reach
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#pragma once

#include "octchain.hpp"
#include "session.hpp"

namespace bench {
/* The OCT chain on two threads of the CPU with FFTW. */
void measure_fftw_chain (const OctFrame &frame, const Buffer &spectra, bool dispersion,
    const Timing &timing, Result &result);

/* Complex transforms by FFTW alone on two threads. */
void measure_fftw (const OctFrame &frame, const Timing &timing, Result &result);

/* The OCT chain as a plain OpenCL program does it: for each frame buffers of its own, a
 * blocking write, a kernel, a blocking read, the FFT library, a blocking read. */
void measure_blocking_oct (GstOpenCLContext *context, const OctFrame &frame,
    const Buffer &spectra, const Timing &timing, Result &result);

/* chromakey, 5 × noisereduce, 3 × flowkey, 5 × noisereduce the same way: for each of
 * them buffers of its own, a launch and a blocking read. */
void measure_blocking_keying (GstOpenCLContext *context, unsigned width, unsigned height,
    const Buffer &picture, const Timing &timing, Result &result);

/* Filters of the command ffmpeg on RGBA of this size, on two threads, or where
 * `device_name` is not empty on that OpenCL device. */
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

/* CLBlast's product alone, on the same device, in operations a second. */
void measure_clblast (GstOpenCLContext *context, const Product &product,
    const Timing &timing, Result &result);

/* The same work in Python: a script that this program has within itself, which prints a
 * rate for each window. */
void measure_python (const char *script, const std::vector<std::string> &arguments,
    const Timing &timing, Result &result);

/* A text that this program has within itself. */
std::string resource_text (const char *path);
} // namespace bench
