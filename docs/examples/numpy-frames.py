#!/usr/bin/env python3
"""numpy-frames: NumPy in, NumPy out: spectra of a mirror through the OCT chain.

`gstopencl.process` does the same in one call. `buffer.map ()` of python3-gst-1.0 gives the memory of
the frame itself, which is valid inside `with`.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import gi
import numpy

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

SAMPLES, LINES, MIRROR = 1024, 64, 100


def find_mirror(spectra):
    """Returns the depth bin of the mirror in spectra that are even in wavenumber."""
    lines, samples = spectra.shape
    pipeline = Gst.parse_launch(
        "appsrc name=in format=time ! openclupload ! octwindowinterp ! octfft ! "
        "application/x-oct(memory:OpenCLMemory),domain=depth,format=F32LE ! "
        "opencldownload ! appsink name=out sync=false")
    source, sink = pipeline.get_by_name("in"), pipeline.get_by_name("out")
    source.set_property("caps", Gst.Caps.from_string(
        f"application/x-oct,domain=wavelength,format=U16LE,samples={samples},lines={lines},"
        "framerate=0/1"))
    pipeline.set_state(Gst.State.PLAYING)
    source.emit("push-buffer", Gst.Buffer.new_wrapped(spectra.astype("<u2").tobytes()))
    source.emit("end-of-stream")
    sample = sink.emit("pull-sample")
    if not sample:
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        raise SystemExit(message.parse_error()[0].message if message else "no sample")
    with sample.get_buffer().map(Gst.MapFlags.READ) as mapped:
        depth = numpy.frombuffer(mapped.data, "<f4").reshape(lines, -1)
        mirror = 4 + depth[0, 4:].argmax() # the first bins have the light itself
    pipeline.set_state(Gst.State.NULL)
    return mirror


Gst.init(None)
fringes = 30000 + 9000 * numpy.cos(2 * numpy.pi * MIRROR * numpy.arange(SAMPLES) / SAMPLES)
print("the mirror is at depth bin", find_mirror(numpy.tile(fringes, (LINES, 1))))
