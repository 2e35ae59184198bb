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
    apodization.astype("<f4").tofile("apodization.raw")
    expected = outputs("by-npy", "--mirror", "one.npy", "--subtract", "apodization.npy",
                       "--mirror", "two.npy", "--subtract", "apodization.npy")  # fmt: skip
    assert set(expected) == {"resample-map.npy", "dispersion-phase.npy"}, set(expected)
    same(outputs("by-oct", "--mirror", "one.oct", "--mirror", "two.oct"), expected)
    raw, floats = f"{SAMPLES},U16BE,17", f"{SAMPLES},F32LE"
    same(outputs("by-raw", "--raw", raw, "--mirror", "one.raw", "--raw", floats, "--subtract",
                 "apodization.raw", "--raw", raw, "--mirror", "two.raw", "--raw", floats,
                 "--subtract", "apodization.raw"), expected)  # fmt: skip
    # --subtract replaces the background of the recording.
    np.save("zero.npy", np.zeros(SAMPLES))
    other = outputs("other-npy", "--mirror", "one.npy", "--subtract", "zero.npy")
    same(outputs("other-oct", "--mirror", "one.oct", "--subtract", "zero.npy"), other)


def check_sharpening_of_recordings():
    """Dispersion is found with the chirp of the recording, which becomes the map."""
    q = np.arange(SAMPLES) - SAMPLES / 2
    phase = 6e-5 * np.interp(place_of(np.arange(SAMPLES)), np.arange(SAMPLES), q**2)
    place = place_of(np.arange(SAMPLES))
    lines = np.stack([np.round(1000 + 700 * np.exp(-3 * (q / SAMPLES) ** 2)
                               * np.cos(2 * np.pi * depth * place / SAMPLES + phase))
                      for depth in range(100, 164)]).astype("<u2")  # fmt: skip
    Recording(lines[None], chirp=place).write("tissue.oct")
    found = outputs("sharp", "--sharpen", "tissue.oct")
    assert np.abs(found["resample-map.npy"] - true_map()).max() < 1e-3
    with open("sharp/settings.txt", encoding="utf-8") as file:
        values = dict(line.split("=") for line in file.read().split())
    assert abs(float(values["dispersion-a2"]) / 6e-5 - 1) < 0.05, values
    assert values["resample-map"] == "resample-map.npy", values


def check_names():
    """A file of settings has the same lines in a folder of any name."""
    folder = "x\nwindow=bogus "
    outputs(folder, "--mirror", "one.npy", "--subtract", "dark.npy")
    with open(os.path.join(folder, "settings.txt"), encoding="utf-8") as file:
        assert file.read() == "resample-map=resample-map.npy\n"
    for name in "x\nwindow=bogus.npy", "map.npy ":
        with open(name, "wb") as file:
            np.save(file, np.arange(float(SAMPLES)))
        done = calibrate("--resample-map", name, "--sharpen", "two.npy", "--output", folder)
        assert done.returncode == 1 and "settings.txt" in done.stderr, done


def check_refusals():
    with open("one.oct", "rb") as whole, open("cut.oct", "wb") as cut:
        cut.write(whole.read(5000))
    np.save("noise.npy", np.random.default_rng(1).normal(size=SAMPLES))
    for words, said in (
        ((), "expected one or two --mirror"),
        (("--mirror", "noise.npy"), "no fringe found above"),
        (("--mirror", "none.npy"), "none.npy"),
        (("--polynomial", "1,x", "--samples", "64"), "resample-polynomial"),
        (("--chirp", "Chirp.data"), "--samples"),
        (("--chirp", "Chirp.data", "--samples", f"{SAMPLES}x"), f"--samples {SAMPLES}x"),
        (("--chirp", "Chirp.data", "--samples", "-64"), "--samples -64"),
        (("--chirp", "Chirp.data", "--samples", "64"), "expected 64"),
        (("--what", "x"), "no such option"),
        (("--mirror", "one.raw"), "one.raw: neither .npy nor .oct"),
        (("--raw", "1024,U16LE", "--mirror", "one.raw"), "only 17 bytes available"),
        (("--raw", "1024,U12", "--mirror", "one.raw"), "expected SAMPLES[,FORMAT[,HEADER-BYTES]]"),
        (("--raw", "1024,U16LE,99999999", "--mirror", "one.raw"), "expected a header of 99999999"),
        (("--mirror", "cut.oct"), "cut.oct: no zip archive in 5000 bytes"),
    ):
        done = calibrate(*words)
        status = 1 if said in ("no fringe found above", "resample-polynomial", "expected 64") else 2
        assert done.returncode == status and said in done.stderr, (words, done)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_mirrors()
    check_dispersion()
    check_growth()
    check_maps_of_others()
    check_recordings()
    check_sharpening_of_recordings()
    check_names()
    check_refusals()
