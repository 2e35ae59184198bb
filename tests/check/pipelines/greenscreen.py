# Checks pixels of the output of greenscreen.sh, for its own scene and for videos of the test
#
# SPDX-License-Identifier: LGPL-2.1-or-later


class Picture:
    """The first frame of a file, decoded to RGBA in a file beside it."""

    def __init__(self, path, width, height):
        self.path = path
        self.width = width
        self.height = height
        self.bytes = open(path + ".rgba", "rb").read()
        assert len(self.bytes) % (4 * width * height) == 0, (path, len(self.bytes))

    def frames(self):
        return len(self.bytes) // (4 * self.width * self.height)

    def at(self, x, y):
        start = 4 * (y * self.width + x)
        return tuple(self.bytes[start : start + 3])

    def all(self):
        return [self.at(x, y) for y in range(self.height) for x in range(self.width)]


def check(picture, columns, rows, expected, tolerance):
    """Compares every pixel of an area with `expected`, a colour or a picture."""
    for y in range(*rows):
        for x in range(*columns):
            color = expected.at(x, y) if isinstance(expected, Picture) else expected
            off = max(abs(a - b) for a, b in zip(picture.at(x, y), color))
            assert off <= tolerance, (picture.path, x, y, picture.at(x, y), color)


def greenness(color):
    red, green, blue = color
    return green - max(red, blue)


def check_scene(path, top, bottom):
    before = Picture("greenscreen-before.png", 640, 360)
    after = Picture(path, 640, 360)
    # The scene has both a screen and a foreground.
    green = sum(greenness(color) > 40 for color in before.all())
    assert 0.4 < green / (640 * 360) < 0.8, green
    # The screen, to the corners
    for columns in (0, 200), (450, 640):
        check(after, columns, (0, 60), top, 2)
    for columns in (0, 160), (490, 640):
        check(after, columns, (310, 360), bottom, 2)
    # The foreground: the face, an eye, the shirt. In blocks beside the edge of the face, pixels
    # that noise has made greener count as partly transparent.
    check(after, (278, 366), (110, 140), before, 0)
    check(after, (262, 380), (110, 140), before, 8)
    check(after, (284, 300), (154, 164), before, 3)
    check(after, (250, 390), (300, 360), before, 8)
    return after


def check_no_rim(after):
    worst = max(greenness(color) for color in after.all())
    assert worst <= 12, (after.path, worst)


def check_matte(over_black, over_white):
    """Checks the matte: the background shows only where the foreground is transparent."""
    def through(x, y):
        dark, light = over_black.at(x, y), over_white.at(x, y)
        return sum(b - a for a, b in zip(dark, light)) / 765

    for x, y, least, most in (
        (20, 20, 0.99, 1),
        (620, 340, 0.99, 1),
        (320, 120, 0, 0.01),  # face
        (320, 330, 0, 0.05),  # shirt
        (535, 175, 0.4, 0.6),  # glass
    ):
        assert least <= through(x, y) <= most, (x, y, through(x, y))


def check_film(path, width, height, behind, tolerance):
    film = Picture(path, width, height)
    unit = width // 20
    check(film, (0, 7 * unit), (0, height), behind, tolerance)
    check(film, (13 * unit, width), (0, height), behind, tolerance)
    check(film, (9 * unit, 11 * unit), (5 * unit, 7 * unit), (255, 255, 255), tolerance)
    return film


check_no_rim(check_scene("greenscreen.png", (0x20, 0x30, 0x60), (0xF0, 0xB0, 0x60)))
grey_blue = (0x40, 0x60, 0xA0)
check_no_rim(check_scene("difference.png", grey_blue, grey_blue))
check_scene("distance.png", grey_blue, grey_blue)

half = Picture("half.png", 320, 180)
for columns in (0, 80), (245, 320):
    check(half, columns, (155, 180), grey_blue, 2)
check(half, (145, 175), (58, 68), Picture("difference.png", 640, 360).at(320, 126), 16)
check_matte(Picture("black.png", 640, 360), Picture("white.png", 640, 360))

blue, green = (0x20, 0x40, 0xC0), (0x10, 0xA0, 0x30)
check_film("film-before.png", 160, 96, green, 8)
check_film("film.png", 160, 96, blue, 8)
check_film("small.png", 80, 48, green, 8)
for path, tolerance in (("film.webm", 16), ("film2.avi", 12)):
    frames = check_film(path, 160, 96, blue, tolerance).frames()
    assert frames >= 5, (path, frames)
