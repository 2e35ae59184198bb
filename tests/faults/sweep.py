#!/usr/bin/env python3
"""Every OpenCL call of a short run fails once, and what the pipeline makes of it is judged.

sweep.py [--quick | --every] [--share SHARE] [--only PATTERN] [--jobs N] FAULTY_LAUNCH

Each pipeline runs once as it is, which notes its calls. Then each of them fails, once and
for good; the kind "event" is a command that fails on the device, with all that wait for it.
Calls that are made by the same functions, the same how many-th time in one element's work on
one frame, are repetitions of a steady state: the first, the second and the last stand for
all. The library tells none of the codes that matter from another but by name, so they take
turns. --every leaves nothing out: each call, with each code.

A run is good where it ends in the bytes of the run without a fault, or in exactly one element
error after bytes that the other begins with, without a crash, a hang, a GLib warning or a
leaked OpenCL object. The last line says how many runs were good.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import itertools
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

# Seconds. What takes longer is tried once more with all others done, as a loaded machine
# is slow and a hang is for ever.
HANGS_AFTER, TIMEOUT = 5, 30

SPECTRA = "octtestsrc num-buffers=5 pattern=mirrors ! " \
          "video/x-raw{device},width=512,height=32"
TISSUE = "octtestsrc num-buffers=5 ! video/x-raw(memory:OpenCLMemory),width=512,height=32"
CHAIN = "octwindowinterp wavelength-min=1187 wavelength-max=1433"
PICTURE = "videotestsrc num-buffers=5 pattern=ball ! video/x-raw,format=RGBA,width=96,height=64"
CAMERA = PICTURE.replace("RGBA", "NV12") + " ! openclupload"
# Moves, as videotestsrc copies a picture that stays the same, and crashes where it cannot map.
SCREEN = "ball background-color=0xff209038"
NUMBERS = "openclkernelsrc num-buffers=5 expression=\"i0 + frame\" " \
    "output-caps=\"other/tensors,types=float32,dimensions=(string)100:30\""
MATTE = "videotestsrc num-buffers=5 ! video/x-raw,format=GRAY8,width=48,height=40"
KEYS = "chromakey ! noisereduce ! flowkey"
ON_DEVICE = "(memory:OpenCLMemory)"
DEPTHS = f"{TISSUE} ! octscan b-scans=5 ! {CHAIN} ! octfft scale=linear depth-count=60 ! " \
         f"application/x-oct{ON_DEVICE},format=F32LE"
TENSORS = f"other/tensors{ON_DEVICE},num_tensors=1"
TOLERANCES = ("EXACT", "ROUNDED", "LOOSELY", "PLOTTED")  # of devices.py
# Unbuffered, as filesink otherwise maps several frames at once, and goes on behind a lost one.
OUT = " ! opencldownload ! filesink buffer-mode=unbuffered location={out}"



def catalogue():
    """Returns (name, streams, words of how, elements) of each step of the catalogue with a name."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "catalogue.txt")
    with open(path, encoding="utf-8") as file:
        rows = [[column.strip() for column in line.split("|", 4)] for line in file]
    for kind, name, streams, how, elements in (row for row in rows if len(row) == 5):
        if kind == "step" and name:
            # `elements` is formatted with {files}
            elements = elements.replace("{", "{{").replace("}", "}}").replace("{{files}}", "{files}")
            yield name, streams, how.split(), elements


def sources(how):
    """Returns what gives the streams of a step, for these words of the catalogue."""
    form = next((word for word in how if word.isupper() and word not in TOLERANCES), "RGBA")
    depths = f"{TISSUE} ! {CHAIN} ! octfft"
    return {"v": f"{PICTURE.replace('RGBA', form)} ! openclupload", "s": TISSUE,
            "d": f"{depths} ! application/x-oct{ON_DEVICE},format=CF32LE",
            "a": f"{depths} scale=linear ! application/x-oct{ON_DEVICE},format=F32LE",
            "t": NUMBERS.replace("100:30", "3:37:21:1")}


# Every way that frames take, also the steps of the catalogue with the word "faults"; {out} is where
# the result goes, with or without .nrrd, {files} where inputs are.
PIPELINES = {
    "oct-fused": SPECTRA.format(device=ON_DEVICE) + f" ! {CHAIN} ! octfft{OUT}",
    "oct-plain": SPECTRA.format(device=ON_DEVICE) + f" ! {CHAIN} ! octfft fft-library=vkfft{OUT}",
    "oct-background": SPECTRA.format(device=ON_DEVICE)
        + f" ! {CHAIN} background=rolling ! octfft{OUT}",
    "oct-copied": SPECTRA.format(device="") + f" ! openclupload ! {CHAIN} ! octfft{OUT}",
    "oct-clocked": f"{SPECTRA.format(device=ON_DEVICE)} ! octwindowinterp k-clock=behind ! octfft{OUT}",
    "oct-packed": "filesrc location={files}/packed.raw blocksize=1536 ! application/x-oct,"
        "domain=wavelength,format=MONO12P,samples=64,lines=16,framerate=25/1 ! openclupload ! "
        f"octscan flyback=4 reverse=odd b-scans=3 ! octwindowinterp ! octfft{OUT}",
    "oct-pattern-file": f"{TISSUE} ! {CHAIN} ! octfft ! octbackground method=file "
        f"location={{files}}/pattern.npy ! octdisplay{OUT}",
    "angiogram": f"{TISSUE} ! {CHAIN} ! octfft ! octangio repeats=2 axial-shift=2 lateral-shift=1 "
        f"threshold-snr=6 projection-resolved=true ! octvolume b-scans=3 surface=true{OUT}",
    "volume": f"{DEPTHS} ! octvolume ! {TENSORS}{OUT}",
    "volume-registered": f"{DEPTHS} ! octvolume ! {TENSORS} ! octregister volumes=2{OUT}",
    "volume-live": f"{DEPTHS} ! octvolume live=true ! {TENSORS}{OUT}",
    "volume-above": f"{DEPTHS} ! octvolume surface=true surface-level=70 slab-depths=20{OUT}",
    "volume-rendered": f"{DEPTHS} ! octvolume ! octrender frames=3 turn=30 elevation=30 mode=alpha ! "
        f"video/x-raw{ON_DEVICE},width=48,height=40{OUT}",
    "volume-branch": f"{DEPTHS} ! tee name=t t. ! octvolume ! {TENSORS}{OUT} async=false t. ! "
        "octdisplay ! opencldownload ! fakesink async=false",
    # One volume, as the header of a file that grows counts its frames.
    "volume-file": f"{DEPTHS} ! octvolume ! {TENSORS} ! opencldownload ! octfilesink location={{out}}.nrrd",
    "keying-fused": f"{PICTURE} ! openclupload ! {KEYS}{OUT}",
    "keying-plain": f"{PICTURE} ! openclupload ! chromakey method=chroma spill=1 ! "
        f"splashkey ! matteshape grow=2 feather=2 ! keyfill{OUT}",
    "keying-filmed-soft": f"{CAMERA.replace('ball', SCREEN)} ! chromakey method=difference linear=true quiet=true core=true "
        f"spill=1 auto-key=screen{OUT}",
    "keying-mattes": f"{CAMERA} ! chromakey name=key method=chroma "
        f"garbage-polygon=<0,0,1,0,1,1>{OUT} {MATTE} ! key.garbage {MATTE} ! openclupload ! key.holdout",
    "keying-plate-frozen": f"{CAMERA} ! chromakey method=difference plate=frozen{OUT}",
    "keying-plate-file": f"{CAMERA} ! chromakey name=key method=difference plate=file{OUT} "
        f"{PICTURE} ! key.plate",
    "keying-bin": f"{PICTURE.replace('ball', SCREEN)} ! greenscreenbin background-color=0xff2040c0 ! video/x-raw,format=RGBA ! "
        "filesink buffer-mode=unbuffered location={out}",
    "composed": f"{PICTURE} ! openclupload ! mix.sink_0 {PICTURE} ! openclupload ! mix.sink_1 "
        f"openclcompositor name=mix sink_1::xpos=20{OUT}",
    "composed-lit": "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=96,height=64 ! "
        f"openclupload ! mix.sink_0 {PICTURE} ! openclupload ! mix.sink_1 "
        f"openclcompositor name=mix sink_0::crop-left=3 sink_1::light-wrap=0.5{OUT}",
    "converted": "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=96,height=64 ! "
        "openclupload ! openclconvert ! video/x-raw(memory:OpenCLMemory),format=RGBA,width=64,"
        f"height=48{OUT}",
    "program": f"{NUMBERS} ! openclkernel expression=\"sqrt (x) + 2\"{OUT}",
    "program-outputs": f"{NUMBERS} ! openclkernel source=\"kernel void k (global const float *input, "
        "global const float *previous0, global float *output0, global int *output1) {{ size_t i = "
        "get_global_id (0); output0[i] = input[i] + previous0[i]; output1[i] = i; }}\" output-caps="
        "\"other/tensors,num_tensors=2,types=float32.int32,dimensions=100:30.100:30\" ! "
        "opencldownload ! filesink buffer-mode=unbuffered location={out}",
    "product": f"{NUMBERS.replace('100', '30')} ! openclkernel expression=\"x @ x\"{OUT}",
    **{name: f"{sources(how)[streams[0]]} ! {elements}{OUT}"
       for name, streams, how, elements in catalogue() if "faults" in how},
    "convolution": f"{PICTURE} ! openclupload ! openclconvolve "
        f"kernel=\"<<0,-1,0>,<-1,5,-1>,<0,-1,0>>\"{OUT}",
    "files": "filesrc location={files}/spectra.npy ! npyparse ! openclupload ! octwindowinterp "
        "wavelengths={files}/wavelengths.npy background=file background-file={files}/"
        f"background.txt ! octfft ! application/x-oct(memory:OpenCLMemory),format=F32LE{OUT}",
}

# Also as a device that has memory of its own sees them.
COPYING = ["oct-fused", "oct-copied", "keying-fused", "composed", "files"]
QUICK = ["oct-fused", "oct-plain", "oct-copied-copying", "keying-fused", "keying-plain",
         "program", "convolution", "composed", "converted", "files"]

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


# Without an answer an element takes another form of a kernel, or another engine, which rounds
# otherwise.
QUESTIONS = ("clGetDeviceInfo", "clGetKernelWorkGroupInfo")


def are_alike(made, right, kind):
    """Whether values of struct's kind are the same but for rounding: a level, or 0.01 dB."""
    head = len(right) % struct.calcsize(kind)  # values may stand behind a text
    if len(made) != len(right) or made[:head] != right[:head]:
        return False
    most = 1 if kind == "B" else 0.01
    values = (struct.iter_unpack("<" + kind, of[head:]) for of in (made, right))
    return all(a == b or abs(a - b) <= most for (a,), (b,) in zip(*values))


def write_npy(path, kind, shape, values):
    """A NumPy file, of what struct calls `kind`."""
    types = {"H": "<u2", "d": "<f8"}
    text = f"{{'descr': '{types[kind]}', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.write(struct.pack(f"<{len(values)}{kind}", *values))


def write_inputs(folder):
    samples, lines, frames = 64, 16, 5
    noise = random.Random(1)
    write_npy(os.path.join(folder, "spectra.npy"), "H", (frames, lines, samples),
              [noise.randrange(4096) for _ in range(frames * lines * samples)])
    write_npy(os.path.join(folder, "wavelengths.npy"), "d", (samples,),
              [1187 + 4 * n for n in range(samples)])
    with open(os.path.join(folder, "background.txt"), "w", encoding="ascii") as file:
        file.writelines(f"{2048 + n}\n" for n in range(samples))
    depths = 256  # of SPECTRA, complex
    write_npy(os.path.join(folder, "pattern.npy"), "d", (2, depths, 2),
              [noise.random() for _ in range(2 * depths * 2)])
    with open(os.path.join(folder, "packed.raw"), "wb") as file:
        file.write(noise.randbytes(frames * lines * samples * 12 // 8))


class Way:
    """A pipeline, as faulty-launch runs it in an environment."""

    prefix = ()  # of its command
    quick_turns = collections.Counter()  # by call

    def __init__(self, program, name, pipeline, files, environment):
        self.program, self.name, self.files = program, name, files
        self.pipeline, self.environment = pipeline, environment
        self.right, self.turn = None, zlib.crc32(name.encode())

    def launch(self, fault=None, timeout=HANGS_AFTER):
        """Returns the report of faulty-launch for one run, and the output bytes."""
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            words = [*self.prefix, self.program] + ([fault] if fault else [])
            words += [self.pipeline.format(out=out, files=self.files)]
            try:
                run = subprocess.run(words, env={**os.environ, **self.environment},
                                     stdin=subprocess.DEVNULL, capture_output=True,
                                     text=True, timeout=timeout, check=False)
            except subprocess.TimeoutExpired:
                return {"hangs": True}, b""
            if run.returncode != 0:
                return {"crash": f"exit status {run.returncode}: {run.stderr[-400:]}"}, b""
            report = json.loads(run.stdout.splitlines()[-1])
            report["stderr"] = run.stderr[-400:]
            written = [path for path in (out, out + ".nrrd") if os.path.exists(path)]
            with open(written[0] if written else os.devnull, "rb") as file:
                return report, file.read()

    def judge(self, report, made, fault=""):
        """Returns the fault of a run, or None."""
        if "hangs" in report:
            return "hangs"
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
            told = self.right.startswith(made)
            return None if told else f"wrong bytes before {errors[0]}"
        if report["errors"]:
            return "no element says what failed"
        made_by = re.findall("format=[A-Z0-9]+|octrender|octdisplay", self.pipeline)
        kind = "f" if made_by and made_by[-1] in ("format=F32LE", "format=CF32LE") else "B"
        if made == self.right \
                or (fault.startswith(QUESTIONS) and are_alike(made, self.right, kind)):
            return None
        return "other bytes without a word"

    def run(self, fault, timeout=HANGS_AFTER):
        return self.judge(*self.launch(fault, timeout), fault)

    @classmethod
    def faults_quickly(cls, report):
        """A call fails in the middle, at its end, or from the first on: all three in the first
        pipeline that makes it, and one in turn in each later pipeline."""
        for call, calls in sorted(report["calls"].items()):
            codes = CODES.get(call, ANY_CODES)
            faults = [f"{call}:{(calls + 1) // 2}:{codes[0]}", f"{call}:{calls}:{codes[0]}",
                      f"{call}:1+:{codes[-1]}"]
            turn = cls.quick_turns[call]
            cls.quick_turns[call] += 1
            yield from dict.fromkeys([faults[turn % len(faults)]] if turn else faults)

    @staticmethod
    def faults_of_every_call(report):
        for call, calls in sorted(report["calls"].items()):
            for count, for_good in itertools.product(range(1, calls + 1), ("", "+")):
                for code in CODES.get(call, ANY_CODES):
                    yield f"{call}:{count}{for_good}:{code}"

    def faults_of_every_site(self, report):
        """At the first, the second and the last call from each place."""
        for call, places in sorted(report["sites"].items()):
            codes = CODES.get(call, ANY_CODES)
            counts = sorted({count for place in places for count in place[:2] + place[-1:]})
            for count, for_good in itertools.product(counts, ("", "+")):
                yield f"{call}:{count}{for_good}:{codes[self.turn % len(codes)]}"
                self.turn += 1

    def faults(self, report, options):
        if options.quick:
            return self.faults_quickly(report)
        return self.faults_of_every_call(report) if options.every \
            else self.faults_of_every_site(report)

    def sweep(self, options):
        """(good runs, complaints)"""
        report, self.right = self.launch("sites", TIMEOUT)
        wrong = self.judge(report, self.right)
        if wrong or not report.get("ended"):
            return 0, [f"{self.name} without a fault: {wrong or report}"]
        faults = [fault for fault in self.faults(report, options)
                  if options.chance.random() < options.share
                  and fnmatch.fnmatch(fault, options.fault)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(zip(faults, pool.map(self.run, faults)))
        wrongs = []
        for fault, wrong in results:
            if wrong == "hangs":
                wrong = self.run(fault, TIMEOUT)
            if wrong:
                wrongs.append(f"{self.name} {fault}: {wrong}")
        return 1 + len(faults) - len(wrongs), wrongs


def ways(options, files):
    """All that are to run."""
    for name, pipeline in PIPELINES.items():
        yield Way(options.program, name, pipeline, files, {})
        if name in COPYING:
            yield Way(options.program, name + "-copying", pipeline, files,
                      {"GST_OPENCL_DEBUG": "share-memory=0"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="faulty-launch")
    parser.add_argument("--quick", action="store_true",
                        help="each kind of call in the middle, at its end, or for good, in turn")
    parser.add_argument("--every", action="store_true",
                        help="each call with each code: half a day")
    parser.add_argument("--share", type=float, default=1,
                        help="as much of all runs, by chance (1)")
    parser.add_argument("--seed", type=int, default=0, help="of that chance")
    parser.add_argument("--only", default="*", help="pipelines of this name; * stands for any")
    parser.add_argument("--fault", default="*", help="faults of this name, CALL:N[+]:CODE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.chance = random.Random(options.seed)

    good, wrongs = 0, []
    with tempfile.TemporaryDirectory() as files:
        write_inputs(files)
        for way in ways(options, files):
            if not fnmatch.fnmatch(way.name, options.only) \
                    or (options.quick and way.name not in QUICK):
                continue
            passed, failed = way.sweep(options)
            print(f"{way.name}: {passed} good, {len(failed)} not", flush=True)
            for line in failed:
                print("  " + line, flush=True)
            good += passed
            wrongs += failed
    print(f"{good} passed, {len(wrongs)} failed")
    return 1 if wrongs or not good else 0


if __name__ == "__main__":
    sys.exit(main())
