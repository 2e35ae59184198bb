#!/usr/bin/env python3
"""Frames of a frame grabber's callback, shown or measured: gstopencl.Source

usage: grabber.py [FRAMES-PER-SECOND [SECONDS]]

The grabber is simulated: a thread that calls a function for each frame of 1024 A-lines of 2048
samples. With a vendor's library, that function is the callback which is registered there.
"""
import sys
import threading
import time

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

import gstopencl  # noqa: E402

LINES, SAMPLES = 1024, 2048
rate = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0

Gst.init(None)
pipeline = Gst.parse_launch(
    "appsrc name=grabber is-live=true ! openclupload ! octwindowinterp wavelength-min=1187 "
    "wavelength-max=1433 ! octfft ! opencldownload ! fakesink name=sink sync=false")
source = gstopencl.Source(pipeline.get_by_name("grabber"), (LINES, SAMPLES), "<u2", rate)
pipeline.set_state(Gst.State.PLAYING)

spectra = np.random.default_rng(1).integers(0, 4096, (4, LINES, SAMPLES), np.uint16)


def callback(number):
    """The vendor's library calls this with its memory, here `spectra`."""
    source.push(spectra[number % 4], timeout=0)


def grab():
    start = time.monotonic()
    for number in range(round(rate * seconds)):
        time.sleep(max(0, start + number / rate - time.monotonic()))
        callback(number)
    source.end()


# The first frame starts the pipeline, which takes longer than a frame.
source.push(spectra[0])
pipeline.get_by_name("sink").get_state(Gst.CLOCK_TIME_NONE)
threading.Thread(target=grab, daemon=True).start()
message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
if message.type == Gst.MessageType.ERROR:
    sys.exit(message.parse_error()[0].message)
print(f"{source.number} frames of {LINES} A-lines, {source.lost} lost")
