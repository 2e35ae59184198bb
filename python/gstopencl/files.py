"""Files that are written whole or not at all

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import errno
import os
import secrets
import stat

from .system import write_file_to_disk


class NamedError(OSError):
    """An error whose file name is that which the user gave"""


@contextlib.contextmanager
def errors_named(label):
    """Names `label` as the file of an OSError, unless an inner block has named it."""
    try:
        yield
    except NamedError:
        raise
    except OSError as error:
        raise NamedError(error.errno, error.strerror or str(error), str(label)) from None


def adopt(target, unfinished):
    """Gives a new file the mode and the owner of the file that it replaces, if there is one."""
    try:
        state = os.stat(target)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL,
                      "a folder" if stat.S_ISDIR(state.st_mode) else "not a regular file")
    with contextlib.suppress(PermissionError, AttributeError):  # Windows has no such owners
        os.chown(unfinished, state.st_uid, state.st_gid)
    os.chmod(unfinished, state.st_mode & 0o777)


def publish(unfinished, target):
    write_file_to_disk(unfinished)
    os.replace(unfinished, target)


@contextlib.contextmanager
def replaced(path, label=None):
    """Yields the name of a file that takes the place of `path` when the block has ended. A failure
    leaves the file there as it was. Links are followed, and a file that is replaced keeps its mode
    and, where the user may set it, its owner. Raises OSError, which names `label` or the path."""
    target = os.path.realpath(path)
    unfinished = os.path.join(os.path.dirname(target), f".gstopencl-{secrets.token_hex(8)}")
    with errors_named(label or path):
        try:
            open(unfinished, "xb").close()
            adopt(target, unfinished)
            yield unfinished
            publish(unfinished, target)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)


def write_whole(path, data):
    """Replaces a file by a text or by bytes. Raises OSError."""
    with replaced(path) as unfinished, open(unfinished, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
