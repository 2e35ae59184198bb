"""Chains of elements that process one recording after another with one pipeline

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import os
import threading

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

from .calibrated import MISSING, is_missing  # noqa: E402
from .frames import (  # noqa: E402
    FRAMERATE, choose, kept_in_child, start_gstreamer, temporary_folder, view_of, without_mask)
from .memory import buffer_of, bytes_of  # noqa: E402
from .notices import warn  # noqa: E402
from .recordings import Recording, RecordingError, open_recording, read_text  # noqa: E402
from .settingslines import line_of  # noqa: E402

DEPTHS = "octwindowinterp ! octfft ! " \
         "application/x-oct(memory:OpenCLMemory),domain=depth,format=F32LE"
# A queue lets the next frames be read while the device works.
ARRAYS = "appsrc name=gstopencl-source format=time ! " \
         "queue max-size-buffers=4 max-size-bytes=0 max-size-time=0"
FILES = "filesrc name=gstopencl-source ! {parser}"
PIPELINE = "{source} ! openclupload name=gstopencl-upload ! {chain} ! opencldownload ! " \
           "appsink name=gstopencl-sink sync=false max-buffers=4"
POLL = 100 * Gst.MSECOND
KEPT = 4  # pipelines that process() keeps


class ChainError(Exception):
    """A chain or a recording that cannot be processed; says why in one sentence."""


def settings_text(settings):
    """Returns the text of a settings file from one of: text, dictionary. Raises ChainError."""
    if not isinstance(settings, dict):
        return settings
    try:
        return "".join(map(line_of, settings, settings.values()))
    except ValueError as error:
        raise ChainError(f"settings: {error}") from None


def is_text(settings):
    if isinstance(settings, str):
        return "=" in settings and not os.path.exists(settings)
    return isinstance(settings, dict)


class Chain:
    """Pipeline of `elements` between openclupload and opencldownload.

    It keeps its elements and its OpenCL context between recordings. `settings` is a file for the
    property `settings` of octwindowinterp, or the text of such a file, or a dictionary of its
    properties. `device` is a value of the property `device`, `parser` the element that reads
    recordings from files. Raises ChainError where there is no such pipeline.
    """

    def __init__(self, elements, settings=None, device=None, parser=None):
        # Results must not depend on when the verdict on an engine comes.
        os.environ.setdefault("GST_OPENCL_WAIT_FOR_CHECKS", "1")
        start_gstreamer()
        source = FILES.format(parser=parser) if parser else ARRAYS
        try:
            self.pipeline = Gst.parse_launch(PIPELINE.format(source=source, chain=elements))
        except GLib.Error as error:
            raise ChainError(f"chain: {error.message}") from None
        self.source, self.upload, self.sink = (
            self.pipeline.get_by_name(f"gstopencl-{name}") for name in ("source", "upload", "sink"))
        if device:
            self.upload.set_property("device", device)
        self.apply(settings)
        self.lock, self.feed = threading.Lock(), None
        if not parser:
            self.source.connect("need-data", self.push)

    def elements(self):
        """Returns the elements from the source to the sink."""
        found, iterator = [], self.pipeline.iterate_sorted()
        while (step := iterator.next())[0] == Gst.IteratorResult.OK:
            found.append(step[1])
        return found[::-1]

    def resamplers(self):
        return [element for element in self.elements()
                if element.get_factory().get_name() == "octwindowinterp"]

    def apply(self, settings):
        if not settings:
            return
        users = self.resamplers()
        if not users:
            raise ChainError("settings need an octwindowinterp in the chain")
        if not is_text(settings):
            self.set_files(users, os.fspath(settings))
            return
        # The elements read it again at each start. Files beside it would be taken for those that it
        # names, so it has a folder of its own.
        path = os.path.join(temporary_folder(self, "settings-"), "settings.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(settings_text(settings))
        self.set_files(users, path)

    @staticmethod
    def set_files(users, path):
        for element in users:
            element.set_property("settings", path)

    def accepted(self):
        return self.source.get_static_pad("src").peer_query_caps(None)

    def push(self, *_):
        """Gives appsrc its next frame. Runs in the thread of appsrc."""
        feed = self.feed
        try:
            buffer = next(feed, None) if feed else None
        except Exception as error:  # the thread that waits for results raises it
            self.failure = error
            buffer = None
        if buffer is None:
            self.source.emit("end-of-stream")
        else:
            self.source.emit("push-buffer", buffer)

    def share(self, recording):
        """Returns the share of a recording that is read, 0 to 1."""
        if not recording.parser:
            return self.fed / recording.count
        known, position = self.source.query_position(Gst.Format.BYTES)
        return position / os.stat(recording.path).st_size if known else 0

    def buffers(self, recording, start, stop, kind):
        """Yields buffers of the frames, with the timestamps of npyparse."""
        for number, frame in enumerate(recording.frames(start, stop)):
            buffer = buffer_of(np.ascontiguousarray(frame, kind))
            buffer.pts = Gst.util_uint64_scale(number, Gst.SECOND, FRAMERATE)
            buffer.duration = Gst.SECOND // FRAMERATE
            buffer.offset, buffer.offset_end = number, number + 1
            self.fed = number
            yield buffer

    def prepare(self, recording, start, stop):
        self.failure, self.fed = None, 0
        if recording.parser:
            self.source.set_property("location", str(recording.path))
            return
        caps, kind = recording.caps, recording.dtype
        if caps:
            caps = Gst.Caps.from_string(caps)
        else:
            chosen = choose(recording.dtype, recording.lines, recording.samples, self.accepted())
            if not chosen:
                raise ChainError(f"{recording}: the chain does not accept frames of "
                                 f"{recording.lines} x {recording.samples} {recording.dtype}")
            caps, kind = chosen
        if kind.itemsize < recording.dtype.itemsize:
            warn(f"{recording}: {recording.dtype} is rounded to {kind}")
        self.source.set_property("caps", caps)
        self.feed = self.buffers(recording, start, stop, kind)

    def check_messages(self, recording):
        """Raises the error that the pipeline has posted, and passes its warnings on."""
        bus = self.pipeline.get_bus()
        wanted = Gst.MessageType.ERROR | Gst.MessageType.WARNING
        while message := bus.pop_filtered(wanted):
            is_error = message.type == Gst.MessageType.ERROR
            reason, _ = message.parse_error() if is_error else message.parse_warning()
            text = f"{recording}: {message.src.get_name()}: {reason.message}"
            if is_error:
                raise ChainError(text) from self.failure
            warn(text)

    def check_calibration(self, recording):
        """Warns where samples are resampled as if they were even in wavenumber."""
        if any(map(is_missing, self.resamplers())):
            warn(f"{recording}: {MISSING}: settings give wavelengths or resample-map, or say "
                 "interpolation=none")

    def samples(self, recording, start=0, stop=None, deadline=None):
        """Yields a Gst.Sample for each buffer that the chain outputs for the frames from `start`
        to `stop` of a recording. Raises ChainError where the pipeline fails, and TimeoutError
        when the event `deadline` is set."""
        start_gstreamer()
        with self.lock:
            try:
                self.prepare(recording, start, stop)
                self.pipeline.set_state(Gst.State.PLAYING)
                yield from self.pulled(recording, deadline)
            finally:
                self.pipeline.set_state(Gst.State.READY)
                self.sink.set_state(Gst.State.NULL)  # until then it says that it is at its end
                self.feed = None

    def pulled(self, recording, deadline):
        while True:
            if deadline and deadline.is_set():
                raise TimeoutError(f"{recording}: not processed within the timeout")
            sample = self.sink.emit("try-pull-sample", POLL)
            if sample:
                try:
                    bytes_of(sample.get_buffer())
                except RuntimeError as error:
                    self.check_messages(recording)  # of the element that did not compute it
                    raise ChainError(f"{recording}: {error}") from None
                yield sample
                continue
            self.check_messages(recording)
            if isinstance(self.failure, OSError):
                raise self.failure  # which may go away
            if self.failure:
                said = str(self.failure) or type(self.failure).__name__
                raise RecordingError(f"{recording}: {said.splitlines()[0]}") from self.failure
            if self.sink.get_property("eos"):
                self.check_calibration(recording)
                return

    def run(self, recording, start=0, stop=None):
        """Returns the frames that the chain outputs as one array, (frames, ...). A single frame
        shares the memory of GStreamer, and cannot be written."""
        result, count = None, 0
        with contextlib.closing(self.samples(recording, start, stop)) as samples:
            for sample in samples:
                frame = view_of(sample)
                result = grown(result, count, frame, recording.count)
                if count:
                    result[count] = frame
                count += 1
        if result is None:
            raise ChainError(f"{recording}: the chain outputs nothing for its "
                             f"{recording.count} frames")
        return result[:count]

    def close(self):
        """Releases what the pipeline uses, once its recording is processed."""
        with self.lock:
            self.pipeline.set_state(Gst.State.NULL)


def grown(result, count, frame, expected):
    """Returns `result`, of which `count` frames are filled, with room for one more frame."""
    if count == 0:
        return frame[np.newaxis]
    if result.shape[1:] != frame.shape or result.dtype != frame.dtype:
        raise ChainError(f"the chain outputs frames of {result.shape[1:]} {result.dtype}, and then "
                         f"one of {frame.shape} {frame.dtype}")
    if count < len(result):
        return result
    larger = np.empty((max(expected or 0, 2 * count), *frame.shape), frame.dtype)
    larger[:count] = result
    return larger


chains = {}  # those that process() has used last
kept_in_child.append(chains)
chains_lock = threading.Lock()


def chain_for(elements, settings=None, device=None, parser=None):
    """Returns a Chain that process() keeps. A settings file counts by its content."""
    start_gstreamer()  # raises in a forked child
    said = settings_text(settings)
    if settings and not is_text(settings):
        try:
            said = (os.path.abspath(settings), read_text(settings))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", "not a text file")
            raise ChainError(f"settings file {settings}: {reason}") from None
    key = elements, said, device, parser
    with chains_lock:
        chain = chains.pop(key, None) or Chain(elements, settings, device, parser)
        chains[key] = chain
        dropped = [chains.pop(next(iter(chains))) for _ in range(len(chains) - KEPT)]
    for old in dropped:
        old.close()
    return chain


def process(recording, chain=DEPTHS, settings=None, **options):
    """Processes a recording of raw spectra with a chain of elements.

    recording: an array (frames, lines, samples), of which leading lengths may be missing, or the
    path of a file that oct-process reads. GStreamer reads contiguous arrays without a copy.
    chain: elements between openclupload and opencldownload, as for gst-launch-1.0.
    settings: properties of octwindowinterp: a settings file as oct-calibrate writes it, the text
    of one, or a dictionary.
    options: `samples`, `lines`, `format` and `header_bytes` of raw files, `dataset` of files with
    several arrays.

    Returns an array (frames, lines, depths), or as the caps of the last element say: (frames,
    height, width) of pictures, (volumes, b_scans, lines, depths) of volumes. A result of one frame
    is a view of GStreamer's memory and read-only.

    Raises ChainError, or RecordingError for files, with the reason; TypeError for a masked array;
    DeviceError in a child process that was forked after a call in its parent. Pipelines are kept for the
    next call with the same chain and settings; calls of one chain from several threads take turns.
    """
    if isinstance(recording, (str, os.PathLike)):
        recording = open_recording(recording, **options)
    else:
        recording = Recording("array", without_mask("recording", recording))
    return chain_for(chain, settings, parser=recording.parser).run(recording)
