"""opencl-view --oct: live OCT in a window

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes

from ..launch import printed
from .arguments import Refused
from .octoptions import options_of
from .octpipeline import check_size, words_of


def enable_fake_camera():
    """Lets Aravis list its simulated camera Fake_1, for trying without an instrument."""
    ctypes.CDLL("libaravis-0.8.so.0").arv_enable_interface(b"Fake")


def keep_frames(source):
    """Copies the frames of aravissrc, which gives the memory of a frame back to the driver when it
    pushes the frame. Frames that wait for a disk would be overwritten."""
    from ..memory import copy_buffer
    from .gtk import Gst

    if source.get_factory().get_name() == "aravissrc":
        source.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, copy_buffer)


def check_printed(options):
    """Raises Refused for a camera that gst-launch-1.0 does not have."""
    if (options.camera or "").startswith("Fake_"):
        raise Refused(f"--camera {options.camera}: exists in this program only; for gst-launch-1.0 "
                      "start arv-fake-gv-camera-0.8 -i 127.0.0.1, whose camera is Aravis-Fake-GV01")


def live_of(options):
    """Returns the window of the options. Raises ValueError and GLib.Error."""
    from .octwindow import MISSING, Live  # which needs a display

    doubt = check_size(options)
    if (options.camera or "").startswith("Fake_"):
        enable_fake_camera()
    live = Live(words_of(options), options.folder.resolve(), options.kind, options.record,
                repeat=bool(options.file), quit_at_end=bool(options.frames))
    keep_frames(live.source())
    if doubt:
        live.warned.add(MISSING)  # the window shows one sentence at a time
        live.warn(doubt)
    return live


def main(words):
    """Runs opencl-view --oct with its arguments. --help and --print work without GTK."""
    options = options_of(words)
    if options.print:
        check_printed(options)
        print(printed(words_of(options)))
        return
    from .gtk import need_display
    from .window import show

    need_display()
    show(live_of(options))
