"""Checks of the arguments of opencl-view --key

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os

from ..keying.arguments import check_values, settings_of
from . import keyfiles, keyoutput, keypipeline
from .arguments import fault_of
from .gtk import Gst
from .properties import write_text


def checked_settings(asked):
    """Returns the properties of greenscreenbin that options set. Raises ValueError."""
    element = Gst.ElementFactory.make("greenscreenbin")
    if not element:
        raise ValueError("there is no element greenscreenbin; is GST_PLUGIN_PATH set?")
    check_values(asked)
    found = settings_of(asked)
    for name, value in found:
        try:
            write_text(element, element.find_property(name), value)
        except ValueError as error:
            raise ValueError(f"--{name} {error}") from None
    for screen, model in ("auto", asked.network), ("none", asked.model):
        if model:
            if not os.path.isfile(model):
                raise ValueError(f"{model}: no such file")
            found += [("screen", screen), ("model-file", model)]
    return found


def background_of(text):
    """Returns a colour 0xRRGGBB or the path of a picture or film. Raises ValueError."""
    if text == "none":
        raise ValueError("--background none: the window has no alpha; use opencl-key")
    colour = keyfiles.colour_of(text)
    if colour is not None:
        return colour
    if fault_of(text):
        raise ValueError(f"--background {text}: {fault_of(text)}, and no colour RRGGBB")
    path = os.path.abspath(text)  # A path with a colon is no URI.
    keyfiles.film_of(path)
    return path


def source_of(asked):
    """Returns the keypipeline.Source. Raises ValueError."""
    place = asked.camera or asked.file
    if asked.camera and asked.file:
        raise ValueError(f"--camera {asked.camera}: beside {asked.file}")
    place = place or keyfiles.first_camera()
    if not place:
        return keypipeline.DEMO
    if asked.camera or place.startswith("/dev/"):
        if not os.path.exists(place):
            raise ValueError(f"{place}: no such camera")
        return keypipeline.source_of_camera(place)
    fault = fault_of(place)
    if fault and "://" not in place:
        raise ValueError(f"{place}: {fault}")
    # A path with a colon is no URI.
    film = keyfiles.film_of(place if fault else os.path.abspath(place))
    # A command that is printed outlasts the copy of a picture.
    return keypipeline.source_of_film(film._replace(copy=None) if asked.print else film)


def source_or_demo(asked):
    """Returns what source_of () returns, and the reason if the window shows the test picture
    instead of a file. Raises ValueError if the program runs unattended."""
    try:
        return source_of(asked), None
    except ValueError as error:
        if asked.quit_at_end or asked.output or asked.loopback or asked.print \
                or not asked.file or not os.path.isfile(asked.file):
            raise
        return keypipeline.DEMO, f"{error}. This is a test picture."


def check_outputs(asked):
    if asked.output and asked.output.startswith("/dev/video"):
        asked.loopback, asked.output = asked.output, None
    if asked.loopback and not os.path.exists(asked.loopback):
        raise ValueError(f"{asked.loopback}: no such device. {keyfiles.NO_VIRTUAL_CAMERA}")
    if asked.output:
        keyoutput.film_line(asked.output, True)
