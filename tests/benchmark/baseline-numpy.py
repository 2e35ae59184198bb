"""Measures reductions and transforms in NumPy. Prints calls per second, one line per window.

usage: python3 baseline-numpy.py WARM-UP SECONDS WINDOWS CASE SIDE

opencl-bench contains this script and runs it with the interpreter of GST_OPENCL_PYTHON (default:
python3). Needs `pip install numpy`.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys
import time

try:
    import numpy as np
except ImportError:
    sys.exit("numpy is not installed")

CASES = {
    "reduce": (4096, np.sum),
    "reduce-rows": (4096, lambda array: np.sum(array, 1)),
    "reduce-columns": (4096, lambda array: np.sum(array, 0)),
    "scan": (4096, lambda array: np.cumsum(array, 1)),
    "fft": (1024, np.fft.rfft),
    "fft-two": (1024, np.fft.rfft2),
}


def run(step, seconds):
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds or count == 0:
        step()
        count += 1
    return count / (now - start) if count > 1 else 1 / (time.perf_counter() - start)


def main(warm_up, seconds, windows, case, size):
    side, function = CASES[case]
    side = int(size) or side
    array = np.random.default_rng(1).normal(size=(side, side)).astype(np.float32)
    run(lambda: function(array), float(warm_up))
    for _ in range(int(windows)):
        print(run(lambda: function(array), float(seconds)), flush=True)


main(*sys.argv[1:])
