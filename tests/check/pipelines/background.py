# Checks the first frame of background.sh, decoded to RGBA
#
# usage: background.py FILE WIDTHxHEIGHT RRGGBB|portrait
#
# SPDX-License-Identifier: LGPL-2.1-or-later
import sys

TOLERANCE = 12  # of a film; mattes and JPEG are off by less

path, size, expected = sys.argv[1:]
width, height = map(int, size.split("x"))
with open(path, "rb") as file:
    frame = file.read(4 * width * height)
assert len(frame) == 4 * width * height, len(frame)


def at(x, y):
    return tuple(frame[4 * (y * width + x) :][:3])


def check(color, *places):
    for x, y in places:
        assert max(abs(a - b) for a, b in zip(at(x, y), color)) <= TOLERANCE, (path, x, y, at(x, y))


if expected == "portrait":
    green = (0, 255, 0)
    check(green, (20, 20), (490, 20), (20, 200), (500, 250))
    # Forehead, hair and suit are not green.
    for x, y in (220, 100), (215, 50), (170, 350):
        red, level, _ = at(x, y)
        assert level <= red, (x, y, at(x, y))
else:
    check(tuple(bytes.fromhex(expected)), (width // 2, height // 2), (4, 4), (width - 4, height - 4))
