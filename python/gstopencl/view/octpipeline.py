"""Pipeline of opencl-view --oct, from its options

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib

from ..launch import Value
from .arguments import Refused
from .octoptions import CALIBRATES, PIXEL_FORMATS, layout_of

ON_DEVICE = "(memory:OpenCLMemory)"
# A slow branch does not affect the others: each branch of a tee has a queue that drops the frames
# that the branch has no time for.
DROP = "queue leaky=downstream max-size-buffers=2 max-size-bytes=0 max-size-time=0".split()
SHOW = "opencldownload ! videoconvert ! gtksink sync=false".split()
PLOT = f"video/x-raw{ON_DEVICE},width={{}},height={{}}"
PLOT_INTERVAL = "interval=40000000"
# Range of the histogram in dB, from below the least level of octdisplay, and its rate in 1/s
LEVELS_MIN, LEVELS_MAX = -130, 200
LEVELS_RATE = 5


def size_of(options):
    """Returns samples and lines of --size, or those of the phantom."""
    return tuple(map(int, (options.size or "1024x256").split("x")))


def phantom(options):
    scanned = volume(options) if options.pattern in ("tissue", "flat") else []
    return ["octtestsrc is-live=true name=source", *limit(options),
            Value("pattern", options.pattern), *scanned, "!",
            "video/x-raw,width={},height={},framerate={}/1".format(
                *size_of(options), int(options.rate))]


def limit(options):
    return [Value("num-buffers", options.frames)] if options.frames else []


def volume(options):
    return [Value("b-scans", options.b_scans), Value("repeats", options.repeats)]


def camera(options):
    caps = f"video/x-raw,format={PIXEL_FORMATS.get(options.pixel_format, '{GRAY16_LE,GRAY8}')}"
    if options.size:
        caps += ",width={},height={}".format(*size_of(options))
    features = options.features
    if options.camera.startswith("/dev/"):
        device = ["v4l2src", "name=source", Value("device", options.camera)]
        controls = [Value("extra-controls", f"c,{features.replace(' ', ',')}")] if features else []
    else:
        device = ["aravissrc", "name=source", Value("camera-name", options.camera)]
        controls = [Value("features", features)] if features else []
    return [*device, *limit(options), *controls, "!", caps]


def suffix_of(file):
    return pathlib.PurePath(file or "").suffix.lower()


def check_size(options):
    """Raises Refused if a raw file is no whole number of frames. Returns a doubt about its format,
    or None."""
    if not options.file or suffix_of(options.file) in (".npy", ".oct") or not options.size:
        return None
    from ..recordings import Options, RecordingError, doubt_of, frames_of_file  # need GStreamer
    layout = Options(**layout_of(options))
    try:
        frames_of_file(options.file, layout)
        return doubt_of(options.file, layout)
    except RecordingError as error:
        raise Refused(error) from None


def recording(options):
    """Returns the words that read the frames of FILE."""
    suffix = suffix_of(options.file)
    if suffix in (".npy", ".oct"):
        parser = ["npyparse" if suffix == ".npy" else "octfileparse", "name=parser"]
    elif options.size:
        parser = ["octrawparse", "name=parser", *(
            Value(name.replace("_", "-"), str(value)) for name, value in layout_of(options).items())]
    else:
        raise Refused(f"{options.file} has no header: --size SAMPLESxLINES is needed")
    return ["filesrc", "name=source", Value("location", options.file), "!", *parser]


def scan(options):
    """Returns the element that numbers B-scans. A .oct recording has numbers."""
    if suffix_of(options.file) == ".oct":
        return []
    return ["octscan", "name=scan", *volume(options), "!"]


def calibration_of_phantom(interp):
    """Returns the wavelengths of octtestsrc, unless a calibration was asked for."""
    if any(value.property in CALIBRATES for value in interp):
        return []
    return ["wavelength-min=1187", "wavelength-max=1433", "wavelength-unit=nm"]


def conversion(options):
    """Returns the properties of octwindowinterp, of octfft, of octdisplay and of octvolume."""
    interp, fft = options.interp, options.fft
    if not (options.file or options.camera):
        interp = ["background=frame", *calibration_of_phantom(interp), *interp]
        fft = fft or ["depth-start=8"]
    interp = [*interp, *full_scale(options)]
    if options.range:
        return interp, fft, options.range, options.range
    return interp, fft, ["db-auto=true", "db-min=20", "db-max=90"], ["db-min=20", "db-max=90"]


def full_scale(options):
    bits = int((options.pixel_format or "").removeprefix("Mono") or 0)
    value = options.full_scale or bits and str((1 << bits) - 1)
    return [Value("full-scale", value)] if value else []


def plots(options):
    for branch, name, more in (("uploaded", "spectrum", full_scale(options)),
                               ("depths", "a_scan", [])):
        yield from (f"{branch}.", "!", *DROP,
                    "!", "octsignal", f"name={name}", PLOT_INTERVAL, *more,
                    "!", "capsfilter", f"name={name}_size", f"caps={PLOT.format(640, 560)}",
                    "!", *SHOW, f"name={name}_plot")


def levels():
    """Returns the branch of the histogram: B-scans of all levels, a few a second."""
    return ["averaged.", "!", *DROP, "!", "octdisplay", "name=levels",
            f"db-min={LEVELS_MIN}", f"db-max={LEVELS_MAX}", "!",
            f"video/x-raw{ON_DEVICE},format=GRAY16_LE", "!",
            "videorate", "drop-only=true", f"max-rate={LEVELS_RATE}", "!", "opencldownload", "!",
            "appsink", "name=histogram", "sync=false", "async=false", "max-buffers=1",
            "drop=true", "wait-on-eos=false"]


def words_of(options):
    """Returns the words of the pipeline for launch.build (). Raises Refused."""
    if options.file:
        source = [*recording(options), Value("framerate", f"{options.rate}/1"), "!", "clocksync"]
    else:
        source = camera(options) if options.camera else phantom(options)
    interp, fft, shown, above = conversion(options)
    return [
        *source, "!", "tee", "name=raw", "allow-not-linked=true",
        "raw.", "!", *DROP, "!", "openclupload", "!", "tee", "name=uploaded",
        "uploaded.", "!", *scan(options), "octwindowinterp", "name=interp", *interp, "!",
        "octfft", "name=fft", *fft, "!",
        f"application/x-oct{ON_DEVICE},domain=depth,format=CF32LE", "!", "tee", "name=depths",
        "depths.", "!", *DROP, "!", "octaverage", "name=average", "frames=1", "rolling=true",
        "mean=linear", "!", "tee", "name=averaged",
        "averaged.", "!", "octdisplay", "name=display", *shown, "!", *SHOW, "name=b_scan",
        *levels(),
        "depths.", "!", *DROP, "!", "octvolume", "name=above", "projection=maximum",
        "lost-rows=repeat", *above, "!", *SHOW, "name=en_face",
        *(plots(options) if options.signal else []),
    ]
