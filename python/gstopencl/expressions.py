"""Expressions of arrays, as gstopencl.run computes them

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import os
import re

import numpy as np

from .arrays import (
    NUMBERS, Operand, call, device, host_array, is_remote, numbers_of, plain, shape_of)
from .frames import TENSORS, tensors_caps
from .products import (
    array_product, fresh_names, names_in, operands_of_product, product_in, renamed, whole)

# Names that Python allows for an operand, but no pad of the element
RENAMED = re.compile(r"src|output\d*|.*[^\x00-\x7f].*")
INDICES = {"i0", "i1", "i2", "i3"}


def run(expression, arguments=None, *, dtype=None, shape=None, options=None, **values):
    """Computes an expression for each element.

    expression: as of openclkernel: C's operators, OpenCL C's functions on scalars, the names of
    `values`, and the indices i0 (innermost) … i3. `a @ b` is NumPy's product of matrices: each
    side of it is computed first. It takes complex numbers, too.
    values: operands by name, of shapes that broadcast as NumPy's: arrays, lists, numbers, and names
    of .npy files. A number does not decide the type, unless there are only numbers.
    arguments: a dictionary of more of them, such as one whose name is that of a parameter here.
    dtype: type of the result: that of NumPy's promotion if an array is floating-point. Without one
    it is float64 (float32 on devices that have no float64), as the result may be no integer. A
    product that stands alone has NumPy's type. bool is true where the result is not 0.
    shape: shape of the result, where no array has it.
    options: of the compiler, such as "-DN=5".

    Returns an array.

    >>> gstopencl.run("sqrt (x*x + y*y)", x=[3.0, 5.0], y=[4.0, 12.0]).tolist()
    [5.0, 13.0]
    >>> gstopencl.run("(a @ b) * 2", a=[[1, 2]], b=[[3], [4]], dtype="int32").tolist()
    [[22]]
    """
    if not isinstance(expression, str):
        raise TypeError(f"expression: expected a text, found {expression!r}")
    given = {**(arguments or {}), **values}
    values = {name: value_of(name, value) for name, value in given.items()}
    wanted = None if dtype is None else type_named("dtype", dtype)
    return compute(expression, values, wanted, None if shape is None else shape_of("shape", shape),
                   options)


def value_of(name, value):
    """Returns an operand as an array, a number or the name of a file."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"{name!r} is not a name that an expression can have")
    if is_remote(value):
        return value if value.shape else value.reshape(1)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        return plain(name, value, NUMBERS)[()]
    is_array = isinstance(value, (list, tuple, np.ndarray))
    return plain(name, value, NUMBERS) if is_array else value


def type_named(name, dtype):
    try:
        return np.dtype(dtype).newbyteorder("=")
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def is_array(value):
    return not isinstance(value, str) and getattr(value, "shape", ()) != ()


def compute(expression, values, dtype, shape, options):
    """Returns the value of an expression with products. The first of the innermost products is
    replaced by a name, until there is none."""
    while product := product_in(expression, values):
        first, last, sides = product
        name, = fresh_names(1, expression, values, options)
        consumed = {word for side in sides for word in names_in(side, values)}
        result = array_product(*operands_of_product(
            sides, values, lambda side, used: compute(side, used, None, None, options)))
        expression = expression[:first] + name + expression[last:]
        consumed -= names_in(expression, values)
        values = {key: value for key, value in values.items() if key not in consumed}
        values[name] = result
        if whole(expression, values) == name:
            dtype = result.dtype if dtype is None else dtype
            if dtype == result.dtype and shape is None:
                return result
    return compute_elements(expression, values, dtype, shape, options)


def compute_elements(expression, values, dtype, shape, options):
    """Returns the value of an expression for each element."""
    used = device()
    if dtype is not None and dtype.str[1:] not in NUMBERS:
        raise TypeError(f"dtype: {dtype} is not supported as the type of a result")
    is_single = shape is None and not any(map(is_array, values.values()))
    if is_single:
        check_numbers(expression, values)
    kind = dtype or type_of(values, used)
    values = {name: array_of(name, value, kind) for name, value in values.items()}
    shapes = [value.shape for value in values.values() if is_array(value)]
    if is_single and not shapes:
        shape = ()
    if any(0 in each for each in [*shapes, shape or ()]):
        return empty_result(values, shapes, kind, shape)
    if names := [name for name in values if RENAMED.fullmatch(name)]:
        new_names = dict(zip(names, fresh_names(len(names), expression, values, options)))
        expression = renamed(expression, new_names, values)
        values = {new_names.get(name, name): value for name, value in values.items()}
    is_complex = kind.kind == "c" and (dtype is not None or shape is not None)
    if is_complex and shape is None:  # the element offers float64 alone for operands of float64
        shape = broadcast(shapes, values)
    found = call_element(expression, values, kind, is_complex, shape, options, used)
    if shape is None and len(found.shape) != max(map(len, shapes), default=0):
        is_complex = found.shape != broadcast(shapes, values)
    if is_complex and dtype and dtype.kind != "c":
        raise TypeError(f"dtype: {dtype}, but the value of the expression is complex")
    found = found.view(np.result_type(found, np.complex64))[..., 0] if is_complex else found
    return found.view(dtype or found.dtype).reshape(
        () if is_single else found.shape if shape is None else shape)


def call_element(expression, values, kind, is_complex, shape, options, used):
    """Returns what the element makes of an expression. A complex value has a last axis of 2."""
    operands = {name: Operand(name, value, used, NUMBERS) for name, value in values.items()
                if is_array(value)}
    numbers = {name: value for name, value in values.items() if name not in operands}
    real, lengths = numbers_of(kind, shape or (1,))
    if kind.kind == "b":
        expression = f"({expression}) != 0"
    if is_complex:  # a real value, too
        expression = f"complex (real ({expression}), imag ({expression}))"
    properties = {"expression": expression, "options": options, "complex": ",".join(
        name for name in operands if values[name].dtype.kind == "c") or None,
        "output-caps": f"other/tensors,types={TENSORS[real.str[1:]]}" if shape is None
        else tensors_caps(real.str[1:], lengths, 0)}
    if operands:
        return call("openclkernelmixer", properties, operands, numbers, used)
    return call("openclkernelsrc", {**properties, "num-buffers": 1}, {}, numbers, used)


def array_of(name, value, kind):
    """Returns an operand as an array or a number of GStreamer, which has no complex ones."""
    if is_array(value):
        return plain(name, value, NUMBERS)
    if is_complex_number(value):
        return np.full(1, value, np.result_type(kind, np.complex64))
    return value


def check_numbers(expression, values):
    """Raises ValueError where numbers alone do not decide the shape of the result."""
    files = [name for name, value in values.items() if isinstance(value, str)]
    if not values or files or names_in(expression, {}) & INDICES - values.keys():
        raise ValueError("without an array, shape and dtype are needed")


def type_of(values, used):
    """Returns the type of a result by NumPy's promotion. Beside arrays, complex numbers count alone."""
    known = [value for value in values.values() if not isinstance(value, str)]
    if any(map(is_array, known)):
        known = [value.dtype if is_array(value) else value for value in known
                 if is_array(value) or is_complex_number(value)]
    if not known:
        raise ValueError("without an array, shape and dtype are needed")
    found = np.result_type(*known)
    return found if found.kind in "fc" else np.dtype(used.real)


def is_complex_number(value):
    return isinstance(value, (complex, np.complexfloating))


def broadcast(shapes, values):
    """Returns the shape of the result of operands with these shapes, and of files."""
    files = [np.load(value, mmap_mode="r").shape for value in values.values()
             if isinstance(value, str)]
    return np.broadcast_shapes(*shapes, *files)


def empty_result(values, shapes, dtype, shape):
    """Returns a result without elements, for which nothing is computed."""
    found = broadcast(shapes, values) if shapes else shape
    if shape is not None and math.prod(shape) != math.prod(found):
        raise ValueError(f"shape: {shape} does not fit operands of shape {found}")
    return host_array("result", np.empty(found if shape is None else shape, dtype))
