#!/usr/bin/env python3
"""Promise: openclconvert makes the nearest levels for any pair of formats and colorimetries.

Usage: conversions.py [COUNT (30) [SEED (1)]]

Converts frames of tiles, each of one random colour, and compares the middle of each tile with
the matrices of ITU-R BT.601, 709, 2020 and SMPTE 240M in double precision. An error of half a
step of the output's format plus half a level of 255 is allowed. videoconvert only arranges
samples here: it packs and unpacks frames without a change of colours.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import re
import sys

import gi
import numpy

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstApp, GstVideo  # noqa: E402, F401

TILE = 8
MATRICES = {"1": None, "3": (0.2126, 0.0722), "4": (0.299, 0.114), "5": (0.212, 0.087),
            "6": (0.2627, 0.0593)}  # red's and blue's shares of luma, by GStreamer's numbers
YUV, GRAY, RGB = "yuv", "gray", "rgb"


class Format:
    """Components of a format with a colorimetry."""

    def __init__(self, name, colorimetry):
        info = GstVideo.VideoFormat.get_info(GstVideo.VideoFormat.from_string(name))
        self.name, self.colorimetry = name, colorimetry
        self.alpha = info.n_components == 4  # Y412_LE has no flag of it
        self.kind = (YUV if info.flags & GstVideo.VideoFormatFlags.YUV
                     else GRAY if info.flags & GstVideo.VideoFormatFlags.GRAY else RGB)
        self.depths = [info.depth[min(n, info.n_components - 1)] for n in range(3)]
        self.alpha_depth = info.depth[3] if self.alpha else 8
        self.full = colorimetry.startswith("1")
        self.matrix = MATRICES[colorimetry.split(":")[1]]

    def caps(self, width, height):
        return (f"video/x-raw,format={self.name},width={width},height={height},framerate=25/1,"
                f"colorimetry={self.colorimetry},chroma-site=mpeg2,interlace-mode=progressive")

    def wide(self, width, height):
        """Caps of the same colours with 16 bits of each component, and no subsampling"""
        name = {YUV: "AYUV64", GRAY: "GRAY16_LE", RGB: "ARGB64"}[self.kind]
        return Format(name, self.colorimetry).caps(width, height)

    def limits(self, n):
        """Offset and scale of component n: level = offset + scale * value"""
        steps = 2 ** self.depths[n] - 1
        unit = 2 ** (self.depths[n] - 8) if self.depths[n] >= 8 else steps / 255
        chroma = self.kind == YUV and n > 0
        if self.full:
            return (2 ** (self.depths[n] - 1), steps) if chroma else (0, steps)
        return (128 * unit, 224 * unit) if chroma else (16 * unit, 219 * unit)


def to_rgb(levels, made):
    """levels (..., 3) as R'G'B' in 0 … 1, not clipped"""
    values = numpy.stack([(levels[..., n] - made.limits(n)[0]) / made.limits(n)[1]
                          for n in range(3)], -1)
    if made.kind == GRAY:
        return numpy.repeat(values[..., :1], 3, -1)
    if made.kind == RGB:
        return values
    red, blue = made.matrix
    y, u, v = values[..., 0], values[..., 1], values[..., 2]
    r, b = y + 2 * (1 - red) * v, y + 2 * (1 - blue) * u
    return numpy.stack([r, (y - red * r - blue * b) / (1 - red - blue), b], -1)


def from_rgb(rgb, made):
    if made.kind == RGB:
        values = rgb
    else:
        red, blue = made.matrix
        y = rgb @ (red, 1 - red - blue, blue)
        values = numpy.stack([y, (rgb[..., 2] - y) / (2 * (1 - blue)),
                              (rgb[..., 0] - y) / (2 * (1 - red))], -1)
    return numpy.stack([numpy.clip(made.limits(n)[0] + made.limits(n)[1] * values[..., n],
                                   0, 2 ** made.depths[n] - 1) for n in range(3)], -1)


def run(description, data):
    """Pushes one frame and returns the output's bytes and caps."""
    pipeline = Gst.parse_launch(description)
    source, sink = pipeline.get_by_name("in"), pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    source.push_buffer(Gst.Buffer.new_wrapped(data))
    source.end_of_stream()
    sample = sink.try_pull_sample(100 * Gst.SECOND)
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert sample, (error and error.parse_error(), description)
    buffer = sample.get_buffer()
    return buffer.extract_dup(0, buffer.get_size())


def through(before, elements, after, data):
    return run(f'appsrc name=in caps="{before}" format=time ! {elements} ! {after} ! '
               "appsink name=out sync=false", data)


def tile_levels(data, made, size):
    """Levels of a frame as made.wide(), at the middle of each tile: (rows, columns, 4)"""
    width, height = size
    samples = numpy.frombuffer(data, "<u2")
    if made.kind == GRAY:
        gray = samples.reshape(height, -1)[:, :width, None]
        samples = numpy.concatenate([numpy.full_like(gray, 65535), gray, gray, gray], -1)
    else:
        samples = samples.reshape(height, width, 4)
    samples = samples[TILE // 2::TILE, TILE // 2::TILE].astype(int)
    shift = [16 - made.alpha_depth] + [16 - depth for depth in made.depths]
    return samples >> shift


def random_frame(random, made, size):
    """A frame of tiles as made.wide()"""
    width, height = size
    rows, columns = -(-height // TILE), -(-width // TILE)
    tiles = random.integers(0, 65536, (rows, columns, 4))
    tiles[..., 1:][random.random((rows, columns)) < 0.1] = 0
    tiles[..., 1:][random.random((rows, columns)) < 0.1] = 65535
    if made.kind == YUV:  # mostly colours that exist
        rgb = to_rgb(tiles[..., 1:] / 1.0, Format("ARGB64", "1:1:0:0"))
        levels = from_rgb(rgb, Format("AYUV64", made.colorimetry))
        keep = random.random((rows, columns)) < 0.2
        tiles[..., 1:] = numpy.where(keep[..., None], tiles[..., 1:], levels)
    frame = tiles.repeat(TILE, 0).repeat(TILE, 1)[:height, :width].astype("<u2")
    if made.kind == GRAY:
        gray = numpy.zeros((height, (width * 2 + 3) // 4 * 2), "<u2")
        gray[:, :width] = frame[..., 1]
        frame = gray
    return frame.tobytes()


def colorimetry(random, kind):
    """A random range and matrix; transfer function and primaries stay unknown."""
    matrix = "1" if kind == RGB else random.choice([each for each in MATRICES if each != "1"])
    return f"{random.choice(['1', '2'])}:{matrix}:0:0"


def check(random, names):
    """Converts between two random formats; returns the largest excess over what is allowed."""
    first, second = (str(random.choice(names)) for _ in range(2))
    kinds = [Format(name, "1:1:0:0").kind for name in (first, second)]
    source, target = (Format(name, colorimetry(random, kind))
                      for name, kind in zip((first, second), kinds))
    if GRAY in kinds:  # grey has the matrix of the other format
        matrix = [each.colorimetry[2] for each, kind in zip((source, target), kinds)
                  if kind == YUV] or ["4"]
        source, target = (Format(each.name, f"{each.colorimetry[0]}:{matrix[0]}:0:0")
                          if kind == GRAY else each
                          for each, kind in zip((source, target), kinds))
    size = [int(random.integers(3 * TILE, 9 * TILE)) for _ in range(2)]
    size[0] += size[0] % 6 == 3  # the last chroma of NV12_10LE32 has no room there
    frame = through(source.wide(*size), "videoconvert dither=none chroma-mode=none",
                    source.caps(*size), random_frame(random, source, size))
    made = through(source.caps(*size), "openclupload ! openclconvert ! opencldownload",
                   target.caps(*size), frame)
    given, got = (tile_levels(through(each.caps(*size), "videoconvert dither=none chroma-mode=none",
                                      each.wide(*size), data), each, size)
                  for each, data in ((source, frame), (target, made)))
    expected = from_rgb(to_rgb(given[..., 1:], source), target)
    if set(kinds) == {GRAY, YUV}:  # luma stays, whatever the ranges, as in videoconvert
        expected = numpy.full_like(expected, 2 ** (target.depths[1] - 1))
        steps = [2 ** each.depths[0] - 1 for each in (target, source)]
        expected[..., 0] = given[..., 1] * steps[0] / steps[1]
    worst = -1
    for n in range(1 if target.kind == GRAY else 3):
        steps = 2 ** target.depths[n] - 1
        off = numpy.abs(got[..., 1 + n] - expected[..., n])
        worst = max(worst, (off.max() - 0.5) / steps * 255)
    if target.alpha and not source.alpha:
        worst = max(worst, 255.0 * (got[..., 0] != 2 ** target.alpha_depth - 1).max())
    elif target.alpha:
        scale = (2 ** target.alpha_depth - 1) / (2 ** source.alpha_depth - 1)
        off = numpy.abs(got[..., 0] - given[..., 0] * scale).max() - 0.5
        worst = max(worst, off / (2 ** target.alpha_depth - 1) * 255)
    return worst, f"{source.caps(*size)} to {target.name},colorimetry={target.colorimetry}"


def main():
    count, seed = ([int(each) for each in sys.argv[1:]] + [30, 1][len(sys.argv) - 1:])
    Gst.init(None)
    template = Gst.ElementFactory.find("openclconvert").get_static_pad_templates()[0].get_caps().to_string()
    names = re.search(r"format=\(string\){([^}]*)}", template)[1].replace(" ", "").split(",")
    for swapped in ("VYUY", "NV61"):  # by videoconvert 1.22, NV61 in the last of odd columns
        names.remove(swapped)
    failed, worst = 0, -1
    for n in range(seed, seed + count):
        excess, what = check(numpy.random.default_rng(n), names)
        worst = max(worst, excess)
        if excess > 0.5:
            failed += 1
            print(f"FAILED: seed {n}: {what}: {excess:.2f} levels of 255 off")
    print(f"{count} conversions, {failed} failed, at most {worst:.3f} levels beyond half a step")
    assert not failed
    assert worst > -0.4, "not even rounding: nothing was compared"


main()
