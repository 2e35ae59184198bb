"""Makes three small networks and their test data for run-networks. Needs NumPy only.

usage: python3 make-networks.py FOLDER [PROGRAM]

FOLDER/classifier: a convolutional classifier with a depthwise convolution, a residual, a
squeeze-and-excitation block, hardswish, Gemm and softmax. FOLDER/segmenter: an encoder and
decoder with maximum pooling, a transposed convolution, bilinear Resize, Concat and a sigmoid.
FOLDER/reader: columns of an image through LSTM and GRU. Each operator is written to the ONNX file
and evaluated in double precision beside it. PROGRAM, which is run-networks, then runs them in
single and in half precision.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import subprocess
import sys

import numpy as np

import samples
from samples import onnxwriter


def convolve(image, weights, bias, stride=1, pad=0, groups=1):
    outputs, per_group, rows, columns = weights.shape
    image = np.pad(image, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    height = (image.shape[2] - rows) // stride + 1
    width = (image.shape[3] - columns) // stride + 1
    result = np.zeros((1, outputs, height, width)) + bias[:, None, None]
    for channel in range(outputs):
        first = channel // (outputs // groups) * per_group
        for inner in range(per_group):
            for y in range(rows):
                for x in range(columns):
                    part = image[0, first + inner, y:y + height * stride:stride,
                                 x:x + width * stride:stride]
                    result[0, channel] += weights[channel, inner, y, x] * part[:height, :width]
    return result


def convolve_transposed(image, weights, bias, stride):
    """Each sample adds its multiple of the weights to the output."""
    inputs, outputs, rows, columns = weights.shape
    _, _, height, width = image.shape
    result = np.zeros((1, outputs, (height - 1) * stride + rows, (width - 1) * stride + columns))
    for y in range(height):
        for x in range(width):
            added = np.tensordot(image[0, :, y, x], weights, 1)
            result[0, :, y * stride:y * stride + rows, x * stride:x * stride + columns] += added
    return result + bias[:, None, None]


def enlarge(image, factor):
    """Bilinear, with half-pixel centres and repeated edges."""
    for axis in (2, 3):
        length = image.shape[axis]
        at = np.clip((np.arange(length * factor) + 0.5) / factor - 0.5, 0, length - 1)
        hats = np.maximum(0, 1 - abs(at[:, None] - np.arange(length)))
        image = np.moveaxis(np.tensordot(hats, image, (1, axis)), 0, axis)
    return image


def maximum_pool(image):
    _, channels, height, width = image.shape
    return image.reshape(1, channels, height // 2, 2, width // 2, 2).max((3, 5))


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def lstm(inputs, weights, recurrent, bias):
    """One direction of (times, images, features); the gates are input, output, forget, cell."""
    hidden = recurrent.shape[1]
    state = cell = np.zeros((inputs.shape[1], hidden))
    result = []
    for step in inputs:
        gates = step @ weights.T + state @ recurrent.T + bias[:4 * hidden] + bias[4 * hidden:]
        entering, shown, kept, new = np.split(gates, 4, 1)
        cell = sigmoid(kept) * cell + sigmoid(entering) * np.tanh(new)
        state = sigmoid(shown) * np.tanh(cell)
        result.append(state)
    return np.array(result)


def gru(inputs, weights, recurrent, bias):
    """The gates are update, reset, hidden; the reset is that of the state."""
    hidden = recurrent.shape[1]
    parts = [slice(n * hidden, (n + 1) * hidden) for n in range(3)]
    state, result = np.zeros((inputs.shape[1], hidden)), []
    for step in inputs:
        own = step @ weights.T + bias[:3 * hidden] + bias[3 * hidden:]
        update, reset = (sigmoid(own[:, part] + state @ recurrent[part].T) for part in parts[:2])
        new = np.tanh(own[:, parts[2]] + (reset * state) @ recurrent[parts[2]].T)
        state = update * state + (1 - update) * new
        result.append(state)
    return np.array(result)


def hard_sigmoid(values):
    return np.clip(values / 6 + 0.5, 0, 1)


def softmax(values):
    powers = np.exp(values - values.max())
    return powers / powers.sum()


class Builder:
    """Adds nodes to a network. A value is its name and what it is for the test image."""

    def __init__(self, name, image):
        self.random = np.random.default_rng(2024)
        self.network = onnxwriter.Network(name)
        self.image = (self.network.input("image", image.shape), image.astype(np.float64))

    def weights(self, *shape, fan):
        """Float values, which both the file and the evaluation have."""
        return (self.random.standard_normal(shape) * np.sqrt(2 / fan)).astype(np.float32)

    def apply(self, op, result, *values, constants=(), **attributes):
        names = [name for name, _ in values]
        return self.network.add(op, *names, *constants, **attributes), result

    def convolution(self, value, outputs, size, stride=1, groups=1):
        per_group = value[1].shape[1] // groups
        weights = self.weights(outputs, per_group, size, size, fan=per_group * size * size)
        bias = self.weights(outputs, fan=20)
        pad = size // 2
        result = convolve(value[1], weights.astype(np.float64), bias, stride, pad, groups)
        return self.apply("Conv", result, value, constants=(weights, bias), group=groups,
                          strides=[stride] * 2, pads=[pad] * 4)

    def transposed_convolution(self, value, outputs):
        weights = self.weights(value[1].shape[1], outputs, 2, 2, fan=value[1].shape[1])
        bias = self.weights(outputs, fan=20)
        result = convolve_transposed(value[1], weights.astype(np.float64), bias, 2)
        return self.apply("ConvTranspose", result, value, constants=(weights, bias),
                          strides=[2, 2])

    def relu(self, value):
        return self.apply("Relu", np.maximum(value[1], 0), value)

    def hard_swish(self, value):
        """Two nodes, as PyTorch exports it for opset 13"""
        gate = self.apply("HardSigmoid", hard_sigmoid(value[1]), value, alpha=1 / 6, beta=0.5)
        return self.apply("Mul", value[1] * gate[1], value, gate)

    def mean(self, value):
        return self.apply("GlobalAveragePool", value[1].mean((2, 3), keepdims=True), value)

    def squeeze_and_excite(self, value):
        inner = self.relu(self.convolution(self.mean(value), value[1].shape[1] // 4, 1))
        outer = self.convolution(inner, value[1].shape[1], 1)
        gate = self.apply("HardSigmoid", hard_sigmoid(outer[1]), outer, alpha=1 / 6, beta=0.5)
        return self.apply("Mul", value[1] * gate[1], value, gate)

    def inverted_residual(self, value):
        channels = value[1].shape[1]
        inner = self.hard_swish(self.convolution(value, 3 * channels, 1))
        inner = self.hard_swish(self.convolution(inner, 3 * channels, 5, groups=3 * channels))
        inner = self.convolution(self.squeeze_and_excite(inner), channels, 1)
        return self.apply("Add", value[1] + inner[1], value, inner)

    def classes(self, value, count):
        flat = self.apply("Flatten", value[1].reshape(1, -1), value)
        weights, bias = self.weights(count, flat[1].shape[1], fan=8), self.weights(count, fan=20)
        result = flat[1] @ weights.astype(np.float64).T + bias
        value = self.apply("Gemm", result, flat, constants=(weights, bias), transB=1)
        return self.apply("Softmax", softmax(value[1]), value, axis=1)

    def pool(self, value):
        return self.apply("MaxPool", maximum_pool(value[1]), value, kernel_shape=[2, 2],
                          strides=[2, 2])

    def enlarged(self, value, factor):
        scales = np.array([1, 1, factor, factor], np.float32)
        return self.apply("Resize", enlarge(value[1], factor), value, constants=(None, scales),
                          mode="linear", coordinate_transformation_mode="half_pixel")

    def concatenated(self, *values):
        return self.apply("Concat", np.concatenate([array for _, array in values], 1), *values,
                          axis=1)

    def sigmoid(self, value):
        return self.apply("Sigmoid", sigmoid(value[1]), value)

    def recurrent(self, value, op, evaluate, gates, hidden):
        """Both directions; the result is (times, images, both states)."""
        features = value[1].shape[2]
        weights = self.weights(2, gates * hidden, features, fan=features)
        recurrent = self.weights(2, gates * hidden, hidden, fan=hidden)
        bias = self.weights(2, 2 * gates * hidden, fan=20)
        results = [evaluate(inputs, *(array[n].astype(np.float64) for array in
                                      (weights, recurrent, bias)))
                   for n, inputs in enumerate((value[1], value[1][::-1]))]
        both = np.stack([results[0], results[1][::-1]], 1)
        value = self.apply(op, both, value, constants=(weights, recurrent, bias),
                           hidden_size=hidden, direction="bidirectional")
        value = self.apply("Transpose", both.transpose(0, 2, 1, 3), value, perm=[0, 2, 1, 3])
        shape = [*value[1].shape[:2], 2 * hidden]
        return self.apply("Reshape", value[1].reshape(shape), value, constants=(np.array(shape),))

    def write(self, folder, value):
        """Writes the network, whose output is `value`, and the test data. Returns the folder."""
        name, result = value
        self.network.output(name, result.shape)
        folder = os.path.join(folder, self.network.name)
        samples.write_arrays(folder, {"image": self.image[1].astype(np.float32)},
                             {name: result.astype(np.float32)})
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(self.network.encoded())
        return folder


def classifier(image):
    builder = Builder("classifier", image)
    value = builder.hard_swish(builder.convolution(builder.image, 16, 3, stride=2))
    value = builder.inverted_residual(builder.inverted_residual(value))
    value = builder.relu(builder.convolution(value, 24, 3, stride=2, groups=2))
    return builder, builder.classes(builder.mean(value), 10)


def segmenter(image):
    builder = Builder("segmenter", image)
    fine = builder.relu(builder.convolution(builder.image, 8, 3))
    middle = builder.relu(builder.convolution(builder.pool(fine), 16, 3))
    coarse = builder.relu(builder.convolution(builder.pool(middle), 32, 3))
    value = builder.concatenated(builder.transposed_convolution(coarse, 16), middle)
    value = builder.relu(builder.convolution(value, 12, 3))
    value = builder.concatenated(builder.enlarged(value, 2), fine)
    return builder, builder.sigmoid(builder.convolution(value, 1, 3))


def reader(image):
    """Columns of an image as steps of two recurrent networks, as in networks that read text"""
    builder = Builder("reader", image)
    value = builder.relu(builder.convolution(builder.image, 8, 3, stride=2))
    columns = value[1].transpose(3, 0, 1, 2)
    value = builder.apply("Transpose", columns, value, perm=[3, 0, 1, 2])
    shape = [*columns.shape[:2], columns.shape[2] * columns.shape[3]]
    value = builder.apply("Reshape", columns.reshape(shape), value, constants=(np.array(shape),))
    value = builder.recurrent(value, "LSTM", lstm, 4, 24)
    return builder, builder.recurrent(value, "GRU", gru, 3, 17)


def main(arguments):
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    folders = []
    for make, rows, columns in ((classifier, 45, 60), (segmenter, 48, 64),
                                (reader, 24, 90)):
        image = 2 * samples.smooth_noise(rows, columns).transpose(2, 0, 1)[None] - 1
        builder, value = make(image.astype(np.float32))
        folders.append(builder.write(arguments[0], value))
    for program in arguments[1:]:
        runs = [subprocess.run([program, *options, *folders], check=False).returncode
                for options in ([], ["--half", "--tolerance", "1e-2"])]
        sys.exit(any(runs))


if __name__ == "__main__":
    main(sys.argv[1:])
