"""GStreamer of opencl-key, without GTK

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys

from ..system import hint_for

try:
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstPbutils", "1.0")
    from gi.repository import Gio, GLib, GObject, Gst, GstPbutils  # noqa: F401
except (ImportError, ValueError) as error:
    sys.exit(f"{error}: {hint_for('PyGObject', 'python3-gi and gir1.2-gst-plugins-base-1.0')}")
