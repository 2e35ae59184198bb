#!/usr/bin/env python3
"""Promise: gstopencl.run, kernel, fft, reduce and convolve compute what NumPy computes, for all types
and shapes, keep one pipeline for each combination, read arrays of empty () and of pyopencl where they
are, and raise the element's message as an exception. The type of an array decides, never its shape. A
forked child gets an error. Cells of docs/*.ipynb print what is in them.

Usage: pyarrays.py DOCUMENTS

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import faulthandler
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import warnings

import numpy as np

import gstopencl
from arraychecks import close, refused
from gstopencl import arrays
from gstopencl.arrays import Gst
from gstopencl.recordings import Recording

random = np.random.default_rng(52)
TYPES = "u1", "i4", "u8", "f2", "f8"
DOUBLE = "void twice (global const float *values, global float *output, int factor)\n{\n" \
    "  output[get_global_id (0)] = values[get_global_id (0)] * factor;\n}\n"


def limit_time():
    faulthandler.dump_traceback_later(900, exit=True)


def floats(*shape):
    return random.random(shape, np.float32)


def check_run():
    x, y = floats(30, 40), floats(40)
    close(gstopencl.run("sqrt (x*x + y*y)", x=x, y=y), np.hypot(x, y))
    close(gstopencl.run("a - b", a=y, b=x.T[:, :1].copy()), y - x.T[:, :1])
    close(gstopencl.run("x - 1", x=x[::2, ::-3]), x[::2, ::-3] - 1)
    for factor in 2, 2.5, np.float32(3), np.array(4):
        close(gstopencl.run("x * factor", x=x, factor=factor), x * factor)
    for each in TYPES:
        values = np.array([[1, 2, 100]], each)
        found = gstopencl.run("x + 1", x=values, dtype=each)
        close(found, values + 1)
        assert found.dtype == np.dtype(each)
    close(gstopencl.run("x / 2", x=np.arange(5)), np.arange(5) / 2)
    close(gstopencl.run("x", x=np.arange(5, dtype=">f4")), np.arange(5))
    close(gstopencl.run("!x", x=np.array([True, False])), [0, 1])
    close(gstopencl.run("i1 * 10 + i0", shape=(2, 3), dtype="int16"), [[0, 1, 2], [10, 11, 12]])
    close(gstopencl.run("i0", shape=3, dtype="f4"), [0, 1, 2])
    close(gstopencl.run("x * N", x=y, options="-DN=5"), y * 5)
    close(gstopencl.run("shape + x", {"shape": 3}, x=y), y + 3)
    changed = np.array(4.0)
    for changed[...] in 4, 5, -0.0, 0.0:
        close(gstopencl.run("x / k", x=y, k=changed), y / changed if changed else np.copysign(np.inf, changed) + 0 * y)
    huge = np.array([2**63 + 1], "u8")
    assert gstopencl.run("x + k", x=huge, k=2**63 - 9, dtype="u8")[0] == 2**64 - 8
    result = gstopencl.run("x", x=y)
    assert not result.flags.writeable
    gstopencl.run("x", x=y + 1)
    close(result, y)


def check_operands():
    """Lists, numbers, any name, and results of one number or none"""
    close(gstopencl.run("x + y", x=[1, 2], y=(0.5, np.nan))[:1], [1.5])
    for result, wanted in ((gstopencl.run("x + 1", x=np.float32(2)), np.float32(3)),
                           (gstopencl.run("x", x=[[0, np.nan, -3]], dtype=bool), np.array([[False, True, True]])),
                           (gstopencl.run("1.5", shape=(), dtype="f4"), np.float32(1.5)),
                           (gstopencl.run("i0", shape=np.int64(2), dtype="i2"), np.arange(2, dtype="i2")),
                           (gstopencl.run("x * y", x=np.ones((0, 3)), y=2), np.ones((0, 3))),
                           (gstopencl.run("x", x=np.ones((0, 3)), shape=(2, 0), dtype="u1"), np.ones((2, 0), "u1"))):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), (result, wanted)
        close(result, wanted)
    names = "src output sink data shape in lambda dtype previous i0 time sin float π operand0".split()
    for name in names:
        close(gstopencl.run(f"x - 2*{name} + {name}", {name: [4, 5]}, x=[1, 2]), [-3, -3])
    close(gstopencl.run(" + ".join(names), {name: [n] for n, name in enumerate(names)}), [105])
    for name in "x y", "", "2x", "x-y":
        refused(ValueError, "is not a name", gstopencl.run, "x", {name: [1]}, x=[1])
    for values, words in ((["a"], "x: <U1"), ([None], "x: object"), ([[1], [2, 3]], "x:")):
        refused((TypeError, ValueError), words, gstopencl.run, "x", x=values)
    refused(TypeError, "shape:", gstopencl.run, "1", shape=2.5, dtype="f4")
    refused(TypeError, "dtype:", gstopencl.run, "x", x=[1], dtype="nothing")
    refused(ValueError, "without an array", gstopencl.run, "i0 * k", k=2)


def check_products():
    a, b, c = random.integers(-5, 5, (3, 4)), random.integers(-5, 5, (4, 3)), random.integers(-5, 5, (3, 3))
    found = gstopencl.run("a @ b", a=a, b=b.astype("i2"))
    assert found.dtype == np.int64
    close(found, a @ b)
    z, w = a + 1j * a[::-1], b.astype("c8") * (1 - 2j)
    for left, right in (z, w), (z, b), (a, w), (z[0], w[:, 0]), (a[0], b), (np.stack([z, z]), w):
        found, wanted = gstopencl.run("a @ b", a=left, b=right), left @ right
        assert found.dtype == wanted.dtype
        close(found, wanted)
    for expression, wanted in (("c - 2*a @ b*2 % 5", c - (2 * a) @ b * 2 % 5), ("-a @ b @ c", -a @ b @ c),
                               ("a @ (b @ c) << 1 == 0", 0 + (a @ (b @ c) * 2 == 0)),
                               ("abs (c @ -(a@b)) + (float) c @ c", abs(c @ -(a @ b)) + c @ c),
                               ("c > 0 ? a @ b : 1e+1 - c@c", np.where(c > 0, a @ b, 10 - c @ c)),
                               ("N * (a @ b)", 3 * (a @ b)), ("((a)) @ (b)", a @ b)):
        given = {name: value for name, value in zip("abc", (a, b, c)) if name in expression.replace("abs", "")}
        close(gstopencl.run(expression, given, options="-DN=3"), wanted)
    close(gstopencl.run("a @ b + operand0", a=a, b=b, operand0=c), a @ b + c)
    close(gstopencl.run("a @ b", a=a, b=b, dtype="u1"), np.clip(a @ b, 0, 255))
    close(gstopencl.run("a @ b", a=np.ones((2, 0)), b=np.ones((0, 3))), np.zeros((2, 3)))
    for expression in "a @ a", "a @ 2", "a @", "@ b", "(a @ b", "a) @ (b":
        refused(ValueError, "expression:", gstopencl.run, expression, a=a, b=b)


def check_kernel():
    values = floats(1000)
    for factor in 2, 3:
        close(gstopencl.kernel(f"kernel {DOUBLE}", values=values, factor=factor), values * factor)
    close(gstopencl.kernel(f"kernel {DOUBLE} kernel {DOUBLE.replace('twice', 'other')}",
                           name="other", values=values, factor=2), values * 2)
    bins = random.integers(0, 7, 5000, np.int32)
    source = "kernel void count_bins (global const int *x, global uint *output)\n{\n" \
        "  for (int n = 0; n < 5000; n++)\n    if (x[n] == get_global_id (0))\n" \
        "      output[get_global_id (0)]++;\n}\n"
    close(gstopencl.kernel(source, x=bins, shape=7, dtype="u4", fill_output=0), np.bincount(bins))
    source = "kernel void ramp (global float *output, float2 line)\n" \
        "{ output[get_global_id (0)] = line.x + line.y * get_global_id (0); }"
    line = [1, 2]
    for line[1] in 2, 3:  # the same list
        close(gstopencl.kernel(source, shape=9, dtype="f4", line=line), 1 + line[1] * np.arange(9))
    source = "kernel void turn (global const float2 *x, global float2 *output)\n" \
        "{ int i = get_global_id (0); output[i] = (float2) (-x[i].y, x[i].x); }"
    z = values.view("c8")
    close(gstopencl.kernel(source, x=z, global_size=500), z * 1j)
    close(gstopencl.kernel(source, x=values, shape=500, dtype="c8", global_size=500), z * 1j)
    source = "kernel void size (global const float2 *x, global float *output)\n" \
        "{ int i = get_global_id (0); output[i] = length (x[i]); }"
    close(gstopencl.kernel(source, x=z, dtype="f4"), np.abs(z))


STRUCTS = [  # members, the last number, and the record in NumPy, which knows no vectors
    ("float a; char b;", "b", np.dtype("f4, i1", align=True)),
    ("char a; double b; short c;", "c", np.dtype("i1, f8, i2", align=True)),
    ("short a; char b[3];", "b[2]", np.dtype("i2, 3i1", align=True)),
    ("char a; float3 b; uchar c;", "c", np.dtype({"names": ["f0", "f1", "f2"], "formats": ["i1", "3f4", "u1"],
                                                  "offsets": [0, 16, 32], "itemsize": 48}))]


def check_structs(folder):
    """Structs with padding between and behind members: as numbers, as a record, and in arrays"""
    x, path = floats(100), os.path.join(folder, "part.npy")
    for members, last, kind in STRUCTS:
        def added(of, p, packed=""):
            source = f"typedef struct {packed} {{ {members} }} part;\nkernel void add (global const float *x, " \
                f"global float *output, {of} p) {{ int i = get_global_id (0); output[i] = x[i] + "
            each = "p[i % 5]" if "*" in of else "p"
            return gstopencl.kernel(source + f"100 * {each}.a + {each}.{last} + sizeof (part); }}", x=x, p=p)

        records = np.full(5 * kind.itemsize, 0xEE, "u1").view(kind)  # in the padding, too
        for name in kind.names:
            records[name] = np.arange(1, records[name].size + 1).reshape(records[name].shape)
        firsts, lasts = records["f0"], records[kind.names[-1]].reshape(5, -1)[:, -1]
        wanted = np.resize(100.0 * firsts + lasts, 100) + kind.itemsize
        numbers = [float(n) for name in kind.names for n in records[:1][name].flat]
        close(added("part", numbers), x + wanted[0])
        np.save(path, records[:1])
        close(added("part", path), x + wanted[0])
        refused(gstopencl.DeviceError, f"part.npy {kind.itemsize}", added, "part", path, "__attribute__ ((packed))")
        refused(gstopencl.DeviceError, "a struct", added, "part", numbers, "__attribute__ ((packed))")
        np.save(path, records)
        close(added("global const part *", path), x + wanted)


def check_filters():
    x = floats(20, 30)
    z = (floats(8, 90) + 1j * floats(8, 90)).astype("c8")
    close(gstopencl.fft(z), np.fft.fft(z), 1e-4)
    close(gstopencl.fft(x.astype("f8"), axes=(0, 1)), np.fft.fft2(x.astype("f8")), 1e-12)
    assert gstopencl.fft(z.astype("c16")).dtype == np.complex128
    close(gstopencl.fft(z, axes=0, inverse=True), np.fft.ifft(z, axis=0), 1e-5)
    half = gstopencl.fft(x, half_spectrum=True)
    close(half, np.fft.rfft(x), 1e-4)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        close(gstopencl.fft(half, inverse=True, half_spectrum=True), x, 1e-5)
        assert not warned, warned[0]
        close(gstopencl.fft(np.fft.rfft(x[:, :9]), inverse=True, half_spectrum=True), x[:, :9], 1e-5)
        assert "set n=9, or n=8" in str(warned[0].message) and warned[0].filename == __file__, warned[0]
        close(gstopencl.fft(half * 1j, inverse=True, half_spectrum=True, n=30), np.fft.irfft(half * 1j), 1e-5)
        assert len(warned) == 1
    close(gstopencl.reduce(x), x.sum())
    close(gstopencl.reduce(x, "mean", axes=1), x.mean(1))
    close(gstopencl.reduce(x, "argmax", 0, keep_dimensions=True), x.argmax(0)[None])
    close(gstopencl.reduce(x.astype("u1"), "sum", (0, -1)), 0)
    taps = floats(3, 5)
    padded = np.pad(x, ((1, 1), (2, 2)))
    wanted = sum(taps[2 - r, 4 - c] * padded[r:r + 20, c:c + 30] for r in range(3) for c in range(5))
    close(gstopencl.convolve(x, taps), wanted, 1e-5)
    for shape in (1, 2), (2, 1):  # the same numbers
        close(gstopencl.convolve(np.eye(4, dtype="f4"), np.ones(shape)),
              sum(np.pad(np.eye(4), ((0, row), (0, column)))[row:, column:]
                  for row in range(shape[0]) for column in range(shape[1])))
    layer, picture = floats(4, 3, 1, 1), floats(6, 7, 3)
    close(gstopencl.convolve(picture, layer, bias=[1, 2, 3, 4]),
          picture @ layer[:, :, 0, 0].T + [1, 2, 3, 4], 1e-5)


def check_errors():
    x, error = floats(5), gstopencl.DeviceError
    refused(error, "openclkernelmixer: expression:1:6: 'q'", gstopencl.run, "sin (q)", x=x)
    refused(error, "openclkernelmixer y", gstopencl.run, "x + y", x=x, y=floats(4))
    refused(error, "source:1: error", gstopencl.kernel, "kernel void f (global int *output) { + }",
            shape=3, dtype="i4")
    refused(TypeError, "wrong: values factor", gstopencl.kernel, f"kernel {DOUBLE}",
            values=x, factor=1, wrong=1)
    refused(ValueError, "axes: 3", gstopencl.reduce, x, axes=3)
    refused(TypeError, "k: None", gstopencl.run, "x", x=x, k=None)
    refused(TypeError, "k: 64 bits", gstopencl.run, "x", x=x, k=2**64)
    refused(ValueError, "values: (0, 3)", gstopencl.kernel, f"kernel {DOUBLE}", values=np.empty((0, 3)), factor=2)
    refused(ValueError, "shape dtype", gstopencl.run, "i0", shape=3)
    refused(ValueError, "'x y' name", gstopencl.run, "x", {"x y": x})
    refused(ValueError, "operation: nothing", gstopencl.reduce, x, "nothing")
    refused(TypeError, "openclreduce nothing", gstopencl.reduce, x, nothing=1)
    for shape in -1, (2**40, 2**40), (1,) * 99:
        refused((error, ValueError), "", gstopencl.run, "i0", shape=shape, dtype="u1")
    # Arguments that do not fit any more are an error, too, and the next call works.
    close(gstopencl.kernel(f"kernel {DOUBLE}", values=x, factor=2), x * 2)
    refused(TypeError, "factor: (2,)", gstopencl.kernel, f"kernel {DOUBLE}", values=x, factor=(1, 2))
    refused(error, "local-size 7", gstopencl.kernel, f"kernel {DOUBLE}", values=x, factor=2, local_size=7)
    close(gstopencl.run("x * k", x=x, k=2), x * 2)
    refused(error, "unknown name 'k'", gstopencl.run, "x * k", x=x)
    close(gstopencl.kernel(f"kernel {DOUBLE}", values=x, factor=3), x * 3)


# Functions of `calls ()` that take a type
SUPPORTED = {
    **dict.fromkeys(("c8", "c16", ">c8"), "run kernel fft reduce number"),
    **dict.fromkeys(("i4", ">i8", "u8"), "run kernel fft rfft reduce taps number"),
    **dict.fromkeys(("?", "u1", ">i2", "f2", ">f4", "f8"), "run kernel fft rfft reduce convolve taps number"),
    **dict.fromkeys(("O", "U3", "S3", "M8[s]", "m8[s]", "g", "G", "V4", "f4,i4"), "")}


def calls(values):
    x, first = floats(3, 2), values[:1, :1].reshape(())
    source = "kernel void f (global const void *x, global uchar *output) { output[0] = 0; }"
    return {"run": lambda: gstopencl.run("x", x=values), "fft": lambda: gstopencl.fft(values, axes=0),
            "rfft": lambda: gstopencl.fft(values, half_spectrum=True, axes=0),
            "reduce": lambda: gstopencl.reduce(values), "kernel": lambda: gstopencl.kernel(
                source, x=values, global_size=1),
            "convolve": lambda: gstopencl.convolve(values, [[1]]),
            "taps": lambda: gstopencl.convolve(x, values), "number": lambda: gstopencl.run("x + k", x=x, k=first)}


def check_types():
    numbers = np.arange(6).reshape(3, 2)
    for name, functions in SUPPORTED.items():
        for function, call in calls(numbers.astype("u1").astype(name)).items():
            if function in functions.split():
                call()
            else:
                refused(TypeError, "is not supported", call)
    masked = np.ma.masked_less(numbers.astype("f4"), 3)
    for call in *calls(masked).values(), lambda: gstopencl.process(masked):
        refused(TypeError, "masked", call)
    refused(ValueError, "global_size complex", gstopencl.kernel, f"kernel {DOUBLE}", values=np.ones(3, "c8"))
    close(gstopencl.run("i0", shape=3, dtype="c8"), np.arange(3, dtype="c8"))
    refused(TypeError, "dtype: float32 complex", gstopencl.run, "x", x=np.ones(3, "c8"), dtype="f4")
    close(gstopencl.reduce(np.matrix(numbers), axes=0), numbers.sum(0))
    # A last axis of 2 does not make real numbers complex.
    real = floats(8, 2)
    for x in real, real.astype("f8"), real[:, 0], (real * 9).astype("i4"), real[:1], real.view("c8")[:, 0]:
        close(gstopencl.fft(x), np.fft.fft(x), 1e-5)
        close(gstopencl.fft(x, 0, inverse=True), np.fft.ifft(x, axis=0), 1e-5)
        n = 2 * x.shape[-1] - 2
        close(gstopencl.fft(x, inverse=True, half_spectrum=True, n=n), np.fft.irfft(x), 1e-5)
        if x.dtype.kind != "c":
            close(gstopencl.fft(x, half_spectrum=True), np.fft.rfft(x), 1e-5)
    # float32 does not hold these taps and this bias.
    x, taps = random.standard_normal((9, 8)), random.standard_normal((1, 1))
    close(gstopencl.convolve(x, taps, bias=1 / 3), x * taps + 1 / 3, 1e-15)


def check_fork():
    """In a forked child each use is an error. Its end leaves the parent's files and pipelines."""
    x, taps = floats(3, 64), floats(1, 3)
    source = gstopencl.Source(Gst.ElementFactory.make("appsrc"), x.shape, "f4")
    chain = gstopencl.Chain("openclkernel expression=x")
    wanted, result = gstopencl.convolve(x, taps), [gstopencl.run("x + 1", x=x)]
    gstopencl.process(x, "openclkernel expression=x")
    *_, engine = arrays.device().engines.values()

    def push():
        """Pushes a frame into a pipeline of the parent, as an application in C may do."""
        engine.pads[0].push(arrays.buffer_of(x))
        engine.check_messages(Gst.MessageType.ERROR)

    uses = (push, lambda: gstopencl.run("x + 1", x=x), lambda: gstopencl.run("x + 3", x=x),
            lambda: gstopencl.use("auto"), lambda: gstopencl.fft(x), lambda: gstopencl.reduce(x),
            lambda: gstopencl.kernel(f"kernel {DOUBLE}", values=x, factor=2),
            lambda: gstopencl.convolve(x, taps), lambda: chain.run(Recording("x", x)),
            lambda: gstopencl.process(x, "openclkernel expression=x"), lambda: source.push(x))
    faulthandler.cancel_dump_traceback_later()  # has a thread, for which the child would wait at its end
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for use in uses:
            refused(gstopencl.DeviceError, "start processes with spawn", use)
        result.clear()  # releases memory of the parent's device
        gstopencl.clear()
        sys.exit(7)  # with everything that Python does at its end
    limit_time()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 7, status
    os.stat(arrays.device().folder)
    close(gstopencl.convolve(x, taps), wanted)
    close(result[0], x + 1)


def check_timeout():
    """A kernel that does not end is the error of GST_OPENCL_TIMEOUT, of arrays and of recordings."""
    loop = "kernel void f (global const float *x, global float *output)\n" \
        "{ volatile int n = 1; while (n); output[0] = x[0]; }"
    for call, error in (("gstopencl.kernel (loop, x=x)", "DeviceError"),
                        ("gstopencl.process (x, 'openclkernel source=\"' + loop + '\"')", "ChainError")):
        script = "import os, sys, numpy, gstopencl\nx, loop = numpy.ones ((4, 64), 'f4'), sys.argv[1]\n" \
            f"try:\n    {call}\nexcept Exception as error:\n" \
            "    print (type (error).__name__, error, flush=True)\nos._exit (0)  # the kernel goes on\n"
        done = subprocess.run([sys.executable, "-c", script, loop.replace("\n", " ")], text=True, timeout=100,
                              env={**os.environ, "GST_OPENCL_TIMEOUT": "1"}, stdout=subprocess.PIPE)
        assert done.stdout.startswith(error) and "GST_OPENCL_TIMEOUT" in done.stdout, done.stdout


def check_pipelines():
    gstopencl.clear()
    x = floats(100)
    for factor in range(5):
        gstopencl.run("x * k", x=x, k=factor)
    assert len(arrays.device().engines) == 1
    kept, arrays.KEPT = arrays.KEPT, 2
    for length in 7, 8, 9:
        gstopencl.run("x", x=x[:length])
    assert len(arrays.device().engines) == 2
    arrays.KEPT = kept
    in_threads(x)
    arrays.KEPT = 1 # each thread closes the pipelines of the others
    in_threads(x)
    arrays.KEPT = kept


def in_threads(x):
    failures = []

    def work(number):
        try:
            for turn in range(20 if arrays.KEPT > 1 else 3):
                close(gstopencl.run("x + k", x=x, k=number), x + number)
                close(gstopencl.run("x * k", x=x[number % 2:], k=turn), x[number % 2:] * turn)
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for step in threading.Thread.start, threading.Thread.join:
        for thread in threads:
            step(thread)
    assert not failures, failures


def uploads(call):
    """Returns the number of inputs of the last pipeline that are uploaded."""
    call()
    *_, engine = arrays.device().engines.values()
    return sum(child.get_factory().get_name() == "openclupload" for child in engine.pipeline.children)


def check_shared():
    x = gstopencl.empty((30, 40))
    for offset in range(3):
        x[:] = floats(30, 40) + offset
        close(gstopencl.run("x * 2", x=x), x * 2)
    if arrays.device().shares:
        assert uploads(lambda: gstopencl.run("x * 2", x=x)) == 0
    assert uploads(lambda: gstopencl.run("x * 2", x=x[1:])) == 1  # begins in a page
    # A result that is in device memory goes into the next call, also while it is kept as an array.
    result = gstopencl.run("x * 2", x=x)
    for turn in range(3):
        close(gstopencl.run("x + 1", x=result), 2 * x + 1)
        close(gstopencl.run("x + 1", x=result[1:]), 2 * x[1:] + 1)
    if arrays.device().shares:
        assert uploads(lambda: gstopencl.run("x * 2", x=result)) == 0


def check_pyopencl():
    try:
        import pyopencl
        from pyopencl import array as cl
    except ImportError:
        print("pyopencl is not installed")
        return
    first = pyopencl.Context([pyopencl.Device.from_int_ptr(arrays.device().context.get_device())])
    queue = pyopencl.CommandQueue(first)
    x, host = floats(64, 32), floats(32)
    remote = cl.to_device(queue, x)
    refused(ValueError, "x: gstopencl.use", gstopencl.run, "x", x=remote)
    gstopencl.use(first)
    close(gstopencl.run("x + y", x=remote, y=host), x + host)
    for turn in range(20):
        remote += 1 # in the queue, where the call must wait for it
        close(gstopencl.run("x * 2", x=remote), (x + turn + 1) * 2, 1e-5)
    assert uploads(lambda: gstopencl.run("x * 2", x=remote)) == 0
    close(gstopencl.reduce(remote[16:], axes=0), (x[16:] + 20).sum(0), 1e-5)
    refused(ValueError, "contiguous", gstopencl.run, "x", x=remote[:, 1:])
    gstopencl.clear()


def check_notebooks(folder):
    paths = sorted(folder.glob("*.ipynb"))
    assert paths, f"{folder} has no notebook"
    for path in paths:
        names, notebook = {}, json.loads(path.read_text())
        assert notebook["nbformat"] == 4, path
        for number, cell in enumerate(notebook["cells"]):
            if cell["cell_type"] != "code":
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), f"{path}, cell {number}", "exec"), names)
            wanted = "".join("".join(output["text"]) for output in cell["outputs"])
            assert printed.getvalue() == wanted, f"{path}, cell {number}: {printed.getvalue()}"


limit_time()
for check in check_run, check_operands, check_products, check_kernel, check_filters, check_errors, check_types, check_pipelines, \
        check_shared, check_pyopencl, check_fork, check_timeout:
    print(check.__name__)
    check()
with tempfile.TemporaryDirectory() as folder:
    check_structs(folder)
check_notebooks(pathlib.Path(sys.argv[1]))
