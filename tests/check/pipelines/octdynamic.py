#!/usr/bin/env python3
"""Promises: octdynamic's numbers are those of the papers' definitions, here in double precision
and without its formulas; its colours are those of colorsys; what it cannot measure it refuses with
the reason.

The series are of scatterers that move at random (Gaussian fields whose correlation decays
exponentially), of others that do not, and of noise.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import colorsys
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

RATE = 25.0  # frames per second
LINES, DEPTHS = 24, 64
SLOWEST, FASTEST = 0.1, 3.0  # documented limits of the swiftness, per duration and per frame


def fields(random, *shape):
    return (random.normal(size=shape) + 1j * random.normal(size=shape)) / np.sqrt(2)


def moving_scatterers(frames, seed, depths=DEPTHS):
    """Returns complex depths (frames, lines, depths) in float32."""
    random = np.random.default_rng(seed)
    shape = (LINES, depths)
    kept = np.exp(-1 / random.uniform(0.5, 20, shape))  # correlation from frame to frame
    moving = [fields(random, *shape)]
    for _ in range(frames - 1):
        moving.append(kept * moving[-1] + np.sqrt(1 - kept**2) * fields(random, *shape))
    share = random.uniform(0, 1, shape)
    series = np.sqrt(share) * np.array(moving) + np.sqrt(1 - share) * fields(random, *shape)
    return (100 * series + fields(random, frames, *shape)).astype(np.complex64)


def run(series, settings, end="npysink location=OUT", rate="25/1", frames_caps="", repeats=None):
    """Returns the output of octdynamic for the series, and what the process wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "series.raw", pathlib.Path(folder) / "out"
        series.tofile(path)
        done = subprocess.run(
            ["gst-launch-1.0", *(
                f"filesrc location={path} blocksize={series[0].nbytes} ! "
                f"application/x-oct,domain=depth,format=CF32LE,samples={series.shape[2]},"
                f"lines={series.shape[1]},framerate={rate} ! openclupload ! "
                f"octdynamic repeats={repeats or len(series)} {settings} ! {frames_caps} opencldownload ! "
                + end.replace("OUT", str(out))
            ).split()],
            capture_output=True, text=True, timeout=300)
        if not out.exists() or done.returncode:
            return None, done.stdout + done.stderr
        if end.startswith("npysink"):
            values = np.load(out)
            return values if "rolling=true" in settings else values[0], done.stderr
        return np.fromfile(out, np.uint8), done.stderr


# --- definitions ---

def levels(series):
    return 10 * np.log10(np.abs(series.astype(np.complex128)) ** 2)


def decay_speed(series, delays):
    """El-Sadek et al. 2020: negated slope of the correlation coefficient over the delay"""
    level, coefficients = levels(series), []
    for delay in delays:
        early, late = level[:-delay], level[delay:]
        covariance = np.mean((early - early.mean(0)) * (late - late.mean(0)), axis=0)
        coefficients.append((covariance / (early.std(0) * late.std(0))).ravel())
    slopes = np.polyfit(np.array(delays) / RATE, np.array(coefficients), 1)[0]
    return -slopes.reshape(series.shape[1:])


def variance_curve(series):
    """Morishita et al. 2024: mean variance of all windows of 2, 3 ... frames"""
    level, frames = levels(series), len(series)
    return np.array([
        np.mean([level[at:at + length].var(0) for at in range(frames - length + 1)], axis=0)
        for length in range(2, frames + 1)])


def fit(curves):
    """Returns the height and rate of the least-squares fit, by a scan of the rates and then
    bisection of the derivative."""
    lags = np.arange(1, len(curves) + 1)[:, None]
    curves = curves.reshape(len(curves), -1)

    def model(log_rates):
        shape = 1 - np.exp(-np.exp(log_rates) * lags)
        heights = np.sum(curves * shape, axis=0) / np.sum(shape**2, axis=0)
        return heights, curves - heights * shape

    def descent(log_rates):
        return np.sum(model(log_rates)[1] * lags * np.exp(-np.exp(log_rates) * lags), axis=0)

    scan = np.linspace(np.log(SLOWEST / len(curves)), np.log(FASTEST), 400)
    residuals = np.array([np.sum(model(np.full(curves.shape[1], at))[1] ** 2, axis=0)
                          for at in scan])
    best = np.argmin(residuals, axis=0)
    low, high = scan[np.maximum(best - 1, 0)], scan[np.minimum(best + 1, len(scan) - 1)]
    inside = np.sign(descent(low)) != np.sign(descent(high))
    rises = np.sign(descent(low))
    for _ in range(60):
        middle = (low + high) / 2
        above = np.sign(descent(middle)) == rises
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    found = np.where(inside, (low + high) / 2, scan[best])
    return model(found)[0], np.exp(found)


def band_powers(series, edges):
    """Returns the mean frequency and the variance of the amplitude in each band."""
    amplitudes = np.abs(series.astype(np.complex128))
    frames = len(series)
    power = np.abs(np.fft.fft(amplitudes - amplitudes.mean(0), axis=0)) ** 2 / frames**2
    frequencies = np.abs(np.fft.fftfreq(frames, 1 / RATE))[:, None, None]
    mean = np.sum(power * frequencies, axis=0) / np.sum(power, axis=0)
    limits = [-1, *(edge + 1e-9 for edge in edges), RATE]
    return mean, [np.sum(power * ((low < frequencies) & (frequencies <= high)), axis=0)
                  for low, high in zip(limits, limits[1:])]


def expect_close(what, got, expected, unit=None, most=1e-5):
    """Compares by the root mean square, relative to `unit` or to the values'."""
    error = np.sqrt(np.mean((got - expected) ** 2))
    relative = error / (unit or np.sqrt(np.mean(expected**2)))
    print(f"{what}: {relative:.1e}")
    assert got.shape == expected.shape and relative <= most, (what, relative)


# --- promises ---

def check_numbers():
    # 36: more frames than a kernel takes as buffers. 61: depths that fill no vector
    for frames, depths in ((8, DEPTHS), (12, 61), (32, DEPTHS), (36, 16)):
        series = moving_scatterers(frames, frames, depths)
        expect_close(f"liv of {frames}", run(series, "quantity=liv")[0], levels(series).var(0))
        early = range(1, 6)
        expect_close("ocds-early", run(series, "quantity=ocds-early")[0],
                     decay_speed(series, early), RATE)
        if frames >= 12:
            expect_close("ocds-late", run(series, "quantity=ocds-late")[0],
                         decay_speed(series, range(5, frames // 2 + 1)), RATE)
        heights, rates = (values.reshape(LINES, depths) for values in fit(variance_curve(series)))
        aliv, swiftness = (run(series, f"quantity={name} average-curve=false")[0]
                           for name in ("aliv", "swiftness"))
        # Where the curve still rises at its end, its plateau is not determined.
        steady = (rates * (frames - 1) >= 1) & (rates < 0.9 * FASTEST)
        assert steady.mean() > 0.6, steady.mean()
        expect_close("aliv", aliv[steady], heights[steady])
        expect_close("swiftness", swiftness[steady], rates[steady] * RATE)
        assert np.all(swiftness >= 0.999 * SLOWEST / (frames - 1) * RATE)
        assert np.all(swiftness <= 1.001 * FASTEST * RATE)


def neighbours(curves):
    """Returns the curves of 3 x 3 A-lines and depths around each depth, as OpenCV's blur has them:
    beyond an end is the neighbour of the other side."""
    padded = np.pad(curves, ((0, 0), (1, 1), (1, 1)), mode="reflect")
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))


def check_averaged_curves():
    """The fit of the mean curve, in which unmeasured depths do not count. 61 and 48: depths that
    fill no vector and that do, 100: more repeats than those of a volume usually."""
    for frames, depths in ((16, 61), (32, 48), (100, 16)):
        series = moving_scatterers(frames, 70 + frames, depths)
        series[:, 5, 3:9], series[2, 0, 0], series[4, 11, depths - 1] = 0, 0, np.nan
        with np.errstate(all="ignore"):
            curves = variance_curve(series)
        missing = ~np.isfinite(curves).all(0)
        assert missing.sum() == 8, missing.sum()
        curves[:, missing] = np.nan
        means = np.nanmean(neighbours(curves), axis=(-2, -1))
        heights, rates = (values.reshape(LINES, depths) for values in fit(means))
        aliv, swiftness = (run(series, f"quantity={name}")[0] for name in ("aliv", "swiftness"))
        for values in aliv, swiftness:
            assert np.array_equal(np.isnan(values), missing)
        steady = (rates * (frames - 1) >= 1) & (rates < 0.9 * FASTEST) & ~missing
        assert steady.mean() > 0.8, steady.mean()
        expect_close(f"mean curves: aliv of {frames}", aliv[steady], heights[steady], most=3e-5)
        expect_close("mean curves: swiftness", swiftness[steady], rates[steady] * RATE, most=3e-5)


def check_many_repeats():
    """350 repeats, as in the protocol of El-Sadek and others"""
    series = moving_scatterers(350, 8, 8)
    expect_close("liv of 350", run(series, "quantity=liv")[0], levels(series).var(0))
    expect_close("ocds-late of 350", run(series, "quantity=ocds-late")[0],
                 decay_speed(series, range(5, 176)), RATE)
    heights, rates = (values.reshape(LINES, 8) for values in fit(variance_curve(series)))
    aliv, swiftness = (run(series, f"quantity={name} average-curve=false")[0]
                       for name in ("aliv", "swiftness"))
    steady = (rates * 349 >= 1) & (rates < 0.9 * FASTEST)
    expect_close("aliv of 350", aliv[steady], heights[steady], most=1e-4)
    expect_close("swiftness of 350", swiftness[steady], rates[steady] * RATE, most=1e-4)


def check_rolling():
    """Each frame has the quantity of the last repeats, of both kinds of memory. Those before the
    window is full have none."""
    for repeats, frames in ((8, 21), (40, 45)):
        series = moving_scatterers(frames, repeats, 16)
        for quantity in "liv", "ocds-early", "mean-frequency":
            got = run(series, f"rolling=true quantity={quantity}", repeats=repeats)[0]
            assert len(got) == frames - repeats + 1, got.shape
            for n, values in enumerate(got):
                alone = run(series[n:n + repeats], f"quantity={quantity}")[0] if n in (0, 3) else None
                assert alone is None or np.allclose(values, alone, rtol=1e-5), (quantity, n)
                if quantity == "liv":
                    expected = levels(series[n:n + repeats]).var(0)
                    assert np.allclose(values, expected, rtol=1e-4), (repeats, n)
    moved = run(series, "rolling=true quantity=liv axial-shift=2", repeats=40)[0]
    alone = run(series[3:43], "quantity=liv axial-shift=2")[0]
    assert np.allclose(moved[3], alone, rtol=1e-5)


def check_rolling_scan():
    """The window begins anew with each B-scan."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["gst-launch-1.0", "-q", *(
                "octtestsrc num-buffers=20 noise=20 ! video/x-raw(ANY),width=256,height=16 ! "
                "octscan b-scans=2 repeats=10 ! octwindowinterp ! octfft ! octdynamic rolling=true "
                f"repeats=6 ! opencldownload ! npysink location={folder}/out.npy").split()],
            check=True, timeout=300)
        assert len(np.load(f"{folder}/out.npy")) == 10


def check_delays():
    """Delays of the protocol of three dimensions, from 204.8 to 1228.8 ms"""
    series = moving_scatterers(32, 9)
    got = run(series, "quantity=ocds-late frame-rate=4.8828125 early-delay=204.8 "
                      "late-delay=1228.8")[0]
    expect_close("delays in ms", got * RATE / 4.8828125, decay_speed(series, range(1, 7)), RATE)


def check_spectra():
    for frames, edges in ((32, (RATE / 6, RATE / 3)), (15, (2, 8.5))):
        series = moving_scatterers(frames, 40 + frames)
        settings = "" if frames == 32 else f"low-end={edges[0]} middle-end={edges[1]} "
        mean, powers = band_powers(series, edges)
        expect_close("mean frequency", run(series, settings + "quantity=mean-frequency")[0], mean)
        sums = [run(series, f"quantity=bands low-end={edge} middle-end={RATE}")[0]
                for edge in (*edges, RATE / 2)]
        for name, got, power in zip(("low", "middle", "high"), np.diff(sums, axis=0, prepend=0), powers):
            expect_close(name, got, power, np.sqrt(np.mean(sums[-1] ** 2)))
        amplitudes = np.abs(series.astype(np.complex128))
        expect_close("all bands", sum(powers), amplitudes.var(0))


def check_colours():
    series = moving_scatterers(32, 5)
    mean_level = 10 * np.log10(np.mean(np.abs(series.astype(np.complex128)) ** 2, axis=0))
    for quantity, limits, hues, expected in (
            ("liv", (0, 30), (0, 120), levels(series).var(0)),
            ("aliv", (0, 30), (0, 120), run(series, "quantity=aliv")[0]),
            ("mean-frequency", (0, 12.5), (240, 0), band_powers(series, (1, 2))[0])):
        part = np.clip((expected - limits[0]) / (limits[1] - limits[0]), 0, 1)
        bright = np.clip((mean_level - 20) / 30, 0, 1)
        pixels, _ = run(series, f"quantity={quantity} db-min=20 db-max=50",
                        end="filesink location=OUT", frames_caps="video/x-raw(ANY),format=RGBA !")
        pixels = pixels.reshape(DEPTHS, LINES, 4)
        assert np.all(pixels[..., 3] == 255)
        yellow, _ = run(series, f"quantity={quantity} db-min=20 db-max=50 colormap=blue-yellow",
                        end="filesink location=OUT", frames_caps="video/x-raw(ANY),format=RGBA !")
        ends = np.array([[0, 114, 178], [240, 228, 66]])  # Okabe and Ito 2008
        colours = (ends[0] + part[..., None] * (ends[1] - ends[0])) * bright[..., None]
        assert np.allclose(yellow.reshape(DEPTHS, LINES, 4)[..., :3], colours.transpose(1, 0, 2),
                           atol=0.6), quantity
        for line, depth in np.ndindex(LINES, DEPTHS):
            hue = hues[0] + (hues[1] - hues[0]) * part[line, depth]
            colour = colorsys.hsv_to_rgb(hue / 360, 1, bright[line, depth])
            assert np.allclose(pixels[depth, line, :3], np.array(colour) * 255, atol=0.6), (
                quantity, line, depth, pixels[depth, line], colour)
    low, middle, high = band_powers(series, (RATE / 6, RATE / 3))[1]
    pixels, _ = run(series, "quantity=bands db-min=10 db-max=40",
                    end="filesink location=OUT", frames_caps="video/x-raw(ANY),format=RGBA !")
    for channel, power in enumerate((high, middle, low)):
        expected = np.clip((10 * np.log10(power) - 10) / 30, 0, 1) * 255
        got = pixels.reshape(DEPTHS, LINES, 4)[..., channel].T
        assert np.allclose(got, expected, atol=0.6), (channel, np.abs(got - expected).max())


def check_colour_blindness():
    """Ends of the colours as people without one kind of cones see them (Vienot and others 1999,
    linear RGB): blue and yellow stay far apart in blue against yellow, red and green do not."""
    matrices = {"protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
                "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]}
    for kind, matrix in matrices.items():
        def seen(*colour, matrix=matrix):
            red, _, blue = np.array(matrix) @ (np.array(colour) / 255) ** 2.2
            return blue / (red + blue)  # of a dichromat's two dimensions, that beside brightness
        hues = abs(seen(255, 0, 0) - seen(0, 255, 0))
        blue_yellow = abs(seen(0, 114, 178) - seen(240, 228, 66))
        print(f"{kind}: {hues:.2f} between red and green, {blue_yellow:.2f} between blue and yellow")
        assert blue_yellow > 0.5 > 3 * hues, kind


def smooth(series):
    """Gives depths the resolution of a focus and of a window (Gaussian spectra)."""
    spectrum = np.fft.fft2(series)
    across, along = (np.fft.fftfreq(size)[(...,) + (None,) * (1 - axis)]
                     for axis, size in enumerate(series.shape[1:]))
    return np.fft.ifft2(spectrum * np.exp(-((across / 0.15) ** 2 + (along / 0.2) ** 2)))


def check_alignment():
    """Repeats that move by whole bins and A-lines: in the middle as if they did not"""
    random = np.random.default_rng(11)
    tissue = smooth(fields(random, 1, 64, 160))
    still = (tissue + 0.2 * smooth(fields(random, 16, 64, 160))).astype(np.complex64)
    moved = np.array([np.roll(one, (n % 3 - 1, n % 5 - 2) if n else (0, 0), (0, 1))
                      for n, one in enumerate(still)])
    inner = np.s_[12:-12, 20:-20]
    expected = levels(still).var(0)[inner]
    assert np.mean(run(moved, "quantity=liv")[0][inner]) > 3 * np.mean(expected)
    got = run(moved, "quantity=liv axial-shift=4 lateral-shift=3")[0][inner]
    expect_close("aligned", np.log(got), np.log(expected), 1, most=0.1)


def check_silence():
    """Depths of one value give 0. Depths of zeros give NaN, and so do those of which one repeat is
    NaN, infinite or zero. A zero among others is an amplitude, but no level. Other depths are as
    before."""
    noisy = moving_scatterers(16, 3)
    for quantity in ("liv", "ocds-early", "aliv", "swiftness", "mean-frequency", "bands"):
        quantity += " average-curve=false"
        expected = run(noisy, f"quantity={quantity}")[0]
        for value in (0, 3 + 4j, np.nan, np.inf):
            series = noisy.copy()
            series[:, 3], series[5, 9, 7:9] = value, value
            got = run(series, f"quantity={quantity}")[0]
            assert np.all(got[3] == 0 if value == 3 + 4j else np.isnan(got[3])), (
                value, quantity, got[3, 0])
            is_level = value != 0 or quantity.startswith(("mean-frequency", "bands"))
            assert np.all(np.isfinite(got[9, 7:9]) == (np.isfinite(value) and is_level)), (
                value, quantity, got[9, 7:9])
            others = np.ones(got.shape, bool)
            others[3], others[9, 7:9] = False, False
            assert np.array_equal(got[others], expected[others]), (value, quantity)


def of_phantom(folder, elements, rate):
    subprocess.run(
        ["gst-launch-1.0", "-q", *(
            f"octtestsrc pattern=tissue repeats=32 num-buffers=32 noise=5 flow-velocity=0 "
            f"cell-rate={rate} ! video/x-raw(ANY),width=1024,height=256,framerate=25/1 ! "
            f"octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft ! {elements} ! "
            f"opencldownload ! npysink location={folder}/out.npy").split()], check=True, timeout=300)
    return np.load(f"{folder}/out.npy")[0]


def check_phantom():
    """Moving cells of octtestsrc: light of moving scatterers alone has a log variance of
    (10 / ln 10)^2 pi^2 / 6 dB^2. Twice the rate is twice the swiftness. Static layers are dark."""
    with tempfile.TemporaryDirectory() as folder:
        surface = of_phantom(folder, "application/x-oct(ANY),format=F32LE ! octsurface", 0)[0]
        aliv, liv, swiftness = (of_phantom(folder, f"octdynamic repeats=32 quantity={quantity}", 8)
                                for quantity in ("aliv", "liv", "swiftness"))
        away = np.abs(np.arange(256) - 127.5) * 3000 / 256 > 900  # from the fovea, in um
        below = np.arange(aliv.shape[1]) - surface[:, None]
        moving = (below > 14) & (below < 18) & (liv > 3) & away[:, None]  # ganglion cells, no blood at rest
        assert moving.sum() > 200, moving.sum()
        static = (below > 150) & (below < 165) & away[:, None]
        mean = np.mean(aliv[moving])
        print(f"aliv of moving scatterers: {mean:.1f} dB^2")
        assert abs(mean / ((10 / np.log(10)) ** 2 * np.pi**2 / 6) - 1) < 0.1, mean
        fast, slow = (
            np.median(of_phantom(folder, "octdynamic repeats=32 quantity=swiftness", rate)[moving]) for rate in (6, 3))
        print(f"swiftness of twice the rate: {fast / slow:.2f} times")
        assert abs(fast / slow - 2) < 0.3, (fast, slow)
        print(f"liv of moving and static layers: {np.median(liv[moving]):.1f}, "
              f"{np.median(liv[static]):.2f} dB^2")
        assert np.median(liv[static]) < 0.05 * np.median(liv[moving])
        # The inner plexiform layer moves more slowly.
        slower = (below > 33) & (below < 37) & away[:, None]
        assert np.median(swiftness[slower]) < 0.6 * np.median(swiftness[moving])


def check_refusals():
    series = moving_scatterers(8, 2)
    for settings, rate, words in (
            ("quantity=swiftness", "0/1", ("frame-rate", "swiftness")),
            ("quantity=ocds-late", "25/1", ("ocds-late", "8 repeats")),
            ("quantity=ocds-early early-delay=50", "25/1", ("ocds-early", "50 ms", "one")),
            ("quantity=ocds-late early-delay=1e6 frame-rate=1e7", "25/1", ("ocds-late", "none")),
            ("quantity=mean-frequency low-end=9 middle-end=5", "25/1", ("low-end", "9 Hz")),
            ("db-min=5 db-max=5", "25/1", ("db-min",))):
        got, output = run(series, settings, rate=rate)
        assert got is None and all(word in output for word in words), (settings, output)
    got, output = run(series[:4], "quantity=aliv")
    assert got is None and "8 or more" in output, output
    assert run(series, "quantity=aliv", rate="0/1")[0] is not None
    assert run(series, "quantity=swiftness frame-rate=25", rate="0/1")[0] is not None


def main():
    for name, check in list(globals().items()):
        if name.startswith("check_") and (len(sys.argv) < 2 or name in sys.argv[1:]):
            print(name, flush=True)
            check()


main()
