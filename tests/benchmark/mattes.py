#!/usr/bin/env python3
# Mattes of chromakey beside those of FFmpeg's and GStreamer's keyers
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keys pictures whose exact matte is known with each keyer at its own best parameters,
found by the same search for all, and prints how far the mattes are from the exact one.

    mattes.py MATTE PICTURE...

MATTE is the exact matte in grey, each PICTURE the same thing before a green screen. Needs
ffmpeg, python3-numpy, python3-gi and the built plugins (meson devenv).
"""
import itertools
import subprocess
import sys

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402


def decode(path, pixel_format, components):
    size = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
         "stream=width,height", "-of", "csv=p=0", path],
        check=True, capture_output=True, text=True).stdout
    width, height = (int(n) for n in size.strip().strip(",").split(",")[:2])
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", pixel_format,
         "-"], check=True, capture_output=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(height, width, components)


class FFmpeg:
    """A filter of similarity and blend."""

    ranges = {"similarity": (0.01, 0.4), "blend": (0.0, 0.5)}

    formats = {"colorkey": "rgba", "chromakey": "yuva444p"}

    def __init__(self, name, picture, key):
        self.name = name
        self.picture = picture
        self.key = key

    def matte(self, similarity, blend):
        height, width = self.picture.shape[:2]
        keyer = "format=%s,%s=0x%02x%02x%02x:%.5f:%.5f" % (
            self.formats[self.name], self.name, *self.key, similarity, blend)
        raw = subprocess.run(
            ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s",
             "%dx%d" % (width, height), "-i", "-", "-vf",
             keyer + ",alphaextract,format=gray", "-f", "rawvideo", "-pix_fmt", "gray",
             "-"],
            input=self.picture.tobytes(), check=True, capture_output=True).stdout
        return np.frombuffer(raw, np.uint8).reshape(height, width)


class GStreamer:
    """An element whose properties change from one frame to the next."""

    def __init__(self, launch, picture, ranges, alpha):
        height, width = picture.shape[:2]
        self.ranges = ranges
        self.alpha = alpha
        self.shape = (height, width, 4)
        opaque = np.full((height, width, 1), 255, np.uint8)
        self.frame = np.concatenate([picture, opaque], -1).tobytes()
        self.pipeline = Gst.parse_launch(
            "appsrc name=source format=time caps=video/x-raw,format=RGBA,width=%d,"
            "height=%d,framerate=30/1 ! %s ! appsink name=sink sync=false"
            % (width, height, launch))
        self.source = self.pipeline.get_by_name("source")
        self.sink = self.pipeline.get_by_name("sink")
        self.keyer = self.pipeline.get_by_name("keyer")
        self.pipeline.set_state(Gst.State.PLAYING)

    def matte(self, **properties):
        for name, value in properties.items():
            kind = type(self.keyer.get_property(name.replace("_", "-")))
            self.keyer.set_property(name.replace("_", "-"), kind(value))
        self.source.emit("push-buffer", Gst.Buffer.new_wrapped(self.frame))
        buffer = self.sink.emit("pull-sample").get_buffer()
        raw = buffer.extract_dup(0, buffer.get_size())
        return np.frombuffer(raw, np.uint8).reshape(self.shape)[..., self.alpha]

    def close(self):
        self.pipeline.set_state(Gst.State.NULL)


def keyers(picture, key):
    soft = {"similarity": (0.0, 0.4), "smoothness": (0.2, 1.2)}
    color = "0xff%02x%02x%02x" % tuple(key)
    ours = ("openclupload ! chromakey name=keyer method=%s adaptive=%s key-color=" + color
            + " ! opencldownload")
    for method, adaptive in itertools.product(("chroma", "difference"), ("true", "false")):
        name = "chromakey method=%s adaptive=%s" % (method, adaptive)
        yield name, GStreamer(ours % (method, adaptive), picture, soft, 3)
    for name in ("colorkey", "chromakey"):
        yield "FFmpeg " + name, FFmpeg(name, picture, key)
    custom = ("alpha name=keyer method=custom target-r=%d target-g=%d target-b=%d"
              " ! video/x-raw,format=ARGB")
    yield "GStreamer alpha", GStreamer(
        custom % tuple(key), picture,
        {"angle": (0.0, 90.0), "noise_level": (0.0, 64.0), "black_sensitivity": (0, 128),
         "white_sensitivity": (0, 128)}, 0)


def mean_square(matte, exact):
    return float((((matte.astype(float) - exact) / 255) ** 2).mean())


def search(keyer, exact):
    """The best of a coarse grid, and then of ever finer ones around the best so far."""
    names = list(keyer.ranges)
    steps = 6 if len(names) == 2 else 4
    best = None
    spans = dict(keyer.ranges)
    for _ in range(6):
        axes = [np.linspace(*spans[name], steps + 1) for name in names]
        for values in itertools.product(*axes):
            matte = keyer.matte(**dict(zip(names, values)))
            error = mean_square(matte, exact)
            if best is None or error < best[0]:
                best = error, dict(zip(names, values)), matte
        for name in names:
            low, high = keyer.ranges[name]
            half = (spans[name][1] - spans[name][0]) / steps
            center = best[1][name]
            spans[name] = max(low, center - half), min(high, center + half)
    return best


def gradient_error(matte, exact):
    rows, columns = np.gradient(matte / 255.0)
    exact_rows, exact_columns = np.gradient(exact / 255.0)
    difference = np.hypot(rows, columns) - np.hypot(exact_rows, exact_columns)
    return float((difference**2).sum())


def report(path, exact):
    picture = decode(path, "rgb24", 3)
    if picture.shape[:2] != exact.shape:
        sys.exit("%s is of %dx%d, its matte of %dx%d" % (
            path, *picture.shape[1::-1], *exact.shape[::-1]))
    key = np.rint(np.median(picture[exact == 0], axis=0)).astype(int)
    print("%s, screen %d,%d,%d" % (path, *key))
    print("  %-40s %8s %8s %8s  at" % ("", "MSE*1e3", "SAD*1e-3", "gradient"))
    for name, keyer in keyers(picture, key):
        error, parameters, matte = search(keyer, exact)
        sad = np.abs(matte.astype(float) - exact).sum() / 255e3
        at = " ".join("%s=%.3g" % item for item in parameters.items())
        print("  %-40s %8.3f %8.3f %8.1f  %s" % (
            name, error * 1e3, sad, gradient_error(matte, exact), at), flush=True)
        if isinstance(keyer, GStreamer):
            keyer.close()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    Gst.init(None)
    exact = decode(sys.argv[1], "gray", 1)[..., 0]
    for path in sys.argv[2:]:
        report(path, exact)


if __name__ == "__main__":
    main()
