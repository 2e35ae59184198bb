#!/usr/bin/env python3
"""Promises: all programs are called in the same way: -h, --help and --version print and end with 0,
a failure ends with 1, a wrong call with 2 and one line that names the option or the file. Man pages
and completions for bash and zsh have the options of --help, and are installed. Scripts that make
pictures do nothing on --help. Progress is for terminals.

usage: programcalls.py SOURCE-FOLDER BUILD-FOLDER VERSION

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import functools
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from gstopencl.progress import FilesProgress, Progress

SOURCE, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
VERSION = sys.argv[3]
PROGRAMS = {path.name: path for path in (BUILD / "tools" / name for name in (
    "opencl-devices", "oct-calibrate", "oct-process", "opencl-detect", "opencl-key", "opencl-view"))}
if (BUILD / "tests/benchmark/opencl-bench").exists():
    PROGRAMS["opencl-bench"] = BUILD / "tests/benchmark/opencl-bench"
MODES = [(name,) for name in PROGRAMS] + [("opencl-view", "--oct"), ("opencl-view", "--key")]
WRONG = (  # arguments, text of the line
    (("opencl-devices", "first", "second"), "unexpected argument second"),
    (("oct-calibrate", "u.npy"), "unexpected file (see --help): u.npy"),
    (("oct-calibrate", "--order", "x", "--flat", "u.npy"), "--order x: expected a number"),
    (("oct-process", "none.npy"), "none.npy: no such file or folder"),
    (("oct-process", "--to", "x", "u.npy"), "--to x: "),
    (("opencl-detect", "none.png"), "none.png: no such file"),
    (("opencl-detect", "--fit", "x", "a.png"), "--fit x: expected stretch, letterbox or crop"),
    (("opencl-key", "none.png"), "none.png: no such file"),
    (("opencl-key", "--background", "ff0000", "--output", "o.png", "a.png", "b.png"),
     "--output o.png: not a folder, expected --output FOLDER for 2 files"),
    (("opencl-key", "--background", "ff0000", "a.png", "b.png"), "expected --output FOLDER for 2"),
    (("opencl-key", "--matte", "m.png", "a.png", "b.png"), "--matte m.png: not with several files"),
    (("opencl-view", "--oct", "u.npy", "v.npy"), "unexpected file (see --help): v.npy"),
    (("opencl-bench", "nothing"), "expected a command"),
    (("opencl-bench", "oct", "--samples", "x"), "--samples"))
FAILING = (("opencl-devices", "no such device"), ("oct-calibrate", "--mirror", "u.npy"),
           ("oct-process", "empty"))


@functools.cache
def run(name, *words):
    return subprocess.run([PROGRAMS[name], *words], capture_output=True, text=True, timeout=100,
                          check=False, stdin=subprocess.DEVNULL)


def options_of(text):
    """Returns the options at the beginnings of the lines of a help text."""
    return {name for line in re.findall(r"(?m)^  (-\S.*)", text)
            for name in re.findall(r"(?:^|, )(--?[a-z][\w-]*)", line)}


def check_help():
    for mode in MODES:
        short, long, version = (run(*mode, option) for option in ("-h", "--help", "--version"))
        assert short.returncode == long.returncode == version.returncode == 0, (mode, long)
        assert short.stdout == long.stdout and not long.stderr + version.stderr, mode
        assert {"-h", "--help", "--version"} < options_of(long.stdout), (mode, long.stdout)
        assert re.match(f"[Uu]sage:\\s+{mode[0]}", long.stdout), long.stdout
        assert version.stdout == f"{mode[0]} {VERSION}\n", version
        assert max(map(len, long.stdout.split("\n"))) <= 115, (mode, long.stdout)


def check_wrong_calls():
    for name in "u.npy", "v.npy", "a.png", "b.png":
        pathlib.Path(name).touch()
    for mode in MODES:
        done = run(*mode, "--no-such-option")
        assert done.returncode == 2 and "--no-such-option" in done.stderr, (mode, done)
        assert done.stderr.count("\n") == 1 and not done.stdout, (mode, done)
    for words, text in WRONG:
        if words[0] in PROGRAMS:
            done = run(*words)
            assert done.returncode == 2 and text in done.stderr, (words, done)
            assert done.stderr.startswith(f"{words[0]}: "), (words, done)
            assert done.stderr.count("\n") == 1 and "no such option" not in done.stderr, done
    os.mkdir("empty")
    for words in FAILING:
        done = run(*words)
        assert done.returncode == 1 and done.stderr, (words, done)


def completed(name, *words):
    """Returns what bash completes the last word to."""
    function = "_" + name.replace("-", "_")
    script = 'source "$0"; complete -p "$1" >&2 || exit; COMP_WORDS=("${@:1}"); ' \
        'COMP_CWORD=$(($# - 1)); ' + function + ' "$1" "" ""; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-c", script, BUILD / "data" / name, name, *words],
                          capture_output=True, text=True, timeout=100, check=True)
    assert done.stderr == f"complete -F {function} {name}\n", done.stderr
    return {word for word in done.stdout.split("\n") if word}


def check_bash():
    pathlib.Path("my film.mp4").touch()
    for mode in MODES:
        ask = "--help-all" if mode == ("opencl-key",) else "--help"
        expected = {one for one in options_of(run(*mode, ask).stdout) if one[:2] == "--"}
        got = completed(*mode, "--")
        assert got == expected, (mode, got ^ expected)
    for words, expected in (
            (("opencl-key", "--method", ""), {"chroma", "difference", "distance"}),
            (("opencl-key", "--method", "=", "d"), {"difference", "distance"}),
            (("opencl-key", "--method", "="), {"chroma", "difference", "distance"}),
            (("opencl-key", "--similarity", ""), set()),
            (("opencl-key", "my"), {"my film.mp4"}),
            (("opencl-key", "--background", ""), {"none", *os.listdir()}),
            (("opencl-view", "--oct", "--kind", ""), {"raw", "depths", "both"}),
            (("opencl-view", "--key", "--plate", "m"), {"measured", "my film.mp4"}),
            (("opencl-view", "--k"), {"--key"}),
            (("oct-process", "--to", ""), {"npy", "zarr", "nii", "nrrd", "tiff"}),
            (("oct-process", "--settings", "m"), {"my film.mp4"}),
            (("oct-calibrate", "--wavelength-unit", ""), {"nm", "um", "m"}),
            (("oct-calibrate", "my"), set()),
            (("opencl-detect", "--fit", ""), {"stretch", "letterbox", "crop"}),
            (("opencl-detect", "--camera", "--sh"), {"--show"}),
            (("opencl-devices", "--r"), {"--report"}),
            (("opencl-bench", "--compare", "m"), {"my film.mp4"}),
            (("opencl-bench", "tr"), {"transfer"})):
        if words[0] in PROGRAMS:
            assert completed(*words) == expected, (words, completed(*words))


def check_zsh():
    if not shutil.which("zsh"):
        print("NOT CHECKED: zsh is not installed")
    for name in PROGRAMS:
        text = (BUILD / "data" / f"_{name}").read_text()
        assert text.startswith(f"#compdef {name}\n") and "'*--version[" in text, text
        if shutil.which("zsh"):
            subprocess.run(["zsh", "-n", BUILD / "data" / f"_{name}"], check=True, timeout=100)


def check_man_pages():
    groff = shutil.which("groff")
    if not groff:
        print("NOT CHECKED: groff is not installed")
    for name in PROGRAMS:
        page = BUILD / "data" / f"{name}.1"
        text = page.read_text("ascii")
        for title in "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS":
            assert f"\n.SH {title}\n" in text, (name, title)
        shown = set(re.findall(r"\\fB(\S+?)\\fR", text.replace("\\-", "-")))
        missing = options_of(run(name, "--help").stdout) - shown
        assert not missing, (name, missing)
        if groff:
            done = subprocess.run([groff, "-man", "-ww", "-z", page], capture_output=True,
                                  text=True, timeout=100, check=True)
            assert not done.stderr, done.stderr


def check_installed():
    installed = json.loads((BUILD / "meson-info/intro-installed.json").read_text())
    for name in PROGRAMS:
        for path in (f"/man/man1/{name}.1", f"/bash-completion/completions/{name}",
                     f"/zsh/site-functions/_{name}"):
            assert any(target.endswith(path) for target in installed.values()), path


def check_scripts():
    before = set(os.listdir())
    for script in "frontpicture.sh", "octpictures.sh", "keyingpictures.sh":
        for words, status, text in (("--help",), 0, f"Usage: {script} "), (
                ("--no-such-option",), 2, f"{script}: no such option (see --help): --no"):
            done = subprocess.run([SOURCE / "docs/pictures" / script, *words], timeout=10,
                                  capture_output=True, text=True, check=False)
            assert done.returncode == status, done
            assert (done.stderr if status else done.stdout).startswith(text), done
    assert set(os.listdir()) == before, os.listdir()


def check_progress():
    """A share of a quarter after ten seconds takes thirty more."""
    for is_terminal in True, False:
        file = io.StringIO()
        file.isatty = lambda is_terminal=is_terminal: is_terminal
        with Progress(file) as progress:
            progress(0.25)  # too early to say something
            progress.began -= 10
            progress(0.25)
            progress(0.5)  # too soon after the line before
        expected = "\r25%, remaining time 0:00:30\x1b[K\r\x1b[K" if is_terminal else ""
        assert file.getvalue() == expected, file.getvalue()
    files = FilesProgress(4)
    files.file, files.is_terminal, files.began = io.StringIO(), True, files.began - 10
    files.begin(1)
    assert files.file.getvalue() == "\r25%, file 2 of 4, remaining time 0:00:30\x1b[K"


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for check in [value for name, value in globals().items() if name.startswith("check_")]:
        check()
    os.chdir("/")
print(f"{len(PROGRAMS)} programs")
