"""Caps of NumPy arrays, and NumPy views of samples

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes
import itertools
import math
import os
import shutil
import tempfile
import threading
import weakref

import gi
import numpy as np

from .wheel import add_typelib

add_typelib()
gi.require_version("Gst", "1.0")
gi.require_version("GstVideo", "1.0")
from gi.repository import Gst, GstVideo  # noqa: E402

from .memory import bytes_of  # noqa: E402
from .structures import structure_of  # noqa: E402

FRAMERATE = 25  # as npyparse: elements that group frames need timestamps
SPECTRA = {"u1": "U8", "i1": "S8", "u2": "U16LE", "i2": "S16LE", "u4": "U32LE", "i4": "S32LE",
           "f4": "F32LE"}
TYPES_OF_OCT = {**{name: f"<{kind}" for kind, name in SPECTRA.items()}, "U16BE": ">u2",
                "S16BE": ">i2", "CF32LE": "<c8"}
TENSORS = {"u1": "uint8", "i1": "int8", "u2": "uint16", "i2": "int16", "u4": "uint32",
           "i4": "int32", "u8": "uint64", "i8": "int64", "f2": "float16", "f4": "float32",
           "f8": "float64"}
ARRAYS = "application/x-oct", "other/tensors"
TYPES_OF_TENSORS = {name: f"<{kind}" for kind, name in TENSORS.items()}


starting = threading.Lock()
in_use = forked = False
kept_in_child = []  # containers of pipelines, which a forked child cannot end


class DeviceError(RuntimeError):
    """An element or the device that failed; says why."""


def start_gstreamer():
    """Initialises GStreamer. It says that it is initialised before it knows its elements, so that
    threads must wait for the first one. Raises DeviceError in a forked child."""
    global in_use
    if forked:
        raise DeviceError("this process was forked from one that has used gstopencl, whose threads "
                          "do not exist here: start processes with spawn")
    with starting:
        in_use = True
        if not Gst.is_initialized():
            Gst.init(None)


def note_fork():
    global forked
    forked = in_use
    for container in kept_in_child:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(container))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=note_fork)


def temporary_folder(owner, prefix):
    """Creates a folder that is removed with its owner, but not by a forked child."""
    folder = tempfile.mkdtemp(prefix=prefix)
    weakref.finalize(owner, lambda: forked or shutil.rmtree(folder, ignore_errors=True))
    return folder


def without_mask(name, array):
    """Returns an array of NumPy. Raises TypeError for a masked array, as the device has no masks."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name}: a masked array is not supported: use its method filled ()")
    return np.asarray(array)


def oct_caps(name, domain, lines, samples):
    return f"application/x-oct,domain={domain},format={name},samples={samples},lines={lines}," \
           f"framerate={FRAMERATE}/1"


def tensors_caps(kind, shape, framerate=FRAMERATE, feature=""):
    dimensions = ":".join(str(length) for length in reversed(shape))
    return f"other/tensors{feature},format=static,num_tensors=1,types={TENSORS[kind]}," \
           f"dimensions=(string){dimensions},framerate={framerate}/1"


def choices(dtype, lines, samples):
    """Yields (caps, type in memory) of frames of this type, the best first: as they are, and then
    rounded."""
    kind = dtype.str[1:]
    if kind in SPECTRA:
        yield oct_caps(SPECTRA[kind], "wavelength", lines, samples), f"<{kind}"
    if kind == "c8":
        yield oct_caps("CF32LE", "depth", lines, samples), "<c8"
        yield tensors_caps("f4", (lines, samples, 2)), "<c8"
    if kind in TENSORS:
        yield tensors_caps(kind, (lines, samples)), f"<{kind}"
    if kind == "f8":
        yield oct_caps("F32LE", "wavelength", lines, samples), "<f4"


def choose(dtype, lines, samples, accepted):
    """Returns (caps, type in memory) of frames of `dtype` for an element that accepts the caps
    `accepted`, or None."""
    for text, kind in choices(dtype, lines, samples):
        caps = Gst.Caps.from_string(text)
        if caps.can_intersect(accepted):
            return caps, np.dtype(kind)
    return None


def layout_of(structure):
    """Returns (type, shape, first byte, number of bytes) of each array in a frame of these caps.
    Raises ValueError for video, whose rows may have padding."""
    if structure.get_name() == "application/x-oct":
        kinds = [np.dtype(TYPES_OF_OCT[structure.get_value("format")])]
        shapes = [(structure.get_value("lines"), structure.get_value("samples"))]
    elif structure.get_name() == "other/tensors":
        kinds = [np.dtype(TYPES_OF_TENSORS[name]) for name in structure.get_value("types").split(",")]
        shapes = [tuple(int(length) for length in text.split(":"))[::-1]
                  for text in structure.get_value("dimensions").split(",")]
    else:
        raise ValueError(f"the chain ends with {structure.get_name()}, expected one of "
                         f"{', '.join(ARRAYS)} and video/x-raw")
    sizes = [math.prod(shape) * kind.itemsize for kind, shape in zip(kinds, shapes)]
    return [*zip(kinds, shapes, itertools.accumulate(sizes, initial=0), sizes)]


def parts_of(buffer, layout):
    """Returns (buffer, type, shape) of each array in a frame."""
    if len(layout) == 1:
        return [(buffer, *layout[0][:2])]
    return [(buffer.copy_region(Gst.BufferCopyFlags.MEMORY, first, size), kind, shape)
            for kind, shape, first, size in layout]


def views_in(buffer, layout):
    """Returns the arrays of a frame, which share its memory and cannot be written."""
    views = [bytes_of(part).view(kind).reshape(shape) for part, kind, shape in parts_of(buffer, layout)]
    for number, view in enumerate(views):
        if not view.flags.aligned:  # an offset that does not suit the type
            views[number] = np.require(view, None, "A")
            views[number].flags.writeable = False
    return views


def video_view(sample, structure):
    """Returns (height, width) or (height, width, components). Rows may have padding between."""
    data, info = bytes_of(sample.get_buffer()), GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    order = "<" if info.finfo.flags & GstVideo.VideoFormatFlags.LE else ">"
    kind = np.dtype(f"{order}u2" if info.finfo.depth[0] == 16 else "u1")
    if info.finfo.n_planes != 1:
        raise ValueError(f"frames of {structure.get_value('format')} have several planes: add "
                         "openclconvert to the chain")
    meta = GstVideo.buffer_get_video_meta(sample.get_buffer())
    stride, offset = (meta.stride[0], meta.offset[0]) if meta else (info.stride[0], info.offset[0])
    components = info.finfo.pixel_stride[0] // kind.itemsize
    rows = np.lib.stride_tricks.as_strided(
        data[offset:].view(kind) if offset else data.view(kind),
        (info.height, info.width, components), (stride, info.finfo.pixel_stride[0], kind.itemsize),
        writeable=False)
    return rows[..., 0] if components == 1 else rows


def views_of(sample):
    """Returns the arrays of a sample as a list. Each of several tensors is a buffer of its own."""
    structure = structure_of(sample.get_caps(), 0)
    if structure.get_name() == "video/x-raw":
        return [video_view(sample, structure)]
    return views_in(sample.get_buffer(), layout_of(structure))


def view_of(sample):
    """Returns the frame of a sample as an array that shares its memory and cannot be written."""
    return views_of(sample)[0]
