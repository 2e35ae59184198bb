#!/usr/bin/env python3
"""Promises: octfileparse outputs the samples of .oct recordings bit by bit. Their depths are those
that numpy computes from the chirp, the background and the dispersion. A file that is not as it
should be gives one error, within bounded memory and time: zip bombs, huge headers, many entries.

usage: octrecordings.py

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
import time
import zipfile
import zlib

import numpy as np

from octwriter import Recording, chirp_of, save_map_of, write_zip

SAMPLES, LINES = 512, 24
# Above that of a pipeline of a small recording
MOST_KIB = 160 * 1024
SECONDS = 60


def play(*words):
    """Returns the output, and the peak of the resident memory in KiB. gst-launch-1.0 may wait for
    ever after an error that comes before its main loop runs. It is then ended. The file is read by
    another handle: the position of the first is that at which the process writes."""
    with open("output", "w", encoding="utf-8") as output, open("output", encoding="utf-8") as read:
        process = subprocess.Popen(["gst-launch-1.0", "-q", *words], stdout=output,
                                   stderr=subprocess.STDOUT)
        end = time.monotonic() + SECONDS
        while True:
            ended, _, usage = os.wait4(process.pid, os.WNOHANG)
            read.seek(0)
            said = read.read()
            if ended:
                return said, usage.ru_maxrss
            assert time.monotonic() < end, (words, said)
            if "ERROR: from element" in said:
                time.sleep(1)
                os.kill(process.pid, signal.SIGKILL)
            time.sleep(0.02)


def parsed(path):
    output, _ = play("filesrc", f"location={path}", "!", "octfileparse", "!", "npysink", "location=out.npy")
    assert "ERROR" not in output, output
    found = np.load("out.npy")
    os.unlink("out.npy")
    return found


def fringes(count, chirp, dark):
    """Returns frames of one reflector that is deeper in each A-line, and A-lines without sample."""
    random = np.random.default_rng(1)
    light = 1800 * np.exp(-((np.arange(SAMPLES) - SAMPLES / 2) / (SAMPLES / 3)) ** 2) + dark
    depth = 20 + 6 * np.arange(LINES)
    waves = 1 + 0.4 * np.cos(2 * np.pi * np.outer(depth, chirp) / SAMPLES)
    frames = np.round(light * waves + random.normal(0, 2, (count, LINES, SAMPLES))).astype("<u2")
    apodization = np.round(light + random.normal(0, 2, (count, 25, SAMPLES))).astype("<u2")
    for n in range(count):  # the source drifts
        frames[n] += np.round(0.01 * n * light).astype("<u2")
        apodization[n] += np.round(0.01 * n * light).astype("<u2")
    return frames, apodization


def check_samples():
    random = np.random.default_rng(2)
    for kind in "<u2", "<i2", "u1", "i1", "<u4", "<i4":
        limits = np.iinfo(kind)
        frames = random.integers(limits.min, limits.max, (6, LINES, SAMPLES), endpoint=True).astype(kind)
        for more in ({}, {"compression": zipfile.ZIP_DEFLATED}, {"slash": "/"}, {"per_file": 3}):
            Recording(frames, chirp=chirp_of(SAMPLES), signed=limits.min < 0, **more).write("a.oct")
            found = parsed("a.oct")
            assert found.dtype == frames.dtype and np.array_equal(found, frames), (kind, more)


def depths_of(path, *settings, element="octfileparse"):
    output, _ = play("filesrc", f"location={path}", "!", *element.split(), "!", "openclupload", "!",
                     "octwindowinterp", *settings, "!", "octfft", "scale=linear", "!",
                     "application/x-oct(ANY),domain=depth,format=F32LE", "!", "opencldownload", "!",
                     "npysink", "location=depths.npy")  # fmt: skip
    assert "ERROR" not in output and "WARNING" not in output, output
    return np.load("depths.npy")


def expected_depths(frames, chirp, background):
    """By linear interpolation at the samples of even wavenumbers, in double precision"""
    fine = np.interp(np.arange(SAMPLES), chirp.astype(float), np.arange(SAMPLES))
    window = np.hanning(SAMPLES) * 2 / np.hanning(SAMPLES).sum()
    lines = (frames - background).reshape(-1, SAMPLES)
    even = np.stack([np.interp(fine, np.arange(SAMPLES), line) for line in lines])
    return np.abs(np.fft.fft(even * window))[:, :SAMPLES // 2].reshape(*frames.shape[:2], -1)


def check_depths():
    chirp = chirp_of(SAMPLES)
    dark = 100 + 30 * np.sin(np.arange(SAMPLES) / 9)
    frames, apodization = fringes(4, chirp, dark)
    scaling = 2.5
    for recording, background in (
        (Recording(frames, apodization, chirp=chirp, scaling=scaling, offset=dark * scaling),
         apodization.mean(1, keepdims=True)),
        (Recording(frames, chirp=chirp, scaling=scaling, offset=dark * scaling,
                   reference=apodization[0].mean(0) * scaling), apodization[0].mean(0)),
        (Recording(frames, chirp=chirp, scaling=scaling, offset=dark * scaling), dark),
    ):  # fmt: skip
        recording.write("a.oct")
        found = depths_of("a.oct")
        expected = expected_depths(frames, chirp, background)
        # The map is the smooth inverse of the chirp, which straight lines approach.
        off = np.abs(found - expected).max() / expected.max()
        assert off < 1e-3, off
        for n in range(LINES):
            assert abs(int(found[0, n, 8:].argmax()) + 8 - (20 + 6 * n)) <= 1, n
        # The same values as files: bit by bit
        np.save("frames.npy", frames)
        save_map_of(chirp)
        if background.ndim > 1:
            check_raw_background(frames, apodization, found)
            continue
        np.save("background.npy", background)
        by_files = depths_of("frames.npy", "resample-map=map.npy", "background=file",
                             "background-file=background.npy", element="npyparse")
        assert np.abs(found - by_files).max() <= 1e-6 * found.max()


def told(*words):
    """Output with warnings and caps, which -q leaves out"""
    return subprocess.run(["gst-launch-1.0", "-v", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=SECONDS, check=False).stdout


def changed(recording, changes):
    """Entries of a recording, with texts of its header replaced"""
    entries = dict(recording.entries())
    header = entries["Header.xml"].decode()
    for old, new in changes:
        assert re.search(old, header), old
        header = re.sub(old, new, header)
    entries["Header.xml"] = header.encode()
    return entries


def check_two_cameras():
    """`camera` chooses one. A warning says that there is another."""
    first, apodization = fringes(2, chirp_of(SAMPLES), 100)
    second = np.ascontiguousarray(first[:, ::-1])
    entries = changed(Recording(first, apodization, chirp=chirp_of(SAMPLES)),
                      [(r"(<DataFile.*Spectral\d)(\.data</DataFile>)", r"\1\2\n\1_Cam1\2")])
    for n in range(2):
        entries[f"data\\Spectral{n}_Cam1.data"] = np.concatenate([apodization[n], second[n]]).tobytes()
    write_zip("two.oct", entries.items())
    for camera, expected in ((), first), (("camera=0",), first), (("camera=1",), second):
        output = told("filesrc", "location=two.oct", "!", "octfileparse", *camera, "!",
                      "npysink", "location=out.npy")  # fmt: skip
        assert np.array_equal(np.load("out.npy"), expected), camera
        assert ("two cameras" in output) == (camera != ("camera=1",)), output
    small().write("small.oct")
    output, _ = play("filesrc", "location=small.oct", "!", "octfileparse", "camera=1", "!", "fakesink")
    assert "no spectra such as data/Spectral0_Cam1.data" in output, output


def caps_of(entries):
    write_zip("variant.oct", entries.items())
    output = told("filesrc", "location=variant.oct", "!", "octfileparse", "!", "openclupload", "!",
                  "octwindowinterp", "!", "octfft", "!", "application/x-oct(ANY),domain=depth", "!",
                  "fakesink")  # fmt: skip
    assert "ERROR" not in output, output
    return output


def check_variants():
    """Float32 spectra of one-dimensional mode, and averaged A-lines"""
    frames, _ = fringes(1, chirp_of(SAMPLES), 100)
    entries = changed(Recording(frames.astype("<f4"), chirp=chirp_of(SAMPLES)),
                      [("Spectral0", "SpectralFloat"), ('Type="Raw"', 'Type="Real"')])
    entries["data\\SpectralFloat.data"] = entries.pop("data\\Spectral0.data")
    write_zip("float.oct", entries.items())
    found = parsed("float.oct")
    assert found.dtype == "<f4" and np.array_equal(found, frames), found.dtype
    recording = Recording(frames, chirp=chirp_of(SAMPLES), millimetres=(1.5, 0.8, 0.6))
    said = caps_of(changed(recording, []))
    assert "averaged-lines" not in said
    step = re.search(r"depth-step=\(double\)([\d.]+)", said)[1]
    assert abs(float(step) - 1500 / (SAMPLES // 2)) < 1e-6, step
    said = caps_of(changed(recording, [("<FastAxis>1", "<FastAxis>2"), ("<AScans>1", "<AScans>2")]))
    assert "averaged-lines=(int)4" in said, said


def check_raw_background(frames, apodization, expected):
    """The same A-lines in a raw file, from a file and pushed"""
    np.concatenate([apodization, frames], axis=1).tofile("frames.raw")
    parser = f"octrawparse samples={SAMPLES} lines={LINES} background-lines=25"
    for element in parser, "queue ! " + parser:
        found = depths_of("frames.raw", "resample-map=map.npy", element=element)
        assert np.abs(found - expected).max() <= 1e-6 * expected.max(), element


def check_shaped_window():
    """window=shape gives the peak of a mirror the form of a Hann window, whatever the source."""
    x = np.linspace(-1, 1, SAMPLES)
    chirp = chirp_of(SAMPLES)
    for name, light in (("gaussian", np.exp(-3 * x**2)), ("bumps", np.exp(-(((x - 0.45) / 0.4) ** 2)) + 0.8 * np.exp(-(((x + 0.45) / 0.4) ** 2))),
                        ("skewed", np.exp(-3 * np.where(x < 0.2, 1, 2) * (x - 0.2) ** 2))):  # fmt: skip
        light = 20000 * light
        waves = 1 + 0.3 * np.cos(2 * np.pi * 60 * chirp.astype(float) / SAMPLES + np.arange(LINES)[:, None])
        np.save("light.npy", light)
        np.save("frames.npy", (light * waves).astype("<f4")[None])
        save_map_of(chirp)
        given = "resample-map=map.npy", "interpolation=nufft", "background=file", "background-file=light.npy"
        found = depths_of("frames.npy", *given, "window=shape", element="npyparse")[0].mean(0)
        plain = depths_of("frames.npy", *given, element="npyparse")[0].mean(0)
        # The same fringe of an even source, in numpy
        fringe = np.hanning(SAMPLES) * 2 / np.hanning(SAMPLES).sum() * 0.3 * light.max()
        even = np.cos(2 * np.pi * 60 * np.arange(SAMPLES) / SAMPLES + np.arange(LINES)[:, None])
        expected = np.abs(np.fft.fft(fringe * even))[:, : SAMPLES // 2].mean(0)
        off = np.abs(found - expected).max() / expected.max()
        off_plain = np.abs(plain / plain.max() - expected / expected.max()).max()
        assert off < 0.01 and off_plain > 3 * off, (name, off, off_plain)
    for fall in 3, 4.5:
        source, hann = np.exp(-fall * x**2), np.hanning(SAMPLES)
        ratios = [(window * source).sum() / np.sqrt((window**2).sum()) for window in (hann, hann / np.maximum(source, 0.05))]
        print(f"window=shape: {20 * np.log10(ratios[0] / ratios[1]):.1f} dB more noise with a source that falls to e^-{fall}")
    output = told("octtestsrc", "num-buffers=1", "!", "octwindowinterp", "window=shape", "!", "octfft", "!", "fakesink")
    assert "the spectrum of the source is unknown" in output, output


def expect_error(path, *parts):
    """Exactly one error. The peak of the memory includes that of this process before exec()."""
    output, kib = play("filesrc", f"location={path}", "!", "octfileparse", "!", "fakesink")
    errors = [line for line in output.splitlines() if line.startswith("ERROR: from element")]
    assert len(errors) == 1 and "WARNING" not in output, (path, output)
    assert kib < MOST_KIB, (path, kib)
    for part in parts:
        assert part in errors[0], (part, errors[0])
    print(f"{path}: {kib} KiB: {errors[0].partition(': ')[2][:150]}", flush=True)


def small():
    frames = np.arange(2 * 4 * 64, dtype="<u2").reshape(2, 4, 64)
    return Recording(frames, chirp=chirp_of(64))


def changed_sizes(path, name, size):
    """Changes the size that both headers of an entry state, and keeps what is stored."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for magic, at_size, at_name in (b"PK\3\4", 22, 30), (b"PK\1\2", 24, 46):
        at = -1
        while (at := data.find(magic, at + 1)) >= 0:
            if data[at + at_name:].startswith(name):
                struct.pack_into("<I", data, at + at_size, size)
    with open(path, "wb") as file:
        file.write(data)


def check_bombs():
    # A gigabyte of zeros in a megabyte: more than the header says, or as much.
    block = bytes(1 << 20)
    for claimed in 0, 1 << 30:
        with zipfile.ZipFile("bomb.oct", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            recording = small()
            header = recording.header()
            if claimed:
                header = re.sub('SizeZ="64" SizeX="4"', f'SizeZ="32768" SizeX="{claimed >> 16}"', header)
                header = re.sub('ScanRegionEnd0="4"', f'ScanRegionEnd0="{claimed >> 16}"', header)
            archive.writestr("Header.xml", header)
            for n, blocks in (0, 1024), (1, 1):
                with archive.open(f"data/Spectral{n}.data", "w", force_zip64=True) as entry:
                    for _ in range(blocks):
                        entry.write(block)
        expect_error("bomb.oct", "Spectral0.data",
                     "expected at most 268435456" if claimed else "1073741824 bytes, expected 512")
    # Entries that inflate to more, or to less, than they state
    for stored, stated in (1 << 22, 512), (100, 512):
        entries = dict(small().entries())
        entries["data\\Spectral1.data"] = bytes(stored)
        write_zip("lies.oct", entries.items(), zipfile.ZIP_DEFLATED)
        changed_sizes("lies.oct", b"data\\Spectral1.data", stated)
        expect_error("lies.oct", "Spectral1.data")
    # An entry that states terabytes (zip64), as its header does
    entries = dict(small().entries())
    entries["Header.xml"] = entries["Header.xml"].replace(b'SizeX="4"', b'SizeX="2147483647"').replace(
        b'ScanRegionEnd0="4"', b'ScanRegionEnd0="2147483647"')
    write_zip("terabytes.oct", entries.items())
    expect_error("terabytes.oct", "data/Spectral0.data: 274877906816 bytes for a B-scan")


def check_headers():
    for name, header in (
        ("expansion", '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol1 "&lol;&lol;&lol;">]>'
                      "<Ocity>&lol1;</Ocity>"),
        ("external", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><Ocity>&x;</Ocity>'),
        ("nested", "<Ocity>" + "<a>" * 1000000),
        ("attributes", "<Ocity><a " + " ".join(f'a{n}="1"' for n in range(500000)) + "/></Ocity>"),
        ("utf16", "<Ocity></Ocity>".encode("utf-16")),
        ("binary", np.random.default_rng(1).bytes(100000)),
        ("zeros", bytes(100000)),
        ("empty", ""),
        ("files", "<Ocity><DataFiles>" + "<DataFile/>" * 1000000 + "</DataFiles></Ocity>"),
    ):  # fmt: skip
        entries = dict(small().entries())
        entries["Header.xml"] = header if isinstance(header, bytes) else header.encode()
        write_zip(f"{name}.oct", entries.items(), zipfile.ZIP_DEFLATED)
        expect_error(f"{name}.oct", "Header.xml")
    # A header of 1 GB, in a megabyte
    with zipfile.ZipFile("long.oct", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("Header.xml", "w", force_zip64=True) as entry:
            entry.write(b"<Ocity><Comment>")
            for _ in range(1024):
                entry.write(b"a" * (1 << 20))
            entry.write(b"</Comment></Ocity>")
        for name, data in list(small().entries())[1:]:
            archive.writestr(name, data)
    expect_error("long.oct", "Header.xml: longer than the maximum of 33554432 bytes")


def check_directories():
    # 100 000 further entries are no error; two of one name are.
    recording = small()
    entries = list(recording.entries()) + [(f"data\\{n}", b"") for n in range(100000)]
    write_zip("many.oct", entries)
    output, kib = play("filesrc", "location=many.oct", "!", "octfileparse", "!", "npysink", "location=out.npy")
    assert not output and kib < MOST_KIB, (output, kib)
    assert np.array_equal(np.load("out.npy"), recording.frames)
    print(f"many.oct: {kib} KiB", flush=True)

    # Entries that share their bytes: 400 frames of one
    frame = np.random.default_rng(1).bytes(8192)
    recording = Recording(np.frombuffer(frame, "<u2").reshape(1, 8, 512).repeat(400, 0))
    header = recording.header().encode()
    data = directory = b""
    for name, stored in ("Header.xml", header), ("data/Spectral0.data", frame):
        local = struct.pack("<5HIIIHH", 20, 0, 0, 0, 0, zlib.crc32(stored), len(stored), len(stored), len(name), 0)
        places = [name] if stored is header else [f"data/Spectral{n}.data" for n in range(400)]
        for place in places:
            directory += (b"PK\1\2" + struct.pack("<H", 20) + local[:-4] + struct.pack("<HH", len(place), 0)
                          + struct.pack("<3HII", 0, 0, 0, 0, len(data)) + place.encode())  # fmt: skip
        data += b"PK\3\4" + local + name.encode() + stored
    end = struct.pack("<4s4HIIH", b"PK\5\6", 0, 0, 401, 401, len(directory), len(data), 0)
    with open("overlap.oct", "wb") as file:
        file.write(data + directory + end)
    expect_error("overlap.oct", "entries overlap")

    # Directories that state more entries than they have
    with open("many.oct", "rb") as file:
        whole = file.read()
    for name, fields in (
        ("claims", struct.pack("<4s4HIIH", b"PK\5\6", 0, 0, 65534, 65534, 100, len(whole) - 22, 0)),
        ("claims64", struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1 << 40, 1 << 40, 1 << 50, 0)
         + struct.pack("<4sIQI", b"PK\6\7", 0, 1000, 1)
         + struct.pack("<4s4HIIH", b"PK\5\6", 0, 0, 65535, 65535, 0xFFFFFFFF, 0xFFFFFFFF, 0)),
    ):  # fmt: skip
        with open(f"{name}.oct", "wb") as file:
            file.write(whole[:1000] + fields)
        expect_error(f"{name}.oct", "zip directory of ")


def check_memory_of_large_recordings():
    """A recording of 640 MB is read one frame of 1 MB at a time."""
    frame = np.random.default_rng(1).integers(0, 4096, (512, 1024)).astype("<u2")
    recording = Recording(np.broadcast_to(frame, (640, 512, 1024)), chirp=chirp_of(1024))
    recording.write("large.oct")
    output, kib = play("filesrc", "location=large.oct", "!", "octfileparse", "!", "fakesink")
    assert "ERROR" not in output and kib < MOST_KIB, (output, kib)
    print(f"large.oct: {kib} KiB", flush=True)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    check_samples()
    check_depths()
    check_two_cameras()
    check_variants()
    check_shaped_window()
    check_bombs()
    check_headers()
    check_directories()
    check_memory_of_large_recordings()
    os.chdir("/")
print("as promised")
