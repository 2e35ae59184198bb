#!/usr/bin/env python3
"""Promise: oct-calibrate writes the map, the phase and the settings that octwindowinterp reads.

usage: octcalibrate.py OCT-CALIBRATE

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

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
    assert settings() == ["resample-map=./resample-map.npy", "dispersion-phase=./dispersion-phase.npy"]
    found, expected = np.load("resample-map.npy"), true_map()
    # Where depth 0 and the scale of depths lie is the samples' at the ends.
    slope = np.gradient(expected)
    terms = np.stack([slope, slope * np.arange(SAMPLES)], 1)
    off = found - expected
    off -= terms @ np.linalg.lstsq(terms, off, rcond=None)[0]
    assert np.sqrt(np.mean(off**2)) < 0.05, np.sqrt(np.mean(off**2))
    assert np.load("dispersion-phase.npy").shape == (SAMPLES,)


def check_maps_of_others():
    place_of(np.arange(SAMPLES)).astype("<f4").tofile("Chirp.data")
    done = calibrate("--chirp", "Chirp.data", "--samples", str(SAMPLES))
    assert done.returncode == 0, done.stderr
    assert settings() == ["resample-map=./resample-map.npy"]
    assert np.abs(np.load("resample-map.npy") - true_map()).max() < 1e-3

    done = calibrate("--polynomial", "1,1000,20", "--samples", str(SAMPLES))
    assert done.returncode == 0, done.stderr
    u = np.linspace(0, 1, SAMPLES)
    assert np.abs(np.load("resample-map.npy") - (1 + 1000 * u + 20 * u**2)).max() < 1e-9


def check_refusals():
    np.save("noise.npy", np.random.default_rng(1).normal(size=SAMPLES))
    for words, said in (
        ((), "expected one or two --mirror"),
        (("--mirror", "noise.npy"), "no fringe stands out"),
        (("--mirror", "none.npy"), "none.npy"),
        (("--polynomial", "1,x", "--samples", "64"), "resample-polynomial"),
        (("--chirp", "Chirp.data"), "--samples"),
        (("--chirp", "Chirp.data", "--samples", "64"), "expected 64"),
        (("--what", "x"), "no such option"),
    ):
        done = calibrate(*words)
        assert done.returncode == 1 and said in done.stderr, (words, done.stderr)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_mirrors()
    check_maps_of_others()
    check_refusals()
