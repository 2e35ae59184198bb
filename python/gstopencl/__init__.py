"""Python package of the GStreamer elements on OpenCL

`gstopencl.process` runs a chain of elements over an array or a recording. `gstopencl.run`, `kernel`,
`fft`, `reduce` and `convolve` compute with arrays, and `network` runs a network from an ONNX file.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
PUBLIC = {"Chain": "chain", "ChainError": "chain", "process": "chain",
          "LiveCalibration": "livecalibration", "RecordingError": "recordings", "Source": "source",
          "kernel": "kernels", "network": "networks",
          **dict.fromkeys(("DeviceError", "clear", "convolve", "empty", "fft", "reduce", "run",
                           "use"), "arrays")}


def __getattr__(name):
    """Loads NumPy and GStreamer only where they are used."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'gstopencl' has no attribute '{name}'")
    from importlib import import_module
    return getattr(import_module(f".{PUBLIC[name]}", __name__), name)
