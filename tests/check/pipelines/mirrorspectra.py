#!/usr/bin/env python3
"""Promise: map, dispersion and depth step of mirrors are right, and those of oct-calibrate.

usage: mirrorspectra.py OCT-CALIBRATE

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from gstopencl import calibration

TOOL = os.path.realpath(sys.argv[1])
STEP = 3.45  # µm


def place_of(samples, chirp):
    t = np.arange(samples) / (samples - 1)
    return t + 4 * chirp * t * (1 - t)


def spectrum(depth, edge, chirp=0.03, samples=2048, noise=0, seed=0):
    """Fringe of a mirror, with `edge` rad of dispersion at the ends; behind zero delay below 0"""
    place, draw = place_of(samples, chirp), np.random.default_rng(seed)
    phase = 2 * np.pi * depth * place * (samples - 1) / samples + edge * (2 * place - 1) ** 2
    light = np.exp(-0.5 * ((np.arange(samples) / (samples - 1) - 0.5) / 0.22) ** 2)
    return light * np.cos(phase) + noise * draw.normal(size=samples)


def bend(values):
    """RMS of values after subtraction of their best line, where there is light"""
    x = np.arange(values.size)[100:-100]
    values = values[100:-100]
    return np.std(values - np.polyval(np.polyfit(x, values, 1), x))


def by_program(spectra, *words):
    for number, values in enumerate(spectra):
        np.save(f"{number}.npy", values)
        words += ("--mirror", f"{number}.npy")
    return subprocess.run([TOOL, *words], capture_output=True, text=True, check=False)


def check(depths, edge, chirp, samples, noise, most):
    """Against the truth, and against oct-calibrate"""
    spectra = [spectrum(depth, edge, chirp, samples, noise, n) for n, depth in enumerate(depths)]
    opposite = len(depths) > 1 and depths[0] * depths[1] < 0
    found = calibration.calibration_of_mirrors(*spectra[:2], opposite=opposite)
    at = np.interp(found.map, np.arange(samples), place_of(samples, chirp))
    assert bend(at * (samples - 1)) < most, (depths, bend(at * (samples - 1)))
    assert found.width_after < min(2.7, found.width_before) and found.map_error < most, found
    done = by_program(spectra, *() if opposite else ("--same-side",))
    assert done.returncode == 0, done.stderr
    assert abs(np.load("resample-map.npy") - found.map).max() < 1e-6
    if len(depths) == 1:
        assert found.dispersion is None and found.dispersion_error == 0
        return
    assert bend(found.dispersion - edge * (2 * at - 1) ** 2) < most
    assert abs(np.load("dispersion-phase.npy") - found.dispersion).max() < 1e-6
    said = re.search("noise: ([-0-9.e]+) samples of the map, ([-0-9.e]+) rad", done.stdout)
    assert np.allclose([float(said[1]), float(said[2])],
                       [found.map_error, found.dispersion_error], rtol=0.1, atol=1e-9), said[0]


def check_depth_scale():
    """Mirrors on both sides of zero delay, one of them moved by 10 µm"""
    depths = np.array([120, -200, 310, -80])
    spectra = [spectrum(depth, 40, 0.1) for depth in depths]
    found = calibration.calibration_of_mirrors(*spectra[:2])
    positions = 1000 + STEP * depths + np.array([0, 0, 10, 0])
    scale = calibration.depth_scale_of_mirrors(spectra, positions, found)
    line = np.polyfit(depths, positions, 1)
    assert abs(scale.step / line[0] - 1) < 1e-3, (scale, line)
    assert np.allclose(scale.residuals, positions - np.polyval(line, depths), atol=0.1), scale
    done = by_program(spectra, "--positions", ",".join(map(str, positions)))
    assert done.returncode == 0, done.stderr
    written = float(re.search("^depth-step=(.*)$", done.stdout, re.M)[1])
    assert abs(written / scale.step - 1) < 1e-6, (written, scale)


def check_refused():
    """With the words of oct-calibrate"""
    one, noise = spectrum(150, 20), np.random.default_rng(1).normal(size=2048)
    ripple = np.sin(4 * np.pi * np.linspace(-1, 1, 2048)) * 0.4
    t = np.linspace(0, 1, 2048)
    rippling = np.exp(-0.5 * ((t - 0.5) / 0.22) ** 2) * np.cos(2 * np.pi * 180 * t + ripple)
    narrow = np.exp(-0.5 * ((t - 0.5) / 0.12) ** 2) * np.cos(2 * np.pi * 260 * t)
    for spectra in ([noise], [one, one], [spectrum(5, 0)], [spectrum(1015, 0)], [rippling, narrow],
                    [spectrum(150, 20, noise=0.1), spectrum(-230, 20, noise=0.1, seed=1)]):
        done = by_program(spectra)
        try:
            found = calibration.calibration_of_mirrors(*spectra)
        except calibration.Refused as reason:
            assert done.returncode == 1 and str(reason) in done.stderr, (str(reason), done.stderr)
        else:
            raise AssertionError((done.stderr, found))
    for wrong in ((one[:50],), (one, one[1:]), (np.where(one > 0.9, np.nan, one),), (one[None],)):
        try:
            calibration.calibration_of_mirrors(*wrong)
        except ValueError as reason:
            assert "expected one length" in str(reason), reason
        else:
            raise AssertionError(wrong)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check((180, -260), 21, 0.03, 2048, 0, 1e-4)
    check((180, -260), -84, 0.03, 2048, 0, 1e-4)
    check((150, 230), 30, 0.1, 2048, 0, 1e-4)
    check((150, -230), 60, 0.2, 1024, 3e-3, 0.005)
    check((150, -230), 150, 0.03, 1535, 1e-3, 0.005)
    check((150,), 0, 0.05, 2048, 0, 1e-4)
    check_depth_scale()
    check_refused()
