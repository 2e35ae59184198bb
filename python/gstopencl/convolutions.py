"""Convolutions of arrays

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math

import numpy as np

from .arrays import COMPLEX, REAL, call_filter, device, is_remote, lengths_of, plain

CONVOLVED = {kind: name for kind, name in REAL.items() if kind[1] in "12" or kind[0] == "f"}
SIZES = {"stride": 1, "dilation": 1, "padding": -1}
OF_LINE = {"stride": 1, "dilation": 1, "padding": 0}  # sizes of the rows of a single line


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
    stride and dilation are a number, or one for rows and one for columns.

    Returns an array.

    >>> gstopencl.convolve([1.0, 2.0, 4.0], [1, 1, 1]).tolist()
    [3.0, 7.0, 6.0]
    """
    x = operand_of("x", x, {**CONVOLVED, **COMPLEX})
    kernel = plain("kernel", kernel, {**REAL, **COMPLEX})
    bias = None if bias is None else plain("bias", bias, {**REAL, **COMPLEX})
    properties.setdefault("flip", kernel.ndim <= 2)
    is_line = len(x.shape) == 1
    if 0 in kernel.shape or kernel.ndim == 0 or is_line and kernel.ndim != 1:
        raise ValueError(f"kernel: shape {kernel.shape} does not fit x of shape {tuple(x.shape)}")
    sizes = {name: pair_of(name, properties.pop(name, size), is_line)
             for name, size in SIZES.items()}
    if is_line:
        x, kernel = x.reshape(1, -1), kernel.reshape(1, -1)
    found = parts_convolved(x, kernel, bias, sizes, properties)
    return found.reshape(-1) if is_line else found


def operand_of(name, value, types):
    """Returns an array. Numbers of a list have no type of their own."""
    has_type = hasattr(value, "dtype")
    value = plain(name, value, {**REAL, **COMPLEX})
    return plain(name, value if has_type or value.dtype.kind not in "iu" else value.astype("f8"),
                 types)


def pair_of(name, value, is_line):
    """Returns a size of rows and columns."""
    found = lengths_of(name, value)
    if len(found) > 2 or not found or is_line and len(found) > 1:
        raise ValueError(f"{name}: {value!r}, expected a number"
                         + ("" if is_line else " or one for rows and one for columns"))
    if name == "padding" and min(found) < 0 and max(found) >= 0:
        raise ValueError(f"padding: {value!r}, -1 is for both axes")
    if min(found) < (-1 if name == "padding" else 1):
        raise ValueError(f"{name}: {value!r} is too small")
    first = OF_LINE[name] if is_line and found[0] >= 0 else found[0]
    return first, found[-1]


def parts_convolved(x, kernel, bias, sizes, properties):
    """Returns the convolution, of complex numbers as those of real and imaginary parts."""
    kinds = [array.dtype.kind for array in (x, kernel, bias) if array is not None]
    if "c" not in kinds:
        return convolved(x, kernel, bias, sizes, properties)
    if properties.get("activation", "none") != "none":
        raise TypeError("activation: an activation of complex numbers is not supported")
    x = x.get() if is_remote(x) else x

    def parts_of(array):
        is_complex = array is not None and array.dtype.kind == "c"
        return (array.real, array.imag) if is_complex else (array, None)

    def part(x, kernel, bias=None):
        is_zero = x is None or kernel is None
        return 0 if is_zero else convolved(x, kernel, bias, sizes, properties)
    (real, imaginary), (taps, other_taps) = parts_of(x), parts_of(kernel)
    first, second = parts_of(bias)
    if second is not None and imaginary is None:
        imaginary = np.zeros_like(real)
    sums = (part(real, taps, first) - part(imaginary, other_taps),
            part(real, other_taps) + part(imaginary, taps, second))
    found = np.empty(sums[0].shape, np.result_type(sums[0].dtype, np.complex64))
    found.real, found.imag = sums
    return found


def convolved(x, kernel, bias, sizes, properties):
    """Returns the convolution of real numbers. Sizes that differ between rows and columns, which the
    element does not have, are taken from a result with stride 1."""
    rows, hwio = axis_of_rows(len(x.shape), properties), is_hwio(kernel, x, properties)
    is_equal = all(first == second for first, second in sizes.values())
    if is_equal and 0 not in x.shape:
        return of_element(x, kernel, bias, {**properties, **{
            name: first for name, (first, _) in sizes.items()}})
    kernel = dilated(kernel, sizes["dilation"], hwio)
    places = places_of(x, kernel, hwio, rows, sizes)
    if 0 in x.shape:
        return of_nothing(x, kernel, hwio, rows, places, properties.get("layout") == "nchw")
    padding = max(end for _, before, after, _ in places for end in (before, after))
    found = of_element(x, kernel, bias, {**properties, "padding": padding})
    taken = [slice(None)] * axis_of_rows(found.ndim, properties)
    taken += [slice(padding - before, padding - before + (count - 1) * stride + 1, stride)
              for count, before, _, stride in places]
    return np.ascontiguousarray(found[tuple(taken)])


def axis_of_rows(rank, properties):
    is_nchw = properties.get("layout") == "nchw"
    return rank - 2 if is_nchw else max(rank - 3, 0)


def is_hwio(kernel, x, properties):
    """Returns whether a kernel is (height, width, channels, filters), as the element finds it."""
    layout = properties.get("kernel_layout", "auto")
    if kernel.ndim < 4 or layout != "auto":
        return kernel.ndim == 4 and layout == "hwio"
    axis = len(x.shape) - 3 if properties.get("layout") == "nchw" else len(x.shape) - 1
    channels = x.shape[axis] if len(x.shape) > 2 else 1
    return kernel.shape[1] * int(properties.get("groups", 1)) != channels


def dilated(kernel, dilation, hwio):
    """Returns a kernel with zeros between its weights."""
    kernel = np.moveaxis(kernel, (0, 1), (-2, -1)) if hwio else np.atleast_2d(kernel)
    *others, rows, columns = kernel.shape
    spread = np.zeros((*others, (rows - 1) * dilation[0] + 1, (columns - 1) * dilation[1] + 1),
                      kernel.dtype)
    spread[..., ::dilation[0], ::dilation[1]] = kernel
    return np.moveaxis(spread, (-2, -1), (0, 1)) if hwio else spread


def places_of(x, kernel, hwio, rows, sizes):
    """Returns for rows and columns the length of the result, the padding before and after the
    input, and the stride, for a kernel that is dilated."""
    spans = kernel.shape[:2] if hwio else kernel.shape[-2:]
    places = [place_of(length, span, *size) for length, span, *size in zip(
        x.shape[rows:rows + 2], spans, sizes["padding"], sizes["stride"])]
    if min(places)[0] < 0 or min(places)[0] == 0 not in x.shape:
        raise ValueError(f"kernel: it spans {spans}, more than x of shape {tuple(x.shape)}")
    return places


def place_of(length, span, padding, stride):
    if padding >= 0:
        return (length + 2 * padding - span) // stride + 1, padding, padding, stride
    count = -(-length // stride)
    needed = max((count - 1) * stride + span - length, 0)
    return count, needed // 2, needed - needed // 2, stride


def of_nothing(x, kernel, hwio, rows, places, is_nchw):
    """Returns the result for an array without elements."""
    shape = [*x.shape]
    shape[rows:rows + 2] = [count for count, *_ in places]
    if kernel.ndim == 4:
        filters, channel = kernel.shape[-1 if hwio else 0], rows - 1 if is_nchw else rows + 2
        if len(shape) > 2:
            shape[channel] = filters
        elif filters > 1:
            shape.insert(max(channel, 0), filters)
    if math.prod(shape):
        raise ValueError(f"x: shape {tuple(x.shape)} has no elements")
    return np.empty(shape, x.dtype if x.dtype.kind == "f" else np.float32)


def of_element(x, kernel, bias, properties):
    used = device()
    return call_filter("openclconvolve", "x", x, CONVOLVED, kernel=used.file_of("kernel", kernel),
                       bias=None if bias is None else used.file_of("bias", bias), **properties)
