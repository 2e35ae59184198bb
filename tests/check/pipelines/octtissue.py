#!/usr/bin/env python3
"""Promises: the retina of octtestsrc is a macula with flowing blood, and octsurface and octattenuation
find the layers of spectra that NumPy makes.

Spectra are evaluated here by their definition: a sum over the samples, in double precision.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import subprocess
import tempfile

import numpy as np

SHORTEST, LONGEST, INDEX = 1187.0, 1433.0, 1.38  # nm
NODE = 40 / 3  # µm, distance of the nodes of speckle
PLAYS = "filesrc location={0}/raw.npy ! npyparse ! openclupload ! octwindowinterp interpolation=nufft wavelength-min=1187 " \
    "wavelength-max=1433 wavelength-unit=nm ! octfft refractive-index=1.38 {1} ! opencldownload ! npysink location={0}/found.npy"


def launch(line):
    subprocess.run(["gst-launch-1.0", "-q", *line.split()], check=True, timeout=300)


class Scan:
    """Frames of a source"""

    def __init__(self, properties, samples=1024, lines=128, frames=1, rate="30/1"):
        with tempfile.TemporaryDirectory() as folder:
            launch(f"octtestsrc num-buffers={frames} {properties} ! "
                   f"video/x-raw,width={samples},height={lines},framerate={rate} ! "
                   f"npysink location={folder}/raw.npy")
            self.raw = np.load(f"{folder}/raw.npy")
        self.reversed = "wavelength-min=1433" in properties

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


def surface_of(intensity):
    """First depth of each A-line that is far brighter than air"""
    mean = smooth(smooth(intensity, 9, -2), 5, -1)
    return np.argmax(mean > 40 * intensity[..., 10:40].mean(), axis=-1)


def aligned(lines):
    """Lines of which each is shifted to where it fits their mean best"""
    for _ in range(4):
        mean = np.fft.rfft(lines.mean(axis=0) - lines.mean())
        fit = np.fft.irfft(np.fft.rfft(lines - lines.mean()) * mean.conj(), lines.shape[1])
        lines = np.array([np.roll(line, -np.argmax(of)) for line, of in zip(lines, fit)])
    return lines


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
    """The bands of a macula: the outer nuclear layer is the darkest one, and four bright lines lie below
    (lexicon of the IN*OCT consensus, Staurenghi and others, Ophthalmology 121, 1572, 2014; Spaide
    and Curcio, Retina 31, 1609, 2011)."""
    scan = Scan("pattern=tissue b-scans=2 b-scan-step=2600 line-step=10 noise=20 flow-velocity=0", frames=2)
    intensity = np.abs(scan.b_scans()) ** 2
    level = decibels(smooth(smooth(intensity, 9, 1), 3, 2)).reshape(-1, 512)[:, 60:300]
    profile = aligned(level).mean(axis=0)
    surface = 12 + np.argmax(profile[12:] > profile.min() + 12)
    dark = surface + 20 + np.argmin(profile[surface + 20 : surface + 120])
    inner = profile[surface + 10 : dark - 15]
    check("depth of the outer nuclear layer, um", (dark - surface) * scan.depth_step() * 1000, 160, 290)
    check("inner layers above it, dB", inner.max() - profile[dark], 6, 20)
    check("bright lines below it", peaks_of(profile[dark : dark + 50], 0.7), 4, 4)


def test_fovea():
    """Thickest at the rim: 306 to 332 (+- 16) um (Tick and others, IOVS 52, 5105, 2011). The central
    millimetre has 238 +- 21 um (Hashmani and others, Clin. Ophthalmol. 13, 295, 2019), so the pit
    is deeper than the difference. Within three standard deviations, without undulation."""
    scan = Scan("pattern=tissue", lines=256)
    intensity = np.abs(scan.b_scans()[0]) ** 2
    level = smooth(decibels(smooth(intensity, 17, 0)), 5, 1)
    x = np.abs(np.arange(256) - 127.5) * 3000 / 256
    thickness = np.zeros(256)  # to the lower end of the epithelium, the largest step below the darkest layer
    for n, surface in enumerate(surface_of(intensity)):
        dark = surface + 8 + np.argmin(level[n, surface + 8 : surface + 125])
        below = np.arange(dark + 15, dark + 75)
        thickness[n] = (below[np.argmax(level[n, below - 4] - level[n, below + 4])] - surface) * scan.depth_step() * 1000
    rim, centre = np.median(thickness[(x > 600) & (x < 1100)]), np.median(thickness[x < 100])
    check("thickness at the rim, um", rim, 306 - 48, 332 + 48)
    check("mean thickness of the central millimetre, um", thickness[x < 500].mean(), 238 - 63, 238 + 63)
    check("depth of the pit, um", rim - centre, 70, 180)


def test_speckle():
    """Fully developed, correlated over the resolution of 20 µm, and another one at each place"""
    scan = Scan("pattern=tissue b-scans=3 b-scan-step=60 line-step=2 flow-velocity=0 noise=0",
                lines=400, frames=3)
    part = scan.b_scans(depths=np.arange(245, 285))  # of the choroid
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
    frames = Scan("pattern=tissue b-scans=3 repeats=2 noise=0 line-step=10", frames=12, lines=300).raw
    moved = np.any(frames[[3, 8, 9]] != frames[2], axis=2)
    assert np.array_equal(moved[0], moved[1]) and np.array_equal(moved[0], moved[2])
    check("part of the A-lines that sees blood", moved[0].mean(), 0.2, 0.98)
    assert np.any(frames[4] != frames[2], axis=1).all()


def velocity_of(scan, field):
    """Along the beam, in mm/s, from the phase between A-lines"""
    turn = smooth(smooth(field[:, 1:] * field[:, :-1].conj(), 15, 1), 3, 2)
    k = scan.wavenumbers()
    sign = 1 if scan.reversed else -1  # for rising wavenumbers, depth turns the phase forwards
    return sign * np.angle(turn) * 50000 / ((k[0] + k[-1]) * INDEX) * 1e-6


def test_flow():
    """Blood flows along the beam, twice as fast with twice the velocity, and other tissue does not.
    Spectra whose wavelengths fall show the same."""
    fields, found = {}, {}
    for speed, more in (0, ""), (5, ""), (10, ""), (10, "wavelength-min=1433 wavelength-max=1187"):
        scan = Scan(f"pattern=tissue b-scans=4 line-step=2 line-rate=50000 noise=5 flow-velocity={speed} {more}",
                    lines=800, frames=4)
        fields[speed, more] = scan.b_scans(depths=np.arange(60, 250))
        found[speed, more] = velocity_of(scan, fields[speed, more])
    (still, slow, fast, falling), (at_rest, _, flowing, _) = found.values(), fields.values()
    moved, power = (smooth(smooth(np.abs(of) ** 2, 15, 1), 3, 2)[:, 1:] for of in (flowing - at_rest, flowing))
    blood = (power > 1e4) & (moved > 0.3 * power) & (np.abs(fast) > 1)
    check("number of pixels", np.count_nonzero(blood), 200, 1e5)
    check("falling wavelengths / rising ones", np.median(falling[blood] / fast[blood]), 0.8, 1.2)
    check("slow / fast", np.median(slow[blood] / fast[blood]), 0.35, 0.65)
    check("blood at rest, median in mm/s", np.median(still[blood]), -0.1, 0.1)
    check("fastest along the beam / flow-velocity", np.abs(fast[blood]).max() / 10, 0.1, 0.5)
    tissue = (power > 1e4) & (moved < 0.01 * power)
    check("other tissue, median in mm/s", np.median(fast[tissue]), -0.03, 0.03)


def test_decorrelation():
    """Blood decorrelates between repeats as it flows, other tissue does not."""
    fields = {}
    for speed in (0, 0.05, 1, 20):
        scan = Scan(f"pattern=tissue b-scans=4 repeats=2 noise=2 flow-velocity={speed}",
                    frames=8, lines=256, rate="400/1")
        fields[speed] = scan.b_scans().reshape(4, 2, 256, 512)[..., :250]

    def correlation(speed, mask):
        a, b = (fields[speed][:, n][mask] for n in (0, 1))
        return abs(np.vdot(a, b)) / np.sqrt(np.vdot(a, a).real * np.vdot(b, b).real)

    first, second = fields[20][:, 0], fields[20][:, 1]
    power = np.abs(first) ** 2 + np.abs(second) ** 2
    blood = smooth(smooth(np.abs(first - second) ** 2, 5, 1), 5, 2) > 0.6 * smooth(smooth(power, 5, 1), 5, 2)
    blood &= power > 1e4
    check("part of the pixels with blood", blood.mean(), 0.002, 0.2)
    for speed, least, most in (0, 0.999, 1.0001), (0.05, 0.8, 0.9995), (1, 0.05, 0.95), (20, 0, 0.25):
        check(f"correlation of blood at {speed} mm/s", correlation(speed, blood), least, most)
    still = (smooth(smooth(np.abs(first - second) ** 2, 9, 1), 9, 2) < 0.01 * power) & (power > 1e4)
    assert np.count_nonzero(still) > 10000
    check("correlation of other tissue", correlation(20, still), 0.99, 1.0001)


def test_motion():
    """The tissue moves in all three directions: each frame is found again in a volume at rest."""
    rms, step, frames = 25, 10, 16
    common = f"pattern=tissue line-step={step} b-scan-step={step} flow-velocity=0 noise=5 "

    def speckle(scan):
        level = np.log(np.abs(scan.b_scans(depths=np.arange(64, 320))) + 1)
        return np.fft.rfft2(level - smooth(smooth(level, 5, 1), 5, 2))

    rest = speckle(Scan(common + "b-scans=21", frames=21))
    found = []
    for moved in speckle(Scan(common + f"motion={rms}", frames=frames, rate="3/7")):
        fit = np.fft.irfft2(moved * rest.conj())
        place = np.unravel_index(np.argmax(fit), fit.shape)
        found.append([10 - place[0], *((n + size // 2) % size - size // 2 for n, size in zip(place[1:], fit.shape[1:]))])
    found = np.array(found) * (step, step, 2.5)  # um, a depth is as long
    print(found.round().astype(int).tolist())
    for axis, name in enumerate("yxz"):
        check(f"motion along {name}, um rms", np.sqrt((found[:, axis] ** 2).mean()), 0.6 * rms, 1.5 * rms)
    assert np.abs(np.corrcoef(found.T) - np.eye(3)).max() < 0.8


def test_flat():
    """A flat surface lies where depth and curvature put it; dispersion has no effect on that
    after compensation."""
    scan = Scan("pattern=flat depths=<120> amplitudes=<4000> b-scans=5 noise=10 dispersion-a2=3e-5 "
                "curvature=<8,-5,30,4,20,3,0,0,-6>", frames=5, lines=64)
    x, y = np.meshgrid(np.linspace(-1, 1, 64), np.linspace(-1, 1, 5))
    path = 8 * x - 5 * y + 30 * x**2 + 4 * x * y + 20 * y**2 + 3 * x**3 - 6 * y**3
    depths = np.arange(60, 250, 0.25)
    fields = scan.b_scans(depths=depths, dispersion=3e-5)
    level = np.log(np.abs(fields))
    place = np.argmax(level, axis=2)
    away = depths[place] - 120 - path
    check("flat surface, largest error in bins", np.abs(away).max(), 0, 0.2)


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


def truth_of(boundaries, attenuations, bins):
    """Attenuation in 1/mm at each depth of layers that begin at `boundaries` (layers, frames, lines)"""
    layer = (bins >= np.array(boundaries)[..., None]).sum(axis=0)
    return np.array([0, *attenuations])[layer]


def layered(folder, boundaries, attenuations, random, gain=0.015, loss=0.0, noise=10.0):
    """Writes raw spectra of layers with developed speckle, and returns the depth step in mm."""
    samples = 1024
    k = 2 * np.pi / np.linspace(SHORTEST, LONGEST, samples)
    m = (k - k[0]) / (k[-1] - k[0]) * (samples - 1)
    step = np.pi * (samples - 1) / (samples * abs(k[-1] - k[0])) * 1e-6 / INDEX
    bins = np.arange(samples // 2)
    lost = 2 * step * truth_of(boundaries, attenuations, bins)
    intensity = gain * np.exp(lost - np.cumsum(lost, axis=-1)) * -np.expm1(-lost) * 10 ** (-loss / 10)
    field = np.sqrt(intensity / 2) * (random.normal(size=lost.shape) + 1j * random.normal(size=lost.shape))
    turn = np.exp(2j * np.pi * np.outer(bins, m) / samples)
    light = 20000 * np.exp(-0.5 * np.linspace(-2, 2, samples) ** 2)
    spectra = light * (1 + (field @ turn).real) + random.normal(size=(*lost.shape[:2], samples)) * noise
    np.save(f"{folder}/raw.npy", np.rint(spectra).astype(np.uint16))
    return step


def measured(folder, elements):
    launch(PLAYS.format(folder, elements))
    return np.load(f"{folder}/found.npy")


def wavy(depth, undulation, random, frames=3, lines=256):
    x = np.linspace(0, 2 * np.pi, lines)
    return depth + undulation * np.sin(x + random.uniform(0, 6, (frames, 1)))


def test_surface():
    """octsurface finds the surface within 1.5 depths, in decibels, amplitudes and CF32LE."""
    for seed in 31, 32, 33:
        random = np.random.default_rng(seed)
        surface = wavy(random.uniform(60, 150), 15, random)
        with tempfile.TemporaryDirectory() as folder:
            step = layered(folder, [surface, surface + 15], (6.0, 2.4), random) * 1000
            caps = "application/x-oct(ANY),domain=depth,format"
            found, linear, complex_, deep = (measured(folder, settings) for settings in (
                f"depth-start=16 ! {caps}=F32LE ! octsurface",
                f"depth-start=16 scale=linear ! {caps}=F32LE ! octsurface level=41",
                f"! {caps}=CF32LE ! octsurface level=41",
                f"! {caps}=F32LE ! octsurface level=100"))
        assert np.nanmax(np.abs(found[:, 1] / found[:, 0] / step - 1)) < 1e-5
        assert np.isnan(deep).all()
        for name, got in ("decibels", found), ("amplitudes", linear), ("complex", complex_):
            off = np.abs(got[:, 0] - surface)
            check(f"seed {seed} in {name}, share within 1.5 depths", (off < 1.5).mean(), 0.97, 1)
            check("and its rms error", np.sqrt((off**2).mean()), 0, 0.8)


def test_attenuation():
    """octattenuation finds the coefficient of each layer, with noise, roll-off and focus taken out."""
    random, values = np.random.default_rng(5), (6.0, 1.5, 4.0, 0.8, 9.0, 2.2)
    top = wavy(80, 10, random, 12)
    boundaries = [top + away for away in (0, 25, 60, 80, 120, 140)]
    u, focus, rayleigh = np.arange(512) / 512, 500, 800  # µm
    roll_off = -20 * np.log10(np.sinc(u / 2)) + 3 * u**2
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/roll-off.txt", roll_off)
        step = layered(folder, boundaries, values, random, gain=0)
        amplitudes = measured(folder, "scale=linear ! application/x-oct(ANY),format=F32LE")
        noise = 10 * np.log10((amplitudes[..., 128:340].astype(float) ** 2).mean())
        away = (np.arange(512) * step * 1000 - focus) / rayleigh
        layered(folder, boundaries, values, random, loss=roll_off + 10 * np.log10(1 + away**2))
        found = measured(folder, f"! octattenuation noise-floor={noise} min-snr=-1000 window-lines=16 "
                         f"roll-off-file={folder}/roll-off.txt focus-depth={focus} rayleigh-range={rayleigh}")
        plain = measured(folder, "! octattenuation window-lines=16 end-depths=0")
    bins, worst = np.arange(512), 0
    for value, begin, end in zip(values, boundaries, [*boundaries[1:], boundaries[-1] + 60]):
        inside = (bins > begin[..., None] + 3) & (bins < end[..., None] - 3)
        check(f"attenuation {value} 1/mm, relative", found[inside].mean() / value, 0.9, 1.1)
        worst = max(worst, abs(plain[inside].mean() / value - 1))
    check("largest error without corrections", worst, 0.15, 100)


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            print(f"-- {name}")
            test()
