"""Arrays in the memory of the OpenCL device

    z = gstopencl.array (x)
    lengths = np.sqrt (z * z + 1)   # on the device
    print (np.asarray (lengths))    # waits for it

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes

import numpy as np

from . import arrays
from .arrays import Gst, GstOpenCL
from .expressions import run
from .frames import layout_of, parts_of
from .kernels import kernel
from .memory import bytes_of
from .reductions import reduce
from .source import mapped
from .structures import structure_of

# NumPy's functions that are computed on the device; its operators call them
FUNCTIONS = {
    np.add: "x + y", np.subtract: "x - y", np.multiply: "x * y", np.true_divide: "x / y",
    np.floor_divide: "x // y", np.remainder: "x % y", np.negative: "-x", np.positive: "x",
    np.less: "x < y", np.less_equal: "x <= y", np.greater: "x > y", np.greater_equal: "x >= y",
    np.equal: "x == y", np.not_equal: "x != y", np.bitwise_and: "x & y", np.bitwise_or: "x | y",
    np.bitwise_xor: "x ^ y", np.invert: "~x", np.absolute: "abs (x)", np.conjugate: "conj (x)",
    np.square: "x * x", np.reciprocal: "1 / x", np.matmul: "x @ y",
    **{getattr(np, name): f"{name} (x)" for name in (
        "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt floor ceil "
        "rint trunc isnan isinf isfinite").split()},
    np.arcsin: "asin (x)", np.arccos: "acos (x)", np.arctan: "atan (x)", np.hypot: "hypot (x, y)",
    np.arctan2: "atan2 (x, y)", np.power: "pow (x, y)",
    np.maximum: "where (x >= y || x != x, x, y)", np.minimum: "where (x <= y || x != x, x, y)"}
OF_COMPLEX = {np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive, np.equal,
              np.not_equal, np.absolute, np.conjugate, np.square, np.reciprocal, np.exp, np.log, np.sqrt}
POWERS = range(17)  # which are products
# Casts, which wrap as NumPy's integers do, where the result of an expression saturates
WRAPPED = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint"}
# A copy of elements that are not neighbours, of up to four axes, outermost first
COPY = """kernel void copy_elements (global const NUMBER *x, global NUMBER *output, long first,
    long count, long4 lengths, long4 strides)
{
  long rest = get_global_id (0), from = first;
  if (rest >= count)
    return;
  from += rest % lengths.w * strides.w, rest /= lengths.w;
  from += rest % lengths.z * strides.z, rest /= lengths.z;
  from += rest % lengths.y * strides.y + rest / lengths.y * strides.x;
  output[get_global_id (0)] = x[from];
}"""


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of numbers in device memory, in C order. It never changes.

    shape, dtype, ndim, size, nbytes: as NumPy's
    buffer_on_device: the Gst.Buffer of its memory; elements of a pipeline wait for what computes it

    Operators, NumPy's functions of elements and `gstopencl`'s functions take it, together with arrays
    of NumPy, and return one, without waiting for the device. `numpy.asarray ()`, float () and the like
    wait. Basic indices that give neighbours share the memory, others copy on the device.
    """

    def __init__(self, buffer, dtype, shape):
        self.buffer_on_device, self.dtype, self.shape = buffer, np.dtype(dtype), tuple(shape)
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))
        self.nbytes = self.size * self.dtype.itemsize

    def __array__(self, dtype=None, copy=None):
        if not self.size:
            found = np.empty(self.shape, self.dtype)
        else:
            found = bytes_of(self.buffer_on_device).view(self.dtype).reshape(self.shape)
        return found.astype(dtype or self.dtype, copy=bool(copy))

    def __array_ufunc__(self, function, method, *operands, out=(), **options):
        is_written = bool(out) and isinstance(out[0], Array)
        if is_written and out[0] is not operands[0]:
            raise TypeError("out: an array on the device cannot be written")
        operands = [np.asarray(each) if isinstance(each, (list, tuple)) else each for each in operands]
        kind = None
        if method == "__call__" and not options and is_written == bool(out):  # a += b is another array
            kind = type_of_result(function, operands)
        if not kind:
            operands = [np.asarray(each) if isinstance(each, Array) else each for each in operands]
            return getattr(function, method)(
                *operands, **options, **({"out": out} if out and not is_written else {}))
        expression, values = FUNCTIONS[function], dict(zip("xy", operands))
        if function is np.power and is_product(operands[1]):
            expression = f"x ** {values.pop('y')}"
        elif kind.kind == "b" and function is np.invert:
            expression = "!x"
        if kind.str[1:] in WRAPPED:
            expression = f"({WRAPPED[kind.str[1:]]}) ({expression})"
        found = run(expression, dtype=kind, **values)
        return found if any(map(np.ndim, operands)) else found.reshape(())

    def __getitem__(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(part, (int, np.integer, slice, type(...), type(None)))
                   and not isinstance(part, bool) for part in parts):
            raise IndexError("an array on the device takes integers, slices, ... and None")
        return self._part(lambda whole: whole[parts if ... in parts else (*parts, ...)])

    def _part(self, choose):
        """Returns the elements that `choose` views of an array of this layout, which is never read."""
        whole = np.lib.stride_tricks.as_strided(
            np.empty(1, self.dtype), self.shape, strides_of(self.shape, self.dtype.itemsize))
        part = choose(whole)
        first = part.ctypes.data - whole.ctypes.data
        if not part.flags.c_contiguous:
            return self._copied(first, part)
        buffer = self.buffer_on_device
        if part.nbytes != self.nbytes:
            buffer = buffer.copy_region(Gst.BufferCopyFlags.MEMORY, first, part.nbytes)
        return Array(buffer, self.dtype, part.shape)

    def _copied(self, first, part):
        step = self.dtype.itemsize
        merged = [(length, stride // step) for length, stride in zip(part.shape, part.strides)
                  if length > 1]
        if len(merged) > 4:
            raise IndexError("an index that copies takes up to four axes longer than 1")
        lengths, strides = zip(*[(1, 0)] * (4 - len(merged)), *merged)
        kind = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}[step]
        words = self._as(f"u{min(step, 8)}", (*self.shape, 2) if step == 16 else self.shape)
        shape = (*part.shape, 2) if step == 16 else part.shape
        found = kernel(COPY, x=words, first=first // step, count=part.size, dtype=words.dtype,
                       shape=shape, lengths=list(lengths), strides=list(strides),
                       options=f"-DNUMBER={kind}", global_size=part.size)
        return found._as(self.dtype, part.shape)

    def _as(self, dtype, shape):
        return Array(self.buffer_on_device, dtype, shape)

    def view(self, dtype):
        """Returns the same memory as numbers of another type, as NumPy's view ()."""
        dtype = np.dtype(dtype)
        *outer, length = self.shape or (1,)
        if length * self.dtype.itemsize % dtype.itemsize:
            raise ValueError(f"the last axis of {length} {self.dtype} has no whole number of {dtype}")
        length = length * self.dtype.itemsize // dtype.itemsize
        return self._as(dtype, (*outer, length) if self.shape or length > 1 else ())

    def reshape(self, *shape):
        """Returns the same memory in another shape, as NumPy's reshape ()."""
        return self._part(lambda whole: whole.reshape(*shape))

    def transpose(self, *axes):
        """Returns a copy with the axes in this order (the reverse one), as NumPy's transpose ()."""
        return self._part(lambda whole: whole.transpose(*axes))

    T = property(transpose)

    def astype(self, dtype):
        return run("x", x=self, dtype=dtype)

    @property
    def real(self):
        return self.view(f"f{self.dtype.itemsize // 2}").reshape(*self.shape, 2)[..., 0] \
            if self.dtype.kind == "c" else self

    @property
    def imag(self):
        return self.view(f"f{self.dtype.itemsize // 2}").reshape(*self.shape, 2)[..., 1] \
            if self.dtype.kind == "c" else self * 0

    def __len__(self):
        if not self.shape:
            raise TypeError("an array of no axes has no length")
        return self.shape[0]

    def __iter__(self):
        return (self[n] for n in range(len(self)))

    def __contains__(self, value):
        return bool((self == value).any())

    def item(self):
        """Returns the only element as a number of Python."""
        return np.asarray(self).item()

    def __repr__(self):
        return f"gstopencl.array ({np.asarray(self)!r})"

    def __dlpack_device__(self):
        return 1, 0  # kDLCPU

    def __dlpack__(self, **options):
        """Lends the memory to another library, which must not write it. BufferError where the device
        does not work in the host's memory."""
        if not arrays.device().shares:
            raise BufferError("the device has memory of its own: use numpy.asarray ()")
        view = np.asarray(self)
        memory = (ctypes.c_ubyte * self.nbytes).from_address(view.ctypes.data)
        memory.owner = view
        return np.frombuffer(memory, self.dtype).reshape(self.shape).__dlpack__(**options)


def type_of_result(function, operands):
    """Returns the type of a function's result, or None if NumPy computes it."""
    shape = (0, 0) if function is np.matmul else 0
    empty = [np.empty(shape, each.dtype) if np.ndim(each) or isinstance(each, Array) else each
             for each in operands]
    is_power = function is np.power and not is_product(operands[1])
    is_complex = any(map(np.iscomplexobj, empty))
    if function not in FUNCTIONS or is_complex and function not in OF_COMPLEX:
        return None
    kind = function(*empty).dtype
    return kind if kind.kind in ("f" if is_power else "biufc") else None


def is_product(exponent):
    return isinstance(exponent, int) and exponent in POWERS


def strides_of(shape, step):
    """Returns the strides in bytes of an array in C order, whose elements have `step` bytes."""
    return [step * int(np.prod(shape[d + 1:])) for d in range(len(shape))]


def convert_by(kind):
    return lambda self: kind(self.item())


def reduce_by(operation):
    def method(self, axis=None, dtype=None, out=None, keepdims=False):
        if dtype is not None or out is not None:
            raise TypeError("an array on the device takes no dtype and no out here")
        return reduce(self, operation, axes=axis, keep_dimensions=keepdims)
    method.__doc__ = f"Returns gstopencl.reduce (self, \"{operation}\", axis)."
    return method


for kind in int, float, complex, bool:
    setattr(Array, f"__{kind.__name__}__", convert_by(kind))
for name, operation in {"max": "maximum", "min": "minimum", "prod": "product", **{
        name: name for name in ("sum", "mean", "argmax", "argmin", "any", "all")}}.items():
    setattr(Array, name, reduce_by(operation))


def array(x, dtype=None):
    """Copies an array to the device.

    x: what numpy.asarray () takes; or a Gst.Sample of a pipeline with `other/tensors` or OCT data,
    whose memory is shared.

    Returns an Array.
    """
    if isinstance(x, Gst.Sample):
        return arrays_of(x.get_buffer(), layout_of(structure_of(x.get_caps(), 0)))[0]
    if isinstance(x, Array):
        return x if dtype in (None, x.dtype) else x.astype(dtype)
    x = arrays.plain("x", np.asarray(x, dtype), arrays.NUMBERS)
    buffer = None
    if x.size:
        memory = GstOpenCL.memory_new(arrays.device().context, x.nbytes)
        buffer = arrays.buffer_with(memory)
        with mapped(buffer) as bytes_on_device:
            bytes_on_device[...] = x.reshape(-1).view("u1")
    return Array(buffer, x.dtype, x.shape)


def arrays_of(buffer, layout):
    """Returns the arrays of a frame as Arrays that share its memory."""
    return [Array(*part) for part in parts_of(buffer, layout)]
