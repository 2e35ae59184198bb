"""Recordings of opencl-view --oct: spectra and depths in .npy files, and their settings

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import pathlib
import time

from ..files import write_whole
from ..launch import Value, printed
from ..settingslines import line_of
from .branches import Branch
from .gtk import GObject, Gst
from .pictures import unused
from .properties import elements_of

# Bytes of spectra that wait in memory while a disk pauses
WAITING_BYTES = 2 << 30
QUEUE = "queue name=waiting_{0} max-size-buffers=0 max-size-time=0 " \
    f"max-size-bytes={WAITING_BYTES}"
RAW = f"files. ! {QUEUE.format('raw')} ! npysink name=raw async=false"
# The depths are computed once more, so that they have the frames that the window drops. The
# elements are those of the window's pipeline, by name, with the same properties.
DEPTHS = f"files. ! {QUEUE.format('depths')} ! openclupload ! {{}} ! " \
    "application/x-oct(memory:OpenCLMemory),domain=depth,format=CF32LE ! opencldownload ! " \
    "npysink name=depths async=false"
CONVERSION = "scan", "interp", "fft"
KINDS = {"raw": ("raw",), "depths": ("depths",), "both": ("raw", "depths")}


def default_of(spec):
    """Returns the default of a property. PyGObject 3.50 has a method for fractions."""
    return spec.get_default_value() if hasattr(spec, "get_default_value") else spec.default_value


def changed_properties(element, is_wanted):
    """Yields the specification and the value of each property that is_wanted (spec) and does not
    have its default. Arrays are left out, which PyGObject 3.42 cannot read."""
    for spec in element.list_properties():
        if spec.value_type.name == "GstValueArray" or not is_wanted(spec):
            continue
        value = element.get_property(spec.name)
        if value not in (default_of(spec), "", None):
            yield spec, value


def own_properties(element):
    """Yields the changed properties of an element's own class."""
    return changed_properties(element, lambda spec: spec.owner_type == element.__gtype__
                              and spec.name != "settings")


def settings_of(element):
    """Yields lines of NAME=VALUE, as octwindowinterp's `settings` takes them."""
    for spec, value in own_properties(element):
        if isinstance(value, str) and pathlib.Path(value).is_file():
            value = pathlib.Path(value).resolve()
        yield line_of(spec.name, getattr(value, "value_nick", value))


def text_of(value):
    """Returns a value as text, as gst_util_set_object_arg () takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.to_string() if isinstance(value, Gst.Caps) \
        else str(getattr(value, "value_nick", value))


def launch_properties(element):
    """Yields a Value of each changed property. Arrays are in the launch line."""
    wanted = GObject.ParamFlags.READABLE | GObject.ParamFlags.WRITABLE
    for spec, value in changed_properties(element, lambda spec: spec.flags & wanted == wanted
                                          and spec.name not in ("name", "parent")):
        yield Value(spec.name, text_of(value))


def bytes_as_text(count):
    """Returns a number of bytes with a unit: 157 MB."""
    for unit in "bytes", "kB", "MB", "GB":
        if count < 1000:
            break
        count /= 1000
    else:
        unit = "TB"
    return f"{count:.0f} {unit}" if unit == "bytes" or count >= 10 else f"{count:.1f} {unit}"


def path_of_now(folder):
    """Returns the path of a new recording, without the end of its name."""
    return unused(folder, time.strftime("oct-%Y%m%d-%H%M%S"), ".txt").with_suffix("")


class Recording(Branch):
    """Records from the tee `raw` on into PATH.npy, PATH-depths.npy or both. PATH.txt says how
    depths are made of the spectra. Queues take what the disk cannot take at once, and drop nothing.
    Raises OSError or ValueError if the settings cannot be written, and GLib.Error."""

    def __init__(self, pipeline, words, path, kind="raw"):
        self.pipeline, self.words, self.path = pipeline, words, path
        self.kinds, self.began = KINDS[kind], time.monotonic()
        self.tee = pipeline.get_by_name("raw")
        self.write_settings()
        super().__init__(pipeline, self.description())
        self.files = [self.bin.get_by_name(name) for name in self.kinds]
        self.waiting = [self.bin.get_by_name(f"waiting_{name}") for name in self.kinds]
        for name, file in zip(self.kinds, self.files):
            file.set_property("location", str(self.path_of(name)))
        self.adopt_properties()
        pipeline.add(self.bin)
        self.bin.sync_state_with_parent()
        self.add_pad("sink", self.bin.get_by_name("files"), self.tee)
        self.link()

    def conversion(self):
        """Returns the elements that make depths of spectra, in their order."""
        found = map(self.pipeline.get_by_name, CONVERSION)
        return [element for element in found if element]

    def description(self):
        chain = " ! ".join(f"{element.get_factory().get_name()} name={element.get_name()}"
                           for element in self.conversion())
        branches = {"raw": RAW, "depths": DEPTHS.format(chain)}
        return ["tee name=files", *(branches[kind] for kind in self.kinds)]

    def adopt_properties(self):
        if "depths" in self.kinds:
            for element in self.conversion():
                for spec, value in own_properties(element):
                    self.bin.get_by_name(element.get_name()).set_property(spec.name, value)

    def path_of(self, kind):
        return self.path.with_name(self.path.name + {"raw": ".npy", "depths": "-depths.npy"}[kind])

    def names(self):
        """Returns the names of the files, as a text."""
        return " and ".join(self.path_of(kind).name for kind in self.kinds)

    def write_settings(self):
        settings = "".join(settings_of(self.pipeline.get_by_name("interp")))
        lines = [f"# {self.names()}, recorded by opencl-view --oct", settings.rstrip(),
                 f"# gst-launch-1.0 {printed(self.words)}",
                 "# Properties that were not at their defaults when the recording began:",
                 *(" ".join(["#", element.get_factory().get_name(), f"name={element.get_name()}",
                             *map(str, launch_properties(element))])
                   for element in elements_of(self.pipeline))]
        write_whole(self.path.with_suffix(".txt"), "\n".join(lines) + "\n")

    def extent(self):
        caps = self.tee.get_static_pad("sink").get_current_caps()
        return f"{self.frames()} frames of {caps.to_string() if caps else 'nothing'}"

    def frames(self):
        """Returns the number of frames that are in all files."""
        return min(file.get_property("stats").get_value("rendered") for file in self.files)

    def bytes(self):
        """Returns the size of the files so far."""
        found = self.path.parent.glob(f"{self.path.name}*.npy*")
        return sum(path.stat().st_size for path in found)

    def report(self):
        """Returns the state of the recording in one line."""
        seconds = int(time.monotonic() - self.began)
        waiting = max(queue.get_property("current-level-buffers") for queue in self.waiting)
        return f"{seconds // 60}:{seconds % 60:02} · {self.frames()} frames · " \
               f"{bytes_as_text(self.bytes())} · {waiting} waiting"

    def is_ending(self):
        return not self.pads

    def end(self):
        """Ends the recording. The EOS message of the bin follows when the files are complete."""
        def idle(_pad, _info):
            if self.leave():
                self.bin.get_static_pad("sink").send_event(Gst.Event.new_eos())
            return Gst.PadProbeReturn.REMOVE
        for _, _, pad in self.pads:
            pad.add_probe(Gst.PadProbeType.IDLE, idle)

    def close(self, why=None):
        """Ends at once, and writes the result as the last line of the settings."""
        said = f"broken off: {why}" if why else self.extent()
        self.remove()
        with contextlib.suppress(OSError), self.path.with_suffix(".txt").open("a") as settings:
            settings.write(f"# {' '.join(said.splitlines())}\n")  # unless the disk is full
