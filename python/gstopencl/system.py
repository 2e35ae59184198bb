"""Functions that differ between operating systems

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import errno
import itertools
import os
import signal
import socket
from multiprocessing import resource_tracker

if os.name == "nt":
    import msvcrt
else:
    import fcntl

READ_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # a FIFO is not waited for
END_AT_ONCE = getattr(signal, "SIGKILL", signal.SIGTERM)


def lock_folder(folder):
    """Locks a folder until this process ends. Raises BlockingIOError if another one has locked
    it, and OSError."""
    if os.name != "nt":
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        raise BlockingIOError from None


def claim_device(devices):
    """Returns a device, and a claim on it that ends with this process, however it ends: a name of
    a socket, which no two processes of a host have. More workers than devices share them, and all
    have the first where the system has no such names."""
    if not hasattr(socket, "AF_UNIX"):
        return devices[0], None
    for seat in itertools.count():
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0oct-process-{os.getuid()}-{seat}")
            return devices[seat % len(devices)], claim
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                return devices[0], None


@contextlib.contextmanager
def without_interrupts():
    """Blocks SIGINT and SIGTERM in threads and processes that start here, where the system can; the
    caller ends them. The resource tracker of Python starts first: it would unblock the signals, and
    warn of killed workers."""
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [
        os.environ.get("PYTHONWARNINGS"), "ignore::UserWarning:multiprocessing.resource_tracker"]))
    if os.name == "nt":
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def take_room(file):
    """Takes the room of an open file with holes. Windows makes no holes by itself."""
    if os.name != "nt":
        os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)


def write_file_to_disk(path):
    """Waits until a file is on the disk."""
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
