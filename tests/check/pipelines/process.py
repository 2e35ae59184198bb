#!/usr/bin/env python3
"""Promises of gstopencl.process and oct-process: they compute the same as numpy, from each format
of recordings and into each format of results, as a whole or in parts. If a worker is killed, no
result is lost and no temporary file remains. No recording is processed twice, and an interrupted
run continues. A recording that cannot be processed is named, and the others continue. No result
replaces the result of another recording, and no result is used as a recording.

usage: process.py OCT-PROCESS [CHECK...]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import io
import json
import os
import pathlib
import re
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from unittest import mock

import h5py
import nibabel
import numcodecs
import numpy as np
import tifffile
import zarr

import gstopencl.chain
from gstopencl import batch, files
from gstopencl import jobs as tasks
from gstopencl.chain import DEPTHS
from gstopencl.progress import SHORT, STEP, BytesProgress, in_bytes
from fulldisk import full_disk
from octwriter import Recording as OctRecording
from octwriter import chirp_of

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
RECORDINGS, FRAMES, LINES, SAMPLES = 12, 40, 64, 512
WIDE = "application/x-oct(memory:OpenCLMemory),domain=depth,format=F32LE"
GROUPED = "octscan repeats=2 b-scans=3 ! octwindowinterp ! octfft ! " \
          "octaverage frames=2 mean=linear ! octdisplay min=0 max=100"


def noise(seed, *shape):
    return np.random.default_rng(seed).integers(0, 4096, shape).astype("<u2")


def record(folder):
    """Writes recordings of noise, different in each."""
    for n in range(RECORDINGS):
        np.save(folder / f"recording {n:02}.npy", noise(n, FRAMES, LINES, SAMPLES))


def record_small(folder, names):
    """Writes small recordings of noise, which are processed faster than workers start."""
    for n, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        np.save(folder / name, noise(100 + n, 2, 16, 256))


def depth_of(spectra):
    samples = spectra.shape[-1]
    window = np.hanning(samples) * 2 / np.hanning(samples).sum()
    return np.abs(np.fft.fft(spectra * window))[..., : samples // 2]


def check_depths(made, spectra):
    expected = depth_of(spectra)
    assert made.shape == expected.shape, (made.shape, expected.shape)
    worst = np.abs(10 ** (made / 20.0) - expected).max() / expected.max()
    assert worst < 1e-5, worst


def check_result(folder, name, output="processed"):
    check_depths(np.load(folder / output / name), np.load(folder / name))


# --- gstopencl.process ---


def raises(words, function, *arguments, **options):
    """Checks that a call fails with one sentence that has these words."""
    try:
        function(*arguments, **options)
    except (gstopencl.ChainError, gstopencl.RecordingError, OSError) as error:
        said = str(error)
        assert all(word in said for word in words) and "\n" not in said, said
    else:
        raise AssertionError(f"no error: {arguments}")


def check_arrays(folder):
    """Arrays are read where they are, with any leading lengths, and results are views."""
    spectra = noise(1, 3, 4, 16, 256)
    check_depths(gstopencl.process(spectra).reshape(3, 4, 16, 128), spectra)
    for part in spectra[0], spectra[0, :1], spectra[::2, 1], spectra[0, :, ::2], spectra[0, 0]:
        check_depths(gstopencl.process(part), part.reshape(-1, *part.shape[-2:]))
    check_depths(gstopencl.process(spectra[0, 0, 0]), spectra[:1, 0, :1])
    one = gstopencl.process(spectra[0, 0])
    assert not one.flags.writeable and not one.flags.owndata
    wait_for(lambda: not gstopencl.memory.lent)  # released after an upload, by another thread
    pictures = gstopencl.process(spectra[0, :, :5], "octwindowinterp ! octfft")
    assert pictures.shape == (4, 128, 5) and pictures.dtype == "u1"  # rows of 8 bytes in memory
    for place, name in enumerate(("ARGB64", "BGRA64_LE")):
        colours = gstopencl.process(
            spectra[0, 0], "octwindowinterp ! octfft ! openclconvert ! "
            f"video/x-raw(memory:OpenCLMemory),format={name}")
        assert colours.dtype == np.uint16 and colours.shape[-1] == 4, (name, colours.shape)
        assert (colours[..., 3 * place] == 65535).all(), name
        assert (colours[..., 1] == colours[..., 2]).all() and colours[..., 1].max() > 0, name
    doubled = gstopencl.process(np.float32(spectra[0]), "openclkernel expression=2*x")
    assert np.array_equal(doubled, 2 * spectra[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_depths(gstopencl.process(spectra[0] + 0.0), spectra[0])
    assert "rounded" in str(caught[0].message), caught


TWO_THREADS = """
import threading
from gstopencl.frames import start_gstreamer
from gi.repository import Gst

parsed = []

def parse():
    start_gstreamer()
    parsed.append(Gst.parse_launch("appsrc ! appsink"))

threads = [threading.Thread(target=parse) for _ in range(2)]
for call in threading.Thread.start, threading.Thread.join:
    for thread in threads:
        call(thread)
print(len(parsed))
"""


def check_threads(_):
    """Two threads of a worker may be the first that use GStreamer."""
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", TWO_THREADS], capture_output=True, text=True,
                              timeout=100, check=False)
        assert done.stdout == "2\n", done.stderr


def check_memory_is_shared(_):
    """A buffer has the memory of the array, and a view that of the buffer."""
    gstopencl.frames.start_gstreamer()
    wait_for(lambda: not gstopencl.memory.lent)
    array = noise(2, 4, 8)
    buffer = gstopencl.memory.buffer_of(array)
    view = gstopencl.memory.bytes_of(buffer)
    assert view.ctypes.data == array.ctypes.data and np.array_equal(view.view("<u2"), array.ravel())
    del buffer
    assert gstopencl.memory.lent
    del view
    assert not gstopencl.memory.lent


def check_settings(folder):
    """A file, its text and a dictionary say the same."""
    spectra = noise(3, 2, 8, 256)
    expected = np.abs(np.fft.fft(spectra))[..., :128] * 2 / 256
    file = folder / "settings.txt"
    file.write_text("# comment\nwindow=rectangular\n")
    for settings in file, str(file), file.read_text(), {"window": "rectangular"}:
        made = 10 ** (gstopencl.process(spectra, settings=settings) / 20)
        assert np.abs(made - expected).max() < 1e-5 * expected.max()
    file.write_text("window=hann\n")
    check_depths(gstopencl.process(spectra, settings=file), spectra)
    raises(["nosuch"], gstopencl.process, spectra, settings={"nosuch": 1})
    raises(["line 2", "window=hamm", "hamming"], gstopencl.process, spectra,
           settings={"window-width": 1.5, "window": "hamm"})
    raises([str(folder / "gone.txt")], gstopencl.process, spectra, settings=folder / "gone.txt")
    raises(["settings", "octwindowinterp"], gstopencl.process, spectra, "octfft", "window=hann")
    raises(["nosuchelement"], gstopencl.process, spectra, "octfft ! nosuchelement")
    raises(["int64"], gstopencl.process, spectra.astype(int))
    raises(["does not fit into a line"], gstopencl.process, spectra,
           settings={"wavelengths": "a.npy\nwindow=hann"})


def check_settings_name_files(folder):
    """A relative name in a dictionary is that of the current folder, not of temporary files."""
    spectra, name = noise(3, 2, 8, 256), f"map-{os.getpid()}.npy"
    np.save(folder / name, np.arange(256) ** 0.999)
    other = pathlib.Path(tempfile.gettempdir(), name)
    np.save(other, np.arange(256.0))
    before = os.getcwd()
    os.chdir(folder)
    try:
        made, expected = (gstopencl.process(spectra, settings={"resample-map": path})
                          for path in (name, str(folder / name)))
    finally:
        os.chdir(before)
        other.unlink()
    assert np.array_equal(made, expected)


def write_all(folder, spectra):
    """Writes the same spectra in each format, and returns the options to read each with."""
    np.save(folder / "a.npy", spectra)
    np.save(folder / "fortran.npy", np.asfortranarray(spectra.astype(">u2")))
    (folder / "a.raw").write_bytes(b"header" + spectra.tobytes())
    (folder / "be.bin").write_bytes(spectra.astype(">u2").tobytes())
    for name, compression in ("a.h5", None), ("b.hdf5", "gzip"):
        with h5py.File(folder / name, "w") as file:
            file.create_dataset("scan/spectra", data=spectra, compression=compression)
            file["calibration"] = np.arange(5)
            file["dark"] = spectra[0]
    tifffile.imwrite(folder / "a.tif", spectra, photometric="minisblack")
    tifffile.imwrite(folder / "b.tiff", spectra, photometric="minisblack", compression="zlib")
    tifffile.imwrite(folder / "c.tif", spectra.astype(">u2"), byteorder=">", bigtiff=True)
    zarr.save(str(folder / "a.zarr"), spectra)
    group = zarr.open(str(folder / "b.zarr"), mode="w")
    group.create_dataset("spectra", data=spectra, shape=spectra.shape, chunks=(2, 8, 256))
    group.create_dataset("wavelengths", data=np.arange(5), shape=(5,), chunks=(5,))
    sizes = {"samples": spectra.shape[2], "lines": spectra.shape[1]}
    return {"a.npy": {}, "fortran.npy": {}, "a.raw": {**sizes, "header_bytes": 6},
            "be.bin": {**sizes, "format": "U16BE"}, "a.h5": {"dataset": "scan/spectra"},
            "b.hdf5": {"dataset": "/scan/spectra"}, "a.tif": {}, "b.tiff": {}, "c.tif": {},
            "a.zarr": {}, "b.zarr": {}}


def check_inputs(folder):
    """Each format gives the bits of .npy. A .oct recording brings its calibration."""
    spectra = noise(4, 5, 16, 256)
    given = write_all(folder, spectra)
    expected = gstopencl.process(spectra)
    check_depths(expected, spectra)
    for name, options in given.items():
        assert np.array_equal(gstopencl.process(folder / name, **options), expected), name
    packed = np.zeros((2, 8, 128, 3), "u1")  # two samples of 12 bits in three bytes
    packed[..., 0], packed[..., 1] = spectra[:2, :8, ::2] & 255, spectra[:2, :8, ::2] >> 8
    packed[..., 1] |= ((spectra[:2, :8, 1::2] & 15) << 4).astype("u1")
    packed[..., 2] = spectra[:2, :8, 1::2] >> 4
    packed.tofile(folder / "packed.raw")
    made = gstopencl.process(folder / "packed.raw", samples=256, lines=8, format="MONO12P")
    check_depths(made, spectra[:2, :8])
    OctRecording(spectra, chirp=np.arange(256.0)).write(str(folder / "a.oct"))
    assert gstopencl.process(folder / "a.oct").shape == expected.shape
    assert np.array_equal(gstopencl.process(folder / "a.oct", settings="interpolation=none"),
                          expected)
    raises(["a.h5", "dark", "scan/spectra"], gstopencl.process, folder / "a.h5")
    raises(["a.h5", "nothing"], gstopencl.process, folder / "a.h5", dataset="nothing")


def check_hostile(folder):
    """A file that is not as it should be gives one error with its name."""
    given = write_all(folder, noise(5, 5, 16, 256))
    OctRecording(noise(5, 5, 16, 256), chirp=chirp_of(256)).write(str(folder / "a.oct"))
    for name, options in {**given, "a.oct": {}}.items():
        path = folder / name
        if path.is_dir():
            continue
        whole = path.read_bytes()
        for bad in whole[: len(whole) - 4099], whole[:7], b"", b"\0" * 4096 + whole[4096:5000]:
            path.write_bytes(bad)
            raises([name], gstopencl.process, path, **options)
        path.unlink()
        raises([name], gstopencl.process, path, **options)
    chunk = next(path for path in (folder / "a.zarr").rglob("*")
                 if path.is_file() and path.name[-1].isdigit())
    chunk.write_bytes(b"no chunk")
    raises(["a.zarr"], gstopencl.process, folder / "a.zarr")
    (folder / "c.zarr").mkdir()
    raises(["c.zarr"], gstopencl.process, folder / "c.zarr")
    np.save(folder / "objects.npy", np.array([{}, "text"]), allow_pickle=True)
    np.save(folder / "text.npy", np.array(["text"]))
    np.save(folder / "nothing.npy", noise(6, 0, 16, 256))
    for name in "objects.npy", "text.npy", "nothing.npy":
        raises([name], gstopencl.process, folder / name)
    raises(["a.raw", "samples"], gstopencl.process, whole_raw(folder))
    raises(["a.raw", "U7"], gstopencl.process, whole_raw(folder), samples=4, lines=4, format="U7")


def check_special_files(folder, _, shared):
    """Pipes and devices are refused without waiting for them, and other files are processed."""
    record_small(folder, ["scan.npy"])
    os.mkfifo(folder / "pipe.npy")
    os.mkfifo(folder / "other.oct")
    (folder / "device.npy").symlink_to("/dev/zero")
    zarr.save(str(folder / "a.zarr"), noise(4, 2, 16, 256))
    os.mkfifo(folder / "a.zarr/1.1.1")
    os.mkfifo(folder / "settings.fifo")
    bad = "pipe.npy", "other.oct", "device.npy", "a.zarr/1.1.1"
    said, wrong = finish(start(folder, *shared), 1)
    assert said[-1].startswith("1 processed, 4 failed"), said
    for name in bad:
        assert f"{folder / name}: not a regular file" in wrong, wrong
    _, wrong = finish(start(folder, "--settings", folder / "settings.fifo"), 1)
    assert wrong.endswith("settings.fifo: not a regular file\n"), wrong
    os.mkfifo(folder / "scan.json")  # in place of the record of a result
    finish(start(folder, *shared, "--names", "scan.npy"), 0)
    for name in "pipe.npy", "other.oct", "device.npy", "a.zarr":
        raises([name, "regular"], gstopencl.process, folder / name)
    raises(["settings.fifo", "regular"], gstopencl.process, folder / "scan.npy",
           settings=folder / "settings.fifo")


def check_doubts(folder):
    """Raw floats that are read as integers, and saturated frames, are said; other spectra are not."""
    random, size = np.random.default_rng(3), (16, 256)
    fringes = np.cos(np.outer(np.arange(3, 19), np.arange(256)) / 20)
    spectra = 2000 + 900 * fringes + random.normal(0, 5, size)
    clipped = np.minimum(spectra * 30, 65535 + 0 * spectra)
    few = np.where(np.arange(16)[:, None] < 15, clipped, 9000)  # one A-line is not saturated
    for values, kinds, said in (
            (spectra, "<f4 U16LE, <f8 U16LE, <f4 S16LE, <f4 U8, <f4 MONO12P", "float"),
            (spectra / 4096, "<f4 U16LE", "float"), (spectra // 16, "<f4 U16LE", "float"),
            (random.normal(0, 1e-4, size), "<f4 U16LE", "float"),
            (spectra, "<f4 F32LE, <u2 U16LE, <i2 S16LE, >u2 U16BE, <u4 U32LE", None),
            (17000 + fringes * 400, "<u2 U16LE, <u4 U32LE", None), (64 + 5 * fringes, "u1 U8", None),
            (random.integers(0, 65535, size), "<u2 U16LE", None), (0 * spectra, "<u2 U16LE", None),
            (clipped, "<u2 U16LE", "saturated"), (few, "<u2 U16LE", None), (clipped / 257, "u1 U8", "saturated")):
        for kind, name in map(str.split, kinds.split(", ")):
            values.astype(kind).tofile(folder / "a.raw")
            options = gstopencl.recordings.Options(256, 16, name)
            found = gstopencl.recordings.doubt_of(folder / "a.raw", options)
            assert said in found and name in found if said else found is None, (kind, name, said, found)
    spectra.astype("<f4").tofile(folder / "a.raw")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(gstopencl.process(folder / "a.raw", samples=256, lines=16)) == 2
    assert "a.raw: the bytes look like float32, not U16LE" in str(caught[0].message), caught


def write_virtual(path, source, dataset="spectra"):
    layout = h5py.VirtualLayout((2, 16, 256), "<u2")
    layout[...] = h5py.VirtualSource(source, dataset, (2, 16, 256))
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("spectra", layout)


def write_external(path, source):
    with h5py.File(path, "w") as file:
        file.create_dataset("spectra", (2, 16, 256), "<u2", external=[(source, 0, 16384)])


def write_ome(path, other):
    """Writes the first of two frames, of which the other one is in a file of that name."""
    parts = "".join(f'<TiffData IFD="0" FirstZ="{z}" PlaneCount="1"><UUID FileName="{name}">{z}</UUID></TiffData>'
                    for z, name in enumerate(("before.ome.tif", other)))
    pixels = 'DimensionOrder="XYZCT" Type="uint16" SizeX="256" SizeY="16" SizeZ="2" SizeC="1" SizeT="1"'
    tifffile.imwrite(path, np.zeros((16, 256), "<u2"), metadata=None, photometric="minisblack",
                     description=f'<OME UUID="0"><Image ID="Image:0"><Pixels ID="Pixels:0" {pixels}>'
                     f"{parts}</Pixels></Image></OME>")


def write_link(path, source):
    """Writes a zarr, of which a chunk is a link, and its content into both folders."""
    zarr.open(str(path), mode="w", shape=(2, 16, 256), chunks=(1, 16, 256), dtype="<u2")[...] = 1
    chunk = next(file for file in path.rglob("*") if file.is_file() and file.name[-1].isdigit())
    for folder in "below", "link":
        (path.parent / folder / "chunk").write_bytes(chunk.read_bytes())
    chunk.unlink()
    chunk.symlink_to(path.parent / source)


def check_named_files(folder, aside):
    """A file that a recording names is read if it is a regular one below the recording's folder.
    Any other is one error, without waiting."""
    (aside / "elsewhere").mkdir()
    for place in folder / "below", aside / "elsewhere":
        place.mkdir(exist_ok=True)
        (place / "spectra").write_bytes(bytes([1, 0]) * 8192)
        with h5py.File(place / "spectra.h5", "w") as file:
            file["spectra"] = np.ones((2, 16, 256), "<u2")
            file["elsewhere"] = h5py.ExternalLink(str(aside / "elsewhere/spectra.h5"), "/spectra")
        tifffile.imwrite(place / "spectra.tif", np.ones((16, 256), "<u2"))
        os.mkfifo(place / "fifo")
        write_external(place / "other.h5", "spectra")
    (folder / "link").symlink_to(aside / "elsewhere")
    for write, suffix, name in ((write_external, ".h5", "spectra"), (write_virtual, ".h5", "spectra.h5"),
                                (write_ome, ".ome.tif", "spectra.tif"), (write_link, ".zarr", "chunk")):
        path = folder / f"scan{suffix}"
        for good in f"below/{name}", str(folder / "below" / name):
            write(path, good)
            made = gstopencl.recordings.open_recording(path)
            assert made.count == 2, (path, good)
            for number, frame in enumerate(made.frames()):
                assert np.all(frame == (number or suffix != ".ome.tif")), (path, good, number)
            tasks.remove(path)
        elsewhere = aside / "elsewhere" / name
        for bad in (str(elsewhere), f"link/{name}", os.path.relpath(elsewhere, folder), "below/fifo",
                    "nothing", str(folder / "link" / name)):
            write(path, bad)
            raises([path.name], gstopencl.process, path)
            tasks.remove(path)
    for source, dataset in (("below/spectra.h5", "elsewhere"), ("below/other.h5", "spectra"),
                            (".", "spectra"), ("below/spectra.h5", "nothing")):
        write_virtual(folder / "scan.h5", source, dataset)
        raises(["h5"], gstopencl.process, folder / "scan.h5")


def check_ratios(folder):
    """A file that states a thousand times its size, or more, is refused."""
    count = 10**9
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("spectra", (count, 16, 256), "<u2", chunks=(1, 16, 256))
    zarr.open(str(folder / "a.zarr"), mode="w", shape=(count, 16, 256), chunks=(1, 16, 256), dtype="<u2")
    with open(folder / "a.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<u2", "fortran_order": False, "shape": (count, 16, 256)})
        file.write(bytes(8192))
    tifffile.imwrite(folder / "a.tif", np.ones((16, 256), "<u2"), compression="zlib")
    with tifffile.TiffFile(folder / "a.tif", mode="r+b") as file:
        for name in "ImageLength", "RowsPerStrip":
            file.pages[0].tags[name].overwrite(60000 * 256)
    for name, words in (("a.h5", f"{count} frames"), ("a.zarr", f"{count} frames"), ("a.npy", ""),
                        ("a.tif", "1 frames")):
        raises([name, words], gstopencl.process, folder / name)
    constant = np.full((60, 16, 256), 7, "<u2")  # few bytes, but no gigabyte
    with h5py.File(folder / "few.h5", "w") as file:
        file.create_dataset("spectra", data=constant, chunks=constant.shape, compression=9)
    check_depths(gstopencl.process(folder / "few.h5"), constant)


class Touch:
    """Creates a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (self.path,)


def check_pickles(folder):
    """A zarr whose codec is pickle runs nothing of its files, in an array and in a group."""
    ran = folder / "ran"
    array = {"zarr_format": 2, "shape": [2, 16, 256], "chunks": [1, 16, 256], "dtype": "<u2",
             "order": "C", "compressor": None, "filters": [{"id": "pickle"}], "fill_value": 0}
    for name in "array.zarr", "group.zarr/spectra":
        (folder / name).mkdir(parents=True)
        (folder / name / ".zarray").write_text(json.dumps(array))
        for number in range(2):
            (folder / name / f"{number}.0.0").write_bytes(pickle.dumps(Touch(ran)))
    (folder / "group.zarr/.zgroup").write_text('{"zarr_format": 2}')
    for name in "array.zarr", "group.zarr":
        raises([name, "pickle"], gstopencl.process, folder / name)
        assert not ran.exists(), f"{name} ran code"
    assert numcodecs.get_codec({"id": "pickle"}), "other readers of the process lack the codec"


def whole_raw(folder):
    (folder / "a.raw").write_bytes(bytes(64))
    return folder / "a.raw"


def check_tape(_):
    """Depths of a measured recording of adhesive tape are those of numpy."""
    data = os.environ.get("GST_OPENCL_TEST_DATA")
    if not data:
        print("NOT CHECKED: no GST_OPENCL_TEST_DATA")
        sys.exit(77)
    folder = pathlib.Path(data) / "oct/tape"
    file = folder / "tape_lambda_domain_999x2048_u16le.raw"
    wavelengths = folder / "lambda_cobra_s_nm.npy"
    a2, a3 = 7.994e-5, 2.67e-9
    made = gstopencl.process(file, samples=2048, lines=999, settings={
        "wavelengths": wavelengths, "background": "frame", "dispersion-a2": a2,
        "dispersion-a3": a3})
    spectra = np.fromfile(file, "<u2").reshape(999, 2048).astype(float)
    numbers, k = np.arange(2048), 1 / np.load(wavelengths)
    places = np.interp(np.linspace(k[0], k[-1], 2048), *((k, numbers) if k[0] < k[-1] else
                                                         (k[::-1], numbers[::-1])))
    even = np.stack([np.interp(places, numbers, line) for line in spectra - spectra.mean(0)])
    q = numbers - 1024
    phase = np.exp(-1j * (a2 * q**2 + a3 * q**3))
    check_depths(made[0], even * phase)


# --- jobs, without Dask ---


def job_of(recording, to="npy", chain=DEPTHS, **more):
    return tasks.Job(recording, recording.with_name(f"result.{to}"), recording.parent, chain, to=to,
                     version=tasks.version(), **more)


def run_job(job):
    """Returns the number of parts, 1 for a recording that is processed as a whole."""
    plan = tasks.begin(job)
    if isinstance(plan, dict):
        assert "reason" not in plan, plan
        return 1
    for number in reversed(range(len(plan.parts))):
        for _ in range(2):  # as where a worker is lost that has done it
            assert "reason" not in tasks.run_part(job, plan, number)
    assert "reason" not in tasks.finish(job, plan)
    return len(plan.parts)


READ = {"npy": np.load, "zarr": lambda path: zarr.open(str(path), mode="r")[...],
        "tiff": tifffile.imread}


def check_parts(folder):
    """Parts give the bits of the whole, in each format; groups and volumes stay together."""
    spectra = noise(6, 34, 8, 256)
    np.save(folder / "a.npy", spectra)
    zarr.save(str(folder / "a.zarr"), spectra)
    frame = spectra[0].nbytes
    for name, chain, expected_parts in (
        ("a.npy", DEPTHS, {2: 17, 5: 7}), ("a.zarr", DEPTHS, {34: 1}),
        ("a.npy", GROUPED, {2: 6, 13: 3}),
        ("a.npy", f"octscan reverse=odd ! {DEPTHS}", {3: 17}),
        ("a.npy", f"octscan reverse-samples=even ! {DEPTHS}", {3: 17}),
        ("a.npy", f"octscan reverse-samples=odd b-scans=3 ! {DEPTHS}", {8: 6}),
        ("a.npy", f"octscan b-scans=8 ! octwindowinterp ! octfft ! {WIDE} ! octvolume ! "
         "other/tensors(memory:OpenCLMemory),num_tensors=1", {1: 5, 20: 3}),
    ):
        whole = gstopencl.process(spectra, chain)
        for frames, parts in expected_parts.items():
            for to, read in READ.items():
                job = job_of(folder / name, to, chain, task_bytes=frames * frame)
                assert run_job(job) == parts, (chain, frames, to, parts)
                made = read(job.result)
                assert np.array_equal(made, whole), (chain, frames, to, made.shape, whole.shape)
                tasks.remove(job.result)
    assert not list(folder.glob(".*")), "something is left behind"


def check_not_split(folder):
    """A chain that needs the frames before processes them in one task, and says so."""
    np.save(folder / "a.npy", noise(7, 12, 8, 256))
    for chain, settings, word in (
        ("octwindowinterp background=rolling ! octfft", None, "background"),
        ("octwindowinterp ! octfft", "background=rolling\n", "background"),
        ("octwindowinterp ! octfft db-auto=true", None, "db-auto"),
        (f"{DEPTHS} ! octaverage frames=2 rolling=true", None, "rolling"),
        (f"{DEPTHS} ! openclkernel expression=2*x", None, "openclkernel"),
    ):
        more = {}
        if settings:
            (folder / "settings.txt").write_text(settings)
            more = {"settings": str(folder / "settings.txt"), "said": settings}
        result = tasks.begin(job_of(folder / "a.npy", chain=chain, task_bytes=10000, **more))
        assert result.get("frames") and word in " ".join(result["warnings"]), result
    forced = job_of(folder / "a.npy", chain=chain, task_bytes=10000, group=1)
    assert run_job(forced) == 6


def check_progress(_):
    """The rate and the remaining time count recordings that are not finished, too. Nothing is written
    where no terminal is."""
    for is_terminal in True, False:
        file = io.StringIO()
        file.isatty = lambda is_terminal=is_terminal: is_terminal
        progress = BytesProgress(4000000, 3, file)
        progress.add(1000000)
        progress.end_recording()
        progress.running = {"a": 500000, "b": 500000}
        progress.began = time.monotonic() - 1000
        with progress:
            time.sleep(2 * STEP)
        said = file.getvalue()
        line = r"50%, 2\.0 MB of 4\.0 MB, 1 of 3 recordings, 2\.0 kB/s, remaining time 0:16:4\d"
        assert re.fullmatch(rf"(\r{line}\x1b\[K)+\r\x1b\[K", said) if is_terminal else not said, said
    fast = BytesProgress(4000000, 3, file)
    fast.is_terminal = True
    fast(0.5)
    assert SHORT > 1 and not file.getvalue(), "short work shows progress"
    for number, said in ((999.4, "999 B"), (999.6, "1.0 kB"), (999.94e3, "999.9 kB"),
                         (999.96e3, "1.0 MB"), (1e18, "1000.0 PB")):
        assert in_bytes(number) == said, (number, in_bytes(number))


def check_zarr_on_disk(folder):
    """A part is on the disk before the journal says that it is written."""
    spectra = noise(6, 12, 8, 256)
    np.save(folder / "a.npy", spectra)
    for to in "zarr", "npy", "tiff":
        job = job_of(folder / "a.npy", to, task_bytes=4 * spectra[0].nbytes)
        plan = tasks.begin(job)
        synced, fsync = set(), os.fsync

        def note(handle):
            synced.add(os.readlink(f"/proc/self/fd/{handle}"))
            fsync(handle)

        os.fsync = note
        try:
            assert "reason" not in tasks.run_part(job, plan, 1)
        finally:
            os.fsync = fsync
        if to == "zarr":
            written = {str(path) for path in plan.unfinished.rglob("*")
                       if path.is_file() and not path.name.startswith((".z", "zarr.json"))}
            assert len(written) == 4 and written <= synced, (written, synced)
        tasks.remove(plan.unfinished)


def check_replaced_files(folder):
    """A file is replaced whole or not at all, and keeps its mode and its owner. Links are followed."""
    path, link = folder / "kept.txt", folder / "link.txt"
    path.write_text("old")
    link.symlink_to("kept.txt")
    owner = (4242, 4343) if os.getuid() == 0 else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    path.chmod(0o640)
    for bad in link, folder, link / "under", "/proc/new":
        with full_disk():
            raises([f"'{bad}'"], files.write_whole, bad, "x" * 2000)
    assert path.read_text() == "old"
    with mock.patch("os.chown", wraps=os.chown) as chown:
        files.write_whole(link, "new")
    assert chown.call_args.args[1:] == owner, chown.call_args
    state = path.stat()
    assert (state.st_uid, state.st_gid, state.st_mode & 0o777) == (*owner, 0o640), state
    assert path.read_text() == "new" and link.is_symlink()
    assert sorted(os.listdir(folder)) == ["kept.txt", "link.txt"]


def check_damaged_records(folder):
    """A damaged record counts as none, and a value of settings that is no path names no file."""
    np.save(folder / "result.npy", noise(1, 1, 2, 8))
    job = job_of(folder / "a.npy")
    for text in ("[" * 100000, "5", "null", "{", '{"chain": 1}', "\0", "",
                 '{"chain": 1, "bytes": 2, "modified": 3, "recording": 5}'):
        job.record.write_text(text)
        assert batch.source_of(job.result) is None and not job.is_done(), text[:60]
    (folder / "loop").symlink_to("loop")
    settings = folder / "settings.txt"
    for value in "a\0b", "loop", "x" * 300:
        found = batch.files_of_settings(settings, f"wavelengths={value}\nresample-map=map.npy\n")
        assert found >= {settings, folder / "map.npy"}, (value, found)


FAILING = """
import sys, types
from gstopencl import program
sys.modules["failing"] = module = types.ModuleType("failing")
def main(words):
    raise eval(words[0])
module.main = main
program.run("name", "failing")
"""


def check_errors(_):
    """Each error of a program is one line, and its exit status says whether an argument is wrong."""
    for error, status, said in (
        ("PermissionError(13, 'Permission denied', '/x/settings.txt')", 1, "/x/settings.txt: Permission denied"),
        ("OSError(5, 'Input/output error')", 1, "Input/output error"),
        ("ValueError('two\\nlines')", 2, "two lines"), ("program.Failed('a reason')", 1, "a reason"),
        ("KeyError('a')", 1, "KeyError: 'a' (--debug shows where)"),
        ("RecursionError('deep')", 1, "deep"), ("program.Ended(143)", 143, None),
    ):
        for debug in [], ["--debug"]:
            done = subprocess.run([sys.executable, "-c", FAILING, error, *debug], capture_output=True,
                                  text=True, timeout=100, check=False)
            assert done.returncode == status and ("Traceback" in done.stderr) == bool(debug and said), done
            assert debug or done.stderr == (f"name: {said}\n" if said else ""), done


# --- oct-process ---


def start(folder, *options, program=PROGRAM, environment=None, **more):
    words = [sys.executable, program, *options, *([folder] if folder else [])]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment, **more)


def finish(run, status):
    said, wrong = run.communicate(timeout=200)
    assert run.returncode == status, (run.returncode, said, wrong)
    assert "Traceback" not in wrong, wrong
    return said.splitlines(), wrong


def wait_for(what, timeout=100):
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@contextlib.contextmanager
def cluster(folder, n_workers, environment=None):
    """Returns the file of a scheduler and its workers, processes that are not restarted."""
    about = folder / "scheduler.json"
    programs = []
    try:
        programs.append(subprocess.Popen(
            [shutil.which("dask-scheduler"), "--port", "0", "--no-dashboard",
             "--scheduler-file", about], stderr=subprocess.DEVNULL))
        wait_for(lambda: about.exists() and about.stat().st_size)
        programs += [subprocess.Popen(
            [shutil.which("dask-worker"), "--scheduler-file", about, "--nthreads", "1",
             "--no-nanny", "--no-dashboard", "--local-directory", folder],
            stderr=subprocess.DEVNULL, env=environment) for _ in range(n_workers)]
        yield about, programs[1:]
    finally:
        for program in programs:
            program.kill()
            program.wait()


def results(folder):
    return {path.name: path.stat().st_ino for path in (folder / "processed").glob("[!.]*.npy")}


def check_a_killed_worker(folder, aside):
    """Kills the first of three workers that is busy when some results exist."""
    with cluster(aside, 3) as (about, workers):
        run = start(folder, "--scheduler", json.loads(about.read_text())["address"])
        wait_for(lambda: len(results(folder)) >= 2)
        workers[0].send_signal(signal.SIGKILL)
        seen = {}
        while run.poll() is None:
            for name, inode in results(folder).items():
                assert seen.setdefault(name, inode) == inode, f"{name} is made twice"
            time.sleep(0.01)
        said, _ = finish(run, 0)
    assert said[0] == f"{RECORDINGS} recordings, 0 of them done before", said
    assert said[-1].startswith(f"{RECORDINGS} processed, 0 failed"), said
    names = sorted(path.name for path in folder.glob("*.npy"))
    assert sorted(results(folder)) == names
    for name in names:
        check_result(folder, name)
    assert not list((folder / "processed").glob(".*")), "something is left behind"


def check_going_on(folder, shared):
    """Only a missing result, a new recording and a damaged one are processed."""
    before = results(folder)
    lost = "recording 03.npy"
    (folder / "processed" / lost).unlink()
    (folder / "broken.npy").write_bytes(b"\x93NUMPY and no more")
    report = folder / "report.json"
    said, wrong = finish(start(folder, *shared, "--report", report), 1)
    assert said[0] == f"{RECORDINGS + 1} recordings, {RECORDINGS - 1} of them done before", said
    assert said[-1].startswith("1 processed, 1 failed"), said
    assert wrong.count("broken.npy: ") == 1, wrong
    check_result(folder, lost)
    after = results(folder)
    del before[lost], after[lost]
    assert before == after
    check_report(json.loads(report.read_text()), said)


def check_report(report, said):
    """The report says what was processed. A redirected run writes no progress."""
    by_name = {pathlib.Path(line["recording"]).name: line for line in report["recordings"]}
    status = [line["status"] for line in report["recordings"]]
    assert status.count("done before") == RECORDINGS - 1, status
    lost, broken = by_name["recording 03.npy"], by_name["broken.npy"]
    assert lost["status"] == "processed" and lost["frames"] == FRAMES, lost
    assert lost["bytes"] > 2_000_000 and lost["seconds"] > 0, lost
    assert broken["status"] == "failed" and "broken.npy: " in broken["reason"], broken
    assert report["chain"] == DEPTHS and report["seconds"] > 0
    assert not any(" MB of " in line for line in said), said


def check_another_chain(folder, shared):
    """Checks that results of one chain are not taken for those of another."""
    chain = "octwindowinterp window=rectangular ! octfft scale=linear ! " \
            "application/x-oct(memory:OpenCLMemory),domain=depth,format=F32LE"
    (folder / "broken.npy").unlink()
    said, _ = finish(
        start(folder, *shared, "--chain", chain, "--names", "* 00.npy"), 0)
    assert said[-1].startswith("1 processed, 0 failed"), said
    made = np.load(folder / "processed" / "recording 00.npy")
    spectra = np.load(folder / "recording 00.npy")
    expected = np.abs(np.fft.fft(spectra))[..., : SAMPLES // 2] * 2 / SAMPLES
    assert np.abs(made - expected).max() < 1e-5 * expected.max()


def results_of(folder):
    """Bytes of all files in a folder, by their relative names"""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def check_folders(folder, _, shared):
    """Results keep their recordings' folders, and the next run skips them."""
    names = "mouse1/scan.npy", "mouse2/scan.npy"
    record_small(folder, names)
    everywhere = *shared, "--names", "**/*.npy"
    for output, done in ("processed", 0), ("processed", 2), ("again", 0):
        said, _ = finish(start(folder, *everywhere, "--output", folder / output), 0)
        assert said[0] == f"2 recordings, {done} of them done before", said
        assert said[-1].startswith(f"{2 - done} processed, 0 failed"), said
        made = results_of(folder / output)
        assert sorted(name for name in made if name.endswith(".npy")) == sorted(names), made.keys()
        for name in names:
            check_result(folder, name, output)
    chain = "openclkernel expression=2*x"
    finish(start(folder / "again", *everywhere, "--chain", chain), 0)
    for name in names:
        doubled, once = (np.load(folder / "again" / part / name) for part in ("processed", ""))
        assert np.array_equal(doubled, 2 * once)


def check_nothing_overwritten(folder, _, shared):
    """A run that would replace files of others is refused, and changes nothing."""
    record_small(folder, ["one/scan.npy", "two/scan.npy", "three/scan.npy"])
    shutil.copy(folder / "two/scan.npy", folder / "two/scan.raw")
    np.save(folder / "mine.npy", np.arange(5))
    for output in "three/processed", "three/meta":
        (folder / output).mkdir()
    shutil.copy(folder / "mine.npy", folder / "three/processed/scan.npy")
    (folder / "three/meta/scan.json").write_text('{"laser": "1300 nm"}')
    into = "--output", folder / "shared"
    finish(start(folder / "one", *shared, *into), 0)
    before = results_of(folder)
    runs = [(start(folder / recordings, *options), words) for recordings, options, words in (
        ("two", into, "two/scan.npy"),
        ("two", ("--names", "scan.*"), "two/scan.raw"),
        ("two", ("--output", folder / "two"), "two/scan.npy"),
        ("three", (), "three/processed/scan.npy"),
        ("three", ("--output", folder / "three/meta"), "three/meta/scan.npy"),
        ("shared", ("--output", folder / "shared"), "shared/scan.npy"),
    )]
    for run, words in runs:
        _, wrong = finish(run, 1)
        assert words in wrong, wrong
    assert results_of(folder) == before


def check_failures_keep_results(folder, _, shared):
    """A chain that fails does not change the results and the record of another chain."""
    record_small(folder, ["scan.npy"])
    finish(start(folder, *shared), 0)
    (folder / "processed/.draft.unfinished.md").write_text("of the user")
    before = results_of(folder)
    (folder / "processed" / tasks.unfinished_name("0123456789abcdef", ".npy")).write_text("of a killed run")
    _, wrong = finish(start(folder, *shared, "--chain", "octfft ! nosuchelement"), 1)
    assert "nosuchelement" in wrong, wrong
    assert results_of(folder) == before
    (folder / "gone.npy").symlink_to(folder / "nowhere.npy")
    said, wrong = finish(start(folder, *shared, "--retries", "0"), 1)
    assert said[-1].startswith("0 processed, 1 failed"), said
    assert "gone.npy: " in wrong, wrong


def check_one_context(folder):
    """Workers keep the context, whose creation takes ten times longer than a small recording."""
    record_small(folder, [f"{n}.npy" for n in range(20)])
    said, wrong = finish(start(folder, "--workers", "1", environment={
        **os.environ, "GST_DEBUG": "openclcontext:INFO", "GST_DEBUG_NO_COLOR": "1"}), 0)
    assert said[-1].startswith("20 processed, 0 failed"), said
    assert wrong.count("new context on ") == 1, wrong.count("new context on ")
    assert any(line.startswith("Dashboard: http://127.0.0.1:") for line in said), said


def check_plugins(folder, aside):
    """Workers that were started without this package and GST_PLUGIN_PATH use the client's."""
    record_small(folder, ["scan.npy"])
    without = {name: value for name, value in os.environ.items()
               if name not in ("GST_PLUGIN_PATH", "PYTHONPATH")}
    without |= {"GST_REGISTRY": str(aside / "registry.bin"), "GST_OPENCL_BUILD": str(aside)}
    with cluster(aside, 1, without) as (about, _):
        _, wrong = finish(start(folder, "--scheduler-file", about, environment=without), 1)
        assert "scan.npy: " in wrong and "GST_PLUGIN_PATH" in wrong, wrong
        finish(start(folder, "--scheduler-file", about), 0)
    check_result(folder, "scan.npy")


def listening(process):
    """Returns (address, port) on which a program and its descendants listen, as /proc has them."""
    sockets = set()
    for pid in [process.pid, *children(process)]:
        with contextlib.suppress(OSError):
            sockets |= {os.readlink(entry) for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
    found = set()
    for table in "tcp", "tcp6":
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                address, port = words[1].split(":")
                found.add((address, int(port, 16)))
    return found


def greeted(port):
    """Returns what a program says to a stranger that connects. Dask's does so without TLS."""
    with socket.create_connection(("127.0.0.1", port)) as stranger:
        stranger.settimeout(0.5)
        try:
            return stranger.recv(64)
        except OSError:
            return b""


def check_alone(folder, aside):
    """Nobody else reaches the workers of this machine, which leave nothing behind. What an earlier
    Dask has left is none of their business. No line is a library's."""
    record_small(folder, ["scan.npy"])
    place = aside / "temporary"
    stale = place / "dask-worker-space/worker-1"
    stale.mkdir(parents=True)
    stale.with_suffix(".dirlock").touch()
    before = set(place.rglob("*"))
    run = start(folder, "--workers", "2", "--chain", f"identity sleep-time=1000000 ! {DEPTHS}",
                "--settings", even(aside), environment={**os.environ, "TMPDIR": str(place)})
    heard = {}
    while run.poll() is None:
        for address, port in listening(run) - heard.keys():
            with contextlib.suppress(ConnectionError):  # it has ended
                heard[address, port] = greeted(port)
        time.sleep(0.1)
    said, wrong = finish(run, 0)
    assert said[-1].startswith("1 processed, 0 failed") and not wrong, (said, wrong)
    assert len(heard) >= 5, heard  # two of each worker, and those of the scheduler
    assert {address for address, _ in heard} == {"0100007F"}, heard
    assert set(heard.values()) == {b""}, heard
    assert set(place.rglob("*")) == before


def even(folder):
    """Returns a settings file that says that samples are even in wavenumber."""
    file = folder / "even.txt"
    file.write_text("interpolation=none\n")
    return file


def check_said(folder, aside):
    """A run says once what it leaves out and that nothing calibrates, and how to give it."""
    for name in "a", "b", "c":
        (folder / f"{name}.raw").write_bytes(bytes(64))
    (folder / "notes.dat").write_bytes(bytes(64))
    _, wrong = finish(start(folder), 1)
    assert len(wrong.splitlines()) == 1, wrong
    assert "--size: a.raw, b.raw, c.raw …" in wrong, wrong
    record_small(folder, ["one.npy", "two.npy"])
    _, wrong = finish(start(folder, "--workers", "1"), 0)
    left_out, even_samples = wrong.splitlines()
    assert "left out" in left_out and "a.raw" in left_out and "--size" in left_out, wrong
    assert "one.npy and 1 more: " in even_samples and "wavenumber" in even_samples, wrong
    (aside / "binary.txt").write_bytes(b"\xff=1")
    for options in ("--output", "/dev/null/out"), ("--report", "/dev/null/report.json"), \
            ("--settings", aside / "binary.txt"):
        _, wrong = finish(start(folder, *options), 1)
        assert str(options[1]) in wrong.splitlines()[-1] and len(wrong.splitlines()) < 3, wrong
    spectra = noise(1, 2, 16, 256) // 2  # nothing is saturated
    np.save(aside / "map.npy", np.arange(256.0))
    OctRecording(spectra, chirp=np.arange(256.0)).write(str(aside / "a.oct"))
    for recording, settings, warns in (
        (spectra, None, True), (spectra, "window=hann", True),
        (spectra, "interpolation=none", False),
        (spectra, f"resample-map={aside}/map.npy", False),
        (spectra, "wavelength-min=1187\nwavelength-max=1433", False),
        (aside / "a.oct", None, False),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            gstopencl.process(recording, settings=settings)
        said = [str(warning.message) for warning in caught]
        assert ["wavenumber" in text for text in said] == [True] * warns, (settings, said)


def check_verdicts(folder, aside):
    """The first run with a device, which checks its engines, gives the bits of the next one."""
    np.save(folder / "scan.npy", noise(1, FRAMES, LINES, SAMPLES))
    kernels = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    environment = {"POCL_CACHE_DIR": str(kernels / "pocl/kcache"), **os.environ,
                   "XDG_CACHE_HOME": str(aside / "cache")}
    environment.pop("GST_OPENCL_SELF_CHECK", None)
    for name in "first", "second":
        finish(start(folder, "--workers", "1", "--settings", even(aside), "--output", aside / name,
                     environment=environment), 0)
    assert (aside / "cache/gst-opencl/verdicts").exists(), "the run does not wait"
    first, second = (np.load(aside / name / "scan.npy") for name in ("first", "second"))
    assert np.array_equal(first, second), np.abs(first - second).max()


SMALL_DISK = """
mount -t tmpfs -o size="$1" tmpfs "$2" || exit 77
small=$2
shift 2
"$@"
status=$?
find "$small" -type f >&3
exit $status
"""


def on_small_disk(size, place, *words):
    """Returns exit status, output and files of oct-process with a disk of this size in `place`."""
    listed = place.with_suffix(".list")
    with open(listed, "w") as files:
        run = subprocess.run(
            ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c",
             'exec 3>"$0"\n' + SMALL_DISK, listed, size, place, sys.executable, PROGRAM, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False)
    return run.returncode, run.stdout, run.stderr, listed.read_text().split("\n")[:-1]


def check_sizes(folder):
    """TIFF files have ImageJ's sizes of pixels, in µm; an unknown size is left out."""
    spectra = noise(6, 34, 8, 256)
    np.save(folder / "sized.npy", spectra)
    lines, depth, scans = "line-step=12.5", "depth-step=4", "b-scan-step=47"
    for known in (), (lines,), (depth,), (scans,), (depth, lines), (depth, scans), (lines, scans), (depth, lines, scans):
        scan = " ".join(text for text in known if text != depth)
        chain = f"octscan {scan} ! octwindowinterp {depth if depth in known else ''} ! octfft refractive-index=1.25 ! {WIDE}"
        for frames in 34, 5:
            job = job_of(folder / "sized.npy", "tiff", chain, task_bytes=frames * spectra[0].nbytes)
            run_job(job)
            with tifffile.TiffFile(job.result) as file:
                found, tags = file.imagej_metadata or {}, file.pages[0].tags
                label, is_page_known = (known, frames, found), {depth, lines} <= {*known}
                assert bool(found) == bool(known) and found.get("images", 34) == 34, label
                assert found.get("unit") == ("um" if is_page_known else None), label
                assert found.get("spacing") == (47 if is_page_known and scans in known else None), label
                assert ("slices" in found) == (scans in known) and (depth in known) == ("depth-step" in found), label
                sizes = [tags[name].value[1] / tags[name].value[0] for name in ("XResolution", "YResolution")]
                assert np.allclose(sizes, (4 / 1.25, 12.5) if is_page_known else 1), (label, sizes)
                assert np.array_equal(file.asarray(), gstopencl.process(spectra, chain))
            tasks.remove(job.result)


def check_full_disk(folder, aside):
    """On a full disk, each recording without room is one line, the others are processed, and no
    unfinished file stays."""
    place = aside / "small"
    place.mkdir()
    np.save(folder / "large.npy", noise(1, 120, 60, 512))
    record_small(folder, ["tiny.npy"])
    whole = 120 * 60 * 256 * 4 // 1024 + 4  # KiB of large.npy's result, which leaves none for more
    for size, options in (
        ("3m", ()), ("3m", ("--task-bytes", "2M")), ("2044k", ("--task-bytes", "2M")),
        (f"{whole}k", ("--task-bytes", "2M", "--names", "large.npy")),
        ("3m", ("--task-bytes", "2M", "--to", "zarr")),
        ("3m", ("--task-bytes", "2M", "--to", "tiff")), ("3m", ("--to", "nrrd")),
    ):
        status, said, wrong, files = on_small_disk(
            size, place, "--workers", "1", "--output", place, "--settings", even(aside), *options,
            folder)
        if status == 77 or wrong.startswith("unshare: "):
            print("NOT CHECKED: no mount of a small disk")
            return
        label = size, options, status, said, wrong, files
        assert status == 1 and "Traceback" not in wrong, label
        done = "--names" not in options
        assert said.splitlines()[-1].startswith(f"{done:d} processed, 1 failed"), label
        assert wrong.count("\n") == 1 and "large.npy: " in wrong, label
        assert "No space left on device" in wrong, label
        assert all(file.startswith(str(place / "tiny.")) for file in files), label
        assert len(files) >= 2 * done, label


def check_refusals(folder):
    refused = {
        ("--workers", "0"): "--workers 0: expected a number above 0",
        ("--timeout", "nan"): "--timeout nan: expected a number above 0",
        ("--timeout", "1e300"): "--timeout 1e300: expected a number above 0, up to 9000000000",
        ("--retries", "-1"): "--retries -1: expected a number from 0",
        ("--offset", "-6"): "--offset -6: expected a number from 0",
        ("--samples", "6"): "no such option (use --size SAMPLESxLINES): --samples",
        ("--worker", "1"): "no such option (see --help): --worker",
        ("--names", "*.raw"): "nothing there is named *.raw",
        ("--names", "../*.npy"): "--names ../*.npy: ",
        ("--names", "/tmp/*.npy"): "--names /tmp/*.npy: ",
        ("--scheduler", "tcp://127.0.0.1:9"): "--scheduler tcp://127.0.0.1:9: no scheduler answers",
        ("--scheduler", "anywhere:here"): "--scheduler anywhere:here: no scheduler answers",
        ("--scheduler-file", "/nowhere"): "--scheduler-file /nowhere: no such file",
        ("--task-bytes", "much"): "--task-bytes much: expected bytes",
        ("/nowhere.npy",): "/nowhere.npy: no such file",
        ("x" * 300,): "File name too long",
        ("--settings", "/nowhere.txt"): "/nowhere.txt: No such file",
    }
    runs = [(start(folder, *options, "--output", folder / f"refused {number}"), options[0], words)
            for number, (options, words) in enumerate(refused.items())]
    for run, option, words in runs:
        fails = option.startswith(("--scheduler", "--settings", "xxx")) or "nothing there" in words
        _, wrong = finish(run, 1 if fails else 2)
        assert words in wrong and wrong.count("\n") == 1, wrong


def check_formats(folder):
    """Each format of results has the values of .npy, for the library that reads it."""
    spectra = noise(8, 4, 16, 256)
    np.save(folder / "a.npy", spectra)
    for to in "npy", "zarr", "tiff", "nii", "nrrd":
        assert run_job(job_of(folder / "a.npy", to)) == 1
    made = np.load(folder / "result.npy")
    check_depths(made, spectra)
    for to in "zarr", "tiff":
        assert np.array_equal(READ[to](folder / f"result.{to}"), made), to
    assert zarr.open(str(folder / "result.zarr"), mode="r").chunks == (1, 16, 128)
    image = nibabel.load(folder / "result.nii")
    assert np.array_equal(np.asanyarray(image.dataobj).T, made)
    header, data = (folder / "result.nrrd").read_bytes().split(b"\n\n", 1)
    assert header.startswith(b"NRRD") and np.array_equal(np.frombuffer(data, "<f4"), made.ravel())


def check_choice(folder, _, shared):
    """A folder's recordings are of any format; files of its calibration are none. Each failure
    is tried again as often as was asked for, and a task that takes too long fails."""
    spectra = noise(8, 4, 16, 256)
    zarr.save(str(folder / "a.zarr"), spectra)
    spectra.tofile(folder / "b.raw")
    np.save(folder / "map.npy", np.arange(256.0))
    (folder / "settings.txt").write_text(f"resample-map={folder}/map.npy\n")
    (folder / "notes.txt").write_text("mouse")
    said, _ = finish(start(folder, *shared, "--size", "256x16"), 0)
    assert said[0] == "2 recordings, 0 of them done before", said
    for name in "a.npy", "b.npy":
        check_depths(np.load(folder / "processed" / name), spectra)
    slow = "--chain", f"identity sleep-time=300000 ! {DEPTHS}", "--timeout", "0.5"
    _, wrong = finish(start(folder / "a.zarr", *shared, *slow, "--output", folder / "slow"), 1)
    assert "a.zarr: not processed within the timeout" in wrong, wrong
    assert not list((folder / "slow").glob("*")), "something is left behind"


def check_stopped(_):
    """A timeout counts the time in which the process runs."""
    own = os.getpid()
    with tasks.limited(3) as is_over, \
            subprocess.Popen(["/bin/sh", "-c", f"sleep 4; kill -CONT {own}"]):
        os.kill(own, signal.SIGSTOP)
        assert not is_over.wait(0.5), "the stop counts"
        assert is_over.wait(20), "it does not end"


def check_window_recordings(folder, _, shared):
    """Each recording of opencl-view --oct is processed with the settings beside it. The depths
    that the window has recorded are no recordings."""
    spectra = noise(2, 4, 16, 256)
    for name, settings in ("first", "# comment\nwindow=rectangular\n"), ("second", "window=hann\n"):
        np.save(folder / f"{name}.npy", spectra)
        (folder / f"{name}.txt").write_text(settings)
    np.save(folder / "second-depths.npy", spectra.astype("c8"))
    said, _ = finish(start(folder, *shared), 0)
    assert said[0] == "2 recordings, 0 of them done before", said
    check_depths(np.load(folder / "processed/second.npy"), spectra)
    made = 10 ** (np.load(folder / "processed/first.npy") / 20)
    expected = np.abs(np.fft.fft(spectra))[..., :128] * 2 / 256
    assert np.abs(made - expected).max() < 1e-5 * expected.max()
    (folder / "first.txt").write_text("# another comment\nwindow=rectangular\n")
    said, _ = finish(start(folder, *shared), 0)
    assert said[0] == "2 recordings, 2 of them done before", said


def children(process):
    """Returns the process ids of all descendants."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,args="], capture_output=True, text=True,
                            check=True).stdout
    parents = {int(line.split()[0]): (int(line.split()[1]), line) for line in listed.splitlines()}
    found, new = {}, {process.pid}
    while new:
        new = {pid for pid, (parent, _) in parents.items() if parent in new} - found.keys()
        found |= {pid: parents[pid][1] for pid in new}
    return found


LARGE = 48 # frames


def record_large(folder):
    """Writes a recording that is split into parts of 2 frames."""
    spectra = noise(9, LARGE, 256, 2048)
    zarr.open(str(folder / "large.zarr"), mode="w", shape=spectra.shape, dtype="<u2",
              chunks=(1, 256, 2048))[...] = spectra
    return spectra, ("--workers", "2", "--task-bytes", "2.1M", "--to", "zarr")


def parts_written(folder):
    journals = list((folder / "processed").glob(".*.parts"))
    return journals[0].read_text().splitlines() if journals else []


def check_interrupt(folder):
    """After Ctrl-C, which all processes get, and after SIGTERM, the next run writes only the parts that
    are left. A local worker that is killed loses nothing."""
    spectra, options = record_large(folder)
    run = start(folder, *options, start_new_session=True)
    wait_for(lambda: len(parts_written(folder)) >= 3)
    os.killpg(run.pid, signal.SIGINT)
    said, wrong = finish(run, 130)
    assert wrong.splitlines() == [wrong.strip()] and "interrupted" in wrong, wrong
    done = parts_written(folder)
    assert 3 <= len(done) < LARGE // 2, done
    # Parts of another size overlap those that are written, and replace them.
    place = folder.parent / "temporary"
    place.mkdir()
    run = start(folder, *options, "--task-bytes", "3.2M", start_new_session=True,
                environment={**os.environ, "TMPDIR": str(place)})
    wait_for(lambda: len(parts_written(folder)) >= len(done) + 3)
    os.killpg(run.pid, signal.SIGTERM)
    finish(run, 143)
    assert not list(place.glob("oct-process-*")), "temporary files are left behind"
    done = parts_written(folder)
    run = start(folder, *options, "--report", folder / "report.json")
    wait_for(lambda: len(parts_written(folder)) >= len(done) + 1)
    worker = max(pid for pid, words in children(run).items() if "spawn_main" in words)
    os.kill(worker, signal.SIGKILL)
    finish(run, 0)
    check_depths(zarr.open(str(folder / "processed/large.zarr"), mode="r")[...], spectra)
    assert not list((folder / "processed").glob(".*")), "something is left behind"
    report = json.loads((folder / "report.json").read_text())["recordings"][0]
    assert report["status"] == "processed" and report["parts"] == LARGE // 2, report


def check_large(folder, aside, shared):
    record(folder)
    check_a_killed_worker(folder, aside)
    check_going_on(folder, shared)
    check_another_chain(folder, shared)
    check_refusals(folder)


CHECKS = (check_arrays, check_threads, check_memory_is_shared, check_settings,
          check_settings_name_files, check_inputs, check_hostile, check_named_files,
          check_ratios, check_doubts, check_pickles, check_parts,
          check_sizes, check_not_split, check_progress, check_zarr_on_disk, check_formats, check_choice,
          check_replaced_files, check_damaged_records, check_errors,
          check_special_files, check_said, check_alone, check_verdicts,
          check_full_disk, check_stopped, check_window_recordings, check_interrupt, check_large, check_folders,
          check_nothing_overwritten, check_failures_keep_results, check_one_context, check_plugins)
if sys.argv[2:]:
    CHECKS = [check for check in (*CHECKS, check_tape) if check.__name__ in sys.argv[2:]]
with contextlib.ExitStack() as stack:
    place = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    about, _ = stack.enter_context(cluster(place, 1))
    for check in CHECKS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as temporary:
            recordings, aside = pathlib.Path(temporary) / "recordings", pathlib.Path(temporary)
            recordings.mkdir()
            arguments = aside, ("--scheduler-file", about)
            check(recordings, *arguments[:check.__code__.co_argcount - 1])
        print(f"{check.__name__}: {time.monotonic() - began:.1f} s", flush=True)
