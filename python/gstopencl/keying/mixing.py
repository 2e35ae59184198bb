"""Tells whether a film was mixed as light or as levels, before it is keyed

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib

from ..launch import Value, build
from ..play import POLL
from .gst import GLib, Gst

LOOKS = 8  # frames of a film, spread evenly
# Pixels at edges that say that levels were mixed, in each of a number of frames
ENOUGH_OF_FILM, FRAMES_OF_FILM = 200, 3


@contextlib.contextmanager
def paused(parts):
    pipeline = build([*parts, "! fakesink name=end"], Gst.parse_launch)
    pipeline.set_state(Gst.State.PAUSED)
    try:
        yield pipeline, pipeline.get_by_name("end")
    finally:
        pipeline.set_state(Gst.State.NULL)


def next_evidence(pipeline):
    """Waits for a frame. Returns its number of pixels that say that levels were mixed, or None if
    there is no frame."""
    pixels = 0
    while True:
        message = pipeline.get_bus().timed_pop(POLL)
        kind = message and message.type
        if kind in (Gst.MessageType.EOS, Gst.MessageType.ERROR):
            return None
        if kind == Gst.MessageType.ASYNC_DONE:
            return pixels
        if kind == Gst.MessageType.ELEMENT and message.get_structure().has_name("chromakey-mixing"):
            pixels = message.get_structure().get_value("levels-pixels")


def is_rgb(path):
    """Returns whether a film is decoded to RGB, as few cameras record."""
    parts = ["filesrc name=file", Value("location", path), "! decodebin ! video/x-raw(ANY)"]
    with paused(parts) as (pipeline, end):
        if next_evidence(pipeline) is None:
            return False
        name = end.get_static_pad("sink").get_current_caps().get_structure(0).get_string("format")
        return any(order in name for order in ("RGB", "BGR", "GBR"))


def look_at(pipeline, number):
    """Seeks to one of LOOKS frames, which the key judges anew. Returns whether it can."""
    Gst.util_set_object_arg(pipeline.get_by_name("key"), "mixing", "auto")
    _, duration = pipeline.query_duration(Gst.Format.TIME)
    return pipeline.seek_simple(Gst.Format.TIME, Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE,
                                number * max(duration, 0) // LOOKS)


def has_levels(parts):
    """Returns whether frames show clearly that levels were mixed. `parts`: a source and a soft
    key with mixing=auto"""
    found = {}  # by time, as several seeks may find one frame
    with paused(parts) as (pipeline, end):
        for number in range(LOOKS):
            if number and not look_at(pipeline, number):
                break
            pixels = next_evidence(pipeline)
            if pixels is None:
                break
            found[end.get_property("last-sample").get_buffer().pts] = pixels
    return sum(pixels >= ENOUGH_OF_FILM for pixels in found.values()) >= FRAMES_OF_FILM


def mixing_of(path, parts):
    """Returns "light" or "levels". Other pipelines report errors of the file."""
    try:
        return "levels" if is_rgb(path) and has_levels(parts) else "light"
    except GLib.Error:
        return "light"
