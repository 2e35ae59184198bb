#!/usr/bin/env python3
"""Promise: the optical path and the delay of flat targets are right, and those of oct-calibrate.

usage: flatsurfaces.py OCT-CALIBRATE

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from gstopencl import flatness
from gstopencl.calibration import Refused

TOOL = os.path.realpath(sys.argv[1])
Scan = flatness.Scan
draw = np.random.default_rng(0)


def volume(shape, path, scan=Scan(), holes=0.1, noise=2):
    """Levels in dB of a target with this optical path, of whose A-lines some show nothing"""
    frames, lines, depths = shape
    made, end = noise * draw.random(shape), lines - scan.flyback - 1
    for frame in range(frames):
        place = np.arange(lines) - scan.delay
        place = end - place if scan.bidirectional and frame % 2 else place
        x, y = 2 * place / end - 1, 2 * frame / max(frames - 1, 1) - 1
        away = np.arange(depths) - (depths / 2 + path(x, y))[:, np.newaxis]
        seen = draw.random(lines) >= holes
        made[frame, seen] += np.maximum(40 - 3 * away**2, 0)[seen]
    return made


def by_program(levels, *words):
    np.save("levels.npy", levels)
    return subprocess.run([TOOL, "--flat", "levels.npy", "--decibels", *words],
                          capture_output=True, text=True, check=False)


def check(shape, path, true, *words, scan=Scan(), **kind):
    """`true` are coefficients; those that are not known are NaN."""
    levels = volume(shape, path, scan)
    surfaces = flatness.surfaces_of(levels)
    if scan.bidirectional:
        delay, error = flatness.delay_of_surfaces(surfaces, scan)
        assert abs(delay - scan.delay) < 4 * error < 0.4, (delay, error)
        scan = scan._replace(delay=delay)
    found = flatness.flatness_of_surfaces(surfaces, scan, **kind)
    off = found.coefficients[:len(true)] - true
    assert np.nanmax(abs(off)) < 0.2 and found.residual < 0.3, (off, found)
    assert 0.8 < found.share < 1 and found.least < found.most, found
    done = by_program(levels, *words)
    assert done.returncode == 0, done.stderr
    written = re.search("coefficients=<(.*)>", done.stdout)[1].split(",")
    assert np.allclose(np.array(written, float), found.coefficients, atol=1e-4), written
    said = re.findall(r"(-?[0-9.]+) (?:%|to|depths)", done.stdout)
    expected = 100 * found.share, found.residual, found.least, found.most
    assert np.allclose(np.array(said, float), expected, atol=0.051), (said, expected)


def check_refused(levels, scan, said, *words):
    """With the words of oct-calibrate"""
    try:
        surfaces = flatness.surfaces_of(levels)
        if scan.bidirectional:
            flatness.delay_of_surfaces(surfaces, scan)
        found = flatness.flatness_of_surfaces(surfaces, scan)
    except Refused as reason:
        assert said in str(reason), reason
        done = by_program(levels, *words)
        assert done.returncode == 1 and str(reason) in done.stderr, (str(reason), done.stderr)
    else:
        raise AssertionError(found)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    both = Scan(bidirectional=True, flyback=6, delay=3.3)
    check((20, 80, 128), lambda x, y: 10 * x**2 + 3 * y**2 + 2 * x, (0, 0, 0, 10, 0, 3))
    check((20, 80, 128), lambda x, y: 10 * x**2 + 3 * x * y**2 + 2 * x,
          (0, 2, 0, 10, 0, 0, 0, 0, 3), "--with-tilt", "--order", "3", order=3, with_tilt=True)
    check((1, 200, 128), lambda x, y: 10 * x**2, (0, 0, 0, 10, 0, 0))
    check((300, 300, 40), lambda x, y: 4 * x**2 - 2 * x * y, (0, 0, 0, 4, -2, 0), "--order", "2",
          order=2)
    check((8, 120, 128), lambda x, y: 15 * np.sin(2 * x), (0,), "--bidirectional", "--flyback", "6",
          scan=both)
    check((20, 80, 128), lambda x, y: 10 * x**2, (0, 0, 0, 10, 0, 0), "--repeats", "2",
          scan=Scan(repeats=2))
    level = volume((8, 120, 128), lambda x, y: 0 * x)
    check_refused(level, both, "too little structure", "--bidirectional", "--flyback", "6")
    check_refused(level[:1], both, "both directions", "--bidirectional", "--flyback", "6")
    check_refused(2 * draw.random((4, 50, 128)), Scan(), "a surface in 0 %")
    check_refused(level[:1, :20], Scan(), "or more for order 4")
    rough = volume((4, 100, 128), lambda x, y: 20 * draw.normal(size=x.shape), holes=0)
    check_refused(rough, Scan(), "no flat surface")
