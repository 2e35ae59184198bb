"""Compares random networks with onnxruntime.

usage: python3 random-networks.py PROGRAM FOLDER [SEED [COUNT]]

PROGRAM is run-networks. Writes COUNT networks (default: 500) of one to eight random operators
to FOLDER and runs them. OPERATORS has a line for each kind of operator that PROGRAM supports.
Inputs have odd lengths, and some have NaN and infinities. Then come networks of each operator
alone, with lengths of 1, 2 and 3, for which drivers compile kernels differently. onnxruntime computes each node when it
is added, without optimization. Once more with its operands changed by their rounding errors, it
shows how uncertain the result is. Nodes with uncertain results are left out, such as Floor of a
computed number beside a whole one.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import os
import subprocess
import sys
import warnings

import numpy as np

import samples
from samples import onnxwriter

nodetests = importlib.import_module("node-tests")
OPSET = 21
LENGTHS = (1, 1, 2, 3, 3, 4, 5, 7, 8, 9, 13, 17)
TOLERANCE = 1e-3
MOST_UNCERTAIN = 1e-4  # of the largest value
ROUNDING = 2e-6
MOST_ELEMENTS = 20000
# onnxruntime drops NaN in these, or has NaN where the standard's formula has none.
NO_NAN = set("""MaxPool GlobalMaxPool ReduceMax ReduceMin HardSigmoid HardSwish Sign
    Softplus ThresholdedRelu Shrink Cast Max Min Clip Relu LeakyRelu PRelu Elu Selu Celu TopK ArgMax
    ArgMin NonMaxSuppression GridSample Resize Softmax LogSoftmax ReduceLogSumExp
    LpNormalization QuantizeLinear DynamicQuantizeLinear LSTM GRU RNN ScatterElements ScatterND
    Erf LRN Gelu Mish Conv ConvTranspose MatMul Gemm Einsum AveragePool""".split())


class Value:
    def __init__(self, name, array, noise):
        self.name, self.array, self.noise = name, array, noise


class Captured(Value):
    """A value that branches read, and that is no operand"""


class Graph:
    """A network that grows, with the values of its nodes"""

    def __init__(self, name, random, lengths):
        self.random, self.network = random, onnxwriter.Network(name, OPSET)
        self.lengths = lengths
        self.values, self.inputs, self.used, self.drawn = [], {}, set(), []

    # --- random choices for the table ---

    def pick(self, items):
        return items[self.random.integers(len(items))]

    def whole(self, low, high):
        """From low to high, inclusive"""
        return int(self.random.integers(low, high + 1))

    def number(self, low, high):
        return float(np.float32(self.random.uniform(low, high)))

    def chance(self, part):
        return self.random.random() < part

    def shape(self, low=0, high=4):
        return [self.pick(self.lengths) for _ in range(self.whole(low, high))]

    def array(self, shape, dtype="float32"):
        """Random numbers, exact ones that are equal now and then among them"""
        if dtype == "bool":
            return self.random.random(shape) < 0.5
        if dtype != "float32":
            low = 0 if dtype == "uint8" else -9
            return np.asarray(self.random.integers(low, 10, shape), dtype)
        numbers = self.random.normal(0, 1.5, shape)
        if self.chance(0.3):
            numbers = np.round(numbers * 4) / 4
        return np.asarray(numbers, np.float32)

    def add_input(self, array):
        """An input of the network, or a constant"""
        if self.chance(0.25) and self.inputs:
            name = f"held{len(self.values)}"
            self.network.constants.append(onnxwriter.tensor(name, array))
        else:
            name = self.network.input(f"input{len(self.inputs)}", array.shape, array.dtype.name)
            self.inputs[name] = array
        value = Value(name, array, 0.0)
        self.values.append(value)
        return value

    def fresh(self, shape, dtype="float32"):
        array = np.asarray(self.array(shape, dtype))
        if dtype == "float32" and self.chance(0.1) and array.size:
            array.flat[self.whole(0, array.size - 1)] = self.pick([np.nan, np.inf, -np.inf])
        return self.add_input(array)

    def real(self, low=0, high=4, dtype="float32"):
        """A value with `low` to `high` dimensions: an older one, or an input"""
        known = [value for value in self.values if value.array.dtype.name == dtype
                 and low <= value.array.ndim <= high]
        if known and self.chance(0.7):
            return known[max(self.whole(0, len(known) - 1), self.whole(0, len(known) - 1))]
        return self.fresh(self.shape(low, high), dtype)

    def integers(self, low=0, high=4):
        return self.real(low, high, self.pick(["int32", "int64"]))

    def beside(self, value, count=1):
        """The value and others that broadcast with it"""
        others = [value]
        for _ in range(count):
            shape = [1 if self.chance(0.2) else length for length in value.array.shape]
            others.append(self.fresh(shape[self.whole(0, len(shape)):], value.array.dtype.name))
        return others if self.chance(0.5) else others[::-1]

    def axis(self, value, least=0):
        rank = value.array.ndim
        at = self.whole(least, rank - 1)
        return at - rank if self.chance(0.5) else at

    def axes(self, value):
        chosen = [at for at in range(value.array.ndim) if self.chance(0.5)]
        return np.array(chosen, np.int64)

    # --- nodes ---

    def evaluate(self, op, operands, attributes, outputs, changed):
        network, feeds = onnxwriter.Network("node", OPSET), {}
        for operand in operands:
            if isinstance(operand, Value):
                array = operand.array
                if changed and operand.noise > 0:
                    finite = np.abs(array[np.isfinite(array)])
                    size = operand.noise * finite.max(initial=0)
                    array = np.asarray(array + self.random.uniform(-size, size, array.shape),
                                       array.dtype)
                if operand.name not in feeds:
                    network.input(operand.name, array.shape, array.dtype.name)
                    feeds[operand.name] = array
        names = operand_names(operands)
        results = [f"y{n}" for n in range(outputs)]
        network.add(op, *names, outputs=results, **attributes)
        # onnxruntime infers the types.
        network.outputs = [onnxwriter.field(1, name) for name in results]
        return [np.asarray(array) for array in
                samples.session(network.encoded(), threads=1).run(None, feeds)]

    def add(self, op, operands, attributes, outputs=1):
        """Adds a node if onnxruntime takes it and its results are certain."""
        given = [operand for operand in operands if isinstance(operand, Value)]
        if op in NO_NAN and any(not np.isfinite(value.array).all() for value in given):
            return False
        try:
            arrays = self.evaluate(op, operands, attributes, outputs, False)
            others = self.evaluate(op, operands, attributes, outputs, True)
        except Exception as fault:  # pylint: disable=broad-except
            if "--faults" in sys.argv:
                print(op, [getattr(o, "array", np.zeros(0)).shape for o in given], attributes,
                      str(fault)[:300])
            return False
        if op in NO_NAN and any(array.dtype.kind == "f" and not np.isfinite(array).all()
                                for array in arrays):
            return False
        noises = [uncertainty(array, other, any(value.noise > 0 for value in given))
                  for array, other in zip(arrays, others)]
        if any(noise is None or array.size > MOST_ELEMENTS for array, noise in zip(arrays, noises)):
            return False
        names = [f"v{len(self.values) + n}" for n in range(outputs)]
        self.network.add(op, *operand_names(operands), outputs=names, **attributes)
        self.used.update(value.name for value in given)
        self.values += map(Value, names, arrays, noises)
        self.drawn += names
        return True

    def write(self, folder):
        """The results that no node reads are outputs."""
        by_name = {value.name: value for value in self.values}
        outputs = {name: by_name[name].array for name in self.drawn if name not in self.used}
        folder = os.path.join(folder, self.network.name)
        samples.write_arrays(folder, self.inputs, outputs)
        for name, array in outputs.items():
            self.network.output(name, array.shape, array.dtype.name)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(self.network.encoded())
        return folder


def operand_names(operands):
    return [operand.name if isinstance(operand, Value) else operand for operand in operands
            if not isinstance(operand, Captured)]


def uncertainty(array, other, computed):
    """How far a result may be off, of its largest value; None if that is too much"""
    if (array.dtype.name not in onnxwriter.TYPES or array.shape != other.shape
            or array.size == 0):
        return None
    if array.dtype.name != "float32":
        return 0.0 if (array == other).all() else None
    finite = np.isfinite(array)
    if (finite != np.isfinite(other)).any() or (np.abs(array[finite]) > 1e4).any():
        return None
    largest = np.abs(array[finite]).max(initial=0)
    if 0 < largest < 1e-4:
        return None
    difference = np.abs(array[finite] - other[finite]).max(initial=0) / (largest or 1)
    noise = max(3 * float(difference), ROUNDING) if computed or largest else ROUNDING
    return noise if noise < MOST_UNCERTAIN else None


# --- operators that need more than a line ---

def window(g, op):
    x = g.real(3, 5)
    rank = x.array.ndim - 2
    kernel = [g.whole(1, min(3, length)) for length in x.array.shape[2:]]
    attributes = {"strides": [g.whole(1, 2) for _ in range(rank)]}
    if g.chance(0.5):
        attributes["pads"] = [g.whole(0, kernel[n % rank] - 1) for n in range(2 * rank)]
    if op in ("MaxPool", "Conv") and g.chance(0.3):
        attributes["dilations"] = [g.whole(1, 2 if 2 * size - 2 < length else 1)
                                   for size, length in zip(kernel, x.array.shape[2:])]
    if op == "ConvTranspose":
        filters = g.array([x.array.shape[1], g.whole(1, 4)] + kernel) / np.float32(4)
        return [x, filters], attributes
    if op == "Conv":
        groups = g.pick([1, x.array.shape[1]])
        filters = [groups * g.whole(1, 3), x.array.shape[1] // groups] + kernel
        bias = [g.array(filters[:1])] if g.chance(0.5) else []
        return [x, g.array(filters) / np.float32(4), *bias], {**attributes, "group": groups}
    if op == "AveragePool" and rank < 3:  # there onnxruntime is off at the padding behind
        attributes["count_include_pad"] = g.whole(0, 1)
    return [x], {**attributes, "kernel_shape": kernel}


def pad(g, _):
    """Negative pads cut off."""
    x = g.real(1, 4)
    mode = g.pick(["constant", "edge", "reflect"])
    low = -1 if mode == "constant" else 0
    pads = [g.whole(low, min(2, x.array.shape[n % x.array.ndim] - 1)) for n in
            range(2 * x.array.ndim)]
    fill = [np.float32(g.number(-2, 2))] if mode == "constant" and g.chance(0.5) else []
    return [x, np.array(pads, np.int64), *fill], {"mode": mode}


def cut(g, _):
    x = g.real(1, 4)
    axis = g.axis(x)
    length = x.array.shape[axis]
    step = g.pick([1, 1, 2, -1, -3])
    ends = [g.whole(-length - 1, length + 1) for _ in range(2)]
    return [x, *(np.array([n], np.int64) for n in (*ends, axis, step))], {}


def split(g, _):
    x = g.real(1, 4)
    axis = g.axis(x)
    first = g.whole(0, x.array.shape[axis])
    parts = np.array([first, x.array.shape[axis] - first], np.int64)
    return [x, parts], {"axis": axis}, 2


def resize(g, _):
    x = g.real(4, 4)
    sizes = [*x.array.shape[:2], g.whole(1, 12), g.whole(1, 12)]
    mode = g.pick(["nearest", "linear", "cubic"])
    coordinates = g.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    return [x, None, None, np.array(sizes, np.int64)], {
        "mode": mode, "coordinate_transformation_mode": coordinates,
        "nearest_mode": g.pick(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"])}


def product(g, _):
    a = g.real(1, 4)
    inner = a.array.shape[-1]
    if a.array.ndim == 1 or g.chance(0.5):
        b = g.array([inner, g.pick(g.lengths)])
        return [a, b if g.chance(0.5) else g.add_input(b)], {}
    shape = [*a.array.shape[:-2], inner, g.pick(g.lengths)]
    return [a, g.fresh(shape)], {}


def gemm(g, _):
    a = g.real(2, 2)
    turned, columns = g.whole(0, 1), g.pick(g.lengths)
    depth = a.array.shape[0 if turned else 1]
    b = g.array([columns, depth])
    return [a, b if g.chance(0.5) else g.add_input(b), g.array([columns])], {
        "transA": turned, "transB": 1, "alpha": g.number(0.5, 2), "beta": g.number(0.5, 2)}


def einsum(g, _):
    left, right, result = g.pick([
        ("ij", "jk", "ik"), ("bij", "bjk", "bik"), ("...ij", "...jk", "...ik"), ("ij", "ij", ""),
        ("bhid", "bhjd", "bhij"), ("abc", "cd", "bad"), ("i", "j", "ji"),
        ("bic", "bkc", "ick"), ("...i", "ij", "...j")])
    lengths = {letter: g.pick(g.lengths[:7]) for letter in "abcdhijk."}
    shapes = [[lengths[letter] for letter in text.replace("...", ".")] for text in (left, right)]
    return [g.fresh(shape) for shape in shapes], {"equation": f"{left},{right}->{result}"}


def recurrent(g, op):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    direction = g.pick(["forward", "reverse", "bidirectional"])
    count, hidden = (2 if direction == "bidirectional" else 1), g.pick(g.lengths)
    x = g.real(3, 3)
    times, images, features = x.array.shape

    def weights(*shape):
        return g.array(shape) / np.float32(3)
    operands = [x, weights(count, gates * hidden, features), weights(count, gates * hidden, hidden),
                g.pick([None, weights(count, 2 * gates * hidden)]),
                g.pick([None, g.random.integers(1, times + 1, images).astype(np.int32)]),
                g.pick([None, weights(count, images, hidden)])]
    if op == "LSTM":
        operands.append(g.pick([None, weights(count, images, hidden)]))
    attributes = {"hidden_size": hidden, "direction": direction}
    if g.chance(0.5):
        names = [g.pick(["Sigmoid", "HardSigmoid", "Softsign"]), "Tanh", "Tanh"]
        attributes["activations"] = names[:{"LSTM": 3, "GRU": 2, "RNN": 1}[op]] * count
        if names[0] == "HardSigmoid":  # onnxruntime's RNN has no defaults
            attributes.update(activation_alpha=[0.2] * count, activation_beta=[0.5] * count)
    if op == "GRU":
        attributes["linear_before_reset"] = g.whole(0, 1)
    return operands, attributes, 3 if op == "LSTM" else 2


def normalization(g, op):
    x = g.real(3, 4)
    channels = x.array.shape[1]
    operands = [x] + [g.array([channels]) for _ in range(4 if op[0] == "B" else 2)]
    operands[-1] = np.abs(operands[-1]) + np.float32(0.5)
    if op == "GroupNormalization":
        return operands, {"num_groups": g.pick([1, channels])}
    return operands, {}


def branch(g, _):
    """A condition, constant or computed, and branches that read a value of the network"""
    x, lines = g.real(1, 3), []
    for op in ("Relu", "Neg"):
        lines.append(onnxwriter.Network(op))
        lines[-1].add("Identity", lines[-1].add(op, x.name), output="out")
        lines[-1].outputs = [onnxwriter.field(1, "out")]
    condition = g.fresh(g.pick([[], [1]]), "bool") if g.chance(0.5) else np.array(g.chance(0.5))
    return [condition, Captured(x.name, x.array, x.noise)], {
        "then_branch": lines[0], "else_branch": lines[1]}


def transposed(g, _):
    x = g.real(1, 4)
    return [x], {"perm": [int(n) for n in g.random.permutation(x.array.ndim)]}


def concatenated(g, _):
    x = g.real(1, 4)
    axis = g.axis(x)
    shape = list(x.array.shape)
    shape[axis] = g.pick(g.lengths)
    return [x, g.fresh(shape)], {"axis": axis}


def reshaped(g, _):
    x = g.real(1, 4)
    at = g.whole(1, x.array.ndim)
    return [x, np.array(g.pick([[-1], [0, -1], [*x.array.shape[:at], -1, 1]]), np.int64)], {}


def indices(g, x, axis, shape):
    length = x.array.shape[axis]
    return g.random.integers(-length, length, shape).astype(np.int64)


def gathered(g, op):
    x = g.real(1, 4)
    axis = g.axis(x)
    shape = g.shape(0, 2) if op == "Gather" else x.array.shape
    found = indices(g, x, axis, shape)
    return [x, found if g.chance(0.5) else g.add_input(found)], {"axis": axis}


def scattered(g, _):
    """Each index is there once, so that the order does not matter."""
    x = g.real(1, 4)
    axis = g.axis(x)
    order = np.argsort(g.random.random(x.array.shape), axis)
    return [x, order, g.array(x.array.shape)], {"axis": axis}


def sampled(g, _):
    x = g.real(4, 4)
    grid = g.random.uniform(-1.2, 1.2, [x.array.shape[0], g.pick(g.lengths), g.pick(g.lengths), 2])
    return [x, g.add_input(grid.astype(np.float32))], {
        "mode": g.pick(["linear", "nearest", "cubic"]), "align_corners": g.whole(0, 1),
        "padding_mode": g.pick(["zeros", "border", "reflection"])}


def quantized(g, op):
    scale, zero = np.float32(g.number(0.01, 0.1)), np.uint8(g.whole(0, 255))
    return [g.real() if op == "QuantizeLinear" else g.real(dtype="uint8"), scale, zero], {}


def chosen(g, _):
    x = g.real()
    return [g.fresh(x.array.shape, "bool"), *g.beside(x)], {}


def reversed_steps(g, _):
    x = g.real(2, 4)
    lengths = g.random.integers(1, x.array.shape[0] + 1, x.array.shape[1])
    return [x, lengths], {"time_axis": 0, "batch_axis": 1}


def clipped(g, _):
    return [g.real(), np.float32(g.number(-1, 0)), np.float32(g.number(0, 1))], {}


# A line for operators with the same operands: names, and a function of the graph and the name that
# returns operands, attributes and, if there are several, the number of outputs
OPERATORS = (
    ("Abs Neg Relu Sigmoid Tanh Exp Erf Floor Ceil Round Sin Cos Softplus Softsign Mish HardSwish "
     "Sign IsNaN IsInf Identity Sqrt Log Reciprocal Tan Atan Sinh Cosh Asin Acos "
     "Selu HardSigmoid", lambda g, op: ([g.real()], {})),
    ("Elu Celu LeakyRelu ThresholdedRelu Swish",
     lambda g, op: ([g.real()], {"alpha": g.number(0.2, 1.5)})),
    ("Gelu", lambda g, op: ([g.real()], {"approximate": g.pick(["none", "tanh"])})),
    ("Shrink", lambda g, op: ([g.real()], {"lambd": g.number(0, 1), "bias": g.number(-1, 1)})),
    ("Clip", clipped),
    ("Add Sub Mul Div Equal Less LessOrEqual Greater GreaterOrEqual Pow",
     lambda g, op: (g.beside(g.real()), {})),
    ("Add Sub Mul Max Min Equal Less", lambda g, op: (g.beside(g.integers()), {})),
    ("Mod Div", lambda g, op: ([*(x := g.integers(),), np.asarray(g.pick([-3, -1, 2, 5]),
                                                                  x.array.dtype)], {})),
    ("Max Min Sum Mean", lambda g, op: (g.beside(g.real(), g.whole(0, 3)), {})),
    ("Mod", lambda g, op: (g.beside(g.real()), {"fmod": 1})),
    ("And Or Xor", lambda g, op: (g.beside(g.real(dtype="bool")), {})),
    ("Not", lambda g, op: ([g.real(dtype="bool")], {})),
    ("Where", chosen),
    ("PRelu", lambda g, op: ([*(x := g.real(1, 4),), g.array(x.array.shape[-1:])], {})),
    ("Cast", lambda g, op: ([g.pick([g.real(), g.integers(), g.real(dtype="bool")])],
                            {"to": g.pick([1, 6, 7, 9])})),
    ("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare "
     "ReduceLogSum ReduceLogSumExp",
     lambda g, op: ([*(x := g.real(1, 4),), g.axes(x)], {"keepdims": g.whole(0, 1)})),
    ("Softmax LogSoftmax",
     lambda g, op: ([*(x := g.real(1, 4),)], {"axis": g.axis(x)})),
    ("LpNormalization",
     lambda g, op: ([*(x := g.real(1, 4),)], {"axis": g.axis(x), "p": g.whole(1, 2)})),
    ("InstanceNormalization GroupNormalization BatchNormalization", normalization),
    ("LayerNormalization", lambda g, op: ([*(x := g.real(1, 4),), g.array(x.array.shape[-1:]),
                                           g.array(x.array.shape[-1:])], {})),
    ("LRN", lambda g, op: ([g.real(4, 4)], {"size": g.pick([1, 3, 5, 7]), "alpha": g.number(0, 1)})),
    ("MaxPool AveragePool Conv ConvTranspose", window),
    ("GlobalAveragePool GlobalMaxPool", lambda g, op: ([g.real(3, 4)], {})),
    ("MatMul", product),
    ("Gemm", gemm),
    ("MatMulInteger", lambda g, op: ([*(a := g.real(2, 3, "uint8"),), g.fresh(
        [a.array.shape[-1], g.pick(g.lengths)], "uint8"), np.uint8(3), np.uint8(g.whole(0, 9))], {})),
    ("ConvInteger", lambda g, op: ([*(x := g.real(4, 4, "uint8"),), g.fresh(
        [2, x.array.shape[1], 1, 1], "uint8"), np.uint8(3), np.uint8(5)], {})),
    ("Einsum", einsum),
    ("LSTM GRU RNN", recurrent),
    ("Transpose", transposed),
    ("Reshape", reshaped),
    ("Flatten", lambda g, op: ([*(x := g.real(1, 4),)], {"axis": g.axis(x)})),
    ("Unsqueeze", lambda g, op: ([g.real(0, 3), np.array([0], np.int64)], {})),
    ("Squeeze", lambda g, op: ([g.real()], {})),
    ("Expand", lambda g, op: ([*(x := g.real(1, 3),), np.array([2, *x.array.shape], np.int64)], {})),
    ("Tile", lambda g, op: ([*(x := g.real(1, 4),),
                             np.array([g.whole(1, 3) for _ in x.array.shape], np.int64)], {})),
    ("Slice", cut),
    ("Split", split),
    ("Concat", concatenated),
    ("Pad", pad),
    ("Resize", resize),
    ("DepthToSpace", lambda g, op: ([g.fresh([1, 8, g.pick(g.lengths), g.pick(g.lengths)])],
                                    {"blocksize": 2, "mode": g.pick(["DCR", "CRD"])})),
    ("SpaceToDepth", lambda g, op: ([g.fresh([2, 3, 4, 6])], {"blocksize": 2})),
    ("Trilu", lambda g, op: ([g.real(2, 4), np.array(g.whole(-3, 3))], {"upper": g.whole(0, 1)})),
    ("OneHot", lambda g, op: ([g.real(0, 3, "int64"), np.array(g.whole(1, 7)), g.array([2])],
                              {"axis": g.pick([0, -1])})),
    ("If", branch),
    ("ArgMax ArgMin", lambda g, op: ([*(x := g.real(1, 4),)],
                                     {"axis": g.axis(x), "keepdims": g.whole(0, 1)})),
    ("TopK", lambda g, op: ([*(x := g.real(1, 4),), np.array([g.whole(1, x.array.shape[-1])])],
                            {"largest": g.whole(0, 1)}, 2)),
    ("CumSum", lambda g, op: ([*(x := g.real(1, 4),), np.array(g.axis(x))],
                              {"exclusive": g.whole(0, 1), "reverse": g.whole(0, 1)})),
    ("Gather GatherElements", gathered),
    ("ScatterElements", scattered),
    ("GridSample", sampled),
    ("QuantizeLinear DequantizeLinear", quantized),
    ("DynamicQuantizeLinear", lambda g, op: ([g.real(1, 4)], {}, 3)),
    ("ReverseSequence", reversed_steps),
)


def generate(name, seed, supported, lengths=LENGTHS):
    g = Graph(name, np.random.default_rng(seed), lengths)
    table = [(op, make) for names, make in OPERATORS for op in names.split() if op in supported]
    wanted = 8 if len(table) == 1 else g.whole(1, 8)
    for _ in range(40):
        op, make = g.pick(table)
        operands, attributes, *outputs = make(g, op)
        wanted -= g.add(op, operands, attributes, *outputs)
        if wanted == 0:
            break
    return g


def main(arguments):
    arguments = [argument for argument in arguments if argument != "--faults"]
    if not 2 <= len(arguments) <= 4:
        sys.exit(__doc__)
    program, folder = arguments[:2]
    seed, count = (int(text) for text in (arguments[2:] + ["1", "500"][len(arguments) - 2:]))
    text = subprocess.run([program, "--operators"], capture_output=True, text=True, check=True)
    supported = set(text.stdout.replace("\n", " ").replace(",", "").split())
    unused = supported - {op for names, _ in OPERATORS for op in names.split()}
    print("operators without a line in OPERATORS:", ", ".join(sorted(unused)))
    warnings.simplefilter("ignore")  # of overflows, which uncertainty() judges
    graphs = [generate(f"random{n}", [seed, n], supported) for n in range(count)]
    graphs += [generate(f"{op}{length}", [seed, length], {op}, (length,))
               for op in sorted(supported - unused) for length in (1, 2, 3)]
    graphs = {graph.network.name: graph for graph in graphs if graph.drawn}
    results = nodetests.run([program, "--tolerance", str(TOLERANCE)],
                            [graph.write(folder) for graph in graphs.values()])
    wrong = {name: result for name, result in results.items() if result[0] != "ok"}
    for name, (word, reason) in sorted(wrong.items()):
        print(f"FAILED: {name}: {word}: {reason}")
    print(f"seed {seed}: {len(results) - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except samples.packages.Missing as fault:
        sys.exit(str(fault))
