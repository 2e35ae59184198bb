"""Python package of the GStreamer elements on OpenCL

SPDX-License-Identifier: LGPL-2.1-or-later
"""
