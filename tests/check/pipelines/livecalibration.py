#!/usr/bin/env python3
"""Promise: gstopencl.LiveCalibration calibrates a pipeline that plays, from mirrors and from a sample, for
all formats of samples, or says why not. The pipeline goes on meanwhile.

usage: livecalibration.py [data]

data: measured mirrors, in the folder GST_OPENCL_TEST_DATA

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import os
import sys
import tempfile
import threading
import time

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

import gstopencl  # noqa: E402
from gstopencl.calibration import Refused, peak_width  # noqa: E402
from gstopencl.frames import start_gstreamer  # noqa: E402
from octwriter import Recording  # noqa: E402

NO_DATA = 77  # exit status of a skipped test
SAMPLES, LINES, HALF = 1024, 128, 512
SPECTROMETER = "wavelength-min=1187 wavelength-max=1433"
TISSUE = f"octtestsrc name=source is-live=true pattern=tissue seed={{}} b-scans=8 dispersion-a2={{}} " \
         f"dispersion-a3={{}} ! video/x-raw(ANY),width={SAMPLES},height={LINES},framerate=25/1"


@contextlib.contextmanager
def playing(source, properties="", after="octfft ! fakesink name=sink"):
    """Yields a LiveCalibration and its pipeline, which goes on until the block ends."""
    pipeline = Gst.parse_launch(f"{source} ! octwindowinterp name=interp {properties} ! {after}")
    try:
        assert pipeline.set_state(Gst.State.PLAYING) != Gst.StateChangeReturn.FAILURE, source
        yield gstopencl.LiveCalibration(pipeline.get_by_name("interp")), pipeline
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        assert not message, message.parse_error()
    finally:
        pipeline.set_state(Gst.State.NULL)


def refused(kind, said, call, *words):
    try:
        found = call(*words)
    except kind as reason:
        assert said in str(reason), reason
    else:
        raise AssertionError((said, found))


# --- samples ---


def tissue(seed, square, cube):
    return TISSUE.format(seed, square / HALF**2, cube / HALF**3)


def check_sample():
    """A dispersion that was set does not count, and is replaced."""
    for seed, square, cube in (42, -88, 3.5), (44, -3, 0), (51, 0, 0):
        with playing(tissue(seed, square, cube), f"{SPECTROMETER} dispersion-a2=2e-4") as (live, _):
            found = live.sharpen()
            assert abs(found.square - square) <= max(found.square_error, 0.05), found
            assert abs(found.cube - cube) <= max(found.cube_error, 0.05), found
            assert found.square_error < 1 and found.cube_error < 2, found
            assert (square == 0) == (found.square == 0), found
            for name in "a2", "a3":
                assert live.element.get_property(f"dispersion-{name}") == getattr(found, name)


def check_that_frames_go_on():
    """Frames pass while it searches, in another thread than the caller's too."""
    with playing(tissue(45, 30, 0), SPECTROMETER) as (live, pipeline):
        sink, came = pipeline.get_by_name("sink"), []
        sink.get_static_pad("sink").add_probe(
            Gst.PadProbeType.BUFFER, lambda *_: came.append(time.monotonic()) or Gst.PadProbeReturn.OK)
        found = []
        search = threading.Thread(target=lambda: found.append(live.sharpen()))
        search.start()
        search.join()
        assert abs(found[0].square - 30) < 0.5, found
        assert len(came) > 8 and np.diff(came).max() < 1, np.diff(came).max()


def check_what_ends_it():
    with playing(tissue(1, 30, 0), SPECTROMETER) as (live, pipeline):
        pipeline.set_state(Gst.State.PAUSED)
        pipeline.get_state(Gst.CLOCK_TIME_NONE)
        live.timeout = 0.5
        refused(TimeoutError, "of 4 frames came to interp within 0.5 s", live.sharpen)
    with playing(tissue(1, 30, 0).replace("name=source", "name=source num-buffers=3"),
                 SPECTROMETER) as (live, pipeline):
        pipeline.get_bus().timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.EOS)
        refused(TimeoutError, "or the stream ended", live.sharpen)
        assert live.element.get_property("dispersion-a2") == 0
    mirror = "octtestsrc is-live=true pattern=mirrors depths=<300> amplitudes=<2000> ! " \
             f"video/x-raw(ANY),width={SAMPLES},height=2"
    with playing(mirror) as (live, _):
        refused(Refused, "the A-lines", live.sharpen)
        refused(Refused, "no calibration from a mirror", live.write, "nowhere")


def pushed(caps, frames, properties):
    """Yields a LiveCalibration whose pipeline plays these frames, (frames, bytes), again and again."""
    source = f"appsrc name=source format=time is-live=true caps=\"{caps}\" ! openclupload"
    context = playing(source, properties)
    live, pipeline = context.__enter__()
    ended = threading.Event()

    def push():
        number = 0
        while not ended.wait(0.02):
            buffer = Gst.Buffer.new_wrapped(frames[number % len(frames)].tobytes())
            buffer.pts = number * Gst.SECOND // 50
            pipeline.get_by_name("source").emit("push-buffer", buffer)
            number += 1
    thread = threading.Thread(target=push)
    thread.start()
    try:
        yield live
    finally:
        ended.set()
        thread.join()
        context.__exit__(None, None, None)


pushing = contextlib.contextmanager(pushed)


def layers(samples, square, depths=(60, 90, 125, 170), lines=160):
    """B-scans of layers of speckle, on even wavenumbers, as 10-bit numbers"""
    random, u = np.random.default_rng(5), 2 * np.arange(samples) / samples - 1
    field = np.zeros((4, lines, samples), complex)
    for depth in depths:
        field[..., depth:depth + 12] = random.normal(size=(4, lines, 12)) \
            + 1j * random.normal(size=(4, lines, 12))
    fringes = (np.fft.ifft(field) * samples * np.exp(1j * square * u**2)).real
    light = np.exp(-(1.2 * u) ** 2)
    return np.clip(np.rint(light * (450 + 12 * fringes)), 0, 1023).astype("<u2")


def packed(values):
    """MONO10P"""
    bits = (values[..., None] >> np.arange(10) & 1).astype("u1")
    return np.packbits(bits.reshape(*values.shape[:-1], -1), axis=-1, bitorder="little")


def check_formats():
    """The same spectra in each form give the same dispersion; rows of odd sizes have padding."""
    values = layers(500, 25)
    video = f"video/x-raw,format={{}},width=500,height={values.shape[1]},framerate=50/1"
    oct_caps = "application/x-oct,domain=wavelength,format={},samples=500,lines=" \
               f"{values.shape[1]},framerate=50/1"
    clocked = np.concatenate([values, np.rint(500 + 400 * np.cos(
        2 * np.pi * np.arange(500) / 5)).astype("<u2") * np.ones_like(values)], -1)
    rows = layers(501, 25) // 4
    padded = np.pad(rows, ((0, 0), (0, 0), (0, 3))).astype("u1")
    for caps, frames, properties, tolerance in (
            (video.format("GRAY16_LE"), values, "", 0),
            (video.format("GRAY16_BE"), values.astype(">u2"), "", 0.01),
            (oct_caps.format("F32LE"), values.astype("<f4"), "", 0.01),
            (oct_caps.format("MONO10P"), packed(values), "", 0.01),
            (video.format("GRAY16_LE"), values * 16, "bit-shift=4", 0.01),
            (video.format("GRAY16_LE").replace("width=500", "width=520"),
             np.pad(values, ((0, 0), (0, 0), (20, 0))), "first-sample=20", 0.01),
            (video.format("GRAY16_LE").replace("width=500", "width=1000"), clocked,
             "k-clock=behind", 2),
            (video.format("GRAY8").replace("width=500", "width=501"), padded, "", 2)):
        with pushing(caps, frames, properties) as live:
            found = live.sharpen()
        expected = found.square if not tolerance else expected
        assert abs(found.square - 25) <= max(found.square_error, 1), (caps, properties, found)
        assert abs(found.square - expected) <= tolerance, (caps, properties, found, expected)


def check_recording():
    """The map of a .oct recording applies, and its dispersion does not count."""
    place = np.arange(500) + 30 * np.arange(500) / 499 * (1 - np.arange(500) / 499)
    even, values = np.arange(500), layers(500, 25).astype(float)
    uneven = np.stack([[np.interp(place, even, line) for line in scan] for scan in values])
    frames = np.tile(np.rint(uneven).astype("<u2"), (3, 1, 1))
    Recording(frames, chirp=place).write("tissue.oct")
    source = "filesrc location=tissue.oct ! octfileparse framerate=4/1 ! clocksync ! openclupload"
    with playing(source) as (live, _):
        found = live.sharpen()
        assert abs(found.square - 25) < 1, found
    with playing(source, "interpolation=none") as (live, _):
        with contextlib.suppress(Refused):
            assert abs(live.sharpen().square - 25) > 1


# --- mirrors ---


def place_of(sample):
    u = sample / (SAMPLES - 1)
    return (SAMPLES - 1) * (u + 0.12 * u * (1 - u))


def fringe(depth, side):
    u, place = np.linspace(-1, 1, SAMPLES), place_of(np.arange(SAMPLES))
    bend = 5 * (2 * place / (SAMPLES - 1) - 1) ** 2
    return np.exp(-1.5 * u**2) * np.cos(2 * np.pi * depth * place / SAMPLES + side * bend)


def off_a_line(values, terms):
    """Size of values after the best sum of terms, which only shift and stretch depths"""
    return np.sqrt(np.mean((values - terms @ np.linalg.lstsq(terms, values, rcond=None)[0])**2))


def expect_truth(found):
    fine = np.linspace(0, SAMPLES - 1, 100 * SAMPLES)
    truth, index = np.interp(np.arange(SAMPLES), place_of(fine), fine), np.arange(SAMPLES)
    slope = np.gradient(truth)
    assert off_a_line(found.map - truth, np.stack([slope, slope * index], 1)) < 0.02
    phase = 5 * (2 * index / (SAMPLES - 1) - 1) ** 2
    assert off_a_line(found.dispersion - phase, np.stack([index**0, index], 1)) < 0.02
    assert found.width_after < 2.7 < found.width_before, found


def check_mirrors():
    """Frames change from one mirror to the other, over a spectrum without mirror."""
    dark = 1000 + 300 * np.sin(np.arange(SAMPLES) / 40)
    np.save("dark.npy", dark)
    near, far, other = (np.tile(np.rint(dark + 700 * fringe(*where)), (1, 4, 1)).astype("<u2")
                        for where in ((60, 1), (130, -1), (300, 1)))
    caps = f"video/x-raw,format=GRAY16_LE,width={SAMPLES},height=4,framerate=50/1"
    frames = list(other)
    with pushing(caps, frames, "background=file background-file=dark.npy") as live:
        def show(now):
            frames[:] = list(now)
            time.sleep(1)

        assert live.mirror().dispersion is None
        live.forget()
        show(near)
        live.mirror()
        show(far)
        found = live.mirror()
        expect_truth(found)
        settings = live.write("found")
        with open(settings, encoding="utf-8") as file:
            assert file.read() == "resample-map=resample-map.npy\ndispersion-phase=dispersion-phase.npy\n"
        assert np.array_equal(np.load("found/resample-map.npy"), found.map)
        with open(live.write("kept", keep_wavelengths=True), encoding="utf-8") as file:
            assert file.read() == "dispersion-phase=dispersion-phase.npy\n"
        live.element.set_property("settings", settings)
        time.sleep(0.5)
        # One that is refused is forgotten, with the one before.
        show(np.tile(np.rint(dark).astype("<u2"), (1, 4, 1)))
        refused(Refused, "no fringe", live.mirror)
        show(far)
        assert live.mirror().dispersion is None
        show(near)
        expect = live.mirror()
        assert expect.width_after < 2.7, expect


def check_data():
    """Peaks of measured mirrors are as narrow as with the map and the dispersion beside them."""
    folder = os.environ.get("GST_OPENCL_TEST_DATA")
    if not folder:
        print("NOT CHECKED: no GST_OPENCL_TEST_DATA")
        sys.exit(NO_DATA)
    of = {file[:-4]: np.load(f"{folder}/oct/scatterer/{file}")
          for file in os.listdir(f"{folder}/oct/scatterer") if file.endswith(".npy")}
    size, fringes = of["mirror1"].size, []
    caps = f"application/x-oct,domain=wavelength,format=F32LE,samples={size},lines=1,framerate=50/1"
    frames = [np.zeros(size, "<f4")]
    np.save("dark.npy", of["dark_ref"])
    with pushing(caps, frames, "background=file background-file=dark.npy") as live:
        for number in 1, 2:
            dark = of[f"dark_sample{number}"] + of["dark_ref"] - of["dark_not"]
            np.save("dark.npy", dark)
            live.element.set_property("background-file", "dark.npy")
            frames[:] = [of[f"mirror{number}"].astype("<f4")]
            time.sleep(1)
            found = live.mirror()
            fringes.append(of[f"mirror{number}"] - dark)
    index = np.arange(size)
    theirs = of["klinear_frac_index"]
    slope = np.gradient(theirs)
    off = off_a_line(found.map - theirs, np.stack([slope, slope * index], 1))
    even = np.interp(theirs, index, fringes[0])
    assert off < 0.05, off
    assert found.width_after < 1.05 * peak_width(even, of["dispersion_phase"]), found


start_gstreamer()
os.environ.setdefault("GST_OPENCL_WAIT_FOR_CHECKS", "1")
checks = [check_data] if "data" in sys.argv[1:] else [
    check_sample, check_that_frames_go_on, check_what_ends_it, check_formats, check_recording,
    check_mirrors]
with tempfile.TemporaryDirectory() as work:
    if "data" in sys.argv[1:] and os.environ.get("GST_OPENCL_TEST_DATA"):
        os.environ["GST_OPENCL_TEST_DATA"] = os.path.realpath(os.environ["GST_OPENCL_TEST_DATA"])
    os.chdir(work)
    for check in checks:
        began = time.monotonic()
        check()
        print(f"{check.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    os.chdir("/")
