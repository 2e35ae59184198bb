#!/usr/bin/env python3
"""Every OpenCL call of a short run fails once, and what the pipeline makes of it is judged.

sweep.py [--quick] [--only PATTERN] [--jobs N] FAULTY_LAUNCH

Each pipeline runs once as it is, which counts its calls. Then each kind of call fails, at
each count, once and for good, with each code that matters for it. A run is good where it
ends in exactly one element error, or in the very bytes of the run without a fault; nobody
crashes, hangs (30 s), complains to GLib, or keeps an OpenCL object. The last line says how
many runs were good.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile

HANGS_AFTER = 30  # seconds: a loaded machine is slow, a hang is for ever

SPECTRA = "octtestsrc num-buffers=5 pattern=mirrors ! " \
          "video/x-raw{device},width=512,height=32"
CHAIN = "octwindowinterp wavelength-min=1187 wavelength-max=1433"
PICTURE = "videotestsrc num-buffers=5 pattern=ball ! video/x-raw,format=RGBA,width=96,height=64"
KEYS = "chromakey ! noisereduce ! flowkey"
ON_DEVICE = "(memory:OpenCLMemory)"

# Every way that frames take; {out} is where the result goes.
PIPELINES = {
    "oct-fused": SPECTRA.format(device=ON_DEVICE)
        + f" ! {CHAIN} ! octfft ! opencldownload ! filesink location={{out}}",
    "oct-plain": SPECTRA.format(device=ON_DEVICE)
        + f" ! {CHAIN} ! octfft fft-library=vkfft ! opencldownload ! filesink location={{out}}",
    "oct-background": SPECTRA.format(device=ON_DEVICE)
        + f" ! {CHAIN} background=rolling ! octfft ! opencldownload ! filesink location={{out}}",
    "oct-copied": SPECTRA.format(device="")
        + f" ! openclupload ! {CHAIN} ! octfft ! opencldownload ! filesink location={{out}}",
    "keying-fused": f"{PICTURE} ! openclupload ! {KEYS} ! opencldownload ! filesink location={{out}}",
    "keying-plain": f"{PICTURE} ! openclupload ! chromakey method=chroma spill=1 ! "
        "splashkey ! keyfill ! opencldownload ! filesink location={out}",
    "composed": f"{PICTURE} ! openclupload ! mix.sink_0 {PICTURE} ! openclupload ! mix.sink_1 "
        "openclcompositor name=mix sink_1::xpos=20 ! opencldownload ! filesink location={out}",
    "converted": "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=96,height=64 ! "
        "openclupload ! openclconvert ! video/x-raw(memory:OpenCLMemory),format=RGBA,width=64,"
        "height=48 ! opencldownload ! filesink location={out}",
}

# Also as a device that has memory of its own sees them.
COPYING = ["oct-fused", "oct-copied", "keying-fused", "composed"]

OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY = -5, -6
ALLOCATION_FAILURE, INVALID_CONTEXT, NOT_AVAILABLE = -4, -34, -2
CODES = {
    "clCreateBuffer": [ALLOCATION_FAILURE, OUT_OF_HOST_MEMORY, INVALID_CONTEXT],
    "clBuildProgram": [-11, OUT_OF_HOST_MEMORY],
    "clGetPlatformIDs": [-1001],
    "clGetDeviceIDs": [-1],
    "event": [OUT_OF_RESOURCES, -14],
}
ANY_CODES = [OUT_OF_RESOURCES, OUT_OF_HOST_MEMORY, INVALID_CONTEXT, NOT_AVAILABLE]


def launch(program, pipeline, environment, fault=None):
    """What faulty-launch says of one run, and a digest of the bytes that came out."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        words = [program] + ([fault] if fault else []) + [pipeline.format(out=out)]
        try:
            run = subprocess.run(words, env={**os.environ, **environment},
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=HANGS_AFTER)
        except subprocess.TimeoutExpired:
            return {"crash": "hangs"}, None
        if run.returncode != 0:
            return {"crash": f"exit status {run.returncode}: {run.stderr[-400:]}"}, None
        report = json.loads(run.stdout.splitlines()[-1])
        report["stderr"] = run.stderr[-400:]
        with open(out, "rb") if os.path.exists(out) else open(os.devnull, "rb") as file:
            return report, hashlib.sha256(file.read()).hexdigest()


def judge(report, digest, right):
    """What is wrong with a run, or None."""
    if "crash" in report:
        return report["crash"]
    if report["complaints"]:
        return "complains: " + report["stderr"].strip()
    if report["balance"]:
        return f"keeps {report['balance']}"
    # A source adds an error of its own to that of the element behind it.
    errors = [e for e in report["errors"] if "Internal data stream error" not in e]
    if len(errors) > 1:
        return f"{len(errors)} errors: {errors}"
    if errors:
        return None
    if report["errors"]:
        return "no element says what failed"
    if digest != right:
        return "other bytes without a word"
    return None


def counts_of(calls, quick):
    """At which counts a call fails."""
    if not quick:
        return range(1, calls + 1)
    return sorted({1, 2, (calls + 1) // 2, calls} & set(range(1, calls + 1)))


def faults_of(report, quick):
    for call, calls in sorted(report["calls"].items()):
        codes = CODES.get(call, ANY_CODES)
        for count, for_good in itertools.product(counts_of(calls, quick), ("", "+")):
            for code in codes[:1] if quick else codes:
                yield f"{call}:{count}{for_good}:{code}"


def sweep(program, name, pipeline, environment, quick, jobs):
    """(good runs, complaints) of one pipeline."""
    report, right = launch(program, pipeline, environment)
    wrong = judge(report, right, right)
    if wrong or not report.get("ended"):
        return 0, [f"{name} without a fault: {wrong or report}"]
    faults = list(faults_of(report, quick))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = pool.map(lambda fault: judge(*launch(program, pipeline, environment, fault), right),
                        faults)
        wrongs = [f"{name} {fault}: {wrong}" for fault, wrong in zip(faults, runs) if wrong]
    return 1 + len(faults) - len(wrongs), wrongs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="faulty-launch")
    parser.add_argument("--quick", action="store_true", help="first, second, middle and last call")
    parser.add_argument("--only", default="*", help="pipelines of this name; * and ? stand for others")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    ways = [(name, text, {}) for name, text in PIPELINES.items()]
    ways += [(name + "-copying", PIPELINES[name], {"GST_OPENCL_SHARE_MEMORY": "0"})
             for name in COPYING]
    good, wrongs = 0, []
    for name, text, environment in ways:
        if not fnmatch.fnmatch(name, options.only):
            continue
        passed, failed = sweep(options.program, name, text, environment, options.quick,
                               options.jobs)
        print(f"{name}: {passed} good, {len(failed)} not", flush=True)
        for line in failed:
            print("  " + line, flush=True)
        good += passed
        wrongs += failed
    print(f"{good} passed, {len(wrongs)} failed")
    return 1 if wrongs or not good else 0


if __name__ == "__main__":
    sys.exit(main())
