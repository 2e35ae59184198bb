#!/usr/bin/env python3
"""Promise: chromakey, greenscreenbin, opencl-key and opencl-view --key have the same options with
the same names, defaults and values. Exceptions are listed with their reasons.

usage: keyoptions.py

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import re

from xscreen import screen

# Properties of chromakey that are no options of the programs
NO_OPTIONS = {
    "plate-location": "--plate FILE sets it",
    "key-color": "--key sets it, which --key-color means, too", "auto-key": "--key sets it",
    "auto-key-x": "--pick sets it, and the window picks colours", "auto-key-y": "as auto-key-x",
    "auto-key-width": "as auto-key-x", "auto-key-height": "as auto-key-x",
    "relative": "tolerances of opencl-key are always relative",
    "channel": "for drawn pictures; --channel is that of a network",
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
OWN_DEFAULTS = {"method": "difference", "auto-key": "screen", "core": "true", "subject": "true",
                "spill": "1", "linear": "true", "auto-linear": "true"}
# Options of opencl-key with another default than the property
OTHER_DEFAULTS = {"tolerance": "is relative to the key's saturation"}
# Values of all options that both programs have, and as the property gives them
VALUES = {
    "method": ("chroma", "chroma"), "similarity": ("0.3", "0.3"), "smoothness": ("0.7", "0.7"),
    "balance": ("0.25", "0.25"), "tolerance": ("0.5", "0.5"), "plate": ("frozen", "frozen"),
    "refine": ("false", "false"), "core": ("false", "false"), "subject": ("false", "false"),
    "spill": ("0.5", "0.5"), "spill-method": ("limit", "limit"), "spill-balance": ("1", "1"),
    "shadow": ("0.75", "0.75"), "quiet": ("true", "true"), "auto-linear": ("false", "false"),
    "key-colors": ("2040c0,#30B060", f"<{0xff2040c0}, {0xff30b060}>"),
    "garbage-polygon": ("0,0,1,.5,0.5,1.0", "<0, 0, 1, 0.5, 0.5, 1>"), "grow": ("-2", "-2"),
    "feather": ("3", "3"), "light-wrap": ("0.5", "0.5"),
}


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
    asked = keyarguments.parser().parse_args([*words, __file__])
    return keypipeline.pipeline_of(
        keypipeline.words_of(keypipeline.DEMO, keyarguments.settings_of(asked)))[0]


def value_in(made, name):
    """Returns the value of the property of an element that has it, of the key first."""
    elements = [made.get_by_name("key"), made.get_by_name("result")]
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
    for parser in arguments.parser(), keyarguments.parser():
        options = options_of(parser)
        assert wanted <= options, (parser.prog, wanted - options)
        assert {"key", "key-color", "background", "light-wrap", "grow", "feather"} <= options
    assert not set(NO_PROPERTIES) & set(one)
    assert set(arguments.KEY) - set(NO_PROPERTIES) == set(arguments.SETTINGS)
    assert set(arguments.SETTINGS) <= set(one), set(arguments.SETTINGS) - set(one)


def check_defaults():
    by_script, by_window = script().get_by_name("key"), window().get_by_name("key")
    one = values_of(made("greenscreenbin"))
    for name, value in values_of(by_script).items():
        assert value == one[name], (name, value, one[name])
    for name, value in values_of(by_window).items():
        assert value == one[name], (name, value, one[name])
    for name, (_, text) in arguments.SETTINGS.items():
        stated = re.findall(r"\(([^()]+)\)", text)
        if name not in ("key-colors", "garbage-polygon"):
            assert stated and stated[-1] == one[name], (name, text, one[name])
    assert set(OTHER_DEFAULTS) == {name for name, option in arguments.KEY.items()
                                   if option != arguments.SETTINGS.get(name, option)}


def check_values():
    missing = set(VALUES) ^ set(arguments.SETTINGS)
    assert missing == {"linear"}, missing
    for name, (text, value) in VALUES.items():
        words = [f"--{name}", text, *(["--method", "distance"] if name == "tolerance" else [])]
        for program in script, window:
            assert value_in(program(*words), name) == value, (program, words)
    for words, value in (("--linear",), "true"), (("--linear", "false"), "false"):
        for program in script, window:
            assert value_in(program(*words), "linear") == value, (program, words)


with screen():
    # GTK connects to the display when it is imported.
    from gi.repository import GObject
    from gstopencl.keying import arguments, pipeline
    from gstopencl.launch import build
    from gstopencl.view import keyarguments, keypipeline, properties
    from gstopencl.view.gtk import Gst

    Gst.init(None)
    check_names()
    check_defaults()
    check_values()
print("as promised")
