#!/usr/bin/env python3
"""Promise: every block of C in the documents compiles without a warning, as C and as C++: programs
as they are, other fragments as the body of a function that has the variables of PARAMETERS, and
kernels by the OpenCL driver. So does a call with arguments in the text. Each public function that a
document names in `NAME ()` is used in one of these fragments or in docs/examples.

Usage: fragments.py SOURCE-FOLDER HEADER...    with CC and CXX in the environment

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ctypes
import os
import pathlib
import re
import shlex
import subprocess
import sys

PARAMETERS = {
    "GstOpenCLContext *": "context", "GstOpenCLFilter *": "filter", "GstElement *": "pipeline",
    "GstBuffer *": "buffer", "gpointer ": "frame", "GDestroyNotify ": "give_back", "gsize ": "size",
    "int ": "fd", "cl_mem ": "mine", "cl_command_queue ": "my_queue",
    "cl_context ": "my_context", "cl_device_id ": "my_device"}  # fmt: skip
HEAD = """#include <gst/opencl/opencl.h>
extern void fragment (PARAMETERS);
void
fragment (PARAMETERS)
{{
{}}}
"""
COMPILERS = {"c": ("CC", "cc", "c11"), "c++": ("CXX", "c++", "c++17")}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-parameter",
            "-Wno-unused-variable", "-Wno-unused-result")
PACKAGES = "gstreamer-app-1.0", "gstreamer-video-1.0", "OpenCL"
NO_DEVICE = -1001, -1  # no platform, no device


def blocks_of(root):
    """Yields (document:line, text) of each block of C, and of each call in the text."""
    for path in [root / "README.md", *sorted(root.glob("docs/*.md"))]:
        text = path.read_text()
        for found in re.finditer(r"^```c\n((?s:.*?))^```|`(gst_\w+ \([^`]+\))`", text, re.M):
            place = f"{path.name}:{text[:found.start()].count(chr(10)) + 1}"
            yield place, found[1] or f"  {found[2]};\n"


def fault_of_host(root, text):
    """Returns what the compilers say of host code."""
    if not re.search(r"^main \(", text, re.M):
        parameters = ", ".join(f"{kind}{name}" for kind, name in PARAMETERS.items())
        text = HEAD.replace("PARAMETERS", parameters).format(text)
    found = subprocess.run(["pkg-config", "--cflags", *PACKAGES], check=True, text=True,
                           stdout=subprocess.PIPE)
    for language, (variable, compiler, standard) in COMPILERS.items():
        command = [*shlex.split(os.environ.get(variable, compiler)), "-x", language,
                   f"-std={standard}", *WARNINGS, "-fsyntax-only", f"-I{root}",
                   "-DGST_USE_UNSTABLE_API", "-DCL_TARGET_OPENCL_VERSION=120",
                   *found.stdout.split(), "-"]
        done = subprocess.run(command, input=text, text=True, capture_output=True)
        if done.returncode:
            return f"{standard}: {done.stderr}"
    return None


def fault_of_kernel(text):
    """Returns the driver's log of OpenCL C that does not build, None without a device."""
    opencl = ctypes.CDLL("libOpenCL.so.1")
    for name in "clCreateContextFromType", "clCreateProgramWithSource":
        getattr(opencl, name).restype = ctypes.c_void_p
    code, platform, device = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    code.value = opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) \
        or opencl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None)
    if code.value in NO_DEVICE:
        return None
    properties = (ctypes.c_void_p * 3)(0x1084, platform.value, None)
    context = ctypes.c_void_p(opencl.clCreateContextFromType(
        properties, ctypes.c_ulong(0xFFFFFFFF), None, None, ctypes.byref(code)))
    source = ctypes.c_char_p(text.encode())
    program = ctypes.c_void_p(opencl.clCreateProgramWithSource(
        context, 1, ctypes.byref(source), None, ctypes.byref(code)))
    if not opencl.clBuildProgram(program, 0, None, b"-cl-std=CL1.2 -Werror", None, None):
        return None
    log = ctypes.create_string_buffer(1 << 16)
    opencl.clGetProgramBuildInfo(program, device, 0x1183, len(log), log, None)
    return log.value.decode(errors="replace") or "does not build"


def names_of(root, headers):
    """Returns the public functions that documents name."""
    public = set(re.findall(r"\b(gst_\w+) \(", "".join(pathlib.Path(h).read_text()
                                                       for h in headers)))
    text = "".join(path.read_text() for path in [root / "README.md", *root.glob("docs/*.md")])
    return public & set(re.findall(r"`(gst_\w+) \(\)`", text))


def main():
    root = pathlib.Path(sys.argv[1])
    blocks, faults = list(blocks_of(root)), []
    for place, text in blocks:
        is_kernel = re.search(r"\b(?:__)?kernel\s+(?:__attribute__.*\s+)?void\b", text)
        fault = fault_of_kernel(text) if is_kernel else fault_of_host(root, text)
        faults += [f"{place}: {fault}"] if fault else []
    assert len(blocks) > 4, f"only {len(blocks)} blocks found"
    used = "".join(text for _, text in blocks) \
        + "".join(path.read_text() for path in root.glob("docs/examples/*.c*"))
    named = names_of(root, sys.argv[2:])
    assert len(named) > 8, f"only {len(named)} functions found"
    faults += [f"no fragment uses {name} ()" for name in sorted(named)
               if not re.search(rf"\b{name} \(", used)]
    print(*faults, f"{len(blocks)} blocks, {len(faults)} faults", sep="\n")
    sys.exit(len(faults) > 0)


main()
