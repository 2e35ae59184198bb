"""Measures a convolution in onnxruntime and scipy. Prints calls per second, one line per window.

usage: python3 baseline-convolve.py WARM-UP SECONDS WINDOWS LIBRARY SIDE CHANNELS FILTERS
       TAPS STRIDE GROUPS

opencl-bench contains this script and runs it with the interpreter of GST_OPENCL_PYTHON (default:
python3). Needs `pip install onnx onnxruntime scipy`.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys
import time


def layer(side, channels, filters, taps, stride, groups):
    """Returns a function that runs onnxruntime with default options on two threads."""
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    rng = np.random.default_rng(1)
    shape = (filters, channels // groups, taps, taps)
    weights = rng.uniform(-0.5, 0.5, shape).astype(np.float32)
    image = rng.uniform(-0.5, 0.5, (1, channels, side, side)).astype(np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[taps, taps],
                            strides=[stride, stride], pads=[taps // 2] * 4, group=groups)
    graph = helper.make_graph(
        [node], "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": image})


def picture(side, taps):
    """Returns a function that runs scipy's fftconvolve in single precision on two threads."""
    import numpy as np
    import scipy.fft
    import scipy.signal

    rng = np.random.default_rng(1)
    image = rng.uniform(0, 255, (side, side)).astype(np.float32)
    kernel = rng.uniform(-0.5, 0.5, (taps, taps)).astype(np.float32)

    def step():
        with scipy.fft.set_workers(2):
            scipy.signal.fftconvolve(image, kernel, mode="same")
    return step


def run(step, seconds):
    count, start = 0, time.perf_counter()
    while (now := time.perf_counter()) < start + seconds or count == 0:
        step()
        count += 1
    return count / (now - start) if count > 1 else 1 / (time.perf_counter() - start)


def main(warm_up, seconds, windows, library, side, channels, filters, taps, stride, groups):
    try:
        if library == "onnxruntime":
            step = layer(int(side), int(channels), int(filters), int(taps), int(stride),
                         int(groups))
        else:
            step = picture(int(side), int(taps))
    except ImportError as error:
        sys.exit(str(error))
    run(step, float(warm_up))
    for _ in range(int(windows)):
        print(run(step, float(seconds)), flush=True)


main(*sys.argv[1:])
