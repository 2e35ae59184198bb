"""NumPy arrays and GStreamer buffers that share memory

PyGObject copies the bytes of a buffer in both directions. These functions call libgstreamer
instead; `hash` of a boxed PyGObject is the address of its structure.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes
import itertools

import numpy as np
from gi.repository import Gst

from .system import load_library

GIVE_BACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
READ, READONLY = 1, 2  # GST_MAP_READ, GST_MEMORY_FLAG_READONLY


class MapInfo(ctypes.Structure):
    """GstMapInfo"""
    _fields_ = [("memory", ctypes.c_void_p), ("flags", ctypes.c_int), ("data", ctypes.c_void_p),
                ("size", ctypes.c_size_t), ("maxsize", ctypes.c_size_t),
                ("user_data", ctypes.c_void_p * 4), ("reserved", ctypes.c_void_p * 4)]


def declared(name, result, *arguments):
    function = getattr(load_library("gstreamer-1.0", 0), name)
    function.restype, function.argtypes = result, arguments
    return function


class ProbeInfo(ctypes.Structure):
    """First fields of GstPadProbeInfo"""
    _fields_ = [("type", ctypes.c_uint), ("id", ctypes.c_ulong), ("data", ctypes.c_void_p)]


ADDRESS, SIZE = ctypes.c_void_p, ctypes.c_size_t
buffer_map = declared("gst_buffer_map", ctypes.c_int, ADDRESS, ADDRESS, ctypes.c_int)
buffer_unmap = declared("gst_buffer_unmap", None, ADDRESS, ADDRESS)
buffer_copy_deep = declared("gst_buffer_copy_deep", ADDRESS, ADDRESS)
unref = declared("gst_mini_object_unref", None, ADDRESS)
append_memory = declared("gst_buffer_append_memory", None, ADDRESS, ADDRESS)
new_wrapped = declared("gst_memory_new_wrapped", ADDRESS, ctypes.c_int, ADDRESS, SIZE, SIZE, SIZE,
                       ADDRESS, GIVE_BACK)

lent = {}  # arrays whose memory GStreamer uses, by number
numbers = itertools.count(1)


@GIVE_BACK
def give_back(number):
    lent.pop(number, None)


def buffer_of(array):
    """Returns a buffer with the memory of a contiguous array, which must not change until
    GStreamer releases the buffer."""
    if not array.flags.c_contiguous:
        raise ValueError("an array that shares its memory must be contiguous")
    number = next(numbers)
    lent[number] = array
    buffer = Gst.Buffer.new()
    append_memory(hash(buffer), new_wrapped(
        READONLY, array.ctypes.data, array.nbytes, 0, array.nbytes, number, give_back))
    return buffer


class Mapped:
    """Buffer mapped for reading. NumPy keeps it alive as long as an array uses its memory. Raises
    RuntimeError if the device did not compute the buffer."""

    def __init__(self, buffer):
        self.buffer, self.info = buffer, MapInfo()
        self.is_mapped = buffer_map(hash(buffer), ctypes.addressof(self.info), READ)
        if not self.is_mapped:
            raise RuntimeError("GStreamer cannot map a buffer for reading")
        if not self.info.size and buffer.get_size():
            raise RuntimeError("the device did not compute a buffer")

    @property
    def __array_interface__(self):
        return {"version": 3, "typestr": "|u1", "shape": (self.info.size,),
                "data": (self.info.data or 0, True)}

    # At the end of the interpreter the names of this module may be gone before an array is.
    def __del__(self, unmap=buffer_unmap, address_of=ctypes.addressof):
        if self.is_mapped:
            unmap(hash(self.buffer), address_of(self.info))


def bytes_of(buffer):
    """Returns the bytes of a buffer as an array that shares its memory and cannot be written."""
    return np.asarray(Mapped(buffer))


def copy_buffer(_pad, info):
    """Probe of a pad that replaces each buffer by a copy in memory of its own."""
    probe = ProbeInfo.from_address(hash(info))
    buffer, probe.data = probe.data, buffer_copy_deep(probe.data)
    unref(buffer)
    return Gst.PadProbeReturn.OK
