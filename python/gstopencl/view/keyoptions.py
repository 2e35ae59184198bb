"""Options of opencl-view --key, whose help needs no window

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from ..keying.arguments import INPUT, KEY, RESULT, SETTINGS, add_options
from .arguments import Parser

PROGRAM = "opencl-view --key"
ABOUT = """\
Keys a film, a picture or a camera before a green or blue screen, and shows it over a background.
Without FILE, keys the first camera, or a test picture if there is none. The window shows the
original, the matte, the result, or original and result beside each other. A picture, a film or a
colour that is dropped on the window becomes the background."""
EXAMPLES = """\
examples:
  opencl-view --key --background beach.jpg actor.mp4
  opencl-view --key --background 203060 --loopback /dev/video9 /dev/video0
opencl-key does the same without a window, and keeps alpha in files. docs/keying.md says how to
choose the settings."""


def parser():
    made = Parser(prog=PROGRAM, usage=f"{PROGRAM} [OPTION…] [FILE | DEVICE]", description=ABOUT,
                  epilog=EXAMPLES)
    add = made.add_argument
    add("file", nargs="?", metavar="FILE", help="film or picture, or a camera such as /dev/video0")
    add("--background", metavar="FILE|RRGGBB", default="808080",
        help="a picture, a film or a colour (grey)")
    add_options(made, {"camera": INPUT["camera"], "size": RESULT["size"], "device": RESULT["device"],
                       "key": KEY["key"], **SETTINGS})
    add("--network", metavar="MODEL", help="garbage and holdout mattes from an ONNX file that "
        "finds people")
    add("--model", metavar="MODEL", help="no screen: an ONNX file finds the person")
    add("--output", metavar="FILE", help="records from the first frame on: .mkv, .mp4 or "
        ".webm; or a virtual camera, as --loopback")
    add("--microphone", action="store_true", help="records the sound of the microphone")
    add("--loopback", metavar="DEVICE", help="feeds a virtual camera, such as /dev/video9")
    add("--loop", action="store_true", help="plays a film again at its end")
    add("--quit-at-end", action="store_true", help="closes the window at the end of a film")
    add("--print", action="store_true", help="prints the pipeline as a command, and plays nothing")
    return made


def main(words):
    """Prints the help or the version."""
    parser().parse_args(words)
