#!/usr/bin/env python3
"""Promises: opencl-bench prints a table with a row for each case. --compare shows the ratio to the
rates of an earlier run, and names rates beyond the range of both runs. A file that is no such run
is refused with the reason. tests/benchmark/table.py makes Markdown tables of such files, and writes
their rates and quotients into the tables of a document.

usage: benchtable.py OPENCL-BENCH TABLE.PY

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

BRIEF = ["--seconds=0.05", "--windows=3", "--warm-up=0.05", "--size=160x90", "--case=upload-pinned,download"]
CEILINGS = 4


def bench(*options):
    return subprocess.run([sys.argv[1], "transfer", *BRIEF, *options], capture_output=True,
                          text=True, timeout=100, check=False)


def rows(printed):
    """Returns the rows with a rate, by the name of the case."""
    return {line.split()[0]: line for line in printed.splitlines()
            if re.match(r"(transfer|ceiling)/", line)}


def check_table():
    done = bench()
    assert done.returncode == 0 and done.stdout.startswith("Device: "), done
    table = rows(done.stdout)
    assert {"transfer/upload-pinned", "transfer/download"} < table.keys(), done.stdout
    for row in table.values():
        assert re.search(r"\d [GMk]?(B|frames)/s +[\d.e+]+ … [\d.e+]+", row), row


def check_compared(file):
    """Compares with rates that a machine cannot have, and with none."""
    lines = bench("--json").stdout.splitlines()
    results = {result["what"]: result for result in map(json.loads, lines)}
    for name, factor in ("transfer/upload-pinned", 1e-3), ("transfer/download", 1e3):
        for key in "rate", "least", "greatest":
            results[name][key] *= factor
    del results["ceiling/upload"]
    file.write_text("".join(json.dumps(result) + "\n" for result in results.values()))
    done = bench("--compare", file)
    table = rows(done.stdout)
    assert " higher" in table["transfer/upload-pinned"] and " lower" in table["transfer/download"], table
    assert " new" in table["ceiling/upload"], table
    assert re.search(r"^\d+ higher and \d+ lower than before.*; \d+ alike, 1 new$", done.stdout,
                     re.M), done.stdout
    compared = [json.loads(line) for line in bench("--json", "--compare", file).stdout.splitlines()]
    assert len(compared) == len(results) + 1
    for result in compared:
        before = results.get(result["what"], {}).get("rate")
        assert result.get("before") == before or abs(result["before"] / before - 1) < 1e-4, result


def check_refused(file):
    for text, reason in (("", "has no results"), ('{"rate": 3}\n', "line 1 is no result"),
                         ("Device: a table\n", "line 1 is no result")):
        file.write_text(text)
        done = bench("--compare", file)
        assert done.returncode == 1 and reason in done.stderr and not done.stdout, done
    assert "No such file" in bench("--compare", "/nowhere").stderr


def check_markdown(file):
    def table(*arguments):
        subprocess.run([sys.executable, sys.argv[2], *arguments], check=True, timeout=100)

    results = [("oct/host-60-lines", "frames/s", 2e4, 60), ("oct/baseline-blocking-60", "A-lines/s", 3e5, 60),
               ("oct/host-pinned", "A-lines/s", 1.25e6, 1024)]
    file.write_text("".join(json.dumps({"what": what, "device": "D", "sizes": {"lines": lines}, "unit": unit,
                                        "rate": rate, "least": rate, "greatest": rate, "of_limit": 0.5})
                            + "\n" for what, unit, rate, lines in results))
    document = file.with_suffix(".md")
    document.write_text("| oct/host-pinned | whole | 1 |\n| oct/device | kept | 2 |\n"
                        "| oct/host-60-lines / oct/baseline-blocking-60 | times | 3 |\n")
    table("--update", document, file)
    assert document.read_text() == (
        "| oct/host-pinned | whole | 1.25 MA-lines/s (0.50) |\n| oct/device | kept | 2 |\n"
        "| oct/host-60-lines / oct/baseline-blocking-60 | times | 4 |\n"), document.read_text()
    printed = subprocess.run([sys.executable, sys.argv[2], file], check=True, capture_output=True, text=True).stdout
    assert f"### {file.stem}: oct\n\n`opencl-bench oct`, D:" in printed, printed
    assert "| oct/host-60-lines | 60 | 20000 frames/s |" in printed, printed


with tempfile.TemporaryDirectory() as temporary:
    check_table()
    check_markdown(pathlib.Path(temporary) / "figures.jsonl")
    check_compared(pathlib.Path(temporary) / "before.json")
    check_refused(pathlib.Path(temporary) / "wrong.json")
