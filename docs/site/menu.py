#!/usr/bin/env python3
"""Adds a menu and a search field to every page of the site, and puts the front page in place.

gi-docgen's own search needs a web server. This one also works in a site that is opened as files,
and finds elements, properties and sections of guides.

usage: menu.py HTML-FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import html
import json
import pathlib
import re
import sys

from pages import GUIDES

NAV = '<nav class="sidebar devhelp-hidden">'
SCRIPT = """const field = document.getElementById("site-search");
const results = document.getElementById("site-results");
function show() {
  const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const found = entries.filter(([text]) => words.every((word) => text.toLowerCase().includes(word)));
  results.replaceChildren(...(words.length ? found.slice(0, 20) : []).map(([text, page]) => {
    const link = document.createElement("a"), row = document.createElement("li");
    link.href = page;
    link.textContent = text;
    row.append(link);
    return row;
  }));
}
field.addEventListener("input", show);
"""


def title_of(text):
    """The title of a page without the name of the library."""
    title = html.unescape(re.search(r"<title>(.*?)</title>", text, re.S).group(1))
    return re.sub(r"^GstOpenCL\s*–\s*1\.0:?\s*", "", title.strip()).strip()


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text)).strip()


def entries_of(page, text):
    """Text and address of what the search finds on a page."""
    title = title_of(text)
    yield title or "Library", page
    if page.startswith("element-"):
        for name in re.findall(r"<tr>\s*<td><code>([\w-]+)</code></td>", text):
            yield f"{title} {name}", page
    elif page.removesuffix(".html") in GUIDES:
        for anchor, heading in re.findall(r'<h[23] id="([^"]+)">(.*?)<a class="md-anchor"', text):
            yield f"{title}: {plain(heading)}", f"{page}#{anchor}"


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
    entries = [entry for name, text in pages.items() if name != "index.html"
               for entry in entries_of(name, text)]  # fmt: skip
    (folder / "site-search.js").write_text(f"const entries = {json.dumps(entries)};\n{SCRIPT}")


main()
