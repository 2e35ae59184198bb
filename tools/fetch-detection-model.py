#!/usr/bin/python3
"""Fetches MediaPipe's network that finds faces, or hands, and converts it to ONNX, or the three
networks of RapidOCR that find lines of text, tell which are upside down, and read them.

usage: python3 fetch-detection-model.py [--hands|--text]

The networks are part of the PyPI packages mediapipe and rapidocr-onnxruntime and licensed under
Apache-2.0. Prints the paths of the ONNX files, which are in the user's cache, one a line. A file of
the same name with .txt has labels. Needs python3-pip.

Input: faces 1x3x128x128, red, green and blue from -1 to 1; hands 1x3x192x192, from 0 to 1. Outputs
are those of opencltensordecoder method=anchors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import os
import sys

import packages

fetcher = importlib.import_module("fetch-selfie-model")

# Name, folder, SHA-256, and label
FACES = ("face_detection_short_range", "face_detection",
         "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8", "face")
HANDS = ("palm_detection_full", "palm_detection",
         "1b14e9422c6ad006cde6581a46c8b90dd573c07ab7f3934b5589e7cea3f89a54", "hand")
TEXT = ("ch_PP-OCRv4_det_infer.onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "ch_PP-OCRv4_rec_infer.onnx")


def main(arguments):
    if arguments not in ([], ["--hands"], ["--text"]):
        sys.exit(__doc__)
    if arguments == ["--text"]:
        folder = packages.wheel_folder("rapidocr-onnxruntime==1.4.4")
        folder = os.path.join(folder, "rapidocr_onnxruntime", "models")
        with open(os.path.join(folder, TEXT[1].replace(".onnx", ".txt")), "w",
                  encoding="ascii") as file:
            print("0\n180", file=file)  # degrees
        print("\n".join(os.path.join(folder, name) for name in TEXT))
        return
    *network, label = HANDS if arguments else FACES
    target = fetcher.convert(*fetcher.fetch(*network))
    with open(target.replace(".onnx", ".txt"), "w", encoding="ascii") as file:
        print(label, file=file)
    print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
