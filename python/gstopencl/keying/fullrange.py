"""Full range of H.264 in MP4, which GStreamer 1.22 does not tell

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .gst import GstVideo

LARGEST = 1 << 26  # bytes of an index that is read
# Profiles whose parameters begin with the format of chroma
HIGH = {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135}


class Bits:
    """Reads H.264's numbers."""

    def __init__(self, data):
        data = data.replace(b"\0\0\3", b"\0\0")
        self.text = "".join(f"{byte:08b}" for byte in data)

    def number(self, count=1):
        taken, self.text = self.text[:count], self.text[count:]
        return int(taken, 2)

    def numbers(self, count):
        """Returns the last of `count` numbers of variable length."""
        last = 0
        for _ in range(count):
            last = self.number(2 * self.text.index("1") + 1) - 1
        return last


def is_full(parameters):
    """Returns whether a sequence parameter set says that levels have the full range. Raises
    ValueError for what is cut off, or has matrices of its own."""
    bits = Bits(parameters[1:])
    profile = bits.number(24) >> 16
    bits.numbers(1)
    if profile in HIGH:
        if bits.numbers(1) == 3:
            bits.number()
        bits.numbers(2)
        if bits.number(2) & 1:
            raise ValueError("scaling matrices")
    bits.numbers(1)
    order = bits.numbers(1)
    if order == 0:
        bits.numbers(1)
    elif order == 1:
        bits.number()
        bits.numbers(2)
        bits.numbers(bits.numbers(1))
    bits.numbers(1)
    bits.number()
    bits.numbers(2)
    if not bits.number():
        bits.number()
    bits.number()
    if bits.number():  # cropped
        bits.numbers(4)
    if not bits.number():  # no usability information
        return False
    if bits.number() and bits.number(8) == 255:  # pixel aspect ratio
        bits.number(32)
    if bits.number():  # overscan
        bits.number()
    return bool(bits.number()) and bool(bits.number(4) & 1)


def index_of(file):
    """Returns the index of an MP4 or QuickTime file, or nothing."""
    while len(head := file.read(8)) == 8:
        size, kind = int.from_bytes(head[:4], "big"), head[4:]
        if size == 1:
            size = int.from_bytes(file.read(8), "big") - 8
        if kind == b"moov":
            return file.read(min(size, LARGEST))
        if size < 8:
            break
        file.seek(size - 8, 1)
    return b""


def full_range_of(path, colorimetry, height):
    """Returns the colorimetry, as GStreamer's text, of a film whose levels have the full range,
    and of others None.

    colorimetry: what GStreamer says, or None"""
    try:
        with open(path, "rb") as file:
            _, found, record = index_of(file).partition(b"avcC")
        length = int.from_bytes(record[6:8], "big")
        if not found or not is_full(record[8:8 + length]):
            return None
    except (OSError, ValueError):
        return None
    colours = GstVideo.VideoColorimetry()
    colours.from_string(colorimetry or ("bt601" if height <= 576 else "bt709"))
    colours.range = GstVideo.VideoColorRange(1)  # 0_255 is no name of Python
    return colours.to_string()
