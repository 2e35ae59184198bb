#!/usr/bin/env python3
"""Random expressions agree with NumPy under the rule of docs/programs.md.

usage: expressions.py [--seed SEED] [COUNT]

Each expression is computed on the device and by NumPy, in the types of the rule. Integers must be
equal. For floating-point numbers, interval arithmetic in a wider type gives bounds; the device's
number must be within them. Numbers whose bounds do not determine the result of a comparison or of a
rounding are not compared.

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

ROWS, COLUMNS, TOGETHER = 8, 24, 10
SHAPE = (ROWS, COLUMNS)
WIDE = np.longdouble
OUTPUTS = ["uint8", "int16", "int32", "uint32", "int64", "float32", "float64"]


# --- values ---


class Integer:
    """int64 or uint64 numbers, and a mask of those that are known"""

    def __init__(self, values, known=True):
        self.values = np.broadcast_to(values, SHAPE)
        self.known = np.broadcast_to(known, SHAPE)

    @property
    def kind(self):
        return "unsigned" if self.values.dtype == np.uint64 else "integer"


class Real:
    """NumPy's numbers, and bounds of the device's numbers"""

    kind = "real"

    def __init__(self, values, least, most, ulps, known=True):
        dtype = values.dtype
        error = ulps * np.finfo(dtype).eps * np.maximum(np.abs(least), np.abs(most))
        error = error + WIDE(np.finfo(dtype).tiny) * (ulps > 0)
        self.values = np.broadcast_to(values, SHAPE)
        self.least = np.broadcast_to(least - error, SHAPE)
        self.most = np.broadcast_to(most + error, SHAPE)
        bounded = np.isfinite(self.values) & (self.most < 1e30) & (self.least > -1e30)
        self.known = np.broadcast_to(known & bounded, SHAPE)


def real_of(value, dtype):
    if value.kind == "real":
        return value
    exact = value.values.astype(WIDE)
    numbers = value.values.astype(dtype)
    is_exact = numbers.astype(WIDE) == exact
    made = Real(numbers, exact, exact, 0.5, value.known)
    made.least = np.where(is_exact, exact, made.least)
    made.most = np.where(is_exact, exact, made.most)
    return made


def common(values, dtype):
    """NumPy's promotion, with the rule's one floating type and 64 bits"""
    kinds = {value.kind for value in values}
    if "real" in kinds:
        return [real_of(value, dtype) for value in values]
    if "unsigned" in kinds:
        return [Integer(value.values.astype(np.uint64), value.known) for value in values]
    return values


def known_of(*values):
    return np.logical_and.reduce([value.known for value in values])


def truth(value):
    if value.kind != "real":
        return value.values != 0, value.known
    is_zero = (value.least == 0) & (value.most == 0)
    return ~is_zero, value.known & (is_zero | (value.least > 0) | (value.most < 0))


# --- operators ---


def spread(function, a, b):
    """Bounds of an operation that is monotonic in each operand"""
    ends = [function(x, y) for x in (a.least, a.most) for y in (b.least, b.most)]
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}


def arithmetic(symbol, a, b, dtype):
    a, b = common((a, b), dtype)
    function = ARITHMETIC[symbol]
    if a.kind == "real":
        bounds = spread(function, a, b)
        return Real(function(a.values, b.values), *bounds, 1, known_of(a, b))
    return Integer(function(a.values, b.values), known_of(a, b))


def is_off_zero(value):
    return (value.least > 0) | (value.most < 0)


def divide(_, a, b, dtype):
    a, b = real_of(a, dtype), real_of(b, dtype)
    bounds = spread(np.divide, a, b)
    return Real(a.values / b.values, *bounds, 3, known_of(a, b) & is_off_zero(b))


def divide_whole(symbol, a, b, dtype):
    a, b = common((a, b), dtype)
    function = {"//": np.floor_divide, "%": np.remainder}[symbol]
    known = known_of(a, b)
    if a.kind != "real":
        return Integer(function(a.values, b.values), known)
    least, most = (np.floor(end) for end in spread(np.divide, a, b))
    known = known & is_off_zero(b) & (least == most) & (np.abs(least) < 1000)
    if symbol == "//":
        return Real(function(a.values, b.values), least, most, 1, known)
    ends = [x - y * least for x in (a.least, a.most) for y in (b.least, b.most)]
    ends = np.minimum.reduce(ends), np.maximum.reduce(ends)
    error = np.abs(b.most) * np.finfo(dtype).eps
    return Real(function(a.values, b.values), ends[0] - error, ends[1] + error, 1, known)


def shift(symbol, a, b, dtype):
    a, b = common((a, b), dtype)
    function = {"<<": np.left_shift, ">>": np.right_shift}[symbol]
    return Integer(function(a.values, b.values), known_of(a, b))


BITS = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}


def combine_bits(symbol, a, b, dtype):
    a, b = common((a, b), dtype)
    return Integer(BITS[symbol](a.values, b.values), known_of(a, b))


COMPARISONS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
               "==": np.equal, "!=": np.not_equal}  # fmt: skip


def compare(symbol, a, b, dtype):
    function = COMPARISONS[symbol]
    if "real" not in (a.kind, b.kind):
        exact = function(a.values.astype(object), b.values.astype(object))
        return Integer(exact.astype(np.int64), known_of(a, b))
    a, b = real_of(a, dtype), real_of(b, dtype)
    apart = (a.most < b.least) | (b.most < a.least)
    exact = (a.least == a.most) & (b.least == b.most)
    made = function(a.values, b.values).astype(np.int64)
    return Integer(made, known_of(a, b) & (apart | exact))


def combine_truths(symbol, a, b, _):
    (a, a_known), (b, b_known) = truth(a), truth(b)
    made = a & b if symbol == "&&" else a | b
    return Integer(made.astype(np.int64), a_known & b_known)


def choose(condition, a, b, dtype):
    chosen, known = truth(condition)
    a, b = common((a, b), dtype)
    known = known & np.where(chosen, a.known, b.known)
    values = np.where(chosen, a.values, b.values)
    if a.kind != "real":
        return Integer(values, known)
    bounds = (np.where(chosen, x, y) for x, y in ((a.least, b.least), (a.most, b.most)))
    return Real(values, *bounds, 0, known)


def negate(symbol, a, _):
    if symbol == "!":
        chosen, known = truth(a)
        return Integer((~chosen).astype(np.int64), known)
    if symbol == "~":
        return Integer(~a.values, a.known)
    if a.kind == "real":
        return Real(-a.values, -a.most, -a.least, 0, a.known)
    return Integer(-a.values, a.known)


# --- functions ---


def monotonic(function, ulps, least=-np.inf, most=np.inf):
    """A monotonic function; results are known for operands from `least` to `most`"""

    def compute(a, dtype):
        a = real_of(a, dtype)
        known = a.known & (a.least >= least) & (a.most <= most)
        return Real(function(a.values), function(a.least), function(a.most), ulps, known)

    return compute


def wave(function):
    """A function whose slope is at most 1"""

    def compute(a, dtype):
        a = real_of(a, dtype)
        middle, radius = function((a.least + a.most) / 2), (a.most - a.least) / 2
        error = 4 * np.finfo(dtype).eps
        return Real(function(a.values), middle - radius - error, middle + radius + error, 0, a.known)

    return compute


def round_by(function):
    def compute(a, dtype):
        if a.kind != "real":
            return a
        least, most = function(a.least), function(a.most)
        return Real(function(a.values), least, most, 0, a.known & (least == most))

    return compute


def extreme(integers):
    def compute(a, b, dtype):
        a, b = common((a, b), dtype)
        known = known_of(a, b)
        values = integers(a.values, b.values)
        if a.kind != "real":
            return Integer(values, known)
        return Real(values, integers(a.least, b.least), integers(a.most, b.most), 0, known)

    return compute


def floating(function):
    return lambda *arguments: function(
        *(real_of(value, arguments[-1]) for value in arguments[:-1]), arguments[-1])


least_of, most_of = extreme(np.minimum), extreme(np.maximum)


def clamp(a, low, high, dtype):
    return least_of(most_of(a, low, dtype), high, dtype)


def magnitude(a, dtype):
    if a.kind != "real":
        return Integer(np.abs(a.values) if a.kind == "integer" else a.values, a.known)
    ends = np.abs(a.least), np.abs(a.most)
    least = np.where(is_off_zero(a), np.minimum(*ends), 0)
    return Real(np.abs(a.values), least, np.maximum(*ends), 0, a.known)


def hypotenuse(a, b, dtype):
    a, b = magnitude(a, dtype), magnitude(b, dtype)
    bounds = np.hypot(a.least, b.least), np.hypot(a.most, b.most)
    return Real(np.hypot(a.values, b.values), *bounds, 4, known_of(a, b))


def multiply_add(a, b, c, dtype):
    return arithmetic("+", arithmetic("*", a, b, dtype), c, dtype)


def mix(a, b, share, dtype):
    """OpenCL C's mix (): a + (b - a) * share"""
    return multiply_add(arithmetic("-", b, a, dtype), share, a, dtype)


def step(edge, a, dtype):
    made = compare(">=", a, edge, dtype)
    return real_of(made, dtype)


def saturate(values, dtype):
    """Converts whole numbers, with saturation."""
    limits = np.iinfo(dtype)
    return np.array(
        [int(min(max(int(value) if np.isfinite(value) else 0, limits.min), limits.max))
         for value in values.flat], dtype).reshape(values.shape)  # fmt: skip


def cast(dtype):
    def compute(a, _):
        if a.kind != "real":
            made, known = a.values.astype(dtype), a.known
        else:
            least, most = np.trunc(a.least), np.trunc(a.most)
            made, known = saturate(least, dtype), a.known & (least == most)
        return Integer(made.astype(np.uint64 if dtype == "uint64" else np.int64), known)

    return compute


def count_bits(a, _):
    made = [bin(int(value) & (1 << 64) - 1).count("1") for value in a.values.flat]
    return Integer(np.array(made, np.int64).reshape(SHAPE), a.known)


def leading_zeros(a, _):
    made = [64 - (int(value) & (1 << 64) - 1).bit_length() for value in a.values.flat]
    return Integer(np.array(made, np.int64).reshape(SHAPE), a.known)


def power_of_two(a, exponent, dtype):
    a = real_of(a, dtype)
    scale = 2.0 ** exponent.values.astype(WIDE)
    return Real(np.ldexp(a.values, exponent.values.astype(int)), a.least * scale, a.most * scale,
                0, known_of(a, exponent))  # fmt: skip


def power(a, exponent, dtype):
    a = magnitude(real_of(a, dtype), dtype)
    whole = exponent.values.astype(WIDE)
    known = known_of(a, exponent)
    return Real(a.values ** exponent.values.astype(dtype), a.least**whole, a.most**whole, 16, known)


# The text, the operands' kinds (n: any, i: integer) and the computation
FUNCTIONS = [
    ("sqrt (fabs ({}))", "n", lambda a, t: monotonic(np.sqrt, 3)(magnitude(real_of(a, t), t), t)),
    ("cbrt ({})", "n", monotonic(np.cbrt, 3)),
    ("exp ({})", "n", monotonic(np.exp, 4, -30, 30)),
    ("exp2 ({})", "n", monotonic(np.exp2, 4, -30, 30)),
    ("log1p (fabs ({}))", "n", lambda a, t: monotonic(np.log1p, 4)(magnitude(real_of(a, t), t), t)),
    ("tanh ({})", "n", monotonic(np.tanh, 6)),
    ("atan ({})", "n", monotonic(np.arctan, 6)),
    ("sin ({})", "n", wave(np.sin)),
    ("cos ({})", "n", wave(np.cos)),
    ("degrees ({})", "n", monotonic(np.degrees, 3)),
    ("fabs ({})", "n", floating(magnitude)),
    ("floor ({})", "n", round_by(np.floor)),
    ("ceil ({})", "n", round_by(np.ceil)),
    ("rint ({})", "n", round_by(np.rint)),
    ("trunc ({})", "n", round_by(np.trunc)),
    ("abs ({})", "n", magnitude),
    ("min ({}, {})", "nn", least_of),
    ("max ({}, {})", "nn", most_of),
    ("fmin ({}, {})", "nn", floating(least_of)),
    ("fmax ({}, {})", "nn", floating(most_of)),
    ("hypot ({}, {})", "nn", floating(hypotenuse)),
    ("step ({}, {})", "nn", floating(step)),
    ("isgreater ({}, {})", "nn", lambda a, b, t: compare(">", a, b, t)),
    ("islessequal ({}, {})", "nn", lambda a, b, t: compare("<=", a, b, t)),
    ("clamp ({}, {}, {})", "nnn", clamp),
    ("mix ({}, {}, {})", "nnn", floating(mix)),
    ("mad ({}, {}, {})", "nnn", floating(multiply_add)),
    ("fma ({}, {}, {})", "nnn", floating(multiply_add)),
    ("select ({}, {}, {})", "nnn", lambda a, b, c, t: choose(c, b, a, t)),
    ("ldexp ({}, ({}) % 20)", "ni", lambda a, b, t: power_of_two(a, twenty(b, t), t)),
    ("pown (fabs ({}), ({}) & 3)", "ni", lambda a, b, t: power(a, three(b, t), t)),
    ("pow (fabs ({}), ({}) & 3)", "ni", lambda a, b, t: power(a, three(b, t), t)),
    ("({}) ** 2", "n", lambda a, t: arithmetic("*", a, a, t)),
    ("({}) ** 3", "n", lambda a, t: arithmetic("*", arithmetic("*", a, a, t), a, t)),
    ("popcount ({})", "i", count_bits),
    ("clz ({})", "i", leading_zeros),
    ("(int) ({})", "n", cast("int32")),
    ("(uchar) ({})", "n", cast("uint8")),
    ("(short) ({})", "n", cast("int16")),
    ("(long) ({})", "n", cast("int64")),
    ("(ulong) ({})", "n", cast("uint64")),
]


def twenty(value, dtype):
    return divide_whole("%", value, Integer(np.int64(20)), dtype)


def three(value, dtype):
    return combine_bits("&", value, Integer(np.int64(3)), dtype)


OPERATORS = (
    [(symbol, arithmetic) for symbol in ("+", "-", "*", "+", "-", "*")]
    + [("/", divide), ("/", divide), ("//", divide_whole), ("%", divide_whole)]
    + [(symbol, compare) for symbol in COMPARISONS]
    + [("&&", combine_truths), ("||", combine_truths)]
)
OPERATORS_OF_INTEGERS = (
    [(symbol, combine_bits) for symbol in BITS] + [("<<", shift), (">>", shift)])


# --- trees ---


class Leaf:
    def __init__(self, text, compute, kind, arrays=()):
        self.text, self.compute, self.kind, self.arrays = text, compute, kind, set(arrays)


class Node:
    """`compute` takes the operands' values and the floating type."""

    def __init__(self, text, compute, operands):
        self.text = text.format(*(operand.text for operand in operands))
        self.arrays = set().union(*(operand.arrays for operand in operands))
        self.parts = compute, operands
        self.kind = self.compute(np.float64).kind

    def compute(self, dtype):
        function, operands = self.parts
        return function(*(operand.compute(dtype) for operand in operands), dtype)


def exact_real(number):
    def compute(dtype):
        value = np.asarray(number).astype(dtype)
        return Real(value, value.astype(WIDE), value.astype(WIDE), 0)

    return compute


def literals():
    integers = ["0", "1", "2", "3", "7", "255", "0xff", "16777217", "2147483648", "4294967299", "1u"]
    reals = ["0.5", "2.25f", "1e-3", ".125", "3.0", "1e2f", "0.1"]
    leaves = [
        Leaf(text, lambda _, n=int(text.rstrip("u"), 0): Integer(np.int64(n)), "integer")
        for text in integers]  # fmt: skip
    return leaves + [Leaf(text, exact_real(float(text.rstrip("f"))), "real") for text in reals]


def literal_leaf(draw):
    return draw.choice(literals())


def whole(values):
    return lambda _: Integer(values)


def leaves_of(arrays):
    made = {}
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            made[name] = Leaf(name, exact_real(array), "real", [array.dtype.name])
        else:
            wide = array.astype(np.uint64 if array.dtype == np.uint64 else np.int64)
            kind = "unsigned" if array.dtype == np.uint64 else "integer"
            made[name] = Leaf(name, whole(wide), kind, [array.dtype.name])
    rows, columns = np.indices(SHAPE)
    made["i0"] = Leaf("i0", whole(columns), "integer")
    made["i1"] = Leaf("i1", whole(rows), "integer")
    made["frame"] = Leaf("frame", whole(np.int64(0)), "integer")
    made["k"] = Leaf("k", whole(np.int64(-5)), "integer")
    made["big"] = Leaf("big", whole(np.int64(2**40 + 1)), "integer")
    made["g"] = Leaf("g", exact_real(0.75), "real")
    return list(made.values())


def grow(draw, leaves, depth):
    """A random tree"""
    if depth == 0 or draw.random() < 0.1:
        return draw.choice(leaves) if draw.random() < 0.7 else literal_leaf(draw)
    operands = [grow(draw, leaves, depth - 1) for _ in range(3)]
    are_integers = all(operand.kind != "real" for operand in operands[:2])
    shape = draw.random()
    if shape < 0.45:
        table = OPERATORS + (OPERATORS_OF_INTEGERS if are_integers else [])
        symbol, function = draw.choice(table)
        return Node(
            "({} " + symbol + " {})", lambda a, b, t: function(symbol, a, b, t), operands[:2])
    if shape < 0.55:
        symbol = draw.choice("-!~" if operands[0].kind != "real" else "-!")
        return Node("(" + symbol + " {})", lambda a, t: negate(symbol, a, t), operands[:1])
    if shape < 0.65:
        return Node("({} ? {} : {})", choose, operands)
    return grow_function(draw, operands)


def grow_function(draw, operands):
    def fits(kinds):
        return all(kind == "n" or operand.kind != "real" for kind, operand in zip(kinds, operands))

    text, kinds, function = draw.choice([row for row in FUNCTIONS if fits(row[1])])
    return Node(text, function, operands[: len(kinds)])


# --- judging ---


def type_of_reals(arrays, output):
    """Returns the floating type of the rule."""
    wide = {"int32", "uint32", "int64", "uint64", "float64"}
    return np.float64 if "float64" in arrays or output in wide else np.float32


def bounds_of(value, output):
    """Returns bounds of the output's numbers."""
    if value.kind == "real":
        if np.dtype(output).kind == "f":
            return value.least, value.most
        return (saturate(np.rint(end), output) for end in (value.least, value.most))
    if np.dtype(output).kind == "f":
        exact = value.values.astype(output)
        return exact, exact
    made = [max(np.iinfo(output).min, min(np.iinfo(output).max, int(n))) for n in value.values.flat]
    exact = np.array(made, output).reshape(SHAPE)
    return exact, exact


def agrees(value, got):
    """Compares each number with its bounds; returns the result and how many were compared."""
    least, most = bounds_of(value, got.dtype.name)
    error = 0
    if got.dtype.kind == "f" and value.kind == "real":
        error = np.finfo(got.dtype).eps * np.abs(most)
        inside = (value.values >= value.least) & (value.values <= value.most)
        assert inside[value.known].all(), "the bound does not hold for NumPy's own numbers"
    fine = (got.astype(least.dtype) >= least - error) & (got.astype(least.dtype) <= most + error)
    return fine | ~value.known, value.known.sum()


# --- the device ---


class Device:
    def __init__(self, folder, arrays):
        Gst.init(None)
        self.files = {}
        for name, array in arrays.items():
            self.files[name] = os.path.join(folder, name + ".npy")
            np.save(self.files[name], array)
        # Other pipelines share the context of this one.
        self.holder = Gst.parse_launch("openclkernelsrc num-buffers=1 expression=0 output-caps="
                                       "other/tensors,types=uint8,dimensions=(string)1 ! fakesink")
        self.holder.set_state(Gst.State.PAUSED)
        self.holder.get_state(20 * Gst.SECOND)

    def close(self):
        self.holder.set_state(Gst.State.NULL)

    def compute(self, expression, output, names, shape):
        arguments = "a,k=-5,big=(gint64)1099511627777,g=0.75"
        arguments += "".join(f",{name}={self.files[name]}" for name in sorted(names))
        dimensions = ":".join(str(length) for length in reversed(shape))
        pipeline = Gst.parse_launch(
            "openclkernelsrc name=k num-buffers=1 output-caps=other/tensors,"
            f"types={output},dimensions=(string){dimensions} arguments=\"{arguments}\" ! "
            "opencldownload ! appsink name=out sync=false")
        pipeline.get_by_name("k").set_property("expression", expression)
        pipeline.set_state(Gst.State.PLAYING)
        sample = pipeline.get_by_name("out").emit("pull-sample")
        if not sample:
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            raise AssertionError(f"{expression}: {message.parse_error() if message else 'no frame'}")
        buffer = sample.get_buffer()
        made = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), output)
        pipeline.set_state(Gst.State.NULL)
        return made.reshape(shape)


# --- all functions ---

# OpenCL 1.2's functions of scalars that take no pointer: 6.12.2 to 6.12.6 of its specification
ALL_FUNCTIONS = {
    1: "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp "
    "exp2 exp10 expm1 fabs floor ilogb lgamma log log2 log10 log1p logb nan rint round rsqrt sin "
    "sinh sinpi sqrt tan tanh tanpi tgamma trunc degrees radians sign length normalize fast_length "
    "fast_normalize isfinite isinf isnan isnormal signbit any all abs clz popcount "
    + " ".join(f"half_{name} native_{name}" for name in (
        "cos exp exp2 exp10 log log2 log10 recip rsqrt sin sqrt tan").split()),  # fmt: skip
    2: "atan2 atan2pi copysign fdim fmax fmin fmod hypot ldexp maxmag minmag nextafter pow pown powr "
    "remainder rootn half_divide half_powr native_divide native_powr max min step dot distance "
    "fast_distance isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater "
    "isordered isunordered abs_diff add_sat hadd rhadd mul_hi rotate sub_sat upsample mul24",
    3: "fma mad clamp mix smoothstep bitselect select mad_hi mad_sat mad24",
}


def check_all_functions(device):
    """Checks that each function builds with any mixture of types, in float32 and in float64."""
    operands = [["float32", "i0", "1"], ["i0", "0.5", "uint64"], ["uint64", "int64", "float32"]]
    calls = []
    for count, names in ALL_FUNCTIONS.items():
        for name in names.split():
            calls += [f"{name} ({', '.join(mixture[:count])})" for mixture in operands]
    types = "char uchar short ushort int uint long ulong float".split()
    for name in types:
        calls += [f"convert_{name}{how} ({operand})" for how in ("", "_sat_rtn")
                  for operand in ("float32", "i0", "uint64")]  # fmt: skip
    for output in "float32", "float64":
        device.compute(" + ".join(calls), output, ["float32", "int64", "uint64"], SHAPE)


# --- the test ---


def random_arrays(seed):
    """Small numbers, the ends of each type, and those beside 2^24 and 2^31"""
    numbers = np.random.default_rng(seed)
    arrays = {}
    for dtype in "uint8", "int16", "int32", "uint32", "int64", "uint64":
        limits = np.iinfo(dtype)
        special = [0, 1, -1, 2, 7, -8, 100, 2**24 + 1, -(2**24) - 3, 2**31 - 1, 2**31 + 5,
                   -(2**31), 2**32 + 1, 2**53 + 1, -(2**53) - 1, limits.min, limits.max]  # fmt: skip
        special = [n for n in special if limits.min <= n <= limits.max]
        size = ROWS * COLUMNS - 100 - len(special)
        small = numbers.integers(max(limits.min, -20), 20, 100)
        whole_range = numbers.integers(limits.min, limits.max, size, dtype, True)
        values = np.concatenate([a.astype(dtype) for a in (
            np.array(special, dtype), small, whole_range)])  # fmt: skip
        arrays[dtype] = numbers.permutation(values).reshape(SHAPE)
    for dtype in "float32", "float64":
        values = np.concatenate([numbers.normal(0, 1, 64), numbers.normal(0, 100, 64),
                                 numbers.normal(0, 1e8, 32), numbers.integers(-9, 9, 32)])  # fmt: skip
        arrays[dtype] = numbers.permutation(values).astype(dtype).reshape(SHAPE)
    return arrays


def is_useful(tree, output):
    value = tree.compute(type_of_reals(tree.arrays, output))
    return len(tree.text) < 400 and value.known.mean() > 0.3


def trees_of(draw, leaves, count):
    """Groups expressions that are computed together, by output, kind of number and precision."""
    groups = {}
    for n in range(count):
        output = OUTPUTS[n % len(OUTPUTS)]
        tree = grow(draw, leaves, draw.choice([1, 2, 3]))
        while not is_useful(tree, output):
            tree = grow(draw, leaves, draw.choice([1, 2, 3]))
        key = output, tree.kind, "float64" in tree.arrays
        groups.setdefault(key, []).append(tree)
    return groups


def in_one(trees):
    """Returns one expression for all, each in a plane of the output."""
    if len(trees) == 1:
        return trees[0].text
    text = trees[-1].text
    for n in reversed(range(len(trees) - 1)):
        text = f"i2 == {n} ? {trees[n].text} : {text}"
    return text


def check(device, output, trees):
    """Returns the number of numbers that were compared."""
    names = set().union(*(tree.arrays for tree in trees))
    shape = SHAPE if len(trees) == 1 else (len(trees), *SHAPE)
    got = device.compute(in_one(trees), output, names, shape).reshape(len(trees), *SHAPE)
    compared = 0
    for tree, plane in zip(trees, got):
        dtype = type_of_reals(names, output)
        value = tree.compute(dtype)
        fine, count = agrees(value, plane)
        compared += count
        if not fine.all():
            at = tuple(np.argwhere(~fine)[0])
            operands = {name: device.arrays[name][at] for name in sorted(tree.arrays)}
            raise AssertionError(
                f"{tree.text}: {output} at {at} is {plane[at]!r}, NumPy has {value.values[at]!r}"
                f" in {np.dtype(dtype).name}; {operands}")
    return compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("count", type=int, nargs="?", default=1000)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    arrays = random_arrays(options.seed)
    leaves = leaves_of(arrays)
    with np.errstate(all="ignore"), tempfile.TemporaryDirectory() as folder:
        device = Device(folder, arrays)
        device.arrays = arrays
        check_all_functions(device)
        compared = programs = 0
        for (output, _, _), trees in sorted(trees_of(draw, leaves, options.count).items()):
            # Some run alone, so that dimensions are merged.
            alone = trees[: len(trees) // 20]
            batches = [[tree] for tree in alone]
            rest = trees[len(alone) :]
            batches += [rest[n : n + TOGETHER] for n in range(0, len(rest), TOGETHER)]
            for batch in batches:
                compared += check(device, output, batch)
                programs += 1
        device.close()
    share = compared / (options.count * ROWS * COLUMNS)
    assert share > 0.8, share
    print(f"{options.count} expressions in {programs} programs agree: {share:.0%} of the numbers")


if __name__ == "__main__":
    main()
