"""opencl-key: keys a picture, a film or a camera, and puts it over a background

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .. import program
from .arguments import PROGRAM, parsed


def main(words):
    asked = parsed(words)
    from .run import run  # --help works without GStreamer
    run(asked)


if __name__ == "__main__":
    program.run(PROGRAM, "gstopencl.keying.main")
