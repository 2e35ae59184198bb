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


def check_scene(path, behind, tolerance=16):
    before = Picture("greenscreen-before.png", 640, 360)
    after = Picture(path, 640, 360)
    green = sum(greenness(color) > 40 for color in before.all())
    assert 0.4 < green / (640 * 360) < 0.8, green
    # The screen, to the corners and beside the hand, but for its markers
    for columns, rows in (
        ((0, 150), (0, 40)),
        ((440, 560), (0, 50)),
        ((520, 640), (260, 360)),
        ((445, 465), (170, 250)),
    ):
        check(after, columns, rows, behind, tolerance)
    # The person: a cheek, the forehead, the shirt, hair
    check(after, (262, 290), (170, 200), before, 0)
    check(after, (285, 320), (85, 98), before, 0)
    check(after, (240, 400), (330, 358), before, 0)
    check(after, (220, 240), (100, 180), before, 16)
    return after


def check_no_rim(after):
    worst = max(greenness(color) for color in after.all())
    assert worst <= 12, (after.path, worst)


def check_matte(over_black, over_white):
    """Checks the matte: the background shows only where the foreground is transparent."""
    def through(columns, rows):
        dark, light = (
            [color for y in range(*rows) for color in
             (picture.at(x, y) for x in range(*columns))] for picture in (over_black, over_white))
        return sum(b - a for a, b in zip(sum(dark, ()), sum(light, ()))) / (765 * len(dark))

    for columns, rows, least, most in (
        ((0, 40), (0, 40), 0.995, 1),
        ((600, 640), (320, 360), 0.99, 1),
        ((262, 290), (170, 200), 0, 0.001),  # a cheek
        ((240, 400), (330, 358), 0, 0.001),  # the shirt
        ((62, 120), (180, 208), 0.85, 0.99),  # the empty part of the glass
        ((115, 220), (260, 320), 0.1, 0.6),  # the scarf before the screen
        ((150, 190), (20, 120), 0.85, 0.99),  # loose hair
    ):
        share = through(columns, rows)
        assert least <= share <= most, (columns, rows, share)


def check_film(path, width, height, behind, tolerance):
    film = Picture(path, width, height)
    unit = width // 20
    check(film, (0, 7 * unit), (0, height), behind, tolerance)
    check(film, (13 * unit, width), (0, height), behind, tolerance)
    check(film, (9 * unit, 11 * unit), (5 * unit, 7 * unit), (255, 255, 255), tolerance)
    return film


# Another element has scaled up the chroma of this Picture.
check_scene("greenscreen.png", Picture("garden.jpg", 640, 360), tolerance=16)
grey_blue = (0x40, 0x60, 0xA0)
check_no_rim(check_scene("difference.png", grey_blue))
check_scene("distance.png", grey_blue)

half = Picture("half.png", 320, 180)
check(half, (260, 320), (130, 180), grey_blue, 8)
check(half, (140, 180), (168, 178), Picture("difference.png", 640, 360).at(320, 346), 24)
check_matte(Picture("black.png", 640, 360), Picture("white.png", 640, 360))

blue, green = (0x20, 0x40, 0xC0), (0x10, 0xA0, 0x30)
check_film("film-before.png", 160, 96, green, 8)
check_film("film.png", 160, 96, blue, 8)
check_film("small.png", 80, 48, green, 8)
for path, tolerance in (("film.webm", 16), ("film2.avi", 12)):
    frames = check_film(path, 160, 96, blue, tolerance).frames()
    assert frames >= 5, (path, frames)
