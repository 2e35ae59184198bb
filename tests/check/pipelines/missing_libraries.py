#!/usr/bin/env python3
"""Promise: without libgstgl, Vulkan and cairo all elements exist, and those that need them say so.

Empty files of the libraries' names, in the first folder that the loader searches, hide them.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HIDDEN = ("libcairo.so.2", "libgstgl-1.0.so.0", "libvulkan.so.1")


def plugin_file(name):
    text = subprocess.run(["gst-inspect-1.0", name], check=True, text=True, capture_output=True).stdout
    return pathlib.Path(re.search(r"Filename\s+(\S+)", text)[1])


def prepare(folder):
    """Returns an environment with the hidden libraries, our plugins and two of GStreamer's."""
    libraries, plugins = folder / "libraries", folder / "plugins"
    libraries.mkdir()
    plugins.mkdir()
    for name in HIDDEN:
        (libraries / name).touch()
    for name in ("coreelements", "videotestsrc"):
        file = plugin_file(name)
        (plugins / file.name).symlink_to(file)
    earlier = os.environ.get("LD_LIBRARY_PATH")
    return {**os.environ, "GST_REGISTRY": str(folder / "registry"), "GST_PLUGIN_SYSTEM_PATH": str(plugins),
            "LD_LIBRARY_PATH": f"{libraries}:{earlier}" if earlier else str(libraries)}  # fmt: skip


def check_hidden(environment):
    for name in HIDDEN:
        run = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{name}')"],
                             env=environment, text=True, capture_output=True)  # fmt: skip
        assert run.returncode != 0 and name in run.stderr, f"{name} is not hidden: {run.stderr}"


def launch(environment, line):
    run = subprocess.run(["gst-launch-1.0", *line.split()], timeout=200, env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    return run.returncode, run.stdout


def check_plays(environment, line):
    code, said = launch(environment, line)
    assert code == 0 and "WARN" not in said and "opencl.so" not in said, f"{line}: {said}"


def check_says(environment, line, *words):
    code, said = launch(environment, line)
    assert code != 0 and all(word in said for word in words), f"{line}: {said}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        environment = prepare(pathlib.Path(folder))
        check_hidden(environment)
        video = "videotestsrc num-buffers=2 ! video/x-raw,width=64,height=48 ! openclupload"
        spectra = "octtestsrc num-buffers=2 ! openclupload"
        check_plays(environment, f"{spectra} ! octwindowinterp ! octfft ! fakesink")
        check_plays(environment, f"{video} ! opencldrawboxes ! opencldownload ! fakesink")
        check_says(environment, f"{spectra} ! octsignal ! fakesink", "cairo is missing", "libcairo.so.2")
        check_says(environment, f"{video} ! opencldownload ! video/x-raw(memory:GLMemory) ! fakesink",
                   "cannot share textures with OpenGL", "gl")  # fmt: skip


main()
