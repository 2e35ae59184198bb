#!/usr/bin/python3
"""Prints the processor time of gstopencl's functions beside NumPy's, numba's and PyOpenCL's, in
turns: medians in milliseconds, of all threads. A dash: not installed, or not compared.

Usage: arraycalls.py [TURNS] [WORD]

Only rows that contain WORD are measured. SciPy's functions stand in the column of NumPy for a
convolution, and numpy.fft for transforms. "on the device" is an array of gstopencl.array ().

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import itertools
import statistics
import sys
import time
from math import erf, exp, log

import numpy as np

import gstopencl as g

try:
    import numba
except ImportError:
    numba = None
try:
    import pyopencl
    import pyopencl.array
    from pyopencl.elementwise import ElementwiseKernel
    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
except ImportError:
    pyopencl = None
try:
    from scipy import ndimage
except ImportError:
    ndimage = None

random = np.random.default_rng(1)
lengths = itertools.count(1001)
SAXPY = "kernel void saxpy (float a, global const float *x, global float *y)\n" \
    "{ size_t i = get_global_id (0); y[i] = a * x[i] + y[i]; }"
SCHOLES = "s * (0.5 + 0.5 * erf ((log (s / k) + 0.6) / 1.4)) - k * exp (-0.1) * " \
    "(0.5 + 0.5 * erf ((log (s / k) - 0.4) / 1.4))"


def floats(*shape):
    return random.random(shape, np.float32) + 1


def compiled(function):
    """Returns a function that numba compiles for all cores, or None."""
    return numba and numba.njit(parallel=True, fastmath=True)(function)


def of_pyopencl(expression, *names):
    """Returns a function of arrays that computes with an ElementwiseKernel, or None."""
    if not pyopencl:
        return None
    kernel = ElementwiseKernel(context, ", ".join(f"float *{name}" for name in (*names, "out")),
                               f"out[i] = {expression}")

    def call(*arrays):
        arrays = [pyopencl.array.to_device(queue, each) for each in arrays]
        out = pyopencl.array.empty_like(arrays[0])
        kernel(*arrays, out)
        return out.get()
    return call


def expression(text, by_numpy, *arrays, names="xyz", by_cl=None):
    """Returns the calls of a row: of gstopencl, NumPy, numba and PyOpenCL."""
    # numba does not broadcast in loops that it merges.
    is_same = len({array.shape for array in arrays}) == 1
    fast, cl = is_same and compiled(by_numpy), of_pyopencl(by_cl, *names[:len(arrays)]) if by_cl else None
    return (lambda: g.run(text, **dict(zip(names, arrays))), lambda: by_numpy(*arrays),
            fast and (lambda: fast(*arrays)), cl and (lambda: cl(*arrays)))


def reduction(operation, by_numpy, x, axis=None):
    return lambda: g.reduce(x, operation, axis), lambda: by_numpy(x, axis=axis)


def lengths_of(by_cl):
    """Calls with another length each time"""
    return (lambda: g.run("x*x + 3", x=np.ones(next(lengths), "f4")),
            lambda: np.ones(next(lengths), "f4")**2 + 3, None,
            by_cl and (lambda: by_cl(np.ones(next(lengths), "f4"))))


def scholes(s, k):
    out = np.empty_like(s)
    for i in numba.prange(s.size):
        first = (log(s[i] / k[i]) + 0.6) / 1.4
        out[i] = s[i] * (0.5 + 0.5 * erf(first)) - k[i] * exp(-0.1) * (0.5 + 0.5 * erf(first - 1 / 1.4))
    return out


def rows():
    """Yields (name, calls of gstopencl, NumPy, numba, PyOpenCL)."""
    def root(x, y):
        return np.sqrt(x * x + y * y)
    for length in 1000, 10**7:
        x = floats(length)
        yield f"sqrt (x*x + y*y), {length}", expression(
            "sqrt (x*x + y*y)", root, x, x, by_cl="sqrt (x[i]*x[i] + y[i]*y[i])")
    x, y = floats(10**6), floats(10**6)
    yield "another length", lengths_of(of_pyopencl("x[i]*x[i] + 3", "x"))
    yield "x**2", expression("x**2", lambda x: x**2, x, by_cl="x[i]*x[i]")
    yield "exp (-x) * sin (y)", expression(
        "exp (-x) * sin (y)", lambda x, y: np.exp(-x) * np.sin(y), x, y, by_cl="exp (-x[i]) * sin (y[i])")
    yield "log (x)", expression(
        "log (x)", lambda x: np.log(x), x, by_cl="log (x[i])")
    fast = compiled(scholes)
    yield "Black-Scholes", (lambda: g.run(SCHOLES, s=x, k=y), None, fast and (lambda: fast(x, y)))
    yield "a - b, columns and rows", expression("a - b", lambda a, b: a - b, floats(1000, 1),
                                                floats(1000), names="ab")
    z = (x + 1j * y).astype("c8")
    yield "z*z, complex", expression("z*z", lambda z: z * z, z, names="z")
    a, n = floats(512, 512), random.integers(0, 9, (256, 256))
    yield "a @ b, 512", (lambda: g.run("a @ b", a=a, b=a), lambda: a @ a)
    yield "a @ b, int64, 256", (lambda: g.run("a @ b", a=n, b=n), lambda: n @ n)
    square = floats(1000, 1000)
    yield "sum", reduction("sum", np.sum, x)
    yield "sum of rows", reduction("sum", np.sum, square, 1)
    yield "maximum of columns", reduction("maximum", np.max, square, 0)
    yield "variance", reduction("variance", np.var, x)
    yield "cumulative sum", reduction("cumulative-sum", np.cumsum, x)
    yield "median", reduction("median", np.median, x)
    yield "sort", reduction("sort", np.sort, x, 0)
    yield "histogram, 64 bins", (lambda: g.reduce(x, "histogram", bins=64, range=(1, 2)),
                                 lambda: np.histogram(x, 64, (1, 2)))
    lines = floats(512, 1024)
    yield "fft, 512 x 1024", (lambda: g.fft(lines), lambda: np.fft.fft(lines))
    taps = floats(5, 5)
    yield "convolve, 5 x 5", (lambda: g.convolve(square, taps), ndimage and (
        lambda: ndimage.convolve(square, taps, mode="constant")))
    cl = of_pyopencl("2 * x[i] + y[i]", "x", "y")
    yield "kernel saxpy", (lambda: g.kernel(SAXPY, a=2, x=x, y=y, outputs="y"), lambda: 2 * x + y, None,
                           cl and (lambda: cl(x, y)))
    window = np.hanning(1024).astype("f4")
    held = g.array(lines)
    yield "window, fft, log", (
        lambda: np.log(abs(g.fft(g.run("x * w", x=lines, w=window)))),
        lambda: np.log(np.abs(np.fft.fft(lines * window))))
    yield "the same on the device", (lambda: np.asarray(np.log(abs(g.fft(held * window)))), None)


def milliseconds(call):
    time.sleep(0.01)  # threads of the other packages wait actively for a while
    begin = time.process_time()
    call()
    return 1e3 * (time.process_time() - begin)


def print_row(name, calls, turns):
    calls = [*calls, *[None] * (4 - len(calls))]
    for call in filter(None, calls):
        call(), call()
    times = [[call and milliseconds(call) for call in calls] for _ in range(turns)]
    medians = [None if call is None else statistics.median(column)
               for call, column in zip(calls, zip(*times))]
    text = ["-" if each is None else f"{each:.2f}" for each in medians]
    print(f"{name:28}" + "".join(f"{each:>11}" for each in text), flush=True)


def main(turns="15", word=""):
    print(f"{'':28}{'gstopencl':>11}{'NumPy':>11}{'numba':>11}{'PyOpenCL':>11}")
    for name, calls in rows():
        if word in name:
            print_row(name, calls, int(turns))


main(*sys.argv[1:])
