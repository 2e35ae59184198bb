#!/usr/bin/env python3
"""Promise: tools/roofline.py draws each element and layer where its operations for each byte and its rate
are, reads the kernels of one layer as one, and says why a log cannot be drawn.

Usage: roofline.py TOOLS

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import pathlib
import re
import subprocess
import sys
import tempfile

RECORD = "0:00:01 1 0x1 TRACE GST_TRACER :0:: opencl-profile, element=(string){}, kernel=(string)k, " \
    'layer=(string){}, count=(guint64)1, time-ns=(guint64){}, group=(string)"", ' \
    "local-memory=(guint64)0, bytes=(guint64){}, flop=(guint64){};\n"


def draw(*records):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        log.write_text("another line\n" + "".join(RECORD.format(*record) for record in records))
        return subprocess.run(
            [sys.executable, pathlib.Path(sys.argv[1]) / "roofline.py", "--memory-rate", "10",
             "--arithmetic-rate", "100", log], capture_output=True, text=True, check=False)


# 1 FLOP/byte at 10 GFLOP/s, which is the roof, and as two kernels of a layer 100 at 1, 1 % of it
done = draw(("flat", '""', 1000, 10000, 10000), ("net", '"Conv 0"', 800, 5, 500),
            ("net", '"Conv 0"', 200, 5, 500), ("other", '""', 10, 0, 0))
assert done.returncode == 0, done.stderr
assert "1 FLOP/byte, 10 GFLOP/s, 100 % of the roof" in done.stderr, done.stderr
assert "net Conv 0: 100 FLOP/byte, 1 GFLOP/s, 1 % of the roof" in done.stderr, done.stderr
points = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', done.stdout)]
assert len(points) == 2, done.stdout
for (x, y), column, row in zip(points, ("1", "100"), ("10", "1")):
    across = [float(x) for x, said in re.findall(
        r'x="([\d.]+)" y="[\d.]+" text-anchor="middle">([\d.]+)<', done.stdout) if said == column]
    down = [float(y) for y, said in re.findall(
        r'y="([\d.]+)" text-anchor="end">([\d.]+)<', done.stdout) if said == row]
    assert math.isclose(x, across[0], abs_tol=0.2) and math.isclose(y + 4, down[0], abs_tol=0.2), \
        (x, y, across, down)
for records in [], [("other", '""', 10, 0, 0)]:
    done = draw(*records)
    assert done.returncode == 1 and "no work whose" in done.stderr, done.stderr
