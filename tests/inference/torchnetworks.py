"""Makes one network with PyTorch and exports it; export-networks.py runs this.

usage: python3 torchnetworks.py NAME PHOTOGRAPH.npy FOLDER [CLONE]

Weights are random. The statistics of batch normalization come from variants of the photograph,
so that activations keep a sensible range. Writes FOLDER/model.onnx, and FOLDER/inputs.npz and
FOLDER/outputs.npz with the results in double precision.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import sys
import warnings

import numpy as np
import torch
import torchvision
from torch import nn
from torch.nn import functional

import transformernetworks

OPSETS = dict.fromkeys(transformernetworks.NETWORKS, 17)  # 13 for the others
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CENTERED = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
UNCHANGED = ((0, 0, 0), (1, 1, 1))


class Espcn(nn.Sequential):
    """Enlarges luma three times (Shi et al. 2016)."""

    def __init__(self):
        super().__init__(nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(),
                         nn.Conv2d(64, 32, 3, padding=1), nn.Tanh(),
                         nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3), nn.Sigmoid())

    def forward(self, image):
        return super().forward(image[:, :1])


def two_convolutions(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
                   nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Four levels, 32 to 256 channels, with transposed convolutions (Ronneberger et al. 2015)"""

    def __init__(self, widths=(32, 64, 128, 256)):
        super().__init__()
        self.down = nn.ModuleList(map(two_convolutions, (3, *widths), widths))
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, stride=2)
                                     for width in widths[:-1])
        self.up = nn.ModuleList(two_convolutions(2 * width, width) for width in widths[:-1])
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, image):
        skipped = []
        for level, convolve in enumerate(self.down):
            image = convolve(image if level == 0 else functional.max_pool2d(image, 2))
            skipped.append(image)
        for level in reversed(range(len(self.up))):
            image = torch.cat([skipped[level], self.enlarge[level](image)], 1)
            image = self.up[level](image)
        return self.last(image)


class Call(nn.Module):
    """Calls a network and selects some of what it returns."""

    def __init__(self, network, select, **options):
        super().__init__()
        self.network, self.select, self.options = network, select, options

    def forward(self, *inputs):
        return self.select(self.network(*inputs, **self.options))


def lraspp():
    network = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None)
    return Call(network, lambda outputs: outputs["out"])


def u2netp():
    from model.u2net import U2NETP  # of the clone
    return Call(U2NETP(), lambda outputs: outputs[0])


def modnet():
    from src.models.modnet import MODNet
    return Call(MODNet(backbone_pretrained=False), lambda outputs: outputs[2], inference=True)


def video_matting(ratio):
    from model import MattingNetwork
    return Call(MattingNetwork(), tuple, downsample_ratio=ratio)


# name: (makes it, rows and columns, mean and deviation of the input)
NETWORKS = {
    "resnet50": (torchvision.models.resnet50, (224, 224), IMAGENET),
    "mobilenetv2": (torchvision.models.mobilenet_v2, (224, 224), IMAGENET),
    "mobilenetv3": (torchvision.models.mobilenet_v3_large, (224, 224), IMAGENET),
    "efficientnet-b0": (torchvision.models.efficientnet_b0, (224, 224), IMAGENET),
    "lraspp": (lraspp, (320, 320), IMAGENET),
    "espcn": (Espcn, (180, 320), UNCHANGED),
    "unet": (UNet, (256, 256), UNCHANGED),
    "u2netp": (u2netp, (320, 320), IMAGENET),
    "modnet": (modnet, (512, 512), CENTERED),
    "rvm": (lambda: video_matting(1), (144, 256), UNCHANGED),
    "rvm-refined": (lambda: video_matting(0.25), (576, 1024), UNCHANGED),
    **transformernetworks.NETWORKS,
}
STATES = ["r1i", "r2i", "r3i", "r4i"]


def input_image(photograph, size, levels):
    image = functional.interpolate(torch.from_numpy(photograph), size, mode="bilinear",
                                   align_corners=False)
    return torchvision.transforms.functional.normalize(image, *levels)


def calibrate(network, image):
    """Sets the statistics of batch normalization. With random weights each ReLU amplifies rounding
    errors; a bias of one deviation keeps most of its inputs positive, as in trained networks."""
    variants = torch.cat([image, image.flip(3), 0.6 * image.roll(37, 2), image.flip(2)])
    network.eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.bias)
            module.momentum = 1
            module.train()
    network(variants)
    network.eval()


def is_useful(outputs):
    """Whether outputs vary, and the best class is clear."""
    for output in outputs:
        if output.dim() == 2:
            best = output[0].topk(2).values
            if best[0] - best[1] < 0.02 * output.abs().max():
                return False
        elif output.std() < 0.01 * output.abs().max():
            return False
    return True


def as_list(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def make(name, photograph):
    """Returns the network, and its inputs by name."""
    build, size, levels = NETWORKS[name]
    if name == "text":
        torch.manual_seed(0)
        tokens = torch.randint(1, 199, (2, 20))
        tokens[0, 7] = tokens[1, 19] = 199
        return build().eval(), {"input": tokens}
    image = input_image(photograph, size, levels)
    for seed in range(20):
        torch.manual_seed(seed)
        network = build()
        calibrate(network, image)
        outputs = as_list(network(image))
        if not is_useful(outputs):
            continue
        inputs = {"input": image}
        if name.startswith("rvm") or name == "matte":  # outputs after two are the next state
            inputs.update(zip(STATES, outputs[2:]))
        return network, inputs
    sys.exit(f"{name}: no random weights have a useful output")


def main(name, photograph, folder, clone=None):
    warnings.filterwarnings("ignore")  # of sizes that the export takes for constants
    if clone:
        sys.path.append(clone)
    with torch.no_grad():
        network, inputs = make(name, np.load(photograph))
        names = [f"output{n}" for n in range(len(as_list(network(*inputs.values()))))]
        with torch.enable_grad():  # else MultiheadAttention is one operator, which ONNX has not
            torch.onnx.export(network, tuple(inputs.values()), os.path.join(folder, "model.onnx"),
                              opset_version=OPSETS.get(name, 13), input_names=list(inputs),
                              output_names=names)
        network.double()
        outputs = as_list(network(*(value.double() if value.is_floating_point() else value
                                    for value in inputs.values())))
    for kind, values in (("inputs", inputs), ("outputs", dict(zip(names, outputs)))):
        np.savez(os.path.join(folder, f"{kind}.npz"),
                 **{name: (value.float() if value.is_floating_point() else value).numpy()
                    for name, value in values.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
