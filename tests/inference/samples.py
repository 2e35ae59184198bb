"""Test data of networks, in the layout of ONNX's own tests

NAME/model.onnx, and NAME/test_data_set_0 with input_N.pb and output_N.pb.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))
import onnxwriter
import packages


def smooth_noise(rows, columns):
    """An image of random blobs, for machines without a network."""
    fine = np.random.default_rng(1).random((rows + 32, columns + 32, 3))
    for axis, length in ((0, rows), (1, columns)):
        sums = np.cumsum(fine, axis)
        fine = (np.take(sums, range(32, 32 + length), axis)
                - np.take(sums, range(length), axis)) / 32
    return (fine - fine.min()) / (fine.max() - fine.min())


def decoded(path):
    """A picture as RGB bytes"""
    packages.use("pillow==12.0.0")
    from PIL import Image
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def astronaut():
    """A portrait of scikit-image, 512x512, in the public domain (NASA)."""
    folder = packages.wheel_folder("scikit-image==0.25.2")
    return decoded(os.path.join(folder, "skimage/data/astronaut.png")) / 255


def resized(image, axis, length):
    """Linear interpolation to a length of one axis"""
    at = (np.arange(length) + 0.5) * image.shape[axis] / length - 0.5
    at = np.clip(at, 0, image.shape[axis] - 1)
    below = np.minimum(at.astype(int), image.shape[axis] - 2)
    part = (at - below).reshape([-1 if n == axis else 1 for n in range(3)])
    return np.take(image, below, axis) * (1 - part) + np.take(image, below + 1, axis) * part


def photograph(rows, columns):
    """RGB from 0 to 1 as NCHW, stretched to this size."""
    try:
        image = astronaut()
    except packages.Missing as fault:
        print(f"no photograph, random blobs instead: {fault}", file=sys.stderr)
        image = smooth_noise(rows, columns)
    for axis, length in ((0, rows), (1, columns)):
        image = resized(image, axis, length)
    return image.transpose(2, 0, 1)[None].astype(np.float32)


def session(path, threads=0, optimize=False):
    """Without optimization, onnxruntime computes each operator as ONNX defines it."""
    packages.use("onnxruntime==1.23.2")
    import onnxruntime
    levels, options = onnxruntime.GraphOptimizationLevel, onnxruntime.SessionOptions()
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL)
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # no warnings
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def first_input(path):
    port = session(path).get_inputs()[0]
    return port.name, port.shape


def difference(got, expected):
    """The largest difference, of the largest value."""
    return np.abs(got - expected).max() / np.abs(expected).max()


def write(folder, inputs, expected=None):
    """Writes inputs, {name: array}, and the expected outputs, by default those of onnxruntime.
    Returns the outputs of onnxruntime."""
    run = session(os.path.join(folder, "model.onnx"))
    names = [output.name for output in run.get_outputs()]
    outputs = dict(zip(names, run.run(names, inputs)))
    write_arrays(folder, inputs, expected or outputs)
    return outputs


def write_arrays(folder, inputs, outputs):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for n, (name, array) in enumerate(arrays.items()):
            with open(os.path.join(data, f"{kind}_{n}.pb"), "wb") as file:
                file.write(onnxwriter.tensor(name, array))
