#!/usr/bin/env python3
"""Runs opencl-bench and writes the tables of docs/performance.md.

usage: table.py [COMMAND...] [-- OPTION...]

COMMAND is oct, keying, transfer, fft, compute, convolve, stages oct or stages keying (default:
all). The options are passed to opencl-bench of the folder "build" or, if there is none, of PATH.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import pathlib
import shutil
import subprocess
import sys

ALL = [["oct"], ["keying"], ["transfer"], ["fft"], ["compute"], ["convolve"],
       ["stages", "oct"], ["stages", "keying"]]
CONVOLUTIONS = ["3x3-64", "3x3-128", "3x3-256", "3x3-512", "1x1-64-256", "1x1-256-64", "7x7-3-64",
                "depthwise-128", "picture-5x5", "picture-31x31"]  # fmt: skip
# Pairs whose ratio of rates is in docs/performance.md
QUOTIENTS = [
    ("oct/host-pinned", "oct/baseline-fftw"),
    ("oct/host-pinned", "oct/baseline-blocking"),
    ("oct/host-60-lines", "oct/baseline-blocking-60"),
    ("keying/host", "keying/baseline-blocking"),
    ("keying/hd-host", "keying/baseline-blocking-hd"),
    ("keying/hd-chromakey", "keying/baseline-ffmpeg-opencl"),
    ("keying/hd-chromakey", "keying/baseline-ffmpeg"),
    ("keying/hd-chromakey", "keying/baseline-alpha"),
    ("keying/camera", "keying/baseline-alpha-camera"),
    ("keying/conversion", "keying/baseline-videoconvert"),
    ("keying/soft", "keying/baseline-ffmpeg-soft"),
    ("compute/mesh", "compute/baseline-numba-mesh"),
    ("compute/mandelbrot-20", "compute/baseline-numba-mandelbrot-20"),
    ("compute/mandelbrot-1000", "compute/baseline-numba-mandelbrot-1000"),
    ("compute/blackscholes", "compute/baseline-numba-blackscholes"),
    *((f"compute/convolve-{size}", f"compute/baseline-convolve-{size}") for size in CONVOLUTIONS),
]
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
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor and unit in ("B/s", "A-lines/s", "lines/s"):
            return f"{value / factor:.4g} {prefix}"
    return f"{value:.4g} "


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


def run(command, options):
    process = subprocess.run(
        program() + command + ["--json"] + options, stdout=subprocess.PIPE, text=True, check=False
    )
    results = [
        json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")
    ]
    if not results:
        sys.exit(f"opencl-bench {' '.join(command)} printed nothing")
    return results


def baseline_of(other, rates, results):
    """Returns the rate of a baseline in the unit of the case that it is compared with."""
    rate = rates.get(other)
    if rate and results[other]["unit"] == "A-lines/s" and "60" in other:
        return rate / results[other]["sizes"]["lines"]
    return rate


def print_quotients(results):
    rates = {name: result.get("rate") for name, result in results.items()}
    for name, other in QUOTIENTS:
        baseline = baseline_of(other, rates, results)
        if rates.get(name) and baseline:
            print(f"- {name} / {other}: {rates[name] / baseline:.3g}")


def main():
    commands, options = parse(sys.argv[1:])
    for command in commands:
        results = run(command, options)
        print(f"\n### {' '.join(command)}: {results[0]['device']}\n")
        print(HEAD)
        print("|---|---|---|---|---|---|")
        for result in results:
            print(row(result))
        print()
        print_quotients({result["what"]: result for result in results})
        sys.stdout.flush()


main()
