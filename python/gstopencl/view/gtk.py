"""GTK and GStreamer of the window. GTK 3, since Debian 12 has no GTK 4 sink for GStreamer, and
gtksink of gstreamer1.0-gtk3 is in Debian 12 and 13.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import signal
import sys

try:
    import gi

    gi.require_version("Gdk", "3.0")
    gi.require_version("Gst", "1.0")
    gi.require_version("GstVideo", "1.0")
    gi.require_version("Gtk", "3.0")
    from gi.repository import (  # noqa: F401
        Gdk, GdkPixbuf, Gio, GLib, GObject, Gst, GstVideo, Gtk, Pango)
except (ImportError, ValueError) as error:
    sys.exit(f"{error}: python3-gi, gir1.2-gtk-3.0, gir1.2-gst-plugins-base-1.0 and "
             "gstreamer1.0-gtk3 are needed")

STYLE = b"""
.refused { color: @error_color; margin: 2px 0 6px 0; }
.status { font-feature-settings: "tnum"; }
"""


def need_display(program):
    """Initialises GStreamer and GTK, or ends the program. `program`: its name in the reason"""
    GLib.set_prgname("opencl-view")  # as the .desktop file, for the icon of the window
    Gst.init(None)
    if not Gtk.init_check(None)[0]:
        sys.exit(f"{program}: cannot open a display (docs/trouble.md)")
    use_style(STYLE)


def use_style(style):
    """Adds a style sheet to all windows."""
    provider = Gtk.CssProvider()
    provider.load_from_data(style)
    Gtk.StyleContext.add_provider_for_screen(
        Gdk.Screen.get_default(), provider, Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)


def name_widget(widget, name):
    """Sets the name that a screen reader says."""
    widget.get_accessible().set_name(name)
    return widget


def icon_button(icon, tooltip, act, name=None, kind=Gtk.Button):
    """Returns a button with an icon. `act ()`: called by a click; by each change of a
    Gtk.ToggleButton. `name`: for screen readers, if it is not the tooltip"""
    button = kind(image=Gtk.Image(icon_name=icon), tooltip_text=tooltip)
    button.set_relief(Gtk.ReliefStyle.NONE)
    button.connect("toggled" if kind is Gtk.ToggleButton else "clicked", lambda _: act())
    return name_widget(button, name or tooltip)


def close_dialogs():
    """Cancels open dialogs, which run main loops of their own."""
    for window in Gtk.Window.list_toplevels():
        if isinstance(window, Gtk.Dialog):
            window.response(Gtk.ResponseType.CANCEL)


def at_signal(stop):
    """Calls `stop ()` at SIGINT and SIGTERM."""
    for number in signal.SIGINT, signal.SIGTERM:
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, number,
                             lambda: close_dialogs() or stop() or True)
