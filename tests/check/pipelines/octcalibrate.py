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
        (("--mirror", "noise.npy"), "no fringe found above"),
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
    check_dispersion()
    check_growth()
    check_maps_of_others()
    check_refusals()
