"""demo.sh: the first B-scan of a recording as a picture

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import sys

from . import program
from .launch import Value, printed
from .view.octoptions import (FILE, GIVE_ONE, add_calibration, add_file, add_range, parser_of,
                              read)
from .view.octpipeline import calibration_of_phantom, check_size, recording, suffix_of

PROGRAM = "demo.sh"
USAGE = f"""demo.sh [OPTION…] [FILE]

Installs what is missing (Debian 12 and 13), builds, and writes the first B-scan of FILE as a
picture. Without FILE, of a tissue that octtestsrc makes. Without anything, also shows the keying of
a green screen as greenscreen.sh does, before and after.

{FILE}"""
EXAMPLES = """Examples:
  demo.sh recording.oct
  demo.sh --size 2048x999 --wavelengths lambda.npy --dispersion 8e-5,2.7e-9 --db -10,42 tape.raw"""
TISSUE = "octtestsrc num-buffers=1 pattern=layers ! " \
         "video/x-raw(memory:OpenCLMemory),width=2048,height=512"


def add_picture(parser):
    group = parser.add_argument_group("Picture")
    add_range(group)
    group.add_argument("--output", metavar="FILE", default="bscan.png",
                       help="(default: bscan.png, in the current folder)")
    parser.add_argument("--no-install", action="store_true", help="names packages that are missing "
                        "and fails, instead of installing them")
    parser.add_argument("--verbose", action="store_true", help="shows pipelines, and the output of "
                        "the installation and of the build")


def words_of(options):
    """Returns the words of the pipeline for launch.build (), up to the picture. Raises Refused."""
    source, interp, fft = [TISSUE], options.interp, [*options.fft, *options.range]
    if options.file:
        source = [*recording(options), "! openclupload"]
        # The range of a recording is not known: black and white are found in the frame.
        if suffix_of(options.file) == ".oct" and not options.range:
            fft.append(Value("db-auto", "true"))
    else:
        interp = [*calibration_of_phantom(interp), *interp]
        # No rows of DC
        fft = ["depth-start=8 depth-count=840 db-min=0 db-max=60", *fft]
    return [*source, "! octwindowinterp name=interp", *interp, "! octfft name=fft", *fft,
            "! opencldownload ! videoconvert ! pngenc snapshot=true !"]


def picture_of(words):
    """Returns the picture as bytes, which are none without a whole frame. Raises PlayError."""
    from .calibrated import MISSING, is_missing  # these need GStreamer
    from .frames import start_gstreamer
    from .play import played

    start_gstreamer()
    with played([*words, "fakesink name=picture sync=false"], PROGRAM) as (pipeline, _):
        if is_missing(pipeline.get_by_name("interp")):
            print(f"{PROGRAM}: {MISSING}: {GIVE_ONE}", file=sys.stderr)
        sample = pipeline.get_by_name("picture").get_property("last-sample")
    buffer = sample and sample.get_buffer()
    return buffer.extract_dup(0, buffer.get_size()) if buffer else b""


def main(words):
    options = read(parser_of(PROGRAM, USAGE, EXAMPLES, (
        add_file, add_calibration, add_picture)), words)
    words = words_of(options)
    shown = printed([*words, "filesink name=file", Value("location", options.output)])
    if options.print:
        print(shown)
        return
    if doubt := check_size(options):
        print(f"{PROGRAM}: {doubt}", file=sys.stderr)
    print(f"B-scan of {options.file or 'the tissue that octtestsrc makes'}", file=sys.stderr)
    if options.verbose:
        print(f"gst-launch-1.0 {shown}", file=sys.stderr)
    from .play import written

    with written("output", options.output) as unfinished:
        pathlib.Path(unfinished).write_bytes(picture_of(words))


if __name__ == "__main__":
    program.run(PROGRAM, "gstopencl.bscan")
