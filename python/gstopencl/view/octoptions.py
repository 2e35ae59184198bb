"""Options of opencl-view --oct

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import functools
import pathlib
import re
import sys

from ..launch import Value
from .arguments import Parser, Refused, check_utf8, fault_of

NUMBER = r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
FILE = """\
FILE is a .npy file of uint16, float32 or float64, of shape (lines, samples) or (frames, lines,
samples), a Thorlabs .oct recording, which needs no further options, or raw samples, A-line by
A-line, which need --size."""
HEADER = f"""opencl-view --oct [OPTION…] [FILE]

Shows live OCT in a window: B-scans, the en face projection, the spectrum and the A-scan with their
numbers, and the levels of the B-scan. The input is a simulated sample, FILE, or a camera. The
window records, and calibrates from two mirrors.

{FILE} It is played again and again."""
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


def of_pattern(pattern, expected):
    """Returns a type for argparse: a text that matches the whole pattern."""
    def read(text):
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"expected {expected}")
        return text
    return read


def whole(low, high, text):
    if not re.fullmatch(r"\d{1,19}", text) or not low <= int(text) <= high:
        raise argparse.ArgumentTypeError(f"expected a number from {low} to {high}")
    return int(text)


def existing(text):
    if fault_of(text):
        raise argparse.ArgumentTypeError(fault_of(text))
    return text


COUNT = of_pattern(r"[1-9]\d{0,4}", "a whole number")
SIZE = of_pattern(r"[1-9]\d{0,8}x[1-9]\d{0,8}", "SAMPLESxLINES, such as 2048x999")
# Formats of cameras, as fields of caps. Aravis distinguishes those of 16 bits by depth.
PIXEL_FORMATS = {"Mono8": "GRAY8", "Mono16": "GRAY16_LE",
                 **{f"Mono{bits}": f"GRAY16_LE,depth={bits}" for bits in (10, 12, 14)}}
# option, placeholder, check of the value, properties of octwindowinterp, explanation
CALIBRATION = (
    ("--wavelengths", "FILE", existing, ["wavelengths"],
     "wavelength of each sample, .npy or text"),
    ("--wavelength-range", "MIN,MAX",
     of_pattern(r"[\d.]+,[\d.]+", "MIN,MAX, such as 1187,1433"),
     ["wavelength-min", "wavelength-max"],
     "wavelengths of the first and the last sample, evenly spaced"),
    ("--wavelength-unit", "nm|um|m", of_pattern("nm|um|m", "nm, um or m"), ["wavelength-unit"],
     "unit of the wavelengths: depths and widths are then in µm"),
    ("--resample-map", "FILE", existing, ["resample-map"],
     "fractional sample of each even wavenumber, .npy or text"),
    ("--settings", "FILE", existing, ["settings"],
     "lines of NAME=VALUE, as oct-calibrate and this window write them"),
    ("--dispersion", "A2,A3", of_pattern(f"{NUMBER},{NUMBER}", "A2,A3, such as 8e-5,2.7e-9"),
     ["dispersion-a2", "dispersion-a3"],
     "dispersion in rad: exp(-i (A2 q² + A3 q³)), q = m - N/2"),
    ("--dispersion-phase", "FILE", existing, ["dispersion-phase"],
     "phase of each even wavenumber in rad"),
    ("--background", "none|frame", of_pattern("none|frame", "none or frame"), ["background"],
     "background to subtract (that of a .oct recording; frame for the simulated sample; else "
     "none)"),
)
GIVE_ONE = "--wavelengths, --wavelength-range, --resample-map or --settings give one"
CALIBRATES = {"wavelengths", "wavelength-min", "resample-map", "settings"}


class Properties(argparse.Action):
    """Collects a Value of each property that an option sets, in the order of the options."""

    def __init__(self, names=(), **more):
        super().__init__(default=[], **more)
        self.names = names

    def __call__(self, parser, namespace, value, option=None):
        values = [value] if len(self.names) == 1 else value.split(",")
        so_far = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*so_far, *map(Value, self.names, values)])


def add_raw(group):
    """Adds the layout of raw files, which all programs have."""
    group.add_argument("--size", metavar="SAMPLESxLINES", type=SIZE,
                       help="size of a raw frame: samples per A-line, A-lines")
    group.add_argument("--format", metavar="FORMAT", default="U16LE",
                       type=of_pattern("[A-Z]+[0-9]+[A-Z]*",
                                       "a format of octrawparse, such as S16LE"),
                       help="raw samples, as in octrawparse: U8, S16LE, F32LE, MONO12P … "
                       "(%(default)s)")
    group.add_argument("--offset", metavar="BYTES", default=0,
                       type=functools.partial(whole, 0, 1 << 62),
                       help="bytes before the first raw frame (%(default)s)")


def layout_of(options):
    """Returns the layout as options of recordings.open_recording ()."""
    samples, lines = map(int, options.size.split("x")) if options.size else (None, None)
    return {"samples": samples, "lines": lines, "format": options.format,
            "header_bytes": options.offset}


def add_file(parser):
    """Adds FILE and its layout. Returns the group of options."""
    group = parser.add_argument_group("Input")
    group.add_argument("file", nargs="?", metavar="FILE", help=argparse.SUPPRESS)
    add_raw(group)
    return group


def add_input(parser):
    group = add_file(parser)
    group.add_argument("--camera", metavar="NAME",
                       help="a camera that arv-tool-0.8 lists (GigE Vision and USB3 Vision), "
                       "or a video device such as /dev/video0")
    group.add_argument("--pixel-format", metavar="|".join(PIXEL_FORMATS), choices=PIXEL_FORMATS,
                       help="pixel format of the camera (any)")
    group.add_argument("--features", metavar="TEXT",
                       help='settings of the camera, such as "ExposureTime=20 LineRate=100000"')
    group.add_argument("--full-scale", metavar="VALUE",
                       type=of_pattern(r"[1-9]\d{0,8}", "a whole number"),
                       help="lowest value of saturated samples, such as 4095 for 12 bits (that "
                       "of the format)")
    group.add_argument("--rate", metavar="FRAMES", type=COUNT, default="25",
                       help="frames per second of a file (25)")
    group.add_argument("--pattern", metavar="layers|tissue|mirrors|flat", default="layers",
                       type=of_pattern("layers|tissue|mirrors|flat",
                                       "layers, tissue, mirrors or flat"),
                       help="simulated sample (layers)")


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
                       help="B-scans in a volume: rows of the en face projection (128)")
    group.add_argument("--repeats", metavar="COUNT", type=COUNT, default="1",
                       help="frames of each B-scan, before the next one (1)")
    add_range(group)
    group.add_argument("--no-signal", dest="signal", action="store_false",
                       help="no plots and no numbers of the spectrum and the A-scan")


def add_range(group):
    group.add_argument("--db", action=Properties, dest="range", names=["db-min", "db-max"],
                       type=of_pattern(f"{NUMBER},{NUMBER}", "MIN,MAX, such as -10,42"),
                       metavar="MIN,MAX", help="range in dB from black to white")
    group.add_argument("--depth", action=Properties, dest="fft",
                       names=["depth-start", "depth-count"], metavar="START,COUNT",
                       type=of_pattern(r"\d{1,9},\d{1,9}", "START,COUNT, such as 8,840"),
                       help="rows of the picture, in depth bins")


def add_recording(parser):
    group = parser.add_argument_group("Recording")
    group.add_argument("--folder", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path("."),
                       help="for recordings (the current folder)")
    group.add_argument("--record", action="store_true",
                       help="records from the first frame on, not when the space bar is pressed")
    group.add_argument("--kind", metavar="raw|depths|both", default="raw",
                       type=of_pattern("raw|depths|both", "raw, depths or both"),
                       help="contents of recordings (raw)")
    group.add_argument("--frames", metavar="COUNT", type=COUNT,
                       help="number of frames after which simulated samples and cameras end")


def parser_of(program, usage, epilog, groups):
    """Returns the parser of a program, whose `groups (parser)` add options."""
    parser = Parser(prog=program, usage=usage, epilog=epilog)
    for add in groups:
        add(parser)
    parser.add_argument("--print", action="store_true",
                        help="prints the pipeline for gst-launch-1.0, and does not play it")
    parser.add_argument("--device", metavar="DEVICE",
                        help="auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name")
    return parser


def read(parser, words):
    """Returns the options as argparse's namespace. Raises Refused."""
    check_utf8(words)
    options = parser.parse_args(words)
    if options.file and fault_of(options.file):
        raise Refused(f"{options.file}: {fault_of(options.file)}")
    return options


def options_of(words):
    """Returns the options of opencl-view --oct. Raises Refused."""
    options = read(parser_of("opencl-view --oct", HEADER, KEYS, (
        add_input, add_calibration, add_pictures, add_recording)), words)
    if options.file and options.camera:
        raise Refused(f"--camera {options.camera}: beside {options.file}")
    return options


if __name__ == "__main__":  # --help of oct-live.sh, before anything is installed
    options_of(sys.argv[1:])
