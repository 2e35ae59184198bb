#!/usr/bin/env python3
"""Promises: the spectra of octtestsrc's phantoms show what the files of truth-folder say.

Spectra are evaluated here by their definition: a sum over the samples, in double precision. The
files say where layers begin, how they attenuate, how fast blood flows and how the eye moves.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import subprocess
import tempfile

import numpy as np

SHORTEST, LONGEST, INDEX = 1187.0, 1433.0, 1.38  # nm
NODE = 40 / 3  # µm, distance of the nodes of speckle
# Attenuation in 1/mm: nerve fibres, ganglion cells, inner plexiform, inner nuclear, outer plexiform, outer
# nuclear, limiting membrane, myoids, ellipsoids, outer segments, interdigitation, apical processes,
# epithelium, choroid, sclera
LAYERS = (6.0, 2.4, 3.6, 0.9, 4.0, 0.3, 3.0, 0.5, 12.0, 1.5, 8.0, 2.5, 18.0, 4.5, 2.2)
NUCLEAR, MEMBRANE, EPITHELIUM, CHOROID, BLOOD = 5, 6, 12, 13, 10.0
THIN = 6, 7, 8, 9, 10, 11, 12  # of a few resolutions or less


class Scan:
    """Frames of a source, and the truth about them"""

    def __init__(self, properties, samples=1024, lines=128, frames=1, rate="30/1"):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            subprocess.run(
                f"gst-launch-1.0 -q octtestsrc num-buffers={frames} truth-folder={folder} "
                f"{properties} ! video/x-raw,width={samples},height={lines},framerate={rate} ! "
                f"npysink location={folder}/raw.npy".split(),
                check=True,
                timeout=300,
            )
            self.raw = np.load(folder / "raw.npy")
            self.truth = {
                path.stem: np.load(path) for path in folder.glob("*.npy") if path.stem != "raw"
            }
        self.reversed = "wavelength-min=1433" in properties

    def __getitem__(self, name):
        return self.truth[name]

    def wavenumbers(self):
        ends = (LONGEST, SHORTEST) if self.reversed else (SHORTEST, LONGEST)
        return 2 * np.pi / np.linspace(*ends, self.raw.shape[-1])

    def depth_step(self):
        """In mm of tissue"""
        k = self.wavenumbers()
        samples = len(k)
        return np.pi * (samples - 1) / (samples * abs(k[-1] - k[0])) * 1e-6 / INDEX

    def positions(self):
        """Positions of the samples on the grid of even wavenumbers"""
        k = self.wavenumbers()
        return (k - k[0]) / (k[-1] - k[0]) * (len(k) - 1)

    def fields(self, first=0, end=None, depths=None, dispersion=0.0):
        """Complex A-lines at depth bins: a Fourier integral over the wavenumbers"""
        m = self.positions()
        samples = len(m)
        bins = np.arange(samples // 2) if depths is None else np.asarray(depths)
        weights = np.gradient(m) * (0.5 - 0.5 * np.cos(2 * np.pi * m / (samples - 1)))
        turn = np.exp(
            -2j * np.pi * np.outer(m, bins) / samples
            - 1j * dispersion * (m[:, None] - samples / 2) ** 2
        )
        matrix = 2 / weights.sum() * weights[:, None] * turn
        raw = (self.raw[first:end].astype(np.float32) - self.envelope()).reshape(-1, samples)
        # Copies of the parts: NumPy multiplies strided ones twelve times as slowly.
        real, imag = (raw @ part.astype(np.float32) for part in (matrix.real, matrix.imag))
        return real + 1j * imag

    def b_scans(self, first=0, end=None, **more):
        found = self.fields(first, end, **more)
        return found.reshape(-1, self.raw.shape[1], found.shape[-1])

    def envelope(self, level=20000.0):
        """Spectrum of the light source, a Gaussian over the wavelengths"""
        away = np.linspace(-2, 2, self.raw.shape[-1])
        return (level * np.exp(-0.5 * away**2)).astype(np.float32)


def check(what, value, least, most):
    print(f"{what}: {value:.4g} ({least:g} to {most:g})")
    assert least <= value <= most, f"{what}: {value}, expected {least} to {most}"


def weighted(values, weights, axis):
    """Weighted mean of neighbours, as np.convolve(…, "same") computes it along an axis"""
    values = np.moveaxis(values, axis, 0)
    size = len(weights)
    before = (size - 1) // 2
    padded = np.pad(values, [(size - 1 - before, before)] + [(0, 0)] * (values.ndim - 1))
    total = sum(w * padded[n : n + len(values)] for n, w in enumerate(weights[::-1]))
    return np.moveaxis(total, 0, axis)


def smooth(values, width, axis):
    """Mean of `width` neighbours"""
    return weighted(values, np.ones(width) / width, axis)


def around(mask, rows, lines):
    """Whether any of the neighbours in other B-scans and A-lines is set"""
    for axis, reach in ((0, rows), (1, lines)):
        mask = weighted(mask * 1.0, np.ones(2 * reach + 1), axis) > 0
    return mask


def surface_of(intensity, noise):
    """First depth of each A-line that is far brighter than air, to a fraction of a bin. A step
    seen through the axial resolution has half of its intensity at the surface. A polynomial
    along each B-scan takes the speckle out."""
    mean = smooth(intensity, 9, 1)
    found = np.zeros(mean.shape[:2])
    brighter = smooth(mean, 5, 2) > 40 * noise
    for place in np.ndindex(found.shape):
        line = mean[place]
        bright = np.argmax(brighter[place])
        half = line[bright + 3 : bright + 13].mean() / 2
        start = bright - 6
        after = start + np.argmax(line[start : bright + 12] > half)
        found[place] = after - (line[after] - half) / (line[after] - line[after - 1])
    across = np.linspace(-1, 1, found.shape[1])
    fits = np.polynomial.Polynomial.fit
    return np.array([fits(across[8:-8], row[8:-8], 7)(across) for row in found])


def test_boundaries():
    """The surface, and the step down to the outer nuclear layer, are where the file says."""
    scan = Scan("pattern=tissue b-scans=12 line-step=10", frames=12)
    boundaries = scan["boundaries"]
    assert boundaries.shape == (12, 15, 128) and np.all(np.diff(boundaries, axis=1) > 0)
    intensity = np.abs(scan.b_scans()) ** 2
    air = intensity[:, :, 10:40].mean()
    away = (surface_of(intensity, air) - boundaries[:, 0])[:, 8:-8]
    check("surface, median error in bins", np.median(away), -1, 1)
    check("surface, 95 % of errors below", np.percentile(np.abs(away), 95), 0, 4)

    level = smooth(np.log(smooth(intensity, 9, 1)), 6, 2)
    step = level[:, :, :-9] - level[:, :, 9:]  # from bins around n to those around n + 9
    errors = []
    for place in np.ndindex(12, 128):
        expected = boundaries[place[0], NUCLEAR, place[1]]
        near = int(expected) - 4
        window = step[place][near - 16 : near + 17]
        errors.append(np.argmax(window) + near - 16 + 4 - expected)
    check("outer nuclear layer, median error in bins", np.median(errors), -1.5, 1.5)
    check("outer nuclear layer, 80 % of errors below", np.percentile(np.abs(errors), 80), 0, 5)
    undulation = boundaries[:, EPITHELIUM] - boundaries[:, EPITHELIUM].mean()
    check("undulation along A-lines, bins rms", np.ptp(undulation, axis=1).mean(), 3, 100)
    check("undulation along B-scans, bins rms", np.ptp(undulation, axis=0).mean(), 3, 100)


def test_attenuation():
    """Attenuation as Vermeer (2014) finds it: mu = I / (2 d sum of I below), over each layer."""
    scan = Scan("pattern=tissue b-scans=24 b-scan-step=10 flow-velocity=0 noise=2", frames=24)
    step = scan.depth_step()
    check("depth step in mm", step, 0.00249, 0.00252)
    boundaries, truth = scan["boundaries"], scan["attenuation"]
    intensity = np.abs(scan.b_scans()) ** 2
    end = 400  # deeper fringes are too fast for the widest steps of wavenumber
    truth, below = truth[:, :, :end], intensity[:, :, :end][:, :, ::-1]
    rest = intensity[:, :, end - 40 : end].mean() / (2 * LAYERS[-1] * step)
    rest *= np.exp(-2 * LAYERS[-1] * step * 20)  # from the middle of these bins to their end
    below = np.cumsum(below, axis=2)[:, :, ::-1] - intensity[:, :, :end] / 2 + rest
    bins = np.arange(end)
    near = np.zeros(truth.shape, bool)
    for layer in range(len(LAYERS)):
        near |= np.abs(bins - boundaries[:, layer][:, :, None]) < 3
    # Blood shines into what lies within the lateral resolution.
    near |= around(np.abs(truth - BLOOD) < 1e-3, 2, 1)
    thick = [value for n, value in enumerate(LAYERS) if n not in THIN]
    for value in thick:
        inside = (np.abs(truth - value) < 1e-3) & ~near
        found = intensity[:, :, :end][inside].sum() / (2 * step * below[inside].sum())
        check(f"attenuation {value} 1/mm, relative", found / value, 0.9, 1.1)
    # Thin layers run into each other: the sum over all of them, along the epithelium
    along = np.rint(boundaries[:, EPITHELIUM, :, None]).astype(int) + np.arange(-36, 14)
    light, rest, expected = (
        np.take_along_axis(of, along, 2).mean(axis=(0, 1)) for of in (intensity, below, truth))
    found = (light / rest).sum() / (2 * step)
    check("attenuation of the thin layers, relative", found / expected.sum(), 0.9, 1.1)
    for layer, value in enumerate(LAYERS):
        middle = (boundaries[:, layer] + (
            boundaries[:, layer + 1] if layer < CHOROID + 1 else boundaries[:, layer] + 20)) / 2
        place = np.clip(np.rint(middle).astype(int), 0, 511)
        found = np.take_along_axis(scan["attenuation"], place[:, :, None], 2)[:, :, 0]
        blood = np.abs(found - BLOOD) < 1e-3
        thick = np.abs(place - middle) < (middle - boundaries[:, layer])
        assert np.allclose(found[thick & ~blood], value), layer


def decibels(ratio):
    return 10 * np.log10(ratio)


def peaks_of(profile, prominence):
    """Number of maxima that stand out from the minima on both sides"""
    count, low, high = 0, profile[0], profile[0]
    rising = True
    for level in profile[1:]:
        if rising:
            high = max(high, level)
            if high - low >= prominence and high - level >= prominence:
                count, low, rising = count + 1, level, False
        else:
            low = min(low, level)
            if level - low >= prominence:
                high, rising = level, True
    return count


def test_bands():
    """The bands of a macula: nuclear layers are the darkest ones, and four bright lines lie below
    (lexicon of the IN*OCT consensus, Staurenghi and others, Ophthalmology 121, 1572, 2014; Spaide
    and Curcio, Retina 31, 1609, 2011)."""
    scan = Scan("pattern=tissue b-scans=12 noise=20", frames=12)
    intensity, boundaries = np.abs(scan.b_scans()) ** 2, scan["boundaries"]
    blood = scan["attenuation"] == BLOOD
    bins = np.arange(512)

    def level(layer):
        begin, end = (boundaries[:, layer + n, :, None] for n in (0, 1))
        inside = (bins > begin + 2) & (bins < end - 2) & ~around(blood, 0, 1)
        return decibels(intensity[inside].mean())

    levels = {name: level(n) for n, name in enumerate(
        ("fibres", "ganglion cells", "inner plexiform", "inner nuclear", "outer plexiform",
         "outer nuclear", None, None, "ellipsoids", None, None, None, "epithelium")) if name}
    print({name: round(float(value), 1) for name, value in levels.items()})
    assert sorted(levels, key=levels.get)[:2] == ["outer nuclear", "inner nuclear"]
    for other in ("outer plexiform", "ellipsoids"):
        check(f"{other} above the outer nuclear layer, dB", levels[other] - levels["outer nuclear"], 6, 20)
    along = np.rint(boundaries[:, EPITHELIUM, :, None]).astype(int) + np.arange(-38, 14)
    profile = decibels(np.take_along_axis(intensity, along, 2).mean(axis=(0, 1)))
    check("bright lines below the outer nuclear layer", peaks_of(profile, 1), 4, 4)


def test_shadows():
    """Large vessels darken all below them (Girard and others, IOVS 52, 7738, 2011)."""
    scan = Scan("pattern=tissue b-scans=24 noise=20", frames=24, lines=256)
    first = int(scan["boundaries"][:, CHOROID].min()) - 41
    depths = np.arange(first, int(scan["boundaries"][:, CHOROID].max()) + 42)
    intensity = np.abs(scan.b_scans(depths=depths)) ** 2
    path = (scan["attenuation"] == BLOOD).sum(axis=2) * scan.depth_step() * 1000
    along = np.rint(scan["boundaries"][:, CHOROID, :, None]).astype(int) + np.arange(-40, 40) - first
    level = np.take_along_axis(intensity, along, 2).mean(axis=2)
    large = path > 60
    beside = around(large, 0, 12) & ~around(path > 0, 0, 1)
    assert np.count_nonzero(large) > 30 and np.count_nonzero(beside) > 100
    print(f"{np.count_nonzero(large)} A-lines below large vessels, {np.count_nonzero(beside)} beside")
    check("shadow below a large vessel, dB", decibels(level[beside].mean() / level[large].mean()), 3, 9)


def test_fovea():
    """Thickest at the rim: 306 to 332 (+- 16) um (Tick and others, IOVS 52, 5105, 2011). The central
    millimetre has 238 +- 21 um (Hashmani and others, Clin. Ophthalmol. 13, 295, 2019), so the pit
    is deeper than the difference. Within three standard deviations, without undulation."""
    scan = Scan("pattern=tissue b-scans=1", lines=256)
    intensity = np.abs(scan.b_scans()) ** 2
    surface = surface_of(intensity, intensity[:, :, 5:20].mean())[0]
    thickness = (scan["boundaries"][0, CHOROID] - surface) * scan.depth_step() * 1000
    x = np.abs(np.arange(256) - 127.5) * 3000 / 256
    rim, centre = thickness[(x > 500) & (x < 1300)].max(), thickness[x < 100].mean()
    check("thickness at the rim, um", rim, 306 - 48, 332 + 48)
    check("mean thickness of the central millimetre, um", thickness[x < 500].mean(), 238 - 63, 238 + 63)
    check("depth of the pit, um", rim - centre, 70, 180)


def test_speckle():
    """Fully developed, correlated over the resolution of 20 µm, and another one at each place"""
    scan = Scan("pattern=tissue b-scans=3 b-scan-step=60 line-step=2 flow-velocity=0 noise=0",
                lines=400, frames=3)
    field = scan.b_scans(depths=np.arange(512))
    boundaries = scan["boundaries"]
    nuclear = slice(int(boundaries[:, NUCLEAR].max()) + 5, int(boundaries[:, MEMBRANE].min()) - 5)
    part = field[:, :, nuclear]
    intensity = np.abs(part) ** 2
    intensity /= intensity.mean(axis=(0, 1))
    check("speckle contrast of the intensity", intensity.std() / intensity.mean(), 0.9, 1.12)

    def correlation(a, b):
        return abs(np.vdot(a, b)) / np.sqrt(np.vdot(a, a).real * np.vdot(b, b).real)

    # The field's correlation is that of the amplitude of the resolution with itself.
    at = np.arange(-20, 20, 0.01)
    def resolution(x):
        return np.where(np.abs(x) < 20, np.cos(np.pi * x / (3 * NODE)) ** 2, 0)
    for lines in (1, 4, 8, 20):
        expected = (resolution(at) * resolution(at - 2 * lines)).sum() / (resolution(at) ** 2).sum()
        found = correlation(part[:, lines:], part[:, :-lines])
        check(f"correlation over {2 * lines} µm, minus expected", found - expected, -0.1, 0.1)
    check("correlation of B-scans 60 µm apart", correlation(part[0], part[1]), 0, 0.1)


def test_static():
    """Only A-lines near vessels change, in repeats and in the next volume."""
    # B-scans are half a resolution apart, so the vessels of five of them tell what the third sees.
    scan = Scan("pattern=tissue b-scans=5 repeats=2 noise=0 line-step=10 b-scan-step=10",
                frames=20, lines=300)
    moving = scan["velocity"].max(axis=2) > 0
    near = np.convolve(moving.any(axis=0), np.ones(9), "same") > 0
    frames = scan.raw[[4, 5, 14, 15]]
    assert np.array_equal(frames[1:, ~near], frames[:1, ~near].repeat(3, axis=0))
    assert np.all(np.any(frames[1:, moving[2]] != frames[0, moving[2]], axis=2))
    assert np.count_nonzero(moving[2]) > 20 and np.count_nonzero(~near) > 20
    assert not np.array_equal(scan.raw[4][~near], scan.raw[2][~near])
    # Far from vessels static tissue moves 0 mm/s, with a camera's noise.
    scan = Scan("pattern=tissue repeats=2 noise=20 line-step=10", frames=2, lines=300)
    near = np.convolve(scan["velocity"][0].max(axis=1) > 0, np.ones(9), "same") > 0
    field = scan.b_scans()
    turned = np.angle(field[1] * field[0].conj())[:, 100:250][~near]
    bright = (np.abs(field[0]) > 100)[:, 100:250][~near]
    check("static phase between repeats, rad", np.sqrt((turned[bright] ** 2).mean()), 0, 0.05)
    check("its mean", abs(turned[bright].mean()), 0, 0.001)


def velocity_of(scan, field, rate):
    """Along the beam, in mm/s, from the phase between A-lines"""
    turn = field[:, 1:] * field[:, :-1].conj()
    k = scan.wavenumbers()
    centre = (k[0] + k[-1]) / 2
    sign = 1 if scan.reversed else -1  # for rising wavenumbers, depth turns the phase forwards
    return sign * np.angle(smooth(turn, 6, 1)) * rate / (2 * centre * INDEX) * 1e-6


def blurred(values, width, axis):
    weights = np.cos(np.linspace(-np.pi / 2, np.pi / 2, width + 2)[1:-1]) ** 4
    return weighted(values, weights / weights.sum(), axis)


def test_flow():
    """Doppler velocities follow the file, seen through the resolution, and static tissue has
    none. Spectra whose wavelengths fall show the same."""
    rate = 50000
    for order in ("", "wavelength-min=1433 wavelength-max=1187 "):
        scan = Scan(f"pattern=tissue b-scans=10 line-step=2 line-rate={rate} noise=5 {order}",
                    lines=800, frames=10)
        axial, total = (scan[name][:, :, :250] for name in ("velocity-axial", "velocity"))
        assert np.all(np.abs(axial) <= total) and np.all((total == 0) <= (axial == 0))
        field = scan.b_scans(depths=np.arange(250))
        found = velocity_of(scan, field, rate)
        # Two resolutions wide: inside vessels that are wider than it
        seen = blurred(blurred(axial, 19, 1), 3, 2)[:, 1:]
        inside = (blurred(blurred((total > 0) * 1.0, 19, 1), 3, 2)[:, 1:] > 0.98)
        fast = inside & (np.abs(seen) > 0.4)
        bright = smooth(np.abs(field) ** 2, 6, 1)[:, 1:]
        fast &= bright > np.percentile(bright[fast], 30)
        assert np.count_nonzero(fast) > 300
        slope = (found[fast] * seen[fast]).sum() / (seen[fast] ** 2).sum()
        check("measured velocity / true velocity", slope, 0.9, 1.1)
        related = np.corrcoef(found[fast], seen[fast])[0, 1]
        check("correlation with the true velocity", related, 0.75, 1)
        for sign in (-1, 1):
            assert np.count_nonzero(fast & (sign * seen > 0)) > 20
        boundaries = scan["boundaries"]
        bins = np.arange(250)
        above = np.cumsum(total > 0, axis=2) == 0
        above &= smooth((total > 0).any(axis=2) * 1.0, 41, 1)[:, :, None] == 0
        still = above & (bins > boundaries[:, 0][:, :, None] + 4)
        check("static tissue, mean in mm/s", found[still[:, 1:]].mean(), -0.03, 0.03)


def test_decorrelation():
    """Blood decorrelates between repeats as it flows, tissue below a vessel a little."""
    correlations = {}
    for speed in (0, 0.05, 1, 20):
        scan = Scan(f"pattern=tissue b-scans=4 repeats=2 noise=2 flow-velocity={speed}",
                    frames=8, lines=256, rate="400/1")
        if speed == 0:
            assert not scan["velocity"].any()
            vessels = Scan("pattern=tissue b-scans=4", frames=4, lines=256)["velocity"] > 0
        else:
            check("fastest blood / flow-velocity", scan["velocity"].max() / speed, 0.2, 1.01)
        field = scan.b_scans().reshape(4, 2, 256, 512)
        first, second = field[:, 0], field[:, 1]
        def correlation(mask):
            a, b = first[mask], second[mask]
            return abs(np.vdot(a, b)) / np.sqrt(np.vdot(a, a).real * np.vdot(b, b).real)
        wide = vessels & np.roll(vessels, 1, 1) & np.roll(vessels, -1, 1)
        correlations[speed] = correlation(wide)
        if speed == 20:
            path = np.cumsum(vessels, axis=2) * scan.depth_step()
            below = (path > 0.02) & ~vessels & ~np.roll(vessels, 3, 2)
            around = np.roll(vessels, 1, 1) | np.roll(vessels, -1, 1)
            below[:, :, 400:] = False
            below &= ~around
            expected = np.exp(-path[below]).mean()
            found = correlation(below)
            check("correlation below vessels", found, expected - 0.03, 0.997)
    check("correlation of blood at rest", correlations[0], 0.999, 1.0001)
    check("of slow blood", correlations[0.05], 0.9, 1)
    check("of faster blood", correlations[1], 0.1, 0.95 * correlations[0.05])
    check("of fast blood", correlations[20], 0, 0.25)


def test_vessels():
    """A tree of vessels of many radii that spares the fovea, in two plexuses"""
    scan = Scan("pattern=tissue b-scans=150", samples=512, lines=150, frames=1)
    inside = scan["velocity"] > 0
    face = inside.any(axis=2)
    check("part of the area with vessels", face.mean(), 0.15, 0.5)
    x, y = np.meshgrid((np.arange(150) - 74.5) * 20, (np.arange(150) - 74.5) * 20)
    assert not face[np.hypot(x, y) < 200].any()
    # Radius of an avascular zone of 0.071 to 0.527 mm2 (Samara and others, Retina 35, 2188, 2015)
    check("radius of the avascular zone, um", np.hypot(x, y)[face].min(), 150, 410)
    gaps = ~around(face, 6, 6) & (np.hypot(x, y) > 600)
    check("part that is 120 um or more from any vessel", gaps.mean(), 0, 0.01)
    for quarter in (face[:75, :75], face[75:, :75], face[:75, 75:], face[75:, 75:]):
        check("part of a quarter", quarter.mean(), 0.1, 0.6)
    # Murray's law: the velocity is proportional to the radius.
    thickness = inside.sum(axis=2)
    speed = scan["velocity"].max(axis=2)
    check("slowest / fastest", speed[thickness > 2].min() / speed.max(), 0, 0.2)
    wide = thickness > np.percentile(thickness[face], 95)
    thin = face & (thickness < np.percentile(thickness[face], 30))
    check("velocity of wide / of thin vessels", speed[wide].mean() / speed[thin].mean(), 2, 20)
    first = np.argmax(inside, axis=2)[face]
    depths = scan["boundaries"].transpose(0, 2, 1)[face]
    check("vessels that begin in the upper layers", (first < depths[:, 3]).mean(), 0.2, 0.9)


def test_motion():
    """The tissue moves as the file says, in all three directions."""
    frames = 16
    motion = "pattern=tissue b-scans=1 motion=50 line-step=10 b-scan-step=10"
    scan = Scan(motion, lines=160, frames=frames, rate="2/1")
    whole = Scan("pattern=tissue b-scans=61 line-step=10 b-scan-step=10", lines=320, frames=1)
    moved = scan["motion"]
    assert moved.shape == (frames, 3)
    intensity = np.abs(scan.b_scans()) ** 2
    found = surface_of(intensity, intensity[:, :, 5:20].mean())[:, 8:-8]
    surfaces = whole["boundaries"][:, 0]

    def expected(x, y, z):
        lines, rows = np.arange(160) - x + 80, 30 - y
        row = int(np.floor(rows))
        part = rows - row
        both = [np.interp(lines, np.arange(320), surfaces[row + n]) for n in (0, 1)]
        return ((1 - part) * both[0] + part * both[1] + z)[8:-8]

    def error(used):
        away = np.array([found[n] - expected(*(moved[n] * used)) for n in range(frames)])
        return np.median(np.abs(away - np.median(away)))

    full = error((1, 1, 1))
    check("surface of a moving eye, median error in bins", full, 0, 1)
    for used in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        check(f"with {used} of the motion / with all of it", error(used) / full, 1.15, 1000)
    long = Scan("pattern=tissue motion=10 line-step=10", samples=64, lines=1, frames=3000,
                rate="10/1")
    rms = np.sqrt((long["motion"] ** 2).mean(axis=0)) * (10, 10, long.depth_step() * 1000)
    for axis in range(3):
        check("motion in µm rms", rms[axis], 8, 12)


def peak_of(scan, depths):
    """Depth of the strongest bin, refined by a parabola through the levels around it"""
    level = np.log(np.abs(scan.b_scans(depths=depths)))
    place = np.clip(np.argmax(level, axis=2), 1, len(depths) - 2)
    left, middle, right = (
        np.take_along_axis(level, place[:, :, None] + n, 2)[:, :, 0] for n in (-1, 0, 1))
    return depths[place] + (depths[1] - depths[0]) * (left - right) / (
        2 * (left - 2 * middle + right))


def test_flat():
    """A flat surface lies where depth and curvature put it; dispersion has no effect on that
    after compensation."""
    scan = Scan("pattern=flat depths=<120> amplitudes=<4000> b-scans=5 noise=10 dispersion-a2=3e-5 "
                "curvature=<8,-5,30,4,20,3,0,0,-6>", frames=5, lines=64)
    x, y = np.meshgrid(np.linspace(-1, 1, 64), np.linspace(-1, 1, 5))
    path = 8 * x - 5 * y + 30 * x**2 + 4 * x * y + 20 * y**2 + 3 * x**3 - 6 * y**3
    assert np.allclose(scan["curvature"], path, atol=1e-4)
    depths = np.arange(60, 250, 0.25)
    fields = scan.b_scans(depths=depths, dispersion=3e-5)
    level = np.log(np.abs(fields))
    place = np.argmax(level, axis=2)
    away = depths[place] - 120 - path
    check("flat surface, largest error in bins", np.abs(away).max(), 0, 0.2)


def test_losses():
    """Roll-off has the wanted loss at the end of the range, and its formula in between. The
    confocal function has its formula."""
    wanted = 14.0
    levels = {}
    for loss in (0, 2, wanted):
        for depth in (20, 200, 400):
            scan = Scan(f"pattern=flat depths=<{depth}> amplitudes=<4000> noise=0 roll-off={loss}",
                        lines=2)
            levels[loss, depth] = 20 * np.log10(np.abs(scan.fields(depths=[depth]))[0, 0])
    pixels = -20 * np.log10(np.sinc(0.5))
    for depth in (20, 200, 400):
        part = depth / 512
        formula = -20 * np.log10(np.sinc(part / 2)) + (wanted - pixels) * part**2
        check(f"roll-off at bin {depth}, minus formula, dB",
              levels[0, depth] - levels[wanted, depth] - formula, -0.05, 0.05)
    check("2 dB of roll-off at bin 400", levels[0, 400] - levels[2, 400], 1, 1.6)

    common = "pattern=tissue noise=0 flow-velocity=0 "
    plain = np.abs(Scan(common).fields()[:, 100:380]) ** 2
    focused = np.abs(Scan(common + "focus-depth=500 rayleigh-range=80").fields()[:, 100:380]) ** 2
    z = np.arange(100, 380) * Scan(common).depth_step() * 1000
    formula = 1 / (1 + ((z - 500) / 160) ** 2)
    ratio = smooth(focused.sum(axis=0) / plain.sum(axis=0) / formula, 5, 0)[5:-5]
    check("confocal function / formula, least", ratio.min(), 0.93, 1.07)
    check("and most", ratio.max(), 0.93, 1.07)


def test_scanner():
    """A sinusoidal, bidirectional scan shows the same tissue at other times."""
    common = "pattern=tissue noise=0 flow-velocity=0 "
    even = Scan(common, lines=201, samples=512).raw[0]
    back = Scan(common + "bidirectional=true repeats=2", lines=201, samples=512, frames=2).raw
    assert np.array_equal(back[0], even) and np.array_equal(back[1][::-1], even)
    bent = Scan(common + "sinusoidal=0.9", lines=201, samples=512)
    fields, straight = bent.fields(), Scan(common, lines=201, samples=512).fields()
    for line in (0, 30, 100, 170, 200):
        edge = 0.9 * np.pi / 2
        place = (np.sin(edge * (line / 100 - 1)) / np.sin(edge) + 1) * 100
        near = int(round(place))
        same = np.vdot(fields[line], straight[near])
        same = abs(same) / np.linalg.norm(fields[line]) / np.linalg.norm(straight[near])
        expected = np.cos(np.pi * abs(place - near) * 3000 / 201 / 60)
        check(f"line {line} of a sinusoidal scan", same, 0.8 * expected, 1.0001)


def surfaces(depths, level, smooth, lines, first):
    """The surface by its definition, in double precision: crossing of the level, then the median"""
    found = np.full(depths.shape[:2], np.nan)
    for place in np.ndindex(*found.shape):
        line, reach = depths[place].astype(float), smooth // 2
        means = np.array([line[max(d - reach, 0) : d + reach + 1].mean() for d in range(line.size)])
        above = np.flatnonzero(means[first:] > level)
        if above.size:
            d = above[0] + first
            part = (means[d] - level) / (means[d] - means[d - 1]) if d else 0
            found[place] = d - (part if 0 <= part <= 1 else 0)
    reach = lines // 2
    return np.array([[np.nanmedian(scan[max(n - reach, 0) : n + reach + 1]) if np.isfinite(scan[max(n - reach, 0) : n + reach + 1]).any()
                      else np.nan for n in range(scan.size)] for scan in found])  # fmt: skip


def test_surface():
    """octsurface gives numbers as its definition says, and the phantom's surface within 1.5 depths."""
    chain = ("octwindowinterp wavelength-min=1187 wavelength-max=1433 wavelength-unit=nm ! octfft depth-start=16 "
             "refractive-index=1.38 ! tee name=t")
    depth = "application/x-oct(ANY),domain=depth,format=F32LE"
    with tempfile.TemporaryDirectory() as folder:
        for seed in 31, 32, 33:
            subprocess.run(
                f"gst-launch-1.0 -q octtestsrc pattern=tissue seed={seed} b-scans=3 num-buffers=3 truth-folder={folder} ! "
                f"video/x-raw(ANY),width=1024,height=256 ! {chain} "
                f"t. ! queue ! {depth} ! opencldownload ! npysink location={folder}/depths.npy "
                f"t. ! queue ! {depth} ! octsurface level=41 ! opencldownload ! npysink location={folder}/surface.npy "
                f"t. ! queue ! {depth} ! octsurface level=52 depth-smooth=3 line-smooth=1 ! opencldownload ! npysink location={folder}/bright.npy".split(),
                check=True, timeout=300)  # fmt: skip
            depths, truth = np.load(f"{folder}/depths.npy"), np.load(f"{folder}/boundaries.npy")[:, 0]
            found, bright = np.load(f"{folder}/surface.npy"), np.load(f"{folder}/bright.npy")
            for got, settings in (found, (41, 5, 9, 0)), (bright, (52, 3, 1, 0)):
                expected = surfaces(depths, *settings) + 16
                assert np.array_equal(np.isnan(got[:, 0]), np.isnan(expected))
                assert np.nanmax(np.abs(got[:, 0] - expected)) < 1e-3
                step = Scan("pattern=tissue", lines=8).depth_step() * 1000
                assert np.nanmax(np.abs(got[:, 1] / got[:, 0] / step - 1)) < 1e-5
            off = np.abs(found[:, 0] - truth)
            check(f"surface of seed {seed}, share within 1.5 depths", (off < 1.5).mean(), 0.97, 1)
            check("and its rms error", np.sqrt((off**2).mean()), 0, 0.8)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            print(f"-- {name}")
            test()
