#!/usr/bin/env python3
"""Promises: nibabel, pynrrd and SimpleITK (used by 3D Slicer and ITK-SNAP) read the files of
octfilesink with the same values that npysink wrote of these frames. Lengths are in millimetres,
and a viewer shows B-scans upright. The same is true of a file left after SIGKILL.

usage: octfiles.py FOLDER-OF-READERS

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
import nrrd  # noqa: E402  tests/run.sh installs it and the next
import SimpleITK  # noqa: E402

STEPS = (0.0035, 0.008, 0.009)  # mm: depth, A-lines, B-scans
FIRST_DEPTH = 10
# Their directions in a viewer: down, to the left of a patient who faces us, and forwards
LEFT_POSTERIOR_SUPERIOR = np.array([[0, 0, -1], [1, 0, 0], [0, -1, 0]])
CHAIN = (
    "octtestsrc num-buffers=12 ! "
    "video/x-raw(memory:OpenCLMemory),format=GRAY16_LE,width=128,height=24 ! "
    "octscan b-scans=6 line-step=8 b-scan-step=9 ! "
    f"octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft depth-start={FIRST_DEPTH}"
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


def check_values(folder, kind, expected):
    """Compares values with those that numpy read, the fastest axis first."""
    image = nibabel.load(folder / f"{kind}.nii")
    got = np.asanyarray(image.dataobj)
    assert got.dtype == expected.dtype, (kind, got.dtype)
    assert np.array_equal(got, expected), kind
    values, header = nrrd.read(str(folder / f"{kind}.nrrd"))
    if kind == "complex":
        assert header["kinds"][0] == "complex" and values.shape[0] == 2
        values = values[0] + 1j * values[1]
    assert np.array_equal(values, expected), kind
    for name in ("spacings", "units"):  # not allowed together with space directions
        assert kind == "pictures" or name not in header, header
    for ending in ("nii", "nrrd"):
        image = SimpleITK.ReadImage(str(folder / f"{kind}.{ending}"))
        assert np.array_equal(SimpleITK.GetArrayFromImage(image).T, expected), (kind, ending)


def check_places(folder, kind):
    """Checks that every program places the voxels at the same position, in millimetres."""
    if kind == "pictures":  # columns are A-lines, and caps have no lengths but the depth step
        check_unknown(folder, kind, (1, STEPS[0], 1))
        return
    steps, ways = np.array(STEPS), LEFT_POSTERIOR_SUPERIOR
    first = FIRST_DEPTH * STEPS[0]
    for ending in ("nii", "nrrd"):
        image = SimpleITK.ReadImage(str(folder / f"{kind}.{ending}"))
        assert np.allclose(image.GetSpacing()[:3], steps), (kind, ending, image.GetSpacing())
        for index in ((0, 0, 0), (5, 0, 0), (0, 3, 0), (0, 0, 4), (9, 7, 2)):
            place = image.TransformIndexToPhysicalPoint(index + (0,) * (image.GetDimension() - 3))
            expected = (np.array(index) * steps) @ ways + (0, 0, -first)
            assert np.allclose(place[:3], expected, atol=1e-7), (kind, ending, index, place)
    image = nibabel.load(folder / f"{kind}.nii")
    assert "".join(nibabel.aff2axcodes(image.affine)) == "ILA", image.affine
    assert image.header.get_xyzt_units()[0] == "mm", image.header.get_xyzt_units()


def check_unknown(folder, kind, steps):
    """Unknown lengths are left out of NRRD, and NIfTI has no unit for all."""
    for ending in ("nii", "nrrd"):
        spacing = SimpleITK.ReadImage(str(folder / f"{kind}.{ending}")).GetSpacing()
        assert np.allclose(spacing[:3], steps), (kind, ending, spacing)
    assert nibabel.load(folder / f"{kind}.nii").header.get_xyzt_units()[0] == "unknown"
    header = nrrd.read_header(str(folder / f"{kind}.nrrd"))
    known = [step == STEPS[0] for step in steps]
    assert np.array_equal(np.isfinite(header["spacings"]), known), header
    assert header["units"] == ["mm" if is_known else "" for is_known in known], header


def check_coronal(folder):
    """A viewer shows the patient's left side on the right. Its coronal plane is the B-scan as
    octfft shows it: each column is an A-line, the first one on the left, depth downwards."""
    expected = np.load(folder / "levels.npy")[2].T
    canonical = nibabel.as_closest_canonical(nibabel.load(folder / "levels.nii"))
    right_anterior_superior = np.asanyarray(canonical.dataobj)
    assert np.array_equal(right_anterior_superior[::-1, 2, ::-1].T, expected)


def check_kind(folder, kind):
    write(folder, kind)
    expected = np.load(folder / f"{kind}.npy").T
    check_values(folder, kind, expected)
    check_places(folder, kind)
    print(f"{kind}: {expected.shape} of {expected.dtype}")


def check_single_volume(folder):
    """A volume has three axes, which old readers demand. Its values follow the same header."""
    for ending in "nrrd", "nii":
        location = folder / f"single.{ending}"
        subprocess.run(
            f"gst-launch-1.0 -q {CHAIN.replace('num-buffers=12', 'num-buffers=6')} ! "
            f"{KINDS['volumes']} ! opencldownload ! octfilesink location={location}".split(),
            check=True,
            timeout=300,
        )
        image = SimpleITK.ReadImage(str(location))
        assert image.GetDimension() == 3, image.GetSize()
        expected = np.load(folder / "volumes.npy")[0]
        assert np.array_equal(SimpleITK.GetArrayFromImage(image), expected), ending


def check_unknown_lengths(folder):
    """Frames whose caps have no lengths: no field is NaN, and the voxel spacing is 1."""
    location = folder / "unknown.nrrd"
    source = "videotestsrc num-buffers=4 ! video/x-raw,format=GRAY8,width=8,height=3"
    subprocess.run(
        f"gst-launch-1.0 -q {source} ! octfilesink location={location}".split(),
        check=True,
        timeout=300,
    )
    header = nrrd.read_header(str(location))
    assert np.all(np.isfinite(header["space directions"])), header
    for name in ("spacings", "space units", "units"):
        assert name not in header, header
    assert SimpleITK.ReadImage(str(location)).GetSpacing() == (1, 1, 1)


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
    check_coronal(pathlib.Path(name))
    check_single_volume(pathlib.Path(name))
    check_unknown_lengths(pathlib.Path(name))
    check_after_kill(
        pathlib.Path(name), "nii", lambda file: np.asanyarray(nibabel.load(file).dataobj)
    )
    check_after_kill(pathlib.Path(name), "nrrd", lambda file: nrrd.read(str(file))[0])
