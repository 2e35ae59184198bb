#!/usr/bin/env python3
"""Promises: opencl-view --key shows the original, the matte and the result of a film, also beside
each other. A file or colour that is dropped becomes the background, and stays after a seek. A
recording has each frame and the film's sound, in step, and is whole after SIGTERM. Files that are
no films are refused in one sentence. Names may have any characters.

usage: keyview.py OPENCL-VIEW [CHECK…]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse

import numpy as np

from hostilenames import HOSTILE
from xscreen import close, greens_on_screen, press_button, run_until, screen

WIDTH, HEIGHT, RATE, FRAMES = 320, 240, 25, 50
SCREEN, BEFORE, AFTER = (16, 160, 48), (200, 60, 60), (240, 220, 230)
BLUE, RED = (32, 64, 192), (200, 20, 40)
TOP, BOTTOM, LEFT, RIGHT = 60, 180, 96, 224  # rows and columns of the rectangle
MARGIN = 4  # pixels at an edge that are not compared
CHANGE = 1  # second at which the rectangle changes its colour, and the tone begins
TIMEOUT = 120


# --- files ---


def frames():
    """Returns the frames of the film, uint8 (frames, rows, columns, 3)."""
    film = np.empty((FRAMES, HEIGHT, WIDTH, 3), np.uint8)
    film[:] = SCREEN
    film[:CHANGE * RATE, TOP:BOTTOM, LEFT:RIGHT] = BEFORE
    film[CHANGE * RATE:, TOP:BOTTOM, LEFT:RIGHT] = AFTER
    return film


def tone():
    """Returns the sound of the film, int16 at 48 kHz, as long as it."""
    at = np.arange(48000 * FRAMES // RATE) / 48000
    return np.where(at >= CHANGE, 12000 * np.sin(2 * np.pi * 440 * at), 0).astype("<i2")


def launch(line):
    subprocess.run(["gst-launch-1.0", "-q", *line.split()], check=True, timeout=TIMEOUT)


def write_files(folder):
    (folder / "film.raw").write_bytes(frames().tobytes())
    (folder / "tone.raw").write_bytes(tone().tobytes())
    launch(f"qtmux name=film ! filesink location={folder}/film.mov "
           f"filesrc location={folder}/film.raw ! rawvideoparse format=rgb width={WIDTH} "
           f"height={HEIGHT} framerate={RATE}/1 ! pngenc ! queue ! film. "
           f"filesrc location={folder}/tone.raw ! rawaudioparse sample-rate=48000 num-channels=1 "
           "pcm-format=s16le ! audioconvert ! queue ! film.")
    launch(f"videotestsrc num-buffers=1 pattern=solid-color foreground-color={colour(RED)} ! "
           f"video/x-raw,format=RGB ! jpegenc quality=100 ! filesink location={folder}/red.jpg")
    launch("audiotestsrc num-buffers=20 ! vorbisenc ! oggmux ! "
           f"filesink location={folder}/sound.ogg")
    (folder / "notes.txt").write_text("These are notes.\n" * 100)


def colour(rgb):
    return "0xff{:02x}{:02x}{:02x}".format(*rgb)


# --- the window ---


def picture_of(sink):
    """Returns the frame that a sink shows as uint8 (rows, columns, RGB), or None."""
    sample = sink.get_property("last-sample")
    if not sample:
        return None
    buffer = sample.get_buffer()
    levels = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8)
    return levels.reshape(HEIGHT, WIDTH, 4)[..., 2::-1]


def inside():
    """Returns where the rectangle is, bool (rows, columns)."""
    found = np.zeros((HEIGHT, WIDTH), bool)
    found[TOP:BOTTOM, LEFT:RIGHT] = True
    return found


def compared():
    """Returns which pixels are far enough from edges of the rectangle to be compared."""
    far = np.ones((HEIGHT, WIDTH), bool)
    far[TOP - MARGIN:BOTTOM + MARGIN, LEFT - MARGIN:RIGHT + MARGIN] = False
    far[TOP + MARGIN:BOTTOM - MARGIN, LEFT + MARGIN:RIGHT - MARGIN] = True
    return far


def is_over(sink, background, tolerance=3):
    """Returns whether a sink shows the rectangle over a background, by NumPy."""
    shown = picture_of(sink)
    if shown is None:
        return False
    return any(np.abs(np.where(inside()[..., None], rectangle, background)
                      - shown.astype(int))[compared()].max() <= tolerance
               for rectangle in (BEFORE, AFTER))


def place_of(view, column, row):
    """Returns column and row of the screen where the window shows this pixel of a frame."""
    area = view.comparison.widget
    size = area.get_allocation()
    scale = min(size.width / WIDTH, size.height / HEIGHT)
    x, y = area.translate_coordinates(
        view.window, int((size.width - WIDTH * scale) / 2 + column * scale),
        int((size.height - HEIGHT * scale) / 2 + row * scale))
    _, left, top = view.window.get_window().get_origin()
    return left + x, top + y


def green_at(view, column, row):
    """Returns the green level of the screen where the window shows this pixel of a frame."""
    x, y = place_of(view, column, row)
    return int(greens_on_screen()[y, x])


def view_of(*words):
    view = key.view_of(list(map(str, words)))
    view.transport.loop.set_active(True)
    view.play()
    return view


def near(*pairs):
    return all(abs(one - other) <= 4 for one, other in pairs)


def check_views(folder):
    """Checks the three pictures, and what the screen shows in each mode."""
    view = view_of("--background", "{:02x}{:02x}{:02x}".format(*BLUE), folder / "film.mov")
    result, matte, original = view.sinks
    run_until(view, lambda: is_over(result, BLUE) and is_over(original, SCREEN))
    white = np.where(inside()[..., None], 255, 0)
    run_until(view, lambda: np.abs(picture_of(matte) - white)[compared()].max() <= 2)
    left, right, middle = (20, 30), (300, 30), (HEIGHT // 2)
    for mode, levels in {
        "original": (SCREEN[1], SCREEN[1]), "matte": (0, 0), "result": (BLUE[1], BLUE[1]),
        "split": (SCREEN[1], BLUE[1]),
    }.items():
        view.buttons[mode].set_active(True)
        run_until(view, lambda: near(*zip((green_at(view, *left), green_at(view, *right)), levels)))
    view.buttons["matte"].set_active(True)
    run_until(view, lambda: near((green_at(view, WIDTH // 2, middle), 255)))
    check_divider(view, middle)
    check_names(view)
    close(view)


def check_hdr(folder):
    """Checks that a film of PQ is shown as sRGB: a fifth of diffuse white, which has 203 cd/m2."""
    luma = np.full(WIDTH * HEIGHT, 433, "<u2")  # 64 + 876 * 0.4207, the level of 40.6 cd/m2 in PQ
    chroma = np.full(WIDTH * HEIGHT // 2, 512, "<u2")
    (folder / "hdr.raw").write_bytes((luma.tobytes() + chroma.tobytes()) * 3)
    launch(f"filesrc location={folder}/hdr.raw ! rawvideoparse format=i420-10le width={WIDTH} "
           f"height={HEIGHT} framerate={RATE}/1 colorimetry=bt2100-pq ! vp9enc ! matroskamux ! "
           f"filesink location={folder}/hdr.mkv")
    view = view_of("--key-color", "10a030", folder / "hdr.mkv")
    for sink in view.sinks[0], view.sinks[2]:
        run_until(view, lambda: picture_of(sink) is not None)
        # 255 * (1.055 * 0.2 ^ (1 / 2.4) - 0.055)
        assert np.abs(picture_of(sink).astype(int) - 124).max() <= 2, picture_of(sink)[9, 9]
    close(view)


def check_divider(view, row):
    """Checks that the divider follows the mouse and the keys."""
    view.buttons["split"].set_active(True)
    comparison, width = view.comparison, view.comparison.widget.get_allocated_width()
    comparison.press(comparison.original, Event(x=width // 2, button=1))
    comparison.move(comparison.original, Event(x=0.9 * width))
    comparison.release(comparison.original, Event())
    comparison.move(comparison.original, Event(x=0.1 * width))
    assert comparison.divider == 0.9, comparison.divider
    run_until(view, lambda: near((green_at(view, 250, 30), SCREEN[1]), (green_at(view, 315, 30),
                                                                      BLUE[1])))
    before = comparison.divider
    assert view.press(Event(keyval=gtk.Gdk.KEY_Left)) and comparison.divider < before
    view.buttons["result"].set_active(True)
    assert not view.press(Event(keyval=gtk.Gdk.KEY_Left))


class Event:
    """Event of GTK with these fields"""

    def __init__(self, **fields):
        self.__dict__.update(fields)


def widgets_in(widget):
    yield widget
    children = []
    if isinstance(widget, gtk.Gtk.Container):
        widget.forall(children.append)
    for child in children:
        yield from widgets_in(child)


def check_names(view):
    """Checks that a screen reader can name each control."""
    kinds = gtk.Gtk.Button, gtk.Gtk.Entry, gtk.Gtk.Scale, gtk.Gtk.ComboBox
    controls = [w for w in widgets_in(view.window) if isinstance(w, kinds) and w.get_can_focus()
                and w.get_mapped() and not w.get_parent().get_ancestor(gtk.Gtk.ComboBox)]
    assert len(controls) > 20, len(controls)
    nameless = [w for w in controls if not (w.get_accessible().get_name() or "").strip()]
    assert not nameless, [w.get_path().to_string() for w in nameless]
    names = {w.get_accessible().get_name() for w in widgets_in(view.window) if w.get_accessible()}
    expected = {"Original", "Matte", "Result", "Split", "Record to file…", "Virtual camera", "Pick",
                "Key colour", "Background colour", "Picture", "Garbage polygon"}
    assert expected <= names, expected - names


class Dropped:
    """Gtk.SelectionData of files or of a colour"""

    def __init__(self, uris=(), colour=None):
        self.uris, self.colour = uris, colour

    def get_uris(self):
        return self.uris

    def get_data(self):
        return struct.pack("4H", *(257 * part for part in self.colour), 65535)


def drop(view, uri=None, rgb=None):
    kind = keypictures.DROPPED_FILE if uri else keypictures.DROPPED_COLOUR
    view.comparison.receive(None, None, 0, 0, Dropped([uri], rgb), kind, 0, view.use_background)


def check_backgrounds(folder):
    """Checks files and colours that are dropped, refused files, seeks, and the key."""
    view = view_of(folder / "film.mov")
    result = view.sinks[0]
    run_until(view, lambda: is_over(result, (128, 128, 128)))
    drop(view, (folder / "red.jpg").as_uri())
    run_until(view, lambda: is_over(result, RED))
    for name, reason in ("notes.txt", "no film"), ("sound.ogg", "it has no video"), \
            ("missing.png", "no film"):
        drop(view, (folder / name).as_uri())
        text = view.messages.text.get_text()
        assert view.messages.bar.get_visible() and text.startswith(name) and reason in text, text
        assert "\n" not in text, text
    assert view.key.get_property("background-location") == str(folder / "red.jpg")
    view.transport.rewind()
    run_until(view, lambda: is_over(result, RED))
    drop(view, rgb=BLUE)
    run_until(view, lambda: is_over(result, BLUE))
    view.toggle_play()  # A setting is also seen in a film that is paused.
    run_until(view, lambda: view.transport.seekable)
    view.use_key(0xc83c3c)
    run_until(view, lambda: picture_of(result) is not None and near(
        *zip(map(int, picture_of(result)[20, 20]), SCREEN)))
    view.find_key()
    run_until(view, lambda: is_over(result, BLUE))
    check_pick(view)
    close(view)


def check_panel(folder):
    """Checks that the panel and the controls show the key and the background that are in effect."""
    view = view_of(folder / "film.mov")
    rows = {name: view.controls.row("key", name)
            for name in ("key-color", "auto-key", "background-color", "background-location")}

    def text(name):
        return next(w for w in widgets_in(rows[name].control)
                    if isinstance(w, gtk.Gtk.Entry)).get_text()

    def swatch(button):
        return tuple(round(255 * part) for part in (
            button.get_rgba().red, button.get_rgba().green, button.get_rgba().blue))

    def is_green():
        shown = int(text("key-color"), 0).to_bytes(4, "big")
        return shown[0] == 255 and near(*zip(shown[1:], SCREEN)) and swatch(view.rows.swatch) == (
            shown[1], shown[2], shown[3])

    def shows_colour(rgb):
        return (text("background-location") == "" and text("background-color") == colour(rgb)
                and swatch(view.rows.colour) == rgb
                and view.rows.behind.get_label() == "Picture or film…"
                and is_over(view.sinks[0], rgb))

    def shows_file():
        return (text("background-location") == str(folder / "red.jpg")
                and view.rows.behind.get_label() == "red.jpg" and is_over(view.sinks[0], RED))

    run_until(view, lambda: shows_colour((128, 128, 128)) and is_green())
    assert rows["auto-key"].control.get_active_id() == "screen"
    drop(view, (folder / "red.jpg").as_uri())
    run_until(view, shows_file)
    drop(view, rgb=BLUE)
    run_until(view, lambda: shows_colour(BLUE))
    rows["background-location"].set(str(folder / "red.jpg"))
    run_until(view, shows_file)
    rows["background-location"].set("")
    run_until(view, lambda: shows_colour(BLUE))
    rows["background-color"].set(colour(AFTER))
    run_until(view, lambda: shows_colour(AFTER))
    view.use_key(0xc83c3c)
    run_until(view, lambda: text("key-color") == "0xffc83c3c")
    assert rows["auto-key"].control.get_active_id() == "none"
    view.find_key()
    run_until(view, lambda: is_green() and is_over(view.sinks[0], AFTER))
    assert rows["auto-key"].control.get_active_id() == "screen"
    close(view)


def check_pick(view):
    """Checks that a click takes the key from the original, and that the result is back then."""
    view.pick_key()
    assert view.comparison.mode == "original"
    original = view.comparison.original
    view.click(original, Event(x=original.get_allocated_width() / 2,
                               y=original.get_allocated_height() / 2), view.sinks[2])
    assert view.comparison.mode == "result" and not view.picking
    picked = view.key.get_property("key-color")
    assert picked & 0xffffff in (int("{:02x}{:02x}{:02x}".format(*one), 16)
                                 for one in (BEFORE, AFTER)), hex(picked)
    assert view.key.get_property("auto-key").value_nick == "none"


def check_garbage(folder):
    """Checks that a polygon is drawn with the mouse, and what Enter and Escape do. Of the rectangle
    only what is inside of the polygon stays."""
    view = view_of("--background", "{:02x}{:02x}{:02x}".format(*BLUE), folder / "film.mov")
    result = view.sinks[0]
    run_until(view, lambda: is_over(result, BLUE))
    draw, escape = (next(act for keys, _, act in view.shortcuts() if keys == key)
                    for key in ("g", "Escape"))

    def click(column, row, times=1):
        before = list(view.garbage.corners)
        press_button(*place_of(view, column, row), 1, times)
        run_until(view, lambda: view.garbage.corners != before)

    def shows(expected):
        shown = picture_of(result)  # None while the film seeks
        return shown is not None and [near(*zip(map(int, shown[HEIGHT // 2, column]), BLUE)) for column in (110, 150, 210)
                ] == [not one for one in expected]

    assert shows((True, True, True))
    draw()
    assert view.comparison.mode == "original"
    for place in (100, 2), (180, 2), (180, 237):
        click(*place)
    # A white line between corners, before the green screen
    run_until(view, lambda: max(green_at(view, 180 + n / 4, 20) for n in range(-6, 7)) > 200)
    click(100, 237, 2)
    run_until(view, lambda: view.garbage.corners is None and view.comparison.mode == "result")
    run_until(view, lambda: shows((True, True, False)))
    view.toggle_play()  # also in a film that is paused
    draw()
    click(130, 2)
    click(319, 2)
    assert view.press(Event(keyval=gtk.Gdk.KEY_Return)) and view.garbage.corners
    assert "at least three corners" in view.messages.text.get_text()
    click(319, 237)
    click(130, 237)
    assert view.press(Event(keyval=gtk.Gdk.KEY_Return)) and view.garbage.corners is None
    run_until(view, lambda: shows((False, True, True)))
    text = properties.read_text(view.key, view.key.find_property("garbage-polygon"))
    corners = np.array(text.strip("<>").split(", "), float).reshape(-1, 2) * (WIDTH, HEIGHT)
    assert np.abs(corners - [(130, 2), (319, 2), (319, 237), (130, 237)]).max() < 2, text
    draw()
    escape()
    assert view.comparison.mode == "result" and not view.stopped
    run_until(view, lambda: shows((True, True, True)))
    view.pick_key()  # Escape only cancels it.
    escape()
    assert not view.picking and not view.stopped and shows((True, True, True))
    close(view)


def check_camera():
    """Checks what is said without a virtual camera, and what one gets."""
    keyfiles.VIRTUAL_DEVICES.joinpath("video7").mkdir(parents=True)
    (keyfiles.VIRTUAL_DEVICES / "video7" / "name").write_text("Keyed\n")
    assert keyfiles.virtual_cameras() == {"/dev/video7": "Keyed"}
    view = view_of("--background", "2040c0", "--size", f"{WIDTH}x{HEIGHT}")
    run_until(view, lambda: view.sinks[0].get_property("last-sample"))
    view.feed_camera(True, "/dev/video7")  # There is no such device.
    run_until(view, lambda: "No virtual camera" in view.messages.text.get_text())
    assert not view.feeding and not view.rows.camera.get_active()
    text, device = keyoutput.camera_words("/dev/video7")
    assert device == ("device", "/dev/video7")
    keyoutput.camera_words = lambda _: [
        text.replace("v4l2sink name=file", "fakesink name=file enable-last-sample=true")]
    view.feed_camera(True)
    run_until(view, lambda: view.feeding.sink.get_property("last-sample"))
    caps = view.feeding.sink.get_property("last-sample").get_caps()
    assert structure_of(caps, 0).get_string("format") == "YUY2", caps.to_string()
    view.feed_camera(False)
    (keyfiles.VIRTUAL_DEVICES / "video7" / "name").unlink()
    keyfiles.VIRTUAL_DEVICES.joinpath("video7").rmdir()
    view.feed_camera(True)
    assert "v4l2loopback" in view.messages.text.get_text() and not view.rows.camera.get_active()
    close(view)


# --- recordings ---


def decoded(path, folder):
    """Returns the frames of a film (frames, rows, columns, RGB), their times in s, and its sound as
    float32 with its first time in s, or None."""
    pipeline = gtk.Gst.parse_launch(
        f"uridecodebin name=source uri={path.as_uri()} source. ! videoconvert ! "
        "video/x-raw,format=RGB ! appsink name=video sync=false source. ! audioconvert ! "
        "audio/x-raw,format=F32LE,channels=1 ! appsink name=audio sync=false")
    pictures, sound = (pipeline.get_by_name(name) for name in ("video", "audio"))
    pipeline.set_state(gtk.Gst.State.PLAYING)
    found = []
    for sink in pictures, sound:
        samples = []
        while sample := sink.emit("pull-sample"):
            buffer = sample.get_buffer()
            time = sample.get_segment().to_running_time(gtk.Gst.Format.TIME, buffer.pts)
            samples.append((time / gtk.Gst.SECOND, buffer.extract_dup(0, buffer.get_size()),
                            structure_of(sample.get_caps(), 0)))
        found.append(samples)
    pipeline.set_state(gtk.Gst.State.NULL)
    times, data, _ = zip(*found[0])
    shown = np.stack([np.frombuffer(frame, np.uint8).reshape(HEIGHT, WIDTH, 3) for frame in data])
    levels = np.frombuffer(b"".join(data for _, data, _ in found[1]), np.float32)
    return shown, np.array(times), levels, found[1][0][0], found[1][0][2].get_int("rate")[1]


def program(*words):
    return subprocess.Popen(
        [sys.executable, sys.argv[1], "--key", *map(str, words)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


def check_recording(folder):
    """Checks that a recording has all frames and the sound, in step within a frame."""
    path = folder / "keyed.mkv"
    running = program("--background", "2040c0", "--output", path, "--quit-at-end",
                      folder / "film.mov")
    _, said = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 0, said
    shown, times, levels, start, rate = decoded(path, folder)
    assert len(shown) == FRAMES, len(shown)
    assert np.abs(np.diff(times) - 1 / RATE).max() < 0.002 and times[0] < 0.01, times
    behind = shown[:, MARGIN:TOP - MARGIN, MARGIN:-MARGIN].astype(int) - BLUE
    assert np.abs(behind).max() <= 16, np.abs(behind).max()
    blue = shown[:, HEIGHT // 2, WIDTH // 2, 2].astype(int)
    changed = times[np.argmax(blue > (BEFORE[2] + AFTER[2]) / 2)]
    heard = start + np.argmax(np.abs(levels) > 0.05) / rate
    assert abs(changed - heard) <= 1 / RATE, (changed, heard)
    assert abs(len(levels) / rate - FRAMES / RATE) < 0.1, len(levels)


def check_end(folder):
    """Checks that a film that a signal ends is whole."""
    path = folder / "ended.mp4" if gtk.Gst.ElementFactory.find("openh264enc") \
        else folder / "ended.webm"
    running = program("--output", path, "--background", "2040c0", "--size", f"{WIDTH}x{HEIGHT}")
    end = time.monotonic() + TIMEOUT
    while not path.exists():
        assert running.poll() is None and time.monotonic() < end, running.communicate()
        time.sleep(0.1)
    time.sleep(2)
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 0, said
    info = GstPbutils.Discoverer.new(10 * gtk.Gst.SECOND).discover_uri(path.as_uri())
    assert info.get_duration() > 0.3 * gtk.Gst.SECOND and info.get_video_streams(), path
    launch(f"filesrc location={path} ! decodebin ! fakesink")


def check_film_end(folder):
    """Checks that a recording that ends with its film says so."""
    view = view_of("--output", folder / "pass.mkv", folder / "film.mov")
    run_until(view, lambda: "pass.mkv: the film has ended" in view.messages.text.get_text())
    assert not view.recording
    close(view)


def check_full_disk(folder):
    view = view_of("--background", "2040c0", "--size", f"{WIDTH}x{HEIGHT}")
    run_until(view, lambda: view.sinks[1].get_property("last-sample"))
    link = folder / "full.mkv"
    link.symlink_to("/dev/full")
    view.record(str(link))
    run_until(view, lambda: "full.mkv is not whole: No space left" in view.messages.text.get_text())
    assert not view.recording and not view.failed
    shown = view.sinks[0].get_property("stats").get_value("rendered")
    run_until(view, lambda: view.sinks[0].get_property("stats").get_value("rendered") > shown)
    close(view)


def check_hostile_names(folder):
    """Checks that names of films, backgrounds, clean plates and outputs are names."""
    place = folder / "names"
    place.mkdir()
    os.chdir(place)
    os.link(folder / "film.mov", "ok.npy")
    for name in HOSTILE:
        os.link(folder / "film.mov", name)
        os.link(folder / "red.jpg", f"{name}.jpg")
        view = key.view_of(["--background", f"{name}.jpg", "--plate", f"{name}.jpg", "--", name])
        assert not view.messages.bar.get_visible(), view.messages.text.get_text()
        uri = view.pipeline.get_by_name("source").get_property("uri")
        assert urllib.parse.unquote(uri) == f"file://{place}/{name}", uri
        assert view.key.get_property("plate-location") == f"{name}.jpg"
        assert view.key.get_property("background-location") == f"{place}/{name}.jpg"
        drop(view, (folder / "red.jpg").as_uri())
        drop(view, (place / f"{name}.jpg").as_uri())
        assert view.key.get_property("background-location") == f"{place}/{name}.jpg"
        close(view)
    before = set(os.listdir())
    for name in HOSTILE[0], HOSTILE[4]:
        running = program("--background", f"{name}.jpg", "--plate", f"{name}.jpg", "--output",
                          f"-{name}.mkv", "--quit-at-end", "--", name)
        _, said = running.communicate(timeout=TIMEOUT)
        assert running.returncode == 0, said
        shown, *_ = decoded(place / f"-{name}.mkv", place)
        assert len(shown) == FRAMES, len(shown)
        assert np.abs(shown[:, MARGIN:TOP - MARGIN, MARGIN:-MARGIN].astype(int) - RED).max() <= 16
    assert set(os.listdir()) - before == {f"-{HOSTILE[0]}.mkv", f"-{HOSTILE[4]}.mkv"}
    os.mkfifo("pipe.mov")
    bad = os.fsdecode(b"\xff.mov")
    os.link(folder / "film.mov", bad)
    for words, reason in (("--camera", f"/dev/{HOSTILE[0]}"), "no such camera"), \
            (["--quit-at-end", "pipe.mov"], "not a regular file"), \
            (["--quit-at-end", f"file://{os.getcwd()}/pipe.mov"], "not a regular file"), \
            (["--background", "pipe.mov"], "not a regular file"), ([bad], "not UTF-8"), \
            (["--loopback", f"/dev/{HOSTILE[0]}"], "no such device"), \
            (["-dash.mov"], "no such option (see --help): -dash.mov"):
        running = program(*words)
        _, said = running.communicate(timeout=TIMEOUT)
        assert running.returncode == 2 and reason in said and "Traceback" not in said, (words, said)
    os.chdir("/")


def check_refusals(folder):
    """Checks one sentence for each thing that cannot be."""
    for words, reason in (
        (["--quit-at-end", folder / "notes.txt"], "notes.txt is no film"),
        ([folder / "missing.mov"], "no such file"),
        (["--camera", "/dev/video77"], "no such camera"),
        (["--background", folder / "notes.txt"], "notes.txt is no film"),
        (["--background", "none"], "opencl-key"),
        (["--similarity", "9"], "expected 0 to 2"),
        (["--method", "magic"], "expected chroma, difference or distance"),
        (["--garbage-polygon", "0,0,1,1"], "of at least three corners"),
        (["--key-colors", "blue"], "expected up to 8 colours"),
        (["--core=maybe"], "invalid choice: 'maybe'"),
        (["--key-color", "greenish"], "expected RRGGBB"),
        (["--output", folder / "film.txt"], "the name of a film ends with"),
        (["--loopback", "/dev/video77"], "no such device"),
    ):
        running = program(*words)
        _, said = running.communicate(timeout=TIMEOUT)
        assert running.returncode == 2 and reason in said, (words, said)
        assert len(said.strip().splitlines()) == 1, said
    view = key.view_of([str(folder / "notes.txt")])
    assert view.messages.bar.get_visible()
    assert "notes.txt is no film" in view.messages.text.get_text()
    close(view)
    printed = subprocess.run(
        [sys.executable, sys.argv[1], "--key", "--print", "--grow", "-1", folder / "film.mov"],
        capture_output=True, text=True, check=True, timeout=TIMEOUT).stdout
    assert printed.startswith("gst-launch-1.0 ") and "grow=-1" in printed, printed


with tempfile.TemporaryDirectory() as name, screen():
    # GTK connects to the display when it is imported.
    from gstopencl.frames import structure_of
    from gstopencl.view import gtk, key, keyfiles, keyoutput, keypictures, properties
    from gi.repository import GstPbutils

    gtk.Gst.init(None)
    assert gtk.Gtk.init_check(None)[0]
    place = pathlib.Path(name)
    keyfiles.VIRTUAL_DEVICES = place / "devices"
    write_files(place)
    checks = [globals()[f"check_{name}"] for name in sys.argv[2:]]
    for check in checks or (
            check_views, check_hdr, check_backgrounds, check_panel, check_garbage,
            check_camera, check_recording, check_end, check_film_end, check_full_disk, check_refusals,
            check_hostile_names):
        began = time.monotonic()
        check(*([place] if check.__code__.co_argcount else []))
        print(f"{check.__name__}: {time.monotonic() - began:.1f} s", flush=True)
