#!/usr/bin/env python3
"""Promise: the commands in README.md and docs/ work when pasted, and windows open.

Runs every command in a fenced block that is a pipeline or one of pipelines/, in a folder
with files of the names that they speak of. Those that show something in a window get a
screen of their own, and end when it shows something; what else there may be is listed here.

usage: readme.py ROOT BUILD-FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

from xscreen import levels_on_screen, screen

ROOT = pathlib.Path(sys.argv[1]).resolve()
os.environ["GST_OPENCL_BUILD"] = str(pathlib.Path(sys.argv[2]).resolve())
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Tests, the measuring of ten minutes, and what needs pictures with a known matte
NOT_RUN = ("tests/", "meson ", "opencl-bench ", "clinfo")
# Nobody's machine has to have a camera.
CAMERA = "videotestsrc is-live=true pattern=ball background-color=0xff209038 ! video/x-raw,width=320,height=180"
INSTEAD = {"--camera /dev/video0": "film.avi", "--camera Basler-123 ": "", "v4l2src": CAMERA}


def commands(document):
    """One line each: those that go on behind a backslash are joined."""
    for block in re.findall(r"^```\w*\n(.*?)^```", document.read_text(), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"\s+#.*|\s+", lambda part: "" if "#" in part[0] else " ", line)
            if "gst-launch-1.0" in line or line.startswith(("pipelines/", *NOT_RUN)):
                yield line.strip()


def launch(line):
    subprocess.run(f"gst-launch-1.0 -q {line}", shell=True, check=True, timeout=100)


def make_files():
    rng = np.random.default_rng(1)
    np.save("lambda.npy", np.linspace(1187, 1433, 2048))
    np.save("map.npy", np.linspace(0, 2047, 2048))
    rng.integers(0, 4096, (999, 2048)).astype("<u2").tofile("spectra.raw")
    np.save("spectra.npy", rng.integers(0, 4096, (2, 99, 2048)).astype("<u2"))
    pathlib.Path("recordings").mkdir()
    np.save("recordings/first.npy", rng.integers(0, 4096, (2, 99, 2048)).astype("<u2"))
    ball = "videotestsrc num-buffers={} pattern=ball background-color=0xff{}"
    picture = f"{ball} ! video/x-raw,width=320,height=180 ! videoconvert"
    launch(f"{picture.format(1, '0d5808')} ! jpegenc ! filesink location=actor.jpg")
    launch(f"{picture.format(1, '30fe00')} ! pngenc ! filesink location=markers.png")
    launch(f"{picture.format(1, '000000')} ! pngenc ! filesink location=mask.png")
    launch(f"{picture.format(1, '209038')} ! pngenc ! filesink location=animal.png")
    launch(f"{picture.format(9, '209038')} ! jpegenc ! avimux ! filesink location=film.avi")
    for name in "beach", "desert":
        launch(f"videotestsrc num-buffers=1 ! jpegenc ! filesink location={name}.jpg")
    launch("videotestsrc num-buffers=9 ! vp8enc deadline=1 ! webmmux"
           " ! filesink location=beach.webm")  # fmt: skip


def has_window():
    tree = subprocess.run(
        ["xwininfo", "-root", "-children"], capture_output=True, text=True, check=True
    )
    return any(name in tree.stdout for name in ("gst-launch-1.0", '"oct-live"'))


def show(command):
    """Plays until there is a picture in a window, and a second longer."""
    with open("log", "w", encoding="utf-8") as log:
        playing = subprocess.Popen(
            ["bash", "-c", command], stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + 200
    while not has_window() or levels_on_screen() < 8:
        if playing.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"no picture in a window: {pathlib.Path('log').read_text()}")
        time.sleep(0.2)
    time.sleep(1)
    assert playing.poll() is None, pathlib.Path("log").read_text()
    os.killpg(playing.pid, signal.SIGINT)
    playing.wait(60)


def run(command):
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "openclstats" in command:
        last = "octfft0" if "octfft" in command else "openclkernel0"
        assert f"openclstats, element=(string){last}" in done.stderr, done.stderr
        assert re.search(rf"{last}, .*host-waits=\(guint64\)0", done.stderr), done.stderr


def check(document):
    for command in commands(document):
        for what, instead in INSTEAD.items():
            command = command.replace(what, instead)
        if command.startswith(NOT_RUN):
            print("not run:", command)
            continue
        print(command, flush=True)
        command = re.sub(r"^pipelines/", f"{ROOT}/pipelines/", command)
        (show if "autovideosink" in command or "oct-live" in command else run)(command)


def size_of_png(path):
    head = pathlib.Path(path).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n", head
    return struct.unpack(">II", head[16:])


def check_programs(document):
    """What it shows of C is what the examples build."""
    built = "".join(path.read_text() for path in (ROOT / "docs/examples").glob("*.c"))
    for block in re.findall(r"^```c\n(.*?)^```", document.read_text(), re.M | re.S):
        assert block in built, block


assert len([c for c in commands(DOCUMENTS[0]) if "gst-launch-1.0" in c]) == 4
with tempfile.TemporaryDirectory() as folder, screen():
    os.chdir(folder)
    make_files()
    check_programs(DOCUMENTS[0])
    for each in DOCUMENTS:
        check(each)
    assert size_of_png("bscan.png") == (512, 1024), size_of_png("bscan.png")
    assert size_of_png("out.png") == (320, 180), size_of_png("out.png")
    os.chdir("/")
