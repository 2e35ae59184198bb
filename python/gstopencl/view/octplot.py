"""Plots of opencl-view --oct: curves, and the histogram of B-scans

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import sys

from .gtk import Gdk, Gtk

try:
    import cairo
    import gi
    import numpy as np

    gi.require_foreign("cairo")
except ImportError as error:
    sys.exit(f"{error}: python3-gi-cairo and python3-numpy are needed")

BACKGROUND, GRID, TEXT = (0.07, 0.08, 0.09), (0.3, 0.32, 0.34), (0.85, 0.87, 0.88)
CURVES = (0.35, 0.85, 0.5), (0.95, 0.7, 0.3)
FONT = 11
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 38, 20
TITLE = 22  # height of a title without text below
# Largest distance of the pointer from a handle, in pixels
REACH = 10
# Share of the pixels that may be beyond each end of the axis
RARE = 0.0005
# Step of a handle by a key, in dB
KEY_STEP = 1


def ticks(low, high, count):
    """Returns about `count` round numbers from `low` to `high`."""
    rough = (high - low) / count
    unit = 10 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def write(context, x, y, text, align=0.0, colour=TEXT):
    """Draws text at its left end (align=0), centre (0.5) or right end (1)."""
    context.set_source_rgb(*colour)
    context.move_to(x - align * context.text_extents(text).x_advance, y)
    context.show_text(text)
    context.new_path()


class Plot(Gtk.DrawingArea):
    """Curves over the same horizontal axis. A screen reader gets the title and the text."""

    def __init__(self, title, low=None, high=None):
        super().__init__(width_request=150, height_request=100, hexpand=True, vexpand=True)
        self.title, self.low, self.high = title, low, high
        self.curves, self.text = [], ""
        self.get_accessible().set_name(title)
        self.connect("draw", lambda _, context: self.paint(context))

    def show_curves(self, *curves, text=""):
        """Shows arrays of float, one value for each step of the horizontal axis."""
        self.curves = [np.asarray(curve, float) for curve in curves]
        self.text = text
        self.get_accessible().set_description(text)
        self.queue_draw()

    def area(self):
        width, height = self.get_allocated_width(), self.get_allocated_height()
        return LEFT, TOP, max(width - LEFT - RIGHT, 1), max(height - TOP - BOTTOM, 1)

    def prepare(self, context):
        context.set_source_rgb(*BACKGROUND)
        context.paint()
        context.select_font_face("Sans", cairo.FONT_SLANT_NORMAL, cairo.FONT_WEIGHT_NORMAL)
        context.set_font_size(FONT)

    def limits(self):
        values = np.concatenate(self.curves)
        values = values[np.isfinite(values)]
        low = self.low if self.low is not None else values.min()
        high = self.high if self.high is not None else values.max()
        margin = 0.05 * (high - low) or 1
        return low - margin * (self.low is None), high + margin * (self.high is None)

    def paint(self, context):
        self.prepare(context)
        left, top, width, height = self.area()
        write(context, 8, top - 23, self.title)
        write(context, 8, top - 8, self.text, colour=CURVES[0])
        if not any(np.isfinite(curve).any() for curve in self.curves):
            return
        low, high = self.limits()
        self.paint_grid(context, low, high)
        for curve, colour in zip(self.curves, CURVES):
            shown = np.where(np.isfinite(curve), curve, low).clip(low, high)
            context.set_source_rgb(*colour)
            context.set_line_width(1.5)
            for n, value in enumerate(shown):
                context.line_to(left + width * n / max(len(shown) - 1, 1),
                                top + height * (high - value) / (high - low))
            context.stroke()

    def paint_grid(self, context, low, high):
        left, top, width, height = self.area()
        for value in ticks(low, high, max(2, height // 40)):
            y = top + height * (high - value) / (high - low)
            self.paint_line(context, left, y, left + width, y)
            write(context, left - 6, y + 4, f"{value:g}", 1)
        last = len(self.curves[0]) - 1
        for value in ticks(0, last, max(2, width // 90)) if last > 0 else []:
            write(context, left + width * value / last, top + height + 14, f"{value:g}", 0.5)

    def paint_line(self, context, *ends):
        context.set_source_rgb(*GRID)
        context.set_line_width(1)
        context.move_to(*ends[:2])
        context.line_to(*ends[2:])
        context.stroke()


class Histogram(Plot):
    """Number of pixels of each level in dB, with a handle for black and one for white. A handle is
    dragged, or moved by the left and right keys; up and down choose white and black.
    `moved (handle, level)` is called with "black" or "white"."""

    def __init__(self, low, high, moved):
        super().__init__("Levels in dB")
        self.set_can_focus(True)
        self.bottom, self.top, self.moved = low, high, moved
        self.counts, self.handles = np.zeros(1), {"black": low, "white": high}
        self.active, self.dragged, self.shown = "white", None, (low, high)
        self.set_vexpand(False)
        self.add_events(Gdk.EventMask.BUTTON_PRESS_MASK | Gdk.EventMask.BUTTON_RELEASE_MASK
                        | Gdk.EventMask.BUTTON1_MOTION_MASK)
        self.connect("button-press-event", lambda _, event: self.grab(event))
        self.connect("motion-notify-event", lambda _, event: self.drag(event))
        self.connect("button-release-event", lambda _, event: self.release())
        self.connect("key-press-event", lambda _, event: self.move_by_key(event))
        for name in "focus-in-event", "focus-out-event":
            self.connect(name, lambda *_: self.queue_draw())

    def show_counts(self, counts):
        """Shows the number of pixels of each level. The levels divide the range evenly."""
        self.counts = counts
        self.fit()
        self.queue_draw()

    def show_handles(self, black, white):
        if self.handles != {"black": black, "white": white}:
            self.handles = {"black": black, "white": white}
            self.get_accessible().set_description(
                f"black at {black:.1f} dB, white at {white:.1f} dB")
            self.queue_draw()

    def fit(self):
        """Shows nearly all levels and both handles. The axis stays while a handle is dragged and
        while it is not too wide."""
        if self.dragged or not self.counts.any():
            return
        ends = [*self.handles.values(), self.quantile(RARE), self.quantile(1 - RARE)]
        low, high = self.shown
        if low > min(ends) or high < max(ends) or high - low > 1.6 * (max(ends) - min(ends) + 10):
            self.shown = min(ends) - 5, max(ends) + 5

    def level_of(self, index):
        return self.bottom + (index + 0.5) * (self.top - self.bottom) / len(self.counts)

    def quantile(self, share):
        """Returns the level that a share of the pixels is below."""
        return self.level_of(np.searchsorted(np.cumsum(self.counts), share * self.counts.sum()))

    # Handles

    def x_of(self, level):
        left, _, width, _ = self.area()
        low, high = self.shown
        return left + width * (level - low) / (high - low)

    def set_level(self, handle, level):
        other = self.handles["white" if handle == "black" else "black"]
        level = min(level, other - 1) if handle == "black" else max(level, other + 1)
        self.show_handles(**{**self.handles, handle: level})
        self.moved(handle, level)

    def grab(self, event):
        self.grab_focus()
        name = min(self.handles, key=lambda handle: abs(self.x_of(self.handles[handle]) - event.x))
        if abs(self.x_of(self.handles[name]) - event.x) <= REACH:
            self.active = self.dragged = name
        return True

    def drag(self, event):
        if self.dragged:
            left, _, width, _ = self.area()
            low, high = self.shown
            level = low + (high - low) * min(max((event.x - left) / width, 0), 1)
            self.set_level(self.dragged, level)
        return True

    def release(self):
        self.dragged = None
        self.fit()
        return True

    def move_by_key(self, event):
        key = Gdk.keyval_name(event.keyval)
        if key in ("Up", "Down"):
            self.active = "white" if key == "Up" else "black"
            self.queue_draw()
        elif key in ("Left", "Right"):
            step = KEY_STEP if key == "Right" else -KEY_STEP
            self.set_level(self.active, self.handles[self.active] + step)
        return key in ("Up", "Down", "Left", "Right")

    # Drawing

    def paint(self, context):
        self.prepare(context)
        left, top, width, height = self.area()
        write(context, left, top - 8, self.title)
        self.paint_bars(context)
        low, high = self.shown
        for value in ticks(low, high, max(2, width // 60)):
            write(context, self.x_of(value), top + height + 14, f"{value:g}", 0.5)
        for name, colour in (("black", (0, 0, 0)), ("white", (1, 1, 1))):
            self.paint_handle(context, name, colour)

    def area(self):
        width, height = self.get_allocated_width(), self.get_allocated_height()
        return RIGHT, TITLE, max(width - 2 * RIGHT, 1), max(height - TITLE - BOTTOM, 1)

    def paint_bars(self, context):
        left, top, width, height = self.area()
        # The square root shows the few pixels of bright structures too.
        heights = np.sqrt(self.counts / max(self.counts.max(), 1)) * height
        context.rectangle(left, top, width, height)
        context.save()
        context.clip()
        context.set_source_rgb(*CURVES[0])
        context.move_to(self.x_of(self.bottom), top + height)
        for index in np.arange(len(heights)):
            context.line_to(self.x_of(self.level_of(index)), top + height - heights[index])
        context.line_to(self.x_of(self.top), top + height)
        context.fill()
        context.restore()

    def paint_handle(self, context, name, colour):
        _, top, _, height = self.area()
        x, active = self.x_of(self.handles[name]), name == self.active and self.has_focus()
        self.paint_line(context, x, top, x, top + height)
        context.move_to(x - 7, top - 4)
        context.line_to(x + 7, top - 4)
        context.line_to(x, top + 10)
        context.close_path()
        context.set_source_rgb(*colour)
        context.fill_preserve()
        context.set_line_width(3 if active else 1.5)
        context.set_source_rgb(*(CURVES[1] if active else TEXT))
        context.stroke()
