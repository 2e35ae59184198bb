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
    whole = np.clip(np.floor(places).astype(int), 0, lines.shape[-1] - 2)
    return lines[..., whole] * (1 - (places - whole)) + lines[..., whole + 1] * (places - whole)


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
        weights = window * np.exp(-1j * (square + cube * self.position) * self.position**2)
        made = np.empty((len(lines) // self.block, self.samples // 2))
        for first in range(0, len(lines), 64):  # stays in the cache
            bins = np.fft.fft(lines[first:first + 64] * weights)[:, :self.samples // 2]
            bins = bins.real**2 + bins.imag**2
            made[first // self.block:(first + 64) // self.block] = bins.reshape(
                -1, self.block, bins.shape[1]).sum(1)
        return made

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
        """Of the squares of the power, and of the power, of each block"""
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
