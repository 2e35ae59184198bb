#!/usr/bin/env python3
"""Folders of gst/ and the self-check include only the folders that they may, and no two files of gst/
include each other, also through others. A header and its source count as one file.

usage: layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

COMMON = "gst/common"
PUBLIC = "gst/opencl"  # the headers at its top
CORE, DRIVERS, DEVICE, ELEMENTS = (
    f"{PUBLIC}/{name}" for name in ("core", "drivers", "device", "elements"))
# Besides itself, a folder may include these.
MAY_INCLUDE = {
    COMMON: (),
    PUBLIC: (),
    CORE: (PUBLIC, COMMON),
    DRIVERS: (PUBLIC, COMMON, CORE),
    DEVICE: (PUBLIC, COMMON, CORE),
    ELEMENTS: (PUBLIC, COMMON, CORE, DEVICE),
}
# Static libraries of several plugins
SHARED = ["gst/composition", "gst/convolution", "gst/reduction"]
for folder in SHARED:
    MAY_INCLUDE[folder] = (PUBLIC, COMMON, CORE, DEVICE)
PLUGINS = ["gst/transfer", "gst/compute", "gst/inference", "gst/keying", "gst/npy", "gst/oct"]
for plugin in PLUGINS:
    MAY_INCLUDE[plugin] = (PUBLIC, COMMON, CORE, DEVICE, ELEMENTS)
for plugin in ("gst/compute", "gst/inference"):
    MAY_INCLUDE[plugin] += ("gst/convolution", "gst/reduction")
for plugin in ("gst/transfer", "gst/keying"):
    MAY_INCLUDE[plugin] += ("gst/composition",)
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
# The program of the self-check knows the elements by their names and properties.
SELFCHECK = "tools/selfcheck"
MAY_INCLUDE[SELFCHECK] = (PUBLIC, COMMON, CORE)
# These reach no internal header, not even through another header. Of core/ they may reach the
# headers that all files need.
ABOVE = [*SHARED, *PLUGINS, *OCT_FOLDERS, SELFCHECK]
INTERNAL = (CORE, DRIVERS)
OPEN = [f"{CORE}/{name}" for name in (
    "devicebuffer.hpp", "deviceinfo.hpp", "gstopenclcheck.h", "gstopenclcontext-private.hpp",
    "gstopencldeferred.h", "opencl-hpp.hpp", "profile.hpp")]
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


def unit_of(path):
    return re.sub(r"\.[a-z]+$", "", path)


def cycles_of(includes):
    """Returns the sets of units that include each other, as lines of text."""
    units = {}
    for path, names in includes.items():
        units.setdefault(unit_of(path), set()).update(
            unit_of(name) for name in names if unit_of(name) != unit_of(path))
    reached = {unit: reached_from(unit, units) for unit in units}
    return {"cycle of includes: " + " ".join(sorted(
                other for other in reached[unit] if unit in reached.get(other, ())))
            for unit in units if unit in reached[unit]}


def main(root):
    """Prints each include that is not allowed."""
    includes = read_includes(root)
    wrong = [*cycles_of(includes)]
    for path, names in includes.items():
        upper = layer_of(path)
        if not upper:
            continue
        wrong += [f"{path} includes {name}" for name in names
                  if name == ALL_PUBLIC or layer_of(name) not in (None, upper, *MAY_INCLUDE[upper])]
        if upper in ABOVE:
            wrong += [f"{path} reaches {name}" for name in reached_from(path, includes)
                      if layer_of(name) in INTERNAL and name not in OPEN]
    print("\n".join(sorted(wrong)))
    print(f"{len(includes)} files, {len(wrong)} wrong")
    return 1 if wrong or len(includes) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
