"""Garbage polygon that is drawn on the picture of opencl-view --key

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .gtk import Gdk
from .pictures import frame_area, share_at

RADIUS = 4  # pixels, of a corner
DIGITS = 4  # of a share of the width or height


class Drawing:
    """Corners that the user clicks, as shares of the width and height of the frame of a sink.
    `corners` is None while nothing is drawn. They are shown on a widget in the same place."""

    def __init__(self, sink, widget):
        self.sink, self.widget, self.corners = sink, widget, None
        widget.connect_after("draw", self.draw)

    def begin(self):
        self.corners = []

    def end(self):
        self.corners = None
        self.widget.queue_draw()

    def click(self, event):
        """Adds a corner. Returns whether a double click closes the polygon."""
        if event.button == 1 and event.type == Gdk.EventType.DOUBLE_BUTTON_PRESS:
            del self.corners[-1:]  # Its second click was one, too.
            return True
        share = share_at(self.sink, event.x, event.y)
        if share and event.button == 1 and event.type == Gdk.EventType.BUTTON_PRESS:
            self.corners.append([round(min(max(part, 0), 1), DIGITS) for part in share])
        self.widget.queue_draw()
        return False

    def draw(self, _widget, context):
        area = frame_area(self.sink) if self.corners else None
        if area:
            places = [(area[0] + x * area[2], area[1] + y * area[3]) for x, y in self.corners]
            context.new_path()
            for place in places:
                context.line_to(*place)
            for x, y in places:
                context.new_sub_path()
                context.arc(x, y, RADIUS, 0, 6.2832)
            for width, level in (4, 0), (2, 1):
                context.set_source_rgb(level, level, level)
                context.set_line_width(width)
                context.stroke_preserve()
        return False
