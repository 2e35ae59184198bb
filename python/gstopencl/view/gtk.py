"""GTK and GStreamer of the window. GTK 3, since Debian 12 has no GTK 4 sink for GStreamer.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys

try:
    import gi

    gi.require_version("Gdk", "3.0")
    gi.require_version("Gst", "1.0")
    gi.require_version("Gtk", "3.0")
    from gi.repository import Gdk, GLib, GObject, Gst, Gtk  # noqa: F401
except (ImportError, ValueError) as error:
    sys.exit(f"{error}: python3-gi, gir1.2-gtk-3.0 and gstreamer1.0-gtk3 are needed")


def need_display(program):
    Gst.init(None)
    if not Gtk.init_check(None)[0]:
        sys.exit(f"{program}: cannot open a display")
