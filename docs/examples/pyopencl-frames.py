#!/usr/bin/env python3
"""pyopencl-frames: a picture of a pipeline as a pyopencl buffer, and a kernel on it.

The picture stays on the device: pyopencl sees the cl_mem that the pipeline wrote, in the
pipeline's own context. `memory_begin` and `memory_end` order pyopencl's queue after what
writes the picture, and what uses its memory next after pyopencl's.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import gi
import numpy
import pyopencl

gi.require_version("Gst", "1.0")
gi.require_version("GstOpenCL", "1.0")
from gi.repository import Gst, GstOpenCL  # noqa: E402

WIDTH, HEIGHT = 320, 240
HISTOGRAM = """
kernel void
histogram (global const uchar *picture, ulong first, global uint *levels)
{
  atomic_inc (levels + picture[first + get_global_id (0)]);
}
"""

Gst.init(None)
context = GstOpenCL.Context.new(None)
pipeline = Gst.parse_launch(
    "videotestsrc num-buffers=1 pattern=smpte75 ! openclupload ! openclconvert ! "
    f"video/x-raw(memory:OpenCLMemory),format=GRAY8,width={WIDTH},height={HEIGHT} ! "
    "appsink name=out sync=false")
pipeline.set_context(context.to_gst_context())
pipeline.set_state(Gst.State.PLAYING)
buffer = pipeline.get_by_name("out").emit("pull-sample").get_buffer()

_, handle, first = GstOpenCL.buffer_get_handle(buffer)
picture = pyopencl.MemoryObject.from_int_ptr(handle)
theirs = pyopencl.Context.from_int_ptr(context.get_handle())
queue = pyopencl.CommandQueue(theirs)
levels = pyopencl.Buffer(theirs, pyopencl.mem_flags.READ_WRITE, 4 * 256)
pyopencl.enqueue_fill_buffer(queue, levels, numpy.uint32(0), 0, 4 * 256)
kernel = pyopencl.Program(theirs, HISTOGRAM).build().histogram

memory = buffer.peek_memory(0)
GstOpenCL.memory_begin(memory, queue.int_ptr, Gst.MapFlags.READ)
done = kernel(queue, (WIDTH * HEIGHT,), None, picture, numpy.uint64(first), levels)
GstOpenCL.memory_end(memory, queue.int_ptr, Gst.MapFlags.READ, done.int_ptr)
queue.flush()

counted = numpy.empty(256, numpy.uint32)
pyopencl.enqueue_copy(queue, counted, levels)
print(f"{numpy.count_nonzero(counted)} levels of gray in {counted.sum()} pixels")
pipeline.set_state(Gst.State.NULL)
