#!/usr/bin/env python3
"""Promise: chromakey, greenscreenbin, opencl-key and opencl-view --key have the same options with
the same names, defaults and values. Exceptions are listed with their reasons. Each option changes the
frames of each program that has it. A key is the colour of the pixel that is picked, in each format.

usage: keyoptions.py

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import functools
import itertools
import os
import re
import tempfile

import numpy as np

from xscreen import screen

# Properties of chromakey that are no options of the programs
NO_OPTIONS = {
    "plate-location": "--plate FILE sets it",
    "key-color": "--key sets it, which --key-color means, too", "auto-key": "--key sets it",
    "auto-key-x": "--pick sets it, and the window picks colours", "auto-key-y": "as auto-key-x",
    "auto-key-width": "as auto-key-x", "auto-key-height": "as auto-key-x",
    "relative": "tolerances of opencl-key are always relative",
    "channel": "for drawn pictures; --channel is that of a network",
    "linear": "says what --mixing auto found",
    "invert": "keys everything but a screen", "opacity": "is that of a layer, not of a key",
}
# Options of opencl-key for the key that are no properties of greenscreenbin
NO_PROPERTIES = {
    "key": "key-color and auto-key", "pick": "auto-key-x and its like",
    "fill": "of noisereduce", "noise": "of noisereduce", "flow": "of flowkey",
    "limit": "of flowkey",
    "garbage": "a pad, which a drawn polygon needs not", "holdout": "a pad",
    "network": "screen=auto and model-file",
}
# Properties whose defaults differ from those of chromakey, as the page of greenscreenbin says
OWN_DEFAULTS = {"method": "difference", "auto-key": "screen", "spill": "1"}
# Options of opencl-key with another default than the property
OTHER_DEFAULTS = {"tolerance": "is relative to the key's saturation"}
# Values of all options that both programs have, and as the property gives them
VALUES = {
    "method": ("chroma", "chroma"), "similarity": ("0.3", "0.3"), "smoothness": ("0.7", "0.7"),
    "balance": ("0.25", "0.25"), "tolerance": ("0.5", "0.5"), "plate": ("frozen", "frozen"),
    "refine": ("false", "false"), "core": ("false", "false"),
    "spill": ("0.5", "0.5"), "spill-method": ("limit", "limit"), "spill-balance": ("1", "1"),
    "shadow": ("0.75", "0.75"), "quiet": ("true", "true"), "mixing": ("light", "light"),
    "key-colors": ("2040c0,#30B060", f"<{0xff2040c0}, {0xff30b060}>"),
    "garbage-polygon": ("0,0,1,.5,0.5,1.0", "<0, 0, 1, 0.5, 0.5, 1>"), "grow": ("-2", "-2"),
    "feather": ("3", "3"), "light-wrap": ("0.5", "0.5"),
}

# Other options that an option needs to have an effect
NEEDED = {"tolerance": {"method": "distance"}, "spill-balance": {"spill-method": "average"},
          "light-wrap": {"background": "ffffff"}, "limit": {"method": "distance"}, "flow": {"method": "distance"},
          "mixing": {"mixing": "levels"}}
# Values of options that only opencl-key has
OF_SCRIPT = {"key": "2040c0", "pick": "150,90", "fill": "2", "noise": "3", "flow": "0", "limit": "0.01"}
GREEN, GREY, BLUE = (16, 160, 48), (120, 120, 120), (32, 64, 192)
WIDTH, HEIGHT = 160, 192
RGBA = "opencldownload ! videoconvert ! video/x-raw,format=RGBA ! appsink name=out sync=false"
FORMATS = "RGBA BGRA ARGB ABGR RGBA64_LE NV12 NV21 I420 YV12 YUY2 UYVY"


def values_of(element):
    """Returns the own properties of an element that are not deprecated, by name."""
    deprecated = GObject.ParamFlags.DEPRECATED
    return {spec.name: properties.read_text(element, spec) for spec in element.list_properties()
            if spec.owner_type == element.__gtype__ and not spec.flags & deprecated}


def made(name):
    element = Gst.ElementFactory.make(name)
    assert element, name
    return element


def script(*words):
    """Returns the pipeline of opencl-key."""
    asked = arguments.parsed(["--background", "2040c0", *words, __file__])
    return build(pipeline.Keying(asked, (64, 48), False).keyed() + ["fakesink"], Gst.parse_launch)


def window(*words):
    """Returns the pipeline of opencl-view --key."""
    asked = keyoptions.parser().parse_args([*words, __file__])
    return keypipeline.pipeline_of(
        keypipeline.words_of(keypipeline.DEMO, keyarguments.checked_settings(asked)))[0]


def value_in(made, name):
    """Returns the value of the property of an element that has it. opencl-key shapes the matte behind
    the key, and wraps light at the background."""
    elements = [made.get_by_name("result" if name == "light-wrap" else "shape"), made.get_by_name("key")]
    made.iterate_recurse().foreach(elements.append)
    for element in filter(None, elements):
        spec = element.find_property(name)
        if spec:
            return properties.read_text(element, spec)
    for element in elements:  # sink_1 of the compositor
        pad = element and element.get_static_pad("sink_1")
        if pad and pad.find_property(name):
            return f"{pad.get_property(name):g}"
    return None


def options_of(parser):
    return {name[2:] for action in parser._actions for name in action.option_strings}


def check_names():
    key, one = values_of(made("chromakey")), values_of(made("greenscreenbin"))
    assert set(key) <= set(one), set(key) - set(one)
    for name, value in key.items():
        assert one[name] == OWN_DEFAULTS.get(name, value), (name, value, one[name])
    wanted = set(key) - set(NO_OPTIONS)
    assert set(NO_OPTIONS) <= set(key), set(NO_OPTIONS) - set(key)
    for parser in arguments.parser(), keyoptions.parser():
        options = options_of(parser)
        assert wanted <= options, (parser.prog, wanted - options)
        assert {"key", "key-color", "background", "light-wrap", "grow", "feather"} <= options
    assert not set(NO_PROPERTIES) & set(one)
    assert set(arguments.KEY) - set(NO_PROPERTIES) == set(arguments.SETTINGS)
    assert set(arguments.SETTINGS) <= set(one), set(arguments.SETTINGS) - set(one)


def check_defaults():
    one = values_of(made("greenscreenbin"))
    for program in script, window:
        for name, value in values_of(program().get_by_name("key")).items():
            assert value == one[name] or name == "background-color", (program, name, value, one[name])
    for name, (_, text) in arguments.SETTINGS.items():
        stated = re.findall(r"\(([^()]+)\)", text)
        if name not in ("key-colors", "garbage-polygon"):
            assert stated and stated[-1] == one[name], (name, text, one[name])
    assert set(OTHER_DEFAULTS) == {name for name, option in arguments.KEY.items()
                                   if option != arguments.SETTINGS.get(name, option)}


def check_values():
    assert set(VALUES) == set(arguments.SETTINGS)
    for name, (text, value) in VALUES.items():
        words = [f"--{name}", text, *(["--method", "distance"] if name == "tolerance" else [])]
        for program in script, window:
            assert value_in(program(*words), name) == value, (program, words)


def frames_of(playing, width=WIDTH):
    """Plays a pipeline and returns the frames of its appsink."""
    playing.set_state(Gst.State.PLAYING)
    frames = []
    while sample := playing.get_by_name("out").emit("try-pull-sample", 20 * Gst.SECOND):
        buffer = sample.get_buffer()
        frames.append(np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8))
    ended = playing.get_bus().timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.EOS)
    playing.set_state(Gst.State.NULL)
    assert frames and ended and ended.type == Gst.MessageType.EOS, ended and ended.parse_error()
    return np.stack(frames).reshape(len(frames), -1, width, 4)


def write_film(path):
    """Writes frames in which each option finds something to do: noise, light that falls, a soft edge of
    mixed levels, spill, shadow, tape, holes, and colours between the screen and the subject."""
    generator = np.random.default_rng(3)
    share = np.clip((np.abs(np.arange(WIDTH) - 70) - 26) / 12, 0, 1)[:, None]
    frame = np.zeros((HEIGHT, WIDTH, 3)) + GREEN
    frame[:, 130:] *= 0.5
    frame[16:80] = share * GREEN + (1 - share) * GREY
    frame[30:40, 60:80], frame[44:52, 60:80] = (100, 140, 90), (110, 140, 30)
    frame[56:70, 60:80], frame[60:62, 70:72], frame[4:6, 60:62] = (60, 145, 70), GREEN, GREY
    frame[84:96, 20:40], frame[104:184, 20:116] = BLUE, (118, 132, 114)
    frames = [frame * (1 - 0.08 * number) + generator.normal(0, 3, frame.shape) for number in range(3)]
    np.clip(np.round(frames), 0, 255).astype(np.uint8).tofile("film.raw")
    frames_of(Gst.parse_launch(
        f"filesrc location=film.raw ! rawvideoparse format=rgb width={WIDTH} height={HEIGHT} framerate=25/1"
        f" ! tee name=t ! queue ! videoconvert ! pngenc ! qtmux ! filesink location={path}"
        " t. ! queue ! videoconvert ! video/x-raw,format=RGBA ! appsink name=out sync=false"))


def by_element(factory, path, options):
    """Returns the frames of chromakey or of greenscreenbin."""
    values = {**(OWN_DEFAULTS if factory == "chromakey" else {}), "auto-key": "none", "key-color": "0xff10a030",
              **{name: arguments.property_of(name, value) for name, value in options.items()}}
    if values.pop("background", None):
        values["background-location"] = path  # the light of a colour does not wrap
    return frames_of(build([
        f"filesrc location={path} ! decodebin ! videoconvert ! video/x-raw,format=RGBA ! openclupload"
        f" ! {factory} name=key", *(Value(*pair) for pair in values.items()), f"! {RGBA}"], Gst.parse_launch))


def by_script(path, options):
    usual = {"background": "none"} if "pick" in options else {"key": "10a030", "background": "none"}
    asked = arguments.parsed([*(f"--{name}={value}" for name, value in (usual | options).items()), path])
    asked.pick = asked.pick and tuple(map(int, asked.pick.split(",")))
    parts = pipeline.Keying(asked, (WIDTH, HEIGHT), False).keyed()
    playing = build([*parts, "video/x-raw,format=RGBA ! appsink name=out sync=false"], Gst.parse_launch)
    return frames_of(playing)


def check_effects():
    """Each option changes the frames of the programs that have it."""
    write_film("film.mov")
    players = {name: functools.partial(by_element, name) for name in ("chromakey", "greenscreenbin")}
    before = {}
    values = {name: text for name, (text, _) in VALUES.items()} | OF_SCRIPT
    for (name, value), (program, played) in itertools.product(
            values.items(), (players | {"opencl-key": by_script}).items()):
        if program in players and not made(program).find_property(name):
            assert program == "chromakey" or name in NO_PROPERTIES, (program, name)
            continue
        needed = NEEDED.get(name, {})
        key = program, *needed.items()
        if key not in before:
            before[key] = played("film.mov", needed)
            assert needed or (played("film.mov", needed) == before[key]).all(), key
        assert (played("film.mov", needed | {name: value}) != before[key]).any(), (program, name, value)


def check_picked_pixels():
    """One pixel in each corner of 161x97 pixels is picked. A square in the middle has its colour, too.
    Chroma of camera formats is interpolated within two pixels of an edge."""
    colours = (40, 160, 70), (50, 60, 180), (170, 150, 40), (20, 20, 20)
    frame = np.zeros((97, 161, 3), np.uint8) + np.uint8((150, 90, 110))
    corners = frame[:4, :4], frame[:4, 156:], frame[92:, :4], frame[92:, 156:]
    for number, (colour, corner) in enumerate(zip(colours, corners)):
        corner[:] = frame[40:48, 40 + 16 * number:48 + 16 * number] = colour
    frame[:, 1::158] += 20  # neighbours of the picked pixels differ in luma
    frame[1::94] += 20
    np.pad(frame.reshape(97, -1), ((0, 0), (0, 1))).tofile("corners.raw")
    for kind in FORMATS.split():
        for number, (x, y) in enumerate(((0, 0), (160, 0), (0, 96), (160, 96))):
            alpha = frames_of(Gst.parse_launch(
                "filesrc location=corners.raw ! rawvideoparse format=rgb width=161 height=97 ! videoconvert"
                f" chroma-mode=none ! video/x-raw,format={kind} ! openclupload ! chromakey tolerance=0.03"
                f" auto-key=rectangle auto-key-x={x} auto-key-y={y} auto-key-width=1 auto-key-height=1 ! {RGBA}"),
                161)[0, ..., 3]
            clear = [not alpha[42:46, 42 + 16 * other:46 + 16 * other].any() for other in range(4)]
            assert clear == [other == number for other in range(4)], (kind, x, y, alpha[40:48, 40:104])
            assert alpha[y, x] == 0 and (alpha[10:30] == 255).all(), (kind, x, y)


with tempfile.TemporaryDirectory() as folder, screen():
    # GTK connects to the display when it is imported.
    from gi.repository import GObject
    from gstopencl.keying import arguments, pipeline
    from gstopencl.launch import Value, build
    from gstopencl.view import keyarguments, keyoptions, keypipeline, properties
    from gstopencl.view.gtk import Gst

    Gst.init(None)
    check_names()
    check_defaults()
    check_values()
    os.chdir(folder)
    check_effects()
    check_picked_pixels()
    os.chdir("/")
print("as promised")
