"""Runs every network in some packages of PyPI with the executor and with onnxruntime.

usage: python3 package-networks.py RUN_NETWORKS FOLDER [NAME…]

The packages are rapidocr-onnxruntime, magika, silero-vad, openwakeword and mediapipe, whose
TensorFlow Lite files are converted. Inputs are a photograph, or random numbers that are the same
in each run. Prints a table:
whether the network is right, the largest error relative to the largest value, and milliseconds
of CPU time for a frame, here and by onnxruntime with one and two threads. The column "others" is the
largest difference between onnxruntime with and without its optimizations, and LiteRT where it runs
the file. A network is right to 1e-4, or to twice what the others differ by: some outputs are the
sigmoid of large negative numbers. One that is not right, and not in KNOWN, is a failure. NAME selects
networks. FOLDER/NAME has the files of each one.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import glob
import importlib
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np

import samples
from samples import packages

fetcher = importlib.import_module("fetch-selfie-model")

WHEELS = {"rapidocr-onnxruntime==1.4.4": (), "silero-vad==6.2.3": (),
          "magika==1.0.3": ("--platform", "manylinux_2_28_x86_64"),
          "openwakeword==0.5.1": (),  # later ones have no networks
          fetcher.WHEEL: fetcher.PLATFORM}
# Lengths that a network leaves open, in the order of its inputs
SHAPES = {
    "ch_PP-OCRv4_det_infer": [(1, 3, 320, 320)],
    "ch_PP-OCRv4_rec_infer": [(1, 3, 48, 320)],
    "ch_ppocr_mobile_v2.0_cls_infer": [(1, 3, 48, 192)],
    "embedding_model": [(1, 76, 32, 1)],
    "melspectrogram": [(1, 1280)],
    "silero_vad_16k_sequence": [(8, 576)],
}
TIMED_FRAMES = 20
# Networks that are not right, and the reason
KNOWN = {
    "mediapipe/face_landmark_with_attention":
        "operators of MediaPipe's own: TransformTensorBilinear and others",
    "openwakeword/hey_jarvis_v0.1": "If on computed values",
    "openwakeword/hey_jarvis_v0.1.tflite": "IF on computed values",
    "openwakeword/melspectrogram.tflite": "the length of its input is open",
}
LINE = re.compile(r"(ok|wrong|failed) (\S+?): (?:difference (\S+) of the largest value)?(.*)")
TIME = re.compile(r"([\d.]+) ms of CPU time")


def networks():
    """{name: file}; a converted file is named after its package, too."""
    found = {}
    for wheel, options in WHEELS.items():
        folder = packages.wheel_folder(wheel, *options)
        package = wheel.split("==")[0].removesuffix("-onnxruntime")
        files = [path for kind in ("onnx", "tflite")
                 for path in sorted(glob.glob(f"{folder}/**/*.{kind}", recursive=True))]
        for path in files:
            name = f"{package}/{os.path.basename(path).removesuffix('.onnx')}"
            found[name if package != "mediapipe" else name.removesuffix(".tflite")] = path
    return found


def random_input(port, shape, random):
    """A photograph, features from -1 to 1, quieter audio, bytes, or the sampling rate"""
    if port.name == "sr":
        return np.array(16000, np.int64)
    if len(shape) == 4 and shape[1] == 3:
        return samples.photograph(*shape[2:])
    if "int" in port.type:
        return random.integers(0, 256, shape).astype(np.int64 if "64" in port.type else np.int32)
    values = random.uniform(-1, 1, shape) * (0.1 if len(shape) == 2 else 1)
    return values.astype(np.float32)


def inputs_of(path, name):
    """Random arrays for a network. An open length of audio is that of 32 ms."""
    random = np.random.default_rng(1)
    shapes = SHAPES.get(name.split("/")[1], [])
    arrays = {}
    for n, port in enumerate(samples.session(path).get_inputs()):
        shape = [length if isinstance(length, int) and length > 0
                 else 512 if port.name == "input" and axis == 1 else 1
                 for axis, length in enumerate(port.shape)]
        arrays[port.name] = random_input(port, shapes[n] if n < len(shapes) else shape, random)
    return arrays


def convert(source, target):
    packages.use("tflite==2.18.0")
    import tfliteconverter
    tfliteconverter.convert_file(source, target)


def spread(path, source, arrays, outputs):
    """The largest difference of other programs from onnxruntime without optimizations"""
    names = list(outputs)
    others = [dict(zip(names, samples.session(path, optimize=True).run(names, arrays)))]
    if source.endswith(".tflite"):
        comparison = importlib.import_module("compare-tflite")
        others.append(comparison.original_outputs(source, *arrays.values()))
    return max(np.abs(outputs[name] - array).max(initial=0)
               / max(np.abs(array).max(initial=0), 1e-6)
               for other in others for name, array in other.items())


def cpu_milliseconds(path, arrays, threads):
    session = samples.session(path, threads, optimize=True)
    session.run(None, arrays)
    session.run(None, arrays)
    begin = time.process_time()
    for _ in range(TIMED_FRAMES):
        session.run(None, arrays)
    return 1000 * (time.process_time() - begin) / TIMED_FRAMES


def run(program, folder, name, source):
    """Returns whether it is right, and the columns of the table."""
    folder = os.path.join(folder, name)
    path = os.path.join(folder, "model.onnx")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    others = ""
    try:
        if source.endswith(".tflite"):
            convert(source, path)
        else:
            shutil.copy(source, path)
        arrays = inputs_of(path, name)
        outputs = samples.write(folder, arrays)
        difference = spread(path, source, arrays, outputs)
        others, tolerance = f"{difference:.1e}", max(1e-4, 2 * min(difference, 1e-2))
    except Exception as fault:  # of many libraries
        return False, ["", "", "", "", others, str(fault).split(": ", 1)[-1][:150]]
    words = [program, "--time", str(TIMED_FRAMES), "--tolerance", str(tolerance), folder]
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, text=True,
                          check=False)
    word, _, error, rest = next(filter(None, map(LINE.match, done.stdout.splitlines()))).groups() \
        if " " in done.stdout else ("failed", "", "", f"exit status {done.returncode}")
    spent = TIME.search(rest)
    theirs = [f"{cpu_milliseconds(path, arrays, threads):.2f}" for threads in (1, 2)]
    return word == "ok", [error or "", spent.group(1) if spent else "", *theirs, others,
                          "" if word == "ok" else rest[:150]]


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    program, folder, *names = arguments
    passed, failed = 0, []
    print("| network | right | error | CPU ms | onnxruntime, 1 thread | 2 threads | others | |")
    print("|---|---|---|---|---|---|---|---|")
    for name, source in networks().items():
        if names and not any(part in name for part in names):
            continue
        right, columns = run(os.path.abspath(program), folder, name, source)
        known = KNOWN.get(name)
        passed += right or known is not None
        if known and not right:
            columns[-1] = known
        elif not right:
            failed.append(f"FAILED: {name}: {columns[-1] or columns[0]}")
        print("|", " | ".join([name, "yes" if right else "no", *columns]), "|", flush=True)
    print("\n".join(failed))
    print(f"{passed} passed, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except packages.Missing as fault:
        sys.exit(str(fault))
