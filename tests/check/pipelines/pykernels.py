#!/usr/bin/env python3
"""Promise: gstopencl.kernel runs kernels of other projects unchanged. It takes in-out arguments, several
outputs, vectors, structs and local memory of any name, never writes into an array of the caller unless
`out` says so, and refuses a value that does not fit its declaration.

Usage: pykernels.py

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import faulthandler

import numpy as np

import gstopencl
from arraychecks import close, refused
from gstopencl import arrays, kernel
from gstopencl.arrays import Gst

random = np.random.default_rng(8)
ID = "int i = get_global_id (0);"
SAXPY = "kernel void saxpy (float a, global float *x, global float *y) { " + ID + " y[i] = a * x[i] + y[i]; }"
COPY = "kernel void copy (global const {0} *src, global {1} *dst) {{ " + ID + " dst[i] = {2}; }}"
TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
         "long": "i8", "ulong": "u8", "float": "f4", "double": "f8"}


def floats(*shape):
    return random.random(shape, np.float32)


def check_in_out():
    x, y = floats(50), floats(50)
    first = x.copy(), y.copy()
    for a in 2, 3.5:  # the same pipeline
        close(kernel(SAXPY, a=a, x=x, y=y, outputs="y"), a * x + y)
    close(kernel(SAXPY, a=2, x=x, y=x, outputs=["y"]), 3 * x)
    close(x, first[0]), close(y, first[1])
    out = np.zeros(50, "f4")
    assert kernel(SAXPY, a=2, x=x, y=y, outputs="y", out=out) is out
    close(out, 2 * x + y)
    kernel(SAXPY, a=2, x=x, y=out, outputs="y", out={"y": out})
    close(out, 4 * x + y)
    both = "kernel void both (global const int *x, global int *sum, global float *half_of) { " + ID + \
        " sum[i] += x[i]; half_of[i] = x[i] / 2.0f; }"
    x, sums = np.arange(7, dtype="i4"), np.full(7, 5, "i4")
    found = kernel(both, x=x, sum=sums, outputs=("half_of", "sum"))
    close(found[0], x / 2), close(found[1], x + 5)
    found = kernel(both, x=x, sum=sums, outputs=("sum", "half_of"), shape={"half_of": 9}, debug=True)
    close(found[0], x + 5), close(found[1][:7], x / 2)
    assert found[1].shape == (9,) and found[1].dtype == np.float32
    # The contents of an in-out argument go before fill_output.
    found = kernel(both, x=x[:3], sum=sums, outputs=("half_of", "sum"), global_size=3, fill_output=0, shape=5)
    close(found[0], [0, .5, 1, 0, 0]), close(found[1], [5, 6, 7, 5, 5, 5, 5])
    turn = "kernel void turn (global int *x) { x[get_global_id (0)]--; }"
    for shape in (1,), (3, 1, 5), (2, 2, 2, 2):
        x = random.integers(-9, 9, shape).astype("i4")
        close(kernel(turn, x=x), x - 1)
    close(kernel("kernel void one (global int *n) { n[0] = 7; }", shape=()), 7)
    # Two outputs of odd sizes, one of them with contents, and then others.
    odd = "kernel void odd (global char *a, global double *b) { a[get_global_id (0)]++; b[0] = a[0]; }"
    for count in 3, 5, 3:
        found = kernel(odd, a=np.arange(count, dtype="i1"), outputs=("a", "b"), shape={"b": 1})
        close(found[0], np.arange(count) + 1), close(found[1], [1])


def check_operands():
    x = floats(4, 6)
    double = COPY.format("float", "float", "2 * src[i]")
    for each in x, x.T, x[::-1, ::2], np.asfortranarray(x), x.astype(">f4"), x.tolist():
        close(kernel(double, src=each), 2 * np.asarray(each))
    still = x.copy()
    still.flags.writeable = False
    close(kernel(double, src=still), 2 * x)
    for name in "src", "sink", "in", "data", "in0", "output1", "shape", "source":
        source = double.replace("src", name)
        close(kernel(source, {name: x}), 2 * x)
    for name, kind in TYPES.items():
        values = np.array([0, 1, 100], kind)
        found = kernel(COPY.format(name, name, "src[i] + 1"), src=values)
        assert found.dtype == np.dtype(kind), (name, found.dtype)
        close(found, values + 1)
        close(kernel(COPY.format(name, name, "src[i] + 1"), src=[1, 2]), [2, 3])
        for other, wrong in TYPES.items():
            if wrong != kind:
                refused(TypeError, f"src: {np.dtype(wrong)} {np.dtype(kind)}", kernel,
                        COPY.format(name, name, "0"), src=values.astype(wrong))
    mask = np.array([True, False, True])
    for name in "char", "uchar":
        close(kernel(COPY.format(name, name, "!src[i]"), src=mask), ~mask)
    half = "kernel void f (global const half *x, global float *y) { " + ID + " y[i] = vload_half (i, x); }"
    close(kernel(half, x=x.astype("f2")), x.astype("f2"))
    close(kernel("typedef unsigned int word; typedef float real; kernel void f (global word *n, global real *y, real by)"
                 "{ " + ID + " y[i] = n[i] * by; }", n=np.arange(3, dtype="u4"), by=.5, outputs="y"), [0, .5, 1])


def check_vectors():
    x, z = floats(6, 4), floats(5, 2).view("c8")[:, 0]
    total = COPY.format("float4", "float", "dot (src[i], (float4) (1))")
    close(kernel(total, src=x), x.sum(1), 1e-5)
    close(kernel(total, src=x.ravel()), x.sum(1), 1e-5)
    close(kernel(COPY.format("float4", "float4", "-src[i]"), src=x), -x)
    close(kernel(COPY.format("float4", "float4", "-src[i]"), src=x.ravel(), debug=True), -x.ravel())
    close(kernel(COPY.format("float3", "float3", "src[i] + 1"), src=x)[:, :3], x[:, :3] + 1)
    refused(ValueError, "src: (4, 3) 4 float3", kernel, COPY.format("float3", "float3", "0"), src=floats(4, 3))
    close(kernel(COPY.format("float", "float4", "(float4) (src[i], 1, 2, 3)"), src=x[0]),
          np.column_stack([x[0]] + [np.full(4, n) for n in (1, 2, 3)]))
    turned = COPY.format("float2", "float2", "(float2) (-src[i].y, src[i].x)")
    close(kernel(turned, src=z, debug=True), z * 1j)
    close(kernel(turned, src=z.view("f4").reshape(5, 2), debug=True), (z * 1j).view("f4").reshape(5, 2))
    close(kernel(COPY.format("float", "float2", "(float2) (src[i], 1)"), src=z.real, debug=True), z.real + 1j)
    close(kernel(COPY.format("float2", "float", "length (src[i])"), src=z), np.abs(z), 1e-5)
    rows = "kernel void rows (global const float2 *x, global float2 *y) { int i = get_global_id (0), " \
        "k = get_global_id (1), n = get_global_size (0); y[k * n + i] = x[k * n + i] * (k + 1); }"
    close(kernel(rows, x=np.stack([z, z]), debug=True), np.stack([z, 2 * z]))
    scaled = "kernel void f (global const float *x, global float *y, {}) {{ " + ID + " y[i] = x[i] * {}; }}"
    for by in (1, 2, 3, 4), [1, 2.5, 3, 4], np.array([1, 2, 3, 4]), np.array([1, 2, 3, 4], ">f4")[::1]:
        close(kernel(scaled.format("float4 v", "v.w"), x=x, v=by), 4 * x)
    for by in 2, 2.0, np.int8(2), np.array(2.0), True + True:
        close(kernel(scaled.format("float by", "by"), x=x, by=by), 2 * x)
    assert kernel("kernel void f (global ulong *y, ulong by) { y[0] = by; }", shape=1, by=2**64 - 1)[0] == 2**64 - 1
    found = kernel("kernel void f (global long *y, long2 by) { y[0] = by.x; y[1] = by.y; }", shape=2, global_size=1,
                   by=[2**63 - 1, -2**63])
    assert found.tolist() == [2**63 - 1, -2**63]
    for by, kind in ((2.5, ValueError), (2**31, ValueError), (np.nan, ValueError), ("2", TypeError), (1j, TypeError),
                     ([2], TypeError), (np.ones(2), TypeError), (None, TypeError)):
        refused(kind, "by: int", kernel, scaled.format("int by", "by"), x=x, by=by)
    refused(TypeError, "v: (3,) 4 float4", kernel, scaled.format("float4 v", "1"), x=x, v=[1, 2, 3])


PART = np.dtype([("weight", "f4"), ("shift", "i4")])


def check_structs():
    x = floats(9)
    head = "typedef struct { float weight; int shift; } part; "
    source = head + "kernel void f (global const float *x, global float *y, part p) { " + ID + \
        " y[i] = x[i] * p.weight + p.shift; }"
    record = np.array([(2.5, 3)], PART)
    for p in [2.5, 3], (2.5, 3), record[0], record.reshape(()), record[0].tolist(), [np.float32(2.5), np.int64(3)]:
        close(kernel(source, x=x, p=p), 2.5 * x + 3)
    close(kernel(source, x=x, p=[2, 3]), 2 * x + 3)
    for p in np.zeros((), "f4,i4,i4"), record, [2.5, None], "2.5", 2.5, {}:
        refused((TypeError, gstopencl.DeviceError), "p", kernel, source, x=x, p=p)
    parts = np.array([(n, 10 * n) for n in range(9)], PART)
    moved = head + "kernel void f (global part *p, int n) { " + ID + " if (i < n) p[i].shift -= 1; }"
    found = kernel(moved, p=parts, n=4, debug=True)
    assert found.dtype == PART and found["shift"].tolist() == [n * 10 - (n < 4) for n in range(9)], found
    found = kernel(moved.replace("int n", "int p_count").replace("< n", "< p_count"), p=parts, p_count=9)
    close(found["shift"], parts["shift"] - 1)
    refused(TypeError, "p_count", kernel, moved.replace("int n", "int p_count").replace("< n", "< p_count"), p=parts)
    refused(TypeError, "p: float32 8", kernel, moved, p=x, n=1)


def check_errors():
    x, error = floats(5), gstopencl.DeviceError
    close_to = COPY.format("float", "float", "src[i]")
    refused(TypeError, "nothing: src dst", kernel, close_to, src=x, nothing=1)
    refused(TypeError, "src: no value", kernel, close_to, shape=5)
    refused(TypeError, "src: 3 array", kernel, close_to, src=3)
    refused(TypeError, "src: masked", kernel, close_to, src=np.ma.masked_less(x, .5))
    refused(ValueError, "src: (0,)", kernel, close_to, src=x[:0])
    refused(ValueError, "outputs: x, y", kernel, SAXPY, a=1, x=x, y=x)
    refused(ValueError, "outputs: 'z' x, y", kernel, SAXPY, a=1, x=x, y=x, outputs="z")
    refused(ValueError, "outputs: 'y'", kernel, SAXPY, a=1, x=x, y=x, outputs=("y", "y"))
    refused(ValueError, "outputs: 'src'", kernel, close_to, src=x, outputs="src")
    refused(TypeError, "dst: float64", kernel, close_to, src=x, dtype="f8")
    refused(ValueError, "shape: dst", kernel, close_to, src=x, dst=x, shape=5)
    refused(ValueError, "shape: 'src'", kernel, close_to, src=x, shape={"src": 3})
    refused(ValueError, "out: (4,) (5,)", kernel, close_to, src=x, shape=5, out=x[:4].copy())
    refused(TypeError, "out: dst", kernel, close_to, src=x, out=kernel(close_to, src=x))
    refused(TypeError, "local: number of elements".split(":")[0], kernel,
            "kernel void f (global int *y, local int *local_part) { }", shape=1)
    refused(error, "source:1", kernel, "kernel void f (global int *y) { + }", shape=3)
    refused(error, "several a b", kernel, "kernel void a (global int *y) { } kernel void b (global int *y) { }", shape=3)


def check_bounds():
    """The guards of each array show the first write outside, before and behind it, and stay unseen else."""
    write = "kernel void f (global {0} *x, global float *y, int at) {{ x[at] = 1; y[0] = 2; }}"
    for kind, count in (("char", 7), ("int", 100), ("double", 1)):
        x = np.zeros(count, TYPES[kind])
        for at, found in ((0, None), (count - 1, None), (count, count), (count + 9, count + 9), (-1, -1), (-5, -5)):
            def call(debug=True):
                return kernel(write.format(kind), x=x, at=at, outputs=("x", "y"), shape={"y": 3}, global_size=1,
                              debug=debug)
            if found is None:
                close(call()[0], np.arange(count) == at), close(call(False)[1][:1], [2])
            else:
                refused(gstopencl.DeviceError, f"element {found} *x {'before' if at < 0 else 'behind'} {count}", call)
    # An array that is no output, and one in constant memory beside it
    other = "kernel void f (global int *x, constant int *c, global int *output) { x[c[0]] = 1; output[0] = x[0]; }"
    for at in 3, 4:
        def call():
            return kernel(other, x=np.arange(4, dtype="i4"), c=[at], shape=1, debug=True)
        close(call(), [0]) if at < 4 else refused(gstopencl.DeviceError, "element 4 *x behind", call)


def run_line(line, caps, data):
    """Returns the bytes that a pipeline makes of a buffer, or the message of its error."""
    pipeline = Gst.parse_launch(f"appsrc name=in format=time caps=\"{caps}\" ! openclupload ! {line} ! opencldownload ! "
                                "appsink name=out sync=false")
    source, sink = pipeline.get_by_name("in"), pipeline.get_by_name("out")
    buffer = Gst.Buffer.new_wrapped(data)
    buffer.pts = 0
    pipeline.set_state(Gst.State.PLAYING)
    source.emit("push-buffer", buffer)
    source.emit("end-of-stream")
    error = sample = None
    while not sample and not error:
        sample = sink.emit("try-pull-sample", 10 * Gst.MSECOND)
        error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    found = error.parse_error()[0].message if error else sample.get_buffer().extract_dup(0, 1 << 20)
    pipeline.set_state(Gst.State.NULL)
    return found


def check_elements():
    """The properties of an element, over video whose rows have padding"""
    arrays.device()
    video = "video/x-raw,format=GRAY8,width=5,height=3,framerate=1/1"
    source = "kernel void f (global uchar *y{}) {{ size_t i = get_global_id (1) * {} + get_global_id (0); y[i] += 2; }}"
    line = "openclkernel source=\"{}\" inputs=y outputs=y check-bounds={}"
    data = bytes(range(24))
    for more, stride in (("", 5), (", int stride", "stride")):
        for check in "true", "false":
            found = run_line(line.format(source.format(more, stride), check), video, data)
            rows = np.frombuffer(found, "u1").reshape(3, 8)[:, :5]
            close(rows, np.frombuffer(data, "u1").reshape(3, 8)[:, :5] + 2)
    error = run_line(line.format(source.format("", 50), "true"), video, data)
    assert "element 50" in error, error
    both = "kernel void f (global const uchar *x, global uchar *y, global uchar *const z) { y[0] = x[0]; }"
    for settings, words in (("outputs=y,y", "y twice"), ("outputs=x", "x const"), ("outputs=q", "q x y z"),
                            ("outputs=y,z", "2 1"), ("inputs=x,y outputs=z", "inputs 2 1"),
                            ("inputs=y outputs=y output-caps=other/tensors,types=uint8,dimensions=(string)4",
                             "y 5:3 4")):
        error = run_line(f"openclkernel global-size=1 source=\"{both}\" {settings}", video, data)
        assert isinstance(error, str) and all(word in error for word in words.split()), (settings, error)
    error = run_line("openclkernel expression=x outputs=y", video, data)
    assert "outputs" in error, error


# Kernels in the form of well-known suites: graphs with char masks, elimination, LU in local memory

BREADTH = """typedef struct { int starting; int no_of_edges; } Node;
__kernel void one (const __global Node *nodes, const __global int *edges, __global char *mask,
  __global char *updating, __global char *visited, __global int *cost, const int no_of_nodes)
{ int tid = get_global_id (0); if (tid < no_of_nodes && mask[tid]) { mask[tid] = false;
  for (int i = nodes[tid].starting; i < nodes[tid].starting + nodes[tid].no_of_edges; i++) { int id = edges[i];
    if (!visited[id]) { cost[id] = cost[tid] + 1; updating[id] = true; } } } }
__kernel void two (__global char *mask, __global char *updating, __global char *visited, __global char *over,
  const int no_of_nodes) { int tid = get_global_id (0); if (tid < no_of_nodes && updating[tid])
  { mask[tid] = true; visited[tid] = true; *over = true; updating[tid] = false; } }"""


def check_breadth_first():
    count, degree = 300, 3
    edges = random.integers(0, count, (count, degree)).astype("i4")
    nodes = np.array([(degree * n, degree) for n in range(count)], "i4,i4")
    mask, visited = np.arange(count) == 0, np.arange(count) == 0
    updating, cost, over = np.zeros(count, bool), np.where(mask, 0, -1).astype("i4"), [1]
    size, rounds = {"no_of_nodes": count, "global_size": 320, "local_size": 64}, 0
    while over[0]:
        mask, updating, cost = kernel(
            BREADTH, name="one", nodes=nodes, edges=edges.ravel(), mask=mask, updating=updating, visited=visited,
            cost=cost, outputs=("mask", "updating", "cost"), **size)
        mask, updating, visited, over = kernel(
            BREADTH, name="two", mask=mask, updating=updating, visited=visited, over=[0],
            outputs=("mask", "updating", "visited", "over"), **size)
        rounds += 1
    wanted, front = np.full(count, -1), {0}
    for distance in range(count):
        wanted[[*front]] = distance
        front = {n for each in front for n in edges[each] if wanted[n] < 0}
        if not front:
            break
    close(cost, wanted)
    assert rounds == wanted.max() + 1, rounds


BLOCKS = """#define BLOCK 4
__kernel void diagonal (__global float *m, __local float *shadow, int matrix_dim, int offset)
{ int tx = get_local_id (0); for (int i = 0; i < BLOCK; i++) shadow[i * BLOCK + tx] =
    m[(offset + i) * matrix_dim + offset + tx]; barrier (CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < BLOCK - 1; i++) { if (tx > i) shadow[tx * BLOCK + i] /= shadow[i * BLOCK + i];
    barrier (CLK_LOCAL_MEM_FENCE); if (tx > i) for (int j = i + 1; j < BLOCK; j++)
      shadow[tx * BLOCK + j] -= shadow[tx * BLOCK + i] * shadow[i * BLOCK + j]; barrier (CLK_LOCAL_MEM_FENCE); }
  for (int i = 0; i < BLOCK; i++) m[(offset + i) * matrix_dim + offset + tx] = shadow[i * BLOCK + tx]; }"""


def check_elimination():
    """Rows of a system are eliminated in a host loop, whose arrays are in-out arguments."""
    source = "__kernel void fan1 (__global float *m, __global float *a, const int size, const int t) { " \
        "int i = get_global_id (0); if (i < size - 1 - t) m[size * (i + t + 1) + t] = a[size * (i + t + 1) + t] / " \
        "a[size * t + t]; } __kernel void fan2 (__global float *m, __global float *a, __global float *b, " \
        "const int size, const int t) { int x = get_global_id (0), y = get_global_id (1); " \
        "if (x < size - 1 - t && y < size - t) { a[size * (x + 1 + t) + y + t] -= m[size * (x + 1 + t) + t] * " \
        "a[size * t + y + t]; if (y == 0) b[x + 1 + t] -= m[size * (x + 1 + t) + t] * b[t]; } }"
    size = 8
    first, right = floats(size, size) + size * np.eye(size, dtype="f4"), floats(size)
    m, a, b = np.zeros_like(first), first, right
    for t in range(size - 1):
        m = kernel(source, name="fan1", m=m, a=a, size=size, t=t, outputs="m", global_size=size)
        a, b = kernel(source, name="fan2", m=m, a=a, b=b, size=size, t=t, outputs=("a", "b"), global_size=(size, size))
    close(np.triu(a), a, 1e-5)
    close(np.linalg.solve(a, b), np.linalg.solve(first, right), 1e-4)
    matrix = kernel(BLOCKS, m=first, shadow=16, matrix_dim=size, offset=4, global_size=4, local_size=4)
    block = matrix[4:, 4:]
    close((np.tril(block, -1) + np.eye(4)) @ np.triu(block), first[4:, 4:], 1e-4)
    close(matrix[:4], first[:4]), close(matrix[4:, :4], first[4:, :4])


faulthandler.dump_traceback_later(600, exit=True)
for check in check_in_out, check_operands, check_vectors, check_structs, check_errors, check_bounds, check_elements, \
        check_breadth_first, check_elimination:
    print(check.__name__, flush=True)
    check()
arrays.clear()
