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
  --debug         show where an error comes from
  -h, --help      show this text

Enter applies numbers and texts. Colours are shown as 0xAARRGGBB and accept hexadecimal and decimal
numbers; their swatch opens a colour dialog, and the button beside it takes a colour from the
picture. F1 shows the keys. At the end of the stream the last frame stays until the window is
closed. An error is shown in the window, or printed if the pipeline has not shown a frame.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import pathlib

from .arguments import check_utf8

# Modules that take the words after an entry. They are imported when they are used, so that --help
# works without GTK.
ENTRIES = {"--oct": "gstopencl.view.oct", "--key": "gstopencl.view.key"}
PIPELINE, START = "gstopencl.view.pipeline", "gstopencl.view.start"
RECORDINGS, FILMS = (".oct", ".npy"), (".mp4", ".mkv", ".webm", ".avi", ".mov")
SUFFIXES = {**dict.fromkeys(RECORDINGS, "--oct"), **dict.fromkeys(FILMS, "--key")}


def entry_of(words):
    """Returns the words with --oct or --key before a single file, by the end of its name. The name
    may begin with a minus sign."""
    suffix = pathlib.Path(words[0]).suffix.lower() if len(words) == 1 else ""
    return [SUFFIXES[suffix], "--", *words] if suffix in SUFFIXES else words


def main(words):
    words = entry_of(words)
    check_utf8(words)  # GTK reads them when it is imported
    if words and words[0] in ("-h", "--help"):
        print(__doc__.partition("SPDX")[0].rstrip())
    elif words and words[0] in ENTRIES:
        importlib.import_module(ENTRIES[words[0]]).main(words[1:])
    else:
        importlib.import_module(PIPELINE if words else START).main(words)
