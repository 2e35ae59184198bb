"""Files of results, each format written by the library that is made for it

A result is written frame by frame, or in parts by several processes. These write into slots of a
file that is created at its full size; with zarr each B-scan is a chunk, a file of its own.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import errno
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from gi.repository import Gst

from .frames import view_of
from .recordings import library
from .structures import structure_of
from .system import take_room, write_file_to_disk

POLL, QUEUED = 10 * Gst.MSECOND, 64 << 20  # bytes that octfilesink has not written yet
CLASSIC_TIFF = 4_000_000_000  # bytes; larger files need BigTIFF


def steps_of(sample):
    """Returns the known ones of depth-step, line-step and b-scan-step in the caps, in µm."""
    structure = structure_of(sample.get_caps(), 0)
    found = {name: structure.get_double(name) for name in ("depth-step", "line-step", "b-scan-step")}
    return {name: step for name, (known, step) in found.items() if known}


def sizes_for_imagej(steps, count):
    """Returns the arguments of tifffile with which ImageJ knows the sizes of pixels: columns are
    depths and rows are A-lines. ImageJ takes an unknown size as 1 of the unit. The unit is therefore
    left out unless both sizes of a page are known, and pages at unknown distances are frames in
    time. The number of pages has always the same width, so that it can be written again."""
    if not steps:
        return {}
    pages = "slices" if "b-scan-step" in steps else "frames"
    lines = ["ImageJ=1.11a", f"images={count:010d}", f"{pages}={count:010d}",
             *(f"{name}={step!r} um" for name, step in steps.items())]
    if not {"depth-step", "line-step"} <= steps.keys():
        return {"description": "\n".join(lines) + "\n"}
    lines += ["unit=um", *(f"spacing={steps[name]!r}" for name in ("b-scan-step",) if name in steps)]
    return {"description": "\n".join(lines) + "\n", "resolutionunit": "NONE",
            "resolution": (1 / steps["depth-step"], 1 / steps["line-step"])}


class Stream:
    """File that is written frame by frame. `limit` is the expected maximum number of frames, None
    where it is unknown."""

    def __init__(self, path, limit):
        self.path, self.limit, self.count, self.shape, self.dtype = path, limit, 0, None, None
        self.file, self.steps = None, {}

    def write(self, sample):
        frame = view_of(sample)
        if self.shape is None:
            self.shape, self.dtype, self.steps = frame.shape, frame.dtype, steps_of(sample)
            self.start(frame)
        elif (frame.shape, frame.dtype) != (self.shape, self.dtype):
            raise ValueError(f"the chain changes its frames from {self.shape} {self.dtype} to "
                             f"{frame.shape} {frame.dtype}")
        self.put(frame)
        self.count += 1

    def discard(self):
        """Releases what is left after a failure. What is not yet written cannot be either."""
        if self.file:
            with contextlib.suppress(OSError):
                self.file.close()


class NpyStream(Stream):
    """The header is written again at the end, when the number of frames is known. NumPy leaves
    room for it."""

    def header(self):
        np.lib.format.write_array_header_1_0(self.file, {
            "descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False,
            "shape": (self.count, *self.shape)})
        return self.file.tell()

    def start(self, _):
        self.file = open(self.path, "wb")
        self.header_bytes = self.header()

    def put(self, frame):
        self.file.write(np.ascontiguousarray(frame).data)

    def close(self):
        with self.file:
            self.file.seek(0)
            if self.header() != self.header_bytes:
                raise ValueError("NumPy has changed the length of the header")


class ZarrStream(Stream):
    def start(self, frame):
        self.array = create_zarr(self.path, (0, *frame.shape), frame.dtype)

    def put(self, frame):
        self.array.append(frame[np.newaxis])

    def close(self):
        pass


class TiffStream(Stream):
    def start(self, frame):
        tifffile = library("tifffile", "python3-tifffile")
        large = self.limit is None or self.limit * frame.nbytes > CLASSIC_TIFF
        self.file = tifffile.TiffWriter(self.path, bigtiff=large)
        self.photometric = photometric_of(frame.shape)

    def put(self, frame):
        sizes = sizes_for_imagej(self.steps, 0) if self.count == 0 else {}
        self.file.write(frame, photometric=self.photometric, contiguous=True, **sizes)

    def close(self):
        self.file.close()
        sizes = sizes_for_imagej(self.steps, self.count)
        if sizes:  # now that the number of frames is known
            library("tifffile", "python3-tifffile").tiffcomment(self.path, sizes["description"])


class VolumeStream(Stream):
    """NRRD or NIfTI by octfilesink, which knows the voxel sizes from the caps"""

    def start(self, _):
        self.pipeline = Gst.parse_launch("appsrc name=source format=time ! octfilesink name=sink")
        self.source = self.pipeline.get_by_name("source")
        self.pipeline.get_by_name("sink").set_property("location", str(self.path))
        self.pipeline.set_state(Gst.State.PLAYING)

    def write(self, sample):
        super().write(sample)
        self.source.emit("push-sample", sample)
        self.check(0, Gst.MessageType.ERROR)
        while self.source.get_property("current-level-bytes") > QUEUED:
            self.check(POLL, Gst.MessageType.ERROR)

    def put(self, _):
        pass

    def discard(self):
        if self.shape:
            self.pipeline.set_state(Gst.State.NULL)

    def close(self):
        self.source.emit("end-of-stream")
        self.check(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        self.pipeline.set_state(Gst.State.NULL)

    def check(self, timeout, wanted):
        """Waits for one of these messages. An appsrc that blocks would wait for ever after an
        error."""
        message = self.pipeline.get_bus().timed_pop_filtered(timeout, wanted)
        if message and message.type == Gst.MessageType.ERROR:
            error, _ = message.parse_error()
            if error.matches(Gst.ResourceError.quark(), Gst.ResourceError.NO_SPACE_LEFT):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise OSError(f"octfilesink: {error.message}")


def photometric_of(frame_shape):
    has_colours = len(frame_shape) == 3 and frame_shape[2] in (3, 4)
    return "rgb" if has_colours else "minisblack"


def allocate(path):
    """Takes the room of a file with holes. A write into a memory map of such a file ends the
    process where the disk is full."""
    with open(path, "r+b") as file:
        take_room(file)


def create_npy(path, shape, dtype, _steps=None):
    np.lib.format.open_memmap(path, "w+", dtype, shape)
    allocate(path)


def create_zarr(path, shape, dtype, _steps=None):
    """Returns an array of which each chunk is a B-scan, or a picture."""
    zarr = library("zarr", "python3-zarr")
    inner = shape[1:] if len(shape) < 4 else (1, *shape[2:])
    return zarr.open(str(path), mode="w", shape=shape, dtype=dtype, chunks=(1, *inner))


def create_tiff(path, shape, dtype, steps):
    size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
    library("tifffile", "python3-tifffile").memmap(
        path, shape=shape, dtype=dtype, photometric=photometric_of(shape[1:]),
        bigtiff=size > CLASSIC_TIFF, **sizes_for_imagej(steps, shape[0]))
    allocate(path)


# Format: what streams into it, and what creates and opens files with slots (None: streamed only)
FORMATS = {
    "npy": (NpyStream, create_npy, lambda path: np.load(path, mmap_mode="r+")),
    "zarr": (ZarrStream, create_zarr,
             lambda path: library("zarr", "python3-zarr").open(str(path), mode="r+")),
    "nii": (VolumeStream, None, None),
    "nrrd": (VolumeStream, None, None),
    "tiff": (TiffStream, create_tiff,
             lambda path: library("tifffile", "python3-tifffile").memmap(path, mode="r+")),
}
LIBRARIES = {"zarr": ("zarr", "python3-zarr"), "tiff": ("tifffile", "python3-tifffile")}


def check_library(name):
    """Raises RecordingError where the library of a format is missing."""
    if name in LIBRARIES:
        library(*LIBRARIES[name])


def write_frames_to_disk(slots, path, first, end):
    """Waits until frames that were written into slots are on the disk. Those of zarr are files such
    as 7.0.0, or in its third version c/7/0/0."""
    if hasattr(slots, "flush"):
        slots.flush()
        return
    for file in *path.glob("*"), *path.glob("c/*"):
        number = file.name.partition(".")[0]
        if number.isdigit() and first <= int(number) < end:
            write_to_disk(file)


def write_to_disk(path):
    """Waits until a file, or all files of a folder, are on the disk."""
    if os.path.isfile(path):
        write_file_to_disk(path)
        return
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write_file_to_disk, files))
