#!/usr/bin/env python3
# Compares the key without settings with other keyers, on cut-outs and on a film
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints one table of keyers: the key of opencl-key without settings, PIK, the line from the
screen to the subject's colours near by, and FFmpeg's chromakey with despill.

    keytable.py CUTOUTS [FILM]

CUTOUTS is the folder of mattes.py, of which the pictures with even numbers are taken, and FILM that
of tests/data/screen/film.py (default: gst-opencl/film in the user's cache). Of cut-outs before an
uneven screen it prints the mean square error of alpha, times 1000, and the error of edges over
another picture, in levels of 255; mixed as levels, the same as JPEG, and mixed as light. Of the
film, with and without its empty screen, lossless and as H.264, it adds the flicker, as
filmmattes.py. Pictures are blended as they were mixed.

PIK and the line get the exact screen of cut-outs, and without the empty screen of the film its mean
colour. FFmpeg gets the mean colour. Ours finds the screen itself, but gets the colour of cut-outs,
some of which have too little screen to be found.

Needs ffmpeg, python3-numpy, python3-gi and the built plugins (meson devenv).
"""
import pathlib
import sys

import numpy as np

import filmmattes
import keyreports
import mattes
from filmmattes import Frame, Pik
from mattes import Gst
from srgb import levels_of, light_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "data" / "screen"))
import film  # noqa: E402

LINE = "chromakey name=key method=difference core=true subject=true spill=1 linear=true" \
    " auto-linear=true %s"


class Ours:
    """opencl-key's key. plate: a file, or None"""

    def __init__(self, plate=None, color=None):
        options = f"plate=file plate-location={plate} " if plate else ""
        options += "auto-key=screen" if color is None else \
            "key-color=0xff%02x%02x%02x" % tuple(color)
        self.line, self.pipeline = "openclupload ! %s ! opencldownload" % (LINE % options), None

    def result(self, frame, background):
        self.pipeline = self.pipeline or mattes.Pipeline(self.line, frame.picture.shape[:2])
        keyed = self.pipeline.run(frame.picture, {})
        key = self.pipeline.pipeline.get_by_name("key")
        return keyreports.blended(keyed, background, frame.is_light and key.get_property("linear"))

    def close(self):
        if self.pipeline:
            self.pipeline.pipeline.set_state(Gst.State.NULL)


class Line(Pik):
    """Alpha as PIK's. Where the pixel is near the line from the screen to the colour of opaque
    pixels around, alpha is the place on it. Edges by subtraction of the screen"""

    OPAQUE, NEAR = 0.97, 0.12
    SPREAD = ((3, 1), (9, 1e-2), (27, 1e-4), (81, 1e-6))  # deviation in pixels, weight

    @staticmethod
    def blurred(values, deviation):
        """Gaussian of rows, then of columns. The borders are mirrored."""
        reach = 3 * deviation
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
        weights /= weights.sum()
        for axis in 0, 1:
            size = values.shape[axis]
            period = np.abs(np.arange(-reach, size + reach)) % (2 * size)
            padded = np.take(values, np.minimum(period, 2 * size - 1 - period), axis)
            spectrum = np.fft.rfft(padded, axis=axis)
            kernel = np.zeros(padded.shape[axis])
            kernel[:weights.size] = weights
            shape = [1, 1, 1]
            shape[axis] = -1
            spectrum = spectrum * np.fft.rfft(np.roll(kernel, -reach)).reshape(shape)
            whole = np.fft.irfft(spectrum, padded.shape[axis], axis)
            values = np.take(whole, np.arange(reach, reach + size), axis)
        return values

    def result(self, frame, background):
        light = light_of(frame.picture)
        key = light @ self.WEIGHTS
        alpha = np.where(key <= 0, 1, 1 - key / np.maximum(self.screen @ self.WEIGHTS, 1e-6))
        alpha = np.clip(alpha, 0, 1)
        opaque = (alpha > self.OPAQUE)[..., None].astype(float)
        sums = sum(weight * self.blurred(np.dstack([light * opaque, opaque]), deviation)
                   for deviation, weight in self.SPREAD)
        line = sums[..., :3] / np.maximum(sums[..., 3:], 1e-9) - self.screen
        length = np.maximum((line ** 2).sum(-1), 1e-4)
        seen = light - self.screen
        place = np.clip((seen * line).sum(-1) / length, 0, 1)
        beside = ((seen - place[..., None] * line) ** 2).sum(-1) / length
        trust = np.exp(-beside / self.NEAR ** 2)
        alpha = trust * place + (1 - trust) * alpha
        subject = np.maximum(light - (1 - alpha[..., None]) * self.screen, 0)
        mixed = subject + (1 - alpha[..., None]) * light_of(background)
        return alpha, levels_of(np.clip(mixed, 0, 1))


class FFmpeg(keyreports.FFmpeg):
    def keyed(self, source, data=None):
        raw = mattes.ffmpeg(source, ["-vf", self.filter, "-pix_fmt", "rgba"], data)
        return np.frombuffer(raw, np.uint8)

    def result(self, frame, background):
        height, width = frame.picture.shape[:2]
        keyed = self.keyed(["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "%dx%d" % (width, height),
                            "-i", "-"], frame.picture.tobytes()).reshape(height, width, 4)
        return keyreports.blended(keyed, background)


def cutouts(folder, kind):
    """Yields shots with even numbers, with the screen of each."""
    numbers = sorted(int(path.stem[2:]) for path in (folder / "gt_training_lowres").glob("GT*.png"))
    for number in numbers:
        if number % 2 == 0:
            shot = mattes.Shot(folder, number, kind)
            height, width = shot.exact.shape
            slope = np.add.outer(np.linspace(0, 0.5, height), np.linspace(0, 0.5, width))
            shot.screen = (0.8 + 0.4 * slope)[..., None] * mattes.SCREEN
            shot.is_light = kind == "light"
            yield shot


def of_cutouts(shots, keyer_of):
    """Returns the errors of alpha and of edges."""
    square, edges = [], []
    for shot, behind in zip(shots, shots[3:] + shots[:3]):
        keyer, exact = keyer_of(shot), shot.exact / 255
        background = mattes.scaled(behind.photograph, exact.shape)
        alpha, composite = keyer.result(shot, background)
        keyer.close()
        truth = mattes.mix(shot.thing, exact, background)
        if shot.is_light:
            truth = levels_of(mattes.mix(light_of(shot.thing), exact, light_of(background)))
        square.append(((alpha - exact) ** 2).mean())
        edges.append(film.rms((composite - truth)[mattes.is_edge(exact)]))
    return 1e3 * np.mean(square), np.mean(edges)


def main():
    if len(sys.argv) not in (2, 3) or "--help" in sys.argv:
        sys.exit(__doc__.strip())
    Gst.init(None)
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else film.default_folder()
    plate_file = folder / "plate.png"
    plate = film.read(plate_file, "rgb24", np.uint8)[0]
    mean = plate.reshape(-1, 3).mean(0).round()
    background = filmmattes.background_like_photograph(plate.shape[:2])
    shots = {kind: list(cutouts(pathlib.Path(sys.argv[1]), kind)) for kind in
             ("levels", "jpeg", "light")}
    films = [[Frame(picture, *film.truth(folder, number)) for number, picture in enumerate(
        film.frames_of(folder, lossless), 1)] for lossless in (True, False)]
    for frame in sum(films, []):
        frame.is_light = True
    keyers = {  # of a cut-out, of the film with the empty screen, and without
        "opencl-key": (lambda shot: Ours(color=mattes.SCREEN), lambda: Ours(plate_file), Ours),
        "PIK": (lambda shot: Pik(shot.screen, ""), lambda: Pik(plate, ""), lambda: Pik(mean, "")),
        "line to the subject": (lambda shot: Line(shot.screen, ""), lambda: Line(plate, ""),
                                lambda: Line(mean, "")),
        "FFmpeg": (lambda shot: FFmpeg(shot.screen), None, lambda: FFmpeg(plate)),
    }
    print("| | levels | JPEG | light | film, plate | H.264, plate | film | H.264 |\n"
          + "|---" * 8 + "|")
    for name, (of_shot, with_plate, without) in keyers.items():
        cells = ["%.2f %.1f" % of_cutouts(of_kind, of_shot) for of_kind in shots.values()]
        for make in with_plate, without:
            for frames in films:
                keyer = make() if make else None
                cells.append("%.2f %.1f %.1f" % filmmattes.judge(keyer, frames, background)
                             if keyer else "")
                if keyer:
                    keyer.close()
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
