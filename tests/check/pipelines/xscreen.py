"""What tests of windows share: a screen of their own, and what is to be seen on it.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import ctypes
import os
import subprocess
import tempfile

import numpy as np


@contextlib.contextmanager
def screen():
    """An X server, as DISPLAY."""
    read, write = os.pipe()
    server = subprocess.Popen(
        # Which ends with a test that is killed, and keeps none of its output open
        [
            "setpriv", "--pdeathsig", "TERM", "Xvfb", "-displayfd", str(write),
            "-screen", "0", "1280x1024x24", "-noreset", "-nolisten", "tcp",
        ],
        pass_fds=[write],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    os.close(write)
    number = os.read(read, 16).decode().strip()
    assert number, "no X server"
    os.environ["DISPLAY"] = f":{number}"
    os.environ.pop("WAYLAND_DISPLAY", None)
    # OpenGL on a CPU is late on a loaded machine, and names no window after the program.
    os.environ["GST_PLUGIN_FEATURE_RANK"] = "glimagesink:NONE"
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def levels_on_screen():
    """How many levels of gray it shows; an empty one shows one."""
    with tempfile.NamedTemporaryFile() as shown:
        subprocess.run(
            "gst-launch-1.0 -q ximagesrc num-buffers=1 show-pointer=false ! videoconvert"
            f" ! video/x-raw,format=GRAY8 ! filesink location={shown.name}".split(),
            check=True, timeout=100)
        return len(np.unique(np.fromfile(shown.name, np.uint8)))


def turn_wheel(x, y, steps):
    """The pointer's wheel at a place of the screen, down where steps are above 0"""
    x11, xtest = ctypes.CDLL("libX11.so.6"), ctypes.CDLL("libXtst.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    display = ctypes.c_void_p(x11.XOpenDisplay(None))
    assert display, "no X server"
    xtest.XTestFakeMotionEvent(display, -1, x, y, ctypes.c_ulong(0))
    for _ in range(abs(steps)):
        for pressed in 1, 0:
            xtest.XTestFakeButtonEvent(display, 5 if steps > 0 else 4, pressed, ctypes.c_ulong(0))
    x11.XCloseDisplay(display)
