"""Converts a TensorFlow Lite network to ONNX

usage: python3 tfliteconverter.py NETWORK.tflite NETWORK.onnx

TensorFlow Lite stores images as NHWC (rows, columns, channels), ONNX as NCHW. The converter
permutes weights and axes, so that the ONNX network takes and returns NCHW and contains no
transposition, except around a reshape. Weights of 16 bits become 32 bits. Needs the package
`tflite` of PyPI.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import collections
import struct
import sys

import numpy as np
import tflite

from onnxwriter import Network

TO_NCHW, TO_NHWC = [0, 3, 1, 2], [0, 2, 3, 1]
AXIS_IN_NCHW = [0, 2, 3, 1]


class Unsupported(Exception):
    """A part of the network that the converter does not know."""


def joined_ranges(begins, ends):
    """The numbers from begins[0] to ends[0], then those from begins[1] to ends[1], …"""
    counts = ends - begins
    return np.repeat(ends - np.cumsum(counts), counts) + np.arange(counts.sum())


def densified(values, shape, sparsity):
    """An array from its values that are stored, each level of which is a dimension: all indices,
    or those in a list (compressed rows). Blocks are levels of their own behind the others."""
    order = [int(n) for n in sparsity.TraversalOrderAsNumpy()]
    blocks = [] if sparsity.BlockMapIsNone() else [int(n) for n in sparsity.BlockMapAsNumpy()]
    places, indices, lengths = np.zeros(1, int), {}, {}
    for level, dimension in enumerate(order):
        data = sparsity.DimMetadata(level)
        if data.Format() == tflite.DimensionType.DENSE:
            lengths[dimension] = length = data.DenseSize()
            parents = np.repeat(np.arange(len(places)), length)
            found = np.tile(np.arange(length), len(places))
            places = places[parents] * length + found
        else:
            segments, listed = sparse_vectors(data)
            begins, ends = segments[places], segments[places + 1]
            parents = np.repeat(np.arange(len(places)), ends - begins)
            places = joined_ranges(begins, ends)
            found = listed[places]
        indices = {known: index[parents] for known, index in indices.items()}
        indices[dimension] = found
    at = [indices[dimension] for dimension in range(len(shape))]
    for n, dimension in enumerate(blocks):
        block = len(shape) + n
        at[dimension] = at[dimension] * lengths[block] + indices[block]
    array = np.zeros(shape, values.dtype)
    array[tuple(at)] = values[places]
    return array


def sparse_vectors(data):
    """Segments and indices of a level in compressed rows"""
    kinds = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}
    vectors = []
    for kind, table in ((data.ArraySegmentsType(), data.ArraySegments()),
                        (data.ArrayIndicesType(), data.ArrayIndices())):
        vector = kinds[kind]()
        vector.Init(table.Bytes, table.Pos)
        vectors.append(vector.ValuesAsNumpy().astype(int))
    return vectors


def names_of(enumeration):
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


OPERATORS, TYPES = names_of(tflite.BuiltinOperator), names_of(tflite.TensorType)
ACTIVATIONS, PADDINGS = names_of(tflite.ActivationFunctionType), names_of(tflite.Padding)
ARRAYS = {"FLOAT32": "<f4", "FLOAT16": "<f2", "INT32": "<i4", "INT64": "<i8"}
# TfLiteTransposeConvParams, the options of MediaPipe's Convolution2DTransposeBias
TransposeBias = collections.namedtuple("TransposeBias", "padding width height")


class Node:
    """One operator of the TensorFlow Lite network."""

    def __init__(self, model, operator):
        code = model.OperatorCodes(operator.OpcodeIndex())
        self.operator = operator
        # Files from before 2020 have the code in the older field only.
        self.op = OPERATORS[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        if self.op == "CUSTOM":
            self.op = code.CustomCode().decode()
        self.inputs = [int(n) for n in operator.InputsAsNumpy()]
        self.output = int(operator.Outputs(0))

    def options(self, kind):
        table, options = self.operator.BuiltinOptions(), kind()
        options.Init(table.Bytes, table.Pos)
        return options

    def custom_options(self):
        return TransposeBias(*struct.unpack("<3i", self.operator.CustomOptionsAsNumpy().tobytes()))

    def bias(self):
        return self.inputs[2] if len(self.inputs) > 2 and self.inputs[2] >= 0 else None


class Converter:
    """Tensors are known by their number in the TensorFlow Lite network."""

    def __init__(self, data):
        model = tflite.Model.GetRootAs(data, 0)
        if model.SubgraphsLength() != 1:
            raise Unsupported(f"{model.SubgraphsLength()} subgraphs, expected 1")
        self.model, self.subgraph = model, model.Subgraphs(0)
        self.network = Network("network")
        self.arrays = {}  # constants, as NHWC
        self.names = {}   # values that exist in the ONNX network

    def tensor(self, n):
        return self.subgraph.Tensors(n)

    def shape(self, n):
        tensor = self.tensor(n)
        return [tensor.Shape(axis) for axis in range(tensor.ShapeLength())]

    def nchw_shape(self, n):
        shape = self.shape(n)
        return [shape[axis] for axis in TO_NCHW] if len(shape) == 4 else shape

    def array(self, n):
        """A constant, as TensorFlow Lite stores it."""
        if n not in self.arrays:
            tensor = self.tensor(n)
            buffer = self.model.Buffers(tensor.Buffer())
            kind = TYPES[tensor.Type()]
            if buffer.DataLength() == 0 or kind not in ARRAYS:
                raise Unsupported(f"tensor {tensor.Name().decode()} of type {kind} is no constant")
            data = np.frombuffer(buffer.DataAsNumpy().tobytes(), ARRAYS[kind])
            sparsity = tensor.Sparsity()
            self.arrays[n] = (densified(data, self.shape(n), sparsity) if sparsity
                              else data.reshape(self.shape(n)))
        return self.arrays[n]

    def value(self, n, rank=4):
        """The name of a value. A constant gets `rank` dimensions, as in a broadcast."""
        if n not in self.names:
            array = self.array(n).astype(np.float32)
            array = array.reshape([1] * (rank - array.ndim) + list(array.shape))
            self.names[n] = self.network.constant(array.transpose(TO_NCHW) if rank == 4 else array)
        return self.names[n]

    def add(self, node, op, *inputs, activation=0, **attributes):
        """Adds the last node of an operator and its fused activation."""
        name = self.tensor(node.output).Name().decode()
        if name in self.names.values():
            name += f":{node.output}"
        self.names[node.output] = name
        kind = ACTIVATIONS[activation]
        if kind == "NONE":
            self.network.add(op, *inputs, output=name, **attributes)
        else:
            self.activate(kind, self.network.add(op, *inputs, **attributes), name)

    def activate(self, kind, value, name):
        zero, six, add = np.float32(0), np.float32(6), self.network.add
        if kind == "RELU6":
            add("Clip", value, zero, six, output=name)
        elif kind == "HARD_SWISH":
            gate = add("HardSigmoid", value, alpha=1 / 6, beta=0.5)
            add("Mul", value, gate, output=name)
        elif kind in ("RELU", "TANH"):
            add(kind.capitalize(), value, output=name)
        else:
            raise Unsupported(f"activation {kind}")

    def window(self, node, options, kernel, dilations=(1, 1)):
        """Attributes of a convolution or pooling. SAME is ceil (length / stride) outputs, with
        the odd sample of padding at the end."""
        strides = [options.StrideH(), options.StrideW()]
        pads = [0, 0, 0, 0]
        if PADDINGS[options.Padding()] == "SAME":
            for axis, length in enumerate(self.shape(node.inputs[0])[1:3]):
                extent = (kernel[axis] - 1) * dilations[axis] + 1
                outputs = -(-length // strides[axis])
                pad = max((outputs - 1) * strides[axis] + extent - length, 0)
                pads[axis], pads[axis + 2] = pad // 2, pad - pad // 2
        return {"kernel_shape": list(kernel), "strides": strides, "pads": pads}

    def convolution(self, node, options, weights, group):
        dilations = [options.DilationHFactor(), options.DilationWFactor()]
        bias = node.bias()
        self.add(node, "Conv", self.value(node.inputs[0]), weights.astype(np.float32),
                 None if bias is None else self.array(bias),
                 activation=options.FusedActivationFunction(), dilations=dilations, group=group,
                 **self.window(node, options, weights.shape[2:], dilations))

    def full_convolution(self, node):
        weights = self.array(node.inputs[1]).transpose(0, 3, 1, 2)
        channels = self.shape(node.inputs[0])[3]
        self.convolution(node, node.options(tflite.Conv2DOptions), weights,
                         channels // weights.shape[1])

    def depthwise_convolution(self, node):
        weights = self.array(node.inputs[1]).transpose(3, 0, 1, 2)
        self.convolution(node, node.options(tflite.DepthwiseConv2DOptions), weights,
                         self.shape(node.inputs[0])[3])

    def deconvolution(self, node, image, bias, padding, strides, activation=0):
        """The padding is that of the convolution from the output to the input."""
        weights = self.array(node.inputs[1]).transpose(3, 0, 1, 2).astype(np.float32)
        pads, beyond = [0, 0, 0, 0], [0, 0]
        for axis in (0, 1):
            full = (self.shape(image)[axis + 1] - 1) * strides[axis] + weights.shape[axis + 2]
            excess = full - self.shape(node.output)[axis + 1]
            beyond[axis], pad = max(-excess, 0), max(excess, 0)
            pads[axis] = pad // 2 if PADDINGS[padding] == "SAME" else 0
            pads[axis + 2] = pad - pads[axis]
        self.add(node, "ConvTranspose", self.value(image), weights,
                 None if bias is None else self.array(bias), activation=activation,
                 kernel_shape=list(weights.shape[2:]), strides=list(strides), pads=pads,
                 output_padding=beyond)

    def transpose_convolution(self, node):
        options = node.options(tflite.TransposeConvOptions)
        bias = node.inputs[3] if len(node.inputs) > 3 and node.inputs[3] >= 0 else None
        self.deconvolution(node, node.inputs[2], bias, options.Padding(),
                           (options.StrideH(), options.StrideW()),
                           options.FusedActivationFunction())

    def mediapipe_transpose_convolution(self, node):
        options = node.custom_options()
        # TfLitePadding has SAME = 1 and VALID = 2, the file format 0 and 1.
        self.deconvolution(node, node.inputs[0], node.bias(), options.padding - 1,
                           (options.height, options.width))

    def binary(self, node, op, kind):
        rank = len(self.shape(node.output))
        for n in node.inputs:
            if n in self.names and n not in self.arrays and len(self.shape(n)) != rank:
                raise Unsupported(f"{node.op} of {self.shape(n)} to {self.shape(node.output)}")
        self.add(node, op, *(self.value(n, rank) for n in node.inputs),
                 activation=node.options(kind).FusedActivationFunction() if kind else 0)

    def activation(self, node, kind):
        self.names[node.output] = self.tensor(node.output).Name().decode()
        self.activate(kind, self.value(node.inputs[0]), self.names[node.output])

    def pool(self, node, op):
        options = node.options(tflite.Pool2DOptions)
        kernel = (options.FilterHeight(), options.FilterWidth())
        self.add(node, op, self.value(node.inputs[0]),
                 activation=options.FusedActivationFunction(),
                 **self.window(node, options, kernel))

    def mean(self, node):
        rank = len(self.shape(node.inputs[0]))
        axes = sorted(int(axis) % rank for axis in self.array(node.inputs[1]).ravel())
        keep = node.options(tflite.ReducerOptions).KeepDims()
        if rank == 4 and not (keep or axes == [1, 2]):
            raise Unsupported(f"MEAN over the axes {axes} of {self.shape(node.inputs[0])}")
        self.add(node, "ReduceMean", self.value(node.inputs[0]),
                 axes=sorted(AXIS_IN_NCHW[axis] if rank == 4 else axis for axis in axes),
                 keepdims=int(keep))

    def dense(self, node):
        """The last dimension times a matrix of (outputs, inputs)"""
        options, weights = node.options(tflite.FullyConnectedOptions), self.array(node.inputs[1])
        value, bias = self.value(node.inputs[0]), node.bias()
        if len(self.shape(node.inputs[0])) == 4:
            value = self.network.add("Transpose", value, perm=TO_NHWC)
        if len(self.shape(node.output)) != 2:
            raise Unsupported(f"FULLY_CONNECTED to {self.shape(node.output)}")
        value = self.network.add("Reshape", value, np.array([-1, weights.shape[1]], np.int64))
        self.add(node, "Gemm", value, weights.astype(np.float32),
                 None if bias is None else self.array(bias).astype(np.float32), transB=1,
                 activation=options.FusedActivationFunction())

    def strided_slice(self, node):
        """Begins and ends as in Python; a bit of a mask stands for none."""
        options, shape = node.options(tflite.StridedSliceOptions), self.shape(node.inputs[0])
        begins, ends, steps = (self.array(n).astype(np.int64) for n in node.inputs[1:])
        if options.EllipsisMask() or options.NewAxisMask() or options.ShrinkAxisMask():
            raise Unsupported("STRIDED_SLICE that changes the number of dimensions")
        for axis, length in enumerate(shape):
            one, other = (0, length) if steps[axis] > 0 else (length - 1, -length - 1)
            begins[axis] = one if options.BeginMask() >> axis & 1 else begins[axis]
            ends[axis] = other if options.EndMask() >> axis & 1 else ends[axis]
        axes = np.array(AXIS_IN_NCHW if len(shape) == 4 else range(len(shape)), np.int64)
        self.add(node, "Slice", self.value(node.inputs[0]), begins, ends, axes, steps)

    def depth_to_space(self, node):
        self.add(node, "DepthToSpace", self.value(node.inputs[0]),
                 blocksize=node.options(tflite.DepthToSpaceOptions).BlockSize())

    def leaky_relu(self, node):
        self.add(node, "LeakyRelu", self.value(node.inputs[0]),
                 alpha=float(node.options(tflite.LeakyReluOptions).Alpha()))

    def reciprocal_root(self, node):
        self.add(node, "Reciprocal", self.network.add("Sqrt", self.value(node.inputs[0])))

    def softmax(self, node):
        scale = node.options(tflite.SoftmaxOptions).Beta()
        value = self.value(node.inputs[0])
        if scale != 1:
            value = self.network.add("Mul", value, np.float32(scale))
        self.add(node, "Softmax", value, axis=1 if len(self.shape(node.output)) == 4 else -1)

    def unary(self, node, op):
        self.add(node, op, self.value(node.inputs[0]))

    def resize(self, node):
        options = node.options(tflite.ResizeBilinearOptions)
        positions = ("align_corners" if options.AlignCorners()
                     else "half_pixel" if options.HalfPixelCenters() else "asymmetric")
        self.add(node, "Resize", self.value(node.inputs[0]), None, None,
                 np.array(self.nchw_shape(node.output), np.int64), mode="linear",
                 coordinate_transformation_mode=positions)

    def pad(self, node):
        amounts = self.array(node.inputs[1])
        if len(amounts) == 4:
            amounts = amounts[TO_NCHW]
        self.add(node, "Pad", self.value(node.inputs[0]), amounts.T.ravel().astype(np.int64))

    def reshape(self, node):
        """The order of samples is that of NHWC."""
        value, shape = self.value(node.inputs[0]), self.shape(node.output)
        if len(self.shape(node.inputs[0])) == 4:
            value = self.network.add("Transpose", value, perm=TO_NHWC)
        if len(shape) == 4:
            value = self.network.add("Reshape", value, np.array(shape, np.int64))
            self.add(node, "Transpose", value, perm=TO_NCHW)
        else:
            self.add(node, "Reshape", value, np.array(shape, np.int64))

    def concatenation(self, node):
        options, rank = node.options(tflite.ConcatenationOptions), len(self.shape(node.output))
        axis = options.Axis() % rank
        self.add(node, "Concat", *(self.value(n, rank) for n in node.inputs),
                 activation=options.FusedActivationFunction(),
                 axis=AXIS_IN_NCHW[axis] if rank == 4 else axis)

    def densify(self, node):
        """A constant is dense already."""
        self.arrays[node.output] = self.array(node.inputs[0])

    def dequantize(self, node):
        self.arrays[node.output] = self.array(node.inputs[0]).astype(np.float32)

    HANDLERS = {
        "ADD": lambda self, node: self.binary(node, "Add", tflite.AddOptions),
        "AVERAGE_POOL_2D": lambda self, node: self.pool(node, "AveragePool"),
        "CONCATENATION": concatenation,
        "CONV_2D": full_convolution,
        "Convolution2DTransposeBias": mediapipe_transpose_convolution,
        "DENSIFY": densify,
        "DEPTH_TO_SPACE": depth_to_space,
        "DEPTHWISE_CONV_2D": depthwise_convolution,
        "DEQUANTIZE": dequantize,
        "EXP": lambda self, node: self.unary(node, "Exp"),
        "FULLY_CONNECTED": dense,
        "HARD_SWISH": lambda self, node: self.activation(node, "HARD_SWISH"),
        "LEAKY_RELU": leaky_relu,
        "LOG": lambda self, node: self.unary(node, "Log"),
        "LOGISTIC": lambda self, node: self.unary(node, "Sigmoid"),
        "MAXIMUM": lambda self, node: self.binary(node, "Max", None),
        "MAX_POOL_2D": lambda self, node: self.pool(node, "MaxPool"),
        "MEAN": mean,
        "MINIMUM": lambda self, node: self.binary(node, "Min", None),
        "MUL": lambda self, node: self.binary(node, "Mul", tflite.MulOptions),
        "PAD": pad,
        "PRELU": lambda self, node: self.add(
            node, "PRelu", *(self.value(n) for n in node.inputs)),
        "RELU": lambda self, node: self.activation(node, "RELU"),
        "RELU6": lambda self, node: self.activation(node, "RELU6"),
        "RESHAPE": reshape,
        "RESIZE_BILINEAR": resize,
        "RSQRT": reciprocal_root,
        "SOFTMAX": softmax,
        "STRIDED_SLICE": strided_slice,
        "SUB": lambda self, node: self.binary(node, "Sub", tflite.SubOptions),
        "TANH": lambda self, node: self.unary(node, "Tanh"),
        "TRANSPOSE_CONV": transpose_convolution,
    }

    def port(self, n):
        if TYPES[self.tensor(n).Type()] != "FLOAT32":
            raise Unsupported(f"input or output of type {TYPES[self.tensor(n).Type()]}")
        return self.nchw_shape(n)

    def convert(self):
        nodes = [Node(self.model, self.subgraph.Operators(n))
                 for n in range(self.subgraph.OperatorsLength())]
        unknown = sorted({node.op for node in nodes} - set(self.HANDLERS))
        if unknown:
            raise Unsupported(f"operators {', '.join(unknown)}")
        for n in map(int, self.subgraph.InputsAsNumpy()):
            self.names[n] = self.network.input(self.tensor(n).Name().decode(), self.port(n))
        for node in nodes:
            self.HANDLERS[node.op](self, node)
        for n in map(int, self.subgraph.OutputsAsNumpy()):
            self.network.output(self.names[n], self.port(n))
        return self.network.encoded()


def convert_file(source, target):
    with open(source, "rb") as file:
        data = file.read()
    try:
        encoded = Converter(data).convert()
    except Unsupported as fault:
        raise Unsupported(f"{source}: the converter does not support {fault}") from None
    with open(target, "wb") as file:
        file.write(encoded)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        convert_file(*sys.argv[1:])
    except (OSError, Unsupported) as fault:
        sys.exit(str(fault))
