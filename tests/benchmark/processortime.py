#!/usr/bin/env python3
"""Compares the processor time of a frame with that of GStreamer's own elements

usage: processortime.py [--rounds N] [--only PATTERN]

Runs in `meson devenv`. Prints a Markdown table: milliseconds of processor time for a frame, in all
threads, and the median of the ratios of alternating pairs. What the source takes is measured too,
and subtracted. With a device that is no CPU, its own time is not in it.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import fnmatch
import os
import statistics
import subprocess

HD = "width=1280,height=720"
SMALL = "width=64,height=64"


def source(caps):
    return (f"videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,{caps},framerate=30/1 ! "
            "imagefreeze num-buffers={n}")


def converted(caps, to, method="", ours=""):
    there = f"videoconvertscale {method} ! video/x-raw,{to}"
    here = f"openclconvertbin ! video/x-raw,{to}" if not ours else \
        f"openclupload ! openclconvert {ours} ! opencldownload ! video/x-raw,{to}"
    return [f"{source(caps)} ! fakesink", f"{source(caps)} ! {there} ! fakesink",
            f"{source(caps)} ! {here} ! fakesink"]


def mixed(caps, size, mixer):
    """Four streams in the quarters of a frame"""
    width, height = size
    pads = " ".join(f"sink_{i}::xpos={width * (i % 2)} sink_{i}::ypos={height * (i // 2)} "
                    f"sink_{i}::width={width} sink_{i}::height={height}" for i in range(4))
    streams = " ".join(f"{source(caps)} ! mix.sink_{i}" for i in range(4))
    return (f"{mixer} name=mix {pads} ! video/x-raw,format=I420,width={2 * width},"
            f"height={2 * height} ! fakesink {streams}")


def composed(caps, size):
    alone = " ".join(f"{source(caps)} ! fakesink" for _ in range(4))
    return [alone, mixed(caps, size, "compositor"), mixed(caps, size, "openclcompositorbin")]


def keyed(caps, key, mixer, before="", after=""):
    return (f"{mixer} name=mix ! fakesink "
            f"{source(caps)} ! mix.sink_0 {source(caps)} ! {before} {key} {after} ! mix.sink_1")


def over_background(caps):
    return [f"{source(caps)} ! fakesink {source(caps)} ! fakesink",
            keyed(caps, "alpha method=green", "compositor"),
            keyed(caps, "chromakey", "openclcompositorbin", "openclupload !")]


def chain(caps, there, here):
    return [f"{source(caps)} ! fakesink", f"{source(caps)} ! {there} ! fakesink",
            f"{source(caps)} ! {here} ! fakesink"]


# name: [source alone, GStreamer's elements, ours], numbers of frames
ROWS = {
    "convert I420 to RGBA": (converted(f"format=I420,{HD}", "format=RGBA"), 50),
    "convert P010 to NV12": (converted(f"format=P010_10LE,{HD}", "format=NV12"), 50),
    "scale I420 to 640x360": (
        converted(f"format=I420,{HD}", "format=I420,width=640,height=360"), 50),
    "scale RGBA to NV12 854x480": (
        converted(f"format=RGBA,{HD}", "format=NV12,width=854,height=480"), 50),
    "scale I420 to 640x360, Lanczos": (
        converted(f"format=I420,{HD}", "format=I420,width=640,height=360", "method=lanczos",
                  "scale-method=lanczos"), 50),
    "composite four I420 of 640x360": (
        composed("format=I420,width=640,height=360", (640, 360)), 50),
    "composite four I420, scaled to 640x360": (composed(f"format=I420,{HD}", (640, 360)), 50),
    "key I420 over I420": (over_background(f"format=I420,{HD}"), 50),
    "64x64: convert": (
        chain(f"format=I420,{SMALL}", "videoconvert ! video/x-raw,format=RGBA",
              "openclconvertbin ! video/x-raw,format=RGBA"), 20000),
    "64x64: key": (
        chain(f"format=RGBA,{SMALL}", "alpha method=green",
              "openclupload ! chromakey ! opencldownload"), 20000),
    "64x64: composite": (
        chain(f"format=RGBA,{SMALL}", "compositor", "openclcompositorbin"), 20000),
    "64x64: greenscreenbin": (
        chain(f"format=RGBA,{SMALL}", "alpha method=green ! compositor background=black",
              "greenscreenbin background-color=0xff000000"), 20000),
}


def processor_seconds(line, frames):
    words = ["gst-launch-1.0", "-q", *line.replace("{n}", str(frames)).split()]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)}: status {status}")
    return usage.ru_utime + usage.ru_stime


def milliseconds_of_frame(line, frames):
    """The start is in both runs, and is subtracted."""
    few = max(10, frames // 10)
    start = processor_seconds(line, few)
    return 1e3 * (processor_seconds(line, few + frames) - start) / frames


def measure(lines, frames, rounds):
    """(milliseconds of GStreamer's elements, of ours, ratio): medians"""
    pairs = []
    for line in lines:
        processor_seconds(line, 3)  # compiles kernels
    for _ in range(rounds):
        alone, there, here = (milliseconds_of_frame(line, frames) for line in lines)
        pairs.append((max(there - alone, 1e-4), max(here - alone, 1e-4)))
    return (statistics.median(there for there, _ in pairs),
            statistics.median(here for _, here in pairs),
            statistics.median(here / there for there, here in pairs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="*", help="rows of this name; * stands for any")
    options = parser.parse_args()
    print("| a frame of 1280x720, or as said | GStreamer's elements, ms | OpenCL, ms | ratio |\n"
          "|---|---|---|---|")
    for name, (lines, frames) in ROWS.items():
        if fnmatch.fnmatch(name, options.only):
            there, here, ratio = measure(lines, frames, options.rounds)
            print(f"| {name} | {there:.4g} | {here:.4g} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
