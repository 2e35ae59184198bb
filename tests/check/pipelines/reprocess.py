#!/usr/bin/env python3
"""Promises: reprocess.py makes of each recording what numpy computes, on the workers of any
scheduler; a worker that is killed loses nothing and leaves nothing behind, nothing is made
twice, and what cannot be processed is named while the others go on.

usage: reprocess.py REPROCESS.PY

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

SCRIPT = pathlib.Path(sys.argv[1]).resolve()
RECORDINGS, FRAMES, LINES, SAMPLES = 12, 40, 64, 512


def record(folder):
    """Noise, other noise in each."""
    for n in range(RECORDINGS):
        noise = np.random.default_rng(n).integers(0, 4096, (FRAMES, LINES, SAMPLES))
        np.save(folder / f"recording {n:02}.npy", noise.astype("<u2"))


def depth_of(spectra):
    window = np.hanning(SAMPLES) * 2 / np.hanning(SAMPLES).sum()
    return np.abs(np.fft.fft(spectra * window))[..., : SAMPLES // 2]


def check_result(folder, name):
    made = np.load(folder / "processed" / name)
    expected = depth_of(np.load(folder / name))
    assert made.shape == expected.shape, (name, made.shape)
    worst = np.abs(10 ** (made / 20.0) - expected).max() / expected.max()
    assert worst < 1e-5, (name, worst)


def reprocess(folder, *options):
    return subprocess.Popen([sys.executable, SCRIPT, *options, folder], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def finish(run, status):
    said, wrong = run.communicate(timeout=200)
    assert run.returncode == status, (run.returncode, said, wrong)
    return said.splitlines(), wrong


def wait_for(what, patience=100):
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@contextlib.contextmanager
def cluster(folder, n_workers):
    """The address of a scheduler, and its workers, each a process that nobody restarts."""
    about = folder / "scheduler.json"
    programs = []
    try:
        programs.append(subprocess.Popen(
            [shutil.which("dask-scheduler"), "--port", "0", "--no-dashboard",
             "--scheduler-file", about], stderr=subprocess.DEVNULL))
        wait_for(lambda: about.exists() and about.stat().st_size)
        programs += [subprocess.Popen(
            [shutil.which("dask-worker"), "--scheduler-file", about, "--nthreads", "1",
             "--no-nanny", "--no-dashboard", "--local-directory", folder],
            stderr=subprocess.DEVNULL) for _ in range(n_workers)]
        yield json.loads(about.read_text())["address"], programs[1:]
    finally:
        for program in programs:
            program.kill()
            program.wait()


def results(folder):
    return {path.name: path.stat().st_ino for path in (folder / "processed").glob("*.npy")}


def check_a_killed_worker(folder, aside):
    """The first worker of three that is at work when some results are there."""
    with cluster(aside, 3) as (address, workers):
        run = reprocess(folder, "--scheduler", address)
        wait_for(lambda: len(results(folder)) >= 2)
        workers[0].send_signal(signal.SIGKILL)
        seen = {}
        while run.poll() is None:
            for name, inode in results(folder).items():
                assert seen.setdefault(name, inode) == inode, f"{name} is made twice"
            time.sleep(0.01)
        said, _ = finish(run, 0)
    assert said[0] == f"{RECORDINGS} recordings, 0 of them done before", said
    assert said[-1].startswith(f"{RECORDINGS} processed, 0 failed"), said
    names = sorted(path.name for path in folder.glob("*.npy"))
    assert sorted(results(folder)) == names
    for name in names:
        check_result(folder, name)
    assert not list((folder / "processed").glob(".*")), "something is left behind"


def check_going_on(folder):
    """One result is lost, one recording is new and another broken: no more is done."""
    before = results(folder)
    lost = "recording 03.npy"
    (folder / "processed" / lost).unlink()
    (folder / "broken.npy").write_bytes(b"\x93NUMPY and no more")
    said, wrong = finish(reprocess(folder, "--workers", "1"), 1)
    assert said[0] == f"{RECORDINGS + 1} recordings, {RECORDINGS - 1} of them done before", said
    assert said[-1].startswith("1 processed, 1 failed"), said
    assert "broken.npy: npyparse0: " in wrong, wrong
    check_result(folder, lost)
    after = results(folder)
    del before[lost], after[lost]
    assert before == after


def check_another_chain(folder):
    """What one chain made is not taken for another's."""
    chain = "octwindowinterp window=rectangular ! octfft scale=linear ! " \
            "application/x-oct(memory:OpenCLMemory),domain=depth,format=F32LE"
    (folder / "broken.npy").unlink()
    said, _ = finish(
        reprocess(folder, "--workers", "1", "--chain", chain, "--names", "* 00.npy"), 0)
    assert said[-1].startswith("1 processed, 0 failed"), said
    made = np.load(folder / "processed" / "recording 00.npy")
    spectra = np.load(folder / "recording 00.npy")
    expected = np.abs(np.fft.fft(spectra))[..., : SAMPLES // 2] * 2 / SAMPLES
    assert np.abs(made - expected).max() < 1e-5 * expected.max()


def check_refusals(folder):
    for options, words in {
        ("--workers", "0"): "--workers 0: expected 1 or more",
        ("--names", "*.raw"): "nothing there is named *.raw",
        ("--chain", "octfft ! nosuchelement"): "nosuchelement",
        ("--scheduler", "tcp://127.0.0.1:9"): "--scheduler tcp://127.0.0.1:9: no scheduler answers",
        ("--scheduler", "anywhere:here"): "--scheduler anywhere:here: no scheduler answers",
    }.items():
        _, wrong = finish(reprocess(folder, *options), 2 if "--workers" in options else 1)
        assert words in wrong and "Traceback" not in wrong, wrong


with tempfile.TemporaryDirectory() as temporary:
    recordings, aside = pathlib.Path(temporary) / "recordings", pathlib.Path(temporary)
    recordings.mkdir()
    record(recordings)
    check_a_killed_worker(recordings, aside)
    check_going_on(recordings)
    check_another_chain(recordings)
    check_refusals(recordings)
