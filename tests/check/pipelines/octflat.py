#!/usr/bin/env python3
"""Promise: with what oct-calibrate --flat finds, octscan and octflatten make a flat target flat, within
0.1 depths rms, and forward and backward frames agree. A target that cannot tell is refused.

usage: octflat.py OCT-CALIBRATE

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

TOOL = os.path.realpath(sys.argv[1])
SAMPLES, LINES, B_SCANS = 512, 96, 6
RANDOM = np.random.default_rng(3)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def calibrate(*words):
    done = run(TOOL, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refuse(reason, *words):
    done = run(TOOL, *words)
    status = 2 if {"--order", "--sideways"} & {*words} or "no such file" in reason else 1
    assert done.returncode == status and reason in done.stderr, (reason, done)
    *warnings, _ = done.stderr.splitlines()
    assert all("no calibration" in line for line in warnings), done.stderr


def process(file, scan, flatten, caps="application/x-oct,format=CF32LE"):
    """Depths of the spectra in a file, as (frames, lines, depths)."""
    done = run("gst-launch-1.0", "filesrc", f"location={file}", "!", "npyparse", "!", "openclupload", "!", "octscan",
               *scan, "!", "octwindowinterp", "!", "octfft", "scale=linear", "!", "octflatten", *flatten, "!",
               caps.replace(",", "(ANY),", 1), "!", "opencldownload", "!", "npysink", "location=depths.npy")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr, done.stdout + done.stderr
    return np.load("depths.npy")


def spectra(depth, level=1000.0, noise=1.0):
    """Fringes of a surface at these depths, in bins."""
    depth, level = np.broadcast_arrays(depth, level)
    m = np.arange(SAMPLES)
    phase = 2 * np.pi * np.asarray(depth)[..., None] * m / SAMPLES
    fringes = np.asarray(level)[..., None] * np.cos(phase + 0.3)
    return (fringes + noise * RANDOM.standard_normal(fringes.shape)).astype("<f4")


def surface(depths):
    """Depth and level of the peak of each A-line: centre and sum of its power."""
    power = np.abs(depths.astype(complex)) ** 2
    power[..., :8] = 0
    peak = power.argmax(-1)
    near = peak[..., None] + np.arange(-4, 5)
    weights = np.take_along_axis(power, np.clip(near, 0, power.shape[-1] - 1), -1)
    return (weights * near).sum(-1) / weights.sum(-1), 10 * np.log10(weights.sum(-1))


def rms(values):
    return np.sqrt(np.mean((values - values.mean()) ** 2))


def field(lines=LINES, b_scans=B_SCANS):
    return np.meshgrid(np.linspace(-1, 1, lines), np.linspace(-1, 1, b_scans))


def path(x, y):
    return 12 * x**2 + 5 * y**2 - 3 * x * y + 2 * x**3 + 1.5 * x**4 - y**2 * x**2


# In the order of octflatten
COEFFICIENTS = [0, 0, 0, 12, -3, 5, 2, 0, 0, 0, 1.5, 0, -1, 0, 0]


def numbers_of(text):
    return np.array([float(word) for word in re.search(r"coefficients=<(.*)>", text)[1].split(",")])


def with_outliers(depth, share):
    """Some A-lines with a bright speck somewhere else."""
    depth = depth.copy()
    wrong = RANDOM.random(depth.shape) < share
    depth[wrong] = RANDOM.uniform(20, 200, wrong.sum())
    return depth


def check_volume():
    x, y = field()
    np.save("volume.npy", spectra(with_outliers(80 + path(x, y), 0.2)))
    text = calibrate("--flat", "volume.npy")
    found = numbers_of(text)
    assert np.abs(found - COEFFICIENTS).max() < 0.1, found
    off = 0 * x
    for n, (i, j) in enumerate((d - k, k) for d in range(5) for k in range(d + 1)):
        off += (found[n] - COEFFICIENTS[n]) * x**i * y**j
    print(f"volume: polynomial within {np.abs(off).max():.3f} depths; {text.splitlines()[0]}")
    assert np.abs(off).max() < 0.05, off
    with open("flatten.txt", encoding="utf-8") as file:
        assert file.read() == [line + "\n" for line in text.splitlines() if "=" in line][-1]

    np.save("clean.npy", spectra(80 + path(x, y)))
    scan = [f"b-scans={B_SCANS}"]
    for caps in "application/x-oct,format=CF32LE", "application/x-oct,format=F32LE":
        before, level_before = surface(process("clean.npy", scan, [], caps))
        after, level_after = surface(process("clean.npy", scan, ["settings=flatten.txt"], caps))
        change = np.abs(level_after.mean() - level_before.mean())
        print(f"{caps}: {rms(before):.2f} -> {rms(after):.3f} depths rms, level {change:.3f} dB")
        assert rms(before) > 3 and rms(after) <= 0.1, (rms(before), rms(after))
        assert change < 0.1, change


def check_tilt():
    x, y = field()
    np.save("tilted.npy", spectra(90 + path(x, y) + 10 * x - 4 * y))
    scan = [f"b-scans={B_SCANS}"]
    calibrate("--flat", "tilted.npy")
    after, _ = surface(process("tilted.npy", scan, ["settings=flatten.txt"]))
    assert rms(after - 10 * x + 4 * y) <= 0.1, rms(after - 10 * x + 4 * y)
    assert numbers_of(calibrate("--flat", "tilted.npy", "--with-tilt"))[0] == 0
    after, _ = surface(process("tilted.npy", scan, ["settings=flatten.txt"]))
    assert rms(after) <= 0.1, rms(after)


def check_one_b_scan():
    """One B-scan, repeated: nothing depends on y, and no meta is needed."""
    x = np.linspace(-1, 1, LINES)
    np.save("b-scan.npy", spectra(np.tile(80 - 9 * x**2, (4, 1))))
    found = numbers_of(calibrate("--flat", "b-scan.npy", "--order", "2"))
    assert np.abs(found - [0, 0, 0, -9, 0, 0]).max() < 0.02, found
    after, _ = surface(process("b-scan.npy", [], ["settings=flatten.txt"]))
    assert rms(after) <= 0.1, rms(after)


def check_depths():
    """The same result from complex depths, amplitudes and decibels."""
    np.save("spectra.npy", spectra(80 + path(*field())))
    bins = process("spectra.npy", [], [])
    np.save("complex.npy", bins)
    np.save("amplitudes.npy", np.abs(bins))
    np.save("levels.npy", 20 * np.log10(np.maximum(np.abs(bins), 1e-6)))
    expected = numbers_of(calibrate("--flat", "spectra.npy"))
    for words in (["complex.npy"], ["amplitudes.npy", "--amplitudes"], ["levels.npy", "--decibels"]):
        assert np.abs(numbers_of(calibrate("--flat", *words)) - expected).max() < 1e-3, words


def swept(height, level, delay, lines, frames):
    """Frames of a bidirectional scan. The scanner is at place p at time p + delay."""
    time = np.arange(lines)
    rows = [time - delay if n % 2 == 0 else lines - 1 + delay - time for n in range(frames)]
    return spectra(np.array([height(p) for p in rows]), np.array([level(p) for p in rows]))


def check_delay():
    lines = 200
    dirt = 20 * RANDOM.random(400)

    def height(place):
        x = 2 * place / (lines - 1) - 1
        return 80 + 6 * x**2 + 4 * x

    def level(place):
        return 1000 + 20 * np.interp(place, np.arange(-100, 300), dirt)

    def even(place):
        return 1000 + 0 * place

    for delay, dust in (0.0, level), (3.37, level), (3.37, even), (11.8, level):
        np.save("swept.npy", swept(height, dust, delay, lines, 8))
        text = calibrate("--flat", "swept.npy", "--bidirectional")
        found = float(re.search(r"^delay=(.*)$", text, re.M)[1])
        print(f"delay {delay}: {text.splitlines()[0]}")
        assert abs(found - delay) < 0.1, (found, delay)
        scan = ["settings=scan.txt", "reverse=odd", "interpolation=linear"]
        after, _ = surface(process("swept.npy", scan, ["settings=flatten.txt"]))
        tilt = np.polyfit(np.arange(after.shape[1]), after.mean(0), 1)
        left = after - np.polyval(tilt, np.arange(after.shape[1]))
        assert rms(left) <= 0.1, rms(left)

    np.save("dull.npy", swept(lambda p: 80 + 0 * p, even, 3.37, lines, 8))
    refuse("too little structure", "--flat", "dull.npy", "--bidirectional")
    np.save("early.npy", swept(height, level, -6.0, lines, 8))
    refuse("ahead of the scanner", "--flat", "early.npy", "--bidirectional")


def check_refusals():
    np.save("noise.npy", spectra(np.full((2, 50), 80.0), 0.0))
    refuse("a surface in", "--flat", "noise.npy")
    np.save("rough.npy", spectra(RANDOM.uniform(20, 200, (4, 80))))
    refuse("no flat surface", "--flat", "rough.npy")
    np.save("few.npy", spectra(np.full((1, 20), 80.0)))
    refuse("or more for order 4", "--flat", "few.npy")
    np.save("line.npy", np.zeros(8))
    refuse("more than 10 depths", "--flat", "line.npy", "--decibels")
    refuse("missing.npy: no such file", "--flat", "missing.npy")
    refuse("nowhere.txt: no such file", "--flat", "few.npy", "--settings", "nowhere.txt")
    refuse("--order 9: expected a number from 2 to 6", "--flat", "few.npy", "--order", "9")
    refuse("no such option", "--flat", "few.npy", "--sideways", "1")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in check_volume, check_tilt, check_one_b_scan, check_depths, check_delay, check_refusals:
        check()
