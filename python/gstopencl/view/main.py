#!/usr/bin/python3
"""opencl-view: plays a pipeline in a window, with its frame rate and controls for its properties.

opencl-view [--quit-at-end] ELEMENT [PROPERTY=VALUE...] ! ELEMENT ...

The arguments are those of gst-launch-1.0, without a sink, which opencl-view adds. Each element of
this project has a control for each property that may change while it plays.

  opencl-view octtestsrc is-live=true ! octwindowinterp ! octfft
  opencl-view v4l2src ! videoconvert ! openclupload ! chromakey method=difference \\
      auto-key=screen ! keyfill method=composite

Enter applies numbers and texts. Colours are shown as 0xAARRGGBB and accept hexadecimal and decimal
numbers; their swatch opens a colour dialog. At the end of the stream the last frame stays until the
window is closed, and "Play again" restarts the pipeline. With --quit-at-end the window closes at
the end of the stream.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import signal
import sys

try:
    import gi

    gi.require_version("Gdk", "3.0")
    gi.require_version("Gst", "1.0")
    gi.require_version("Gtk", "3.0")
    from gi.repository import Gdk, GLib, GObject, Gst, Gtk
except (ImportError, ValueError) as error:
    sys.exit(f"{error}: python3-gi, gir1.2-gtk-3.0 and gstreamer1.0-gtk3 are needed")

PLUGINS = ("transferopencl", "octopencl", "keyingopencl", "computeopencl", "npyopencl",
           "inferenceopencl")
SHOW = " ! opencldownload ! videoconvert ! gtksink name=opencl_view_sink"
# Minimum number of steps of a scale, and its maximum range. Wider ranges get an entry field.
STEPS = 200
LARGEST_SCALE = 1e5
# Bit offsets of red, green, blue and alpha in a colour
SHIFTS = 16, 8, 0, 24


def may_change_while_playing(spec):
    wanted = GObject.ParamFlags.WRITABLE | GObject.ParamFlags.READABLE
    return bool(spec.flags & Gst.PARAM_MUTABLE_PLAYING) and spec.flags & wanted == wanted


def properties_of(element):
    """Returns its properties that may change while it plays; none for elements of others."""
    factory = element.get_factory()
    if not factory or factory.get_plugin_name() not in PLUGINS:
        return []
    return [spec for spec in element.list_properties() if may_change_while_playing(spec)]


def set_property(element, name, value):
    """Sets a property. An element that rejects the value posts a warning and keeps the old one."""
    if element.get_property(name) != value:
        element.set_property(name, value)


def follow(element, name, control, show):
    """Updates the control when the property changes, on any thread."""
    def update():
        if control.get_parent():  # None once the window is closed
            show(element.get_property(name))
        return GLib.SOURCE_REMOVE

    element.connect(f"notify::{name}", lambda *_: GLib.idle_add(update))


def new_switch(element, spec):
    control = Gtk.CheckButton(active=element.get_property(spec.name))
    control.connect("toggled", lambda c: set_property(element, spec.name, c.get_active()))
    follow(element, spec.name, control, control.set_active)
    return control


def new_choice(element, spec):
    control = Gtk.ComboBoxText()
    # spec.enum_class of PyGObject 3.50 does not have the values.
    values = list(type(element.get_property(spec.name)).__enum_values__.values())
    for value in values:
        control.append(value.value_nick, value.value_nick)
    control.set_active_id(element.get_property(spec.name).value_nick)
    by_nick = {value.value_nick: value for value in values}
    control.connect("changed", lambda c: set_property(
        element, spec.name, by_nick[c.get_active_id()]))
    return control


def is_whole(spec):
    return spec.value_type not in (GObject.TYPE_DOUBLE, GObject.TYPE_FLOAT)


def is_colour(spec):
    """Returns whether a property is a colour. Colours have no type of their own, but a blurb with
    their format."""
    return spec.value_type == GObject.TYPE_UINT and "0xAARRGGBB" in spec.blurb


def new_scale(element, spec):
    whole = is_whole(spec)
    step = 1 if whole else 10 ** math.floor(math.log10((spec.maximum - spec.minimum) / STEPS))
    adjustment = Gtk.Adjustment(
        value=element.get_property(spec.name), lower=spec.minimum, upper=spec.maximum,
        step_increment=step, page_increment=10 * step)
    adjustment.connect("value-changed", lambda a: set_property(
        element, spec.name, round(a.get_value()) if whole else a.get_value()))
    digits = 0 if whole else max(0, -math.floor(math.log10(step)))
    scale = Gtk.Scale(adjustment=adjustment, digits=digits, value_pos=Gtk.PositionType.RIGHT)
    follow(element, spec.name, scale, adjustment.set_value)
    return scale


def new_entry(element, spec, write, read):
    """Returns an entry that shows `write (value)`. Enter sets `read (text)` if it was edited."""
    entry, shown = Gtk.Entry(), ""

    def show(value):
        nonlocal shown
        shown = write(value)
        entry.set_text(shown)

    def take(_):
        if entry.get_text() != shown:
            try:
                set_property(element, spec.name, read(entry.get_text()))
            except (ValueError, OverflowError):
                pass
        show(element.get_property(spec.name))

    show(element.get_property(spec.name))
    entry.connect("activate", take)
    follow(element, spec.name, entry, lambda value: entry.get_text() == shown and show(value))
    return entry


def read_number(spec, text):
    try:
        value = int(text, 0) if is_whole(spec) else float(text)
    except ValueError:
        value = int(float(text))  # 1e6
    if math.isnan(value):
        raise ValueError(text)
    return min(max(value, spec.minimum), spec.maximum)


def new_number(element, spec):
    """Returns a scale, or an entry field if the range is too wide for a scale."""
    if is_colour(spec):
        return new_colour(element, spec)
    if spec.maximum - spec.minimum <= LARGEST_SCALE:
        return new_scale(element, spec)
    # repr () gives as many digits as the value takes.
    return new_entry(element, spec, repr, lambda text: read_number(spec, text))


def new_colour(element, spec):
    """Returns an entry field and a swatch that opens a colour dialog."""
    def show(colour):
        swatch.set_rgba(Gdk.RGBA(*((colour >> shift & 0xff) / 255 for shift in SHIFTS)))

    def take(_):
        parts = swatch.get_rgba()
        parts = parts.red, parts.green, parts.blue, parts.alpha
        set_property(element, spec.name, sum(
            round(255 * part) << shift for part, shift in zip(parts, SHIFTS)))

    swatch = Gtk.ColorButton(use_alpha=True)
    show(element.get_property(spec.name))
    swatch.connect("color-set", take)
    follow(element, spec.name, swatch, show)
    entry = new_entry(element, spec, "0x{:08x}".format, lambda text: read_number(spec, text))
    both = Gtk.Box(spacing=4)
    both.pack_start(entry, True, True, 0)
    both.pack_start(swatch, False, False, 0)
    return both


def new_text(element, spec):
    return new_entry(element, spec, lambda text: text or "", str)


def new_control(element, spec):
    """Returns a widget for a property, by its type, or None."""
    makers = [
        (GObject.TYPE_BOOLEAN, new_switch), (GObject.TYPE_ENUM, new_choice),
        (GObject.TYPE_STRING, new_text),
        *((kind, new_number) for kind in (
            GObject.TYPE_INT, GObject.TYPE_UINT, GObject.TYPE_INT64, GObject.TYPE_UINT64,
            GObject.TYPE_DOUBLE, GObject.TYPE_FLOAT)),
    ]
    for kind, maker in makers:
        if GObject.type_is_a(spec.value_type, kind):
            control = maker(element, spec)
            # The wheel scrolls the controls, whatever the pointer is over.
            control.connect("scroll-event", lambda c, _: c.stop_emission_by_name("scroll-event"))
            control.set_name(f"{element.get_name()}.{spec.name}")
            control.set_tooltip_text(spec.blurb)
            return control
    return None


def controls_of(element):
    """Returns an expander with a row for each property, or None if the element has none."""
    rows = [(spec.name, new_control(element, spec)) for spec in properties_of(element)]
    rows = [(name, control) for name, control in rows if control]
    if not rows:
        return None
    grid = Gtk.Grid(column_spacing=8, row_spacing=2, margin=6)
    for row, (name, control) in enumerate(rows):
        control.set_hexpand(True)
        grid.attach(Gtk.Label(label=name, xalign=0), 0, row, 1, 1)
        grid.attach(control, 1, row, 1, 1)
    expander = Gtk.Expander(label=element.get_name(), expanded=True)
    expander.add(grid)
    return expander


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


def view_of(line, quit_at_end=False):
    """Returns the view of a pipeline with one video output."""
    pipeline = Gst.parse_launch(line + SHOW)
    return View(pipeline, [pipeline.get_by_name("opencl_view_sink")], quit_at_end)


def need_display(program):
    Gst.init(None)
    if not Gtk.init_check(None)[0]:
        sys.exit(f"{program}: cannot open a display")


def show(view):
    """Shows the view until it is closed or a signal arrives."""
    for number in signal.SIGINT, signal.SIGTERM:
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, number, lambda: view.stop() or True)
    view.play()
    Gtk.main()
    if view.failed:
        sys.exit(view.failed)


def main():
    words = sys.argv[1:]
    quit_at_end = words[:1] == ["--quit-at-end"]
    if not words[quit_at_end:] or words[0] in ("-h", "--help"):
        print(__doc__.partition("SPDX")[0].rstrip())
        return
    need_display("opencl-view")
    try:
        view = view_of(" ".join(words[quit_at_end:]), quit_at_end)
    except GLib.Error as error:
        sys.exit(f"opencl-view: {error.message}")
    show(view)


if __name__ == "__main__":
    main()
