"""Outputs of opencl-view --key that begin and end while the pipeline plays: a film with sound, and
a virtual camera

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import threading

from ..keying.formats import AAC, OPENH264, OPUS, VP8, X264, installed
from ..launch import Value
from .branches import Branch
from .gtk import GLib, Gst
from .keypipeline import DEVICE

WAITING_BYTES = 1 << 30  # of frames that wait for the encoder
I420 = f"openclconvert ! {DEVICE},format=I420 ! opencldownload"
H264 = X264, OPENH264
# Muxer and encoders of video and of sound, by the end of a file's name
FORMATS = {
    ".mkv": ("matroskamux", H264 + VP8, OPUS),
    ".mp4": ("mp4mux", H264, AAC),
    ".webm": ("webmmux", VP8, OPUS),
}


def film_line(path, has_sound, microphone=False):
    """Returns the launch line that writes a film: frames enter the queue "video", and sound the
    queue "sound" unless it is that of the microphone. Raises ValueError with the reason."""
    path = pathlib.Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"{path.name}: the name of a film ends with {' or '.join(FORMATS)}")
    muxer, video, sound = FORMATS[path.suffix.lower()]
    whole = "max-size-buffers=0 max-size-time=0 max-size-bytes"
    line = (f"queue name=video ! {I420} ! queue {whole}={WAITING_BYTES} name=waiting"
            f" ! {installed(video, path.name)} ! queue {whole}=0 ! {muxer} name=film"
            " ! filesink name=file async=false sync=false")
    if has_sound or microphone:
        source = "autoaudiosrc name=microphone ! " if microphone else ""
        line += (f" {source}queue {whole}=0 name=sound ! audioconvert ! audioresample"
                 f" ! {installed(sound, path.name)} ! queue {whole}=0 ! film.")
    return line


def camera_words(device):
    """Returns the words that feed a virtual camera from the queue "video"."""
    # Buffers of v4l2loopback's own do not suit elements before v4l2sink.
    return ["queue name=video leaky=downstream max-size-buffers=2 ! openclconvert !"
            f" {DEVICE},format=YUY2 ! opencldownload ! identity drop-allocation=true"
            " ! v4l2sink name=file async=false sync=false", Value("device", device)]


def running_time(pad, buffer):
    segment = pad.get_sticky_event(Gst.EventType.SEGMENT, 0).parse_segment()
    return segment.to_running_time(Gst.Format.TIME, buffer.pts)


class Output(Branch):
    """Branch that may begin and end while the pipeline plays. The first frame has the time 0, and
    sound begins with it.

    tees: from the name of a queue in `words` to the tee that feeds it
    name: what the output is, for messages
    at_seek (): called in the main loop after a seek of the pipeline"""

    def __init__(self, pipeline, words, tees, name, at_seek):
        super().__init__(pipeline, words)
        self.name, self.at_seek = name, at_seek
        self.queues = {name: self.bin.get_by_name(name) for name in ("video", "sound")}
        self.sink = self.bin.get_by_name("file")
        self.start, self.has_start = None, threading.Event()
        self.is_left = False
        for queue, tee in tees.items():
            self.add_pad(queue, self.queues[queue], tee)

    def begin(self):
        """Starts the elements and links them, unless the output has ended before."""
        if self.is_left:
            return
        if self.queues["sound"]:
            self.queues["sound"].get_static_pad("src").add_probe(
                Gst.PadProbeType.BUFFER, self.wait_for_start)
        self.pipeline.add(self.bin)
        playing = self.pipeline.get_state(0)[1] >= Gst.State.PAUSED
        if playing:
            self.keep_playing()
        for name, _, pad in self.pads:
            probe = self.take_frame if name == "video" else self.take
            pad.add_probe(Gst.PadProbeType.BUFFER | Gst.PadProbeType.EVENT_FLUSH, probe)
        self.link()

    def keep_playing(self):
        """Lets the output end while the pipeline is paused."""
        self.bin.set_locked_state(True)
        self.bin.set_state(Gst.State.PLAYING)

    # In streaming threads

    def take(self, _pad, info):
        """Passes frames, and drops flushes, which would discard recorded frames."""
        if info.type & Gst.PadProbeType.EVENT_FLUSH and not self.is_left:
            self.is_left = True
            GLib.idle_add(lambda: self.at_seek() and False)
        return Gst.PadProbeReturn.DROP if self.is_left else Gst.PadProbeReturn.OK

    def take_frame(self, pad, info):
        if self.start is None and info.type & Gst.PadProbeType.BUFFER:
            self.start = running_time(pad, info.get_buffer())
            pad.set_offset(-self.start)
            self.has_start.set()
        return self.take(pad, info)

    def wait_for_start(self, pad, info):
        """Drops sound before the first frame."""
        self.has_start.wait()
        if self.start is None or running_time(pad, info.get_buffer()) < self.start:
            return Gst.PadProbeReturn.DROP
        pad.set_offset(-self.start)
        return Gst.PadProbeReturn.REMOVE

    # In any thread

    def leave(self):
        self.is_left = True
        self.has_start.set()
        return super().leave()

    def end(self):
        """Ends the output. The message of its end follows, as the bin's."""
        if not self.leave():
            return
        for element in self.queues.values():
            if element:
                element.get_static_pad("sink").send_event(Gst.Event.new_eos())


def film_output(pipeline, path, microphone, at_seek):
    """Returns the Output that writes a film with the sound of the pipeline, or of the microphone.
    Raises ValueError or OSError with the reason."""
    tees = {"video": pipeline.get_by_name("keyed")}
    sound = pipeline.get_by_name("sound")
    if sound and not microphone:
        tees["sound"] = sound
    line = film_line(path, bool(sound), microphone)
    path = pathlib.Path(path).absolute()
    with open(path, "ab"):  # fails with the reason of the system
        pass
    output = Output(pipeline, [line], tees, path.name, at_seek)
    output.sink.set_property("location", str(path))
    output.path = path
    return output


def camera_output(pipeline, device, at_seek):
    """Returns the Output that feeds a virtual camera."""
    return Output(pipeline, camera_words(device), {"video": pipeline.get_by_name("keyed")}, device,
                  at_seek)
