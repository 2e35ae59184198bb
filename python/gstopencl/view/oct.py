"""opencl-view --oct: live OCT in a window

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes
import os
import sys

from ..launch import printed
from .arguments import Refused
from .octoptions import options_of
from .octpipeline import check_size, words_of

PROGRAM = "opencl-view"


def enable_fake_camera():
    """Lets Aravis list its simulated camera Fake_1, for trying without an instrument."""
    try:
        ctypes.CDLL("libaravis-0.8.so.0").arv_enable_interface(b"Fake")
    except OSError as error:
        raise Refused(f"--camera: {error}") from None


def live_of(options):
    """Returns the window of the options. Raises ValueError and GLib.Error."""
    from .octwindow import MISSING, Live  # which needs a display

    doubt = check_size(options)
    if (options.camera or "").startswith("Fake_"):
        enable_fake_camera()
    live = Live(words_of(options), options.folder.resolve(), options.kind, options.record,
                repeat=bool(options.file), quit_at_end=bool(options.frames))
    if doubt:
        live.warned.add(MISSING)  # the window shows one sentence at a time
        live.warn(doubt)
    return live


def play(options):
    """Shows the window until it is closed."""
    from .gtk import GLib, need_display
    from .window import show

    need_display(PROGRAM)
    try:
        live = live_of(options)
    except (ValueError, GLib.Error) as error:
        raise Refused(getattr(error, "message", error)) from None
    show(live)


def main(words):
    """Runs opencl-view --oct with its arguments. --help and --print work without GTK."""
    try:
        options = options_of(words)
        if options.device:
            os.environ["GST_OPENCL_DEVICE"] = options.device
        if options.print:
            print(printed(words_of(options)))
        else:
            play(options)
    except Refused as refused:
        sys.exit(f"{PROGRAM}: {refused}")
