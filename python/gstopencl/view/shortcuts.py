"""Keyboard shortcuts of a window, and the window that lists them

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import re

from .gtk import Gdk, Gtk

UNTYPED = re.compile(r"F\d+|Escape")
MODIFIERS = Gdk.ModifierType.CONTROL_MASK | Gdk.ModifierType.MOD1_MASK


def find(shortcuts, event, typing):
    """Returns the action of a key press, or None. `shortcuts`: tuples of accelerators of GTK (with
    spaces in between), a description and an action. `typing`: whether a text field has the focus,
    which takes keys without Control or Alt, except Escape and function keys"""
    for accelerators, _, act in shortcuts:
        for accelerator in accelerators.split():
            key, modifiers = Gtk.accelerator_parse(accelerator)
            same = Gdk.keyval_to_lower(event.keyval) == key \
                and event.state & MODIFIERS == modifiers
            if same and (not typing or modifiers or UNTYPED.fullmatch(accelerator)):
                return act
    return None


def show(parent, shortcuts):
    """Shows a window with the shortcuts."""
    group = Gtk.ShortcutsGroup(title="Keys", visible=True)
    for accelerator, text, _ in shortcuts:
        group.add(Gtk.ShortcutsShortcut(accelerator=accelerator, title=text, visible=True))
    section = Gtk.ShortcutsSection(section_name="all", visible=True)
    section.add(group)
    window = Gtk.ShortcutsWindow(transient_for=parent, modal=True)
    window.add(section)
    window.show()
    return window
