#!/usr/bin/env python3
"""Promises: openclinference regions=objects runs a network on the regions of a frame, turned ones,
too, and opencltensordecoder gives each its class, text, numbers or objects. Results equal those of
NumPy on the same part of the picture.

usage: regions.py TOOLS-FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

sys.path.insert(0, os.path.realpath(sys.argv[1]))
import onnxwriter  # noqa: E402

WIDTH, HEIGHT = 255, 127
# Left, top, right, bottom: inside, odd sizes, at each edge, a single pixel, the whole frame
BOXES = np.array([[10, 20, 50, 60], [101, 33, 118, 90], [0, 60, 31, 127], [200, 4, 255, 41],
                  [77, 77, 78, 78], [0, 0, 255, 127]])


def write_boxes(file):
    """A network that gives BOXES: 7 rows with corners, score and class, whatever the frame has."""
    rows = np.zeros((1, 7, 6), np.float32)
    rows[0, :6, :4], rows[0, :6, 4], rows[0, :6, 5] = BOXES, np.linspace(0.9, 0.5, 6), [
        0, 0, 1, 1, 0, 2]
    network = onnxwriter.Network("boxes")
    network.input("frame", (1, 3, HEIGHT, WIDTH))
    network.output("rows", (1, 7, 6))
    zero = network.add("ReduceMean", network.add("Mul", "frame", np.float32([0])), keepdims=0)
    network.add("Add", zero, rows, output="rows")
    pathlib.Path(file).write_bytes(network.encoded())


def write_network(file, batch, size, op, shape, *operands, **attributes):
    network = onnxwriter.Network("of_region")
    network.input("part", (batch, 3, *size))
    network.output("result", (batch, *shape))
    network.add(op, "part", *operands, output="result", **attributes)
    pathlib.Path(file).write_bytes(network.encoded())


def play(frames, line):
    """Returns the objects of each message of the decoder `last` as dictionaries."""
    np.insert(frames, 3, 255, -1).tofile("frames.rgba")
    height, width = frames.shape[1:3]
    pipeline = Gst.parse_launch(
        f"filesrc location=frames.rgba ! rawvideoparse format=rgba width={width} height={height} "
        f"framerate=25/1 ! openclupload ! {line} name=last ! fakesink")
    messages, bus = [], pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    while message := bus.timed_pop_filtered(200 * Gst.SECOND, Gst.MessageType.EOS
                                            | Gst.MessageType.ERROR | Gst.MessageType.ELEMENT):
        if message.type != Gst.MessageType.ELEMENT:
            break
        if message.src.get_name() == "last":
            objects = message.get_structure().get_array("objects")[1]
            messages.append([as_dictionary(objects.get_nth(n)) for n in range(objects.n_values)])
    pipeline.set_state(Gst.State.NULL)
    assert message and message.type == Gst.MessageType.EOS, message and message.parse_error()
    return messages


def as_dictionary(structure):
    found = {}
    for n in range(structure.n_fields()):
        name = structure.nth_field_name(n)
        kind = structure.get_field_type(name).name
        if kind == "GstValueArray":
            values = structure.get_array(name)[1]
            found[name] = np.array([values.get_nth(k) for k in range(values.n_values)])
        else:
            value = structure.get_value(name)
            found[name] = as_dictionary(value) if isinstance(value, Gst.Structure) else value
    return found


DETECT = "openclinference model-file=boxes.onnx output=meta ! opencltensordecoder " \
         "method=yolo-v10 iou-threshold=1 post-messages=false"
SECOND = "openclinference model-file=second.onnx regions=objects output=meta"


def random_frames(count):
    """Smooth enough that bilinear samples and areas agree, and different in each place"""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    phase = np.arange(count)[:, None, None, None]
    waves = np.stack([np.sin(x / 31) * np.cos(y / 23), np.cos(x / 17 + y / 29),
                      np.sin((x - y) / 37)], -1)
    return np.rint(127 + 100 * waves * np.cos(phase)).astype(np.uint8)


def means(frame, boxes=BOXES):
    return np.array([frame[top:bottom, left:right].mean((0, 1)) / 255
                     for left, top, right, bottom in boxes])


def check_means():
    """The mean colour of each region, in runs of 1, 4 and 6 regions, float and half"""
    frames = random_frames(2)
    for batch, options, limit in (1, "", 0.003), (4, "", 0.003), (6, "precision=half", 0.005):
        write_network("second.onnx", batch, (32, 32), "GlobalAveragePool", (3, 1, 1))
        messages = play(frames, f"{DETECT} ! {SECOND} batch-size={batch} {options} ! "
                                "opencltensordecoder method=embedding")
        assert [len(objects) for objects in messages] == [6, 6], messages
        for frame, objects in zip(frames, messages):
            found = np.array([one["embedding"]["values"] for one in objects])
            error = np.abs(found - means(frame)).max()
            print(f"batch {batch} {options}: means within {error:.4f}")
            assert error < limit, (found, means(frame))
            assert [one["label"] for one in objects] == list("001102"), objects


def check_fits():
    """A letterbox has borders, a line begins at the left edge."""
    write_network("second.onnx", 1, (16, 48), "Identity", (3, 16, 48))
    frames = np.full((1, HEIGHT, WIDTH, 3), 255, np.uint8)
    for fit, columns in (("stretch", (0, 48)), ("letterbox", (16, 32)), ("line", (0, 16))):
        (objects,) = play(frames, f"{DETECT} ! {SECOND} fit={fit} max-regions=1 ! "
                                  "opencltensordecoder method=embedding")
        part = objects[0]["embedding"]["values"].reshape(3, 16, 48)
        expected = np.zeros((3, 16, 48))
        expected[..., slice(*columns)] = 1
        assert np.abs(part - expected).max() < 1e-3, (fit, part[0, 0])


def check_choice():
    """Labels, sizes, numbers and intervals; a result is kept with its identity."""
    write_network("second.onnx", 1, (32, 32), "GlobalAveragePool", (3, 1, 1))
    frames = random_frames(5)
    embedding = "opencltensordecoder method=embedding"
    for options, chosen in (("region-labels=1,2", [2, 3, 5]), ("region-min-size=31", [0, 2, 3, 5]),
                            ("max-regions=2", [0, 1]), ("region-labels=none", [])):
        messages = play(frames[:1], f"{DETECT} ! {SECOND} {options} ! {embedding}")
        boxes = [[one[name] for name in ("x", "y", "width", "height")] for one in messages[0]]
        expected = [[x, y, right - x, bottom - y] for x, y, right, bottom in BOXES[chosen]]
        assert boxes == expected, (options, boxes)
    own = np.array([means(frame) for frame in frames])
    messages = play(frames, f"{DETECT} ! {SECOND} region-interval=3 ! {embedding}")
    assert [len(objects) for objects in messages] == [6, 0, 0, 6, 0], messages
    for interval, of_frame in (1, range(5)), (2, (0, 0, 2, 2, 4)), (0, (0,) * 5):
        messages = play(frames, f"{DETECT} track-frames=5 ! {SECOND} region-interval={interval} ! "
                                + embedding)
        for at, (objects, frame) in enumerate(zip(messages, of_frame)):
            numbers = {tuple(one[name] for name in ("x", "y")): one["embedding"]["values"]
                       for one in objects}
            found = np.array([numbers[tuple(box[:2])] for box in BOXES])
            assert np.abs(found - own[frame]).max() < 0.003, (interval, at)


def check_classes():
    """The best class of each region, above the threshold, by softmax"""
    write_network("second.onnx", 2, (32, 32), "GlobalAveragePool", (3, 1, 1))
    frames = random_frames(1)
    pathlib.Path("colors.txt").write_text("red\ngreen\nblue\n", encoding="ascii")
    own = np.exp(means(frames[0]))
    own /= own.sum(1, keepdims=True)
    threshold = np.sort(own.max(1))[2:4].mean()
    (objects,) = play(frames, f"{DETECT} ! {SECOND} batch-size=2 ! opencltensordecoder "
                              "method=classification activation=softmax label-file=colors.txt "
                              f"class-confidence-threshold={threshold}")
    kept = own.max(1) > threshold
    assert [one["x"] for one in objects] == list(BOXES[kept, 0]), (objects, own)
    for one, scores in zip(objects, own[kept]):
        found = one["classification"]
        assert found["label"] == ("red", "green", "blue")[scores.argmax()], (found, scores)
        assert abs(found["score"] - scores.max()) < 0.002, (found, scores)


def check_text():
    """Columns of pixels are steps of text: repeated ones are one, black is none."""
    pathlib.Path("letters.txt").write_text("a\né\n", encoding="utf-8")
    write_network("second.onnx", 1, (1, 40), "Identity", (3, 1, 40))
    pathlib.Path("text.onnx").write_bytes(text_network().encoded())
    letters = {"-": (0, 0, 0), "a": (255, 0, 0), "é": (0, 255, 0), " ": (0, 0, 255)}
    frames = np.zeros((1, HEIGHT, WIDTH, 3), np.uint8)
    second = f"{DETECT} ! {SECOND.replace('second', 'text')} max-regions=1"
    for steps, expected in (("aa-aéé  a", "aaé a"), ("-" * 9, ""), ("ééé      ", "é ")):
        steps = (steps + "-" * 40)[:40]
        frames[0, 20:60, 10:50] = np.array([letters[step] for step in steps])
        (objects,) = play(frames, f"{second} ! opencltensordecoder method=ctc "
                                  "label-file=letters.txt")
        found = [one["text"]["text"] for one in objects]
        assert found == ([expected] if expected else []), (found, expected)
    for whole in second, "openclinference model-file=text.onnx output=meta":
        try:
            play(frames, f"{whole} ! opencltensordecoder method=ctc")
        except AssertionError as error:
            assert "expected `label-file` with 2 or 3" in str(error), error
        else:
            raise AssertionError("text without characters")
    # The network's own characters, also for whole frames
    entry = b"".join(onnxwriter.field(n, text) for n, text in ((1, "character"), (2, "a\né")))
    pathlib.Path("text.onnx").write_bytes(text_network().encoded() + onnxwriter.field(14, entry))
    (objects,) = play(frames, f"{second} ! opencltensordecoder method=ctc")
    assert [one["text"]["text"] for one in objects] == ["é "], objects
    (objects,) = play(frames[:, 40:41, 10:50], "openclinference model-file=text.onnx output=meta ! "
                                               "opencltensordecoder method=ctc")
    assert [one["text"]["text"] for one in objects] == ["é "], objects


def text_network():
    """Classes of each column: none, red, green and blue"""
    network = onnxwriter.Network("text")
    network.input("part", (1, 3, 1, 40))
    network.output("steps", (1, 40, 4))
    colors = network.add("Transpose", network.add("Reshape", "part", np.int64([1, 3, 40])),
                         perm=[0, 2, 1])
    network.add("Concat", np.full((1, 40, 1), 0.4, np.float32), colors, output="steps", axis=2)
    return network


def check_nested():
    """Objects in regions have boxes of the frame."""
    inner = np.zeros((1, 3, 6), np.float32)
    inner[0, 0] = [8, 4, 24, 28, 0.8, 1]
    network = onnxwriter.Network("inner")
    network.input("part", (1, 3, 32, 32))
    network.output("rows", (1, 3, 6))
    zero = network.add("ReduceMean", network.add("Mul", "part", np.float32([0])), keepdims=0)
    network.add("Add", zero, inner, output="rows")
    pathlib.Path("second.onnx").write_bytes(network.encoded())
    for fit in "stretch", "letterbox":
        (objects,) = play(random_frames(1), f"{DETECT} ! {SECOND} fit={fit} max-regions=3 ! "
                                            "opencltensordecoder method=yolo-v10")
        for one, (left, top, right, bottom) in zip(objects, BOXES):
            size = np.array([right - left, bottom - top])
            scale = size / 32 if fit == "stretch" else max(size) / 32
            border = np.zeros(2) if fit == "stretch" else (32 - size / scale) / 2
            corners = np.clip((np.array([[8, 4], [24, 28]]) - border) * scale, 0, size) + (left, top)
            found = np.array([[one["x"], one["y"]], [one["x"] + one["width"],
                                                     one["y"] + one["height"]]])
            assert np.abs(found - corners).max() <= 1, (fit, found, corners)


def turned_pixels(x, y, angle):
    radians = np.radians(angle)
    return (np.cos(radians) * x - np.sin(radians) * y, np.sin(radians) * x + np.cos(radians) * y)


def check_turned():
    """Boxes of text are turned as the regions are, and cut out so: as NumPy samples them."""
    width, height = 640, 352
    red = onnxwriter.Network("red")
    red.input("frame", (1, 3, height, width))
    red.output("map", (1, 1, height, width))
    red.add("Conv", "frame", np.float32([1, 0, 0]).reshape(1, 3, 1, 1), output="map")
    pathlib.Path("red.onnx").write_bytes(red.encoded())
    write_network("second.onnx", 1, (16, 64), "Identity", (3, 16, 64))
    y, x = np.mgrid[:height, :width] + 0.5
    for angle in -35, -10, 0, 3, 10, 44, 90:
        across, down = turned_pixels(x - 320, y - 176, -angle)
        inside = (np.abs(across) < 100) & (np.abs(down) < 20)
        level = np.where(inside, 250, 100 + 50 * np.sin(across / 40))
        frames = np.stack([level, 128 + across / 3, 128 + down / 3], -1)[None]
        frames = np.rint(np.clip(frames, 0, 255)).astype(np.uint8)
        (objects,) = play(frames, "openclinference model-file=red.onnx output=meta ! "
                                  "opencltensordecoder method=text class-confidence-threshold=0.9 "
                                  f"post-messages=false ! {SECOND} ! "
                                  "opencltensordecoder method=embedding")
        (one,) = objects
        # The smallest rectangle around the squares of the pixels, and 1.6 times its area in parts
        # of its circumference on each side
        square = sum(np.abs(turned_pixels(1, 0, angle)))
        size = np.array([np.ptp(across[inside]), np.ptp(down[inside])]) + square
        size += 1.6 * size.prod() / size.sum()
        place = [one[name] for name in ("center-x", "center-y", "turned-width", "turned-height",
                                        "angle")]
        error = np.abs(np.array(place) - (320, 176, *size, angle))
        assert (error[:2] < 0.6).all() and (error[2:4] < 1).all() and error[4] < 0.2, (place, size)
        u, v = np.meshgrid((np.arange(64) + 0.5) / 64 - 0.5, (np.arange(16) + 0.5) / 16 - 0.5)
        part = one["embedding"]["values"].reshape(3, 16, 64) * 255
        assert np.abs(part[1] - (128 + u * size[0] / 3)).max() < 2.5, (angle, part[1])
        assert np.abs(part[2] - (128 + v * size[1] / 3)).max() < 2.5, (angle, part[2])


Gst.init(None)
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    write_boxes("boxes.onnx")
    for check in (check_means, check_fits, check_choice, check_classes, check_text, check_nested,
                  check_turned):
        print(check.__name__, flush=True)
        check()
    os.chdir("/")
