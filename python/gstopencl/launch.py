"""Launch lines, in which values that a user gives are no text: they are set as properties

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import re
import shlex
import typing


class Value(typing.NamedTuple):
    """Value of a property of the element before it in a list. That element has a name."""
    property: str
    text: str

    def __str__(self):
        """Returns PROPERTY=VALUE as gst-launch-1.0 takes it, without spaces."""
        return f"{self.property}={escaped(self.text)}"


def escaped(text):
    """Returns a value as text of a launch line. Unusual characters are octal numbers, which two
    parsers read: that of launch lines, and that of values in quotation marks."""
    if re.fullmatch(r"(?!NULL$)[\w+/:.,=@%<>-]+", text):
        return text
    octal = re.sub(r"[^\w+/:.-]", lambda found: "".join(
        f"\\\\{byte:03o}" for byte in found[0].encode()), text, flags=re.ASCII)
    return f'\\"{octal}\\"'


def each(parts):
    """Yields each word and each Value of parts, which are texts or Values."""
    for part in parts:
        yield from [part] if isinstance(part, Value) else part.split()


def printed(parts):
    """Returns parts as the arguments of gst-launch-1.0 in a shell."""
    return " ".join(word if word == "!" else shlex.quote(str(word)) for word in each(parts))


def build(parts, parse):
    """Returns the pipeline or bin that `parse (text)` makes of the texts, with the Values set.
    Raises GLib.Error, and ValueError if a property does not take its value."""
    from .view.properties import write_text  # which needs GStreamer

    made = parse(" ".join(word for word in each(parts) if not isinstance(word, Value)))
    element = None
    for word in each(parts):
        if isinstance(word, Value):
            try:
                write_text(element, element.find_property(word.property), word.text)
            except ValueError as error:
                raise ValueError(f"{word.property} {error}") from None
        elif word.startswith("name="):
            element = made.get_by_name(word.partition("=")[2])
    return made
