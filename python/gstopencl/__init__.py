"""Python package of the GStreamer elements on OpenCL

`gstopencl.process` runs a chain of elements over an array or a recording. `gstopencl.run`, `kernel`,
`fft`, `reduce` and `convolve` compute with arrays, and `network` runs a network from an ONNX file.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
NO_GI = "gstopencl needs PyGObject and GStreamer: install the Debian packages python3-gi and " \
    "gir1.2-gstreamer-1.0, or PyGObject (pip install PyGObject) with GStreamer's typelibs"
PUBLIC = {"Chain": "chain", "ChainError": "chain", "process": "chain",
          "LiveCalibration": "livecalibration", "RecordingError": "recordings", "Source": "source",
          "network": "networks", "run": "expressions", "fft": "transforms", "reduce": "reductions",
          "convolve": "convolutions",
          **dict.fromkeys(("DeviceError", "clear", "empty", "kernel", "use"), "arrays")}
__all__ = [*PUBLIC]


def __getattr__(name):
    """Loads NumPy and GStreamer only where they are used."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'gstopencl' has no attribute '{name}'")
    from importlib import import_module
    try:
        return getattr(import_module(f".{PUBLIC[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "gi":
            raise
        raise ImportError(NO_GI, name="gi") from None


def __dir__():
    return sorted({*globals(), *PUBLIC})
