"""Small networks with the operators of those that people bring, for torchnetworks.py

Each has random weights and few layers: ViT, ConvNeXt and Swin of torchvision, a detector with
queries and deformable attention (DETR, RT-DETR), depth from a ViT (DPT, DepthAnything), a text
encoder (CLIP), a text reader with an LSTM (CRNN) and a recurrent matte (RobustVideoMatting).

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import math

import torch
import torchvision
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Queries of one sequence to another one, or to itself"""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, tokens):
        batch, length, width = tokens.shape
        return tokens.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, tokens, others=None, mask=None):
        others = tokens if others is None else others
        query, key, value = (self.split(linear(given)) for linear, given in (
            (self.query, tokens), (self.key, others), (self.value, others)))
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        scores = scores if mask is None else scores + mask
        return self.out((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """A layer of a transformer"""

    def __init__(self, width, heads, activation=functional.gelu):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention, self.activation = Attention(width, heads), activation
        self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, tokens, mask=None):
        tokens = tokens + self.attention(self.norms[0](tokens), mask=mask)
        return tokens + self.down(self.activation(self.up(self.norms[1](tokens))))


def convolution(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                         nn.BatchNorm2d(outputs), nn.SiLU())


class Depth(nn.Module):
    """A ViT, whose layers are put together as maps of several sizes (Ranftl et al. 2021)"""

    def __init__(self, width=48, layers=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.places = nn.Parameter(0.1 * torch.randn(1, width, 6, 6))
        self.token = nn.Parameter(0.1 * torch.randn(1, 1, width))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.project = nn.ModuleList(nn.Conv2d(width, 24, 1) for _ in range(layers))
        self.resize = nn.ModuleList([nn.ConvTranspose2d(24, 24, 4, 4),
                                     nn.ConvTranspose2d(24, 24, 2, 2), nn.Identity(),
                                     nn.Conv2d(24, 24, 3, 2, 1)])
        self.fuse = nn.ModuleList(nn.Conv2d(24, 24, 3, padding=1) for _ in range(layers))
        self.head = nn.Sequential(nn.Conv2d(24, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))

    def forward(self, image):
        patches = self.patches(image)
        rows, columns = patches.shape[2:]
        patches = patches + functional.interpolate(self.places, (rows, columns), mode="bicubic")
        tokens = patches.flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(tokens.shape[0], -1, -1), tokens], 1)
        maps = []
        for block, project, resize in zip(self.blocks, self.project, self.resize):
            tokens = block(tokens)
            patches = tokens[:, 1:].transpose(1, 2).reshape(-1, tokens.shape[2], rows, columns)
            maps.append(resize(project(patches)))
        value = None
        for part, fuse in zip(reversed(maps), self.fuse):
            if value is not None:
                part = part + functional.interpolate(value, part.shape[2:], mode="bilinear",
                                                     align_corners=True)
            value = fuse(functional.relu(part))
        value = functional.interpolate(self.head(value), image.shape[2:], mode="bilinear",
                                       align_corners=True)
        return functional.softplus(20 * value)


class Deformable(nn.Module):
    """Samples around a reference point in maps of several sizes (Zhu et al. 2021)"""

    def __init__(self, width, heads=4, levels=2, points=3):
        super().__init__()
        self.sizes = (heads, levels, points)
        self.offsets = nn.Linear(width, heads * levels * points * 2)
        self.weights = nn.Linear(width, heads * levels * points)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, queries, boxes, memory, shapes):
        batch, count, width = queries.shape
        heads, levels, points = self.sizes
        values = self.value(memory).reshape(batch, -1, heads, width // heads)
        offsets = self.offsets(queries).reshape(batch, count, heads, levels, points, 2)
        weights = self.weights(queries).reshape(batch, count, heads, levels * points).softmax(-1)
        places = boxes[:, :, None, None, None, :2] + offsets * boxes[:, :, None, None, None, 2:]
        grids, sampled = 2 * places - 1, []
        for level, part in enumerate(values.split([rows * columns for rows, columns in shapes], 1)):
            maps = part.flatten(2).transpose(1, 2).reshape(batch * heads, -1, *shapes[level])
            grid = grids[:, :, :, level].transpose(1, 2).flatten(0, 1)
            sampled.append(functional.grid_sample(maps, grid, mode="bilinear",
                                                  padding_mode="zeros", align_corners=False))
        weights = weights.transpose(1, 2).reshape(batch * heads, 1, count, levels * points)
        result = (torch.stack(sampled, -2).flatten(-2) * weights).sum(-1)
        return self.out(result.reshape(batch, width, count).transpose(1, 2))


class Detector(nn.Module):
    """The best places of the maps become queries, which two layers refine (Zhao et al. 2023)."""

    def __init__(self, width=32, classes=7, queries=12):
        super().__init__()
        self.backbone = nn.ModuleList([
            nn.Sequential(convolution(3, 16, 2), convolution(16, width, 2),
                          convolution(width, width, 2)), convolution(width, width, 2)])
        self.encoder = Block(width, 4)
        self.classes, self.boxes = nn.Linear(width, classes), nn.Linear(width, 4)
        self.deformable = nn.ModuleList(Deformable(width) for _ in range(2))
        self.layers = nn.ModuleList(Block(width, 4, functional.relu) for _ in range(2))
        self.queries = queries

    def forward(self, image):
        fine = self.backbone[0](image)
        coarse = self.backbone[1](fine)
        shapes = [tuple(map(int, part.shape[2:])) for part in (fine, coarse)]
        fine, coarse = (part.flatten(2).transpose(1, 2) for part in (fine, coarse))
        memory = torch.cat([fine, self.encoder(coarse)], 1)
        best = self.classes(memory).max(-1).values.topk(self.queries, 1).indices[..., None]
        queries = memory.gather(1, best.expand(-1, -1, memory.shape[2]))
        boxes = self.boxes(memory).gather(1, best.expand(-1, -1, 4)).sigmoid()
        for deformable, layer in zip(self.deformable, self.layers):
            queries = layer(queries + deformable(queries, boxes, memory, shapes))
            inverse = torch.log(boxes.clamp(1e-5, 1) / (1 - boxes).clamp(1e-5, 1))
            boxes = (self.boxes(queries) + inverse).sigmoid()
        scores, order = self.classes(queries).sigmoid().flatten(1).topk(10, 1)
        corners = torch.cat([boxes[..., :2] - boxes[..., 2:] / 2,
                             boxes[..., :2] + boxes[..., 2:] / 2], -1)
        chosen = (order // self.classes.out_features)[..., None].expand(-1, -1, 4)
        return scores, corners.gather(1, chosen)


class TextEncoder(nn.Module):
    """The embedding of a text at its last token, which has the largest number (CLIP)"""

    def __init__(self, words=200, length=20, width=48):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(0.1 * torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width, 4, lambda x: x * torch.sigmoid(1.702 * x))
                                    for _ in range(2))
        self.norm, self.project = nn.LayerNorm(width), nn.Linear(width, 32, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = torch.full((length, length), -1e9, dtype=self.places.dtype).triu(1)
        value = self.words(tokens) + self.places
        for block in self.blocks:
            value = block(value, mask)
        value = self.norm(value)[torch.arange(tokens.shape[0]), tokens.argmax(-1)]
        value = self.project(value)
        return value / value.norm(dim=-1, keepdim=True)


class Reader(nn.Module):
    """Columns of an image as a sequence of letters (Shi et al. 2015)"""

    def __init__(self, letters=30):
        super().__init__()
        self.convolve = nn.Sequential(convolution(3, 16), nn.MaxPool2d(2), convolution(16, 32),
                                      nn.MaxPool2d(2), convolution(32, 48), nn.MaxPool2d((2, 1)))
        self.recur = nn.LSTM(48 * 4, 24, 2, bidirectional=True, batch_first=True)
        self.letters = nn.Linear(48, letters)

    def forward(self, image):
        value = self.convolve(image).permute(0, 3, 1, 2).flatten(2)
        return self.letters(self.recur(value)[0]).log_softmax(-1)


class RecurrentMatte(nn.Module):
    """Foreground and alpha, with gated convolutions that keep a state for each scale"""

    def __init__(self, width=16):
        super().__init__()
        self.down = nn.ModuleList([convolution(3, width, 2), convolution(width, width, 2)])
        self.gates = nn.ModuleList(nn.Conv2d(2 * width, 2 * width, 3, padding=1) for _ in range(2))
        self.candidates = nn.ModuleList(nn.Conv2d(2 * width, width, 3, padding=1)
                                        for _ in range(2))
        self.fuse = convolution(2 * width, width)
        self.last = nn.Conv2d(width + 3, 4, 3, padding=1)

    def recur(self, n, value, state):
        reset, update = self.gates[n](torch.cat([value, state], 1)).sigmoid().chunk(2, 1)
        candidate = self.candidates[n](torch.cat([value, reset * state], 1)).tanh()
        return (1 - update) * state + update * candidate

    def forward(self, image, first=None, second=None):
        fine = self.down[0](image)
        coarse = self.down[1](fine)
        second = self.recur(1, coarse, torch.zeros_like(coarse) if second is None else second)
        value = functional.interpolate(second, scale_factor=2, mode="bilinear")
        value = self.fuse(torch.cat([value, fine], 1))
        first = self.recur(0, value, torch.zeros_like(value) if first is None else first)
        value = functional.interpolate(first, scale_factor=2, mode="bilinear")
        value = self.last(torch.cat([value, image], 1))
        return image + value[:, :3].clamp(-1, 1), value[:, 3:].clamp(0, 1), first, second


def vit():
    network = torchvision.models.VisionTransformer(64, 8, 3, 4, 96, 192, num_classes=20)
    nn.init.normal_(network.heads.head.weight)  # else 0
    return network


def convnext():
    setting = torchvision.models.convnext.CNBlockConfig
    return torchvision.models.ConvNeXt([setting(24, 48, 2), setting(48, 96, 2),
                                        setting(96, None, 2)], 0, 0.5, num_classes=20)


def swin():
    return torchvision.models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=20)


# As NETWORKS of torchnetworks.py: (makes it, rows and columns, mean and deviation)
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
NETWORKS = {
    "vit": (vit, (64, 64), IMAGENET),
    "convnext": (convnext, (96, 96), IMAGENET),
    "swin": (swin, (96, 96), IMAGENET),
    "detector": (Detector, (96, 128), IMAGENET),
    "depth": (Depth, (64, 80), IMAGENET),
    "text": (TextEncoder, None, None),
    "reader": (Reader, (32, 96), IMAGENET),
    "matte": (RecurrentMatte, (64, 96), ((0, 0, 0), (1, 1, 1))),
}
