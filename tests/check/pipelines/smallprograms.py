#!/usr/bin/env python3
"""Promise: each command of docs/examples/programs/README.md writes what NumPy computes.

usage: smallprograms.py FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

FOLDER = pathlib.Path(sys.argv[1]).resolve()


def shifted(picture, dy, dx):
    """Pixels at a distance; beyond an edge those of the edge"""
    lines = np.clip(np.arange(picture.shape[0]) + dy, 0, picture.shape[0] - 1)
    columns = np.clip(np.arange(picture.shape[1]) + dx, 0, picture.shape[1] - 1)
    return picture[lines][:, columns]


def around(picture, radius):
    steps = range(-radius, radius + 1)
    return [(dy, dx, shifted(picture, dy, dx)) for dy in steps for dx in steps]


# --- what each command computes, of its inputs in double precision ---


def distances(column, vector, **_):
    return np.abs(column - vector)


def histogram(gray, **_):
    return np.bincount(gray[0].ravel().astype(int), minlength=256)


def reducebykey(gray, **_):
    return np.bincount(gray[0].ravel().astype(int) // 32, gray[0].ravel(), 8)


def softmax(numbers, **_):
    powers = np.exp(numbers)
    return powers / powers.sum(-1, keepdims=True)


def movingmean(numbers, **_):
    ones = np.ones(9)
    return [np.convolve(row, ones, "same") / np.convolve(np.ones(1000), ones, "same")
            for row in numbers[0]]


def fft(numbers, **_):
    spectra = np.fft.fft(numbers)
    return np.stack([spectra.real, spectra.imag], -1)


def autocorrelation(numbers, **_):
    rows = numbers[0]
    return np.stack([(rows * np.roll(rows, -lag, 1)).sum(1) for lag in range(1000)], 1)


def gaussian(gray, **_):
    weights = np.outer([1, 2, 1], [1, 2, 1]) / 16
    return np.rint(sum(weights[dy + 1, dx + 1] * p for dy, dx, p in around(gray[0], 1)))


def median(gray, **_):
    return np.median([pixels for _, _, pixels in around(gray[0], 1)], 0)


def bilateral(gray, **_):
    own, total, weights = gray[0], 0, 0
    for dy, dx, pixels in around(own, 3):
        weight = np.exp(-(dy * dy + dx * dx) / 8 - (pixels - own) ** 2 / 800)
        total, weights = total + weight * pixels, weights + weight
    return total / weights


def sobel(gray, **_):
    across, down = 0, 0
    for dy, dx, pixels in around(gray[0], 1):
        across, down = across + dx * (2 - dy * dy) * pixels, down + dy * (2 - dx * dx) * pixels
    return np.hypot(across, down)


def dilate(gray, **_):
    return np.max([p for dy, dx, p in around(gray[0], 4) if dy * dy + dx * dx <= 16], 0)


def rotate(gray, **_):
    picture = np.pad(gray[0], 1)
    y, x = np.mgrid[:240, :320] - np.array([119.5, 159.5])[:, None, None]
    turn = x + 1j * y
    turn = turn * np.exp(-0.5j) + (159.5 + 119.5j) + (1 + 1j)
    at_x, at_y = np.clip(turn.real, 0, 321 - 1e-9), np.clip(turn.imag, 0, 241 - 1e-9)
    left, top = at_x.astype(int), at_y.astype(int)
    right, below = at_x - left, at_y - top
    return (picture[top, left] * (1 - right) * (1 - below)
            + picture[top, left + 1] * right * (1 - below)
            + picture[top + 1, left] * (1 - right) * below
            + picture[top + 1, left + 1] * right * below)


def pyramid(numbers, **_):
    return numbers.reshape(16, 4, 250, 4).mean((1, 3))


def components(gray, **_):
    """By a search from each pixel that has no label"""
    picture, labels = gray[0] > 127, np.zeros(240 * 320, int)
    for first in range(labels.size):
        found = [first] if picture.flat[first] and not labels[first] else []
        while found:
            n = found.pop()
            if not picture.flat[n] or labels[n]:
                continue
            labels[n] = first + 1
            found += [m for m, inside in ((n - 1, n % 320), (n + 1, n % 320 < 319),
                                          (n - 320, n >= 320), (n + 320, n < 239 * 320)) if inside]
    return labels


def life(gray, **_):
    lives = gray[0] > 127
    for _ in range(3):
        near = sum(np.roll(lives, (dy, dx), (0, 1)).astype(int)
                   for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
        lives = (near == 3) | (lives & (near == 2))
    return 255 * lives


def heat(numbers, **_):
    values = numbers[0]
    for _ in range(3):
        sides = sum(shifted(values, *step) for step in ((-1, 0), (1, 0), (0, -1), (0, 1)))
        values = values + 0.2 * (sides - 4 * values)
    return values


def nbody(points, **_):
    places, mass = points[0, :, :3], points[0, :, 3]
    to = places[None] - places[:, None]
    sizes = (to ** 2).sum(-1) + 0.01
    sums = (mass[None, :, None] * to / sizes[..., None] ** 1.5).sum(1)
    return np.concatenate([sums, mass[:, None]], 1)


def kmeans(points, centres, **_):
    return ((points[0][:, None] - centres[None]) ** 2).sum(-1).argmin(1)


def shortestpaths(graph, **_):
    """By Bellman and Ford, from each node"""
    lengths = np.where(np.eye(48, dtype=bool), 0, graph[0])
    found = lengths
    for _ in range(48):
        found = np.minimum(found, (found[:, :, None] + lengths[None]).min(1))
    return found


def julia(**_):
    y, x = np.mgrid[:240, :320].astype(np.float32)
    z = np.stack([x / np.float32(320) * 3 - np.float32(1.5),
                  y / np.float32(240) * 3 - np.float32(1.5)])
    steps = np.zeros((240, 320), int)
    for _ in range(100):
        inside = (z * z).sum(0) <= 4
        steps += inside
        a, b = z
        z = np.where(inside, np.stack([a * a - b * b - np.float32(0.8),
                                       2 * a * b + np.float32(0.156)]), z)
    return steps


def blockflow(film, **_):
    sums = np.stack([np.abs(film[0] - pixels).reshape(15, 16, 20, 16).sum((1, 3))
                     for _, _, pixels in around(film[1], 4)])
    best = sums.argmin(0)
    return np.stack([best % 9 - 4, best // 9 - 4], -1)


EXPECTED = {
    "saxpy": lambda numbers, vector, **_: 2.5 * numbers + vector,
    "threshold": lambda gray, **_: np.where(gray > 100, 255, 0),
    "bits": lambda gray, **_: np.unpackbits(gray.astype(np.uint8)[..., None], axis=-1).sum(-1),
    "prefixsum": lambda numbers, **_: numbers.cumsum(-1),
    "argmax": lambda numbers, **_: numbers.argmax(-1),
    "dot": lambda numbers, vector, **_: (numbers * vector).sum(-1),
    "matvec": lambda numbers, vector, **_: numbers @ vector,
    "transpose": lambda gray, **_: gray.transpose(0, 2, 1),
    "bitonic": lambda numbers, **_: np.sort(numbers, -1),
    "montecarlo": lambda **_: np.array(np.pi),
    **{f.__name__: f for f in (
        distances, histogram, reducebykey, softmax, movingmean, fft, autocorrelation, gaussian,
        median, bilateral, sobel, dilate, rotate, pyramid, components, life, heat, nbody, kmeans,
        shortestpaths, julia, blockflow)},
}
# The standard deviation of pi by 1 280 000 random points is 0.0015. An element of a Julia set may
# take another number of steps where numbers are rounded another way.
TOLERANCES = {"montecarlo": 0.0015, "rotate": 1e-4}
DIFFERING = {"julia": 0.01}


def check(name, inputs):
    got, expected = np.load(f"{name}.npy").astype(float), np.asarray(EXPECTED[name](**inputs))
    assert got.size == expected.size, (name, got.shape, expected.shape)
    apart = np.abs(got.ravel() - expected.ravel()) / np.abs(expected).max()
    share = (apart > TOLERANCES.get(name, 1e-6)).mean()
    print(f"{name}: {apart.max():.1e}, {share:.1e} of the elements beyond the tolerance")
    assert share <= DIFFERING.get(name, 0), (name, got, expected)


def main():
    text = (FOLDER / "README.md").read_text()
    commands = dict(re.findall(r"^## (\w+)\n[^`]*```sh\n(.*?)^```", text, re.M | re.S))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for path in FOLDER.glob("*.cl"):
            shutil.copy(path, folder)
        made = commands.pop("Input").replace("python3", sys.executable)
        subprocess.run(["bash", "-ec", made], check=True, timeout=100,
                       stdout=subprocess.DEVNULL)
        inputs = {path.stem: np.load(path).astype(float) for path in pathlib.Path().glob("*.npy")}
        assert len(commands) >= 30 and set(commands) == set(EXPECTED), commands.keys() ^ EXPECTED
        chosen = sys.argv[2:] or commands
        for name in chosen:
            done = subprocess.run(["bash", "-ec", commands[name]], capture_output=True, text=True,
                                  timeout=100)
            assert done.returncode == 0 and "WARNING" not in done.stderr, (name, done.stderr)
            check(name, inputs)


main()
