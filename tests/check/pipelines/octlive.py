#!/usr/bin/env python3
"""Promises: oct-live.sh shows B-scans, the en face projection, and plots of the spectrum and the
A-scan, of a phantom, a file and a camera. Keys change the display, and a click chooses the A-line
of the plots. A recording has every frame, however slow the window is, and the settings in a file
beside it. A recording that fails does not affect the window. gst-launch-1.0 runs what --print
prints.

usage: octlive.py PIPELINES-FOLDER BUILD-FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes
import importlib.util
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from octwriter import Recording, chirp_of
from xscreen import greens_on_screen, levels_on_screen, screen

PIPELINES = pathlib.Path(sys.argv[1]).resolve()
SCRIPT = PIPELINES / "oct-live.sh"
os.environ["GST_OPENCL_BUILD"] = str(pathlib.Path(sys.argv[2]).resolve())
SIZE = SAMPLES, LINES = 512, 32
TISSUE = "--size", "512x32"


def load(path):
    spec = importlib.util.spec_from_file_location("octlive", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*options):
    return subprocess.run([SCRIPT, *map(str, options)], capture_output=True, text=True,
                          timeout=100, check=False)


def live_of(*options, **more):
    """Returns the window of the pipeline that the script prints."""
    return tool.Live(shlex.split(run(*options, "--print").stdout),
                     pathlib.Path("recorded").resolve(), **more)


def play_until(live, what, timeout=100):
    live.play()
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, "waited in vain"
        assert not live.failed, live.failed
        tool.Gtk.main_iteration_do(False)
        time.sleep(0.001)


def play_until_seen(live, what):
    """The same for what is on the screen, which takes long to look at: in between, GTK draws."""
    looked = time.monotonic()

    def seen():
        nonlocal looked
        if time.monotonic() < looked + 1:
            return False
        looked = time.monotonic()
        return what()

    play_until(live, seen)


def end(live):
    """Stops as the key q does, and waits for the recording to finish."""
    live.stop()
    play = time.monotonic() + 60
    while live.recording and time.monotonic() < play:
        tool.Gtk.main_iteration_do(False)
    assert not live.recording and not live.failed, live.failed
    live.window.destroy()


def press(live, *names):
    for name in names:
        event = tool.Gdk.Event.new(tool.Gdk.EventType.KEY_PRESS)
        event.keyval = tool.Gdk.keyval_from_name(name)
        assert live.press(event), name


def frames_of_phantom(count):
    subprocess.run(
        f"gst-launch-1.0 -q octtestsrc num-buffers={count} ! video/x-raw,width={SAMPLES},"
        f"height={LINES},framerate=25/1 ! npysink location=phantom.npy".split(), check=True)
    return np.load("phantom.npy")


def only_recording():
    (path,) = pathlib.Path("recorded").glob("*.npy")
    recorded, settings = np.load(path), path.with_suffix(".txt").read_text()
    for left in path, path.with_suffix(".txt"):
        left.unlink()
    return recorded, settings


class Shown:
    """Counts frames at each sink of a window, and delays each of them."""

    def __init__(self, live, seconds=0):
        self.counts, self.seconds = [0] * len(live.sinks), seconds
        for n, sink in enumerate(live.sinks):
            sink.get_static_pad("sink").add_probe(tool.Gst.PadProbeType.BUFFER, self.count, n)

    def count(self, _pad, _info, n):
        self.counts[n] += 1
        time.sleep(self.seconds)
        return tool.Gst.PadProbeReturn.OK

    def least(self):
        return min(self.counts)


def check_no_frame_lost():
    live = live_of(*TISSUE, "--frames", 60, record=True)
    shown = Shown(live, 0.3)
    live.play()
    tool.Gtk.main()
    assert not live.failed, live.failed
    assert 0 < max(shown.counts) < 30, shown.counts
    assert np.array_equal(only_recording()[0], frames_of_phantom(60))
    live.window.destroy()


def check_keys():
    live = live_of(*TISSUE, "--db", "20,90", "--background", "none")
    display, above, average = (live.pipeline.get_by_name(name)
                               for name in ("display", "above", "average"))
    shown = Shown(live)
    play_until(live, lambda: shown.least() > 5)
    play_until_seen(live, lambda: levels_on_screen() > 50)
    press(live, "Up", "Right", "Right", "r", "plus", "plus", "plus", "minus")
    for element in display, above:
        assert element.get_property("db-max") == 92 and element.get_property("db-min") == 24
    assert display.get_property("db-auto") and average.get_property("frames") == 4
    press(live, *["minus"] * 9)
    assert average.get_property("frames") == 1
    press(live, "Down")
    assert not display.get_property("db-auto")
    check_recording_by_key(live)
    before = shown.least()
    play_until(live, lambda: shown.least() > before + 5)
    field = tool.Gtk.Entry()
    live.window.get_focus = lambda: field
    event = tool.Gdk.Event.new(tool.Gdk.EventType.KEY_PRESS)
    event.keyval = tool.Gdk.keyval_from_name("q")
    assert not live.press(event)
    del live.window.get_focus
    end(live)


def check_plots():
    live = live_of(*TISSUE, "--depth", "8,200")
    shown = Shown(live)
    spectrum, a_scan = map(live.pipeline.get_by_name, ("spectrum", "a_scan"))
    play_until(live, lambda: len(shown.counts) == 4 and shown.least() > 5)
    play_until_seen(live, lambda: all(shows_curve(live, plot) for plot in (0, 1)))
    for line in 20, 31:
        click(live, line)
        assert spectrum.get_property("line") == a_scan.get_property("line") == line
    heard = []
    live.pipeline.get_bus().connect(
        "message::element", lambda _, message: heard.append(message.get_structure().copy()))
    play_until(live, lambda: any(
        signal.get_name() == "octsignal" and signal.get_int("line").value == 31 for signal in heard))
    press(live, "m", "o")
    assert spectrum.get_property("line") == a_scan.get_property("line") == -1
    assert a_scan.get_property("roll-off")
    press(live, "o")
    assert not a_scan.get_property("roll-off")
    before = shown.least()
    play_until(live, lambda: shown.least() > before + 5)
    end(live)

    live = live_of(*TISSUE, "--no-signal")
    shown = Shown(live)
    play_until(live, lambda: len(shown.counts) == 2 and shown.least() > 5)
    end(live)


def shows_curve(live, plot):
    """Returns whether a plot has a curve, in the lower quarter of the window."""
    width = live.sinks[2].get_property("widget").get_allocated_width()
    height = live.window.get_size()[1]
    area = greens_on_screen()[height * 3 // 4:height * 15 // 16, plot * width:(plot + 1) * width]
    return np.count_nonzero(area > 100) > width / 2


def click(live, column):
    """Clicks into a column of the B-scan."""
    widget = live.sinks[0].get_property("widget")
    width, height = widget.get_allocated_width(), widget.get_allocated_height()
    caps = live.sinks[0].get_static_pad("sink").get_current_caps().get_structure(0)
    columns, rows = (caps.get_int(name).value for name in ("width", "height"))
    shown = min(width, height * columns / rows)
    event = tool.Gdk.Event.new(tool.Gdk.EventType.BUTTON_PRESS)
    event.button.window = widget.get_window()
    event.button.button, event.button.y = 1, height / 2
    event.button.x = (width - shown) / 2 + (column + 0.5) * shown / columns
    widget.event(event)


def check_printed_pipeline():
    """Checks that the shell and gst-launch-1.0 run what --print prints."""
    printed = run(*TISSUE, "--frames", 10, "--depth", "8,200", "--print").stdout
    done = subprocess.run(f"gst-launch-1.0 {printed}", shell=True, executable="/bin/bash",
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0 and "Got EOS" in done.stdout, done


def check_recording_by_key(live):
    for _ in range(2):
        press(live, "space")
        recording = live.recording
        play_until(live, lambda: recording.frames() > 10)
        press(live, "space")
        play_until(live, lambda: not live.recording)
        recorded, settings = only_recording()
        all_frames = frames_of_phantom(500)
        first = next(n for n in range(500) if np.array_equal(all_frames[n], recorded[0]))
        assert len(recorded) > 10
        assert np.array_equal(recorded, all_frames[first:first + len(recorded)])
        assert f"# {len(recorded)} frames of video/x-raw" in settings, settings
        for line in ("gst-launch-1.0 octtestsrc is-live=true .*", "octtestsrc name=.* is-live=true",
                     "octfft name=.* depth-start=8", "octscan name=.* b-scans=128",
                     "octwindowinterp name=interp wavelength-min=1187.0 wavelength-max=1433.0.*",
                     "octaverage name=average frames=1 rolling=true mean=linear",
                     "octdisplay name=display db-min=24.0 db-max=90.0"):
            assert re.search(f"^# {line}$", settings, re.MULTILINE), (line, settings)
        pathlib.Path("settings.txt").write_text(settings)
        again = tool.Gst.parse_launch("octwindowinterp name=again settings=settings.txt")
        assert again.get_property("wavelength-min") == 1187, settings
        assert again.get_property("background").value_nick == "none", settings


def check_failing_recordings():
    live = live_of(*TISSUE)
    shown = Shown(live)
    play_until(live, lambda: shown.least() > 2)
    pathlib.Path("no-folder").write_text("")
    live.folder = pathlib.Path("no-folder/recorded")
    press(live, "space")
    assert not live.recording and "no recording" in live.told, live.told
    live.folder = pathlib.Path("recorded").resolve()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * SAMPLES * LINES * 2, before[1]))
    press(live, "space")
    play_until(live, lambda: not live.recording)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert re.search(r"broken off: \S+ has 7 complete frames; ", live.told), live.told
    (left,) = pathlib.Path("recorded").glob("*.npy.*")
    assert len(np.load(left)) == 7
    left.unlink()
    before = shown.least()
    play_until(live, lambda: shown.least() > before + 5)
    end(live)


def check_files():
    """Files are played repeatedly."""
    frames = frames_of_phantom(5)
    np.save("few.npy", frames)
    (frames[:, :31, :501] >> 8).astype("u1").tofile("few.raw")
    Recording(frames, chirp=chirp_of(SAMPLES)).write("few.oct")
    for options in ("few.npy",), ("--size", "501x31", "--bits", 8, "few.raw"), ("few.oct",):
        live = live_of("--rate", 50, *options, repeat=True)
        shown = Shown(live)
        play_until(live, lambda: shown.least() > 12)
        play_until_seen(live, lambda: levels_on_screen() > 50)
        end(live)


def check_camera():
    """Uses the fake camera of Aravis."""
    ctypes.CDLL("libaravis-0.8.so.0").arv_enable_interface(b"Fake")
    live = live_of("--camera", "Fake_1", "--size", "512x64", "--frames", 30, record=True)
    shown = Shown(live)
    live.play()
    tool.Gtk.main()
    assert not live.failed, live.failed
    recorded, settings = only_recording()
    assert recorded.shape == (30, 64, 512), recorded.shape
    assert recorded.min() < recorded.max() and "# 30 frames" in settings
    # The recording does not wait for the window, whose kernels are still being compiled.
    assert shown.least() > 0
    live.window.destroy()


def check_ended_by_signal():
    """Checks that a recording that a signal ends is complete."""
    playing = subprocess.Popen([SCRIPT, *TISSUE, "--record", "--folder", "recorded"])
    while not any(file.stat().st_size > 3 * SAMPLES * LINES * 2
                  for file in pathlib.Path("recorded").glob("*.npy*")):
        assert playing.poll() is None
        time.sleep(0.1)
    playing.send_signal(signal.SIGTERM)
    assert playing.wait(60) == 0
    recorded, settings = only_recording()
    assert np.array_equal(recorded, frames_of_phantom(len(recorded))) and len(recorded) > 1
    assert f"# {len(recorded)} frames of" in settings, settings


def check_script():
    done = run(*TISSUE, "--frames", 20, "--record", "--folder", "recorded")
    assert done.returncode == 0, done
    assert np.array_equal(only_recording()[0], frames_of_phantom(20))
    for options, reason in (
        (("not-there.npy",), "not-there.npy: no such file"),
        (("--camera", "Fake_1", "few.npy"), "--camera Fake_1: beside few.npy"),
        (("few.raw",), "--size SAMPLESxLINES is needed"),
        (("--b-scans", "0"), "--b-scans 0: expected a whole number"),
        (("--best",), "--best: expected a value"),
        (("--camera", "nobody"), "amera"),
    ):
        done = run(*options)
        assert done.returncode in (1, 2) and reason in done.stderr, (options, done)
        assert "Traceback" not in done.stderr, done


with screen(), tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    tool = load(PIPELINES / "octlive.py")
    tool.need_display("octlive")
    for check in (check_no_frame_lost, check_keys, check_plots, check_printed_pipeline,
                  check_failing_recordings, check_files, check_camera, check_script,
                  check_ended_by_signal):
        print(check.__name__, flush=True)
        check()
    os.chdir("/")
print("as promised")
