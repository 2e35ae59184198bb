"""Pipelines of opencl-key: a picture, film or camera, its key, and the result over a background

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from ..launch import Value
from ..system import camera_source
from .arguments import colour_of, given, gray_key, settings_of
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
# Nothing lies between two levels. With MULTIPLIED=0 pixels are only copied, to other caps.
PREMULTIPLY = """
kernel void premultiply (global const PIXEL *input, global PIXEL *output, int input_width)
{
  const size_t at = get_global_id (1) * input_width + get_global_id (0);
  const uint4 straight = convert_uint4 (input[at]);
  const uint4 product = (straight * straight.w + MOST / 2) / MOST;
  output[at] = TO (MULTIPLIED ? (uint4)(product.xyz, straight.w) : straight);
}"""
KEYS = "auto-key", "auto-key-x", "auto-key-y", "auto-key-width", "auto-key-height", "key-color", \
    "key-colors"
SPILL = "spill", "spill-method", "spill-balance", "garbage-polygon"
SHAPE = "grow", "feather"
REPAIRS = {"fill": "0", "noise": "0", "flow": "0"}
REPAIRS_OF_DISTANCE = {"fill": "1", "noise": "5", "flow": "all"}
REPAIRS_OF_GRAY = {**REPAIRS_OF_DISTANCE, "flow": "0"}  # Shades of gray are no colours that end.


def decoded(name, path, film, interlaced=None):
    """Returns the frames of a file. `interlaced`: "keep" or None"""
    if film and film.copy:
        return [*film.copy.source(name), "! videoconvert"]
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
        film, has_key = self.films.get("file"), asked.screen != "none"  # Networks take 8 bits.
        self.is_deep = bool(film and film.is_deep and has_key and asked.background == "none"
                            and asked.output.lower().endswith((".png", ".mov")))
        self.frames = DEEP_FRAMES if self.is_deep or asked.matte and has_key else FRAMES
        self.width, self.is_gray = size[0], bool(gray_key(asked))
        # Tolerances times the saturation of gray would be 0.
        self.relative = f"relative={str(not self.is_gray).lower()}"

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
        if asked.file:
            source = decoded("file", asked.file, self.films.get("file"), asked.interlaced)
        else:
            source = [*camera_source("camera", asked.camera), "! decodebin ! videoconvert",
                      "! queue leaky=downstream max-size-buffers=2"]
        return [*source, *self.fitted("file", self.frames)]

    def fitted(self, name, frames=FRAMES):
        """Returns what makes the frames of a source those of the result, on the device."""
        film = self.films.get(name)
        # Telephones write films that are rotated or mirrored.
        return [f"! openclupload ! openclconvert name={name}_shown video-direction=auto !",
                *to_srgb(film and film.hdr, name, f",{self.size}"), f"{frames},{self.size}",
                RATE if film and not (film.is_still or film.has_rate) else ""]

    def background(self):
        colour = colour_of(self.asked.background)
        if colour is None:
            return decoded("background", self.asked.background, self.films.get("background"))
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
                branches += [*decoded(name, path, self.films.get(name)),
                             f"! video/x-raw,format=GRAY8 ! key.{name}"]
        if asked.matte:
            keyer += ["! tee name=keyed ! queue",
                      *[f"! openclconvert ! {FRAMES}"] * (not self.is_deep)]
        is_multiplied = asked.alpha == "premultiplied"
        if self.is_deep or is_multiplied:
            kind, most = ("ushort", 65535) if self.is_deep else ("uchar", 255)
            keyer += ["! openclkernel name=premultiply", Value("source", PREMULTIPLY),
                      Value("options", f"-DPIXEL={kind}4 -DTO=convert_{kind}4 -DMOST={most}u "
                            f"-DMULTIPLIED={int(is_multiplied)}")]
        if self.is_deep:  # pngenc takes no colours of 16 bits: four samples of gray for a pixel
            keyer += [Value("global-size", "width/4,height"),
                      f"! {ON_DEVICE},format=GRAY16_LE,width={4 * self.width}"]
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
            keyer = [f"chromakey name=key method=distance {self.relative}", *keys, self.tolerance(),
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
        return Value("tolerance", self.asked.tolerance or ("0.05" if self.is_gray else "0.2"))

    def repairs(self):
        """Returns what is done to a key that was made."""
        usual = REPAIRS if self.asked.method != "distance" \
            else REPAIRS_OF_GRAY if self.is_gray else REPAIRS_OF_DISTANCE
        fill, noise, flow = (given(self.asked, name) or value for name, value in usual.items())
        parts = []
        if (fill, noise) != ("0", "0"):
            parts.append(f"! noisereduce fill-iterations={int(fill)} iterations={int(noise)}")
        if flow != "0":
            # Zero of flowkey's own is to flow without end.
            parts += [f"! flowkey name=flow iterations={0 if flow == 'all' else int(flow)}"
                      f" {self.relative} auto-key=true", self.tolerance(),
                      Value("limit", self.asked.limit or "0.3")]
        if flow != "0" and noise != "0":
            parts.append(f"! noisereduce iterations={int(noise)}")
        return parts
