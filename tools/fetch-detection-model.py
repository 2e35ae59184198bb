#!/usr/bin/python3
"""Fetches MediaPipe's network that finds faces, or hands, and converts it to ONNX.

usage: python3 fetch-detection-model.py [--hands]

The networks are part of the PyPI package mediapipe and licensed under Apache-2.0. Prints the path
of the ONNX file, which is in the user's cache. A file of the same name with .txt has its label.
Needs python3-pip.

Input: faces 1x3x128x128, red, green and blue from -1 to 1; hands 1x3x192x192, from 0 to 1. Outputs
are those of opencltensordecoder method=anchors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import sys

fetcher = importlib.import_module("fetch-selfie-model")

# Name, folder, SHA-256, and label
FACES = ("face_detection_short_range", "face_detection",
         "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8", "face")
HANDS = ("palm_detection_full", "palm_detection",
         "1b14e9422c6ad006cde6581a46c8b90dd573c07ab7f3934b5589e7cea3f89a54", "hand")


def main(arguments):
    if arguments not in ([], ["--hands"]):
        sys.exit(__doc__)
    *network, label = HANDS if arguments else FACES
    target = fetcher.convert(*fetcher.fetch(*network))
    with open(target.replace(".onnx", ".txt"), "w", encoding="ascii") as file:
        print(label, file=file)
    print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
