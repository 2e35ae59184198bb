#!/usr/bin/env python3
"""Promise: a picture of the site that takes too long ends the build of the site with one line.

usage: sitepages.py FOLDER-OF-PAGES.PY

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import pages  # noqa: E402

with tempfile.TemporaryDirectory() as temporary:
    slow = pathlib.Path(temporary) / "gst-launch-1.0"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    os.environ["PATH"] = f"{temporary}:{os.environ['PATH']}"
    pages.LIMIT, began = 0.5, time.monotonic()
    try:
        pages.picture_of("octfft", pathlib.Path(temporary))
    except SystemExit as error:
        said = str(error)
    assert said.startswith("no picture of octfft within 0.5 s: ") and "\n" not in said, said
    assert time.monotonic() - began < 30
print("as promised")
