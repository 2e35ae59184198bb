"""sitecustomize.py of the CPython that runs in Wine: clocks tick 64 times a second, as those of
Windows do. Wine's are finer, and Dask, which measures the ticks, never ends there.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import time

TICKS = 64


def coarse(clock):
    return lambda: int(clock() * TICKS) / TICKS


time.time, time.monotonic = coarse(time.time), coarse(time.monotonic)
