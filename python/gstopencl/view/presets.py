"""Presets: the values of all controls in files, by name, and their menu

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import pathlib

from ..files import write_whole
from .gtk import GLib, Gtk, icon_button, in_column, in_row, name_widget, pack
from .properties import read_text

# Values that were removed, and what to set instead
REPLACED = {"adaptive=false": "plate=none", "adaptive=true": "plate=adaptive",
            **{f"auto-key={side}-{end}": "auto-key=rectangle with auto-key-x, -y, -width and -height"
               for side in ("top", "bottom") for end in ("left", "right")},
            **{f"quantity={band}-band": "quantity=bands" for band in ("low", "middle", "high")}}


def folder():
    return pathlib.Path(GLib.get_user_config_dir()) / "opencl-view" / "presets"


def path_of(name):
    """Returns the file of a preset. Raises ValueError if the name is none for a file."""
    if not name.strip() or "/" in name or name.startswith("."):
        raise ValueError(f"“{name}” is not a name of a preset")
    return folder() / f"{name.strip()}.json"


def names():
    return sorted(path.stem for path in folder().glob("*.json"))


def save(name, rows):
    """Saves the values of the rows of controls. Raises ValueError or OSError with the reason."""
    path = path_of(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    elements = {}
    for row in rows:
        found = elements.setdefault(row.element, {
            "factory": row.element.get_factory().get_name(), "name": row.element.get_name(),
            "properties": {}})
        found["properties"][row.spec.name] = read_text(row.element, row.spec)
    write_whole(path, json.dumps({"elements": list(elements.values())}, indent=2) + "\n")


def load(name, rows):
    """Sets the rows of controls to a preset. Returns the names of its elements, and of properties
    of its elements, that the pipeline does not have: it may be of another version. Raises
    ValueError or OSError with the reason."""
    path = path_of(name)
    try:
        saved = json.loads(path.read_text())["elements"]
        wanted = [(one["factory"], one["name"], dict(one["properties"])) for one in saved]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a preset: {error!r}") from None
    missing, refused, present = [], [], list({row.element: None for row in rows})
    for factory, own_name, properties in wanted:
        element = element_for(factory, own_name, present)
        if not element:
            missing.append(own_name)
            continue
        present.remove(element)
        own = {row.spec.name: row for row in rows if row.element == element}
        for name, value in properties.items():
            if f"{name}={value}" in REPLACED:
                refused.append(f"{own_name}.{name}={value} (use {REPLACED[f'{name}={value}']})")
            elif name not in own:
                missing.append(f"{own_name}.{name}")
            elif not own[name].set(value):
                refused.append(f"{own_name}.{name}={value}")
    if refused:
        raise ValueError(f"{path}: {', '.join(refused)}: the controls say what is expected; "
                         "other values are set")
    return missing


def element_for(factory, name, elements):
    """Returns the element of that name, else the first one of the same kind, or None."""
    same = [element for element in elements if element.get_factory().get_name() == factory]
    return next((element for element in same if element.get_name() == name),
                same[0] if same else None)


def delete(name):
    path_of(name).unlink()


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
        line = in_row(self.entry, save, expand=[self.entry], spacing=6)
        self.list = in_column()
        scrolled = Gtk.ScrolledWindow(hscrollbar_policy=Gtk.PolicyType.NEVER,
                                      propagate_natural_height=True, max_content_height=260)
        scrolled.add(self.list)
        box = in_column(line, scrolled, expand=[scrolled], spacing=6, margin=8)
        box.show_all()
        self.popover = Gtk.Popover()
        self.popover.add(box)
        self.popover.connect("show", lambda _: self.list_presets())
        self.button.set_popover(self.popover)

    def list_presets(self):
        for child in self.list.get_children():
            self.list.remove(child)
        for name in names():
            load = Gtk.ModelButton(text=name, tooltip_text=f"Load {name}", xalign=0)
            load.connect("clicked", lambda _, name=name: self.load(name))
            name_widget(load, f"Load {name}")
            trash = icon_button("user-trash-symbolic", f"Delete {name}",
                                lambda name=name: self.delete(name))
            pack(self.list, in_row(load, trash, expand=[load], spacing=6))
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
        if self.run(save, name, self.rows()):
            self.popover.popdown()
            self.entry.set_text("")
            self.tell(f"The preset {name} is saved.")

    def load(self, name):
        done = self.run(load, name, self.rows())
        if done:
            self.popover.popdown()
            missing = f" The pipeline does not have {', '.join(done[0])}." if done[0] else ""
            self.tell(f"The preset {name} is loaded.{missing}")

    def delete(self, name):
        self.run(delete, name)
        self.list_presets()
