"""A disk that is full, for the files of this process

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import resource


@contextlib.contextmanager
def full_disk(room=100):
    """Files cannot grow beyond `room` bytes: writing fails with EFBIG."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
