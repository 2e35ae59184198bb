"""Files and devices of opencl-view --key: films, backgrounds and virtual cameras

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import re
import typing

import gi

gi.require_version("GstPbutils", "1.0")
from gi.repository import GstPbutils  # noqa: E402

from .gtk import Gio, GLib, Gst  # noqa: E402

TIMEOUT = 10 * Gst.SECOND  # to find out what is in a file
VIRTUAL_DEVICES = pathlib.Path("/sys/devices/virtual/video4linux")
NO_VIRTUAL_CAMERA = (
    "There is no virtual camera: \"sudo apt-get install v4l2loopback-dkms && sudo modprobe "
    "v4l2loopback exclusive_caps=1 card_label=Keyed\" makes one.")


class Film(typing.NamedTuple):
    """A file with a picture. `is_still`: an image"""
    uri: str
    is_still: bool
    has_sound: bool


def film_of(place):
    """Returns the film or image at a path or URI. Raises ValueError with the reason, in one
    sentence."""
    file = Gio.File.new_for_commandline_arg(str(place))
    name = file.get_basename()
    try:
        info = GstPbutils.Discoverer.new(TIMEOUT).discover_uri(file.get_uri())
    except GLib.Error as error:
        raise ValueError(f"{name} is no film or picture: {error.message.rstrip('.')}") from None
    if info.get_result() == GstPbutils.DiscovererResult.TIMEOUT:
        raise ValueError(f"{name} is no film or picture: nothing was decoded in time")
    pictures = info.get_video_streams()
    if not pictures:
        raise ValueError(f"{name} is no film or picture: it has no video")
    return Film(file.get_uri(), pictures[0].is_image(), bool(info.get_audio_streams()))


def path_of(uri):
    """Returns the path of a URI or path. Raises ValueError if it is not on this machine."""
    path = Gio.File.new_for_commandline_arg(str(uri)).get_path()
    if not path:
        raise ValueError(f"{uri} is not a file of this machine")
    return path


def colour_of(text):
    """Returns 0xRRGGBB of the text RRGGBB, or None."""
    return int(text, 16) if re.fullmatch("#?[0-9a-fA-F]{6}", text) else None


def setting_of(background):
    """Returns the property of greenscreenbin, and its value as text, that a background is."""
    return ("background-color", f"0xff{background:06x}") if isinstance(background, int) \
        else ("background-location", path_of(background))


def first_camera(folder=pathlib.Path("/dev")):
    """Returns the first camera that is not virtual, such as /dev/video0, or None."""
    virtual = virtual_cameras()
    return next((str(device) for device in sorted(folder.glob("video*"))
                 if f"/dev/{device.name}" not in virtual), None)


def virtual_cameras():
    """Returns the virtual cameras, from device to name."""
    return {f"/dev/{device.name}": (device / "name").read_text().strip()
            for device in sorted(VIRTUAL_DEVICES.glob("video*"))}
