"""Arguments of opencl-key. The window has some of the options, too.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import os
import re

from ..system import CAMERA_HELP
from ..view.arguments import Parser, check_utf8, fault_of

PROGRAM = "opencl-key"
ABOUT = """\
Keys the picture or film FILE, and puts it over a background. Without FILE, keys a rendered person,
and writes the picture before and after: greenscreen-before.png, greenscreen.png.

With --screen none, no green screen is needed: a neural network finds the person. Without FILE, it
takes a portrait in the public domain (NASA, scikit-image of PyPI) and writes background.png."""
EXAMPLES = """\
docs/keying.md says how to choose the key, and has settings for some networks.

examples:
  opencl-key --key 0d5808 --background beach.jpg --output out.png actor.jpg
  opencl-key --camera /dev/video0 --background beach.webm
  opencl-key --screen none --background beach.jpg --output out.png portrait.jpg"""
PLATES = "adaptive|measured|frozen|none"
SWITCH = "true|false"  # that may be left out: true
# Options, each with a placeholder, or None for an option without a value, and help. The window has
# these, too.
SETTINGS = {
    "method": ("chroma|difference|distance", "keying method (difference)"),
    "similarity": ("VALUE", "0 … 2, chroma distance up to which pixels are transparent (0.08)"),
    "smoothness": ("VALUE", "0 … 2, from similarity to the distance of opaque pixels (0.95)"),
    "balance": ("VALUE", "0 … 1, what green is compared with: 0 the smaller of red and blue, 1 the "
                "larger (0.75)"),
    "tolerance": ("VALUE", "0 … 1, as similarity, with --method distance (0.025)"),
    "plate": (f"{PLATES}|FILE", "the screen's colour at each place (adaptive)"),
    "refine": (SWITCH, "edges follow luma, which is finer than chroma (true)"),
    "core": (SWITCH, "makes the interior of the foreground opaque (true)"),
    "spill": ("VALUE", "0 … 1, how much light of the screen is removed (1)"),
    "spill-method": ("unmix|limit|average|luminance-preserving", "how light of the screen is removed (unmix)"),
    "spill-balance": ("VALUE", "0 … 1, whether red or blue limits green, with --spill-method "
                      "average and luminance-preserving (0.5)"),
    "shadow": ("VALUE", "0 … 1, how much shadows on the screen darken the background (0)"),
    "key-colors": ("RRGGBB,…", "up to 8 further colours of the screen, such as that of tape"),
    "garbage-polygon": ("X,Y,X,Y,…", "corners of a polygon, 0 … 1 of width and height: what is "
                        "outside is keyed out"),
    "grow": ("PIXELS", "-64 … 64, moves edges outwards, or inwards if negative (0)"),
    "feather": ("PIXELS", "0 … 64, softens edges on both sides (0)"),
    "light-wrap": ("VALUE", "0 … 1, light of the background over the edges (0)"),
    "quiet": (SWITCH, "less flicker of edges that do not move (false)"),
    "mixing": ("auto|light|levels", "what was mixed at edges, and is keyed and blended: light by a "
               "lens, levels by many programs that draw. auto: levels if frames of pictures or of "
               "RGB films show that clearly (auto)"),
}
KEY = {
    "key": ("RRGGBB|screen", "the screen's colour, or the green or blue that is found (screen)"),
    "pick": ("X,Y", "the key is the mean of 9x9 pixels around this place of the first frame, in "
             "pixels of the result. The first frame of a camera may be dark: use --key for it"),
    **SETTINGS,
    "tolerance": ("VALUE", "0 … 1, up to where all is transparent, and the step that the key flows "
                  "over, with --method distance; times the key's saturation (0.2; for a grey key "
                  "the distance itself: 0.05)"),
    "fill": ("COUNT", "keys pixels amid keyed ones, in iterations (0; --method distance: 1)"),
    "noise": ("COUNT", "un-keys islands as small as noise (0; --method distance: 5)"),
    "flow": ("COUNT|all", "extends the key over even colour, in pixels (0; all with distance, but "
             "0 for a grey key)"),
    "limit": ("VALUE", "0 … 1, how far from the key in chroma it may flow, times the key's "
              "saturation (0.3; 0: anywhere)"),
    "garbage": ("FILE", "a picture of any size: white is keyed out"),
    "holdout": ("FILE", "a picture of any size: white stays as filmed"),
    "network": ("MODEL", "both mattes from a network that finds people: the key decides near their "
                "edge only. MODEL is \"selfie\", MediaPipe's of PyPI, or an ONNX file"),
}
NETWORK = {
    "model": ("FILE", "ONNX file of a matting network (MediaPipe's selfie segmentation of PyPI)"),
    "mean": ("LEVELS", "subtracted from red, green and blue, as 0.485,0.456,0.406"),
    "deviation": ("LEVELS", "divides red, green and blue after that"),
    "output-index": ("NUMBER", "output that is the matte (0)"),
    "channel": ("NUMBER", "channel of that output (0)"),
    "state": ("IN=OUT,…", "outputs that are inputs of the next frame (recurrent networks)"),
    "precision": ("float|half", "precision of the network's arithmetic (float)"),
}
RESULT = {
    "background": ("FILE|RRGGBB|none", "a picture, or a film: a shorter one keeps its last frame, "
                   "a longer one ends with FILE; a colour; or transparent, into .png, .mov (PNG) or "
                   ".mkv (FFV1, of the package gstreamer1.0-libav). Without: trees in autumn"),
    "output": ("FILE", ".png (of a film the first frame); .mp4, .webm, .mkv or .avi, with the "
               "sound of FILE; .mov, without loss; \"window\" (default: a window for films and "
               "cameras, a .png for a picture); or a virtual camera /dev/videoN, made by \"sudo "
               "modprobe v4l2loopback exclusive_caps=1 video_nr=N\""),
    "alpha": ("straight|premultiplied", "with --background none: colours as they are, or "
              "multiplied by alpha (straight)"),
    "matte": ("FILE", "also writes the matte in 16 bits: .png, .mov (PNG) or .mkv (FFV1); of a "
              "film, pictures with numbers, such as matte-%%05d.png"),
    "before": ("FILE.png", "also writes the first frame as it was filmed"),
    "size": ("WIDTHxHEIGHT", "size of the result (that of FILE)"),
    "device": ("DEVICE", "auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name"),
    "verbose": (None, "shows pipelines"),
}
INPUT = {"camera": ("DEVICE", f"a camera instead of FILE, {CAMERA_HELP}"),
         "interlaced": ("keep", "keys interlaced films as they are (they become progressive, with "
                        "a frame for each field)"),
         "screen": ("auto|none", "whether there is a screen (auto)")}
# Options that --help lists; --help-all lists all
COMMON = {"key", "pick", "smoothness", "spill", "grow", "light-wrap", "garbage-polygon", "holdout",
          "network", "screen", "camera", "background", "output", "size", "matte"}
GROUPS = {"input": INPUT, "key": KEY, "network of --screen none": NETWORK, "result": RESULT}

WHOLE, SHARE = "(0|[1-9][0-9]{0,8})", r"([0-9]+\.?[0-9]*|\.[0-9]+)"
UNIT = r"0?\.[0-9]+|[01](\.0*)?"
LEVELS = rf"-?{SHARE}([eE][-+]?[0-9]+)?"
GRAY = 8  # levels between the components of a key below which a soft key has no chroma to find
COLOUR = "#?[0-9a-fA-F]{6}"
TO_64 = "([0-9]|[1-5][0-9]|6[0-3])"
# Options, the pattern of their values, and the same in words. Others have words as the placeholder.
VALUES = (
    ("similarity smoothness balance tolerance spill spill-balance shadow limit", SHARE, "a number"),
    ("light-wrap", UNIT, "a number from 0 to 1"),
    ("garbage-polygon", f"({UNIT}),({UNIT})(,({UNIT}),({UNIT})){{2,}}",
     "X,Y,X,Y,… from 0 to 1, of at least three corners"),
    ("key-colors", f"{COLOUR}(,{COLOUR}){{0,7}}", "up to 8 colours RRGGBB with commas"),
    ("fill noise output-index channel", WHOLE, "a whole number"),
    ("flow", f"{WHOLE}|all", "a whole number or all"),
    ("key", f"{COLOUR}|screen", "RRGGBB or screen; for a corner, --pick X,Y of opencl-key"),
    ("pick", f"{WHOLE},{WHOLE}", "X,Y, such as 20,40"),
    ("grow", rf"-?({TO_64}(\.[0-9]+)?|64)", "a number of pixels up to 64"),
    ("feather", f"{TO_64}|64", "a number of pixels up to 64"),
    ("mean deviation", f"{LEVELS}(,{LEVELS})*", "numbers with commas between them"),
    ("size", "[1-9][0-9]{0,8}x[1-9][0-9]{0,8}", "WIDTHxHEIGHT, such as 640x360"),
    ("before", r"(?s:.)*\.png", ".png"),
    *((name, words, " or ".join(words.replace("|", ", ").rsplit(", ", 1)))
      for options in GROUPS.values() for name, (words, _) in options.items()
      if words and words != SWITCH and re.fullmatch("[a-z|-]+", words)),
)
# Options that name files, and the pattern of their values that do not
FILES = {"file": "", "background": f"none|{COLOUR}", "plate": PLATES, "garbage": "", "holdout": "",
         "network": "selfie", "model": ""}


def add_options(group, options, shown=None):
    for name, (value, text) in options.items():
        form = {"metavar": value} if value else {"action": "store_true", "default": None}
        if value == SWITCH:
            form |= {"nargs": "?", "const": "true", "choices": SWITCH.split("|")}
        names = ["--key", "--key-color"] if name == "key" else [f"--{name}"]
        group.add_argument(*names, **form,
                           help=text if name in (shown or options) else argparse.SUPPRESS)


def parser(shows_all=True):
    made = Parser(prog=PROGRAM, usage=f"{PROGRAM} [OPTION…] [FILE…]", description=ABOUT,
                  epilog=EXAMPLES)
    made.add_argument("files", nargs="*", metavar="FILE", help="picture or film; of several, or of "
                      "all in a folder, each goes to a file of its name in the folder --output")
    for title, options in GROUPS.items():
        add_options(made.add_argument_group(title), options, None if shows_all else COMMON)
    made.add_argument("--help-all", action="help", help="lists all options")
    return made


def parsed(words):
    """Returns the arguments, with None for options that were not given. Raises ValueError."""
    check_utf8(words)
    asked = parser("--help-all" in words).parse_args(words)
    is_one = len(asked.files) == 1 and not os.path.isdir(asked.files[0])
    asked.file = asked.files[0] if is_one else None
    for check in check_values, check_pairs, check_files:
        check(asked)
    asked.key, asked.method = asked.key or "screen", asked.method or "difference"
    return asked


def colour_of(text):
    """Returns 0xRRGGBB of the text RRGGBB, or None."""
    return int(text.lstrip("#"), 16) if re.fullmatch(COLOUR, text) else None


def gray_key(asked):
    """Returns the text of the first key without a hue: gray, black or white. Else None"""
    keys = [given(asked, "key") or "screen", *(given(asked, "key-colors") or "screen").split(",")]
    found = ((one, bytes.fromhex(one.lstrip("#"))) for one in keys if one != "screen")
    return next((one for one, levels in found if max(levels) - min(levels) < GRAY), None)


def given(asked, name):
    """Returns the value of an option, or None, also if the program does not have it."""
    return getattr(asked, name.replace("-", "_"), None)


def property_of(name, value):
    """Returns the value of an option as the text of the property of that name."""
    if name == "key-colors":
        value = ",".join(f"0xff{colour_of(one):06x}" for one in value.split(","))
    return f"<{value}>" if name in ("key-colors", "garbage-polygon") else value


def key_settings(asked):
    """Returns the properties of an option --key or --pick."""
    if given(asked, "pick"):
        # Four pixels before a position to four behind, in the frame
        column, row = asked.pick
        left, top = max(0, column - 4), max(0, row - 4)
        return [("auto-key", "rectangle"), ("auto-key-x", str(left)), ("auto-key-y", str(top)),
                ("auto-key-width", str(column + 5 - left)), ("auto-key-height", str(row + 5 - top))]
    colour = colour_of(asked.key or "screen")
    return [("auto-key", "screen")] if colour is None \
        else [("auto-key", "none"), ("key-color", f"0xff{colour:06x}")]


def settings_of(asked):
    """Returns the properties of greenscreenbin that options set, as pairs of a name and a text."""
    found = key_settings(asked)
    for name in SETTINGS:
        value = given(asked, name)
        if name == "plate" and value not in (None, *PLATES.split("|")) and os.path.isfile(value):
            found += [("plate", "file"), ("plate-location", value)]
        elif value is not None:
            found.append((name, property_of(name, value)))
    return found


def check_values(asked):
    for names, pattern, expected in VALUES:
        for name in names.split():
            value = given(asked, name)
            if value is not None and not re.fullmatch(pattern, value):
                raise ValueError(f"--{name} {value}: expected {expected}")


def check_pairs(asked):
    """Refuses options that have no effect beside others, or that contradict each other."""
    no_screen = asked.screen == "none"
    soft = ("similarity", "smoothness", "balance", "plate", "refine", "core", "shadow", "quiet",
            "mixing")
    for holds, other, names in (
        (no_screen, "with --screen none", KEY),
        (not no_screen, "without --screen none", NETWORK),
        (asked.method == "distance", "with --method distance", soft),
        (asked.method == "chroma", "with --method chroma", ["balance"]),
        (asked.background == "none", "with --background none", ["light-wrap"]),
        (asked.background != "none", "without --background none", ["alpha"]),
    ):
        for name in names if holds else ():
            if given(asked, name) is not None:
                raise ValueError(f"--{name}: no effect {other}")
    for one, other in (("pick", "key"), ("network", "garbage"), ("network", "holdout"),
                       ("before", "camera"), ("camera", "file")):
        if given(asked, one) and given(asked, other):
            named = "" if other == "file" else f"--{other} "
            raise ValueError(f"--{one} {given(asked, one)}: beside {named}{given(asked, other)}")
    if gray_key(asked) and not no_screen and asked.method != "distance":
        raise ValueError(f"{gray_key(asked)}: a grey key has no hue for soft methods to find; "
                         "--method distance keys it")
    # These extend the key over pixels that a matte holds out.
    if (asked.network or asked.holdout) and (
            asked.method == "distance" or {asked.fill, asked.flow} - {None, "0"}):
        raise ValueError("--holdout and --network: not with --method distance, --fill or --flow")


def check_files(asked):
    for name, others in FILES.items():
        path = given(asked, name)
        if path is not None and not re.fullmatch(others, path) and fault_of(path):
            if name == "plate":
                raise ValueError(f"--plate {path}: expected {PLATES.replace('|', ', ')} or a file")
            more = ", and no colour such as ff0000, or none" if name == "background" else ""
            option = "FILE" if name == "file" else f"--{name}"
            raise ValueError(f"{option} {path}: {fault_of(path)}{more}")
