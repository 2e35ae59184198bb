"""Counts the tests in meson's testlog.json: those of a gst-check program one by one.

A test that is skipped, since what it needs is not installed, is neither; their number is
on the line before.

Ends with the line "N passed, N failed"; exits with 1 where anything failed or nothing ran.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import re
import sys

CHECKS = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.MULTILINE)


def count(program):
    """Passed and failed tests of one program, which counts as one if it does not say."""
    succeeded = program["result"] == "OK"
    summary = CHECKS.search(program.get("stdout", ""))
    if summary is None:
        return (1, 0) if succeeded else (0, 1)
    checks, failures, errors = map(int, summary.groups())
    failed = failures + errors
    # A program that fails although its tests passed (a leak, a crash at exit) has failed.
    if failed == 0 and not succeeded:
        failed, checks = 1, checks + 1
    return checks - failed, failed


def read_programs(path):
    try:
        with open(path, encoding="utf-8") as log:
            return [json.loads(line) for line in log if line.strip()]
    except OSError as error:
        print(error, file=sys.stderr)
        return []


def main():
    programs = read_programs(sys.argv[1])
    skipped = [program["name"] for program in programs if program["result"] == "SKIP"]
    counts = [count(program) for program in programs if program["result"] != "SKIP"]
    passed = sum(passed for passed, _ in counts)
    failed = sum(failed for _, failed in counts)
    if not counts:
        failed = 1
    if skipped:
        print(f"{len(skipped)} skipped: {', '.join(skipped)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
