#!/usr/bin/env python3
"""Promise: gstopencl.network runs a network from an ONNX file on arrays. It says names, types and
shapes of inputs and outputs. Open lengths may change from call to call. Inputs go in by order, by
name or as constants. Wrong ones are a TypeError or a ValueError that names the input. The error of
a file names all missing operators. Results go into the next call without an upload where the device
works in the host's memory. Threads may share a network, and a forked child gets an error.

Usage: pynetwork.py TOOLS

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import faulthandler
import os
import signal
import sys
import tempfile
import threading

import numpy as np

import arraychecks
import gstopencl
from arraychecks import refused
from gstopencl import arrays

sys.path.insert(0, sys.argv[1])
import onnxwriter  # noqa: E402

random = np.random.default_rng(64)
folder = tempfile.TemporaryDirectory()


def floats(*shape):
    return random.random(shape, np.float32)


def close(found, wanted, tolerance=1e-6):
    assert found.dtype == np.asarray(wanted).dtype, (found.dtype, np.asarray(wanted).dtype)
    arraychecks.close(found, wanted, tolerance)


def file_of(name, inputs, nodes, outputs):
    """Writes a network. Inputs and outputs are (name, shape, type), nodes (op, inputs, output)."""
    network = onnxwriter.Network(name)
    for port in inputs:
        network.input(*port)
    for op, operands, output, attributes in nodes:
        network.add(op, *operands, output=output, **attributes)
    for port in outputs:
        network.output(*port)
    path = os.path.join(folder.name, f"{name}.onnx")
    with open(path, "wb") as file:
        file.write(network.encoded())
    return path


WEIGHTS = floats(4, 3)


def dense_file():
    return file_of("dense", [("x", ("N", 4), "float32")],
                   [("MatMul", ("x", WEIGHTS), "y", {})], [("y", ("N", 3), "float32")])


def pair_file():
    """Two inputs with open lengths, and four outputs of other types and shapes"""
    return file_of(
        "pair", [("image:0", ("N", 5), "float32"), ("size", ("N", 1), "float32")],
        [("Mul", ("image:0", "size"), "product", {}), ("Less", ("image:0", "size"), "less", {}),
         ("Add", ("image:0", "size"), "sum", {}),
         ("ReduceSum", ("image:0", np.array([0, 1])), "total", {"keepdims": 0})],
        [("product", ("N", 5), "float32"), ("less", ("N", 5), "bool"),
         ("sum", ("N", 5), "float32"), ("total", (), "float32")])


def check_one():
    network = gstopencl.network(dense_file())
    assert network.inputs == (("x", np.dtype("f4"), (None, 4)),), network.inputs
    assert network.outputs == (("y", np.dtype("f4"), (None, 3)),), network.outputs
    for batch in 1, 3, 1, 2:
        x = floats(batch, 4)
        close(network(x), x @ WEIGHTS)
        close(network(x=x), x @ WEIGHTS)
        close(network({"x": x}), x @ WEIGHTS)
    close(network(np.asfortranarray(x)[:, ::-1]), x[:, ::-1] @ WEIGHTS)
    close(network(x.astype(">f4")), x @ WEIGHTS)
    result = network(x)
    assert not result.flags.writeable
    network(x + 1)
    close(result, x @ WEIGHTS)
    gstopencl.clear()
    close(network(x), x @ WEIGHTS)
    close(gstopencl.network(dense_file(), precision="half")(x), x @ WEIGHTS, 1e-2)


def check_several():
    network = gstopencl.network(pair_file())
    assert [port.name for port in network.inputs] == ["image:0", "size"]
    assert network.outputs[1] == ("less", np.dtype(bool), (None, 5)), network.outputs
    assert network.outputs[3].shape == (), network.outputs
    for batch in 1, 3, 2:
        x, size = floats(batch, 5), floats(batch, 1)
        wanted = x * size, x < size, x + size, x.sum()
        for found in network(x, size), network({"size": size, "image:0": x}), network(x, size=size):
            assert isinstance(found, tuple) and len(found) == 4
            for array, expected in zip(found, wanted):
                close(array, expected)
                assert not array.flags.writeable
    x = floats(3, 5)
    constant = gstopencl.network(pair_file(), constants={"size": 0.25})
    assert [port.name for port in constant.inputs] == ["image:0"]
    close(constant(x)[0], x / 4)
    constant = gstopencl.network(pair_file(), constants={"size": floats(3, 1) * 0 + 2})
    for turn in range(2):
        close(constant(x)[0], x * 2)
        gstopencl.clear()  # removes the file of the constant


def check_types():
    halves = gstopencl.network(file_of(
        "half", [("x", (2, "N"), "float16")], [("Mul", ("x", "x"), "y", {})],
        [("y", (2, "N"), "float16")]))
    x = floats(2, 7).astype("f2")
    close(halves(x), x * x, 1e-3)
    gather = gstopencl.network(file_of(
        "gather", [("table", ("N", 2), "float32"), ("index", ("M",), "int64")],
        [("Gather", ("table", "index"), "row", {"axis": 0})], [("row", ("M", 2), "float32")]))
    table = floats(6, 2)
    for index in np.array([5]), np.array([0, 3, 3, -1]):
        close(gather(table, index), table[index])
    choose = gstopencl.network(file_of(
        "where", [("c", ("N",), "bool"), ("x", ("N",), "float64"), ("k", (), "float64")],
        [("Where", ("c", "x", "k"), "y", {}), ("Not", ("c",), "n", {})],
        [("n", ("N",), "bool"), ("y", ("N",), "float64")]))
    c, x = np.array([True, False, True]), random.random(3)
    inverse, chosen = choose(c, x, np.float64(1 / 3))
    close(inverse, ~c)
    close(chosen, np.where(c, x, 1 / 3), 1e-15)
    close(choose(inverse, chosen, np.float64(2))[1], np.where(c, 2, 1 / 3), 1e-15)
    reshape = gstopencl.network(file_of(
        "reshape", [("x", ("N", 4), "int32"), ("shape", (2,), "int64")],
        [("Reshape", ("x", "shape"), "y", {})], [("y", ("A", "B"), "int32")]),
        constants={"shape": [2, -1]})
    x = np.arange(24, dtype="i4").reshape(6, 4)
    close(reshape(x), x.reshape(2, -1))


def check_errors():
    network, pair = gstopencl.network(dense_file()), gstopencl.network(pair_file())
    x, size = floats(2, 4), floats(2, 1)
    refused(TypeError, "x: float64 float32", network, x.astype("f8"))
    refused(TypeError, "x: int64 float32", network, [[1, 2, 3, 4]])
    refused(TypeError, "x: masked", network, np.ma.masked_less(x, 0.5))
    refused(ValueError, "x: (2, 5) (?, 4)", network, floats(2, 5))
    refused(ValueError, "x: (4,) (?, 4)", network, floats(4))
    refused(ValueError, "x: (0, 4)", network, floats(0, 4))
    refused(TypeError, "missing: size image:0 float32", pair, floats(2, 5))
    refused(TypeError, "unknown: wrong size", pair, {"image:0": floats(2, 5), "wrong": size})
    refused(TypeError, "given twice: size", pair, floats(2, 5), size, size=size)
    refused(TypeError, "too many: 3", pair, floats(2, 5), size, size)
    refused(gstopencl.DeviceError, "openclinference Mul", pair, floats(2, 5), floats(3, 1))
    for turn in range(2):  # the next call works
        close(pair(floats(2, 5) * 0, size)[0], np.zeros((2, 5), "f4"))
    refused(FileNotFoundError, "nothing.onnx", gstopencl.network, "nothing.onnx")
    refused(ValueError, "precision nothing", gstopencl.network, dense_file(), precision="nothing")
    refused(ValueError, "constants: wrong x", gstopencl.network, dense_file(),
            constants={"wrong": 1})
    missing = file_of(
        "missing", [("x", (1,), "float32")],
        [("MyOperator", ("x",), "a", {}), ("Abs", ("a",), "b", {}), ("Other", ("b",), "y", {})],
        [("y", (1,), "float32")])
    refused(gstopencl.DeviceError, "openclinference MyOperator Other", gstopencl.network, missing)
    with open(missing, "wb") as file:
        file.write(b"no network")
    refused(gstopencl.DeviceError, "openclinference missing.onnx", gstopencl.network, missing)


def uploads():
    """Returns the number of inputs of the last pipeline that are uploaded."""
    *_, engine = arrays.device().engines.values()
    names = [child.get_factory().get_name() for child in engine.pipeline.children]
    return names.count("openclupload")


def check_results_on_device():
    """Each output of a call, also of several, is the input of the next one as it is."""
    network = gstopencl.network(pair_file())
    x, size = floats(4, 5), floats(4, 1)
    product, _, total, _ = network(x, size)
    assert uploads() == 2
    shares = arrays.device().shares
    for turn in range(3):
        found = network(product, size)[0]
        assert uploads() == (1 if shares else 2)
        close(found, x * size * size)
        close(gstopencl.run("x - 1", x=total), x + size - 1)
        assert uploads() == (0 if shares else 1)
    gain = gstopencl.run("x * 2", x=size)
    close(network(total, gain)[0], (x + size) * size * 2)
    assert uploads() == (0 if shares else 2)
    held = network(gstopencl.array(x), gstopencl.array(size))[0]
    assert isinstance(held, gstopencl.Array) and uploads() == 0
    close(np.asarray(held + 1), x * size + 1)


def check_threads():
    """Threads share pipelines of the same shapes, and have others of their own."""
    network, failures = gstopencl.network(pair_file()), []

    def work(number):
        try:
            for turn in range(20):
                x, size = np.float32(number + turn) + np.ones((1 + turn % 3, 5), "f4"), \
                    np.full((1 + turn % 3, 1), number, "f4")
                close(network(x, size)[0], x * size)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for step in threading.Thread.start, threading.Thread.join:
        for thread in threads:
            step(thread)
    assert not failures, failures


def check_fork():
    path, x = dense_file(), floats(2, 4)
    network = gstopencl.network(path)
    wanted = network(x)
    faulthandler.cancel_dump_traceback_later()  # has a thread, for which the child would wait
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        for use in lambda: network(x), lambda: gstopencl.network(path):
            refused(gstopencl.DeviceError, "start processes with spawn", use)
        os._exit(7)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 7, status
    close(network(x), wanted)


faulthandler.dump_traceback_later(500, exit=True)
for check in check_one, check_several, check_types, check_errors, check_results_on_device, \
        check_threads, check_fork:
    print(check.__name__, flush=True)
    check()
