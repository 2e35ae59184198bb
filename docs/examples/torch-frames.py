#!/usr/bin/env python3
"""torch-frames: frames of a pipeline as PyTorch tensors, through NumPy, without a copy.

`buffer.map ()` of python3-gst-1.0 gives the memory itself, where `extract_dup ()` copies it. A tensor
is valid inside `with`. It is read-only: clone it before you change it.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import warnings

import gi
import numpy
import torch

gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstVideo  # noqa: E402

WIDTH, HEIGHT = 322, 240


def frame_of(mapped, info):
    """Returns the RGBA frame as an array (rows, columns, channels) in the mapped memory."""
    return numpy.ndarray((info.height, info.width, 4), numpy.uint8, mapped.data,
                         strides=(info.stride[0], 4, 1))


def play(line, use):
    """Calls `use (array, tensor)` with each frame that reaches the appsink `out`."""
    pipeline = Gst.parse_launch(line)
    pipeline.set_state(Gst.State.PLAYING)
    while sample := pipeline.get_by_name("out").emit("pull-sample"):
        info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
        with sample.get_buffer().map(Gst.MapFlags.READ) as mapped:
            array = frame_of(mapped, info)
            use(array, torch.from_numpy(array))
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if error:
        raise SystemExit(error.parse_error()[0].message)


def report(array, tensor):
    assert tensor.data_ptr() == array.ctypes.data, "a copy"
    red, green, blue, _ = tensor.float().mean(dim=(0, 1)).tolist()
    print(f"mean of {tuple(tensor.shape)}: {red:.1f} {green:.1f} {blue:.1f}")


Gst.init(None)
warnings.filterwarnings("ignore", "The given NumPy array is not writable")
play("videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xffff8000 ! openclupload ! "
     f"openclconvert ! video/x-raw(memory:OpenCLMemory),format=RGBA,width={WIDTH},height={HEIGHT} ! "
     "opencldownload ! appsink name=out sync=false", report)
