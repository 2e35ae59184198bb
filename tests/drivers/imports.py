#!/usr/bin/env python3
"""Checks that Windows finds every DLL that programs import: imports.py GSTREAMER FILE...

A DLL may be one of these files, one of GStreamer's wheels in the folder GSTREAMER, or part of
Windows. OpenCL.dll is loaded by name, as it may be missing.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import subprocess
import sys

OF_WINDOWS = {"advapi32.dll", "kernel32.dll", "msvcrt.dll", "ole32.dll", "psapi.dll", "shell32.dll",
              "user32.dll", "ws2_32.dll"}


def imports_of(path):
    said = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", path], check=True,
                          capture_output=True, text=True).stdout
    names = re.findall(r"(?m)^\s*DLL Name: (.+)$", said)
    if not names:
        sys.exit(f"{path}: no imports found")
    return {name.lower() for name in names}


def main():
    gstreamer, *files = sys.argv[1:]
    present = {os.path.basename(file).lower() for file in [*files, *os.listdir(gstreamer)]}
    wrong = [f"{file}: imports {name}" for file in files
             for name in sorted(imports_of(file) - present - OF_WINDOWS)]
    if wrong:
        sys.exit("\n".join([*wrong, "These are neither in the wheels nor part of Windows."]))


if __name__ == "__main__":
    main()
