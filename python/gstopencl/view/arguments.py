"""Arguments of programs: refused in one sentence, with names of files that begin with a minus sign

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import os
import pathlib
import re

from .. import version

# Options that were removed, and what to use instead
REPLACED = {"--linear": "--mixing light or levels", "--auto-linear": "--mixing auto, light or levels",
            "--raw": "--size SAMPLESxLINES, --format and --offset",
            "--samples": "--size SAMPLESxLINES", "--lines": "--size SAMPLESxLINES",
            "--header-bytes": "--offset", "--bits": "--format U8 or U16LE"}


class Refused(ValueError):
    """An option that cannot be used, with the reason"""


def fault_of(path):
    """Returns why a path is no file that can be read, or an empty text."""
    if not os.path.exists(path):
        return "no such file"
    return "" if pathlib.Path(path).is_file() else "not a regular file"


def check_utf8(words):
    """Raises Refused for names that GLib does not take as text."""
    for word in words:
        if word != word.encode(errors="replace").decode():
            raise Refused(f"{word}: not UTF-8")


class Parser(argparse.ArgumentParser):
    """Reports a refused option in one sentence. The value of an option may begin with a minus sign,
    and so may all words after --. A value that may be left out is one of the choices, or does not begin
    with a minus sign. Options may stand between FILEs. --device becomes the default of all elements."""

    def __init__(self, **more):
        super().__init__(allow_abbrev=False, add_help=False,
                         formatter_class=argparse.RawDescriptionHelpFormatter, **more)
        self.add_argument("-h", "--help", action="help", help="prints this text")
        self.add_argument("--version", action="version", help="prints the version",
                          version=f"{self.prog.split()[0]} {version()}")
        self.add_argument("--debug", action="store_true", help="shows where an error comes from")

    def error(self, message):
        found = re.fullmatch(r"argument (.+?): (.*)", message, re.DOTALL)
        if found and found[1] in self.given:
            message = f"{found[1]} {self.given[found[1]]}: {found[2]}"
        elif found:
            message = f"{found[1]}: {found[2]}"
        extra = re.fullmatch("unrecognized arguments: (-- )?(.*)", message, re.DOTALL)
        if extra:
            kind = "file" if os.path.exists(extra[2].split()[0]) else "argument"
            message = f"unexpected {kind} (see --help): {extra[2]}"
        raise Refused(message)

    def parse_args(self, words):
        actions = {option: action for action in self._actions for option in action.option_strings}
        self.given, joined, rest = {}, [], list(words)
        while rest and rest[0] != "--":
            word = rest.pop(0)
            action = actions.get(word)
            if action and action.nargs == "?" and not (
                    rest and (rest[0] in action.choices if action.choices else rest[0][:1] != "-")):
                word = f"{word}={action.const}"
            elif action and action.nargs != 0 and rest:
                self.given[word] = rest.pop(0)
                word = f"{word}={self.given[word]}"
            elif word[:1] == "-" and word != "-" and word.partition("=")[0] not in actions:
                other = REPLACED.get(word.partition("=")[0])
                raise Refused(f"no such option ({f'use {other}' if other else 'see --help'}): "
                              f"{word}")
            joined.append(word)
        named = [word for word in joined if word[:1] == "-" and word != "-"]
        files = [*(word for word in joined if word not in named), *rest[1:]]
        asked = super().parse_args([*named, *(["--"] if files else []), *files])
        if getattr(asked, "device", None):
            os.environ["GST_OPENCL_DEVICE"] = asked.device
        return asked
