#!/usr/bin/env python3
"""Promises: opencl-detect prints what a network finds in pictures and films, as JSON lines or CSV,
and draws it. Names of files may have any characters. Wrong options are refused with the reason.

With "faces" it finds the face in a photograph, if network and photograph are in the user's cache.

usage: detect.py OPENCL-DETECT TOOLS-FOLDER [faces]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import csv
import functools
import glob
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from hostilenames import HOSTILE

PROGRAM, TOOLS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
sys.path.insert(0, str(TOOLS))
WIDTH, HEIGHT = 256, 128


def run(*options):
    print(*options, flush=True)
    return subprocess.run([PROGRAM, *options], capture_output=True, text=True, timeout=200,
                          check=False)


def made(*options):
    done = run(*options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def refused(status, reason, *options):
    done = run(*options)
    assert done.returncode == status and reason in done.stderr, done
    assert len(done.stderr.splitlines()) == 1, done.stderr


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


def poses():
    """Three persons among 84 candidates: centre, size, score, and 17 points in pixels of 64 x 64.
    The third is at the edge of the frame, and has points outside of it."""
    rows = np.zeros((84, 56), np.float32)
    random = np.random.default_rng(4)
    for number, (x, y, score) in {5: (20, 30, .9), 40: (45, 32, .8), 83: (62, 40, .7)}.items():
        rows[number, :5] = x, y, 12, 16, score
        rows[number, 5:].reshape(17, 3)[:] = np.c_[random.uniform(x - 6, x + 6, 17),
                                                   random.uniform(y - 8, y + 8, 17),
                                                   random.uniform(0, 1, 17)]
    return rows.T.copy()


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
    pose = onnxwriter.Network("pose")
    pose.input("frame", (1, 3, 64, 64))
    pose.output("output0", (1, 56, 84))
    zero = pose.add("GlobalAveragePool", pose.add("Conv", "frame", np.zeros((1, 3, 1, 1), "f4")))
    pose.add("Add", pose.add("Reshape", zero, np.int64([1, 1, 1])), poses()[None], output="output0")
    halves = onnxwriter.Network("halves")
    halves.input("frame", (1, 3, 64, 64))
    halves.output("scores", (1, 2, 64, 64))
    halves.add("Conv", "frame", np.float32([[0, 0, 0], [1, 0, 0]]).reshape(2, 3, 1, 1),
               np.float32([0.5, 0]), output="scores")
    for name, network in ("red", red), ("mean", mean), ("pose", pose), ("halves", halves):
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
    own = "--model", "red.onnx", "--fit", "stretch", "--threshold", ".3"
    (line,) = made(*own, "--output", "detected.png", "red.png")
    assert (line["file"], line["frame"], line["time"]) == ("red.png", 0, 0), line
    (found,) = line["objects"]
    near((*found["box"][:2], *np.add(found["box"][:2], found["box"][2:])), BOX)
    assert found["label"] == "text" and found["class"] == 0 and 0.9 < found["score"] <= 1, found
    left, top, right, bottom = changed("detected.png", before)
    # A label is above the box.
    near((left, right, bottom), (BOX[0], BOX[2], BOX[3]))
    assert BOX[1] - 25 < top < BOX[1] - 10, top
    for film in "boxes.webm", "boxes.avi":
        lines = made(*own, "--output", film, "red.avi")
        assert [line["frame"] for line in lines] == list(range(5)), lines
        assert np.allclose([line["time"] for line in lines], np.arange(5) / 25), lines
        left, top, right, bottom = changed(film, before)
        near((left, right, bottom), (BOX[0], BOX[2], BOX[3]), 3)


def check_several():
    """A folder, in rows; a file that fails is named and the others are done."""
    os.mkdir("folder")
    for name in "red.png", "red.avi":
        shutil.copy(name, "folder")
    pathlib.Path("folder/notes.txt").write_text("none")
    own = "--model", "red.onnx", "--fit", "stretch", "--threshold", ".3"
    done = run(*own, "--csv", "--results", "rows.csv", "--output", "drawn", "folder")
    assert done.returncode == 0 and not done.stdout, done
    rows = list(csv.DictReader(io.StringIO(pathlib.Path("rows.csv").read_text())))
    assert [(row["file"], row["frame"]) for row in rows] == [
        *(("folder/red.avi", str(n)) for n in range(5)), ("folder/red.png", "0")], rows
    near([int(rows[0][name]) for name in ("x", "y", "width", "height")],
         (BOX[0], BOX[1], BOX[2] - BOX[0], BOX[3] - BOX[1]), 2)
    assert sorted(os.listdir("drawn")) == ["red.png", "red.webm"], os.listdir("drawn")
    done = run(*own, "red.png", "red.onnx", "red.avi")
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 6, done
    assert "red.onnx: " in done.stderr and "1 of 3 files failed" in done.stderr, done
    with subprocess.Popen([PROGRAM, *own, "red.avi"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as reader:
        reader.stdout.close()  # as head does
        said = reader.stderr.read().decode()
        assert reader.wait() == 1 and "Broken pipe" in said and "Traceback" not in said, said


def check_classes():
    """Red has 6 % of the pixels, so all scores are near a third by softmax."""
    pathlib.Path("mean.txt").write_text("red\ngreen\nblue\n", encoding="utf-8")
    own = "--model", "mean.onnx", "--method", "classification", "--fit", "stretch"
    before = pixels("red.png")
    (line,) = made(*own, "--output", "classified.png", "red.png")
    red = np.exp(32 * 64 / (HEIGHT * WIDTH))
    expected = [("red", 0, red / (red + 2)), ("green", 1, 1 / (red + 2)), ("blue", 2, 1 / (red + 2))]
    for found, (label, number, score) in zip(line["objects"], expected, strict=True):
        assert (found["label"], found["class"]) == (label, number) and "box" not in found, line
        assert abs(found["score"] - score) < 2e-3, (found, score)
    left, top, right, bottom = changed("classified.png", before)
    near((left, top), (0, 0))
    assert 40 < bottom < 70 and 60 < right < 110, (right, bottom)
    (line,) = made(*own, "--top", "1", "--output", "one.png", "red.png")
    assert [found["label"] for found in line["objects"]] == ["red"], line
    assert changed("one.png", before)[3] < bottom / 2


def check_points():
    """The letterbox of 256 x 128 has a quarter of the size, and 16 rows above it."""
    before = pixels("red.png")
    (line,) = made("--model", "pose.onnx", "--method", "yolo-pose", "--output", "posed.png",
                   "red.png")
    expected = poses().T[[5, 40, 83], 5:].reshape(3, 17, 3)
    points = np.array([found["points"] for found in line["objects"]])
    scores = [found["score"] for found in line["objects"]]
    assert np.allclose(scores, (.9, .8, .7)) and points.shape == expected.shape, line
    assert np.abs(points[..., 0] - 4 * expected[..., 0]).max() < .01, points
    assert np.abs(points[..., 1] - 4 * (expected[..., 1] - 16)).max() < .01, points
    assert np.abs(points[..., 2] - expected[..., 2]).max() < .001, points
    differs = np.abs(pixels("posed.png") - before).max(2) > 60
    # Inside of the boxes, which have labels and lines at the edges
    drawn = [(x, y) for x, y, score in points[:2].reshape(-1, 3) if score > .5]
    assert len(drawn) > 5 and all(differs[int(y), int(x)] for x, y in drawn), drawn
    (line,) = made("--model", "pose.onnx", "--method", "yolo-pose", "--threshold", ".95", "red.png")
    assert line["objects"] == [], line
    refused(1, "yolo-v8 of 52 classes", "--model", "pose.onnx", "red.png")


def check_segments():
    """The rectangle is class 1, and the rest class 0, in other colours."""
    own = "--model", "halves.onnx", "--method", "segmentation", "--fit", "stretch"
    (line,) = made(*own, "--output", "halves.png", "red.png")
    assert line["objects"] == [], line
    drawn, before = pixels("halves.png"), pixels("red.png")
    is_red = before[..., 0] > 128
    outside = drawn[0, 0]
    assert outside.max() > 40 and np.abs(drawn[~is_red] - outside).max() <= 2, outside
    inside = drawn[64, 128]
    assert np.abs(inside - (255, 0, 0)).max() > 40, inside
    found = np.abs(drawn - inside).max(2) <= 2
    common = (found & is_red).sum() / (found | is_red).sum()
    assert common > .99, common


def check_rows():
    """The numbers of a network, and a text that it reads in the whole frame"""
    import onnxwriter
    steps = np.eye(3, dtype=np.float32)[[0, 1, 1, 0, 1, 2]][None]
    network = onnxwriter.Network("steps")
    network.input("frame", (1, 3, 64, 64))
    network.output("steps", steps.shape)
    nothing = network.add("ReduceMean", network.add("Mul", "frame", np.float32([0])), keepdims=0)
    network.add("Add", steps, nothing, output="steps")
    pathlib.Path("steps.onnx").write_bytes(network.encoded())
    pathlib.Path("letters.txt").write_text("a\nb\n", encoding="ascii")
    (line,) = made("--model", "steps.onnx", "--method", "ctc", "--labels", "letters.txt", "red.png")
    assert line["objects"][0]["text"] == "aab", line
    assert line["objects"][0]["box"] == [0, 0, WIDTH, HEIGHT], line
    (line,) = made("--model", "mean.onnx", "--method", "embedding", "--fit", "stretch", "red.png")
    expected = [64 * 32 / (WIDTH * HEIGHT), 0, 0]
    assert np.allclose(line["objects"][0]["embedding"], expected, atol=1e-3), line


def check_names():
    """Also of the model, beside which a file of labels is taken"""
    for name in HOSTILE:
        for source, target in ("red.png", f"{name}.png"), ("red.onnx", f"{name}.onnx"), \
                ("mean.txt", f"{name}.txt"):
            if pathlib.Path(source) != pathlib.Path(target):
                pathlib.Path(target).write_bytes(pathlib.Path(source).read_bytes())
        (line,) = made("--model", f"{name}.onnx", "--labels", f"{name}.txt", "--threshold", ".3",
                       "--output", f"out{name}.png", "--", f"{name}.png")
        assert line["file"] == f"{name}.png" and line["objects"][0]["label"] == "red", line
        assert pathlib.Path(f"out{name}.png").exists(), name
    assert not pathlib.Path("pwned").exists()


def check_refusals():
    own = "--model", "red.onnx"
    refused(2, "not-there: no such file", *own, "not-there")
    refused(2, "--model none.onnx: no such file", "--model", "none.onnx", "red.png")
    refused(2, "--threshold 2: expected a number from 0 to 1", "--threshold", "2", "red.png")
    refused(2, "--network cats: expected faces, hands or text", "--network", "cats", "red.png")
    refused(2, "--labels: not with --network text", "--network", "text", "--labels", "mean.txt",
            "red.png")
    refused(2, "--method segmentation: expected --output", *own, "--method", "segmentation",
            "red.png")
    refused(2, "--output boxes.mp4: expected", *own, "--output", "boxes.mp4", "red.png")
    refused(2, "--camera /dev/video0: beside red.png", *own, "--camera", "/dev/video0", "red.png")
    refused(2, "expected FILE or --camera", *own)
    refused(2, "--size", *own, "--size", "3", "red.png")
    refused(2, "have the same name", *own, "--output", "drawn", "red.png", "folder/red.png")
    refused(1, "do not fit `method`", *own, "--method", "yolo-x", "--output", "none.png", "red.png")
    refused(1, "label-file", *own, "--labels", "red.png", "--output", "none.png", "red.png")
    refused(1, "--results", *own, "--results", "no/folder.json", "red.png")
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
    made("--output", "detected.png", photographs[0])
    left, top, right, bottom = changed("detected.png", before, **size)
    # Hairline to chin, and ear to ear, by eye
    near((left, right, bottom), (180, 274, 178), 12)
    assert 50 < top < 90, top


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if sys.argv[3:] == ["faces"]:
        check_faces()
    else:
        networks()
        picture("red.png")
        picture("red.avi", 5, "jpegenc", "quality=95", "!", "avimux")
        check_detection()
        check_several()
        check_classes()
        check_rows()
        check_points()
        check_segments()
        check_names()
        check_refusals()
