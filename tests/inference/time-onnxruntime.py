"""Measures networks in onnxruntime on the CPU, beside run-networks --time.

usage: python3 time-onnxruntime.py THREADS RUNS FOLDER…

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import statistics
import sys
import time

import numpy as np

import samples


def milliseconds(folder, threads, runs):
    session = samples.session(os.path.join(folder, "model.onnx"), threads, optimize=True)
    random = np.random.default_rng(1)
    inputs = {port.name: random.random(port.shape, np.float32) for port in session.get_inputs()}
    times = []
    for _ in range(runs + 2):  # two to warm up, as in run-networks
        begin = time.perf_counter()
        session.run(None, inputs)
        times.append(1000 * (time.perf_counter() - begin))
    return times[2:]


def main(arguments):
    if len(arguments) < 3:
        sys.exit(__doc__)
    threads, runs = map(int, arguments[:2])
    for folder in arguments[2:]:
        times = milliseconds(folder, threads, runs)
        print(f"{os.path.basename(folder)}: {statistics.median(times):.3f} ms median, "
              f"{min(times):.3f} ms best")


if __name__ == "__main__":
    main(sys.argv[1:])
