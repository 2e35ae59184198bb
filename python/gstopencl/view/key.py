"""opencl-view --key: keys a film or a camera in a window, over a background

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import sys

from ..launch import printed
from . import keyfiles, keyoutput, keypipeline
from .gtk import Gdk, GLib, Gst, in_column, need_display
from .keyarguments import background_of, check_outputs, checked_settings, source_or_demo
from .keygarbage import Drawing
from .keyoptions import PROGRAM, parser
from .keypanel import Panel
from .keypictures import MODES, STEP, Comparison, mode_buttons
from .branches import BranchingView
from .window import reason_of, show

END_TIMEOUT = 20  # seconds that a recording may take to end when the window closes
LAST_FRAME = 80 * Gst.MSECOND  # before the end of a film, a position that has a frame


class Keying(BranchingView):
    """Window of a keyed film or camera.

    words: of keypipeline.words_of (), without the background
    background: file, URI or colour 0xRRGGBB behind the foreground
    has_sound: whether the pipeline has sound, in the tee "sound" """

    TITLE = "Keying"

    def __init__(self, words, background, has_sound=False, quit_at_end=False):
        pipeline, sinks = keypipeline.pipeline_of(words)
        self.key = pipeline.get_by_name("key")
        self.recording = self.feeding = self.after_recording = None
        self.why_ended = ""
        self.waiting = []  # outputs that begin when the pipeline has changed its state
        self.mode_before = "result"  # of the pictures, while a colour is picked
        self.comparison = Comparison(*(sink.get_property("widget") for sink in sinks),
                                     self.use_background)
        self.garbage = Drawing(sinks[2], self.comparison.widget)
        self.has_sound = has_sound
        super().__init__(pipeline, sinks, quit_at_end)
        self.window.set_title(self.TITLE)
        self.use_background(background)
        self.key_handler = self.key.connect(
            "notify::key-color", lambda *_: self.take_key_colour())
        self.key.connect("notify", lambda _, spec: GLib.idle_add(self.apply_setting, spec.name))

    def elements(self):
        return [self.key]

    # Layout

    def pictures(self):
        self.row, self.buttons = mode_buttons(self.comparison.show)
        self.buttons["result"].set_active(True)
        return in_column(self.row, self.comparison.widget, expand=[self.comparison.widget])

    def panel(self):
        self.rows = Panel(self, self.has_sound)
        return self.rows.widget

    def shortcuts(self):
        modes = [(str(number), f"Show: {text.lower()}",
                  lambda mode=mode: self.buttons[mode].set_active(True))
                 for number, (mode, (text, _)) in enumerate(MODES.items(), 1)]
        return [*modes, ("k", "Pick the key colour", self.pick_key),
                ("g", "Draw a garbage polygon", self.draw_garbage),
                ("<Control>r", "Record, or end the recording", self.rows.choose_record),
                *super().shortcuts()]

    def press(self, event):
        """Closes the garbage polygon by Enter. Moves the divider by Left and Right."""
        name = Gdk.keyval_name(event.keyval)
        if self.garbage.corners is not None and name in ("Return", "KP_Enter"):
            self.close_garbage()
            return True
        step = {"Left": -STEP, "Right": STEP}.get(name)
        if not step or self.comparison.mode != "split":
            return False
        self.comparison.place_divider(self.comparison.divider + step)
        return True

    def report(self):
        rate = f"{self.rates()[0]} frames/s"
        return f"{rate} · recording {self.recording.path.name}" if self.recording else rate

    # Key

    def pick(self, done):
        """Shows the original until a colour is picked."""
        self.end_garbage()
        if not self.picking:
            self.mode_before = self.comparison.mode
        self.buttons["original"].set_active(True)
        super().pick(done)

    def end_picking(self):
        super().end_picking()
        self.buttons[self.mode_before].set_active(True)

    def pick_key(self):
        self.pick(lambda colour: self.use_key(colour & 0xffffff))

    def use_key(self, colour):
        """Takes the colour 0xRRGGBB as the key."""
        self.key.set_property("key-color", 0xff000000 | colour)

    def take_key_colour(self):
        """Uses the property key-color, which a control or a preset set."""
        Gst.util_set_object_arg(self.key, "auto-key", "none")
        self.rows.show_key(self.key.get_property("key-color") & 0xffffff)

    def show_found_key(self, colour):
        """Shows a key that was found, in its control, too. The property has no effect meanwhile."""
        if self.key.get_property("auto-key").value_nick == "none":
            return  # The user has chosen another one since.
        if self.key.get_property("key-color") != colour:
            with self.key.handler_block(self.key_handler):
                self.key.set_property("key-color", colour)
        self.rows.show_key(colour & 0xffffff)

    def find_key(self):
        for value in "none", "screen":
            Gst.util_set_object_arg(self.key, "auto-key", value)

    def apply_setting(self, name):
        """Shows what was set, also in a film that is paused."""
        if name.startswith("background"):
            self.show_background()
        if (not self.playing or self.ended) and self.transport.seekable and not self.stopped:
            found, position = self.pipeline.query_position(Gst.Format.TIME)
            known, duration = self.pipeline.query_duration(Gst.Format.TIME)
            if found and known:
                self.transport.seek(max(0, min(position, duration - LAST_FRAME)) / Gst.SECOND)
        return GLib.SOURCE_REMOVE

    # Garbage polygon

    def draw_garbage(self):
        """Shows the original until a polygon is closed or removed."""
        if self.picking:
            self.end_picking()
        self.end_garbage()
        self.mode_before = self.comparison.mode
        self.buttons["original"].set_active(True)
        self.garbage.begin()
        self.set_cursor("crosshair")
        self.window.set_focus(None)  # so that Enter does not press a button
        self.tell("Click the corners of a polygon around what is to stay. A double click or Enter "
                  "closes it, Escape removes it.")

    def click(self, widget, event, sink):
        if self.garbage.corners is None:
            return super().click(widget, event, sink)
        if self.garbage.click(event):
            self.close_garbage()
        return True

    def close_garbage(self):
        if len(self.garbage.corners) < 3:
            self.warn("A polygon has at least three corners: click more of them.")
        else:
            self.use_garbage(self.garbage.corners)

    def use_garbage(self, corners):
        """Keys out all that is outside of a polygon; no corners key out nothing."""
        self.end_garbage()
        self.controls.row(self.key, "garbage-polygon").set(
            f"<{', '.join(str(part) for corner in corners for part in corner)}>")

    def end_garbage(self):
        if self.garbage.corners is not None:
            self.garbage.end()
            self.set_cursor(None)
            self.messages.bar.hide()
            self.buttons[self.mode_before].set_active(True)

    def leave(self):
        if self.garbage.corners is None:
            super().leave()
        else:
            self.use_garbage([])

    # Background

    def use_background(self, value):
        """Puts a file, a URI or a colour 0xRRGGBB behind the foreground. Says why it cannot."""
        try:
            path = None if isinstance(value, int) else self.checked_background(value)
        except ValueError as error:
            self.warn(str(error))
            return
        if path is None:
            self.key.set_property("background-color", 0xff000000 | value)
        self.key.set_property("background-location", path)
        self.show_background()

    def show_background(self):
        """Shows the background that is in effect, in the panel."""
        location = self.key.get_property("background-location")
        self.rows.show_background(pathlib.Path(location).name if location
                                  else self.key.get_property("background-color") & 0xffffff)

    def checked_background(self, place):
        path = keyfiles.path_of(place)
        keyfiles.film_of(path)
        return path

    # Outputs

    def record(self, path, microphone=False):
        """Begins to write the result to a film. Says why it cannot."""
        try:
            self.recording = keyoutput.film_output(
                self.pipeline, path, microphone,
                lambda: self.end_recording(why="it ends where the film jumps"))
        except (ValueError, OSError, GLib.Error) as error:
            self.warn(f"No recording: {getattr(error, 'message', error)}")
            return
        self.why_ended = "the film has ended"
        self.begin(self.recording, Gst.State.NULL)
        self.keep_all_frames(True)
        self.rows.show_recording(True)

    def when_shown(self, act):
        """Calls act () once the camera has given a frame. The result is empty before that."""
        def check():
            if self.stopped or not self.sinks[1].get_property("last-sample"):
                return not self.stopped
            act()
            return GLib.SOURCE_REMOVE

        GLib.timeout_add(50, check)

    def begin(self, output, lowest):
        """Begins an output once the pipeline has this state, and does not change it: an output
        that fails would stop the change."""
        _, state, pending = self.pipeline.get_state(0)
        if state >= lowest and pending == Gst.State.VOID_PENDING:
            output.begin()
        else:
            self.waiting.append(output)

    def keep_all_frames(self, all_frames):
        """Turns off QoS of the sinks, or turns it on again. With QoS, elements drop frames that
        are too late to be shown, but a recording needs all frames."""
        for sink in self.sinks:
            sink.set_property("qos", not all_frames and sink.get_property("max-lateness") >= 0)

    def end_recording(self, then=None, why=""):
        """Ends the film, which then is whole. then (): called after that. why: shown, unless the
        user ended it"""
        self.after_recording = then or self.after_recording
        self.why_ended = why
        if self.recording:
            self.recording.end()

    def close_recording(self, failure=None):
        recording, self.recording = self.recording, None
        recording.remove()
        if recording.start is None and not failure:
            failure = "it has no frame"
        self.keep_all_frames(False)
        self.rows.show_recording(False)
        if failure:
            text = f"{recording.name} is not whole: {failure.splitlines()[0]}"
            self.warn(text)
            print(f"{PROGRAM}: {text}", file=sys.stderr)
        else:
            self.tell(": ".join(filter(None, (f"Saved {recording.path}", self.why_ended))))
        then, self.after_recording = self.after_recording, None
        if then:
            then()

    def feed_camera(self, on, device=None):
        """Begins or ends to feed a virtual camera. Says why it cannot. device: (optional) such as
        /dev/video9; the first virtual camera by default"""
        if on == bool(self.feeding):
            return
        if not on:
            self.end_feeding()
            return
        device = device or next(iter(keyfiles.virtual_cameras()), None)
        if not device:
            self.rows.show_camera(False)
            self.warn(keyfiles.NO_VIRTUAL_CAMERA)
            return
        self.feeding = keyoutput.camera_output(self.pipeline, device, lambda: None)
        self.begin(self.feeding, Gst.State.PAUSED)
        self.rows.show_camera(True)

    def end_feeding(self, failure=None):
        feeding, self.feeding = self.feeding, None
        if feeding:
            feeding.remove()
            self.rows.show_camera(False)
            if failure:
                self.warn(f"No virtual camera: {failure}")

    # Messages

    def branches(self):
        return filter(None, (self.recording, self.feeding))

    def on_message(self, message):
        output = self.branch_of(message)
        structure = message.get_structure()
        if message.src != self.pipeline and not message.src.has_as_ancestor(self.pipeline):
            return  # of an output that was removed
        if message.type == Gst.MessageType.ERROR and output:
            reason = reason_of(*message.parse_error())
            (self.close_recording if output is self.recording else self.end_feeding)(reason)
        elif message.type == Gst.MessageType.ERROR and self.recording:
            self.end_recording(lambda: self.on_error(message))
        elif message.type == Gst.MessageType.STATE_CHANGED and message.src == self.pipeline:
            self.on_state(*message.parse_state_changed()[1:])
        elif message.type == Gst.MessageType.ELEMENT and structure:
            self.on_element(message, structure)
        else:
            super().on_message(message)

    def on_state(self, state, pending):
        if pending == Gst.State.VOID_PENDING and state >= Gst.State.PAUSED:
            waiting, self.waiting = self.waiting, []
            for output in waiting:
                output.begin()
        if state == Gst.State.PLAYING:
            for output in self.branches():
                output.keep_playing()

    def on_element(self, message, structure):
        if structure.get_name() == "chromakey-key":
            self.show_found_key(0xff000000 | structure.get_uint("key-color")[1])
        elif self.has_ended(self.recording, structure):
            self.close_recording()

    def on_warning(self, message):
        """A machine without loudspeakers plays films, too."""
        if message.src and message.src.get_name() == "speaker":
            print(f"{PROGRAM}: no sound is heard: {message.parse_warning()[0].message}",
                  file=sys.stderr)
        else:
            super().on_warning(message)

    def end(self):
        if self.recording:
            self.end_recording(super().end)
        else:
            super().end()

    def stop(self):
        """Ends a recording first, so that the file is whole."""
        if self.recording and not self.stopped:
            self.stopped = True
            self.end_recording(self.close)
            GLib.timeout_add_seconds(1, self.give_up, iter(range(END_TIMEOUT - 1)))
        elif not self.recording:
            self.close()

    def give_up(self, seconds):
        """Called once a second, however long this process is stopped."""
        if self.recording and next(seconds, None) is None:
            self.close_recording(f"it did not end in {END_TIMEOUT} s")
        return bool(self.recording)

    def close(self):
        self.end_feeding()
        super().stop()


def view_of(words):
    """Returns the window of the arguments, or None with --print. Raises ValueError."""
    asked = parser().parse_args(words)
    check_outputs(asked)
    settings = checked_settings(asked)
    background = background_of(asked.background)
    source, refused = source_or_demo(asked)
    if asked.print:
        settings.append(keyfiles.setting_of(background))
    words = keypipeline.words_of(source, settings, asked.size)
    if asked.print:
        print(f"gst-launch-1.0 {printed(words)}")
        return None
    view = Keying(words, background, source.has_sound, asked.quit_at_end)
    view.source = source  # The file of a picture lasts as long.
    view.transport.loop.set_active(asked.loop)
    if refused:
        view.warn(refused)
    if asked.output and source.is_live:
        view.when_shown(lambda: view.record(asked.output, asked.microphone))
    elif asked.output:
        view.record(asked.output, asked.microphone)
    if asked.loopback:
        view.feed_camera(True, asked.loopback)
    return view


def main(words):
    asked = parser().parse_args(words)  # A wrong call needs no display.
    Gst.init(None)
    if not asked.print:
        need_display()
    view = view_of(words)
    if view:
        show(view)
