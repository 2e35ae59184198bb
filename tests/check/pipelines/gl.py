#!/usr/bin/env python3
"""Promise: OpenGL textures are uploaded unchanged, and device memory is shown in OpenGL windows.

Compares openclupload's output for textures with that of GStreamer's gldownload. OpenGL is Mesa on
an X screen of the test.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import subprocess
import tempfile
import time

from xscreen import levels_on_screen, screen

# Formats of one and of several textures; odd sizes, which GL pads
FORMATS = ("RGBA", "I420", "NV12", "GRAY8")
WIDTH, HEIGHT = 317, 123


def launch(line):
    run = subprocess.run(f"gst-launch-1.0 -q {line}", shell=True, timeout=100, text=True, capture_output=True)
    assert run.returncode == 0 and "ERROR" not in run.stderr, f"{line}: {run.stderr}"


def frames(name):
    with open(name, "rb") as file:
        read = file.read()
    assert len(read) == 3 * 4 * WIDTH * HEIGHT and len(set(read)) > 8, (name, len(read))
    return read


def check_uploads():
    to_file = "videoconvert ! video/x-raw,format=RGBA ! filesink location="
    for form in FORMATS:
        launch(f"gltestsrc num-buffers=3 ! video/x-raw\\(memory:GLMemory\\),width={WIDTH},height={HEIGHT}"
               f" ! glcolorconvert ! video/x-raw\\(memory:GLMemory\\),format={form} ! tee name=both"
               f" both. ! queue ! gldownload ! {to_file}expected"
               f" both. ! queue ! openclupload ! opencldownload ! {to_file}got")  # fmt: skip
        assert frames("got") == frames("expected"), form


def check_device_memory():
    """Converts textures on the device, without host memory in between."""
    launch("gltestsrc num-buffers=5 ! openclupload ! video/x-raw\\(memory:OpenCLMemory\\)"
           " ! openclconvert ! video/x-raw\\(memory:OpenCLMemory\\),format=GRAY8 ! fakesink")


def check_window():
    playing = subprocess.Popen(
        "gst-launch-1.0 -q gltestsrc ! openclupload ! openclconvert ! opencldownload ! glimagesink",
        shell=True, start_new_session=True)  # fmt: skip
    try:
        for _ in range(100):
            time.sleep(0.3)
            assert playing.poll() is None, "it ended by itself"
            if levels_on_screen() > 8:
                return
        raise AssertionError("nothing to be seen")
    finally:
        os.killpg(playing.pid, 15)
        playing.wait()


os.environ["LIBGL_ALWAYS_SOFTWARE"] = "1"
os.environ.pop("GST_GL_PLATFORM", None)
with tempfile.TemporaryDirectory() as folder, screen():
    os.chdir(folder)
    check_uploads()
    check_device_memory()
    check_window()
