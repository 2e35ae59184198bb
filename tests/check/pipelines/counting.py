#!/usr/bin/env python3
"""Promises: the suite counts each test of a gst-check program; a failure that known-faults.txt
lists for this machine's driver does not fail the suite, any other does, and so does a listed one
that does not happen. What is listed for another version does not count.

usage: counting.py TESTS

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(sys.argv[1])
DEVICES = """#!/bin/sh
echo "0:0  Other
    kind          GPU, 4 compute units
    version       OpenCL 3.0 other, driver 7.0
1:0  This  (taken)
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
    assert count(program("elements_two", "OK", 7), program("script", "OK"),
                 program("elements_three", "SKIP")) \
        == (0, ["1 skipped: elements_three", "8 passed, 0 failed"])
    assert count(program("script", "TIMEOUT"), program("elements_two", "FAIL", 7))[1][-1] \
        == "7 passed, 2 failed"


def check_known():
    status, said = count(program("elements_one", "FAIL", 5, errors=1, faults=ABORTS))
    assert status == 0 and said[-1] == "4 passed, 0 failed", said
    assert any("known" in line and "elements_one:test_aborts" in line for line in said), said
    # That of another version, and one beside it
    status, said = count(program("elements_one", "FAIL", 5, 1, 1, ABORTS + WRONG))
    assert status == 1 and said[-1] == "3 passed, 1 failed", said


def check_gone():
    status, said = count(program("elements_one", "OK", 5))
    assert status == 1 and said[-1] == "5 passed, 1 failed", said
    assert any("no longer" in line and "test_aborts" in line for line in said), said
    # One program that has it is enough.
    status, said = count(program("elements_one", "FAIL", 5, errors=1, faults=ABORTS),
                         program("elements_one_copying", "OK", 5))
    assert status == 0 and said[-1] == "9 passed, 0 failed", said


with tempfile.TemporaryDirectory() as folder:
    FOLDER = pathlib.Path(folder)
    shutil.copy(TESTS / "count.py", FOLDER)
    shutil.copytree(TESTS / "drivers", FOLDER / "drivers")
    (FOLDER / "drivers/known-faults.txt").write_text(LIST)
    (FOLDER / "devices").write_text(DEVICES)
    (FOLDER / "devices").chmod(0o755)
    check_plain()
    check_known()
    check_gone()
print("as promised")
