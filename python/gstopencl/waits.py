"""Waits with a time limit

SPDX-License-Identifier: LGPL-2.1-or-later
"""


def wait(call, seconds):
    """Calls `call (timeout=…)` until it returns true, for up to `seconds` or, with None, for ever.
    Waits in steps, the longest a second: of the time in which this process is stopped, at most one
    step counts."""
    if not seconds:
        return call(timeout=seconds)
    step, done = min(seconds / 2, 1), False
    while not done and seconds > 0:
        done = call(timeout=min(step, seconds))
        seconds -= step
    return done
