"""Writer of ONNX files: networks and single tensors

Encodes the few messages of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto that a network
needs, so that scripts work without the package onnx.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
         "float64": 11}


def varint(number):
    number &= (1 << 64) - 1  # a negative number is its two's complement
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes(encoded + bytearray([number]))


def field(number, value):
    """One field of a message: an integer, a float, a text or the bytes of another message."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, (int, np.integer)):
        return varint(number << 3) + varint(int(value))
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def tensor(name, array):
    array = np.asarray(array)
    data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    return (fields(1, array.shape) + field(2, TYPES[array.dtype.name]) + field(8, name)
            + field(9, data))


def attribute(name, value):
    if isinstance(value, np.ndarray):
        kind, data = 4, field(5, tensor("", value))
    elif isinstance(value, Network):
        kind, data = 5, field(6, value.graph())
    elif isinstance(value, (list, tuple)):
        types = {type(item) for item in value}
        kind, to = (6, float) if float in types else (8, str) if str in types else (7, int)
        data = fields(kind + 1, map(to, value))
    else:
        kind, number = {float: (1, 2), int: (2, 3), str: (3, 4)}[type(value)]
        data = field(number, value)
    return field(1, name) + data + field(20, kind)


def port(name, shape, dtype):
    """An input or output of a network. A length that is a text is unknown."""
    lengths = (field(2 if isinstance(length, str) else 1, length) for length in shape)
    type_and_shape = field(1, TYPES[dtype]) + field(2, fields(1, lengths))
    return field(1, name) + field(2, field(1, type_and_shape))


class Network:
    """Collects nodes and constants. Values are known by their names."""

    def __init__(self, name, opset=13):
        self.name, self.opset = name, opset
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def input(self, name, shape, dtype="float32"):
        self.inputs.append(port(name, shape, dtype))
        return name

    def output(self, name, shape, dtype="float32"):
        self.outputs.append(port(name, shape, dtype))

    def constant(self, array):
        name = f"constant{len(self.constants)}"
        self.constants.append(tensor(name, array))
        return name

    def add(self, op, *inputs, output=None, outputs=None, **attributes):
        """Adds a node and returns the name of its output. An input that is an array becomes a
        constant, one that is None is left out. `outputs` names several."""
        names = [self.constant(value) if isinstance(value, (np.ndarray, np.generic))
                 else value or "" for value in inputs]
        outputs = outputs or [output or f"{op.lower()}{len(self.nodes)}"]
        self.nodes.append(
            fields(1, names) + fields(2, outputs) + field(3, f"{op}_{len(self.nodes)}")
            + field(4, op)
            + fields(5, (attribute(*pair) for pair in attributes.items() if pair[1] is not None)))
        return outputs[0]

    def graph(self):
        return (fields(1, self.nodes) + field(2, self.name) + fields(5, self.constants)
                + fields(11, self.inputs) + fields(12, self.outputs))

    def encoded(self):
        opset = field(1, "") + field(2, self.opset)
        # Version 7 of the format is that of opset 13.
        return field(1, 7) + field(2, "gst-opencl") + field(7, self.graph()) + field(8, opset)
