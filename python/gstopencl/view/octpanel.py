"""Side panel of opencl-view --oct: numbers of the signal, levels, averaging, scan, recording

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import numpy as np

from ..structures import structure_of
from .controls import ignore_wheel
from .gtk import GLib, Gtk, Pango, in_column, in_row, name_widget, pack, use_style
from .octpipeline import LEVELS_MAX, LEVELS_MIN
from .octplot import Histogram

KIND_NAMES = {"raw": "Raw spectra", "depths": "Depths", "both": "Raw spectra and depths"}
# Shares of the pixels that are black and white with db-auto, as in octdisplay
BLACK_SHARE, WHITE_SHARE = 0.05, 0.999
REFRESH = 200  # ms
LEVELS, SHIFT = 1024, 6  # of the histogram, from 16 bits
# Narrow spin buttons, so that the pictures have room in a small window
STYLE = b"""
.oct-panel spinbutton button { min-width: 14px; padding: 0 4px; }
.oct-panel spinbutton entry { min-width: 0; padding: 0 4px 0 8px; }
"""


def named(widget, name, tooltip=""):
    """Gives a widget a name for screen readers, and a tooltip."""
    widget.set_tooltip_text(tooltip or None)
    return name_widget(widget, name)


def spin(name, low, high, value, changed, tooltip="", digits=0):
    """Returns a spin button. `changed (value)` is called when the user changes it."""
    button = Gtk.SpinButton(adjustment=Gtk.Adjustment(
        value=value, lower=low, upper=high, step_increment=1, page_increment=10),
        digits=digits, width_chars=5, max_width_chars=5, numeric=True)
    button.connect("value-changed", lambda b: changed(b.get_value() if digits else
                                                      b.get_value_as_int()))
    ignore_wheel(button)
    return named(button, name, tooltip)


def width_text(numbers):
    if "width-um" in numbers:
        return f"{numbers['width-um']:.1f} µm"
    return f"{numbers['width']:.1f} bins" if "width" in numbers else "–"


def set_range(element, black, white):
    """Sets both levels together, so that black is always below white."""
    with element.freeze_notify():
        element.set_property("db-min", black)
        element.set_property("db-max", white)


def pack_below_label(box, text, widget):
    part = in_column(Gtk.Label(label=text, xalign=0), widget)
    pack(box, part, expand=[part])


class Signal(Gtk.Box):
    """FWHM, SNR and saturated samples in large letters"""

    def __init__(self):
        super().__init__(orientation=Gtk.Orientation.HORIZONTAL, homogeneous=True, spacing=6)
        self.values = {}
        for name in "FWHM", "SNR", "Saturated":
            # Its width does not depend on the number, so that the pictures keep their size.
            self.values[name] = Gtk.Label(label="–", xalign=0, ellipsize=Pango.EllipsizeMode.END)
            pack_below_label(self, name, self.values[name])

    def show_numbers(self, spectrum, a_scan):
        """Shows the fields of the latest messages of both octsignal."""
        saturated = spectrum.get("saturated")
        self.write("FWHM", width_text(a_scan))
        self.write("SNR", f"{a_scan['snr']:.0f} dB" if "snr" in a_scan else
                   "no peak" if a_scan else "–")
        self.write("Saturated", "–" if saturated is None else f"{saturated}",
                   "#c01c28" if saturated else None)

    def write(self, name, text, colour=None):
        colour = f' foreground="{colour}"' if colour else ""
        self.values[name].set_markup(f'<span size="x-large" weight="bold"{colour}>{text}</span>')
        named(self.values[name], f"{name} {text}")


class Levels(Gtk.Box):
    """Histogram of the B-scan, with black and white as handles and as numbers"""

    def __init__(self, live):
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=4)
        self.live, self.shows = live, False
        self.display, self.above = map(live.pipeline.get_by_name, ("display", "above"))
        self.sink = live.pipeline.get_by_name("histogram")
        self.histogram = Histogram(LEVELS_MIN, LEVELS_MAX, self.set_level)
        self.numbers = {
            name: spin(f"Level of {name} in dB", -1000, 1000, 0,
                       lambda level, name=name: self.set_level(name, level), digits=1)
            for name in ("black", "white")}
        self.auto = Gtk.CheckButton(label="Auto", tooltip_text="Find black and white by itself (R)")
        self.auto.connect("toggled", lambda button: self.set_auto(button.get_active()))
        row = Gtk.Box(spacing=4)
        for name, button in self.numbers.items():
            pack(row, Gtk.Label(label=name.title()), button)
        row.pack_end(self.auto, False, False, 0)
        pack(self, self.histogram, row, expand=[self.histogram])
        for name in "db-min", "db-max", "db-auto":
            self.display.connect(f"notify::{name}", lambda *_: GLib.idle_add(self.follow))
        self.follow()

    def set_auto(self, on):
        if not self.shows and on != self.display.get_property("db-auto"):
            self.display.set_property("db-auto", on)

    def set_level(self, name, level):
        """Sets black or white of both pictures."""
        if self.shows:
            return
        levels = {**self.levels(), name: level}
        self.display.set_property("db-auto", False)
        for element in self.display, self.above:
            set_range(element, min(levels["black"], levels["white"] - 1), levels["white"])
        self.follow()

    def levels(self):
        """Returns black and white as shown. With db-auto, they follow from the histogram."""
        if self.display.get_property("db-auto") and self.histogram.counts.any():
            return {"black": float(self.histogram.quantile(BLACK_SHARE)),
                    "white": float(self.histogram.quantile(WHITE_SHARE))}
        return {"black": self.display.get_property("db-min"),
                "white": self.display.get_property("db-max")}

    def follow(self):
        """Shows what the elements have."""
        self.shows = True
        levels = self.levels()
        self.histogram.show_handles(**levels)
        for name, button in self.numbers.items():
            if not button.has_focus():
                button.set_value(levels[name])
        self.auto.set_active(self.display.get_property("db-auto"))
        self.shows = False
        if self.display.get_property("db-auto") and self.histogram.counts.any():
            self.follow_above()
        return GLib.SOURCE_REMOVE

    def follow_above(self):
        """Finds the range of the en face projection, which octvolume does not find by itself. A
        maximum over depths is brighter than most pixels of a B-scan."""
        white = float(self.histogram.quantile(1)) + 1
        black = min(float(self.histogram.quantile(0.95)), white - 5)
        if abs(self.above.get_property("db-min") - black) > 1 \
                or abs(self.above.get_property("db-max") - white) > 1:
            set_range(self.above, black, white)

    def refresh(self):
        sample = self.sink.emit("try-pull-sample", 0)
        if not sample:
            return
        caps, buffer = structure_of(sample.get_caps(), 0), sample.get_buffer()
        width, height = (caps.get_int(name).value for name in ("width", "height"))
        pixels = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), "<u2")
        rows = pixels[:len(pixels) // height * height].reshape(height, -1)[:, :width]
        self.histogram.show_counts(np.bincount(rows.ravel() >> SHIFT, minlength=LEVELS))
        if self.display.get_property("db-auto"):
            self.follow()


class Recorder(Gtk.Box):
    """Contents and folder of recordings, and the button that begins and ends one"""

    def __init__(self, live):
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=4)
        self.live = live
        self.kind = name_widget(Gtk.ComboBoxText(), "Contents of recordings")
        ignore_wheel(self.kind)
        for kind, text in KIND_NAMES.items():
            self.kind.append(kind, text)
        self.kind.set_active_id(live.kind)
        self.kind.connect("changed", lambda box: setattr(live, "kind", box.get_active_id()))
        self.folder = named(
            Gtk.FileChooserButton(action=Gtk.FileChooserAction.SELECT_FOLDER,
                                  title="Folder of recordings"), "Folder of recordings")
        self.folder.set_filename(str(live.folder))
        self.folder.connect("file-set", lambda button: self.choose(button.get_filename()))
        self.button = Gtk.ToggleButton(label="Record", tooltip_text="Space bar")
        self.button.connect("toggled", lambda button: self.toggle(button.get_active()))
        self.state = Gtk.Label(xalign=0, ellipsize=Pango.EllipsizeMode.END)
        wide = self.kind, self.folder, self.state
        pack(self, in_row(self.kind, self.folder, expand=wide, spacing=4),
             in_row(self.button, self.state, expand=wide, spacing=4))

    def choose(self, folder):
        self.live.folder = self.live.folder.__class__(folder)

    def toggle(self, on):
        if on != bool(self.live.recording):
            self.live.toggle_recording()
        self.refresh()

    def refresh(self):
        recording = self.live.recording
        ending = bool(recording) and recording.is_ending()
        self.button.set_active(bool(recording))
        self.button.set_sensitive(not ending)
        self.button.set_label("Stopping…" if ending else "Stop" if recording else "Record")
        for widget in self.kind, self.folder:
            widget.set_sensitive(not recording)
        self.state.set_text(recording.report() if recording else "")


class Scan(Gtk.Box):
    """Averaging, and the shape of a volume"""

    def __init__(self, live):
        super().__init__(spacing=4)
        self.live, self.numbers = live, {}
        self.average, self.scan = map(live.pipeline.get_by_name, ("average", "scan"))
        self.add_number("Average", "B-scans to average: keys + and -", self.average, "frames",
                        self.set_average, 1024)
        for text, tooltip, name in (("B-scans", "Number of B-scans in a volume", "b-scans"),
                                    ("Repeats", "Repeats of each B-scan", "repeats")):
            button = self.add_number(text, tooltip, self.scan, name,
                                     lambda value, name=name: live.set_scan(name, value), 4096)
            if not self.scan:
                button.set_sensitive(False)
                button.set_tooltip_text("The recording says which B-scan each frame is")

    def set_average(self, frames):
        if frames != self.average.get_property("frames"):
            self.average.set_property("frames", frames)

    def add_number(self, text, tooltip, element, name, changed, most):
        value = element.get_property(name) if element else 1
        button = self.numbers[text] = spin(tooltip, 1, most, value, changed, tooltip)
        if element:
            element.connect(f"notify::{name}", lambda *_: GLib.idle_add(
                lambda: button.set_value(element.get_property(name)) or GLib.SOURCE_REMOVE))
        button.set_width_chars(4)
        pack_below_label(self, text, button)
        return button


class Panel(Gtk.Box):
    """All of it, above the controls of the elements"""

    def __init__(self, live):
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=6, margin=6)
        self.live = live
        self.signal, self.levels = Signal(), Levels(live)
        self.recorder, self.scan = Recorder(live), Scan(live)
        self.calibrate = Gtk.Button(label="Calibrate with two mirrors…")
        self.calibrate.connect("clicked", lambda _: live.open_wizard())
        reason = live.reason_not_to_calibrate()
        self.calibrate.set_sensitive(not reason)
        self.calibrate.set_tooltip_text(reason)
        self.sharpen = Gtk.Button(
            label="Sharpen", tooltip_text="Find the dispersion of the sample in its B-scans")
        self.sharpen.connect("clicked", lambda _: live.sharpen())
        calibration = in_row(self.calibrate, self.sharpen, expand=[self.calibrate], spacing=4)
        self.get_style_context().add_class("oct-panel")
        use_style(STYLE)
        parts = [self.levels, self.scan, self.recorder, calibration]
        pack(self, *([self.signal] if live.signals else []), *parts)
        GLib.timeout_add(REFRESH, self.refresh)

    def refresh(self):
        if self.live.stopped:
            return GLib.SOURCE_REMOVE
        self.signal.show_numbers(self.live.numbers["spectrum"], self.live.numbers["a_scan"])
        self.levels.refresh()
        self.recorder.refresh()
        return GLib.SOURCE_CONTINUE
