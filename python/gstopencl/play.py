"""Plays a pipeline to its end, and writes its file, for programs without a window

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import os
import subprocess
import sys
import tempfile

from .files import adopt, errors_named, publish, replaced
from .keying.gst import GLib, Gst
from .launch import build

POLL = 100 * Gst.MSECOND  # so that signals of the system are handled
# Some versions of waylandsink end the process where there is no display.
OPEN_WINDOW = """
import sys
sys.path.pop(0)  # the current folder
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
sink = Gst.ElementFactory.make("autovideosink")
sink.set_state(Gst.State.READY)
sys.exit(sink.get_child_by_index(0).get_factory().get_name() == "fakesink")
"""
NO_ERROR = b"cmInitParaError."  # ends a line of openh264enc at the end of each film


class PlayError(Exception):
    """A pipeline that failed, with the reason"""


def reason_of(error, debug):
    """Returns the text of an error, with what GStreamer knows in detail, such as the file."""
    _, _, detail = (debug or "").partition("\n")
    return f"{error.message} {detail.strip()}".strip()


def check_window():
    if subprocess.run([sys.executable, "-c", OPEN_WINDOW], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise PlayError("no window can be opened: there is no display. --output FILE writes a file")


@contextlib.contextmanager
def without_false_errors():
    """Holds back what libraries write to standard error, without lines that are no errors."""
    with tempfile.TemporaryFile() as said, open(os.dup(2), "w") as before, \
            contextlib.redirect_stderr(before):
        os.dup2(said.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before.fileno(), 2)
            said.seek(0)
            os.write(2, b"".join(x for x in said if not x.rstrip().endswith(NO_ERROR)))


@contextlib.contextmanager
def played(parts, program, prepare=lambda pipeline: None, poll=lambda pipeline: None):
    """Plays the parts of a launch line, after prepare (pipeline), and often calls poll (pipeline).
    Prints what elements say, each sentence once. Yields the pipeline at its end, and the names of
    element messages. Raises PlayError, and ValueError if a property does not take its value."""
    try:
        pipeline = build(parts, Gst.parse_launch)
    except GLib.Error as error:
        raise PlayError(error.message) from None
    prepare(pipeline)
    with without_false_errors() if pipeline.get_by_name("h264") else contextlib.nullcontext():
        pipeline.set_state(Gst.State.PLAYING)
        try:
            yield pipeline, follow(pipeline, program, poll)
        finally:
            pipeline.set_state(Gst.State.NULL)


def follow(pipeline, program, poll):
    names, said = set(), set()
    while True:
        poll(pipeline)
        message = pipeline.get_bus().timed_pop(POLL)
        kind = message.type if message else None
        if kind == Gst.MessageType.EOS:
            return names
        if kind == Gst.MessageType.ERROR:
            raise PlayError(reason_of(*message.parse_error()))
        if kind in (Gst.MessageType.WARNING, Gst.MessageType.INFO):
            is_warning = kind == Gst.MessageType.WARNING
            text = reason_of(*(message.parse_warning() if is_warning else message.parse_info()))
            if text not in said:
                print(f"{program}: {text}", file=sys.stderr, flush=True)
            said.add(text)
        elif kind == Gst.MessageType.ELEMENT:
            names.add(message.get_structure().get_name())
        elif kind == Gst.MessageType.LATENCY:
            pipeline.recalculate_latency()


@contextlib.contextmanager
def written(option, path):
    """Yields the name of a file that becomes the file `path` of an option when it is whole, as
    replaced () does. Prints the path. Raises PlayError if nothing was written."""
    with replaced(path, f"--{option} {path}") as unfinished:
        yield unfinished
        if not os.path.getsize(unfinished):
            raise PlayError("not one whole frame")
    print(os.path.realpath(path), flush=True)


@contextlib.contextmanager
def written_series(option, path):
    """The same for files with numbers, at the %d of `path`. Yields a format of their names."""
    folder, name = os.path.split(os.path.abspath(path))
    with errors_named(f"--{option} {path}"), \
            tempfile.TemporaryDirectory(prefix=".gstopencl-", dir=folder) as unfinished:
        yield os.path.join(unfinished.replace("%", "%%"), name)
        files = sorted(os.listdir(unfinished))
        if not files:
            raise PlayError("not one whole frame")
        for file in files:
            source, target = os.path.join(unfinished, file), os.path.realpath(os.path.join(folder, file))
            adopt(target, source)
            publish(source, target)
    print(os.path.join(folder, name), flush=True)
