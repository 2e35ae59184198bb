"""Reductions of arrays along axes

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import numpy as np

from .arrays import NUMBERS, axes_of, call_filter, lengths_of, plain

ONE_AXIS = {"argmax", "argmin", "cumulative-sum", "sort", "argsort"}
ORDERED = {"cumulative-sum", "sort", "argsort"}  # which keep all dimensions
WIDE = {"sum", "cumulative-sum", "product"}  # whose integers have 64 bits
SAME = {"maximum", "minimum", "sort"}
TRUTH = {"any", "all"}
OF_COMPLEX = {"sum", "mean", "cumulative-sum", "norm", "variance", "standard-deviation", *TRUTH}


def reduce(x, operation="sum", axes=None, keep_dimensions=False, **properties):
    """Reduces an array along axes, all without `axes`.

    operation: one of openclreduce: "sum", "mean", "maximum", "argmax", "quantiles" …
    x: real numbers. Complex ones for sum, mean, cumulative-sum, norm, variance,
    standard-deviation, any and all.
    axes: a number or several, as NumPy's `axis`.
    properties: other properties of openclreduce, with _ for -: ddof, quantiles=[0.25, 0.5], bins,
    range=(0, 10), descending, count.

    Returns an array of the type that docs/programs.md lists; of bool, "any" and "all" are bool, and
    so are a maximum, minimum and sort. A single number is an array of shape ().

    >>> gstopencl.reduce([[1, 2], [3, 4]], "sum", axes=0).tolist()
    [4, 6]
    >>> gstopencl.reduce([1.0, 2.0, 3.0], "quantiles", quantiles=[0.5, 1]).tolist()
    [2.0, 3.0]
    """
    if "axis" in properties:
        raise TypeError("axis: this parameter is named axes")
    x = plain("x", x, NUMBERS)
    if x.dtype.kind == "c" and operation not in OF_COMPLEX:
        raise TypeError(f"x: {x.dtype} is not supported by operation={operation}, expected one of "
                        + ", ".join(sorted(OF_COMPLEX)))
    properties = {name: setting_of(name, value) for name, value in properties.items()}
    x, axes, shape = arranged(x, operation, axes, keep_dimensions, properties)
    compute = of_complex if x.dtype.kind == "c" else of_element
    found = compute(x, operation, axes, **properties)
    return typed(found.reshape(shape), operation, x.dtype)


def setting_of(name, value):
    """Returns the value of a property, of which quantiles and range are lists of numbers."""
    if name in ("bins", "count"):
        return lengths_of(name, value)[0] if np.ndim(value) == 0 else value
    if name not in ("quantiles", "range"):
        return value
    try:
        text = value.strip("<> ").split(",") if isinstance(value, str) else value
        numbers = np.asarray(text, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected numbers, found {value!r}") from None
    flat = numbers.reshape(-1)
    if name == "quantiles" and (numbers.ndim > 1 or not flat.size or
                                not ((flat >= 0) & (flat <= 1)).all()):
        raise ValueError(f"quantiles: expected numbers from 0 to 1, found {value!r}")
    if name == "range" and (numbers.shape != (2,) or not np.isfinite(flat[1] - flat[0])
                            or flat[0] >= flat[1]):
        raise ValueError(f"range: expected (lower, upper), found {value!r}")
    return numbers


def arranged(x, operation, axes, keep_dimensions, properties):
    """Returns the array and the axes for the element, and the shape of the result."""
    rank, original = len(x.shape), x.shape
    reduced = tuple(range(rank)) if axes is None else axes_of(axes, rank)
    if operation in ONE_AXIS and axes is not None and len(reduced) != 1:
        raise ValueError(f"axes: operation={operation} takes one axis, found {axes!r}")
    if operation in ORDERED:
        return ordered(x, operation, axes, reduced, properties)
    shape = tuple(1 if n in reduced else length for n, length in enumerate(original)
                  if keep_dimensions or n not in reduced)
    if operation == "histogram":
        shape += lengths_of("bins", properties.get("bins", 10))
    elif operation == "quantiles":
        shape = np.shape(properties.get("quantiles", 0)) + shape
    if operation in ONE_AXIS and axes is None:
        x, reduced = x.reshape(-1), (0,)
    # No axis at all is one of length 1.
    return (x, reduced, shape) if reduced else (x.reshape(*original, 1), (rank,), shape)


def ordered(x, operation, axes, reduced, properties):
    """Without axes the array is one line, in C order."""
    if axes is None:
        x, reduced = x.reshape(-1), (0,)
    shape, count = list(x.shape), properties.get("count", 0)
    if operation != "cumulative-sum" and count:
        shape[reduced[0]] = min(shape[reduced[0]], count)
    return x, reduced, tuple(shape)


def of_element(x, operation, axes, **properties):
    texts = {name: f"<{','.join(map(repr, value.reshape(-1).tolist()))}>"
             for name, value in properties.items() if isinstance(value, np.ndarray)}
    return call_filter("openclreduce", "x", x, NUMBERS, operation=operation, axes=axes,
                       **{**properties, **texts})


def of_complex(x, operation, axes, **properties):
    """Returns the reduction of real and imaginary part, which the element has as a last axis."""
    parts = len(x.shape)
    if operation == "norm":
        return of_element(x, operation, (*axes, parts))
    if operation in TRUTH:
        return of_element(of_element(x, "any", (parts,)), operation, axes)
    if operation in ("variance", "standard-deviation"):
        both = of_element(x, "variance", axes, **properties)
        total = np.asarray(both[..., 0] + both[..., 1])
        return total if operation == "variance" else np.sqrt(total)
    return of_element(x, operation, axes, **properties).view(x.dtype)[..., 0]


def typed(found, operation, kind):
    """Returns a result of bool as NumPy has it, where the element has uint8 and uint64."""
    if operation in TRUTH or kind.kind == "b" and operation in SAME:
        return found.view(bool)
    return found.view(np.int64) if kind.kind == "b" and operation in WIDE else found
