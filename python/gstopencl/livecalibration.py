"""Calibration of a pipeline that plays

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import queue
import time

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from .calibrated import CALIBRATING  # noqa: E402
from .calibration import Refused, calibration_of_mirrors, dispersion_of_sample  # noqa: E402
from .calibrationfiles import UNPACK, calibration_of_stream, write_calibration  # noqa: E402
from .chain import Chain  # noqa: E402
from .frames import TYPES_OF_OCT, temporary_folder, view_of  # noqa: E402
from .memory import bytes_of  # noqa: E402
from .notices import collected  # noqa: E402
from .recordings import Recording  # noqa: E402
from .structures import array_of, structure_of  # noqa: E402

B_SCANS = 4  # of sharpen()
POLL = 0.1  # seconds
# Properties that say which samples an A-line has, and which resample them
READING = "bit-shift", "first-sample", "k-clock", "samples"
RESAMPLING = "wavelengths", "wavelength-min", "wavelength-max", "resample-map", "interpolation"


def is_packed(structure):
    return structure.get_name() == "application/x-oct" and \
        structure.get_value("format") not in TYPES_OF_OCT


def array_of_frame(sample):
    """Returns a copy of a frame: A-lines of numbers, or of the bytes of a packed format."""
    structure = structure_of(sample.get_caps(), 0)
    if is_packed(structure):
        return np.array(bytes_of(sample.get_buffer())).reshape(structure.get_value("lines"), -1)
    return np.array(view_of(sample))


class LiveCalibration:
    """Calibrates an octwindowinterp of a pipeline that plays, with the spectra that reach it.

    `element` is that octwindowinterp, and `timeout` the seconds within which frames must come.
    mirror () and sharpen () wait for frames and compute for some seconds, so that an application
    with a main loop calls them in a thread of its own. The pipeline goes on meanwhile. They raise
    Refused with the reason where the spectra do not tell the calibration, TimeoutError without
    frames, and ChainError.
    """

    def __init__(self, element, timeout=10):
        self.element, self.timeout = element, timeout
        self.pad = element.get_static_pad("sink")
        self.first = self.found = None

    def frames(self, count):
        """Returns the next frames and their caps."""
        came = queue.Queue()

        def take(pad, info):
            sample = Gst.Sample.new(info.get_buffer(), pad.get_current_caps(), None, None)
            try:
                came.put((array_of_frame(sample), sample.get_caps()))
            except (RuntimeError, ValueError) as error:
                came.put((error, None))
            return Gst.PadProbeReturn.OK

        probe = self.pad.add_probe(Gst.PadProbeType.BUFFER, take)
        try:
            return self.collected(came, count)
        finally:
            self.pad.remove_probe(probe)

    def collected(self, came, count):
        frames, caps, deadline = [], None, time.monotonic() + self.timeout
        while len(frames) < count:
            if time.monotonic() > deadline or self.pad.get_sticky_event(Gst.EventType.EOS, 0):
                raise TimeoutError(f"{len(frames)} of {count} frames came to "
                                   f"{self.element.get_name()} within {self.timeout:g} s, or the "
                                   "stream ended")
            try:
                frame, at = came.get(timeout=POLL)
            except queue.Empty:
                continue
            if isinstance(frame, Exception):
                raise frame
            frames = [*frames, frame] if caps and caps.is_equal(at) else [frame]
            caps = at
        return np.stack(frames), caps

    def spectra(self, count, resampled=False):
        """Returns the next frames as (frames, A-lines, samples), on even wavenumbers if
        `resampled`. A background that the element subtracts from a file is subtracted unless
        `resampled`."""
        frames, caps = self.frames(count)
        structure = structure_of(caps, 0)
        layout = structure.to_string() if is_packed(structure) else None
        chain = Chain(UNPACK)
        try:
            self.adopt(chain, resampled)
            with collected():  # the pipeline itself warns
                return np.array(chain.run(Recording("spectra", frames, caps=layout)))
        finally:
            chain.close()

    def adopt(self, chain, resampled):
        """Sets the properties of the element that say how to read spectra."""
        (interp,), own = chain.resamplers(), self.element.get_property
        for name in (*READING, *(RESAMPLING if resampled else ())):
            interp.set_property(name, own(name))
        if interp.get_property("interpolation").value_nick == "nufft":
            Gst.util_set_object_arg(interp, "interpolation", "lanczos16")
        of_stream = calibration_of_stream(self.pad)
        method = own("background").value_nick
        if not resampled and method == "file":
            interp.set_property("background-file", own("background-file"))
            Gst.util_set_object_arg(interp, "background", "file")
        elif not resampled and method == "auto":
            self.adopt_table(chain, interp, of_stream, "background", "background-file")
        if resampled and not any(own(name) not in (None, "", 0) for name in CALIBRATING):
            self.adopt_table(chain, interp, of_stream, "resample-map", "resample-map")

    @staticmethod
    def adopt_table(chain, interp, of_stream, field, name):
        if of_stream and of_stream.has_field(field):
            path = os.path.join(temporary_folder(chain, "calibration-"), "values.npy")
            np.save(path, array_of(of_stream, field))
            interp.set_property(name, path)
            if name == "background-file":
                Gst.util_set_object_arg(interp, "background", "file")

    def forget(self):
        """Forgets the mirror before, so that the next one is the first."""
        self.first = self.found = None

    def mirror(self, same_side=False):
        """Returns the MirrorCalibration from a mirror in place of the sample and, the second time,
        from this one and the one before. `same_side`: both are on the same side of zero delay.
        Either mirror may be wrong, so both are forgotten when one is refused."""
        before, self.first = self.first, None
        now = self.spectra(1)[0].mean(0, dtype=float)
        pair = (before, now) if before is not None and before.size == now.size else (now,)
        self.found = None
        self.found = calibration_of_mirrors(*pair, opposite=not same_side)
        self.first = now
        return self.found

    def write(self, folder, keep_wavelengths=False):
        """Writes the map and the dispersion of mirror () to a folder, with settings.txt for the
        property `settings`. `keep_wavelengths`: without the map. Returns the path of
        settings.txt."""
        if not self.found:
            raise Refused("no calibration from a mirror yet")
        arrays = {"resample-map": self.found.map, "dispersion-phase": self.found.dispersion}
        if keep_wavelengths:
            del arrays["resample-map"]
        write_calibration(folder, {name: values for name, values in arrays.items()
                                   if values is not None}, {})
        return os.path.join(folder, "settings.txt")

    def sharpen(self, progress=lambda done: None):
        """Finds the Dispersion of the sample in the next 4 B-scans, sets `dispersion-a2` and
        `dispersion-a3` of the element, and returns it."""
        found = dispersion_of_sample(self.spectra(B_SCANS, resampled=True), progress=progress)
        with self.element.freeze_notify():
            self.element.set_property("dispersion-phase", None)
            self.element.set_property("dispersion-a2", found.a2)
            self.element.set_property("dispersion-a3", found.a3)
        return found
