/* opencl-bench: Fourier transform cases
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"
#include "session.hpp"

namespace bench {
namespace {
struct Transform {
  const char *library;
  unsigned lines;
  bool is_complex;
};

/* Sets `feed` to spectra on the device, evenly spaced in wavenumber. */
bool
hold_wavenumbers (const OctFrame &frame, bool is_complex, Feed &feed, std::string &error)
{
  Feed spectra;
  if (!hold_spectra (frame, spectra, error))
    return false;
  const std::string chain =
      is_complex ? "octwindowinterp dispersion-a2=1e-5" : "octwindowinterp";
  return hold_frame (
      "benchmarksource name=source ! " + chain + " ! appsink name=sink sync=false",
      {{"source", spectra}}, feed, error);
}

std::function<void (Session &, const std::string &)>
transform (const Transform &which)
{
  return [which] (Session &session, const std::string &what) {
    const OctFrame frame = {
        session.options.samples, session.options.lines_or (which.lines)};
    Result result = session.result (what, frame.sizes (), "lines/s");
    Feed feed;
    const double bytes_in = 4.0 * frame.samples * (which.is_complex ? 2 : 1);
    const double bytes_out = 4.0 * frame.samples; /* CF32LE, half the bins */
    result.limit = session.ceilings.memory_limit (bytes_in + bytes_out);
    if (hold_wavenumbers (frame, which.is_complex, feed, result.error)) {
      const std::string text =
          std::string ("benchmarksource name=source ! octfft fft-library=")
          + which.library + " ! application/x-oct(memory:OpenCLMemory),format=CF32LE ! "
          + sink;
      measure ({text, {{"source", feed}}, double (frame.lines)}, session.options.timing,
          result);
    }
    session.print (result);
  };
}

void
run_fftw (Session &session, const std::string &what)
{
  const OctFrame frame = {session.options.samples, session.options.lines_or (1024)};
  Result result = session.result (what, frame.sizes (), "lines/s");
  result.device = "CPU";
  measure_fftw (frame, session.options.timing, result);
  session.print (result);
}
} // namespace

const std::vector<Case> fft_cases = {
    {"auto-real", "octfft, 16384 real lines", transform ({"auto", 16384, false})},
    {"auto-complex", "octfft, 16384 complex lines", transform ({"auto", 16384, true})},
    {"vkfft-real", "with VkFFT", transform ({"vkfft", 16384, false})},
    {"vkfft-complex", "with VkFFT", transform ({"vkfft", 16384, true})},
    {"clfft-real", "with clFFT", transform ({"clfft", 16384, false})},
    {"clfft-complex", "with clFFT", transform ({"clfft", 16384, true})},
    {"auto-real-60", "octfft, 60 real lines", transform ({"auto", 60, false})},
    {"baseline-fftw", "FFTW on two threads, complex", run_fftw},
};
} // namespace bench
