"""Message bar above the pictures

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .gtk import Gtk, icon_button

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
