"""Compares boxes and scores of opencl-detect with onnxruntime and MediaPipe's anchors in NumPy.

usage: python3 compare-detections.py FOLDER [PROGRAM [OPTION…]]

Cuts 20 pictures of odd sizes out of photographs into FOLDER, scaled, mirrored and brightened.
Calls PROGRAM, by default "opencl-detect", with --network faces and hands. Runs the same networks in
onnxruntime. A pixel of the letterboxed input is the mean of what it covers, or interpolated if the
picture is enlarged. Of boxes that overlap by more than 0.3 the one with the highest score stays.
Prints the boxes of each picture that differs by more than one pixel or 0.001 of score. The exit
status is 1 if one does. Needs python3-numpy, python3-pip and PyPI.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import os
import sys

import numpy as np

import samples
from samples import packages

# Options of fetch-detection-model.py, mean, deviation
NETWORKS = {"faces": ([], 0.5, 0.5), "hands": (["--hands"], 0, 1)}
PHOTOGRAPHS = (("scikit-image==0.25.2", "skimage/data/astronaut.png"),
               ("ultralytics==8.3.0", "ultralytics/assets/zidane.jpg"),
               ("ultralytics==8.3.0", "ultralytics/assets/bus.jpg"))
THRESHOLD, OVERLAP, TOLERANCE = 0.5, 0.3, (1, 1, 1, 1, 0.001)


def pictures(folder, random):
    """Writes 20 parts of photographs as PNG. Generates their paths and pixels."""
    files = [os.path.join(packages.wheel_folder(wheel), file) for wheel, file in PHOTOGRAPHS]
    for n in range(20):
        image, path = samples.decoded(files[n % 3]), os.path.join(folder, f"picture-{n:02}.png")
        size = (image.shape[:2] * random.uniform(0.6, 1, 2)).astype(int)
        top, left = random.integers(0, image.shape[:2] - size + 1)
        image = image[top : top + size[0], left : left + size[1]] * random.uniform(0.7, 1.3)
        for axis, length in enumerate((size * random.uniform(0.15, 1.4)).astype(int)):
            image = samples.resized(image, axis, length)
        image = np.clip(np.round(image[:, :: random.choice((1, -1))]), 0, 255).astype(np.uint8)
        from PIL import Image  # fetched by samples.decoded
        Image.fromarray(image).save(path)
        yield path, image


def matrix(length, size, outputs):
    """Weights of input samples for each output sample, with the input in the middle."""
    covered = length / size
    centres = (np.arange(outputs)[:, None] + 0.5 - (outputs - size) / 2) * covered
    weights = np.maximum(1 - abs(np.arange(length) + 0.5 - np.clip(centres, 0.5, length - 0.5)), 0)
    if covered > 1:
        low, high = centres - covered / 2, centres + covered / 2
        weights = np.diff(np.clip(np.arange(length + 1), low, high))
    weights = weights * (abs(centres - length / 2) <= length / 2)
    return weights / np.maximum(weights.sum(1, keepdims=True), 1e-9)


def anchors(size):
    """Centres from 0 to 1: for each cell, two of stride 8, and six of three layers of stride 16"""
    return np.concatenate([
        np.repeat((np.indices((n, n))[::-1].reshape(2, -1).T + 0.5) / n, number, 0)
        for n, number in ((size // 8, 2), (size // 16, 6))])


def overlap(first, second):
    """Returns the intersection over union of two boxes: left, top, right, bottom."""
    common = np.maximum(np.minimum(first, second)[2:] - np.maximum(first, second)[:2], 0).prod()
    return common / (np.prod(first[2:] - first[:2]) + np.prod(second[2:] - second[:2]) - common)


def detections(run, image, mean, deviation):
    """Returns x, y, width, height in pixels and score of each object."""
    (height, width), (port,) = image.shape[:2], run.get_inputs()
    size = port.shape[2]
    down, across = (matrix(n, n * size / max(width, height), size) for n in (height, width))
    small = np.einsum("ay,yxc,bx->cab", down, image / 255, across, optimize=True)
    tensor = ((small - mean) / deviation)[None].astype(np.float32)
    raw, logits = sorted((output[0] for output in run.run(None, {port.name: tensor})),
                         key=np.size, reverse=True)
    centres, sizes = raw[:, :2] / size + anchors(size) - 0.5, raw[:, 2:4] / size
    boxes = np.concatenate((centres - sizes / 2, centres + sizes / 2), 1) * max(width, height)
    boxes += (width / 2, height / 2) * 2
    scores = 1 / (1 + np.exp(-np.clip(logits[:, 0].astype(float), -100, 100)))
    left, kept = [n for n in np.argsort(-scores) if scores[n] > THRESHOLD], []
    while left:
        kept.append(left[0])
        left = [n for n in left[1:] if overlap(boxes[left[0]], boxes[n]) <= OVERLAP]
    boxes = np.round(np.clip(boxes, 0, (width, height) * 2))[kept]
    return np.column_stack((boxes[:, :2], boxes[:, 2:] - boxes[:, :2], scores[kept]))


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    folder, program, failed = arguments[0], arguments[1:] or ["opencl-detect"], False
    os.makedirs(folder, exist_ok=True)
    images = dict(pictures(folder, np.random.default_rng(1)))
    fetcher = os.path.join(os.path.dirname(packages.__file__), "fetch-detection-model.py")
    for network, (words, mean, deviation) in NETWORKS.items():
        run = samples.session(packages.run([sys.executable, fetcher, *words]).strip())
        lines = packages.run([*program, "--network", network, *images]).splitlines()
        count, largest = 0, np.zeros(5)
        for line in map(json.loads, lines):
            expected = detections(run, images[line["file"]], mean, deviation)
            found = np.reshape([(*one["box"], one["score"]) for one in line["objects"]], (-1, 5))
            errors = np.full(5, np.inf if len(found) != len(expected) else 0)
            if len(found) == len(expected) > 0:
                nearest = abs(expected[:, None] - found)[..., :4].max(-1).argmin(1)
                errors = abs(expected - found[nearest]).max(0)
            if np.any(errors > TOLERANCE):
                print(f"{line['file']}: {network}: {found.tolist()}, expected {expected.tolist()}")
            count, largest = count + len(expected), np.maximum(largest, errors)
        print(f"{network}: {count} objects, largest differences {largest.round(5).tolist()}")
        failed |= bool(len(lines) < len(images) or np.any(largest > TOLERANCE))
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
