"""opencl-key: keys a picture, a film or a camera, and puts it over a background

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import signal
import sys

from .arguments import PROGRAM, parsed


class Ended(SystemExit):
    """The end by a signal"""


def end(number, _):
    raise Ended(128 + number)


def main():
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, end)
    try:
        asked = parsed(sys.argv[1:])
        from .run import run  # --help works without GStreamer
        run(asked)
    except Ended as ended:
        # A driver may still compile in its threads, and once the usual end of a process crashed.
        sys.stderr.flush()
        os._exit(ended.code)
    except ValueError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
