"""Libraries of a wheel, which nothing else on the machine knows

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes
import os
import pathlib

LIBRARIES = pathlib.Path(__file__).parents[1] / ".gstopencl.mesonpy.libs"
FOLDERS = {"GST_PLUGIN_PATH": "gstreamer-1.0", "GI_TYPELIB_PATH": "girepository-1.0"}


def make_known():
    """Lets GStreamer and PyGObject find the plugins and the type library, if this is a wheel. An
    application that initialises GStreamer itself imports this package before."""
    if not LIBRARIES.is_dir():
        return
    for variable, folder in FOLDERS.items():
        others = os.environ.get(variable)
        os.environ[variable] = os.pathsep.join(
            [str(LIBRARIES / folder), *([others] if others else [])])
    ctypes.CDLL(str(LIBRARIES / "libgstopencl-1.0.so.0"))
    import gi
    gi.require_version("GIRepository", "2.0")
    from gi.repository import GIRepository  # where gi has been imported, the variable is too late
    GIRepository.Repository.prepend_search_path(str(LIBRARIES / FOLDERS["GI_TYPELIB_PATH"]))
