#!/usr/bin/env python3
"""Promise: gstopencl.run, fft, reduce, convolve and empty return NumPy's values, types and shapes for
random types, layouts, shapes and arguments, or raise an error where NumPy does.

Usage: pyrandom.py COUNT [SEED]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys
import warnings

import numpy as np

import gstopencl

REAL = "? u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8".split()
TYPES = [*REAL, "c8", "c16"]
SHAPES = (), (1,), (5,), (0,), (3, 4), (4, 3), (3, 0), (1, 4), (2, 3, 4), (2, 4, 3), (5, 2)
LAYOUTS = "C F sliced reversed read-only big-endian list".split()
DIGITS = {"f2": 3e-3, "f4": 1e-5, "c8": 1e-5, "f8": 1e-12, "c16": 1e-12}
ERRORS = TypeError, ValueError, IndexError, gstopencl.DeviceError


class Chance:
    """Random choices of a seed"""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def of(self, *choices):
        return choices[self.random.integers(len(choices))]

    def values(self, shape, kind, has_nan=True):
        """Returns small numbers, with NaN now and then."""
        kind = np.dtype(kind)
        low = -9 if kind.kind in "ifc" else 0
        found = self.random.integers(low, 2 if kind.kind == "b" else 10, shape)
        if kind.kind in "fc":
            found = found / 4 + (1j * self.random.integers(-9, 10, shape) if kind.kind == "c" else 0)
        found = np.array(found).astype(kind)
        if has_nan and kind.kind == "f" and found.size and self.random.random() < 0.1:
            found.flat[self.random.integers(found.size)] = np.nan
        return found

    def laid_out(self, array):
        """Returns the same numbers in another layout."""
        layout = self.of(*LAYOUTS)
        if layout == "list" and array.size:
            return array.tolist() if array.ndim else array[()]
        if layout == "sliced" and array.ndim:
            return np.repeat(array, 2, -1)[..., ::2]
        if layout == "reversed" and array.ndim:
            return array[::-1].copy()[::-1]
        if layout == "F":
            return np.asfortranarray(array) if array.ndim else array
        if layout == "big-endian":
            return array.astype(array.dtype.newbyteorder(">"))
        if layout == "read-only":
            array.flags.writeable = False
        return array


def result_of(call):
    """Returns a result or an error."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return call()
    except ERRORS as error:
        return error


def check(label, call, wanted):
    found, wanted = result_of(call), result_of(wanted)
    if isinstance(wanted, Exception):
        assert isinstance(found, ERRORS), f"{label}: found {found!r}, expected {wanted!r}"
        return
    assert not isinstance(found, Exception), f"{label}: {found!r}, expected {wanted!r}"
    wanted = np.asarray(wanted)
    kind = wanted.dtype.str[1:]
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), \
        f"{label}: {found.dtype} {found.shape}, expected {wanted.dtype} {wanted.shape}"
    if wanted.size:
        scale = np.nanmax(np.abs(np.where(np.isfinite(wanted), wanted, 0))).astype("f8")
        assert np.allclose(found, wanted, 0, DIGITS.get(kind, 0) * max(scale, 1), equal_nan=True), \
            f"{label}: {found!r}, expected {wanted!r}"


def raised(kind):
    def call():
        raise kind("expected")
    return call


def filled(array):
    """Returns an array of elements, which these functions need."""
    if np.size(array) == 0:
        raise ValueError
    return np.asarray(array)


def float_type(arrays):
    """Type of the result of an expression without dtype: real numbers do not count beside arrays"""
    counted = [np.asarray(each).dtype for each in arrays if np.ndim(each)]
    numbers = [each for each in arrays if not np.ndim(each) and np.iscomplexobj(each)]
    found = np.result_type(*(counted + numbers if counted else arrays))
    return found if found.kind in "fc" else np.dtype("f8")


# --- expressions ---

EXPRESSIONS = {"x + y": lambda x, y: x + y, "x * 2 - y": lambda x, y: x * 2 - y,
               "where (x > y, x, y)": lambda x, y: np.where(x > y, x, y),
               "x / (y*y + 1)": lambda x, y: x / (y * y + 1)}


def converted(values, kind):
    """Numbers that are rounded to the nearest even integer and saturated"""
    kind = np.dtype(kind)
    if kind.kind not in "iu":
        return values.astype(kind)
    limits = np.iinfo(kind)
    return np.nan_to_num(np.clip(np.rint(values), limits.min, limits.max), nan=0).astype(kind)


def check_run(chance):
    kinds = chance.of(*TYPES), chance.of(*REAL)
    x, y = (chance.values(chance.of(*SHAPES), kind) for kind in kinds)
    expression, compute = chance.of(*EXPRESSIONS.items())
    if "u8" in kinds:  # All integers are then uint64, which wraps below 0.
        expression, compute = "x + y", np.add
        x, y = np.asarray(np.abs(x)), np.asarray(np.abs(y))
    x, y = chance.laid_out(x), chance.laid_out(y)
    dtype = chance.of(None, None, None, "f4", "i2", "u8", bool, np.float16)
    name = chance.of("y", "src", "output", "sink", "data", "sin", "int", "lambda")
    if np.asarray(x).dtype.kind == "c":
        dtype = chance.of(None, "c8", "c16")
        expression, compute = ("x + y", np.add) if "where" in expression else (expression, compute)

    def wanted():
        is_complex = np.asarray(x).dtype.kind == "c"
        kind = float_type([x, y]) if dtype is None else dtype
        wide = np.asarray(x, "c16" if is_complex else "f8")
        return converted(np.asarray(compute(wide, np.asarray(y, "f8"))), kind)
    text = expression.replace("y", name)
    check(f"{text}, dtype={dtype}, x={x!r}, {name}={y!r}",
          lambda: gstopencl.run(text, {"x": x, name: y}, dtype=dtype), wanted)


def check_product(chance):
    kinds = [chance.of(*TYPES) for _ in "ab"]
    shapes = [chance.of((3,), (4,), (4, 3), (3, 4), (2, 3, 4), (2, 4, 3), (3, 0), (0, 3), ()) for _ in "ab"]
    a, b = (chance.laid_out(chance.values(shape, kind, False)) for shape, kind in zip(shapes, kinds))
    if chance.of(True, False) or {"c8", "c16"} & {*kinds}:
        check(f"a @ b, a={a!r}, b={b!r}", lambda: gstopencl.run("a @ b", a=a, b=b),
              lambda: np.matmul(a, b))
        return
    a, b = np.asarray(a, "f8"), np.asarray(b, "f8")
    c = chance.values((4, 3), "f8", False)
    expression = chance.of("(a @ b) * 2 + b", "b - a @ b @ c", "-a*2 @ b", "(a + 1) @ -(b * 2)",
                           "abs (a @ b) / 4 @ c", "a @ (b @ c)", "1 + c @ (a @ b) - 2")
    check(f"{expression}, a={a!r}, b={b!r}, c={c!r}",
          lambda: gstopencl.run(expression, {name: {"a": a, "b": b, "c": c}[name] for name in "abc"
                                             if name in expression.replace("abs", "")}),
          lambda: np.asarray(eval(expression, {"a": a, "b": b, "c": c})))


# --- reductions ---

def over(function):
    """A function of float64 or complex128, whose result has the element's type"""
    def call(x, **options):
        kind = x.dtype
        if kind.kind in "biu":
            kind = np.dtype("f4" if kind.itemsize <= 2 else "f8")
        found = np.asarray(function(x.astype("c16" if kind.kind == "c" else "f8"), **options))
        return found.astype(kind if found.dtype.kind == "c" else kind.type(0).real.dtype)
    return call


def norm(x, **options):
    return np.sqrt(np.sum(np.abs(x) ** 2, **options))


def wide(function):
    """Sums and products keep a floating-point type, but are computed in a wider one."""
    def call(x, **options):
        found = function(x.astype("c16" if x.dtype.kind == "c" else "f8"), **options) \
            if x.dtype.kind in "fc" else function(x, **options)
        return found.astype(x.dtype) if x.dtype.kind in "fc" else found
    return call


ELEMENTWISE = {"sum": wide(np.sum), "mean": over(np.mean), "norm": over(norm), "variance": over(np.var),
               "standard-deviation": over(np.std), "maximum": np.max, "minimum": np.min,
               "any": lambda x, **options: np.any(x, **options).astype(bool),
               "all": lambda x, **options: np.all(x, **options).astype(bool)}
MEDIANS = {"median": over(np.median)}
ONE_AXIS = {"argmax": np.argmax, "argmin": np.argmin, "cumulative-sum": wide(np.cumsum), "sort": np.sort,
            "argsort": lambda x, axis: np.argsort(x, axis=axis, kind="stable")}
OF_COMPLEX = {"sum", "mean", "norm", "variance", "standard-deviation", "any", "all", "cumulative-sum"}


def check_reduce(chance):
    operation, function = chance.of(*ELEMENTWISE.items(), *MEDIANS.items(), *ONE_AXIS.items())
    kind, shape = chance.of(*TYPES), chance.of(*SHAPES)
    x = chance.values(shape, kind)
    axes = chance.of(None, 0, np.int64(0), -1, 1, (0, 1), (0, -1), (1, 2), (0, 0), 7)
    axes = chance.of(None, ()) if shape == () else axes
    if isinstance(axes, tuple) and not axes and operation not in ELEMENTWISE:
        axes = None
    options = {"keepdims": True} if operation in {**ELEMENTWISE, **MEDIANS} and chance.of(True, False) else {}
    if operation in ("variance", "standard-deviation"):
        options["ddof"] = chance.of(0, 1)
    ours = {{"keepdims": "keep_dimensions"}.get(name, name): value for name, value in options.items()}
    given = chance.laid_out(x)

    def wanted():
        if x.dtype.kind == "c" and operation not in OF_COMPLEX:
            raise TypeError
        array = filled(given)
        return np.asarray(function(array.astype(array.dtype.newbyteorder("=")), axis=axes, **options))
    check(f"{operation}, axes={axes!r}, {options}, x={given!r} of {kind}",
          lambda: gstopencl.reduce(given, operation, axes, **ours), wanted)


def check_quantiles(chance):
    x = chance.values(chance.of((5,), (3, 4), (2, 3, 4)), chance.of(*REAL))
    axes = chance.of(None, 0, -1, (0, -1) if x.ndim > 1 else 0)
    numbers = chance.of(0.25, [0.25], (0, 1), np.array([0.1, 0.5, 0.9]), [1.5], -0.1)
    check(f"quantiles={numbers!r}, axes={axes}, x={x!r}",
          lambda: gstopencl.reduce(x, "quantiles", axes, quantiles=numbers),
          lambda: over(lambda x: np.quantile(x, numbers, axis=axes))(x))
    limits, bins = chance.of((0, 10), [-2.5, 1.5], np.array([0, 1]), (3, 1)), chance.of(3, np.int64(7))
    check(f"range={limits}, bins={bins}, x={x!r}",
          lambda: gstopencl.reduce(x, "histogram", bins=bins, range=limits),
          lambda: np.histogram(x.astype("f8"), bins, tuple(limits))[0])


# --- transforms ---

def check_fft(chance):
    kind, shape = chance.of(*TYPES), chance.of(*SHAPES)
    x = chance.values(shape, kind, False)
    given = chance.laid_out(x)
    axes = chance.of((-1,), (0,), (0, 1), (0, 1, 2), (2, 0, 1), (0, 0), (5,))
    half, inverse = chance.of((False, False), (False, True), (True, False))
    counts = chance.of(None, None, tuple(int(chance.of(1, 4, 7)) for _ in axes), (0,) * len(axes))
    kind = np.asarray(given).dtype.str[1:]
    single = chance.of(True, False) and len(axes) == 1
    function = np.fft.rfftn if half else np.fft.ifftn if inverse else np.fft.fftn

    def wanted():
        if len({*axes}) != len(axes) or half and kind[0] == "c":
            raise ValueError
        return filled(function(np.asarray(given), counts, axes)).astype("c16" if kind in ("f8", "c16") else "c8")
    check(f"fft, axes={axes}, n={counts}, half={half}, inverse={inverse}, x={given!r} of {kind}",
          lambda: gstopencl.fft(given, axes[0] if single else axes, inverse, half,
                                counts[0] if single and counts else counts), wanted)


def check_round_trip(chance):
    """Inverse half spectra of even and odd numbers of samples"""
    kind, axes = chance.of("f4", "f8"), chance.of((-1,), (0,), (0, 1), (1, 0), (2, 0, 1))
    x = chance.random.standard_normal(chance.of((4, 9, 7), (3, 8, 6), (5, 4, 9))).astype(kind)
    spectrum = np.fft.rfftn(x, axes=axes).astype("c8" if kind == "f4" else "c16")
    given = spectrum if kind == "f4" else chance.laid_out(spectrum)
    counts = chance.of(None, tuple(int(chance.of(2, 5, 6, 11)) for _ in axes))
    check(f"round trip of {x.shape}, axes={axes}, n={counts}",
          lambda: gstopencl.fft(given, axes, True, True, counts),
          lambda: (np.fft.irfftn(spectrum, counts, axes) if counts else x).astype(kind))


# --- convolutions ---

def convolution(x, kernel, stride, dilation, padding):
    """Convolution in the strict sense of arrays (rows, columns, channels)"""
    kernel = kernel[::-1, ::-1]
    spans = [(length - 1) * d + 1 for length, d in zip(kernel.shape, dilation)]
    counts, before = [], []
    for length, span, s, p in zip(x.shape, spans, stride, padding):
        counts.append(-(-length // s) if p < 0 else (length + 2 * p - span) // s + 1)
        before.append(max((counts[-1] - 1) * s + span - length, 0) // 2 if p < 0 else p)
    if min(counts) < 1:
        raise ValueError
    padded = np.pad(x, [(b, 99) for b in before] + [(0, 0)] * (x.ndim - 2))
    return sum(kernel[r, c] * padded[r * dilation[0]:, c * dilation[1]:][
        :counts[0] * stride[0]:stride[0], :counts[1] * stride[1]:stride[1]]
        for r in range(kernel.shape[0]) for c in range(kernel.shape[1]))


def check_convolve(chance):
    kind, taps_kind = chance.of("?", "u1", "i2", "f2", "f4", "f8", "c8", "c16", "i4", "u8"), chance.of(*REAL, "c16")
    is_line = chance.of(True, False, False)
    x = chance.values(chance.of((5,), (1,), (0,)) if is_line else
                      chance.of((4, 6), (5, 1), (3, 4, 2), (0, 3), (3, 0, 2)), kind, False)
    taps = chance.values(chance.of((1,), (3,), (4,)) if is_line else chance.of((1, 1), (3, 3), (2, 5)),
                         taps_kind, False)
    sizes = {name: chance.of(*choices) for name, choices in
             (("stride", (1, 2, 3, (2, 2))), ("dilation", (1, 2, [2])),
              ("padding", (-1, 0, 1, np.int64(2), (1, 1), (1, 1), (0, 1))))}
    given = x if x.dtype.kind in "iub" else chance.laid_out(x)
    kind = np.asarray(given).dtype
    pairs = [np.broadcast_to(size, 2).tolist() for size in sizes.values()]
    if is_line:
        pairs = [[1, pairs[0][1]], [1, pairs[1][1]], [min(pairs[2][0], 0), pairs[2][1]]]

    def wanted():
        if kind.kind in "iu" and kind.itemsize > 2:
            raise TypeError
        if np.ptp(sizes["padding"]) > 0:
            raise ValueError
        if "c" in (kind.kind, taps.dtype.kind):
            raise TypeError
        wide = np.atleast_2d(filled(given)).astype("f8"), np.atleast_2d(taps).astype("f8")
        if is_line:
            found = convolution(*wide, *pairs).reshape(-1)
        else:
            found = convolution(*wide, *pairs)
        return found.astype("f4" if kind.kind in "iub" else kind.newbyteorder("="))
    check(f"convolve, {sizes}, kernel={taps!r}, x={given!r}",
          lambda: gstopencl.convolve(given, chance.of(taps, taps.tolist()), **sizes), wanted)


def check_empty(chance):
    shape, kind = chance.of(*SHAPES, 3, np.int64(2), -1, "x"), chance.of(*TYPES, ">i4", None, object)
    found = result_of(lambda: gstopencl.empty(shape, kind))
    wanted = result_of(lambda: raised(TypeError)() if kind is object else np.empty(shape, kind))
    assert isinstance(found, ERRORS) if isinstance(wanted, Exception) else \
        (found.shape, found.dtype) == (wanted.shape, wanted.dtype), (shape, kind, found, wanted)


CHECKS = check_run, check_product, check_reduce, check_quantiles, check_fft, check_round_trip, \
    check_convolve, check_empty
count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
failures = 0
for number in range(seed, seed + count):
    each = CHECKS[number % len(CHECKS)]
    try:
        each(Chance(number))
    except AssertionError as failed:
        failures += 1
        print(f"seed {number}, {each.__name__}: {str(failed)[:600]}", flush=True)
print(f"{count - failures} of {count} cases from seed {seed} passed")
sys.exit(failures > 0)
