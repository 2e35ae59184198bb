"""Measures the same work in numba. Prints calls per second, one line per window.

usage: python3 baseline-numba.py WARM-UP SECONDS WINDOWS CASE SIDE

opencl-bench contains this script and runs it with the interpreter of GST_OPENCL_PYTHON (default:
python3). Needs `pip install numba`.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math
import sys
import time

try:
    import numba
    import numpy as np
except ImportError:
    sys.exit("numba is not installed")

fast = numba.njit(parallel=True, fastmath=True)


@fast
def mesh(output):
    lines, columns = output.shape
    latitude, longitude = math.radians(30), math.radians(101)
    for y in numba.prange(lines):
        north = math.radians(29 + 2 * y / (lines - 1))
        sine_y = math.sin((north - latitude) / 2)
        cosines = math.cos(latitude) * math.cos(north)
        for x in range(columns):
            east = math.radians(99 + 2 * x / (columns - 1))
            sine_x = math.sin((east - longitude) / 2)
            haversine = sine_y * sine_y + cosines * sine_x * sine_x
            output[y, x] = 2 * 6371 * math.asin(math.sqrt(haversine))


@fast
def mandelbrot(output, iterations):
    lines, columns = output.shape
    scale = 3.0 / columns
    for line in numba.prange(lines):
        for column in range(columns):
            real = -0.5 + (column - columns / 2) * scale
            imaginary = (line - lines / 2) * scale
            x = y = 0.0
            count = 0
            for _ in range(iterations):
                xx, yy = x * x, y * y
                if xx + yy > 4:
                    break
                count += 1
                y = 2 * x * y + imaginary
                x = xx - yy + real
            output[line, column] = count * 255 // iterations


@numba.njit(fastmath=True)
def distribution(x):
    k = np.float32(1) / (np.float32(1) + np.float32(0.2316419) * abs(x))
    tail = np.float32(1.330274429)
    tail = tail * k - np.float32(1.821255978)
    tail = tail * k + np.float32(1.781477937)
    tail = tail * k - np.float32(0.356563782)
    tail = tail * k + np.float32(0.319381530)
    tail *= k * np.float32(0.3989422804) * math.exp(np.float32(-0.5) * x * x)
    return np.float32(1) - tail if x > 0 else tail


@fast
def blackscholes(options, output):
    rate, volatility = np.float32(0.02), np.float32(0.3)
    for n in numba.prange(options.shape[1]):
        now, strike, years = options[0, n], options[1, n], options[2, n]
        spread = volatility * math.sqrt(years)
        drift = (rate + np.float32(0.5) * volatility * volatility) * years
        d1 = (math.log(now / strike) + drift) / spread
        later = strike * math.exp(-rate * years)
        call = now * distribution(d1) - later * distribution(d1 - spread)
        output[0, n] = call
        output[1, n] = call - now + later


def step_of(case, size):
    if case == "mesh":
        output = np.empty((size or 1000, size or 1000))
        return lambda: mesh(output)
    if case.startswith("mandelbrot-"):
        output = np.empty((size or 1024, size or 1536), np.uint8)
        iterations = int(case.split("-")[1])
        return lambda: mandelbrot(output, iterations)
    n = size * size or 4_000_000
    rng = np.random.default_rng(1)
    options = np.stack([rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)])
    options, output = options.astype(np.float32), np.empty((2, n), np.float32)
    return lambda: blackscholes(options, output)


def run(step, seconds):
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds or count == 0:
        step()
        count += 1
    return count / (now - start) if count > 1 else 1 / (time.perf_counter() - start)


def main(warm_up, seconds, windows, case, size):
    step = step_of(case, int(size))
    step()  # is compiled
    run(step, float(warm_up))
    for _ in range(int(windows)):
        print(run(step, float(seconds)), flush=True)


main(*sys.argv[1:])
