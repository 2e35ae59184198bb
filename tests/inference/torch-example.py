"""Runs docs/examples/torch-frames.py, which checks that a tensor has the memory of its frame.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import subprocess
import sys

from debiantorch import torch_environment

EXAMPLE = pathlib.Path(__file__).parents[2] / "docs/examples/torch-frames.py"
EXPECTED = 3 * ["mean of (240, 322, 4): 255.0 128.0 0.0"]

said = subprocess.run([sys.executable, EXAMPLE], env=torch_environment(), stdout=subprocess.PIPE,
                      text=True, check=False).stdout.splitlines()
print(*said, sep="\n")
print("1 passed, 0 failed" if said == EXPECTED else "0 passed, 1 failed")
