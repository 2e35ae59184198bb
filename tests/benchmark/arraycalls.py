#!/usr/bin/python3
"""Prints the time of calls of gstopencl.run beside NumPy's, for small arrays and for 10^7 floats, in
turns: medians in milliseconds.

Usage: arraycalls.py [TURNS]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import statistics
import sys
import time

import numpy as np

import gstopencl

CASES = ("sqrt (x*x + y*y)", lambda x, y: np.sqrt(x * x + y * y)), \
    ("exp (-x) * sin (y)", lambda x, y: np.exp(-x) * np.sin(y))


def milliseconds(function):
    begin = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - begin)


def filled(make, length):
    array = make(length, "float32")
    array[:] = np.linspace(1, 2, length, dtype="float32")
    return array


turns = int(sys.argv[1]) if len(sys.argv) > 1 else 20
print(f"{'expression':20} {'floats':>9} {'NumPy':>9} {'run':>9} {'of empty ()':>12}")
for text, by_numpy in CASES:
    for length in 1000, 10**7:
        x, shared = filled(np.empty, length), filled(gstopencl.empty, length)
        calls = (lambda: by_numpy(x, x), lambda: gstopencl.run(text, x=x, y=x),
                 lambda: gstopencl.run(text, x=shared, y=shared))
        for call in calls:
            call()
        times = zip(*([milliseconds(call) for call in calls] for _ in range(turns)))
        numpy, run, of_shared = map(statistics.median, times)
        print(f"{text:20} {length:9} {numpy:9.3f} {run:9.3f} {of_shared:12.3f}")
