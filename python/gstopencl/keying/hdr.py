"""HDR films (PQ or HLG of BT.2100), converted to sRGB

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib

from ..launch import Value

# Names and numbers of transfer functions in GStreamer's colorimetry
TRANSFERS = {"bt2100-pq": "PQ", "bt2100-hlg": "HLG", "14": "PQ", "15": "HLG"}
FRAMES = "video/x-raw(memory:OpenCLMemory),format=RGBA64_LE"
KERNEL = pathlib.Path(__file__).with_name("hdr.cl")


def transfer_of(colorimetry):
    """Returns "PQ", "HLG" or None for GStreamer's text of a colorimetry, which may be None."""
    words = (colorimetry or "").split(":")
    return TRANSFERS.get(words[2] if len(words) == 4 else words[0])


def to_srgb(transfer, name, size=""):
    """Returns a converter between frames on the device, with a ! behind it.

    transfer: "PQ", "HLG", or None for no converter
    name: a prefix of its name
    size: (optional) caps of it, behind a comma"""
    if not transfer:
        return []
    return [f"{FRAMES}{size} ! openclkernel name={name}_hdr", Value("location", str(KERNEL)),
            f"options=-D{transfer} ! {FRAMES},colorimetry=sRGB ! openclconvert !"]
