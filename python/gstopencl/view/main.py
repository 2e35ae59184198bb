"""opencl-view: plays a pipeline in a window, with its frame rate and controls for its properties.

opencl-view                                           lets you choose what to open
opencl-view [OPTION...] ELEMENT [PROPERTY=VALUE...] ! ELEMENT ...
opencl-view --oct [OPTION...] [FILE]                  a camera, a recording or a phantom
opencl-view --key [OPTION...] [FILE]                  a green screen: a camera or a film
opencl-view FILE                                      .oct, .npy: --oct; .mp4, .mkv ...: --key

The arguments are those of gst-launch-1.0, without a sink, which opencl-view adds. Each element of
this project has a control for each property that may change while it plays. --oct --help and
--key --help list the options of these.

  opencl-view octtestsrc is-live=true ! octwindowinterp ! octfft
  opencl-view v4l2src ! videoconvert ! openclupload ! chromakey method=difference \\
      auto-key=screen ! keyfill method=composite

Options:
  --loop          start again at the end
  --quit-at-end   close the window at the end of the stream or at an error
  -h, --help      show this text

Enter applies numbers and texts. Colours are shown as 0xAARRGGBB and accept hexadecimal and decimal
numbers; their swatch opens a colour dialog, and the button beside it takes a colour from the
picture. F1 shows the keys. At the end of the stream the last frame stays until the window is
closed. An error is shown in the window, or printed if the pipeline has not shown a frame.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import pathlib
import sys

from .gtk import GLib, Gst, need_display
from .window import View, show

ENTRIES = {"--oct": "gstopencl.view.oct", "--key": "gstopencl.view.key"}
SUFFIXES = {
    **dict.fromkeys((".oct", ".npy"), "--oct"),
    **dict.fromkeys((".mp4", ".mkv", ".webm", ".avi", ".mov"), "--key"),
}
OPTIONS = "--quit-at-end", "--loop"
SHOW = " ! opencldownload ! videoconvert ! gtksink name=opencl_view_sink"


def view_of(line, quit_at_end=False):
    """Returns the view of a pipeline with one video output. `line`: text, or words of a shell,
    which may contain spaces"""
    pipeline = (Gst.parse_launch(line + SHOW) if isinstance(line, str)
                else Gst.parse_launchv([*line, *SHOW.split()]))
    return View(pipeline, [pipeline.get_by_name("opencl_view_sink")], quit_at_end)


def entry_of(words):
    """Returns the words with --oct or --key before a single file, by the end of its name."""
    suffix = pathlib.Path(words[0]).suffix.lower() if len(words) == 1 else ""
    return [SUFFIXES[suffix], *words] if suffix in SUFFIXES else words


def play(words):
    """Shows the pipeline that the words describe, after their options."""
    options = set()
    while words and words[0] in OPTIONS:
        options.add(words.pop(0))
    if not words:
        sys.exit("opencl-view: no pipeline is given; --help shows how")
    if words[0].startswith("-"):
        sys.exit(f"opencl-view: unknown option {words[0]}; --help lists the options")
    need_display("opencl-view")
    try:
        view = view_of(words[0] if len(words) == 1 else words, "--quit-at-end" in options)
    except GLib.Error as error:
        sys.exit(f"opencl-view: {error.message}")
    view.transport.loop.set_active("--loop" in options)
    show(view)


def main():
    GLib.set_prgname("opencl-view")  # the name of the .desktop file, for the icon of the window
    words = entry_of(sys.argv[1:]) if sys.argv[1:] else []
    if not words:
        importlib.import_module("gstopencl.view.start").main()
    elif words[0] in ("-h", "--help"):
        print(__doc__.partition("SPDX")[0].rstrip())
    elif words[0] in ENTRIES:
        importlib.import_module(ENTRIES[words[0]]).main(words[1:])
    else:
        play(words)
