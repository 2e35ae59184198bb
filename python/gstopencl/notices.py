"""Warnings: shown, or collected for the report of a task

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import threading
import warnings

of_thread = threading.local()


def warn(text):
    """Warns the caller, or adds to what this thread collects."""
    if getattr(of_thread, "collected", None) is None:
        warnings.warn(text, UserWarning, stacklevel=3)
    else:
        of_thread.collected.add(text)


@contextlib.contextmanager
def collected():
    """Yields the set to which this thread adds its warnings."""
    of_thread.collected = set()
    try:
        yield of_thread.collected
    finally:
        of_thread.collected = None
