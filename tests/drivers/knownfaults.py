"""Counts results by known-faults.txt, the list of known faults of OpenCL drivers.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import collections
import dataclasses
import fnmatch
import os
import re

PASSED, KNOWN, FAILED, SKIPPED = "passed", "known", "failed", "skipped"
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known-faults.txt")


@dataclasses.dataclass
class Listed:
    """A line of known-faults.txt."""

    kind: str  # "fault" or "skip"
    driver: str
    version: str
    case: str
    seen: str
    answer: str

    def names(self, kind, driver, case):
        """The version of a fault identifies a driver without a name, this machine's own."""
        return self.kind == kind and fnmatch.fnmatchcase(driver.version, self.version) \
            and (driver.name is None or fnmatch.fnmatchcase(driver.name, self.driver)) \
            and fnmatch.fnmatchcase(case, self.case)


def read_list(path=LIST):
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    listed = [Listed(*(field.strip() for field in line.split("|"))) for line in lines]
    for line in listed:
        if line.kind == "fault" and line.version == "*":
            raise ValueError(f"{path}: a fault without a version: {line.case}")
    return listed


class Judge:
    """Counts results by driver and kind of case."""

    def __init__(self, listed):
        self.listed = listed
        self.counts = collections.defaultdict(collections.Counter)
        self.ran = []  # (driver, case, whether it was wrong)

    def is_skipped(self, driver, kind, case):
        skipped = any(line.names("skip", driver, case) for line in self.listed)
        if skipped:
            self.counts[driver.name, kind][SKIPPED] += 1
        return skipped

    def add(self, driver, kind, case, wrong, passed=1):
        """Counts a case that is wrong, or `passed` cases that are right."""
        self.ran.append((driver, case, bool(wrong)))
        if not wrong:
            self.counts[driver.name, kind][PASSED] += passed
            return
        known = any(line.names("fault", driver, case) for line in self.listed)
        self.counts[driver.name, kind][KNOWN if known else FAILED] += 1
        print(f"{'known' if known else 'FAILED'}: {driver.name or driver.version}: {case}: {wrong}",
              flush=True)

    def add_program(self, driver, kind, name, passed, faults):
        """Counts what tests_of () returns for a check program."""
        self.add(driver, kind, name, None, passed)
        for test, wrong in faults.items():
            self.add(driver, kind, f"{name}:{test}".rstrip(":"), wrong)

    def add_stale(self):
        """A listed fault fails where its cases ran and all of them were right."""
        for line in self.listed:
            program = dataclasses.replace(line, case=line.case.split(":")[0])
            ran = [(driver, wrong and line.names("fault", driver, case))
                   for driver, case, wrong in self.ran
                   if program.names("fault", driver, case.split(":")[0])]
            if ran and not any(happened for _, happened in ran):
                driver = ran[0][0]
                self.counts[driver.name, "list"][FAILED] += 1
                print(f"FAILED: {driver.name or driver.version}: no longer so, take its line out "
                      f"of known-faults.txt: {line.case}: {line.seen}")

    def total(self, result):
        return sum(count[result] for count in self.counts.values())


SUMMARY = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.MULTILINE)
# Without a fork the first fault ends the program.
FIRST_FAULT = re.compile(r"^(?:[^:\n]*:\d+: )?(test_[^:\n]*): (.*)$", re.MULTILINE)
FAULT = re.compile(r"^[^:\n]*:\d+:[FE]:[^:\n]*:(.*?):\d+: (.*)$", re.MULTILINE)


def tests_of(said, failure):
    """(number of tests that passed, {test: what is wrong}) of a check program by its output.

    failure: why the program failed as a whole, or None. It is the fault of the test "" where no
    test failed: a leak, or a crash at exit.
    """
    summary = SUMMARY.search(said)
    if not summary:
        return (0, dict(FIRST_FAULT.findall(said)) or {"": failure}) if failure else (1, {})
    checks, failures, errors = map(int, summary.groups())
    faults = dict(FAULT.findall(said))
    if failure and not faults:
        faults[""] = failure
    return checks - failures - errors, faults


SELECTED = re.compile(r"^\S.*\(selected\)\n(?: .*\n)*? +version +(?:.*driver )?(.*)$",
                      re.MULTILINE)


def version_of(devices):
    """The driver's version of the device that elements take, from opencl-devices' output."""
    found = SELECTED.search(devices)
    return found.group(1) if found else ""
