"""Optical path and scanner delay from recordings of a flat target, by functions on NumPy arrays

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from typing import NamedTuple

import numpy as np

from .calibration import Refused, vertex_of

LEAST_CONTRAST = 10  # dB of a surface above its A-line's median
LEAST_SHARE, MOST_RESIDUAL = 0.5, 1  # of A-lines with a surface; depths
NEGLIGIBLE = 0.02  # depths
MOST_DELAY_ERROR = 0.1  # A-lines
MOST_POINTS = 40000  # of a fit
LEAST_DEVIATION, OUTLIER = 0.005, 4.7  # depths; deviations (Tukey's biweight)
FIRST_ROUNDS, ROUNDS = 25, 40


class Surfaces(NamedTuple):
    """Depth of the surface in bins with fractions, and its level in dB: (frames, A-lines), NaN
    where none was found"""
    depths: np.ndarray
    levels: np.ndarray


class Scan(NamedTuple):
    """How the target was scanned, in octscan's terms: `delay` in A-lines"""
    bidirectional: bool = False
    flyback: int = 0
    repeats: int = 1
    delay: float = 0


class Flatness(NamedTuple):
    """Polynomial z (x, y) of the optical path in depths, x and y from -1 to 1, as octflatten's
    `coefficients`; the share of all A-lines that it describes and their distance from it (rms, in
    depths); the least and the greatest z"""
    coefficients: np.ndarray
    share: float
    residual: float
    least: float
    most: float


def surfaces_of(decibels, first=8):
    """Returns the Surfaces of frames in dB, (frames, A-lines, depths): the strongest peak from
    depth `first` on, 10 dB or more above the median of its A-line. Its place is the vertex of the
    parabola through it and its neighbours, for a Hann window within 0.02 depths."""
    decibels = np.asarray(decibels, float)
    if decibels.ndim != 3 or decibels.shape[-1] < first + 3:
        raise ValueError(f"levels have the shape {decibels.shape}, expected (frames, A-lines, "
                         f"depths) with more than {first + 2} depths")
    peak = np.minimum(first + 1 + decibels[..., first + 1:-1].argmax(-1), decibels.shape[-1] - 2)
    before, at, behind = (np.take_along_axis(decibels, (peak + n)[..., np.newaxis], -1)[..., 0]
                          for n in (-1, 0, 1))
    middle = (decibels.shape[-1] - first) // 2
    median = np.partition(decibels[..., first:], middle, -1)[..., middle]
    exists = (at - median >= LEAST_CONTRAST) & (at > before) & (at >= behind)
    away = vertex_of(before, at, behind)
    return Surfaces(np.where(exists, peak + away, np.nan),
                    np.where(exists, at - 0.25 * (before - behind) * away, np.nan))


def median_of(values):
    return np.partition(values, len(values) // 2)[len(values) // 2] if len(values) else 0.


def robust_deviation(values):
    """Standard deviation of normally distributed values, from their median"""
    return 1.4826 * median_of(abs(values))


# --- delay ---

class Profile:
    """Median over the frames of one direction, as a function of time in the sweep"""

    def __init__(self, values, least_deviation):
        known = np.isfinite(values).any(0)
        self.mean = np.full(values.shape[1], np.nan)
        for line in np.flatnonzero(known):
            column = values[:, line]
            self.mean[line] = median_of(column[np.isfinite(column)])
        bends = self.mean[:-2] - 2 * self.mean[1:-1] + self.mean[2:]
        deviation = robust_deviation(bends[np.isfinite(bends)]) / np.sqrt(6)
        self.variance = max(deviation, least_deviation) ** 2

    def at(self, times):
        """Values at times in A-lines, NaN where they are unknown"""
        whole = np.floor(times)
        inside = (whole >= 0) & (whole + 1 < len(self.mean))
        n = np.where(inside, whole, 0).astype(int)
        return np.where(inside, self.mean[n] + (times - whole) * (self.mean[n + 1] - self.mean[n]),
                        np.nan)


class Disagreement:
    """How much the frames of both directions differ, for a delay"""

    def __init__(self, surfaces, flyback):
        self.end = surfaces.depths.shape[1] - flyback - 1
        self.sweeps = [(Profile(of[::2], least), Profile(of[1::2], least))
                       for of, least in ((surfaces.depths, 0.005), (surfaces.levels, 0.05))]

    def squares(self, delay):
        """Squared differences by their variance; outliers count as 4 standard deviations."""
        places = np.arange(self.end + 1)
        found = []
        for forward, backward in self.sweeps:
            apart = forward.at(places + delay) - backward.at(self.end - places + delay)
            apart = apart[np.isfinite(apart)] ** 2 / (forward.variance + backward.variance)
            found.append(np.minimum(apart, 16))
        return np.concatenate(found)

    def at(self, delay):
        squares = self.squares(delay)
        return squares.mean() if len(squares) > self.end / 2 else np.inf


def delay_of_surfaces(surfaces, scan):
    """Returns the delay of the scanner in A-lines that makes forward and backward frames agree, and
    its standard error. Raises Refused if the target has too little structure."""
    frames, lines = surfaces.depths.shape
    if frames < 2:
        raise Refused(f"{frames} frames, expected both directions")
    if lines < scan.flyback + 16:
        raise Refused(f"{lines} A-lines, expected at least 16 more than the flyback of "
                      f"{scan.flyback}")
    of = Disagreement(surfaces, scan.flyback)
    step = 0.5
    tried = [0., *np.arange(-lines / 4, lines / 4 + step / 2, step)]
    delay = tried[int(np.argmin([of.at(delay) for delay in tried]))]
    low, high = delay - 2 * step, delay + 2 * step
    while high - low > 1e-4:
        third = (high - low) / 3
        if of.at(low + third) < of.at(high - third):
            high -= third
        else:
            low += third
    delay = (low + high) / 2
    least, count = of.at(delay), len(of.squares(delay))
    around = of.at(delay - 1) + of.at(delay + 1)
    bend = (around - 2 * least) * count if np.isfinite(around) else 0
    error = np.sqrt(2 * max(least, 1) / bend) if bend > 0 else np.inf
    if not error <= MOST_DELAY_ERROR:
        raise Refused("the target has too little structure along the A-lines to determine the "
                      f"delay: standard error {error:.2g} A-lines, expected at most "
                      f"{MOST_DELAY_ERROR:g}; tilt the target, or use one with edges")
    if delay < -3 * error - 0.05:
        raise Refused(f"delay {delay:.2f} A-lines: backward frames are ahead of the scanner; "
                      f"expected 0 or more, so start the acquisition {np.ceil(-delay):.0f} A-lines "
                      "earlier, or check which frames are backward")
    return max(delay, 0.), float(error)


# --- polynomial ---

def powers_of(order):
    """Powers of x and y of the terms, sorted by degree and within a degree by the power of y"""
    return [(degree - y, y) for degree in range(order + 1) for y in range(degree + 1)]


def places_in_field(shape, scan):
    """Positions x and y of A-lines in the output of octscan: (frames, A-lines)"""
    frames, lines = shape
    frame, time = np.arange(frames)[:, np.newaxis], np.arange(lines) - scan.delay
    missing = max(0, int(np.ceil(scan.delay)) - scan.flyback)
    start = missing if scan.bidirectional else 0
    end = lines - scan.flyback - 1
    last = end - missing - start
    place = np.where(scan.bidirectional & (frame % 2 == 1), end - time, time)
    rows = -(-frames // scan.repeats)
    x = 2 * (place - start) / last - 1 if last > 0 else np.zeros(shape)
    y = 2 * (frame // scan.repeats) / (rows - 1) - 1 if rows > 1 else np.zeros((frames, 1))
    return x, np.broadcast_to(y, shape)


def determined(matrix, right):
    """Solves the normal equations of a fit. Terms that the data do not determine become 0."""
    used = []
    for term in range(len(right)):
        tried = used + [term]
        rest = matrix[term, term]
        if used:
            column = matrix[used, term]
            rest -= column @ np.linalg.solve(matrix[np.ix_(used, used)], column)
        if rest > 1e-10 * matrix[term, term]:
            used = tried
    solution = np.zeros(len(right))
    solution[used] = np.linalg.solve(matrix[np.ix_(used, used)], right[used])
    return solution


def robust_fit(terms, depths):
    """Coefficients by reweighted least squares: by 1 / |r| at first, which tolerates any outlier,
    then by Tukey's weights"""
    coefficients = np.zeros(terms.shape[1])
    coefficients[0] = median_of(depths)
    for number in range(ROUNDS):
        residuals = depths - terms @ coefficients
        unit = residuals / (OUTLIER * max(robust_deviation(residuals), LEAST_DEVIATION))
        weights = 1 / np.maximum(abs(residuals), 0.05) if number < FIRST_ROUNDS else \
            np.where(abs(unit) < 1, (1 - unit**2) ** 2, 0)
        weighted = terms * weights[:, np.newaxis]
        coefficients = determined(weighted.T @ terms, weighted.T @ depths)
    return coefficients


def without_negligible_y(coefficients, powers):
    """Without the terms of y if they hardly change z, so that frames need no position"""
    u = np.linspace(-1, 1, 9)
    of_y = np.array([c if y > 0 else 0 for c, (_, y) in zip(coefficients, powers)])
    extent = sum(c * np.multiply.outer(u**x, u**y) for c, (x, y) in zip(of_y, powers))
    return coefficients if abs(extent).max() > NEGLIGIBLE else coefficients - of_y


def flatness_of_surfaces(surfaces, scan, order=4, with_tilt=False):
    """Returns the Flatness of a polynomial of this order, fitted to the surfaces without outliers.
    The depth and the tilt of the target are not part of it, with `with_tilt` only its depth. Raises
    Refused if there is no flat surface."""
    share = np.isfinite(surfaces.depths).mean() if surfaces.depths.size else 0
    if share < LEAST_SHARE:
        raise Refused(f"a surface in {100 * share:.0f} % of the A-lines, expected "
                      f"{100 * LEAST_SHARE:.0f} % or more: a peak {LEAST_CONTRAST} dB above the "
                      "median of its A-line")
    every = surfaces.depths.size // MOST_POINTS + 1
    frame, line = np.indices(surfaces.depths.shape)
    x, y = places_in_field(surfaces.depths.shape, scan)
    seen = ((line - frame % every) % every == 0) & (line >= frame % every) & (abs(x) <= 1 + 1e-9)
    found = seen & np.isfinite(surfaces.depths)
    depths, powers = surfaces.depths[found], powers_of(order)
    if len(depths) < 4 * len(powers):
        raise Refused(f"{len(depths)} A-lines with a surface, expected {4 * len(powers)} or more "
                      f"for order {order}")
    terms = np.stack([x[found] ** p * y[found] ** q for p, q in powers], 1)
    coefficients = robust_fit(terms, depths)
    residuals = depths - terms @ coefficients
    coefficients[0] = 0
    if not with_tilt:
        coefficients[1:3] = 0
    coefficients = without_negligible_y(coefficients, powers)
    deviation = max(robust_deviation(residuals), LEAST_DEVIATION)
    near = residuals[abs(residuals) <= OUTLIER * deviation]
    fitted = terms @ coefficients
    share, residual = len(near) / seen.sum(), np.sqrt(np.mean(near**2)) if len(near) else 0.
    if share < LEAST_SHARE or residual > MOST_RESIDUAL:
        raise Refused(f"no flat surface: {100 * share:.0f} % of the A-lines follow a polynomial of "
                      f"order {order}, {residual:.2f} depths rms away; expected "
                      f"{100 * LEAST_SHARE:.0f} % within {MOST_RESIDUAL:g} depths")
    return Flatness(coefficients, float(share), float(residual), float(fitted.min()),
                    float(fitted.max()))
