#!/usr/bin/env python3
"""Promises: detect.sh and classify.sh draw what a network finds, into pictures and films. Names of
files may have any characters. Wrong options are refused with the reason.

With "faces" it finds the face in a photograph, if network and photograph are in the user's cache.

usage: detect.py PIPELINES-FOLDER TOOLS-FOLDER BUILD-FOLDER [faces]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import functools
import glob
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from hostilenames import HOSTILE

PIPELINES, TOOLS, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
os.environ["GST_OPENCL_BUILD"] = str(BUILD)
sys.path.insert(0, str(TOOLS))
WIDTH, HEIGHT = 256, 128


def run(script, *options):
    print(script, *options, flush=True)
    return subprocess.run([PIPELINES / script, *options], capture_output=True, text=True,
                          timeout=200, check=False)


def made(script, *options):
    done = run(script, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def refused(reason, script, *options):
    done = run(script, *options)
    assert done.returncode != 0 and reason in done.stderr, done.stderr


def pixels(path, width=WIDTH, height=HEIGHT):
    """Decodes the first frame."""
    subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "decodebin", "!",
                    "videoconvert", "!", "video/x-raw,format=RGBA", "!", "filesink",
                    "location=frame.rgba"], check=True)
    frame = np.fromfile("frame.rgba", np.uint8, count=width * height * 4)
    return frame.reshape(height, width, 4)[..., :3].astype(int)


def picture(path, frames=1, *encoder):
    """A red rectangle on black, as a picture or as the frames of a film"""
    frame = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    frame[48:80, 96:160, 0] = 255
    np.tile(frame.ravel(), frames).tofile("frames.rgb")
    subprocess.run(["gst-launch-1.0", "-q", "filesrc", "location=frames.rgb", "!",
                    "rawvideoparse", "format=rgb", f"width={WIDTH}", f"height={HEIGHT}", "!",
                    "videoconvert", "!", *(encoder or ("pngenc",)), "!", "filesink",
                    f"location={path}"], check=True)


def networks():
    import onnxwriter
    red = onnxwriter.Network("red")
    red.input("frame", (1, 3, 64, 64))
    red.output("map", (1, 1, 64, 64))
    red.add("Conv", "frame", np.float32([1, 0, 0]).reshape(1, 3, 1, 1), output="map")
    mean = onnxwriter.Network("mean")
    mean.input("frame", (1, 3, 64, 64))
    mean.output("colors", (1, 3, 1, 1))
    mean.add("GlobalAveragePool", "frame", output="colors")
    for name, network in ("red", red), ("mean", mean):
        pathlib.Path(f"{name}.onnx").write_bytes(network.encoded())


def changed(path, before, tolerance=60, **size):
    """Left, top, right and bottom of the pixels that differ"""
    rows, columns = np.nonzero(np.abs(pixels(path, **size) - before).max(2) > tolerance)
    assert len(rows) > 0, path
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def near(box, expected, tolerance=1):
    assert np.abs(np.subtract(box, expected)).max() <= tolerance, (box, expected)


# The map has 16 x 16 pixels of the rectangle; each side grows by 1.6 * 16 * 16 / 64 of them.
BOX = (96 - 6.4 * 4, 48 - 6.4 * 2, 160 + 6.4 * 4, 80 + 6.4 * 2)


def check_detection():
    before = pixels("red.png")
    made("detect.sh", "--model", "red.onnx", "--fit", "stretch", "--threshold", ".3", "red.png")
    left, top, right, bottom = changed("detected.png", before)
    # A label is above the box.
    near((left, right, bottom), (BOX[0], BOX[2], BOX[3]))
    assert BOX[1] - 25 < top < BOX[1] - 10, top
    for film in "boxes.webm", "boxes.avi":
        made("detect.sh", "--model", "red.onnx", "--fit", "stretch", "--output", film, "red.avi")
        left, top, right, bottom = changed(film, before)
        near((left, right, bottom), (BOX[0], BOX[2], BOX[3]), 3)


def check_classes():
    """Red has 6 % of the pixels, so all scores are near a third by softmax."""
    pathlib.Path("mean.txt").write_text("red\ngreen\nblue\n", encoding="utf-8")
    before = pixels("red.png")
    made("classify.sh", "--model", "mean.onnx", "--fit", "stretch", "red.png")
    left, top, right, bottom = changed("classified.png", before)
    near((left, top), (0, 0))
    assert 40 < bottom < 70 and 60 < right < 110, (right, bottom)
    made("classify.sh", "--model", "mean.onnx", "--top", "1", "--output", "one.png", "red.png")
    assert changed("one.png", before)[3] < bottom / 2


def check_names():
    """Also of the model, beside which a file of labels is taken. gst-launch-1.0 does not take names with
    control characters."""
    for name in HOSTILE:
        if name.startswith("-"):
            continue  # an option
        for source, target in ("red.png", f"{name}.png"), ("red.onnx", f"{name}.onnx"), \
                ("mean.txt", f"{name}.txt"):
            if pathlib.Path(source) != pathlib.Path(target):
                pathlib.Path(target).write_bytes(pathlib.Path(source).read_bytes())
        run_or_refuse = made if name.isprintable() else functools.partial(refused, "control characters")
        run_or_refuse("detect.sh", "--model", f"{name}.onnx", "--labels", f"{name}.txt",
                      "--output", f"out{name}.png", f"{name}.png")
        assert pathlib.Path(f"out{name}.png").exists() == name.isprintable(), name
    assert not pathlib.Path("pwned").exists()


def check_refusals():
    refused("not-there: no such file", "detect.sh", "--model", "red.onnx", "not-there")
    refused("--model none.onnx: no such file", "detect.sh", "--model", "none.onnx", "red.png")
    refused("--threshold 2: expected a number from 0 to 1", "detect.sh", "--threshold", "2")
    refused("--network cats: expected faces or hands", "detect.sh", "--network", "cats")
    refused("--output boxes.mp4: expected", "detect.sh", "--output", "boxes.mp4", "red.png")
    refused("--camera: beside red.png", "detect.sh", "--camera", "/dev/video0", "red.png")
    refused("--model: expected an ONNX file", "classify.sh", "red.png")
    refused("--size: no such option", "classify.sh", "--size", "3")
    refused("do not fit `method`", "detect.sh", "--model", "red.onnx", "--method", "yolo-x",
            "--output", "none.png", "red.png")
    refused("label-file", "detect.sh", "--model", "red.onnx", "--labels", "red.png",
            "--output", "none.png", "red.png")
    assert not pathlib.Path("none.png").exists()


def check_faces():
    import packages
    photographs = glob.glob(packages.cache_folder("wheels", "scikit-image*", "skimage", "data",
                                                  "astronaut.png"))
    if not photographs or not os.path.isdir(packages.cache_folder("wheels", "mediapipe==0.10.14")):
        print("NOT CHECKED: no network or photograph in the cache")
        return
    size = {"width": 512, "height": 512}
    before = pixels(photographs[0], **size)
    made("detect.sh", photographs[0])
    left, top, right, bottom = changed("detected.png", before, **size)
    # Hairline to chin, and ear to ear, by eye
    near((left, right, bottom), (180, 274, 178), 12)
    assert 50 < top < 90, top


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if sys.argv[4:] == ["faces"]:
        check_faces()
    else:
        networks()
        picture("red.png")
        picture("red.avi", 5, "jpegenc", "quality=95", "!", "avimux")
        check_detection()
        check_classes()
        check_names()
        check_refusals()
