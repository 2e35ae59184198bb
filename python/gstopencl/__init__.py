"""Python package of the GStreamer elements on OpenCL

`gstopencl.process` runs a chain of elements over an array or a recording. `gstopencl.run`, `kernel`,
`fft`, `reduce` and `convolve` compute with arrays, and `network` runs a network from an ONNX file.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .wheel import add_plugins

add_plugins()
NO_GI = "install Debian's packages python3-gi, gir1.2-gstreamer-1.0 and " \
    "gir1.2-gst-plugins-base-1.0, or PyGObject (pip install PyGObject) and GStreamer's typelibs; " \
    "GI_TYPELIB_PATH names the folder of GstOpenCL-1.0.typelib"
PUBLIC = {"Chain": "chain", "ChainError": "chain", "process": "chain",
          "LiveCalibration": "livecalibration", "RecordingError": "recordings", "Source": "source",
          "network": "networks", "run": "expressions", "fft": "transforms", "reduce": "reductions",
          "convolve": "convolutions", "kernel": "kernels", "Array": "devicearray",
          "array": "devicearray",
          **dict.fromkeys(("DeviceError", "clear", "empty", "use"), "arrays")}
__all__ = [*PUBLIC]


def __getattr__(name):
    """Loads NumPy and GStreamer only where they are used."""
    if name == "__version__":
        return version()
    if name not in PUBLIC:
        raise AttributeError(f"module 'gstopencl' has no attribute '{name}'")
    import os
    from importlib import import_module, util
    if os.name == "nt" and util.find_spec("gstreamer_libs"):  # GStreamer's wheels
        import_module("gstreamer_libs").setup_python_environment()
    try:
        globals()[name] = getattr(import_module(f".{PUBLIC[name]}", __name__), name)
        return globals()[name]
    except (ImportError, ValueError) as error:
        if getattr(error, "name", None) != "gi" and "Namespace" not in str(error):
            raise
        raise ImportError(f"{error}: {NO_GI}", name="gi") from None


def __dir__():
    return sorted({*PUBLIC, "__version__", *(each for each in globals() if each[:2] == "__")})


def version():
    """Returns the version of meson.build, which is beside the package of a checkout only."""
    from importlib import import_module
    try:
        return import_module(".installed", __name__).VERSION
    except ModuleNotFoundError:
        import pathlib
        import re
        project = pathlib.Path(__file__).parents[2] / "meson.build"
        return re.search(r"version: '(.*)'", project.read_text())[1]
