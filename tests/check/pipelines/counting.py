#!/usr/bin/env python3
"""Promises: the suite counts each test of a gst-check program. A failure that known-faults.txt
lists for this version of the driver does not fail the suite. Any other failure does, and so does a
listed fault that does not occur. A skipped test fails the suite unless allowed-skips.txt lists it,
and each line of that list names a test.

usage: counting.py TESTS BUILD

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS, BUILD = map(pathlib.Path, sys.argv[1:])
DATA = "GST_OPENCL_TEST_DATA"
DEVICES = """#!/bin/sh
echo "0:0  Other
    kind          GPU, 4 compute units
    version       OpenCL 3.0 other, driver 7.0
1:0  This  (selected)
    kind          CPU, 2 compute units
    version       OpenCL 3.0 This: its CPU, driver 6.0+debian
    memory        12.6 GiB"
"""
LIST = """# comment
fault | this-6 | 6.0+debian | elements_one*:test_aborts | aborts | nothing
fault | other | 7.0 | elements_one:test_wrong | aborts | nothing
skip | other | * | elements_one | hours | nothing
"""
ABORTS = "../one.cpp:107:E:general:test_aborts:0: (after this point) Received signal 6 (Aborted)\n"
WRONG = "../one.cpp:120:F:general:test_wrong:0: Assertion '1 == 2' failed\n"


def program(name, result, checks=0, failures=0, errors=0, faults=""):
    stdout = f"Running suite(s): {name}\n50%: Checks: {checks}, Failures: {failures}, " \
             f"Errors: {errors}\n{faults}" if checks else "no program of gst-check\n"
    return {"name": name, "result": result, "stdout": stdout}


def count(*programs):
    """Returns the exit status and the lines that it prints."""
    (FOLDER / "log").write_text("".join(json.dumps(line) + "\n" for line in programs))
    run = subprocess.run([sys.executable, FOLDER / "count.py", FOLDER / "log", FOLDER / "devices"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    print(run.stdout)
    return run.returncode, run.stdout.splitlines()


def check_plain():
    assert count() == (1, ["0 passed, 1 failed"])
    assert count(program("elements_two", "OK", 7), program("script", "OK")) \
        == (0, ["8 passed, 0 failed"])
    assert count(program("script", "TIMEOUT"), program("elements_two", "FAIL", 7))[1][-1] \
        == "7 passed, 2 failed"


def check_known():
    status, said = count(program("elements_one", "FAIL", 5, errors=1, faults=ABORTS))
    assert status == 0 and said[-1] == "4 passed, 0 failed", said
    assert any("known" in line and "elements_one:test_aborts" in line for line in said), said
    # A fault listed for another version, and one that is not listed
    status, said = count(program("elements_one", "FAIL", 5, 1, 1, ABORTS + WRONG))
    assert status == 1 and said[-1] == "3 passed, 1 failed", said


def check_gone():
    status, said = count(program("elements_one", "OK", 5))
    assert status == 1 and said[-1] == "5 passed, 1 failed", said
    assert any("no longer" in line and "test_aborts" in line for line in said), said
    # It is enough if the fault occurs in one program.
    status, said = count(program("elements_one", "FAIL", 5, errors=1, faults=ABORTS),
                         program("elements_one_copying", "OK", 5))
    assert status == 0 and said[-1] == "9 passed, 0 failed", said


def left_out(name, result, reason):
    said = f"100%: Checks: 3, Failures: 0, Errors: 0\n{reason}\n"
    return count(program("elements_two", "OK", 7), {"name": name, "result": result, "stdout": said})


def check_left_out():
    allowed = "pipelines_convolutions_ffmpeg", "SKIP", "NOT CHECKED: no ffmpeg"
    status, said = left_out(*allowed)
    assert status == 0 and said[-1] == "7 passed, 0 failed" and "NOT CHECKED" in said[0], said
    # Another test, another reason, no reason
    for fault in (("pipelines_gl", *allowed[1:]), (*allowed[:2], "NOT CHECKED: no camera"),
                  (*allowed[:2], "")):
        status, said = left_out(*fault)
        assert status == 1 and said[-1] == "7 passed, 1 failed", said
    # A part of a program that passes
    status, said = left_out("elements_three", "OK", allowed[2])
    assert status == 1 and said[-1] == "10 passed, 1 failed", said


def check_list():
    tests = json.loads((BUILD / "meson-info/intro-tests.json").read_text())
    names = [test["name"] for test in tests]
    # Some are not built without a library.
    names += [f"elements_{source.stem}" for source in (TESTS / "check/elements").glob("*.cpp")]
    for line in (TESTS / "allowed-skips.txt").read_text().splitlines():
        name = line.split("|")[0].strip()
        assert line.startswith("#") or fnmatch.filter(names, name), name


def check_measured():
    """Each test of measured data says that it is left out without a folder of these."""
    environment = {name: value for name, value in os.environ.items() if name != DATA}
    tests = json.loads((BUILD / "meson-info/intro-tests.json").read_text())
    measured = [test for test in tests if test["cmd"][-1] in ("data", "recording", "check_tape")]
    assert len(measured) == 6, measured
    for test in measured:
        variables = test["env"] | {"PATH": environment["PATH"]} # what is put before is listed alone
        run = subprocess.run(test["cmd"], env=environment | variables, capture_output=True,
                             text=True, check=False)
        assert run.returncode == 77, (test["name"], run)
        status, said = left_out(test["name"], "SKIP", run.stdout)
        assert status == 0 and f"NOT CHECKED: no {DATA}" in said[0], (test["name"], said)


with tempfile.TemporaryDirectory() as folder:
    FOLDER = pathlib.Path(folder)
    for file in "count.py", "allowed-skips.txt":
        shutil.copy(TESTS / file, FOLDER)
    shutil.copytree(TESTS / "drivers", FOLDER / "drivers")
    (FOLDER / "drivers/known-faults.txt").write_text(LIST)
    (FOLDER / "devices").write_text(DEVICES)
    (FOLDER / "devices").chmod(0o755)
    check_plain()
    check_known()
    check_gone()
    check_left_out()
    check_measured()
check_list()
print("as promised")
