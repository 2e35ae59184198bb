"""Files and devices of opencl-view --key: films, backgrounds and virtual cameras

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib

from ..keying.arguments import colour_of  # noqa: F401
from ..keying.films import film_of  # noqa: F401
from .gtk import Gio

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
