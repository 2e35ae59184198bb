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

class Ours(keyreports.Chromakey):
    """opencl-key, blended as the picture was mixed"""

    def blends_light(self, frame):
        return frame.is_light and super().blends_light(frame)


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

    def alpha_of(self, light):
        alpha = np.clip(self.by_key(light), 0, 1)
        opaque = (alpha > self.OPAQUE)[..., None].astype(float)
        sums = sum(weight * self.blurred(np.dstack([light * opaque, opaque]), deviation)
                   for deviation, weight in self.SPREAD)
        line = sums[..., :3] / np.maximum(sums[..., 3:], 1e-9) - self.screen
        length = np.maximum((line ** 2).sum(-1), 1e-4)
        seen = light - self.screen
        place = np.clip((seen * line).sum(-1) / length, 0, 1)
        beside = ((seen - place[..., None] * line) ** 2).sum(-1) / length
        trust = np.exp(-beside / self.NEAR ** 2)
        return trust * place + (1 - trust) * alpha


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
        "opencl-key": (lambda shot: Ours("--key", "%02x%02x%02x" % tuple(mattes.SCREEN)),
                       lambda: Ours("--plate", str(plate_file)), Ours),
        "PIK": (lambda shot: Pik(shot.screen, ""), lambda: Pik(plate, ""), lambda: Pik(mean, "")),
        "line to the subject": (lambda shot: Line(shot.screen, ""), lambda: Line(plate, ""),
                                lambda: Line(mean, "")),
        "FFmpeg": (lambda shot: keyreports.FFmpeg(shot.screen), None,
                   lambda: keyreports.FFmpeg(plate)),
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
