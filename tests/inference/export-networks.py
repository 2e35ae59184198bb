"""Exports known networks with random weights to ONNX, with test data for run-networks.

usage: python3 export-networks.py [--u2net CLONE] [--modnet CLONE] [--rvm CLONE] FOLDER [NAME…]

Writes FOLDER/NAME/model.onnx and FOLDER/NAME/test_data_set_0: a photograph, and the outputs of
PyTorch in double precision. onnxruntime must agree with these. The networks are those of
torchvision, an ESPCN, a U-Net, and the small ones of transformernetworks.py. With a clone of their repository also U²-Netp
(xuebinqin/U-2-Net), MODNet (ZHKKKe/MODNet), and RobustVideoMatting
(PeterL1n/RobustVideoMatting) with its recurrent state.

PyTorch is that of Debian 12, unpacked into the user's cache and not installed: 0.6 GB.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import os
import sys
import tempfile

import numpy as np

import samples
from debiantorch import torch_environment
from samples import packages

NETWORKS = ["resnet50", "mobilenetv2", "mobilenetv3", "efficientnet-b0", "lraspp", "espcn", "unet",
            "vit", "convnext", "swin", "detector", "depth", "text", "reader", "matte"]
OF_CLONES = {"u2net": ["u2netp"], "modnet": ["modnet"], "rvm": ["rvm", "rvm-refined"]}
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torchnetworks.py")


def take_arrays(path):
    with np.load(path) as file:
        arrays = dict(file)
    os.remove(path)
    return arrays


def export(name, folder, photograph, environment, clone):
    os.makedirs(folder, exist_ok=True)
    packages.run(["/usr/bin/python3", SCRIPT, name, photograph, folder, *clone], env=environment)
    inputs, expected = (take_arrays(os.path.join(folder, f"{kind}.npz"))
                        for kind in ("inputs", "outputs"))
    outputs = samples.write(folder, inputs, expected)
    for output, array in expected.items():
        worst = samples.difference(outputs[output], array)
        print(f"{name} {output} {list(array.shape)}: from {array.min():.4g} to {array.max():.4g}, "
              f"mean {array.mean():.4g}, onnxruntime differs by {worst:.2g}", flush=True)
        if worst > 1e-4:
            sys.exit(f"{name}: onnxruntime and PyTorch differ")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2].removeprefix("usage: "))
    for clone in OF_CLONES:
        parser.add_argument(f"--{clone}")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    clones = {name: [os.path.abspath(getattr(options, clone))]
              for clone, names in OF_CLONES.items() if getattr(options, clone) for name in names}
    known = [*NETWORKS, *clones]
    unknown = set(options.names) - set(known)
    if unknown:
        sys.exit(f"unknown networks {', '.join(sorted(unknown))}, expected {', '.join(known)}")
    environment = torch_environment()
    with tempfile.TemporaryDirectory() as temporary:
        photograph = os.path.join(temporary, "photograph.npy")
        np.save(photograph, samples.photograph(1024, 1024))
        for name in options.names or known:
            export(name, os.path.join(options.folder, name), photograph, environment,
                   clones.get(name, []))


if __name__ == "__main__":
    try:
        main()
    except packages.Missing as fault:
        sys.exit(str(fault))
