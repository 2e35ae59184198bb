#!/usr/bin/env python3
# Makes a film of a person before a green screen, with the exact matte of each frame
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Renders scene.py with Blender and makes of it what a camera would record:

FOLDER/lossless/NNNN.png    frames in sRGB with the camera's noise
FOLDER/film.mkv             the same in 4:2:0 (BT.709), H.264
FOLDER/alpha/NNNN.png       exact alpha of each channel, 16 bits
FOLDER/foreground/NNNN.png  exact premultiplied foreground in linear light, 16 bits, 65535 is 1
FOLDER/plate.png            the empty screen in sRGB, without noise
FOLDER/still.png            with --still, the last frame, half as large and without noise

    film.py [FOLDER] [--frames 60] [--seed 1] [--samples 24] [--width 640] [--first 1]
            [--still] [--check]

FOLDER is gst-opencl/film in the user's cache by default. It also contains the renders. Those that
are there already are not made again, so an interrupted film can be continued. Delete FOLDER after a
change of the seed or of scene.py.

A frame is foreground + (1 - alpha) * screen in linear light. So the matting equation is exact, but
the subject has no shadow on the screen. With --check it also renders the first frame before the
real screen, and prints how much that differs.

Needs blender (3.4), ffmpeg and python3-numpy.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "benchmark"))
from srgb import levels_of  # noqa: E402

RATE = 25
NOISE = 2  # levels of 255, standard deviation
QUALITY = 20  # crf of x264


def default_folder():
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(caches, "gst-opencl", "film")


def size_of(path):
    words = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height",
         "-of", "csv=p=0", path], check=True, capture_output=True, text=True).stdout
    width, height = (int(n) for n in words.strip().strip(",").split(",")[:2])
    return height, width


def read(path, pixel_format, kind):
    """Returns the samples of an image or a film as frames of rows of pixels of channels."""
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", pixel_format, "-"],
        check=True, capture_output=True).stdout
    return np.frombuffer(raw, kind).reshape(-1, *size_of(path), 3)


def read_light(path):
    """Returns an OpenEXR image in linear light."""
    raw = read(path, "gbrpf32le", np.float32)
    green, blue, red = raw.reshape(3, *raw.shape[1:3])
    return np.stack([red, green, blue], -1)


def write(path, frames, pixel_format, options=()):
    """Writes an image, or a film of several frames."""
    height, width = frames.shape[-3:-1]
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", pixel_format,
         "-s", "%dx%d" % (width, height), "-r", str(RATE), "-i", "-", *options, path],
        input=frames.tobytes(), check=True)


def write_fine(path, values):
    path.parent.mkdir(exist_ok=True)
    write(path, (65535 * np.clip(values, 0, 1)).round().astype("<u2"), "rgb48le")


def recorded(light, random):
    noise = random.normal(0, NOISE, light.shape)
    return np.clip(levels_of(light) + noise, 0, 255).round().astype(np.uint8)


# --- reading the finished film ---


def truth(folder, number):
    """Returns the exact alpha and the premultiplied foreground in linear light of a frame."""
    name = "%04d.png" % number
    return [read(folder / kind / name, "rgb48le", "<u2")[0] / 65535
            for kind in ("alpha", "foreground")]


def frames_of(folder, lossless):
    if lossless:
        return np.stack([read(path, "rgb24", np.uint8)[0]
                         for path in sorted((folder / "lossless").glob("*.png"))])
    return read(folder / "film.mkv", "rgb24", np.uint8)


# --- making it ---


def write_still(path, light):
    """Writes a frame as the picture of the documents: half as large, without noise."""
    height, width = light.shape[:2]
    half = light.reshape(height // 2, 2, width // 2, 2, 3).mean((1, 3))
    write(path, levels_of(np.clip(half, 0, 1)).round().astype(np.uint8), "rgb24",
          ["-compression_level", "100", "-pred", "mixed"])


def make(folder, first, frames, seed, is_still):
    renders = folder / "renders"
    plate = read_light(renders / "plate-0001.exr")
    write(folder / "plate.png", levels_of(np.clip(plate, 0, 1)).round().astype(np.uint8), "rgb24")
    (folder / "lossless").mkdir(exist_ok=True)
    film = []
    for number in range(first, frames + 1):
        # An area that lets all light through differs from 1 by rounding of 16-bit floats only.
        through = np.clip(read_light(renders / ("through-%04d.exr" % number)), 0, 1)
        subject = read_light(renders / ("subject-%04d.exr" % number))
        write_fine(folder / "alpha" / ("%04d.png" % number), 1 - through)
        write_fine(folder / "foreground" / ("%04d.png" % number), subject)
        if is_still:
            write_still(folder / "still.png", subject + through * plate)
        random = np.random.default_rng([seed, number])
        film.append(recorded(subject + through * plate, random))
        write(folder / "lossless" / ("%04d.png" % number), film[-1], "rgb24")
    write(folder / "film.mkv", np.stack(film), "rgb24",
          ["-vf", "scale=out_color_matrix=bt709:out_range=tv", "-pix_fmt", "yuv420p",
           "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "iec61966-2-1",
           "-c:v", "libx264", "-preset", "medium", "-crf", str(QUALITY), "-threads", "1"])


def check(renders):
    plate = levels_of(np.clip(read_light(renders / "plate-0001.exr"), 0, 1))
    through = read_light(renders / "through-0001.exr")
    made = read_light(renders / "subject-0001.exr") + through * read_light(
        renders / "plate-0001.exr")
    difference = levels_of(np.clip(read_light(renders / "real-0001.exr"), 0, 1)) \
        - levels_of(np.clip(made, 0, 1))
    empty = (through > 0.999).all(-1)
    inside = (through < 0.001).all(-1)
    print("levels of the screen: %.0f %.0f %.0f" % tuple(np.median(plate, (0, 1))))
    print("difference from a render before the real screen, RMS of levels: "
          "screen %.2f (mean %.2f), subject %.2f, edges %.2f" % tuple(
              f(difference[where]) for f, where in (
                  (rms, empty), (np.mean, empty), (rms, inside), (rms, ~(empty | inside)))))


def rms(values):
    return float(np.sqrt(np.mean(np.square(values, dtype=float))))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=default_folder())
    for name, value in (("frames", 60), ("seed", 1), ("samples", 24), ("width", 640),
                        ("first", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    for name in "--still", "--check":
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    for program in "blender", "ffmpeg":
        if not shutil.which(program):
            sys.exit("film.py: %s is missing: apt-get install %s" % (program, program))
    renders = options.folder / "renders"
    renders.mkdir(parents=True, exist_ok=True)
    blender = ["blender", "-b", "--python-exit-code", "1", "-P", str(HERE / "scene.py"), "--",
               str(renders)]
    for name in ("seed", "samples", "width"):
        blender += ["--" + name, str(getattr(options, name))]
    if options.still:
        blender.append("--still")
    if options.check:
        subprocess.run([*blender, "--frames", "1", "--real"], check=True,
                       stdout=subprocess.DEVNULL)
        check(renders)
    subprocess.run([*blender, "--frames", str(options.frames), "--first", str(options.first)],
                   check=True, stdout=subprocess.DEVNULL)
    make(options.folder, options.first, options.frames, options.seed, options.still)


if __name__ == "__main__":
    main()
