#!/usr/bin/env python3
# Compares mattes of keyers, and how they flicker, on a rendered film
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Keys the film of tests/data/screen/film.py, whose exact matte and foreground are known, and
prints for each keyer:

matte    mean square error of alpha, times 1000
edges    error of the result over a generated background where the exact alpha is between 0.02 and
         0.98: root mean square in levels of 255
flicker  change of alpha between two frames minus the exact change, in the same places: root mean
         square in levels of 255

    filmmattes.py [FOLDER] [FRAMES]

chromakey has the options of pipelines/greenscreen.sh, in levels and in light. FFmpeg's keyers
and OBS's get the mean colour of the screen, and the parameters with the least error of the matte on
four frames of the film. PIK gets the empty screen without noise. All keyers get RGB. Mattes are
compared with the mean of the exact alpha of red, green and blue, which differ in glass only.

Needs ffmpeg, python3-numpy, python3-gi and the built plugins (meson devenv).
"""
import pathlib
import sys

import numpy as np

import mattes
from mattes import Gst, is_edge, mix
from srgb import levels_of, light_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "data" / "screen"))
import film  # noqa: E402

TUNING_FRAMES = 4


class Frame:
    """Frame of the film, as a Shot of mattes.py"""

    def __init__(self, picture, alpha, foreground):
        self.picture = picture
        self.alpha = alpha.mean(-1)
        self.exact = 255 * self.alpha
        self.edge = is_edge(self.alpha)
        self.through, self.foreground = 1 - alpha, foreground

    def over(self, background):
        """Returns the exact composite in levels, mixed in linear light."""
        mixed = self.foreground + self.through * light_of(background)
        return levels_of(np.clip(mixed, 0, 1))


def background_like_photograph(shape):
    """Returns noise whose amplitude falls with frequency, as in photographs, in warm colours."""
    random = np.random.default_rng(5)
    frequency = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1]))
    frequency[0, 0] = np.inf
    spectrum = np.fft.rfft2(random.normal(size=(4, *shape))) / frequency
    noise = np.fft.irfft2(spectrum, shape)
    noise /= noise.std(axis=(1, 2), keepdims=True)
    # Channels of photographs are alike.
    channels = 0.9 * noise[3] + 0.4 * noise[:3]
    return np.clip(np.moveaxis(channels, 0, -1) * 40 + (140, 115, 95), 0, 255)


# --- keyers: result() returns alpha, 0 to 1, and the composite in levels ---


class Chromakey:
    """The keyer of pipelines/greenscreen.sh"""

    def __init__(self, shape, properties="", linear=False):
        self.name = " ".join(["chromakey", properties]).strip()
        self.linear = linear
        self.pipeline = mattes.Pipeline(
            "openclupload ! chromakey name=keyer method=difference auto-key=screen mixing=levels "
            "spill=1 %s ! opencldownload" % properties, shape)

    def result(self, frame, background):
        keyed = self.pipeline.run(frame.picture, {}).astype(float)
        picture, alpha = keyed[..., :3], keyed[..., 3] / 255
        if self.linear:
            return alpha, levels_of(mix(light_of(picture), alpha, light_of(background)))
        return alpha, mix(picture, alpha, background)

    def close(self):
        self.pipeline.pipeline.set_state(Gst.State.NULL)


class Tuned:
    """Keyer with the parameters that are best on some frames of the film"""

    def __init__(self, keyer, frames):
        self.keyer = keyer
        self.parameters = mattes.tune(keyer, frames)
        self.name = "%s, tuned: %s" % (
            keyer.name, " ".join("%s=%.3g" % item for item in self.parameters.items()))

    def result(self, frame, background):
        alpha = self.keyer.matte(frame, **self.parameters) / 255
        picture = frame.picture.astype(float)
        if hasattr(self.keyer, "despilled"):
            picture = self.keyer.despilled(frame, **self.parameters)
        return alpha, mix(picture, alpha, background)

    def close(self):
        self.keyer.close()


class Obs:
    """Chroma key filter of OBS: the formula of chroma_key_filter_v2.effect and the defaults of
    chroma-key-filter.c (obs-studio, plugins/obs-filters)"""

    ranges = {"similarity": (0.0, 0.6), "smoothness": (0.01, 0.6)}
    DEFAULTS = {"similarity": 0.4, "smoothness": 0.08}
    SPILL = 0.1
    CHROMA = np.array([[-0.100644, -0.338572, 0.439216], [0.439216, -0.398942, -0.040274]])

    def __init__(self, color):
        self.name = "OBS"
        self.key = self.CHROMA @ np.asarray(color) / 255

    def distance(self, frame):
        """Returns the distance from the key, averaged with neighbours as the filter does: it reads
        at four places between two pixels, which the sampler interpolates."""
        exact = np.linalg.norm(frame.picture / 255 @ self.CHROMA.T - self.key, axis=-1)
        padded = np.pad(frame.picture / 255.0, ((1, 1), (1, 1), (0, 0)), "edge")
        height, width = exact.shape

        def at(row, column):
            return padded[1 + row:1 + row + height, 1 + column:1 + column + width]

        total = exact
        for pair in ((at(0, -1), at(-1, -1)), (at(0, 1), at(1, 1)),
                     (at(1, 0), at(1, -1)), (at(-1, 0), at(-1, 1))):
            sampled = (pair[0] + pair[1]) / 2
            total = total + 2 * np.linalg.norm(sampled @ self.CHROMA.T - self.key, axis=-1)
        return total / 9

    def matte(self, frame, similarity, smoothness):
        base = self.distance(frame) - similarity
        return 255 * np.clip(base / smoothness, 0, 1) ** 1.5

    def despilled(self, frame, similarity, **_):
        kept = np.clip((self.distance(frame) - similarity) / self.SPILL, 0, 1) ** 1.5
        grey = frame.picture @ np.array([0.2126, 0.7152, 0.0722])
        return mix(frame.picture, kept, grey[..., None])

    def close(self):
        pass


class ObsDefaults(Obs):
    """The filter before anything is set: the key is pure green."""

    def __init__(self):
        super().__init__((0, 255, 0))
        self.name = "OBS, defaults"

    def result(self, frame, background):
        return (alpha := self.matte(frame, **self.DEFAULTS) / 255), mix(
            self.despilled(frame, **self.DEFAULTS), alpha, background)


class Pik:
    """Keyer PIK of Natron (openfx-misc, PIK/PIK.cpp) with its default weights, in linear light as
    Natron computes: alpha is 1 minus the ratio of G - R/2 - B/2 of the picture and of the screen,
    and screen subtraction removes the rest of the screen."""

    WEIGHTS = np.array([-0.5, 1, -0.5])

    def __init__(self, screen, name):
        self.name = name
        self.screen = light_of(screen)

    def by_key(self, light):
        """Returns alpha, which is below 0 where there is more of the key than in the screen."""
        key = light @ self.WEIGHTS
        return np.where(key <= 0, 1, 1 - key / np.maximum(self.screen @ self.WEIGHTS, 1e-6))

    alpha_of = by_key

    def result(self, frame, background):
        light = light_of(frame.picture)
        alpha = self.alpha_of(light)
        subject = np.where(alpha[..., None] >= 1, light,
                           np.maximum(light - (1 - alpha[..., None]) * self.screen, 0))
        alpha = np.clip(alpha, 0, 1)
        mixed = subject + (1 - alpha[..., None]) * light_of(background)
        return alpha, levels_of(np.clip(mixed, 0, 1))

    def close(self):
        pass


def keyers(frames, plate):
    shape = frames[0].alpha.shape
    color = plate.reshape(-1, 3).mean(0).round()
    tuning = frames[::max(1, len(frames) // TUNING_FRAMES)][:TUNING_FRAMES]
    for properties in "", "quiet=true":
        yield Chromakey(shape, properties)
    yield Chromakey(shape, "mixing=light", True)
    for name in ("chromakey", "colorkey"):
        yield Tuned(mattes.FFmpeg(name, color.astype(int)), tuning)
    yield ObsDefaults()
    yield Tuned(Obs(color), tuning)
    yield Pik(plate, "PIK, C: the empty screen")
    yield Pik(color, "PIK, Pick: the mean of the screen")


# --- judging ---


def judge(keyer, frames, background):
    matte, edges, flicker = [], [], []
    before = None
    for frame in frames:
        alpha, composite = keyer.result(frame, background)
        matte.append(((alpha - frame.alpha) ** 2).mean())
        edges.append((composite - frame.over(background))[frame.edge].ravel())
        error = alpha - frame.alpha
        if before:
            flicker.append((error - before[0])[frame.edge | before[1]])
        before = error, frame.edge
    return (1e3 * np.mean(matte), film.rms(np.concatenate(edges)),
            255 * film.rms(np.concatenate(flicker)))


def main():
    if len(sys.argv) > 3 or "--help" in sys.argv:
        sys.exit(__doc__.strip())
    Gst.init(None)
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else film.default_folder()
    if not (folder / "film.mkv").exists():
        sys.exit("%s: no film.mkv: run tests/data/screen/film.py first" % folder)
    count = int(sys.argv[2]) if len(sys.argv) == 3 else None
    plate = film.read(folder / "plate.png", "rgb24", np.uint8)[0]
    background = background_like_photograph(plate.shape[:2])
    for title, lossless in ("without compression", True), ("4:2:0, H.264", False):
        frames = [Frame(picture, *film.truth(folder, number)) for number, picture in enumerate(
            film.frames_of(folder, lossless)[:count], 1)]
        print("%s, %d frames: matte, edges, flicker" % (title, len(frames)))
        for keyer in keyers(frames, plate):
            print("  %6.2f %6.2f %6.2f  %s" % (
                *judge(keyer, frames, background), keyer.name), flush=True)
            keyer.close()


if __name__ == "__main__":
    main()
