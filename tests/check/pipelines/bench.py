#!/usr/bin/env python3
"""Runs one command of opencl-bench on small frames and checks every line that it prints.

usage: bench.py OPENCL-BENCH COMMAND [--only] [WORD] CASE...   (the required cases; --only these)

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import math
import os
import subprocess
import sys
import tempfile

BRIEF = ["--seconds=0.05", "--windows=2", "--warm-up=0.05", "--lines=16", "--size=160x90"]
CEILINGS = ["ceiling/upload", "ceiling/download", "ceiling/both-ways", "ceiling/device-copy"]
# Optional libraries, and the message of the program if they are missing
OPTIONAL = {
    "clfft": "Built without clFFT",
    "baseline-fftw": "libfftw3-dev",
    "baseline-clblast": "built without CLBlast",
    "baseline-ffmpeg": "ffmpeg",
    "baseline-alpha": "no element",
    "baseline-numba": "numba is not installed",
    "baseline-numpy": "numpy is not installed",
    "baseline-convolve": "No module named",
    "baseline-onnxruntime": "No module named",
    "baseline-torch": "No module named",
    "two-devices": "no second device",
}


def fail(text):
    print(text)
    sys.exit(1)


def is_positive(value):
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def is_excused(result):
    name = result["what"].split("/", 1)[1]
    return any(
        name.startswith(start) and reason in result["error"]
        for start, reason in OPTIONAL.items()
    )


def check_rate(result):
    for key in ("rate", "least", "greatest", "windows"):
        if not is_positive(result.get(key)):
            fail(f"{key} is not a positive number: {result}")
    if not result["least"] <= result["rate"] <= result["greatest"]:
        fail(f"the rate is not between least and greatest: {result}")
    if not isinstance(result.get("unit"), str):
        fail(f"no unit: {result}")


def check_limit(result):
    if "limit" in result:
        quotient = result["rate"] / result["limit"]
        if not math.isclose(result["of_limit"], quotient, rel_tol=1e-4):
            fail(f"of_limit is not rate / limit: {result}")


def check_latency(result):
    if "latency_p50_ms" in result and not (
        0 < result["latency_p50_ms"] <= result["latency_p99_ms"]
    ):
        fail(f"latencies are not in order: {result}")


def check(result):
    for key in ("what", "device", "sizes"):
        if not result.get(key):
            fail(f"no {key}: {result}")
    if not all(is_positive(size) for size in result["sizes"].values()):
        fail(f"a size is not a positive number: {result}")
    if "error" in result:
        if not is_excused(result):
            fail(f"not measured: {result}")
        return
    check_rate(result)
    check_limit(result)
    check_latency(result)


def check_promises(command, results):
    """Checks which results have a limit, and which have latencies."""
    by_name = {result["what"]: result for result in results}
    for name, result in by_name.items():
        plain = "baseline" in name or "first-frame" in name
        if command in ("oct", "keying", "transfer", "fft") and not (
            plain or name in CEILINGS or "of_limit" in result
        ):
            fail(f"no of_limit: {result}")
    latency = by_name.get(f"{command}/latency")
    if latency and "latency_p50_ms" not in latency:
        fail(f"no latency: {latency}")


def make_models(folder):
    script = os.path.join(os.path.dirname(__file__), "../../inference/make-networks.py")
    subprocess.run([sys.executable, script, folder], check=True)
    return [os.path.join(folder, name, "model.onnx") for name in ("classifier", "segmenter")]


def main(folder):
    program, command, *cases = sys.argv[1:]
    is_only = "--only" in cases
    cases = [case for case in cases if case != "--only"]
    words = [cases.pop(0)] if command == "stages" else []
    words += make_models(folder) if command == "inference" else []
    is_only |= command == "convolve"  # of many
    only = [f"--case={','.join(cases)}"] if is_only else []
    run = subprocess.run(
        [program, command, "--json", *words, *BRIEF, *only], stdout=subprocess.PIPE, text=True, check=False
    )
    results = [json.loads(line) for line in run.stdout.splitlines()]
    for result in results:
        print(json.dumps(result))
        check(result)
    seen = {result["what"] for result in results}
    prefix = "/".join([command, *words[:command == "stages"]])
    expected = {f"{prefix}/{case}" for case in cases}
    if command != "stages":
        expected |= set(CEILINGS)
    if expected - seen:
        fail(f"missing: {', '.join(sorted(expected - seen))}")
    check_promises(command, results)
    has_errors = any("error" in result for result in results)
    if run.returncode != (1 if has_errors else 0):
        fail(f"exit status {run.returncode}, although errors were printed: {has_errors}")


with tempfile.TemporaryDirectory() as temporary:
    main(temporary)
