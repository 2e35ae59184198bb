"""Files of a calibration: A-lines, tables of numbers, and the folder that settings.txt describes

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import io
import os
import pathlib
from typing import NamedTuple

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from .calibration import at_places  # noqa: E402
from .chain import Chain  # noqa: E402
from .files import replaced, write_whole  # noqa: E402
from .frames import view_of  # noqa: E402
from .recordings import RecordingError, open_recording, read_bytes, read_text  # noqa: E402
from .settingslines import line_of  # noqa: E402
from .structures import array_of, structure_of  # noqa: E402

MOST_FRAMES = 16  # of a file, whose A-lines are kept
# Unpacks samples of any format. The window is scaled by 2 / samples.
UNPACK = "octwindowinterp interpolation=none window=rectangular background=none"
MOST_COEFFICIENTS = 16
# Settings of earlier versions: converted, and without an effect on frames
CONVERTED = "chirp", "resample-polynomial"
DROPPED = "calibrate", "calibrate-same-side", "calibration-folder", "sharpen"


# --- A-lines ---


class Spectra(NamedTuple):
    """A-lines of a file: their mean, those of at most 16 frames as (frames, A-lines, samples), and
    the background and the resample map of a .oct recording, else None"""
    mean: np.ndarray
    lines: np.ndarray
    background: np.ndarray
    map: np.ndarray


def calibration_of_stream(pad):
    """Returns the structure GstOctCalibration that came to a pad, or None."""
    event = pad.get_sticky_event(Gst.EventType.CUSTOM_DOWNSTREAM_STICKY, 0)
    structure = event and structure_of(event)
    return structure if structure and structure.get_name() == "GstOctCalibration" else None


def decoded(recording):
    """Yields frames of numbers, and the structure with the calibration of a .oct recording."""
    if not (recording.parser or recording.caps):
        yield from ((frame, None) for frame in recording.frames())
        return
    chain = Chain(UNPACK if recording.caps else "identity", parser=recording.parser)
    pad, scale, found = chain.sink.get_static_pad("sink"), 0.5 if recording.caps else 0, None
    try:
        with contextlib.closing(chain.samples(recording)) as samples:
            for sample in samples:
                frame, found = view_of(sample), found or calibration_of_stream(pad)
                yield frame * (scale * frame.shape[-1]) if scale else frame, found
    finally:
        chain.close()


def load_spectra(path, progress=lambda done: None, **options):
    """Returns the Spectra of a recording. `options` are those of raw files. Raises RecordingError,
    ChainError and OSError."""
    recording = open_recording(path, **options)
    if not recording.parser and recording.dtype.kind == "c":
        raise RecordingError(f"{path}: complex numbers, expected A-lines of real numbers")
    total, count, kept, every, found = 0, 0, [], 1, None
    for number, (frame, found) in enumerate(decoded(recording)):
        total, count = total + frame.sum(0, dtype=float), count + len(frame)
        progress(number / recording.count if recording.count else 0)
        if number % every == 0:
            kept.append(np.array(frame))
        if len(kept) > MOST_FRAMES:
            kept, every = kept[::2], 2 * every
    if not count:
        raise RecordingError(f"{path}: no A-lines")
    of_stream = [array_of(found, name) if found and found.has_field(name) else None
                 for name in ("background", "resample-map")]
    return Spectra(total / count, np.stack(kept), *of_stream)


# --- tables ---


def values_of(path):
    """Returns the numbers of a file: .npy, text with one number a line, or raw float32 where the
    file is no text, as Thorlabs' Chirp.data. Raises ValueError and OSError with its name."""
    raw = read_bytes(path)
    if raw.startswith(b"\x93NUMPY"):
        try:
            values = np.load(io.BytesIO(raw), allow_pickle=False).ravel()
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    elif all(0x09 <= byte < 0x7f for byte in raw[:64]):
        values = np.array(list(numbers_of_text(path, raw.decode(errors="replace"))))
    else:
        values = np.frombuffer(raw[:len(raw) // 4 * 4], "<f4")
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all() or not values.size:
        raise ValueError(f"{path}: expected finite real numbers")
    return values.astype(float)


def numbers_of_text(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if line:
            try:
                yield float(line)
            except ValueError:
                raise ValueError(f"{path}, line {number}: \"{line[:80]}\", expected a number") \
                    from None


def checked_map(name, values):
    """Returns a resample map. Raises ValueError unless it rises or falls within the samples."""
    size = len(values)
    if not ((values >= -1) & (values <= size)).all():
        raise ValueError(f"{name}: values from {values.min():.9g} to {values.max():.9g}, expected "
                         f"samples from -1 to {size}")
    check_monotone(name, values)
    return values


def check_monotone(name, values):
    steps = np.diff(values) * np.sign(values[-1] - values[0])
    if not (steps > 0).all():
        at = int(np.argmin(steps > 0)) + 1
        raise ValueError(f"{name}: value {at} is {values[at]:.9g} after {values[at - 1]:.9g}, "
                         "expected strictly rising or falling numbers")


def map_of_places(name, places):
    """Returns the map of the wavenumber of each sample, rising or falling. Numbers within the
    samples that span half of them or more are indices of even wavenumbers, as in Thorlabs'
    Chirp.data. Others are wavenumbers in any unit, of which the map is even from the first to the
    last."""
    check_monotone(name, places)
    size = len(places)
    is_index = places.min() >= -1 and places.max() <= size and np.ptp(places) >= size / 2
    if not is_index:
        places = (places - places[0]) / (places[-1] - places[0]) * (size - 1)
    return checked_map(name, inverse(places))


def inverse(places):
    """Inverse function of a smooth table: straight lines, then Newton's method, which may diverge
    if the table is not smooth. Limited to the samples."""
    wanted, size = np.arange(len(places)), len(places)
    sign = np.sign(places[-1] - places[0])
    before = np.clip(np.searchsorted(sign * places, sign * wanted), 1, size - 1) - 1
    straight = before + (wanted - places[before]) / np.diff(places)[before]
    found = straight
    for _ in range(3):
        slope = at_places(places, found + 0.5) - at_places(places, found - 0.5)
        found = found + (wanted - at_places(places, found)) / slope
    return np.clip(np.where(abs(found - straight) <= 1, found, straight), 0, size - 1)


def map_of_wavelengths(name, wavelengths):
    if not (wavelengths > 0).all():
        raise ValueError(f"{name}: a wavelength of {wavelengths.min():.9g}, expected numbers above "
                         "0")
    check_monotone(name, wavelengths)
    places = 1 / wavelengths
    return map_of_places(name, (places - places[0]) / (places[-1] - places[0])
                         * (len(places) - 1))


def map_of_polynomial(name, text, samples):
    """Returns the map of coefficients, the constant first, of powers of u, which is 0 at the first
    wavenumber and 1 at the last."""
    try:
        coefficients = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        coefficients = []
    if not 0 < len(coefficients) <= MOST_COEFFICIENTS or not np.isfinite(coefficients).all():
        raise ValueError(f"{name} \"{text[:80]}\": expected up to {MOST_COEFFICIENTS} numbers "
                         "separated by commas")
    u = np.linspace(0, 1, samples)
    return checked_map(name, np.polynomial.polynomial.polyval(u, coefficients))


# --- settings ---


def write_calibration(folder, arrays, settings):
    """Writes a folder for octwindowinterp's `settings`: NAME.npy of each array, and settings.txt
    with their names and further settings. Returns the text of that file. Raises OSError."""
    os.makedirs(folder, exist_ok=True)
    lines = {**{name: f"{name}.npy" for name in arrays}, **settings}
    text = "".join(map(line_of, lines, lines.values()))
    for name, values in arrays.items():
        with replaced(os.path.join(folder, f"{name}.npy")) as unfinished, \
                open(unfinished, "wb") as file:
            np.save(file, np.asarray(values, float))
    write_whole(os.path.join(folder, "settings.txt"), text)
    return text


def read_old_settings(path, samples):
    """Returns the arrays and the settings of a settings file of earlier versions, whose `chirp` or
    `resample-polynomial` becomes a resample map. `samples` is the number of samples of an A-line,
    for a polynomial."""
    arrays, settings, folder = {}, {}, pathlib.Path(path).resolve().parent
    for line in read_text(path).splitlines():
        name, _, value = line.strip().partition("=")
        beside = folder / value
        if line.startswith("#") or name in DROPPED or not name:
            continue
        if name not in CONVERTED:
            settings[name] = str(beside) if value and beside.is_file() else value
        elif name == "chirp":
            file = beside if beside.is_file() else value
            arrays["resample-map"] = map_of_places(file, values_of(file))
        elif not samples:
            raise ValueError(f"{path}: resample-polynomial needs --samples")
        else:
            arrays["resample-map"] = map_of_polynomial(name, value, samples)
    return arrays, settings
