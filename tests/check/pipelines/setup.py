#!/usr/bin/env python3
"""Promises: scripts that install packages first print the packages, the command, and how to
prevent it, and ask nothing. --no-install prints the same, fails and installs nothing. Errors of the
installation are shown. Without apt-get, the scripts print the required packages and build. While
they install and build, they show how far they are: in one line of a terminal, else every ten percent.

Runs the scripts of a copy of the checkout with stand-ins for the programs that would install or
build, each of which logs its call.

usage: setup.py ROOT

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import pathlib
import pty
import re
import shutil
import stat
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
MISSING = "meson", "pocl-opencl-icd", "libvkfft-dev"
READERS = "pynrrd==1.1.3", "typing_extensions==4.12.2", "simpleitk==2.5.7"
PIPELINES = (
    "pipelines/demo.sh", "pipelines/greenscreen.sh", "pipelines/oct-live.sh",
    "pipelines/programs/distance.sh",
)  # fmt: skip
LONGEST_LINE = 100
# Each logs its arguments. apt-get and pip also save the output so far. The file `installed` makes
# dpkg-query report the packages as installed.
LOG = 'echo "${0##*/} $*" >>"$WORK/calls"\n'
SAID = 'cp "$WORK/said" "$WORK/said-before"\n'
STUBS = {
    "apt-get": LOG + SAID + '[ "$1" != install ] || touch "$WORK/installed"\n'
    '[ ! -e "$WORK/apt-fails" ] || { echo "E: no network"; exit 100; }\n',
    "dpkg-query": 'name=${!#}\n[[ ! -e $WORK/installed && " $MISSING " == *" $name "* ]]'
    ' && exit 1\necho installed\n',
    "id": 'echo "$USER_ID"\n',
    "meson": LOG + '[ "$1" != setup ] || { mkdir -p "$BUILD" && touch "$BUILD/build.ninja"; }\n',
    "ninja": LOG,
    "gst-launch-1.0": "exit 1\n",
}
PIP = """import os, shutil, sys
work = os.environ["WORK"]
shutil.copy(f"{work}/said", f"{work}/said-before")
print("pip", *sys.argv[1:], file=open(f"{work}/calls", "a"))
"""
# The other programs of this machine
FOLDER = pathlib.Path(tempfile.mkdtemp())
PROGRAMS = FOLDER / "programs"
HIDDEN = (*STUBS, "sudo")


def link_programs():
    PROGRAMS.mkdir()
    for folder in "/usr/bin", "/bin":
        for program in os.listdir(folder):
            if program not in HIDDEN and not (PROGRAMS / program).exists():
                (PROGRAMS / program).symlink_to(f"{folder}/{program}")


def write_program(path, text):
    path.write_text(f"#!/bin/bash\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Machine:
    """A copy of the checkout's scripts, and a PATH without programs that install"""

    def __init__(self, work, user=0, sudo=False):
        self.work, self.checkout = work, work / "checkout"
        for folder in "pipelines", "tests/modes", "tests/drivers", "tools":
            shutil.copytree(ROOT / folder, self.checkout / folder)
        for script in "run.sh", "count.py", "allowed-skips.txt":
            shutil.copy(ROOT / "tests" / script, self.checkout / "tests")
        stubs = work / "stubs"
        stubs.mkdir()
        for name, text in {**STUBS, **({"sudo": LOG + 'exec "$@"\n'} if sudo else {})}.items():
            write_program(stubs / name, text)
        (work / "python/pip").mkdir(parents=True)
        (work / "python/pip/__init__.py").touch()
        (work / "python/pip/__main__.py").write_text(PIP)
        self.environment = {
            "PATH": f"{stubs}:{PROGRAMS}", "HOME": str(work), "WORK": str(work), "USER_ID": str(user),
            "BUILD": str(self.checkout / "build"), "MISSING": " ".join(MISSING),
            "PYTHONPATH": str(work / "python"),
        }  # fmt: skip

    def run(self, *command):
        """Returns its output, its status and its calls. Its input is a pipe that stays empty, so
        that a question would wait for ever."""
        for name in "calls", "said", "said-before":
            (self.work / name).write_text("")
        with open(self.work / "said", "a", encoding="utf-8") as said:
            process = subprocess.Popen(
                command, cwd=self.checkout, env=self.environment,
                stdin=subprocess.PIPE, stdout=said, stderr=said)  # fmt: skip
            status = process.wait(60)
            process.stdin.close()
        said = (self.work / "said").read_text()
        print(*command, status, said, sep="\n", flush=True)
        messages = said.split("Building")[0].splitlines()
        assert max(map(len, messages), default=0) <= LONGEST_LINE, said
        return said, status, (self.work / "calls").read_text().splitlines()

    def said_before_installing(self):
        return (self.work / "said-before").read_text()


def machine(**details):
    return Machine(pathlib.Path(tempfile.mkdtemp(dir=FOLDER)), **details)


def installing(calls):
    return [call for call in calls if call.split()[0] in ("apt-get", "sudo", "pip")]


def command_in(said, program):
    """The command that a message shows: indented lines, all but the last with a backslash."""
    (found,) = re.findall(rf"^    \S*.*{program}(?:.*\\\n)*.*$", said, re.M)
    return found


def check_named_first(user, sudo):
    with_sudo = machine(user=user, sudo=sudo)
    for script in PIPELINES:
        (with_sudo.work / "installed").unlink(missing_ok=True)
        said, _, calls = with_sudo.run(script)
        before = with_sudo.said_before_installing()
        for name in (*MISSING, "apt-get install", "--no-install "):
            assert name in before, (script, name, before)
        assert ("sudo apt-get" in before) == sudo, before
        assert said.startswith(before)
        (install,) = [call for call in calls if call.startswith("apt-get install")]
        assert install.split()[-3:] == sorted(MISSING, key=install.find), install
        assert not set(install.split()) & {"xvfb", "python3-pip"}, install
        # pipelines_readme checks that this target includes the tools.
        assert calls[-1] == f"ninja -C {with_sudo.checkout}/build runtime", calls
        # The printed command does the same when it is pasted.
        (with_sudo.work / "shown.sh").write_text(command_in(before, "apt-get install"))
        again = with_sudo.run("bash", str(with_sudo.work / "shown.sh"))[2]
        assert installing(again) == installing(calls), (again, calls)


def check_refused(*script):
    refusing = machine()
    said, status, calls = refusing.run(*script, "--no-install")
    assert status != 0 and not calls, (script, status, calls)
    for name in (*MISSING, "apt-get install"):
        assert name in said, (script, name)
    (refusing.work / "installed").touch()


def check_nothing_missing():
    """If nothing is missing, --no-install makes no difference."""
    whole = machine()
    (whole.work / "installed").touch()
    said, _, calls = whole.run("pipelines/demo.sh", "--no-install")
    assert not installing(calls) and "ninja -C" in calls[-1], calls
    assert "apt-get" not in said, said


def check_nobody_may_install():
    said, status, calls = machine(user=1000).run("pipelines/demo.sh")
    assert status != 0 and not calls, (status, calls)
    for name in (*MISSING, "apt-get install", "root"):
        assert name in said, name


def check_without_apt():
    """Without apt-get, Debian's package names are printed, and the build continues."""
    other = machine()
    (other.work / "stubs/apt-get").unlink()
    said, _, calls = other.run("pipelines/demo.sh")
    for name in (*MISSING, "Debian", "g++", "gstreamer1.0-plugins-good"):
        assert name in said, (name, said)
    assert calls[-1] == f"ninja -C {other.checkout}/build runtime", calls


def check_failure_is_shown():
    failing = machine()
    (failing.work / "apt-fails").touch()
    said, status, calls = failing.run("pipelines/demo.sh")
    assert status != 0 and "E: no network" in said, said
    assert not any(call.startswith("ninja") for call in calls), calls


def check_progress():
    """apt-get fetches, unpacks and sets up two packages, and ninja takes 40 steps."""
    fetched = "Get:1 https://deb.example bookworm InRelease\n"
    packages = "0 upgraded, 2 newly installed, 0 to remove\n" + "".join(
        f"{line} {n}\n" for line in ("Get:", "Unpacking", "Setting up") for n in (1, 2))
    steps = "".join(f"[{n}/40] Compiling C++ object {n}\n" for n in range(1, 41))
    shown = machine()
    for name, text in ("apt-get", fetched + packages), ("ninja", steps):
        with open(shown.work / "stubs" / name, "a", encoding="utf-8") as stub:
            stub.write(f"\n[[ $1 == update || $3 == -n ]] || cat <<END\n{text}END\n")
    said, _, _ = shown.run("pipelines/demo.sh")
    percents = re.findall(r"^ *(\d+) %$", said, re.M)
    assert percents == ["10", "30", "50", "60", "80", "100", *map(str, range(10, 101, 10))], said

    (shown.work / "installed").unlink()
    terminal, inner = pty.openpty()
    with open(shown.work / "said", "w", encoding="utf-8") as output:
        process = subprocess.Popen(["pipelines/demo.sh"], cwd=shown.checkout, stdout=output,
                                   env=shown.environment, stderr=inner)  # fmt: skip
    os.close(inner)
    said = ""
    while process.poll() is None or said == "":
        try:
            said += os.read(terminal, 65536).decode()
        except OSError: # the scripts have closed it
            break
    process.wait(60)
    os.close(terminal)
    for last in "100 %  Setting up 2", "100 %  [40/40] Compiling C++ object 40":
        (line,) = [line for line in said.split("\n") if last in line]
        assert line.count("\r\033[K") > 5, said


def check_tests():
    """tests/run.sh has packages of its own, and readers of files that pip installs."""
    tests = machine()
    tests.environment["MISSING"] += " xvfb"
    for words in (), ("--leaks",), ("--asan",):
        said, status, calls = tests.run("tests/run.sh", "--no-install", *words)
        assert status != 0 and not calls, (words, status, calls)
        for name in (*MISSING, "xvfb", "apt-get install", *READERS, "pip install"):
            assert name in said, (words, name)
        assert said.endswith("0 passed, 1 failed\n")
    said, _, calls = tests.run("tests/run.sh")
    assert [call.split()[:2] for call in installing(calls)] == [
        ["apt-get", "update"], ["apt-get", "install"], ["pip", "install"]], calls  # fmt: skip
    before = tests.said_before_installing()
    for name in (*MISSING, "xvfb", *READERS, "--no-install "):
        assert name in before, (name, before)


try:
    link_programs()
    check_named_first(user=0, sudo=False)
    check_named_first(user=1000, sudo=True)
    for each in PIPELINES:
        check_refused(each)
    check_nothing_missing()
    check_nobody_may_install()
    check_without_apt()
    check_failure_is_shown()
    check_progress()
    check_tests()
finally:
    shutil.rmtree(FOLDER)
print("as promised")
