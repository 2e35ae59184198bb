"""Controls for the properties of elements that may change while they play

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import time

from .gtk import (Gdk, GLib, GObject, Gst, Gtk, Pango, icon_button, in_column, in_row, name_widget,
                  pack)
from .properties import (defaults_of, enum_values, is_a, is_colour, is_number, is_whole,
                         ordinary_names, properties_of, range_of, read_text, unit_of, words_of,
                         write_text)

# Minimum number of steps of a scale, and its maximum range. Wider ranges only get a text field.
STEPS = 200
LARGEST_SCALE = 1e5
# Ranges of scales, where the property accepts far more than is ever used. The text field accepts
# the whole range.
SCALE_RANGES = {"dB": (-50, 150)}
# Bit offsets of red, green, blue and alpha in a colour
SHIFTS = 16, 8, 0, 24
MINIMUM_WIDTH = 320  # of the column, which leaves as much for the picture in a narrow window
# A warning that comes later, and does not name the property, is not about its last change.
SECONDS_TO_REFUSE = 5


class Row:
    """Row of a property: its name, control, reset button, and why a value was refused.
    `pick (done)`: lets the user click into the picture and calls done (colour); None if there is
    no picture. `changed (row)`: called before the property is set."""

    def __init__(self, element, spec, default=None, pick=None, changed=None):
        self.element, self.spec, self.default, self.pick = element, spec, default, pick
        self.changed = changed or (lambda row: None)
        self.words, self.unit = words_of(spec), unit_of(spec)
        self.title = f"{self.words}, {element.get_name()}"
        # The sequence number of GStreamer and the time of the last change by this row
        self.set_at = self.set_time = 0
        self.updating = self.by_pipeline = False
        self.control, self.show = maker_of(spec)(self)
        self.control.set_name(f"{element.get_name()}.{spec.name}")
        self.control.set_tooltip_text(tooltip_of(element, spec))
        self.control.set_hexpand(True)
        ignore_wheel(self.control)
        self.reset = icon_button("edit-undo-symbolic", f"Reset to {shown_default(default)}",
                                 lambda: self.set(default), f"Reset {self.title}")
        self.widget = self.layout()
        self.update()
        element.connect(f"notify::{spec.name}", lambda *_: GLib.idle_add(self.follow))

    def layout(self):
        self.label = Gtk.Label(xalign=0, wrap=True, width_chars=11, max_width_chars=15)
        about = ", ".join(filter(None, [self.unit, range_of(self.spec)]))
        text = GLib.markup_escape_text(self.words)
        self.label.set_markup(f"{text}\n<small><span alpha='75%'>{about}</span></small>" if about
                              else text)
        self.label.set_tooltip_text(tooltip_of(self.element, self.spec))
        self.note = Gtk.Label(xalign=0, wrap=True, selectable=True, can_focus=False,
                              wrap_mode=Pango.WrapMode.WORD_CHAR, width_chars=20)
        icon = Gtk.Image(icon_name="dialog-warning-symbolic", visible=True)
        self.note_box = in_row(icon, self.note, expand=[self.note], spacing=6, no_show_all=True)
        self.note.show()
        self.note_box.get_style_context().add_class("refused")
        self.control.set_valign(Gtk.Align.CENTER)
        self.reset.set_valign(Gtk.Align.CENTER)
        line = in_row(self.label, self.control, self.reset, expand=[self.control], spacing=6)
        return in_column(line, self.note_box)

    def set(self, text):
        """Sets the property from text, and shows why it was refused. Returns whether it was set."""
        if self.updating:
            return True
        self.refuse("")
        self.changed(self)
        self.set_at, self.set_time = Gst.util_seqnum_next(), time.monotonic()
        try:
            write_text(self.element, self.spec, text)
        except (ValueError, TypeError, OverflowError) as error:
            self.refuse(f"{error}. {shown_default(read_text(self.element, self.spec))} stays.")
            return False
        self.update()
        return True

    def refuse(self, reason, by_pipeline=False):
        """Shows why a value was refused; an empty reason removes it."""
        self.note.set_text(reason)
        self.note_box.set_visible(bool(reason))
        self.by_pipeline = by_pipeline and bool(reason)
        self.control.get_accessible().set_description(reason or self.spec.blurb)
        parent = self.widget
        while reason and parent:
            parent = parent.get_ancestor(Gtk.Expander)
            if parent:
                parent.set_expanded(True)
                parent = parent.get_parent()

    def update(self):
        """Shows the value of the property."""
        self.updating = True
        text = read_text(self.element, self.spec)
        self.show(text)
        self.reset.set_sensitive(text != self.default)
        self.updating = False

    def follow(self):
        if self.widget.get_parent():  # None once the window is closed
            self.update()
        return GLib.SOURCE_REMOVE

    def matches(self, words):
        text = " ".join((self.words, self.spec.name, self.spec.blurb, self.element.get_name(),
                         self.element.get_factory().get_metadata("long-name"))).lower()
        return all(word in text for word in words)


def shown_default(text):
    return text or "no value"


def tooltip_of(element, spec):
    values = [f"{value.value_nick}: {value.value_name}" for value in enum_values(element, spec)]
    return "\n".join([f"{element.get_name()}.{spec.name}", spec.blurb, *values])


def ignore_wheel(widget):
    """Lets the wheel scroll the controls, whatever the pointer is over."""
    widget.connect("scroll-event", lambda w, _: w.stop_emission_by_name("scroll-event"))
    for child in widget.get_children() if isinstance(widget, Gtk.Box) else []:
        ignore_wheel(child)


# Makers of controls: they take a row, and return a widget and a function that shows a text.

def new_switch(row):
    control = Gtk.CheckButton()
    control.connect("toggled", lambda c: row.set(str(c.get_active()).lower()))
    name_widget(control, row.title)
    return control, lambda text: control.set_active(text == "true")


def new_choice(row):
    control = Gtk.ComboBoxText()
    for value in enum_values(row.element, row.spec):
        control.append(value.value_nick, value.value_nick)
    for cell in control.get_cells():
        cell.set_property("ellipsize", Pango.EllipsizeMode.END)
    control.connect("changed", lambda c: row.set(c.get_active_id()))
    name_widget(control, row.title)
    return control, control.set_active_id


def new_flags(row):
    """Returns a check button for each flag."""
    kind = row.spec.value_type.pytype or type(row.element.get_property(row.spec.name))
    nicks = [nick for value in kind.__flags_values__.values() for nick in value.value_nicks
             if len(value.value_nicks) == 1]
    box = Gtk.FlowBox(selection_mode=Gtk.SelectionMode.NONE, max_children_per_line=2)
    buttons = {nick: Gtk.CheckButton(label=nick) for nick in nicks}

    def take(_):
        row.set("+".join(nick for nick in nicks if buttons[nick].get_active()) or "0")

    def show(text):
        for nick in nicks:
            buttons[nick].set_active(nick in text.split("+"))

    for nick, button in buttons.items():
        button.connect("toggled", take)
        name_widget(button, f"{nick}, {row.title}")
        box.add(button)
    return box, show


def new_entry(row, width=12):
    """Returns a text field. Enter applies what was typed, and Escape discards it."""
    entry, shown = Gtk.Entry(width_chars=width, max_width_chars=width), ""

    def show(text):
        nonlocal shown
        edited = entry.get_text() != shown
        shown = text or ""
        if not edited:
            entry.set_text(shown)
        mark()

    def apply(*_):
        nonlocal shown
        if entry.get_text() != shown and row.set(entry.get_text()):
            entry.set_text(shown)

    def discard(_, event):
        if event.keyval != Gdk.KEY_Escape or entry.get_text() == shown:
            return False
        entry.set_text(shown)
        row.refuse("")
        return True

    def mark(*_):
        edited = entry.get_text() != shown
        entry.set_icon_from_icon_name(
            Gtk.EntryIconPosition.SECONDARY, "object-select-symbolic" if edited else None)
        if edited:
            entry.set_icon_tooltip_text(Gtk.EntryIconPosition.SECONDARY, "Apply (Enter)")

    entry.connect("activate", apply)
    entry.connect("icon-press", apply)
    entry.connect("key-press-event", discard)
    entry.connect("changed", mark)
    name_widget(entry, row.title)
    return entry, show


def scale_range(row):
    """Returns the lowest and the highest value of a scale, or None if there is none."""
    low, high = row.spec.minimum, row.spec.maximum
    lowest, highest = SCALE_RANGES.get(row.unit, (low, high))
    low, high = max(low, lowest), min(high, highest)
    return (low, high) if high - low <= LARGEST_SCALE else None


def new_number(row):
    """Returns a text field, with a scale beside it if the range is not too wide."""
    limits = scale_range(row)
    if not limits:
        return new_entry(row)
    whole = is_whole(row.spec)
    step = 10 ** math.floor(math.log10((limits[1] - limits[0]) / STEPS))
    step = max(step, 1) if whole else step
    digits = 0 if whole else max(0, -round(math.log10(step)))
    adjustment = Gtk.Adjustment(lower=limits[0], upper=limits[1], step_increment=step,
                                page_increment=10 * step)
    scale = Gtk.Scale(adjustment=adjustment, digits=digits, draw_value=False)
    scale.set_size_request(60, -1)
    name_widget(scale, row.title)
    entry, show_text = new_entry(row, 6)

    def take(_):
        value = adjustment.get_value()
        row.set(repr(round(value) if whole else round(value, digits)))

    def show(text):
        show_text(text)
        adjustment.set_value(float(text))

    adjustment.connect("value-changed", take)
    return in_row(scale, entry, expand=[scale], spacing=4), show


def new_colour(row):
    """Returns a text field, a swatch that opens a colour dialog, and a button to pick the colour
    in the picture."""
    swatch = Gtk.ColorButton(use_alpha=True, title=row.words)
    swatch.set_tooltip_text(f"Choose {row.words}")
    name_widget(swatch, f"Choose {row.title}")
    swatch.connect("color-set", lambda _: row.set(f"0x{colour_of(swatch):08x}"))
    entry, show_text = new_entry(row, 10)

    def show(text):
        show_text(text)
        swatch.set_rgba(rgba_of(int(text, 0)))

    pick = icon_button(
        "color-select-symbolic", "Pick: click into the picture to take its colour",
        lambda: row.pick(lambda colour: row.set(f"0x{colour:08x}")), f"Pick {row.title}")
    parts = [entry, swatch, pick] if row.pick else [entry, swatch]
    return in_row(*parts, expand=[entry], spacing=4), show


def rgba_of(colour):
    """Returns the colour 0xAARRGGBB for GTK."""
    return Gdk.RGBA(*((colour >> shift & 0xff) / 255 for shift in SHIFTS))


def colour_of(swatch):
    """Returns the colour 0xAARRGGBB of a Gtk.ColorButton."""
    chosen = swatch.get_rgba()
    parts = chosen.red, chosen.green, chosen.blue, chosen.alpha
    return sum(round(255 * part) << shift for part, shift in zip(parts, SHIFTS))


def maker_of(spec):
    """Returns the maker of a property's control, by its type. Text is for all that has none:
    strings, arrays, fractions, structures and caps."""
    if is_colour(spec):
        return new_colour
    if is_number(spec):
        return new_number
    makers = {GObject.TYPE_BOOLEAN: new_switch, GObject.TYPE_ENUM: new_choice,
              GObject.TYPE_FLAGS: new_flags}
    return next((maker for kind, maker in makers.items() if is_a(spec, [kind])), new_entry)


def new_expander(widget, label, title, expanded):
    """Returns an expander with a label in Pango markup. `title`: its accessible name"""
    text = Gtk.Label(label=label, use_markup=True, xalign=0, ellipsize=Pango.EllipsizeMode.END,
                     tooltip_text=title)
    expander = Gtk.Expander(label_widget=text, label_fill=True, expanded=expanded)
    name_widget(expander, title)
    expander.add(widget)
    widget.show_all()
    widget.set_no_show_all(True)
    # GTK 3 moves the focus into a closed expander, unless what is in it is hidden.
    expander.connect("notify::expanded", lambda e, _: widget.set_visible(e.get_expanded()))
    widget.set_visible(expanded)
    return expander


class Group:
    """Controls of an element: the ordinary ones, and the others behind "More"."""

    def __init__(self, element, specs, pick, changed):
        ordinary, defaults = ordinary_names(element, specs), defaults_of(element, specs)
        self.element = element
        self.rows = [Row(element, spec, defaults[spec.name], pick, changed) for spec in specs]
        name = element.get_name()
        title = element.get_factory().get_metadata("long-name")
        box, rare = (in_column(*(row.widget for row in self.rows
                                 if (row.spec.name in ordinary) == is_ordinary),
                               spacing=4, margin=6) for is_ordinary in (True, False))
        hidden = len(rare.get_children())
        self.more = new_expander(rare, f"More ({hidden})", f"More controls of {name}", False)
        self.more.set_no_show_all(not hidden)
        pack(box, self.more)
        # An element without ordinary controls is closed.
        self.initial = len(self.rows) > hidden, len(self.rows) == hidden
        self.widget = new_expander(
            box, f"<b>{GLib.markup_escape_text(title)}</b>  "
            f"<small><span alpha='75%'>{GLib.markup_escape_text(name)}</span></small>",
            f"{title}, {name}", self.initial[0])
        self.more.set_expanded(self.initial[1])
        self.opened = None

    def filter(self, words):
        """Shows the rows that match, and opens what they are in. Returns whether there is one."""
        if self.opened is None and words:
            self.opened = self.widget.get_expanded(), self.more.get_expanded()
        found = [row for row in self.rows if row.matches(words)]
        for row in self.rows:
            row.widget.set_visible(row in found)
        rare = [row for row in self.rows if row.widget.get_parent() == self.more.get_child()]
        self.more.set_visible(any(row in found for row in rare))
        self.widget.set_visible(bool(found))
        opened = (True, True) if words else self.opened or self.initial
        self.widget.set_expanded(opened[0])
        self.more.set_expanded(opened[1])
        self.opened = self.opened if words else None
        return bool(found)


class Controls:
    """Column with a search field and the controls of elements. They scroll together with the panel
    of a view, which is above them."""

    def __init__(self, elements, pick=None):
        specs = [(element, properties_of(element)) for element in elements]
        self.groups = [Group(element, found, pick, self.forget_refusals)
                       for element, found in specs if found]
        self.rows = [row for group in self.groups for row in group.rows]
        self.search = Gtk.SearchEntry(placeholder_text="Search controls (Ctrl+F)", margin=6)
        name_widget(self.search, "Search controls")
        self.search.connect("search-changed", lambda entry: self.filter(entry.get_text()))
        self.search.connect("stop-search", lambda _: self.stop_search())
        self.nothing = Gtk.Label(label="No control matches.", no_show_all=True, margin=12)
        self.panel = None
        self.box = in_column(self.nothing, *(group.widget for group in self.groups))
        self.widget = self.layout()

    def layout(self):
        labels = Gtk.SizeGroup(mode=Gtk.SizeGroupMode.HORIZONTAL)
        for row in self.rows:
            labels.add_widget(row.label)
        self.scrolled = Gtk.ScrolledWindow(hscrollbar_policy=Gtk.PolicyType.NEVER,
                                           width_request=MINIMUM_WIDTH)
        self.scrolled.add(self.box)
        # The panel scrolls with the controls, even if its widgets could scroll by themselves.
        self.scrolled.get_child().set_vscroll_policy(Gtk.ScrollablePolicy.NATURAL)
        # Scrolls to the control that the keyboard moves to
        self.box.set_focus_vadjustment(self.scrolled.get_vadjustment())
        return in_column(self.search, self.scrolled, expand=[self.scrolled])

    def put_above(self, panel):
        """Puts a widget above the controls. It is hidden during a search."""
        self.panel = panel
        pack(self.box, panel)
        self.box.reorder_child(panel, 0)

    def row(self, element, name):
        """Returns the row of a property. `element`: an element or its name"""
        return next(row for row in self.rows if row.spec.name == name
                    and element in (row.element, row.element.get_name()))

    def filter(self, text):
        """Shows the controls that match all words: name, property, description or element."""
        found = [group.filter(text.lower().split()) for group in self.groups]
        self.nothing.set_visible(not any(found))
        if self.panel:
            self.panel.set_visible(not text)

    def stop_search(self):
        self.search.set_text("")
        self.search.get_toplevel().set_focus(None)

    def forget_refusals(self, changed):
        """Removes what the pipeline refused before a change: the element judges anew."""
        for row in self.rows:
            if row.element == changed.element and row.by_pipeline:
                row.refuse("")

    def refuse(self, source, reason, number):
        """Shows a warning or error beside the control that caused it. `number`: its message's
        sequence number. Returns whether there is such a control: one of the element, which was
        changed before and just now, or which the reason names."""
        rows = [row for row in self.rows if row.set_at
                and (source == row.element or source.has_as_ancestor(row.element))]
        if not rows:
            return False
        row = max(rows, key=lambda row: row.set_at)
        late = time.monotonic() > row.set_time + SECONDS_TO_REFUSE
        if number < row.set_at or late and row.spec.name not in reason:
            return False
        row.refuse(reason, by_pipeline=True)
        return True
