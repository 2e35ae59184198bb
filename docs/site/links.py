#!/usr/bin/env python3
"""Promise: every link and picture of a folder of HTML leads to a file of it, and to a place
there that has its name.

Usage: links.py FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Targets of the links of a page, and its anchors"""

    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("href", "src") and value:
                self.links.append(value)
            elif key in ("id", "name") and value:
                self.names.add(value)


def faults(pages):
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if not target.exists():
                yield f"{path.name}: nothing at {link}"
            elif url.fragment and target in pages and url.fragment not in pages[target].names:
                yield f"{path.name}: no place #{url.fragment} in {target.name}"


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in folder.rglob("*.html")}
    found = sorted(set(faults(pages)))
    print(*found, f"{len(pages)} pages, {sum(len(p.links) for p in pages.values())} links, "
          f"{len(found)} lead nowhere", sep="\n")
    sys.exit(1 if found or not pages else 0)


main()
