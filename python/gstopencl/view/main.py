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
import importlib
import sys

from .gtk import GLib, Gst, need_display
from .window import View, show

ENTRIES = {"--oct": "gstopencl.view.oct", "--key": "gstopencl.view.key"}
SHOW = " ! opencldownload ! videoconvert ! gtksink name=opencl_view_sink"


def view_of(line, quit_at_end=False):
    """Returns the view of a pipeline with one video output."""
    pipeline = Gst.parse_launch(line + SHOW)
    return View(pipeline, [pipeline.get_by_name("opencl_view_sink")], quit_at_end)


def main():
    words = sys.argv[1:]
    if words and words[0] in ENTRIES:
        importlib.import_module(ENTRIES[words[0]]).main(words[1:])
        return
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
