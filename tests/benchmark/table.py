#!/usr/bin/env python3
"""Prints results of opencl-bench as Markdown tables.

usage: table.py FILE.jsonl...
       table.py [--json] [COMMAND...] [-- OPTION...]
       table.py --update DOCUMENT FILE.jsonl...

The first form reads files of "opencl-bench COMMAND --json", such as those in docs/figures. The
second runs opencl-bench of the folder "build" or, if there is none, of PATH. COMMAND is oct, keying,
transfer, fft, compute, convolve, neighbours, stages oct or stages keying (default: all). --json
prints the lines of opencl-bench instead of tables. The third writes the rates into the tables of a
document: its rows begin with the name of a case, or two as a quotient, and end in a cell for each
file, which stays if the file lacks the case.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

ALL = [["oct"], ["keying"], ["transfer"], ["fft"], ["compute"], ["convolve"],
       ["neighbours"], ["stages", "oct"], ["stages", "keying"]]
FACTORS = (1e9, "G"), (1e6, "M"), (1e3, "k")
ROW = re.compile(r"^\| ([\w-]+/[\w-]+)(?: / ([\w-]+/[\w-]+))? \|.*\|$")
HEAD = "| what | sizes | rate | least … greatest | of the limit | latency p50, p99; more |"
MORE = ["of_fastest", "of_alone", "of_device_time", "calls_per_frame", "threads"]


def program():
    build = pathlib.Path(__file__).resolve().parents[2] / "build"
    if (build / "tests/benchmark/opencl-bench").exists():
        return ["meson", "devenv", "-C", str(build), "tests/benchmark/opencl-bench"]
    found = shutil.which("opencl-bench")
    if not found:
        sys.exit("neither build/tests/benchmark/opencl-bench nor opencl-bench in PATH")
    return [found]


def parse(arguments):
    if "--" in arguments:
        at = arguments.index("--")
        words, options = arguments[:at], arguments[at + 1 :]
    else:
        words, options = arguments, []
    commands = []
    for word in words:
        if commands and commands[-1] == ["stages"]:
            commands[-1].append(word)
        else:
            commands.append([word])
    return commands or ALL, options


def quantity(value, unit):
    """Formats a value with four digits and, for rates of bytes and lines, an SI prefix."""
    for factor, prefix in FACTORS:
        if value >= factor and unit in ("B/s", "A-lines/s", "lines/s"):
            return f"{value / factor:.4g} {prefix}"
    return f"{value:.4g} " if value < 1e4 else f"{value:.0f} "


def remarks(result):
    remarks = [f"{key} {result[key]:.3g}" for key in MORE if key in result]
    if "choice" in result:
        remarks.insert(0, result["choice"])
    if "latency_p50_ms" in result:
        delays = [f"{result[f'latency_{part}_ms']:.3g}" for part in ("p50", "p99")]
        remarks.insert(0, ", ".join(delays) + " ms")
    return "; ".join(remarks)


def row(result):
    sizes = " × ".join(str(size) for size in result["sizes"].values())
    if "error" in result:
        return f"| {result['what']} | {sizes} | {result['error']} | | | |"
    unit = result["unit"]
    rate, least, greatest = (
        quantity(result[key], unit) for key in ("rate", "least", "greatest")
    )
    limit = f"{result['of_limit']:.3g}" if "of_limit" in result else ""
    return (
        f"| {result['what']} | {sizes} | {rate}{unit} | {least.strip()} … "
        f"{greatest.strip()} | {limit} | {remarks(result)} |"
    )


def lines_of(command, options):
    """Runs opencl-bench and returns its lines of JSON."""
    process = subprocess.run(
        program() + command + ["--json"] + options, stdout=subprocess.PIPE, text=True, check=False
    )
    lines = [line for line in process.stdout.splitlines() if line.startswith("{")]
    if not lines:
        sys.exit(f"opencl-bench {' '.join(command)} printed nothing")
    return lines


def command_of(result):
    """Returns the command that printed a result, None for a limit that each command prints."""
    words = result["what"].split("/")
    if words[0] == "ceiling":
        return None
    return " ".join(words[:2] if words[0] == "stages" else words[:1])


def runs_of(results):
    """Yields each command of a file with its results. The limits come before the cases."""
    run, command = [], None
    for result in results:
        new = command_of(result)
        if command and new != command:
            yield command, run
            run, command = [], None
        run.append(result)
        command = new
    if command:
        yield command, run


def tables(lines, name):
    """Yields the lines of Markdown for lines of JSON. The name is that of the machine."""
    for command, results in runs_of(map(json.loads, lines)):
        yield f"\n### {name}: {command}\n\n`opencl-bench {command}`, {results[0]['device']}:\n"
        yield HEAD
        yield "|---|---|---|---|---|---|"
        yield from map(row, results)


def cell(name, other, results):
    """Returns the cell of a case, or of the quotient of two; None without a rate of each."""
    result, base = results.get(name, {}), results.get(other, {})
    if not result.get("rate") or other and not base.get("rate"):
        return None
    if other: # where one of them counts frames, and the other one A-lines
        frame = base["sizes"].get("lines", 1) if result["unit"] != base["unit"] else 1
        return f"{result['rate'] / base['rate'] * frame:.2g}"
    share = f" ({result['of_limit']:.2f})" if "of_limit" in result else ""
    return f"{quantity(result['rate'], result['unit'])}{result['unit']}{share}"


def update(document, paths):
    """Writes the rates of each file into its column of the tables of a document."""
    files = [{result["what"]: result for result in map(json.loads, path.read_text().splitlines())}
             for path in paths]  # fmt: skip
    text = document.read_text().splitlines()
    for at, line in enumerate(text):
        found = ROW.match(line)
        cells = line.split(" | ")
        if found:
            if len(cells) != 2 + len(files):
                sys.exit(f"{document}:{at + 1}: expected {len(files)} columns behind two")
            cells[-1] = cells[-1].removesuffix(" |")
            for column, results in enumerate(files, 2):
                cells[column] = cell(found[1], found[2], results) or cells[column]
            text[at] = " | ".join(cells) + " |"
    document.write_text("\n".join(text) + "\n")


def main():
    words = sys.argv[1:]
    if words[:1] == ["--update"]:
        update(pathlib.Path(words[1]), list(map(pathlib.Path, words[2:])))
    elif words and all(word.endswith(".jsonl") for word in words):
        for path in words:
            file = pathlib.Path(path)
            print(*tables(file.read_text().splitlines(), file.stem), sep="\n")
    else:
        as_json = words[:1] == ["--json"]
        commands, options = parse(words[as_json:])
        for command in commands:
            lines = lines_of(command, options)
            print(*(lines if as_json else tables(lines, "results")), sep="\n", flush=True)


if __name__ == "__main__":
    main()
