#!/usr/bin/env python3
"""Promise: gstopencl.Source pushes a callback's frames bit for bit, waits or counts what is lost.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import subprocess
import sys
import threading

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

import gstopencl  # noqa: E402

Gst.init(None)


class Chain:
    """appsrc ! ELEMENTS ! appsink, with a Source"""

    def __init__(self, elements, shape, dtype, **more):
        self.pipeline = Gst.parse_launch(f"appsrc name=in ! {elements} ! appsink name=out sync=false max-buffers=4")
        self.source = gstopencl.Source(self.pipeline.get_by_name("in"), shape, dtype, **more)
        self.sink = self.pipeline.get_by_name("out")
        self.pipeline.set_state(Gst.State.PLAYING)

    def pull(self):
        sample = self.sink.emit("try-pull-sample", 20 * Gst.SECOND)
        return sample and sample.get_buffer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pipeline.set_state(Gst.State.NULL)


def check_bits():
    """Each type arrives as it was pushed, filled in place or copied; odd sizes too."""
    random = np.random.default_rng(1)
    for dtype in "u1", "<u2", "<i2", "<u4", "<f4":
        for shape in (6, 64), (5, 33):
            frames = random.integers(0, 100, (20, *shape)).astype(dtype)
            with Chain("openclupload ! opencldownload", shape, dtype, framerate=50) as chain:
                def grab():
                    for number, frame in enumerate(frames):
                        if number % 2:
                            assert chain.source.push(frame)
                            continue
                        with chain.source.frame() as memory:
                            assert memory.shape == shape and memory.dtype == np.dtype(dtype)
                            memory[...] = frame
                    chain.source.end()
                thread = threading.Thread(target=grab)
                thread.start()
                for number, frame in enumerate(frames):
                    buffer = chain.pull()
                    found = buffer.extract_dup(0, frame.nbytes)
                    assert found == frame.tobytes(), (dtype, shape, number)
                    assert buffer.pts == number * Gst.SECOND // 50, buffer.pts
                assert chain.pull() is None
                thread.join()
                assert (chain.source.number, chain.source.lost) == (20, 0)


def check_back_pressure():
    """A sink that is full makes a callback wait, or lose frames, whose numbers are left out."""
    with Chain("openclupload ! opencldownload", (4, 64), "<u2", frames=3) as chain:
        frame = np.zeros((4, 64), "<u2")
        pushed = 0
        while chain.source.push(frame + pushed, timeout=0.5):
            pushed += 1
            assert pushed < 100, "no back-pressure"
        assert chain.source.lost == 1
        for number in range(pushed):
            assert chain.pull().extract_dup(0, 2) == number.to_bytes(2, "little"), number
        assert chain.source.push(frame + 7, timeout=10)
        buffer = chain.pull()
        assert buffer.pts == round((pushed + 1) * Gst.SECOND / 25), (buffer.pts, pushed)
        assert buffer.has_flags(Gst.BufferFlags.DISCONT)


def check_errors():
    """An exception drops its frame, an ended pipeline and wrong types are errors."""
    with Chain("openclupload ! opencldownload", (4, 64), "<u2") as chain:
        try:
            with chain.source.frame() as memory:
                memory[...] = 1
                raise KeyError("of the callback")
        except KeyError:
            pass
        good = np.full((4, 64), 9, "<u2")
        for error, frame in ((ValueError, good[0]), (ValueError, np.uint16(7)), (ValueError, good[:, :1]),
                             (TypeError, good - 10.0), (TypeError, good.astype("i4")), (TypeError, good.tolist()),
                             (TypeError, good.astype("i2")), (TypeError, good * 1j), (TypeError, good.astype("O")),
                             (TypeError, good.astype("i8").astype("M8[s]")),
                             (TypeError, np.ma.masked_less(good, 10))):
            try:
                chain.source.push(frame)
            except error as reason:
                assert str(reason).startswith("frame: "), reason
            else:
                raise AssertionError(f"a frame of {frame} was taken")
        assert chain.source.push(good.astype("u1")) and chain.source.push(good.astype(">u2"))
        assert all(chain.pull().extract_dup(0, 2) == b"\t\0" for _ in range(2))
        assert chain.source.push(good)
        assert chain.pull().extract_dup(0, 2) == b"\t\0" and chain.source.number == 3
        chain.pipeline.set_state(Gst.State.NULL)
        try:
            chain.source.push(np.zeros((4, 64), "<u2"))
        except EOFError as error:
            assert "takes no more frames" in str(error), error
        else:
            raise AssertionError("a stopped pipeline took a frame")
    try:
        gstopencl.Source(Gst.ElementFactory.make("appsrc"), (4, 64), "c16")
    except ValueError as error:
        assert "no type of spectra" in str(error), error
    else:
        raise AssertionError("complex128 was taken")


def check_example(path):
    done = subprocess.run([sys.executable, path, "10", "1"], capture_output=True, text=True, timeout=200, check=True)
    # One more frame starts the pipeline.
    assert done.stdout == "11 frames of 1024 A-lines, 0 lost\n", done.stdout


check_bits()
check_back_pressure()
check_errors()
check_example(sys.argv[1])
