#!/usr/bin/env python3
"""Random kernels get the arguments that docs/programs.md promises, by name: what they write is what
NumPy computes of the same numbers.

usage: randomkernels.py [--seed SEED] [COUNT]

A kernel has parameters of many types in any order: inputs of a mixer, an in-out argument, arrays from files, numbers and
vectors, sizes, local memory. It writes the sum of all, each times a number of its own. All
numbers are small integers, so that sums are exact in every type.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import os
import random
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
         "long": "i8", "ulong": "u8", "float": "f4", "double": "f8", "half": "f2"}
OUTPUTS = {"int": "int32", "long": "int64", "float": "float32", "double": "float64"}
WORDS = "gain table weights left right step bias x y values limit scale offset data".split()


def shape_of(draw, largest=4):
    return tuple(draw.choice((1, 2, 3, 5, 8)) for _ in range(draw.randint(1, largest)))


def caps_of(array):
    """Caps of an array in host memory"""
    dimensions = ":".join(str(length) for length in reversed(array.shape))
    return f"other/tensors,types={array.dtype.name},dimensions=(string){dimensions}"


class Kernel:
    """Parameters, statements, and the sum that is expected in each element"""

    def __init__(self, draw, folder):
        self.draw, self.folder = draw, folder
        self.type = draw.choice(list(OUTPUTS))
        self.shape = shape_of(draw)
        self.index = np.arange(np.prod(self.shape))
        self.parameters, self.statements, self.arguments = [], [], []
        self.inputs, self.sum, self.groups = [], np.zeros(self.index.size, int), False
        self.names = draw.sample(WORDS, 8)
        kinds = [self.input] * draw.randint(0, 2) + draw.choices(
            [self.file, self.number, self.vector, self.attribute, self.vectors, self.moment],
            k=draw.randint(1, 4))
        for kind in kinds:
            kind()
        self.attribute()
        if draw.random() < 0.3:
            self.local()
        if draw.random() < 0.3:
            self.in_out()

    def factor(self):
        return self.draw.randint(1, 5)

    def add(self, text, values):
        """A term of the sum, and its values in each element"""
        factor = self.factor()
        self.statements.append(f"sum += {factor} * (long)({text});")
        self.sum = self.sum + factor * values

    def small(self, shape, name):
        numbers = [self.draw.randint(0, 7) for _ in range(int(np.prod(shape)))]
        return np.array(numbers).reshape(shape).astype(TYPES[name])

    def save(self, name, array):
        np.save(f"{self.folder}/{name}.npy", array)

    # --- kinds of parameters ---

    def array(self, shape=None):
        """A pointer to numbers, of which each element reads one; returns its name and numbers."""
        name, of = self.names.pop(), self.draw.choice(list(TYPES))
        array = self.small(shape or shape_of(self.draw), of)
        self.save(name, array)
        space = self.draw.choice(("global const", "const global", "global const volatile"))
        self.parameters.append(f"{space} {of} *{self.draw.choice(('', 'restrict '))}{name}"
                               if "volatile" not in space else f"{space} {of} *{name}")
        place = f"(i * {self.factor()} + {self.factor()}) % {array.size}"
        values = array.ravel().astype(int)[eval(place, {"i": self.index})]
        self.add(f"vload_half ({place}, {name})" if of == "half" else f"{name}[{place}]", values)
        if self.draw.random() < 0.4:
            self.size_of(name + "_", array.shape)
        return name, array

    def input(self):
        self.inputs.append(self.array())

    def file(self):
        name, _ = self.array()
        self.arguments.append(f"{name}={self.folder}/{name}.npy")

    def number(self):
        name, of = self.names.pop(), self.draw.choice([t for t in TYPES if t != "half"])
        value = self.draw.randint(0, 100)
        self.parameters.append(f"{self.draw.choice(('', 'const '))}{of} {name}")
        self.arguments.append(f"{name}={value}{self.draw.choice(('', '.0'))}")
        self.add(name, value)

    def vector(self):
        name, of = self.names.pop(), self.draw.choice([t for t in TYPES if t != "half"])
        lanes = self.draw.choice((2, 3, 4, 8, 16))
        values = [self.draw.randint(0, 100) for _ in range(lanes)]
        self.parameters.append(f"{of}{lanes} {name}")
        self.arguments.append(f"{name}=<{','.join(map(str, values))}>")
        for lane, value in enumerate(values):
            self.add(f"{name}.s{lane:x}", value)

    def vectors(self):
        """A pointer to vectors, from a file"""
        name, of = self.names.pop(), self.draw.choice([t for t in TYPES if t != "half"])
        lanes, count = self.draw.choice((2, 4)), self.draw.randint(1, 5)
        array = self.small((count, lanes), of)
        self.save(name, array)
        self.parameters.append(f"global const {of}{lanes} *{name}")
        self.arguments.append(f"{name}={self.folder}/{name}.npy")
        self.add(f"{name}[i % {count}].s{lanes - 1}",
                 array[self.index % count, lanes - 1].astype(int))

    def size_of(self, prefix, shape):
        kind = self.draw.choice(("count", "shape0", "shape1", "shape2", "shape3"))
        lengths = [*reversed(shape), 1, 1, 1]
        value = int(np.prod(shape)) if kind == "count" else lengths[int(kind[-1])]
        if any(p.endswith(f" {prefix}{kind}") for p in self.parameters):
            return
        self.parameters.append(f"{self.draw.choice(('int', 'uint', 'ulong'))} {prefix}{kind}")
        self.add(prefix + kind, value)

    def attribute(self):
        self.size_of("", self.shape)

    def moment(self):
        name = self.draw.choice(("frame", "time"))
        if not any(p.endswith(" " + name) for p in self.parameters):
            self.parameters.append(("uint " if name == "frame" else "float ") + name)
            self.add(name, 0)

    def local(self):
        name = self.names.pop()
        self.groups = True
        self.parameters.append(f"local int *{name}")
        self.arguments.append(f"{name}={self.draw.randint(1, 9)}")
        self.statements.insert(0, f"{name}[0] = 3; barrier (CLK_LOCAL_MEM_FENCE);")
        self.add(f"{name}[0]", 3)

    def in_out(self):
        """The output begins with the contents of the pad `start`, which is no argument."""
        start = self.small(self.shape, self.type)
        self.inputs.append(("start", start))
        self.add("output[i]", start.ravel().astype(int))

    # --- the whole ---

    def source(self):
        """OpenCL C, and the value of global-size (empty: none)"""
        self.parameters.append(f"global {self.type} *output")
        self.draw.shuffle(self.parameters)
        lengths = [*reversed(self.shape)]
        rank = 1 if self.groups else self.draw.randint(1, min(3, len(lengths)))
        ids = [f"get_global_id ({d})" for d in range(rank)]
        place, size = ids[-1], ""
        for d in reversed(range(rank - 1)):
            place = f"({place} * {lengths[d]} + {ids[d]})"
        if self.draw.random() < 0.3:
            size = ",".join(map(str, [*lengths[: rank - 1], int(np.prod(lengths[rank - 1:]))]))
        text = (f"kernel void made ({', '.join(self.parameters)}) {{ long sum = 0; "
                f"const long i = {place}; {' '.join(self.statements)} output[i] = sum; }}")
        if "double" in text:
            text = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + text
        return text, size

    def pipeline(self):
        text, size = self.source()
        with open(f"{self.folder}/made.cl", "w") as file:
            file.write(text)
        settings = (f"location={self.folder}/made.cl "
                    f'output-caps="{caps_of(np.empty(self.shape, OUTPUTS[self.type]))}"')
        settings += f" global-size={size}" if size else ""
        settings += f' arguments="a,{",".join(self.arguments)}"' if self.arguments else ""
        settings += " local-size=1" if self.groups else ""
        end = f"npysink location={self.folder}/output.npy"
        if not self.inputs:
            return f"openclkernelsrc num-buffers=1 {settings} ! {end}", text
        names = [name for name, _ in self.inputs]
        if "start" in names:
            settings += f" inputs={','.join([*names[:-1], 'output'])} outputs=output"
        feeds = " ".join(f"appsrc name=from_{name} format=time is-live=false ! openclupload ! m.{name}"
                         for name, _ in self.inputs)
        return f"openclkernelmixer name=m {settings} ! {end} {feeds}", text


def run(kernel, line):
    """Runs a pipeline to its end; raises an error with the message of an element."""
    pipeline = Gst.parse_launch(line)
    for name, array in kernel.inputs:
        source = pipeline.get_by_name(f"from_{name}")
        source.set_property("caps", Gst.Caps.from_string(
            caps_of(array) + ',num_tensors=1,format=static,framerate=1/1'))
        buffer = Gst.Buffer.new_wrapped(array.tobytes())
        buffer.pts, buffer.duration = 0, Gst.SECOND
        source.emit("push-buffer", buffer)
        source.emit("end-of-stream")
    pipeline.set_state(Gst.State.PLAYING)
    kinds = Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING
    message = pipeline.get_bus().timed_pop_filtered(200 * Gst.SECOND, kinds)
    pipeline.set_state(Gst.State.NULL)
    assert message, "no end"
    if message.type == Gst.MessageType.ERROR:
        raise AssertionError(" ".join(map(str, message.parse_error())))
    assert message.type == Gst.MessageType.EOS, message.parse_warning()[0].message


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    options = parser.parse_args()
    Gst.init(None)
    parameters = 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            kernel = Kernel(random.Random(seed), folder)
            line, text = kernel.pipeline()
            try:
                run(kernel, line)
                got = np.load(os.path.join(folder, "output.npy"))
                assert (got.ravel() == kernel.sum).all(), (got.ravel(), kernel.sum)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}\n{text}\n{line}") from None
            parameters += len(kernel.parameters)
    print(f"{options.count} kernels with {parameters} parameters agree")


if __name__ == "__main__":
    main()
