"""Libraries of a wheel for Linux, which nothing else on the machine knows

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import sys

LIBRARIES = pathlib.Path(__file__).parents[1] / ".gst_opencl.mesonpy.libs"
PLUGINS, TYPELIBS = LIBRARIES / "gstreamer-1.0", LIBRARIES / "girepository-1.0"


def prepend(variable, folder):
    others = os.environ.get(variable, "").split(os.pathsep)
    if str(folder) not in others:
        os.environ[variable] = os.pathsep.join([str(folder), *filter(None, others)])


def add_plugins():
    """Lets GStreamer find the plugins, if this is a wheel: in this process, also where it has been
    initialised, and in those that it starts."""
    if not LIBRARIES.is_dir():
        return
    prepend("GST_PLUGIN_PATH", PLUGINS)
    prepend("GI_TYPELIB_PATH", TYPELIBS)
    if "gi.repository.Gst" in sys.modules:
        from gi.repository import Gst
        if Gst.is_initialized():
            Gst.Registry.get().scan_path(str(PLUGINS))


def add_typelib():
    """Lets PyGObject find the type library and its library, if this is a wheel."""
    if not LIBRARIES.is_dir():
        return
    import ctypes
    try:
        ctypes.CDLL(str(LIBRARIES / "libgstopencl-1.0.so.0"))
    except OSError as error:
        raise ImportError(f"{error}: install Debian's packages ocl-icd-libopencl1 and "
                          "libgstreamer-plugins-base1.0-0, or the same of this system") from None
    import gi
    version = "3.0" if gi.version_info >= (3, 51) else "2.0"
    gi.require_version("GIRepository", version)
    from gi.repository import GIRepository  # where gi has been imported, the variable is too late
    repository = GIRepository.Repository
    if version == "3.0":
        repository = repository.dup_default()
    repository.prepend_search_path(str(TYPELIBS))


def run_program():
    """Runs the program of the wheel that has the name of this one."""
    program = LIBRARIES / "gstreamer-opencl-1.0" / pathlib.Path(sys.argv[0]).name
    os.execv(program, [str(program), *sys.argv[1:]])
