"""Pictures as Pillow reads them. jpegdec of GStreamer makes 4:2:0 of each JPEG, and pngdec of
GStreamer 1.22 shifts colours of 16 bits, and writes beyond its memory.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import atexit
import os
import sys
import tempfile
import typing
import warnings

from ..launch import Value
from ..system import hint_for

try:
    from PIL import Image, ImageOps
except ImportError:
    Image = None

FORMATS = "BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP"
OPEN_FILES = "/proc/self/fd"  # A file without a name needs no clean-up.


class Copy(typing.NamedTuple):
    """A picture as RGBA in a temporary file, which lasts as long as this object"""
    file: typing.IO
    is_deep: bool  # 16 bits, not 8
    size: tuple  # width and height in pixels

    def source(self, name):
        """Returns its frame, as parts of a launch line. `name`: of the filesrc"""
        is_named = isinstance(self.file.name, str)
        path = self.file.name if is_named else f"{OPEN_FILES}/{self.file.fileno()}"
        return [f"filesrc name={name}", Value("location", path),
                f"! rawvideoparse format={'rgba64-le' if self.is_deep else 'rgba'}"
                f" framerate=0/1 width={self.size[0]} height={self.size[1]}"]


def temporary_file():
    """Returns a file that ends with this process, where the system can do that at its last use."""
    if os.name != "nt" and os.path.isdir(OPEN_FILES):  # Wine shows the folders of Linux.
        return tempfile.TemporaryFile()
    file = tempfile.NamedTemporaryFile(delete=False)
    atexit.register(os.unlink, file.name)
    return file


def upright(image):
    """Returns RGBA, turned as EXIF says."""
    return ImageOps.exif_transpose(image).convert("RGBA")


def read(path):
    """Returns the Copy of a picture, or None for what GStreamer reads."""
    image, lower = Image.open(path, formats=FORMATS), None
    if image.format == "PNG" and image.tile[0][3] in ("RGB;16B", "RGBA;16B"):
        lower = Image.open(path, formats=["PNG"])  # Pillow keeps one byte of the two of a sample.
        lower.tile = [(*tile[:3], tile[3].replace("16B", "16L")) for tile in lower.tile]
        for part in image, lower:  # A transparent colour of 16 bits is none of 8.
            part.info.pop("transparency", None)
    elif image.format == "PNG" and image.tile[0][3] != "LA;16B" \
            or image.format != "MPO" and getattr(image, "is_animated", False):
        return None
    if image.mode[0] in "IF":
        raise ValueError("gray of more than 8 bits; convert it to PNG")
    image = upright(image)
    data = image.tobytes()
    if lower:
        data, upper = bytearray(2 * len(data)), data
        data[0::2], data[1::2] = upright(lower).tobytes(), upper
    file = temporary_file()
    file.write(data)
    file.flush() if isinstance(file.name, int) else file.close()  # Windows locks open files.
    return Copy(file, bool(lower), image.size)


def check_without_pillow(path):
    with open(path, "rb") as file:
        head = file.read(26)
    if head[:4] == b"\x89PNG" and head[24:25] == b"\x10" and head[25:26] > b"\0":
        raise ValueError(f"colours of 16 bits need Pillow: {hint_for('pillow', 'python3-pil')}")
    if head[:2] == b"\xff\xd8":
        print(f"{path}: edges may have wrong colours, as GStreamer makes 4:2:0 of this JPEG; "
              f"{hint_for('pillow', 'python3-pil')}, or convert it to PNG",
              file=sys.stderr, flush=True)


def copy_of(path):
    """Returns the Copy of a picture, or None for what GStreamer reads. Raises ValueError."""
    try:
        if not Image:
            return check_without_pillow(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures. Very large ones are an error.
            return read(path)
    except (Image.UnidentifiedImageError if Image else ()):
        return None
    except Exception as error:  # of any reader
        raise ValueError(
            f"{os.path.basename(path)} is no film or picture: {error}") from None
