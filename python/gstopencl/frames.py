"""Caps of NumPy arrays, and NumPy views of samples

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes
import os
import shutil
import tempfile
import threading
import weakref

import gi
import numpy as np

from .wheel import make_known

make_known()
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


def parts_of(sample):
    """Returns a list of (buffer, type, shape) of a sample: each of several tensors is a buffer of its
    own. Raises ValueError for video, whose rows may have padding."""
    structure, buffer = structure_of(sample.get_caps(), 0), sample.get_buffer()
    if structure.get_name() == "application/x-oct":
        shape = structure.get_value("lines"), structure.get_value("samples")
        return [(buffer, np.dtype(TYPES_OF_OCT[structure.get_value("format")]), shape)]
    if structure.get_name() != "other/tensors":
        raise ValueError(f"{structure.get_name()}, expected one of {', '.join(VIEWS)}")
    parts, offset = [], 0
    for name, dimensions in zip(structure.get_value("types").split(","),
                                structure.get_value("dimensions").split(",")):
        kind = np.dtype(TYPES_OF_TENSORS[name])
        shape = tuple(int(length) for length in dimensions.split(":"))[::-1]
        size = int(np.prod(shape)) * kind.itemsize
        parts.append((buffer.copy_region(Gst.BufferCopyFlags.MEMORY, offset, size), kind, shape))
        offset += size
    return [(buffer, *parts[0][1:])] if len(parts) == 1 else parts


def array_view(data, sample, _):
    _, kind, shape = parts_of(sample)[0]
    return data.view(kind).reshape(shape)


def video_view(data, sample, structure):
    """Returns (height, width) or (height, width, components). Rows may have padding between."""
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
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


VIEWS = {"application/x-oct": array_view, "other/tensors": array_view, "video/x-raw": video_view}


def views_of(sample):
    """Returns the arrays of a sample as a list. Each of several tensors is a buffer of its own."""
    structure = structure_of(sample.get_caps(), 0)
    if not structure.has_field("num_tensors") or structure.get_value("num_tensors") == 1:
        return [view_of(sample)]
    views = []
    for part, kind, shape in parts_of(sample):
        # An offset that does not suit the type needs a copy.
        view = np.require(bytes_of(part).view(kind).reshape(shape), None, "A")
        view.flags.writeable = False
        views.append(view)
    return views


def view_of(sample):
    """Returns the frame of a sample as an array that shares its memory and cannot be written."""
    structure = structure_of(sample.get_caps(), 0)
    view = VIEWS.get(structure.get_name())
    if not view:
        raise ValueError(f"the chain ends with {structure.get_name()}, expected one of "
                         f"{', '.join(VIEWS)}")
    return view(bytes_of(sample.get_buffer()), sample, structure)
