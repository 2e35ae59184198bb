#!/usr/bin/env python3
"""Makes the man page of a program and its completions for bash and zsh from its --help.

usage: helpfiles.py FOLDER SUMMARY VERSION PROGRAM [MODE…]

Writes NAME.1, NAME and _NAME into FOLDER. MODE is a first word of the program that has options of
its own, such as --oct. A placeholder of an option says what completes its value: FILE and FOLDER
are names of files, and words with | between them are choices.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import re
import subprocess
import sys
import typing

OPTION = re.compile(r"  (-\S.*?)(?:   *(\S.*))?")
ENV = os.environ | {"LC_ALL": "C.UTF-8", "COLUMNS": "999", "PYTHONDONTWRITEBYTECODE": "1"}
STATUS = """EXIT STATUS:
  0  success
  1  failure
  2  wrong arguments"""


class Option(typing.NamedTuple):
    names: list
    value: str  # the placeholder; "" for none
    text: str

    def choices(self):
        words = re.split(r"[|,]", self.value.strip("[]{}"))
        return [word for word in words if re.fullmatch(r"[a-z][\w-]*|Mono\d+", word)]

    def is_file(self):
        return bool(re.search("FILE|FOLDER|MODEL", self.value))


def help_of(*words, option="--help"):
    text = subprocess.run([*words, option], env=ENV, stdout=subprocess.PIPE, encoding="utf-8",
                          check=True).stdout
    return help_of(*words, option="--help-all") if "--help-all" in text and option == "--help" \
        else text


def options_of(text):
    """Yields the options of a help text. Lines below one, which are further in, belong to it."""
    for found in re.finditer(rf"(?m)^{OPTION.pattern}$((?:\n {{6,}}\S.*$)*)", text):
        words = re.findall(r"(-[\w-]+)(?:[ =](\S+))?", found[1])
        yield Option([name for name, _ in words], words[-1][1],
                     " ".join(f"{found[2] or ''} {found[3]}".split()))


def positional_of(text):
    """Returns the choices of the first word that is no option, and whether files follow."""
    usage = re.match("[Uu]sage:((?:.*\n)+?)\n", text)[1]
    names = re.sub(r"--?\w\S* (FILE|FOLDER)", "", usage)
    commands = re.search(r"(?m)^Commands:\n((?:  .*\n)+)", text)
    return re.findall(r"(?m)^  ([a-z]\S*)", commands[1]) if commands else [], \
        bool(commands or re.search("FILE|FOLDER", names))


# --- man page ---


def roff(text):
    text = re.sub(r"(?m)^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))
    return re.sub(r"[^\0-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)


def section_of(lines):
    """Yields the lines of a man page for the lines below a title: options and text as it is."""
    text = "\n".join(lines)
    options = list(options_of(text))
    for option in options:
        names = ", ".join(rf"\fB{roff(name)}\fR" for name in option.names)
        yield f".TP\n{names} \\fI{roff(option.value)}\\fR\n{roff(option.text)}" if option.value else \
            f".TP\n{names}\n{roff(option.text)}"
    if not options:
        yield f".PP\n.nf\n{roff(text)}\n.fi"


def man_page(name, summary, version, texts):
    usage, _, rest = texts[0].partition("\n\n")
    usage = re.sub(r"(?m)^(usage: *| {2,})", "", usage, flags=re.IGNORECASE).strip()
    yield f'.TH {name.upper()} 1 "" "gst-opencl {version}" "User Commands"'
    yield f".SH NAME\n{roff(name)} \\- {roff(summary)}\n.SH SYNOPSIS\n.nf\n{roff(usage)}\n.fi"
    yield ".SH DESCRIPTION"
    for part in re.split(r"\n\n+", "\n\n".join([rest, *texts[1:], STATUS]).strip()):
        title, _, lines = part.partition("\n")
        if re.match(r"\S.*:$", title) and lines.startswith("  "):
            yield f".SH {roff(title.rstrip(':').split(' (')[0].upper())}"
            yield from section_of(lines.split("\n"))
        elif re.match("[Uu]sage:", part):
            yield f".SH {roff(part.split()[1].upper())} {roff(part.split()[2].upper())}\n" \
                f".nf\n{roff(part)}\n.fi"
        else:
            yield f".PP\n{roff(part)}" if "\n  " not in part else f".PP\n.nf\n{roff(part)}\n.fi"


# --- completions ---


def in_bash(mode, options, commands, takes_files):
    """Yields patterns MODE:OPTION, and what completes the word behind it."""
    for option in options:
        if option.value and option.value != "[DEVICE]":  # may be left out
            words = f'-W "{" ".join(option.choices())}" ' if option.choices() else ""
            files = "-f " if option.is_file() else ""
            yield "|".join(f"{mode}:{name}" for name in option.names), words + files
    words = " ".join([*commands, *(name for option in options for name in option.names)])
    yield f"{mode}:*", f'-W "{words}" ' + "-f " * takes_files


def bash(name, modes):
    function = "_" + name.replace("-", "_")
    first = "|".join(f"*:{mode or '-'}" for mode in modes)
    cases = "\n".join(f"    {pattern}) set -- {words};;"
                      for mode, parts in modes.items() for pattern, words in in_bash(mode, *parts))
    return f"""# Completion of {name} for bash
{function} ()
{{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} mode=
  [ "$word" != = ] || word=
  [ "$before" != = ] || before=${{COMP_WORDS[COMP_CWORD - 2]}}
  case $COMP_CWORD:${{COMP_WORDS[1]}} in
    1:*) ;;
    {first})
      mode=${{COMP_WORDS[1]}}
      [ "$COMP_CWORD" -gt 2 ] || before=
      ;;
  esac
  case $mode:$before in
{cases}
  esac
  [ $# -gt 0 ] || set -- -W ""
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$@" -- "$word")
}}
complete -F {function} {name}
"""


def in_zsh(options, commands, takes_files):
    for option in options:
        text = re.sub(r"([\[\]:\\])", r"\\\1", option.text.split(". ")[0]).replace("'", "'\\''")
        value = ""
        if option.value:
            label = re.sub("[^A-Za-z]+", "-", option.value).strip("-") or "value"
            action = "_files" if option.is_file() else f"({' '.join(option.choices())})"
            value = f":{label}:{action if action != '()' else ' '}"
        for name in option.names:
            yield f"'*{name}[{text}]{value}'"
    if commands:
        yield f"'1:command:({' '.join(commands)})'"
    if takes_files:
        yield "'*:file:_files'"


def zsh(name, modes):
    cases = "\n".join(
        f"  {'1:' + mode if mode else '*'})\n    " + "shift words && (( CURRENT-- ))\n    " * bool(mode)
        + "_arguments \\\n      " + " \\\n      ".join(in_zsh(*parts)) + "\n    ;;"
        for mode, parts in sorted(modes.items(), reverse=True))
    return f"#compdef {name}\n# Completion of {name} for zsh\n" \
        f"case $(( CURRENT > 2 )):$words[2] in\n{cases}\nesac\n"


def main(folder, summary, version, program, *modes):
    name, folder = pathlib.Path(program).name, pathlib.Path(folder)
    texts = {mode: help_of(program, *filter(None, [mode])) for mode in ("", *modes)}
    parts = {mode: (list(options_of(text)), *positional_of(text)) for mode, text in texts.items()}
    for file, text in ((f"{name}.1", "\n".join(man_page(name, summary, version, [*texts.values()])) + "\n"),
                       (name, bash(name, parts)), (f"_{name}", zsh(name, parts))):
        (folder / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
