#!/usr/bin/env python3
"""Complex numbers and powers in expressions agree with NumPy.

usage: complexexpressions.py [--seed SEED] [COUNT]

Random expressions are computed on the device and by NumPy in a wider type, with a bound of the
device's error for each number.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import random
import tempfile

import numpy as np
from expressions import COLUMNS, ROWS, SHAPE, Device
from gi.repository import Gst

WIDE = np.clongdouble
TOGETHER = 10
INF = np.inf


# --- random expressions ---


class Number:
    """Complex numbers, and the largest error of the device's"""

    def __init__(self, values, error=0, is_complex=True):
        self.values, self.is_complex = np.asarray(values, WIDE), is_complex
        self.error = np.where(np.isfinite(self.values), np.asarray(error), INF)

    @property
    def size(self):
        return np.abs(self.values)


def relative(number):
    """The relative error, or infinity where that is large or a branch cut is near"""
    error = number.error / number.size
    z = number.values
    is_by_cut = (z.real <= number.error) & (np.abs(z.imag) <= number.error)
    return np.where((error < 0.1) & ~(is_by_cut & (number.error > 0)), error, INF)


def total(function):
    def compute(u, a, b):
        values = function(a.values, b.values)
        return Number(values, a.error + b.error + u * np.abs(values), a.is_complex or b.is_complex)

    return compute


def multiply(u, a, b):
    error = a.size * b.error + b.size * a.error + a.error * b.error + 4 * u * a.size * b.size
    return Number(a.values * b.values, error, a.is_complex or b.is_complex)


def divide(u, a, b):
    values = a.values / b.values
    share = np.where(b.error / b.size < 0.1, 1.2 * b.error / b.size, INF)
    error = 1.2 * a.error / b.size + np.abs(values) * (share + 8 * u)
    return Number(values, error, a.is_complex or b.is_complex)


def part(function):
    return lambda u, a: Number(function(a.values), a.error, False)


def magnitude(u, a):
    return Number(a.size, a.error + 4 * u * a.size, False)


def exponential(u, a):
    values = np.exp(a.values)
    known = (a.size < 60) & (a.error < 0.1)
    return Number(values, np.where(known, np.abs(values) * (1.2 * a.error + 10 * u), INF))


def logarithm(u, a):
    values = np.log(a.values)
    return Number(values, 1.2 * relative(a) + 8 * u * np.abs(values))


def angle(u, a):
    values = np.angle(a.values)
    return Number(values, 1.2 * relative(a) + 8 * u * np.abs(values), False)


def root(u, a):
    values = np.sqrt(a.values)
    return Number(values, np.abs(values) * (relative(a) + 8 * u))


def power(n):
    def compute(u, a):
        values = a.values**n
        share = np.where(a.error / a.size < 0.01, 1.3 * abs(n) * a.error / a.size, INF)
        return Number(values, np.abs(values) * (share + (4 * abs(n) + 9) * u), a.is_complex)

    return compute


def joined(u, a, b):
    return Number(a.values + 1j * b.values, a.error + b.error)


def chosen(u, a, b):
    made = np.where(np.indices(SHAPE)[1] % 3 == 0, a.values, b.values)
    return Number(made, np.maximum(a.error, b.error), a.is_complex or b.is_complex)


def compared(function):
    """Is known only where no error changes the result"""

    def compute(u, a, b):
        known = np.abs(a.values - b.values) > a.error + b.error
        known |= (a.error == 0) & (b.error == 0)
        return Number(function(a.values, b.values), np.where(known, 0, INF), False)

    return compute


# The text, whether an operand must be complex (c), real (r) or any (n), and the computation
OPERATIONS = [
    ("({} + {})", "nn", total(np.add)),
    ("({} - {})", "nn", total(np.subtract)),
    ("({} * {})", "nn", multiply),
    ("({} / {})", "nn", divide),
    ("({} / {})", "cc", divide),
    ("(-{})", "n", lambda u, a: Number(-a.values, a.error, a.is_complex)),
    ("({} == {})", "cn", compared(np.equal)),
    ("({} != {})", "nc", compared(np.not_equal)),
    ("(i0 % 3 == 0 ? {} : {})", "nc", chosen),
    ("where (i0 % 3 == 0, {}, {})", "nn", chosen),
    ("complex ({}, {})", "rr", joined),
    ("conj ({})", "n", lambda u, a: Number(np.conj(a.values), a.error, a.is_complex)),
    ("abs ({})", "n", magnitude),
    ("real ({})", "n", part(np.real)),
    ("imag ({})", "n", part(np.imag)),
    ("angle ({})", "c", angle),
    ("exp ({})", "c", exponential),
    ("log ({})", "c", logarithm),
    ("sqrt ({})", "c", root),
    ("({} ** 2)", "n", power(2)),
    ("({} ** 7)", "c", power(7)),
    ("pow ({}, -3)", "c", power(-3)),
]


def grow(draw, leaves, depth):
    """Returns the text of a random expression, its leaves and its number."""
    if depth == 0:
        name, is_complex = draw.choice(sorted(leaves.items()))
        return name, {name}, lambda u, arrays: Number(arrays[name], 0, is_complex), is_complex
    while True:
        text, kinds, compute = draw.choice(OPERATIONS)
        parts = [grow(draw, leaves, depth - 1) for _ in kinds]
        if all(kind == "n" or (kind == "c") == part[3] for kind, part in zip(kinds, parts)):
            break

    def number(u, arrays):
        return compute(u, *(part[2](u, arrays) for part in parts))

    is_complex = number(0, dict.fromkeys(leaves, np.full(SHAPE, 0.5))).is_complex
    return text.format(*(part[0] for part in parts)), set().union(*(p[1] for p in parts)), \
        number, is_complex  # fmt: skip


def random_arrays(seed):
    numbers = np.random.default_rng(seed)

    def draw(dtype, *shape):
        made = numbers.normal(0, 1, (*shape, 2)) * 10 ** numbers.uniform(-2, 2, (*shape, 1))
        made[numbers.random((*shape, 2)) < 0.1] = 1
        return (made.view(complex) if dtype[0] == "c" else made)[..., 0].astype(dtype)

    return {"z": draw("c8", *SHAPE), "row": draw("c8", COLUMNS), "x": draw("f4", *SHAPE),
            "column": draw("f4", ROWS, 1), "n": np.arange(-8, COLUMNS - 8, dtype="i8"),
            "zz": draw("c16", *SHAPE), "xx": draw("f8", ROWS, 1)}  # fmt: skip


def check_random(device, arrays, draw, count):
    """Returns the share of the numbers that were compared."""
    leaves = {name: array.dtype.kind == "c" for name, array in arrays.items()}
    compared = 0
    with np.errstate(all="ignore"):
        for n in range(0, count, TOGETHER):
            wide = {name for name in arrays if arrays[name].dtype.str[1:] in ("f8", "c16")}
            wide = set() if n // TOGETHER % 2 else wide
            some = {name: is_complex for name, is_complex in leaves.items() if name not in wide}
            trees = [grow(draw, some, draw.choice([1, 2, 2, 3])) for _ in range(TOGETHER - 1)]
            trees.append(("z", {"z"}, lambda u, arrays: Number(arrays["z"]), True))
            text = " : ".join(f"i2 == {n} ? {tree[0]}" for n, tree in enumerate(trees[:-1]))
            names = set().union(*(tree[1] for tree in trees))
            wide = any(arrays[name].dtype.str[1:] in ("f8", "c16") for name in names)
            output = "float64" if wide else "float32"
            got = device.compute(f"{text} : z", output, names, (TOGETHER, *SHAPE, 2))
            u = np.finfo(output).eps
            for tree, plane in zip(trees, got.astype(np.longdouble)):
                number = tree[2](u, arrays)
                known = np.broadcast_to(number.error, SHAPE) < 1e30
                known = known & (np.abs(number.values) < 1e30)
                apart = np.abs(plane[..., 0] + 1j * plane[..., 1] - number.values)
                bad = known & ~(apart <= number.error + 2 * u * number.size + 1e-36)
                assert not bad.any(), (tree[0], output, apart[bad][0], np.argwhere(bad)[0])
                compared += known.mean()
    return compared / count


# --- numbers at the edges ---


def compute(device, texts, dtype, **arrays):
    """Computes expressions of arrays with a common shape, in the type of `dtype`."""
    shape = (len(texts), *np.broadcast_shapes(*(array.shape for array in arrays.values())))
    for name, array in arrays.items():
        device.files[name] = device.files["z"][:-5] + f"new-{name}.npy"
        np.save(device.files[name], array)
    text = texts[-1]
    for n in reversed(range(len(texts) - 1)):
        text = f"i{len(shape) - 1} == {n} ? {texts[n]} : {text}"
    pair = (2,) if dtype[0] == "c" else ()
    made = device.compute(text, np.finfo(dtype).dtype.name, list(arrays), shape + pair)
    return made.view(dtype).reshape(shape)


def check_range(device):
    """Numbers near 1 and near the ends of the range lose no digits."""
    for kind, wide in ("c8", np.complex128), ("c16", np.clongdouble):
        limits = np.finfo(kind)
        if np.finfo(wide).maxexp == limits.maxexp:  # there is no wider type
            continue
        large, small = 0.9 * float(limits.max), 9 * float(limits.smallest_subnormal)
        parts = [0.0, -0.0, 1.0, -3.0, large, -large, small, large / 9, small * 9, limits.tiny,
                 0.6 * np.sqrt(limits.eps)]  # fmt: skip
        w = np.array([complex(a, b) for a in parts for b in parts], kind)
        z, exact = w[:, None], w.astype(wide)
        texts = ["z / w", "complex (abs (w), 0)", "sqrt (w)", "log (w)"]
        expected = exact[:, None] / exact, np.abs(exact), np.sqrt(exact), np.log(exact)
        for text, got, values in zip(texts, compute(device, texts, kind, z=z, w=w), expected):
            values = np.broadcast_to(values, got.shape)
            known = np.isfinite(values) & (np.abs(values) < limits.max)
            error = 8 * limits.eps * np.abs(values) + 4 * limits.smallest_subnormal
            bad = known & ~(np.abs(got.astype(wide) - values) <= error)
            assert known.mean() > 0.3 and not bad.any(), (text, got[bad][:3], values[bad][:3])


def check_not_finite(device):
    """Infinity, NaN and 0 as in NumPy"""
    parts = (np.inf, -np.inf, np.nan, 0, -1)
    z = np.array([complex(a, b) for a in parts for b in parts])
    expected = {
        "sqrt (z)": np.sqrt(z), "log (z)": np.log(z), "exp (z)": np.exp(z), "conj (z)": np.conj(z),
        "z ** 0": 1, "z ** 1": z, "z ** 2": z * z, "z / 2": z / 2, "2 / z": 2 / z, "z * 3": z * 3,
        "-z": -z, "where (z, 1, 2)": np.where(z, 1, 2), "abs (z)": np.abs(z),
        "angle (z)": np.angle(z), "z == z": z == z, "z != z": z != z, "z == 0": z == 0}  # fmt: skip
    made = compute(device, list(expected), "c16", z=z)
    for (text, values), got in zip(expected.items(), made):
        values = np.array(np.broadcast_to(values, z.shape), complex).view(float)
        got = got.view(float)
        same = np.isclose(got, values, 1e-14, 0, equal_nan=True)
        assert same.all(), (text, z.view(float)[~same], got[~same], values[~same])


# --- powers ---


def check_powers(device):
    x = np.append(np.random.default_rng(1).normal(0, 10, 95), [0, -0.0, np.inf, -np.inf, np.nan])
    for dtype in "f4", "f8":
        y, powers = x.astype(dtype), [*range(-16, 18), 100]
        texts = [f"y ** {n}" for n in powers] + [f"pow (y, {n})" for n in powers]
        for text, n, got in zip(texts, powers + powers, compute(device, texts, dtype, y=y)):
            values = (y.astype(np.longdouble) ** n).astype(dtype)
            limits = np.finfo(dtype)
            same = np.isclose(got, values, 10 * limits.eps, limits.tiny, equal_nan=True)
            same &= (np.signbit(got) == np.signbit(values)) | np.isnan(values)
            assert same.all(), (text, y[~same], got[~same], values[~same])


def check_integer_powers(device):
    """Integers stay integers and wrap."""
    numbers = np.random.default_rng(2)
    n = np.append(numbers.integers(-(10**6), 10**6, 20), [0, 1, -1, 2, -2, 2**62, -(2**63)])
    exponents = [0, 1, 2, 3, 5, 16, 17, 63, 64, 1000]
    b = n.astype("i1")  # its powers have small ranges
    texts = [f"n ** {e}" for e in exponents] + [f"b ** {e}" for e in exponents]
    texts += ["-n ** 2", "(-n) ** 3", "2 ** 3 ** 2 + 0 * n", "(-2) ** 63 - n",
              "-2 ** 2 + n // 2 ** 4",
              "(long) n ** 2", "~n ** 2", "n ** (1 + 1)", "n ** (3 - 1)", "b ** 2 % 7"]  # fmt: skip
    expected = [n**e for e in exponents] + [b.astype("i8") ** e for e in exponents]
    expected += [-(n**2), (-n) ** 3, 512 + 0 * n, -(2**63) - n, -4 + n // 16, n**2, ~(n**2),
                 n**2, n**2,
                 b.astype("i8") ** 2 % 7]  # fmt: skip
    files = {"n": n, "b": b}
    for name, array in files.items():
        device.files[name] = device.files["z"][:-5] + f"new-{name}.npy"
        np.save(device.files[name], array)
    text = "0"
    for k, one in enumerate(texts):
        text = f"i1 == {k} ? {one} : {text}"
    made = device.compute(text, "int64", ["n", "b"], (len(texts), len(n)))
    for text, got, values in zip(texts, made, expected):
        assert (got == values).all(), (text, n[got != values], got[got != values])
    for text, value in {"2 ** -1": 0.5, "-2 ** -2": -0.25, "2 ** 3 ** 2": 512, "2 ** 0.5": 2**0.5,
                        "pow (3, -2)": 1 / 9, "pow (10, 20)": 1e20, "2 ** (i0 + 1)": 2,
                        }.items():  # fmt: skip
        got = device.compute(text, "float64", [], (1,))
        assert abs(got / value - 1) < 1e-15, (text, got)


# --- elements ---


def caps_of(array):
    """Caps of an array, where complex numbers are an innermost dimension of 2"""
    shape = array.shape + (2,) if array.dtype.kind == "c" else array.shape
    name = np.dtype(array.real.dtype).name
    return (f"other/tensors,format=static,num_tensors=1,types={name},"
            f"dimensions=(string){':'.join(map(str, shape[::-1]))},framerate=0/1")  # fmt: skip


class Element:
    """An openclkernel, or a mixer of several inputs"""

    def __init__(self, expression, settings="", **inputs):
        element = "openclkernel" if len(inputs) == 1 else "openclkernelmixer"
        text = f'{element} name=k expression="{expression}" {settings} ! '
        text += "opencldownload ! appsink name=out"
        for name, array in inputs.items():
            pad = "k." if len(inputs) == 1 else f"k.{name}"
            text += f' appsrc name={name} format=time caps="{caps_of(array)}" ! '
            text += f"openclupload ! {pad}"
        self.inputs = inputs
        self.pipeline = Gst.parse_launch(text)
        self.kernel = self.pipeline.get_by_name("k")
        self.bus = self.pipeline.get_bus()
        self.frame = 0
        self.pipeline.set_state(Gst.State.PLAYING)

    def push(self, is_last=False):
        for name, array in self.inputs.items():
            buffer = Gst.Buffer.new_wrapped(array.tobytes())
            buffer.pts = self.frame * Gst.SECOND
            self.pipeline.get_by_name(name).emit("push-buffer", buffer)
            if is_last:
                self.pipeline.get_by_name(name).emit("end-of-stream")
        self.frame += 1

    def next(self, is_last=False):
        """Pushes the inputs. Returns the output's dimensions, type and numbers, or the error."""
        self.push(is_last)
        sample = self.pipeline.get_by_name("out").emit("try-pull-sample", 20 * Gst.SECOND)
        if not sample:
            message = self.bus.timed_pop_filtered(5 * Gst.SECOND, Gst.MessageType.ERROR)
            return str(message.parse_error()[0].message) if message else "nothing"
        caps = sample.get_caps().get_structure(0)
        buffer = sample.get_buffer()
        data = buffer.extract_dup(0, buffer.get_size())
        dimensions = [int(length) for length in caps.get_string("dimensions").split(":")]
        types = caps.get_string("types")
        return dimensions[::-1], types, np.frombuffer(data, types)

    def warning(self):
        message = self.bus.timed_pop_filtered(5 * Gst.SECOND, Gst.MessageType.WARNING)
        return message.parse_warning()[0].message if message else "nothing"

    def close(self):
        self.pipeline.set_state(Gst.State.NULL)


def once(*arguments, **inputs):
    element = Element(*arguments, **inputs)
    made = element.next(True)
    element.close()
    return made


def expect(made, values):
    """Compares an output with `values`, also in type and dimensions."""
    values = np.asarray(values)
    shape = values.shape + (2,) if values.dtype.kind == "c" else values.shape
    assert not isinstance(made, str), made
    assert made[:2] == (list(shape or (1,)), values.real.dtype.name), (made[:2], values.dtype)
    got = made[2].view(values.dtype).reshape(values.shape)
    assert np.allclose(got, values, 1e-5 if made[1] == "float32" else 1e-13), (got, values)


def check_elements(device):
    """Inputs that `complex` names, and the caps of the output"""
    numbers = np.random.default_rng(3)

    def draw(dtype, *shape):
        return (numbers.normal(0, 1, shape) + 1j * numbers.normal(0, 1, shape)).astype(dtype)

    x, y, r = draw("c8", 3, 5), draw("c8", 5), draw("c8", 3, 1).real.copy()
    d, whole = draw("c16", 3, 5), np.arange(5, dtype="i4")
    expect(once("x * x", "complex=x", x=x), x * x)
    expect(once("abs (x)", "complex=x", x=x), np.abs(x))
    expect(once("x * x", x=x), x.view("f4").reshape(3, 5, 2) ** 2)
    row, column = np.indices((3, 5))
    expect(once("x + i1 + 10 * i0", "complex=x", x=d), d + row + 10 * column)
    expect(once("F * x", 'complex=x options="-DF=complex(0,1)"', x=d), 1j * d)
    expect(once("complex (x, -x)", x=r), r - 1j * r)
    expect(once("1 / x", "complex=x", x=np.array(3 - 4j, "c8")), np.array(1 / (3 - 4j), "c8"))
    expect(once("a * b / c", "complex=a,b", a=x, b=y, c=r), x * y / r)
    expect(once("a - b", 'complex=" b , a"', a=y, b=x), y - x)
    made = once("a * b + k", 'complex=a arguments="s,k=2"', a=x, b=whole)
    expect(made, x * whole.astype("f4") + np.float32(2))
    expect(once("a - b", "complex=b", a=r, b=d), r - d)
    expect(once("x * (double) 0.5", "complex=x", x=x), x.astype("c16") * 0.5)
    file = device.files["zz"]
    wide = np.load(file)
    r = wide[:1].real.astype("f4")
    expect(once("x * f", f'arguments="s,f={file}"', x=r), r * wide)
    expect(once("x", 'complex=x output-caps="other/tensors,types=float64"', x=x), x.astype("c16"))
    half = draw("c8", 4).view("f4").astype("f2").reshape(4, 2)
    made = once("x * x", "complex=x", x=half)
    expect(made, half.astype("f4").view("c8")[:, 0] ** 2)


def check_changes():
    """`complex`, and an expression that becomes complex, while playing"""
    x = np.arange(1, 9, dtype="f4").view("c8")
    element = Element("x * x", x=x)
    expect(element.next(), x.view("f4").reshape(4, 2) ** 2)
    element.kernel.set_property("complex", "x")
    expect(element.next(), x * x)
    element.kernel.set_property("expression", "abs (x)")
    expect(element.next(), np.abs(x))
    element.kernel.set_property("complex", "y")
    expect(element.next(), np.abs(x))
    assert "complex=y, but y is not an input" in element.warning()
    element.kernel.set_property("complex", "x")
    element.kernel.set_property("expression", "previous * complex (0, 1) + x")
    expect(element.next(), x)
    expect(element.next(), 1j * x + x)
    expect(element.next(), 1j * (1j * x + x) + x)
    element.close()
    mixer = Element("a * b", a=x, b=x)
    mixer.push()  # a mixer waits for the buffer after the one that it takes
    expect(mixer.next(), x.view("f4").reshape(4, 2) ** 2)
    mixer.kernel.set_property("complex", "a,b")
    expect(mixer.next(), x * x)
    mixer.kernel.set_property("expression", "complex (real (a), abs (b))")
    expect(mixer.next(True), x.real + 1j * np.abs(x))
    mixer.close()


def check_messages():
    x, real, whole = np.ones(4, "c8"), np.ones((4, 3), "f4"), np.ones((4, 2), "i4")
    for text, word in {
        "x < 1": "'<'", "x % 2": "'%'", "x // 2": "'//'", "x & 1": "'&'", "!x": "'!'", "~x": "'~'",
        "1 || x": "'||'",
        "floor (x)": "'floor'", "sin (x)": "'sin'", "complex (x, 1)": "'complex'",
        "max (1, x)": "'max'",
        "(float) x": "'float'", "convert_int (x)": "'convert_int'", "isnan (x)": "'isnan'",
    }.items():  # fmt: skip
        made = once(text, "complex=x", x=x)
        assert made.endswith(word + " does not take complex numbers"), (text, made)
    for text in "x ** 0.5", "x ** x", "2 ** x", "pow (x, i0)", "pow (2, x)":
        made = once(text, "complex=x", x=x)
        assert "needs a constant integer exponent" in made and "complex" in made, (text, made)
    for names, array in ("x", real), ("x", whole), ("x,y", x), ("x,", x), ("output", x):
        made = once("x", f"complex={names}", x=array)
        name = names.split(",")[-1]
        assert f"complex={names}, but {name} is not an input" in made, made
    made = once("x", 'complex=x output-caps="other/tensors,types=int32"', x=x)
    assert "complex, but the output is of int32" in made, made
    made = once("a @ b", "complex=b", a=real, b=real[:2, :2].copy())
    assert "@ takes real arrays, but b is complex" in made, made


# --- the test ---


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("count", type=int, nargs="?", default=60)
    options = parser.parse_args()
    arrays = random_arrays(options.seed)
    with np.errstate(all="ignore"), tempfile.TemporaryDirectory() as folder:
        device = Device(folder, arrays)
        share = check_random(device, arrays, random.Random(options.seed), options.count)
        assert share > 0.9, share
        check_range(device)
        check_not_finite(device)
        check_powers(device)
        check_integer_powers(device)
        check_elements(device)
        check_changes()
        check_messages()
        device.close()
    print(f"{options.count} expressions agree: {share:.0%} of the numbers")


if __name__ == "__main__":
    main()
