"""Pipelines of opencl-key: a picture, film or camera, its key, and the result over a background

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from ..launch import Value
from .arguments import colour_of, given, settings_of
from .hdr import to_srgb

ON_DEVICE = "video/x-raw(memory:OpenCLMemory)"
FRAMES = f"{ON_DEVICE},format=RGBA"
DEEP_FRAMES = f"{ON_DEVICE},format=RGBA64_LE"
# For films that name no frame rate. Muxers need one for the length of the last frame.
RATE = f"! capssetter caps=\"{ON_DEVICE},framerate=60/1\""
# The matte in 16 bits, of frames of the tee "keyed". Its file must not wait for that of the result.
DEEP_MATTE = ("keyed. ! queue ! openclconvert alpha-only=true"
              f" ! {ON_DEVICE},format=GRAY16_LE ! opencldownload ! videoconvert"
              " ! video/x-raw,format={GRAY16_LE,GRAY16_BE} !")
# The largest product is below 65536, and nothing lies between two levels.
PREMULTIPLY = """
kernel void premultiply (global const uchar4 *input, global uchar4 *output, int width)
{
  const size_t at = get_global_id (1) * width + get_global_id (0);
  const ushort4 straight = convert_ushort4 (input[at]);
  const ushort4 product = (straight * straight.w + (ushort) 127) / (ushort) 255;
  output[at] = (uchar4)(convert_uchar3 (product.xyz), input[at].w);
}"""
KEYS = "auto-key", "auto-key-x", "auto-key-y", "auto-key-width", "auto-key-height", "key-color", \
    "key-colors"
SPILL = "spill", "spill-method", "spill-balance", "garbage-polygon"
SHAPE = "grow", "feather"
REPAIRS = {"fill": "0", "noise": "0", "flow": "0"}
REPAIRS_OF_DISTANCE = {"fill": "1", "noise": "5", "flow": "all"}


def decoded(name, path, interlaced=None):
    """Returns the frames of a file. `interlaced`: "keep" or None"""
    frames = "" if interlaced == "keep" else " ! deinterlace"
    return [f"filesrc name={name}", Value("location", path),
            f"! decodebin name={name}_frames ! videoconvert{frames}"]


class Keying:
    """Parts of launch lines, for launch.build ()

    asked: the arguments
    size: width and height of the result in pixels
    is_still: whether the input is a picture
    films: what is known of "file" and "background", a Film or None"""

    def __init__(self, asked, size, is_still, films=None):
        self.asked, self.is_still, self.films = asked, is_still, films or {}
        self.size = f"width={size[0]},height={size[1]},pixel-aspect-ratio=1/1"
        self.is_soft = asked.method != "distance" and asked.screen != "none"
        # Networks take 8 bits.
        self.frames = DEEP_FRAMES if asked.matte and asked.screen != "none" else FRAMES

    def options(self, *names):
        """Returns the values of options that have the names of properties."""
        values = ((name, given(self.asked, name)) for name in names)
        return [Value(name, value) for name, value in values if value is not None]

    def key_options(self, *names):
        """Returns the values of these properties of greenscreenbin that options set."""
        return [Value(*pair) for pair in settings_of(self.asked) if pair[0] in names]

    def filmed(self):
        """Returns frames before keying. The decoder of a file is "file_frames"."""
        asked = self.asked
        source = [
            "v4l2src name=camera", Value("device", asked.camera), "! decodebin ! videoconvert"
            " ! queue leaky=downstream max-size-buffers=2"]
        if asked.file:
            source = decoded("file", asked.file, asked.interlaced)
        return [*source, *self.fitted("file", self.frames)]

    def fitted(self, name, frames=FRAMES):
        """Returns what makes the frames of a source those of the result, on the device."""
        film = self.films.get(name)
        # Telephones write films that are rotated or mirrored.
        return ["! openclupload ! openclconvert video-direction=auto !",
                *to_srgb(film and film.hdr, name, f",{self.size}"), f"{frames},{self.size}",
                RATE if film and not (film.is_still or film.has_rate) else ""]

    def background(self):
        colour = colour_of(self.asked.background)
        if colour is None:
            return decoded("background", self.asked.background)
        return ["videotestsrc name=background num-buffers=1 pattern=solid-color",
                Value("foreground-color", str(0xff000000 | colour)),
                "! video/x-raw,format=RGBA,width=1,height=1,framerate=1/1"]

    def keyed(self):
        """Returns the result, in host memory."""
        asked = self.asked
        keyer = self.network() if asked.screen == "none" else self.keyer()
        branches = []
        for name, path in ("garbage", asked.garbage), ("holdout", asked.holdout):
            if path:
                branches += [*decoded(name, path), f"! video/x-raw,format=GRAY8 ! key.{name}"]
        if asked.matte:
            keyer += [f"! tee name=keyed ! queue ! openclconvert ! {FRAMES}"]
        if asked.alpha == "premultiplied":
            keyer += ["! openclkernel name=premultiply", Value("source", PREMULTIPLY)]
        if asked.background != "none":
            front, behind = ("sink_1", "sink_0") if self.is_still else ("sink", "background_0")
            keyer += [f"! queue ! result.{front}", *self.background(), *self.fitted("background"),
                      f"! queue ! result.{behind}", *self.compositor()]
        return [*branches, *self.filmed(), "!", *keyer, "! opencldownload ! videoconvert !"]

    def compositor(self):
        # Networks learn from pictures whose levels were mixed.
        is_light = self.is_soft and self.asked.mixing != "levels"
        linear = Value("linear", str(is_light).lower())
        if not self.is_still:  # Frames keep their times, even and uneven ones.
            return ["keyfill name=result method=composite", *self.options("light-wrap"), linear]
        # A picture keeps its frame until a film behind it has ended.
        wrap = float(self.asked.light_wrap or 0)
        return ["openclcompositor name=result sink_0::zorder=0 sink_1::zorder=1"
                f" sink_1::repeat-after-eos=true sink_1::light-wrap={wrap}", linear]

    def network(self):
        deep = f"! openclconvert ! {DEEP_FRAMES} " if self.asked.matte else ""
        return ["openclinference name=network output=alpha",
                Value("model-file", self.asked.model), *self.options(
                    "mean", "deviation", "output-index", "channel", "state", "precision"),
                f"{deep}! matterefine"]

    # The key

    def keyer(self):
        """Returns the elements that make the key."""
        if self.asked.method == "distance":
            # The key flows over colours as they were filmed: spill comes last.
            keys = self.key_options(*KEYS)
            keyer = ["chromakey name=key method=distance relative=true", *keys, self.tolerance(),
                     *self.repairs(), "! chromakey name=spill tolerance=0 spill=1", *keys,
                     *self.key_options(*SPILL)]
        else:
            keyer = [*self.soft_key(self.asked.network), *self.repairs()]
        shape = self.options(*SHAPE)
        return [*keyer, "! matteshape name=shape", *shape] if shape else keyer

    def judged(self):
        """Returns frames with a soft key that tells how they were mixed."""
        return [*self.filmed(), "!", *self.soft_key()]

    def soft_key(self, model=None):
        """Returns greenscreenbin, which leaves the background to elements behind the repairs."""
        return [f"greenscreenbin name=key background-color=0 {'screen=auto' if model else ''}"
                f" input::caps=\"{self.frames}\"",
                *[Value("model-file", model)] * bool(model),
                *[Value(name, value) for name, value in settings_of(self.asked)
                  if name not in (*SHAPE, "light-wrap")],
                f"! {self.frames}"]

    def tolerance(self):
        return Value("tolerance", self.asked.tolerance or "0.2")

    def repairs(self):
        """Returns what is done to a key that was made."""
        usual = REPAIRS_OF_DISTANCE if self.asked.method == "distance" else REPAIRS
        fill, noise, flow = (given(self.asked, name) or value for name, value in usual.items())
        parts = []
        if (fill, noise) != ("0", "0"):
            parts.append(f"! noisereduce fill-iterations={int(fill)} iterations={int(noise)}")
        if flow != "0":
            # Zero of flowkey's own is to flow without end.
            parts += [f"! flowkey name=flow iterations={0 if flow == 'all' else int(flow)}"
                      " relative=true auto-key=true", self.tolerance(),
                      Value("limit", self.asked.limit or "0.3")]
        if flow != "0" and noise != "0":
            parts.append(f"! noisereduce iterations={int(noise)}")
        return parts
