#!/usr/bin/env python3
"""The numbers with which the self-check compares are those that NumPy computes, in double precision,
from the elements' documented definitions. Results near zero, whose level float32 cannot give, and
those near the edges of images are NaN.

usage: selfchecknumbers.py FOLDER [--write]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import sys

import numpy as np

LINES = ROWS = 40
COLUMNS = 76
BLACK, WHITE = 20, 90


def random(count):
    """The first numbers of the C++ generator mt19937 (1)"""
    return np.frombuffer(np.random.RandomState(1).bytes(4 * count), "<u4").astype(np.int64)


def floats(count, modulus=65536):
    return (random(count) % modulus - modulus // 2) / 2048


def levels_of(spectra):
    """The B-scan, a column for each A-line"""
    bins = np.abs(np.fft.fft(spectra))[:, :spectra.shape[1] // 2].T
    rms = np.sqrt(np.mean(bins ** 2))
    bins[bins < 0.05 * rms] = np.nan
    return np.clip((20 * np.log10(bins) - BLACK) / (WHITE - BLACK) * 255, 0, 255)


def depth(samples):
    """Linear interpolation on a grid of even wavenumbers, and a Hann window"""
    spectra = (random(LINES * samples) % 65536).reshape(LINES, samples).astype(float)
    spectra -= spectra.mean(axis=0)
    wavenumbers = 1 / np.linspace(1187, 1433, samples)
    even = np.linspace(wavenumbers[0], wavenumbers[-1], samples)
    index = np.arange(samples)
    place = np.interp(even, wavenumbers[::-1], index[::-1])
    resampled = np.array([np.interp(place, index, line) for line in spectra])
    window = np.hanning(samples)
    return levels_of(resampled * window * 2 / window.sum())


def transform(samples):
    return levels_of(floats(LINES * samples).reshape(LINES, samples))


def display_range():
    """1 in 20 values is black, 1 in 1000 white."""
    levels = floats(LINES * 256, 122880).reshape(LINES, 256).T
    black, white = np.quantile(levels, [0.05, 0.999])
    return np.clip((levels - black) / (white - black) * 255, 0, 255)


def rendered(composites):
    """The greatest voxel of each ray, or all composited front to back. Rows have padding."""
    volume = (random(17 ** 3) % 200).reshape(17, 17, 17) / 255
    transparency, light = np.ones((17, 17)), np.zeros((17, 17))
    for scan in volume:
        light += transparency * 0.25 * scan * scan
        transparency *= 1 - 0.25 * scan
    image = 255 * (light if composites else volume.max(axis=0)).T
    return np.pad(image, ((0, 0), (0, 3)), constant_values=np.nan)


def screen(one_in, area=1, parts=1):
    """Returns noisy green pixels, of which one in `one_in` has a random colour, or one of `parts`
    parts of it."""
    row, column = np.mgrid[:ROWS, :COLUMNS] // area
    number = random(ROWS * COLUMNS)[row * COLUMNS + column]
    noise = number // 16 % 48
    green = np.stack([noise // 3, 255 - noise, noise // 2], axis=-1)
    other = np.stack([number >> bits & 255 for bits in (8, 16, 24)], axis=-1)
    other = (other + (parts - 1) * green) // parts
    return np.where((number % one_in == 0)[..., None], other, green)


def neighbours(image, outside):
    padded = np.pad(image, ((1, 1), (1, 1)) + ((0, 0),) * (image.ndim - 2),
                    constant_values=outside)
    return padded[1:-1, :-2], padded[1:-1, 2:], padded[:-2, 1:-1], padded[2:, 1:-1]


def with_alpha(image, alpha):
    return np.concatenate([image, alpha[..., None]], axis=-1)


def hard_key():
    """Sums of differences below 0.1 * 765; two steps of noisereduce and three of flowkey"""
    image = screen(16)
    keyed = np.abs(image - [0, 255, 0]).sum(axis=-1) < 77
    for _ in range(2):
        keyed = keyed & (sum(side.astype(int) for side in neighbours(keyed, True)) >= 3)
    for _ in range(3):
        near = zip(neighbours(keyed, False), neighbours(image, 0))
        keyed = np.any([keyed, *(side & (np.abs(image - colour).sum(axis=-1) < 39)
                                 for side, colour in near)], axis=0)
    return with_alpha(image, np.where(keyed, 0, 255))


def soft_key(area):
    """The distance of the chroma, relative to the key's: along it, and across it"""
    image = screen(2, area, 4)
    chroma = np.array([[-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
    key, pixels = chroma @ [0, 255, 0], image @ chroma.T
    along = pixels @ key / (key @ key)
    across = (pixels[..., 0] * key[1] - pixels[..., 1] * key[0]) / (key @ key)
    distance = np.hypot(np.maximum(1 - along, 0), across)
    alpha = 255 * distance / 0.9
    assert alpha.max() < 240  # opaque pixels change those beside them
    if area > 1:  # `refine` reads four pixels around
        row, column = np.mgrid[:ROWS, :COLUMNS] % area
        inside = np.minimum(row, column) >= 4
        alpha[~inside | (np.maximum(row, column) >= area - 4)] = np.nan
    return with_alpha(image, alpha)


def convolved(image, kernel):
    half = len(kernel) // 2
    result = np.full(image.shape, np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(image, kernel.shape)
    result[half:-half, half:-half] = (windows * kernel[::-1, ::-1]).sum(axis=(2, 3))
    return result


def convolution():
    column = np.array([1, 3, 5, 2, 1])
    image = (random(ROWS * COLUMNS) % 256).reshape(ROWS, COLUMNS)
    return convolved(image, np.outer(column, column) / 144)


def winograd():
    kernel = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]])
    return convolved(floats(ROWS * COLUMNS, 256).reshape(ROWS, COLUMNS), kernel)


def all_numbers():
    made = {f"depth-{samples}": depth(samples) for samples in (2048, 512)}
    made.update({f"fft-{samples}": transform(samples) for samples in (2048, 60, 127, 26003)})
    made.update({"range": display_range(), "maximum": rendered(False), "alpha": rendered(True),
                 "hard-key": hard_key(), "soft-key": soft_key(1), "soft-key-refined": soft_key(12),
                 "convolution": convolution(), "winograd": winograd()})
    return {name: every_nth(values) for name, values in made.items()}


def every_nth(values):
    return values.ravel()[::values.size // 1024 | 1].astype("<f4")


folder = pathlib.Path(sys.argv[1])
numbers = all_numbers()
if "--write" in sys.argv:
    for name, values in numbers.items():
        np.save(folder / f"{name}.npy", values)
assert {path.stem for path in folder.glob("*.npy")} == set(numbers), "other files"
for name, values in numbers.items():
    stored = np.load(folder / f"{name}.npy")
    assert np.isfinite(values).sum() > 100, f"{name}: too few numbers"
    np.testing.assert_allclose(stored, values, rtol=1e-5, atol=1e-4, err_msg=name)
size = sum(path.stat().st_size for path in folder.iterdir())
assert size <= 100000, f"{size} bytes"
print(f"{len(numbers)} files, {size} bytes")
