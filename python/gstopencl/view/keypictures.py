"""Original, matte and result in one place of the window, with a divider between original and result

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .gtk import Gdk, Gtk, Pango, name_widget

MODES = {  # from the mode to its button's text and tooltip
    "original": ("Original", "The frame as filmed (1)"),
    "matte": ("Matte", "White where the foreground is opaque (2)"),
    "result": ("Result", "The foreground over the background (3)"),
    "split": ("Split", "Original left and result right of a line that can be dragged (4)"),
}
NARROW = b"button { padding: 4px 6px; }"  # fits beside the controls in 640 pixels
NEAR = 8  # pixels from the divider in which the pointer takes it
STEP = 0.02  # of the width, for a key
DROPPED_COLOUR, DROPPED_FILE = 1, 2


def mode_buttons(choose):
    """Returns a row of buttons for the modes, and the buttons by mode. choose (mode)"""
    row, buttons = Gtk.Box(halign=Gtk.Align.CENTER, margin=6), {}
    row.get_style_context().add_class("linked")
    style = Gtk.CssProvider()
    style.load_from_data(NARROW)
    for mode, (text, tooltip) in MODES.items():
        first = next(iter(buttons.values()), None)
        button = Gtk.RadioButton.new_with_label_from_widget(first, text)
        button.set_mode(False)
        button.get_child().set_ellipsize(Pango.EllipsizeMode.END)  # in a narrow window
        button.get_style_context().add_provider(style, Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)
        button.set_tooltip_text(tooltip)
        button.connect("toggled", lambda b, mode=mode: b.get_active() and choose(mode))
        row.add(button)
        buttons[mode] = button
    return row, buttons


class Comparison:
    """Widgets of the sinks on top of each other, in `widget`. All have the same place, so that
    clicks come to the original in each mode: keys are picked there.

    result, matte, original: widgets of the sinks
    drop (value): called with a URI or a colour 0xRRGGBB that was dropped"""

    def __init__(self, result, matte, original, drop):
        self.mode, self.divider, self.dragging = "result", 0.5, False
        self.original = original
        self.widget = name_widget(Gtk.Overlay(), "Picture")
        self.layers = {result: ("result", "split"), matte: ("matte",),
                       original: ("original", "split")}
        for name, layer in ("Result", result), ("Matte", matte), ("Original", original):
            name_widget(layer, name)
            layer.connect("draw", self.draw_layer)
            if layer is result:
                self.widget.add(layer)
            else:
                self.widget.add_overlay(layer)
        self.widget.connect("draw", self.draw_ground)
        self.widget.connect_after("draw", self.draw_divider)
        original.add_events(Gdk.EventMask.POINTER_MOTION_MASK | Gdk.EventMask.BUTTON_PRESS_MASK
                            | Gdk.EventMask.BUTTON_RELEASE_MASK)
        original.connect("button-press-event", self.press)
        original.connect("button-release-event", self.release)
        original.connect("motion-notify-event", self.move)
        self.accept_drops(drop)

    # Drawing

    def show(self, mode):
        self.mode = mode
        self.redraw()

    def place_divider(self, place):
        """Moves the divider. place: 0 … 1 of the width"""
        self.divider = min(max(place, 0), 1)
        self.redraw()

    def redraw(self):
        for layer in self.layers:
            layer.queue_draw()
        self.widget.queue_draw()

    def column(self):
        return round(self.divider * self.widget.get_allocated_width())

    def draw_ground(self, _widget, context):
        """Paints what shows through at the edges of frames."""
        context.set_source_rgb(0, 0, 0)
        context.paint()
        return False

    def draw_layer(self, layer, context):
        """Limits what a sink draws to its part of the place. Returns whether it draws nothing."""
        if self.mode not in self.layers[layer]:
            return True
        if self.mode == "split" and layer is self.original:
            context.rectangle(0, 0, self.column(), layer.get_allocated_height())
            context.clip()
        return False

    def draw_divider(self, _widget, context):
        if self.mode == "split":
            height = self.widget.get_allocated_height()
            context.new_path()  # The sinks leave one.
            for width, level in (3, 0), (1, 1):
                context.set_source_rgb(level, level, level)
                context.set_line_width(width)
                context.move_to(self.column() + 0.5, 0)
                context.line_to(self.column() + 0.5, height)
                context.stroke()
            self.draw_handle(context, height / 2)
        return False

    def draw_handle(self, context, row):
        context.arc(self.column() + 0.5, row, NEAR, 0, 6.2832)
        context.set_source_rgb(1, 1, 1)
        context.fill_preserve()
        context.set_source_rgb(0, 0, 0)
        context.set_line_width(1)
        context.stroke()

    # Dragging

    def is_near(self, event):
        return self.mode == "split" and abs(event.x - self.column()) <= NEAR

    def press(self, _widget, event):
        self.dragging = event.button == 1 and self.is_near(event)
        return self.dragging

    def release(self, _widget, _event):
        was, self.dragging = self.dragging, False
        return was

    def move(self, widget, event):
        if self.dragging:
            self.place_divider(event.x / max(1, widget.get_allocated_width()))
        name = "col-resize" if self.dragging or self.is_near(event) else None
        window = widget.get_window()
        shown = window.get_cursor()
        if self.mode == "split" and (shown is None) == (name is not None):
            window.set_cursor(name and Gdk.Cursor.new_from_name(window.get_display(), name))
        return self.dragging

    # Dropping

    def accept_drops(self, drop):
        targets = Gtk.TargetList.new([])
        targets.add_uri_targets(DROPPED_FILE)
        targets.add(Gdk.atom_intern("application/x-color", False), 0, DROPPED_COLOUR)
        self.widget.drag_dest_set(Gtk.DestDefaults.ALL, [], Gdk.DragAction.COPY)
        self.widget.drag_dest_set_target_list(targets)
        self.widget.connect("drag-data-received", self.receive, drop)

    def receive(self, _widget, _context, _x, _y, data, info, _time, drop):
        if info == DROPPED_FILE:
            for uri in data.get_uris()[:1]:
                drop(uri)
        elif info == DROPPED_COLOUR:
            # 16 bits of red, green, blue and opacity, in the byte order of the machine
            red, green, blue = memoryview(data.get_data()).cast("H")[:3]
            drop((red >> 8) << 16 | (green >> 8) << 8 | blue >> 8)
