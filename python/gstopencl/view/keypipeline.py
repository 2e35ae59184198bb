"""Pipeline of opencl-view --key: a film or camera, its key, and the result over a background

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import itertools
import typing

from ..keying.films import keep_range
from ..keying.hdr import to_srgb
from ..launch import Value, build
from ..system import camera_source
from .gtk import Gst


class Source(typing.NamedTuple):
    """Words of launch.build () for frames. Sound is in the tee "sound"."""
    words: list
    has_sound: bool = False
    is_live: bool = True  # frames come when they are filmed
    copy: object = None  # of a picture, whose file the words name


DEVICE = "video/x-raw(memory:OpenCLMemory)"
RGBA = f"{DEVICE},format=RGBA"
# Without a film or a camera: a white ball before a green screen
DEMO = Source(["videotestsrc is-live=true pattern=ball foreground-color=0xfff0e8e0 "
               "background-color=0xff209038 ! video/x-raw,width=1280,height=720,framerate=25/1"])
# Pictures per second of a still, so that a new setting is seen at once
STILL_RATE = "10/1"
# The three sinks, in the order of View.sinks. The first one seeks: its branch also contains the
# background.
PICTURES = ("result", "matte", "original")
# Other queues would be full before the slowest branch gives its first frame.
QUEUE = "queue max-size-bytes=0 max-size-time=0 max-size-buffers=8"


def source_of_film(film):
    """Returns the Source of a keyfiles.Film."""
    words = film.copy.source("source") if film.copy \
        else ["uridecodebin", "name=source", Value("uri", film.uri)]
    if film.has_sound:
        words.append("source. ! audioconvert ! audioresample ! queue ! tee name=sound"
                     " ! autoaudiosink name=speaker source.")
    # Telephones write films that are rotated or mirrored.
    words.append(f"! videoconvert ! deinterlace ! {QUEUE}"
                 " ! videoflip video-direction=auto")
    if film.is_still:
        words.append(f"! imagefreeze is-live=true ! video/x-raw,framerate={STILL_RATE}")
    if film.hdr:
        words += ["! openclupload ! openclconvert !", *to_srgb(film.hdr, "film"), RGBA]
    return Source(words, film.has_sound, film.is_still, film.copy)


def source_of_camera(device):
    return Source([*camera_source("camera", device), "! decodebin ! videoconvert"
                   " ! queue leaky=downstream max-size-buffers=2"])


def shown(name, is_live):
    """Returns the end of a branch, a sink for frames on the device."""
    # A long queue would let the result run ahead of the sound in a recording. The compositor of a
    # camera must wait for this sink, too.
    queue = "queue max-size-buffers=2" if name == "result" else QUEUE
    late = ""
    if is_live:
        # Keying delays the frames of a camera, and sinks would drop late frames. Sinks that wait
        # for their first frame would block the compositor, which the camera waits for.
        late = " async=false qos=false max-lateness=-1"
        if name != "result":
            queue = "queue leaky=downstream max-size-buffers=2"
    return (f"{queue} ! openclconvert ! {DEVICE},format=BGRx ! opencldownload"
            f" ! gtksink name={name}{late}")


def words_of(source, settings, size=None):
    """Returns the words for launch.build (). Frames of the result are in the tee "keyed", and sound
    in the tee "sound", if there is any.

    source: a Source
    settings: pairs of a property of greenscreenbin and its value as text
    size: (optional) "WIDTHxHEIGHT" of the result in pixels"""
    fitted = ""
    if size:
        width, height = map(int, size.split("x"))
        fitted = f" ! openclconvert ! {DEVICE},width={width},height={height},pixel-aspect-ratio=1/1"
    return [
        *source.words, f"! openclupload{fitted} ! tee name=filmed"
        f" filmed. ! {shown('original', source.is_live)}"
        f" filmed. ! {QUEUE} ! greenscreenbin", "name=key", *itertools.starmap(Value, settings),
        f"! {RGBA} ! tee name=keyed"
        f" keyed. ! {shown('result', source.is_live)}"
        f" key.matte ! {shown('matte', source.is_live)}"]


def pipeline_of(words):
    """Returns the pipeline and its sinks, in the order of PICTURES."""
    pipeline = build(words, Gst.parse_launch)
    pipeline.connect("deep-element-added", keep_range)
    return pipeline, [pipeline.get_by_name(name) for name in PICTURES]
