#!/usr/bin/env python3
"""Promises: the examples in pipelines/programs/ agree with numpy. A mesh that the device generates
needs no upload. Names of files may have any characters.

usage: programs.py PROGRAMS-FOLDER BUILD-FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from hostilenames import HOSTILE

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
os.environ["GST_OPENCL_BUILD"] = str(pathlib.Path(sys.argv[2]).resolve())


def run(script, *options):
    print(script, *options, flush=True)
    return subprocess.run(
        [PROGRAMS / script, *options], capture_output=True, text=True, timeout=200, check=False
    )


def made(script, *options):
    done = run(script, *options)
    assert done.returncode == 0, done.stderr
    return done.stderr


def relative_error(got, expected):
    return np.abs(got - expected).max() / np.abs(expected).max()


def distances():
    """Reference of distances by the angle between vectors, which has other rounding errors."""
    latitude = np.radians(np.linspace(29, 31, 1000))[:, None]
    longitude = np.radians(np.linspace(99, 101, 1000))[None, :]
    to_latitude, to_longitude = np.radians(30), np.radians(101)
    points = np.stack(np.broadcast_arrays(
        np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude),
        np.sin(latitude)))  # fmt: skip
    to = np.array([np.cos(to_latitude) * np.cos(to_longitude),
                   np.cos(to_latitude) * np.sin(to_longitude), np.sin(to_latitude)])  # fmt: skip
    chord = np.sqrt(((points - to[:, None, None]) ** 2).sum(axis=0))
    return 2 * 6371 * np.arcsin(chord / 2)


def check_distance():
    expected = distances()
    for option, tolerance in ((), 1e-9), (("--float",), 1e-5):
        made("distance.sh", *option, "distance.npy")
        got = np.load("distance.npy")[0]
        each = np.abs(got - expected) / expected
        assert each.max() < tolerance, (option, each.max())
    made("distance.sh", "distance.png")
    head = pathlib.Path("distance.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and head[16:24] == b"\0\0\x03\xe8\0\0\x03\xe8"


def check_nothing_is_uploaded():
    """Checks the tracer's counts for a sink that leaves frames on the device."""
    os.environ.update(GST_TRACERS="openclstats", GST_DEBUG="GST_TRACER:7")
    log = made("distance.sh", "distance.npy")
    for name in "GST_TRACERS", "GST_DEBUG":
        del os.environ[name]
    found = re.search(r"openclstats, element=\(string\)openclkernelsrc0, .*", log)
    assert found and "upload-bytes=(guint64)0" in found[0], log


def counts(time):
    scale = 3.5 * math.exp(-1.2 * time) / 640
    x = -0.743643887 + (np.arange(640) - 320) * scale
    y = 0.131825904 + (np.arange(480) - 240) * scale
    c = x[None, :] + 1j * y[:, None]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, int)
    for _ in range(200):
        stays = z.real**2 + z.imag**2 <= 4
        count += stays
        z = np.where(stays, z * z + c, 4)
    return count


def check_mandelbrot():
    for option, most in ((), 0.001), (("--float",), 0.02):
        made("mandelbrot.sh", *option, "mandelbrot.npy")
        got = np.load("mandelbrot.npy")
        assert got.shape == (3, 480, 640), got.shape
        for frame in range(3):
            expected = np.rint(counts(frame / 25) * 255 / 200)
            other = (np.abs(got[frame] - expected) > 1).mean()
            assert other <= most, (option, frame, other)
    made("mandelbrot.sh", "mandelbrot.avi")
    assert pathlib.Path("mandelbrot.avi").stat().st_size > 100_000


def normal(x):
    return 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))


def check_blackscholes():
    for option, tolerance in ((), 1e-6), (("--float",), 1e-4):
        made("blackscholes.sh", *option, "options.npy")
        drawn = np.load("options.npy")[0].astype(float)
        assert drawn.shape == (5, 4_000_000), drawn.shape
        now, strike, years, call, put = drawn[:, ::16]
        assert now.min() >= 5 and now.max() <= 30 and abs(strike.mean() - 50.5) < 0.2
        spread = 0.3 * np.sqrt(years)
        d1 = (np.log(now / strike) + (0.02 + 0.5 * 0.3**2) * years) / spread
        later = strike * np.exp(-0.02 * years)
        expected = now * normal(d1) - later * normal(d1 - spread)
        norm = np.abs(call - expected).sum() / np.abs(expected).sum()
        assert norm < tolerance, (option, norm)
        norm = np.abs(put - (expected - now + later)).sum() / np.abs(put).sum()
        assert norm < tolerance, (option, norm)
        parity = np.abs(call - put - (now - later)).max()
        assert parity < (1e-4 if option else 1e-12), (option, parity)


def check_endings():
    """Checks that a file name with the wrong suffix is an error."""
    for script, name in ("distance.sh", "mesh.avi"), ("mandelbrot.sh", "zoom.png"), (
        "laplacian.sh", "edges"), ("arithmetic.sh", "product.png"):  # fmt: skip
        done = run(script, name)
        assert done.returncode == 2 and f"{name}: expected a name" in done.stderr, done.stderr
        assert not pathlib.Path(name).exists()


def philox(counter, key):
    """Philox4x32-10 in Python's integers"""
    counter, key = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(second >> 32) ^ counter[1] ^ key[0], second & 0xFFFFFFFF,
                   (first >> 32) ^ counter[3] ^ key[1], first & 0xFFFFFFFF]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def uniform_pairs(seed, count):
    """random_uniform4 ().xy of the first indices"""
    words = np.array([philox((n, 0, 0, 0), (seed, 0))[:2] for n in range(count)])
    return (words >> 8) * 2.0**-24


def check_arithmetic():
    made("arithmetic.sh", "product.npy")
    made("arithmetic.sh", "sum.npy")
    product, total = np.load("product.npy")[0], np.load("sum.npy")[0]
    assert product.shape == total.shape == (1_000_000, 2), product.shape
    a, b = (2 * uniform_pairs(seed, 2000) - 1 for seed in (1, 2))
    assert relative_error(total[:2000], a + b) < 1e-6
    complex_product = (a[:, 0] + 1j * a[:, 1]) * (b[:, 0] + 1j * b[:, 1])
    expected = np.stack([complex_product.real, complex_product.imag], 1)
    assert relative_error(product[:2000], expected) < 1e-6
    assert abs(total.mean()) < 0.01 and 0.6 < total.var() < 0.7


def normals(seed, count):
    """random_normal (), a Box-Muller transform in double precision"""
    words = np.array([philox((n, 0, 0, 0), (seed, 0))[:2] for n in range(count)])
    even = ((words[:, 0] >> 9) + 0.5) / 2**23
    return np.sqrt(-2 * np.log(even)) * np.cos(np.pi * (words[:, 1] >> 8) / 2**23)


def check_matrix_product():
    a, b = normals(1, 500 * 300).reshape(500, 300), normals(2, 300 * 700).reshape(300, 700)
    for by in ["tiles", "convolution"]:
        made("matrixproduct.sh", "--by", by, "matrixproduct.npy")
        got = np.load("matrixproduct.npy").reshape(500, 700)
        assert relative_error(got, a @ b) < 1e-5, (by, relative_error(got, a @ b))


PICTURE = PROGRAMS.parent.parent / "docs" / "greenscreen-before.png"


def decoded(picture, pixels):
    """A picture as GStreamer decodes it, without the device"""
    caps = f"video/x-raw,format={pixels}"
    subprocess.run(
        ["gst-launch-1.0", "-q", "filesrc", f"location={picture}", "!", "decodebin", "!",
         "videoconvert", "!", caps, "!", "npysink", "location=decoded.npy"],
        check=True, timeout=200)  # fmt: skip
    return np.load("decoded.npy")[0]


def laplacian(gray):
    """5 by 5 Laplacian, mirrored at the edge; offset 128, not yet clipped"""
    taps = [[0, 0, 1, 0, 0], [0, 1, 2, 1, 0], [1, 2, -16, 2, 1], [0, 1, 2, 1, 0],
            [0, 0, 1, 0, 0]]  # fmt: skip
    padded = np.pad(gray.astype(float), 2, mode="reflect")
    height, width = gray.shape
    return 128 + sum(tap * padded[y : y + height, x : x + width]
                     for y, line in enumerate(taps) for x, tap in enumerate(line))  # fmt: skip


def check_laplacian():
    gray = decoded(PICTURE, "GRAY8")
    expected = np.clip(laplacian(gray), 0, 255)
    assert np.ptp(expected) > 200, np.ptp(expected)
    for method in "fft", "direct":
        made("laplacian.sh", "--method", method, "edges.npy")
        edges = np.load("edges.npy")[0]
        assert edges.shape == gray.shape, edges.shape
        assert np.abs(edges - expected).max() <= 1, (method, np.abs(edges - expected).max())
    made("laplacian.sh", "--picture", PICTURE, "edges.png")
    assert np.abs(decoded("edges.png", "GRAY8") - expected).max() <= 1


def windows(image, side, stride, padding, filling):
    """Windows of an array (height, width, channels): (rows, columns, side, side, channels)"""
    padded = np.pad(image, ((padding,) * 2, (padding,) * 2, (0, 0)), constant_values=filling)
    seen = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(0, 1))
    return seen[::stride, ::stride].transpose(0, 1, 3, 4, 2)


def convolved(image, folder, name, stride=1, padding=0):
    weights, bias = (np.load(folder / f"{name}.{what}.npy") for what in ("weight", "bias"))
    seen = windows(image, weights.shape[2], stride, padding, 0)
    return np.einsum("yxijc,fcij->yxf", seen, weights.astype(float), optimize=True) + bias


def relu(values):
    return np.maximum(values, 0)


def first_stage(colours, folder):
    """First stage of ResNet-50 in double precision, of (height, width, 3) normalized as in torchvision"""
    image = (colours / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    image = relu(convolved(image, folder, "conv1", 2, 3))
    pooled = windows(image, 3, 2, 1, -np.inf).max(axis=(2, 3))
    image = relu(convolved(pooled, folder, "layer1.0.conv1"))
    image = relu(convolved(image, folder, "layer1.0.conv2", 1, 1))
    image = convolved(image, folder, "layer1.0.conv3")
    return relu(image + convolved(pooled, folder, "layer1.0.downsample"))


def check_resnet():
    """Tests resnet.sh with random weights and with a folder of weights, also for odd sizes."""
    os.environ.setdefault("GST_OPENCL_PYTHON", sys.executable)
    folder = pathlib.Path("weights")
    for width, height in (64, 48), (61, 35):
        subprocess.run(
            ["gst-launch-1.0", "-q", "filesrc", f"location={PICTURE}", "!", "decodebin", "!",
             "videoscale", "!", f"video/x-raw,width={width},height={height}", "!", "pngenc",
             "snapshot=true", "!", "filesink", "location=small.png"],
            check=True, timeout=200)  # fmt: skip
        made("resnet.sh", "--weights", folder, "--picture", "small.png",
             "--size", f"{width}x{height}", "stage.npy")  # fmt: skip
        expected = first_stage(decoded("small.png", "RGBA")[..., :3], folder)
        got = np.load("stage.npy")[0, 0]
        assert got.shape == expected.shape, (got.shape, expected.shape)
        assert (expected > 0).any() and (expected == 0).any()
        assert relative_error(got, expected) < 1e-4, relative_error(got, expected)
        for file in folder.iterdir():
            np.save(file, np.load(file)[::-1] * np.float32(0.9))


def check_life():
    made("life.sh", "--seed", "3", "life.npy")
    made("life.sh", "other.npy")
    film = np.load("life.npy")
    assert film.shape == (100, 240, 320) and set(np.unique(film)) == {0, 255}, film.shape
    assert 0.19 < (film[0] > 0).mean() < 0.21
    assert (np.load("other.npy")[0] != film[0]).any()
    for before, after in zip(film[:-1] > 0, film[1:] > 0):
        shifts = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x]
        neighbours = sum(np.roll(before, shift, (0, 1)).astype(int) for shift in shifts)
        assert np.array_equal(after, (neighbours == 3) | (before & (neighbours == 2)))


def check_heat():
    """Frame 0 has the hot edge and the disk only; no heat leaves the edges above and below."""
    made("heat.sh", "heat.npy")
    film = np.load("heat.npy")
    assert film.shape == (250, 120, 160), film.shape
    y, x = np.mgrid[:120, :160]
    hot = (x == 0) | ((x - 80) ** 2 + (y - 60) ** 2 < 15**2)
    plate = np.zeros((120, 160))
    for step in film:
        padded = np.pad(plate, 1, mode="edge")
        around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        plate = np.where(hot, 100, np.where(x == 159, 0, around / 4))
        assert np.abs(step - plate).max() < 1e-3, np.abs(step - plate).max()


def check_running_mean():
    subprocess.run(
        ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "!",
         "video/x-raw,format=GRAY8,width=50,height=30", "!", "pngenc", "!", "filesink",
         "location=small.png"],
        check=True, timeout=200)  # fmt: skip
    clean = decoded("small.png", "GRAY8").astype(float)
    drawn = np.array([[philox((n, 0, frame, 0), (1, 0))[0] >> 8 for n in range(1500)]
                      for frame in range(10)]) * 2.0**-24  # fmt: skip
    noisy = np.rint(clean + 200 * (drawn.reshape(10, 30, 50) - 0.5)).clip(0, 255)
    for keep in 0.95, 1, 0:
        made("runningmean.sh", "--keep", str(keep), "--picture", "small.png", "mean.npy")
        got = np.load("mean.npy")
        assert got.shape == (10, 30, 50), got.shape
        for frame in range(10):
            weights = float(keep) ** np.arange(frame, -1, -1)
            expected = np.tensordot(weights, noisy[: frame + 1], 1) / weights.sum()
            assert np.abs(got[frame] - expected).max() < 0.51, (keep, frame)


def check_names():
    """Files of any name without control characters are read and written, and change nothing else."""
    made("laplacian.sh", "expected.npy")
    before = set(os.listdir())
    for name in HOSTILE:
        shutil.copy(PICTURE, name)
        done = run("laplacian.sh", "--picture", name, f"./{name.replace('%d', '%')}.npy")
        assert done.returncode == (0 if name.isprintable() else 2), done
        written = set(os.listdir()) - before - {name}
        assert len(written) == name.isprintable(), written
        for result in written:
            assert np.array_equal(np.load(result), np.load("expected.npy")), name
            os.unlink(result)
        os.unlink(name)
    os.mkfifo("pipe.png")
    for name, reason in ("pipe.png", "not a regular file"), ("none.png", "no such file"):
        done = run("laplacian.sh", "--picture", name, "edges.npy")
        assert done.returncode == 2 and f"--picture {name}: {reason}" in done.stderr, done.stderr
    os.unlink("pipe.png")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_endings()
    check_names()
    check_distance()
    check_nothing_is_uploaded()
    check_mandelbrot()
    check_blackscholes()
    check_arithmetic()
    check_matrix_product()
    check_laplacian()
    check_resnet()
    check_life()
    check_heat()
    check_running_mean()
    os.chdir("/")
print("as promised")
