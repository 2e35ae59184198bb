"""Menu that saves, loads and deletes presets

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from . import presets
from .gtk import Gtk, icon_button, name_widget


class PresetMenu:
    """`rows ()`: returns the rows of controls. `tell (text)`, `fail (reason)`: show a message"""

    def __init__(self, rows, tell, fail):
        self.rows, self.tell, self.fail = rows, tell, fail
        self.button = Gtk.MenuButton(
            image=Gtk.Image(icon_name="user-bookmarks-symbolic"), relief=Gtk.ReliefStyle.NONE,
            tooltip_text="Presets: save and load all controls (Ctrl+P)")
        name_widget(self.button, "Presets")
        self.entry = Gtk.Entry(placeholder_text="Name of a new preset", width_chars=18)
        name_widget(self.entry, "Name of a new preset")
        self.entry.connect("activate", lambda _: self.save())
        save = Gtk.Button(label="Save")
        save.connect("clicked", lambda _: self.save())
        line = Gtk.Box(spacing=6)
        line.pack_start(self.entry, True, True, 0)
        line.pack_start(save, False, False, 0)
        self.list = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        scrolled = Gtk.ScrolledWindow(hscrollbar_policy=Gtk.PolicyType.NEVER,
                                      propagate_natural_height=True, max_content_height=260)
        scrolled.add(self.list)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6, margin=8)
        box.pack_start(line, False, False, 0)
        box.pack_start(scrolled, True, True, 0)
        box.show_all()
        self.popover = Gtk.Popover()
        self.popover.add(box)
        self.popover.connect("show", lambda _: self.list_presets())
        self.button.set_popover(self.popover)

    def list_presets(self):
        for child in self.list.get_children():
            self.list.remove(child)
        for name in presets.names():
            load = Gtk.ModelButton(text=name, tooltip_text=f"Load {name}", xalign=0)
            load.connect("clicked", lambda _, name=name: self.load(name))
            name_widget(load, f"Load {name}")
            line = Gtk.Box(spacing=6)
            line.pack_start(load, True, True, 0)
            line.pack_start(icon_button("user-trash-symbolic", f"Delete {name}",
                                        lambda name=name: self.delete(name)), False, False, 0)
            self.list.pack_start(line, False, False, 0)
        self.list.show_all()

    def run(self, act, *arguments):
        """Calls a function of presets, and shows why it failed. Returns its result in a tuple."""
        try:
            return (act(*arguments),)
        except (OSError, ValueError) as error:
            self.fail(str(error))
            return None

    def save(self):
        name = self.entry.get_text()
        if self.run(presets.save, name, self.rows()):
            self.popover.popdown()
            self.entry.set_text("")
            self.tell(f"The preset {name} is saved.")

    def load(self, name):
        done = self.run(presets.load, name, self.rows())
        if done:
            self.popover.popdown()
            missing = f" The pipeline does not have {', '.join(done[0])}." if done[0] else ""
            self.tell(f"The preset {name} is loaded.{missing}")

    def delete(self, name):
        self.run(presets.delete, name)
        self.list_presets()
