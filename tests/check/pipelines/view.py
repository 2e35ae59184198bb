#!/usr/bin/env python3
"""Promises: opencl-view shows the output of a pipeline, with a control for each property of this
project's elements that may change while playing. Controls set the properties. Neither Enter nor the
mouse wheel changes a value by accident, and the last frame stays at the end of a stream.

usage: view.py OPENCL-VIEW

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import subprocess
import sys
import time

from xscreen import levels_on_screen, screen, turn_wheel

LINE = "octtestsrc name=source num-buffers={} is-live=true ! " \
       "video/x-raw(memory:OpenCLMemory),width=512,height=256,framerate=25/1 ! " \
       "octwindowinterp name=interp ! octfft name=fft ! openclconvert"


def run_until(view, what, timeout=100):
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, "waited in vain"
        assert not view.failed, view.failed
        gtk.GLib.timeout_add(500, gtk.Gtk.main_quit)
        gtk.Gtk.main()


def controls_in(widget):
    """Returns all controls by name: element.property."""
    found = {widget.get_name(): widget} if "." in widget.get_name() else {}
    for child in widget.get_children() if isinstance(widget, gtk.Gtk.Container) else []:
        found.update(controls_in(child))
    return found


def check_turning(view, found):
    fft, interp = (view.pipeline.get_by_name(name) for name in ("fft", "interp"))
    found["fft.db-max"].get_adjustment().set_value(77)
    assert fft.get_property("db-max") == 77
    found["fft.flip"].set_active(True)
    assert fft.get_property("flip")
    found["interp.window"].set_active_id("blackman")
    assert interp.get_property("window").value_nick == "blackman"
    entry = found["interp.dispersion-a2"]
    entry.set_text("2.5e-5")
    entry.emit("activate")
    assert interp.get_property("dispersion-a2") == 2.5e-5
    entry.set_text("no number")
    entry.emit("activate")
    assert interp.get_property("dispersion-a2") == 2.5e-5 and entry.get_text() == "2.5e-05"


def check_window():
    view = main.view_of(LINE.format(-1))
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
    run_until(view, lambda: view.status.get_text() not in ("", "0 frames/s"))
    view.pipeline.set_state(gtk.Gst.State.NULL)


def entry_in(control):
    """(nullable) the text field of a control, or the control itself if it is one"""
    if isinstance(control, gtk.Gtk.Entry):
        return control
    children = control.get_children() if isinstance(control, gtk.Gtk.Box) else []
    return next((child for child in children if isinstance(child, gtk.Gtk.Entry)), None)


def swatch_in(control):
    return next(child for child in control.get_children()
                if isinstance(child, gtk.Gtk.ColorButton))


def handle_events():
    while gtk.Gtk.events_pending():
        gtk.Gtk.main_iteration()


COLOURS = "chromakey.key-color", "flowkey.key-color", "keyfill.color", \
    "greenscreenbin.background-color", "greenscreenbin.key-color"


def check_colours():
    for name in COLOURS:
        factory, _, name = name.partition(".")
        element = gtk.Gst.ElementFactory.make(factory)
        element.set_property(name, 0xff20a040)
        control = controls.new_control(element, element.find_property(name))
        check_colour(element, name, entry_in(control), swatch_in(control))


def check_colour(element, name, entry, swatch):
    assert entry.get_text() == "0xff20a040", (name, entry.get_text())
    changes = []
    element.connect(f"notify::{name}", lambda *_: changes.append(element.get_property(name)))
    entry.emit("activate")
    assert not changes
    for text, colour in ("0x80102030", 0x80102030), ("4278190335", 0xff0000ff), \
            ("0XFF00FF00", 0xff00ff00), ("green", 0xff00ff00), ("", 0xff00ff00):
        entry.set_text(text)
        entry.emit("activate")
        assert element.get_property(name) == colour, (name, text)
        assert entry.get_text() == f"0x{colour:08x}", (name, text)
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


def awkward(spec):
    """A value that takes many digits to write"""
    if isinstance(spec.default_value, float):
        return min(max(-math.pi / 1000, spec.minimum), spec.maximum)
    return spec.maximum - 1 if isinstance(spec.default_value, int) else spec.default_value


def check_enter():
    """Checks that Enter in an unchanged field sets no property of any element."""
    fields = 0
    for plugin in controls.PLUGINS:
        for feature in gtk.Gst.Registry.get().get_feature_list_by_plugin(plugin):
            element = isinstance(feature, gtk.Gst.ElementFactory) and feature.create()
            for spec in controls.properties_of(element) if element else []:
                entry = entry_in(controls.new_control(element, spec))
                if entry:
                    check_enter_of(element, spec)
                    fields += 1
    assert fields > 50, fields


def check_enter_of(element, spec):
    element.set_property(spec.name, awkward(spec))
    handle_events()
    entry = entry_in(controls.new_control(element, spec))
    before, changes = element.get_property(spec.name), []
    element.connect(f"notify::{spec.name}", lambda *_: changes.append(spec.name))
    entry.emit("activate")
    assert not changes and element.get_property(spec.name) == before, (spec, before)
    if not isinstance(before, str) and before is not None:
        entry.set_text(entry.get_text() + " ")
        entry.emit("activate")
        assert element.get_property(spec.name) == before, (spec, before)


def centre_on_screen(widget, window):
    size = widget.get_allocation()
    x, y = widget.translate_coordinates(window, size.width // 2, size.height // 2)
    _, left, top = window.get_window().get_origin()
    return left + x, top + y


def check_wheel():
    """Checks that the mouse wheel over a scale or over choices scrolls the controls."""
    view = main.view_of(LINE.format(-1))
    found = controls_in(view.window)
    view.play()
    run_until(view, lambda: levels_on_screen() > 100)
    for name in "source.noise", "interp.window":
        control = found[name]
        element, spec = view.pipeline.get_by_name(name.split(".")[0]), name.split(".")[1]
        area = control.get_ancestor(gtk.Gtk.ScrolledWindow)
        scrolled = area.get_vadjustment()
        _, top = control.translate_coordinates(area.get_child().get_child(), 0, 0)
        scrolled.set_value(max(top - 50, 0)) # into view
        gtk.GLib.timeout_add(300, gtk.Gtk.main_quit)
        gtk.Gtk.main()
        before, above = element.get_property(spec), scrolled.get_value()
        turn_wheel(*centre_on_screen(control, view.window), 3)
        run_until(view, lambda: scrolled.get_value() > above
                  or element.get_property(spec) != before)
        assert element.get_property(spec) == before, name
    view.stop()
    view.window.destroy()


def check_end():
    """Checks that the last frame stays at the end, and that the pipeline plays again."""
    view = main.view_of(LINE.format(10))
    view.play()
    for _ in range(2):
        run_until(view, lambda: "end of stream" in view.status.get_text())
        assert view.replay.get_visible()
        assert levels_on_screen() > 100
        view.replay.clicked()
        assert "end of stream" not in view.status.get_text() and not view.replay.get_visible()
    run_until(view, lambda: view.replay.get_visible())
    view.window.close()
    gtk.Gtk.main()
    assert not view.failed, view.failed
    view.window.destroy()


def check_program():
    """Checks the exit status at the end of the stream, and where a pipeline cannot play."""
    for words, status, reason in (
        (["--quit-at-end", *LINE.format(5).split()], 0, ""),
        (["filesrc", "location=/nowhere"], 1, "filesrc0: "),
    ):
        done = subprocess.run([sys.executable, sys.argv[1], *words], capture_output=True,
                              text=True, timeout=100, check=False)
        assert done.returncode == status and done.stderr.startswith(reason), done


with screen():
    # GTK connects to the display when it is imported.
    from gstopencl.view import controls, gtk, main

    gtk.Gst.init(None)
    assert gtk.Gtk.init_check(None)[0]
    for check in (check_window, check_colours, check_enter, check_wheel, check_end,
                  check_program):
        print(check.__name__, flush=True)
        check()
