"""Waits with a time limit

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math


def wait(call, seconds):
    """Calls `call (timeout=…)` until it returns true, for up to `seconds` or, with None, for ever.
    Waits in steps of less than a second: of the time in which this process is stopped, at most
    one step counts."""
    steps = math.ceil(seconds) + 1 if seconds else 1
    return any(call(timeout=seconds and seconds / steps) for _ in range(steps))
