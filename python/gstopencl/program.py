"""Entry point of all programs: turns errors and signals into a line and an exit status

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import os
import signal
import sys
import time
import traceback

MODULES = {"oct-calibrate": "gstopencl.calibrate", "oct-process": "gstopencl.batch",
           "opencl-detect": "gstopencl.detect", "opencl-key": "gstopencl.keying.main",
           "opencl-view": "gstopencl.view.main"}
SIGNALS = signal.SIGINT, signal.SIGTERM
CLEANUP_TIMEOUT = 5  # seconds after a signal from which on another one ends the process at once
# Errors whose text is a sentence for users. Others are faults of the program.
SENTENCES = OSError, ValueError, RuntimeError, ImportError


class Failed(Exception):
    """A program that cannot go on, with the reason"""


class Ended(KeyboardInterrupt):
    """The end by a signal, with the exit status that shells give it"""


caught = []  # when signals came


def end(number, _):
    """Raises Ended. A second signal does not interrupt the cleanup."""
    caught.append(time.monotonic())
    if caught[-1] - caught[0] > CLEANUP_TIMEOUT:
        os._exit(128 + number)
    if len(caught) == 1:
        raise Ended(128 + number)


def reason_of(error):
    """Returns the reason of an error in one line."""
    said = getattr(error, "message", None) or str(error)  # GLib.Error has a message.
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else f"{error.filename}: "
        said = f"{file}{error.strerror}"
    elif type(error).__module__ == "builtins" and not isinstance(error, SENTENCES):
        said = f"{type(error).__name__}: {said} (--debug shows where)"
    return " ".join(said.split("\n"))


def run(name, module):
    """Calls main (words) of a module with the arguments of the program, and ends the process. The
    exit status is 1 after a failure, and 2 if an argument is wrong: main () raises ValueError."""
    words = sys.argv[1:]
    debug = "--debug" in words[:words.index("--") if "--" in words else None]
    if debug:
        words.remove("--debug")
    for number in SIGNALS:
        signal.signal(number, end)
    try:
        importlib.import_module(module).main(words)
        sys.stdout.flush()
    except Ended as ended:
        # A driver may still compile in its threads, and once the usual end of a process crashed.
        sys.stderr.flush()
        os._exit(ended.args[0])
    except Exception as error:  # of any library
        if debug:
            traceback.print_exc()
        else:
            print(f"{name}: {reason_of(error)}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ValueError) else 1)


def main():
    """Runs the program by whose name Python was started, as pip's scripts do."""
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    run(name, MODULES[name])
