"""Random weights for the first stage of ResNet-50, as large as those that are trained.

usage: resnet_weights.py FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import sys

import numpy as np

# filters, channels, lines and columns
SHAPES = {
    "conv1": (64, 3, 7, 7),
    "layer1.0.conv1": (64, 64, 1, 1),
    "layer1.0.conv2": (64, 64, 3, 3),
    "layer1.0.conv3": (256, 64, 1, 1),
    "layer1.0.downsample": (256, 64, 1, 1),
}

folder = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(1)
folder.mkdir()
for name, shape in SHAPES.items():
    # Outputs have the same variance as inputs.
    deviation = np.sqrt(2 / np.prod(shape[1:]))
    weights = rng.normal(scale=deviation, size=shape)
    np.save(folder / f"{name}.weight.npy", weights.astype(np.float32))
    np.save(folder / f"{name}.bias.npy", rng.normal(scale=0.1, size=shape[0]).astype(np.float32))
