#!/usr/bin/env python3
"""Foreign code in the libraries of a wheel: texts of its licences, and a list as CycloneDX

usage: carried.py WHEEL        adds them to a wheel for Linux

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Name, licence, and the Debian package that has its text
EVERYWHERE = [
    ("libzip", "BSD-3-Clause", "libzip-dev"),
    ("VkFFT", "MIT", "libvkfft-dev"),
    ("OpenCL-CLHPP", "Apache-2.0", "opencl-clhpp-headers"),
]
ON_WINDOWS = [
    ("zlib", "Zlib", "libz-mingw-w64-dev"),
    ("mingw-w64 and winpthreads", "ZPL-2.1 AND MIT", "mingw-w64-x86-64-dev"),
    ("libstdc++ and libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1", "gcc-mingw-w64-base"),
]


def bill_of(version, carried):
    components = []
    for name, licence, package in carried:
        asked = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", package],
                               check=True, capture_output=True, text=True)
        components.append({"type": "library", "name": name, "version": asked.stdout,
                           "licenses": [{"expression": licence}]})
    made = {"type": "library", "name": "gst-opencl", "version": version}
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                       "metadata": {"component": made}, "components": components}, indent=1)


def texts_of(carried):
    """Returns paths of texts of licences, by the names that they get."""
    return {f"{name.split()[0]}.txt": f"/usr/share/doc/{package}/copyright"
            for name, _, package in carried}


def main():
    (wheel,) = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        tool = [sys.executable, "-m", "wheel"]
        subprocess.run([*tool, "unpack", "--dest", folder, wheel], check=True)
        (info,) = glob.glob(f"{folder}/*/*.dist-info")
        (unpacked,) = glob.glob(f"{folder}/*")
        licences, bills = pathlib.Path(info, "licenses"), pathlib.Path(info, "sboms")
        licences.mkdir(exist_ok=True)
        bills.mkdir(exist_ok=True)
        for name, path in texts_of(EVERYWHERE).items():
            (licences / name).write_bytes(pathlib.Path(path).read_bytes())
        (licences / "LICENSE").write_bytes(
            pathlib.Path(__file__).parents[1].joinpath("LICENSE").read_bytes())
        version = wheel.name.split("-")[1]
        (bills / "gst-opencl.cdx.json").write_text(bill_of(version, EVERYWHERE))
        os.remove(wheel)
        subprocess.run([*tool, "pack", "--dest-dir", wheel.parent, unpacked], check=True)


if __name__ == "__main__":
    main()
