"""opencl-key: keys a picture, a film or a camera, and puts it over a background

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import signal
import sys

from .arguments import PROGRAM, parsed


def main():
    for number in signal.SIGINT, signal.SIGTERM:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        asked = parsed(sys.argv[1:])
        from .run import run  # --help works without GStreamer
        run(asked)
    except ValueError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
