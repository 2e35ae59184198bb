"""Networks from ONNX files as functions of arrays

    import gstopencl
    network = gstopencl.network ("classes.onnx")
    classes = network (images)

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import collections
import os

import numpy as np

from .arrays import Engine, Gst, Operand, call_all, device, is_remote
from .frames import DeviceError, without_mask
from .structures import structure_of

Port = collections.namedtuple("Port", "name dtype shape")


def network(file, precision="float", constants=None):
    """Loads a network from an ONNX file.

    file: path, which is read again for arrays of other shapes.
    precision: "float", or "half" for activations and weights of 16 bits. Inputs and outputs keep
    their types.
    constants: values of inputs by name, for the inputs that decide shapes or the branch of an If,
    or that never change: numbers, which fill the input, or arrays. A call does not take them.

    Returns a Network. Raises FileNotFoundError, ValueError for an unknown constant or precision,
    and DeviceError if the file does not load. Its message names all operators that are missing.
    """
    return Network(file, precision, constants or {})


class Network:
    """A network that `network ()` has loaded

    inputs, outputs: tuples of (name, dtype, shape). A length that the network leaves open is None,
    such as (None, 3, 224, 224). An unknown shape is None.

        result = network (images)
        boxes, scores = network (images, size)
        boxes, scores = network ({"image": images, "size": size})
        boxes, scores = network (images, size=size)

    A call takes arrays in the order of `inputs`, by name, or both. An array is of NumPy, of
    pyopencl, or an earlier result. It has the type of its input, and the shape: each call may have
    other open lengths. The element finds all shapes before it runs, so lengths of outputs do not
    depend on values in arrays.

    Returns the output as an array, or a tuple of all in the order of `outputs`, as a list of
    onnxruntime's `session.run (None, …)`. A result is read-only. On a device that works in the
    host's memory it is not copied, and the next call reads it where it is.

    Raises TypeError for a missing or unknown input or another type, ValueError for another shape,
    and DeviceError with the message of the element, such as a node that does not take its shapes.

    Each combination of shapes has a pipeline, as in `gstopencl.arrays`. The first call of one takes
    longer. Threads may call the same network: calls of the same shapes take turns.
    """

    def __init__(self, file, precision, constants):
        used = device()
        self.file = os.path.abspath(os.fspath(file))
        os.stat(self.file)  # raises FileNotFoundError
        self.precision, self.constants = precision, dict(constants)
        ports = self.load(used)
        names = [port.name for port in ports["inputs"]]
        unknown = [name for name in self.constants if name not in names]
        if unknown:
            raise ValueError(f"constants: {unknown[0]} is no input, expected {', '.join(names)}")
        self.inputs = tuple(port for port in ports["inputs"] if port.name not in self.constants)
        self.outputs = tuple(ports["outputs"])

    def __repr__(self):
        return f"<gstopencl network {self.file}, inputs {self.inputs}, outputs {self.outputs}>"

    def properties(self, used):
        """Returns the element's properties. Arrays of constants are files of the Device."""
        constants = (
            f"{name}={float(value) if np.ndim(value) == 0 else used.file_of(name, value)}"
            for name, value in self.constants.items())
        return {"model-file": self.file, "precision": self.precision,
                "inputs": ",".join(constants) or None}

    def load(self, used):
        """Returns lists of the model's inputs and outputs, which the element posts at its start."""
        properties = {name: value for name, value in self.properties(used).items() if value}
        engine = Engine(used, "openclinference", properties, {})
        try:
            engine.pipeline.set_state(Gst.State.PAUSED)
            message = engine.check_messages(Gst.MessageType.ERROR | Gst.MessageType.ELEMENT)
            if not message:
                raise DeviceError(f"openclinference did not load {self.file}")
            return {name: ports_of(structure_of(message), name) for name in ("inputs", "outputs")}
        finally:
            engine.close()

    def __call__(self, /, *arrays, **named):
        used = device()
        values = self.by_name(arrays, named)
        operands = {f"sink_{port.name}": Operand(port.name, fitting(port, values[port.name]), used)
                    for port in self.inputs}
        found = call_all("openclinference", self.properties(used), operands, used=used)
        found = tuple(result(port, array) for port, array in zip(self.outputs, found))
        return found if len(found) > 1 else found[0]

    def by_name(self, arrays, named):
        """Returns the arrays of a call by the names of all inputs."""
        names = [port.name for port in self.inputs]
        if len(arrays) == 1 and isinstance(arrays[0], collections.abc.Mapping):
            arrays, named = (), {**arrays[0], **named}
        ordered = dict(zip(names, arrays))
        faults = {"too many": len(arrays) > len(names) and [f"{len(arrays)} arrays"],
                  "unknown": [name for name in named if name not in names],
                  "given twice": [name for name in named if name in ordered],
                  "missing": [name for name in names if name not in {**ordered, **named}]}
        for fault, which in faults.items():
            if which:
                raise TypeError(f"{fault}: {', '.join(which)}. The network takes "
                                f"{', '.join(map(text_of_port, self.inputs))}")
        return {**ordered, **named}


def ports_of(message, name):
    ports = message.get_array(name)[1]
    return [port_of(ports.get_nth(n)) for n in range(ports.n_values)]


def port_of(structure):
    name, dtype, shape = (structure.get_value(field) for field in ("name", "type", "shape"))
    lengths = [] if shape in (None, "scalar") else shape.replace("-1", "?").split("x")
    lengths = tuple(None if length == "?" else int(length) for length in lengths)
    return Port(name, np.dtype(dtype), None if shape is None else lengths)


def text_of_port(port):
    return f"{port.name} ({port.dtype} {text_of_shape(port.shape)})"


def text_of_shape(shape):
    """Returns a shape as Python writes it, but with ? for an open length."""
    return "of any shape" if shape is None else str(tuple(shape)).replace("None", "?")


def fitting(port, value):
    """Returns a value as the array of an input. Raises TypeError and ValueError if it is none."""
    array = value if is_remote(value) else without_mask(port.name, value)
    if array.dtype.newbyteorder("=") != port.dtype:
        raise TypeError(f"{port.name}: {array.dtype}, expected {port.dtype}")
    if port.shape is not None and (len(array.shape) != len(port.shape) or any(
            wanted not in (None, length) for wanted, length in zip(port.shape, array.shape))):
        raise ValueError(f"{port.name}: shape {text_of_shape(array.shape)}, "
                         f"expected {text_of_shape(port.shape)}")
    return array


def result(port, array):
    """Returns an array of the type and shape of an output: caps have no bool and no scalars."""
    array = array.view(bool) if port.dtype.kind == "b" else array
    return array.reshape(()) if port.shape == () and array.size == 1 else array
