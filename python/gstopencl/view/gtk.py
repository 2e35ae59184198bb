"""GTK and GStreamer of the window. GTK 3, since Debian 12 has no GTK 4 sink for GStreamer, and
gtksink of gstreamer1.0-gtk3 is in Debian 12 and 13.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import signal
import sys

from ..program import Failed

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


def need_display():
    """Initialises GStreamer and GTK. Raises Failed."""
    GLib.set_prgname("opencl-view")  # as the .desktop file, for the icon of the window
    Gst.init(None)
    if not Gtk.init_check(None)[0]:
        raise Failed("cannot open a display (docs/trouble.md)")
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


def pack(box, *children, expand=()):
    """Adds children to a box. Those in `expand` take the room that is left. Returns the box."""
    for child in children:
        fills = child in expand
        box.pack_start(child, fills, fills, 0)
    return box


def in_row(*children, expand=(), **properties):
    """Returns children beside each other. `properties`: of the Gtk.Box"""
    return pack(Gtk.Box(**properties), *children, expand=expand)


def in_column(*children, expand=(), **properties):
    """Returns children below each other. `properties`: of the Gtk.Box"""
    return in_row(*children, expand=expand, orientation=Gtk.Orientation.VERTICAL, **properties)


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
    for number in (signal.SIGINT, signal.SIGTERM) if os.name == "posix" else ():
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, number,
                             lambda: close_dialogs() or stop() or True)


ICONS = {
    Gtk.MessageType.INFO: "dialog-information-symbolic",
    Gtk.MessageType.WARNING: "dialog-warning-symbolic",
    Gtk.MessageType.ERROR: "dialog-error-symbolic",
}


class MessageBar:
    """Hidden until there is a message. `button`, `act ()`: label and function of the button that an
    error shows"""

    def __init__(self, button=None, act=None):
        self.bar = Gtk.InfoBar(no_show_all=True)
        self.icon = Gtk.Image(visible=True)
        self.text = Gtk.Label(xalign=0, wrap=True, selectable=True, can_focus=False, visible=True)
        self.bar.get_content_area().add(self.icon)
        self.bar.get_content_area().add(self.text)
        self.button = Gtk.Button(label=button or "", no_show_all=True)
        self.button.connect("clicked", lambda _: act())
        close = icon_button("window-close-symbolic", "Close this message", self.bar.hide)
        close.show_all()
        area = self.bar.get_action_area()
        area.set_orientation(Gtk.Orientation.HORIZONTAL)
        area.add(self.button)
        area.add(close)
        self.has_button = bool(act)

    def show(self, text, kind):
        """Shows a sentence until it is closed. `kind`: a Gtk.MessageType"""
        self.text.set_text(text)
        self.icon.set_from_icon_name(ICONS[kind], Gtk.IconSize.BUTTON)
        self.bar.set_message_type(kind)
        self.button.set_visible(self.has_button and kind == Gtk.MessageType.ERROR)
        self.bar.show()
