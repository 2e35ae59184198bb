#!/usr/bin/env python3
"""Promise: opencl-view shows a pipeline's picture, with a control for each property of ours
that may change while it plays; what is turned there is what the element has.

usage: view.py OPENCL-VIEW.PY

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib.util
import sys
import time

from xscreen import levels_on_screen, screen

LINE = "octtestsrc num-buffers={} is-live=true ! video/x-raw(memory:OpenCLMemory),width=512," \
       "height=256,framerate=25/1 ! octwindowinterp name=interp ! octfft name=fft ! openclconvert"


def load(path):
    spec = importlib.util.spec_from_file_location("opencl_view", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_until(view, what, patience=100):
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, "waited in vain"
        assert not view.failed, view.failed
        tool.GLib.timeout_add(500, tool.Gtk.main_quit)
        tool.Gtk.main()


def controls(widget):
    """By name: element.property"""
    found = {widget.get_name(): widget} if "." in widget.get_name() else {}
    for child in widget.get_children() if isinstance(widget, tool.Gtk.Container) else []:
        found.update(controls(child))
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
    view = tool.view_of(LINE.format(-1))
    found = controls(view.window)
    for element in "octtestsrc0", "interp", "fft":
        own = view.pipeline.get_by_name(element)
        for spec in own.list_properties():
            turned = spec.flags & tool.Gst.PARAM_MUTABLE_PLAYING
            assert not turned or f"{element}.{spec.name}" in found, (element, spec.name)
    assert not any(name.startswith("videoconvert") for name in found)
    view.play()
    run_until(view, lambda: levels_on_screen() > 100)
    check_turning(view, found)
    run_until(view, lambda: view.said.get_text() not in ("", "0 frames/s"))
    view.pipeline.set_state(tool.Gst.State.NULL)


def check_end():
    """What ends, and what cannot play, ends the window."""
    for line, reason in (LINE.format(5), None), ("filesrc location=/nowhere", "filesrc0: "):
        view = tool.view_of(line)
        view.play()
        tool.Gtk.main()
        assert (view.failed or "").startswith(reason or ""), view.failed
        assert bool(view.failed) == bool(reason)


with screen():
    tool = load(sys.argv[1])
    tool.Gst.init(None)
    assert tool.Gtk.init_check(None)[0]
    check_window()
    check_end()
