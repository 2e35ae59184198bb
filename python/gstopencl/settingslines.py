"""Lines of settings files

SPDX-License-Identifier: LGPL-2.1-or-later
"""


def line_of(name, value):
    """Returns the line of a property. Raises ValueError if its value does not fit into a line."""
    text = str(value)
    if "\n" in text or text != text.rstrip():
        raise ValueError(f"{name}: {text!r} does not fit into a line of a settings file")
    return f"{name}={text}\n"
