#!/usr/bin/env python3
# Compares mattes of chromakey with those of FFmpeg's and GStreamer's keyers
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Composites images with a known matte over a green screen. Tunes each keyer's parameters on the
images with odd numbers, with the same search for all keyers. Prints the mean square error of its
mattes on the images with even numbers.

    mattes.py FOLDER [PICTURES]
    mattes.py --smoothness FOLDER [PICTURES]
    mattes.py --edges FOLDER [PICTURES]

With --edges it prints the error of chromakey with spill=1, for the images with odd and with even
numbers: that of the matte, and the root mean square of that of the picture over another one, in
levels, where the exact matte is between 0.02 and 0.98. With --smoothness it prints the error of
chromakey with default similarity at several values of smoothness.

FOLDER contains the low-resolution training set of alphamatting.com: input_training_lowres/ and
gt_training_lowres/ with GT01.png, GT02.png, …. PICTURES limits their number (default: all).
Needs ffmpeg, python3-numpy, python3-gi and the built plugins (meson devenv).
"""
import itertools
import pathlib
import subprocess
import sys

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from srgb import levels_of, light_of  # noqa: E402

SCREEN = np.array([59, 162, 69])
SMOOTHNESS = (0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05)
NOISE = 3  # levels
EDGE = 0.02, 0.98  # of the exact matte


def ffmpeg(source, arguments, data=None):
    return subprocess.run(
        ["ffmpeg", "-v", "error", *source, *arguments, "-f", "rawvideo", "-"],
        input=data, check=True, capture_output=True).stdout


def decode(path, pixel_format, components):
    size = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
         "stream=width,height", "-of", "csv=p=0", path],
        check=True, capture_output=True, text=True).stdout
    width, height = (int(n) for n in size.strip().strip(",").split(",")[:2])
    raw = ffmpeg(["-i", path], ["-pix_fmt", pixel_format])
    return np.frombuffer(raw, np.uint8).reshape(height, width, components)


# --- pictures before a screen ---


def halved(image):
    height, width = (n + n % 2 for n in image.shape[:2])
    even = np.pad(image, ((0, height - image.shape[0]), (0, width - image.shape[1]), (0, 0)))
    return even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]


def spread(sums):
    """Divides sums of colours by their weights. Fills pixels without weight from coarser levels."""
    if min(sums.shape[:2]) <= 1:
        return sums[..., :3] / np.maximum(sums[..., 3:], 1e-9)
    wide = spread(halved(sums)).repeat(2, 0).repeat(2, 1)
    wide = wide[: sums.shape[0], : sums.shape[1]]
    share = np.minimum(sums[..., 3:], 1)
    return share * sums[..., :3] / np.maximum(sums[..., 3:], 1e-9) + (1 - share) * wide


def foreground(picture, matte):
    """Returns the foreground colour: that of opaque pixels, spread to all other pixels."""
    weight = (matte > 0.98)[..., None].astype(float)
    return spread(np.concatenate([picture * weight, weight], -1))


class Shot:
    """An image over a screen that is 1.5 times as bright in one corner as in the opposite one, with
    noise. Mixed in encoded levels, the same after chroma subsampling and JPEG, or mixed in linear
    light as by a lens."""

    KINDS = {"uneven light": "levels", "uneven light, JPEG": "jpeg",
             "uneven light, mixed as light": "light"}

    def __init__(self, folder, number, kind):
        name = "GT%02d.png" % number
        picture = decode(str(folder / "input_training_lowres" / name), "rgb24", 3)
        self.photograph = picture
        self.exact = decode(str(folder / "gt_training_lowres" / name), "gray", 1)[..., 0]
        matte = self.exact / 255.0
        height, width = self.exact.shape
        light = 0.8 + 0.4 * np.add.outer(
            np.linspace(0, 0.5, height), np.linspace(0, 0.5, width))
        self.thing = foreground(picture, matte)
        thing, screen = self.thing, light[..., None] * SCREEN
        if kind == "light":
            thing, screen = light_of(thing), light_of(screen)
        made = matte[..., None] * thing + (1 - matte[..., None]) * screen
        if kind == "light":
            made = levels_of(made)
        noise = np.random.default_rng(number).normal(0, NOISE, made.shape)
        self.picture = np.clip(made + noise, 0, 255).round().astype(np.uint8)
        if kind == "jpeg":
            self.picture = with_jpeg(self.picture)


def with_jpeg(picture):
    height, width = picture.shape[:2]
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "%dx%d" % (width, height), "-i", "-"]
    coded = subprocess.run(
        ["ffmpeg", "-v", "error", *raw, "-pix_fmt", "yuvj420p", "-q:v", "4", "-f", "mjpeg",
         "-"], input=picture.tobytes(), check=True, capture_output=True).stdout
    back = ffmpeg(["-f", "mjpeg", "-i", "-"], ["-pix_fmt", "rgb24"], coded)
    return np.frombuffer(back, np.uint8).reshape(picture.shape)


# --- keyers ---


class FFmpeg:
    """Keyer of FFmpeg with the options similarity and blend"""

    ranges = {"similarity": (0.01, 0.4), "blend": (0.0, 0.5)}

    formats = {"colorkey": "rgba", "chromakey": "yuva444p"}

    def __init__(self, name, color=SCREEN):
        self.name = "FFmpeg " + name
        self.filter = "format=%s,%s=0x%02x%02x%02x" % (self.formats[name], name, *color)

    def matte(self, shot, similarity, blend):
        height, width = shot.exact.shape
        raw = ffmpeg(
            ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "%dx%d" % (width, height), "-i", "-"],
            ["-vf", "%s:%.5f:%.5f,alphaextract,format=gray" % (self.filter, similarity, blend),
             "-pix_fmt", "gray"], shot.picture.tobytes())
        return np.frombuffer(raw, np.uint8).reshape(height, width)

    def close(self):
        pass


class Pipeline:
    """Pipeline for single frames of one size"""

    def __init__(self, launch, shape):
        self.shape = (*shape, 4)
        self.pipeline = Gst.parse_launch(
            "appsrc name=source format=time caps=video/x-raw,format=RGBA,width=%d,"
            "height=%d,framerate=30/1 ! %s ! appsink name=sink sync=false"
            % (shape[1], shape[0], launch))
        self.source = self.pipeline.get_by_name("source")
        self.sink = self.pipeline.get_by_name("sink")
        self.keyer = self.pipeline.get_by_name("keyer")
        self.pipeline.set_state(Gst.State.PLAYING)

    def run(self, picture, properties):
        for name, value in properties.items():
            kind = type(self.keyer.get_property(name.replace("_", "-")))
            self.keyer.set_property(name.replace("_", "-"), kind(value))
        opaque = np.full((*picture.shape[:2], 1), 255, np.uint8)
        frame = np.concatenate([picture, opaque], -1).tobytes()
        self.source.emit("push-buffer", Gst.Buffer.new_wrapped(frame))
        buffer = self.sink.emit("pull-sample").get_buffer()
        raw = buffer.extract_dup(0, buffer.get_size())
        return np.frombuffer(raw, np.uint8).reshape(self.shape)


class GStreamer:
    """Keyer element whose properties may change with each frame"""

    def __init__(self, name, launch, ranges, alpha):
        self.name = name
        self.launch = launch
        self.ranges = ranges
        self.alpha = alpha
        self.pipelines = {}

    def matte(self, shot, **properties):
        shape = shot.exact.shape
        if shape not in self.pipelines:
            self.pipelines[shape] = Pipeline(self.launch, shape)
        return self.pipelines[shape].run(shot.picture, properties)[..., self.alpha]

    def close(self):
        for pipeline in self.pipelines.values():
            pipeline.pipeline.set_state(Gst.State.NULL)


def keyers():
    soft = {"similarity": (0.0, 0.4), "smoothness": (0.2, 1.6)}
    color = "0xff%02x%02x%02x" % tuple(SCREEN)
    ours = "openclupload ! chromakey name=keyer mixing=levels key-color=" + color + " %s ! opencldownload"
    for properties in ("method=difference", "method=difference core=false",
                       "method=difference mixing=light", "method=difference plate=none",
                       "method=difference refine=false", "method=chroma"):
        yield GStreamer("chromakey " + properties, ours % properties, soft, 3)
    for name in ("colorkey", "chromakey"):
        yield FFmpeg(name)
    custom = ("alpha name=keyer method=custom target-r=%d target-g=%d target-b=%d"
              " ! video/x-raw,format=ARGB")
    yield GStreamer(
        "GStreamer alpha", custom % tuple(SCREEN),
        {"angle": (0.0, 90.0), "noise_level": (0.0, 64.0), "black_sensitivity": (0, 128),
         "white_sensitivity": (0, 128)}, 0)


# --- tuning and judging ---


def mean_square(matte, exact):
    return float((((matte.astype(float) - exact) / 255) ** 2).mean())


def mean_error(keyer, shots, parameters):
    return float(np.mean([mean_square(keyer.matte(s, **parameters), s.exact) for s in shots]))


def tune(keyer, shots):
    """Returns the best parameters: searches a coarse grid, then finer grids around the best."""
    names = list(keyer.ranges)
    steps = 8 if len(names) == 2 else 2
    best = None
    spans = dict(keyer.ranges)
    for _ in range(4):
        axes = [np.linspace(*spans[name], steps + 1) for name in names]
        for values in itertools.product(*axes):
            parameters = dict(zip(names, values))
            error = mean_error(keyer, shots, parameters)
            if best is None or error < best[0]:
                best = error, parameters
        for name in names:
            low, high = keyer.ranges[name]
            half = (spans[name][1] - spans[name][0]) / steps
            center = best[1][name]
            spans[name] = max(low, center - half), min(high, center + half)
    return best[1]


def compare_keyers(tuning, judging):
    for keyer in keyers():
        parameters = tune(keyer, tuning)
        at = " ".join("%s=%.3g" % item for item in parameters.items())
        print("  %-40s %8.3f  %s" % (
            keyer.name, 1e3 * mean_error(keyer, judging, parameters), at), flush=True)
        keyer.close()


def compare_smoothness(odd, even):
    print("  %-40s      %s" % ("smoothness", " ".join("%6.2f" % n for n in SMOOTHNESS)))
    for keyer in (k for k in keyers() if k.name.startswith("chromakey")):
        for name, shots in ("odd", odd), ("even", even):
            errors = (1e3 * mean_error(keyer, shots, {"smoothness": n}) for n in SMOOTHNESS)
            print("  %-40s %-4s %s" % (
                keyer.name, name, " ".join("%6.3f" % e for e in errors)), flush=True)
        keyer.close()


def scaled(picture, shape):
    rows, columns = (np.arange(n) * length // n for n, length in zip(shape, picture.shape))
    return picture[rows][:, columns].astype(float)


def mix(picture, alpha, background):
    return alpha[..., None] * picture + (1 - alpha[..., None]) * background


def is_edge(alpha):
    return (alpha > EDGE[0]) & (alpha < EDGE[1])


def edge_error(keyed, shot, background):
    """Error of a keyed picture over `background`, where the exact matte is partly transparent"""
    exact = shot.exact / 255
    difference = (mix(keyed[..., :3], keyed[..., 3] / 255, background)
                  - mix(shot.thing, exact, background))
    return float(np.sqrt((difference[is_edge(exact)] ** 2).mean()))


def compare_edges(*sets):
    for name, shots in zip(("odd", "even"), sets):
        keyer = GStreamer("", "openclupload ! chromakey name=keyer mixing=levels "
                          "key-color=0xff%02x%02x%02x" % tuple(SCREEN)
                          + " method=difference spill=1 ! opencldownload", {}, slice(None))
        results = [keyer.matte(shot) for shot in shots]
        matte = np.mean([mean_square(r[..., 3], s.exact) for r, s in zip(results, shots)])
        edges = np.mean([
            edge_error(r.astype(float), s, scaled(behind.photograph, s.exact.shape))
            for r, s, behind in zip(results, shots, shots[3:] + shots[:3])])
        print("  %-4s %6.3f  edges %5.2f" % (name, 1e3 * matte, edges), flush=True)
        keyer.close()


def main():
    modes = {"--smoothness": compare_smoothness, "--edges": compare_edges}
    arguments = [a for a in sys.argv[1:] if a not in modes]
    compare = next((modes[a] for a in sys.argv[1:] if a in modes), compare_keyers)
    if len(arguments) not in (1, 2):
        sys.exit(__doc__.strip())
    Gst.init(None)
    folder = pathlib.Path(arguments[0])
    numbers = sorted(int(path.stem[2:]) for path in (folder / "gt_training_lowres").glob("GT*.png"))
    numbers = numbers[: int(arguments[1])] if len(arguments) == 2 else numbers
    if len(numbers) < 2:
        sys.exit("%s: expected gt_training_lowres/GT01.png, GT02.png, …" % folder)
    for title, kind in Shot.KINDS.items():
        shots = {n: Shot(folder, n, kind) for n in numbers}
        odd = [shots[n] for n in numbers if n % 2]
        even = [shots[n] for n in numbers if n % 2 == 0]
        print("%s: tuned on %d images, tested on %d, MSE*1e3" % (title, len(odd), len(even)))
        compare(odd, even)


if __name__ == "__main__":
    main()
