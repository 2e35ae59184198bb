"""Window that plays a pipeline, with its frame rate and the controls of its elements

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import signal
import sys

from .controls import controls_of
from .gtk import GLib, Gst, Gtk


class View:
    """Window that plays a pipeline until it is closed, or until the end of the stream with
    --quit-at-end. `sinks`: its elements gtksink"""

    TITLE = "opencl-view"

    def __init__(self, pipeline, sinks, quit_at_end=False):
        self.pipeline, self.sinks, self.quit_at_end = pipeline, sinks, quit_at_end
        self.shown, self.failed = [0] * len(sinks), None
        self.status = Gtk.Label(label="", xalign=0, margin=6, wrap=True)
        self.replay = Gtk.Button(label="Play again", margin=6, no_show_all=True)
        self.replay.connect("clicked", lambda _: self.play_again())
        self.window = Gtk.Window(title=self.TITLE, default_width=1200, default_height=800)
        self.window.connect("delete-event", lambda *_: self.stop() or True)
        self.window.connect("key-press-event", lambda _, event: self.take_key(event))
        self.window.add(self.layout())
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", lambda _, message: self.on_message(message))
        GLib.timeout_add_seconds(1, self.show_rate)

    def elements(self):
        """Returns the elements in the order of the launch line, which is not that of the bin."""
        found = []
        self.pipeline.iterate_sorted().foreach(found.append)
        return reversed(found)

    def layout(self):
        controls = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for element in self.elements():
            frame = controls_of(element)
            if frame:
                controls.pack_start(frame, False, False, 0)
        scrolled = Gtk.ScrolledWindow(min_content_width=380)
        scrolled.add(controls)
        side = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        side.pack_start(self.status, False, False, 0)
        side.pack_start(self.replay, False, False, 0)
        panel = self.panel()
        if panel:
            side.pack_start(panel, False, False, 0)
        side.pack_start(scrolled, True, True, 0)
        both = Gtk.Paned()
        both.pack1(self.pictures(), True, True)
        both.pack2(side, False, False)
        return both

    def pictures(self):
        """Returns the widget with all pictures, two in a row."""
        rows = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=4)
        for first in range(0, len(self.sinks), 2):
            row = Gtk.Box(spacing=4, homogeneous=True)
            for sink in self.sinks[first:first + 2]:
                row.pack_start(sink.get_property("widget"), True, True, 0)
            rows.pack_start(row, True, True, 0)
        return rows

    def panel(self):
        """Returns a widget for the side column, above the controls, or None."""
        return None

    def take_key(self, event):
        """Handles a key press. The widget with the focus comes first: the space bar presses a
        button, and arrows move a scale."""
        if self.window.activate_key(event) or self.window.propagate_key_event(event):
            return True
        return not isinstance(self.window.get_focus(), Gtk.Entry) and self.press(event)

    def press(self, event):
        """Handles a key that no widget uses, while no text field has the focus. Returns whether it
        was used."""
        return False

    def rates(self):
        """Returns the number of frames that each sink rendered since the last call."""
        shown = [sink.get_property("stats").get_value("rendered") for sink in self.sinks]
        # A flush resets the counter of a sink.
        rates = [now - before if now >= before else now for now, before in zip(shown, self.shown)]
        self.shown = shown
        return rates

    def report(self):
        return f"{self.rates()[0]} frames/s"

    def show_rate(self):
        self.status.set_text("end of stream" if self.has_ended() else self.report())
        return GLib.SOURCE_CONTINUE

    def on_message(self, message):
        if message.type == Gst.MessageType.ERROR:
            self.failed = f"{message.src.get_name()}: {message.parse_error()[0].message}"
            self.stop()
        elif message.type == Gst.MessageType.WARNING:
            print(f"{message.src.get_name()}: {message.parse_warning()[0].message}",
                  file=sys.stderr)
        elif message.type == Gst.MessageType.EOS:
            self.end()

    def has_ended(self):
        return self.replay.get_visible()

    def end(self):
        """Handles the end of the stream. The sinks keep showing their last frame."""
        if self.quit_at_end:
            self.stop()
            return
        self.replay.show()
        self.show_rate()

    def play_again(self):
        """Restarts the pipeline from READY, since not every source can seek."""
        self.replay.hide()
        self.pipeline.set_state(Gst.State.READY)
        self.pipeline.set_state(Gst.State.PLAYING)
        self.show_rate()

    def play(self):
        self.window.show_all()
        self.pipeline.set_state(Gst.State.PLAYING)

    def stop(self):
        self.pipeline.set_state(Gst.State.NULL)
        if Gtk.main_level():
            Gtk.main_quit()


def show(view):
    """Shows the view until it is closed or a signal arrives."""
    for number in signal.SIGINT, signal.SIGTERM:
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, number, lambda: view.stop() or True)
    view.play()
    Gtk.main()
    if view.failed:
        sys.exit(view.failed)
