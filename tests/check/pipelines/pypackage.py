#!/usr/bin/env python3
"""Promise: the package gstopencl lists its names, types and version, its examples print what they show, it
says what to install where PyGObject is missing, ends without noise, and computes in workers of Dask.

Usage: pypackage.py

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import ast
import doctest
import inspect
import pathlib
import subprocess
import sys

import numpy as np

import gstopencl
from arraychecks import close

EXAMPLES = {"run", "fft", "reduce", "convolve", "empty"}


def check_names():
    assert {*gstopencl.PUBLIC, "__version__"} <= {*dir(gstopencl)}
    names = {}
    exec("from gstopencl import *", names)
    assert {*gstopencl.PUBLIC} <= {*names}
    assert not hasattr(gstopencl, "nothing")
    gstopencl.run("x", x=[1])
    from gi.repository import Gst
    assert gstopencl.__version__ == Gst.Registry.get().find_plugin("computeopencl").get_version()


def parameters_of(function):
    """Returns the names and the manner of the parameters in a stub."""
    arguments = function.args
    first = len(arguments.args) - len(arguments.defaults)
    found = [(each.arg, "POSITIONAL_OR_KEYWORD", n >= first) for n, each in enumerate(arguments.args)]
    found += [(each.arg, "KEYWORD_ONLY", default is not None)
              for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return found + ([(arguments.kwarg.arg, "VAR_KEYWORD", False)] if arguments.kwarg else [])


def check_stubs():
    folder = pathlib.Path(gstopencl.__file__).parent
    assert (folder / "py.typed").exists()
    known = set()
    for node in ast.parse((folder / "__init__.pyi").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            known.add(node.name)
            wanted = [(each.name, each.kind.name, each.default is not each.empty) for each in
                      inspect.signature(getattr(gstopencl, node.name)).parameters.values()]
            assert parameters_of(node) == wanted, (node.name, parameters_of(node), wanted)
        elif isinstance(node, ast.ImportFrom):
            known |= {each.asname for each in node.names if each.asname}
    assert known == {*gstopencl.PUBLIC}, known ^ {*gstopencl.PUBLIC}


def check_examples():
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    names = [name for name in gstopencl.PUBLIC if ">>>" in (getattr(gstopencl, name).__doc__ or "")]
    assert EXAMPLES <= {*names}, names
    for name in names:
        for test in finder.find(getattr(gstopencl, name), name, globs={"gstopencl": gstopencl, "np": np}):
            assert runner.run(test).failed == 0, name


def output_of(script):
    done = subprocess.run([sys.executable, "-c", script], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=100)
    return done.stdout


def check_processes():
    said = output_of("import sys; sys.modules['gi'] = None; import gstopencl; gstopencl.run")
    assert "ImportError" in said and "python3-gi" in said and "pip install PyGObject" in said, said
    said = output_of("import gi; gi.require_version = lambda *_: (_ for _ in ()).throw ("
                     "ValueError ('Namespace Gst not available')); import gstopencl; gstopencl.run")
    assert "ImportError: Namespace Gst" in said and "gir1.2-gstreamer-1.0" in said, said
    # A result that lives until the names of modules are gone, which None stands for
    said = output_of("import gstopencl; x = gstopencl.run ('x', x=[1]); from gstopencl import memory\n"
                     "for name in [*vars (memory)]: vars (memory)[name] = None\ndel x")
    assert said == "", said


def check_dask():
    try:
        import dask.array
        import distributed
    except ImportError:
        print("NOT CHECKED: no dask and distributed")
        return
    numbers = np.random.default_rng(5).random((8, 60))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster, \
            distributed.Client(cluster):
        x = dask.array.from_array(numbers, chunks=(2, 60))
        squares = x.map_blocks(lambda block: gstopencl.run("x * x", x=block), dtype=float)
        close(squares.map_blocks(gstopencl.fft, dtype=complex).compute(), np.fft.fft(numbers ** 2), 1e-12)


if __name__ == "__main__":  # workers import it, too
    for check in check_names, check_stubs, check_examples, check_processes, check_dask:
        print(check.__name__, flush=True)
        check()
