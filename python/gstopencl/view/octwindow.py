"""Window of opencl-view --oct

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import collections
import sys
import time

from ..calibrated import MISSING, is_missing
from ..frames import structure_of
from ..launch import build
from ..livecalibration import LiveCalibration
from .branches import BranchingView
from .gtk import GLib, Gst, Gtk, Pango, in_column, name_widget
from .octoptions import GIVE_ONE
from .octpanel import Panel
from .octpipeline import PLOT
from .octrecording import Recording, bytes_as_text, path_of_now
from .octwizard import Wizard, in_thread

# Elements whose frames the status line counts. A flush resets the counters of sinks.
COUNTED = "raw", "b_scan", "en_face"
DECIBELS = 2  # of a key
DRAW_SECONDS = 0.25  # in which GTK has drawn a frame
LEAST_PLOT = 160  # pixels
SETTLE = 300  # ms between a change of size and the new plot
NAMES = {"b_scan": "B-scan", "en_face": "En face projection", "spectrum_plot": "Spectrum",
         "a_scan_plot": "A-scan"}


def fields_of(structure):
    """Returns the numbers of an element message as a dictionary, without arrays."""
    names = (structure.nth_field_name(n) for n in range(structure.n_fields()))
    return {name: structure.get_value(name) for name in names
            if not structure.has_field_typed(name, Gst.ValueArray.__gtype__)}


def wait_for_draw(_pad, info):
    """Delays new caps until the previous frame is drawn. gtksink would draw the frame of one size
    with the layout of the other, which fails with a message of GStreamer."""
    if info.get_event().type == Gst.EventType.CAPS:
        time.sleep(DRAW_SECONDS)
    return Gst.PadProbeReturn.OK


class Live(BranchingView):
    """Window of a pipeline of `octpipeline.words_of`. `folder`: pathlib.Path of recordings. `kind`:
    what they contain, one of octrecording.KINDS. `repeat`: whether the source begins again at its
    end. `quit_at_end`: whether the window closes at the end"""

    TITLE = "OCT"
    PLAY_KEY = "P"

    def __init__(self, words, folder, kind="raw", record=False, repeat=False,
                 quit_at_end=False):
        pipeline = build(words, Gst.parse_launch)
        sinks = list(filter(None, map(pipeline.get_by_name, NAMES)))
        self.signals = list(filter(None, map(pipeline.get_by_name, ("spectrum", "a_scan"))))
        self.words, self.folder, self.kind = words, folder, kind
        self.numbers = {"spectrum": {}, "a_scan": {}}
        self.recording, self.stopping, self.told = None, False, ""
        self.came = collections.Counter()
        self.wizard = None
        # View builds the panel, which needs the pipeline and what is above.
        self.pipeline = pipeline
        super().__init__(pipeline, sinks, quit_at_end)
        self.transport.loop.set_active(repeat)
        sinks[0].get_static_pad("sink").get_peer().add_probe(
            Gst.PadProbeType.EVENT_UPSTREAM, self.choose_line)
        for sink in sinks:
            sink.get_static_pad("sink").add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, wait_for_draw)
        for name in COUNTED:
            pipeline.get_by_name(name).get_static_pad("sink").add_probe(
                Gst.PadProbeType.BUFFER, self.count, name)
        if record:
            self.record()

    # Window

    def panel(self):
        self.side_panel = Panel(self)
        return self.side_panel

    def elements(self):
        """Returns those that have controls: not the second display, of the histogram."""
        return [element for element in super().elements() if element.get_name() != "levels"]

    def pictures(self):
        """Returns the pictures with their names above, two in a row."""
        grid = Gtk.Grid(row_spacing=2, column_spacing=4, column_homogeneous=True,
                        row_homogeneous=True)
        # A Grid draws the last child first. gtksink draws its black borders beyond its right end.
        for n, sink in reversed(list(enumerate(self.sinks))):
            grid.attach(self.picture(sink), n % 2, n // 2, 1, 1)
        for name, source in (("b_scan", "display"), ("en_face", "above")):
            self.fill(*map(self.pipeline.get_by_name, (name, source)))
        for signal in self.signals:
            self.fit_plot(signal.get_name())
        return grid

    @staticmethod
    def picture(sink):
        """Returns the widget of a sink with its name above."""
        name, widget = NAMES[sink.get_name()], sink.get_property("widget")
        label = Gtk.Label(label=name, xalign=0, margin_start=6, ellipsize=Pango.EllipsizeMode.END)
        return in_column(label, name_widget(widget, name), expand=[widget], hexpand=True,
                         vexpand=True)

    @staticmethod
    def fill(sink, element):
        """Stretches a picture to its widget, unless it is to be true to scale."""
        def follow(*_):
            sink.set_property("force-aspect-ratio", element.get_property("true-scale"))
        element.connect("notify::true-scale", follow)
        follow()

    def fit_plot(self, name):
        """Draws a plot with the pixels and the font of its widget, once its size has settled."""
        signal, size = map(self.pipeline.get_by_name, (name, f"{name}_size"))
        widget, waiting = self.pipeline.get_by_name(f"{name}_plot").get_property("widget"), set()

        def resize():
            waiting.clear()
            scale, style = widget.get_scale_factor(), widget.get_style_context()
            signal.set_property("text-size", round(
                scale * style.get_property("font-size", Gtk.StateFlags.NORMAL)))
            caps = Gst.Caps.from_string(PLOT.format(
                max(scale * widget.get_allocated_width(), LEAST_PLOT),
                max(scale * widget.get_allocated_height(), LEAST_PLOT)))
            if not self.stopped and not size.get_property("caps").is_equal(caps):
                size.set_property("caps", caps)
            return GLib.SOURCE_REMOVE

        def wait(*_):
            if not waiting:
                waiting.add(GLib.timeout_add(SETTLE, resize))
        widget.connect("size-allocate", wait)

    def count(self, _pad, _info, name):
        self.came[name] += 1
        return Gst.PadProbeReturn.OK

    def report(self):
        came, self.came = self.came, collections.Counter()
        frames, b_scans, above = (came[name] for name in COUNTED)
        if MISSING not in self.warned and is_missing(self.pipeline.get_by_name("interp")):
            self.warned.add(MISSING)
            self.tell(f"{MISSING[0].upper()}{MISSING[1:]}: {GIVE_ONE}")
        return f"{frames} frames/s, of which {b_scans} B-scans and {above} en face projections " \
               "are shown"

    # Plots

    def choose_line(self, _pad, info):
        """A click into the B-scan, whose columns are A-lines. gtksink sends it upstream, with its
        place in the picture."""
        event = info.get_event()
        if event.type == Gst.EventType.NAVIGATION:
            structure = structure_of(event)
            if structure.get_string("event") == "mouse-button-press":
                self.plot_line(int(structure.get_double("pointer_x").value))
        return Gst.PadProbeReturn.OK

    def plot_line(self, line):
        for signal in self.signals:
            signal.set_property("line", max(line, -1))

    # Scan and calibration

    def is_phantom(self):
        return self.source().get_factory().get_name() == "octtestsrc"

    def source(self):
        return self.pipeline.get_by_name("source")

    def restart_source(self, change):
        """Calls `change (source)` while the source is not playing. Its timestamps continue."""
        source = self.source()
        source.set_locked_state(True)
        source.set_state(Gst.State.READY)
        change(source)
        source.set_state(Gst.State.PLAYING)
        source.set_locked_state(False)

    def set_scan(self, name, value):
        """Sets b-scans or repeats of octscan, and of a simulated volume."""
        scan = self.pipeline.get_by_name("scan")
        if value == scan.get_property(name):
            return
        scan.set_property(name, value)
        if not self.is_phantom():
            return
        if name == "repeats":
            self.source().set_property(name, value)
        else:
            self.restart_source(lambda source: source.set_property(name, value))

    def reason_not_to_calibrate(self):
        """Returns why the wizard cannot work, or an empty text."""
        if not self.signals:
            return "Calibration shows the spectrum, which --no-signal leaves out"
        if self.source().get_factory().get_name() == "filesrc":
            return "Calibration needs a camera; oct-calibrate calibrates from recordings"
        return ""

    def open_wizard(self):
        if self.wizard:
            self.wizard.present()
            return
        self.wizard = Wizard(self)
        self.wizard.connect("destroy", lambda _: setattr(self, "wizard", None))
        self.wizard.show_all()

    def sharpen(self):
        """Looks for the dispersion of the sample in the next B-scans."""
        calibration = LiveCalibration(self.pipeline.get_by_name("interp"))
        self.side_panel.sharpen.set_sensitive(False)
        self.tell("Looking for the dispersion of the sample…")
        in_thread(calibration.sharpen, self.show_dispersion, lambda reason: self.end_of_search(
            f"The dispersion of the sample was not found: {reason}", self.warn))

    def show_dispersion(self, found):
        self.end_of_search(
            f"Dispersion in rad at the ends of the spectrum: a2 {found.square:.2f} ± "
            f"{found.square_error:.2f}, a3 {found.cube:.2f} ± {found.cube_error:.2f}", self.tell)

    def end_of_search(self, text, tell):
        if not self.stopped:
            self.side_panel.sharpen.set_sensitive(True)
            tell(text)

    # Recording

    def record(self):
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.recording = Recording(
                self.pipeline, self.words, path_of_now(self.folder), self.kind)
        except (OSError, ValueError, GLib.Error) as error:
            self.say(f"no recording: {getattr(error, 'message', error)}", failed=True)

    def say(self, text, failed=False):
        """Reports the end of a recording or calibration in the window and on the terminal."""
        self.told = text
        print(text, file=sys.stderr)
        (self.warn if failed else self.tell)(text)

    def branches(self):
        return [self.recording] if self.recording else []

    def end_of_recording(self, why=None):
        recording, self.recording = self.recording, None
        size = f"{recording.frames()} frames, {bytes_as_text(recording.bytes())}"
        recording.close(why)
        self.say(f"{recording.path.parent}: {recording.names()}, "
                 f"{f'broken off: {why}' if why else size}", failed=bool(why))
        if self.stopping:
            self.stop()

    def toggle_recording(self):
        if self.recording:
            self.recording.end()
        else:
            self.record()

    # Messages on the bus

    def on_message(self, message):
        if message.type == Gst.MessageType.ERROR and self.branch_of(message):
            self.end_of_recording(message.parse_error()[0].message)
        elif message.type == Gst.MessageType.ELEMENT:
            self.hear_of_element(message)
        else:
            super().on_message(message)

    def on_error(self, message):
        super().on_error(message)
        if self.recording:
            self.end_of_recording(self.failed)

    def play_again(self):
        if self.recording:
            self.end_of_recording()
        super().play_again()

    def hear_of_element(self, message):
        structure = message.get_structure()
        if structure.get_name() == "octsignal":
            self.numbers[message.src.get_name()] = fields_of(structure)
        if self.has_ended(self.recording, structure):
            self.end_of_recording()
        if self.wizard:
            self.wizard.hear(message)

    def stop(self):
        """Completes a recording before the window closes."""
        if self.recording and not self.stopping and not self.failed:
            self.stopping = True
            self.recording.end()
            return
        if self.recording:
            self.stopping = False
            self.end_of_recording()
        if self.wizard:
            self.wizard.destroy()
        super().stop()

    # Keys

    def turn(self, name, change):
        """Sets a property to change (its value), within its range."""
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

    def shortcuts(self):
        own = [
            ("space", "Begin or end a recording", self.toggle_recording),
            ("p", "Play or pause", self.toggle_play),
            ("Up", "Raise white by 2 dB", lambda: self.shift_range("db-max", DECIBELS)),
            ("Down", "Lower white by 2 dB", lambda: self.shift_range("db-max", -DECIBELS)),
            ("Right", "Raise black by 2 dB", lambda: self.shift_range("db-min", DECIBELS)),
            ("Left", "Lower black by 2 dB", lambda: self.shift_range("db-min", -DECIBELS)),
            ("r", "Find the range by itself", lambda: self.turn(
                "display.db-auto", lambda on: not on)),
            ("plus KP_Add", "Average more B-scans", self.average_more),
            ("minus KP_Subtract", "Average fewer B-scans", self.average_fewer),
            ("m", "Plot the mean of all A-lines", lambda: self.plot_line(-1)),
            ("o", "Begin or end the curve of sensitivity over depth", self.toggle_roll_off),
            ("q", "Quit", self.stop),
        ]
        taken = {accelerator for accelerators, _, _ in own for accelerator in accelerators.split()}
        return own + [other for other in super().shortcuts()
                      if not taken.intersection(other[0].split())]

    def average_more(self):
        self.turn("average.frames", lambda frames: 2 * frames)

    def average_fewer(self):
        self.turn("average.frames", lambda frames: frames // 2)

    def toggle_roll_off(self):
        if self.signals:
            self.turn("a_scan.roll-off", lambda on: not on)
