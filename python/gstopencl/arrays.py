"""Expressions, kernels, transforms and reductions of NumPy arrays, without a pipeline

    import gstopencl
    lengths = gstopencl.run ("sqrt (x*x + y*y)", x=x, y=y)

An operand is a NumPy array, a list, or a pyopencl.array.Array of the context of `use ()`, which is
not copied. Its type is bool, or an integer or floating-point number of 8 to 64 bits; complex where a
function says so. numpy.matrix is an array of two axes. Masked arrays and other types are a TypeError.
Where the device works in the host's memory, arrays of `empty ()` and results are not copied either.
A result is a view of GStreamer's memory and read-only: `copy ()` makes one that can be written.

Each combination of function, types and numbers of dimensions has pipelines that are kept for the
next calls, one for each of a few shapes; all use one OpenCL context. Calls from several threads run
at the same time if their pipelines differ.
Every function raises DeviceError with the message of the element that failed, such as the line of
the OpenCL compiler, and TypeError or ValueError for an operand that no element takes. In a child
process that was forked after a call in its parent, each is a DeviceError.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import atexit
import ctypes
import hashlib
import math
import operator
import os
import threading

import gi
import numpy as np

from . import frames
from .frames import (
    TENSORS, DeviceError, layout_of, start_gstreamer, temporary_folder, tensors_caps, views_in,
    without_mask)

gi.require_version("GstOpenCL", "1.0")
from gi.repository import GObject, Gst, GstOpenCL  # noqa: E402

from .memory import Mapped, buffer_of  # noqa: E402
from .structures import structure_of  # noqa: E402
from .system import load_library  # noqa: E402
from .view.properties import write_text  # noqa: E402

KEPT, SHAPES = 32, 3  # pipelines, and those of them that differ in the shapes of operands alone
PAGE = 4096
POLL = 100 * Gst.MSECOND
HOST_UNIFIED_MEMORY, MEM_BASE_ADDR_ALIGN, DOUBLE_FP_CONFIG = 0x1035, 0x1019, 0x1032
READ_ONLY_USE_HOST_PTR = 1 << 2 | 1 << 3
FEATURE = "(memory:OpenCLMemory)"
# Types of operands; complex numbers are pairs on the device
REAL = {"b1": "uint8", **TENSORS}
COMPLEX = {"c8": "float32", "c16": "float64"}
NUMBERS = {**REAL, **COMPLEX}


# --- the context ---


class Device:
    """An OpenCL context, and the pipelines that use it"""

    def __init__(self, context):
        self.context, self.lock, self.engines = context, threading.Lock(), {}
        self.folder = temporary_folder(self, "gstopencl-")
        self.opencl = load_library("OpenCL", 1)
        self.opencl.clCreateBuffer.restype = ctypes.c_void_p
        self.shares = bool(self.info(HOST_UNIFIED_MEMORY))
        self.alignment = max(self.info(MEM_BASE_ADDR_ALIGN) // 8, 1)
        self.real = "float64" if self.info(DOUBLE_FP_CONFIG) else "float32"

    def info(self, what):
        value = ctypes.c_uint64()
        self.opencl.clGetDeviceInfo(ctypes.c_void_p(self.context.get_device()), what,
                                    ctypes.c_size_t(8), ctypes.byref(value), None)
        return value.value

    def wraps(self, array):
        """Returns whether the device reads the memory of this array without a copy."""
        return self.shares and array.ctypes.data % max(self.alignment, PAGE) == 0 \
            and not isinstance(owner_of(array), Mapped)  # which is memory of a device

    def wrapped(self, array):
        """Returns a buffer of the memory of an array that `wraps ()`."""
        code = ctypes.c_int()
        handle = self.opencl.clCreateBuffer(
            ctypes.c_void_p(self.context.get_handle()), ctypes.c_uint64(READ_ONLY_USE_HOST_PTR),
            ctypes.c_size_t(array.nbytes), ctypes.c_void_p(array.ctypes.data), ctypes.byref(code))
        if code.value:
            raise DeviceError(f"clCreateBuffer of {array.nbytes} bytes failed: {code.value}")
        memory = GstOpenCL.memory_new_wrapped(self.context, handle, array.nbytes, None)
        self.opencl.clReleaseMemObject(ctypes.c_void_p(handle))
        return buffer_with(memory)

    def file_of(self, name, array):
        """Returns the name of a .npy file of real numbers, which is the same for the same ones."""
        array = plain(name, array).astype(np.float64)
        digest = hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()
        path = os.path.join(self.folder, f"{digest}.npy")
        if not os.path.exists(path):
            np.save(path, array)
        return path

    def engine(self, key, shapes, make):
        """Returns the engine of this key and these shapes, which is then the one that was used last.
        With many other shapes, it is the one of them that was not used for the longest time."""
        with self.lock:
            others = [other for other in self.engines if other[0] == key]
            last = others[0] if len(others) >= SHAPES else None
            engine = self.engines.pop((key, shapes), None) or self.engines.pop(last, None) or make()
            self.engines[key, shapes] = engine
            dropped = [self.engines.pop(next(iter(self.engines)))
                       for _ in range(len(self.engines) - KEPT)]
        for old in dropped:
            old.close()
        return engine

    def drop(self, engine):
        with self.lock:
            self.engines = {key: kept for key, kept in self.engines.items() if kept is not engine}
        engine.close()


current = []  # the Device in use, once there is one
frames.kept_in_child.append(current)
current_lock = threading.Lock()


def device():
    start_gstreamer()
    with current_lock:
        if not current:
            current.append(Device(GstOpenCL.Context.new(None)))
        return current[0]


def use(what):
    """Uses another device, or the context of an application, for all calls from now on.

    what: a value of the property `device`, such as "gpu" or "0:1", or a pyopencl.Context.
    Raises GLib.Error where there is no such device. Releases all pipelines.
    """
    start_gstreamer()
    if isinstance(what, str):
        context = GstOpenCL.Context.new(what)
    else:
        context = GstOpenCL.Context.new_wrapped(what.int_ptr, what.devices[0].int_ptr, None)
    clear()
    with current_lock:
        current[:] = [Device(context)]


def clear():
    """Releases the context and all pipelines, with the memory that they keep. A forked child has
    none of its own."""
    if frames.forked:
        return
    with current_lock:
        old = current.pop() if current else None
    for engine in [*old.engines.values()] if old else []:
        old.drop(engine)


atexit.register(clear)


def empty(shape, dtype="float32"):
    """Returns an array like numpy.empty (shape, dtype), which begins at a page of memory: a device
    that works in the host's memory reads it where it is.

    >>> x = gstopencl.empty((2, 3), "int32")
    >>> x.shape
    (2, 3)
    """
    dtype, shape = np.dtype(dtype), shape_of("shape", shape)
    if dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"dtype: {dtype} is not supported")
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + PAGE, np.uint8)
    first = -memory.ctypes.data % PAGE
    return memory[first:first + size].view(dtype).reshape(shape)


# --- operands ---


def buffer_with(memory):
    buffer = Gst.Buffer.new()
    buffer.append_memory(memory)
    return buffer


class Operand:
    """An array as caps and, for each call, as a buffer"""

    def __init__(self, name, array, used, types=REAL):
        self.array, self.used = plain(name, array, types), used
        self.is_remote = hasattr(array, "base_data")
        self.is_array = hasattr(array, "buffer_on_device")
        self.dtype, shape = numbers_of(self.array.dtype, self.array.shape)
        self.shape = shape or (1,)
        if 0 in self.shape:
            raise ValueError(f"{name}: shape {self.shape} has no elements")
        self.result = array.buffer_on_device if self.is_array else None if self.is_remote \
            else result_under(self.array, used)
        self.is_wrapped = not self.is_remote and not self.result and used.wraps(self.array)
        self.is_on_device = self.is_remote or self.is_wrapped or bool(self.result)
        if self.is_remote and self.array.context.int_ptr != used.context.get_handle() \
                or self.is_array and not is_of_context(self.result, used):
            raise ValueError(f"{name}: the array belongs to another OpenCL context: call "
                             "gstopencl.use (array.context) before")
        self.caps = tensors_caps(self.dtype.str[1:], self.shape, 0, FEATURE * self.is_on_device)
        self.kind = self.dtype, len(self.shape), self.is_on_device

    def buffer(self):
        if self.result or self.is_remote:
            return self.result or self.remote_buffer()
        return self.used.wrapped(self.array) if self.is_wrapped else buffer_of(self.array)

    def remote_buffer(self):
        """Returns a buffer of the array's memory, which elements use after what is in its queue."""
        import pyopencl
        array, queue = self.array, self.array.queue
        if not array.flags.c_contiguous or not queue:
            raise ValueError("an array of pyopencl must be contiguous and have a queue")
        memory = GstOpenCL.memory_new_wrapped(
            self.used.context, array.base_data.int_ptr, array.base_data.size, None)
        done = pyopencl.enqueue_marker(queue)
        GstOpenCL.memory_begin(memory, queue.int_ptr, Gst.MapFlags.WRITE)
        GstOpenCL.memory_end(memory, queue.int_ptr, Gst.MapFlags.WRITE, done.int_ptr)
        queue.flush()
        memory.resize(array.offset, array.nbytes)
        return buffer_with(memory)


def owner_of(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array


def result_under(array, used):
    """Returns the buffer in device memory that an array is the whole of, as results are; or None."""
    owner = owner_of(array)
    if not isinstance(owner, Mapped) or (array.ctypes.data, array.nbytes) != (
            owner.info.data, owner.info.size):
        return None
    return owner.buffer if is_of_context(owner.buffer, used) else None


def is_of_context(buffer, used):
    memory = buffer.peek_memory(0)
    return buffer.n_memory() == 1 and GstOpenCL.is_opencl_memory(memory) \
        and GstOpenCL.memory_get_context(memory) == used.context


def is_remote(value):
    """Returns whether this is an array of pyopencl or of gstopencl.array ()."""
    return hasattr(value, "base_data") or hasattr(value, "buffer_on_device")


def host_array(name, value):
    """Returns a contiguous array of numbers, lists or tuples, in the byte order of this machine."""
    try:
        array = without_mask(name, value)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"{name}: {error}") from None
    return np.asarray(array, array.dtype.newbyteorder("="), order="C")


def plain(name, array, types=REAL):
    """Returns an array of one of these types in the byte order of this machine. One on the device
    stays as it is."""
    if not is_remote(array):
        array = host_array(name, array)
    if array.dtype.str[1:] not in types:
        expected = ", ".join(np.dtype(each).name for each in types)
        raise TypeError(f"{name}: {array.dtype} is not supported, expected one of {expected}")
    return array


def numbers_of(dtype, shape):
    """Returns the type and shape of an array as the elements have it: complex numbers are a last axis
    of 2, bool is uint8."""
    if dtype.kind == "c":
        return np.dtype(f"f{dtype.itemsize // 2}"), (*shape, 2)
    return np.dtype("u1") if dtype.kind == "b" else dtype, tuple(shape)


def lengths_of(name, lengths):
    """Returns an integer or several as a tuple."""
    try:
        several = lengths if np.ndim(lengths) else [lengths]
        return tuple(operator.index(length) for length in several)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected an integer or several, found {lengths!r}") from None


def shape_of(name, shape):
    """Returns a shape as a tuple."""
    lengths = lengths_of(name, shape)
    if any(length < 0 for length in lengths):
        raise ValueError(f"{name}: a length of {shape!r} is negative")
    return lengths


def axes_of(axes, rank):
    """Returns one or several axes of an array of `rank` dimensions as a tuple of those from 0."""
    given = lengths_of("axes", axes)
    found = tuple(axis % rank for axis in given if -rank <= axis < rank)
    if len(set(found)) != len(given):
        raise ValueError(f"axes: {axes!r}, expected different axes of {rank} dimensions")
    return found


def number(name, value):
    """Returns a number or a file's name as GStreamer has them in `arguments`."""
    if isinstance(value, (str, os.PathLike)):
        return str(os.fspath(value))
    if isinstance(value, (np.generic, np.ndarray)):
        value = plain(name, value).item()
    if isinstance(value, int) and -2**63 <= value < 2**64:
        kind = GObject.TYPE_UINT64 if value >= 2**63 else GObject.TYPE_INT64
        return GObject.Value(kind, int(value))
    if isinstance(value, float):
        return GObject.Value(GObject.TYPE_DOUBLE, value)
    raise TypeError(f"{name}: expected an array or a number of 64 bits, found {value!r}")


# --- pipelines ---


def made(factory):
    element = Gst.ElementFactory.make(factory)
    if not element:
        raise DeviceError(f"there is no element {factory}: GST_PLUGIN_PATH names its folder")
    return element


class Engine:
    """An element with its properties, and a pad for each operand, which the caller's thread pushes
    buffers to"""

    def __init__(self, used, factory, properties, operands, results=views_in):
        self.lock, self.arguments, self.is_closed = threading.Lock(), None, False
        self.caps, self.results, self.layout = [], results, None
        self.pipeline, self.element, self.sink = Gst.Pipeline(), made(factory), made("appsink")
        for name in "sync", "async":
            self.sink.set_property(name, False)
        parts = [self.element, *([made("opencldownload")] if results == views_in else []), self.sink]
        for part in parts:
            self.pipeline.add(part)
        for part, following in zip(parts, parts[1:]):
            part.link(following)
        for name, value in properties.items():
            self.set(name, value)
        self.pads = [self.source(name, operand) for name, operand in operands.items()]
        self.pipeline.set_context(used.context.to_gst_context())

    def set(self, name, value):
        spec = self.element.find_property(name)
        if not spec:
            raise TypeError(f"{self.element.get_factory().get_name()} has no property {name}")
        try:
            write_text(self.element, spec, value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def source(self, name, operand):
        """Returns a pad outside of the pipeline that is linked to the element's."""
        pad = self.element.get_static_pad("sink")
        if not pad or pad.is_linked():
            pad = self.element.request_pad_simple(name)
        if not pad:
            raise ValueError(f"{name}: no operand may have this name")
        if not operand.is_on_device:
            upload = made("openclupload")
            self.pipeline.add(upload)
            upload.get_static_pad("src").link(pad)
            pad = upload.get_static_pad("sink")
        source = Gst.Pad.new(name, Gst.PadDirection.SRC)
        source.link(pad)
        return source

    def start(self, operands):
        self.pipeline.set_state(Gst.State.PLAYING)
        segment = Gst.Segment()
        segment.init(Gst.Format.TIME)
        self.caps = []
        for pad, _ in self.fed(operands):
            pad.set_active(True)
            pad.push_event(Gst.Event.new_stream_start(pad.get_name()))
        self.set_caps(operands)
        for pad, _ in self.fed(operands):
            pad.push_event(Gst.Event.new_segment(segment))

    def set_caps(self, operands):
        caps = [operand.caps for operand in operands.values()]
        if caps != self.caps:
            for pad, operand in self.fed(operands):
                pad.push_event(Gst.Event.new_caps(Gst.Caps.from_string(operand.caps)))
        self.caps = caps

    def fed(self, operands):
        """The element computes in the thread that pushes to the first pad, so that it is the last."""
        return reversed(list(zip(self.pads, operands.values())))

    def call(self, operands, arguments):
        """Returns the results as views of GStreamer's memory, None if the engine is closed, as it is
        after a failure."""
        with self.lock:
            if self.is_closed:
                return None
            self.is_closed = True
            structure = structure_with(arguments) if arguments or self.arguments else None
            text = structure.to_string() if structure else ""  # lists may change, and 0.0 == -0.0
            is_first, is_changed = self.arguments is None, self.arguments != text
            if is_changed and (arguments or not is_first):
                self.element.set_property("arguments", structure)
            self.arguments = text
            if not self.pads:  # a source makes one buffer each time
                self.pipeline.set_state(Gst.State.NULL)
            if is_first or not self.pads:
                self.start(operands)
            self.set_caps(operands)
            # The element keeps its inputs until the next ones come.
            self.kept = [operand.array for operand in operands.values() if operand.is_wrapped]
            flows = [pad.push(operand.buffer()) for pad, operand in self.fed(operands)]
            sample = self.pulled([flow for flow in flows if flow != Gst.FlowReturn.OK],
                                 is_changed and not is_first)
            try:
                views = self.results(sample.get_buffer(), self.layout_of(sample.get_caps()))
            except RuntimeError as error:
                self.check_messages(Gst.MessageType.ERROR)
                raise DeviceError(f"{self.element.get_factory().get_name()}: {error}") from None
            self.is_closed = False
            return views

    def layout_of(self, caps):
        if not self.layout or not self.layout[0].is_equal(caps):
            self.layout = caps, layout_of(structure_of(caps, 0))
        return self.layout[1]

    def pulled(self, failed, is_changed):
        """Returns the next sample. New arguments that do not fit are a warning, after which the
        element goes on with those before."""
        warning = Gst.MessageType.WARNING if is_changed else Gst.MessageType.UNKNOWN
        while True:
            sample = None if failed else self.sink.emit("try-pull-sample", POLL)
            self.check_messages(Gst.MessageType.ERROR | warning)
            if sample:
                return sample
            if failed:
                raise DeviceError(f"{self.element.get_factory().get_name()} does not take these "
                                  f"operands: {failed[0].value_nick}")

    def check_messages(self, types):
        """Raises DeviceError for an error or a warning. Returns a message of an element."""
        message = self.pipeline.get_bus().pop_filtered(types)
        if message and message.type != Gst.MessageType.ELEMENT:
            is_error = message.type == Gst.MessageType.ERROR
            reason, _ = message.parse_error() if is_error else message.parse_warning()
            raise DeviceError(f"{message.src.get_factory().get_name()}: {reason.message}")
        return message

    def close(self):
        """Waits for a call of another thread."""
        with self.lock:
            self.is_closed = True
            self.pipeline.set_state(Gst.State.NULL)


def structure_with(arguments):
    structure = Gst.Structure.new_empty("arguments")
    for name, value in arguments.items():
        if not isinstance(value, (list, tuple)):
            structure.set_value(name, number(name, value))
            continue
        vector = GObject.ValueArray.new(len(value))  # Gst.ValueArray needs gst-python
        for each in value:
            vector.append(number(name, each))
        structure.set_array(name, vector)
    return structure


def text_of(value):
    """Returns a property's value as text. A tuple is numbers with commas."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def call(factory, properties, operands, arguments=None, used=None):
    """Returns the result of an element with these properties for operands by name."""
    return call_all(factory, properties, operands, arguments, used)[0]


def call_all(factory, properties, operands, arguments=None, used=None):
    """Returns a list of all results."""
    used = used or device()
    properties = {name: text_of(value) for name, value in properties.items() if value is not None}
    results = views_in
    if any(operand.is_array for operand in operands.values()):
        from .devicearray import arrays_of as results
    key = factory, results, *properties.items(), *(
        (name, each.kind) for name, each in operands.items())
    shapes = tuple(each.shape for each in operands.values())
    result = None
    while result is None:
        engine = used.engine(
            key, shapes, lambda: Engine(used, factory, properties, operands, results))
        try:
            result = engine.call(operands, arguments or {})
        except BaseException:
            used.drop(engine)
            raise
    return result


def call_filter(factory, name, array, types=REAL, **properties):
    """Returns the result of an element with one input."""
    used = device()
    return call(factory, {key.replace("_", "-"): value for key, value in properties.items()},
                {name: Operand(name, array, used, types)}, used=used)
