#!/usr/bin/env python3
"""The OCT chain on real data, held against a reference in numpy.

Run by hand: nothing of the data is in the project. GST_OPENCL_OCT_DATA names a folder with
    tape/tape_lambda_domain_999x2048_u16le.raw, tape/lambda_cobra_s_nm.npy
    scatterer/bscan/*.npy, scatterer/klinear_frac_index.npy, scatterer/dispersion_phase.npy
and GST_OPENCL_OCT_REFERENCE the file oct_reference.py, with its functions resample_map,
spectrum, depth, decibels and display. What is not there is not checked, and is said so.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import glob
import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy as np

LIBRARIES = ("vkfft", "clfft")


def load_reference(path):
    spec = importlib.util.spec_from_file_location("oct_reference", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launch(line):
    subprocess.run(["gst-launch-1.0", "-q", *line.split()], check=True)


def run_chain(source, window, library, range_db, shape, folder):
    """Decibels [line][bin] and the picture [bin][line] of the frames that `source` gives."""
    numbers, pictures = f"{folder}/numbers", f"{folder}/pictures"
    fft = f"octfft fft-library={library} db-min={range_db[0]} db-max={range_db[1]}"
    launch(
        f"{source} ! openclupload ! octwindowinterp {window} ! tee name=t "
        f"t. ! queue ! {fft} ! opencldownload ! "
        f"application/x-oct,domain=depth,format=F32LE ! "
        f"filesink async=false location={numbers} "
        f"t. ! queue ! {fft} ! opencldownload ! video/x-raw,format=GRAY8 ! "
        f"filesink async=false location={pictures}"
    )
    frames, lines, bins = shape
    stride = (lines + 3) // 4 * 4
    db = np.fromfile(numbers, "<f4").reshape(frames, lines, bins)
    picture = np.fromfile(pictures, np.uint8).reshape(frames, bins, stride)
    return db, picture[:, :, :lines]


def compare(name, db, picture, expected, floor, range_db, reference):
    """Prints what differs most; returns whether that is within what is promised."""
    strong = expected > floor
    worst = np.abs(db - expected)[strong].max()
    wanted = np.stack([reference.display(frame, *range_db) for frame in expected])
    levels = np.abs(picture.astype(int) - wanted.astype(int))
    near = (levels <= 1).mean()
    good = worst <= 0.05 and levels.max() <= 2 and near >= 0.999
    print(
        f"{'ok    ' if good else 'WRONG '} {name}: worst {worst:.4f} dB in the "
        f"{strong.mean():.1%} of the bins above {floor:.0f} dB; {near:.4%} of the pixels "
        f"within 1 level, worst {levels.max()}"
    )
    return good


def check_libraries(name, source, window, expected, floor, range_db, reference, folder):
    good = True
    for library in LIBRARIES:
        db, picture = run_chain(
            source, window, library, range_db, expected.shape, folder
        )
        good &= compare(
            f"{name}, {library}", db, picture, expected, floor, range_db, reference
        )
    return good


def check_tape(data, reference, folder):
    raw = f"{data}/tape/tape_lambda_domain_999x2048_u16le.raw"
    table = f"{data}/tape/lambda_cobra_s_nm.npy"
    a2, a3 = 7.994e-5, 2.67e-9
    frame = np.fromfile(raw, "<u2").reshape(999, 2048)
    r, _ = reference.resample_map(np.load(table))
    spectrum = reference.spectrum(frame, r, "frame", a2=a2, a3=a3)
    expected = reference.decibels(reference.depth(spectrum))[None]
    source = (
        f"filesrc location={raw} ! rawvideoparse format=gray16-le width=2048 height=999"
    )
    window = (
        f"wavelengths={table} background=frame dispersion-a2={a2} dispersion-a3={a3}"
    )
    return check_libraries(
        "tape", source, window, expected, 0, (-10.0, 42.0), reference, folder
    )


def check_scatterer(data, reference, folder):
    where = f"{data}/scatterer"
    files = sorted(glob.glob(f"{where}/bscan/[0-9]*.npy"))
    first = int(os.path.basename(files[0])[:-4])
    r = np.load(f"{where}/klinear_frac_index.npy")
    phase = np.load(f"{where}/dispersion_phase.npy")
    expected = []
    for file in files:
        spectrum = reference.spectrum(np.load(file), r, "frame", phase=phase)
        expected.append(reference.decibels(reference.depth(spectrum)))
    expected = np.stack(expected)
    source = (
        f"multifilesrc location={where}/bscan/%03d.npy start-index={first} "
        f"stop-index={first + len(files) - 1} caps=application/x-npy ! npyparse"
    )
    window = (
        f"resample-map={where}/klinear_frac_index.npy background=frame "
        f"dispersion-phase={where}/dispersion_phase.npy"
    )
    # These amplitudes are far below 1.
    floor = expected.max() - 50
    return check_libraries(
        "scatterer", source, window, expected, floor, (-80.0, -20.0), reference, folder
    )


CHECKS = (
    ("tape", "tape/tape_lambda_domain_999x2048_u16le.raw", check_tape),
    ("scatterer", "scatterer/klinear_frac_index.npy", check_scatterer),
)


def main():
    data = os.environ.get("GST_OPENCL_OCT_DATA", "")
    reference_path = os.environ.get("GST_OPENCL_OCT_REFERENCE", "")
    if not os.path.isfile(reference_path):
        print("NOTHING WAS CHECKED: GST_OPENCL_OCT_REFERENCE names no oct_reference.py")
        return 77
    reference = load_reference(reference_path)
    good, checked = True, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, file, check in CHECKS:
            if not os.path.isfile(os.path.join(data, file)):
                print(f"NOT CHECKED: {name}: no {file} in GST_OPENCL_OCT_DATA={data!r}")
                continue
            good &= check(data, reference, folder)
            checked += 1
    if not checked:
        print("NOTHING WAS CHECKED")
        return 77
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
