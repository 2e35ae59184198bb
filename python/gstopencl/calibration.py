"""Calibration of OCT spectra, by functions on NumPy arrays

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from typing import NamedTuple

import numpy as np

LEAST_SAMPLES, LEAST_MEAN = 64, 16  # A-lines whose mean is the source's spectrum
LEAST_DEPTH = 6  # lower depths contain the light source's spectrum
BLOCK = 4  # neighbouring A-lines whose power is summed
MOST_BLOCKS = 256
GROUPS = 16  # of blocks, whose results are compared
# Parts of the spectrum that have light: their centres and half of their width, where that is from
# -1 to 1
CENTRES, REACH = np.linspace(-0.69, 0.69, 7), 0.3
# A phase with the slope s, in rad per unit of the position, shifts an image by s / pi depths: by
# this much for one rad of the quadratic and of the cubic phase at the ends of the light. Shifts
# that are common to all parts are no dispersion, so both are without their mean.
SHIFTS = np.stack([2 * CENTRES / np.pi,
                   3 * (CENTRES**2 - np.mean(CENTRES**2)) / np.pi])
MOST_RADIANS, COARSE_STEP = 180, 4  # at the ends of the camera, and of the light
MOST_ERROR, LARGE_SHARE = 4, 0.05  # at the ends of the light in rad, and of the phase
MOST_MOVE = 20  # rad from the first estimate
# Quantiles of Student's t for 95 % by degrees of freedom; the square root of what two errors that
# must both be right take
STUDENT = ((3, 3.18), (4, 2.78), (5, 2.57), (7, 2.36), (10, 2.23), (15, 2.13))
BOTH = 1.25


def rotation(angles):
    """Returns complex numbers of these angles. NumPy's exp does not run in Wine 8."""
    return np.cos(angles) + 1j * np.sin(angles)


class Refused(ValueError):
    """The A-lines do not tell the dispersion."""


class Dispersion(NamedTuple):
    """Dispersion of a sample. `a2` and `a3` are octwindowinterp's dispersion-a2 and dispersion-a3;
    `square` and `cube` the same in rad at the ends of the spectrum, within the errors in 95 of 100
    samples. `sharpness` is the mean square of the power over depth by the square of its mean."""
    a2: float
    a3: float
    square: float
    cube: float
    square_error: float
    cube_error: float
    sharpness: float
    sharpness_before: float


def dispersion_of_sample(scans, places=None, progress=lambda done: None):
    """Returns the Dispersion with which all parts of the spectrum show structures at the same
    depths; zero, with errors that reach what was found, where the sample does not tell it from none
    or the image does not become sharper.

    `scans` are raw spectra: (A-lines, samples) or (B-scans, A-lines, samples). `places` is the
    position of each even wavenumber, in samples (default: samples are even). The quadratic part
    may reach 180 rad at the ends of the spectrum. `progress` is called with the share that is done.

    Raises Refused if A-lines do not agree, and ValueError for arrays that are no spectra.

    Dispersion delays a part of the spectrum by the slope of its phase: linearly in the part's
    wavenumber by the quadratic phase, quadratically by the cubic one. Newton's method finds the
    phase at which no part is shifted. How the shifts depend on it is measured, since noise makes
    them smaller. The error is that of a jackknife over groups of A-lines, and the difference
    between two ways to compare images. Where the sharpest image contradicts that, as with thin
    layers, which each part shows at another depth, the error covers both."""
    sample = Sample(checked(scans), places)
    start = first_estimate(sample, progress)
    progress(0.4)
    phase, error = aligned(sample, start, "logarithm")
    progress(0.7)
    limit = max(MOST_ERROR, LARGE_SHARE * abs(phase[0]))
    if not BOTH * error[0] <= limit or not abs(phase - start).max() < MOST_MOVE:
        found, uncertain = sample.at_ends(phase)[0], sample.errors_at_ends(error)[0]
        raise Refused(f"the A-lines do not agree on a dispersion ({found:.2f} +- {uncertain:.2f} "
                      "rad at the ends of the spectrum): take a sample with layers, more B-scans, "
                      "or two mirrors")
    if not sample.is_seen(phase):
        raise Refused("the A-lines show no structure above the noise: expected a sample with "
                      "layers")
    phase, error = compared(sample, phase, error)
    error = error * (1.5 if sample.saturated else 1)
    (square, cube), (square_error, cube_error) = sample.at_ends(phase), sample.errors_at_ends(error)
    before, after = sample.sharpness((0, 0)), sample.sharpness(phase)
    if (abs(square) <= square_error and abs(cube) <= cube_error) or not after > before:
        square_error, cube_error = square_error + abs(square), cube_error + abs(cube)
        square, cube, after = 0., 0., before
    progress(1)
    half = sample.samples / 2
    return Dispersion(square / half**2, cube / half**3, square, cube, square_error, cube_error,
                      after, before)


# --- A-lines ---

def checked(scans):
    """The spectra as (B-scans, A-lines, samples). Short B-scans have no mean of their own."""
    scans = np.asarray(scans)
    if scans.ndim not in (2, 3) or scans.shape[-1] < LEAST_SAMPLES:
        raise ValueError(f"spectra have the shape {scans.shape}, expected (A-lines, samples) or "
                         f"(B-scans, A-lines, samples) with at least {LEAST_SAMPLES} samples")
    if not np.isrealobj(scans) or not np.isfinite(scans).all():
        raise ValueError("spectra have values that are no finite real numbers")
    if scans.shape[-2] < LEAST_MEAN:
        return scans.reshape(1, scans[..., 0].size, scans.shape[-1])
    return scans.reshape(-1, *scans.shape[-2:])


def smoothed(values):
    """Running mean over a sixteenth of the values"""
    reach = len(values) // 32
    sums = np.concatenate([[0], np.cumsum(values)])
    at = np.arange(len(values))
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    return (sums[high] - sums[low]) / (high - low)


def at_places(lines, places):
    """Values between samples of the last axis, by cubic splines (Catmull and Rom), beyond its ends
    on straight lines"""
    padded = np.concatenate([2 * lines[..., :1] - lines[..., 1:2], lines,
                             2 * lines[..., -1:] - lines[..., -2:-1]], -1)
    whole = np.clip(np.floor(places).astype(int), 0, lines.shape[-1] - 2)
    part = places - whole
    a, b, c, d = (padded[..., whole + n] for n in range(4))
    curve = c - a + part * (2 * a - 5 * b + 4 * c - d + part * (3 * (b - c) + d - a))
    return b + part * np.where((part < 0) | (part > 1), c - b, curve / 2)


def fringes_of(scan, places):
    """A-lines of a B-scan without the source's spectrum, and that spectrum, on even wavenumbers.
    It is the mean of the A-lines, or has the shape of their fringes if a background was
    subtracted. The light of an A-line may be stronger than the mean."""
    mean = scan.mean(0)
    deviation = np.sqrt(smoothed(scan.var(0)))
    source = deviation if np.mean(mean < deviation) > 0.5 else np.maximum(mean, 0)
    fringes = scan - np.outer(scan @ mean / max(mean @ mean, 1e-300), mean)
    return at_places(fringes, places), at_places(source, places)


def hann(position):
    return np.where(abs(position) < 1, 0.5 + 0.5 * np.cos(np.pi * position), 0)


class Sample:
    """Blocks of neighbouring A-lines, evenly from all B-scans. Phases are in rad at the ends of
    the part of the spectrum that has light."""

    def __init__(self, scans, places):
        count, in_scan, self.samples = scans.shape
        places = np.arange(self.samples) if places is None else np.asarray(places)
        if places.shape != (self.samples,):
            raise ValueError(f"the map has the shape {places.shape}, expected ({self.samples},)")
        self.block = BLOCK if count * in_scan >= GROUPS * BLOCK and in_scan >= BLOCK else 1
        self.in_scan = in_scan // self.block
        if count * self.in_scan < 8:
            raise Refused(f"{count * in_scan} A-lines, expected at least 8")
        self.saturated = np.mean(scans == scans.max()) > 1e-3
        self.number = np.linspace(0, count * self.in_scan - 1,
                                  min(count * self.in_scan, MOST_BLOCKS)).astype(int)
        self.scans = count
        self.lines, source = self.lines_of(scans, places)
        if not self.lines.any():
            raise Refused("all A-lines are alike")
        self.weigh(source)

    def lines_of(self, scans, places):
        lines, sources = [], []
        for scan in np.unique(self.number // self.in_scan):
            fringes, source = fringes_of(scans[scan].astype(float), places)
            blocks = self.number[self.number // self.in_scan == scan] % self.in_scan
            first = (blocks[:, np.newaxis] * self.block + np.arange(self.block)).ravel()
            lines.append(fringes[first])
            sources.append(source)
        source = np.mean(sources, 0)
        return np.concatenate(lines), source / max(source.max(), 1e-300)

    def weigh(self, source):
        """Divides by the source's spectrum where its light is above the noise (Wiener), whose
        power is that of the deepest depths."""
        power = (abs(np.fft.rfft(self.lines)) ** 2).mean(0)
        noise = np.median(power[-self.samples // 10:]) / np.log(2)
        signal = max(power[LEAST_DEPTH:].mean() - noise, 1e-3 * noise, 1e-300)
        weight = source / (source**2 + max(noise / signal, 1e-3) * np.mean(source**2) + 1e-300)
        self.lines = self.lines * weight
        position = 2 * np.arange(self.samples) / self.samples - 1
        light = np.cumsum(source * weight)
        low, high = np.interp([0.02, 0.98], light / max(light[-1], 1e-300), position)
        self.centre, self.half = (low + high) / 2, max((high - low) / 2, 1e-3)
        self.position = (position - self.centre) / self.half

    def at_ends(self, phase):
        """The phase of the light in rad at the ends of the spectrum"""
        square, cube = phase
        return np.array([square / self.half**2 - 3 * self.centre * cube / self.half**3,
                         cube / self.half**3])

    def errors_at_ends(self, error):
        square, cube = error
        return np.array([np.hypot(square / self.half**2, 3 * self.centre * cube / self.half**3),
                         cube / self.half**3])

    def groups(self):
        """Group of each block: by its place in the B-scan, as B-scans may repeat one position;
        where these are short, by B-scan."""
        by_place = self.in_scan >= 8
        of = self.number % self.in_scan if by_place else self.number
        return of * GROUPS // (self.in_scan if by_place else self.scans * self.in_scan)

    def sums_without_each_group(self, of_blocks):
        """Sums of values of the blocks, each without one group: (groups, values)"""
        groups = self.groups()
        parts = np.stack([of_blocks[groups == g].sum(0) for g in np.unique(groups)])
        return parts.sum(0) - parts

    def power(self, phase, window, lines=None):
        """Power over depth of each block, with weights of the samples"""
        lines = self.lines if lines is None else lines
        square, cube = phase
        weights = window * rotation(-(square + cube * self.position) * self.position**2)
        made = np.empty((len(lines) // self.block, self.samples // 2))
        for first in range(0, len(lines), 64):  # stays in the cache
            bins = np.fft.fft(lines[first:first + 64] * weights)[:, :self.samples // 2]
            bins = bins.real**2 + bins.imag**2
            made[first // self.block:(first + 64) // self.block] = bins.reshape(
                -1, self.block, bins.shape[1]).sum(1)
        return made

    def is_seen(self, phase):
        """Whether some depths are brighter than noise may be: the mean of A-lines over 9 depths"""
        profile = self.power(phase, hann(self.position)).mean(0)[LEAST_DEPTH:]
        level = np.convolve(profile, np.ones(9) / 9, "valid")
        return level.max() > np.percentile(level, 20) * (1 + 4 / np.sqrt(len(self.lines)))

    def sharpness(self, phase):
        power = self.power(phase, hann(self.position))[:, LEAST_DEPTH:]
        return float(np.mean(power**2) / max(np.mean(power) ** 2, 1e-300))


# --- the first estimate ---

def first_estimate(sample, progress):
    """Phase with the least entropy of the power over depth, which has a single minimum over dozens
    of rad, by a coarse grid and then by steps to the best of eight neighbours"""
    blocks = sample.lines.reshape(-1, sample.block, sample.samples)
    picked = np.linspace(0, len(blocks) - 1, min(len(blocks), 32)).astype(int)
    lines, window, known = blocks[picked].reshape(-1, sample.samples), hann(sample.position), {}

    def entropy(phase):
        if phase not in known:
            power = sample.power(phase, window, lines)[:, LEAST_DEPTH:]
            share = power / np.maximum(power.sum(1, keepdims=True), 1e-300)
            known[phase] = -(share * np.log(np.maximum(share, 1e-300))).sum(1).mean()
        return known[phase]

    most = MOST_RADIANS * sample.half**2
    squares = np.arange(-most, most + COARSE_STEP, COARSE_STEP)
    best = (0., 0.)
    for n, cube in enumerate((0., -12., 12.)):
        best = min([best, *((float(square), cube) for square in squares)], key=entropy)
        progress(0.1 + 0.1 * n)
    step = COARSE_STEP
    while step >= 1:
        near = min(((best[0] + i * step, best[1] + j * step)
                    for i in (0, -1, 1) for j in (0, -1, 1)), key=entropy)
        step = step / 2 if near == best else step
        best = near
    return np.array(best)


# --- shifts between images of the parts ---

def begin_of_sample(profile):
    """First depth of the sample: where the power rises behind its minimum next to zero delay, less
    the resolution of a part"""
    rise, resolution = 0.03, 8
    valley = 2
    while valley < len(profile) // 8 and profile[valley + 1] < profile[valley]:
        valley += 1
    above = np.flatnonzero(profile[valley:] > rise * profile[valley:].max())
    return max(valley + (above[0] if len(above) else 0) - resolution, valley, 1)


def shifts_of(sample, phase, kind):
    """Least-squares sums of each block: how far the image of each part lies deeper than their mean
    is product / square, in depths. Depths count by how far they are above the noise."""
    images = np.stack([sample.power(phase, hann((sample.position - c) / REACH)) for c in CENTRES])
    profile = images.sum((0, 1))
    begin = begin_of_sample(profile)
    level = np.convolve(profile, np.ones(9) / 9, "same")
    noise = np.percentile(level[begin:-8], 5)
    worth = np.clip(1 - noise / np.maximum(level, 1e-300), 0, 1)[begin:-1]
    images /= np.maximum(images[:, :, begin:].mean((1, 2)), 1e-300)[:, np.newaxis, np.newaxis]
    images = np.log(images + 0.1) if kind == "logarithm" else np.sqrt(images)
    images = images[:, :, begin - 1:]
    mean = images.mean(0)
    slope = (mean[:, 2:] - mean[:, :-2]) / 2
    product = np.einsum("pbd,bd->bp", mean[:, 1:-1] - images[:, :, 1:-1], slope * worth)
    return product, (slope**2 * worth).sum(1)


def moments(product, square):
    """Quadratic and cubic part of shifts, from sums of one or of several sets of blocks"""
    shift = product / np.maximum(np.expand_dims(square, -1), 1e-300)
    return shift @ SHIFTS.T / (SHIFTS**2).sum(1)


def moments_of_all(sample, phase, kind):
    product, square = shifts_of(sample, phase, kind)
    return moments(product.sum(0), square.sum())


def aligned(sample, phase, kind):
    """Returns the phase at which no part is shifted, and its standard error times Student's t."""
    step, enough, most_move = 1.5, 0.02, 6
    jacobian = np.stack([(moments_of_all(sample, phase + d, kind)
                          - moments_of_all(sample, phase - d, kind)) / (2 * step)
                         for d in step * np.eye(2)], 1)
    for _ in range(6):
        product, square = shifts_of(sample, phase, kind)
        at = moments(product.sum(0), square.sum())
        move = np.clip(-np.linalg.lstsq(jacobian, at, rcond=None)[0], -most_move, most_move)
        phase = phase + move
        if abs(move).max() < enough:
            break
    others = sample.sums_without_each_group(np.column_stack([product, square]))
    found = np.linalg.lstsq(jacobian, moments(others[:, :-1], others[:, -1]).T, rcond=None)[0].T
    return phase, error_of(found)


def error_of(found):
    """Standard error times Student's t, from results without each group of blocks (jackknife)"""
    freedom = len(found) - 1
    return np.sqrt(freedom * found.var(0)) * next(
        (t for least, t in reversed(STUDENT) if least <= freedom), 12.7)


# --- the sharpest image ---

STEPS = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)], float)
PARABOLOID = np.linalg.pinv(np.column_stack([
    np.ones(9), STEPS, STEPS[:, 0]**2, STEPS[:, 0] * STEPS[:, 1], STEPS[:, 1]**2]))


def top_of(values):
    """Place of the highest point of a paraboloid through values at STEPS, at most 1 away"""
    _, x, y, xx, xy, yy = np.moveaxis(values @ PARABOLOID.T, -1, 0)
    bend = 4 * xx * yy - xy**2
    bend = np.where(bend > 0, bend, np.inf)
    return np.clip(np.stack([xy * y - 2 * yy * x, xy * x - 2 * xx * y], -1) / bend[..., np.newaxis],
                   -1, 1)


def sharpest(sample, phase):
    """Returns the phase of the sharpest image near `phase`, and its error as aligned()."""
    known = {}

    def sums(at):
        """Sums of the squared power and of the power of each block"""
        if tuple(at) not in known:
            power = sample.power(at, hann(sample.position))[:, LEAST_DEPTH:]
            known[tuple(at)] = np.stack([(power**2).sum(1), power.sum(1)], 1)
        return known[tuple(at)]

    def sharpness(parts):
        return parts[..., 0] / np.maximum(parts[..., 1] ** 2, 1e-300)

    best, step, least_step = np.asarray(phase), 2, 1
    for _ in range(40):
        around = np.stack([sums(best + step * there) for there in STEPS])
        there = STEPS[sharpness(around.sum(1)).argmax()]
        if step == least_step and not there.any():
            break
        best, step = (best + step * there, step) if there.any() else (best, least_step)
    others = np.stack([sample.sums_without_each_group(parts) for parts in around], 1)
    return (best + step * top_of(sharpness(around.sum(1))),
            error_of(step * top_of(sharpness(others))))


def compared(sample, phase, error):
    """The result of aligned(), with an error that covers what other criteria say"""
    most_apart = 1.5
    other, _ = aligned(sample, phase, "root")
    sharp, sharp_error = sharpest(sample, phase)
    if (abs(sharp - phase) > most_apart * np.hypot(error, sharp_error)).any():
        return sharp, abs(sharp - phase) + sharp_error
    return phase, np.hypot(BOTH * error, 0.5 * abs(other - phase))


# --- mirrors ---

TERMS = 6  # of polynomials over the samples; higher ones follow noise where the light is weak
ROUNDS, SEARCHES = 12, 4  # of the estimate; the first ones search a wide fringe
LEAST_SHARE, LEAST_WEIGHT = 0.1, 0.05  # of the power in the filter; of the brightest sample's power
FADING, LEAST_FADING = 0.25, 0.2  # part of the samples at either end; below it no phase is used
NARROWEST, FINER = 8, 4  # depths of the filter; samples of the analytic signal by the camera's
MOST_GROWTH = 1.01  # of a peak's width
LEAST_BRIGHT, LEAST_RATIO = 0.4, 0.5  # of two fringes that are compared
MOST_NOISE, MOST_NOISE_OF_ONE = 0.01, 0.05  # samples of the map and rad


class MirrorCalibration(NamedTuple):
    """`map` is the position of each even wavenumber, in samples, and `dispersion` the phase there,
    in rad (None for one mirror, whose map contains it), as octwindowinterp's resample-map and
    dispersion-phase. `width_before` and `width_after` are those of the first mirror's peak, in
    depths, `map_error` and `dispersion_error` standard errors from noise, in samples and rad."""
    map: np.ndarray
    dispersion: np.ndarray
    width_before: float
    width_after: float
    map_error: float
    dispersion_error: float


def calibration_of_mirrors(first, second=None, opposite=True):
    """Returns the MirrorCalibration from the spectra of a mirror at one or two depths, minus the
    spectrum without the mirror. If the depths are on opposite sides of zero delay, the sum of both
    phases is free of dispersion, otherwise their difference.

    Raises Refused if there is no fringe, its phase is not monotone, a fringe reaches zero delay or
    half of the sampling rate, noise makes the result uncertain, or a peak gets wider."""
    given = [np.asarray(spectrum, float) for spectrum in (first, second) if spectrum is not None]
    size = given[0].size
    if size < LEAST_SAMPLES or any(s.shape != (size,) or not np.isfinite(s).all() for s in given):
        shapes = ", ".join(str(spectrum.shape) for spectrum in given)
        raise ValueError(f"spectra have the shapes {shapes}, expected one length of at least "
                         f"{LEAST_SAMPLES}, and finite values")
    if len(given) > 1 and np.array_equal(*given):
        raise Refused("both mirrors have the same spectrum: record the second one at another depth")
    signs = (1, -1 if opposite else 1)
    estimate = MirrorEstimate([Mirror(s, sign) for s, sign in zip(given, signs)])
    for number in range(ROUNDS):
        estimate.refine(max(120 * 0.75**number, NARROWEST), 60 if number < SEARCHES else 12)
    return estimate.checked()


def fading_at(places, size):
    """The factor by which a spectrum fades at its ends: a jump there would bend the phase of the
    fringe, as transforms are periodic."""
    part = np.clip(np.minimum(places, size - 1 - places) / (FADING * (size - 1)), 0, 1)
    return 0.5 - 0.5 * np.cos(np.pi * part)


def peak_of(bins, first=LEAST_DEPTH):
    return first + int(np.argmax(abs(bins[first:len(bins) // 2])))


def centre_of(bins, search):
    """Centre of the power near the highest peak, in depths"""
    peak = peak_of(bins)
    near = np.arange(max(LEAST_DEPTH, peak - search), min(peak + search + 1, len(bins) // 2))
    power = abs(bins[near]) ** 2
    return (near * power).sum() / power.sum() if power.any() else float(peak)


class Mirror:
    """Spectrum of a mirror, and the phase and amplitude of its fringe. The dispersion has `sign` in
    the phase."""

    def __init__(self, spectrum, sign):
        self.spectrum, self.sign, self.size = spectrum, sign, spectrum.size
        # The analytic signal on a finer grid: neither interpolation nor the mirror image of the
        # fringe changes its phase.
        bins = np.fft.fft((spectrum - spectrum.mean()) * fading_at(np.arange(self.size), self.size))
        fine = np.zeros(FINER * self.size, complex)
        fine[1:self.size // 2] = bins[1:self.size // 2]
        self.signal = np.fft.ifft(fine) * fine.size

    def find_fringe(self, places, dispersion, reach, search):
        """Filters a band of depths around the fringe, without the phase of the dispersion, which is
        put back. `share` is that of the power that passes, `error` the phase's, from noise."""
        size = self.size
        bins = np.fft.fft(at_places(self.signal, FINER * places)
                          * rotation(-self.sign * dispersion))
        centre = centre_of(bins, search)
        reach, depths = min(reach, centre - 3), np.arange(size // 2)
        away = abs(depths - centre) / reach
        gain = hann(away)
        power = np.where(depths < LEAST_DEPTH, 0, abs(bins[:size // 2]) ** 2)
        self.share = power[away < 1].sum() / max(power.sum(), 1e-300)
        outside = power[(away > 2) & (depths >= LEAST_DEPTH)]
        noise = (gain**2).sum() * (np.median(outside) / np.log(2) if outside.size else 0)
        middle, band = round(centre), np.zeros(size, complex)
        band[:size // 2] = bins[:size // 2] * gain
        line = np.fft.ifft(np.roll(band, -middle)) * size
        self.phase = np.unwrap(np.angle(line)) + self.sign * dispersion + (
            2 * np.pi * middle * np.arange(size) / size)
        fading = fading_at(places, size)
        amplitude = np.where(fading > LEAST_FADING, abs(line) / np.maximum(fading, 1e-9), 0)
        most = max(amplitude.max(), 1e-300)
        self.amplitude = amplitude / most
        bright = self.amplitude[self.amplitude**2 >= LEAST_WEIGHT]
        self.error = np.sqrt(np.mean(noise / (2 * most**2 * bright**2))) if bright.size else np.inf


def fitted(places, values, weights, terms=TERMS):
    """Coefficients of the Chebyshev series over the samples that fits values at places"""
    unit = 2 * places / (len(places) - 1) - 1
    return np.polynomial.chebyshev.chebfit(unit, values, terms - 1, w=weights)


def series_at(coefficients, places, size):
    return np.polynomial.chebyshev.chebval(2 * places / (size - 1) - 1, coefficients)


def peak_width(spectrum, phase=0):
    """Distance between the outermost depths at which the amplitude is half of its maximum, with a
    Hann window: the width of a single peak, the whole extent of a smeared one"""
    fine, size = 16, spectrum.size
    line = (spectrum - spectrum.mean()) * np.hanning(size) * rotation(-phase)
    height = abs(np.fft.fft(line, size * fine))[:size * fine // 2]
    first = LEAST_DEPTH * fine
    half = height[first:].max() / 2
    above = first + np.flatnonzero(height[first:] >= half)
    low, high = above[0], above[-1]

    def part(inside, outside):
        if outside >= height.size or height[outside] >= half:
            return 0
        return (height[inside] - half) / (height[inside] - height[outside])

    return (high - low + part(low, low - 1) + part(high, high + 1)) / fine


class MirrorEstimate:
    """Map and dispersion, from the phases of the fringes of one or two mirrors"""

    def __init__(self, mirrors):
        self.mirrors, self.size = mirrors, mirrors[0].size
        self.map, self.dispersion = np.arange(self.size, dtype=float), np.zeros(self.size)
        self.map_error = self.dispersion_error = 0.

    def combined(self, *factors):
        """Sum of the phases by these factors, of which one mirror has the first"""
        return sum(f * mirror.phase for f, mirror in zip(factors, self.mirrors))

    def refine(self, reach, search):
        """The present estimate narrows the fringes first."""
        for mirror in self.mirrors:
            mirror.find_fringe(self.map, self.dispersion, reach, search)
        weight = np.min([mirror.amplitude for mirror in self.mirrors], 0)
        self.weights = np.where(weight**2 > LEAST_WEIGHT, weight, 0)
        # The sum or difference of two phases is free of dispersion.
        wavenumbers = fitted(self.map, self.combined(1, -self.mirrors[-1].sign), self.weights)
        at = series_at(wavenumbers, self.map, self.size)
        phase = series_at(wavenumbers, np.arange(self.size), self.size)
        places = (at - phase[0]) / (phase[-1] - phase[0]) * (self.size - 1)
        sign = 1 if phase[-1] > phase[0] else -1
        if not (sign * np.diff(phase) > 0).all():
            raise Refused("the phase of the fringe is not monotone")
        self.map = np.interp(sign * np.linspace(phase[0], phase[-1], self.size), sign * phase,
                             np.arange(self.size))
        slopes = [fitted(places, mirror.phase, self.weights, 2)[1] for mirror in self.mirrors]
        if len(self.mirrors) > 1:
            self.find_dispersion(places, *slopes)
        self.find_errors(abs(np.array(slopes)) * 2 / (self.size - 1))

    def find_dispersion(self, places, first, second):
        """Each phase is depth * wavenumber + dispersion: weighted by the other's depth, only
        dispersion is left of the difference. Constant and slope only shift depths."""
        scale = second - self.mirrors[1].sign * first
        series = fitted(places, self.combined(second / scale, -first / scale), self.weights)
        series[:2] = 0
        self.dispersion = series_at(series, np.arange(self.size), self.size)

    def find_errors(self, depths):
        errors = np.array([mirror.error for mirror in self.mirrors])
        if len(errors) == 1:
            self.map_error = errors[0] / depths[0]
            return
        apart = abs(depths[1] - self.mirrors[1].sign * depths[0])
        self.map_error = np.hypot(*errors) / apart
        self.dispersion_error = np.hypot(*(errors * depths[::-1])) / apart

    def check_depths(self, number, mirror):
        """A fringe that reaches zero delay or half of the sampling rate is aliased there."""
        used = (self.weights[1:] > 0) & (self.weights[:-1] > 0)
        depths = (np.diff(mirror.phase) / np.diff(self.map))[used] * self.size / (2 * np.pi)
        if not used.any() or depths.min() < NARROWEST or depths.max() > self.size / 2 - NARROWEST:
            low, high = (np.floor(depths.min()), np.ceil(depths.max())) if used.any() else (0, 0)
            raise Refused(f"the fringe of mirror {number} extends from depth {low:.0f} to "
                          f"{high:.0f}, expected depths from {NARROWEST} to "
                          f"{self.size // 2 - NARROWEST}: move the mirror")

    def check_amplitudes(self):
        """Where only one fringe is bright, the other is aliased, or not of the same light."""
        first, second = (mirror.amplitude for mirror in self.mirrors)
        more, less = np.maximum(first, second), np.minimum(first, second)
        faded = np.flatnonzero((more >= LEAST_BRIGHT) & (less <= LEAST_RATIO * more))
        if faded.size:
            at = faded[0]
            raise Refused(f"the fringe of mirror {1 if first[at] < second[at] else 2} fades at "
                          f"sample {self.map[at]:.0f}, where the other one is bright: move the "
                          "mirror nearer to zero delay")

    def checked(self):
        """The result, or Refused"""
        widths = []
        for number, mirror in enumerate(self.mirrors, 1):
            if mirror.share < LEAST_SHARE:
                raise Refused("no fringe found above the noise")
            self.check_depths(number, mirror)
            before = peak_width(mirror.spectrum)
            even = at_places(mirror.spectrum, self.map)
            after = peak_width(even, mirror.sign * self.dispersion)
            widths += [before, after]
            if not after <= MOST_GROWTH * before:
                raise Refused(f"the calibration widens the peak of mirror {number} from "
                              f"{before:.2f} to {after:.2f} depths")
        two = len(self.mirrors) > 1
        if two:
            self.check_amplitudes()
        most = MOST_NOISE if two else MOST_NOISE_OF_ONE
        if not max(self.map_error, self.dispersion_error) <= most:
            raise Refused(f"noise makes the map uncertain by {self.map_error:.2g} samples and the "
                          f"dispersion by {self.dispersion_error:.2g} rad, expected {most:g} or "
                          "less: average more A-lines, or move the mirrors further apart")
        return MirrorCalibration(self.map, self.dispersion if two else None, *widths[:2],
                                 float(self.map_error), float(self.dispersion_error))


class DepthScale(NamedTuple):
    """`step` is the depth step in air and `residuals` those of the positions, both in µm."""
    step: float
    residuals: np.ndarray


def depth_scale_of_mirrors(spectra, positions, found, opposite=True):
    """Returns the DepthScale that fits the depths of mirrors at known positions, in µm, by least
    squares. `found` is the MirrorCalibration of the first two, which may be on opposite sides of
    zero delay; each further mirror may be on either side.

    Raises Refused if the first two have the same depth or position."""
    positions, depths = np.asarray(positions, float), []
    for number, (spectrum, position) in enumerate(zip(spectra, positions)):
        side = -1 if number == 1 and opposite else 1
        depth = side * depth_of(spectrum, found, side)
        other = -depth_of(spectrum, found, -1)
        if number > 1 and abs(zero + step * other - position) < abs(zero + step * depth - position):
            depth = other
        depths.append(depth)
        if number == 1 and not (abs(depths[0] - depth) >= 1 and positions[0] != positions[1]):
            raise Refused("the first two mirrors have the same depth or position, expected a "
                          "distance")
        if number > 0:
            step, zero = np.polyfit(depths, positions[:number + 1], 1)
    return DepthScale(float(abs(step)), positions - zero - step * np.array(depths))


def vertex_of(before, at, behind):
    """Distance of the vertex of the parabola through three neighbouring values from the middle one,
    which is the largest; 0 on a straight line"""
    bend = before - 2 * at + behind
    return np.where(bend < 0, 0.5 * (before - behind) / np.where(bend < 0, bend, -1), 0)


def depth_of(spectrum, found, sign):
    """Depth of a mirror, in depths with fractions: the vertex of a parabola through the logarithms
    of its peak"""
    spectrum = np.asarray(spectrum, float)
    phase = 0 if found.dispersion is None else sign * found.dispersion
    line = at_places(spectrum, found.map) * np.hanning(spectrum.size)
    bins = np.fft.fft(line * rotation(-phase))
    peak = peak_of(bins)
    return peak + vertex_of(*np.log(abs(bins[peak - 1:peak + 2]) ** 2 + 1e-300))
