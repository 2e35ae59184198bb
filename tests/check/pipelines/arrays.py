#!/usr/bin/env python3
"""openclreduce and openclfft agree with NumPy: types, shapes and numbers.

usage: arrays.py reduce | order | products | fft | lengths | all-lengths

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import itertools
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from gstopencl.frames import structure_of  # noqa: E402

TIMEOUT = 300 * Gst.SECOND  # clFFT compiles several kernels for a long line
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def tensors(array):
    dimensions = ":".join(str(length) for length in reversed(array.shape))
    return (f"other/tensors,format=static,num_tensors=1,types={array.dtype.name},"
            f"dimensions=(string){dimensions},framerate=25/1")  # fmt: skip


def array_of(sample):
    structure, buffer = structure_of(sample.get_caps(), 0), sample.get_buffer()
    dimensions = structure.get_string("dimensions")
    shape = tuple(reversed([int(length) for length in dimensions.split(":")]))
    numbers = buffer.extract_dup(0, buffer.get_size())
    return np.frombuffer(numbers, structure.get_string("types")).reshape(shape)


def process(element, array, second=None):
    """Returns what `element` makes of two frames that hold `array`.

    `second` is the input b of an element named m.
    """
    line = (f"appsrc name=in format=time caps={tensors(array)} ! openclupload ! {element} ! "
            "opencldownload ! appsink name=out sync=false")  # fmt: skip
    if second is not None:
        line += f" appsrc name=second format=time caps={tensors(second)} ! openclupload ! m.b"
    pipeline = Gst.parse_launch(line)
    source, sink = pipeline.get_by_name("in"), pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    made = []
    try:
        for n in range(2):
            for name, pushed in ("in", array), ("second", second):
                if pushed is not None:
                    buffer = Gst.Buffer.new_wrapped(pushed.tobytes())
                    buffer.pts = n * Gst.SECOND // 25
                    pipeline.get_by_name(name).emit("push-buffer", buffer)
        if second is not None:
            source.emit("end-of-stream")
            pipeline.get_by_name("second").emit("end-of-stream")
        for _ in range(2):
            sample = sink.emit("try-pull-sample", TIMEOUT)
            if not sample:
                message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
                raise AssertionError(f"{element}, {tensors(array)}: "
                                     f"{message.parse_error() if message else 'no frame'}")  # fmt: skip
            made.append(array_of(sample))
    finally:
        pipeline.set_state(Gst.State.NULL)
    assert np.array_equal(made[0], made[1], equal_nan=made[0].dtype.kind == "f"), element
    return made[0]


# --- openclreduce ---


def norm(array, axis, keepdims):
    return np.sqrt(np.sum(array * array, axis=axis, keepdims=keepdims))


def variance(array, axis, keepdims):
    return np.var(array, axis=axis, keepdims=keepdims, ddof=DDOF)


def deviation(array, axis, keepdims):
    return np.std(array, axis=axis, keepdims=keepdims, ddof=DDOF)


DDOF = 1
FUNCTIONS = {"sum": np.sum, "mean": np.mean, "maximum": np.max, "minimum": np.min, "norm": norm,
             "product": np.prod, "variance": variance, "standard-deviation": deviation,
             "any": np.any, "all": np.all}  # fmt: skip
REAL_RESULTS = ["mean", "norm", "variance", "standard-deviation"]


def expected(operation, array, axes, keep, precision=np.longdouble):
    """NumPy's result in `precision`, and the type that the element documents"""
    whole = operation in ("sum", "cumulative-sum", "product")
    name = array.dtype.name
    if whole and array.dtype.kind != "f":
        name = "uint64" if array.dtype.kind == "u" else "int64"
    if operation in REAL_RESULTS and array.dtype.kind != "f":
        name = "float32" if array.dtype.itemsize <= 2 else "float64"
    kind = name if whole and array.dtype.kind != "f" else precision
    if operation in ("argmax", "argmin"):
        axis = axes[0] if axes else None
        return getattr(np, operation)(array, axis, keepdims=keep), "int64"
    if operation in ("any", "all"):
        return FUNCTIONS[operation](array, axis=tuple(axes) or None, keepdims=keep), "uint8"
    if operation == "cumulative-sum":
        return np.cumsum(array, axes[0] if axes else None, kind), name
    numbers = array if operation in ("maximum", "minimum") else array.astype(kind)
    return FUNCTIONS[operation](numbers, axis=tuple(axes) or None, keepdims=keep), name


def check_reduction(operation, array, axes, keep=False):
    element = f"openclreduce operation={operation} keep-dimensions={keep} ddof={DDOF}"
    if axes:
        element += " axes=" + ",".join(map(str, axes))
    got = process(element, array)
    want, name = expected(operation, array, axes, keep)
    label = f"{element} of {array.dtype.name} {array.shape}"
    assert got.dtype.name == name, f"{label}: {got.dtype.name}, expected {name}"
    shape = np.shape(want) or (1,)
    assert got.shape == shape, f"{label}: shape {got.shape}, expected {shape}"
    want = np.reshape(want, shape)
    if got.dtype.kind != "f" or operation in ("maximum", "minimum"):
        assert np.array_equal(got, want, equal_nan=got.dtype.kind == "f"), f"{label}: {got} {want}"
        return
    overflowing, _ = expected(operation, array, axes, keep, np.promote_types(name, "float32"))
    want = np.where(np.isfinite(overflowing.reshape(shape)), want, overflowing.reshape(shape))
    # One rounding to the type and one of a following operation. A sum is as exact as in twice
    # the precision, relative to the sum of magnitudes.
    finite = np.abs(array[np.isfinite(array)].astype(np.longdouble))
    eps, computed = np.finfo(name).eps, np.finfo(np.promote_types(name, "float32")).eps
    rounding = eps * np.abs(want) + 4 * computed**2 * finite.sum() + np.finfo(name).tiny
    if operation in ("product", "variance", "standard-deviation"):
        # A rounding for each factor, or for each difference from the mean
        factors = array.size / max(np.size(want), 1) if operation == "product" else 4
        rounding = rounding + factors * computed * np.abs(want)
    if array.dtype.kind != "f":
        rounding = rounding + eps * finite.max()  # integers of 64 bits are rounded before
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= rounding
    same = (got == want.astype(name)) | (np.isnan(got) & np.isnan(want))
    if not (near | same).all():
        at = tuple(np.argwhere(~(near | same))[0])
        raise AssertionError(f"{label}: {got[at]!r} at {at}, expected {want[at]!r}")


def numbers_of(name, shape, rng):
    if name in FLOATS:
        return rng.normal(0, 10, shape).astype(name)
    limits = np.iinfo(name)
    return rng.integers(limits.min, limits.max, shape, name, True)


def axes_of(operation, rank):
    if operation in ("argmax", "argmin", "cumulative-sum"):
        return [[], *([axis] for axis in range(rank)), [-1]]
    sets = [list(axes) for n in range(rank + 1) for axes in itertools.combinations(range(rank), n)]
    return [*sets, [-1, 0], [-rank]]


OPERATIONS = ["sum", "mean", "maximum", "minimum", "argmax", "norm", "cumulative-sum", "product",
              "argmin", "variance", "standard-deviation", "any", "all"]  # fmt: skip


def some_operations(turn):
    """Every third operation. Each pair of operation and type or layout is a program, which takes a
    quarter of a second to compile, so the operations take turns."""
    return OPERATIONS[turn % 3 :: 3]


def check_types(rng):
    for turn, name in enumerate(INTEGERS + FLOATS):
        for n, operation in enumerate(some_operations(turn) + some_operations(turn + 1)):
            check_reduction(operation, numbers_of(name, (3, 5, 37), rng), [1 + n % 2])


def check_axes(rng):
    for operation in OPERATIONS:
        array = numbers_of("float32", (4, 3, 7, 18), rng)
        for axes in axes_of(operation, 4):
            check_reduction(operation, array, axes, keep=len(axes) % 2 == 1)


def check_sizes(rng):
    """Lengths of 1, primes, and those around vectors and parts"""
    small = (1,), (1, 1), (1, 17), (17, 1), (2, 9), (31, 8), (13, 127), (1009,), (3, 65537)
    for turn, shape in enumerate(small):
        array = numbers_of("float32", shape, rng)
        for axis in range(len(shape)):
            for operation in some_operations(turn + axis):
                check_reduction(operation, array, [axis])
    large = (1, 262147), (262147, 1), (5, 40000, 3), (300, 7, 211), (2, 70000)
    for turn, shape in enumerate(large):
        for shift, name in enumerate(("uint8", "float32")):
            array = numbers_of(name, shape, rng)
            for operation in some_operations(turn + shift):
                check_reduction(operation, array, [])
        for axis in range(len(shape)):
            for operation in some_operations(turn + axis):
                check_reduction(operation, array, [axis], keep=True)
    check_reduction("sum", numbers_of("float32", (300, 7, 211), rng), [0, 2])


def check_special(rng):
    """NaN, infinity, equal maxima and overflow"""
    array = numbers_of("float32", (6, 70), rng)
    array[0, 3] = array[0, 65] = np.nan
    array[1, 40] = np.inf
    array[2, 0], array[2, 69] = np.inf, -np.inf
    array[3] = -np.inf
    array[4] = np.float32(3e38)
    array[5, 17] = array[5, 18] = array[5, 51] = 99
    with np.errstate(all="ignore"):
        for operation, name in itertools.product(OPERATIONS, FLOATS):
            # float16 has infinity from 65520 on.
            for numbers in array, np.ascontiguousarray(array.T):
                check_reduction(operation, numbers.astype(name), [int(numbers is not array) ^ 1])
    for name in INTEGERS:
        equal = np.full((3, 64), np.iinfo(name).max, name)
        equal[1, :9] = np.iinfo(name).min
        for operation in "argmax", "minimum", "maximum", "sum":
            check_reduction(operation, equal, [1])


def check_exact(rng):
    """Sums of 2^24 numbers around 1 are right to the last digit."""
    for array in (rng.random(1 << 24, np.float32) + np.float32(0.5),
                  np.full(1 << 24, np.float32(1.1)), np.full((1 << 12, 1 << 12), np.float32(1.1))):  # fmt: skip
        exact = array.astype(np.float64).sum()
        got = process("openclreduce operation=sum", array)[0]
        error = abs(float(got) - exact) / exact
        print(f"relative error of a sum of {array.size} numbers: {error:.1e}")
        assert error <= 1e-7
        running = process("openclreduce operation=cumulative-sum", array)
        exact = np.cumsum(array.astype(np.float64))
        error = (np.abs(running - exact) / exact).max()
        print(f"relative error of their cumulative sums: {error:.1e}")
        assert error <= 1e-7


def check_video():
    """Rows of video have padding."""
    line = ("videotestsrc num-buffers=1 ! video/x-raw,format={},width=31,height=17 ! tee name=t ! queue ! "
            "openclupload ! openclreduce operation={} axes={} ! opencldownload ! appsink name=out sync=false "
            "t. ! queue ! appsink name=raw sync=false")  # fmt: skip
    for format_, components, operation, axes in (
            ("RGB", 3, "sum", (0, 1)), ("GRAY8", 1, "mean", (1,)), ("GRAY8", 1, "maximum", (0,)),
            ("RGB", 3, "cumulative-sum", (1,)), ("GRAY16_LE", 1, "sum", (0, 1)),
            ("RGBA64_LE", 4, "maximum", (0,))):  # fmt: skip
        pipeline = Gst.parse_launch(line.format(format_, operation, ",".join(map(str, axes))))
        pipeline.set_state(Gst.State.PLAYING)
        got = array_of(pipeline.get_by_name("out").emit("try-pull-sample", TIMEOUT))
        raw = pipeline.get_by_name("raw").emit("try-pull-sample", TIMEOUT).get_buffer()
        pipeline.set_state(Gst.State.NULL)
        name = "uint8" if format_ in ("RGB", "GRAY8") else "uint16"
        rows = np.frombuffer(raw.extract_dup(0, raw.get_size()), name).reshape(17, -1)
        picture = rows[:, : 31 * components].reshape((17, 31, components)[: 2 + (components > 1)])
        want, name = expected(operation, picture, axes, False)
        assert got.dtype.name == name and got.size == np.size(want), (format_, operation)
        assert np.allclose(got.reshape(np.shape(want)), want.astype(name), 1e-6), (format_, operation)


# --- openclreduce: elements in order ---


def with_ties(name, shape, rng):
    """Numbers that repeat, of which some are NaN, infinite or a negative zero"""
    if name not in FLOATS:
        limits = np.iinfo(name)
        return rng.choice(np.array([limits.min, limits.max, 0, 1, *range(3, 30)], name), shape)
    array = rng.integers(-20, 20, shape).astype(name) / 4
    if array.size > 8:
        array.flat[rng.integers(0, array.size, array.size // 8 + 1)] = np.nan
        array.flat[rng.integers(0, array.size, 3)] = np.inf, -np.inf, -0.0
    return array


def check_order(array, axis, descending=False, count=0):
    """Ties keep their order. NaN is the largest."""
    order = np.argsort(array, axis, "stable")
    if descending:  # the ranks of distinct numbers, so that equal ones keep their order
        line = np.unique(array, equal_nan=True)
        keys = np.searchsorted(line, array)
        keys[np.isnan(array)] = len(line)
        order = np.argsort(-keys, axis, "stable")
    if count:
        order = np.take(order, range(min(count, order.shape[axis or 0])), axis or 0)
    want = np.take_along_axis(array, order, axis)
    options = f"descending={descending} count={count}" + ("" if axis is None else f" axes={axis}")
    label = f"{options} of {array.dtype.name} {array.shape}"
    got = process(f"openclreduce operation=argsort {options}", array)
    assert got.dtype == "int64" and np.array_equal(got, order), f"argsort {label}"
    got = process(f"openclreduce operation=sort {options}", array)
    nan = {"equal_nan": array.dtype.kind == "f"}
    assert got.dtype == array.dtype and np.array_equal(got, want, **nan), f"sort {label}"
    assert np.array_equal(np.signbit(got), np.signbit(want)), f"sort {label}: sign of zero"


def check_orders(rng):
    for name in INTEGERS + FLOATS:
        check_order(with_ties(name, (3, 50, 7), rng), 1)
        check_order(with_ties(name, (3, 50, 7), rng), 2, True, 3)
    for shape, axis in (((1,), 0), ((1, 5), 0), ((17, 1), 0), ((5, 16), -1), ((33, 4), 0), ((2, 40009), 1),
                        ((9, 31), None), ((200003,), 0), ((3, 2, 1025), 2)):  # fmt: skip
        for descending, count in (False, 0), (True, 5), (False, 100000):
            check_order(with_ties("float32", shape, rng), axis, descending, count)
    check_order(rng.random((64, 1000), np.float32), 1, True, 10)


def check_quantiles(rng):
    nodes = [0, 0.1, 0.5, 2 / 3, 1]
    listed = ",".join(map(str, nodes))
    for name, (shape, axes) in itertools.product(
            ["uint8", "int32", "int64", "float16", "float32", "float64"],
            [((101,), (0,)), ((6, 50, 7), (1,)), ((6, 50, 7), (0, 2)), ((4, 3), (0, 1)), ((2, 1), (1,))]):  # fmt: skip
        array = numbers_of(name, shape, rng)
        for holed in (False, True) if name in FLOATS and array.size > 20 else (False,):
            if holed:
                array.flat[17] = np.nan
            text = ",".join(map(str, axes))
            exact = array.astype(np.float64)
            for got, want in (
                (process(f"openclreduce operation=median axes={text}", array), np.median(exact, axes)),
                (process(f'openclreduce operation=quantiles axes={text} quantiles="<{listed}>"', array),
                 np.quantile(exact, nodes, axes)),
                (process(f"openclreduce operation=quantiles axes={text} quantiles=<0.25> keep-dimensions=true", array),
                 np.quantile(exact, 0.25, axes, keepdims=True)),
            ):  # fmt: skip
                label = f"quantiles of {name} {shape} along {axes}"
                assert got.shape == (np.shape(want) or (1,)), f"{label}: {got.shape}"
                scale = np.nanmax(np.abs(exact)) * np.finfo(got.dtype).eps
                close = np.allclose(got, want, 0, 4 * scale, equal_nan=True)
                assert close, f"{label}: {got}, expected {want}"


def check_histograms(rng):
    for name, shape, bins, limits in itertools.product(
            ["uint8", "int16", "uint64", "int64", "float16", "float32", "float64"],
            [(40009,), (31, 17)], [1, 10, 256, 5000], [(-10, 100), (0, 255), (0.3, 77.7)]):  # fmt: skip
        array = np.abs(rng.normal(50, 30, shape)).astype(name)
        array.flat[:2] = 0, 77
        if name in FLOATS:
            array.flat[2:5] = np.nan, limits[0], limits[1]
        options = f'bins={bins} range="<{limits[0]},{limits[1]}>"'
        got = process(f"openclreduce operation=histogram {options}", array)
        exact = np.isfinite(array) & (array >= limits[0]) if name in FLOATS else array == array
        # NumPy rounds the edges to float16. These are float32.
        numbers = array.astype("float32") if name == "float16" else array
        want = np.histogram(numbers[exact], bins, limits)[0]
        assert np.array_equal(got, want), f"histogram {options} of {name} {shape}"
    array = rng.integers(0, 256, (20, 30, 3)).astype(np.uint8)
    got = process('openclreduce operation=histogram bins=256 range="<0,256>" axes=0,1', array)
    want = [np.bincount(array[..., n].ravel(), minlength=256) for n in range(3)]
    assert np.array_equal(got, want), "histogram of each component"


def check_ordered(rng):
    for check in check_orders, check_quantiles, check_histograms:
        check(rng)
        print(check.__name__, "passed", flush=True)


def check_reductions(rng):
    for check in check_exact, check_types, check_axes, check_sizes, check_special:
        check(rng)
        print(check.__name__, "passed", flush=True)
    check_video()


# --- expressions of whole arrays ---


def multiplied(a, b):
    return process('m.a openclkernelmixer name=m expression="a @ b"', a, b)


def check_products(rng):
    """Each type, vectors, batches that are broadcast, and sizes around the tiles"""
    for name in FLOATS + INTEGERS:
        for shapes in (((17, 33), (33, 9)), ((70, 300), (300, 65))):
            a, b = (numbers_of(name, shape, rng) for shape in shapes)
            got, want = multiplied(a, b), np.matmul(a, b)
            if name in FLOATS:
                exact = np.matmul(a.astype(np.longdouble), b.astype(np.longdouble))
                bound = np.matmul(np.abs(a).astype(np.longdouble), np.abs(b)) * 2
                bound *= shapes[1][0] * np.finfo(np.promote_types(name, "float32")).eps
                bound += np.abs(exact) * np.finfo(name).eps
                assert (np.abs(got - exact) <= bound).all(), f"{name} {shapes}"
            assert got.dtype == want.dtype and (name in FLOATS or np.array_equal(got, want)), name
    for one, other in (((5,), (5,)), ((5,), (5, 3)), ((3, 5), (5,)), ((7,), (2, 7, 3)), ((2, 3, 7), (7,)),
                       ((4, 3, 5), (5, 2)), ((3, 5), (4, 5, 2)), ((2, 1, 3, 5), (4, 5, 2)),
                       ((2, 3, 4, 5), (2, 3, 5, 6)), ((1, 1), (1, 1)), ((200, 3), (3, 200)),
                       ((2101, 37), (37, 2000)), ((40, 330, 5), (5, 321))):  # fmt: skip
        a, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in (one, other))
        got, want = multiplied(a, b), np.matmul(a, b)
        label = f"{one} @ {other}"
        assert got.shape == (want.shape or (1,)), f"{label}: {got.shape}"
        assert np.array_equal(got, want.reshape(got.shape)), label
    square = rng.integers(-9, 9, (20, 20)).astype(np.float32)
    assert np.array_equal(process('openclkernel expression="x @ x"', square), square @ square)
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file, square)
        file.flush()
        for text, want in ("x @ w", square[:3] @ square), ("w @ x", None):
            element = f'openclkernel expression="{text}" arguments="a,w=(string)\\"{file.name}\\""'
            try:
                assert np.array_equal(process(element, square[:3]), want), text
            except AssertionError as error:
                assert want is None and "the lengths do not fit" in str(error), error


def check_shapes(rng):
    """reshape () by output-caps, and where ()"""
    array = rng.integers(-9, 9, (4, 6, 5)).astype(np.float32)
    for dimensions, shape in ("120", (120,)), ("10:12", (12, 10)), ("2:3:4:5", (5, 4, 3, 2)):
        caps = f'output-caps="other/tensors,dimensions=(string){dimensions}"'
        got = process(f'openclkernel expression="x + i1" {caps}', array)
        want = (array + np.arange(6)[:, None]).reshape(shape)
        assert np.array_equal(got, want), dimensions
    other = rng.integers(-9, 9, (6, 1)).astype(np.float32)
    got = process('m.a openclkernelmixer name=m expression="where (a > b, a, 2 * b)"', array, other)
    assert np.array_equal(got, np.where(array > other, array, 2 * other))


def check_expressions(rng):
    for check in check_products, check_shapes:
        check(rng)
        print(check.__name__, "passed", flush=True)


# --- openclfft ---


def pairs_of(array):
    """Complex numbers as an innermost dimension of 2"""
    return np.stack([array.real, array.imag], -1)


def check_transform(function, array, given_axes, properties, **options):
    is_complex = np.iscomplexobj(array)
    given = pairs_of(array) if is_complex else array
    element = "openclfft " + properties
    if given_axes is not None:
        element += " axes=" + ",".join(map(str, given_axes))
    got = process(element, given)
    want = function(array.astype(np.complex128 if is_complex else np.float64), **options)
    label = f"{element} of {'complex' if is_complex else 'real'} {array.shape}"
    shape = want.shape + (2,) * np.iscomplexobj(want)
    assert got.shape == shape, f"{label}: shape {got.shape}, expected {shape}"
    if np.iscomplexobj(want):
        want = np.stack([want.real, want.imag], -1)
    error = np.abs(got - want).max() / np.abs(want).max()
    assert got.dtype == given.dtype, f"{label}: {got.dtype}"
    assert error < (1e-13 if got.dtype == "float64" else 1e-6), f"{label}: error {error}"


def drawn(shape, is_complex, rng, name="float32"):
    array = rng.normal(size=shape).astype(name)
    return array + 1j * rng.normal(size=shape).astype(name) if is_complex else array


ONE_AXIS = [  # shape, axis
    ((64,), None), ((1,), None), ((3, 1), None), ((1, 2), [0]), ((4, 100), None),
    ((5, 101), [-1]), ((17, 6), [0]), ((3, 32, 5), [1]), ((3, 31, 5), [1]), ((7, 2, 1009), [2]),
    ((6, 4, 3), [-3]), ((1, 8), [0]), ((2, 4099), [1]), ((130, 70, 33), [1]),
]  # fmt: skip
TWO_AXES = [
    ((16, 20), [0, 1]), ((15, 21), [1, 0]), ((3, 8, 10), [1, 2]), ((8, 3, 10), [0, 2]),
    ((8, 10, 3), [0, 1]), ((8, 10, 3), [-2, -3]), ((4, 1, 9), [1, 2]), ((9, 1), [0, 1]),
    ((1, 1), [0, 1]), ((13, 17, 2, 3), [0, 1]), ((5, 6, 7, 8), [3, 1]),
]  # fmt: skip


def check_one(rng, shape, axes, library, name="float32"):
    kinds = [(is_complex, inverse) for is_complex in (0, 1) for inverse in (0, 1)]
    two = axes is not None and len(axes) == 2
    options = {"axes": axes} if two else {"axis": axes[0] if axes else -1}
    for is_complex, inverse in kinds:
        function = (np.fft.ifft2 if inverse else np.fft.fft2) if two else (
            np.fft.ifft if inverse else np.fft.fft)  # fmt: skip
        array = drawn(shape, is_complex, rng, name)
        if not is_complex and shape[-1] == 2 and len(shape) > 1:
            continue  # that would be complex
        check_transform(function, array, axes, f"inverse={bool(inverse)} {library}", **options)
    check_transform(np.fft.rfft2 if two else np.fft.rfft, drawn(shape, False, rng, name), axes,
                    f"half-spectrum=true {library}", **options)  # fmt: skip
    last = axes[-1] if axes else -1
    if shape[last] > 1:
        real_shape = list(shape)
        real_shape[last] = 2 * (shape[last] - 1)
        spectrum = (np.fft.rfft2 if two else np.fft.rfft)(drawn(real_shape, False, rng), **options)
        kind = np.complex64 if name == "float32" else np.complex128
        check_transform(np.fft.irfft2 if two else np.fft.irfft, spectrum.astype(kind), axes,
                        f"inverse=true half-spectrum=true {library}", **options)  # fmt: skip


def check_transforms(rng):
    for shape, axes in ONE_AXIS + TWO_AXES:
        check_one(rng, shape, axes, "")
        print(shape, axes, "passed", flush=True)
    check_one(rng, (4, 60), None, "fft-library=vkfft")
    for shape, axes in [*ONE_AXIS[3::3], *TWO_AXES[::3]]:
        check_one(rng, shape, axes, "", "float64")
        print(shape, axes, "float64 passed", flush=True)
    for length in 32768, 50021:
        check_transform(np.fft.fft, drawn((2, length), True, rng, "float64"), None, "")
    for library in "auto", "vkfft", "clfft":
        refusal = refusal_of(library, 64, "float64")
        assert ("float64 is transformed by VkFFT only" in refusal) == (library == "clfft"), refusal


def factors_of(length):
    factors = []
    for factor in itertools.count(2):
        if length < 2:
            return factors
        while length % factor == 0:
            factors.append(factor)
            length //= factor


def check_length(rng, kind, length, library):
    """One kind of transform of two lines; the inverse to real numbers of even lengths only"""
    if kind == 3 and length % 2:
        kind = 1
    function, properties, is_complex = (
        (np.fft.fft, "", True), (np.fft.rfft, "half-spectrum=true", False),
        (np.fft.ifft, "inverse=true", True),
        (np.fft.irfft, "inverse=true half-spectrum=true", True))[kind]  # fmt: skip
    array = drawn((2, length), is_complex, rng)
    if function is np.fft.irfft:
        array = np.fft.rfft(drawn((2, length), False, rng)).astype(np.complex64)
    if is_complex or length != 2:  # real numbers in pairs would be complex
        check_transform(function, array, None, f"{properties} fft-library={library}")


def random_lengths(rng, count):
    """As many of each kind: any, primes, and those that clFFT promises"""
    lengths = [int(length) for length in rng.integers(513, 200000, count)]
    primes = (n for n in rng.permutation(np.arange(513, 200000)) if len(factors_of(int(n))) == 1)
    smooth = (n for n in rng.permutation(np.arange(513, 200000)) if max(factors_of(int(n))) <= 13)
    lengths += [26003, 50021, 99991, *(int(n) for n in itertools.islice(primes, count - 3))]
    return lengths + [int(n) for n in itertools.islice(smooth, count)]


def refusal_of(library, length, name="float32"):
    """Returns the element error for a length, or an empty string."""
    try:
        process(f"openclfft fft-library={library}", np.zeros((3, length), name))
    except AssertionError as error:
        return str(error)
    return ""


def check_lengths(rng, lengths, kinds, clfft_every):
    """Each library is right for each length that it promises, and refuses any other."""
    has_clfft = "Built without" not in refusal_of("clfft", 4)
    for n, length in enumerate(lengths):
        is_smooth = max(factors_of(length)) <= 13
        takes_clfft = has_clfft and is_smooth and n % clfft_every == 0
        for library in ["vkfft"] + ["clfft"] * takes_clfft:
            for kind in kinds or [length // 2 % 4]:
                check_length(rng, kind, length, library)
        if has_clfft and not is_smooth:
            refusal = refusal_of("clfft", length)
            assert f"cannot transform {length} samples" in refusal, refusal
        print(length, "passed", flush=True)


def check_some_lengths(rng):
    """Each plan is a program, which takes a second to compile. tests/run.sh --lengths has more."""
    check_lengths(rng, random_lengths(rng, 6), None, 1)
    check_lengths(rng, range(2, 129), None, 5)


def check_all_lengths(rng):
    check_lengths(rng, random_lengths(rng, 20), None, 1)
    check_lengths(rng, range(2, 4097), range(4), 1)


CHECKS = {"reduce": check_reductions, "order": check_ordered, "products": check_expressions, "fft": check_transforms, "lengths": check_some_lengths,
          "all-lengths": check_all_lengths}  # fmt: skip

Gst.init(None)
# Other pipelines share the context of this one.
holder = Gst.parse_launch("openclkernelsrc num-buffers=1 expression=0 output-caps="
                          "other/tensors,types=uint8,dimensions=(string)1 ! fakesink")  # fmt: skip
holder.set_state(Gst.State.PAUSED)
holder.get_state(20 * Gst.SECOND)
CHECKS[sys.argv[1]](np.random.default_rng(1))
holder.set_state(Gst.State.NULL)
