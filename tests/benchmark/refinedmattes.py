#!/usr/bin/env python3
# Measures how well matterefine refines and smooths coarse mattes
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the matte of a perfect segmentation network: the exact matte of an image, scaled down
by area to COLUMNS columns and up linearly. Prints the mean square error (times 1000) of that
matte and of matterefine's, where the trimap is unknown, for images with odd and with even
numbers. The defaults were chosen on the odd ones.

    refinedmattes.py FOLDER [PROPERTIES]
    refinedmattes.py --films FOLDER [PROPERTIES]

With --films it moves cut-outs over other images, with noise in the coarse matte, and without
and with noise of 2 levels in the picture. All images have even numbers. It prints the mean
change of alpha between frames while nothing moves, and the mean square error while the cut-out
moves, in a band around its edge: of the coarse matte, of matterefine smoothing=0, and of
matterefine.

FOLDER is that of mattes.py, and contains trimap_training_lowres/Trimap1, too. PROPERTIES are those
of matterefine, such as "radius=6 epsilon=1e-4". Needs ffmpeg, python3-numpy, python3-gi and
the built plugins (meson devenv).
"""
import pathlib
import sys

import numpy as np

import mattes
from mattes import Gst

COLUMNS = (256, 160)  # the second is to 800 pixels as 256 is to 1280
FILMS = ((2, 10, 4), (4, 16, 1), (16, 24, 0.25), (24, 12, 10), (26, 18, 2))  # image, behind, speed
STILL, MOVING = 8, 12  # frames before and while the cut-out moves
MATTE_NOISE = 0.06


def shrunk_along(values, count):
    """Means of `count` equal parts of the first axis"""
    sums = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, 0)])
    edges = np.linspace(0, len(values), count + 1)
    first = np.minimum(edges.astype(int), len(values) - 1)
    part = (edges - first)[:, None]
    return np.diff(sums[first] * (1 - part) + sums[first + 1] * part, axis=0) * count / len(values)


def enlarged_along(values, count):
    at = np.clip((np.arange(count) + 0.5) * len(values) / count - 0.5, 0, len(values) - 1)
    first = at.astype(int)
    part = (at - first)[:, None]
    return values[first] * (1 - part) + values[np.minimum(first + 1, len(values) - 1)] * part


def shrunk(matte, columns):
    rows = round(matte.shape[0] * columns / matte.shape[1])
    return shrunk_along(shrunk_along(matte, rows).T, columns).T


def enlarged(matte, shape):
    levels = (255 * np.clip(matte, 0, 1)).round() / 255
    return (255 * enlarged_along(enlarged_along(levels, shape[0]).T, shape[1]).T).round()


class Image:
    def __init__(self, folder, number):
        name = "GT%02d.png" % number
        self.picture = mattes.decode(str(folder / "input_training_lowres" / name), "rgb24", 3)
        self.exact = mattes.decode(
            str(folder / "gt_training_lowres" / name), "gray", 1)[..., 0] / 255.0
        trimap = mattes.decode(
            str(folder / "trimap_training_lowres" / "Trimap1" / name), "gray", 1)[..., 0]
        self.unknown = (trimap > 0) & (trimap < 255)


class Filter:
    """A pipeline of elements that change the alpha of frames of one size"""

    def __init__(self, shape, elements):
        self.shape = (*shape[:2], 4)
        self.pipeline = Gst.parse_launch(
            "appsrc name=source format=time caps=video/x-raw,format=RGBA,width=%d,height=%d,"
            "framerate=30/1 ! openclupload ! %s ! opencldownload ! "
            "appsink name=sink sync=false" % (shape[1], shape[0], elements))
        self.pipeline.set_state(Gst.State.PLAYING)

    def run(self, picture, matte):
        frame = np.concatenate([picture, matte[..., None]], -1).astype(np.uint8)
        self.pipeline.get_by_name("source").emit(
            "push-buffer", Gst.Buffer.new_wrapped(frame.tobytes()))
        buffer = self.pipeline.get_by_name("sink").emit("pull-sample").get_buffer()
        raw = buffer.extract_dup(0, buffer.get_size())
        return np.frombuffer(raw, np.uint8).reshape(self.shape)[..., 3] / 255

    def close(self):
        self.pipeline.set_state(Gst.State.NULL)


def refiner_of(shape, properties):
    return Filter(shape, "matterefine " + properties)


def subsample_of(shape, columns):
    return "subsample=%d " % max(1, round(shape[1] / columns))


def compare_images(folder, numbers, properties):
    for columns in COLUMNS:
        errors = {0: [], 1: []}
        for number in numbers:
            image = Image(folder, number)
            coarse = enlarged(shrunk(image.exact, columns), image.exact.shape)
            refiner = refiner_of(coarse.shape, subsample_of(coarse.shape, columns) + properties)
            refined = refiner.run(image.picture, coarse)
            refiner.close()
            errors[number % 2].append([
                ((matte - image.exact)[image.unknown] ** 2).mean()
                for matte in (coarse / 255, refined)])
        for parity, name in (1, "odd"), (0, "even"):
            print("%d columns, %-4s numbers: linear %6.2f, matterefine %6.2f" % (
                columns, name, *(1e3 * np.mean(errors[parity], 0))), flush=True)


# --- films ---


def blurred(plane, times=1):
    for _ in range(times):
        for axis in 0, 1:
            plane = (np.roll(plane, 1, axis) + 2 * plane + np.roll(plane, -1, axis)) / 4
    return plane


def frames_of(folder, number, behind, speed, noise):
    """Yields picture, coarse matte, exact matte, and whether the cut-out moves."""
    image = Image(folder, number)
    shape = image.exact.shape
    thing = mattes.foreground(image.picture, image.exact)
    background = np.tile(Image(folder, behind).picture, (2, 2, 1))[: shape[0], : shape[1]]
    random = np.random.default_rng(number)
    for n in range(2 * STILL + MOVING):
        moved = int(speed * np.clip(n + 1 - STILL, 0, MOVING))
        exact = np.roll(image.exact, moved, 1)
        made = exact[..., None] * np.roll(thing, moved, 1) + (1 - exact[..., None]) * background
        made = np.clip(made + random.normal(0, noise, made.shape), 0, 255).round()
        matte = shrunk(exact, COLUMNS[1])
        flicker = blurred(random.normal(0, 1, matte.shape))
        near_edge = 0.1 + blurred(4 * matte * (1 - matte), 2)
        matte = matte + MATTE_NOISE * flicker / flicker.std() * near_edge
        yield made, enlarged(matte, shape), exact, STILL <= n < STILL + MOVING


def compare_films(folder, properties):
    for noise in 0, 2:
        for number, behind, speed in FILMS:
            refiners, earlier = None, None
            changes, errors = [], []
            for picture, coarse, exact, moves in frames_of(folder, number, behind, speed, noise):
                subsample = subsample_of(exact.shape, COLUMNS[1])
                refiners = refiners or [
                    refiner_of(exact.shape, subsample + properties + more) for more in
                    (" smoothing=0", "")]
                band = blurred(4 * exact * (1 - exact), 20) > 0.03
                results = [coarse / 255, *(r.run(picture, coarse) for r in refiners)]
                if moves:
                    errors.append([((m - exact)[band] ** 2).mean() for m in results])
                elif earlier:
                    changes.append([abs(m - e)[band].mean() for m, e in zip(results, earlier)])
                earlier = None if moves else results
            for refiner in refiners:
                refiner.close()
            print("image %2d, %g pixels a frame, noise %d: changes %5.2f %5.2f %5.2f, "
                  "errors %5.2f %5.2f %5.2f" % (
                      number, speed, noise, *(1e3 * np.mean(changes, 0)),
                      *(1e3 * np.mean(errors, 0))), flush=True)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--films"]
    if len(arguments) not in (1, 2):
        sys.exit(__doc__.strip())
    Gst.init(None)
    folder, properties = pathlib.Path(arguments[0]), "".join(arguments[1:])
    if "--films" in sys.argv:
        compare_films(folder, properties)
        return
    numbers = sorted(int(p.stem[2:]) for p in (folder / "gt_training_lowres").glob("GT*.png"))
    if not numbers:
        sys.exit("%s: expected gt_training_lowres/GT01.png, GT02.png, …" % folder)
    compare_images(folder, numbers, properties)


if __name__ == "__main__":
    main()
