"""Looks into films and pictures

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import re
import typing

from ..structures import structure_of
from ..view.arguments import fault_of
from .gst import Gio, GLib, Gst, GstPbutils
from .hdr import transfer_of
from .pictures import Copy, copy_of

TIMEOUT = 10 * Gst.SECOND  # to find out what is in a file
# GstDiscoverer adds up the bits of all components.
EIGHT_BITS = 0, 8, 24, 32


class Film(typing.NamedTuple):
    """A file with a picture. `is_still`: an image; `has_sound`: some that can be decoded; `size`:
    width and height in pixels, as it is shown; `hdr`: "PQ", "HLG" or None; `has_rate`: it
    says how many frames a second has, be it on average; `is_deep`: more than 8 bits; `copy`: of a
    picture, or None"""
    uri: str
    is_still: bool
    has_sound: bool
    size: tuple
    hdr: str
    has_rate: bool
    is_deep: bool
    copy: Copy = None


def shown_size(info, picture):
    """Returns width and height of a picture after the rotation that its tags ask for."""
    size = picture.get_width(), picture.get_height()
    for tags in picture.get_tags(), info.get_tags():
        has_one, way = tags.get_string(Gst.TAG_IMAGE_ORIENTATION) if tags else (False, None)
        if has_one:
            return size[::-1] if way.endswith(("rotate-90", "rotate-270")) else size
    return size


def film_of(place):
    """Returns the film or image at a path or URI. Raises ValueError with the reason, in one
    sentence."""
    file = Gio.File.new_for_commandline_arg(str(place))
    name, path = file.get_basename(), file.get_path()
    if path and fault_of(path):  # A FIFO would be waited for.
        raise ValueError(f"{name} is no film or picture: {fault_of(path)}")
    copy = copy_of(path) if path else None
    if copy:
        return Film(file.get_uri(), True, False, copy.size, None, False, copy.is_deep, copy)
    try:
        info = GstPbutils.Discoverer.new(TIMEOUT).discover_uri(file.get_uri())
    except GLib.Error as error:
        raise ValueError(f"{name} is no film or picture: {error.message.rstrip('.')}") from None
    if info.get_result() == GstPbutils.DiscovererResult.TIMEOUT:
        raise ValueError(f"{name} is no film or picture: nothing was decoded in time")
    pictures = info.get_video_streams()
    if not pictures or not pictures[0].get_width():
        raise ValueError(f"{name} is no film or picture: it has no video")
    no_sound = any("decoder-audio/" in missing
                   for missing in info.get_missing_elements_installer_details())
    colours = structure_of(pictures[0].get_caps(), 0).get_string("colorimetry")
    return Film(file.get_uri(), pictures[0].is_image(),
                bool(info.get_audio_streams()) and not no_sound,
                shown_size(info, pictures[0]),
                transfer_of(colours), pictures[0].get_framerate_num() > 0,
                pictures[0].get_depth() not in EIGHT_BITS)


def strip_colorimetry(pad, info):
    """Takes the colorimetry out of caps, unless it is that of HDR."""
    event = info.get_event()
    caps = event.parse_caps().to_string() if event.type == Gst.EventType.CAPS else ""
    found = re.search(r", colorimetry=\(string\)([^,;]+)", caps)
    if not found or transfer_of(found[1]):
        return Gst.PadProbeReturn.OK
    pad.send_event(Gst.Event.new_caps(Gst.Caps.from_string(caps.replace(found[0], ""))))
    return Gst.PadProbeReturn.DROP


def keep_range(_pipeline, _bin, element):
    """Has H.264 and H.265 say whether their range is full, once connected to "deep-element-added".
    qtdemux of GStreamer 1.22 says that it is limited, which parsers and decoders believe."""
    if element.get_factory().get_name() in ("h264parse", "h265parse"):
        element.get_static_pad("sink").add_probe(
            Gst.PadProbeType.EVENT_DOWNSTREAM, strip_colorimetry)
