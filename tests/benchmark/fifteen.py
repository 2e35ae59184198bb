#!/usr/bin/env python3
"""Compares fifteen rates of opencl-bench between two builds, in alternation

usage: fifteen.py [--rounds N] [--device DEVICE] [--only PATTERN] BEFORE AFTER

BEFORE and AFTER are commands that run another command with a build's plugins, such as
"meson devenv -C build --workdir .". `opencl-bench` must be found by them. A row is slower if the
median of its ratios is below 1 by more than 3 % and by more than BEFORE's own rates spread.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import fnmatch
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

ROWS = {
    "oct": ["host-pinned", "host-60-lines", "device", "device-nufft", "device-doppler"],
    "keying": ["host", "composited", "camera-soft", "conversion", "refine"],
    "compute": ["expression", "reduce", "convolve-3x3-64"],
    "fft": ["auto-complex"],
    "inference": ["executor"],
}
MARGIN = 0.03


def network(folder):
    """Returns the network of the row inference/executor."""
    script = pathlib.Path(__file__).parents[1] / "inference" / "make-networks.py"
    subprocess.run([sys.executable, script, folder], check=True, stdout=subprocess.DEVNULL)
    return max(pathlib.Path(folder).rglob("*.onnx"), key=lambda path: path.stat().st_size)


def measure(prefix, command, case, options, model):
    """Returns the median rate of a case, or None if it cannot run."""
    words = shlex.split(prefix) + ["opencl-bench", command]
    if command == "inference":
        words.append(str(model))
    words += ["--case", case, "--no-baselines", "--json", "--seconds", "0.5", "--windows", "5",
              "--warm-up", "0.5", "--device", options.device]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    for line in result.stdout.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if "rate" in row and row["what"].startswith(f"{command}/{case}"):
            return row["rate"]
    print(result.stderr[-500:], file=sys.stderr)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each build (5)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--only", default="*", help="rows of this name, such as 'oct/*'")
    options = parser.parse_args()
    slower = 0
    print(f"{'row':26}{'before':>12}{'after/before':>14}{'spread of before':>18}")
    with tempfile.TemporaryDirectory() as folder:
        model = network(folder)
        for command, cases in ROWS.items():
            for case in cases:
                name = f"{command}/{case}"
                if not fnmatch.fnmatch(name, options.only):
                    continue
                pairs = [[measure(side, command, case, options, model)
                          for side in (options.before, options.after)]
                         for _ in range(options.rounds)]
                if not all(all(pair) for pair in pairs):
                    print(f"{name:26} cannot run")
                    slower += 1
                    continue
                before = [pair[0] for pair in pairs]
                ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
                spread = (max(before) - min(before)) / statistics.median(before)
                is_slower = ratio < 1 - max(MARGIN, spread)
                slower += is_slower
                print(f"{name:26}{statistics.median(before):12.4g}{ratio:14.3f}{spread:18.3f}"
                      + ("  slower" if is_slower else ""), flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
