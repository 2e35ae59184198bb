"""Frames that sinks show: as files, and colours at places of the window

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import time

from ..files import write_whole
from .gtk import GLib, Gst, GstVideo

TIMEOUT = 10 * Gst.SECOND  # for the conversion of a frame


def converted(sink, caps):
    """Returns the frame that a sink shows, converted to caps, as bytes, with the converted caps.
    Raises ValueError with the reason."""
    sample = sink.get_property("last-sample")
    if not sample:
        raise ValueError("there is no picture yet")
    try:
        sample = GstVideo.video_convert_sample(sample, Gst.Caps.from_string(caps), TIMEOUT)
    except GLib.Error as error:
        raise ValueError(error.message) from None
    buffer = sample.get_buffer()
    return buffer.extract_dup(0, buffer.get_size()), sample.get_caps()


def frame_area(sink):
    """Returns left, top, width and height of the frame in the sink's widget, or None if there is
    none. The frame is centred and as large as its aspect ratio allows, unless force-aspect-ratio is
    off."""
    sample, size = sink.get_property("last-sample"), sink.get_property("widget").get_allocation()
    if not sample:
        return None
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    width, height = size.width, size.height
    if sink.get_property("force-aspect-ratio"):
        ratio = info.width * info.par_n / (info.height * info.par_d)
        width, height = min(width, height * ratio), min(height, width / ratio)
    return (size.width - width) / 2, (size.height - height) / 2, width, height


def share_at(sink, x, y):
    """Returns a position of the sink's widget in shares of the frame's width and height, or None
    without a frame."""
    area = frame_area(sink)
    return area and ((x - area[0]) / area[2], (y - area[1]) / area[3])


def pixel_at(sink, x, y):
    """Returns the column and the row of the frame at a position of the sink's widget, or None
    beside the frame."""
    share = share_at(sink, x, y)
    if not share or not (0 <= share[0] < 1 and 0 <= share[1] < 1):
        return None
    info = GstVideo.VideoInfo.new_from_caps(sink.get_property("last-sample").get_caps())
    # An edge between two pixels belongs to the second one, also if it is rounded down.
    return tuple(min(int(part * length + 1e-6), length - 1)
                 for part, length in zip(share, (info.width, info.height)))


def colour_at(sink, x, y):
    """Returns the colour 0xAARRGGBB at a position of the sink's widget, opaque; None beside the
    frame."""
    place = pixel_at(sink, x, y)
    if not place:
        return None
    data, caps = converted(sink, "video/x-raw,format=RGB")
    info = GstVideo.VideoInfo.new_from_caps(caps)
    at = place[1] * info.stride[0] + place[0] * 3
    return 0xff000000 | int.from_bytes(data[at:at + 3], "big")


def folder_of_pictures():
    """Returns the user's folder for pictures, or the current one if there is none."""
    folder = GLib.get_user_special_dir(GLib.UserDirectory.DIRECTORY_PICTURES)
    return pathlib.Path(folder) if folder and pathlib.Path(folder).is_dir() else pathlib.Path.cwd()


def save_pictures(sinks, program, folder=None):
    """Saves the frame that each sink shows as a PNG at its full size. Returns the paths. Raises
    ValueError or OSError with the reason."""
    folder = folder or folder_of_pictures()
    stem = f"{program}-{time.strftime('%Y%m%d-%H%M%S')}"
    paths = []
    for sink in sinks:
        data, _ = converted(sink, "image/png")
        name = stem if len(sinks) == 1 else f"{stem}-{sink.get_name()}"
        paths.append(unused(folder, name, ".png"))
        write_whole(paths[-1], data)
    return paths


def unused(folder, name, suffix):
    """Returns the path of a file that does not exist. Its name has a number if it needs one."""
    names = (f"{name}{f'-{n}' if n else ''}{suffix}" for n in range(1000))
    return next(folder / one for one in names if not (folder / one).exists())
