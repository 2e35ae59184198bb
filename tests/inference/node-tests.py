"""Runs the tests of the package onnx with run-networks: single nodes, and the light networks.

usage: python3 node-tests.py [--list] PROGRAM FOLDER

PROGRAM is run-networks. The package comes from PyPI into the user's cache. Test data of the light
networks is written to FOLDER; their weights are nodes in the model. Each test passes, is listed in
DIFFERENT, or needs an operator, a type or an attribute that is not supported. --list prints why the
last ones do not run. Fewer passed tests than EXPECTED are a failure. More are one as well: then
EXPECTED and the table in docs/inference.md are out of date.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

import numpy as np

import samples
from samples import packages

EXPECTED = {"node": 910, "light": 9}
# Tests with another result, and the reason
DIFFERENT = {
    "test_nonmaxsuppression_identical_boxes":
        "the output has as many rows as there can be boxes",
    "test_nonmaxsuppression_suppress_by_IOU_and_scores":
        "the output has as many rows as there can be boxes",
    "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True":
        "the reference counts elements beyond the padding; onnxruntime does not",
    "test_resize_downsample_scales_cubic_align_corners":
        "the reference uses the length before it is rounded; onnxruntime and PyTorch do not",
    "test_resize_downsample_scales_linear_align_corners":
        "the reference uses the length before it is rounded; onnxruntime and PyTorch do not",
    **dict.fromkeys(("test_cast_FLOAT_to_BFLOAT16", "test_castlike_FLOAT_to_BFLOAT16",
                     "test_castlike_FLOAT_to_BFLOAT16_expanded"),
                    "the reference truncates; onnxruntime rounds to the nearest, as ONNX asks for"),
}
# Reasons in error messages of networks that need something that is not supported
UNSUPPORTED = ("not supported", "is no tensor", "must be a constant")
LINE = re.compile(r"(ok|wrong|failed) ([^ :]+):? ?(.*)")


def run(program, folders):
    """Returns {name: (word, reason)}. `program` is the command's first words. A test that ends the process is wrong, and the next run
    begins behind it."""
    results, rest = {}, folders
    while rest:
        done = subprocess.run([*program, *rest], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        lines = [match.groups() for match in map(LINE.match, done.stdout.splitlines()) if match]
        results.update({name: (word, reason) for word, name, reason in lines})
        rest = rest[len(lines):]
        if rest:
            results[os.path.basename(rest[0])] = ("wrong", f"exit status {done.returncode}")
            rest = rest[1:]
    return results


def light_networks(data, folder):
    """Folders as run-networks takes them, with the input that onnx's own runner makes."""
    numbers = np.arange(3 * 224 * 224).reshape(1, 3, 224, 224)
    image = (numbers / numbers.size).astype(np.float32)
    for model in sorted(glob.glob(os.path.join(data, "light", "*.onnx"))):
        name = os.path.basename(model).replace(".onnx", "")
        samples.write_arrays(os.path.join(folder, name), {"": image}, {})
        shutil.copy(model, os.path.join(folder, name, "model.onnx"))
        shutil.copy(model.replace(".onnx", "_output_0.pb"),
                    os.path.join(folder, name, "test_data_set_0", "output_0.pb"))
        yield os.path.join(folder, name)


def judge(kind, results, lists):
    """Prints the result of one kind of tests. Returns the numbers of passed and failed ones."""
    passed, failed, reasons = 0, 0, collections.Counter()
    for name, (word, reason) in sorted(results.items()):
        unsupported = word == "failed" and any(text in reason for text in UNSUPPORTED)
        if word == "ok":
            passed += 1
        elif word == "wrong" and name in DIFFERENT:
            print(f"{name}: known difference: {DIFFERENT[name]}")
        elif unsupported:
            reasons[reason] += 1
        else:
            print(f"FAILED: {name}: {word}: {reason}")
            failed += 1
    print(f"{kind}: {len(results)} tests, {passed} passed, {sum(reasons.values())} not supported")
    if lists:
        for reason, count in reasons.most_common():
            print(f"{count:4} {reason}")
    if passed != EXPECTED[kind]:
        print(f"FAILED: {kind}: {passed} tests passed, expected {EXPECTED[kind]}")
        failed += 1
    return passed, failed


def main(arguments):
    lists = "--list" in arguments
    arguments = [argument for argument in arguments if argument != "--list"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    program, folder = arguments
    data = os.path.join(packages.wheel_folder("onnx==1.16.2"), "onnx/backend/test/data")
    nodes = sorted(glob.glob(os.path.join(data, "node", "*")))
    counts = [judge("node", run([program], nodes), lists),
              judge("light", run([program], list(light_networks(data, folder))), lists)]
    passed, failed = map(sum, zip(*counts))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except packages.Missing as fault:
        sys.exit(str(fault))
