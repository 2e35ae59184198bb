"""Controls for the properties of elements that may change while they play

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math

from .gtk import Gdk, GLib, GObject, Gst, Gtk

PLUGINS = ("transferopencl", "octopencl", "keyingopencl", "computeopencl", "npyopencl",
           "inferenceopencl")
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
