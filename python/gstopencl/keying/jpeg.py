"""JPEG images whose chroma GStreamer's jpegdec does not decode right

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys

from .gst import Gst

# Sampling factors of luma and of chroma that jpegdec of GStreamer 1.22 knows. Edges of others come
# out scalloped, or the whole image is wrong.
KNOWN = {(0x11, 0x11), (0x21, 0x11), (0x12, 0x11), (0x22, 0x11), (0x22, 0x12)}
HEAD = 1 << 20  # bytes in which the size of an image stands, behind its EXIF data
SIZES = {*range(0xc0, 0xd0)} - {0xc4, 0xc8, 0xcc}  # markers of segments with the size


def sampling_of(data):
    """Returns the sampling factors of each component of a JPEG image; of other data, none."""
    at = 2
    while data[:2] == b"\xff\xd8" and at + 10 <= len(data):
        if data[at + 1] in SIZES:
            return tuple(data[at + 11:at + 11 + 3 * data[at + 9]:3])
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    return ()


def choose_decoder(path):
    """Has another decoder read a JPEG image that jpegdec does not know, or prints a warning."""
    try:
        with open(path, "rb") as file:
            factors = sampling_of(file.read(HEAD))
    except OSError:  # which the discoverer reports
        return
    if len(factors) != 3 or factors[1] == factors[2] and factors[:2] in KNOWN:
        return
    usual, parser, other = map(Gst.ElementFactory.find, ("jpegdec", "jpegparse", "avdec_mjpeg"))
    if usual and parser and other:  # avdec_mjpeg needs the parser, which has no rank.
        usual.set_rank(Gst.Rank.NONE)
        parser.set_rank(Gst.Rank.PRIMARY)
        return
    print(f"{path}: jpegdec of GStreamer may show false colours of this JPEG, as its chroma is "
          "sampled in an unusual way: install gstreamer1.0-libav, or convert it to PNG",
          file=sys.stderr, flush=True)
