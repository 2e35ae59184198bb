#!/usr/bin/env python3
"""Promises: each option of greenscreen.sh changes the picture as its help says, or is refused.
Names are data. Mattes have 16 bits. Films keep the sound of the source, and alpha without loss. A
virtual camera gets YUY2 frames. A picture without a screen fails, and so does a window without a display.

Pictures are 161x97 pixels: a green screen and a grey square.

usage: greenscreen_options.py GREENSCREEN.SH BUILD-FOLDER [CHECK …]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import base64
import os
import pathlib
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile

import numpy as np

SCRIPT = pathlib.Path(sys.argv[1]).resolve()
os.environ["GST_OPENCL_BUILD"] = str(pathlib.Path(sys.argv[2]).resolve())
BUILD = pathlib.Path(os.environ["GST_OPENCL_BUILD"])
sys.path.insert(0, str(SCRIPT.parent.parent / "tools"))
import gi  # noqa: E402
import onnxwriter  # noqa: E402

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

WIDTH, HEIGHT = 161, 97
GREEN, GREY, WHITE, BLUE = (16, 160, 48), (64, 64, 64), (255, 255, 255), (32, 64, 192)
ROWS = slice(None)
SQUARE = slice(16, 80), slice(48, 112)  # rows, columns
INSIDE = 48, 80  # row, column
FAR = 5, 5
HAS_FFV1 = not subprocess.run(["gst-inspect-1.0", "--exists", "avenc_ffv1"], check=False).returncode


def run(*options, **environment):
    print(SCRIPT.name, *options, flush=True)
    return subprocess.run(
        [SCRIPT, *map(str, options)], capture_output=True, text=True, timeout=100, check=False,
        env=os.environ | environment,
    )  # fmt: skip


def made(*options, **environment):
    done = run(*options, **environment)
    assert done.returncode == 0, (options, done.stderr)
    return done.stderr


def refused(reason, *options):
    done = run("--output", "refused.png", *options)
    assert done.returncode == 2 and reason in done.stderr, (options, done.stderr)
    assert not os.path.exists("refused.png")


def launched(pipeline):
    subprocess.run(["gst-launch-1.0", "-q", *shlex.split(pipeline)], check=True, timeout=100)


def picture(color=GREEN, square=GREY):
    frame = np.full((HEIGHT, WIDTH, 3), color, np.uint8)
    frame[SQUARE] = square
    return frame


def encode(path, frames, kind, encoder, more=""):
    """Writes frames of bytes, 25 a second. GStreamer pads rows to four bytes."""
    count, height, width = frames.shape[:3]
    rows = frames.reshape(count, height, -1)
    np.pad(rows, ((0, 0), (0, 0), (0, -rows.shape[2] % 4))).tofile(path + ".raw")
    launched(
        f"filesrc location={path}.raw ! rawvideoparse format={kind} width={width} height={height}"
        f" framerate=25/1 ! {encoder} ! filesink location={path} {more}"
    )


def write_png(path, frame):
    """Writes RGB or grey levels."""
    encode(path, frame[None], "gray8" if frame.ndim == 2 else "rgb", "pngenc")


def write_film(path, frames, sound=""):
    """Writes a film without loss."""
    encode(path, np.stack(frames), "rgb", "videoconvert ! pngenc ! qtmux name=film", sound)


def decoded(path, stream="video_0"):
    """Returns a launch line of one stream of a file. decodebin of GStreamer 1.22 at times hangs on
    a second one that is not linked, and with "caps" refuses decoders of gstreamer1.0-libav."""
    demuxer = {"png": "", "avi": "avidemux", "mp4": "qtdemux", "mov": "qtdemux"}.get(
        path.rsplit(".", 1)[-1], "matroskademux")
    return f"filesrc location={path} ! " \
        + (f"{demuxer} name=file file.{stream} ! " if demuxer else "") + "queue ! decodebin"


def pixels(path, width=WIDTH):
    """Returns the frames of a file as RGBA."""
    launched(
        f"{decoded(path)} ! videoconvert ! video/x-raw,format=RGBA ! filesink location={path}.rgba"
    )
    frames = np.fromfile(path + ".rgba", np.uint8).astype(int)
    return frames.reshape(-1, HEIGHT // 2 * 2 if width % 2 == 0 else HEIGHT, width, 4)


def keyed(*options, path="square.png"):
    """Returns the first frame of a picture, or all of a film, keyed over nothing."""
    output = "keyed.png" if path.endswith(".png") else "keyed.mov"
    made("--background", "none", "--output", output, *options, path)
    frames = pixels(output)
    return frames[0] if path.endswith(".png") else frames


def over(background, *options, path="square.png"):
    made("--background", background, "--output", "over.png", *options, path)
    return pixels("over.png")[0][..., :3]


def near(color, other, tolerance=2):
    return np.abs(np.asarray(color)[..., :3] - np.asarray(other)[..., :3]).max() <= tolerance


def check_pick():
    """A screen of two colours, neither of them green, of which the picked one is keyed."""
    frame = picture((200, 20, 40))
    frame[:, 112:] = (110, 40, 200)
    write_png("two.png", frame)
    for method in ("difference", "--plate", "none"), ("distance", "--flow", 0):
        for place, left, right in ("3,2", 0, 255), ("160,96", 255, 0):
            alpha = keyed("--pick", place, "--method", *method, path="two.png")[..., 3]
            assert (alpha[FAR], alpha[INSIDE], alpha[90, 150]) == (left, 255, right), (place, alpha)
    # The mean of 5x5 dark pixels and 38 light ones, which only the patch has: 7x9 pixels at the edge
    frame = picture((180, 40, 200))
    frame[:5, :5] = (80, 40, 100)
    frame[60:, 120:] = (140, 40, 160)  # (25 * 80 + 38 * 180) / 63, (25 * 100 + 38 * 200) / 63
    write_png("corner.png", frame)
    alpha = keyed("--pick", "2,4", "--method", "distance", "--flow", 0, "--fill", 0, "--noise", 0,
                  "--tolerance", 0.02, path="corner.png")[..., 3]  # fmt: skip
    assert not alpha[60:, 120:].any() and alpha[:60].all(), alpha
    refused("--pick 161,0: outside of 161x97 pixels", "--pick", "161,0", "two.png")
    refused("--pick 3: expected X,Y", "--pick", 3, "two.png")
    refused("--pick 3,3: beside --key screen", "--pick", "3,3", "--key", "screen", "two.png")


def light_of(levels):
    share = np.asarray(levels) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def levels_of(light):
    return 255 * np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


LIGHT, LEVELS = ("--mixing", "light"), ("--mixing", "levels")


def check_linear():
    """Edges of 12 columns between green and light grey, mixed as levels, which --mixing auto finds,
    over blue"""
    frame = picture(square=(230, 230, 230))
    share = ((np.arange(12) + 0.5) / 12)[:, None]
    left = np.round(share * 230 + (1 - share) * GREEN)
    frame[2:94, 40:120] = np.concatenate((left, np.full((56, 3), 230), left[::-1]))
    write_png("soft.png", frame)
    edge = 48, slice(38, 58)
    shown = {}
    for options in (), LIGHT:
        key = keyed(*options, path="soft.png")[edge]
        alpha = shown[options] = key[:, 3:] / 255
        levels = alpha * key[:, :3] + (1 - alpha) * BLUE
        light = levels_of(alpha * light_of(key[:, :3]) + (1 - alpha) * light_of(BLUE))
        expected, other = (levels, light) if options == () else (light, levels)
        got = over("2040c0", *options, path="soft.png")[edge]
        assert near(got, expected, 1) and not near(got, other, 20), (options, got)
    # Half of the levels is less light.
    assert shown[()][7] - shown[LIGHT][7] > 0.15, shown


def disc(at, mixes_light, size=1):
    """A disc before a green screen, with an edge of six pixels and noise"""
    rows, columns = np.indices((HEIGHT // size, WIDTH // size))
    part = np.clip((30 - np.hypot(size * columns - at, size * rows - 48)) / 6 + 0.5, 0, 1)[..., None]
    screen, skin = (59, 162, 69), (224, 172, 140)
    mixed = levels_of(part * light_of(skin) + (1 - part) * light_of(screen)) if mixes_light \
        else part * skin + (1 - part) * screen
    noise = np.random.default_rng(at).normal(0, 1, mixed.shape)
    return np.clip(mixed + noise, 0, 255).round().astype(np.uint8)


def check_mixing():
    """A film of mixed light is light in each coding and size. An RGB film is levels if three frames show
    that, and a film of YUV never."""
    png, h264 = "videoconvert ! pngenc ! qtmux", "openh264enc bitrate=300000 ! h264parse ! qtmux"
    codings = {"jpeg.avi": "videoconvert ! video/x-raw,format=I420 ! jpegenc ! avimux",
               "vp8.webm": "videoconvert ! vp8enc ! webmmux",
               "h264.mov": f"videocrop right=1 bottom=1 ! videoconvert ! {h264}"}
    if not Gst.ElementFactory.find("openh264enc"):
        print("openh264enc is missing: H.264 is not tested")
        del codings["h264.mov"]

    def decided(path, mixes_light, encoder, size=1, discs=(60, 70, 80, 90), empty=0):
        frames = [disc(at, mixes_light, size) for at in discs] + [disc(999, True, size)] * empty
        encode(path, np.stack(frames), "rgb", encoder)
        return re.search(", mixed as ([a-z]+)\n", made("--output", "mixed.png", path))[1]

    for mixes_light in True, False:
        for path, encoder in codings.items():
            assert decided(path, mixes_light, encoder) == "light", path
    for size in 1, 2:
        assert decided("rgb.mov", True, png, size) == "light", size
    assert decided("rgb.mov", False, png) == "levels"
    assert decided("two.mov", False, png, 1, (60, 90), 6) == "light"
    for mixing in "light", "levels":
        assert f", mixed as {mixing}\n" in made("--mixing", mixing, "--output", "mixed.png", "two.mov")
    for removed in "--linear", "--auto-linear=false":
        refused("use --mixing", removed, "two.mov")


def check_plate_of_a_file():
    steps = picture((12, 80, 32))
    steps[:, 80:] = (40, 192, 80)
    write_png("empty.png", steps)
    steps[SQUARE] = GREY
    write_png("steps.png", steps)
    for plate, alpha in ("adaptive", 150), ("empty.png", 0):
        got = keyed("--key", "28c050", "--plate", plate, "--core", "false", *LEVELS,
                    path="steps.png")
        assert abs(got[5, 5, 3] - alpha) <= 20 and got[INSIDE][3] == 255, (plate, got[5])


def check_shape():
    """The left edge is before column 48."""
    for options, opaque, clear in (
        (("--grow", -4), 52, 51), (("--grow", 4, "--method", "distance"), 44, 43),
    ):  # fmt: skip
        alpha = keyed(*options)[48, :, 3]
        assert (alpha[opaque], alpha[clear]) == (255, 0), (options, alpha)
    alpha = keyed("--feather", 4)[48, :, 3]
    assert alpha[43] == 0 < alpha[44] < 30 and 225 < alpha[51] < alpha[52] == 255, alpha
    assert (np.diff(alpha[40:56]) >= 0).all() and abs(alpha[47] + alpha[48] - 255) <= 2, alpha
    refused("--grow 65: expected a number of pixels up to 64", "--grow", 65)
    refused("--feather -1: expected a number of pixels", "--feather", -1)


def check_light_wrap():
    without, wrapped = (over("ffffff", "--light-wrap", value, *LEVELS) for value in (0, 1))
    assert near(without[48, 48:112], GREY) and near(wrapped[INSIDE], GREY)
    edge = wrapped[48, 48:56, 0]
    # Half of the light at the edge, screened: 64 + 0.5 * 191
    assert abs(edge[0] - 159.5) < 10 and (np.diff(edge) < 0).all(), edge
    refused("--light-wrap: no effect with --background none", "--light-wrap", 1, "--background", "none")


def check_mattes():
    half = np.zeros((8, 16), np.uint8)
    half[:, :8] = 255
    write_png("half.png", half)
    places = FAR, (48, 60), (48, 100), (5, 150)
    for options, expected in (
        (("--garbage", "half.png"), (0, 0, 255, 0)),
        (("--garbage", "half.png", "--method", "distance"), (0, 0, 255, 0)),
        (("--holdout", "half.png"), (255, 255, 255, 0)),
        (("--garbage", "half.png", "--holdout", "half.png"), (0, 0, 255, 0)),
    ):
        frame = keyed(*options)
        assert tuple(frame[place][3] for place in places) == expected, (options, frame[48])
        assert frame[FAR][3] == 0 or near(frame[FAR], GREEN, 0), frame[FAR]
    repair = "--holdout and --network: not with"
    refused(repair, "--holdout", "half.png", "--flow", 2)
    refused(repair, "--holdout", "half.png", "--method", "distance")
    refused("--garbage none.png: no such file", "--garbage", "none.png")


def check_network():
    """The matte is 1.2 times the red channel: 0.24 on the screen."""
    network = onnxwriter.Network("red")
    network.input("frame", (1, 3, HEIGHT, WIDTH))
    network.output("matte", (1, 1, HEIGHT, WIDTH))
    network.add("Conv", "frame", np.float32([1.2, 0, 0]).reshape(1, 3, 1, 1), output="matte")
    with open("red.onnx", "wb") as file:
        file.write(network.encoded())
    lit = (235, 255, 120)
    frame = picture((51, 160, 48), (235, 230, 220))
    frame[20:76, 130:] = (0, 0, 200)  # a lamp
    frame[36:60, 68:92] = lit
    write_png("studio.png", frame)
    plain, masked = (keyed(*options, path="studio.png") for options in ((), ("--network", "red.onnx")))
    assert (plain[48, 150, 3], masked[48, 150, 3]) == (255, 0), masked[48]
    assert plain[INSIDE][3] < 200 or not near(plain[INSIDE], lit), plain[INSIDE]
    assert masked[INSIDE][3] == 255 and near(masked[INSIDE], lit, 1), masked[INSIDE]
    for options in (("--network", "red.onnx", "--feather", "3"),
                    ("--screen", "none", "--model", "red.onnx")):
        alpha = keyed(*options, "--matte", "network.png", path="studio.png")[..., 3]
        levels = deep_levels("network.png")[0]
        assert np.abs(levels / 257 - alpha).max() <= 0.51 and (levels % 257 != 0).sum() > 50, options
    refused("--network none.onnx: no such file", "--network", "none.onnx")
    for matte in "--garbage", "--holdout":
        refused(f"--network red.onnx: beside {matte}", "--network", "red.onnx", matte, "studio.png")


def check_options_of_distance():
    refused("--balance: no effect with --method chroma", "--balance", 0, "--method", "chroma")
    for option in "similarity", "smoothness", "balance":
        refused(f"--{option}: no effect with --method distance", f"--{option}", 1, "--method", "distance")
    for option in ("--quiet",), ("--mixing", "light"), ("--plate", "frozen"):
        refused(f"{option[0]}: no effect with --method distance", *option, "--method", "distance")
    refused("--plate froze: expected adaptive, measured, frozen, none or a file", "--plate", "froze")


def check_sound():
    """A sine of 440 Hz that lasts 0.998 s, beside 25 frames"""
    write_film("tone.mov", [picture()] * 25,
               "audiotestsrc num-buffers=43 ! audio/x-raw,rate=44100,channels=2 ! audioconvert"
               " ! audio/x-raw,format=S16LE ! film.")  # fmt: skip
    for name, width in ("mp4", 160), ("webm", 161), ("mkv", 161), ("avi", 161), ("mov", 161):
        said = made("--background", "2040c0", "--output", f"heard.{name}", "tone.mov")
        assert said == "Keying tone.mov, mixed as light\n", said
        frames = pixels(f"heard.{name}", width)
        assert len(frames) == 25, (name, len(frames))
        for frame in frames[0], frames[-1]:
            assert near(frame[FAR], BLUE, 16) and near(frame[INSIDE], GREY, 16), (name, frame[48])
        launched(f"{decoded(f'heard.{name}', 'audio_0')} ! audioconvert ! audioresample"
                 " ! audio/x-raw,format=S16LE,rate=44100,channels=1 ! filesink location=heard.s16")
        samples = np.fromfile("heard.s16", np.int16).astype(int)
        assert abs(len(samples) / 44100 - 0.998) < 0.1, (name, len(samples))
        loud = np.flatnonzero(np.abs(samples) > 1000)
        turns = loud[1:][np.diff(np.sign(samples[loud])) != 0]
        hertz = (len(turns) - 1) / (turns[-1] - turns[0]) * 44100 / 2
        assert len(turns) > 700 and abs(hertz - 440) < 3, (name, len(turns), hertz)
    film = pathlib.Path("heard.mp4").read_bytes()
    assert struct.unpack_from(">HH", film, film.index(b"avc1\0") + 28) == (160, 96)
    write_film("mute.mov", [picture()] * 3)
    made("--background", "2040c0", "--output", "mute.mp4", "mute.mov")
    assert len(pixels("mute.mp4", 160)) == 3
    launched("filesrc location=tone.mov ! decodebin name=film film. ! videoconvert ! jpegenc"
             " ! matroskamux name=out ! filesink location=unheard.mkv film. ! audioconvert"
             " ! audioresample ! alawenc ! out.")  # fmt: skip
    made("--background", "2040c0", "--output", "mute.mp4", "unheard.mkv",
         GST_PLUGIN_FEATURE_RANK="alawdec:NONE")  # fmt: skip
    assert len(pixels("mute.mp4", 160)) == 25


def raw_of(message):
    """Runs the pipeline that --verbose printed, up to the encoder, and returns its frames."""
    line = next(line for line in message.splitlines() if line.startswith("gst-launch-1.0 "))
    words = shlex.split(line)
    end = words.index("opencldownload")
    subprocess.run([*words[:end + 4], "video/x-raw,format=RGBA", "!", "filesink", "location=raw"],
                   check=True, timeout=100, stdout=subprocess.DEVNULL)  # fmt: skip
    return np.fromfile("raw", np.uint8).reshape(-1, HEIGHT, WIDTH, 4)


def check_alpha_of_films():
    """Noise of which each frame has other partly transparent pixels, without loss"""
    generator = np.random.default_rng(2)
    write_film("moving.mov", [
        np.clip(picture() * generator.uniform(0.6, 1.2, (HEIGHT, WIDTH, 1)), 0, 255).astype(np.uint8)
        for _ in range(5)])  # fmt: skip
    for output, encoder in ("film.mov", "pngenc"), ("film.mkv", "avenc_ffv1"):
        options = "--background", "none", "--verbose", "--output", output, "moving.mov"
        if encoder == "avenc_ffv1" and not HAS_FFV1:
            done = run(*options)
            assert done.returncode == 2 and "gstreamer1.0-libav" in done.stderr, done.stderr
            continue
        expected, got = raw_of(made(*options)), pixels(output)
        assert got.shape == expected.shape and (got == expected).all(), output
        assert len(np.unique(got[..., 3])) > 20 and not (got[0] == got[1]).all()
    refused("no alpha; --background none needs", "--background", "none", "--output", "film.mp4")
    done = run("--background", "none", "moving.mov")
    assert done.returncode == 2 and "--background none: needs --output" in done.stderr, done.stderr


def check_switches():
    """The value of a switch may be left out, also before the name of a file. Half transparent green with
    noise, in which nothing moves"""
    generator = np.random.default_rng(1)
    frame = picture().astype(float)
    frame[:, :40] = (np.array(GREY) + GREEN) / 2
    frames = [frame + generator.normal(0, 4, frame.shape) for _ in range(4)]
    write_film("noise.mov", [np.clip(np.round(one), 0, 255).astype(np.uint8) for one in frames])
    alphas = [keyed(*options, path="noise.mov") for options in
              ((), ("--quiet",), ("--quiet", "true"), ("--quiet=false",), ("--quiet", "false"))]
    assert (alphas[1] == alphas[2]).all() and (alphas[0] != alphas[1]).any()
    assert (alphas[0] == alphas[3]).all() and (alphas[0] == alphas[4]).all()
    refused("--core: invalid choice: 'no' (choose from", "--core=no", "square.png")
    refused("no: no such file", "--core", "no")


def check_several_keys():
    """Blue tape on a green screen"""
    frame = picture()
    frame[:, 130:140] = BLUE
    write_png("tape.png", frame)
    for options, alpha in ((), 255), (("--key-colors", "c01020,#2040C0"), 0):
        got = keyed("--method", "distance", *options, path="tape.png")[..., 3]
        assert abs(got[50, 135] - alpha) <= 2 and got[FAR] == 0 and got[INSIDE] == 255, got[50]
    for value in "2040", "2040c0,", ",".join(["2040c0"] * 9):
        refused(f"--key-colors {value}: expected up to 8 colours", "--key-colors", value)


def check_garbage_polygon():
    for method in "difference", "distance":
        alpha = keyed("--method", method, "--garbage", "half.png", "--garbage-polygon",
                      "0,0,.6,0,.6,1,0,1")[48, :, 3]
        assert not alpha[:75].any() and (alpha[86:96] == 255).all() and not alpha[98:].any(), alpha
    for value in "0,0,1,1", "0,0,1,1,0", "0,0,1,1,0,2", "0,0,1,1,-1,0", "0,0,1,1,x,0":
        refused(f"--garbage-polygon {value}: expected X,Y,X,Y,… from 0 to 1, of at least three",
                "--garbage-polygon", value)


def deep_levels(path):
    """Returns the levels of a matte, int (frames, rows, columns), with 16 bits, as GStreamer decodes
    a picture or a film."""
    launched(f"filesrc location={path} ! decodebin ! videoconvert ! video/x-raw,format=GRAY16_LE"
             f" ! filesink location={path}.levels")
    rows = np.fromfile(f"{path}.levels", "<u2").reshape(-1, HEIGHT, (WIDTH + 1) // 2 * 2)
    return rows[..., :WIDTH].astype(int)  # GStreamer pads rows to four bytes.


def check_matte_of_a_picture():
    """Alpha of a ramp from the screen to grey, which changes by less than a level of 8 bits"""
    frame = np.linspace(GREEN, GREY, WIDTH)[None] + np.zeros((HEIGHT, 1, 3))
    frame[:, :8], frame[:, -8:] = GREEN, GREY
    write_png("ramp.png", np.round(frame).astype(np.uint8))
    options = "--core", "false", "--plate", "none", "--key", "10a030"
    for more in (), ("--method", "chroma"):
        alpha = keyed(*options, *more, "--matte", "matte.png", path="ramp.png")[..., 3]
        matte = deep_levels("matte.png")[0]
        assert np.abs(matte / 257 - alpha).max() <= 0.51, np.abs(matte / 257 - alpha).max()
        assert matte.min() == 0 and matte.max() > 60000, (matte.min(), matte.max())
        assert (matte[:, 20:-20] % 257 != 0).mean() > 0.5, more  # values that 8 bits do not have
    over("2040c0", "--matte", "over-matte.png", path="ramp.png")
    assert deep_levels("over-matte.png").max() == 65535
    for name, reason in ("m.mov", "expected .png"), ("m.jpg", "expected .png"):
        refused(f"--matte {name}: {reason}", "--matte", name, "square.png")
    refused("--matte refused.png: beside --output", "--matte", "refused.png", "square.png")


def check_matte_of_a_film():
    """Each frame has the alpha of the result, in 16 bits, in a film and in numbered pictures."""
    os.mkdir("50%d")
    for name in "matte.mov", "matte.mkv", "50%d/matte-%05d.png", "m%d.png":
        options = "--matte", name, "--output", "keyed.mov", "--background", "none", "moving.mov"
        if name.endswith(".mkv") and not HAS_FFV1:
            done = run(*options)
            assert done.returncode == 2 and "gstreamer1.0-libav" in done.stderr, done.stderr
            continue
        made(*options)
        alpha = pixels("keyed.mov")[..., 3]
        folder, base = os.path.split(name)
        files = [os.path.join(folder, base % n) for n in range(5)] if "%" in base else [name]
        levels = np.concatenate([deep_levels(file) for file in files])
        assert levels.shape == alpha.shape == (5, HEIGHT, WIDTH), (name, levels.shape)
        assert np.abs(levels / 257 - alpha).max() <= 0.51, name
        assert (levels % 257 != 0).sum() > 100 and not (levels[0] == levels[1]).all(), name
    assert not [file for file in os.listdir() if file.startswith(".")], os.listdir()
    refused("--matte m.png: of a film, expected a number, such as matte-%05d.png",
            "--background", "none", "--output", "keyed.mov", "--matte", "m.png", "moving.mov")
    made("--output", "first.png", "--matte", "first-matte.png", "moving.mov")
    assert (deep_levels("first-matte.png")[0] == levels[0]).all()


def check_outputs_that_exist():
    """A file that is replaced keeps its mode and its owner, also one of a series. The reason is one line
    where it cannot be replaced."""
    owner = (4242, 4343) if os.getuid() == 0 else (os.getuid(), os.getgid())
    for name in "kept.png", "kept00000.png":
        pathlib.Path(name).touch()
        os.chown(name, *owner)
        os.chmod(name, 0o640)
    made("--output", "kept.png", "--matte", "kept%05d.png", "--background", "none", "moving.mov")
    for name in "kept.png", "kept00000.png":
        state = os.stat(name)
        assert (state.st_uid, state.st_gid, state.st_mode & 0o777) == (*owner, 0o640), (name, state)
        assert state.st_size
    os.symlink("loop.png", "loop.png")
    os.mkdir("folder.png")
    for option in "--output", "--matte":
        for name, reason in (("loop.png", "Too many levels of symbolic links"), ("folder.png", "a folder"),
                             ("square.png/o.png", "Not a directory"), ("no/o.png", "No such file")):
            done = run("--matte", "m.png", "--output", "refused.png", option, name, "square.png")
            assert done.returncode == 1 and f"{option} {name}: {reason}" in done.stderr, done.stderr
            assert len(done.stderr.splitlines()) == 2 and not os.path.exists("refused.png"), done.stderr


def check_alpha():
    """Premultiplied is the product of the straight result and alpha, in levels."""
    options = "--core", "false", "--plate", "none", "--key", "10a030"
    for path in "ramp.png", "moving.mov":
        plain, straight, product = (
            keyed(*options, *more, path=path) for more in
            ((), ("--alpha", "straight"), ("--alpha", "premultiplied")))
        assert (plain == straight).all() and (plain[..., 3] == product[..., 3]).all()
        wanted = np.round(straight[..., :3] * straight[..., 3:] / 255)
        assert (product[..., :3] == wanted).all() and (wanted != straight[..., :3]).any(), path
    refused("--alpha: no effect without --background none", "--alpha", "straight", "square.png")
    refused("--alpha both: expected straight or premultiplied", "--alpha", "both", "square.png")


def check_rotation():
    """A film that lies on its side, with the tag of a telephone, is keyed as videoflip shows it."""
    frame = picture()
    frame[SQUARE[0], 20:48] = GREY  # on one side
    write_film("phone.mov", [frame] * 3)
    film = bytearray(open("phone.mov", "rb").read())
    matrix = film.index(b"tkhd") + 44  # of the track: turned by 90 degrees
    film[matrix:matrix + 36] = struct.pack(">9i", 0, 65536, 0, -65536, 0, 0, HEIGHT << 16, 0, 1 << 30)
    open("phone.mov", "wb").write(film)
    launched(f"{decoded('phone.mov')} ! videoflip video-direction=auto ! videoconvert !"
             " pngenc snapshot=true ! filesink location=upright.png")
    for path, output in ("phone.mov", "phone-keyed.mov"), ("upright.png", "upright-keyed.png"):
        made("--background", "none", "--output", output, path)
        launched(f"{decoded(output)} ! videoconvert ! video/x-raw,format=RGBA,width={HEIGHT},"
                 f"height={WIDTH} ! filesink location={output}.rgba")
    got, expected = (np.fromfile(f"{output}.rgba", np.uint8).astype(int).reshape(-1, WIDTH, HEIGHT, 4)
                     for output in ("phone-keyed.mov", "upright-keyed.png"))
    assert len(got) == 3 and np.abs(got[0] - expected[0])[..., 3].max() <= 2
    assert expected[0, ..., 3].min() == 0 and expected[0, ..., 3].max() == 255


def check_interlaced():
    """A subject that moves by 16 pixels a field has no combs, unless these are kept."""
    def field(n):
        one = np.full((96, 160, 3), GREEN, np.uint8)
        one[20:76, 20 + 16 * n:68 + 16 * n] = GREY
        return one
    frames = []
    for n in range(3):
        frames.append(field(2 * n))
        frames[-1][1::2] = field(2 * n + 1)[1::2]
    np.stack(frames).tofile("fields.raw")
    launched("filesrc location=fields.raw ! rawvideoparse format=rgb width=160 height=96"
             " framerate=25/1 interlaced=true top-field-first=true ! videoconvert !"
             " video/x-raw,format=Y444 ! y4menc ! filesink location=fields.y4m")
    for options, combs in ((), False), (("--interlaced", "keep"), True):
        made("--background", "none", "--output", "fields.mov", *options, "fields.y4m")
        launched("filesrc location=fields.mov ! decodebin ! videoconvert ! video/x-raw,format=RGBA"
                 " ! filesink location=fields.rgba")
        alpha = np.fromfile("fields.rgba", np.uint8).astype(int).reshape(-1, 96, 160, 4)[..., 3]
        inner = alpha[:, 30:66]
        different = np.abs(inner[:, 1:-1] - (inner[:, :-2] + inner[:, 2:]) / 2) > 100
        assert different.any() == combs, (options, different.sum())
        # A frame for each field: all of the movement
        assert len(alpha) == (3 if combs else 6), len(alpha)
    refused("expected keep", "--interlaced", "yes", "fields.y4m")


def pq_of(share):
    """Level of PQ (BT.2100) of light, 1 of which is diffuse white, 203 cd/m2 of 10000"""
    power = (share * 203 / 10000) ** (2610 / 16384)
    return ((3424 / 4096 + 2413 / 128 * power) / (1 + 2392 / 128 * power)) ** (2523 / 32)


def hlg_of(share):
    """Level of HLG (BT.2100) of light, 1 of which is diffuse white, 203 cd/m2 of 1000"""
    shown = share * 203 / 1000
    luminance = shown @ np.array([0.2627, 0.678, 0.0593])
    scene = shown * np.maximum(luminance, 1e-9)[..., None] ** (1 / 1.2 - 1)
    upper = 0.17883277 * np.log(np.maximum(12 * scene - 0.28466892, 1e-9)) + 0.55991073
    return np.where(scene <= 1 / 12, np.sqrt(3 * scene), upper)


def write_hdr(path, light, level_of, colorimetry):
    """Writes three frames of light of BT.709's primaries, 1 of which is diffuse white, in 10 bits."""
    wide = np.array([[0.627404, 0.329283, 0.043313], [0.069097, 0.919540, 0.011362],
                     [0.016391, 0.088013, 0.895595]])  # BT.2087
    level = level_of(light @ wide.T)
    luma = level @ np.array([0.2627, 0.678, 0.0593])
    blue, red = (level[..., 2] - luma) / 1.8814, (level[..., 0] - luma) / 1.4746
    planes = [64 + 876 * luma, *(512 + 896 * one.reshape(48, 2, 80, 2).mean((1, 3)) for one in (blue, red))]
    np.concatenate([np.round(one).astype("<u2").ravel() for one in planes] * 3).tofile("hdr.raw")
    launched("filesrc location=hdr.raw ! rawvideoparse format=i420-10le width=160 height=96"
             f" framerate=25/1 colorimetry={colorimetry} ! vp9enc min-quantizer=0 max-quantizer=2"
             f" deadline=1 ! matroskamux ! filesink location={path}")


def check_hdr():
    """HDR becomes sRGB, with its tags: the same light as of a film of 8 bits, and no clipped highlight.
    An object of 0.2 of diffuse white, and two lamps, 1 and 4 times as bright as that white"""
    light = np.empty((96, 160, 3))
    light[:] = light_of((40, 120, 60))
    light[16:80, 48:112] = np.array([0.2, 0.16, 0.12])
    light[:16, 120:136], light[:16, 140:156] = 1, 4
    for name, level_of in ("pq", pq_of), ("hlg", hlg_of):
        write_hdr("hdr.mkv", light, level_of, f"bt2100-{name}")
        said = made("--background", "2040c0", "--output", "hdr-keyed.mkv", "--before", "hdr.png", "hdr.mkv")
        assert "HDR" not in said, said
        launched("filesrc location=hdr.png ! pngdec ! videoconvert ! video/x-raw,format=RGB !"
                 " filesink location=hdr.rgb")
        got = np.fromfile("hdr.rgb", np.uint8).reshape(96, 160, 3)
        assert near(got[48, 20], (40, 120, 60), 3), (name, got[48, 20])
        assert near(got[48, 80], levels_of(np.array([0.2, 0.16, 0.12])), 3), (name, got[48, 80])
        # Above a half, light bends towards 1.
        white, lamp = got[6, 128], got[6, 148]
        assert 200 < white.min() <= white.max() < lamp.min() <= lamp.max() < 255, (name, white, lamp)
        assert np.ptp(white) <= 2 and np.ptp(lamp) <= 2, (name, white, lamp)
        frames = subprocess.run(
            shlex.split("gst-launch-1.0 -v filesrc location=hdr-keyed.mkv ! decodebin ! fakesink"),
            capture_output=True, text=True, timeout=100, check=True).stdout
        tags = {word.split(")")[1] for word in re.findall(r"colorimetry=[^\s,]+", frames)}
        # Range and matrix of YUV, the transfer function of sRGB, and BT.709's primaries
        assert tags and all(tag.endswith(":7:1") for tag in tags), tags
        launched("filesrc location=hdr-keyed.mkv ! decodebin ! videoconvert ! video/x-raw,format=RGB !"
                 " filesink location=hdr.rgb")
        keyed = np.fromfile("hdr.rgb", np.uint8).reshape(-1, 96, 160, 3)
        assert len(keyed) == 3 and near(keyed[2, 48, 20], BLUE, 12), (name, keyed[:, 48, 20])


TIMES = (0, 40, 240, 360, 840, 880)  # ms


def write_uneven(path, muxer, rate):
    """Writes a film of frames at TIMES, in each of which the square is farther to the right."""
    pipeline = Gst.parse_launch(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=160,height=96,framerate="
        f"{rate} ! videoconvert ! video/x-raw,format=I420 ! openh264enc rate-control=bitrate"
        f" bitrate=2000000 ! h264parse ! {muxer} ! filesink location={path}")
    pipeline.set_state(Gst.State.PLAYING)
    for number, (start, end) in enumerate(zip(TIMES, (*TIMES[1:], 920))):
        frame = np.full((96, 160, 3), GREEN, np.uint8)
        frame[20:76, 10 + 20 * number:40 + 20 * number] = GREY
        buffer = Gst.Buffer.new_wrapped(frame.tobytes())
        buffer.pts, buffer.duration = start * Gst.MSECOND, (end - start) * Gst.MSECOND
        pipeline.get_by_name("in").emit("push-buffer", buffer)
    pipeline.get_by_name("in").emit("end-of-stream")
    ended = pipeline.get_bus().timed_pop_filtered(
        100 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert ended and ended.type == Gst.MessageType.EOS, path


def seen(path):
    """Returns the time of each frame in ms, and how often the square was moved there."""
    pipeline = Gst.parse_launch(
        f"{decoded(path)} ! videoconvert ! video/x-raw,format=RGB ! appsink name=out sync=false")
    pipeline.set_state(Gst.State.PLAYING)
    frames = []
    while sample := pipeline.get_by_name("out").emit("try-pull-sample", 100 * Gst.SECOND):
        buffer = sample.get_buffer()
        row = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8).reshape(96, 160, 3)[48]
        inside = np.flatnonzero(np.abs(row.astype(int) - GREY).max(-1) < 30)
        frames.append((round(buffer.pts / Gst.MSECOND), round((inside.mean() - 24.5) / 20)))
    pipeline.set_state(Gst.State.NULL)
    return frames


def check_uneven_times():
    """Each frame of a film whose frames last different times is shown when it was."""
    launched("videotestsrc num-buffers=75 pattern=blue ! video/x-raw,width=80,height=48,framerate=25/1"
             " ! jpegenc ! avimux ! filesink location=behind.avi")
    for path, muxer, rate in ("uneven.mkv", "matroskamux", "0/1"), ("uneven.mp4", "mp4mux", "50/1"):
        write_uneven(path, muxer, rate)
        for background, output in (("2040c0", "even.mkv"), ("2040c0", "even.mp4"), ("none", "even.mov"),
                                   ("behind.avi", "even.webm")):
            made("--background", background, "--output", output, path)
            expected = list(zip(TIMES, range(6)))
            got = seen(output)
            if (rate, output) == ("0/1", "even.mov"):
                # Frames of PNG have the lengths of the source, and here none, so that qtmux ends
                # the film where its last frame begins.
                expected = expected[:len(got)]
                assert len(got) >= 5, got
            assert len(got) == len(expected) and np.abs(np.subtract(got, expected)).max() <= 1, (path, output, got)
        made("--background", "2040c0", "--output", "even.avi", path)  # which repeats frames instead
        got = seen("even.avi")
        step = got[1][0] - got[0][0]
        assert 860 <= got[-1][0] <= 920 and step in (16, 17, 20, 40), (path, got)
        for time, number in got:
            assert TIMES[number] - step <= time <= (*TIMES, 920)[number + 1] + step, (path, got)


# A grey square on green, 64x64, of which each component has a factor of 1x2
TALL_JPEG = (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIs"
    "IxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIy"
    "MjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjL/wAARCABAAEADARIAAhIBAxIB/8QAFgABAQEAAAAAAAAAAAAAAAAA"
    "AAYF/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/EABYBAQEBAAAAAAAAAAAAAAAAAAAFBv/EABQRAQAAAAAAAAAAAAAA"
    "AAAAAAD/2gAMAwEAAhEDEQA/AMcQxhwAAAAAAAAAAAAAAAAABLi4NwAAAAAAKgQxhwAAAAABLi4NwAAAAAAKgQxh"
    "wAAAAAAAAAAAAAAAAAB//9k="
)  # fmt: skip


def check_sampling_of_jpeg():
    """A JPEG that jpegdec of GStreamer 1.22 does not know is read by Pillow: edges are straight. Without
    Pillow a line says so, and PNGs of 16 bits, with which pngdec writes beyond its memory, are refused."""
    pathlib.Path("tall.jpg").write_bytes(base64.b64decode(TALL_JPEG))
    made("--background", "none", "--output", "jpeg.png", "tall.jpg")
    launched("filesrc location=jpeg.png ! pngdec ! videoconvert ! video/x-raw,format=RGBA !"
             " filesink location=jpeg.rgba")
    alpha = np.fromfile("jpeg.rgba", np.uint8).reshape(64, 64, 4)[..., 3]
    assert (alpha[18:46, 18:46] == 255).all() and not alpha[:14].any(), alpha[16]
    os.mkdir("without")
    pathlib.Path("without/PIL.py").write_text("raise ImportError")
    without = {"PYTHONPATH": f"without:{os.environ['PYTHONPATH']}"}
    said = made("--background", "2040c0", "--output", "jpeg.png", "tall.jpg", **without)
    assert "tall.jpg: edges may have wrong colours" in said and "python3-pil" in said, said
    pathlib.Path("deep.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x09\0\0\0\x09\x10\2")
    done = run("--background", "none", "--output", "jpeg.png", "deep.png", **without)
    assert done.returncode == 2 and "need Pillow: install python3-pil" in done.stderr, done.stderr


def check_gray_keys():
    """A key without a hue keys by distance. Soft methods refuse it."""
    for key, level in ("ffffff", 255), ("808080", 128), ("000000", 0):
        frame = picture((level,) * 3, (200, 30, 40))
        write_png("gray.png", frame)
        got = keyed("--key", key, "--method", "distance", path="gray.png")
        assert (got[..., 3] == 255 * (frame != level).any(-1)).all() and near(got[INSIDE], (200, 30, 40), 0)
    for options in ("--key", "fefefe"), ("--key", "16a030", "--key-colors", "302f2e"):
        refused("a grey key has no hue", *options, "square.png")


CAMERA = """
from gstopencl import play, program
from gstopencl.launch import Value, build
def stand_in(parts, parse):
    assert parts[-1] == Value("device", "/dev/null"), parts
    return build([*parts[:-1], Value("location", "camera")],
                 lambda text: parse(text.replace("v4l2sink", "filesink")))
play.build = stand_in
program.run("opencl-key", "gstopencl.keying.main")
"""


def check_virtual_camera():
    """A file takes the place of v4l2sink, and /dev/null that of a device of v4l2loopback."""
    write_film("short.mov", [picture()] * 3)
    subprocess.run(["/usr/bin/python3", "-c", CAMERA, "--background", "2040c0", "--matte",
                    "camera-matte.mov", "--output", "/dev/null", "short.mov"],
                   check=True, timeout=100)  # fmt: skip
    matte = deep_levels("camera-matte.mov")
    assert len(matte) == 3 and not matte[:, 5, 5].any() and (matte[:, 48, 80] == 65535).all()
    # Rows of 161 pixels of YUY2 take 324 bytes. 32,64,192 by BT.601: Y = 16 + (65.738 * 32
    # + 129.057 * 64 + 25.064 * 192) / 256 = 75.3, Cb = 189.0, Cr = 104.8
    frames = np.fromfile("camera", np.uint8).reshape(3, HEIGHT, 324).astype(int)
    assert np.abs(frames[:, 5, 8:12] - (75.3, 189, 75.3, 104.8)).max() <= 2, frames[:, 5, 8:12]
    done = run("--output", "/dev/video97", "short.mov")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "modprobe v4l2loopback exclusive_caps=1 video_nr=97" in done.stderr, done.stderr
    refused("a camera has no alpha", "--background", "none", "--output", "/dev/null")


# Beginnings of the names of files
NAMES = ('x" ! filesink location=pwned filesrc location=square.png name="', "back\\slash\\", "-x",
         "a b\n! ", "--output=y", "'`$(touch pwned)`'", "file:", "[ü]>{};=%?#.")  # fmt: skip


def check_names():
    """A name is data in each option that takes one."""
    green = np.full((HEIGHT, WIDTH, 3), GREEN, np.uint8)
    bottom, left = np.zeros((2, HEIGHT, WIDTH), np.uint8)
    bottom[60:], left[:, :16] = 255, 255
    contents = {"film": picture(), "background": np.full_like(green, BLUE), "plate": green,
                "garbage": bottom, "holdout": left}
    for name in NAMES:
        for role, frame in contents.items():
            write_png("plain.png", frame)
            os.replace("plain.png", f"{name}{role}.png")
        options = [word for role in list(contents)[1:]
                   for word in (f"--{role}", f"{name}{role}.png")]  # fmt: skip
        before = set(os.listdir())
        made(*options, "--output", f"{name}out.png", "--before", f"{name}before.png",
             "--", f"{name}film.png")  # fmt: skip
        assert set(os.listdir()) - before == {f"{name}out.png", f"{name}before.png"}, os.listdir()
        os.replace(f"{name}out.png", "named.png")
        os.replace(f"{name}before.png", "named-before.png")
        assert near(pixels("named-before.png")[0], picture(), 0)
        for place, colour in (INSIDE, GREY), ((70, 80), BLUE), ((5, 90), BLUE), ((5, 5), GREEN):
            assert near(pixels("named.png")[0][place], colour), (name, place)
    os.replace("red.onnx", f"{NAMES[0]}.onnx")
    made("--network", f"{NAMES[0]}.onnx", "--output", "named.png", "studio.png")
    for options in ("--camera", NAMES[0]), ("--device", NAMES[0], "square.png"):
        done = run(*options, "--output", "named.mkv")
        assert done.returncode == 1 and len(done.stderr.splitlines()) < 9, done.stderr
    assert not os.path.exists("pwned")
    done = run("a\udcff.png")
    assert done.returncode == 2 and "not UTF-8" in done.stderr, done.stderr


def check_no_screen():
    """A picture without a screen is not written; a film is, with a warning."""
    write_png("brown.png", picture((128, 96, 72)))
    write_film("brown.mov", [picture((128, 96, 72))] * 3)
    with open("kept.png", "w") as file:
        file.write("old")
    for path in "brown.png", "brown.mov":
        done = run("--background", "2040c0", "--output", "kept.png", "--matte", "none.png", path)
        assert done.returncode == 1 and not os.path.exists("none.png"), done
        assert f"{path}: no green or blue screen found" in done.stderr, done.stderr
        assert pathlib.Path("kept.png").read_text() == "old"
    for background in "none", "2040c0":
        said = made("--background", background, "--output", "unkeyed.mov", "brown.mov")
        assert "opencl-key: No green or blue screen found" in said, said
        assert near(pixels("unkeyed.mov")[-1][INSIDE], GREY)
    made("--key", "806048", "--output", "kept.png", "brown.png")


def scene(screen, cloth, floor=None):
    """A head and a body of cloth that touches the lower edge, before a screen in uneven light,
    mixed as light, with noise of two levels. floor: colour of the screen below row 68"""
    row, column = np.mgrid[:HEIGHT, :WIDTH]
    light = light_of(screen) * (0.9 + 0.2 * column / WIDTH)[..., None]
    if floor:
        light[68:] = light_of(floor)
    body = np.hypot((column - 80) / 1.3, row - 90)
    for edge, color in (42 - body, cloth), (17 - np.hypot(column - 80, row - 32), (215, 160, 130)):
        part = np.clip(edge + 0.5, 0, 1)[..., None]
        shade = (1.1 - 0.3 * column / WIDTH)[..., None]
        light = (1 - part) * light + part * light_of(color) * shade
    noise = np.random.default_rng(1).normal(0, 2, light.shape)
    return np.clip(levels_of(light.clip(0, 1)) + noise, 0, 255).round().astype(np.uint8), body


def check_inside():
    """Clothes near the screen's colour hold, without settings; a floor of another green does not."""
    for screen, cloth in (((35, 70, 185), (60, 80, 130)), ((59, 162, 69), (30, 95, 50)),
                          ((2, 116, 47), (173, 185, 170))):  # fmt: skip
        frame, body = scene(screen, cloth)
        write_png("scene.png", frame)
        alpha = keyed(path="scene.png")[..., 3]
        assert np.mean(alpha[body < 24] < 230) < 0.05, (cloth, np.mean(alpha[body < 24] < 230))
        empty = alpha[:, [*range(20), *range(140, WIDTH)]]
        assert np.mean(empty > 25) < 0.01, (cloth, np.mean(empty > 25))
    for floor in (28, 96, 52), (40, 140, 90):
        frame, body = scene((59, 162, 69), (50, 80, 150), floor)
        write_png("scene.png", frame)
        alpha = keyed(path="scene.png")[..., 3]
        assert np.mean(alpha[:, :20] > 25) < 0.05, (floor, np.mean(alpha[:, :20] > 25))
        assert np.mean(alpha[body < 36] < 230) < 0.05, floor
    # Dark green at one side only is not taken for a floor.
    frame = scene((59, 162, 69), (50, 80, 150), (28, 96, 52))[0]
    frame[:, 100:] = frame[:1, 100:]
    write_png("scene.png", frame)
    assert np.mean(keyed(path="scene.png")[85:, :20, 3] > 25) > 0.5


def check_warnings_of_scripts():
    """Functions of common.sh, by which scripts play pipelines, pass warnings on, and only these."""
    play = 'cd "$0"; . ./setup.sh; . ./common.sh; prepare; launch "$@"'
    words = shlex.split("videotestsrc num-buffers=3 pattern=black ! openclupload ! openclconvert"
                        " ! chromakey auto-key=screen ! fakesink")  # fmt: skip
    done = subprocess.run(["bash", "-c", play, SCRIPT.parent, *words], capture_output=True,
                          text=True, timeout=100, check=True)  # fmt: skip
    said = (done.stdout + done.stderr).splitlines()
    assert len(said) == 1 and said[0].startswith("WARNING: from element"), said


def made_help(words):
    return subprocess.run([SCRIPT, words], capture_output=True, text=True, timeout=100,
                          check=True).stdout  # fmt: skip


def check_no_display():
    without = {name: value for name, value in os.environ.items() if "DISPLAY" not in name}
    # Modules of the current folder are not used.
    for name in "gi.py", "argparse.py":
        pathlib.Path(name).write_text("open('pwned', 'w')")
    done = subprocess.run([SCRIPT, "tone.mov"], capture_output=True, text=True, timeout=100,
                          check=False, env=without)  # fmt: skip
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "no display. --output FILE" in done.stderr, done.stderr
    listed = {words: re.findall("(?m)^  --([a-z-]+)", made_help(words))
              for words in ("--help", "--help-all")}  # fmt: skip
    of_script = {"no-install", "verbose", "help", "version", "debug", "help-all"}
    assert len(set(listed["--help"]) - of_script) == 15, listed["--help"]
    assert {"background", *listed["--help"]} - of_script < set(listed["--help-all"]), listed
    for name in "gi.py", "argparse.py":
        os.remove(name)
    assert not os.path.exists("pwned")


def check_ended():
    """A signal leaves neither processes nor files."""
    launched("videotestsrc num-buffers=900 background-color=0xff10a030 pattern=ball"
             " ! jpegenc ! avimux ! filesink location=long.avi")  # fmt: skip
    for number in signal.SIGTERM, signal.SIGINT:
        before = set(os.listdir())
        options = "--background", "none", "--output", "long.mov", "long.avi"
        with subprocess.Popen([SCRIPT, *options], stderr=subprocess.DEVNULL) as script:
            while set(os.listdir()) == before:
                assert script.poll() is None, script.returncode
            script.send_signal(number)
            assert script.wait(20) == 128 + number, script.returncode
        assert set(os.listdir()) == before, os.listdir()


def check_progress():
    """A terminal shows how long a film still takes."""
    launched("videotestsrc num-buffers=4000 background-color=0xff10a030 pattern=ball"
             " ! jpegenc ! avimux ! filesink location=longer.avi")  # fmt: skip
    terminal, end = os.openpty()
    with subprocess.Popen([SCRIPT, "--background", "none", "--output", "longer.mov", "longer.avi"],
                          stderr=end) as script:  # fmt: skip
        os.close(end)
        said = b""
        while b"remaining" not in said or not said.endswith(b"\x1b[K"):
            said += os.read(terminal, 999)  # which fails at the end of the program
        script.terminate()
    assert re.search(rb"\r[0-9]{1,2}%, remaining time 0:[0-9]{2}:[0-9]{2}\x1b", said), said


def check_several_files():
    """Files, and those in a folder, go to a folder, each as if it were alone. One that fails is named,
    and two of one name are refused before the first is written."""
    for name in "clips", "results", "empty":
        os.mkdir(name)
    write_film("film.mov", [picture()] * 3)
    os.replace("film.mov", "clips/film.mov")
    write_png("plain.png", picture())
    os.replace("plain.png", "clips/'a %d\t.png")
    os.mkfifo("clips/pipe.png")
    done = run("square.png", "clips", "--background", "none", "--output", "results")
    assert done.returncode == 1 and "1 of 4 files failed" in done.stderr, done.stderr
    assert "pipe.png is no film or picture: not a regular file" in done.stderr, done.stderr
    assert set(os.listdir("results")) == {"square.png", "film.mov", "'a %d\t.png"}, os.listdir("results")
    alone = keyed()
    assert (pixels("results/square.png")[0] == alone).all()
    assert len(pixels("results/film.mov")) == 3 and near(pixels("results/film.mov")[1], alone, 0)
    for reason, *options in (
            ("two files named square", "--output", "empty", "square.png", "clips", "results/square.png"),
            ("needs another folder", "--output", "clips", "clips"),
            ("expected --output FOLDER for 2 files", "--output", "out.png", "square.png", "clips/film.mov"),
            ("an empty folder", "--output", "results", "empty")):
        done = run(*options)
        assert done.returncode == 2 and reason in done.stderr, (options, done.stderr)
    assert not os.listdir("empty") and not os.path.exists("out.png")


def check_without_bash():
    subprocess.run([BUILD / "tools" / "opencl-key", "--output", "direct.png", "square.png"],
                   check=True, timeout=100, env=os.environ | {"PATH": os.getcwd()})  # fmt: skip
    assert near(pixels("direct.png")[0][INSIDE], GREY)


def main():
    Gst.init(None)
    write_png("square.png", picture())
    for check in [value for name, value in globals().items() if name.startswith("check_")]:
        if check.__name__ in sys.argv[3:] or not sys.argv[3:]:
            check()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
