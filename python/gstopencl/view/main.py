"""opencl-view: plays a pipeline in a window, with its frame rate and controls for its properties

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import pathlib

from .arguments import Parser, check_utf8

USAGE = """\
opencl-view                                lets you choose what to open
       opencl-view FILE                           .oct, .npy: --oct; .mp4, .mkv …: --key
       opencl-view --oct [OPTION…] [FILE]         a camera, a recording or a phantom
       opencl-view --key [OPTION…] [FILE]         a green screen: a camera or a film
       opencl-view [OPTION…] ELEMENT [PROPERTY=VALUE…] ! ELEMENT …

Plays live OCT, a green screen, or any pipeline in a window. The words of a pipeline are those of
gst-launch-1.0, without a sink, which opencl-view adds. Each element of this project has a control
for each property that may change while it plays."""
EXAMPLES = """\
Examples:
  opencl-view octtestsrc is-live=true ! octwindowinterp ! octfft
  opencl-view v4l2src ! videoconvert ! openclupload ! chromakey method=difference \\
      auto-key=screen ! keyfill method=composite

Enter applies numbers and texts. Colours are shown as 0xAARRGGBB and accept hexadecimal and decimal
numbers; their swatch opens a colour dialog, and the button beside it takes a colour from the
picture. F1 shows the keys. At the end of the stream the last frame stays until the window is
closed. An error is shown in the window, or printed if the pipeline has not shown a frame."""
# Modules that take the words after an entry. They are imported when they are used, so that --help
# works without GTK.
ENTRIES = {"--oct": "gstopencl.view.oct", "--key": "gstopencl.view.key"}
PIPELINE, START = "gstopencl.view.pipeline", "gstopencl.view.start"
RECORDINGS, FILMS = (".oct", ".npy"), (".mp4", ".mkv", ".webm", ".avi", ".mov")
SUFFIXES = {**dict.fromkeys(RECORDINGS, "--oct"), **dict.fromkeys(FILMS, "--key")}
ASKS = {"-h", "--help", "--version"}


def entry_of(words):
    """Returns the words with --oct or --key before a single file, by the end of its name. The name
    may begin with a minus sign."""
    suffix = pathlib.Path(words[0]).suffix.lower() if len(words) == 1 else ""
    return [SUFFIXES[suffix], "--", *words] if suffix in SUFFIXES else words


def parser():
    made = Parser(prog="opencl-view", usage=USAGE, epilog=EXAMPLES)
    for option, text in (("--oct", "live OCT: --oct --help lists its options"),
                         ("--key", "a green screen: --key --help lists its options"),
                         ("--loop", "starts again at the end"),
                         ("--quit-at-end", "closes the window at the end or at an error")):
        made.add_argument(option, action="store_true", help=text)
    return made


def main(words):
    words = entry_of(words)
    check_utf8(words)  # GTK reads them when it is imported
    if words and words[0] in ENTRIES:
        module = ENTRIES[words[0]]
        if words[0] == "--key" and ASKS & set(words):
            module = "gstopencl.view.keyoptions"
        importlib.import_module(module).main(words[1:])
    elif words and words[0] in ASKS:
        parser().parse_args(words[:1])
    else:
        importlib.import_module(PIPELINE if words else START).main(words)
