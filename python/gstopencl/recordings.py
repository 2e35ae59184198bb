"""Recordings of raw spectra, each format read by the library that is made for it

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import dataclasses
import errno
import importlib
import logging
import math
import os
import pathlib
import re
import stat
import threading
from xml.etree import ElementTree

import numpy as np

from .frames import TYPES_OF_OCT, oct_caps
from .notices import warn
from .system import READ_AT_ONCE, hint_for

PACKED_BITS = {"MONO10P": 10, "MONO12P": 12, "MONO12PACKED": 12}
CODECS = threading.Lock()  # while those of zarr are changed
# Sizes of frames and of headers to suggest, where those of a raw file do not fit
SHOWN_SIZES, LARGEST_HEADER = 12, 1 << 16
BLOCK = 16 << 20  # bytes that are read at once, where a format has no blocks of its own
MOST_RATIO, SMALL = 1000, 1 << 30  # stated bytes to those of the file, which compression reaches


class RecordingError(Exception):
    """A recording that cannot be read; says why in one sentence, with its path."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes and format of raw files, the name of the array in a file of several arrays, and the
    camera of a .oct recording of two"""
    samples: int = None
    lines: int = None
    format: str = "U16LE"
    header_bytes: int = 0
    dataset: str = None
    camera: int = 0

    def given(self):
        """Returns those that differ from the default, by name."""
        return {field.name: value for field in dataclasses.fields(self)
                if (value := getattr(self, field.name)) != field.default}


class Recording:
    """Frames of one array-like, (frames, lines, samples); leading lengths may be missing, or be
    several, as (volumes, b_scans, lines, samples). Slices of the array-like are read on demand.

    `parser` is the element that reads the file instead; there is no array then, and the number
    of frames is unknown. `named` are other files that the array is read from.
    """

    def __init__(self, path, array=None, parser=None, caps=None, named=()):
        self.path, self.array, self.parser, self.caps = path, array, parser, caps
        self.named = set(named)
        self.count = self.lines = self.samples = self.frame_bytes = None
        if parser:
            return
        if array.ndim == 0 or 0 in array.shape or np.dtype(array.dtype).kind not in "iufc":
            raise RecordingError(f"{self}: {array.dtype} of shape {array.shape}, expected numbers "
                                 "of shape (frames, lines, samples)")
        self.dtype = np.dtype(array.dtype)
        self.lines, self.samples = array.shape[-2:] if array.ndim > 1 else (1, len(array))
        self.count = math.prod(array.shape[:-2])
        self.frame_bytes = self.lines * self.samples * self.dtype.itemsize

    def __str__(self):
        return str(self.path)

    def frames(self, start=0, stop=None):
        """Yields the frames from `start` to `stop`, (lines, samples) each."""
        stop = self.count if stop is None else stop
        lead = self.array.shape[:-2]
        block = self.block() if len(lead) == 1 else 1
        while start < stop:
            end = min(start - start % block + block, stop)
            at = slice(start, end) if len(lead) == 1 else np.unravel_index(start, lead) if lead else ...
            yield from np.asarray(self.array[at]).reshape(-1, self.lines, self.samples)
            start = end

    def chunk(self):
        """Returns the number of frames that the file compresses together."""
        chunks = getattr(self.array, "chunks", None)
        return chunks[0] if chunks else 1

    def block(self):
        """Returns the number of frames to read at once: whole chunks."""
        return max(1, BLOCK // self.frame_bytes // self.chunk()) * self.chunk()


# --- regular files: a pipe or a device may keep its reader waiting for ever ---


def checked(state, path):
    """Returns what os.stat says of a regular file. Raises OSError for any other."""
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return state


def inside(path, name):
    """Returns a file that the file or folder `path` names. Raises OSError unless it is a regular
    file below the folder of `path`, as for external data of ONNX models."""
    folder = pathlib.Path(path).parent.resolve()
    file = folder.joinpath(name).resolve()
    if folder in file.parents and file.is_file():
        return file
    raise OSError(errno.EINVAL, f"names {name}, expected a regular file below its folder", str(path))


def states_of(path):
    """Returns what os.stat says of a file, or of all files of a folder."""
    files = [path] if not path.is_dir() else [
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    return [checked(os.stat(file), file) for file in files]


def opened(path, **options):
    """Opens a regular file for reading. Raises OSError for any other, without waiting for it."""
    file = open(path, opener=lambda name, flags: os.open(name, flags | READ_AT_ONCE), **options)
    try:
        checked(os.fstat(file.fileno()), path)
    except OSError:
        file.close()
        raise
    return file


def read_text(path):
    with opened(path, encoding="utf-8") as file:
        return file.read()


def read_bytes(path):
    with opened(path, mode="rb") as file:
        return file.read()


# --- formats ---


def library(name, package):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise RecordingError(f"{name} is missing: {hint_for(name, package)}") from None


def open_npy(path, _):
    """Small files are read faster than they are mapped."""
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)  # np.load () would call another file pickled data
    mode = None if os.stat(path).st_size < BLOCK else "r"
    return Recording(path, np.load(path, mmap_mode=mode, allow_pickle=False))


def open_oct(path, options):
    return Recording(path, parser=f"octfileparse camera={options.camera}")


def frames_of_file(path, options):
    """Returns the number of frames in a raw file, which must be whole. Raises RecordingError with
    sizes that fit."""
    bits = int(re.search(r"\d+", options.format)[0]) * (1 + options.format.startswith("C"))
    frame = math.ceil(options.samples * bits / 8) * options.lines
    total, header = os.stat(path).st_size, options.header_bytes
    size = max(total - header, 0)
    if size >= frame and size % frame == 0:
        return size // frame
    sizes = fitting_sizes(size * 8 / bits, options.samples, options.lines)
    raise RecordingError(
        f"{path}: {size} bytes after a header of {header}, expected whole frames of {frame} bytes. "
        f"Sizes that fit: {', '.join(sizes) or 'none'}"
        + (f"; or this size with a header of {total % frame} bytes"
           if total >= frame and total % frame < LARGEST_HEADER else ""))


def fitting_sizes(total, samples, lines):
    """Returns the sizes of frames that fill a file of `total` samples, as texts: of as many samples
    as asked for or multiples of 64, with about as many lines; the most similar ones."""
    found = []
    for width in {samples, *range(64, 8193, 64)}:
        rows, rest = divmod(total, width)
        if rows and not rest:
            divisors = (n for n in range(1, int(rows ** 0.5) + 1) if rows % n == 0)
            height = min((number for n in divisors for number in (n, int(rows // n))),
                         key=lambda number: abs(math.log(number / lines)))
            unlike = abs(math.log(width / samples)) + abs(math.log(height / lines))
            found.append((unlike, f"{width}x{height}"))
    return [text for _, text in sorted(found)[:SHOWN_SIZES]]


def doubt_of(path, options):
    """Returns a sentence where the first frame of a raw file looks like another format, else None.
    Floats have exponents within a small range, in their last bytes. The bytes before are noise, or
    zero for whole numbers. Integer samples at both places are alike."""
    kind = np.dtype(TYPES_OF_OCT.get(options.format, "V1"))
    data = np.fromfile(path, "u1", kind.itemsize * options.samples * options.lines,
                       offset=options.header_bytes)
    for size in (4, 8) if kind.itemsize <= 2 else ():
        values = np.abs(data[:len(data) // size * size].view(f"<f{size}"))
        words = values.view("<u2").reshape(-1, size // 2)[values != 0]
        low, high = words[:, -2], words[:, -1]
        is_usual = (values > 1e-12) & (values < 1e12) | (values == 0)
        if len(words) and is_usual.mean() > 0.999 and (low.std() > 8 * high.std() or not low.any()):
            return f"{path}: the bytes look like float{8 * size}, not {options.format}: F32LE is float32"
    if kind.kind in "iu":
        lines = data.view(kind).reshape(options.lines, -1)
        if (lines == np.iinfo(kind).max).any(1).all():
            return f"{path}: all A-lines of the first frame are saturated: reduce the light, or " \
                   f"give another format than {options.format}"
    return None


def open_raw(path, options):
    samples, lines, name = options.samples, options.lines, options.format
    if not samples or not lines:
        raise RecordingError(f"{path}: a raw file does not say its sizes, give samples and lines")
    if name not in PACKED_BITS and name not in TYPES_OF_OCT:
        raise RecordingError(f"{path}: format {name} is not one of "
                             f"{', '.join([*TYPES_OF_OCT, *PACKED_BITS])}")
    if name in PACKED_BITS:
        kind, shape = np.dtype("u1"), (lines, samples * PACKED_BITS[name] // 8)
        if samples * PACKED_BITS[name] % 8:
            raise RecordingError(f"{path}: {samples} samples of {name} are not whole bytes")
        caps = oct_caps(name, "wavelength", lines, samples)
    else:
        kind, shape, caps = np.dtype(TYPES_OF_OCT[name]), (lines, samples), None
    count = frames_of_file(path, options)
    if doubt := doubt_of(path, options):
        warn(doubt)
    array = np.memmap(path, kind, "r", options.header_bytes, (count, *shape))
    return Recording(path, array, caps=caps)


def one_array(path, arrays, dataset):
    """Returns the array of a file that is called `dataset`, or the only one with lines."""
    if dataset is not None:
        if dataset not in arrays:
            raise RecordingError(f"{path}: no dataset {dataset}, only {', '.join(arrays)}")
        return arrays[dataset]
    lines = {name: array for name, array in arrays.items() if array.ndim >= 2}
    if len(lines) != 1:
        raise RecordingError(f"{path}: {len(lines)} arrays of two or more dimensions "
                             f"({', '.join(lines)}): choose one by dataset")
    return next(iter(lines.values()))


def datasets_of(file):
    """Returns the datasets of an open file by name, without those of links."""
    names = []
    file.visit(names.append)
    return {name: file[name] for name in names if getattr(file[name], "shape", None) is not None}


def files_of_dataset(h5py, path, dataset):
    """Yields the other files that a dataset is read from."""
    for name, *_ in dataset.external or ():
        yield inside(path, name)
    sources = dataset.virtual_sources() if dataset.is_virtual else ()
    for name, source in {(source.file_name, source.dset_name) for source in sources}:
        other = path if name == "." else inside(path, name)
        yield other
        with h5py.File(other, "r") as file:
            array = one_array(other, datasets_of(file), source.strip("/"))
            if array.is_virtual or array.external:
                raise RecordingError(f"{path}: {source} in {name} is read from other files, too")


def open_hdf5(path, options):
    h5py = library("h5py", "python3-h5py")
    file = h5py.File(path, "r")
    dataset = options.dataset.strip("/") if options.dataset else None
    array = one_array(path, datasets_of(file), dataset)
    named = list(files_of_dataset(h5py, path, array))
    if array.external:  # whose names are otherwise relative to the current directory
        name, array = array.name.encode(), None
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        access.set_efile_prefix(b"${ORIGIN}")
        array = h5py.Dataset(h5py.h5d.open(file.id, name, access))
    return Recording(path, array, named=named)


@contextlib.contextmanager
def without_pickle():
    """A zarr names its codecs, of which pickle runs what a file says. Arrays look them up when
    they are opened."""
    codecs = importlib.import_module("numcodecs.registry").codec_registry
    with CODECS:
        codec = codecs.pop("pickle", None)
        try:
            yield
        finally:
            if codec:
                codecs["pickle"] = codec


def open_zarr(path, options):
    zarr = library("zarr", "python3-zarr")
    for file in path.rglob("*"):
        if file.is_symlink():
            inside(path, file.absolute())
    with without_pickle():
        root = array = zarr.open(str(path), mode="r")
        if hasattr(root, "arrays"):
            name = options.dataset
            array = root[name] if name and name in root \
                else one_array(path, dict(root.arrays()), name)
    recording = Recording(path, array)
    check_ratio(recording, size_of(path))  # as zarr 3 asks for each chunk that is stated
    missing = array.nchunks - array.nchunks_initialized
    if missing:
        warn(f"{path}: {missing} of {array.nchunks} chunks are missing, which zarr reads as "
             f"{array.fill_value}")
    return recording


class Pages:
    """Pages of a TIFF file as one array, each read on demand"""

    def __init__(self, series):
        self.series, self.dtype = series, series.dtype
        self.shape = (len(series.pages), *series.pages[0].shape)
        self.ndim = len(self.shape)

    def __getitem__(self, frames):
        numbers = range(len(self.series.pages))[frames]
        return np.stack([self.series.pages[number].asarray() for number in numbers])


def files_of_tiff(path, file):
    """Yields the other files that an OME-TIFF names."""
    if file.is_ndtiff:
        raise RecordingError(f"{path}: an NDTiff, whose frames may be in other files")
    root = ElementTree.fromstring(file.ome_metadata or "<OME/>")
    for element in root.iter():
        if "FileName" in element.attrib and element.text != root.get("UUID"):
            yield inside(path, element.get("FileName"))


def open_tiff(path, options):
    tifffile = library("tifffile", "python3-tifffile")
    logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # its errors are raised as well
    file = tifffile.TiffFile(path)
    named = list(files_of_tiff(path, file))
    arrays = {str(number): series for number, series in enumerate(file.series)}
    series = one_array(path, arrays, options.dataset)
    if "S" in series.axes:
        raise RecordingError(f"{path}: a picture with colours, expected spectra")
    if series.dataoffset is None:
        return Recording(path, Pages(series), named=named)
    kind = series.dtype.newbyteorder(series.parent.byteorder)
    return Recording(path, np.memmap(path, kind, "r", series.dataoffset, series.shape))


READERS = {".npy": open_npy, ".oct": open_oct, ".raw": open_raw, ".bin": open_raw, ".dat": open_raw,
           ".h5": open_hdf5, ".hdf5": open_hdf5, ".zarr": open_zarr, ".tif": open_tiff,
           ".tiff": open_tiff}
RAW = {suffix for suffix, reader in READERS.items() if reader is open_raw}


def size_of(path):
    return sum(state.st_size for state in states_of(path))


def check_ratio(recording, size):
    """Raises RecordingError if the array is much larger than the `size` of the file and of those
    that it names. A file may state any size, of which most may be missing."""
    size += sum(os.stat(file).st_size for file in recording.named)
    stated = 0 if recording.parser else recording.count * recording.frame_bytes
    if stated > max(SMALL, MOST_RATIO * size):
        raise RecordingError(
            f"{recording}: states {recording.count} frames, {stated // max(size, 1)} times the bytes "
            "of the file: copy those that are there into another file")


def open_recording(path, **options):
    """Returns the Recording in a file, or in a folder of zarr. Raises RecordingError."""
    path = pathlib.Path(path)
    reader = READERS.get(path.suffix.lower())
    if options.get("samples"):
        reader = reader or open_raw
    if not reader:
        raise RecordingError(f"{path}: no recording by its name, expected one of "
                             f"{' '.join(READERS)}, or a raw file with samples and lines")
    try:
        size = size_of(path)  # looks at each file before the reader does
        recording = reader(path, Options(**options))
        check_ratio(recording, size)
        return recording
    except RecordingError:
        raise
    except OSError as error:
        raise RecordingError(f"{error.filename or path}: {error.strerror or error}") from None
    except Exception as error:  # libraries raise any for files that are not theirs
        said = str(error) or type(error).__name__
        raise RecordingError(f"{path}: {said.splitlines()[0]}") from None
