"""Products of matrices in expressions: their place in the text, and their values

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import collections
import itertools
import re

import numpy as np

from .arrays import NUMBERS, REAL, Operand, call, device, is_remote, plain
from .frames import TENSORS

Token = collections.namedtuple("Token", "kind text first last")
TYPES = ["bool", "float", "double",
         *(sign + kind for kind in ("char", "short", "int", "long") for sign in ("", "u"))]
# Operators that bind less than @, which has the precedence of * / // %
LOOSER = {"<<", ">>", "&", "^", "|", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "?", ":", ","}
UNARY = {"+", "-", "!", "~"}


# --- the text of an expression ---


def tokens_of(expression, values):
    """Returns the tokens of an expression. A cast such as (int) is one of them."""
    types = "|".join(name for name in TYPES if name not in values)
    pattern = rf"""(?P<cast>\(\s*(?:{types})\s*\))
        |(?P<number>0[xX](?:[pP][+-]|[\w.])*|\.?\d(?:[eE][+-]|[\w.])*)
        |(?P<name>\w+)|(?P<symbol>//|<<|>>|<=|>=|==|!=|&&|\|\||\S)"""
    return [Token(match.lastgroup, match[0], *match.span())
            for match in re.finditer(pattern, expression, re.VERBOSE)]


def names_in(expression, values):
    return {token.text for token in tokens_of(expression, values) if token.kind == "name"}


def renamed(expression, new_names, values):
    """Returns an expression with other names of operands."""
    for token in reversed(tokens_of(expression, values) if new_names else []):
        if token.kind == "name" and token.text in new_names:
            expression = expression[:token.first] + new_names[token.text] + expression[token.last:]
    return expression


def fresh_names(count, expression, values, options):
    """Returns names that nothing else has."""
    taken = names_in(f"{expression} {options or ''}", {}) | values.keys()
    free = (name for name in map("operand{}".format, itertools.count()) if name not in taken)
    return list(itertools.islice(free, count))


def depths_of(tokens):
    """Returns the number of brackets around each token."""
    depth, depths = 0, []
    for token in tokens:
        depth -= token.text == ")"
        depths.append(depth)
        depth += token.text == "("
    return depths


def product_in(expression, values):
    """Returns (begin, end, texts of both sides) of the first product that has none in its sides, or
    None."""
    if "@" not in expression:
        return None
    tokens = tokens_of(expression, values)
    depths = depths_of(tokens)
    if 0 > min(depths) or depths[-1] + (tokens[-1].text == "(") != 0:
        raise ValueError(f"expression: the brackets of {expression!r} do not match")
    deepest = max(depth for depth, token in zip(depths, tokens) if token.text == "@")
    at = next(n for n, token in enumerate(tokens) if token.text == "@" and depths[n] == deepest)
    first, last = begin_of(tokens, depths, at), end_of(tokens, depths, at)
    if first == at or last == at + 1:
        raise ValueError(f"expression: @ has no operand on one side in {expression!r}")
    begin, end = tokens[first].first, tokens[last - 1].last
    return begin, end, (expression[begin:tokens[at].first], expression[tokens[at].last:end])


def ends_operand(token):
    return token.kind in ("name", "number") or token.text == ")"


def begin_of(tokens, depths, at):
    """Returns the first token of the left side: all that * / // % and @ join."""
    first = at
    while first > 0:
        token = tokens[first - 1]
        is_sum = token.text in "+-" and first > 1 and ends_operand(tokens[first - 2])
        if depths[first - 1] < depths[at] or depths[first - 1] == depths[at] and (
                token.text in LOOSER or is_sum):
            break
        first -= 1
    return first


def end_of(tokens, depths, at):
    """Returns the token after the right side: signs and casts, and one operand."""
    last = at + 1
    while last < len(tokens) and (tokens[last].text in UNARY or tokens[last].kind == "cast"):
        last += 1
    is_call = tokens[last:last + 1] and tokens[last].kind == "name" \
        and tokens[last + 1:last + 2] and tokens[last + 1].text == "("
    last += bool(is_call)
    if tokens[last:last + 1] and tokens[last].text == "(":
        last = next(n for n in range(last + 1, len(tokens)) if depths[n] == depths[at]
                    and tokens[n].text == ")")
    elif not tokens[last:last + 1] or not ends_operand(tokens[last]):
        return at + 1
    return last + 1


def whole(expression, values):
    """Returns an expression without blanks and brackets around it."""
    tokens = tokens_of(expression, values)
    while len(tokens) > 2 and tokens[0].text == "(" and tokens[-1].text == ")" \
            and min(depths_of(tokens[1:-1])) >= 0:
        tokens = tokens[1:-1]
    return expression[tokens[0].first:tokens[-1].last] if tokens else ""


# --- its value ---


def operands_of_product(sides, values, compute):
    """Returns both arrays of a product, whose sides are names or expressions to compute."""
    found = []
    for side in (whole(side, values) for side in sides):
        used = {name: values[name] for name in names_in(side, values) if name in values}
        if not used:
            raise ValueError(f"expression: @ takes arrays, found {side!r}")
        value = used[side] if side in used else compute(side, used)
        value = np.load(value) if isinstance(value, str) else value
        found.append(plain(side, value, REAL if is_remote(value) else NUMBERS))
    check_lengths(sides, *found)
    return found


def check_lengths(sides, a, b):
    def text(side, array):
        return f"{side.strip()} of shape {tuple(array.shape)}"
    if () in (a.shape, b.shape) or a.shape[-1] != b.shape[max(len(b.shape) - 2, 0)]:
        raise ValueError(f"expression: {text(sides[0], a)} @ {text(sides[1], b)}: the lengths "
                         "do not fit")


def shape_of_product(a, b):
    """Returns the shape of a product. A vector is a row on the left, and a column on the right."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (*batch, *a.shape[-2:-1], *(b.shape[-1:] if len(b.shape) > 1 else ()))


def array_product(a, b):
    """Returns a @ b of arrays as NumPy does, in the type of its promotion."""
    kind, shape = np.result_type(a.dtype, b.dtype), shape_of_product(a, b)
    if 0 in (*a.shape, *b.shape):
        return np.zeros(shape, kind)
    if kind.kind == "b":  # a sum of 0 and 1, which must not wrap
        return array_product(converted(a, np.uint32), b) != 0
    if kind.kind == "c":
        return complex_product(a, b, kind).reshape(shape)
    return real_product(converted(a, kind), converted(b, kind)).reshape(shape)


def converted(array, kind):
    return array if array.dtype == kind else array.astype(kind)


def real_product(a, b):
    used = device()
    caps = f"other/tensors,types={TENSORS[a.dtype.str[1:]]}"
    return call("openclkernelmixer", {"expression": "a @ b", "output-caps": caps},
                {"a": Operand("a", a, used), "b": Operand("b", b, used)}, None, used)


def complex_product(a, b, kind):
    """Returns a complex product as one of real matrices. Real and imaginary part are columns side
    by side. Where a is complex, too, each row of b is followed by i times it."""
    real = kind.type(0).real.dtype
    columns = converted(b if b.ndim > 1 else b[:, np.newaxis], kind)
    if a.dtype.kind == "c":
        turned = np.stack([-columns.imag, columns.real], -1).view(kind)[..., 0]
        columns = np.stack([columns, turned], -2).reshape(
            *columns.shape[:-2], -1, columns.shape[-1])
        a = converted(a, kind).view(real)
    return real_product(converted(a, real), np.ascontiguousarray(columns).view(real)).view(kind)
