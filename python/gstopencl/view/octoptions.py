"""Options of opencl-view --oct

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import pathlib
import re
import sys

NUMBER = r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
HEADER = """opencl-view --oct [OPTION…] [FILE]

Shows live OCT in a window: B-scans, the en face projection, the spectrum and the A-scan with their
numbers, and the levels of the B-scan. The input is a simulated sample, FILE, or a camera. The
window records, and calibrates from two mirrors.

FILE is a .npy file of uint16, float32 or float64, of shape (lines, samples) or (frames, lines,
samples), a Thorlabs .oct recording, which needs no further options, or raw samples, A-line by
A-line, which need --size. It is played again and again."""
KEYS = """Keys: up and down turn white, right and left black, r finds the range by itself, + and -
average more or fewer B-scans, the space bar begins and ends a recording, m plots the mean of all
A-lines, o begins and ends the curve of sensitivity over depth (move a mirror), q ends. A click
into the B-scan plots one A-line.

A recording is oct-DATE-TIME.npy with the spectra as they come, oct-DATE-TIME-depths.npy with their
complex depths, or both. The .txt beside it is a file for --settings, and names the properties of
all elements.

Examples:
  opencl-view --oct --wavelength-range 1187,1433 --depth 8,400 spectra.npy
  opencl-view --oct --camera Basler-123 --size 2048x1000 --settings settings.txt --folder today"""


class Refused(Exception):
    """An option that cannot be used, with the reason"""


def of_pattern(pattern, expected):
    """Returns a type for argparse: a text that matches the whole pattern."""
    def read(text):
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"expected {expected}")
        return text
    return read


def existing(text):
    if not pathlib.Path(text).is_file():
        raise argparse.ArgumentTypeError("no such file")
    return text


COUNT = of_pattern(r"[1-9]\d{0,4}", "a whole number")
SIZE = of_pattern(r"[1-9]\d{0,8}x[1-9]\d{0,8}", "SAMPLESxLINES, such as 2048x999")
BITS = {"8": "U8", "16": "U16LE"}
# option, placeholder, check of the value, properties of octwindowinterp, explanation
CALIBRATION = (
    ("--wavelengths", "FILE", existing, ["wavelengths"],
     "wavelength of each sample, .npy or text"),
    ("--wavelength-range", "MIN,MAX",
     of_pattern(r"[\d.]+,[\d.]+", "MIN,MAX, such as 1187,1433"),
     ["wavelength-min", "wavelength-max"],
     "wavelengths of the first and the last sample, evenly spaced"),
    ("--wavelength-unit", "UNIT", of_pattern("nm|um|m", "nm, um or m"), ["wavelength-unit"],
     "nm, um or m: depths and widths are then in µm"),
    ("--resample-map", "FILE", existing, ["resample-map"],
     "fractional sample of each even wavenumber, .npy or text"),
    ("--settings", "FILE", existing, ["settings"],
     "lines of NAME=VALUE, as oct-calibrate and this window write them"),
    ("--dispersion", "A2,A3", of_pattern(f"{NUMBER},{NUMBER}", "A2,A3, such as 8e-5,2.7e-9"),
     ["dispersion-a2", "dispersion-a3"],
     "in rad, as exp(-i (A2 q² + A3 q³)), q = m - N/2"),
    ("--dispersion-phase", "FILE", existing, ["dispersion-phase"],
     "phase of each even wavenumber in rad"),
    ("--background", "METHOD", of_pattern("none|frame", "none or frame"), ["background"],
     "none or frame: what to subtract (default: that of a .oct recording, frame for the simulated "
     "sample, else none)"),
)
CALIBRATES = {"wavelengths", "wavelength-min", "resample-map", "settings"}


class Properties(argparse.Action):
    """Collects NAME=VALUE of each property that an option sets, in the order of the options."""

    def __init__(self, names=(), **more):
        super().__init__(default=[], **more)
        self.names = names

    def __call__(self, parser, namespace, value, option=None):
        values = [value] if len(self.names) == 1 else value.split(",")
        so_far = getattr(namespace, self.dest)
        setattr(namespace, self.dest,
                [*so_far, *(f"{name}={part}" for name, part in zip(self.names, values))])


class Parser(argparse.ArgumentParser):
    """Reports a refused option in one sentence."""

    def error(self, message):
        found = re.fullmatch(r"argument (.+?): (.*)", message)
        if found and found[1] in self.given:
            message = f"{found[1]} {self.given[found[1]]}: {found[2]}"
        elif found:
            message = f"{found[1]}: {found[2]}"
        raise Refused(message.replace("unrecognized arguments", "no such option (see --help)"))

    def read(self, words):
        """Parses words. An option's value may begin with a minus sign."""
        takes = {option: action.nargs != 0 for action in self._actions
                 for option in action.option_strings}
        self.given, joined, rest = {}, [], list(words)
        while rest:
            word = rest.pop(0)
            if takes.get(word) and rest:
                self.given[word] = rest.pop(0)
                word = f"{word}={self.given[word]}"
            joined.append(word)
        return self.parse_args(joined)


def add_input(parser):
    group = parser.add_argument_group("Input")
    group.add_argument("file", nargs="?", metavar="FILE", help=argparse.SUPPRESS)
    group.add_argument("--camera", metavar="NAME",
                       help="one of those that arv-tool-0.8 lists (GigE Vision and USB3 Vision), "
                       "or a video device such as /dev/video0")
    group.add_argument("--features", metavar="TEXT",
                       help='of the camera, such as "ExposureTime=20 LineRate=100000"')
    group.add_argument("--size", metavar="SAMPLESxLINES", type=SIZE,
                       help="size of a raw frame: samples per A-line, A-lines")
    group.add_argument("--bits", dest="format", metavar="8|16", default=argparse.SUPPRESS,
                       type=lambda text: BITS[of_pattern("8|16", "8 or 16")(text)],
                       help="of a raw sample, unsigned and little-endian (16)")
    group.add_argument("--format", metavar="FORMAT", default=argparse.SUPPRESS,
                       type=of_pattern("[A-Z][A-Z0-9]+", "a format of octrawparse, such as S16LE"),
                       help="of a raw sample, as in octrawparse: S16LE, F32LE, MONO12P …")
    group.add_argument("--full-scale", metavar="VALUE",
                       type=of_pattern(r"[1-9]\d{0,8}", "a whole number"),
                       help="samples from it on are saturated, such as 4095 for 12 bits (that of "
                       "the format)")
    group.add_argument("--header-bytes", metavar="COUNT", default="0",
                       type=of_pattern(r"0|[1-9]\d{0,8}", "a whole number"),
                       help="bytes before the first raw frame (0)")
    group.add_argument("--rate", metavar="FRAMES", type=COUNT, default="25",
                       help="a second, of a file (25)")
    group.add_argument("--pattern", metavar="NAME", default="layers",
                       type=of_pattern("layers|tissue|mirrors|flat",
                                       "layers, tissue, mirrors or flat"),
                       help="simulated sample: layers, tissue, mirrors or flat (layers)")


def add_calibration(parser):
    group = parser.add_argument_group(
        "Calibration (default: that of a .oct recording or of the simulated sample, else samples "
        "are even in wavenumber)")
    for option, metavar, kind, names, explanation in CALIBRATION:
        group.add_argument(option, action=Properties, dest="interp", names=names, type=kind,
                           metavar=metavar, help=explanation)


def add_pictures(parser):
    group = parser.add_argument_group("Pictures")
    group.add_argument("--b-scans", metavar="COUNT", type=COUNT, default="128",
                       help="in a volume: rows of the en face projection (128)")
    group.add_argument("--repeats", metavar="COUNT", type=COUNT, default="1",
                       help="of each B-scan, before the next one (1)")
    group.add_argument("--db", action=Properties, dest="range", names=["db-min", "db-max"],
                       type=of_pattern(f"{NUMBER},{NUMBER}", "MIN,MAX, such as -10,42"),
                       metavar="MIN,MAX", help="range in dB from black to white")
    group.add_argument("--depth", action=Properties, dest="fft",
                       names=["depth-start", "depth-count"], metavar="START,COUNT",
                       type=of_pattern(r"\d{1,9},\d{1,9}", "START,COUNT, such as 8,840"),
                       help="rows of the picture, in depth bins")
    group.add_argument("--no-signal", dest="signal", action="store_false",
                       help="no plots and no numbers of the spectrum and the A-scan")


def add_recording(parser):
    group = parser.add_argument_group("Recording")
    group.add_argument("--folder", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path("."),
                       help="(default: the current one)")
    group.add_argument("--record", action="store_true",
                       help="from the first frame on, not when the space bar is pressed")
    group.add_argument("--kind", metavar="KIND", default="raw",
                       type=of_pattern("raw|depths|both", "raw, depths or both"),
                       help="contents of recordings: raw, depths or both (raw)")
    group.add_argument("--frames", metavar="COUNT", type=COUNT, default=-1,
                       help="after which simulated samples and cameras end")


def parser_of_options(program):
    parser = Parser(prog=program, usage=HEADER, epilog=KEYS, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    add_input(parser)
    add_calibration(parser)
    add_pictures(parser)
    add_recording(parser)
    parser.add_argument("--print", action="store_true",
                        help="prints the pipeline for gst-launch-1.0, and does not play it")
    parser.add_argument("--device", metavar="DEVICE",
                        help="auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name")
    return parser


def options_of(words, program="opencl-view --oct"):
    """Returns the options as argparse's namespace. Raises Refused."""
    options = parser_of_options(program).read(words)
    if options.file and not pathlib.Path(options.file).is_file():
        raise Refused(f"{options.file}: no such file")
    if options.file and options.camera:
        raise Refused(f"--camera {options.camera}: beside {options.file}")
    return options


if __name__ == "__main__":
    try:
        options_of(sys.argv[1:])
    except Refused as refused:
        sys.exit(f"opencl-view: {refused}")
