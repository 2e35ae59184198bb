#!/usr/bin/env python3
"""Every kernel in every form, as other vendors' devices would have it run.

devices.py [--quick] [--oclgrind] [--strict] [--only PATTERN] [--device PATTERN] FAULTY_LAUNCH

Pipelines of few and odd sizes run on this machine's device while it says of itself what
another one reports, and enforces it (tests/faults/otherdevice.hpp). Every buffer ends at
inaccessible memory and begins with arbitrary contents. A run is good
where its bytes are those of the device as it is, up to rounding where that is said.

--oclgrind runs them in Oclgrind instead, which knows each access to memory: beyond an
array, by two work-items with no barrier between them, of uninitialized memory, and each call
that OpenCL does not allow. Optimizations are off there, and nothing is inlined: what a
compiler computes without using it is nobody's access, and Oclgrind 21.10 lacks what LLVM 14
makes of some code, and llvm.experimental.noalias.scope.decl. Its results are not compared,
as its convert_uchar_sat_rte is wrong.

--strict compiles every program that was built for 32 and 64 bit addresses, without any
extension it does not ask for; a warning is an error.

The last line says how many were good.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import io
import os
import re
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import sweep  # noqa: E402

TIMEOUT = 300  # seconds; a form that is new to this machine is compiled first

CPU, GPU = 2, 4
OWN, IN_GLOBAL = 1, 2  # local memory


def device(kind, group, local, **more):
    """Returns the properties of such a device."""
    facts = {"type": kind, "group": group, "local": 1024 * local, **more}
    return " ".join(f"{name.replace('_', '-')}={value}" for name, value in facts.items())


# Sizes of vendors in general, not of one product
DEVICES = {
    "cpu-narrow": device(CPU, 4096, 32, lanes=4, units=1, local_type=IN_GLOBAL, align=1024),
    "cpu-wide": device(CPU, 8192, 256, lanes=16, units=64, local_type=IN_GLOBAL, align=4096),
    "cpu-small": device(CPU, 128, 16, lanes=1, units=0, local_type=IN_GLOBAL, doubles=0, bits=32),
    "gpu-64": device(GPU, 64, 16, local_type=OWN, unified=0, units=2, doubles=0, bits=32,
                     align=32768),
    "gpu-128": device(GPU, 128, 32, local_type=IN_GLOBAL, unified=1, units=7, doubles=0,
                      align=1024),
    "gpu-256": device(GPU, 256, 64, local_type=OWN, unified=0, units=60, align=2048),
    "gpu-1024": device(GPU, 1024, 48, local_type=OWN, unified=0, units=132, align=4096),
    # Kernels that need many registers run with fewer work-items than the device allows
    "gpu-registers": device(GPU, 512, 32, kernel_group=32, local_type=OWN, unified=1, units=16,
                            doubles=0),
}
QUICK_DEVICES = ["cpu-small", "gpu-64", "gpu-1024"]
OCLGRIND = {"OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable -Dalways_inline=",
            "OCLGRIND_LOCAL_MEM_SIZE": "65536", "OCLGRIND_MAX_WGSIZE": "1024"}
OCLGRIND_DEVICES = ["cpu-narrow", "cpu-wide", "gpu-64", "gpu-1024"]

ON_DEVICE = "(memory:OpenCLMemory)"
OUT = " ! opencldownload ! npysink location={out}"


def picture(form, pattern="smpte", frames=2):
    """Pictures of the case's size."""
    return f"videotestsrc num-buffers={frames} pattern={pattern} ! " \
           f"video/x-raw,format={form},width=WIDTH,height=HEIGHT ! openclupload"


PLANAR = ["NV12", "YV12"]


def keyed(elements, form="RGBA", pattern="smpte", frames=2):
    return picture(form, pattern, frames) + f" ! {elements}" + OUT


def converted(form, to, more="", caps="", size="width=WIDTH,height=HEIGHT"):
    """Twice where rows of `to` have padding, which is nobody's."""
    more += f" ! video/x-raw{ON_DEVICE},format={to},{size} ! openclconvert" if to in PLANAR else ""
    to = "RGBA" if to in PLANAR else to
    return f"videotestsrc num-buffers=1 ! video/x-raw,format={form},width=WIDTH,height=HEIGHT{caps}" \
           f" ! openclupload ! openclconvert {more} ! " \
           f"video/x-raw{ON_DEVICE},format={to},{size}" + OUT


CALIBRATION = "wavelength-min=1187 wavelength-max=1433 "


# Settings of octtestsrc
SPECTRA = {
    "layers": "pattern=layers",
    "mirrors": "pattern=mirrors depths=<4,9.5> amplitudes=<900,400>",
}
RECORDED = re.compile(r"\{files\}/spectra-(\w+)-(\d+)x(\d+)x(\d+)\.npy")


def spectra(source, frames, noise=0):
    """Spectra of the case's size, which the device makes."""
    return f"octtestsrc num-buffers={frames} noise={noise} {SPECTRA[source]} ! " \
           f"video/x-raw{ON_DEVICE},width=WIDTH,height=HEIGHT"


def recorded(source, frames):
    """Spectra of the case's size that record_spectra() writes, the same for each device."""
    return f"filesrc location={{files}}/spectra-{source}-{frames}xHEIGHTxWIDTH.npy ! npyparse ! " \
           "openclupload"


def depth(settings="", fft="", caps="", source="layers", camera="GRAY16_LE"):
    """OCT of the case's size, the whole chain."""
    if camera == "GRAY16_LE":
        source = recorded(source, 2)
    elif camera == "F32LE":
        source = "filesrc location={files}/f32-WIDTHxHEIGHT.npy ! npyparse ! openclupload"
    else:
        source = picture(camera)
    return f"{source} ! octwindowinterp {CALIBRATION}{settings} ! " \
           f"octfft {fft}" + (f" ! {caps}" if caps else "") + OUT


def depths(form):
    return f"application/x-oct{ON_DEVICE},format={form}"


def volume(gathered, settings="", caps=None, b_scans=3):
    """So many B-scans of the case's size, of a volume of four."""
    return recorded("layers", b_scans) + f" ! octscan b-scans=4 ! octwindowinterp {CALIBRATION}! octfft " \
           + settings + (f" ! {caps}" if caps else "") + f" ! octvolume {gathered}" + OUT


def packed(elements):
    """Samples of 12 bits behind each other, of the case's size."""
    return "filesrc location={files}/packed-WIDTHxHEIGHT.raw blocksize=PACKED ! application/x-oct," \
           "domain=wavelength,format=MONO12P,samples=WIDTH,lines=HEIGHT,framerate=25/1 ! openclupload ! " \
           + elements + OUT


def packed_line(samples):
    return (12 * samples + 7) // 8


def clocked(where):
    return depth(f"k-clock={where}", "scale=linear", depths("F32LE")).replace(CALIBRATION, "")


def patterns(settings):
    return depth("", "", f"{depths('CF32LE')} ! octbackground {settings}")


def array(elements):
    return "filesrc location={files}/tensor-WIDTHxHEIGHT.npy ! npyparse ! openclupload ! " \
           + elements + OUT


SHOWN = f" ! openclconvert ! video/x-raw{ON_DEVICE},format=RGBA"  # npysink has no RGBA64
MATTE = "videotestsrc num-buffers=2 {} ! video/x-raw,format=GRAY8,width=19,height=11"
MATTES = f" {MATTE.format('')} ! key.garbage {MATTE.format('pattern=ball')} ! openclupload ! key.holdout"
PLATE = " videotestsrc num-buffers=1 ! video/x-raw,format=BGRA,width=33,height=20 ! key.plate"

# How far results may differ: of bytes and of 16 bits; of other numbers as a part of the largest
ROUNDED = {"u1": 1, "u2": 16, "f4": 2e-5, "c8": 2e-5}
LOOSELY = {"f4": 1e-3, "c8": 1e-3}  # differences of what is nearly the same
DECIBELS = {"f4": 2e-4}  # 0.01 of 50
PLOTTED = {"u1": 255}  # a pixel of a curve or of a number may be another one
EXACT = {"u1": 0, "u2": 0}
ONE_LEVEL = {"u2": 1}  # octtestsrc rounds to a level, and a device may round sums in another order

PICTURES = [(3, 2), (37, 23), (291, 150)]
FIELDS = [(4, 4), (37, 24), (291, 152)]  # videotestsrc leaves the last lines of others undone
LINES = [(64, 1), (256, 9), (2048, 67)]
CLOCKED = [(256, 7), (2048, 67)]
SOME_LINES = [(64, 6), *LINES[1:]]
ARRAYS = [(1, 1), (37, 21)]

TENSORS = f"other/tensors{ON_DEVICE},num_tensors=1"
PLOT = f"video/x-raw{ON_DEVICE},format=GRAY8,width=90,height=70"
SEEN = " ! octrender frames=2 turn=25 azimuth=10 elevation=35 zoom=1.5 max=70 ! " \
       f"video/x-raw{ON_DEVICE},format=GRAY8,width=45,height=33"

LONG = "filesrc location={files}/long-WIDTHxHEIGHT.npy ! npyparse ! openclupload ! openclreduce operation="
LONGS = [(2048, 1), (4999, 2)]

GROUP_SUM = ("kernel void k (global const uchar *input, global uchar *output, uint count, "
             "local uint *sums) {{ uint i = get_local_id (0), n = get_local_size (0); "
             "uint at = get_global_id (0); sums[i] = at < count ? input[at] : 0; "
             "barrier (CLK_LOCAL_MEM_FENCE); if (at < count) output[at] = sums[i ^ 1]; }}")



def steps():
    """Returns the steps of the catalogue with a name, as rows of PIPELINES."""
    for name, streams, how, elements in sweep.catalogue():
        tolerance, *source = [word for word in how if word != "faults"]
        form, pattern, frames = source + ["RGBA", "smpte", "2"][len(source):]
        kinds = {"v": keyed(elements, form, pattern.replace("-moving", " horizontal-speed=2"), frames),
                "s": f"{recorded('layers', 2)} ! {elements}{OUT}",
                "d": depth("", "", f"{depths('CF32LE')} ! {elements}"),
                "a": depth("", "scale=linear", f"{depths('F32LE')} ! {elements}"),
                "t": array(elements)}
        sizes = {"v": PICTURES, "t": ARRAYS}.get(streams[0], SOME_LINES)
        yield name, (kinds[streams[0]], globals()[tolerance], sizes)


# name: (pipeline, how far results may differ, sizes); those of one step are in the catalogue
PIPELINES = {
    **dict(steps()),
    "filmed-fields": (keyed("chromakey tolerance=0.2", "I420").replace(
        ",width", ",interlace-mode=interleaved,width", 1), EXACT, FIELDS),
    "mattes": (keyed("chromakey name=key method=chroma garbage-polygon=<0,0,1,0,1,1>",
                     "NV12") + MATTES, ROUNDED, PICTURES),
    "plate-file": (keyed("chromakey name=key method=difference plate=file", "NV12") + PLATE, ROUNDED,
                   PICTURES),
    "from-planes": (converted("I420", "RGBA"), ROUNDED, PICTURES),
    "to-planes": (converted("BGRA", "NV12"), ROUNDED, PICTURES),
    "packed": (converted("YUY2", "ARGB", "chroma-resampler=nearest"), ROUNDED, PICTURES),
    "ten-bits": (converted("P010_10LE", "RGBA", f"dither=bayer ! video/x-raw{ON_DEVICE},format=v210"
                           " ! openclconvert"), ROUNDED, PICTURES),
    "bit-fields": (converted("P010_10LE", "RGBA", f"! video/x-raw{ON_DEVICE},format=NV12_10LE40"
                             f" ! openclconvert ! video/x-raw{ON_DEVICE},format=NV12_10LE32"
                             " ! openclconvert"), ROUNDED, PICTURES),
    "three-bytes": (converted("RGB", "YV12", "scale-method=area", size="width=19,height=11"), ROUNDED,
                    PICTURES),
    "scaled-planes": (converted("RGBA", "RGBA", "scale-method=lanczos", size="width=139,height=77"), ROUNDED,
                      PICTURES),
    "scaled-rows": (converted("RGB", "RGB", "scale-method=lanczos", size="width=WIDTH,height=75"), ROUNDED,
                    PICTURES),
    "enlarged": (converted("NV21", "RGBx", size="width=139,height=77"), ROUNDED, PICTURES),
    "nearest": (converted("UYVY", "GRAY16_LE", "scale-method=nearest", size="width=41,height=90"),
                ROUNDED, PICTURES),
    "colormap": (converted("GRAY8", "RGBA", "colormap=turbo"), ROUNDED, PICTURES),
    "fields": (converted("I420", "RGBA", caps=",interlace-mode=interleaved"), ROUNDED, FIELDS),
    "composed": (picture("RGBA") + " ! mix.sink_0 " + picture("BGRA", "ball")
                 + " ! mix.sink_1 openclcompositor name=mix sink_1::xpos=5 sink_1::ypos=-1 "
                 "sink_1::alpha=0.5 sink_1::width=77" + OUT, ROUNDED, PICTURES),
    "composed-camera": (picture("NV12") + " ! mix.sink_0 " + picture("YUY2", "ball")
                        + " ! mix.sink_1 openclcompositor name=mix sink_0::crop-left=5 "
                        "sink_0::crop-top=3 sink_1::xpos=6 sink_1::alpha=0.5 sink_1::height=31"
                        + OUT, ROUNDED, PICTURES),
    "composed-lit": (picture("I420") + " ! mix.sink_0 " + picture("RGBA")
                     + " ! chromakey ! mix.sink_1 openclcompositor name=mix linear=true "
                     "sink_1::ypos=2 sink_1::light-wrap=0.7 sink_1::light-wrap-radius=6" + OUT,
                     ROUNDED, PICTURES),
    "composed-lit-levels": (picture("I420") + " ! mix.sink_0 " + picture("RGBA")
                            + " ! chromakey ! mix.sink_1 openclcompositor name=mix "
                            "sink_0::width=200 sink_1::ypos=2 sink_1::xpos=3 "
                            "sink_1::light-wrap=0.7 sink_1::light-wrap-radius=6" + OUT,
                            ROUNDED, PICTURES),
    "oct": (depth(), ROUNDED, LINES),
    "oct-512": (depth(), ROUNDED, [(512, 9)]),  # wrong where rusticl 25 fuses
    "oct-16": (depth("window=blackman", "depth-start=3 depth-count=19", f"video/x-raw{ON_DEVICE},"
                     "format=GRAY16_LE"), ROUNDED, LINES),
    "oct-dispersion": (depth("interpolation=cubic dispersion-a2=1e-4", "db-min=20"), ROUNDED, LINES),
    "oct-rolling": (depth("interpolation=lanczos background=rolling"), ROUNDED, LINES),
    "oct-nufft": (depth("interpolation=nufft"), ROUNDED, LINES),
    "oct-lanczos16": (depth("interpolation=lanczos16"), ROUNDED, LINES),
    "oct-decibels": (depth("", "depth-count=7", depths("F32LE"), camera="GRAY8"), DECIBELS, LINES),
    "oct-complex": (depth("interpolation=none", "", depths("CF32LE"), "mirrors"),
                    ROUNDED, LINES),
    "oct-floats": (depth("background=frame", "", "", camera="F32LE"), ROUNDED, LINES),
    "oct-two-steps": (depth("", "fused=never fft-library=vkfft"), ROUNDED, LINES),
    "oct-two-steps-floats": (depth("dispersion-a3=1e-7", "fused=never fft-library=vkfft "
                                   "depth-start=1", depths("CF32LE"), camera="F32LE"), ROUNDED, LINES),
    "oct-big-endian": (depth("bit-shift=4", camera="GRAY16_BE"), ROUNDED, LINES),
    "decorrelation": (depth("", "depth-count=30", f"{depths('CF32LE')} ! octangio repeats=2 "
                            "method=decorrelation"), {"f4": 1e-2}, SOME_LINES),
    # Where two segments vary as little as one another, either is taken.
    "display": (depth("", "", f"{depths('CF32LE')} ! octdisplay db-auto=true flip=true"), ROUNDED, LINES),
    "nufft": (depth("interpolation=nufft", ""), ROUNDED, LINES),
    "k-clock": (clocked("behind"), LOOSELY, CLOCKED),
    "k-clock-interleaved": (clocked("interleaved"), LOOSELY, CLOCKED),
    "packed-samples": (packed("octwindowinterp ! octfft"), ROUNDED, SOME_LINES),
    "packed-scan": (packed("octscan reverse=odd first-line=1 flyback=1 ! octwindowinterp ! octfft"), ROUNDED,
                    SOME_LINES),
    "volume": (volume("", "scale=linear depth-count=19", f"{depths('F32LE')}").replace(
        OUT, f" ! {TENSORS}{OUT}"), ROUNDED, SOME_LINES),
    "volume-complex": (volume("live=true", "", f"{depths('CF32LE')}").replace(
        OUT, f" ! {TENSORS}{OUT}"), ROUNDED, SOME_LINES),
    "volume-pictures": (volume("", "depth-count=29", f"video/x-raw{ON_DEVICE}").replace(
        OUT, f" ! {TENSORS}{OUT}"), ROUNDED, SOME_LINES),
    "above": (volume("projection=maximum slab-start=2 slab-depths=21"), ROUNDED, SOME_LINES),
    "above-surface": (volume("surface=true surface-level=60 surface-smooth=5 slab-start=-2 slab-depths=9",
                             "", f"{depths('CF32LE')}"), ROUNDED, SOME_LINES),
    # Oclgrind 21.10 takes memory filled by clEnqueueFillBuffer for uninitialized. SEEN shows 70
    # levels of the volume as 255, so one of them is four.
    "rendered": (volume("", "depth-count=30", b_scans=4).replace(OUT, SEEN + OUT), {"u1": 4}, SOME_LINES),
    "rendered-alpha": (volume("", "depth-count=30", f"{depths('F32LE')}", 4).replace(
        OUT, SEEN.replace("frames", "mode=alpha frames").replace("GRAY8", "RGBA") + OUT), ROUNDED, SOME_LINES),
    "tissue": (spectra("layers", 3, noise=20) + OUT, ONE_LEVEL, SOME_LINES),
    "mirrors": (spectra("mirrors", 2) + OUT, ONE_LEVEL, LINES),
    "group": (keyed(f"openclkernel source=\"{GROUP_SUM}\" global-size=count local-size=32 "
                    "arguments=\"a,sums=32\"", "GRAY8"), EXACT, [(16, 16)]),
    "source": (f"openclkernelsrc num-buffers=2 expression=\"i0 * 0.01f + i1\" output-caps=video/x-raw"
               f"{ON_DEVICE},format=RGBA,width=WIDTH,height=HEIGHT" + OUT, ROUNDED, PICTURES),
    "mixer": (picture("GRAY8") + " ! m.a " + picture("GRAY8", "ball")
              + " ! m.b openclkernelmixer name=m expression=\"max (a, b)\"" + OUT, ROUNDED, PICTURES),
    "product": (array("openclkernel expression=\"x @ w\" arguments=\"a,w={files}/matrix.npy\"").replace(
        "tensor-", "wide-"), ROUNDED, [*ARRAYS, (90, 3)]),
    "sort-long": (LONG + "sort axes=-1" + OUT, ROUNDED, LONGS),
    "argsort-long": (LONG + "argsort axes=-1 descending=true" + OUT, ROUNDED, LONGS[1:]),
    "histogram-long": (LONG + "histogram bins=300 range=<50,150>" + OUT, ROUNDED, LONGS[1:]),
    "outputs": (array("openclkernel source=\"kernel void k (global const float *input, global float "
                      "*output0, global int *output1) {{ size_t i = get_global_id (0); output0[i] = "
                      "input[i]; output1[i] = i; }}\" output-caps=\"other/tensors,num_tensors=2,"
                      "types=float32.int32,dimensions=5:3.15\" global-size=15").replace(
                          "npysink", "filesink"), EXACT, ARRAYS[1:]),
    "layer-spectra": (array("openclconvolve kernel={files}/filters.npy method=fft border=mirror"),
                      LOOSELY, ARRAYS[1:]),
    "layer-channels": (array("openclconvolve kernel=\"<<1,2,1>,<2,4,3>>\" bias=0.5 border=mirror "
                             "method=direct").replace("tensor-", "wide-"), ROUNDED, ARRAYS),
}
DOUBLES = ["layer-doubles"]
QUICK = {"key-run": (291, 150), "flow-far": (37, 23), "chroma": (37, 23), "oct": (256, 9),
         "oct-levels": (256, 9), "volume-pictures": (256, 9), "from-planes": (37, 23), "convolved": (37, 23)}


def write_inputs(folder):
    numbers = numpy.random.default_rng(1)

    def save(name, *shape):
        numpy.save(os.path.join(folder, name), numbers.normal(100, 20, shape).astype("<f4"))

    for width, height in LINES:
        save(f"f32-{width}x{height}", 2, height, width)
    for width, height in SOME_LINES:
        bits = numpy.random.default_rng(width).integers(0, 256, 2 * height * packed_line(width))
        bits.astype("u1").tofile(os.path.join(folder, f"packed-{width}x{height}.raw"))
    for width, height in SOME_LINES:
        save(f"pattern-{width}x{height}", 3, width // 2, 2)
    for width, height in ARRAYS:
        save(f"tensor-{width}x{height}", 1, height, width, 3)
        save(f"wide-{width}x{height}", 1, height, width, 21)
    save("wide-90x3", 1, 3, 90, 21)
    for width, height in LONGS:
        save(f"long-{width}x{height}", 1, height, width)
    save("matrix", 21, 19)
    numpy.save(os.path.join(folder, "filters"), numbers.normal(0, 0.1, (7, 3, 3, 3)).astype("<f4"))
    numpy.save(os.path.join(folder, "deep"), numbers.normal(0, 0.1, (6, 1, 3, 5)).astype("<f4"))


def record_spectra(options, cases):
    """Writes the spectra that the cases read, as octtestsrc makes them on this machine's device."""
    read = {found.groups() for case in cases for found in RECORDED.finditer(case.pipeline)}
    for source, frames, lines, samples in sorted(read):
        pipeline = spectra(source, frames).replace("WIDTH", samples).replace("HEIGHT", lines) + OUT
        name = f"spectra-{source}-{frames}x{lines}x{samples}.npy"
        report, made = sweep.Way(options.program, name, pipeline, options.files,
                                 options.environment).launch(timeout=TIMEOUT)
        if not made:
            sys.exit(f"{name}: {report}")
        with open(os.path.join(options.files, name), "wb") as file:
            file.write(made)


def difference(made, right, tolerance):
    """Returns the difference of these bytes, or None."""
    if made == right:
        return None
    made, right = (numpy.load(io.BytesIO(these)) for these in (made, right))
    if made.shape != right.shape or made.dtype != right.dtype:
        return f"{made.shape} {made.dtype} instead of {right.shape} {right.dtype}"
    kind = right.dtype.str[1:]
    most = tolerance.get(kind, 0)
    if kind in ("f4", "c8"):
        most *= numpy.nanmax(numpy.abs(right))
    else:
        made, right = made.astype(int), right.astype(int)
    apart = numpy.abs(made - right)
    if (numpy.isnan(made) == numpy.isnan(right)).all() and not (apart > most).any():
        return None
    return f"{(apart > most).sum()} of {apart.size} values differ by more than {most:g}, by " \
           f"{numpy.nanmax(apart):g}; the first at {tuple(numpy.argwhere(~(apart <= most))[0])}"


class Case(sweep.Way):
    """A pipeline and a size, on some device."""

    def __init__(self, options, name, size):
        self.case, self.size = name, size
        pipeline, self.tolerance, _ = PIPELINES[name]
        pipeline = pipeline.replace("WIDTH", str(size[0])).replace("HEIGHT", str(size[1])) \
            .replace("PACKED", str(size[1] * packed_line(size[0])))
        super().__init__(options.program, f"{name} {size[0]}x{size[1]}", pipeline, options.files,
                         dict(options.environment))

    def run_plainly(self):
        """Returns the fault on the unchanged device, or None, and keeps the correct bytes."""
        report, self.right = self.launch(timeout=TIMEOUT)
        wrong = self.complaint(report)
        return wrong or (None if self.right else "no bytes")

    def complaint(self, report):
        if report.get("errors"):
            return f"fails: {report['errors']}"
        return super().judge(report, self.right)

    def on(self, name, facts, compared=True):
        """(where, what is wrong or None)"""
        way = sweep.Way(self.program, f"{self.name} on {name}", self.pipeline, self.files,
                        {**self.environment, **facts})
        report, made = way.launch(timeout=TIMEOUT)
        wrong = self.complaint(report)
        if compared and not wrong:
            wrong = difference(made, self.right, self.tolerance)
        return way.name, wrong


def run_all(options, runs):
    """runs: functions that give (where, what is wrong or None). (good, wrong)"""
    good = wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for where, fault in pool.map(lambda run: run(), runs):
            good += fault is None
            wrong += fault is not None
            if fault is not None:
                print(f"{where}: {fault}", flush=True)
    return good, wrong


def chosen(options, quick_devices):
    """Cases, and names of devices."""
    sizes = {name: [QUICK[name]] if options.quick else PIPELINES[name][2]
             for name in (QUICK if options.quick else PIPELINES)}
    cases = [Case(options, name, size) for name in sizes for size in sizes[name]
             if fnmatch.fnmatch(name, options.only)]
    return cases, [name for name in quick_devices if fnmatch.fnmatch(name, options.device)]


def can_run(case, device_name):
    """Whether the device has the double precision that the pipeline asks for."""
    return case not in DOUBLES or "doubles=0" not in DEVICES[device_name]


def on_other_devices(options):
    """Each buffer between guards, those of the same size by turns at its end and its begin."""
    cases, names = chosen(options, QUICK_DEVICES if options.quick else DEVICES)
    record_spectra(options, cases)

    def plainly(case):
        return lambda: (case.name, case.run_plainly())

    def otherwise(case, name, guard):
        return lambda: case.on(name, {"OTHER_DEVICE": f"{DEVICES[name]} guard={guard}"})

    good, wrong = run_all(options, [plainly(case) for case in cases])
    cases = [case for case in cases if case.right]
    runs = [otherwise(case, name, 1 + (number + turn) % 2 if not options.quick else 1)
            for turn, case in enumerate(cases) for number, name in enumerate(names)
            if can_run(case.case, name)]
    more, wrongs = run_all(options, runs)
    return good + more, wrong + wrongs


# Kernels of the FFT libraries
FOREIGN = ["Kernel: VkFFT_main"]

# Trees of regions are read while other work-items join them. A reader of an older parent finds
# the same root, and writes are atomic.
TREES = [f"Kernel: {name}_regions" for name in ("find", "join", "key")]

# Where Oclgrind 21.10 keeps no account of what is not initialized. It takes what a shuffle
# leaves undefined for an index of -1, and crashes or complains at random: vectors made of two
# halves, as a CPU's forms have them, and a GPU's of packed YUV. For A-lines beyond the last, VkFFT
# computes with registers that it has not filled; the reports name the kernel that reads its
# results. And one undefined component makes all of a vector so, as of filters filled up to whole
# vectors. It takes memory that clEnqueueCopyBuffer has written for uninitialized.
OF_HALVES = ["key-run*", "chroma*", "difference", "plate", "soft-core", "fill", "shape", "packed",
             "to-planes", "composed*", "speckle-variance", "doppler*", "display",
             "background-shown", "linear", "mattes", "soft-deep", "shape-deep", "filmed-*",
             "three-bytes", "scaled-*"]
UNACCOUNTED = [(name, "cpu-*") for name in OF_HALVES] + [
    ("filmed-yuy2", "*"), ("filmed-uyvy", "*"), ("filmed-quiet", "*"),
    ("oct-two-steps*", "*"), ("oct*", "gpu-64"), ("display", "gpu-64"), ("nufft", "gpu-64"),
    ("k-clock*", "gpu-64"), ("convolved-spectra", "gpu-64"), ("layer-winograd", "*"),
    ("angiogram-*", "*")]


def first_words(log):
    """Each kind of what Oclgrind says, once: its first line, kernel and place."""
    kinds = {}
    for block in log.split("\n\n"):
        lines = [re.sub(" address 0x.*", "", line.strip()) for line in block.strip().splitlines()]
        expected = TREES if lines and lines[0].startswith("Read-write data race") else []
        if lines and not any(line in lines for line in FOREIGN + expected):
            words = [line for line in lines if line.startswith(("Kernel:", "At line"))]
            kinds.setdefault("; ".join([lines[0], *words]), lines)
    return " | ".join(kinds)


def in_oclgrind(options):
    cases, names = chosen(options, OCLGRIND_DEVICES)
    vendor = os.path.join(options.files, "oclgrind.icd")
    with open(vendor, "w", encoding="ascii") as file:
        file.write("/usr/lib/oclgrind/liboclgrind-rt-icd.so\n")

    def watched(case, name):
        log = os.path.join(options.files, f"{case.name} {name}.log".replace(" ", "-"))
        facts = {"OTHER_DEVICE": DEVICES[name] + " one-thread=1", "OCL_ICD_VENDORS": vendor,
                 "OCLGRIND_LOG": log, **OCLGRIND,
                 "OCLGRIND_MAX_ERRORS": "1000"}
        checks = ["DATA_RACES", "CHECK_API"]
        if not any(fnmatch.fnmatch(case.case, kind) and fnmatch.fnmatch(name, where)
                   for kind, where in UNACCOUNTED):
            checks.append("UNINITIALIZED")
        facts.update({"OCLGRIND_" + check: "1" for check in checks})
        where, wrong = case.on(name, facts, compared=False)
        with open(log, encoding="utf-8", errors="replace") as file:
            said = first_words(file.read())
        return where + " in Oclgrind", said or wrong

    small = {}
    for case in cases:
        if case.size[0] * case.size[1] <= 2048:
            small[case.case] = case  # the largest of them
    cases = list(small.values())
    record_spectra(options, cases)
    good, wrong = run_all(options, [lambda case=case: (case.name, case.run_plainly())
                                    for case in cases])
    more, wrongs = run_all(options, [lambda case=case, name=name: watched(case, name)
                                     for case in cases if case.right for name in names
                                     if can_run(case.case, name)])
    return good + more, wrong + wrongs


def compile_strictly(options):
    """Every program of ours that options.programs has."""
    def is_ours(path):
        with open(path, encoding="utf-8") as file:
            return "VkFFT_main" not in file.read()

    def compiled(path, target):
        with open(path, encoding="utf-8") as file:
            words = file.readline()[2:].split()
            # Clang 14 declares vload_half () only with this extension; half needs a pragma, too.
            extensions = "-all,+cl_khr_fp16" + (",+cl_khr_fp64" if "double" in file.read() else "")
        words = [word for word in words if not word.startswith("-cl-std")]
        command = ["clang", "-x", "cl", "-cl-std=CL1.2", "-target", target, "-fsyntax-only",
                   "-Xclang", "-finclude-default-header", "-Xclang", f"-cl-ext={extensions}", "-Werror",
                   "-Wall", "-Wno-unused", "-Wno-constant-logical-operand", *words, path]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"{path} for {target}", None if run.returncode == 0 else run.stderr[:2000]

    return run_all(options, [lambda path=path, target=target: compiled(path, target)
                             for path in sorted(glob.glob(os.path.join(options.programs, "*.cl")))
                             if is_ours(path) for target in ("spir", "spir64")])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="faulty-launch")
    parser.add_argument("--quick", action="store_true", help="a few pipelines and devices")
    parser.add_argument("--oclgrind", action="store_true", help="in Oclgrind instead")
    parser.add_argument("--strict", action="store_true", help="compile what was built, too")
    parser.add_argument("--only", default="*", help="pipelines of this name; * stands for any")
    parser.add_argument("--device", default="*", help="devices of this name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        options.files, options.programs = folder, os.path.join(folder, "programs")
        os.mkdir(options.programs)
        options.environment = {"OTHER_DEVICE_PROGRAMS": options.programs} if options.strict else {}
        write_inputs(folder)
        good, wrong = (in_oclgrind if options.oclgrind else on_other_devices)(options)
        if options.strict:
            more, wrongs = compile_strictly(options)
            good, wrong = good + more, wrong + wrongs
    print(f"{good} passed, {wrong} failed")
    return 1 if wrong or not good else 0


if __name__ == "__main__":
    sys.exit(main())
