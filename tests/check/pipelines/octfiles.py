#!/usr/bin/env python3
"""Promises: what octfilesink writes, nibabel and pynrrd read back as numpy reads what
npysink wrote of the same frames, with the spacing; and so what is left after SIGKILL.

usage: octfiles.py FOLDER-OF-PYNRRD

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.append(sys.argv[1])
import nibabel  # noqa: E402  Debian's python3-nibabel
import nrrd  # noqa: E402  tests/run.sh installs it

STEPS = (3.5, 8.0, 9.0)  # µm: depth, A-lines, B-scans
CHAIN = (
    "octtestsrc num-buffers=12 ! "
    "video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,width=128,height=24 ! "
    "octscan b-scans=6 line-step=8 b-scan-step=9 ! "
    "octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft"
)
KINDS = {  # of frames
    "levels": "application/x-oct(memory:OpenCLMemory),format=F32LE",
    "complex": "application/x-oct(memory:OpenCLMemory),format=CF32LE",
    "volumes": "application/x-oct(memory:OpenCLMemory),format=F32LE ! octvolume ! "
    "other/tensors(memory:OpenCLMemory),num_tensors=1",
    "pictures": "video/x-raw(memory:OpenCLMemory),format=GRAY8",
}


def write(folder, kind):
    sinks = " ".join(
        f"frames. ! queue ! {sink} async=false location={folder}/{kind}.{ending}"
        for sink, ending in (
            ("npysink", "npy"),
            ("octfilesink depth-step=3.5", "nii"),
            ("octfilesink depth-step=3.5", "nrrd"),
        )
    )
    subprocess.run(
        f"gst-launch-1.0 -q {CHAIN} ! {KINDS[kind]} ! opencldownload ! "
        f"tee name=frames {sinks}".split(),
        check=True,
        timeout=300,
    )


def check_kind(folder, kind):
    write(folder, kind)
    expected = np.load(folder / f"{kind}.npy").T  # the fastest axis first
    steps = list(STEPS)
    if kind == "pictures":  # whose columns are A-lines
        steps[:2] = steps[1], steps[0]
        steps[2] = 0  # caps of pictures have no lengths
        steps[0] = 0
    known = [step if step else 1 for step in steps]

    image = nibabel.load(folder / f"{kind}.nii")
    got = np.asanyarray(image.dataobj)
    assert got.dtype == expected.dtype, (kind, got.dtype)
    assert np.array_equal(got, expected), kind
    assert np.allclose(image.header.get_zooms()[:3], known), image.header.get_zooms()
    assert np.allclose(np.diag(image.affine)[:3], known), image.affine
    assert image.header.get_xyzt_units()[0] == "micron", image.header.get_xyzt_units()

    values, header = nrrd.read(str(folder / f"{kind}.nrrd"))
    spacings = header["spacings"]
    if kind == "complex":
        assert header["kinds"][0] == "complex" and values.shape[0] == 2
        values, spacings = values[0] + 1j * values[1], spacings[1:]
    assert np.array_equal(values, expected), kind
    for got_step, step in zip(spacings[:3], steps):
        assert got_step == step or (step == 0 and np.isnan(got_step)), spacings
    print(f"{kind}: {expected.shape} of {expected.dtype}")


def check_after_kill(folder, ending, read):
    location = folder / f"killed.{ending}"
    running = subprocess.Popen(
        [
            *"gst-launch-1.0 -q videotestsrc is-live=true pattern=snow !".split(),
            *"video/x-raw,format=GRAY8,width=64,height=32,framerate=200/1 !".split(),
            *f"octfilesink async=false location={location}".split(),
        ]
    )
    found = []
    for _ in range(2000):
        found = [file for file in folder.glob(f"killed.{ending}*") if file.stat().st_size > 30000]
        if found:
            break
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert found, "nothing was written"
    values = read(found[0])
    assert values.shape[:2] == (64, 32) and values.shape[2] >= 10, values.shape
    assert values[:, :, -1].std() > 10, "the last frame is empty"
    print(f"killed: {values.shape[2]} frames of {ending}")


with tempfile.TemporaryDirectory() as name:
    for each in KINDS:
        check_kind(pathlib.Path(name), each)
    check_after_kill(
        pathlib.Path(name), "nii", lambda file: np.asanyarray(nibabel.load(file).dataobj)
    )
    check_after_kill(pathlib.Path(name), "nrrd", lambda file: nrrd.read(str(file))[0])
