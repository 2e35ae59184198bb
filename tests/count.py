"""Counts the tests in meson's testlog.json: those of a gst-check program one by one.

count.py TESTLOG OPENCL-DEVICES
count.py --slowest N TESTLOG   prints a table of these instead

A failure that drivers/known-faults.txt lists for this machine's driver, whose version
OPENCL-DEVICES prints, is known and no failure; but it fails where it is listed and does not
happen. A test that is left out, since what it needs is missing, is neither; each one is a line
before the last. allowed-skips.txt lists those that may be: any other fails.

Ends with the line "N passed, N failed"; exits with 1 where anything failed or nothing ran.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import dataclasses
import fnmatch
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "drivers"))
import knownfaults  # noqa: E402


@dataclasses.dataclass
class Driver:
    version: str
    name: None = None  # only drivers that are fetched have one


def read_driver(opencl_devices):
    try:
        said = subprocess.run([opencl_devices], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False).stdout
    except OSError as error:
        said = ""
        print(error, file=sys.stderr)
    return Driver(knownfaults.version_of(said))


NOT_CHECKED = re.compile(r"^NOT CHECKED: (.*)$", re.MULTILINE)


def read_allowed():
    """[(test, what it prints)], patterns"""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "allowed-skips.txt")
    with open(path, encoding="utf-8") as file:
        lines = [line.split("|") for line in file if line.strip() and not line.startswith("#")]
    return [(test.strip(), said.strip()) for test, said, why in lines]


def left_out(program):
    """Returns the reasons that the program prints for what it leaves out."""
    found = NOT_CHECKED.findall(program.get("stdout", ""))
    return found or (["without a reason"] if program["result"] == "SKIP" else [])


def judge_left_out(programs):
    """Prints what is left out; the number of those that are not allowed."""
    allowed, wrong = read_allowed(), 0
    for program in programs:
        for reason in left_out(program):
            may = any(fnmatch.fnmatchcase(program["name"], test)
                      and fnmatch.fnmatchcase(reason, said) for test, said in allowed)
            print(f"{'' if may else 'FAILED: '}{program['name']} NOT CHECKED: {reason}"
                  + ("" if may else ": not in tests/allowed-skips.txt"))
            wrong += not may
    return wrong


def read_programs(path):
    try:
        with open(path, encoding="utf-8") as log:
            programs = [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(error, file=sys.stderr)
        return []
    for program in programs:  # "gst-opencl:numpy / pipelines_convert" of a test with a suite
        program["name"] = program["name"].rpartition(" / ")[2]
    return programs


def print_slowest(number, programs):
    print(f"{'slowest tests':26} {'minutes':>7}")
    for program in sorted(programs, key=lambda each: -each["duration"])[:number]:
        print(f"{program['name']:26} {program['duration'] / 60:7.1f}")


def main():
    if sys.argv[1] == "--slowest":
        print_slowest(int(sys.argv[2]), read_programs(sys.argv[3]))
        return 0
    programs = read_programs(sys.argv[1])
    driver = read_driver(sys.argv[2])
    judge = knownfaults.Judge(knownfaults.read_list())
    skipped = [program for program in programs if program["result"] == "SKIP"]
    for program in programs:
        if program["result"] != "SKIP":
            failure = None if program["result"] == "OK" else program["result"]
            said = program.get("stdout", "") + "\n" + program.get("stderr", "")
            tests = knownfaults.tests_of(said, failure)
            judge.add_program(driver, "programs", program["name"], *tests)
    judge.add_stale()
    known = judge.total(knownfaults.KNOWN)
    if known:
        print(f"{known} known, faults of the driver {driver.version}")
    failed = judge.total(knownfaults.FAILED) + judge_left_out(programs)
    if len(skipped) == len(programs):
        failed = 1
    print(f"{judge.total(knownfaults.PASSED)} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
