#!/usr/bin/env python3
"""Promises: demo.sh shows the same image as numpy, for rows of any size. It refuses unreadable
files at once, and sizes that do not fit a raw file, with those that fit. It leaves no temporary
files and changes no other files. It prints a short line for each step and each picture, and with
--verbose the pipelines, which can be pasted. It says where a calibration is missing. Names of files
may have any characters.

usage: demo.py DEMO.SH BUILD-FOLDER

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np

from hostilenames import HOSTILE
from octwriter import Recording, chirp_of, save_map_of

SCRIPT = pathlib.Path(sys.argv[1]).resolve()
os.environ["GST_OPENCL_BUILD"] = str(pathlib.Path(sys.argv[2]).resolve())

LONGEST_LINE = 100


def run(*options, script=SCRIPT):
    print(script.name, *options, flush=True)
    return subprocess.run(
        [script, *map(str, options)], capture_output=True, text=True, timeout=100, check=False
    )


def made(*options):
    done = run(*options)
    assert done.returncode == 0, (done.returncode, done.stderr)


def spectra(lines, samples, largest):
    """Spectra of one mirror, which is deeper in each A-line."""
    depth = 20 + np.arange(lines) * (samples // 2 - 60) // lines
    phase = 2 * np.pi * np.outer(depth, np.arange(samples)) / samples
    return np.round(largest / 2 * (1 + 0.8 * np.cos(phase)))


def picture_of(values, db_min, db_max):
    """The B-scan of spectra that are even in wavenumber: rows are depth bins."""
    samples = values.shape[1]
    window = np.hanning(samples) * 2 / np.hanning(samples).sum()
    bins = np.abs(np.fft.fft(values * window))[:, : samples // 2]
    decibels = 20 * np.log10(np.maximum(bins, 1e-6))
    return np.clip((decibels - db_min) / (db_max - db_min), 0, 1).T * 255


def pixels_of(path, rows, columns):
    raw = f"{path}.gray"
    subprocess.run(
        f"gst-launch-1.0 -q filesrc location={path} ! pngdec ! videoconvert"
        f" ! video/x-raw,format=GRAY8 ! filesink location={raw}".split(),
        check=True,
    )
    stride = (columns + 3) // 4 * 4
    return np.fromfile(raw, np.uint8).reshape(rows, stride)[:, :columns]


def check_raw(bits, samples, lines):
    values = spectra(lines, samples, 2**bits - 1)
    values.astype(f"<u{bits // 8}").tofile("spectra.raw")
    made("--size", f"{samples}x{lines}", "--format", {8: "U8", 16: "U16LE"}[bits], "--db", "20,100",
         "--output", "raw.png", "spectra.raw")  # fmt: skip
    shown = pixels_of("raw.png", samples // 2, lines)
    off = np.abs(shown - picture_of(values, 20, 100)).max()
    assert off <= 1.01, (bits, samples, lines, off)


def check_raw_with_header():
    values = spectra(20, 256, 30000) - 15000
    pathlib.Path("header.raw").write_bytes(b"13 byte long." + values.astype("<i2").tobytes())
    made("--size", "256x20", "--format", "S16LE", "--offset", 13, "--db", "20,100",
         "--output", "raw.png", "header.raw")  # fmt: skip
    off = np.abs(pixels_of("raw.png", 128, 20) - picture_of(values, 20, 100)).max()
    assert off <= 1.01, off


def check_recording():
    """A .oct recording needs no options. Its picture is that of its spectra with its calibration."""
    samples, lines = 512, 60
    chirp = chirp_of(samples)
    light = 1500 * np.exp(-((np.arange(samples) / samples - 0.5) / 0.3) ** 2) + 200
    depth = 30 + 3 * np.arange(lines)
    noise = np.random.default_rng(1).normal(0, 2, (lines + 25, samples))
    frames = light * (1 + 0.4 * np.cos(2 * np.pi * np.outer(depth, chirp) / samples)) + noise[:lines]
    frames, apodization = (np.round(part).astype("<u2")[None] for part in (frames, light + noise[lines:]))
    Recording(frames, apodization, chirp=chirp).write("recording.oct")
    made("recording.oct")
    shown = pixels_of("bscan.png", samples // 2, lines)
    pathlib.Path("bscan.png").unlink()
    assert np.abs(shown[8:].argmax(0) + 8 - depth).max() <= 1, shown[8:].argmax(0) + 8 - depth
    assert shown.min() == 0 and shown.max() == 255 and 10 < shown.mean() < 200, shown.mean()

    np.save("recording.npy", frames)
    np.save("background.npy", apodization[0].mean(0))
    save_map_of(chirp)
    pathlib.Path("settings.txt").write_text(
        "resample-map=map.npy\nbackground=file\nbackground-file=background.npy\n")
    made("--db", "10,80", "--output", "oct.png", "recording.oct")
    made("--db", "10,80", "--settings", "settings.txt", "--output", "npy.png", "recording.npy")
    assert pathlib.Path("oct.png").read_bytes() == pathlib.Path("npy.png").read_bytes()


def check_print():
    before = set(os.listdir())
    for words, elements in (((), "octtestsrc"), (("recording.oct",), "octfileparse"),
                            (("--size", "9x9", "few.raw"), "octrawparse"), (("few.npy",), "npyparse")):
        for word in words:
            if "few" in word:
                pathlib.Path(word).touch()
        done = run("--print", *words)
        assert done.returncode == 0 and not done.stderr, done
        (line,) = done.stdout.splitlines()
        assert elements in line and line.endswith(" location=bscan.png"), line
    assert set(os.listdir()) - before == {"few.raw", "few.npy"}, set(os.listdir()) - before


def check_messages():
    before = set(os.listdir())
    done = run()
    pictures = set(os.listdir()) - before
    assert done.returncode == 0 and len(pictures) == 3, (done, pictures)
    lines = (done.stderr + done.stdout).splitlines()
    mixed = [line for line in lines if line.endswith("was mixed as light")]
    assert len(mixed) == 1, lines
    assert max(map(len, lines)) <= LONGEST_LINE, lines
    said, following = done.stderr.split(f"\n\nThe pictures are in {os.getcwd()}. Next:\n")
    assert len(said.splitlines()) == len(pictures) + 1, said
    shell, window, tests = following.splitlines()
    assert "meson devenv" in shell and "opencl-view --oct" in window and "run.sh" in tests, following
    assert "gst-launch" not in done.stderr, done.stderr
    named = [pathlib.Path(line) for line in done.stdout.splitlines()]
    assert sorted(path.name for path in named) == sorted(pictures), (named, pictures)
    for path in named:
        assert path.is_absolute() and path.read_bytes()[:4] == b"\x89PNG", path


def rgb_of(picture):
    command = f"filesrc location={picture} ! pngdec ! videoconvert ! video/x-raw,format=RGB" \
        " ! filesink location=rgb"
    subprocess.run(["gst-launch-1.0", "-q", *command.split()], check=True, timeout=100)
    return np.fromfile("rgb", np.uint8).astype(int)


def check_verbose():
    """Checks that each printed pipeline makes the same picture when it is pasted. GStreamer reads the
    background, a JPEG, with other chroma between its samples."""
    done = run("--verbose")
    commands = [line for line in done.stderr.splitlines() if line.startswith("gst-launch-1.0 ")]
    pictures = [pathlib.Path(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(commands) == len(pictures) == 3, done
    for command, picture in zip(commands, pictures):
        expected = rgb_of(picture)
        picture.unlink()
        subprocess.run(["bash", "-c", command], check=True, timeout=100, stdout=subprocess.DEVNULL)
        off = np.abs(rgb_of(picture) - expected)
        assert off.max() <= 20 and off.mean() <= 1 if ".jpg" in command else not off.any(), command


def check_volume():
    """pngenc ends the stream after the first of many frames, which is not an error of the file."""
    values = spectra(63, 512, 65535)
    np.save("volume.npy", np.stack([values] * 100).astype("<u2"))
    made("--db", "20,100", "--output", "volume.png", "volume.npy")
    off = np.abs(pixels_of("volume.png", 256, 63) - picture_of(values, 20, 100)).max()
    assert off <= 1.01, off


def check_refused_input():
    pathlib.Path("bad.npy").write_bytes(b"garbage")
    os.mkfifo("endless.npy")
    pathlib.Path("folder.oct").mkdir()
    for name, reason in (("bad.npy", "not a .npy file"), ("endless.npy", "not a regular file"),
                         ("folder.oct", "not a regular file"), ("nothing.npy", "no such file")):
        done = run(name)
        assert done.returncode == (1 if name == "bad.npy" else 2) and reason in done.stderr, done
        assert len(done.stderr.splitlines()) <= 2, done.stderr
    assert not pathlib.Path("bscan.png").exists()


def check_wrong_sizes():
    """Sizes that do not fit the file are refused, with those that do: 400 lines of 1664 samples."""
    values = np.zeros((400, 1664), "<u2").tobytes()
    pathlib.Path("unknown.raw").write_bytes(values)
    pathlib.Path("headed.raw").write_bytes(bytes(1000) + values)
    for words, sizes in (
        (("--size", "1024x512", "unknown.raw"), ("1664x400", "1024x650")),
        (("--size", "1664x512", "unknown.raw"), ("1664x400",)),
        (("--size", "2048x400", "unknown.raw"), ("1664x400", "2048x325")),
        (("--size", "1664x401", "--format", "U8", "unknown.raw"), ("1664x400",)),
        (("--size", "1664x400", "headed.raw"), ("a header of 1000 bytes",)),
        (("--size", "1664x400", "--offset", 7, "headed.raw"), ("a header of 1000 bytes",)),
        (("--size", "1664x200", "--offset", 2000, "unknown.raw"), ("a header of 0 bytes",)),
    ):
        done = run(*words)
        assert done.returncode == 2 and not os.path.exists("bscan.png"), done
        assert all(size in done.stderr for size in sizes), done.stderr
        for width, height in re.findall(r" (\d+)x(\d+)", done.stderr):
            given = 1000 if "headed.raw" in words else 0
            assert "--offset" in words or "--format" in words or \
                (len(values) + given) % (int(width) * int(height) * 2) == 0, done.stderr
    made("--size", "1664x200", "--output", "fits.png", "unknown.raw")
    # 12 bits: an A-line of 17 samples has 26 bytes.
    pathlib.Path("packed.raw").write_bytes(bytes(26 * 40))
    made("--size", "17x40", "--format", "MONO12P", "--output", "fits.png", "packed.raw")
    done = run("--size", "17x39", "--format", "MONO12P", "packed.raw")
    assert done.returncode == 2 and "1014 bytes" in done.stderr, done


def check_doubts():
    """One line says that a raw file looks like floats."""
    spectra(20, 512, 3000).astype("<f4").tofile("float.raw")
    for words, is_wrong in (("1024x20",), True), (("512x20", "--format", "F32LE"), False):
        done = run("--output", "said.png", "float.raw", "--size", *words)
        said = [line for line in done.stderr.splitlines() if "look like float32, not U16LE" in line]
        assert done.returncode == 0 and len(said) == is_wrong, (words, done)


def check_missing_calibration():
    """One line says that a recording has no calibration, unless it has one or needs none."""
    np.save("spectra.npy", spectra(20, 512, 30000).astype("<u2"))
    np.save("map.npy", np.arange(512.0))
    pathlib.Path("settings.txt").write_text("dispersion-a2=1e-9\n")
    pathlib.Path("mapped.txt").write_text("resample-map=map.npy\n")
    pathlib.Path("even.txt").write_text("interpolation=none\n")
    frames = spectra(20, 512, 3000)[None].astype("<u2")
    Recording(frames, frames[:, :5], chirp=chirp_of(512)).write("chirped.oct")
    for words, is_missing in (
        (("spectra.npy",), True), (("--settings", "settings.txt", "spectra.npy"), True),
        (("--dispersion", "1e-9,0", "spectra.npy"), True), ((), False), (("chirped.oct",), False),
        (("--settings", "mapped.txt", "spectra.npy"), False),
        (("--settings", "even.txt", "spectra.npy"), False),
        (("--resample-map", "map.npy", "spectra.npy"), False),
        (("--wavelength-range", "800,880", "spectra.npy"), False),
    ):
        done = run("--output", "said.png", *words)
        said = [line for line in done.stderr.splitlines() if "no calibration" in line]
        assert done.returncode == 0 and len(said) == is_missing, (words, done)
        assert all("--wavelengths" in line and "--settings" in line for line in said), said


def check_names():
    """Files of any name are read and written, and change nothing else."""
    np.save("spectra.npy", spectra(20, 512, 30000).astype("<u2"))
    np.save("map.npy", np.arange(512.0) ** 0.999)
    words = "--db", "20,100", "--resample-map"
    made(*words, "map.npy", "--output", "usual.png", "spectra.npy")
    expected = pathlib.Path("usual.png").read_bytes()
    for name in HOSTILE:
        os.mkdir("names")
        os.link("spectra.npy", f"names/{name}.npy")
        os.link("map.npy", f"names/{name}")
        os.link("spectra.npy", "names/ok.npy")
        done = subprocess.run(
            [SCRIPT, *words, name, "--verbose", "--output", f"{name}.png", "--", f"{name}.npy"],
            cwd="names", capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, (name, done)
        picture = pathlib.Path(f"names/{name}.png")
        assert picture.read_bytes() == expected, name
        picture.unlink()
        # The printed command makes the same picture.
        command = next(line for line in done.stderr.splitlines() if line.startswith("gst-launch"))
        subprocess.run(["bash", "-c", command], check=True, timeout=100, stdout=subprocess.DEVNULL,
                       cwd="names")
        assert picture.read_bytes() == expected, (name, command)
        assert sorted(os.listdir("names")) == sorted(
            [name, f"{name}.npy", f"{name}.png", "ok.npy"]), (name, os.listdir("names"))
        shutil.rmtree("names")
    bad = os.fsdecode(b"\xff.npy")
    os.link("spectra.npy", bad)
    done = subprocess.run([SCRIPT, bad], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2 and "not UTF-8" in done.stderr, done
    assert "Traceback" not in done.stderr, done


def check_refused_options():
    key = SCRIPT.with_name("greenscreen.sh")
    for script, options, values, expected in (
        (SCRIPT, "--size", "axb 2048 0x5 99999999999x5", "SAMPLESxLINES"),
        (SCRIPT, "--format", "16", "a format"),
        (SCRIPT, "--offset", "-1", "a number from 0"),
        (SCRIPT, "--wavelength-range", "1187 1187, 1187,1433nm", "MIN,MAX"),
        (SCRIPT, "--dispersion", "1e,2", "A2,A3"), (SCRIPT, "--db", "a,b 1,2,3", "MIN,MAX"),
        (SCRIPT, "--depth", "-1,5 1.5,5", "START,COUNT"),
        (SCRIPT, "--background", "best", "none or frame"),
        (key, "--similarity --smoothness --tolerance --spill --limit", "1,5", "a number"),
        (key, "--fill --noise --flow", "1.5 08 99999999999999999999", "a whole number"),
    ):
        for option, value in itertools.product(options.split(), values.split()):
            done = run(option, value, script=script)
            assert done.returncode == 2, done
            assert f"{option} {value}: expected {expected}" in done.stderr, done.stderr


def check_ended(signal_number):
    """Ends a script by a signal, while it makes the picture."""
    before = set(os.listdir())
    script = subprocess.Popen([SCRIPT, "--output", "ended.png", "volume.npy"],
                              stderr=subprocess.PIPE, text=True)
    assert script.stderr.readline().startswith("B-scan of volume.npy")
    script.send_signal(signal_number)
    assert script.wait(20) == 128 + signal_number, script.returncode
    assert set(os.listdir()) == before, set(os.listdir()) - before


def check_files_of_others():
    """Checks that no predictable name of a temporary file is written or deleted."""
    precious = pathlib.Path("precious")
    precious.write_text("mine")
    pathlib.Path("volume.png.unfinished").symlink_to(precious)
    before = set(os.listdir())
    made("--output", "volume.png", "volume.npy")
    assert set(os.listdir()) == before
    assert precious.read_text() == "mine"
    umask = os.umask(0)
    os.umask(umask)
    assert os.stat("volume.png").st_mode & 0o777 == 0o666 & ~umask


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_refused_options()
    check_volume()
    check_files_of_others()
    check_raw(16, 999, 61)
    check_raw(8, 1001, 35)
    check_raw_with_header()
    check_recording()
    check_print()
    check_refused_input()
    check_wrong_sizes()
    check_doubts()
    check_missing_calibration()
    check_names()
    check_ended(signal.SIGTERM)
    check_ended(signal.SIGINT)
    check_messages()
    check_verbose()
    os.chdir("/")
print("as promised")
