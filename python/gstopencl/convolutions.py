"""Convolutions of arrays

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import numpy as np

from .arrays import REAL, call_filter, device, is_remote, lengths_of, plain

CONVOLVED = {kind: name for kind, name in REAL.items() if kind[1] in "12" or kind[0] == "f"}
SIZES = {"stride": 1, "dilation": 1, "padding": -1}
# As modes of numpy.pad
BORDERS = {"zero": "constant", "clamp": "edge", "mirror": "reflect", "wrap": "wrap"}


def convolve(x, kernel, bias=None, **properties):
    """Convolves an array as openclconvolve does.

    x: (height, width), or (height, width, channels), or with layout="nchw" (channels, height,
    width), each with a batch before it or without; or (width,) for a kernel (width,). Real numbers,
    integers of up to 16 bits. A list of integers counts as float64.
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
    x, kernel = operand_of("x", x, CONVOLVED), plain("kernel", kernel)
    properties.setdefault("flip", kernel.ndim <= 2)
    is_line = len(x.shape) == 1
    if 0 in (*x.shape, *kernel.shape, len(x.shape), kernel.ndim) or is_line and kernel.ndim != 1:
        raise ValueError(f"kernel: shape {kernel.shape} does not fit x of shape {tuple(x.shape)}")
    properties |= {name: size_of(name, properties.get(name, size)) for name, size in SIZES.items()}
    if is_line:
        x, properties = line_of(x, properties)
    found = of_element(x, kernel, bias, properties)
    return found.reshape(-1) if is_line else found


def operand_of(name, value, types):
    """Returns an array. Numbers of a list have no type of their own."""
    has_type = hasattr(value, "dtype")
    value = plain(name, value)
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



def of_element(x, kernel, bias, properties):
    used = device()
    return call_filter("openclconvolve", "x", x, CONVOLVED, kernel=used.file_of("kernel", kernel),
                       bias=None if bias is None else used.file_of("bias", bias), **properties)
