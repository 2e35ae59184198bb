#!/usr/bin/env python3
"""Folders of gst/ include only folders below them.

usage: layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# From the lowest layer to the highest. A folder may include itself and every folder before it.
LAYERS = ["gst/common", "gst/opencl/base", "gst/opencl/program", "gst/opencl/context",
          "gst/opencl/memory", "gst/opencl/kernel", "gst/opencl/fft", "gst/opencl/elements"]
PLUGINS = ["gst/transfer", "gst/compute", "gst/inference", "gst/keying", "gst/npy", "gst/oct"]
# Networks use the convolutions and reductions of gst/compute, and keyfill the blending of
# gst/transfer: private libraries of both plugins.
SHARED = {"gst/inference": ("gst/compute",), "gst/keying": ("gst/transfer",)}
# Public headers lie in gst/opencl, whatever their layer is.
PUBLIC = {
    "gst/opencl/base": ["gstopenclerror.h", "opencl-prelude.h"],
    "gst/opencl/context": ["gstopenclcontext.h"],
    "gst/opencl/memory": ["gstopenclallocator.h", "gstopenclbuffer.h", "gstopenclbufferpool.h",
                          "gstopenclexternal.h", "gstopenclframe.h", "gstopenclmemory.h"],
    "gst/opencl/kernel": ["gstopenclkernel.h"],
    "gst/opencl/elements": ["gstopenclaggregator.h", "gstopenclfilter.h", "gstopenclsrc.h",
                            "opencl.h", "opencl-private.hpp"],
}
LAYER_OF_HEADER = {f"gst/opencl/{name}": layer for layer, names in PUBLIC.items() for name in names}


def layer_of(path):
    """The layer of a file: a folder of LAYERS or PLUGINS, or None for other files."""
    text = path.as_posix()
    known = (folder for folder in LAYERS + PLUGINS if text.startswith(folder + "/"))
    return LAYER_OF_HEADER.get(text) or next(known, None)


def is_allowed(upper, lower):
    """Returns True if a file of layer `upper` may include a file of layer `lower`."""
    if lower in PLUGINS:
        return upper == lower or lower in SHARED.get(upper, ())
    return upper in PLUGINS or LAYERS.index(lower) <= LAYERS.index(upper)


def main(root):
    """Prints each include of a higher layer and each public header without a layer."""
    files = [path.relative_to(root) for path in root.glob("gst/**/*")
             if path.suffix in (".h", ".hpp", ".cpp")]
    wrong = [f"{path}: add it to PUBLIC in {sys.argv[0]}" for path in files
             if path.parent.as_posix() == "gst/opencl" and not layer_of(path)]
    for path in files:
        upper = layer_of(path)
        for name in re.findall(r'#include [<"]([\w./-]+)[>"]', (root / path).read_text()):
            beside = path.parent / name
            lower = layer_of(beside if (root / beside).exists() else pathlib.Path(name))
            if upper and lower and not is_allowed(upper, lower):
                wrong.append(f"{path} ({upper}) includes {name} ({lower})")
    print("\n".join(sorted(wrong)))
    print(f"{len(files)} files, {len(wrong)} wrong")
    return 1 if wrong or len(files) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
