#!/usr/bin/python3
"""Draws a figure for a publication from arrays of B-scans, projections or maps, to scale.

usage: octfigure.py FIGURE.png PANEL [PANEL…]

PANEL is a text FILE.npy [NAME=VALUE…], such as "bscans.npy frame=64 x=11.7 y=2.5 min=10 max=50 bar=500":
  frame=N          picture of the file, the mean of all (mean), or their maximum (max); default: 0
  depth=FIRST,END  part of the depths; lines=FIRST,END  part of the A-lines
  axis=N           projection: the maximum along this axis of a volume, instead of a frame
  x=, y=           µm of a step to the right and downwards (default: 1)
  min=, max=       values of the first and the last colour (default: 1 % and 99.8 % of the values)
  colours=NAME     grey, viridis or flow, with a scale beside the picture unless it is grey
  unit=TEXT        of that scale
  bar=µm           length of the bar (default: none)
  height=PIXELS    of the panel (default: 300)

The last axis of the arrays is depth, which is drawn downwards. Panels have the letters A, B, … if
there are several. Needs NumPy and pycairo.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import shlex
import sys

import cairo
import numpy as np

MARGIN, SCALE_WIDTH, FONT = 10, 76, 18
# Colours at even distances
COLOURS = {
    "grey": ((0, 0, 0), (1, 1, 1)),
    "viridis": ((0.27, 0, 0.33), (0.23, 0.32, 0.55), (0.13, 0.57, 0.55), (0.37, 0.79, 0.38),
                (0.99, 0.91, 0.14)),
    "flow": ((0, 1, 1), (0, 0, 1), (0, 0, 0), (1, 0, 0), (1, 1, 0)),
}


def parts_of(panel):
    """Returns the file and the options of a panel."""
    name, *words = shlex.split(panel)
    return name, dict(word.split("=", 1) for word in words)


def picture_of(name, options):
    """Returns a picture as (rows, columns), with depth or the second axis downwards."""
    values = np.load(name, mmap_mode="r")
    if "axis" in options:
        picture = values.max(int(options["axis"]))
    elif values.ndim > 2:
        values = values.reshape(-1, *values.shape[-2:])
        frame = options.get("frame", "0")
        picture = {"mean": lambda: values.mean(0), "max": lambda: values.max(0)}.get(
            frame, lambda: values[int(frame)])()
    else:
        picture = values
    ends = [slice(*map(int, options[key].split(","))) if key in options else slice(None)
            for key in ("lines", "depth")]
    return np.nan_to_num(np.asarray(picture, float)[tuple(ends)].T)


def coloured(picture, low, high, name):
    """Returns the picture in cairo's format RGB24."""
    table = np.array(COLOURS[name], float)
    at = np.clip((picture - low) / (high - low), 0, 1) * (len(table) - 1)
    levels = np.stack([np.interp(at, np.arange(len(table)), column) for column in table.T], -1)
    red, green, blue = np.moveaxis(np.rint(255 * levels).astype(np.uint32), -1, 0)
    return np.ascontiguousarray(red << 16 | green << 8 | blue)


def surface_of(pixels):
    rows, columns = pixels.shape
    return cairo.ImageSurface.create_for_data(pixels, cairo.FORMAT_RGB24, columns, rows, 4 * columns)


def write(context, x, y, text, size, colour=(1, 1, 1)):
    context.set_source_rgb(*colour)
    context.select_font_face("Sans", cairo.FONT_SLANT_NORMAL, cairo.FONT_WEIGHT_NORMAL)
    context.set_font_size(size)
    context.move_to(x, y)
    context.show_text(text)


class Panel:
    """Picture with its bar and its scale of colours, `width` x `height` pixels"""

    def __init__(self, text):
        name, self.options = parts_of(text)
        self.picture = picture_of(name, self.options)
        low, high = np.percentile(self.picture, [1, 99.8])
        self.low, self.high = (float(self.options.get(key, value))
                               for key, value in (("min", low), ("max", high)))
        self.colours = self.options.get("colours", "grey")
        rows, columns = self.picture.shape
        across, down = (float(self.options.get(key, 1)) for key in "xy")
        self.height = int(self.options.get("height", 300))
        self.shown = round(self.height * columns * across / (rows * down))
        self.per_um = self.shown / (columns * across)
        self.width = self.shown + (SCALE_WIDTH if self.colours != "grey" else 0)

    def draw(self, context, letter):
        surface = surface_of(coloured(self.picture, self.low, self.high, self.colours))
        context.save()
        context.scale(self.shown / surface.get_width(), self.height / surface.get_height())
        context.set_source_surface(surface)
        context.get_source().set_filter(cairo.FILTER_BEST)
        context.paint()
        context.restore()
        if letter:
            write(context, 8, 8 + FONT, letter, FONT + 6)
        if "bar" in self.options:
            self.draw_bar(context, float(self.options["bar"]))
        if self.width > self.shown:
            self.draw_scale(context)

    def draw_bar(self, context, micrometres):
        length = micrometres * self.per_um
        x, y = self.shown - length - MARGIN, self.height - MARGIN
        context.set_source_rgb(1, 1, 1)
        context.rectangle(x, y - 5, length, 5)
        context.fill()
        text = f"{micrometres / 1000:g} mm" if micrometres >= 1000 else f"{micrometres:g} µm"
        context.set_font_size(FONT)
        wide = context.text_extents(text).x_advance
        write(context, min(x + (length - wide) / 2, self.shown - wide - MARGIN), y - 11, text, FONT)

    def draw_scale(self, context):
        shades = coloured(np.linspace(self.high, self.low, 256)[:, np.newaxis], self.low, self.high,
                          self.colours)
        context.save()
        context.translate(self.shown + 8, 0)
        context.scale(14, self.height / 256)
        context.set_source_surface(surface_of(shades))
        context.get_source().set_filter(cairo.FILTER_NEAREST)
        context.rectangle(0, 0, 1, 256)
        context.fill()
        context.restore()
        for value, y in ((self.high, FONT), (self.low, self.height - 4)):
            write(context, self.shown + 26, y, f"{value:g}", FONT - 4, (0, 0, 0))
        write(context, self.shown + 26, self.height / 2, self.options.get("unit", ""), FONT - 4,
              (0, 0, 0))


def main(output, *texts):
    panels = [Panel(text) for text in texts]
    width = sum(panel.width for panel in panels) + MARGIN * (len(panels) - 1)
    figure = cairo.ImageSurface(cairo.FORMAT_RGB24, width, max(panel.height for panel in panels))
    context, at = cairo.Context(figure), 0
    context.set_source_rgb(1, 1, 1)
    context.paint()
    for number, panel in enumerate(panels):
        context.save()
        context.translate(at, 0)
        panel.draw(context, "ABCDEFGH"[number] if len(panels) > 1 else "")
        context.restore()
        at += panel.width + MARGIN
    figure.write_to_png(output)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
