#!/usr/bin/env python3
"""Packs a build for Windows and the Python package as a wheel: wheel.py BUILD GIR FOLDER

BUILD is a build folder of tests/run.sh --windows, GIR the GstOpenCL-1.0.gir of a build for Linux: both
have the same types. Prints the path of the wheel. Equal builds give equal wheels.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import base64
import glob
import hashlib
import json
import os
import subprocess
import sys
import tomllib
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from carried import EVERYWHERE, ON_WINDOWS, bill_of, texts_of  # noqa: E402

PACKAGE = "gstopencl_windows"
# Modules of the window that other programs use. The window itself is for GTK 3, which GStreamer's
# wheels do not have.
VIEW = {"__init__.py", "arguments.py", "octoptions.py", "octpipeline.py", "properties.py"}
# Beside what pyproject.toml names: GStreamer, and what reads pictures, are the system's on Linux.
REQUIRED = ["gstreamer-bundle~=1.28", "pillow"]
WHEEL = """Wheel-Version: 1.0
Generator: gst-opencl
Root-Is-Purelib: false
Tag: py3-none-win_amd64
"""


def version_of(build):
    asked = subprocess.run(["meson", "introspect", "--projectinfo", build], check=True,
                           capture_output=True, text=True)
    return json.loads(asked.stdout)["version"]


def metadata(project, version, texts):
    extras = project["optional-dependencies"]
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}",
             f"License-Expression: {project['license']['text']}",
             *(f"License-File: {name}" for name in texts),
             f"Requires-Python: {project['requires-python'].replace(' ', '')}",
             *(f"Requires-Dist: {name}" for name in project["dependencies"] + REQUIRED),
             *(f"Provides-Extra: {extra}" for extra in extras),
             *(f'Requires-Dist: {name}; extra == "{extra}"' for extra in extras
               for name in extras[extra])]
    return "\n".join([*lines, ""])


def typelib(build, gir):
    """Returns the path of the type library, which names the library as Windows does."""
    path = os.path.join(build, "GstOpenCL-1.0.typelib")
    subprocess.run(["g-ir-compiler", "--shared-library", "libgstopencl-1.0-0.dll", "--output", path,
                    gir], check=True)
    return path


def contents(build, gir, info, version):
    """(name in the wheel, path or bytes)"""
    python = os.path.join(ROOT, "python")
    for path in glob.glob(os.path.join(python, "gstopencl", "**", "*.[cp][ly]"), recursive=True):
        folder, name = os.path.split(path)
        if os.path.basename(folder) != "view" or name in VIEW:
            yield os.path.relpath(path, python), path
    yield "gstopencl/installed.py", os.path.join(build, "tools", "installed.py")
    for name in ("docs/garden.jpg", "docs/greenscreen-before.png", "tools/fetch-selfie-model.py",
                 "tools/fetch-detection-model.py", "tools/onnxwriter.py", "tools/packages.py", "tools/tfliteconverter.py"):
        yield f"gstopencl/data/{os.path.basename(name)}", os.path.join(ROOT, name)
    yield f"{PACKAGE}/lib/girepository-1.0/GstOpenCL-1.0.typelib", typelib(build, gir)
    yield f"{PACKAGE}/__init__.py", os.path.join(ROOT, "tools", "windows", "runtime.py")
    for pattern, folder in (("gst/opencl/*.dll", "bin"), ("gst/opencl/*.exe", "bin"),
                            ("tools/*.exe", "bin"), ("gst/*/libgst*opencl.dll", "lib/gstreamer-1.0")):
        found = glob.glob(os.path.join(build, pattern))
        if not found:
            sys.exit(f"{build}: has no {pattern}")
        for path in found:
            yield f"{PACKAGE}/{folder}/{os.path.basename(path)}", path
    carried = EVERYWHERE + ON_WINDOWS
    texts = texts_of(carried) | {"GPL-3.txt": "/usr/share/common-licenses/GPL-3", "LICENSE": f"{ROOT}/LICENSE"}
    for name, path in texts.items():
        yield f"{info}/licenses/{name}", path
    yield f"{info}/sboms/gst-opencl.cdx.json", bill_of(version, carried).encode()
    yield "gst_opencl.pth", f"import {PACKAGE}\n".encode()
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    yield f"{info}/METADATA", metadata(project, version, texts).encode()
    yield f"{info}/WHEEL", WHEEL.encode()
    lines = [f"{name} = {PACKAGE}:main" for name in project["scripts"]]
    yield f"{info}/entry_points.txt", "\n".join(["[console_scripts]", *lines, ""]).encode()


def main():
    build, gir, folder = sys.argv[1:]
    version = version_of(build)
    info = f"gst_opencl-{version}.dist-info"
    path = os.path.join(folder, f"gst_opencl-{version}-py3-none-win_amd64.whl")
    record = []
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, source in sorted(contents(build, gir, info, version)):
            if isinstance(source, str):
                with open(source, "rb") as file:
                    source = file.read()
            digest = base64.urlsafe_b64encode(hashlib.sha256(source).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(source)}")
            wheel.writestr(zipfile.ZipInfo(name), source, zipfile.ZIP_DEFLATED)
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "\n".join([*record, f"{info}/RECORD,,", ""]))
    print(path)


if __name__ == "__main__":
    main()
