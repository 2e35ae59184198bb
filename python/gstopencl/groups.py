"""Number of frames after which a chain of elements begins anew

A recording may be split there: each part then gives the same result as within the whole.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math

# Elements that process each frame by itself, unless a property below says otherwise
BY_FRAME = {"appsink", "appsrc", "capsfilter", "identity", "octattenuation", "octbackground",
            "octdisplay", "octdoppler", "octfft", "octflatten", "octwindowinterp", "openclconvert",
            "opencldownload", "openclupload", "queue"}
# (element, property, value): what a frame then depends on
FRAMES_BEFORE = {
    ("octaverage", "rolling", True): "averages over the frames before",
    ("octbackground", "method", "recorded"): "records a background once",
    ("octdisplay", "db-auto", True): "adapts its range over frames",
    ("octdoppler", "between", "frames"): "compares consecutive frames",
    ("octdynamic", "rolling", True): "compares with the frames before",
    ("octfft", "db-auto", True): "adapts its range over frames",
    ("octwindowinterp", "background", "rolling"): "averages over the frames before",
}
UNKNOWN_VOLUME = 512  # B-scans, as octvolume has it


class Unsplittable(Exception):
    """Says which element needs the whole recording, and why."""


def value_of(element, name):
    value = element.get_property(name)
    return getattr(value, "value_nick", value)


def check_frames_before(element, factory):
    for (name, what, value), reason in FRAMES_BEFORE.items():
        if factory == name and value_of(element, what) == value:
            raise Unsplittable(f"{element.get_name()} {reason} ({what})")


class Walk:
    """State of a walk along a chain, in frames of the recording: `group`, after which all elements
    so far begin anew, and `stride`, of which the next element gets one frame"""

    def __init__(self):
        self.group = self.stride = 1
        self.volume, self.buffered = 0, 1  # B-scans of a volume (0 = unknown), and of a frame

    def scan(self, element):
        """octscan numbers B-scans. Lines of every second one may be reversed."""
        repeats = value_of(element, "repeats")
        self.buffered = value_of(element, "b-scans-per-buffer")
        self.volume = value_of(element, "b-scans") * repeats
        directions = {value_of(element, name) for name in ("reverse", "reverse-samples")}
        alternates = directions != {"none"}
        self.need(math.lcm(self.volume or repeats, 2 if alternates else 1))

    def groups(self, element, name):
        """Makes one frame of several."""
        self.stride *= value_of(element, name)
        self.need(self.stride)

    def volumes(self, element):
        own = value_of(element, "b-scans")
        if own or not self.volume:
            self.need((own or UNKNOWN_VOLUME) * self.stride)

    def need(self, b_scans):
        frames = math.lcm(b_scans, self.buffered) // self.buffered
        self.group = math.lcm(self.group, max(frames, 1))


GROUPING = {
    "octscan": Walk.scan,
    "octaverage": lambda walk, element: walk.groups(element, "frames"),
    "octangio": lambda walk, element: walk.groups(element, "repeats"),
    "octdynamic": lambda walk, element: walk.groups(element, "repeats"),
    "octvolume": Walk.volumes,
}


def group_of(elements):
    """Returns the number of frames after which all these elements, in their order, begin anew.
    Raises Unsplittable."""
    walk = Walk()
    for element in elements:
        factory = element.get_factory().get_name()
        check_frames_before(element, factory)
        if factory in GROUPING:
            GROUPING[factory](walk, element)
        elif factory not in BY_FRAME:
            raise Unsplittable(f"{element.get_name()} may need the frames before")
    return walk.group
