#!/usr/bin/env python3
# Compares keyers on rendered cases of what users of keyers report
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Renders pictures with an exact matte, one case for each kind of report that users of OBS, FFmpeg
and Natron write, keys them, and prints a table: the mean square error of alpha times 1000, and the
error of edges over another picture, as filmmattes.py defines them.

    keyreports.py [--pictures FOLDER] [CASE …]

Keyers: opencl-key without settings; FFmpeg's chromakey and despill with the mean colour of the
screen; PIK with the empty screen without noise, as in filmmattes.py. Pictures are mixed in linear
light, in levels of sRGB, with noise of 2 levels unless the case says otherwise. In a case of
several frames, PIK gets the first frame's screen. In the cases "rotation" and "interlace",
opencl-key and FFmpeg read a file with these tags. With --pictures, FOLDER/CASE.png shows the last
frame, its alpha by opencl-key, the error of alpha (grey is none), and the result.

Needs ffmpeg, python3-numpy, python3-gi and the built plugins (meson devenv).
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import mattes
from filmmattes import Frame, Gst, Pik, background_like_photograph
from mattes import is_edge, mix
from srgb import levels_of, light_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "tests" / "data" / "screen"))
import film  # noqa: E402
from gstopencl.keying.arguments import parsed  # noqa: E402
from gstopencl.keying.pipeline import Keying  # noqa: E402
from gstopencl.launch import each  # noqa: E402

WIDTH, HEIGHT, FINE = 640, 360, 4  # FINE: samples of a pixel in each direction
NOISE = 2
SCREEN = 59, 162, 69
SKIN, SHIRT, HAIR = (215, 160, 130), (50, 80, 150), (70, 45, 30)
# similarity:blend, the best of seven for "thin hair". With FFmpeg's own, 0.01:0, noise stays.
CHROMAKEY = "0.05:0.1"
CLEAR = 0.02  # alpha of a screen that looks clear


# --- drawing: coverage is the share of each pixel, 0 to 1 ---

Y, X = ((np.indices((HEIGHT * FINE, WIDTH * FINE), np.float32) + 0.5) / FINE)


def coverage(inside):
    return inside.reshape(HEIGHT, FINE, WIDTH, FINE).mean((1, 3))


def ellipse(column, row, wide, high):
    return ((X - column) / wide) ** 2 + ((Y - row) / high) ** 2 < 1


def capsule(start, end, radius):
    """A line with round ends"""
    (x, y), (u, v) = start, (end[0] - start[0], end[1] - start[1])
    along = np.clip(((X - x) * u + (Y - y) * v) / (u * u + v * v), 0, 1)
    return (X - x - along * u) ** 2 + (Y - y - along * v) ** 2 < radius ** 2


def any_of(shapes):
    return np.logical_or.reduce(list(shapes))


def strands(count, root, radii, length, thickness, seed=3):
    """Thin curves that grow outwards from the upper part of an ellipse, and fall."""
    random = np.random.default_rng(seed)
    angle = random.uniform(-1.15, 1.15, count)[:, None] * np.pi / 1.6
    share = np.linspace(0, 1, 600)[None]
    reach = random.uniform(0.4, 1, (count, 1)) * length * share
    bend = random.normal(0, 0.6, (count, 1)) + 0.25 * np.sin(
        random.uniform(4, 12, (count, 1)) * share + random.uniform(0, 6, (count, 1)))
    turned = angle + bend * share
    x = root[0] + radii[0] * np.sin(angle) + reach * np.sin(turned)
    y = root[1] - radii[1] * np.cos(angle) - reach * np.cos(turned) + 0.5 * length * share ** 2
    inside = np.zeros((HEIGHT * FINE, WIDTH * FINE), bool)
    radius = thickness * FINE / 2
    around = np.arange(-int(radius + 1), int(radius + 2))
    for down in around:
        for right in around[down ** 2 + around ** 2 <= radius ** 2]:
            row, column = (np.round(c * FINE + step).astype(int)
                           for c, step in ((y, down), (x, right)))
            seen = (row >= 0) & (row < inside.shape[0]) & (column >= 0) & (column < inside.shape[1])
            inside[row[seen], column[seen]] = True
    return inside


def cloudy(seed, scale):
    """Smooth noise of mean 0 and deviation 1. scale: of its features in pixels"""
    random = np.random.default_rng(seed)
    down, right = np.fft.fftfreq(HEIGHT)[:, None], np.fft.rfftfreq(WIDTH)
    spectrum = np.fft.rfft2(random.normal(size=(HEIGHT, WIDTH)))
    noise = np.fft.irfft2(spectrum * np.exp(-20 * scale ** 2 * (down ** 2 + right ** 2) / 2),
                          (HEIGHT, WIDTH))
    return noise / noise.std()


def shaded(levels, seed=1):
    """Light of a colour with soft light from the left and a texture"""
    form = 1.1 - 0.35 * np.arange(WIDTH)[None, :, None] / WIDTH
    texture = 1 + 0.05 * cloudy(seed, 12)[..., None] + 0.03 * cloudy(seed + 1, 2)[..., None]
    return light_of(np.array(levels)) * form * texture


class Layers:
    """The premultiplied foreground in linear light, and what passes through it, by channel"""

    def __init__(self):
        self.foreground = np.zeros((HEIGHT, WIDTH, 3))
        self.through = np.ones((HEIGHT, WIDTH, 3))

    def put(self, opacity, light):
        opacity = opacity if opacity.ndim == 3 else opacity[..., None]
        self.foreground = self.foreground * (1 - opacity) + opacity * light
        self.through = self.through * (1 - opacity)
        return self


def person(shift=0, skin=SKIN, shirt=SHIRT, hair=HAIR, hairs=250, thickness=0.7):
    """A person with a raised hand. hairs: number of loose strands"""
    at = 300 + shift
    layers = Layers()
    crown = any_of([ellipse(at, 140, 72, 82), ellipse(at, 190, 76, 90)])
    layers.put(coverage(crown | strands(hairs, (at, 140), (70, 80), 60, thickness)),
               shaded(hair, 3))
    layers.put(coverage(any_of([ellipse(at, 400, 150, 130), capsule(
        (at + 110, 330), (at + 170, 290), 32)])), shaded(shirt, 5))
    fingers = [capsule((at + 195 + 9 * n, 190), (at + 180 + 16 * n, 130 - 12 * (n in (1, 2))), 6.5)
               for n in range(4)]
    layers.put(coverage(any_of([
        ellipse(at, 160, 54, 72), capsule((at, 220), (at, 275), 26), *fingers,
        capsule((at + 170, 292), (at + 205, 215), 17), ellipse(at + 207, 198, 24, 26),
        capsule((at + 188, 205), (at + 168, 175), 7)])), shaded(skin, 7))
    return layers


def screen(levels=SCREEN):
    """Light of an uneven screen with soft folds"""
    light = np.add.outer(np.linspace(0, 0.2, HEIGHT), np.linspace(0.85, 1.15, WIDTH))
    return light_of(np.array(levels)) * (light + 0.02 * cloudy(9, 8))[..., None]


# --- cases ---


class Case:
    """Frames of a case, the light of its empty screen, and what is printed beside the errors.

    gains: exposure of each frame; looked_at: where edges are judged, beside those of the matte"""

    def __init__(self, layers, plate, noise=NOISE, gains=None, looked_at=None, recorded=None,
                 notes=()):
        layers = layers if isinstance(layers, list) else [layers]
        gains = gains or [1] * len(layers)
        layers *= len(gains) // len(layers)
        self.plate, self.notes, self.frames = levels_of(np.clip(plate * gains[0], 0, 1)), notes, []
        for number, (layer, gain) in enumerate(zip(layers, gains)):
            light = gain * (getattr(layer, "filmed", layer.foreground) + layer.through * plate)
            random = np.random.default_rng(number)
            picture = levels_of(np.clip(light, 0, 1)) + random.normal(0, noise, light.shape)
            picture = np.clip(picture, 0, 255).round().astype(np.uint8)
            frame = Frame(recorded(picture) if recorded else picture, 1 - layer.through,
                          gain * layer.foreground)
            if looked_at is not None:
                frame.edge = frame.edge | looked_at
            self.frames.append(frame)


def subsampled(picture):
    """A picture after 4:2:0 and H.264, as a camera records it"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "film.mkv")
        film.write(path, picture, "rgb24", [
            "-vf", "scale=out_color_matrix=bt709:out_range=tv", "-pix_fmt", "yuv420p",
            "-colorspace", "bt709", "-c:v", "libx264", "-crf", str(film.QUALITY), "-threads", "1"])
        return film.read(path, "rgb24", np.uint8)[0]


def floor():
    """A wall, and a floor of another green in less light, with an edge between them"""
    lower = coverage(Y > 240 + 6 * np.sin(X / 90))[..., None]
    return (1 - lower) * screen() + lower * screen((28, 96, 52))


def with_spill():
    """Green light of the screen on skin and hair. The exact picture has none of it."""
    layers = person()
    opaque = 1 - layers.through.mean(-1)
    side = np.linspace(1, 0, WIDTH)[None] ** 2 * 0.5 + 0.1 + 0.1 * cloudy(21, 30).clip(-1, 2)
    layers.filmed = layers.foreground + (opaque * side)[..., None].clip(0) * 0.35 * screen()
    return layers, (opaque > 0.98) & (layers.foreground[..., 0] > layers.foreground[..., 2])


def striped():
    """Clothes in four greens: olive, moss, teal and a dark bottle green"""
    layers = person(shirt=(107, 112, 58))
    for row, levels in (300, (70, 90, 50)), (322, (30, 110, 110)), (344, (25, 55, 38)):
        band = coverage(ellipse(300, 400, 150, 130) & (abs(Y - row) < 10))
        layers.put(band, shaded(levels))
    return layers


def moved(layers, length):
    """Layers smeared by a horizontal move of `length` pixels, as the shutter does in light"""
    def smeared(values):
        padded = np.pad(values, ((0, 0), (length // 2 + 1, length // 2), (0, 0)), "edge")
        total = padded.cumsum(1)
        return (total[:, length:] - total[:, :-length]) / length
    result = Layers()
    result.foreground, result.through = smeared(layers.foreground), smeared(layers.through)
    return result


VEIL = slice(40, 330), slice(20, 280)


def veil():
    """Blue cloth that lets about half of the light through, with folds"""
    opacity = np.zeros((HEIGHT, WIDTH))
    folds = 0.5 + 0.18 * np.sin(np.arange(WIDTH) / 14 + 2 * cloudy(30, 40))
    opacity[VEIL] = folds[VEIL]
    return person(hairs=80).put(opacity, shaded((70, 105, 200), 31))


def glass():
    """A thin wall with a tint, rims that let less through, and highlights"""
    bowl, inner = ellipse(150, 170, 70, 90), ellipse(150, 170, 62, 82)
    lit = capsule((118, 120), (108, 190), 4) | capsule((182, 130), (186, 150), 3)
    layers, wall = person(), coverage(bowl)[..., None] * (1 - np.array([0.92, 0.94, 0.93]))
    layers.put(wall, shaded((120, 125, 130)))
    stem = capsule((150, 258), (150, 335), 5) | ellipse(150, 338, 48, 7)
    layers.put(0.35 * coverage(stem | bowl & ~inner), shaded((190, 200, 205)))
    return layers.put(0.8 * coverage(lit), np.ones(3) * 0.95)


def smoke():
    opacity = np.clip(0.35 + 0.3 * cloudy(40, 25) + 0.06 * cloudy(41, 5), 0, 0.85)
    fade = np.clip(1.2 - np.abs(np.arange(WIDTH) - 140) / 160, 0, 1)
    return person().put(opacity * fade, light_of(np.array((200, 200, 205.0))))


def clear_share(case, alphas):
    """Share of the pixels of the screen that look clear, in the last frame"""
    empty = case.frames[-1].alpha < 1e-6
    return "screen clear %.0f %%" % (100 * (alphas[-1][empty] < CLEAR).mean())


def veil_error(case, alphas):
    only = case.frames[0].alpha[VEIL] < 0.9
    return "mean error of alpha %+.3f" % (alphas[0] - case.frames[0].alpha)[VEIL][only].mean()


def spilled():
    layers, skin = with_spill()
    return Case(layers, screen(), looked_at=skin)


CASES = {
    "outline in 4:2:0": lambda: Case(person(), screen(), recorded=subsampled),
    "pale screen": lambda: Case(person(), screen((150, 195, 150))),
    "dark screen": lambda: Case(person(), screen((16, 52, 20))),
    "two-tone floor": lambda: Case(person(), floor()),
    "exposure steps": lambda: Case(
        person(), screen(), gains=[1, 1, 0.7, 0.7, 1.25, 1.25, 0.85, 0.85]),
    "green reflexes": spilled,
    "green clothes": lambda: Case(striped(), screen()),
    "thin hair": lambda: Case(person(hairs=900, thickness=0.5), screen()),
    "lime hair": lambda: Case(person(hair=(170, 190, 60), hairs=600), screen()),
    "white shirt": lambda: Case(person(shirt=(243, 243, 240)), screen()),
    "motion blur": lambda: Case(moved(person(), 61), screen()),
    "low light": lambda: Case([person(2 * n) for n in range(8)], screen(), noise=6,
                              gains=[0.25] * 8, notes=[clear_share]),
    "blue veil": lambda: Case(veil(), screen(), notes=[veil_error]),
    "glass": lambda: Case(glass(), screen()),
    "smoke": lambda: Case(smoke(), screen()),
    "rotation": lambda: Case([person(4 * n) for n in range(3)], screen()),
    "interlace": lambda: Case([person(12 * n) for n in range(6)], screen()),
}


# --- keyers of pictures: result() returns alpha, 0 to 1, and the composite in levels ---


class Chromakey:
    """opencl-key with these options, for frames of the first one's size"""

    def __init__(self, *options):
        keying = Keying(parsed(["--camera", "none", *options]), (WIDTH, HEIGHT), False)
        self.line = " ".join(map(str, each(["openclupload !", *keying.keyer(), "! opencldownload"])))
        self.pipeline = None

    def result(self, frame, background):
        self.pipeline = self.pipeline or mattes.Pipeline(self.line, frame.picture.shape[:2])
        keyed = self.pipeline.run(frame.picture, {})
        return blended(keyed, background, self.blends_light(frame))

    def blends_light(self, _frame):
        """As greenscreenbin: mixing=auto changes the property."""
        return self.pipeline.pipeline.get_by_name("key").get_property("linear")

    def close(self):
        if self.pipeline:
            self.pipeline.pipeline.set_state(Gst.State.NULL)


class FFmpeg:
    """chromakey and despill, blended in levels as FFmpeg's overlay does"""

    def __init__(self, plate):
        color = plate.reshape(-1, 3).mean(0).round().astype(int)
        self.filter = "format=yuva444p,chromakey=0x%02x%02x%02x:%s,despill=green" % (
            *color, CHROMAKEY)

    def keyed(self, source, shape=(HEIGHT, WIDTH), data=None):
        raw = mattes.ffmpeg(source, ["-vf", self.filter, "-pix_fmt", "rgba"], data)
        return np.frombuffer(raw, np.uint8).reshape(-1, *shape, 4)

    def result(self, frame, background):
        shape = frame.picture.shape[:2]
        source = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "%dx%d" % shape[::-1], "-i", "-"]
        return blended(self.keyed(source, shape, frame.picture.tobytes())[0], background)

    def close(self):
        pass


def blended(keyed, background, linear=False):
    picture, alpha = keyed[..., :3].astype(float), keyed[..., 3] / 255
    if linear:
        return alpha, levels_of(mix(light_of(picture), alpha, light_of(background)))
    return alpha, mix(picture, alpha, background)


# --- files: each result is alpha and composite of all frames ---


def write_rotated(path, pictures):
    """A film that lies on its side, with the tag that turns it back"""
    plain = path.with_name("plain.mov")
    film.write(plain, np.rot90(np.stack(pictures), 1, (1, 2)).copy(), "rgb24", ["-c:v", "png"])
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", plain, "-c", "copy",
                    "-metadata:s:v", "rotate=-90", path], check=True)


def write_interlaced(path, pictures):
    """Two pictures are the fields of a frame, bottom field first: y4mdec loses the other order."""
    woven = np.stack(pictures[1::2])
    woven[:, 1::2] = np.stack(pictures[::2])[:, 1::2]
    film.write(path, woven, "rgb24", ["-vf", "setfield=bff", "-pix_fmt", "yuv444p"])


def opencl_keyed(path):
    """Returns the frames of a file as opencl-key keys them, over nothing."""
    output = path.with_name("keyed.mov")
    done = subprocess.run(
        [sys.executable, "-m", "gstopencl.keying.main", "--background", "none", "--output", output,
         path], capture_output=True, text=True, check=False, env=os.environ | {
             "PYTHONPATH": str(ROOT / "python") + os.pathsep + os.environ.get("PYTHONPATH", "")})
    if done.returncode:
        sys.exit(done.stderr)
    raw = mattes.ffmpeg(["-i", output], ["-pix_fmt", "rgba"])
    return np.frombuffer(raw, np.uint8).reshape(-1, HEIGHT, WIDTH, 4)


FILES = {"rotation": ("film.mov", write_rotated), "interlace": ("film.y4m", write_interlaced)}


def results_of_file(name, case, background):
    """Yields the results of opencl-key and FFmpeg. PIK is a formula, which reads no files."""
    keying = Keying(parsed(["--camera", "none"]), (WIDTH, HEIGHT), False)
    linear = "linear=true" in map(str, each(keying.compositor()))
    file, write = FILES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, file)
        write(path, [frame.picture for frame in case.frames])
        for keyed, linear in (opencl_keyed(path), linear), (
                FFmpeg(case.plate).keyed(["-i", path]), False):
            # A film of half the frames shows each of them for two.
            frames = keyed.repeat(max(1, len(case.frames) // len(keyed)), 0)
            yield [blended(one, background, linear) for one in frames[:len(case.frames)]]


def results(name, case, background):
    if name in FILES:
        yield from results_of_file(name, case, background)
        return
    for keyer in Chromakey(), FFmpeg(case.plate), Pik(case.plate, "PIK"):
        yield [keyer.result(frame, background) for frame in case.frames]
        keyer.close()


def judged(case, results, background):
    """Returns the mean square error of alpha times 1000, the error of edges, and notes."""
    square, edges = [], []
    for frame, (alpha, composite) in zip(case.frames, results):
        square.append(((alpha - frame.alpha) ** 2).mean())
        edges.append((composite - frame.over(background))[frame.edge].ravel())
    notes = ["; ".join(note(case, [alpha for alpha, _ in results]) for note in case.notes)]
    return 1e3 * np.mean(square), film.rms(np.concatenate(edges)), *notes


def write_picture(path, frame, alpha, composite):
    images = [frame.picture, *(np.repeat(image[..., None], 3, 2) for image in (
        255 * alpha, 127.5 + 127.5 * (alpha - frame.alpha))), composite]
    path.parent.mkdir(exist_ok=True)
    film.write(path, np.concatenate(images, 1).round().clip(0, 255).astype(np.uint8), "rgb24")


def main():
    words = sys.argv[1:]
    folder = pathlib.Path(words[1]) if words[:1] == ["--pictures"] and len(words) > 1 else None
    names = words[2 * bool(folder):] or list(CASES)
    if not set(names) <= set(CASES):
        sys.exit(__doc__.strip())
    Gst.init(None)
    background = background_like_photograph((HEIGHT, WIDTH))
    print("%-18s%16s%16s%16s" % ("matte, edges of", "opencl-key", "FFmpeg", "PIK, plate"))
    for name in names:
        case = CASES[name]()
        keyed = list(results(name, case, background))
        if folder:
            write_picture(folder / (name + ".png"), case.frames[-1], *keyed[0][-1])
        shown = [judged(case, each, background) for each in keyed]
        notes = " / ".join(one[2] for one in shown if one[2])
        print("%-18s%s  %s" % (name, "".join("%9.2f%7.2f" % one[:2] for one in shown), notes),
              flush=True)


if __name__ == "__main__":
    main()
