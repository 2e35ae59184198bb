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
}

for _variable, _folder in FOLDERS.items():
    _known = os.environ.get(_variable, "").split(os.pathsep)
    if _folder not in _known:
        os.environ[_variable] = os.pathsep.join([_folder, *filter(None, _known)])


def run_module(program, module):
    from gstreamer_libs import setup_python_environment
    setup_python_environment()
    importlib.import_module("gstopencl.program").run(program, module)


def run_program(name):
    from gstreamer_libs import gstreamer_env
    environment, _ = gstreamer_env()
    sys.exit(subprocess.call([os.path.join(FOLDERS["PATH"], name), *sys.argv[1:]],
                             env=environment))


def oct_process():
    run_module("oct-process", "gstopencl.batch")


def opencl_detect():
    run_module("opencl-detect", "gstopencl.detect")


def opencl_key():
    run_module("opencl-key", "gstopencl.keying.main")


def opencl_view():
    sys.exit("opencl-view needs GTK 3, which the wheels of GStreamer for Windows do not have")


def oct_calibrate():
    run_module("oct-calibrate", "gstopencl.calibrate")


def opencl_devices():
    run_program("opencl-devices.exe")
