#!/usr/bin/env python3
"""Promise: oct-calibrate writes the map, the phase and the settings that octwindowinterp reads.

usage: octcalibrate.py OCT-CALIBRATE

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from octwriter import Recording

TOOL = os.path.realpath(sys.argv[1])
SAMPLES = 1024


def calibrate(*words):
    return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)


def place_of(sample):
    u = sample / (SAMPLES - 1)
    return (SAMPLES - 1) * (u + 0.12 * u * (1 - u))


def mirror(depth, side):
    u = np.linspace(-1, 1, SAMPLES)
    place = place_of(np.arange(SAMPLES))
    bend = 5 * (2 * place / (SAMPLES - 1) - 1) ** 2
    return np.exp(-1.5 * u**2) * np.cos(2 * np.pi * depth * place / SAMPLES + side * bend)


def settings():
    with open("settings.txt", encoding="utf-8") as file:
        return file.read().split()


def true_map():
    fine = np.linspace(0, SAMPLES - 1, 100 * SAMPLES)
    return np.interp(np.arange(SAMPLES), place_of(fine), fine)


def check_mirrors():
    dark = 3 + np.sin(np.arange(SAMPLES) / 5)
    np.save("dark.npy", dark)
    np.save("one.npy", np.tile(mirror(60, 1) + dark, (4, 1)))
    np.save("two.npy", mirror(130, -1) + dark)
    done = calibrate("--mirror", "one.npy", "--subtract", "dark.npy",
                     "--mirror", "two.npy", "--subtract", "dark.npy")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "width of the first mirror's peak" in done.stdout, done.stdout
    assert settings() == ["resample-map=resample-map.npy", "dispersion-phase=dispersion-phase.npy"]
    found, expected = np.load("resample-map.npy"), true_map()
    # The samples at the ends determine depth 0 and the scale of depths.
    slope = np.gradient(expected)
    terms = np.stack([slope, slope * np.arange(SAMPLES)], 1)
    off = found - expected
    off -= terms @ np.linalg.lstsq(terms, off, rcond=None)[0]
    assert np.sqrt(np.mean(off**2)) < 0.05, np.sqrt(np.mean(off**2))
    assert np.load("dispersion-phase.npy").shape == (SAMPLES,)


def spectrum(depth, side, edge, chirp=0.03, samples=2048):
    """Fringe of a mirror, with `edge` rad of dispersion at the ends of the spectrum."""
    t = np.arange(samples) / (samples - 1)
    place = t + 4 * chirp * t * (1 - t)
    phase = 2 * np.pi * depth * place * (samples - 1) / samples + side * edge * (2 * place - 1) ** 2
    return np.exp(-0.5 * ((t - 0.5) / 0.22) ** 2) * np.cos(phase), place


def bend(values):
    """Returns the RMS of values after subtraction of their best line, where there is light."""
    x = np.arange(values.size)[100:-100]
    values = values[100:-100]
    return np.std(values - np.polyval(np.polyfit(x, values, 1), x))


def check_dispersion():
    for edge in (21, -84, 150):
        one, place = spectrum(180, 1, edge)
        np.save("one.npy", one)
        np.save("two.npy", spectrum(260, -1, edge)[0])
        done = calibrate("--mirror", "one.npy", "--mirror", "two.npy")
        assert done.returncode == 0, done.stderr
        at = np.interp(np.load("resample-map.npy"), np.arange(place.size), place)
        off = bend(at * (place.size - 1))
        turned = bend(np.load("dispersion-phase.npy") - edge * (2 * at - 1) ** 2)
        assert off < 0.01 and turned < 0.01, (edge, off, turned)
        widths = re.search(r"peak: ([0-9.]+) depths, calibrated ([0-9.]+)", done.stdout)
        assert float(widths[2]) < min(2.7, float(widths[1])), done.stdout


def check_growth():
    """The phase of one fringe ripples; the other mirror reflects only the middle of the spectrum.
    The map is smooth: it fits the ripple there and widens the peak by its error elsewhere."""
    os.mkdir("wider")
    t = np.arange(SAMPLES) / (SAMPLES - 1)
    ripple = 0.4 * np.sin(4 * np.pi * (2 * t - 1))
    np.save("one.npy", np.exp(-0.5 * ((t - 0.5) / 0.22) ** 2) * np.cos(2 * np.pi * 180 * t + ripple))
    np.save("two.npy", np.exp(-0.5 * ((t - 0.5) / 0.12) ** 2) * np.cos(2 * np.pi * 260 * t))
    done = calibrate("--mirror", "one.npy", "--mirror", "two.npy", "--output", "wider")
    widths = re.search(r"the peak of mirror 1 from ([0-9.]+) to ([0-9.]+) depths", done.stderr)
    assert done.returncode == 1 and widths, done.stderr
    assert 2 < float(widths[1]) < float(widths[2]), done.stderr
    assert not os.listdir("wider"), os.listdir("wider")


def check_maps_of_others():
    place_of(np.arange(SAMPLES)).astype("<f4").tofile("Chirp.data")
    done = calibrate("--chirp", "Chirp.data", "--samples", str(SAMPLES))
    assert done.returncode == 0, done.stderr
    assert settings() == ["resample-map=resample-map.npy"]
    assert np.abs(np.load("resample-map.npy") - true_map()).max() < 1e-3

    done = calibrate("--polynomial", "1,1000,20", "--samples", str(SAMPLES))
    assert done.returncode == 0, done.stderr
    u = np.linspace(0, 1, SAMPLES)
    assert np.abs(np.load("resample-map.npy") - (1 + 1000 * u + 20 * u**2)).max() < 1e-9

    # Wavenumbers in any unit, rising or falling, in any file, and wavelengths are one map.
    wavelengths = np.linspace(1187, 1433, SAMPLES)
    even = np.linspace(1 / wavelengths[0], 1 / wavelengths[-1], SAMPLES)
    expected = np.interp(-even, -1 / wavelengths, np.arange(SAMPLES))
    np.save("k.npy", 2 * np.pi / wavelengths)
    np.savetxt("cm.txt", 1e7 / wavelengths, header="1/cm")
    (2e3 * np.pi / wavelengths[::-1]).astype("<f4").tofile("k.data")
    np.savetxt("lambda.txt", wavelengths)
    for words in ("--chirp", "k.npy"), ("--chirp", "cm.txt"), ("--wavelengths", "lambda.txt"):
        found = outputs("even", *words)["resample-map.npy"]
        assert np.abs(found - expected).max() < 1e-4, words
    found = outputs("even", "--chirp", "k.data")["resample-map.npy"]
    assert np.abs(found - (SAMPLES - 1 - expected[::-1])).max() < 1e-2
    done = calibrate("--wavelength-range", "1187,1433", "--samples", str(SAMPLES),
                     "--wavelength-unit", "nm", "--output", "even")
    step = float(re.search(r"depth-step=(.*)", done.stdout)[1])
    assert abs(step / (0.5 * 1.187 * 1.433 / 0.246 * (SAMPLES - 1) / SAMPLES) - 1) < 1e-9, step


def outputs(folder, *words):
    """Returns the files that oct-calibrate writes, by their names."""
    os.makedirs(folder, exist_ok=True)
    done = calibrate(*words, "--output", folder)
    assert done.returncode == 0, (words, done.stderr)
    return {name: np.load(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith("npy")}


def counts(fringe, dark):
    """Returns 40 A-lines with noise as counts of a camera."""
    lines = 1000 + 800 * fringe + dark + np.random.default_rng(3).normal(0, 2, (40, SAMPLES))
    return np.round(lines).astype("<u2")


def same(found, expected):
    """Sums of floating-point numbers depend on their order in the last digits."""
    assert found.keys() == expected.keys(), (found.keys(), expected.keys())
    for name, values in found.items():
        assert np.abs(values - expected[name]).max() < 1e-6, (name, np.abs(values - expected[name]).max())


def check_recordings():
    """A .oct or raw recording gives the same as a .npy with the same A-lines."""
    dark = 50 * np.sin(np.arange(SAMPLES) / 40)
    apodization = counts(np.zeros(SAMPLES), dark)[:12]
    for name, depth, side in ("one", 60, 1), ("two", 130, -1):
        lines = counts(mirror(depth, side), dark)
        np.save(f"{name}.npy", lines)
        Recording(lines.reshape(4, 10, SAMPLES), np.stack([apodization] * 4)).write(f"{name}.oct")
        with open(f"{name}.raw", "wb") as file:
            file.write(b"header of 17 byte" + lines.astype(">u2").tobytes())
    np.save("apodization.npy", apodization)
    expected = outputs("by-npy", "--mirror", "one.npy", "--subtract", "apodization.npy",
                       "--mirror", "two.npy", "--subtract", "apodization.npy")  # fmt: skip
    assert set(expected) == {"resample-map.npy", "dispersion-phase.npy"}, set(expected)
    same(outputs("by-oct", "--mirror", "one.oct", "--mirror", "two.oct"), expected)
    same(outputs("by-raw", "--size", f"{SAMPLES}x10", "--format", "U16BE", "--offset", "17",
                 "--mirror", "one.raw", "--subtract", "apodization.npy", "--mirror", "two.raw",
                 "--subtract", "apodization.npy"), expected)  # fmt: skip
    packed = np.load("one.npy")[:, :SAMPLES] // 4 % 1024
    bits = (packed[..., None] >> np.arange(10) & 1).astype("u1").reshape(len(packed), -1)
    np.packbits(bits, axis=-1, bitorder="little").tofile("packed.raw")
    np.save("unpacked.npy", packed)
    same(outputs("by-packed", "--size", f"{SAMPLES}x20", "--format", "MONO10P", "--mirror",
                 "packed.raw"), outputs("by-unpacked", "--mirror", "unpacked.npy"))
    # --subtract replaces the background of the recording.
    np.save("zero.npy", np.zeros(SAMPLES))
    other = outputs("other-npy", "--mirror", "one.npy", "--subtract", "zero.npy")
    same(outputs("other-oct", "--mirror", "one.oct", "--subtract", "zero.npy"), other)


def tissue():
    """A-lines of a mirror that moves, with dispersion"""
    q = np.arange(SAMPLES) - SAMPLES / 2
    phase = 6e-5 * np.interp(place_of(np.arange(SAMPLES)), np.arange(SAMPLES), q**2)
    place = place_of(np.arange(SAMPLES))
    return np.stack([np.round(1000 + 700 * np.exp(-3 * (q / SAMPLES) ** 2)
                              * np.cos(2 * np.pi * depth * place / SAMPLES + phase))
                     for depth in range(100, 164)]).astype("<u2")  # fmt: skip


def check_sharpening_of_recordings():
    """Dispersion is found with the chirp of the recording, which becomes the map."""
    Recording(tissue()[None], chirp=place_of(np.arange(SAMPLES))).write("tissue.oct")
    found = outputs("sharp", "--sharpen", "tissue.oct")
    assert np.abs(found["resample-map.npy"] - true_map()).max() < 1e-3
    with open("sharp/settings.txt", encoding="utf-8") as file:
        values = dict(line.split("=") for line in file.read().split())
    assert abs(float(values["dispersion-a2"]) / 6e-5 - 1) < 0.05, values
    assert values["resample-map"] == "resample-map.npy", values


def check_names():
    """Settings are the same in a folder of any name, and with a map of any name."""
    folder = "x\nwindow=bogus "
    outputs(folder, "--mirror", "one.npy", "--subtract", "dark.npy")
    with open(os.path.join(folder, "settings.txt"), encoding="utf-8") as file:
        assert file.read() == "resample-map=resample-map.npy\n"
    with open("sharp/resample-map.npy", "rb") as file, open(f"{folder}.npy", "wb") as copy:
        copy.write(file.read())
    np.save("tissue.npy", tissue())
    found = outputs(f"new/{folder}", "--resample-map", f"{folder}.npy", "--sharpen", "tissue.npy")
    assert np.abs(found["resample-map.npy"] - true_map()).max() < 1e-3


def check_old_settings():
    """Settings of version 0.3 with a chirp or a polynomial become those of a resample map."""
    os.mkdir("old")
    place_of(np.arange(SAMPLES)).astype("<f4").tofile("old/Chirp.data")
    np.save("old/phase.npy", np.zeros(SAMPLES))
    with open("old/settings.txt", "w", encoding="utf-8") as file:
        file.write("# of 2024\nchirp=Chirp.data\nwindow=hamming\ndispersion-phase=phase.npy\n"
                   "calibrate-same-side=true\n")
    done = calibrate("--settings", "old/settings.txt", "--output", "converted")
    assert done.returncode == 0, done
    assert done.stdout == ("resample-map=resample-map.npy\nwindow=hamming\n"
                           f"dispersion-phase={os.path.realpath('old/phase.npy')}\n"), done.stdout
    assert np.abs(np.load("converted/resample-map.npy") - true_map()).max() < 1e-3
    play = "octtestsrc num-buffers=1 ! video/x-raw(ANY),width=1024,height=4 ! openclupload ! " \
           "octwindowinterp settings={} ! fakesink"
    for settings, status in ("old/settings.txt", 1), ("converted/settings.txt", 0):
        played = subprocess.run(["gst-launch-1.0", *play.format(settings).split()],
                                capture_output=True, text=True, check=False)
        assert bool(played.returncode) == bool(status), played
        assert ("oct-calibrate --settings" in played.stderr) == bool(status), played.stderr
    with open("old/settings.txt", "w", encoding="utf-8") as file:
        file.write("resample-polynomial=0,1000,23\n")
    done = calibrate("--settings", "old/settings.txt", "--output", "converted")
    assert done.returncode == 1 and "needs --samples" in done.stderr, done
    outputs("converted", "--settings", "old/settings.txt", "--samples", str(SAMPLES))
    u = np.linspace(0, 1, SAMPLES)
    assert np.abs(np.load("converted/resample-map.npy") - (1000 * u + 23 * u**2)).max() < 1e-9


def check_refusals():
    with open("one.oct", "rb") as whole, open("cut.oct", "wb") as cut:
        cut.write(whole.read(5000))
    np.save("noise.npy", np.random.default_rng(1).normal(size=SAMPLES))
    np.savetxt("words.txt", ["1", "2", "x"], "%s")
    np.savetxt("back.txt", [3, 1, 2])
    for words, status, said in (
        ((), 2, "expected --mirror, --sharpen"),
        (("--mirror", "noise.npy"), 1, "no fringe found above"),
        (("--mirror", "none.npy"), 2, "none.npy: no such file"),
        (("--polynomial", "1,x", "--samples", "64"), 1, 'polynomial "1,x": expected up to 16'),
        (("--polynomial", "1,2"), 2, "--samples"),
        (("--polynomial", "1,2", "--samples", f"{SAMPLES}x"), 2, f"--samples {SAMPLES}x"),
        (("--polynomial", "1,2", "--samples", "-64"), 2, "--samples -64"),
        (("--chirp", "Chirp.data", "--samples", "64"), 1, "1024 values, expected 64"),
        (("--chirp", "words.txt"), 1, 'words.txt, line 3: "x", expected a number'),
        (("--chirp", "back.txt"), 1, "back.txt: value 2 is 2 after 1, expected strictly"),
        (("--what", "x"), 2, "no such option"),
        (("--raw", "1024,U16LE", "--mirror", "one.npy"), 2, "use --size"),
        (("--mirror", "one.npy", "--sharpen", "tissue.npy", "--chirp", "Chirp.data"), 2,
         "expected one calibration"),
        (("--mirror", "one.raw"), 1, "one.raw: a raw file does not say its sizes"),
        (("--size", f"{SAMPLES}x10", "--mirror", "one.raw"), 1, "or this size with a header of 17"),
        (("--size", f"{SAMPLES}x10", "--format", "U12", "--mirror", "one.raw"), 1,
         "format U12 is not one of"),
        (("--size", "1024", "--mirror", "one.raw"), 2, "SAMPLESxLINES"),
        (("--mirror", "cut.oct"), 1, "cut.oct: "),
        (("--subtract", "dark.npy", "--mirror", "one.npy"), 2, "expected after a --mirror"),
        (("--flat", "one.npy", "--sharpen", "one.npy"), 2, "--sharpen and --flat given"),
    ):
        done = calibrate(*words)
        assert done.returncode == status and said in done.stderr, (words, done)
        assert "Traceback" not in done.stderr, done


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_mirrors()
    check_dispersion()
    check_growth()
    check_maps_of_others()
    check_recordings()
    check_sharpening_of_recordings()
    check_names()
    check_old_settings()
    check_refusals()
