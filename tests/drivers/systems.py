#!/usr/bin/env python3
"""Runs pipelines and check programs of a build for another system, such as in Wine.

systems.py [--only PATTERN]... [--known FILE] BUILD PROGRAMS INSPECT LAUNCH DEVICES [PREFIX...]

INSPECT, LAUNCH and DEVICES are gst-inspect-1.0, gst-launch-1.0 and opencl-devices of that system, and
PREFIX what runs its programs here. The environment names its plugins. Each of its elements must be
described without a complaint, and DEVICES --check must find each engine right. The pipelines of
tests/kernels/devices.py must give the bytes of BUILD, which is of this system and has the same OpenCL
device, within the tolerance that devices.py states. The check programs in the folder PROGRAMS must
pass. Each process has a time limit, of which CK_TIMEOUT_MULTIPLIER is a factor.

FILE lists known faults: "NAME: FAULT" as it is printed, with * for any text, a tab, and the cause.
They may also not happen.

The last line is "N passed, N failed".

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "kernels"), os.path.join(HERE, "..", "faults")]
import devices  # noqa: E402

INSPECT_LIMIT, PIPELINE_LIMIT, PROGRAM_LIMIT = 60, 120, 400  # seconds
FACTOR = int(os.environ.get("CK_TIMEOUT_MULTIPLIER", 1))
COMPLAINTS = re.compile(r"(?m)^.*(?:CRITICAL|WARNING) \*\*.*$")


def run(words, limit, **environment):
    """(what is wrong or None, what the program printed)"""
    limit *= FACTOR
    try:
        done = subprocess.run(words, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
                              text=True, errors="replace", check=False)
    except subprocess.TimeoutExpired as late:
        return f"takes more than {limit} s", (late.stdout or b"").decode(errors="replace")
    complaint = COMPLAINTS.search(done.stdout)
    if done.returncode != 0:
        return f"exit status {done.returncode}: {done.stdout[-400:]}", done.stdout
    return complaint and complaint.group(), done.stdout


class System:
    def __init__(self, options):
        self.options = options
        self.inspect = [*options.prefix, options.inspect]
        self.launch = [*options.prefix, options.launch]

    def elements(self):
        """(kind, name, function that returns what is wrong or None)"""
        _, listed = run(self.inspect, 10 * INSPECT_LIMIT)
        names = re.findall(r"(?m)^\w*opencl: +(\w+): ", listed)
        for name in names or ["none"]:
            yield "elements", name, lambda name=name: run([*self.inspect, name], INSPECT_LIMIT)[0]

    def pipelines(self):
        for name, (_, _, sizes) in devices.PIPELINES.items():
            yield "pipelines", name, lambda case=devices.Case(self.options, name, sizes[-1]): \
                self.compare(case)

    def compare(self, case):
        wrong = case.run_plainly()
        if wrong:
            return f"this machine's own build: {wrong}"
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            words = shlex.split(case.pipeline.format(out=out, files=case.files))
            wrong, said = run([*self.launch, "--quiet", *words], PIPELINE_LIMIT)
            if not os.path.exists(out):
                return wrong or f"no output: {said[-400:]}"
            with open(out, "rb") as file:
                made = file.read()
        different = devices.difference(made, case.right, case.tolerance)
        return different or (wrong and f"complete output, but {wrong}")

    def check_engines(self):
        wrong, said = run([*self.options.prefix, self.options.devices, "--check"], PROGRAM_LIMIT,
                          GST_OPENCL_SELF_CHECK=str(60 * FACTOR))
        verdicts = re.findall(r"(?m)^ {4}(?:self-check)? +([a-z-]+: .*)$", said)
        return wrong or (None if verdicts and all(x.endswith(": right") for x in verdicts) else said)

    def programs(self):
        yield "programs", "opencl-devices", self.check_engines
        folder = self.options.programs
        for kind in ("libs", "elements"):
            for name in sorted(os.listdir(os.path.join(folder, kind))):
                if re.fullmatch(rf"{kind}_\w+(\.exe)?", name):
                    program = os.path.join(folder, kind, name)
                    yield "programs", name.removesuffix(".exe"), lambda program=program: run(
                        [*self.options.prefix, program], PROGRAM_LIMIT, CK_FORK="no",
                        CK_DEFAULT_TIMEOUT="300")[0]


def read_known(path):
    """[(pattern, cause)]"""
    if not path:
        return []
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


def cause_of(fault, known):
    return next((cause for pattern, cause in known if fnmatch.fnmatchcase(fault, pattern)), None)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="names of elements, pipelines, programs")
    parser.add_argument("--known", help="a file of known faults")
    for name in ("build", "programs", "inspect", "launch", "devices"):
        parser.add_argument(name)
    parser.add_argument("prefix", nargs="*")
    options = parser.parse_args()
    options.program = os.path.join(options.build, "tests", "faults", "faulty-launch")
    # The other system has its own plugins, and the build of this one names its own.
    options.environment = {}
    return options


def main():
    options = parse()
    system, known = System(options), read_known(options.known)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as options.files:
        devices.write_inputs(options.files)
        runs = [(kind, name, judge) for part in (system.elements, system.pipelines, system.programs)
                for kind, name, judge in part()
                if any(fnmatch.fnmatch(name, only) for only in options.only or ["*"])]
        devices.record_spectra(options, [devices.Case(options, name, devices.PIPELINES[name][2][-1])
                                         for kind, name, _ in runs if kind == "pipelines"])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for kind, name, wrong in pool.map(lambda run: (*run[:2], run[2]()), runs):
                cause = wrong and cause_of(f"{name}: {wrong}", known)
                result = "known" if cause else "failed" if wrong else "passed"
                counts[kind, result] += 1
                if wrong:
                    print(f"{name}: {result}: {cause or wrong}", flush=True)
                if result == "failed":
                    print(f"FAILED: {name}", flush=True)
    total = {result: sum(count for (_, of), count in counts.items() if of == result)
             for result in ("passed", "known", "failed")}
    for kind in ("elements", "pipelines", "programs"):
        print(f"{kind}: " + ", ".join(f"{counts[kind, result]} {result}" for result in total))
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
