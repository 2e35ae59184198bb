#!/usr/bin/env python3
"""Promises: openclconvolve agrees with FFmpeg's filter `convolution` of a picture, within a level,
and with onnxruntime's convolution layers, to 1e-4.

usage: convolutions.py ffmpeg PICTURE | onnxruntime

Skipped if FFmpeg or onnxruntime is not installed. GST_OPENCL_PYTHON names the interpreter that
has onnxruntime, if it is not the default one.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PYTHON = os.environ.pop("GST_OPENCL_PYTHON", None)
if PYTHON:
    os.execv(PYTHON, [PYTHON, *sys.argv])
import numpy as np

SKIPPED = 77


def launch(*words):
    done = subprocess.run(["gst-launch-1.0", "-q", *" ".join(words).split(" ")],
                          capture_output=True, text=True, timeout=200, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


# --- FFmpeg ---

# FFmpeg 5.1 divides by the sum of the weights, whatever `rdiv` says.
KERNELS = {
    "blur": ([[1, 2, 1], [2, 4, 2], [1, 2, 1]], 1 / 16, 0),
    "edges": ([[0, 1, 0], [1, -4, 1], [0, 1, 0]], 1, 128),
    "relief": ([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], 1, 0),
    "laplacian": ([[0, 0, 1, 0, 0], [0, 1, 2, 1, 0], [1, 2, -16, 2, 1], [0, 1, 2, 1, 0],
                   [0, 0, 1, 0, 0]], 1, 64),
    "gauss": ([[1, 4, 6, 4, 1], [4, 16, 24, 16, 4], [6, 24, 36, 24, 6], [4, 16, 24, 16, 4],
               [1, 4, 6, 4, 1]], 1 / 256, 0),
}  # fmt: skip


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-hide_banner", "-loglevel", "error", "-y", *words], check=True)


def size_of(picture):
    head = pathlib.Path(picture).read_bytes()[16:24]
    return int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")


def filtered(picture, pixels, planar, kernel, scale, offset):
    """Returns FFmpeg's output; of RGBA only the colours are filtered."""
    taps = " ".join(str(tap) for line in kernel for tap in line)
    options = ":".join(f"{n}m='{taps}':{n}rdiv={scale}:{n}bias={offset}" for n in range(3))
    ffmpeg("-i", picture, "-vf", f"format={planar},convolution={options},format={pixels}",
           "-f", "rawvideo", "theirs.raw")  # fmt: skip
    return np.fromfile("theirs.raw", np.uint8)


def convolved(pixels, size, kernel, scale, offset, method):
    taps = "<" + ",".join("<" + ",".join(map(str, line)) + ">" for line in kernel) + ">"
    launch("filesrc location=picture.raw ! rawvideoparse width=%d height=%d format=%s" % (
        *size, {"gray": "gray8", "rgba": "rgba"}[pixels]),
        f"! openclupload ! openclconvolve flip=false border=mirror kernel={taps}",
        f"scale={scale} offset={offset} method={method}",
        "! opencldownload ! filesink location=ours.raw")  # fmt: skip
    return np.fromfile("ours.raw", np.uint8)


def check_ffmpeg(picture):
    if not shutil.which("ffmpeg"):
        print("NOT CHECKED: no ffmpeg")
        return SKIPPED
    size = size_of(picture)
    for pixels, planar in ("gray", "gray"), ("rgba", "gbrap"):
        ffmpeg("-i", picture, "-pix_fmt", pixels, "-f", "rawvideo", "picture.raw")
        for name, (kernel, scale, offset) in KERNELS.items():
            # FFmpeg mirrors the last row and column twice, and the first ones once.
            shape, edge = (size[1], size[0], -1), len(kernel) // 2
            theirs = filtered(picture, pixels, planar, kernel, scale, offset)
            for method in "direct", "fft", "auto":
                ours = convolved(pixels, size, kernel, scale, offset, method)
                both = [picture.reshape(shape)[:-edge, :-edge].astype(int)
                        for picture in (ours, theirs)]  # fmt: skip
                furthest = np.abs(both[0] - both[1]).max()
                print(pixels, name, method, "at most", furthest, "levels", flush=True)
                assert furthest <= 1 and np.ptp(both[1]) > 100
    return 0


# --- onnxruntime ---

LAYERS = [
    # side, channels, filters, kernel size, stride, dilation, padding, groups, methods
    (28, 64, 64, 3, 1, 1, 1, 1, "direct winograd fft auto"),
    (56, 3, 64, 7, 2, 1, 3, 1, "direct auto"),
    (14, 128, 256, 1, 1, 1, 0, 1, "direct auto"),
    (17, 32, 48, 3, 1, 2, 2, 4, "direct auto"),
    (19, 96, 96, 3, 2, 1, 1, 96, "direct auto"),
]


def run_layer(image, weights, bias, taps, stride, dilation, padding, groups):
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], kernel_shape=[taps] * 2,
                            strides=[stride] * 2, dilations=[dilation] * 2,
                            pads=[padding] * 4, group=groups)  # fmt: skip
    graph = helper.make_graph(
        [node, helper.make_node("Relu", ["y"], ["z"])], "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image.shape)],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weights, "w"),
         onnx.numpy_helper.from_array(bias, "b")])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"])  # fmt: skip
    return session.run(None, {"x": image})[0]


def check_onnxruntime():
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError:
        print("NOT CHECKED: no onnx and onnxruntime")
        return SKIPPED
    rng = np.random.default_rng(1)
    for side, channels, filters, taps, stride, dilation, padding, groups, methods in LAYERS:
        image = rng.normal(size=(2, channels, side, side)).astype(np.float32)
        weights = rng.normal(size=(filters, channels // groups, taps, taps)).astype(np.float32)
        bias = rng.normal(size=filters).astype(np.float32)
        theirs = run_layer(image, weights, bias, taps, stride, dilation, padding, groups)
        np.save("image.npy", image[None])
        np.save("weights.npy", weights)
        np.save("bias.npy", bias)
        for method in methods.split():
            launch("filesrc location=image.npy ! npyparse ! other/tensors ! openclupload",
                   f"! openclconvolve layout=nchw kernel=weights.npy bias=bias.npy",
                   f"stride={stride} dilation={dilation} padding={padding} groups={groups}",
                   f"activation=relu method={method} ! opencldownload",
                   "! npysink location=ours.npy")  # fmt: skip
            ours = np.load("ours.npy")[0]
            assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
            error = np.abs(ours - theirs).max() / np.abs(theirs).max()
            print(side, channels, filters, taps, method, f"error {error:.1e}", flush=True)
            assert error < 1e-4
    return 0


what, *arguments = sys.argv[1:]
arguments = [str(pathlib.Path(argument).resolve()) for argument in arguments]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    status = {"ffmpeg": check_ffmpeg, "onnxruntime": check_onnxruntime}[what](*arguments)
    os.chdir("/")
sys.exit(status)
