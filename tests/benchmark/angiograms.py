#!/usr/bin/env python3
# Measures octangio's angiograms of the phantom against its truth
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Computes angiograms of the phantom of octtestsrc, and for each setting of octangio prints how
well they tell vessels from everything else.

    angiograms.py [--motion UM] [--b-scans N] [--lines N] [--seed N] [SETTINGS …]

The area under the ROC curve is over all pixels of a B-scan, air and shadows included: the
probability that a pixel of a vessel (velocity above 0) is brighter than another pixel, where equal
ones count half. "odd" are the B-scans with odd numbers, on which defaults were chosen, "even" the
others. "tail" is the mean of tissue below vessels, "static" that of other tissue, both relative to
the mean of vessels. With --motion the truth moves with the first repeat. "kept" is the part of the vessels that is above 0.

SETTINGS are properties of octangio, in quotes. Without any, it prints a table of the common ones.
Needs python3-numpy and the built plugins (meson devenv).
"""
import argparse
import pathlib
import subprocess
import tempfile

import numpy as np

SETTINGS = (
    "method=speckle-variance", "method=decorrelation", "method=complex-variance",
    "method=decorrelation threshold-snr=6", "method=decorrelation threshold-snr=15",
    "method=decorrelation bands=4 threshold-snr=15",
    "axial-shift=4", "axial-shift=4 lateral-shift=2",
    "projection-resolved=true", "axial-shift=4 lateral-shift=2 projection-resolved=true",
    "method=decorrelation threshold-snr=15 projection-resolved=true")
SAMPLES = 2048


def launch(line):
    subprocess.run(["gst-launch-1.0", "-q", *line.split()], check=True)


def record(folder, options):
    """Writes spectra and truth of a volume with four repeats."""
    launch(f"octtestsrc pattern=tissue b-scans={options.b_scans} repeats=4 seed={options.seed} "
           f"num-buffers={4 * options.b_scans} motion={options.motion} truth-folder={folder} "
           f"line-rate={options.line_rate} ! video/x-raw(ANY),width={SAMPLES},"
           f"height={options.lines},framerate={options.line_rate // options.lines}/1 ! "
           f"opencldownload ! npysink location={folder}/spectra.npy")


def angiograms(folder, settings):
    launch(f"filesrc location={folder}/spectra.npy ! npyparse ! openclupload ! octwindowinterp "
           "wavelength-min=1187 wavelength-max=1433 background=frame ! octfft ! "
           f"octangio repeats=4 {settings} ! opencldownload ! npysink location={folder}/angio.npy")
    return np.load(folder / "angio.npy").astype(np.float64)


def area(values, is_vessel):
    """Mann-Whitney statistic, with ranks that equal values share"""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places.ravel()]
    inside = is_vessel.ravel()
    n = inside.sum()
    return (ranks[inside].sum() - n * (n + 1) / 2) / (n * (inside.size - n))


def displaced(array, motion, axis_of_lines, depths=None):
    """The truth of a B-scan that has moved by whole A-lines and depths"""
    moved = np.roll(array, round(motion[0]), axis=axis_of_lines)
    return moved + motion[2] if depths is None else np.roll(moved, round(motion[2]), axis=depths)


def measure(angiogram, velocity, boundaries, motion):
    velocity = displaced(velocity, motion, 0, 1)
    boundaries = displaced(boundaries, motion, 1)
    vessel = velocity > 0
    depth = np.arange(velocity.shape[1])
    tissue = (depth > boundaries[0][:, None]) & (depth < boundaries[-1][:, None])
    below = (np.cumsum(vessel, axis=1) > 0) & ~vessel & tissue
    static = tissue & ~vessel & ~below
    flow = angiogram[vessel].mean()
    return (area(angiogram, vessel), angiogram[below].mean() / flow,
            angiogram[static].mean() / flow, (angiogram[vessel] > 0).mean())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--motion", type=float, default=0)
    parser.add_argument("--b-scans", type=int, default=16)
    parser.add_argument("--lines", type=int, default=512)
    parser.add_argument("--line-rate", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("settings", nargs="*", metavar="SETTINGS")
    options = parser.parse_args()
    print(f"{'settings':64} {'AUC odd':>8} {'even':>7} {'worst':>7} {'tail':>7} {'static':>7} "
          f"{'kept':>6}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        record(folder, options)
        velocity = np.load(folder / "velocity.npy")
        boundaries = np.load(folder / "boundaries.npy")
        motion = np.load(folder / "motion.npy")[::4]
        for settings in options.settings or SETTINGS:
            found = np.array([measure(*of) for of in zip(angiograms(folder, settings), velocity,
                                                         boundaries, motion)])
            mean = found.mean(axis=0)
            print(f"{settings:64} {found[1::2, 0].mean():8.4f} {found[::2, 0].mean():7.4f} "
                  f"{found[:, 0].min():7.4f} {mean[1]:7.4f} {mean[2]:7.4f} {mean[3]:6.3f}",
                  flush=True)


if __name__ == "__main__":
    main()
