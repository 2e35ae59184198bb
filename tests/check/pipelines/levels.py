#!/usr/bin/env python3
"""Python sets `mean` and `deviation` of openclinference by a number, a text or a Gst.ValueArray.

usage: levels.py TOOLS

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

sys.path.insert(0, sys.argv[1])
import onnxwriter  # noqa: E402

SIDE = 8
LEVELS = [51, 128, 204]  # of the colour 0xff3380cc
VALUES = [
    (0.5, 0.25, 0.5, 0.25),
    ("0.5", "<0.25>", 0.5, 0.25),
    (Gst.ValueArray([0.485, 0.456, 0.406]), Gst.ValueArray([1 / 3]), [0.485, 0.456, 0.406], 1 / 3),
    (1, 2, 1, 2),
]


def check(model, mean, deviation, *expected):
    pipeline = Gst.parse_launch(
        "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff3380cc ! "
        f"video/x-raw,format=RGBA,width={SIDE},height={SIDE} ! openclupload ! "
        "openclinference name=network ! opencldownload ! appsink name=out sync=false")
    network = pipeline.get_by_name("network")
    network.set_property("model-file", str(model))
    network.set_property("mean", mean)
    network.set_property("deviation", deviation)
    pipeline.set_state(Gst.State.PLAYING)
    sample = pipeline.get_by_name("out").emit("try-pull-sample", 60 * Gst.SECOND)
    assert sample, pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR).parse_error()
    buffer = sample.get_buffer()
    made = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.float32)
    pipeline.set_state(Gst.State.NULL)
    levels = (np.array(LEVELS) / 255 - expected[0]) / expected[1]
    assert np.allclose(made.reshape(3, -1), levels[:, None], atol=1e-5), (mean, deviation, made)


Gst.init(None)
with tempfile.TemporaryDirectory() as folder:
    shape = 1, 3, SIDE, SIDE
    copy = onnxwriter.Network("copy")
    copy.input("frame", shape)
    copy.output("copy", shape)
    copy.add("Identity", "frame", output="copy")
    path = pathlib.Path(folder, "copy.onnx")
    path.write_bytes(copy.encoded())
    for row in VALUES:
        check(path, *row)
