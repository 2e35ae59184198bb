"""Pipeline of opencl-view --oct, from its options

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .octoptions import CALIBRATES, Refused

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


def phantom(options):
    samples, lines = (options.size or "1024x256").split("x")
    return ["octtestsrc", "is-live=true", "name=source", f"num-buffers={options.frames}",
            *([f"pattern={options.pattern}"] if options.pattern != "layers" else []),
            *volume_of_phantom(options),
            "!", f"video/x-raw,width={samples},height={lines},framerate={options.rate}/1"]


def volume_of_phantom(options):
    if options.pattern not in ("tissue", "flat"):
        return []
    return [f"b-scans={options.b_scans}", f"repeats={options.repeats}"]


def camera(options):
    caps = "video/x-raw,format={GRAY16_LE,GRAY8}"
    if options.size:
        samples, lines = options.size.split("x")
        caps += f",width={samples},height={lines}"
    if options.camera.startswith("/dev/"):
        device = ["v4l2src", "name=source", f"device={options.camera}"]
        features = [f"extra-controls=c,{options.features.replace(' ', ',')}"] \
            if options.features else []
    else:
        device = ["aravissrc", "name=source", f"camera-name={options.camera}"]
        features = [f"features={options.features}"] if options.features else []
    return [*device, f"num-buffers={options.frames}", *features, "!", caps]


def recording(options):
    rate = f"framerate={options.rate}/1"
    suffix = options.file.rpartition(".")[2].lower()
    if suffix in ("npy", "oct"):
        parser = ["npyparse" if suffix == "npy" else "octfileparse", rate]
    elif options.size:
        samples, lines = options.size.split("x")
        parser = ["octrawparse", f"samples={samples}", f"lines={lines}",
                  f"format={getattr(options, 'format', 'U16LE')}",
                  f"header-bytes={options.header_bytes}", rate]
    else:
        raise Refused(f"{options.file} has no header: --size SAMPLESxLINES is needed")
    return ["filesrc", "name=source", f"location={options.file}", "!", *parser, "!", "clocksync"]


def scan(options):
    """Returns the element that numbers B-scans. A .oct recording has numbers."""
    if options.file and options.file.lower().endswith(".oct"):
        return []
    return ["octscan", "name=scan", f"b-scans={options.b_scans}", f"repeats={options.repeats}", "!"]


def conversion(options):
    """Returns the properties of octwindowinterp, of octfft, of octdisplay and of octvolume."""
    interp, fft = options.interp, options.fft
    if not (options.file or options.camera):
        if not any(setting.partition("=")[0] in CALIBRATES for setting in interp):
            interp = ["wavelength-min=1187", "wavelength-max=1433", "wavelength-unit=nm", *interp]
        interp = ["background=frame", *interp]
        fft = fft or ["depth-start=8"]
    interp = [*interp, *full_scale(options)]
    if options.range:
        return interp, fft, options.range, options.range
    return interp, fft, ["db-auto=true", "db-min=20", "db-max=90"], ["db-min=20", "db-max=90"]


def full_scale(options):
    return [f"full-scale={options.full_scale}"] if options.full_scale else []


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
    """Returns the pipeline as the arguments of gst-launch-1.0. Raises Refused."""
    if options.file:
        source = recording(options)
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
        "depths.", "!", *DROP, "!", "octvolume", "name=above", "projection=maximum", *above, "!",
        *SHOW, "name=en_face",
        *(plots(options) if options.signal else []),
    ]
