"""Files and devices of opencl-view --key: films, backgrounds and virtual cameras

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib

import gi

gi.require_version("GdkPixbuf", "2.0")
from gi.repository import GdkPixbuf  # noqa: E402

from ..keying.arguments import colour_of  # noqa: E402, F401
from ..keying.films import film_of  # noqa: E402, F401
from .gtk import Gio, GLib  # noqa: E402

COLOURS = pathlib.Path(GLib.get_user_cache_dir()) / "opencl-view" / "colours"
VIRTUAL_DEVICES = pathlib.Path("/sys/devices/virtual/video4linux")
NO_VIRTUAL_CAMERA = (
    "There is no virtual camera: \"sudo apt-get install v4l2loopback-dkms && sudo modprobe "
    "v4l2loopback exclusive_caps=1 card_label=Keyed\" makes one.")


def path_of(uri):
    """Returns the path of a URI or path. Raises ValueError if it is not on this machine."""
    path = Gio.File.new_for_commandline_arg(str(uri)).get_path()
    if not path:
        raise ValueError(f"{uri} is not a file of this machine")
    return path


def colour_picture(colour):
    """Returns the path of a picture of the colour 0xRRGGBB. It stays, since presets name it."""
    path = COLOURS / f"{colour:06x}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = GdkPixbuf.Pixbuf.new(GdkPixbuf.Colorspace.RGB, False, 8, 16, 16)
    pixels.fill(colour << 8 | 0xff)
    pixels.savev(str(path), "png", [], [])
    return str(path)


def first_camera(folder=pathlib.Path("/dev")):
    """Returns the first camera that is not virtual, such as /dev/video0, or None."""
    virtual = virtual_cameras()
    return next((str(device) for device in sorted(folder.glob("video*"))
                 if f"/dev/{device.name}" not in virtual), None)


def virtual_cameras():
    """Returns the virtual cameras, from device to name."""
    return {f"/dev/{device.name}": (device / "name").read_text().strip()
            for device in sorted(VIRTUAL_DEVICES.glob("video*"))}
