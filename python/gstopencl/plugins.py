"""Prints the folder of a wheel's plugins, for GST_PLUGIN_PATH: python3 -m gstopencl.plugins

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .wheel import PLUGINS

if __name__ == "__main__":
    print(PLUGINS)
