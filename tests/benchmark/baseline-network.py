"""Measures a network in onnxruntime or PyTorch. Prints runs per second, one line per window.

usage: python3 baseline-network.py WARM-UP SECONDS WINDOWS LIBRARY MODEL SHAPE

SHAPE is that of the input, such as 1x3x256x256. opencl-bench contains this script and runs it with
the interpreter of GST_OPENCL_PYTHON (default: python3). Needs `pip install onnxruntime`, or
`pip install onnx2torch` for PyTorch.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys
import time


def with_onnxruntime(model, image):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: image})


def with_torch(model, image):
    import onnx2torch
    import torch
    torch.set_num_threads(2)
    torch.set_grad_enabled(False)
    network, image = onnx2torch.convert(model).eval(), torch.from_numpy(image)
    return lambda: network(image)


def run(step, seconds):
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds or count == 0:
        step()
        count += 1
    return count / (now - start) if count > 1 else 1 / (time.perf_counter() - start)


def main(warm_up, seconds, windows, library, model, shape):
    make = {"onnxruntime": with_onnxruntime, "torch": with_torch}[library]
    try:
        import numpy as np
        lengths = [int(length) for length in shape.split("x")]
        image = np.random.default_rng(1).random(lengths, np.float32)
        step = make(model, image)
    except ImportError as error:
        sys.exit(str(error))
    run(step, float(warm_up))
    for _ in range(int(windows)):
        print(run(step, float(seconds)), flush=True)


main(*sys.argv[1:])
