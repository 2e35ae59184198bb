"""Compares the text that opencl-detect reads on rendered pages with rapidocr-onnxruntime.

usage: python3 read-pages.py FOLDER [PROGRAM [OPTION…]]

Renders 20 pages of English text and numbers into FOLDER, with truth.json: the text of each line
and its corners. Two pages are upside down. Calls PROGRAM, such as "opencl-detect --device cpu",
with --network text and the pages. Without PROGRAM, only the package is judged.

Prints a table. "Characters" is 1 - edit distance / length over all lines. Case counts, spaces do
not. The text of a line is that of all boxes whose centres lie in the line. "Boxes" is the share of
lines with such a box whose intersection over union is above 0.5. "Stray" is the number of boxes
whose centres lie in no line. "Seconds" is the time of a page, without the start of the program.

The exit status is 1 if PROGRAM reads less than 98 % of the characters, or 1 % less than the
package. Lines are short: the package's classifier takes some that are longer than about 20 heights
as upside down. Needs python3-numpy, python3-cairo, python3-pip and the DejaVu fonts. Fetches the
package from PyPI into the user's cache (0.4 GB).

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import textwrap
import time

import cairo
import numpy as np

PACKAGES = "rapidocr-onnxruntime==1.4.4", "onnxruntime==1.23.2", "opencv-python==4.12.0.88"
SEED, UPSIDE_DOWN = 1, (6, 17)
SIZES = ((640, 480), (800, 600), (1240, 1754), (1023, 767), (1754, 1240), (701, 997), (1280, 720),
         (900, 1273), (1111, 555), (827, 1169)) * 2
# Paper and ink, from 0 to 1
COLORS = (((1, 1, 1), (0, 0, 0)), ((0.98, 0.95, 0.86), (0.15, 0.1, 0.05)),
          ((0.86, 0.92, 0.97), (0.05, 0.1, 0.35)), ((0.12, 0.13, 0.16), (0.92, 0.92, 0.9)))
FONTS = "DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "DejaVu Sans Condensed"
LONGEST = 20  # width of a line, in font sizes
TEXT = """Alice was beginning to get very tired of sitting by her sister on the bank, and of having
nothing to do. Once or twice she had peeped into the book her sister was reading, but it had no
pictures or conversations in it. The clock had struck seven when the last train left the harbour,
and 48 passengers still waited. Fresh bread, butter and 12 brown eggs were sold for 6.50 a piece. In
1969 men walked on the Moon, 384400 kilometres away. Quick foxes jump over lazy dogs.""".split()
HEADINGS = "Annual Report", "Contents", "Chapter 12", "Table of Distances", "INVOICE"
NOTES = ("Total: 1284.60", "Tel. 030 555 7214", "12 March 1987", "Exit", "Ref. KX-20417", "08:45",
         "2026", "Weight 2.5 kg", "Yes", "Order 66183", "OPEN", "15 %", "Gate B14", "Page 27")


def block(random, size, width):
    """Returns lines, their font size and whether they are bold: a heading, a paragraph or notes."""
    kind, begin, length = random.random(), random.integers(len(TEXT)), random.integers(12, 50)
    texts = list(map(str, random.choice(NOTES, random.integers(1, 5), False)))
    if kind < 0.2:
        texts, size = [str(random.choice(HEADINGS))], min(size * random.uniform(1.2, 1.8), 40)
    elif kind < 0.7:
        texts = [" ".join((TEXT + TEXT)[begin : begin + length])]
    letters = int(width / size / 0.66)
    return [line for text in texts for line in textwrap.wrap(text, letters)], size, kind < 0.2


def draw_column(context, random, left, top, width, bottom, size):
    """Returns the lines, each with its text and its corners in the picture."""
    lines, family, slant = [], random.choice(FONTS), cairo.FontSlant(random.integers(4) == 0)
    while True:
        texts, height, bold = block(random, size, width)
        context.select_font_face(family, slant, cairo.FontWeight(bold))
        context.set_font_size(height)
        for text in texts:
            top += 1.4 * height
            if top > bottom:
                return lines
            context.move_to(left, top)
            context.show_text(text)
            ink, margin = context.text_extents(text), height / 10
            x, y = left + ink.x_bearing - margin, top + ink.y_bearing - margin
            right, below = x + ink.width + 2 * margin, y + ink.height + 2 * margin
            corners = [context.user_to_device(*corner) for corner in
                       ((x, y), (right, y), (right, below), (x, below))]
            lines.append({"text": text, "corners": np.round(corners, 2).tolist()})
        top += size * random.uniform(0.5, 1.5)


def draw_page(path, number, random):
    """Writes a PNG. Returns its lines."""
    (width, height), (paper, ink) = SIZES[number], COLORS[number % 5 % len(COLORS)]
    surface = cairo.ImageSurface(cairo.Format.RGB24, width, height)
    context = cairo.Context(surface)
    context.set_source_rgb(*paper)
    context.paint()
    context.set_source_rgb(*ink)
    angle = math.radians(random.uniform(-10, 10)) if number % 4 else 0
    context.translate(width / 2, height / 2)
    context.rotate(angle + math.pi * (number in UPSIDE_DOWN))
    # The largest rectangle whose corners stay inside
    sine, cosine, margin = abs(math.sin(angle)), math.cos(angle), min(width, height) * 0.05
    right, bottom = (((a / 2 - margin) * cosine - (b / 2 - margin) * sine) / math.cos(2 * angle)
                     for a, b in ((width, height), (height, width)))
    columns = 1 + number % 3
    step = 2 * right / columns
    size = random.uniform(16, max(16, min(30, step / 10)))
    longest = min(LONGEST * size, step - 2.5 * size * (columns > 1))
    lines = [line for n in range(columns) for line in
             draw_column(context, random, step * n - right, -bottom, longest, bottom, size)]
    levels = np.frombuffer(surface.get_data(), np.uint8)
    levels[:] = np.clip(levels + random.normal(0, random.uniform(0, 5), levels.shape), 0, 255)
    surface.write_to_png(path)
    return lines


def contains(corners, points):
    """Returns whether points are in a convex polygon whose corners are in clockwise order."""
    (x, y), (dx, dy) = corners.T, (np.roll(corners, -1, 0) - corners).T
    return np.all(dx * (points[..., 1:] - y) >= dy * (points[..., :1] - x), -1)


def union_ratio(first, second):
    """Returns the intersection over union of two polygons, from a grid of points."""
    both = np.concatenate((first, second))
    points = np.stack(np.meshgrid(*np.linspace(both.min(0), both.max(0), 120).T), -1)
    first, second = contains(first, points), contains(second, points)
    return (first & second).sum() / max((first | second).sum(), 1)


def edit_distance(first, second):
    row = list(range(len(second) + 1))
    for n, a in enumerate(first, 1):
        previous, row = row, [n]
        for m, b in enumerate(second):
            row.append(min(previous[m] + (a != b), previous[m + 1] + 1, row[m] + 1))
    return row[-1]


def judged(lines, objects):
    """Returns the numbers of wrong characters, characters, right boxes, lines and stray boxes."""
    boxes, used, counts = [np.array(one["corners"]) for one in objects], set(), np.zeros(3)
    for line in lines:
        corners = np.array(line["corners"])
        inside = [n for n, box in enumerate(boxes) if contains(corners, box.mean(0))]
        inside.sort(key=lambda n: boxes[n].mean(0) @ (corners[1] - corners[0]))
        used.update(inside)
        expected, read = ("".join(text.split()) for text in (
            line["text"], "".join(objects[n]["text"] for n in inside)))
        counts += (edit_distance(expected, read), len(expected),
                   any(union_ratio(boxes[n], corners) > 0.5 for n in inside))
    return *counts, len(lines), len(boxes) - len(used)


def read_with_package(paths):
    from rapidocr_onnxruntime import RapidOCR
    engine = RapidOCR()
    for path in paths:
        objects = [{"corners": np.array(corners).tolist(), "text": text}
                   for corners, text, _ in engine(path)[0] or []]
        print(json.dumps({"file": path, "objects": objects}), flush=True)


def results(words, folder, pages, environment=None):
    """Runs a program with the pages, the first one twice. Returns {page: (seconds, objects)}."""
    paths, found = [os.path.join(folder, page) for page in pages], {}
    with subprocess.Popen([*words, *paths[:1], *paths], stdout=subprocess.PIPE, encoding="utf-8",
                          env=environment) as reader:
        begin = time.monotonic()
        for line in map(json.loads, reader.stdout):
            begin, end = time.monotonic(), begin
            found[os.path.basename(line["file"])] = begin - end, line["objects"]
    return found


def report(truth, found):
    """Prints the table. Returns the share of right characters of each reader."""
    columns = [f"{column} {name}" for column in ("characters", "boxes", "stray", "seconds")
               for name in found]
    print("|", " | ".join(["page", *columns]), "|\n" + "|---" * (len(columns) + 1) + "|")
    counts = {page: np.array([(*judged(lines, objects), seconds) for seconds, objects in
                              (pages.get(page, (0, [])) for pages in found.values())])
              for page, lines in truth.items()}
    counts["all"] = sum(counts.values())
    for page, readers in counts.items():
        wrong, length, right, lines, stray, seconds = readers.T
        columns = [*(f"{share:.2%}" for share in (*(1 - wrong / length), *(right / lines))),
                   *(f"{number:.0f}" for number in stray), *(f"{spent:.1f}" for spent in seconds)]
        print("|", " | ".join([page, *columns]), "|")
    return dict(zip(found, 1 - wrong / length))


def main(arguments):
    if arguments[:1] == ["--package"]:
        sys.exit(read_with_package(arguments[1:]))
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    folder, *program = arguments
    os.makedirs(folder, exist_ok=True)
    pages = [f"page-{n:02}.png" for n in range(len(SIZES))]
    truth = {page: draw_page(os.path.join(folder, page), n, np.random.default_rng((SEED, n)))
             for n, page in enumerate(pages)}
    pathlib.Path(folder, "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")
    found = {"here": results([*program, "--network", "text"], folder, truth)} if program else {}
    from samples import packages
    found["package"] = results([sys.executable, __file__, "--package"], folder, truth,
                               {**os.environ, "PYTHONPATH": packages.python_folder(*PACKAGES)})
    right = report(truth, found)
    sys.exit(bool(right.get("here", 1) < max(0.98, right["package"] - 0.01)))


if __name__ == "__main__":
    main(sys.argv[1:])
