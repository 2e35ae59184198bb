"""Writes the input files of random-pipelines, and the catalogue, into a folder: randominputs.py FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import shutil
import subprocess
import sys

import numpy as np

root = pathlib.Path(__file__).resolve().parents[2]
for name in ("faults", "check/pipelines", "../tools"):
    sys.path.insert(0, str(root / "tests" / name))
import octwriter  # noqa: E402
import onnxwriter  # noqa: E402
import sweep  # noqa: E402


def main():
    folder = pathlib.Path(sys.argv[1])
    chance = np.random.default_rng(1)
    sweep.write_inputs(str(folder))
    shutil.copy(root / "tests" / "catalogue.txt", folder)
    subprocess.run(["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "!",
                    "video/x-raw,width=40,height=30", "!", "pngenc", "!",
                    "filesink", f"location={folder}/picture.png"], check=True)
    frames = chance.integers(0, 4096, (6, 16, 64), dtype="u2")
    octwriter.Recording(frames, apodization=frames[:, :4]).write(folder / "recording.oct")
    network = onnxwriter.Network("matte")
    network.input("frame", (1, 3, 8, 8))
    network.add("Conv", "frame", np.array([1, 0, 0], "float32").reshape(1, 3, 1, 1), output="matte")
    network.output("matte", (1, 1, 8, 8))
    (folder / "matte.onnx").write_bytes(network.encoded())


if __name__ == "__main__":
    main()
