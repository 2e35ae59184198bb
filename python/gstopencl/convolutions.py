"""Convolutions of arrays

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math

import numpy as np

from .arrays import COMPLEX, REAL, call_filter, device, is_remote, lengths_of, plain

CONVOLVED = {kind: name for kind, name in REAL.items() if kind[1] in "12" or kind[0] == "f"}
SIZES = {"stride": 1, "dilation": 1, "padding": -1}
# As modes of numpy.pad
BORDERS = {"zero": "constant", "clamp": "edge", "mirror": "reflect", "wrap": "wrap"}


def convolve(x, kernel, bias=None, **properties):
    """Convolves an array as openclconvolve does.

    x: (height, width), or (height, width, channels), or with layout="nchw" (channels, height,
    width), each with a batch before it or without; or (width,) for a kernel (width,). Real or
    complex numbers, integers of up to 16 bits. A list of integers counts as float64.
    kernel: (height, width) for each channel by itself, in the strict sense as
    scipy.ndimage.convolve, or (filters, channels, height, width) for a layer of a network, which
    is correlated. flip=True or False says otherwise.
    bias: one number for each filter, or one for all.
    properties: border, padding, stride, dilation, groups, activation, layout, method … Padding,
    stride and dilation are a number, or the same one for rows and for columns.

    Returns an array.

    >>> gstopencl.convolve([1.0, 2.0, 4.0], [1, 1, 1]).tolist()
    [3.0, 7.0, 6.0]
    """
    x = operand_of("x", x, {**CONVOLVED, **COMPLEX})
    kernel = plain("kernel", kernel, {**REAL, **COMPLEX})
    bias = None if bias is None else plain("bias", bias, {**REAL, **COMPLEX})
    properties.setdefault("flip", kernel.ndim <= 2)
    is_line = len(x.shape) == 1
    if 0 in kernel.shape or 0 in (kernel.ndim, len(x.shape)) or is_line and kernel.ndim != 1:
        raise ValueError(f"kernel: shape {kernel.shape} does not fit x of shape {tuple(x.shape)}")
    properties |= {name: size_of(name, properties.get(name, size)) for name, size in SIZES.items()}
    if 0 in x.shape:
        return of_nothing(x, kernel, properties)
    if is_line:
        x, properties = line_of(x, properties)
    if "c" in [array.dtype.kind for array in (x, kernel, bias) if array is not None]:
        found = of_complex(x, kernel, bias, properties)
    else:
        found = of_element(x, kernel, bias, properties)
    return found.reshape(-1) if is_line else found


def operand_of(name, value, types):
    """Returns an array. Numbers of a list have no type of their own."""
    has_type = hasattr(value, "dtype")
    value = plain(name, value, {**REAL, **COMPLEX})
    return plain(name, value if has_type or value.dtype.kind not in "iu" else value.astype("f8"),
                 types)


def size_of(name, value):
    """Returns a size, which is the same for rows and columns."""
    found = {*lengths_of(name, value)}
    if len(found) != 1 or min(found) < min(SIZES[name], 1):
        raise ValueError(f"{name}: {value!r}, expected a number, the same for rows and columns")
    return found.pop()


def line_of(x, properties):
    """Returns a line as an array of one row, to which the element adds no other rows."""
    padding, border = properties["padding"], properties.get("border", "zero")
    if padding > 0:
        x = np.pad(x.get() if is_remote(x) else x, padding, BORDERS.get(border, "constant"))
    return x.reshape(1, -1), {**properties, "padding": min(padding, 0)}


def of_complex(x, kernel, bias, properties):
    """Returns a complex convolution from those of real and imaginary parts."""
    if properties.get("activation", "none") != "none":
        raise TypeError("activation: an activation of complex numbers is not supported")
    x = x.get() if is_remote(x) else x

    def parts_of(array):
        is_complex = array is not None and array.dtype.kind == "c"
        return (array.real, array.imag) if is_complex else (array, None)

    def part(x, kernel, bias=None):
        is_zero = x is None or kernel is None
        return 0 if is_zero else of_element(x, kernel, bias, properties)
    (real, imaginary), (taps, other_taps) = parts_of(x), parts_of(kernel)
    first, second = parts_of(bias)
    if second is not None and imaginary is None:
        imaginary = np.zeros_like(real)
    sums = (part(real, taps, first) - part(imaginary, other_taps),
            part(real, other_taps) + part(imaginary, taps, second))
    found = np.empty(sums[0].shape, np.result_type(sums[0].dtype, np.complex64))
    found.real, found.imag = sums
    return found


def of_nothing(x, kernel, properties):
    """Returns the result for an array without elements, without a call of the element."""
    is_nchw, padding = properties.get("layout") == "nchw", properties["padding"]
    shape, rows = [*x.shape], max(x.ndim - (2 if is_nchw else 3), 0)
    taps = kernel.shape[:2] if properties.get("kernel_layout") == "hwio" else kernel.shape[-2:]
    axes = (rows, rows + 1) if x.ndim > 1 else (0,)
    for axis, count in zip(axes, (1, *taps)[-len(axes):]):
        length, stride = shape[axis], properties["stride"]
        span = (count - 1) * properties["dilation"] + 1
        shape[axis] = -(-length // stride) if padding < 0 else \
            (length + 2 * padding - span) // stride + 1
    if kernel.ndim > 3 and len(shape) > 2:
        shape[-3 if is_nchw else -1] = kernel.shape[0]
    if min(shape) < 0 or math.prod(shape):
        raise ValueError(f"x: shape {x.shape} has no elements")
    kind = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float32)
    return np.empty(shape, np.result_type(kind, np.complex64) if kernel.dtype.kind == "c" else kind)


def of_element(x, kernel, bias, properties):
    used = device()
    return call_filter("openclconvolve", "x", x, CONVOLVED, kernel=used.file_of("kernel", kernel),
                       bias=None if bias is None else used.file_of("bias", bias), **properties)
