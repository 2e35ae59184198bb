#!/usr/bin/python3
"""Fetches MediaPipe's network for selfie segmentation and converts it to ONNX.

usage: python3 fetch-selfie-model.py [--landscape]

The network separates people from the background. It is part of the PyPI package mediapipe and
licensed under Apache-2.0. Prints the path of the ONNX file, which is in the user's cache.
--landscape: the network for 256x144 instead of 256x256 pixels. Needs python3-pip.

Input: 1x3xHEIGHTxWIDTH, red, green and blue from 0 to 1. Output: 1x1xHEIGHTxWIDTH, from 0
(background) to 1 (person).

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import glob
import hashlib
import os
import shutil
import sys

import packages

# A wheel of one machine and Python, of which only data is used
WHEEL = "mediapipe==0.10.14"
PLATFORM = ("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311",
            "--platform", "manylinux_2_17_x86_64")
NETWORKS = {
    "selfie_segmentation":
        "9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c",
    "selfie_segmentation_landscape":
        "a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd",
}


def fetch(name, folder="selfie_segmentation", expected=""):
    """Returns the paths of the TensorFlow Lite file and of its license."""
    wheel = packages.wheel_folder(WHEEL, *PLATFORM)
    network = os.path.join(wheel, "mediapipe/modules", folder, f"{name}.tflite")
    expected = expected or NETWORKS[name]
    with open(network, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != expected:
        raise packages.Missing(f"{network} has the SHA-256 {digest}, expected {expected}")
    return network, glob.glob(os.path.join(wheel, "mediapipe-*.dist-info", "LICENSE"))[0]


def convert(network, license_file):
    """Returns the path of the ONNX file, which is in the user's cache."""
    packages.use("tflite==2.18.0")
    import tfliteconverter

    folder = packages.cache_folder("mediapipe")
    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, os.path.basename(network).replace(".tflite", ".onnx"))
    tfliteconverter.convert_file(network, target)
    shutil.copy(license_file, folder)
    print(f"License: Apache-2.0, {os.path.join(folder, 'LICENSE')}", file=sys.stderr)
    return target


def main(arguments):
    if arguments not in ([], ["--landscape"]):
        sys.exit(__doc__)
    print(convert(*fetch("selfie_segmentation" + ("_landscape" if arguments else ""))))


if __name__ == "__main__":
    main(sys.argv[1:])
