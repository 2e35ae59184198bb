#!/usr/bin/env python3
"""Promise: with track-frames, opencltensordecoder gives objects that cross, tremble and are lost for up
to 15 frames the same identity in each frame, and another one after that.

The boxes are in the pixels of the frames, from which the network takes them. Scores tell the objects.

usage: tracking.py TOOLS-FOLDER [SCENES]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.realpath(sys.argv[1]))
import onnxwriter  # noqa: E402

WIDTH, HEIGHT, MOST = 256, 128, 15
SCORES = np.array([250, 240, 230, 220, 210, 200])


def write_network(file):
    """The first 14 pixels have 42 numbers, which become 7 rows: corners, score and class. The last
    row is none: its number tells rows from columns."""
    network = onnxwriter.Network("boxes")
    network.input("frame", (1, 3, HEIGHT, WIDTH))
    network.output("rows", (1, 7, 6))
    corner = network.add("Slice", "frame", np.int64([0, 0]), np.int64([1, 14]), np.int64([2, 3]))
    rows = network.add("Reshape", corner, np.int64([1, 7, 6]))
    network.add("Mul", rows, np.float32([[255, 255, 255, 255, 1, 255]]), output="rows")
    with open(file, "wb") as to:
        to.write(network.encoded())


def frames_of(boxes, scores, kinds):
    """boxes: (frames, 6, 4). An object without a score is not there."""
    rows = np.concatenate([boxes, scores[..., None], kinds[..., None]], -1)
    frames = np.zeros((len(boxes), HEIGHT, WIDTH, 3), np.uint8)
    rows = np.pad(np.rint(rows), ((0, 0), (0, 1), (0, 0)))
    frames[:, 0, :14] = rows.reshape(-1, 3, 14).transpose(0, 2, 1)
    return frames


def identities(frames, most=MOST):
    """Returns (frames, 6): the identity of each object, 0 where it is not there."""
    frames.tofile("frames.rgb")
    line = f"filesrc location=frames.rgb ! rawvideoparse format=rgb width={WIDTH} height={HEIGHT} " \
           f"framerate=25/1 ! openclupload ! openclinference model-file=boxes.onnx " \
           f"output=meta ! opencltensordecoder method=yolo-v10 iou-threshold=1 " \
           f"class-confidence-threshold=0.3 track-frames={most} ! fakesink"
    done = subprocess.run(["gst-launch-1.0", "-m", *line.split()], capture_output=True, text=True,
                          timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"opencltensordecoder, timestamp.*", done.stdout.replace("\\", ""))
    found = np.zeros((len(said), 6), int)
    for at, text in enumerate(said):
        objects = re.findall(r"score=\(double\)([\d.]+).*?id=\(uint\)(\d+)", text)
        for score, identity in objects:
            found[at, abs(SCORES - 255 * float(score)).argmin()] = int(identity)
        if not most:
            assert not objects and "score=" in text, text
    return found


def crossing(count, random):
    """Six paths that cross near the middle, where boxes cover most of one another"""
    t = np.linspace(-1, 1, count)[:, None]
    x = np.concatenate([90 * t, -90 * t, 70 * t + 6, -80 * t * abs(t) - 6, 0 * t, 30 * t], 1)
    y = np.concatenate([0 * t - 6, 6 * t + 6, 35 * t, -35 * t, 40 * t, -40 * t], 1)
    centre = np.stack([128 + x, 64 + y], -1) + random.normal(0, 0.5, (count, 6, 2))
    half = np.array([[15, 12], [14, 13], [12, 15], [16, 14], [13, 13], [12, 12]]) \
        + random.normal(0, 0.5, (count, 6, 2))
    return np.concatenate([centre - half, centre + half], -1)


def kept(found, there):
    """Number of objects that have more than one identity, and of identities of several objects"""
    of_object = [set(found[there[:, k], k]) for k in range(6)]
    assert (found[there] > 0).all() and (found[~there] == 0).all(), found
    return sum(len(each) > 1 for each in of_object), 6 - len(set.union(*of_object))


def check_crossing(count):
    bad = 0
    for seed in range(count):
        random = np.random.default_rng(seed)
        boxes, there = crossing(120, random), np.ones((120, 6), bool)
        for k in range(6):  # each is lost twice, for up to 15 frames
            for start in random.choice(np.arange(4, 88, 20), 2, replace=False):
                there[start:start + random.integers(1, MOST + 1), k] = False
        kinds = np.tile(np.arange(6) % (3 if seed % 2 else 1), (120, 1))
        found = identities(frames_of(boxes, np.where(there, SCORES, 0), kinds))
        switches, shared = kept(found, there)
        print(f"seed {seed}: {switches} objects with several identities, {shared} shared")
        bad += bool(switches or shared)
    print(f"{bad} of {count} scenes with a change of identity")
    assert bad <= count // 8, bad


def still(count):
    boxes = np.tile(np.array([[20, 20, 60, 60]] + [[100, 60, 140, 100]] * 5, float), (count, 1, 1))
    return boxes, np.where(np.arange(6) < 2, SCORES, 0) * np.ones((count, 1))


def check_limits():
    """15 frames without a box are kept, 16 are not; 0 has no identities."""
    for gap, same in (MOST, True), (MOST + 1, False):
        boxes, scores = still(40)
        scores[10:10 + gap, 0] = 0
        found = identities(frames_of(boxes, scores, np.zeros((40, 6))))
        assert (found[9, 0] == found[10 + gap, 0]) == same, found[:, 0]
        assert len(set(found[:, 1])) == 1, found[:, 1]
    boxes, scores = still(5)
    assert not identities(frames_of(boxes, scores, np.zeros((5, 6))), most=0).any()


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    write_network("boxes.onnx")
    check_crossing(int((sys.argv[2:] + [4])[0]))
    check_limits()
    os.chdir("/")
