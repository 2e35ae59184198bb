#!/usr/bin/env python3
"""Promises: opencl-view --oct shows B-scans, the en face projection, and plots and numbers of the
spectrum and the A-scan, of a phantom, a file and a camera. Keys and the handles of the histogram
change the display, and a click chooses the A-line of the plots. A recording of spectra, of depths
or of both has every frame, however slow the window is, and the settings in a file beside it. A
recording that fails does not affect the window. The wizard finds the calibration of two mirrors,
and a button the dispersion of the sample. Each widget has a name for screen readers. gst-launch-1.0
runs what --print prints. Names have any characters. A size that does not fit a raw file is refused
with those that fit, and a window says that a calibration is missing. oct-live.sh does the same.

usage: octlive.py PIPELINES-FOLDER BUILD-FOLDER [CHECK…]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

from fulldisk import full_disk
from hostilenames import HOSTILE
from octwriter import Recording, chirp_of
from xscreen import greens_on_screen, levels_on_screen, screen

PIPELINES = pathlib.Path(sys.argv[1]).resolve()
SCRIPT = PIPELINES / "oct-live.sh"
os.environ["GST_OPENCL_BUILD"] = str(pathlib.Path(sys.argv[2]).resolve())
SIZE = SAMPLES, LINES = 512, 32
TISSUE = "--size", "512x32"


def run(*options):
    return subprocess.run([SCRIPT, *map(str, options)], capture_output=True, text=True,
                          timeout=100, check=False)


def live_of(*options, **more):
    """Returns the window of the options. `more`: other attributes of it"""
    words = "--folder", "recorded", *options
    live = oct.live_of(octoptions.options_of([str(word) for word in words]))
    for name, value in more.items():
        setattr(live, name, value)
    return live


def play_until(live, what, timeout=100):
    live.play()
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, "waited in vain"
        assert not live.failed, live.failed
        gtk.Gtk.main_iteration_do(False)
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
        gtk.Gtk.main_iteration_do(False)
    assert not live.recording and not live.failed, live.failed
    live.window.destroy()


def type_key(live, name):
    """Returns whether the window used the key."""
    event = gtk.Gdk.Event.new(gtk.Gdk.EventType.KEY_PRESS)
    event.key.keyval = gtk.Gdk.keyval_from_name(name)
    event.key.window = live.window.get_window()
    return live.take_key(event.key)


def press(live, *names):
    for name in names:
        assert type_key(live, name), name


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
            sink.get_static_pad("sink").add_probe(gtk.Gst.PadProbeType.BUFFER, self.count, n)

    def count(self, _pad, _info, n):
        self.counts[n] += 1
        time.sleep(self.seconds)
        return gtk.Gst.PadProbeReturn.OK

    def least(self):
        return min(self.counts)


def check_no_frame_lost():
    live = live_of(*TISSUE, "--frames", 60, "--record")
    shown = Shown(live, 0.3)
    live.play()
    gtk.Gtk.main()
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
    check_handles(live)
    # A text field keeps the keys that it takes.
    live.controls.search.grab_focus()
    type_key(live, "q")
    assert not live.stopped
    check_names(live)
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
        signal.get_name() == "octsignal" and signal.get_int("line").value == 31
        for signal in heard))
    press(live, "m", "o")
    assert spectrum.get_property("line") == a_scan.get_property("line") == -1
    assert a_scan.get_property("roll-off")
    press(live, "o")
    assert not a_scan.get_property("roll-off")
    before = shown.least()
    play_until(live, lambda: shown.least() > before + 5)
    check_scale_of_plots(live, a_scan)
    end(live)

    live = live_of(*TISSUE, "--no-signal")
    shown = Shown(live)
    play_until(live, lambda: len(shown.counts) == 2 and shown.least() > 5)
    end(live)


def check_scale_of_plots(live, a_scan):
    """Plots have the pixels of the screen and the size of GTK's font: Sans 10 at 96 dpi."""
    widget = live.sinks[3].get_property("widget")
    for scale in 1, 2:
        widget.get_scale_factor = lambda scale=scale: scale
        widget.queue_resize()
        play_until(live, lambda: a_scan.get_property("text-size") == round(scale * 10 * 96 / 72))
        play_until(live, lambda: structure_of(live.sinks[3].get_static_pad(
            "sink").get_current_caps(), 0).get_int("width").value
            == scale * widget.get_allocated_width())


def shows_curve(live, plot):
    """Returns whether a plot has a curve in its lower three quarters."""
    widget = live.sinks[2 + plot].get_property("widget")
    _, left, top = widget.get_window().get_origin()
    width, height = widget.get_allocated_width(), widget.get_allocated_height()
    area = greens_on_screen()[top + height // 4:top + height, left:left + width]
    return np.count_nonzero(area > 100) > width / 2


def click(live, column):
    """Clicks into a column of the B-scan."""
    widget = live.sinks[0].get_property("widget")
    caps = structure_of(live.sinks[0].get_static_pad("sink").get_current_caps(), 0)
    event = gtk.Gdk.Event.new(gtk.Gdk.EventType.BUTTON_PRESS)
    event.button.window = widget.get_window()
    event.button.button, event.button.y = 1, widget.get_allocated_height() / 2
    event.button.x = (column + 0.5) * widget.get_allocated_width() / caps.get_int("width").value
    widget.event(event)


def check_handles(live):
    """Drags the handles of the histogram, and moves them by keys."""
    levels, display, above = (live.side_panel.levels, *map(
        live.pipeline.get_by_name, ("display", "above")))
    histogram = levels.histogram
    play_until(live, lambda: histogram.counts.any() and histogram.get_allocated_width() > 100)
    expected = levels_of_b_scan(live)
    for share in 0.05, 0.5, 0.95:
        assert abs(histogram.quantile(share) - np.quantile(expected, share)) < 2, share
    press(live, "r")
    play_until(live, lambda: levels.auto.get_active())
    play_until(live, lambda: abs(histogram.handles["white"] - np.quantile(expected, 0.999)) < 3)
    for handle, name, level in (("white", "db-max", 55.0), ("black", "db-min", -3.0)):
        drag(histogram, handle, level)
        assert not display.get_property("db-auto")
        for element in display, above:
            assert abs(element.get_property(name) - level) < 1, (handle, element.get_property(name))
        before = display.get_property(name)
        histogram.grab_focus()
        press(live, "Right")
        assert display.get_property(name) == before + 1, handle
        press(live, "Up" if handle == "white" else "Down")
    # Black stays below white.
    drag(histogram, "black", 80)
    assert display.get_property("db-min") == display.get_property("db-max") - 1
    levels.numbers["black"].set_value(7)
    assert display.get_property("db-min") == above.get_property("db-min") == 7


def drag(histogram, handle, level):
    for kind, at in ((gtk.Gdk.EventType.BUTTON_PRESS, histogram.handles[handle]),
                     (gtk.Gdk.EventType.MOTION_NOTIFY, level),
                     (gtk.Gdk.EventType.BUTTON_RELEASE, level)):
        event = gtk.Gdk.Event.new(kind)
        part = event.motion if kind == gtk.Gdk.EventType.MOTION_NOTIFY else event.button
        part.window, part.x, part.y = histogram.get_window(), histogram.x_of(at), 40
        histogram.event(event)


def levels_of_b_scan(live):
    """Returns the levels of a frame of the phantom in dB."""
    frames_of_phantom(1)
    subprocess.run(
        "gst-launch-1.0 -q filesrc location=phantom.npy ! npyparse ! openclupload ! "
        "octwindowinterp wavelength-min=1187 wavelength-max=1433 ! octfft depth-start=8 ! "
        "application/x-oct(ANY),format=CF32LE ! opencldownload ! "
        "npysink location=depths.npy".split(), check=True)
    return 20 * np.log10(np.abs(np.load("depths.npy")) + 1e-6)


SHOWN_KINDS = ("Button", "ToggleButton", "CheckButton", "SpinButton", "ComboBoxText", "Entry",
               "DrawingArea", "Histogram", "Plot", "FileChooserButton")


def nameless(widget):
    """Yields the widgets that a user operates and that have no accessible name."""
    if type(widget).__name__ in SHOWN_KINDS and widget.get_visible():
        accessible = widget.get_accessible()
        if not accessible.get_name():
            yield f"{type(widget).__name__} {widget.get_tooltip_text()}"
    inner = widget.get_children() if isinstance(widget, gtk.Gtk.Container) else []
    for child in inner if not isinstance(widget, gtk.Gtk.FileChooserButton) else []:
        yield from nameless(child)


def check_names(live):
    assert not list(nameless(live.window)), list(nameless(live.window))
    histogram = live.side_panel.levels.histogram.get_accessible()
    assert re.fullmatch(r"black at 7.0 dB, white at .* dB", histogram.get_description()), histogram


def check_numbers():
    """Checks the numbers in large letters of a mirror whose width and saturation are known."""
    live = live_of("--size", "1024x32", "--pattern", "mirrors", "--background", "none")
    values = live.side_panel.signal.values
    play_until(live, lambda: "dB" in values["SNR"].get_text()
               and values["Saturated"].get_text() == "0")
    width, bins = re.fullmatch(r"(\S+) (µm)", values["FWHM"].get_text()).groups()
    # Two bins, the width of the Hann window, of pi / (N dk)
    step = 1024 * (2 * np.pi / 1.187 - 2 * np.pi / 1.433) / 1023
    assert abs(float(width) - 2 * np.pi / step) < 0.3, (width, bins)
    live.source().set_property("level", 64000.0)
    play_until(live, lambda: int(values["Saturated"].get_text()) > 100)
    end(live)


def check_scan():
    """The shape of a volume is that of octscan and of the simulated tissue."""
    live = live_of(*TISSUE, "--pattern", "tissue")
    numbers = live.side_panel.scan.numbers
    scan, source, average = map(live.pipeline.get_by_name, ("scan", "source", "average"))
    shown = Shown(live)
    play_until(live, lambda: shown.least() > 2)
    for text, name, value in ("B-scans", "b-scans", 8), ("Repeats", "repeats", 2):
        numbers[text].set_value(value)
        assert scan.get_property(name) == source.get_property(name) == value, text
    numbers["Average"].set_value(3)
    assert average.get_property("frames") == 3
    before = shown.least()
    play_until(live, lambda: shown.least() > before + 5)
    caps = structure_of(live.sinks[1].get_static_pad("sink").get_current_caps(), 0)
    assert caps.get_int("height").value == 8, caps.to_string()
    end(live)


def check_sharpen():
    """Checks that the button finds the dispersion of a phantom, or says why it does not."""
    live = live_of("--size", "1024x64", "--pattern", "tissue")
    live.source().set_property("dispersion-a2", 30 / 512 ** 2)
    shown, text = Shown(live), live.messages.text
    play_until(live, lambda: shown.least() > 3)
    live.side_panel.sharpen.clicked()
    assert "Looking for" in text.get_text(), text.get_text()
    play_until(live, lambda: "Looking for" not in text.get_text())
    square, cube = map(float, re.findall(r"(\S+) ± ", text.get_text()))
    assert abs(square - 30) < 0.3 and abs(cube) < 1, text.get_text()
    found = live.pipeline.get_by_name("interp").get_property("dispersion-a2")
    assert abs(found * 512 ** 2 - square) < 0.01, (found, square)
    before = shown.least()
    play_until(live, lambda: shown.least() > before + 3)
    end(live)

    live = live_of("--size", "1024x32", "--pattern", "mirrors")
    shown, text = Shown(live), live.messages.text
    play_until(live, lambda: shown.least() > 3)
    live.side_panel.sharpen.clicked()
    play_until(live, lambda: "was not found: " in text.get_text())
    end(live)


def check_depths():
    """Checks that recorded depths are those that the settings make of the recorded spectra."""
    live = live_of(*TISSUE, "--frames", 40, "--record", "--kind", "both", "--dispersion", "1e-5,0",
                   "--depth", "8,100")
    Shown(live, 0.2)
    live.play()
    gtk.Gtk.main()
    assert not live.failed, live.failed
    (depths,) = pathlib.Path("recorded").glob("*-depths.npy")
    (settings,) = pathlib.Path("recorded").glob("*.txt")
    raw = depths.with_name(settings.stem + ".npy")
    assert np.array_equal(np.load(raw), frames_of_phantom(40))
    assert raw.name in settings.read_text() and depths.name in settings.read_text()
    subprocess.run(
        f"gst-launch-1.0 -q filesrc location={raw} ! npyparse ! openclupload ! octwindowinterp "
        f"settings={settings} ! octfft depth-start=8 depth-count=100 ! "
        "application/x-oct(ANY),format=CF32LE ! opencldownload ! "
        "npysink location=again.npy".split(), check=True)
    recorded, again = np.load(depths), np.load("again.npy")
    assert recorded.shape == again.shape == (40, LINES, 100) and recorded.dtype == np.complex64
    assert np.allclose(recorded, again, rtol=1e-4, atol=1e-4 * np.abs(again).max())
    for path in depths, settings, raw:
        path.unlink()


def check_wizard():
    """Calibrates the phantom, whose wavelengths are known, and applies the result."""
    live = live_of("--size", "1024x32", "--depth", "8,400")
    interp = live.pipeline.get_by_name("interp")
    shown = Shown(live)
    play_until(live, lambda: shown.least() > 3)
    live.open_wizard()
    wizard = live.wizard
    assert not list(nameless(wizard)), list(nameless(wizard))
    first, second = wizard.pages.values()
    check_refusal(live, wizard, first)
    for page in first, second:
        assert wizard.get_nth_page(wizard.get_current_page()) is page
        play_until(live, page.button.get_sensitive)
        page.button.clicked()
        play_until(live, lambda page=page: wizard.get_page_complete(page))
    check_result(wizard)
    folder = pathlib.Path("calibrated").resolve()
    wizard.result.folder.set_text(str(folder))
    with full_disk():
        wizard.emit("apply")
    assert "Not saved" in wizard.result.said.get_text() and not folder.exists() and not wizard.saved
    wizard.emit("apply")
    wizard.emit("close")
    assert not live.wizard
    assert interp.get_property("resample-map") == str(folder / "resample-map.npy")
    assert interp.get_property("wavelength-min") == 0
    assert interp.get_property("background").value_nick == "frame"
    assert live.source().get_property("pattern").value_nick == "layers"
    before = shown.least()
    play_until(live, lambda: shown.least() > before + 5)
    assert not live.warned, live.warned
    end(live)
    again = gtk.Gst.parse_launch(f"octwindowinterp name=again settings={folder}/settings.txt")
    assert again.get_property("dispersion-phase") == str(folder / "dispersion-phase.npy")


def check_refusal(live, wizard, page):
    """A mirror that is too near to zero delay is refused, with the reason."""
    play_until(live, page.button.get_sensitive)
    live.restart_source(lambda source: gtk.Gst.util_set_object_arg(source, "depths", "<5>"))
    wizard.measured.clear()
    play_until(live, wizard.has_settled)
    wizard.take(page)
    play_until(live, lambda: page.said.get_text().startswith("✗"))
    assert "zero delay" in page.said.get_text() or "fringe" in page.said.get_text(), \
        page.said.get_text()
    assert not wizard.get_page_complete(page)
    wizard.enter(page)


def check_result(wizard):
    """Compares with the wavelengths of octtestsrc, and the dispersion that the wizard simulates."""
    wavenumbers = 1 / np.linspace(1187, 1433, 1024)
    even = np.linspace(wavenumbers[0], wavenumbers[-1], 1024)
    truth = np.interp(-even, -wavenumbers, np.arange(1024))
    table, phase = wizard.found.map, wizard.found.dispersion
    index = np.arange(1024)
    # Depths of mirrors are unknown, so wavenumbers may be shifted and stretched.
    slope = np.gradient(truth)
    terms = np.stack([slope, slope * index], 1)
    off = table - truth
    off -= terms @ np.linalg.lstsq(terms, off, rcond=None)[0]
    assert np.sqrt(np.mean(off ** 2)) < 0.01, np.sqrt(np.mean(off ** 2))
    rest = phase - 20 * ((index - 512) / 512) ** 2
    rest -= np.polyval(np.polyfit(index, rest, 1), index)
    assert np.sqrt(np.mean(rest[50:-50] ** 2)) < 0.03, np.sqrt(np.mean(rest[50:-50] ** 2))
    before, after = (float(text) for text in re.findall(
        r"([\d.]+) bins", wizard.result.widths.get_text()))
    assert after < 2.2 < 4 < before, (before, after)
    residual = float(re.match(r"[\d.]+", wizard.result.residual.text)[0])
    assert residual < 0.02, residual


def check_printed_pipeline():
    """Checks that the shell and gst-launch-1.0 run what --print prints."""
    printed = run(*TISSUE, "--frames", 10, "--depth", "8,200", "--print").stdout
    done = subprocess.run(f"gst-launch-1.0 {printed}", shell=True, executable="/bin/bash",
                          capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0 and "Got EOS" in done.stdout, done
    printed = run("--camera", "/dev/video0", "--size", "2048x500", "--print").stdout
    assert printed.startswith("v4l2src name=source device=/dev/video0 "), printed
    assert "width=2048,height=500" in printed


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
        again = gtk.Gst.parse_launch("octwindowinterp name=again settings=settings.txt")
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
    with full_disk():
        press(live, "space")
    assert not live.recording and "File too large" in live.told, live.told
    assert not os.listdir("recorded"), os.listdir("recorded")
    with full_disk(8 * SAMPLES * LINES * 2):
        press(live, "space")
        play_until(live, lambda: not live.recording)
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
    for options in ("few.npy",), ("--size", "501x31", "--format", "U8", "few.raw"), ("few.oct",):
        live = live_of("--rate", 50, *options)
        shown = Shown(live)
        play_until(live, lambda: shown.least() > 12)
        play_until_seen(live, lambda: levels_on_screen() > 50)
        end(live)


def check_camera():
    """Uses the fake camera of Aravis."""
    live = live_of("--camera", "Fake_1", "--size", "512x64", "--frames", 30, "--record")
    shown = Shown(live)
    live.play()
    gtk.Gtk.main()
    assert not live.failed, live.failed
    recorded, settings = only_recording()
    assert recorded.shape == (30, 64, 512), recorded.shape
    assert recorded.min() < recorded.max() and "# 30 frames" in settings
    # The recording does not wait for the window, whose kernels are still being compiled.
    assert shown.least() > 0
    live.window.destroy()


def numbers_of(frames):
    """Returns the numbers of the frames of a simulated camera, which it adds to each sample."""
    return frames[:, 0, 0].astype(int) - int(frames[0, 0, 0])


@contextlib.contextmanager
def network_camera():
    """Simulates a GigE Vision camera at the loopback interface, and yields its name."""
    end = time.monotonic() + 300  # another test may have the only one
    while True:
        camera = subprocess.Popen(["arv-fake-gv-camera-0.8", "-i", "127.0.0.1"])
        time.sleep(1)
        if camera.poll() is None:
            break
        assert time.monotonic() < end, "no simulated camera"
    try:
        yield "Aravis-Fake-GV01"
    finally:
        camera.kill()
        camera.wait()


def check_network_camera():
    """Records a GigE Vision camera, and runs the printed pipeline and that of the recording."""
    # Raw sockets, which root gets, see no loopback.
    user = [] if os.geteuid() else ["setpriv", "--bounding-set", "-net_raw"]
    with network_camera() as name:
        options = "--camera", name, "--size", "512x64", "--frames", "30"
        for pixels, dtype, full_scale in ("Mono8", "u1", 255), ("Mono16", "u2", 65535):
            done = subprocess.run([*user, SCRIPT, *options, "--pixel-format", pixels, "--record",
                                   "--folder", "recorded"],
                                  capture_output=True, text=True, timeout=100, check=False)
            assert done.returncode == 0, done
            recorded, settings = only_recording()
            assert recorded.shape == (30, 64, 512) and recorded.dtype == dtype, recorded.dtype
            steps = np.diff(numbers_of(recorded)) % full_scale
            assert (steps == steps[0]).all() and steps[0], steps
            time.sleep(4)  # for which the camera is still reserved
            assert f"octwindowinterp name=interp full-scale={full_scale}" in settings, settings
        printed = run(*options, "--print").stdout
        done = subprocess.run(f"{shlex.join(user)} gst-launch-1.0 {printed}", shell=True,
                              executable="/bin/bash", capture_output=True, text=True, timeout=100,
                              check=False)
        assert done.returncode == 0 and "Got EOS" in done.stdout, done
    printed = run("--camera", name, "--pixel-format", "Mono12", "--print").stdout
    assert "format=GRAY16_LE,depth=12" in printed and "full-scale=4095" in printed, printed
    done = run("--camera", "Fake_1", "--print")
    assert done.returncode == 2 and name in done.stderr and not done.stdout, done
    done = run("--camera", name, "--pixel-format", "Mono9")
    assert done.returncode == 2 and "--pixel-format Mono9" in done.stderr, done


def check_waiting_frames():
    """Frames that wait for longer than the buffers of the camera's driver last stay as they are."""
    oct.enable_fake_camera()
    for keep in True, False:
        pipeline = gtk.Gst.parse_launch(
            "aravissrc camera-name=Fake_1 num-arv-buffers=5 num-buffers=20 name=source ! "
            "video/x-raw,format=GRAY8,width=512,height=64 ! queue name=queue ! appsink name=sink "
            "max-buffers=1 sync=false")
        if keep:
            oct.keep_frames(pipeline.get_by_name("source"))
        pipeline.set_state(gtk.Gst.State.PLAYING)
        queue, end = pipeline.get_by_name("queue"), time.monotonic() + 20
        while queue.get_property("current-level-buffers") < 18:
            assert time.monotonic() < end
            time.sleep(0.1)
        pulled = [pipeline.get_by_name("sink").emit("pull-sample").get_buffer() for _ in range(18)]
        first = [buffer.extract_dup(0, 1)[0] for buffer in pulled]
        pipeline.set_state(gtk.Gst.State.NULL)
        steps = np.diff(first) % 255
        assert keep == bool((steps == steps[0]).all()), (keep, first)  # else this tests nothing


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


def check_hostile_names():
    """Names are values of properties, and lines of settings stay whole."""
    values = frames_of_phantom(2)
    os.mkdir("names")
    os.chdir("names")
    for name in HOSTILE:
        np.save(f"{name}.npy", values)
        pathlib.Path(name).write_text("\n".join(map(str, np.linspace(1187, 1433, SAMPLES))))
        before = set(os.listdir())
        live = live_of("--wavelengths", name, "--", f"{name}.npy")
        interp = live.pipeline.get_by_name("interp")
        assert live.source().get_property("location") == f"{name}.npy"
        assert interp.get_property("wavelengths") == name
        check_hostile_settings(live, os.path.abspath(name))
        live.window.destroy()
        assert set(os.listdir()) == before, set(os.listdir()) - before
    for words, name in ((("--camera",), "camera-name"),
                        (("--camera", "Fake_1", "--features"), "features")):
        live = live_of(*words, HOSTILE[0])
        assert live.source().get_property(name) == HOSTILE[0]
        live.window.destroy()
    done = run("--camera", 'nobody" ! filesink location="pwned', "--folder", "-new")
    assert done.returncode == 1 and "amera" in done.stderr and not os.path.exists("pwned"), done
    done = run("--frames", 5, "--record", "--folder", '-" ! filesink location=pwned\n', *TISSUE)
    assert done.returncode == 0 and not os.path.exists("pwned"), done
    (recorded,) = pathlib.Path('-" ! filesink location=pwned\n').glob("*.npy")
    assert np.array_equal(np.load(recorded), frames_of_phantom(5))
    os.chdir("..")
    shutil.rmtree("names")


def check_hostile_settings(live, path):
    """Checks that a file of settings has the path of the wavelengths and nothing else, or that the
    recording is refused."""
    live.record()
    if "\n" in path or path != path.rstrip():
        assert not live.recording and "does not fit into a line" in live.told, live.told
        os.rmdir("recorded")
        return
    (settings,) = pathlib.Path("recorded").glob("*.txt")
    live.end_of_recording("a reason\nwindow=bogus")
    lines = [line for line in settings.read_text().splitlines() if not line.startswith("#")]
    assert lines == [f"wavelengths={path}"], lines
    again = gtk.Gst.ElementFactory.make("octwindowinterp")
    again.set_property("settings", str(settings))
    assert again.get_property("wavelengths") == path
    shutil.rmtree("recorded")


def check_sizes():
    """Sizes that do not fit a raw file are refused, with those that do, and a window says where a
    calibration is missing, and where a raw file looks like floats."""
    np.zeros((400, 1664), "<u2").tofile("unknown.raw")
    done = run("--size", "1024x512", "unknown.raw")
    assert done.returncode == 2 and "1664x400" in done.stderr, done
    np.save("few.npy", frames_of_phantom(2))
    for words in ("few.npy",), ("--wavelength-range", "1187,1433", "few.npy"), TISSUE:
        live = live_of(*words)
        shown = Shown(live)
        play_until(live, lambda: shown.least() > 3 and "frames/s" in live.status.get_text())
        is_said = "no calibration" in live.messages.text.get_text().lower()
        assert is_said == (words == ("few.npy",)), (words, live.messages.text.get_text())
        assert not is_said or "--wavelengths" in live.messages.text.get_text()
        end(live)
    frames_of_phantom(2).astype("<f4").tofile("float.raw")
    live = live_of("--size", "1024x32", "float.raw")
    shown = Shown(live)
    play_until(live, lambda: shown.least() > 3 and "frames/s" in live.status.get_text())
    assert "float.raw: the bytes look like float32" in live.messages.text.get_text()
    end(live)


def check_script():
    done = run(*TISSUE, "--frames", 20, "--record", "--folder", "recorded")
    assert done.returncode == 0, done
    assert np.array_equal(only_recording()[0], frames_of_phantom(20))
    for options, reason in (
        (("not-there.npy",), "not-there.npy: no such file"),
        (("--camera", "Fake_1", "few.npy"), "--camera Fake_1: beside few.npy"),
        (("few.raw",), "--size SAMPLESxLINES is needed"),
        (("--b-scans", "0"), "--b-scans 0: expected a whole number"),
        (("--best",), "no such option (see --help): --best"),
        (("--camera", "nobody"), "amera"),
    ):
        done = run(*options)
        assert done.returncode in (1, 2) and reason in done.stderr, (options, done)
        assert "Traceback" not in done.stderr, done


with screen(), tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    # GTK connects to the display when it is imported.
    from gstopencl.frames import structure_of
    from gstopencl.view import gtk, oct, octoptions  # noqa: A004

    gtk.need_display()
    checks = [globals()[f"check_{name}"] for name in sys.argv[3:]]
    for check in checks or (
            check_no_frame_lost, check_keys, check_plots, check_numbers, check_scan, check_sharpen,
            check_depths, check_wizard, check_printed_pipeline, check_failing_recordings,
            check_files, check_camera, check_network_camera,
            check_waiting_frames, check_hostile_names, check_sizes, check_script,
            check_ended_by_signal):
        began = time.monotonic()
        check()
        print(f"{check.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    os.chdir("/")
print("as promised")
