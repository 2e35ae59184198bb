"""X screen for tests of windows, and functions that read its pixels.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import ctypes
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np

# The file of the screen, in XWD format: its first number is the offset of the colours, the
# twentieth the number of colours (12 bytes each), which precede the pixels.
frame_buffer = None
WIDTH, HEIGHT = 1280, 1024


@contextlib.contextmanager
def screen():
    """Runs an X server and sets DISPLAY."""
    global frame_buffer
    folder = tempfile.TemporaryDirectory()
    frame_buffer = pathlib.Path(folder.name) / "Xvfb_screen0"
    read, write = os.pipe()
    server = subprocess.Popen(
        # The server ends if the test is killed, and does not keep its output open.
        [
            "setpriv", "--pdeathsig", "TERM", "Xvfb", "-displayfd", str(write),
            "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-fbdir", folder.name,
            "-noreset", "-nolisten", "tcp",
        ],
        pass_fds=[write],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    os.close(write)
    number = os.read(read, 16).decode().strip()
    assert number, "no X server"
    os.environ["DISPLAY"] = f":{number}"
    os.environ.pop("WAYLAND_DISPLAY", None)
    # OpenGL on a CPU is slow on a loaded machine, and its windows do not have the program's name.
    os.environ["GST_PLUGIN_FEATURE_RANK"] = "glimagesink:NONE"
    try:
        yield
    finally:
        server.terminate()
        server.wait()
        folder.cleanup()


def greens_on_screen():
    """Returns the green of each pixel of the screen."""
    shown = frame_buffer.read_bytes()
    header, colours = (int.from_bytes(shown[at : at + 4], "big") for at in (0, 76))
    pixels = np.frombuffer(shown, np.uint8, WIDTH * HEIGHT * 4, header + 12 * colours)
    return pixels.reshape(HEIGHT, WIDTH, 4)[..., 1]


def levels_on_screen():
    """Returns the number of levels of green on the screen; an empty screen has one."""
    return len(np.unique(greens_on_screen()))


def press_button(x, y, button, times=1):
    """Presses and releases a mouse button at a position of the screen: 1 is the left one, 4 and 5
    turn the wheel up and down."""
    x11, xtest = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    display = ctypes.c_void_p(x11.XOpenDisplay(None))
    assert display, "no X server"
    xtest.XTestFakeMotionEvent(display, -1, x, y, ctypes.c_ulong(0))
    for _ in range(times):
        for pressed in 1, 0:
            xtest.XTestFakeButtonEvent(display, button, pressed, ctypes.c_ulong(0))
    x11.XCloseDisplay(display)


def turn_wheel(x, y, steps):
    """Turns the mouse wheel at a position of the screen, down if `steps` is above 0."""
    press_button(x, y, 5 if steps > 0 else 4, abs(steps))


def run_until(view, what, timeout=100, may_fail=False, say=lambda: "waited in vain"):
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, say()
        assert may_fail or not view.failed, view.failed
        run_for(100)


def run_for(milliseconds):
    from gi.repository import GLib, Gtk  # these connect to the display
    GLib.timeout_add(milliseconds, Gtk.main_quit)
    Gtk.main()


def close(view):
    view.stop()
    view.window.destroy()
