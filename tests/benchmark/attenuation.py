#!/usr/bin/env python3
"""Attenuation coefficients of the phantom's layers by octattenuation, beside the truth.

usage: attenuation.py [B-SCANS [REPEATS]]

Prints a line of JSON for each layer: the mean over its depths, A-lines, B-scans and repeats, without vessels
and without three depths at each border. Fails if a layer is more than 10 % off.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import subprocess
import sys
import tempfile

import numpy as np

B_SCANS = int(sys.argv[1]) if len(sys.argv) > 1 else 6
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
SAMPLES, LINES, INDEX = 2048, 512, 1.38
ROLL_OFF, FOCUS, RAYLEIGH, NOISE = 6, 500, 400, 20  # dB over the range, µm, µm, raw units
WAVELENGTHS = "wavelength-min=1187 wavelength-max=1433"
MARGIN, WINDOW = 3, 16


def roll_off():
    """Loss in dB at each depth: sinc of the pixels' width, and Gaussian of the optical resolution."""
    u = np.arange(SAMPLES // 2) / (SAMPLES // 2)
    pixels = -20 * np.log10(np.sinc(u / 2))
    return pixels + (ROLL_OFF + 20 * np.log10(np.sinc(0.5))) * u**2


def measure(folder, settings):
    """Coefficients as (b-scans, repeats, lines, depths), or None where the element outputs 0."""
    line = f"""gst-launch-1.0 -q octtestsrc pattern=tissue b-scans={B_SCANS} repeats={REPEATS}
        num-buffers={B_SCANS * REPEATS} noise={NOISE} roll-off={ROLL_OFF} focus-depth={FOCUS}
        rayleigh-range={RAYLEIGH} refractive-index={INDEX} truth-folder={folder} {WAVELENGTHS} !
        video/x-raw(memory:OpenCLMemory),width={SAMPLES},height={LINES} !
        octwindowinterp interpolation=nufft {WAVELENGTHS} wavelength-unit=nm ! octfft refractive-index={INDEX} !
        octattenuation {settings} ! opencldownload ! npysink location={folder}/found.npy"""
    subprocess.run(line.split(), check=True)
    return np.load(f"{folder}/found.npy").reshape(B_SCANS, REPEATS, LINES, SAMPLES // 2)


def layers_of(folder):
    """Index of the layer at each depth of the truth, -1 outside, at borders and in vessels."""
    boundaries = np.load(f"{folder}/boundaries.npy")
    depth = np.arange(SAMPLES // 2)
    index = np.full((B_SCANS, LINES, SAMPLES // 2), -1)
    for n in range(boundaries.shape[1]):
        begin = boundaries[:, n, :, None] + MARGIN
        end = boundaries[:, n + 1, :, None] - MARGIN if n + 1 < boundaries.shape[1] else begin + 60
        index[(depth > begin) & (depth < end)] = n
    index[np.load(f"{folder}/velocity.npy") != 0] = -1
    return index


def compare(found, folder, name):
    index, truth = layers_of(folder), np.load(f"{folder}/attenuation.npy")
    worst = 0
    for layer in range(index.max() + 1):
        inside = index == layer
        expected, got = truth[inside].mean(), found.mean(axis=1)[inside].mean()
        worst = max(worst, abs(got / expected - 1))
        print(json.dumps({"what": f"attenuation/{name}", "layer": layer, "expected": round(float(expected), 3),
                          "found": round(float(got), 3), "error_percent": round(100 * float(got / expected - 1), 1)}))
    return worst


def main():
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/roll-off.txt", roll_off())
        corrected = (f"noise-depths=64 min-snr=-1000 window-lines={WINDOW} roll-off-file={folder}/roll-off.txt "
                     f"focus-depth={FOCUS} rayleigh-range={2 * RAYLEIGH}")
        worst = compare(measure(folder, corrected), folder, "corrected")
        raw = compare(measure(folder, f"window-lines={WINDOW} end-depths=0"), folder, "not corrected")
    print(json.dumps({"what": "attenuation/worst", "corrected_percent": round(100 * worst, 1),
                      "not_corrected_percent": round(100 * raw, 1)}))
    return worst > 0.1


if __name__ == "__main__":
    sys.exit(main())
