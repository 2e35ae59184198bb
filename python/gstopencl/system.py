"""Functions that differ between operating systems

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import ctypes
import errno
import itertools
import os
import signal
import socket
from multiprocessing import resource_tracker

from .launch import Value

if os.name == "nt":
    import msvcrt
else:
    import fcntl

READ_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # a FIFO is not waited for
FIRST_CAMERA = "0" if os.name == "nt" else "/dev/video0"
CAMERA_HELP = "such as /dev/video0" if os.name != "nt" else "by its name or number, such as 0"
ERROR_ALREADY_EXISTS = 183
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


def load_library(name, number):
    """Returns a shared library of these names: libNAME.so.NUMBER, or NAME.dll and NAME-NUMBER.dll of
    Windows, where OpenCL has no number."""
    if os.name != "nt":
        return ctypes.CDLL(f"lib{name}.so.{number}")
    return ctypes.CDLL("OpenCL.dll" if name == "OpenCL" else f"{name}-{number}.dll")


def claim_name(name):
    """Returns a claim on a name, which no two processes of a user on a host have and which ends with
    this process: a socket, or a mutex of Windows. Returns None if another process has it."""
    if os.name == "nt":
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.CreateMutexW.restype = ctypes.c_void_p
        mutex = ctypes.c_void_p(kernel.CreateMutexW(None, False, f"Local\\{name}"))
        if not mutex:
            raise ctypes.WinError(ctypes.get_last_error())
        if ctypes.get_last_error() != ERROR_ALREADY_EXISTS:
            return mutex
        kernel.CloseHandle(mutex)
        return None
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0{name}-{os.getuid()}")
        return claim
    except OSError as error:
        claim.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None


def claim_device(devices):
    """Returns a device, and a claim on it that ends with this process, however it ends. More workers
    than devices share them, and all have the first where the system has no such names."""
    for seat in itertools.count():
        try:
            claim = claim_name(f"oct-process-{seat}")
        except OSError:
            return devices[0], None
        if claim:
            return devices[seat % len(devices)], claim


def hint_for(library, package):
    """Returns what to install for a library of Python, which is in a package of Debian."""
    return f"pip install {library}" if os.name == "nt" else f"install {package}"


def camera_source(name, camera):
    """Returns the words of a launch line for a camera. `name`: of the element"""
    if os.name != "nt":
        return [f"v4l2src name={name}", Value("device", camera)]
    return [f"mfvideosrc name={name}",
            Value("device-index" if camera.isdecimal() else "device-name", camera)]


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
