"""Window that plays a pipeline, with its frame rate and the controls of its elements

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys

from ..play import reason_of
from . import shortcuts
from .controls import Controls
from .gtk import (Gdk, GLib, Gst, Gtk, MessageBar, at_signal, icon_button, in_column, in_row,
                  name_widget, pack)
from .pictures import colour_at, save_pictures
from .presets import PresetMenu
from .properties import elements_of
from .transport import Transport

MILLISECONDS = 250  # between two updates of the position


class View:
    """Window that plays a pipeline until it is closed, or until the end of the stream with
    --quit-at-end. `sinks`: its elements gtksink

    Subclasses may override elements (), pictures (), panel (), report (), shortcuts (),
    on_message (), press (), end () and stop ()."""

    TITLE = "opencl-view"
    PLAY_KEY = "Space"  # in tooltips

    def __init__(self, pipeline, sinks, quit_at_end=False):
        self.pipeline, self.sinks, self.quit_at_end = pipeline, sinks, quit_at_end
        self.shown, self.failed = [0] * len(sinks), None
        self.ended = self.stopped = self.has_shown = False
        self.playing, self.warned = True, set()
        self.picking = None  # function that takes the colour of the next click
        self.status = Gtk.Label(label="", xalign=0, wrap=True, selectable=True, can_focus=False)
        self.status.get_style_context().add_class("status")
        self.messages = MessageBar("Play again", self.play_again)
        self.replay = self.messages.button
        self.controls = Controls(self.elements(), self.pick)
        self.transport = Transport(self)
        self.presets = PresetMenu(lambda: self.controls.rows, self.tell, self.warn)
        self.window = Gtk.Window(title=self.TITLE, default_width=1200, default_height=800,
                                 icon_name="opencl-view")
        self.window.connect("delete-event", lambda *_: self.stop() or True)
        self.window.connect("key-press-event", lambda _, event: self.take_key(event))
        self.window.add(self.layout())
        for sink in sinks:
            sink.get_property("widget").connect("button-press-event", self.click, sink)
        bus = self.pipeline.get_bus()
        bus.add_signal_watch()
        bus.connect("message", lambda _, message: self.on_message(message))
        GLib.timeout_add_seconds(1, self.show_rate)
        GLib.timeout_add(MILLISECONDS, self.show_position)

    def elements(self):
        """Returns the elements that may have controls."""
        return elements_of(self.pipeline)

    # Layout

    def layout(self):
        """Returns the content of the window: messages, pictures beside controls, and the bar."""
        paned = Gtk.Paned()
        paned.pack1(self.pictures(), True, True)
        self.side = self.controls.widget
        panel = self.panel()
        if panel:
            self.controls.put_above(panel)
        paned.pack2(self.side, False, False)
        return in_column(self.messages.bar, paned, self.tool_bar(), expand=[paned])

    def tool_bar(self):
        """Returns the bar below the pictures, with the status line."""
        transport = self.transport
        self.side_button = icon_button(
            "sidebar-show-right-symbolic", "Controls: show or hide (F9)",
            lambda: self.side.set_visible(self.side_button.get_active()), "Controls",
            Gtk.ToggleButton)
        self.side_button.set_active(True)
        bar = Gtk.Box(spacing=2, margin_start=6, margin_end=6)
        pack(bar, transport.play, transport.loop)
        bar.pack_start(transport.bar, True, True, 6)
        bar.pack_start(transport.time, False, False, 6)
        for button in reversed((
                icon_button("camera-photo-symbolic", "Screenshot: save the picture (Ctrl+S)",
                            self.screenshot, "Screenshot"),
                self.presets.button,
                icon_button("input-keyboard-symbolic", "Keyboard shortcuts (F1)",
                            self.show_shortcuts, "Keyboard shortcuts"),
                self.side_button)):
            bar.pack_end(button, False, False, 0)
        both = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        both.pack_start(bar, False, False, 2)
        self.status.set_margin_start(12)
        self.status.set_margin_bottom(4)
        return pack(both, self.status)

    def pictures(self):
        """Returns the widget with all pictures, two in a row."""
        pictures = [sink.get_property("widget") for sink in self.sinks]
        for sink, picture in zip(self.sinks, pictures):
            name_widget(picture, f"Picture {sink.get_name()}" if len(pictures) > 1 else "Picture")
        rows = [in_row(*pictures[first:first + 2], expand=pictures, spacing=4, homogeneous=True)
                for first in range(0, len(pictures), 2)]
        return in_column(*rows, expand=rows, spacing=4)

    def panel(self):
        """Returns a widget for the side column, above the controls, or None."""
        return None

    # Messages to the user

    def tell(self, text, kind=Gtk.MessageType.INFO):
        """Shows a sentence in the bar above the pictures, until it is closed."""
        self.messages.show(text, kind)

    def warn(self, text):
        self.tell(text, Gtk.MessageType.WARNING)

    # Keys

    def shortcuts(self):
        """Returns the shortcuts: tuples of accelerators of GTK, a description and an action."""
        flip = (lambda button: button.set_active(not button.get_active()))
        return [
            ("space", "Play, pause, or play again", self.toggle_play),
            ("l", "Loop", lambda: flip(self.transport.loop)),
            ("F9", "Show or hide the controls", lambda: flip(self.side_button)),
            ("<Control>f", "Search controls", self.search),
            ("<Control>s", "Save the picture", self.screenshot),
            ("<Control>p", "Presets", lambda: self.presets.button.clicked()),
            ("F11", "Full screen", self.toggle_full_screen),
            ("F1 question", "Keyboard shortcuts", self.show_shortcuts),
            ("Escape", "Cancel picking a colour, or leave a control", self.leave),
            ("<Control>q", "Quit", self.stop),
        ]

    def take_key(self, event):
        """Handles a key press. The widget with the focus comes first: the space bar presses a
        button, and arrows move a scale."""
        if self.window.activate_key(event) or self.window.propagate_key_event(event):
            return True
        typing = isinstance(self.window.get_focus(), Gtk.Entry)
        if not typing and self.press(event):
            return True
        act = shortcuts.find(self.shortcuts(), event, typing)
        if act:
            act()
        return bool(act)

    def press(self, event):
        """Handles a key that no widget uses, while no text field has the focus. Returns whether it
        was used."""
        return False

    def leave(self):
        """Cancels picking. Otherwise takes the focus from a control, so that keys play and pause
        again."""
        if self.picking:
            self.end_picking()
        else:
            self.window.set_focus(None)

    def show_shortcuts(self):
        return shortcuts.show(self.window, self.shortcuts())

    def search(self):
        self.side_button.set_active(True)
        self.controls.search.grab_focus()

    def toggle_full_screen(self):
        full = self.window.get_window().get_state() & Gdk.WindowState.FULLSCREEN
        (self.window.unfullscreen if full else self.window.fullscreen)()

    # Pictures

    def pick(self, done):
        """Calls done (0xAARRGGBB) with the colour of the picture at the next click into it."""
        self.picking = done
        self.set_cursor("crosshair")
        self.tell("Click into the picture to take its colour. Escape cancels.")

    def end_picking(self):
        self.picking = None
        self.set_cursor(None)
        self.messages.bar.hide()

    def set_cursor(self, name):
        for sink in self.sinks:
            window = sink.get_property("widget").get_window()
            if window:
                window.set_cursor(name and Gdk.Cursor.new_from_name(window.get_display(), name))

    def click(self, _widget, event, sink):
        """Takes the colour at a click, if the user picks one. Other clicks are the sink's."""
        if not self.picking:
            return False
        try:
            colour = colour_at(sink, event.x, event.y)
        except ValueError as error:
            self.warn(f"The picture has no colour to take: {error}")
            return True
        if colour is not None:
            done = self.picking
            self.end_picking()
            done(colour)
        return True

    def screenshot(self):
        """Saves the pictures at their full size, and shows where."""
        try:
            paths = save_pictures(self.sinks, self.TITLE)
        except (OSError, ValueError) as error:
            self.warn(f"The picture is not saved: {error}")
            return
        self.tell(f"Saved {', '.join(map(str, paths))}")

    # Status

    def rates(self):
        """Returns the number of frames that each sink rendered since the last call."""
        shown = self.rendered()
        # A flush resets the counter of a sink.
        rates = [now - before if now >= before else now for now, before in zip(shown, self.shown)]
        self.shown = shown
        return rates

    def rendered(self):
        counts = [sink.get_property("stats").get_value("rendered") for sink in self.sinks]
        self.has_shown = self.has_shown or any(counts)
        return counts

    def report(self):
        """Returns the text of the status line, each second."""
        return f"{self.rates()[0]} frames/s"

    def show_rate(self):
        if self.stopped:
            return GLib.SOURCE_REMOVE
        self.rendered()
        self.status.set_text(
            "failed" if self.failed else "end of stream" if self.ended
            else "paused" if not self.playing else self.report() if self.has_shown
            else "starting: waiting for the first frame")
        return GLib.SOURCE_CONTINUE

    def show_position(self):
        if self.stopped:
            return GLib.SOURCE_REMOVE
        self.transport.update()
        return GLib.SOURCE_CONTINUE

    # Playing

    def on_message(self, message):
        """Handles a message of the bus."""
        handlers = {
            Gst.MessageType.ERROR: self.on_error, Gst.MessageType.WARNING: self.on_warning,
            Gst.MessageType.EOS: lambda _: self.end(),
            Gst.MessageType.ASYNC_DONE: lambda _: self.transport.seek_is_done(),
        }
        if message.type in handlers:
            handlers[message.type](message)

    def on_warning(self, message):
        text = reason_of(*message.parse_warning())
        if not self.controls.refuse(message.src, text, message.get_seqnum()):
            text = f"{message.src.get_name()}: {text}"
            print(text, file=sys.stderr)
            if text not in self.warned:  # so that it stays closed when the user closes it
                self.warned.add(text)
                self.warn(text)

    def on_error(self, message):
        """Shows a failure. The program ends with the reason if the pipeline has never shown a
        frame, or with --quit-at-end."""
        if self.failed:
            return  # One failure causes others.
        text = reason_of(*message.parse_error())
        self.failed = f"{message.src.get_name()}: {text}"
        self.controls.refuse(message.src, text, message.get_seqnum())
        self.rendered()
        if self.quit_at_end or not self.has_shown:
            self.stop()
            return
        self.pipeline.set_state(Gst.State.READY)
        self.transport.show_state("ended")
        self.tell(self.failed, Gtk.MessageType.ERROR)
        self.show_rate()

    def end(self):
        """Handles the end of the stream. The sinks keep showing their last frame."""
        if self.transport.loop.get_active():
            self.transport.rewind() or self.play_again()
        elif self.quit_at_end:
            self.stop()
        else:
            self.ended = True
            self.transport.show_state("ended")
            self.show_rate()

    def has_moved(self):
        """Continues after the end of the stream, since the user chose another position."""
        self.ended = False
        self.transport.show_state("playing" if self.playing else "paused")

    def toggle_play(self):
        if self.ended or self.failed:
            self.play_again()
            return
        self.playing = not self.playing
        self.pipeline.set_state(Gst.State.PLAYING if self.playing else Gst.State.PAUSED)
        self.transport.show_state("playing" if self.playing else "paused")
        self.show_rate()

    def play_again(self):
        """Restarts the pipeline from READY, since not every source can seek."""
        self.messages.bar.hide()
        self.ended, self.failed, self.playing = False, None, True
        self.pipeline.set_state(Gst.State.READY)
        # Messages of the time before are not about what starts now.
        self.pipeline.get_bus().set_flushing(True)
        self.pipeline.get_bus().set_flushing(False)
        self.pipeline.set_state(Gst.State.PLAYING)
        self.transport.show_state("playing")
        self.show_rate()

    def play(self):
        self.window.show_all()
        # No control has the focus at first, so that keys such as the space bar play and pause.
        self.window.set_focus(None)
        self.pipeline.set_state(Gst.State.PLAYING)

    def stop(self):
        self.stopped = True
        self.pipeline.set_state(Gst.State.NULL)
        if Gtk.main_level():
            Gtk.main_quit()


def show(view):
    """Shows the view until it is closed or a signal arrives."""
    at_signal(view.stop)
    view.play()
    Gtk.main()
    if view.failed:
        sys.exit(view.failed)
