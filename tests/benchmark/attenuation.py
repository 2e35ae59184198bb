#!/usr/bin/env python3
"""Attenuation coefficients of the phantom's layers by octattenuation, beside the truth.

usage: attenuation.py [B-SCANS [REPEATS [NOISE]]]

Prints a line of JSON for each layer that is thick enough: the mean over its depths, A-lines, B-scans and
repeats, and the mean signal-to-noise ratio. Three depths at each border, vessels, and what these shine into
are left out. Fails if a layer with a ratio of 0 dB or more is more than 10 % off.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import subprocess
import sys
import tempfile

import numpy as np

B_SCANS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
SAMPLES, LINES, INDEX = 2048, 512, 1.38
NOISE = float(sys.argv[3]) if len(sys.argv) > 3 else 10  # raw units
ROLL_OFF, FOCUS, RAYLEIGH = 6, 500, 400  # dB over the range, µm, µm
WAVELENGTHS = "wavelength-min=1187 wavelength-max=1433"
MARGIN, WINDOW = 3, 16
STEP, NEAR = 10, 2  # µm between B-scans, and the B-scans that blood shines into


def roll_off():
    """Loss in dB at each depth: sinc of the pixels' width, and Gaussian of the optical resolution."""
    u = np.arange(SAMPLES // 2) / (SAMPLES // 2)
    pixels = -20 * np.log10(np.sinc(u / 2))
    return pixels + (ROLL_OFF + 20 * np.log10(np.sinc(0.5))) * u**2


def spectra(folder, frames, settings, elements):
    """Output of a pipeline that begins with spectra, as (frames, lines, depths)."""
    line = f"""gst-launch-1.0 -q octtestsrc num-buffers={frames} noise={NOISE} {WAVELENGTHS} {settings} !
        video/x-raw(memory:OpenCLMemory),width={SAMPLES},height={LINES} !
        octwindowinterp interpolation=nufft {WAVELENGTHS} wavelength-unit=nm ! octfft refractive-index={INDEX}
        {elements} ! opencldownload ! npysink location={folder}/found.npy"""
    subprocess.run(line.split(), check=True)
    return np.load(f"{folder}/found.npy")


def measure(folder, elements):
    """Numbers of the phantom as (b-scans, repeats, lines, depths)."""
    found = spectra(folder, B_SCANS * REPEATS,
                    f"""pattern=tissue b-scans={B_SCANS} b-scan-step={STEP} repeats={REPEATS} roll-off={ROLL_OFF} focus-depth={FOCUS}
                    rayleigh-range={RAYLEIGH} refractive-index={INDEX} truth-folder={folder}""", elements)
    return found.reshape(B_SCANS, REPEATS, LINES, SAMPLES // 2)


AMPLITUDES = "scale=linear ! application/x-oct(ANY),format=F32LE"


def noise_of(folder):
    """Intensity of the noise without a sample. The last quarter of the depths has less, as interpolation
    between samples takes noise away there."""
    amplitudes = spectra(folder, 4, "pattern=mirrors depths=<1> amplitudes=<0>", AMPLITUDES)
    return float((amplitudes[..., SAMPLES // 8 : SAMPLES // 3].astype(float) ** 2).mean())


def layers_of(folder):
    """Index of the layer at each depth of the truth, -1 outside, at borders and in vessels."""
    boundaries = np.load(f"{folder}/boundaries.npy")
    depth = np.arange(SAMPLES // 2)
    index = np.full((B_SCANS, LINES, SAMPLES // 2), -1)
    for n in range(boundaries.shape[1]):
        begin = boundaries[:, n, :, None] + MARGIN
        end = boundaries[:, n + 1, :, None] - MARGIN if n + 1 < boundaries.shape[1] else begin + 60
        index[(depth > begin) & (depth < end)] = n
    vessels = np.load(f"{folder}/velocity.npy") != 0
    for axis, reach in (0, NEAR), (1, WINDOW // 2 + 4):
        vessels = np.any([np.roll(vessels, n, axis) for n in range(-reach, reach + 1)], axis=0)
    index[vessels] = -1
    index[:NEAR] = index[-NEAR:] = -1
    return index


def signal_to_noise(folder, noise):
    """Mean signal over noise for each depth of a B-scan."""
    return (measure(folder, AMPLITUDES).astype(float) ** 2).mean(axis=1) / noise - 1


def compare(found, folder, name, ratio):
    index, truth = layers_of(folder), np.load(f"{folder}/attenuation.npy")
    worst = 0
    for layer in range(index.max() + 1):
        inside = index == layer
        if not inside.any():
            continue
        expected, got = truth[inside].mean(), found.mean(axis=1)[inside].mean()
        decibels, off = 10 * np.log10(max(ratio[inside].mean(), 1e-3)), got / expected - 1
        worst = max(worst, abs(off) if decibels >= 0 else 0)
        print(json.dumps({"what": f"attenuation/{name}", "layer": layer, "snr_db": round(float(decibels), 1),
                          "expected": round(float(expected), 3), "found": round(float(got), 3),
                          "error_percent": round(100 * float(off), 1)}))
    return worst


def main():
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/roll-off.txt", roll_off())
        noise = noise_of(folder)
        corrected = (f"noise-floor={10 * np.log10(noise)} min-snr=-1000 window-lines={WINDOW} roll-off-file={folder}/roll-off.txt "
                     f"focus-depth={FOCUS} rayleigh-range={2 * RAYLEIGH}")
        ratio = signal_to_noise(folder, noise)
        worst = compare(measure(folder, f"! octattenuation {corrected}"), folder, "corrected", ratio)
        raw = compare(measure(folder, f"! octattenuation window-lines={WINDOW} end-depths=0"), folder,
                      "not corrected", ratio)
    print(json.dumps({"what": "attenuation/worst", "corrected_percent": round(100 * worst, 1),
                      "not_corrected_percent": round(100 * raw, 1)}))
    return worst > 0.1


if __name__ == "__main__":
    sys.exit(main())
