#!/usr/bin/python3
"""octlive: the window of oct-live.sh, which says what it plays.

octlive.py [--folder FOLDER] [--record] [--repeat] ELEMENT [PROPERTY=VALUE...] ! ELEMENT ...

Of the pipeline it needs these by name: the tee `raw` of spectra, `interp`, `average`, `display`,
`above`, and the sinks `b_scan` and `en_face`. Plots are optional: the elements octsignal `spectrum`
and `a_scan`, with the sinks `spectrum_plot` and `a_scan_plot`.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import pathlib
import shlex
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from gstopencl.view import window  # noqa: E402
from gstopencl.view.gtk import Gdk, GLib, GObject, Gst, Gtk, need_display  # noqa: E402

KEYS = "up, down: white · right, left: black · r: range by itself · + -: average · " \
       "space: record · q: end"
SIGNAL_KEYS = "click into the B-scan: plot this A-line · m: plot the mean · o: roll-off"
DECIBELS = 2  # of a key
# Bytes of spectra that wait in memory while a disk pauses
WAITING_BYTES = 2 << 30
# They say what is to happen while it plays, not how depths are made.
NOT_RECORDED = ("settings", "calibrate", "calibration-folder")


def settings_of(element):
    """Lines of NAME=VALUE of what is not as it is by itself, as octwindowinterp's `settings`
    takes them."""
    for spec in element.list_properties():
        if spec.owner_type != element.__gtype__ or spec.name in NOT_RECORDED:
            continue
        value = element.get_property(spec.name)
        if value in (spec.default_value, ""):
            continue
        if isinstance(value, str) and pathlib.Path(value).is_file():
            value = pathlib.Path(value).resolve()
        yield f"{spec.name}={getattr(value, 'value_nick', value)}"


def elements_of(pipeline):
    """Returns the elements from the source to the sinks."""
    found = []
    pipeline.iterate_sorted().foreach(found.append)
    return found[::-1]


def text_of(value):
    """Returns a value as gst-launch-1.0 takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.to_string() if isinstance(value, Gst.Caps) else getattr(value, "value_nick", value)


def changed_properties(element):
    """Returns NAME=VALUE of each property that does not have its default."""
    wanted = GObject.ParamFlags.READABLE | GObject.ParamFlags.WRITABLE
    for spec in element.list_properties():
        if spec.flags & wanted != wanted or spec.name in ("name", "parent"):
            continue
        try:
            value = element.get_property(spec.name)
        except TypeError:  # an array, which PyGObject cannot read; the launch line has it
            continue
        if value not in (spec.default_value, "", None):
            yield f"{spec.name}={text_of(value)}"


class Recording:
    """Spectra as they come into a .npy, beside it a .txt of how depths were made of them. The
    queue takes what the disk cannot take at once, and drops nothing."""

    def __init__(self, pipeline, words, path):
        self.pipeline, self.words, self.path = pipeline, words, path
        self.tee = pipeline.get_by_name("raw")
        self.write_settings()
        self.bin = Gst.parse_bin_from_description(
            f"queue name=waiting max-size-buffers=0 max-size-time=0 max-size-bytes={WAITING_BYTES} ! "
            "npysink name=file async=false", True)
        self.file, self.waiting = (self.bin.get_by_name(name) for name in ("file", "waiting"))
        self.file.set_property("location", str(path))
        pipeline.add(self.bin)
        self.bin.sync_state_with_parent()
        self.pad = self.tee.request_pad_simple("src_%u")
        self.pad.link(self.bin.get_static_pad("sink"))

    def write_settings(self):
        lines = [f"# {self.path.name}, recorded by oct-live.sh",
                 *settings_of(self.pipeline.get_by_name("interp")),
                 f"# {shlex.join(['gst-launch-1.0', *self.words])}",
                 "# Properties that were not at their defaults when the recording began:",
                 *(" ".join(["#", element.get_factory().get_name(), f"name={element.get_name()}",
                             *changed_properties(element)])
                   for element in elements_of(self.pipeline))]
        self.path.with_suffix(".txt").write_text("\n".join(lines) + "\n")

    def extent(self):
        caps = self.tee.get_static_pad("sink").get_current_caps()
        return f"{self.frames()} frames of {caps.to_string() if caps else 'nothing'}"

    def frames(self):
        return self.file.get_property("stats").get_value("rendered")

    def report(self):
        return f"recording {self.path.name}: {self.frames()} frames, " \
               f"{self.waiting.get_property('current-level-buffers')} waiting"

    def leave(self):
        """No more frames from now on. What has come is written yet."""
        if self.pad:
            self.pad.unlink(self.bin.get_static_pad("sink"))
            self.tee.release_request_pad(self.pad)
            self.pad = None

    def end(self):
        """The bin's EOS says when it has happened."""
        def idle(_pad, _info):
            if self.pad:
                self.leave()
                self.bin.get_static_pad("sink").send_event(Gst.Event.new_eos())
            return Gst.PadProbeReturn.REMOVE
        if self.pad:
            self.pad.add_probe(Gst.PadProbeType.IDLE, idle)

    def remove(self, why=None):
        """Returns the result of the recording, which is also the last line of the settings."""
        said = f"broken off: {why}" if why else self.extent()
        self.leave()
        self.bin.set_state(Gst.State.NULL)
        self.pipeline.remove(self.bin)
        try:
            with self.path.with_suffix(".txt").open("a") as settings:
                settings.write(f"# {said}\n")
        except OSError:  # a disk that is full
            pass
        return said


class Live(window.View):
    TITLE = "oct-live"

    def __init__(self, words, folder, record=False, repeat=False):
        pipeline = Gst.parse_launchv(words)
        # So that the end of a recording is heard, which is not that of the pipeline.
        pipeline.set_property("message-forward", True)
        sinks = [pipeline.get_by_name(name)
                 for name in ("b_scan", "en_face", "spectrum_plot", "a_scan_plot")]
        self.signals = [signal for signal in map(pipeline.get_by_name, ("spectrum", "a_scan"))
                        if signal]
        super().__init__(pipeline, [sink for sink in sinks if sink], quit_at_end=True)
        if self.signals:
            sinks[0].get_static_pad("sink").get_peer().add_probe(
                Gst.PadProbeType.EVENT_UPSTREAM, self.choose_line)
        self.words, self.folder, self.repeat = words, folder, repeat
        self.recording, self.stopping, self.told, self.came = None, False, "", 0
        self.window.connect("key-press-event", lambda _, event: self.press(event))
        pipeline.get_by_name("raw").get_static_pad("sink").add_probe(
            Gst.PadProbeType.BUFFER, self.count)
        bus = pipeline.get_bus()
        bus.enable_sync_message_emission()
        bus.connect("sync-message::error", lambda _, message: self.isolate(message))
        if record:
            self.record()

    def count(self, _pad, _info):
        self.came += 1
        return Gst.PadProbeReturn.OK

    def report(self):
        came, self.came = self.came, 0
        b_scans, above = self.rates()[:2]
        return "\n".join(filter(None, [
            f"{came} frames/s, of which {b_scans} B-scans and {above} pictures from above are shown",
            self.recording.report() if self.recording else self.told, KEYS,
            self.signals and SIGNAL_KEYS]))

    # Plots

    def choose_line(self, _pad, info):
        """A click into the B-scan, whose columns are A-lines. gtksink sends it upstream, with its
        place in the picture."""
        event = info.get_event()
        if event.type == Gst.EventType.NAVIGATION:
            structure = event.get_structure()
            if structure.get_string("event") == "mouse-button-press":
                self.plot_line(int(structure.get_double("pointer_x").value))
        return Gst.PadProbeReturn.OK

    def plot_line(self, line):
        for signal in self.signals:
            signal.set_property("line", max(line, -1))

    # Recording

    def path_of_now(self):
        stem = time.strftime("oct-%Y%m%d-%H%M%S")
        names = (stem + (f"-{n}" if n else "") for n in range(1000))
        return next(self.folder / f"{name}.npy" for name in names
                    if not (self.folder / f"{name}.txt").exists())

    def record(self):
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.recording = Recording(self.pipeline, self.words, self.path_of_now())
        except OSError as error:
            self.say(f"no recording: {error}")

    def say(self, text):
        self.told = text
        print(text, file=sys.stderr)

    def is_of_recording(self, message):
        return self.recording and (message.src == self.recording.bin
                                   or message.src.has_as_ancestor(self.recording.bin))

    def isolate(self, message):
        """On its own thread, before the failure comes to the tee."""
        if self.is_of_recording(message):
            self.recording.leave()

    def end_of_recording(self, why=None):
        recording, self.recording = self.recording, None
        self.say(f"{recording.path}: {recording.remove(why)}")
        if self.stopping:
            self.stop()

    # Messages on the bus

    def on_message(self, message):
        if message.type == Gst.MessageType.ERROR and self.is_of_recording(message):
            self.end_of_recording(message.parse_error()[0].message)
        elif message.type == Gst.MessageType.ELEMENT:
            self.hear_of_element(message.get_structure())
        elif message.type == Gst.MessageType.EOS and self.repeat:
            self.sinks[0].seek_simple(
                Gst.Format.TIME, Gst.SeekFlags.FLUSH | Gst.SeekFlags.KEY_UNIT, 0)
        else:
            super().on_message(message)

    def hear_of_element(self, structure):
        if structure.get_name() != "GstBinForwarded" or not self.recording:
            return
        message = structure.get_value("message")
        if message.type == Gst.MessageType.EOS and message.src == self.recording.bin:
            self.end_of_recording()

    def stop(self):
        """A recording is whole first."""
        if self.recording and not self.stopping and not self.failed:
            self.stopping = True
            self.recording.end()
            return
        if self.recording:
            self.stopping = False
            self.end_of_recording()
        super().stop()

    # Keys

    def turn(self, name, change):
        """`change` makes another value of a property's."""
        element, _, name = name.partition(".")
        element = self.pipeline.get_by_name(element)
        spec = element.find_property(name)
        value = change(element.get_property(name))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = min(max(value, spec.minimum), spec.maximum)
        element.set_property(name, value)

    def shift_range(self, name, decibels):
        self.turn("display.db-auto", lambda _: False)
        for element in "display", "above":
            self.turn(f"{element}.{name}", lambda level: level + decibels)

    def toggle_recording(self):
        if self.recording:
            self.recording.end()
        else:
            self.record()

    def press(self, event):
        """Whether the key means something; what is typed into a field does not."""
        if isinstance(self.window.get_focus(), Gtk.Entry):
            return False
        keys = {
            "Up": lambda: self.shift_range("db-max", DECIBELS),
            "Down": lambda: self.shift_range("db-max", -DECIBELS),
            "Right": lambda: self.shift_range("db-min", DECIBELS),
            "Left": lambda: self.shift_range("db-min", -DECIBELS),
            "r": lambda: self.turn("display.db-auto", lambda on: not on),
            "plus": lambda: self.turn("average.frames", lambda frames: 2 * frames),
            "minus": lambda: self.turn("average.frames", lambda frames: frames // 2),
            "m": lambda: self.plot_line(-1),
            "o": lambda: self.turn("a_scan.roll-off", lambda on: not on) if self.signals else None,
            "space": self.toggle_recording,
            "q": self.stop,
        }
        act = keys.get(Gdk.keyval_name(event.keyval).replace("KP_Add", "plus")
                       .replace("KP_Subtract", "minus"))
        if act:
            act()
        return bool(act)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--record", action="store_true", help="from the first frame on")
    parser.add_argument("--repeat", action="store_true", help="begin again at the end")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    need_display("oct-live")
    try:
        live = Live(asked.words, asked.folder.resolve(), asked.record, asked.repeat)
    except GLib.Error as error:
        sys.exit(f"oct-live: {error.message}")
    window.show(live)


if __name__ == "__main__":
    main()
