"""Compares mattes of MediaPipe's selfie segmentation with onnxruntime, and measures flicker.

usage: python3 compare-mattes.py [PICTURE…]

Prints for each picture the intersection over union of the matte of openclinference with that of
onnxruntime, before refinement: of the pixels above one half, and of alpha itself. Then it makes
films of the picture, without noise and with noise of 1 and 2 levels, in which a square moves along
the top. It prints the mean change of alpha between two frames where nothing moves, of the network
and of matterefine.

Without PICTURE it takes those of the PyPI packages scikit-image (astronaut.png) and ultralytics
(zidane.jpg, bus.jpg). Needs python3-numpy, python3-gi, ffmpeg, python3-pip and the built plugins
(meson devenv).

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import subprocess
import sys

import numpy as np

import samples
from samples import packages

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../benchmark"))
from mattes import Gst
from refinedmattes import Filter, enlarged, shrunk_along

SIZE = 256  # of the network's input
FRAMES, SQUARE = 20, 40


def pictures():
    yield os.path.join(packages.wheel_folder("scikit-image==0.25.2"),
                       "skimage/data/astronaut.png")
    for name in "zidane", "bus":
        yield os.path.join(packages.wheel_folder("ultralytics==8.3.0"),
                           f"ultralytics/assets/{name}.jpg")


def alpha_of(elements, picture):
    return elements.run(picture, np.full(picture.shape[:2], 255))


def matte_of_onnxruntime(run, picture):
    small = picture / 255
    for _ in range(2):
        # As openclinference: the mean of what an input pixel covers, or linear
        small = (shrunk_along(small.reshape(len(small), -1), SIZE).reshape(SIZE, -1, 3)
                 if len(small) > SIZE else samples.resized(small, 0, SIZE)).swapaxes(0, 1)
    tensor = small.transpose(2, 0, 1)[None].astype(np.float32)
    return run.run(None, {run.get_inputs()[0].name: tensor})[0][0, 0]


def union_ratio(first, second):
    return np.minimum(first, second).sum() / np.maximum(first, second).sum()


def film(picture, noise):
    random = np.random.default_rng(1)
    side = max(picture.shape) * SQUARE // 512
    for n in range(FRAMES):
        frame = picture + random.normal(0, noise, picture.shape)
        frame[side : 2 * side, side * n // 4 :][:, :side] = (200, 60, 40)
        yield np.clip(frame, 0, 255).round().astype(np.uint8)


def flicker(picture, noise, elements):
    """The mean change of alpha outside of the path of the square"""
    side = max(picture.shape) * SQUARE // 512
    still = np.full(picture.shape[:2], True)
    still[: 3 * side, : side * (FRAMES // 4 + 2)] = False
    network = Filter(picture.shape, elements)
    alphas = [alpha_of(network, frame)[still] for frame in film(picture, noise)]
    network.close()
    return np.mean([abs(a - b).mean() for a, b in zip(alphas[2:], alphas[1:])])


def main(paths):
    Gst.init(None)
    script = os.path.join(HERE, "../../tools/fetch-selfie-model.py")
    model = subprocess.run([sys.executable, script], check=True, stdout=subprocess.PIPE,
                           text=True).stdout.strip()
    run = samples.session(model)
    network = f"openclinference output=alpha model-file={model}"
    for path in paths or pictures():
        picture = samples.decoded(path)
        ours = Filter(picture.shape, network)
        matte = alpha_of(ours, picture)
        ours.close()
        expected = enlarged(matte_of_onnxruntime(run, picture), picture.shape[:2]) / 255
        print(f"{os.path.basename(path)}: IoU {union_ratio(matte > 0.5, expected > 0.5):.4f}, "
              f"of alpha {union_ratio(matte, expected):.4f}", flush=True)
        for noise in 0, 1, 2:
            raw, refined = (1e3 * flicker(picture, noise, elements) for elements in
                            (network, f"{network} ! matterefine"))
            print(f"    noise {noise}: change per frame (1e-3): network {raw:.3f}, matterefine "
                  f"{refined:.3f}, ratio {refined / raw:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
