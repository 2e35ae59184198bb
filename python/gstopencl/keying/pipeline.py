"""Pipelines of opencl-key: a picture, film or camera, its key, and the result over a background

Their text is constant, but for whole numbers. What a user wrote, such as a name, is set afterwards.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import shlex

from .arguments import colour_of, given
from .gst import GObject, Gst

FRAMES = "video/x-raw(memory:OpenCLMemory),format=RGBA"
DECODED = "filesrc name={0} ! decodebin name={0}_frames ! videoconvert"
CAMERA = ("v4l2src name=camera ! decodebin ! videoconvert"
          " ! queue leaky=downstream max-size-buffers=2 ! openclupload")
COLOUR = ("videotestsrc name=background num-buffers=1 pattern=solid-color"
          " ! video/x-raw,format=RGBA,width=1,height=1,framerate=1/1 ! openclupload")
NETWORK = "openclinference name=network output=alpha"
TO_MATTE = ("openclconvert alpha-only=true ! video/x-raw(memory:OpenCLMemory),format=GRAY8"
            " ! openclkernel expression=\"clamp(10 * x - 8.5, 0, 1)\"")
# Garbage begins a twentieth of the width outside of people, since a network does not see single
# hairs. Holdout begins a tenth inside, since a network fills gaps between hair and neck. Between the
# two, and where the network is not sure, the key decides.
MATTES = (f"frames. ! queue ! openclconvert ! {FRAMES},width=512,pixel-aspect-ratio=1/1 ! {NETWORK}"
          " ! tee name=people"
          f" people. ! queue ! matteshape grow=25 feather=8 invert=true ! {TO_MATTE} ! key.garbage"
          f" people. ! queue ! matteshape grow=-50 feather=8 ! {TO_MATTE} ! key.holdout")
REPAIRS = {"fill": "0", "noise": "0", "flow": "0"}
REPAIRS_OF_DISTANCE = {"fill": "1", "noise": "5", "flow": "all"}


class Keying:
    """Text of a pipeline, and values that are set afterwards, from the name of an element to those
    of its properties

    asked: the arguments
    size: width and height of the result in pixels
    is_still: whether the input is a picture"""

    def __init__(self, asked, size, is_still):
        self.asked, self.is_still = asked, is_still
        self.caps = f"{FRAMES},width={size[0]},height={size[1]},pixel-aspect-ratio=1/1"
        self.values = {}

    def use(self, name, values):
        """Sets properties of an element, but those that are None."""
        self.values.setdefault(name, {}).update(
            {key: value for key, value in values.items() if value is not None})

    def options(self, names):
        """Returns properties that have the names of options."""
        return {name: given(self.asked, name) for name in names}

    def decoded(self, name, path):
        self.use(name, {"location": path})
        return DECODED.format(name)

    def filmed(self):
        """Returns the text of frames before keying. The decoder of a file is "file_frames"."""
        if self.asked.camera:
            self.use("camera", {"device": self.asked.camera})
            return f"{CAMERA} ! openclconvert ! {self.caps}"
        return f"{self.decoded('file', self.asked.file)} ! openclupload ! openclconvert ! {self.caps}"

    def background(self):
        colour = colour_of(self.asked.background)
        if colour is None:
            return f"{self.decoded('background', self.asked.background)} ! openclupload"
        self.use("background", {"foreground-color": 0xff000000 | colour})
        return COLOUR

    def keyed(self):
        """Returns the text of the result, in host memory."""
        asked = self.asked
        keyer = self.network() if asked.screen == "none" else self.keyer()
        branches = "".join(f"{self.decoded(name, path)} ! video/x-raw,format=GRAY8 ! key.{name} "
                           for name, path in self.options(("garbage", "holdout")).items() if path)
        if asked.network:
            self.use("network", {"model-file": asked.network})
            keyer, branches = f"tee name=frames ! queue ! {keyer}", f"{MATTES} "
        text = f"{branches}{self.filmed()} ! {keyer}"
        if asked.background != "none":
            text += f" ! queue ! result.sink_1 {self.background()} ! openclconvert ! {self.caps}" \
                    f" ! queue ! result.sink_0 {self.compositor()}"
        return f"{text} ! opencldownload ! videoconvert"

    def compositor(self):
        self.use("result", {"linear": self.asked.linear,
                            "sink_1::light-wrap": given(self.asked, "light-wrap")})
        # Which of the two keeps its last frame until the other has ended: a picture before a film,
        # else the background. An aggregator of which all pads do so never ends.
        return ("openclcompositor name=result sink_0::zorder=0 sink_1::zorder=1"
                f" sink_{int(self.is_still)}::repeat-after-eos=true")

    def network(self):
        asked = self.asked
        self.use("network", {
            "model-file": asked.model, "mean": asked.mean and f"<{asked.mean}>",
            "deviation": asked.deviation and f"<{asked.deviation}>",
            **self.options(("output-index", "channel", "state", "precision"))})
        return f"{NETWORK} ! matterefine"

    # The key

    def source_of_key(self):
        """Returns the properties of chromakey that say where the key comes from."""
        if self.asked.pick:
            return {"auto-key": "rectangle", **self.around(*self.asked.pick)}
        colour = colour_of(self.asked.key)
        return {"auto-key": self.asked.key} if colour is None \
            else {"auto-key": "none", "key-color": 0xff000000 | colour}

    @staticmethod
    def around(column, row):
        """Returns the rectangle from four pixels before a position to four behind, in the frame."""
        left, top = max(0, column - 4), max(0, row - 4)
        return {"auto-key-x": left, "auto-key-width": column + 5 - left,
                "auto-key-y": top, "auto-key-height": row + 5 - top}

    def keyer(self):
        """Returns the text of the elements that make the key."""
        asked, source = self.asked, self.source_of_key()
        self.use("key", {**source, "method": asked.method})
        if asked.method == "distance":
            # The key flows over colours as they were filmed: spill comes last.
            self.use("key", {"relative": True, "tolerance": asked.tolerance or 0.2})
            self.use("spill", {**source, "spill": asked.spill or 1})
            text = f"chromakey name=key{self.repairs()} ! chromakey name=spill tolerance=0"
        else:
            self.use("key", {"spill": asked.spill or 1, **self.plate(), **self.options(
                ("similarity", "smoothness", "balance", "quiet", "linear"))})
            text = f"chromakey name=key core=true subject=true{self.repairs()}"
        shape = self.options(("grow", "feather"))
        if any(shape.values()):
            self.use("shape", shape)
            text += " ! matteshape name=shape"
        return text

    def plate(self):
        plate = self.asked.plate
        if plate in (None, "adaptive", "measured", "frozen", "none"):
            return {"plate": plate}
        return {"plate": "file", "plate-location": plate}

    def repairs(self):
        """Returns the text of what is done to a key that was made."""
        usual = REPAIRS_OF_DISTANCE if self.asked.method == "distance" else REPAIRS
        fill, noise, flow = (given(self.asked, name) or value for name, value in usual.items())
        text = ""
        if (fill, noise) != ("0", "0"):
            text = f" ! noisereduce fill-iterations={int(fill)} iterations={int(noise)}"
        if flow == "0":
            return text
        self.use("flow", {"tolerance": self.asked.tolerance or 0.2, "limit": self.asked.limit or 0.3})
        # Zero of flowkey's own is to flow without end.
        text += f" ! flowkey name=flow iterations={0 if flow == 'all' else int(flow)}" \
                " relative=true auto-key=true"
        return text if noise == "0" else f"{text} ! noisereduce iterations={int(noise)}"


def takes_number(element, name, value):
    """Returns whether a property is a number. Raises ValueError if it does not take this one."""
    spec = element.find_property(name)
    if not hasattr(spec, "minimum"):
        return False
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"--{name} {value}: expected a number") from None
    if not spec.minimum <= number <= spec.maximum:
        raise ValueError(f"--{name} {value}: expected {spec.minimum:g} to {spec.maximum:g}")
    return True


def set_value(element, path, value):
    """Sets a property of an element, or of its pad: "PAD::PROPERTY". Names are set as they are."""
    pad, _, name = path.rpartition("::")
    owner = element.get_static_pad(pad) if pad else element
    takes_number(owner, name, value)
    if isinstance(value, str) and owner.find_property(name).value_type != GObject.TYPE_STRING:
        Gst.util_set_object_arg(owner, name, value)
    else:
        owner.set_property(name, value)


def pipeline_of(text, values):
    """Returns the pipeline of a constant text. values: as in Keying"""
    pipeline = Gst.parse_launch(text)
    for name, properties in values.items():
        for path, value in properties.items():
            set_value(pipeline.get_by_name(name), path, value)
    return pipeline


def command_of(text, values):
    """Returns a command that plays the same where the elements are found."""
    words = []
    for word in shlex.split(text):
        words.append(word)
        of_element = values.get(word[len("name="):], {}) if word.startswith("name=") else {}
        for path, value in of_element.items():
            quoted = str(value).replace("\\", "\\\\").replace('"', '\\"')
            words.append(f'{path}="{quoted}"')
    return shlex.join(["gst-launch-1.0", *words]).replace(" '!' ", " ! ")
