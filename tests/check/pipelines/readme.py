#!/usr/bin/env python3
"""Promise: each command of README.md and docs/ works as pasted into the shell that
`meson devenv -C build --workdir out` opens in the root of a fresh clone, after pipelines/demo.sh,
and writes only files that the document names, into the folder `out`.

Copies the files that git tracks, with a link to the build folder in place of a second build, and
runs every line of every fenced block of shell there, each document by itself. In a document with a
line `meson devenv`, the lines above it run in the root. Windows open on a screen of their own and
are closed after they have shown a picture. The few lines that are skipped or modified are listed
with the reason.

usage: readme.py ROOT BUILD-FOLDER [DOCUMENT...]    (without a document: all; /usr for what is installed, without a build folder)

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import fnmatch
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

from xscreen import greens_on_screen, screen

ROOT, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
DOCUMENTS = sys.argv[3:]
INSTALLED = not (BUILD / "build.ninja").exists()
ENTER = "meson devenv -C build --workdir out"
# First words of lines that are not run, without ../ before them, and why
NOT_RUN = {
    "tests/run.sh  ": "is the suite, of which this is a test",
    "tests/benchmark/table.py  ": "takes half an hour", # that with arguments is run
    "tests/benchmark/processortime.py  ": "takes two minutes", # that with arguments is run
    "tests/benchmark/fifteen.py": "compares two builds",
    "tests/benchmark/mattes.py": "needs pictures with an exact matte, and ffmpeg",
    "meson install": "changes /usr/local; pipelines_examples installs into a folder",
    "export GST_PLUGIN_PATH": "is for what the line before installs",
    "export GI_TYPELIB_PATH": "is for what the line before installs",
    "ninja -C ../build uninstall": "changes /usr/local",
    "model=$(../tools/fetch-selfie-model.py)": "needs the Internet and a camera",
    "opencl-detect": "needs the Internet or a camera; pipelines_detect tests it",
}
NOT_RUN_INSTALLED = {
    "cc ": "needs a compiler; tests/run.sh --packages builds all examples",
    "./grabber": "is built by the line before",
    "tests/benchmark": "the benchmarks are measured in the build folder",
    "tools/roofline.py": "is not installed",
}
QUICK = "--seconds 0.05 --windows 1 --warm-up 0.05"
CAMERA = "videotestsrc pattern=ball background-color=0xff209038"
FILM = f"{CAMERA} num-buffers=300 ! jpegenc ! avimux ! filesink location=../camera.avi"
NO_LOOPBACK = "raw sockets, which root gets, see no loopback, and the camera is still reserved"
AS_USER = "" if os.geteuid() else "setpriv --bounding-set -net_raw "
# Replacements in the lines, each with its reason
INSTEAD = {
    "--camera /dev/video0": ("../../camera.avi", "needs a camera; a film is in its place"),
    "v4l2src": (f"{CAMERA} is-live=true", "needs a camera; a live test picture is in its place"),
    "arv-fake-gv-camera-0.8 -i 127.0.0.1 &": (
        "timeout 200 arv-fake-gv-camera-0.8 -i 127.0.0.1 >/dev/null 2>&1 & sleep 1",
        "nobody ends it"),
    "gst-launch-1.0 aravissrc": (f"sleep 4; {AS_USER}gst-launch-1.0 aravissrc", NO_LOOPBACK),
    "opencl-view --oct --camera Aravis": (f"sleep 4; {AS_USER}opencl-view --oct --camera Aravis",
                                          NO_LOOPBACK),
    "--camera Basler-123 ": ("", "needs a camera; the phantom is in its place"),
    "oct -- --device gpu": (f"oct -- --case host-60-lines {QUICK}", "needs a GPU, and minutes"),
    "opencl-bench inference": ("opencl-bench inference --list", "needs the Internet, and minutes"),
    '--case "host*,device"': (f"--case host-60-lines {QUICK}", "takes minutes"),
    "b-scans=256 ": ("b-scans=16 ", "the phantom and its volumes take minutes"),
    "num-buffers=512 ": ("num-buffers=32 ", "the phantom takes minutes"),
    "frame=32 ": ("frame=1 ", "the recording has fewer B-scans"),
    "b-scans=128 num-buffers=128": ("b-scans=32 num-buffers=32", "the phantom takes minutes"),
}
# The output of demo.sh, the first command of all; documents may use it
DEMO = {"out/bscan.png", "out/greenscreen-before.png", "out/greenscreen.png"}
# Commands in the text, whose programs must exist
OURS = r"(?:\.\./)?(?:pipelines|tests|tools)/|opencl-(?:view|devices|bench)\b|oct-(?:calibrate|process)\b"
SHOWS = re.compile(r"opencl-view|oct-live|autovideosink")

LANGUAGES = "sh", "c", "text", "python"


def matching(table, text):
    """Returns the entry of a table that is the beginning of the text."""
    return next((entry for entry in table if text.startswith(entry)), None)


def commands(text):
    """Yields each shell command."""
    for block in re.finditer(r"^```(.*)\n((?s:.*?))^```", text, re.M):
        assert block[1] in LANGUAGES, f"a block of language '{block[1]}': {block[0]}"
        if block[1] == "python":
            compile(block[2], "a block of Python", "exec")
        if block[1] == "sh":
            for command in re.finditer(r"(?:.*\\\n)*.+", block[2]):
                yield command[0]


def without_comment(command):
    return re.sub(r"\s+#.*", "", command)


# --- the clone ---


def clone():
    """Copies the files that git tracks, as they are in the working tree."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],
        cwd=ROOT, check=True, capture_output=True, text=True)  # fmt: skip
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).exists():
            pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, name)
    if not INSTALLED:
        pathlib.Path("build").symlink_to(BUILD)


def files():
    """Returns modification times of all files of the clone; of the build folder only top files."""
    found = {}
    for folder, folders, names in os.walk("."):
        folders[:] = set(folders) - {"__pycache__", ".mesa_shader_cache"}
        for name in names:
            path = os.path.normpath(os.path.join(folder, name))
            with contextlib.suppress(FileNotFoundError): # of a process that still ends
                found[path] = os.stat(path).st_mtime_ns
    on_top = [f"build/{entry.name}" for entry in os.scandir(BUILD) if entry.is_file()]
    return found | dict.fromkeys(on_top, 0)


def check_places(written, command, text):
    """Each file is one that the text names, in out/ or in a folder there that the text names."""
    words = [re.sub(r"%\d*d", "*", word) for word in re.findall(r"[\w%.*/-]+", text)]
    patterns = [word for word in words if re.search("[a-z]", word)]
    for path in written - DEMO:
        assert path.startswith("out/"), f"{command}\nwrites {path}, outside of out/"
        below, name = path.removeprefix("out/"), os.path.basename(path)
        assert any(fnmatch.fnmatch(below if "/" in p else name, p) for p in patterns), \
            f"{command}\nwrites {path}, which the document does not name"
        assert below.split("/")[0] in re.findall(r"[\w.-]+", text) or "/" not in below, \
            f"{command}\nwrites {path} into a folder that no document names"


# --- one command ---


def bare_environment():
    """Removes variables that point to the build folder, as set by a test or another devenv."""
    pointing = ("GST_PLUGIN_PATH", "LD_LIBRARY_PATH", "GI_TYPELIB_PATH", "PKG_CONFIG_PATH")
    environment = {key: value for key, value in os.environ.items() if key not in pointing}
    # The scripts build nothing; check_built checks that their target is sufficient.
    return environment | {"GST_OPENCL_BUILD": str(BUILD), "GST_REGISTRY": f"{os.getcwd()}.registry",
                          "PYTHONDONTWRITEBYTECODE": "1", "PWD": os.getcwd()}  # fmt: skip


@functools.cache
def entered():
    """Returns the environment of the shell that ENTER opens, which is in out/."""
    if INSTALLED:
        return bare_environment() | {"PWD": f"{os.getcwd()}/out"}
    pasted = f"{ENTER}\npwd\nenv -0\n"
    done = subprocess.run(["bash"], input=pasted, env=bare_environment() | {"SHELL": "/bin/bash"},
                          capture_output=True, text=True, check=True)  # fmt: skip
    folder, variables = done.stdout.split("\n", 1)
    if folder != f"{os.getcwd()}/out":
        failures.append(f"{ENTER} goes to {folder}")
    return dict(variable.split("=", 1) for variable in variables.split("\0") if "=" in variable)


def show(command, environment):
    """Runs until a window has shown three pictures of some contrast, each unlike the one before."""
    count, last, deadline = 0, None, time.monotonic() + 100
    with tempfile.TemporaryFile("w+") as log:
        playing = subprocess.Popen(["bash", "-c", command], env=environment, stdout=log, stderr=log,
                                   cwd=environment["PWD"], start_new_session=True)  # fmt: skip
        try:
            while count < 3:
                shown = greens_on_screen()
                if np.ptp(shown) > 50 and (last is None or (shown != last).any()):
                    count, last = count + 1, shown
                if playing.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise AssertionError(f"{command}\nno film in a window: {log.read()}")
                time.sleep(0.05)
        finally:
            if playing.poll() is None:
                os.killpg(playing.pid, signal.SIGINT)
            playing.wait(60)
    while greens_on_screen().any():
        assert time.monotonic() < deadline, f"{command}\nits window stays"
        time.sleep(0.05)


def check_statistics(printed):
    """Checks that no element but opencldownload downloads or makes the host wait."""
    lines = [line for line in printed.splitlines() if re.search(r"element=\(string\)\w", line)]
    assert re.search(r"string\)(octfft0|flowkey0|openclkernel0)", "".join(lines)), printed
    for line in lines:
        if "(string)opencldownload" not in line:
            assert re.search(r"downloads=\(guint64\)0\b.*host-waits=\(guint64\)0\b", line), line


def check_profile(printed):
    """Checks that the table has a row with a kernel, and no command was missed."""
    assert re.search(r"^element +kernel +layer +count +total ms +mean us +%( .*)?$", printed, re.M), printed
    assert re.search(r"^\w+ +\w+ +\d+ +[\d.]+ +[\d.]+ +[\d.]+( .*)?$", printed, re.M), printed
    assert "not measured" not in printed, printed


def run(command, environment):
    done = subprocess.run(["bash", "-c", command], env=environment, cwd=environment["PWD"],
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    if "2> profile.log" in command: # which the next command reads
        return
    if "profile=true" in command:
        check_profile(done.stderr)
    elif "openclstats" in command:
        check_statistics(done.stderr)


def run_or_show(command, environment):
    for text, (instead, reason) in INSTEAD.items():
        if text in command:
            command = command.replace(text, instead)
            used.add(text)
            print(f"    {reason}: {command}")
    command = re.sub(r"^python3 ", f"{sys.executable} ", command) # the interpreter with NumPy
    shows = "camera.avi" in command or SHOWS.search(without_comment(command))
    (show if shows else run)(command, environment)


# --- a document ---


def check_command(command, environment, text):
    before, start = files(), time.monotonic()
    print(command, flush=True)
    run_or_show(command, environment)
    print(f"    {time.monotonic() - start:.1f} s", flush=True)
    after = files()
    check_places({path for path in after if after[path] != before.get(path)}, command, text)


def check_commands(text):
    """Runs the commands, those above ENTER in the root."""
    enters = any(without_comment(command).strip() == ENTER for command in commands(text))
    environment = None if enters else entered()
    for command in commands(text):
        if without_comment(command).strip() == ENTER:
            environment = entered()
            continue
        written = command.removeprefix("../")
        left_out = matching(NOT_RUN, written) or INSTALLED and matching(NOT_RUN_INSTALLED, written)
        used.add(left_out)
        if left_out:
            print("not run:", command)
            continue
        ran.append(command)
        try:
            check_command(command, environment or bare_environment(), text)
        except (AssertionError, subprocess.SubprocessError) as error:
            failures.append(error)


def check_programs(text):
    """Checks that the C code in a document is part of an example that is built."""
    built = "".join(path.read_text() for path in pathlib.Path("docs/examples").glob("*.c"))
    for block in re.findall(r"^```c\n(.*?)^```", text, re.M | re.S):
        assert "#include" not in block or block in built, block


def check_named_programs(text):
    """Checks that the programs exist that the text names, even without commands in it."""
    path = f"{entered()['PATH']}:{BUILD}/tools"
    for words in re.findall(rf"`((?:{OURS})[^`]*)`", text):
        program = re.split(r"\s", words)[0].rstrip("/").removeprefix("../")
        placeholder = re.search(r"\b[A-Z]+\b", program)
        if not (placeholder or os.path.exists(program) or shutil.which(program, path=path)):
            failures.append(f"`{words}`: no {program}")


def check_document(name):
    text = pathlib.Path(name).read_text()
    before = files()
    check_commands(text)
    check_programs(text)
    check_named_programs(text)
    for path in files().keys() - before.keys() - DEMO:
        if not path.startswith("build/"):
            os.remove(path)


def check_built():
    """Checks that the target of pipelines/demo.sh builds all installed files but opencl-bench."""
    def output_of(*command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    # One tool lists direct inputs, the other the inputs of these.
    made = "".join(output_of("ninja", "-C", str(BUILD), "-t", tool, "runtime")
                   for tool in ("query", "inputs")).split()  # fmt: skip
    installed = json.loads(output_of("meson", "introspect", "--installed", str(BUILD)))
    outputs = {os.path.relpath(path, BUILD): os.path.basename(target)
               for path, target in installed.items() if pathlib.Path(path).is_relative_to(BUILD)}
    # Scripts and modules of Python are written when the build is set up. Man pages and completions
    # are not needed to run.
    built = {path for path in outputs if not path.startswith(("meson-private/", "data/"))
             and not path.endswith((".installed", ".py"))}
    tools = {"opencl-devices", "oct-calibrate", "opencl-detect", "opencl-view", "opencl-key", "oct-process",
             "opencl-bench"}
    assert tools <= set(outputs.values()), outputs
    for name in "garden.jpg", "greenscreen-before.png", "fetch-selfie-model.py", "packages.py":
        assert any(path.endswith(f"gstopencl/data/{name}") for path in installed.values()), name
    missing = built - set(made) - {"tests/benchmark/opencl-bench"}
    assert not missing, f"not made by the target runtime: {missing}"


def size_of_png(path):
    head = pathlib.Path(path).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n", head
    return struct.unpack(">II", head[16:])


used, ran, failures = set(), [], []
with tempfile.TemporaryDirectory() as folder, screen():
    os.mkdir(f"{folder}/clone")
    os.chdir(f"{folder}/clone")
    clone()
    if not INSTALLED:
        check_built()
    run(f"gst-launch-1.0 -q {FILM}", bare_environment())
    every = ["README.md", *sorted(map(str, pathlib.Path("docs").glob("*.md")))]
    for document in DOCUMENTS or every:
        print("---", document)
        check_document(document)
        assert without_comment(ran[0]) == "pipelines/demo.sh" and DEMO <= files().keys(), ran[0]
    if not INSTALLED and not DOCUMENTS:
        failures += [f"in no document any more: {row}" for row in {*NOT_RUN, *INSTEAD} - used]
    os.chdir("/")
print(f"{len(ran)} commands were run")
assert ran and not failures, "\n\n".join(map(str, [*failures, f"{len(failures)} do not hold"]))
