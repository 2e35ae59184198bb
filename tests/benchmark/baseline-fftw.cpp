/* opencl-bench: the OCT chain on the CPU with FFTW, as an optimised program
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "baselines.hpp"

#include <gst/opencl/libraries.h>

#ifdef HAVE_FFTW
#include <fftw3.h>

#include <cmath>
#include <thread>

namespace bench {
namespace {
constexpr unsigned n_threads = 2;
constexpr unsigned block = 32; /* lines between two transpositions */

/* Aligned for FFTW */
using Floats = std::shared_ptr<float>;

Floats
floats (size_t count)
{
  return Floats (fftwf_alloc_real (count), fftwf_free);
}

fftwf_complex *
pairs (const Floats &floats, size_t at = 0)
{
  return reinterpret_cast<fftwf_complex *> (floats.get ()) + at;
}

/* For each evenly spaced wavenumber: position between samples, window and dispersion */
struct Tables {
  std::vector<int> sample;
  std::vector<float> part, factor, cosine, sine;

  explicit Tables (unsigned samples);
};

Tables::Tables (unsigned n) : sample (n), part (n), factor (n), cosine (n), sine (n)
{
  const double pi = std::acos (-1.0);
  const double k_first = 1 / wavelength_min, k_last = 1 / wavelength_max;
  double sum = 0;
  for (unsigned m = 0; m < n; m++) {
    const double wavelength = 1 / (k_first + (k_last - k_first) * m / (n - 1));
    const double r =
        (wavelength - wavelength_min) / (wavelength_max - wavelength_min) * (n - 1);
    sample[m] = std::min (std::max (int (r), 0), int (n) - 2);
    part[m] = r - sample[m];
    const double q = m - n / 2.0;
    const double phase = dispersion_a2 * q * q + dispersion_a3 * q * q * q;
    cosine[m] = std::cos (phase);
    sine[m] = -std::sin (phase);
    factor[m] = 0.5 - 0.5 * std::cos (2 * pi * m / (n - 1));
    sum += factor[m];
  }
  for (float &value : factor)
    value *= 2 / sum;
}

/* Memory and plan of a thread */
class Worker {
public:
  Worker (const OctFrame &frame, bool dispersion);
  ~Worker () { fftwf_destroy_plan (plan); }

  /* Converts A-lines `begin` … `end` of a frame to its image, with depths as rows. */
  void run (const guint16 *spectra, guint8 *picture, unsigned begin, unsigned end);

private:
  void window (const guint16 *line);
  void show (guint8 *row) const;
  void transpose (guint8 *picture, unsigned begin, unsigned count) const;

  const OctFrame frame;
  const bool dispersion;
  const Tables tables;
  Floats input, output;
  std::vector<guint8> rows;
  fftwf_plan plan;
};

Worker::Worker (const OctFrame &frame, bool dispersion)
    : frame (frame), dispersion (dispersion), tables (frame.samples),
      input (floats (2 * frame.samples)), output (floats (2 * frame.samples)),
      rows (size_t (block) * frame.samples / 2)
{
  const int n = frame.samples;
  plan = dispersion
             ? fftwf_plan_dft_1d (
                 n, pairs (input), pairs (output), FFTW_FORWARD, FFTW_MEASURE)
             : fftwf_plan_dft_r2c_1d (n, input.get (), pairs (output), FFTW_MEASURE);
}

void
Worker::window (const guint16 *line)
{
  float *to = input.get ();
  for (unsigned m = 0; m < frame.samples; m++) {
    const float low = line[tables.sample[m]], high = line[tables.sample[m] + 1];
    const float value = (low + tables.part[m] * (high - low)) * tables.factor[m];
    if (dispersion) {
      to[2 * m] = value * tables.cosine[m];
      to[2 * m + 1] = value * tables.sine[m];
    } else
      to[m] = value;
  }
}

/* log10 x = ln x / ln 10, and 20 log10 of the magnitude is 10 log10 of its square. */
void
Worker::show (guint8 *row) const
{
  const float scale = 255 / (db_max - db_min), decibels = scale * 10 / M_LN10;
  const float *from = output.get ();
  for (unsigned b = 0; b < frame.samples / 2; b++) {
    const float power = from[2 * b] * from[2 * b] + from[2 * b + 1] * from[2 * b + 1];
    const float level =
        decibels * logf (std::max (power, 1e-12f)) - scale * float (db_min);
    row[b] = int (std::min (std::max (level, 0.0f), 255.0f) + 0.5f);
  }
}

void
Worker::transpose (guint8 *picture, unsigned begin, unsigned count) const
{
  const unsigned depths = frame.samples / 2;
  for (unsigned b = 0; b < depths; b++)
    for (unsigned i = 0; i < count; i++)
      picture[size_t (b) * frame.lines + begin + i] = rows[size_t (i) * depths + b];
}

void
Worker::run (const guint16 *spectra, guint8 *picture, unsigned begin, unsigned end)
{
  for (unsigned first = begin; first < end; first += block) {
    const unsigned count = std::min (block, end - first);
    for (unsigned i = 0; i < count; i++) {
      window (spectra + size_t (first + i) * frame.samples);
      fftwf_execute (plan);
      show (&rows[size_t (i) * frame.samples / 2]);
    }
    transpose (picture, first, count);
  }
}

/* Runs `work (thread)` on all threads at once, in each round. */
class Team {
public:
  explicit Team (std::function<void (unsigned)> work)
  {
    for (unsigned i = 0; i < n_threads; i++)
      threads.emplace_back ([this, i, work] {
        for (guint64 round = 1; wait_for_round (round); round++) {
          work (i);
          std::lock_guard<std::mutex> guard (lock);
          if (++done == n_threads)
            changed.notify_all ();
        }
      });
  }
  ~Team ()
  {
    {
      std::lock_guard<std::mutex> guard (lock);
      over = true;
      changed.notify_all ();
    }
    for (std::thread &thread : threads)
      thread.join ();
  }
  void run ()
  {
    std::unique_lock<std::mutex> guard (lock);
    done = 0;
    current++;
    changed.notify_all ();
    changed.wait (guard, [this] { return done == n_threads; });
  }

private:
  bool wait_for_round (guint64 round)
  {
    std::unique_lock<std::mutex> guard (lock);
    changed.wait (guard, [&] { return over || current >= round; });
    return !over;
  }

  std::mutex lock;
  std::condition_variable changed;
  unsigned done = 0;
  guint64 current = 0;
  bool over = false;
  std::vector<std::thread> threads;
};

bool
can_run (Result &result)
{
#ifdef BUILT_FOR_AVX2
  if (!__builtin_cpu_supports ("avx2") || !__builtin_cpu_supports ("fma"))
    result.error = "this baseline is built for a CPU with AVX2 and FMA";
#endif
  return result.error.empty ();
}

/* Measures frames per second, and converts them to lines per second. */
void
measure_team (Team &team, double lines, const Timing &timing, Result &result)
{
  result.rates = repeat (timing, [&] {
    team.run ();
    return true;
  });
  for (double &rate : result.rates)
    rate *= lines;
  result.more = {{"threads", n_threads}};
}
} // namespace

void
measure_fftw_chain (const OctFrame &frame, const Buffer &spectra, bool dispersion,
    const Timing &timing, Result &result)
{
  GstMapInfo map;
  if (!can_run (result) || !gst_buffer_map (spectra.get (), &map, GST_MAP_READ))
    return;
  {
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned i = 0; i < n_threads; i++)
      workers.push_back (std::make_unique<Worker> (frame, dispersion));
    std::vector<guint8> picture (size_t (frame.bytes_out ()));
    Team team ([&] (unsigned i) {
      workers[i]->run (reinterpret_cast<const guint16 *> (map.data), picture.data (),
          frame.lines * i / n_threads, frame.lines * (i + 1) / n_threads);
    });
    measure_team (team, frame.lines, timing, result);
  }
  gst_buffer_unmap (spectra.get (), &map);
}

void
measure_fftw (const OctFrame &frame, const Timing &timing, Result &result)
{
  if (!can_run (result))
    return;
  const int n = frame.samples;
  const size_t count = size_t (frame.samples) * frame.lines;
  const Floats input = floats (2 * count), output = floats (2 * count);
  fftwf_plan plan =
      fftwf_plan_dft_1d (n, pairs (input), pairs (output), FFTW_FORWARD, FFTW_MEASURE);
  memset (input.get (), 0, 2 * count * sizeof (float));
  {
    Team team ([&] (unsigned i) {
      for (unsigned line = frame.lines * i / n_threads;
           line < frame.lines * (i + 1) / n_threads; line++)
        fftwf_execute_dft (
            plan, pairs (input, size_t (line) * n), pairs (output, size_t (line) * n));
    });
    measure_team (team, frame.lines, timing, result);
  }
  fftwf_destroy_plan (plan);
}
} // namespace bench

#else
namespace bench {
namespace {
const char *const missing = "opencl-bench was built without FFTW (libfftw3-dev)";
}

void
measure_fftw_chain (
    const OctFrame &, const Buffer &, bool, const Timing &, Result &result)
{
  result.error = missing;
}

void
measure_fftw (const OctFrame &, const Timing &, Result &result)
{
  result.error = missing;
}
} // namespace bench
#endif
