"""Whether spectra are calibrated

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from .structures import structure_of  # noqa: E402

# Properties of octwindowinterp, any of which calibrates
CALIBRATING = "wavelengths", "wavelength-min", "resample-map", "k-clock"
MISSING = "no calibration, so samples are taken as even in wavenumber"


def is_missing(element):
    """Returns whether octwindowinterp takes samples as even in wavenumber because it has no
    calibration. With interpolation=none they are said to be even."""
    event = element.get_static_pad("sink").get_sticky_event(
        Gst.EventType.CUSTOM_DOWNSTREAM_STICKY, 0)
    of_stream = event and structure_of(event).has_field("resample-map")
    given = any(element.get_property(name) not in (None, "", 0) for name in CALIBRATING)
    return not (given or of_stream or element.get_property("interpolation").value_nick == "none")
