#!/usr/bin/env python3
"""Promises: opencl-view shows the output of a pipeline, with a control for each property of this
project's elements that may change while playing. Controls set the properties, and show why a value
is refused. Neither Enter nor the mouse wheel changes a value by accident. The search finds
controls, reset restores defaults, colours are taken from the picture, and presets restore all
values. The last frame stays at the end of a stream; a film loops and seeks. An error is shown in
the window. Screenshots are the frames. Every interactive widget has a name for screen readers, and
the window fits into 640x400.

usage: view.py OPENCL-VIEW

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from unittest import mock

import gi
import numpy as np

from fulldisk import full_disk
from xscreen import (close, levels_on_screen, press_button, run_for, run_until, screen,
                     turn_wheel)

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
LINE = "octtestsrc name=source num-buffers={} is-live=true ! " \
       "video/x-raw(memory:OpenCLMemory),width=512,height=256,framerate=25/1 ! " \
       "octwindowinterp name=interp ! octfft name=fft ! openclconvert"
# Properties that their names or their descriptions say are about db-min
LEVELS = {"fft.db-min", "fft.db-max", "fft.db-auto"}
# Colours of the seven bars of videotestsrc
BARS = 0xffffff, 0xffff00, 0x00ffff, 0x00ff00, 0xff00ff, 0xff0000, 0x0000ff
FILM = "videotestsrc num-buffers={} ! video/x-raw,format=BGRA,width=320,height=240," \
       "framerate=25/1 ! openclupload ! keyfill name=fill"


def plays(view):
    """Returns whether the status line says how many frames are shown."""
    return re.fullmatch(r"[1-9]\d* frames/s", view.status.get_text())


def descendants(widget):
    """Returns a widget and all widgets in it."""
    found = [widget]
    for child in widget.get_children() if isinstance(widget, gtk.Gtk.Container) else []:
        found += descendants(child)
    return found


def within(widget, kind):
    """Returns the first widget of a kind in a widget, or None."""
    return next((child for child in descendants(widget) if isinstance(child, kind)), None)


def controls_in(widget):
    """Returns all controls by name: element.property."""
    return {child.get_name(): child for child in descendants(widget) if "." in child.get_name()}


def enter(control, text):
    entry = within(control, gtk.Gtk.Entry)
    entry.set_text(text)
    entry.emit("activate")
    return entry


def key_event(view, name, state=0):
    event = gtk.Gdk.Event.new(gtk.Gdk.EventType.KEY_PRESS)
    event.window = view.window.get_window()
    event.keyval, event.state = gtk.Gdk.keyval_from_name(name), gtk.Gdk.ModifierType(state)
    return event


def take_key(view, name, state=0):
    event = key_event(view, name, state)  # owns its part .key
    return view.take_key(event.key)


def check_turning(view, found):
    fft, interp = (view.pipeline.get_by_name(name) for name in ("fft", "interp"))
    within(found["fft.db-max"], gtk.Gtk.Scale).get_adjustment().set_value(77)
    assert fft.get_property("db-max") == 77
    found["fft.flip"].set_active(True)
    assert fft.get_property("flip")
    found["interp.window"].set_active_id("blackman")
    assert interp.get_property("window").value_nick == "blackman"
    enter(found["interp.dispersion-a2"], "2.5e-5")
    assert interp.get_property("dispersion-a2") == 2.5e-5


def check_window():
    view = pipeline.view_of(LINE.format(-1))
    found = controls_in(view.window)
    for element in "source", "interp", "fft":
        own = view.pipeline.get_by_name(element)
        for spec in own.list_properties():
            turned = spec.flags & gtk.Gst.PARAM_MUTABLE_PLAYING
            assert not turned or f"{element}.{spec.name}" in found, (element, spec.name)
    assert not any(name.startswith("videoconvert") for name in found)
    view.play()
    run_until(view, lambda: levels_on_screen() > 100)
    check_turning(view, found)
    run_until(view, lambda: plays(view))
    assert not view.transport.bar.get_visible(), "a live source cannot seek"
    check_refused(view)
    check_search(view)
    check_names(view.window)
    check_keys(view)
    close(view)


def check_refused(view):
    """Checks that what is refused is shown beside the control, until a value is accepted."""
    row = view.controls.row("interp", "dispersion-a2")
    for text in "no number", "nan", "":
        entry = enter(row.control, text)
        assert row.note_box.get_mapped() and f"“{text}”" in row.note.get_text(), text
        assert row.element.get_property("dispersion-a2") == 2.5e-5 and entry.get_text() == text
    entry.emit("key-press-event", key_event(view, "Escape"))
    assert entry.get_text() == "2.5e-05" and not row.note_box.get_visible()
    row = view.controls.row("fft", "db-max")
    enter(row.control, "5000")
    assert "-1000 to 1000" in row.note.get_text() and row.element.get_property("db-max") == 77
    enter(row.control, "76")
    assert not row.note_box.get_visible()
    enter(row.control, "-7")  # below db-min, which the element refuses by a warning
    run_until(view, lambda: "db-min" in row.note.get_text())
    others = [other for other in view.controls.rows if other.note_box.get_visible()]
    assert row.note_box.get_mapped() and others == [row]
    view.controls.row("fft", "db-min").set("-20")
    assert not row.note_box.get_visible()
    run_for(500)
    assert not row.note_box.get_visible()


def seen(view):
    return {row.control.get_name() for row in view.controls.rows if row.control.get_mapped()}


def check_search(view):
    """Checks that a search shows those controls that have the words, and nothing else."""
    before = seen(view)
    assert "fft.db-min" in before and "fft.async-depth" not in before, before
    for text, expected in (("black LEVEL in", {"fft.db-min", "fft.db-auto"}), ("db-min", LEVELS),
                           ("zero padding", {"interp.padded-samples"}), ("no such thing", set())):
        view.controls.search.set_text(text)
        run_until(view, lambda: seen(view) == expected, 5, say=lambda: seen(view))
        assert view.controls.nothing.get_mapped() == (not expected)
    view.controls.search.set_text("")
    run_until(view, lambda: seen(view) == before, 5)


def check_names(widget):
    """Checks the name of everything in the accessible tree that a user can change or press. An
    information bar of GTK has a button without a name that is never visible."""
    atk, visible = Atk.Role, Atk.StateType.VISIBLE
    roles = {atk.PUSH_BUTTON, atk.TOGGLE_BUTTON, atk.CHECK_BOX, atk.COMBO_BOX, atk.SLIDER, atk.TEXT}
    found = []

    def visit(accessible):
        if accessible.get_role() in roles and accessible.ref_state_set().contains_state(visible):
            found.append((accessible.get_role(), accessible.get_name()))
        for n in range(accessible.get_n_accessible_children()):
            visit(accessible.ref_accessible_child(n))

    visit(widget.get_accessible())
    assert all(name for _, name in found), [role for role, name in found if not name]
    # A scale and the text field of the same property share their name.
    assert len(set(found)) == len(found), sorted(map(str, found))
    return found


def check_keys(view):
    def press(name, state=0):
        assert take_key(view, name, state), name

    control = int(gtk.Gdk.ModifierType.CONTROL_MASK)
    view.window.set_focus(None)
    press("F9")
    assert not view.side.get_mapped()
    press("f", control)
    assert view.side.get_mapped() and view.window.get_focus() == view.controls.search
    assert take_key(view, "space") and view.playing, "typed into the field"
    view.controls.search.emit("stop-search")  # Escape
    assert not view.window.get_focus() and not view.controls.search.get_text()
    press("space")
    assert not view.playing and view.status.get_text() == "paused"
    press("space")
    assert view.playing
    view.controls.row("interp", "wavelength-min").control.grab_focus()
    assert view.window.get_focus()
    press("Escape")
    assert not view.window.get_focus()
    press("F1")
    window = next(window for window in gtk.Gtk.Window.list_toplevels()
                  if isinstance(window, gtk.Gtk.ShortcutsWindow))
    assert len([child for child in descendants(window)
                if isinstance(child, gtk.Gtk.ShortcutsShortcut)]) == len(view.shortcuts())
    window.destroy()
    check_focus(view)


def check_focus(view):
    """Checks that Tab reaches every control that is shown, and scrolls to it."""
    reached, area = set(), view.controls.scrolled
    for _ in range(200):
        if not view.window.child_focus(gtk.Gtk.DirectionType.TAB_FORWARD):
            view.window.set_focus(None)  # and to the start again
            continue
        focus = view.window.get_focus()
        reached |= {row.control.get_name() for row in view.controls.rows
                    if focus.is_ancestor(row.control) or focus == row.control}
        handle_events()
        if focus.is_ancestor(area):
            _, top = focus.translate_coordinates(area, 0, 0)
            height = area.get_allocated_height()
            assert -1 <= top <= height - focus.get_allocated_height() + 1, (focus, top, height)
    assert reached == seen(view), reached ^ seen(view)


def handle_events():
    while gtk.Gtk.events_pending():
        gtk.Gtk.main_iteration()


def row_of(element, name):
    """Returns the row of a property, in a window, where it follows the property."""
    spec = element.find_property(name)
    row = controls.Row(element, spec, properties.defaults_of(element, [spec])[name])
    row.window = gtk.Gtk.Window()
    row.window.add(row.widget)
    return row


COLOURS = "chromakey.key-color", "flowkey.key-color", "keyfill.color", \
    "greenscreenbin.background-color", "greenscreenbin.key-color"


def check_colours():
    for name in COLOURS:
        factory, _, name = name.partition(".")
        element = gtk.Gst.ElementFactory.make(factory)
        element.set_property(name, 0xff20a040)
        row = row_of(element, name)
        check_colour(element, name, row)


def check_colour(element, name, row):
    entry, swatch = (within(row.control, kind) for kind in (gtk.Gtk.Entry, gtk.Gtk.ColorButton))
    assert entry.get_text() == "0xff20a040", (name, entry.get_text())
    changes = []
    element.connect(f"notify::{name}", lambda *_: changes.append(element.get_property(name)))
    entry.emit("activate")
    assert not changes
    for text, colour in ("0x80102030", 0x80102030), ("4278190335", 0xff0000ff), \
            ("0XFF00FF00", 0xff00ff00):
        enter(row.control, text)
        assert element.get_property(name) == colour, (name, text)
        assert entry.get_text() == f"0x{colour:08x}", (name, text)
    for text in "green", "", "-1", "0x100000000":
        enter(row.control, text)
        assert element.get_property(name) == 0xff00ff00 and f"“{text}”" in row.note.get_text()
    entry.emit("key-press-event", key_event_of("Escape"))
    element.set_property(name, 0x00ff3300)
    handle_events()
    assert entry.get_text() == "0x00ff3300"
    shown = swatch.get_rgba()
    assert [round(5 * part) for part in (shown.red, shown.green, shown.blue, shown.alpha)] \
        == [5, 1, 0, 0]
    swatch.set_rgba(gtk.Gdk.RGBA(0, 0.2, 1, 1))
    swatch.emit("color-set")
    handle_events()
    assert element.get_property(name) == 0xff0033ff and entry.get_text() == "0xff0033ff"


def key_event_of(name):
    event = gtk.Gdk.Event.new(gtk.Gdk.EventType.KEY_PRESS)
    event.keyval = gtk.Gdk.keyval_from_name(name)
    return event


def awkward(spec):
    """A value that takes many digits to write"""
    if isinstance(spec.default_value, float):
        return min(max(-math.pi / 1000, spec.minimum), spec.maximum)
    return spec.maximum - 1 if isinstance(spec.default_value, int) else spec.default_value


def check_enter():
    """Checks that Enter in an unchanged field sets no property of any element, and that reset
    restores each default."""
    fields = 0
    for plugin in properties.PLUGINS:
        for feature in gtk.Gst.Registry.get().get_feature_list_by_plugin(plugin):
            element = isinstance(feature, gtk.Gst.ElementFactory) and feature.create()
            for spec in properties.properties_of(element) if element else []:
                row = row_of(element, spec.name)
                if not row.reset.get_sensitive() and within(row.control, gtk.Gtk.Entry):
                    check_enter_of(element, spec, row)
                    fields += 1
    assert fields > 150, fields


def check_enter_of(element, spec, row):
    if properties.is_number(spec):
        default = element.get_property(spec.name)
        element.set_property(spec.name, awkward(spec))
        handle_events()
    before, changes = properties.read_text(element, spec), []
    element.connect(f"notify::{spec.name}", lambda *_: changes.append(spec.name))
    entry = within(row.control, gtk.Gtk.Entry)
    entry.emit("activate")
    assert not changes and properties.read_text(element, spec) == before, (spec, before)
    if properties.is_number(spec):
        enter(row.control, entry.get_text() + " ")
        assert properties.read_text(element, spec) == before, (spec, before)
        assert row.reset.get_sensitive() == (default != awkward(spec)), spec
        row.reset.clicked()
        assert element.get_property(spec.name) == default and not row.reset.get_sensitive(), spec
        assert entry.get_text() == before or not row.note_box.get_visible(), spec


def check_kinds():
    """Checks arrays, flags and fractions: what is set, and what is refused."""
    for factory, name, text, shown, wrong in (
        ("octflatten", "coefficients", "<1, 2.5,1e-9>", "<1, 2.5, 1e-09>", "<1, x>"),
        ("chromakey", "key-colors", "<0xff00ff00>", "<4278255360>", "green"),
        ("openclkernel", "arguments", "a, gain=2.5", "a, gain=(double)2.5;", "gain="),
        ("gtksink", "pixel-aspect-ratio", "4/3", "4/3", "wide"),
    ):
        element = gtk.Gst.ElementFactory.make(factory)
        row = row_of(element, name)
        default = properties.read_text(element, row.spec)
        entry = enter(row.control, text)
        assert properties.read_text(element, row.spec) == entry.get_text() == shown, name
        enter(row.control, wrong)
        assert properties.read_text(element, row.spec) == shown, (name, wrong)
        assert f"“{wrong}”" in row.note.get_text(), name
        row.reset.clicked()
        assert properties.read_text(element, row.spec) == default, name
    element = gtk.Gst.ElementFactory.make("playbin")
    row = row_of(element, "flags")
    flags = {child.get_label(): child for child in descendants(row.control)
             if isinstance(child, gtk.Gtk.CheckButton)}
    assert flags["text"].get_active() and not flags["vis"].get_active()
    flags["text"].set_active(False)
    flags["vis"].set_active(True)
    assert int(element.get_property("flags")) == int(row_default(element, "flags")) - 4 + 8


def row_default(element, name):
    return element.get_factory().create(None).get_property(name)


def centre_on_screen(widget, window):
    size = widget.get_allocation()
    return on_screen(widget, window, size.width // 2, size.height // 2)


def on_screen(widget, window, x, y):
    x, y = widget.translate_coordinates(window, x, y)
    _, left, top = window.get_window().get_origin()
    return left + x, top + y


def check_wheel():
    """Checks that the mouse wheel over a scale or over choices scrolls the controls."""
    view = pipeline.view_of(LINE.format(-1))
    view.play()
    run_until(view, lambda: levels_on_screen() > 100)
    scale = within(view.controls.row("source", "noise").control, gtk.Gtk.Scale)
    for name, control in ("source.noise", scale), ("interp.window", None):
        control = control or controls_in(view.window)[name]
        element, spec = view.pipeline.get_by_name(name.split(".")[0]), name.split(".")[1]
        area = control.get_ancestor(gtk.Gtk.ScrolledWindow)
        scrolled = area.get_vadjustment()
        _, top = control.translate_coordinates(area.get_child().get_child(), 0, 0)
        scrolled.set_value(max(top - 50, 0)) # into view
        run_for(300)
        before, above = element.get_property(spec), scrolled.get_value()
        turn_wheel(*centre_on_screen(control, view.window), 3)
        run_until(view, lambda: scrolled.get_value() > above
                  or element.get_property(spec) != before)
        assert element.get_property(spec) == before, name
    close(view)


def check_end():
    """Checks that the last frame stays at the end, and that the pipeline plays again."""
    view = pipeline.view_of(LINE.format(10))
    view.play()
    for _ in range(2):
        run_until(view, lambda: "end of stream" in view.status.get_text())
        assert view.transport.play.get_accessible().get_name() == "Play again"
        assert levels_on_screen() > 100
        view.transport.play.clicked()
        assert "end of stream" not in view.status.get_text()
        assert view.transport.play.get_accessible().get_name() == "Pause"
    run_until(view, lambda: view.ended)
    view.window.close()
    gtk.Gtk.main()
    assert not view.failed, view.failed
    view.window.destroy()


def check_pick():
    """Checks the colour of the first and of the last column of each bar of the picture, by clicks
    into the window, also where the picture is stretched."""
    view = pipeline.view_of(FILM.format(-1))
    view.play()
    run_until(view, lambda: any(view.rendered()))
    run_for(200)
    row, picture = view.controls.row("fill", "color"), view.sinks[0].get_property("widget")
    pick = [button for button in descendants(row.control) if isinstance(button, gtk.Gtk.Button)][-1]
    size = picture.get_allocation()
    assert size.width / size.height < 320 / 240 * 0.95, "bars above and below the picture"
    for n, colour in enumerate(BARS):
        for column in 320 * n // 7, 320 * (n + 1) // 7 - 1:
            pick_colour(view, pick, int((column + 0.5) * size.width / 320), size.height // 2)
            assert row.element.get_property("color") == 0xff000000 | colour, (column, colour)
    pick.clicked()
    press_button(*on_screen(picture, view.window, size.width // 2, 2), 1)  # above the picture
    run_for(300)
    assert view.picking and take_key(view, "Escape") and not view.picking
    assert row.element.get_property("color") == 0xff000000 | BARS[-1]
    view.sinks[0].set_property("force-aspect-ratio", False)
    pick_colour(view, pick, size.width * 3 // 14, 2)
    assert row.element.get_property("color") == 0xff000000 | BARS[1]
    check_screenshot(view)
    check_sizes(view)
    close(view)


def pick_colour(view, pick, x, y):
    """Presses the button `pick`, and clicks into the picture."""
    pick.clicked()
    press_button(*on_screen(view.sinks[0].get_property("widget"), view.window, x, y), 1)
    run_until(view, lambda: not view.picking, 5)


def check_screenshot(view):
    """Checks that a screenshot has the pixels of the frame at its size."""
    view.toggle_play()
    view.pipeline.get_state(gtk.Gst.SECOND)
    view.screenshot()
    path, = pathlib.Path().glob("opencl-view-*.png")
    assert str(path.resolve()) in view.messages.text.get_text()
    buffer = view.sinks[0].get_property("last-sample").get_buffer()
    frame = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8)
    frame = frame.reshape(240, 320, 4)[..., :3]
    picture = gtk.GdkPixbuf.Pixbuf.new_from_file(str(path))
    assert picture.get_n_channels() == 4 and picture.get_rowstride() == 4 * 320
    pixels = np.frombuffer(picture.get_pixels(), np.uint8).reshape(240, 320, 4)[..., :3]
    assert np.array_equal(pixels, frame[..., ::-1])
    assert len(np.unique(frame)) > 100, "the noise of the test picture"
    path.unlink()


def check_sizes(view):
    """Checks that all buttons are within a small window, and that a large one enlarges the
    picture."""
    view.messages.bar.hide()
    picture, window = view.sinks[0].get_property("widget"), view.window
    for width, height in (640, 400), (3840, 2160):
        window.resize(width, height)
        run_until(view, lambda: tuple(window.get_size()) == (width, height), 5)
        run_for(200)
        for widget in descendants(window):
            if widget.get_mapped() and isinstance(widget, (gtk.Gtk.Button, gtk.Gtk.Entry)) \
                    and not widget.get_ancestor(gtk.Gtk.Viewport):
                left, top = widget.translate_coordinates(window, 0, 0)
                size = widget.get_allocation()
                assert 0 <= left <= width - size.width and 0 <= top <= height - size.height, widget
        size = picture.get_allocation()
        assert size.width > 0.44 * width and size.height > 0.75 * height, (size.width, size.height)


def check_film():
    """Checks position, pause, seek and loop of a film of two seconds."""
    view = pipeline.view_of(FILM.format(50))
    view.play()
    run_until(view, view.transport.bar.get_mapped, 10)
    check_names(view.window)
    assert view.transport.time.get_text().endswith("/ 0:02")
    assert view.transport.adjustment.get_upper() == 2
    view.toggle_play()
    view.pipeline.get_state(gtk.Gst.SECOND)
    for seconds in 0.4, 1.0, 1.52:  # without a wait: the last one counts
        view.transport.adjustment.set_value(seconds)
    position = (lambda: view.pipeline.query_position(gtk.Gst.Format.TIME)[1] / gtk.Gst.SECOND)
    run_until(view, lambda: abs(position() - 1.52) < 0.03, 5)
    view.transport.loop.set_active(True)
    view.toggle_play()
    run_until(view, lambda: position() > 1.6, 5)
    run_until(view, lambda: position() < 1, 5)
    assert not view.ended
    view.transport.loop.set_active(False)
    run_until(view, lambda: view.ended, 10)
    view.transport.adjustment.set_value(0.5)
    assert not view.ended
    run_until(view, lambda: view.ended, 10)
    close(view)


def check_failure():
    """Checks that a failure is shown in the window, and that the pipeline plays again."""
    line = FILM.format(-1)
    view = pipeline.view_of(line.replace("! opencl", "! identity name=bad error-after=40 ! opencl"))
    view.play()
    run_until(view, lambda: view.failed, 10, may_fail=True)
    assert view.messages.bar.get_mapped() and view.messages.text.get_text().startswith("bad: ")
    view.pipeline.get_by_name("bad").set_property("error-after", -1)
    assert view.replay.get_mapped()
    view.replay.clicked()
    run_until(view, lambda: plays(view), 10)
    assert not view.messages.bar.get_visible() and not view.failed
    close(view)


def check_preset_of_twins():
    """Checks that a preset finds two elements of one kind that both have another name."""
    line = "videotestsrc is-live=true ! openclupload ! matteshape name={} ! matteshape name={}"
    view = pipeline.view_of(line.format("one", "two"))
    for element, grow in ("one", "3"), ("two", "5"):
        assert view.controls.row(element, "grow").set(grow)
    presets.save("twins", view.controls.rows)
    close(view)
    other = pipeline.view_of(line.format("left", "right"))
    assert presets.load("twins", other.controls.rows) == []
    grown = [other.pipeline.get_by_name(name).get_property("grow") for name in ("left", "right")]
    assert grown == [3, 5], grown
    close(other)
    presets.delete("twins")


def check_edges():
    """The colours of the first and of the last column are taken of frames with an odd width."""
    frame = np.zeros((97, 484), np.uint8)  # rows of 161 pixels
    frame[:, :3], frame[:, 480:483], frame[:, 3:6], frame[:, 477:480] = (1, 2, 3), (4, 5, 6), 90, 90
    caps = gtk.Gst.Caps.from_string("video/x-raw,format=RGB,width=161,height=97,framerate=1/1")
    sink = mock.Mock()
    sink.get_property = {
        "last-sample": gtk.Gst.Sample.new(gtk.Gst.Buffer.new_wrapped(frame.tobytes()), caps),
        "widget": mock.Mock(**{"get_allocation.return_value": mock.Mock(width=322, height=194)}),
        "force-aspect-ratio": True}.get
    for x, colour in (0, 0xff010203), (1.9, 0xff010203), (2, 0xff5a5a5a), (319.9, 0xff5a5a5a), \
            (320, 0xff040506), (321.9, 0xff040506), (322, None), (-0.1, None):
        for y in 0, 193.9:
            assert pictures.colour_at(sink, x, y) == colour, (x, y, colour)


def check_presets():
    """Checks that a preset restores the values of all controls, also of an element of another
    name."""
    line = "octtestsrc is-live=true ! octwindowinterp name=interp ! octfft name={} ! " \
           "openclconvert ! chromakey name=key"
    view = pipeline.view_of(line.format("fft"))
    for element, name, text in (("fft", "db-min", "30"), ("fft", "flip", "true"),
                                ("interp", "window", "blackman"), ("key", "key-colors", "<1, 2>"),
                                ("fft", "db-max", "70"), ("key", "key-color", "0x80102030")):
        assert view.controls.row(element, name).set(text), name
    saved = [properties.read_text(row.element, row.spec) for row in view.controls.rows]
    view.presets.entry.set_text("../bad")
    view.presets.save()
    assert "../bad" in view.messages.text.get_text()
    view.presets.entry.set_text("my eye")
    view.presets.save()
    view.presets.list_presets()
    before = presets.path_of("my eye").read_bytes()
    with full_disk():
        view.presets.entry.set_text("my eye")
        view.presets.save()
    assert "File too large" in view.messages.text.get_text()
    assert presets.path_of("my eye").read_bytes() == before
    names = [name for _, name in check_names(view.presets.list)]
    assert names == ["Load my eye", "Delete my eye"], names
    for name in "fft", "depths":
        other = pipeline.view_of(line.format(name))
        other.presets.load("my eye")
        assert [properties.read_text(row.element, row.spec) for row in other.controls.rows] == saved
        assert "loaded." in other.messages.text.get_text()
        close(other)
    check_preset_of_twins()
    path = presets.path_of("my eye")
    path.write_text(path.read_text().replace('"db-min": "30"', '"db-min": "thirty"')
                    .replace('"db-max": "70"', '"no-such": "1", "db-max": "71"')
                    .replace('"auto-key": "none"', '"auto-key": "top-left", "adaptive": "false"'))
    other = pipeline.view_of(line.format("fft"))
    other.presets.load("my eye")
    said = other.messages.text.get_text()
    assert all(part in said for part in (str(path), "fft.db-min=thirty", "use plate=none", "use auto-key=rectangle")), said
    assert "loaded." not in said, said
    assert other.pipeline.get_by_name("fft").get_property("db-max") == 71
    assert "expected a number" in other.controls.row("fft", "db-min").note.get_text()
    path.write_text(path.read_text().replace("thirty", "30")
                    .replace('"top-left", "adaptive": "false"', '"none"'))
    other.presets.load("my eye")
    said = other.messages.text.get_text()
    assert "loaded." in said and "does not have fft.no-such" in said, said
    close(other)
    other = pipeline.view_of("videotestsrc ! openclupload ! chromakey name=key")
    other.presets.load("my eye")
    assert "does not have" in other.messages.text.get_text()
    assert "interp" in other.messages.text.get_text()
    close(other)
    view.presets.delete("my eye")
    assert not view.presets.list.get_children()
    view.presets.load("my eye")
    assert "my eye" in view.messages.text.get_text()
    close(view)


def check_start():
    """Checks what the first page opens, and that it shows why that failed."""
    opened = []

    def run(words):
        opened.append(words)
        return subprocess.Popen([sys.executable, PROGRAM, *words], stderr=subprocess.PIPE,
                                text=True)

    page = start.Start(run)
    page.window.show_all()
    check_names(page.window)
    page.failed = None
    page.line.set_text("")
    page.line.emit("activate")
    assert page.messages.bar.get_mapped() and not opened
    page.line.set_text("filesrc location=/nowhere ! openclupload")
    page.line.emit("activate")
    assert not page.window.get_visible()
    run_until(page, page.window.get_visible, 20)
    assert "/nowhere" in page.messages.text.get_text(), page.messages.text.get_text()
    page.run = (lambda words: opened.append(words) or run_nothing())
    for label, words in ("_Phantom", ["--oct"]), ("_Camera", ["--key"]):
        button = next(child for child in descendants(page.window)
                      if isinstance(child, gtk.Gtk.Button) and child.get_label() == label)
        button.clicked()
        assert opened[-1] == words
        gtk.Gtk.main()  # ends with the program
    page.window.destroy()


def run_nothing():
    return subprocess.Popen(["true"], stderr=subprocess.PIPE, text=True)


def check_program():
    """Checks the exit status at the end of the stream, and where a pipeline cannot play."""
    for words, status, reason in (
        (["--quit-at-end", *LINE.format(5).split()], 0, ""),
        (["filesrc", "location=/nowhere"], 1, "filesrc0: "),
        (["videotestsrc", "!", "no_such_element"], 1, "opencl-view: "),
        (["videotestsrc", "name=a\t!\tfilesink\tlocation=pwned"], 2, "opencl-view: 'name=a\\t!"),
        (["--no-such-option"], 2, "opencl-view: no such option (see --help): --no-such-option"),
        (["--quit-at-end", "videotestsrc", "!", "identity", "error-after=20", "!", "openclupload"],
         1, "identity0: "),
    ):
        done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True,
                              text=True, timeout=100, check=False)
        # GdkPixbuf may warn that it has no sandbox for its decoders.
        said = [line for line in done.stderr.splitlines() if not line.startswith("WARNING: Glycin")]
        assert done.returncode == status and "\n".join(said).startswith(reason), done
    for words, entry in ((["a.OCT"], "--oct"), (["b.npy"], "--oct"), (["c.mkv"], "--key")):
        assert main.entry_of(words) == [entry, "--", *words]
    assert main.entry_of(["filesrc", "location=c.mkv"]) == ["filesrc", "location=c.mkv"]


with screen(), tempfile.TemporaryDirectory() as folder:
    os.environ["XDG_CONFIG_HOME"] = folder
    os.chdir(folder)
    # GTK connects to the display when it is imported.
    gi.require_version("Atk", "1.0")
    from gi.repository import Atk
    from gstopencl.view import controls, gtk, main, pictures, pipeline, presets, properties, start

    gtk.need_display()
    for check in (check_window, check_colours, check_enter, check_kinds, check_wheel, check_end,
                  check_pick, check_film, check_failure, check_edges, check_presets, check_start,
                  check_program):
        print(check.__name__, flush=True)
        check()
    os.chdir("/")
