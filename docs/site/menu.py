#!/usr/bin/env python3
"""Adds a menu and a search field to every page of the site, and puts the front page in place.

gi-docgen's own search needs a web server. This one also works in a site that is opened as files,
and finds elements, properties, and sections of guides by their headings and their text.

usage: menu.py HTML-FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import html
import json
import pathlib
import re
import sys

from pages import GUIDES

HEADING = re.compile(r'<h[123] id="([^"]+)">(.*?)<a class="md-anchor"', re.S)
NAV = '<nav class="sidebar devhelp-hidden">'
SCRIPT = (pathlib.Path(__file__).parent / "search.js").read_text()


def title_of(text):
    """The title of a page without the name of the library."""
    title = html.unescape(re.search(r"<title>(.*?)</title>", text, re.S).group(1))
    return re.sub(r"^GstOpenCL\s*–\s*1\.0:?\s*", "", title.strip()).strip()


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text)).strip()


def entries_of(page, text):
    """Yields the list, the label, the address and the searched words of what a page has."""
    title = title_of(text).split(":")[0] or "Library"
    if page.removesuffix(".html") in GUIDES:
        for section in re.split(r"(?=<h[123] id=)", text.partition('<div id="toc"')[0])[1:]:
            anchor, heading = HEADING.match(section).groups()
            label = title if section.startswith("<h1") else f"{title}: {plain(heading)}"
            yield "names", label, f"{page}#{anchor}", label
            yield "texts", label, f"{page}#{anchor}", f"{title} {plain(section)}"
        return
    yield "names", title, page, title
    if page.startswith("element-"):
        for name in re.findall(r"<tr>\s*<td><code>([\w-]+)</code></td>", text):
            yield "properties", f"{title} {name}", page, f"{title} {name}"


def index_of(pages):
    """Returns the lists of the search, each of labels, addresses and words in lower case."""
    lists = {"names": [], "properties": [], "texts": []}
    for page, text in pages.items():
        for kind, label, address, words in entries_of(page, text):
            lists[kind].append((label, address, " ".join(words.lower().split())))
    return list(lists.values())


def menu(titles):
    links = [("index.html", "Start"), *titles, ("elements.html", "Elements"),
             ("library.html", "Library")]  # fmt: skip
    rows = "".join(f'<li><a href="{page}">{html.escape(title)}</a></li>' for page, title in links)
    return (f'{NAV}<div class="section"><input id="site-search" type="search" placeholder="Search" '
            f'aria-label="Search"><ul id="site-results"></ul><ul style="list-style: none; padding: 0">{rows}</ul></div>')


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "index.html").rename(folder / "library.html")
    (folder / "front.html").rename(folder / "index.html")
    pages = {path.name: path.read_text() for path in sorted(folder.glob("*.html"))}
    titles = [(f"{name}.html", title_of(pages[f"{name}.html"]).split(":")[0]) for name in GUIDES]
    for name, text in pages.items():
        assert NAV in text, f"{name} has no {NAV}: gi-docgen's template has changed"
        text = text.replace('href="index.html', 'href="library.html')
        text = text.replace('href="front.html', 'href="index.html').replace(NAV, menu(titles), 1)
        text = text.replace("</body>", '<script src="site-search.js"></script>\n</body>')
        (folder / name).write_text(text)
    del pages["index.html"]
    index = json.dumps(index_of(pages))
    (folder / "site-search.js").write_text(f"const lists = {index};\n{SCRIPT}")


if __name__ == "__main__":
    main()
