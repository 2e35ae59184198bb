# Transfer function of sRGB
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Conversion between levels of sRGB, 0 to 255, and linear light, 0 to 1"""
import numpy as np


def light_of(levels):
    value = levels / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def levels_of(light):
    return 255 * np.where(
        light <= 0.0031308, light * 12.92, 1.055 * np.maximum(light, 1e-9) ** (1 / 2.4) - 0.055)
