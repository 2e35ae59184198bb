/* Tests of octangio's alignment of samples that move along the beam
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "../as-gpu.hpp"
#include "depthframes.hpp"
#include "../octreference.hpp"

using namespace check;
using namespace depths;

namespace {
const gsize samples = 256, lines = 16;
const guint axial_shift = 5;
/* Depths at either end that are not compared, in addition to those that moved out */
const gsize margin = 8;
/* Carrier: turns per bin of the transform without padding, at the first wavenumber */
const double turns_per_bin = 5.3;

struct Chain {
  std::string label;
  gsize padded = samples; /* wavenumbers including padding */
  gsize start = 0, count = samples / 2;
  std::string window = "hann";
  double dispersion = 0; /* as dispersion-a2, in rad */
  guint shift = axial_shift;
  double most_db = -40; /* allowed residual power */
};

const Chain chains[] = {
    {"all depths"},
    {"some depths", samples, 30, 64},
    {"zero padding", 2 * samples, 0, samples},
    {"some depths of zero padding", 2 * samples, 70, 128},
    {"four times zero padding", 4 * samples, 120, 256},
    {"Blackman", samples, 0, samples / 2, "blackman"},
    {"Tukey", samples, 0, samples / 2, "tukey"},
    {"dispersion", samples, 0, samples / 2, "hann", 3e-4},
    {"small shifts", samples, 0, samples / 2, "hann", 0, 1},
    {"few depths", samples, 40, 40, "hann", 0, 4},
    {"flattop", samples, 0, samples / 2, "flattop"},
    {"Hamming", samples, 0, samples / 2, "hamming", 0, axial_shift, -30},
    {"Gaussian", samples, 0, samples / 2, "gaussian", 0, axial_shift, -30},
    {"Hamming with zero padding", 2 * samples, 0, samples, "hamming"},
    {"Gaussian with zero padding", 2 * samples, 0, samples, "gaussian"},
};

/* A sample as its analytic spectra: grains at random depths, with random phases */
std::vector<fourier::Line>
grains (guint seed, const Chain &chain)
{
  std::mt19937 random (seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> depth (2, samples / 2.0 - 2);
  std::vector<fourier::Line> spectra (lines, fourier::Line (samples));
  for (fourier::Line &line : spectra) {
    for (gsize grain = 0; grain < samples / 2; grain++) {
      const double z = depth (random);
      const Complex a (normal (random), normal (random));
      const Complex step = std::polar (1.0, 2 * G_PI * z / samples);
      Complex turn = 1000.0 * a;
      for (gsize m = 0; m < samples; m++, turn *= step)
        line[m] += turn;
    }
    for (gsize m = 0; m < samples; m++)
      line[m] *=
          std::polar (1.0, chain.dispersion * std::pow (double (m) - samples / 2.0, 2));
  }
  return spectra;
}

/* Raw spectra of the sample, moved by `shift` bins of the transform: a phase ramp in k,
 * and the carrier. Each A-line also gets a random phase of up to `jitter` * pi rad, as
 * from a scanner. */
Values
spectra_of (const std::vector<fourier::Line> &sample, const Chain &chain, double shift,
    double noise, std::mt19937 &random, double jitter = 1)
{
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> angle (-G_PI, G_PI);
  Values spectra;
  for (const fourier::Line &line : sample) {
    const double carrier = 2 * G_PI * turns_per_bin * shift * samples / chain.padded;
    const double tilt = jitter * angle (random);
    for (gsize m = 0; m < samples; m++) {
      const double ramp = 2 * G_PI * double (m) * shift / double (chain.padded);
      spectra.push_back ((line[m] * std::polar (1.0, ramp + carrier + tilt)).real ()
                         + noise * normal (random));
    }
  }
  return spectra;
}

/* Depths of all A-lines in double precision, as octwindowinterp and octfft define them */
Pairs
depths_of_spectra (const Values &spectra, const Chain &chain)
{
  const Values window = reference::scaled_window (chain.window, samples);
  Pairs depths;
  for (gsize line = 0; line < lines; line++) {
    fourier::Line spectrum (chain.padded);
    for (gsize m = 0; m < samples; m++) {
      const double q = double (m) - samples / 2.0;
      spectrum[m] = spectra[line * samples + m] * window[m]
                    * std::polar (1.0, -chain.dispersion * q * q);
    }
    const fourier::Line bins = fourier::transform (spectrum);
    depths.insert (depths.end (), bins.begin () + gssize (chain.start),
        bins.begin () + gssize (chain.start + chain.count));
  }
  return depths;
}

/* Sum over all A-lines, without `out` depths at either end */
double
sum_inside (const Values &values, gsize depths, gsize out)
{
  double sum = 0;
  for (gsize at = 0; at < values.size (); at++) {
    if (at % depths >= out && at % depths < depths - out)
      sum += values[at];
  }
  return sum;
}

class Angiograms {
public:
  Angiograms (const Chain &chain, const std::string &method, guint shift)
      : chain (chain), factor (method == "speckle-variance" ? 4 : 1),
        harness (text ("openclupload ! octwindowinterp window=%s padded-samples=%zu "
                       "dispersion-a2=%.9f ! octfft depth-start=%zu depth-count=%zu ! "
                       "octangio repeats=2 method=%s axial-shift=%u",
                     chain.window.c_str (), chain.padded > samples ? chain.padded : 0,
                     chain.dispersion, chain.start, chain.count, method.c_str (), shift),
            text ("application/x-oct,domain=wavelength,format=F32LE,samples=%zu,"
                  "lines=%zu,framerate=50/1",
                samples, lines))
  {
  }

  /* Returns the share of the power of static tissue that remains after a shift of `shift`
   * bins. Half the difference of two amplitudes is the deviation of both from their
   * mean. */
  double residual (const Values &first, const Values &second, double shift)
  {
    if (first != still) {
      still = first;
      power.clear ();
      for (const Complex &bin : depths_of_spectra (first, chain))
        power.push_back (std::norm (bin));
    }
    harness.push (timed (bytes_of<float> (first), frame++));
    harness.push (timed (bytes_of<float> (second), frame++));
    const gsize out = margin + gsize (std::ceil (std::abs (shift)));
    return factor * sum_inside (pull_numbers (harness), chain.count, out)
           / sum_inside (power, chain.count, out);
  }

private:
  const Chain &chain;
  const double factor;
  Values still, power;
  Harness harness;
  guint frame = 0;
};

/* Tenths of a bin, whole bins and both together, up and down */
Values
shifts_up_to (double most)
{
  Values shifts;
  for (double shift : {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.3, 2.0,
           2.5, 2.8, 3.0, 3.45, 4.0, 4.2, 4.5, 4.6, 4.9, 5.0}) {
    if (shift <= most)
      shifts.push_back (shift);
    if (shift > 0 && shift <= most)
      shifts.push_back (-shift);
  }
  return shifts;
}

/* Fails unless the residual at each shift is within the limit of the chain. */
void
expect_aligned (const Chain &chain, const std::string &method)
{
  const std::vector<fourier::Line> sample = grains (3, chain);
  std::mt19937 random (7);
  const Values still = spectra_of (sample, chain, 0, 0, random, 0);
  Angiograms angiograms (chain, method, chain.shift);
  for (double shift : shifts_up_to (chain.shift)) {
    const Values moved = spectra_of (sample, chain, shift, 0, random);
    const double left = 10 * std::log10 (angiograms.residual (still, moved, shift));
    fail_unless (left <= chain.most_db, "%s, %s, %g bins: %.1f dB are left",
        chain.label.c_str (), method.c_str (), shift, left);
  }
}
} // namespace

TEST_ROWS (test_octangio_aligns_to_40_db, chains)
{
  expect_aligned (row, "complex-variance");
}

TEST (test_octangio_aligns_amplitudes_to_40_db)
{
  expect_aligned (chains[0], "speckle-variance");
}

/* Noise is new in each repeat, so a sample that moved leaves as much residual as one that
 * did not. */
TEST_ROWS (test_octangio_aligns_noisy_repeats, {3.0, 10.0})
{
  const Chain &chain = chains[0];
  const std::vector<fourier::Line> sample = grains (3, chain);
  std::mt19937 random (7);
  const double noise = 1000 * std::sqrt (samples / 2.0) / row;
  const Values still = spectra_of (sample, chain, 0, noise, random, 0);
  Angiograms unaligned (chain, "complex-variance", 0);
  Angiograms aligned (chain, "complex-variance", axial_shift);
  const double expected =
      unaligned.residual (still, spectra_of (sample, chain, 0, noise, random), 0);
  for (double shift : shifts_up_to (axial_shift)) {
    const Values moved = spectra_of (sample, chain, shift, noise, random);
    const double left = aligned.residual (still, moved, shift);
    fail_unless (left <= 1.2 * expected, "%g bins: %.1f dB are left, of noise %.1f dB",
        shift, 10 * std::log10 (left), 10 * std::log10 (expected));
  }
}

TEST (test_octangio_axial_shift_is_a_limit)
{
  const Chain &chain = chains[0];
  const std::vector<fourier::Line> sample = grains (3, chain);
  std::mt19937 random (7);
  const Values still = spectra_of (sample, chain, 0, 0, random, 0);
  const Values moved = spectra_of (sample, chain, 1.5, 0, random);
  for (guint limit : {1u, 2u}) {
    Angiograms angiograms (chain, "complex-variance", limit);
    const double left = angiograms.residual (still, moved, 1.5);
    fail_unless (limit == 1 ? left > 0.05 : left <= 1e-4,
        "up to %u bins: %.1f dB are left", limit, 10 * std::log10 (left));
  }
}
