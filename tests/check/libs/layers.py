#!/usr/bin/env python3
"""Folders of gst/ and the self-check include only the folders that they may.

usage: layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

COMMON = "gst/common"
PUBLIC = "gst/opencl"  # the headers at its top
BASE, DEVICE, CORE, DRIVERS, ELEMENTS = (
    f"{PUBLIC}/{name}" for name in ("base", "device", "core", "drivers", "elements"))
# Besides itself, a folder may include these.
MAY_INCLUDE = {
    COMMON: (),
    PUBLIC: (),
    BASE: (PUBLIC, COMMON),
    CORE: (PUBLIC, COMMON, BASE),
    DRIVERS: (PUBLIC, COMMON, BASE, CORE),
    DEVICE: (PUBLIC, COMMON, BASE, CORE),
    ELEMENTS: (PUBLIC, COMMON, BASE, CORE, DEVICE),
}
PLUGINS = ["gst/transfer", "gst/compute", "gst/inference", "gst/keying", "gst/npy", "gst/oct"]
for plugin in PLUGINS:
    MAY_INCLUDE[plugin] = (PUBLIC, COMMON, BASE, DEVICE, ELEMENTS)
# Folders of gst/oct from the lowest to the highest. Each may include those before its own, and the
# public headers at the top of gst/oct. The elements include all of them.
OCT = "gst/oct"
OCT_FOLDERS = []
for names in ("shared", "calibration tissue", "recordings", "spectra", "depth",
              "angio signal volume"):
    level = [f"{OCT}/{name}" for name in names.split()]
    for folder in level:
        MAY_INCLUDE[folder] = (*MAY_INCLUDE[OCT], OCT, *OCT_FOLDERS)
    OCT_FOLDERS += level
MAY_INCLUDE[OCT] += tuple(OCT_FOLDERS)
# Networks use the convolutions and reductions of gst/compute, and keyfill the blending of
# gst/transfer: private libraries of both plugins.
MAY_INCLUDE["gst/inference"] += ("gst/compute",)
MAY_INCLUDE["gst/keying"] += ("gst/transfer",)
# The program of the self-check knows the elements by their names and properties.
SELFCHECK = "tools/selfcheck"
MAY_INCLUDE[SELFCHECK] = (PUBLIC, COMMON, BASE)
# These reach no internal header, not even through another header.
ABOVE = [*PLUGINS, *OCT_FOLDERS, SELFCHECK]
INTERNAL = (CORE, DRIVERS)
# For applications. A file of this project includes what it uses, so that it is compiled again
# only when that changes.
ALL_PUBLIC = f"{PUBLIC}/opencl.h"


def layer_of(path):
    """The longest folder of MAY_INCLUDE that has a file, or None."""
    known = [folder for folder in MAY_INCLUDE if path.startswith(folder + "/")]
    return max(known, key=len, default=None)


def read_includes(root):
    """Returns the paths that each source file includes, by its path."""
    includes = {}
    for path in [*root.glob("gst/**/*.[ch]*"), *root.glob(f"{SELFCHECK}/*.[ch]*")]:
        names = re.findall(r'#include [<"]([\w./-]+)[>"]', path.read_text())
        beside = [path.parent / name for name in names]
        includes[path.relative_to(root).as_posix()] = [
            file.resolve().relative_to(root).as_posix() if file.exists() else name
            for file, name in zip(beside, names)]
    return includes


def reached_from(path, includes):
    """Returns all files that a file includes, also through others."""
    reached, waiting = set(), [path]
    while waiting:
        new = set(includes.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return reached


def main(root):
    """Prints each include that is not allowed."""
    includes = read_includes(root)
    wrong = []
    for path, names in includes.items():
        upper = layer_of(path)
        if not upper:
            continue
        wrong += [f"{path} includes {name}" for name in names
                  if name == ALL_PUBLIC or layer_of(name) not in (None, upper, *MAY_INCLUDE[upper])]
        if upper in ABOVE:
            wrong += [f"{path} reaches {name}" for name in reached_from(path, includes)
                      if layer_of(name) in INTERNAL]
    print("\n".join(sorted(wrong)))
    print(f"{len(includes)} files, {len(wrong)} wrong")
    return 1 if wrong or len(includes) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
