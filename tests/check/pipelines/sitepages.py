#!/usr/bin/env python3
"""Promises: a picture of the site that takes too long ends the build of the site with one line. The
search finds sections of guides by their headings and their text, elements and properties. Commands
of the front page are short enough for its column.

usage: sitepages.py FOLDER-OF-PAGES.PY

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import menu  # noqa: E402
import pages  # noqa: E402

COLUMNS = 80
ANCHOR = '<a class="md-anchor" href="#{0}"></a>'
GUIDE = f"""<title>GstOpenCL &ndash; 1.0: Keying: from a green screen to a matte</title>
<h1 id="keying">Keying: from a green screen{ANCHOR}</h1><p>The key is found by itself.</p>
<h2 id="light-wrap">Light &amp; wrap{ANCHOR}</h2><p>Use <code>keyfill</code> behind
hair.</p><div id="toc" class="toc">hidden</div>"""
ELEMENT = """<title>GstOpenCL &ndash; 1.0: octfft</title><table>
<tr> <td><code>db-auto</code></td> <td>adapts to glass</td></tr></table>"""


def check_search():
    names, properties, texts = menu.index_of(
        {"element-octfft.html": ELEMENT, "keying.html": GUIDE})  # fmt: skip
    assert names == [
        ("octfft", "element-octfft.html", "octfft"), ("Keying", "keying.html#keying", "keying"),
        ("Keying: Light & wrap", "keying.html#light-wrap", "keying: light & wrap")], names
    assert properties == [
        ("octfft db-auto", "element-octfft.html", "octfft db-auto")], properties
    (_, start, intro), (label, address, section) = texts
    assert start == "keying.html#keying" and "found by itself" in intro, texts
    assert (label, address) == names[2][:2] and "keyfill behind hair." in section, texts
    assert "hidden" not in section, texts


check_search()
front = (pathlib.Path(sys.argv[1]) / "front.md").read_text()
commands = re.findall(r"^```sh\n(.*?)^```", front, re.M | re.S)
assert commands and all(len(line) <= COLUMNS for block in commands for line in block.splitlines())

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
