"""Compares networks that tools/tfliteconverter.py converted with the TensorFlow Lite originals.

usage: python3 compare-tflite.py FOLDER [NETWORK.tflite…]

Runs LiteRT on the original and onnxruntime on the converted network, with a photograph as the
input, and fails if they differ by more than 1e-4 of the largest value. Writes
FOLDER/NAME/model.onnx and test data for run-networks. Default: both networks of
tools/fetch-selfie-model.py.

LiteRT has no Convolution2DTransposeBias, which only MediaPipe's own library registers. It is
replaced by TRANSPOSE_CONV, which computes the same.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import os
import sys

import numpy as np

import samples

samples.packages.use("ai-edge-litert==2.1.0", "tflite==2.18.0")
import flatbuffers
import tfliteconverter
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

fetcher = importlib.import_module("fetch-selfie-model")


def replace_transpose_bias(model):
    """Replaces MediaPipe's operator, of inputs image, weights, bias."""
    graph = model.subgraphs[0]
    for operator in graph.operators:
        if model.operatorCodes[operator.opcodeIndex].customCode != b"Convolution2DTransposeBias":
            continue
        padding, width, height = np.frombuffer(bytes(operator.customOptions), "<i4")
        options = schema.TransposeConvOptionsT()
        options.padding, options.strideW, options.strideH = padding - 1, width, height
        shape = schema.TensorT()
        shape.shape, shape.type, shape.name = [4], schema.TensorType.INT32, b"output_shape"
        shape.buffer = len(model.buffers)
        model.buffers.append(schema.BufferT())
        lengths = np.array(graph.tensors[operator.outputs[0]].shape, "<i4")
        model.buffers[-1].data = lengths.view("u1")
        image, weights, bias = operator.inputs
        operator.inputs = [len(graph.tensors), weights, image, bias]
        graph.tensors.append(shape)
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.TRANSPOSE_CONV
        code.version = 3  # the first with a bias
        operator.opcodeIndex = len(model.operatorCodes)
        model.operatorCodes.append(code)
        operator.builtinOptionsType = schema.BuiltinOptions.TransposeConvOptions
        operator.builtinOptions, operator.customOptions = options, None


def runnable(path):
    """The network as LiteRT can run it."""
    with open(path, "rb") as file:
        model = schema.ModelT.InitFromPackedBuf(file.read(), 0)
    replace_transpose_bias(model)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def to_nchw(array):
    return np.ascontiguousarray(array.transpose(0, 3, 1, 2)) if array.ndim == 4 else array


def to_nhwc(array):
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1)) if array.ndim == 4 else array


def original_outputs(path, *arrays):
    """Outputs of LiteRT by name."""
    interpreter = Interpreter(model_content=runnable(path))
    interpreter.allocate_tensors()
    for port, array in zip(interpreter.get_input_details(), arrays):
        interpreter.set_tensor(port["index"], to_nhwc(array))
    interpreter.invoke()
    return {output["name"]: to_nchw(interpreter.get_tensor(output["index"]))
            for output in interpreter.get_output_details()}


def compare(path, folder):
    """Returns whether the converted network computes the same."""
    name = os.path.basename(path).replace(".tflite", "")
    target = os.path.join(folder, name, "model.onnx")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    tfliteconverter.convert_file(path, target)
    port, shape = samples.first_input(target)
    image = samples.photograph(*shape[2:])
    outputs = samples.write(os.path.join(folder, name), {port: image})
    worst = 0
    for output, expected in original_outputs(path, image).items():
        got = outputs[output]
        worst = max(worst, samples.difference(got, expected))
        print(f"{name} {output} {got.shape}: from {got.min():.4g} to {got.max():.4g}, "
              f"mean {got.mean():.4g}")
    print(f"{name}: largest difference {worst:.3g} of the largest value")
    return worst <= 1e-4


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    paths = arguments[1:] or [fetcher.fetch(name)[0] for name in fetcher.NETWORKS]
    right = [compare(path, arguments[0]) for path in paths]
    print(f"{sum(right)} passed, {len(right) - sum(right)} failed")
    sys.exit(not all(right))


if __name__ == "__main__":
    main(sys.argv[1:])
