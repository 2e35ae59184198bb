/* opencl-bench: OCT cases
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"
#include "firstframe.hpp"
#include "octchain.hpp"
#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <gst/opencl/gstopenclcontext.h>

namespace bench {
namespace {
/* An application's buffers in flight */
constexpr unsigned application_buffers = 8;

/* Differences between cases with the same pipeline */
struct OctCase {
  unsigned lines;
  enum { HOST_PINNED, HOST_PAGEABLE, ON_DEVICE, DEVICE_TO_HOST } from;
  OctChain chain;
  bool count_frames; /* the rate is of frames, not of A-lines */

  bool begins_on_device () const { return from == ON_DEVICE || from == DEVICE_TO_HOST; }
};

OctFrame
frame_of (const Session &session, unsigned lines)
{
  return {session.options.samples, session.options.lines_or (lines)};
}

bool
make_feed (const OctCase &which, const OctFrame &frame, Feed &feed, std::string &error)
{
  switch (which.from) {
  case OctCase::HOST_PINNED:
    return host_spectra (frame, Feed::POOL, 1, feed, error);
  case OctCase::HOST_PAGEABLE:
    return host_spectra (frame, Feed::HELD, application_buffers, feed, error);
  default:
    return hold_spectra (frame, feed, error);
  }
}

bool
make_line (const OctCase &which, const OctFrame &frame, const char *sink, Line &line,
    std::string &error)
{
  Feed feed;
  if (!make_feed (which, frame, feed, error))
    return false;
  const std::string chain = oct_chain (which.chain);
  line.text = "benchmarksource name=source ! "
              + std::string (which.begins_on_device () ? "" : "openclupload ! ") + chain
              + (which.from == OctCase::ON_DEVICE ? "" : " ! opencldownload") + " ! "
              + sink;
  line.feeds = {{"source", feed}};
  line.amount = (which.count_frames ? 1 : frame.lines) * frames_of (which.chain);
  return true;
}

double
limit_of (const Session &session, const OctCase &which, const OctFrame &frame)
{
  const double out = which.chain == OctChain::VOLUME
                         ? double (rendered_size) * rendered_size
                         : frame.bytes_out ();
  const double frames = which.from == OctCase::ON_DEVICE
                            ? session.ceilings.memory_limit (frame.bytes_in () + out)
                            : session.ceilings.link_limit (
                                which.begins_on_device () ? 0 : frame.bytes_in (), out);
  return frames * (which.count_frames ? 1 : frame.lines);
}

void
run_rate (Session &session, const std::string &what, const OctCase &which)
{
  const OctFrame frame = frame_of (session, which.lines);
  Result result = session.result (
      what, frame.sizes (), which.count_frames ? "frames/s" : "A-lines/s");
  Line line;
  result.limit = limit_of (session, which, frame);
  const char *end = which.from == OctCase::ON_DEVICE ? sink : queued_sink;
  if (make_line (which, frame, end, line, result.error))
    measure (line, session.options.timing, result);
  session.print (result);
}

constexpr OctCase host_pinned = {1024, OctCase::HOST_PINNED, OctChain::PLAIN, false};

void
run_latency (Session &session, const std::string &what)
{
  const OctFrame frame = frame_of (session, host_pinned.lines);
  Result result = session.result (what, frame.sizes (), "frames/s");
  Line line;
  /* Upload and download of one frame do not overlap. */
  result.limit = 1
                 / (frame.bytes_in () / session.ceilings.upload
                     + frame.bytes_out () / session.ceilings.download);
  if (make_line (host_pinned, frame, sink, line, result.error))
    measure_latency (line, session.options.timing, result);
  session.print (result);
}

/* Runs at the same time: median of the sum of their rates, and the smallest rate of one
 * run in one window relative to an equal share */
struct Together {
  double sum = NAN, least_share = NAN;
};

using Runs = std::vector<std::unique_ptr<Run>>;

std::vector<double>
amounts_of (const Runs &runs)
{
  std::vector<double> amounts;
  for (const auto &run : runs)
    amounts.push_back (run->amount_so_far ());
  return amounts;
}

/* Measures in windows that all runs share. Their own windows may be at different
 * times. */
Together
watch_together (const Runs &runs, const Timing &timing)
{
  Together together;
  std::vector<double> sums;
  g_usleep (gulong (timing.warm_up * G_USEC_PER_SEC));
  for (unsigned window = 0; window < timing.windows; window++) {
    const std::vector<double> before = amounts_of (runs);
    const double start = now ();
    g_usleep (gulong (timing.seconds * G_USEC_PER_SEC));
    const std::vector<double> after = amounts_of (runs);
    const double sum = std::accumulate (after.begin (), after.end (), 0.0)
                       - std::accumulate (before.begin (), before.end (), 0.0);
    sums.push_back (sum / (now () - start));
    for (std::size_t n = 0; n < runs.size (); n++)
      together.least_share = std::fmin (
          together.least_share, (after[n] - before[n]) / sum * double (runs.size ()));
  }
  together.sum = median (sums);
  return together;
}

Together
measure_together (const std::vector<Line> &lines, const Timing &timing, Result &result)
{
  Runs runs;
  for (const Line &line : lines)
    runs.push_back (std::make_unique<Run> (line, timing));
  for (auto &run : runs)
    run->start ();
  for (auto &run : runs)
    run->wait_for_frames (1);
  const Together together = watch_together (runs, timing);
  for (auto &run : runs) {
    run->stop ();
    if (!run->error ().empty ())
      result.error = run->error ();
  }
  return together;
}

/* Compares all of them with the first one alone. */
void
compare_together (const std::vector<Line> &lines, const Timing &timing, Result &result)
{
  const double alone = measure_together ({lines[0]}, timing, result).sum;
  const Together together = measure_together (lines, timing, result);
  if (std::isfinite (together.sum))
    result.rates = {together.sum};
  result.more = {{"alone", alone}, {"of_alone", together.sum / alone},
      {"least_share", together.least_share}};
}

void
run_two (Session &session, const std::string &what, const OctCase &which)
{
  const OctFrame frame = frame_of (session, which.lines);
  Result result = session.result (what, frame.sizes (), "A-lines/s");
  Line line;
  result.limit = limit_of (session, which, frame);
  const char *end = which.from == OctCase::ON_DEVICE ? sink : queued_sink;
  if (make_line (which, frame, end, line, result.error))
    compare_together ({line, line}, session.options.timing, result);
  session.print (result);
}

/* Returns the session's device and another one of its platform, as names for the property
 * `device`. */
std::vector<std::string>
name_two_devices (const Session &session, std::string &error)
{
  const cl_device_id own = gst_opencl_context_get_device (session.context);
  cl_platform_id platform = nullptr, platforms[16];
  cl_device_id devices[16];
  cl_uint n_platforms = 0, n = 0;

  clGetDeviceInfo (own, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  clGetPlatformIDs (G_N_ELEMENTS (platforms), platforms, &n_platforms);
  clGetDeviceIDs (platform, CL_DEVICE_TYPE_ALL, G_N_ELEMENTS (devices), devices, &n);
  if (n < 2) {
    error = "the platform has no second device";
    return {};
  }
  const auto p = std::find (platforms, platforms + n_platforms, platform) - platforms;
  const auto d = std::find (devices, devices + n, own) - devices;
  const std::string prefix = std::to_string (p) + ":";
  return {prefix + std::to_string (d), prefix + std::to_string ((d + 1) % n)};
}

/* Runs a pipeline on each of two devices at once, and compares them with one alone. */
void
run_two_devices (Session &session, const std::string &what)
{
  const OctFrame frame = frame_of (session, host_pinned.lines);
  Result result = session.result (what, frame.sizes (), "A-lines/s");
  std::vector<Line> lines;
  result.limit = 2 * limit_of (session, host_pinned, frame);
  for (const std::string &device : name_two_devices (session, result.error)) {
    const std::string upload = "openclupload";
    Line line;
    if (!make_line (host_pinned, frame, queued_sink, line, result.error))
      continue;
    line.text.insert (line.text.find (upload) + upload.size (), " device=" + device);
    lines.push_back (line);
  }
  if (result.error.empty ())
    compare_together (lines, session.options.timing, result);
  session.print (result);
}

/* Compares a chain with the plain one, in alternating pairs. Prints both rates and their
 * ratio. */
void
run_added (Session &session, const std::string &what, const OctCase &which)
{
  const OctFrame frame = frame_of (session, which.lines);
  Result result = session.result (what, frame.sizes (), "A-lines/s");
  OctCase plain = which;
  Line line, plain_line;
  double with = 0, without = 0;
  const int pairs = 2;
  result.limit = limit_of (session, which, frame);
  plain.chain = OctChain::PLAIN;
  const char *end = which.from == OctCase::ON_DEVICE ? sink : queued_sink;
  if (!make_line (which, frame, end, line, result.error)
      || !make_line (plain, frame, end, plain_line, result.error)) {
    session.print (result);
    return;
  }
  for (int n = 0; n < pairs && result.error.empty (); n++) {
    measure (plain_line, session.options.timing, result);
    without += median (result.rates) / pairs;
    if (result.error.empty ())
      measure (line, session.options.timing, result);
    with += median (result.rates) / pairs;
  }
  result.delays.clear ();
  if (result.error.empty ())
    result.rates = {with};
  result.more = {{"without", without}, {"of_without", with / without}};
  session.print (result);
}

void
run_fftw (Session &session, const std::string &what, bool dispersion)
{
  const OctFrame frame = frame_of (session, host_pinned.lines);
  Result result = session.result (what, frame.sizes (), "A-lines/s");
  result.device = "CPU";
  Feed feed;
  if (host_spectra (frame, Feed::HELD, 1, feed, result.error))
    measure_fftw_chain (
        frame, feed.frames.front (), dispersion, session.options.timing, result);
  session.print (result);
}

void
run_seed (Session &session, const std::string &what, unsigned lines)
{
  const OctFrame frame = frame_of (session, lines);
  Result result = session.result (what, frame.sizes (), "A-lines/s");
  Feed feed;
  if (host_spectra (frame, Feed::HELD, 1, feed, result.error))
    measure_blocking_oct (
        session.context, frame, feed.frames.front (), session.options.timing, result);
  session.print (result);
}

/* The limit is that of writing the frames. */
void
run_source (Session &session, const std::string &what, const char *pattern)
{
  const OctFrame frame = frame_of (session, 16384);
  Result result = session.result (what, frame.sizes (), "A-lines/s");
  result.limit = session.ceilings.memory_limit (frame.bytes_in ()) * frame.lines;
  const std::string text =
      made_spectra (frame, std::string ("pattern=") + pattern) + " ! " + sink;
  measure ({text, {}, double (frame.lines)}, session.options.timing, result);
  session.print (result);
}

} // namespace

const std::vector<Case> oct_cases = {
    {"host-pinned", "1024 lines, host to host, source writes to pinned memory",
        with (run_rate, host_pinned)},
    {"host-pageable", "the same, source memory is pageable",
        with (run_rate, OctCase{1024, OctCase::HOST_PAGEABLE, OctChain::PLAIN, false})},
    {"host-60-lines", "60 lines, host to host, pinned; in frames",
        with (run_rate, OctCase{60, OctCase::HOST_PINNED, OctChain::PLAIN, true})},
    {"device", "16384 lines, device to device",
        with (run_rate, OctCase{16384, OctCase::ON_DEVICE, OctChain::PLAIN, false})},
    {"device-dispersion", "the same with dispersion (complex transform)",
        with (run_rate, OctCase{16384, OctCase::ON_DEVICE, OctChain::DISPERSION, false})},
    {"device-background-frame", "device, each frame's mean subtracted",
        with (run_rate,
            OctCase{16384, OctCase::ON_DEVICE, OctChain::BACKGROUND_FRAME, false})},
    {"device-background-rolling", "device, mean of the previous 16 frames subtracted",
        with (run_rate,
            OctCase{16384, OctCase::ON_DEVICE, OctChain::BACKGROUND_ROLLING, false})},
    {"device-no-resampling", "device, with samples that are even in wavenumber",
        with (run_rate,
            OctCase{16384, OctCase::ON_DEVICE, OctChain::NO_RESAMPLING, false})},
    {"device-nufft", "device, with interpolation=nufft",
        with (run_rate, OctCase{16384, OctCase::ON_DEVICE, OctChain::NUFFT, false})},
    {"host-nufft", "host-pinned, with interpolation=nufft",
        with (run_rate, OctCase{1024, OctCase::HOST_PINNED, OctChain::NUFFT, false})},
    {"device-fixed-pattern", "device, octbackground between octfft and octdisplay",
        with (run_added,
            OctCase{16384, OctCase::ON_DEVICE, OctChain::FIXED_PATTERN, false})},
    {"host-fixed-pattern", "host-pinned, the same",
        with (run_added,
            OctCase{1024, OctCase::HOST_PINNED, OctChain::FIXED_PATTERN, false})},
    {"host-background-frame", "host-pinned, each frame's mean subtracted",
        with (run_rate,
            OctCase{1024, OctCase::HOST_PINNED, OctChain::BACKGROUND_FRAME, false})},
    {"host-background-rolling", "host-pinned, mean of the previous 16 frames subtracted",
        with (run_rate,
            OctCase{1024, OctCase::HOST_PINNED, OctChain::BACKGROUND_ROLLING, false})},
    {"host-average", "host-pinned, means of 4 images, compared with host-pinned",
        with (run_added, OctCase{1024, OctCase::HOST_PINNED, OctChain::AVERAGE, false})},
    {"host-angiography",
        "host-pinned, angiograms of 4 repeats, compared with host-pinned",
        with (run_added,
            OctCase{1024, OctCase::HOST_PINNED, OctChain::ANGIOGRAPHY, false})},
    {"host-full-angiography",
        "the same with alignment in both directions, a threshold above the noise and "
        "projection artefacts removed",
        with (run_added,
            OctCase{1024, OctCase::HOST_PINNED, OctChain::FULL_ANGIOGRAPHY, false})},
    {"host-dynamics",
        "host-pinned, liv of 32 repeats in colour, compared with host-pinned",
        with (run_added, OctCase{1024, OctCase::HOST_PINNED, OctChain::DYNAMICS, false})},
    {"host-swiftness", "the same, swiftness",
        with (
            run_added, OctCase{1024, OctCase::HOST_PINNED, OctChain::SWIFTNESS, false})},
    {"host-doppler", "host-pinned, velocities, compared with host-pinned",
        with (run_added, OctCase{1024, OctCase::HOST_PINNED, OctChain::DOPPLER, false})},
    {"host-signal",
        "host-pinned, spectra and A-scans measured and plotted 10 times a second, "
        "compared "
        "with host-pinned",
        with (run_added, OctCase{1024, OctCase::HOST_PINNED, OctChain::SIGNAL, false})},
    {"device-signal", "device, the same, compared with device",
        with (run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::SIGNAL, false})},
    {"host-flatten", "host-pinned, octflatten between octfft and octdisplay",
        with (run_added, OctCase{1024, OctCase::HOST_PINNED, OctChain::FLATTEN, false})},
    {"host-attenuation", "host-pinned, attenuation coefficients",
        with (run_added,
            OctCase{1024, OctCase::HOST_PINNED, OctChain::ATTENUATION, false})},
    {"device-flatten", "device, octflatten between octfft and octdisplay",
        with (run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::FLATTEN, false})},
    {"device-attenuation", "device, attenuation coefficients",
        with (
            run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::ATTENUATION, false})},
    {"device-average", "device, means of 4 images, compared with device",
        with (run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::AVERAGE, false})},
    {"device-angiography", "device, angiograms of 4 repeats, compared with device",
        with (
            run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::ANGIOGRAPHY, false})},
    {"device-full-angiography",
        "device, the same as host-full-angiography, compared with device",
        with (run_added,
            OctCase{16384, OctCase::ON_DEVICE, OctChain::FULL_ANGIOGRAPHY, false})},
    {"device-dynamics", "device, liv of 32 repeats in colour, compared with device",
        with (run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::DYNAMICS, false})},
    {"device-swiftness", "the same, swiftness",
        with (run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::SWIFTNESS, false})},
    {"device-doppler", "device, velocities, compared with device",
        with (run_added, OctCase{16384, OctCase::ON_DEVICE, OctChain::DOPPLER, false})},
    {"device-volume",
        "device, 512 lines: a volume of 512 B-scans; for each B-scan an en face "
        "projection and a rendering of 1024 x 1024 rays",
        with (run_rate, OctCase{512, OctCase::ON_DEVICE, OctChain::VOLUME, true})},
    {"host-volume", "host-pinned, the same",
        with (run_rate, OctCase{512, OctCase::HOST_PINNED, OctChain::VOLUME, true})},
    {"source-mirrors", "octtestsrc, 16384 lines on the device: three mirrors",
        with (run_source, "mirrors")},
    {"source-layers", "the same with moving tissue", with (run_source, "layers")},
    {"latency", "one frame of 1024 lines at a time, host to host", run_latency},
    {"two-at-once", "host-pinned, sum of two pipelines", with (run_two, host_pinned)},
    {"two-downloads", "the same from the device to the host",
        with (run_two, OctCase{1024, OctCase::DEVICE_TO_HOST, OctChain::PLAIN, false})},
    {"two-on-device", "device, sum of two pipelines",
        with (run_two, OctCase{16384, OctCase::ON_DEVICE, OctChain::PLAIN, false})},
    {"two-devices", "host-pinned, sum of two pipelines on two devices", run_two_devices},
    {"first-frame", "process start to first frame, without and with kernel caches",
        [] (Session &session, const std::string &what) {
          measure_first_frames (
              session, what, frame_of (session, host_pinned.lines).sizes ());
        }},
    {"baseline-fftw", "FFTW on two threads, real input", with (run_fftw, false)},
    {"baseline-fftw-dispersion", "the same with dispersion", with (run_fftw, true)},
    {"baseline-blocking", "1024 lines: blocking copies and allocation per frame, clFFT",
        with (run_seed, 1024)},
    {"baseline-blocking-60", "the same with 60 lines", with (run_seed, 60)},
};
} // namespace bench
