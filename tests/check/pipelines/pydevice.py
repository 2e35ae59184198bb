#!/usr/bin/env python3
"""Promise: an array of gstopencl.array () computes on the device what NumPy computes, by operators,
functions and indices, and shares its memory where it says so.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys
import threading

import numpy as np

import gstopencl
from arraychecks import refused
from gstopencl import arrays
from gstopencl.arrays import Gst, GstOpenCL

random = np.random.default_rng(65)
TYPES = "u1", "i4", "i8", "f4", "f8", "c8", "c16", "?"


def drawn(kind, *shape):
    values = random.integers(1, 9, shape) + random.random(shape) * (np.dtype(kind).kind in "fc")
    return (values + 1j * random.random(shape) if np.dtype(kind).kind == "c" else values).astype(kind)


def same(found, expected, on_device=True):
    assert isinstance(found, gstopencl.Array) == on_device, type(found)
    expected = np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), \
        f"{found.dtype} {found.shape}, expected {expected.dtype} {expected.shape}"
    assert (found.ndim, found.size, found.nbytes) == (expected.ndim, expected.size, expected.nbytes)
    exact = expected.dtype.kind in "iub"
    error = {} if exact else {"rtol": 8 * np.finfo(expected.dtype).eps, "atol": 0}
    (np.testing.assert_array_equal if exact else np.testing.assert_allclose)(
        np.asarray(found), expected, **error)


def check_operators():
    for kind in TYPES:
        x, y = drawn(kind, 3, 5), drawn(kind, 5)
        a, b = gstopencl.array(x), gstopencl.array(y)
        same(a, x)
        if kind != "?":
            same(a + b, x + y), same(a * 2, x * 2), same(2 - a, 2 - x)
            same(a - b.reshape(1, 5), x - y)
        same(a == b, x == y)
        if np.dtype(kind).kind != "c":
            same(a < b, x < y), same(y >= a, y >= x)  # an array of NumPy on the left
        if np.dtype(kind).kind in "fc":
            same(a / b, x / y), same(abs(-a), abs(-x)), same(np.exp(a), np.exp(x))
            same(a.real, x.real), same(a.imag * 1, x.imag * 1)
        if np.dtype(kind).kind in "iu":
            same(a // b, x // y), same(a % b, x % y), same(a & b, x & y), same(~a, ~x)
    x, z = drawn("f4", 4, 6), drawn("c8", 6)
    a, c = gstopencl.array(x), gstopencl.array(z)
    same(a * c, x * z), same(np.sqrt(a) + 1j, np.sqrt(x) + np.complex64(1j))
    same(np.hypot(a, 3), np.hypot(x, 3)), same(a @ a.T, x @ x.T)
    same(np.ldexp(a, 2), np.ldexp(x, 2), False)  # not in the table: NumPy computes it
    same(np.sin(c), np.sin(z), False), same(c @ c, z @ z, False)
    same(a + [1, 2, 3, 4, 5, 6], x + np.array([1, 2, 3, 4, 5, 6])), same(a * np.float64(2), x * np.float64(2))
    same(a**2, x**2), same(a**-1.5, x**-1.5), same(c**2, z**2, False)
    whole, bits = random.integers(1, 50, 9), np.array([True, False])
    same(gstopencl.array(whole)**3, whole**3), same(2**gstopencl.array(whole), 2**whole, False)
    same(~gstopencl.array(bits), ~bits), same(gstopencl.array(bits) ^ True, ~bits)
    odd = np.array([1, np.nan, -np.inf, 4], "f4")
    for function in np.maximum, np.minimum:
        same(function(gstopencl.array(odd), odd[::-1]), function(odd, odd[::-1]))
    same(np.isfinite(gstopencl.array(odd)), np.isfinite(odd))
    before = b = gstopencl.array(x)
    b += 1
    same(b, x + 1), same(before, x)
    refused(TypeError, "out written", lambda: np.add(x, 1, out=a))
    total = gstopencl.array(x).sum()
    assert isinstance(total + 1, gstopencl.Array) and (total + 1).shape == ()
    np.testing.assert_allclose(float(total * 2 + total), 3 * x.sum(), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(a / total), x / x.sum(), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(gstopencl.run("x / k", x=x, k=total)), x / x.sum(), rtol=1e-6)
    assert x[1, 2] in a and -1 not in a[0]
    host = x.copy()
    host += a
    same(host, x + x, False)
    small = np.array([200, 7], "u1")
    same(gstopencl.array(small)**2, small**2), same(np.negative(gstopencl.array(small)), np.negative(small))
    try:
        a[0] = 1
    except TypeError:
        pass
    else:
        raise AssertionError("an array was written")
    same(gstopencl.array([[]]) + 1, np.array([[]]) + 1, False)
    assert float(gstopencl.array(2.5)) == 2.5 and int(gstopencl.array([7])) == 7


def check_indices():
    for kind in "u1", "f4", "c16":
        x = drawn(kind, 4, 5, 6)
        a = gstopencl.array(x)
        for index in (1, -1, slice(1, 3), (2, slice(None)), (..., 3), (slice(None), slice(None, None, -2)),
                      (slice(3, 0, -1), 2, slice(1, None, 2)), None, (1, None, 2), (1, 2, 3), slice(2, 2)):
            same(a[index], x[index])
        same(a[1:3, :, 1:][0, 2:4], x[1:3, :, 1:][0, 2:4])
        same(a.T, x.T), same(a.transpose(1, 0, 2), x.transpose(1, 0, 2)), same(a.reshape(6, -1), x.reshape(6, -1))
        same(a[1:3] + a[:2], x[1:3] + x[:2])
        assert len(a) == 4 and [each.shape for each in a] == [(5, 6)] * 4
    shared = a[1:3]
    assert np.shares_memory(np.asarray(shared), np.asarray(a)) == arrays.device().shares
    for wrong in [0, 1], np.array([True]), 1.5, "x", True:
        refused(IndexError, "takes integers", lambda: a[wrong])
    refused(IndexError, "out of bounds", lambda: a[4])
    refused(ValueError, "reshape", lambda: a.reshape(7))


def check_functions():
    x = drawn("f4", 8, 32)
    a = gstopencl.array(x)
    same(gstopencl.run("sqrt (x) + k", x=a, k=2.0), np.sqrt(x) + np.float32(2))
    f = gstopencl.fft(a)
    assert isinstance(f, gstopencl.Array) and f.dtype == np.complex64
    np.testing.assert_allclose(np.asarray(f), np.fft.fft(x), rtol=1e-4, atol=1e-4)
    for name in "sum", "mean", "max", "min", "argmax", "any":
        got, want = getattr(np, name)(a, axis=1), getattr(np, name)(x, axis=1)
        assert isinstance(got, gstopencl.Array), name
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6, err_msg=name)
    assert np.sum(a).shape == ()
    same(gstopencl.convolve(a, [[0, 1, 0]]), x)
    source = "kernel void f (global const float *x, global float *y) { size_t i = get_global_id (0); " \
        "y[i] = x[i] + y[i]; }"
    same(gstopencl.kernel(source, x=a, y=a, outputs="y"), x + x)
    same(gstopencl.kernel(source, x=x, y=a * 2, outputs="y"), x + 2 * x)
    same(a, x)  # is never written
    chain = np.log(abs(gstopencl.fft(a * np.hanning(32).astype("f4"))) + 1)
    np.testing.assert_allclose(np.asarray(chain), np.log(abs(np.fft.fft(x * np.hanning(32))) + 1), atol=1e-4)


def check_waits():
    """Many results that are kept, from several threads, keep their numbers."""
    x = drawn("f4", 1000)
    a, kept = gstopencl.array(x), {}

    def work(first):
        for n in range(first, first + 60):
            kept[n] = a * float(n)

    threads = [threading.Thread(target=work, args=(60 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, each in kept.items():
        np.testing.assert_array_equal(np.asarray(each), x * np.float32(n))
    bad = "kernel void f (global const float *x, global float *y) { y[0] = x[0] + no; }"
    refused(gstopencl.DeviceError, "no", lambda: gstopencl.kernel(bad, x=a))
    refused(TypeError, "object", lambda: gstopencl.array([None]))


def check_others():
    """Frames of a pipeline, and other libraries"""
    line = "openclkernelsrc num-buffers=1 expression=i0+10*i1 ! appsink name=s " \
        "caps=other/tensors(memory:OpenCLMemory),types=float32,dimensions=(string)4:3"
    pipeline = Gst.parse_launch(line)
    pipeline.set_context(arrays.device().context.to_gst_context())
    pipeline.set_state(Gst.State.PLAYING)
    sample = pipeline.get_by_name("s").emit("pull-sample")
    a = gstopencl.array(sample)
    expected = (np.arange(4) + 10 * np.arange(3)[:, None]).astype("f4")
    same(a, expected), same(a + 1, expected + 1)
    assert GstOpenCL.is_opencl_memory(a.buffer_on_device.peek_memory(0))
    pipeline.set_state(Gst.State.NULL)
    same(a, expected)
    if arrays.device().shares and hasattr(np, "from_dlpack"):
        shared = np.from_dlpack(a)
        np.testing.assert_array_equal(shared, expected)
        assert np.shares_memory(shared, np.asarray(a))
    gstopencl.clear()
    same(a, expected)


if __name__ == "__main__":
    for check in check_operators, check_indices, check_functions, check_waits, check_others:
        print(check.__name__, flush=True)
        check()
    sys.exit()
