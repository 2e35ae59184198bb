"""Frames that a program pushes into a pipeline, such as those of a frame grabber's callback

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import ctypes
import re
import threading
import time

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from .frames import choose, start_gstreamer, without_mask  # noqa: E402
from .memory import MapInfo, buffer_map, buffer_unmap  # noqa: E402
from .waits import wait  # noqa: E402

WRITE = 2  # GST_MAP_WRITE
VIDEO = {"u1": "GRAY8", "u2": "GRAY16_LE"}
START, STEP = 10, 0.001  # seconds that a pipeline may take to start, and between two looks


class Source:
    """Pushes frames of spectra through an `appsrc` into its pipeline, from any one thread.

    appsrc: the element, which `openclupload` follows; its caps are set here
    shape: A-lines of a frame and samples of an A-line
    dtype: type of a sample
    framerate: frames per second, which become timestamps
    frames: number of frames that may wait for the pipeline

    Memory of 8 and 16 bits a sample comes from the pool of openclupload: pinned, so that the device
    fetches it without a copy. A program either fills it, or pushes arrays, which are copied. `lost`
    counts the frames for which there was no room. Their numbers are left out, so that elements that
    group frames notice. The first frame starts the pipeline, and takes longer than others.
    """

    def __init__(self, appsrc, shape, dtype="<u2", framerate=25, frames=8):
        start_gstreamer()
        self.appsrc, self.shape, self.framerate, self.frames = appsrc, tuple(shape), framerate, frames
        caps, self.dtype = caps_of(np.dtype(dtype), *self.shape, framerate)
        for name, value in (("caps", caps), ("format", Gst.Format.TIME), ("max-bytes", 0),
                            ("max-buffers", frames), ("block", False)):
            appsrc.set_property(name, value)
        self.pool, self.is_asked, self.number, self.lost, self.breaks = None, False, 0, 0, False
        self.bytes = int(np.prod(self.shape)) * self.dtype.itemsize
        self.taken = threading.Semaphore(frames)  # one for each frame that may wait
        appsrc.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, self._leaves)

    def _leaves(self, _, __):
        self.taken.release()
        return Gst.PadProbeReturn.OK

    def _find_pool(self):
        """Finds the pool that downstream offers, when the pipeline has started. Caps other than video
        have none."""
        pad, waited = self.appsrc.get_static_pad("src"), 0
        while not pad.get_current_caps():
            if waited >= START:
                raise RuntimeError("the pipeline of appsrc has not started")
            time.sleep(STEP)
            waited += STEP  # and not the time by the clock: this process may be stopped
        query = Gst.Query.new_allocation(pad.get_current_caps(), True)
        self.is_asked = True
        if pad.peer_query(query) and query.get_n_allocation_pools():
            pool = query.parse_nth_allocation_pool(0)[0]
            self.pool = pool if pool and pool.set_active(True) else None

    def _buffer(self):
        if not self.is_asked:
            self._find_pool()
        if not self.pool:
            return Gst.Buffer.new_allocate(None, self.bytes, None)
        flow, buffer = self.pool.acquire_buffer(None)
        if flow != Gst.FlowReturn.OK:
            raise EOFError(f"the pipeline takes no more frames: {flow.value_nick}")
        return buffer

    @contextlib.contextmanager
    def frame(self, timeout=None):
        """Yields an array to be filled, which is pushed at the end of the `with` block. Waits until
        there is room for it. After `timeout` seconds, yields None and counts the frame as lost. An
        exception in the block drops the frame."""
        start_gstreamer()  # raises in a forked child
        if not wait(self.taken.acquire, timeout):
            self.lost, self.number, self.breaks = self.lost + 1, self.number + 1, True
            yield None
            return
        try:
            buffer = self._buffer()
            with mapped(buffer) as memory:
                yield memory[:self.bytes].view(self.dtype).reshape(self.shape)
        except BaseException:
            self.taken.release()
            raise
        self._push(buffer)

    def _push(self, buffer):
        buffer.pts = round(self.number * Gst.SECOND / self.framerate)
        buffer.duration = round(Gst.SECOND / self.framerate)
        buffer.offset = self.number
        if self.breaks:
            buffer.set_flags(Gst.BufferFlags.DISCONT)
        self.number, self.breaks = self.number + 1, False
        flow = self.appsrc.emit("push-buffer", buffer)
        if flow != Gst.FlowReturn.OK:
            raise EOFError(f"the pipeline takes no more frames: {flow.value_nick}")

    def push(self, array, timeout=None):
        """Copies an array to a frame and pushes it. Returns False if it was lost. Raises ValueError
        for another shape than that of frames, and TypeError for numbers that may not fit."""
        array = without_mask("frame", array)
        if array.shape != self.shape:
            raise ValueError(f"frame: shape {array.shape}, expected {self.shape}")
        # Floating-point samples may round, integers may not wrap.
        if not np.can_cast(array.dtype, self.dtype, "safe" if self.dtype.kind in "iu" else "same_kind"):
            raise TypeError(f"frame: {array.dtype} may not fit into {self.dtype}: use astype ()")
        with self.frame(timeout) as memory:
            if memory is not None:
                memory[...] = array
        return memory is not None

    def end(self):
        """Ends the stream behind the frames that were pushed."""
        self.appsrc.emit("end-of-stream")


def caps_of(dtype, lines, samples, framerate):
    """Returns the caps of frames, and the type in memory. Video without padding is best, as it has
    a pool."""
    name = VIDEO.get(dtype.str[1:])
    chosen = choose(dtype, lines, samples, Gst.Caps.from_string("application/x-oct"))
    if not chosen:
        raise ValueError(f"{dtype} is no type of spectra")
    caps, kind = chosen[0].to_string(), chosen[1]
    if name and samples * kind.itemsize % 4 == 0:
        caps = f"video/x-raw,format={name},width={samples},height={lines}"
    # Gst.Fraction needs gst-python.
    caps = re.sub(",[^,]*framerate=[^,]*", "", caps)
    return Gst.Caps.from_string(f"{caps},framerate={round(framerate * 1000)}/1000"), kind


@contextlib.contextmanager
def mapped(buffer):
    """Yields the bytes of a buffer as an array that may be written until the end of the block."""
    info = MapInfo()
    if not buffer_map(hash(buffer), ctypes.addressof(info), WRITE):
        raise RuntimeError("GStreamer cannot map a frame for writing")
    try:
        yield np.frombuffer((ctypes.c_ubyte * info.size).from_address(info.data), np.uint8)
    finally:
        buffer_unmap(hash(buffer), ctypes.addressof(info))
