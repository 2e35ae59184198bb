"""Presets: the values of all controls in files, by name

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import pathlib

from .gtk import GLib
from .properties import read_text


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
    path.write_text(json.dumps({"elements": list(elements.values())}, indent=2) + "\n")


def load(name, rows):
    """Sets the rows of controls to a preset. Returns the names of its elements, and of properties
    of its elements, that the pipeline does not have: it may be of another version. Raises
    ValueError or OSError with the reason."""
    path = path_of(name)
    try:
        saved = json.loads(path.read_text())["elements"]
        wanted = [(one["factory"], one["name"], dict(one["properties"])) for one in saved]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a preset: {error!r}") from None
    missing, refused, present = [], [], list({row.element: None for row in rows})
    for factory, own_name, properties in wanted:
        element = element_for(factory, own_name, present)
        if not element:
            missing.append(own_name)
            continue
        present.remove(element)
        own = {row.spec.name: row for row in rows if row.element == element}
        missing += [f"{own_name}.{name}" for name in properties if name not in own]
        refused += [f"{own_name}.{name}={value}" for name, value in properties.items()
                    if name in own and not own[name].set(value)]
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
