"""Makes the elements of the wheel for Windows known to GStreamer, and starts its programs

Python imports it at its start (gst_opencl.pth), because the wheels of GStreamer know only each
other's folders, and programs that they start inherit the environment.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import importlib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = {
    "PATH": os.path.join(HERE, "bin"),  # of the library
    "GST_PLUGIN_PATH_1_0": os.path.join(HERE, "lib", "gstreamer-1.0"),
    "GI_TYPELIB_PATH": os.path.join(HERE, "lib", "girepository-1.0"),
}

for _variable, _folder in FOLDERS.items():
    _known = os.environ.get(_variable, "").split(os.pathsep)
    if _folder not in _known:
        os.environ[_variable] = os.pathsep.join([_folder, *filter(None, _known)])


def main():
    """Starts the program by whose name Python was started."""
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    if name == "opencl-view":
        sys.exit("opencl-view needs GTK 3, which the wheels of GStreamer for Windows do not have")
    from gstreamer_libs import gstreamer_env, setup_python_environment
    if name == "opencl-devices":
        program = os.path.join(FOLDERS["PATH"], "opencl-devices.exe")
        sys.exit(subprocess.call([program, *sys.argv[1:]], env=gstreamer_env()[0]))
    setup_python_environment()
    importlib.import_module("gstopencl.program").main()
