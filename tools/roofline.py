#!/usr/bin/env python3
"""Draws the roofline of a profile: the arithmetic that each element, or layer of a network, reaches, by
operations for each byte of its inputs and outputs, below what the device's memory and arithmetic allow.

Usage: roofline.py [OPTION...] LOG > PICTURE.svg

LOG is what GST_TRACERS="openclstats(profile=true)" GST_DEBUG=GST_TRACER:7 GST_DEBUG_NO_COLOR=1 prints
to stderr. Without --memory-rate and --arithmetic-rate, this measures them by a copy and by
multiplications on the device. It prints them, and a line for each point, to stderr.

(S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual performance model, 2009.)

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import html
import math
import os
import pathlib
import re
import subprocess
import sys

WIDTH, HEIGHT, MARGIN = 900, 560, 70
FIELD = re.compile(r'([\w-]+)=\(\w+\)("(?:[^"\\]|\\.)*"|[^,;]*)')
NUMBERS, ITEMS, ROUNDS = 1 << 24, 1 << 16, 4096
COPY = "kernel void copy (global const float4 *input, global float4 *output)" \
    "{ size_t i = get_global_id (0); output[i] = input[i]; }"
MULTIPLY = "kernel void multiply (global const float *input, global float *output) {" \
    "size_t at = get_global_id (0); float4 a = input[at], b = a + 1, c = a + 2, d = a + 3;" \
    f"for (int n = 0; n < {ROUNDS}; n++) {{ a = mad (a, 0.5f, b); b = mad (b, 0.5f, c);" \
    "c = mad (c, 0.5f, d); d = mad (d, 0.5f, a); } a += b + c + d;" \
    "output[at] = a.x + a.y + a.z + a.w; }"
MULTIPLY_FLOP = ITEMS * ROUNDS * 4 * 4 * 2


def records_of(log):
    """Yields the fields of each kernel that the log has a time of."""
    for line in log.splitlines():
        if ":: opencl-profile, " in line:
            fields = {name: value.strip('"') for name, value in FIELD.findall(line)}
            if int(fields["time-ns"]) > 0:
                yield fields


def measure(device):
    """Returns the rates of memory in GB/s and of arithmetic in GFLOP/s."""
    caps = "other/tensors,types=float32,dimensions=(string)"
    line = ["openclkernelsrc", "num-buffers=10", "expression=i0", f"output-caps={caps}{NUMBERS}",
            f"device={device}", "!", "openclkernel", f"source={COPY}", f"global-size={NUMBERS // 4}",
            "!", "openclkernel", f"source={MULTIPLY}", f"output-caps={caps}{ITEMS}", "!", "fakesink"]
    done = subprocess.run(["gst-launch-1.0", "-q", *line], stderr=subprocess.PIPE, text=True, env={
        **os.environ, "GST_TRACERS": "openclstats(profile=true)", "GST_DEBUG": "GST_TRACER:7",
        "GST_DEBUG_NO_COLOR": "1"})
    found = {fields["kernel"]: int(fields["count"]) / int(fields["time-ns"])
             for fields in records_of(done.stderr)}
    if done.returncode or not {"copy", "multiply"} <= found.keys():
        sys.exit(f"roofline: the rates cannot be measured: {done.stderr}")
    return found["copy"] * 2 * 4 * NUMBERS, found["multiply"] * MULTIPLY_FLOP


def picture(points, memory, arithmetic):
    """Returns an SVG of points (operations for each byte, GFLOP/s, label)."""
    ridge = arithmetic / memory
    left, right = (math.floor(math.log10(min([ridge, *(x for x, _, _ in points)]))) - 1,
                   math.ceil(math.log10(max([ridge, *(x for x, _, _ in points)]))) + 1)
    top = math.ceil(math.log10(max([arithmetic, *(y for _, y, _ in points)])))
    bottom = min(top - 3, *(math.floor(math.log10(y)) for _, y, _ in points), top)

    def place(x, y):
        return (MARGIN + (math.log10(x) - left) / (right - left) * (WIDTH - 2 * MARGIN),
                HEIGHT - MARGIN - (math.log10(y) - bottom) / (top - bottom) * (HEIGHT - 2 * MARGIN))

    def line(x1, y1, x2, y2, colour):
        return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'

    def text(x, y, said, anchor="start"):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(said)}</text>'

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for power in range(left, right + 1):
        x, y = place(10**power, 10**bottom)
        parts += [line(x, y, x, MARGIN, "#ddd"), text(x, y + 18, f"{10.0**power:g}", "middle")]
    for power in range(bottom, top + 1):
        x, y = place(10**left, 10**power)
        parts += [line(x, y, WIDTH - MARGIN, y, "#ddd"), text(x - 6, y + 4, f"{10.0**power:g}", "end")]
    parts += [text(WIDTH / 2, HEIGHT - 20, "FLOP / byte of inputs and outputs", "middle"),
              text(8, 30, "GFLOP/s")]
    start = max(10.0**left, 10.0**bottom / memory)
    corner = place(ridge, arithmetic)
    parts += [line(*place(start, start * memory), *corner, "#06c"),
              line(*corner, *place(10**right, arithmetic), "#06c"),
              text(*place(start, start * memory * 2), f"{memory:.4g} GB/s"),
              text(corner[0] + 4, corner[1] - 6, f"{arithmetic:.4g} GFLOP/s")]
    for x, y, label in points:
        at = place(x, y)
        parts += [f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4" fill="#c30"/>',
                  text(at[0] + 7, at[1] + 4, label)]
    return "\n".join([*parts, "</svg>"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("log", type=pathlib.Path)
    parser.add_argument("--memory-rate", type=float, metavar="GB/s")
    parser.add_argument("--arithmetic-rate", type=float, metavar="GFLOP/s")
    parser.add_argument("--device", default="auto", help="as the property of the elements")
    asked = parser.parse_args()
    memory, arithmetic = asked.memory_rate, asked.arithmetic_rate
    if not memory or not arithmetic:
        measured = measure(asked.device)
        memory, arithmetic = memory or measured[0], arithmetic or measured[1]
    print(f"memory-rate={memory:.4g},arithmetic-rate={arithmetic:.4g}", file=sys.stderr)
    work = {}
    for fields in records_of(asked.log.read_text(errors="replace")):
        numbers = [int(fields[name]) for name in ("flop", "bytes", "time-ns")]
        if all(numbers):
            label = f"{fields['element']} {fields['layer'] or fields['kernel']}"
            key = fields["element"], fields["layer"]
            before, label = work.get(key, ((0, 0, 0), label))
            work[key] = [a + b for a, b in zip(before, numbers)], label
    points = []
    for (flop, size, time), label in work.values():
        x, y = flop / size, flop / time
        points.append((x, y, label))
        print(f"{label}: {x:.3g} FLOP/byte, {y:.4g} GFLOP/s, "
              f"{100 * y / min(arithmetic, x * memory):.3g} % of the roof", file=sys.stderr)
    if not points:
        sys.exit(f"roofline: {asked.log}: no work whose operations and bytes are known")
    print(picture(points, memory, arithmetic))


main()
