#!/usr/bin/env python3
"""Runs pipelines and check programs on other OpenCL drivers.

drivers.py [--quick] [--largest] [--only PATTERN]... [--no-programs] [--folder FOLDER] BUILD
           [DRIVER...]

Drivers are fetched into FOLDER. The self-check judges each of the project's engines on each
driver. Then the pipelines of tests/kernels/devices.py run as users run them, without the engines
that are wrong there: one process and one time limit each. They must give the result of this
machine's own driver within the tolerance that devices.py states. The check programs of the suite
run after them, likewise. known-faults.txt
lists the faults of drivers and the cases that are not run; a fault that is not listed fails,
and so does a listed one that does not happen.

--largest runs pipelines with the largest of their sizes alone. --quick does so, too, with the
pipelines in QUICK on the drivers in QUICK_DRIVERS, and runs no check program.

Ends with a table of drivers and results, and the line "N passed, N failed".

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kernels"), os.path.join(HERE, "..", "faults")]
import devices  # noqa: E402
import fetch  # noqa: E402
import knownfaults  # noqa: E402
import sweep  # noqa: E402
from knownfaults import FAILED, KNOWN, PASSED, SKIPPED  # noqa: E402

# Seconds. rusticl 25 compiles the compositor for over four minutes on a loaded machine.
PIPELINE_LIMIT, PROGRAM_LIMIT = 600, 900
SELF_CHECK = {"GST_OPENCL_SELF_CHECK": "60"}  # seconds until an engine hangs

# The fused OCT chain, hard and soft keying, conversion, convolution, and kernels that were written
# anew since PoCL 6.0 hung or aborted in them
QUICK = ["oct", "oct-512", "oct-16", "oct-levels", "oct-floats", "key-run", "key-run-long",
         "flow-all", "chroma", "difference", "plate", "filmed-nv12", "to-planes", "from-planes", "enlarged",
         "convolved", "convolved-spectra", "layer", "layer-winograd",
         "display", "angiogram-aligned", "rendered"]
QUICK_DRIVERS = ["pocl-6.0", "intel"]


class Reference:
    """Each pipeline's result on this machine's own driver."""

    def __init__(self, options, names):
        self.cases = {name: [devices.Case(options, name, size) for size in
                             devices.PIPELINES[name][2][-1 if options.largest else 0:]]
                      for name in names}
        devices.record_spectra(options, sum(self.cases.values(), []))

    def run(self, jobs):
        """Returns the pipelines that fail there, and why."""
        def run(name):
            return name, next(filter(None, (f"{case.name}: {wrong}" for case in self.cases[name]
                                            if (wrong := case.run_plainly()))), None)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            return {name: wrong for name, wrong in pool.map(run, self.cases) if wrong}


def check_engines(driver, build, judge):
    """Checks all engines anew. Their verdicts stay in the driver's cache."""
    run = subprocess.run([*driver.prefix, os.path.join(build, "tools", "opencl-devices"),
                          "--check"], env=driver.environ(SELF_CHECK), stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, check=False)
    engines = re.findall(r"(?m)^ {4}(?:self-check)? +([a-z-]+): (.*)$", run.stdout)
    if not engines:
        judge.add(driver, "engines", "opencl-devices --check", run.stdout + run.stderr)
    for engine, verdict in engines:
        judge.add(driver, "engines", engine, None if verdict == "right" else verdict)


def run_pipeline(driver, cases):
    """Returns the error of the first size that is wrong, or None."""
    for case in cases:
        way = sweep.Way(case.program, case.name, case.pipeline, case.files,
                        driver.environ({**case.environment, **SELF_CHECK}))
        way.prefix = driver.prefix
        report, made = way.launch(timeout=PIPELINE_LIMIT)
        wrong = case.complaint(report) or devices.difference(made, case.right, case.tolerance)
        if wrong:
            return f"{case.name}: {wrong}"
    return None


def check_programs(build):
    """(name, command, environment) of the suite's check programs."""
    tests = json.loads(subprocess.run(["meson", "introspect", "--tests", build], text=True,
                                      check=True, capture_output=True).stdout)
    folder = os.path.join(os.path.abspath(build), "tests", "check")
    return {test["name"]: test for test in tests if test["cmd"][0].startswith(folder + os.sep)}


def run_program(driver, test):
    """(number of tests that passed, {test: what is wrong})

    A driver's fault may crash: each test has a process of its own, so that the others run.
    """
    environment = driver.environ({**test["env"], **SELF_CHECK, "PATH": os.environ["PATH"],
                                  "CK_FORK": os.environ.get("CK_FORK", "yes"),
                                  "GST_REGISTRY": os.environ["GST_REGISTRY"]})
    with tempfile.TemporaryFile("w+", errors="replace") as output, \
            subprocess.Popen([*driver.prefix, *test["cmd"]], env=environment, text=True,
                             stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                             start_new_session=True) as process:
        try:
            status = process.wait(PROGRAM_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 0, {"": f"takes more than {PROGRAM_LIMIT} s"}
        output.seek(0)
        said = output.read()
    if status == 77:
        return 0, {"": "is skipped, which known-faults.txt does not list"}
    return knownfaults.tests_of(said, f"exit status {status}: {said[-300:]}" if status else None)


def run_driver(driver, reference, tests, judge, jobs):
    def pipeline(name):
        return name, run_pipeline(driver, reference.cases[name])

    def program(name):
        return name, run_program(driver, tests[name])

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        names = [name for name in reference.cases
                 if not judge.is_skipped(driver, "pipelines", name)]
        for name, wrong in pool.map(pipeline, names):
            judge.add(driver, "pipelines", name, wrong)
        names = [name for name in tests if not judge.is_skipped(driver, "programs", name)]
        for name, (passed, faults) in pool.map(program, names):
            judge.add_program(driver, "programs", name, passed, faults)


def version_of(driver, build):
    """The driver's version, as opencl-devices prints it."""
    said = fetch.command([*driver.prefix, os.path.join(build, "tools", "opencl-devices")],
                         env=driver.environ({}))
    version = knownfaults.version_of(said)
    if not version:
        raise fetch.Missing("opencl-devices prints no version")
    return version


def fetch_all(names, folder, build):
    """[(name, driver or why there is none)]"""
    def get(name):
        try:
            driver = fetch.fetch(name, folder)
            driver.version = version_of(driver, build)
            return name, driver
        except (fetch.Missing, OSError) as error:
            return name, error

    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(get, names))


def told(counts):
    """Such as "95, 3 known, 1 failed"."""
    words = [str(counts[PASSED])] + [f"{counts[result]} {result}"
                                     for result in (KNOWN, FAILED, SKIPPED) if counts[result]]
    return ", ".join(words)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="the build folder")
    parser.add_argument("drivers", nargs="*", metavar="DRIVER", help=", ".join(fetch.DRIVERS))
    parser.add_argument("--quick", action="store_true", help="what continuous integration runs")
    parser.add_argument("--largest", action="store_true", help="one size of each pipeline")
    parser.add_argument("--only", action="append", metavar="PATTERN",
                        help="pipelines and check programs of this name; may be repeated")
    parser.add_argument("--no-programs", action="store_true", help="leave check programs out")
    parser.add_argument("--folder", default=fetch.FOLDER, help="where drivers are; default: "
                        "gst-opencl/drivers in the user's cache")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_intermixed_args()
    options.largest |= options.quick
    options.drivers = options.drivers or (QUICK_DRIVERS if options.quick else list(fetch.DRIVERS))
    for name in options.drivers:
        if name not in fetch.DRIVERS:
            parser.error(f"no driver {name}: {', '.join(fetch.DRIVERS)}")
    options.program = os.path.join(options.build, "tests", "faults", "faulty-launch")
    options.environment = {}
    options.takes = lambda name: any(fnmatch.fnmatch(name, only) for only in options.only or ["*"])
    return options


def main():
    options = parse()
    judge = knownfaults.Judge(knownfaults.read_list())
    tests = {} if options.quick or options.no_programs else check_programs(options.build)
    tests = {name: test for name, test in tests.items() if options.takes(name)}
    names = list(filter(options.takes, QUICK if options.quick else devices.PIPELINES))
    rows = []
    with tempfile.TemporaryDirectory() as options.files:
        devices.write_inputs(options.files)
        reference = Reference(options, names)
        started = time.monotonic()
        found = fetch_all(options.drivers, options.folder, options.build)
        print(f"fetched in {time.monotonic() - started:.0f} s", flush=True)
        for name, wrong in reference.run(options.jobs).items():
            judge.counts["own", "pipelines"][FAILED] += 1
            del reference.cases[name]
            print(f"this machine's own driver: {wrong}", flush=True)
        for name, driver in found:
            if not isinstance(driver, fetch.Driver):
                judge.counts[name, "fetch"][FAILED] += 1
                rows.append((name, f"not fetched: {driver}", "", "", "", ""))
                continue
            started = time.monotonic()
            check_engines(driver, options.build, judge)
            run_driver(driver, reference, tests, judge, options.jobs)
            rows.append((name, driver.version, told(judge.counts[name, "engines"]),
                         told(judge.counts[name, "pipelines"]),
                         told(judge.counts[name, "programs"]),
                         f"{time.monotonic() - started:.0f}"))
    judge.add_stale()
    print("\n| driver | version | engines | pipelines | check programs' tests | seconds |\n"
          "|---|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(f"{judge.total(KNOWN)} known faults, {judge.total(SKIPPED)} skipped")
    print(f"{judge.total(PASSED)} passed, {judge.total(FAILED)} failed")
    return 1 if judge.total(FAILED) or not judge.total(PASSED) else 0


if __name__ == "__main__":
    sys.exit(main())
