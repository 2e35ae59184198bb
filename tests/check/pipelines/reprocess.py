#!/usr/bin/env python3
"""Promises: reprocess.py computes the same results as numpy, on the workers of any scheduler. If a
worker is killed, no result is lost and no temporary file remains. No recording is processed twice.
A recording that cannot be processed is named, and the others continue. No result replaces the
result of another recording, and no result is used as a recording.

usage: reprocess.py REPROCESS.PY

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import json
import os
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
# Dask logs a traceback of its own where it ends while a progress bar is being drawn.
TRACED = f'{SCRIPT.name}", line '


def record(folder):
    """Writes recordings of noise, different in each."""
    for n in range(RECORDINGS):
        noise = np.random.default_rng(n).integers(0, 4096, (FRAMES, LINES, SAMPLES))
        np.save(folder / f"recording {n:02}.npy", noise.astype("<u2"))


def record_small(folder, names):
    """Writes small recordings of noise, which are processed faster than workers start."""
    for n, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(100 + n).integers(0, 4096, (2, 16, 256))
        np.save(folder / name, noise.astype("<u2"))


def depth_of(spectra):
    samples = spectra.shape[-1]
    window = np.hanning(samples) * 2 / np.hanning(samples).sum()
    return np.abs(np.fft.fft(spectra * window))[..., : samples // 2]


def check_result(folder, name, output="processed"):
    made = np.load(folder / output / name)
    expected = depth_of(np.load(folder / name))
    assert made.shape == expected.shape, (name, made.shape)
    worst = np.abs(10 ** (made / 20.0) - expected).max() / expected.max()
    assert worst < 1e-5, (name, worst)


def reprocess(folder, *options, script=SCRIPT, environment=None):
    return subprocess.Popen([sys.executable, script, *options, folder], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=environment)


def finish(run, status):
    said, wrong = run.communicate(timeout=200)
    assert run.returncode == status, (run.returncode, said, wrong)
    return said.splitlines(), wrong


def wait_for(what, timeout=100):
    end = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@contextlib.contextmanager
def cluster(folder, n_workers, environment=None):
    """Returns the address of a scheduler and its workers, processes that are not restarted."""
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
            stderr=subprocess.DEVNULL, env=environment) for _ in range(n_workers)]
        yield json.loads(about.read_text())["address"], programs[1:]
    finally:
        for program in programs:
            program.kill()
            program.wait()


def results(folder):
    return {path.name: path.stat().st_ino for path in (folder / "processed").glob("*.npy")}


def check_a_killed_worker(folder, aside):
    """Kills the first of three workers that is busy when some results exist."""
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
    """Only a missing result, a new recording and a damaged one are processed."""
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
    """Checks that results of one chain are not taken for those of another."""
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


def results_of(folder):
    """Bytes of all files in a folder, by their relative names"""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def check_folders(folder):
    """Results keep their recordings' folders, and the next run skips them."""
    names = "mouse1/scan.npy", "mouse2/scan.npy"
    record_small(folder, names)
    everywhere = "--workers", "1", "--names", "**/*.npy"
    for output, done in ("processed", 0), ("processed", 2), ("again", 0):
        said, _ = finish(reprocess(folder, *everywhere, "--output", folder / output), 0)
        assert said[0] == f"2 recordings, {done} of them done before", said
        assert said[-1].startswith(f"{2 - done} processed, 0 failed"), said
        made = results_of(folder / output)
        assert sorted(name for name in made if name.endswith(".npy")) == sorted(names), made.keys()
        for name in names:
            check_result(folder, name, output)
    chain = "openclkernel expression=2*x"
    finish(reprocess(folder / "again", *everywhere, "--chain", chain), 0)
    for name in names:
        doubled, once = (np.load(folder / "again" / part / name) for part in ("processed", ""))
        assert np.array_equal(doubled.reshape(once.shape), 2 * once)


def check_nothing_overwritten(folder):
    """A run that would replace files of others is refused, and changes nothing."""
    record_small(folder, ["one/scan.npy", "two/scan.npy", "three/scan.npy"])
    shutil.copy(folder / "two/scan.npy", folder / "two/scan.raw")
    np.save(folder / "mine.npy", np.arange(5))
    for output in "three/processed", "three/meta":
        (folder / output).mkdir()
    shutil.copy(folder / "mine.npy", folder / "three/processed/scan.npy")
    (folder / "three/meta/scan.json").write_text('{"laser": "1300 nm"}')
    shared = "--output", folder / "shared"
    finish(reprocess(folder / "one", "--workers", "1", *shared), 0)
    before = results_of(folder)
    for recordings, options, words in (
        ("two", shared, "two/scan.npy"),
        ("two", ("--names", "scan.*"), "two/scan.raw"),
        ("two", ("--output", folder / "two"), "two/scan.npy"),
        ("three", (), "three/processed/scan.npy"),
        ("three", ("--output", folder / "three/meta"), "three/meta/scan.npy"),
        ("shared", ("--output", folder / "shared"), "shared/scan.npy"),
    ):
        _, wrong = finish(reprocess(folder / recordings, "--workers", "1", *options), 1)
        assert words in wrong and TRACED not in wrong, wrong
        assert results_of(folder) == before, (recordings, options)


def check_failures_keep_results(folder):
    """A chain that fails does not change the results and the record of another chain."""
    record_small(folder, ["scan.npy"])
    finish(reprocess(folder, "--workers", "1"), 0)
    before = results_of(folder)
    finish(reprocess(folder, "--workers", "1", "--chain", "octfft ! nosuchelement"), 1)
    assert results_of(folder) == before
    (folder / "gone.npy").symlink_to(folder / "nowhere.npy")
    said, wrong = finish(reprocess(folder, "--workers", "1"), 1)
    assert said[-1].startswith("0 processed, 1 failed"), said
    assert "gone.npy: " in wrong and TRACED not in wrong, wrong


def check_one_context(folder):
    """Workers keep the context, whose creation takes ten times longer than a small recording."""
    record_small(folder, [f"{n}.npy" for n in range(20)])
    said, wrong = finish(reprocess(folder, "--workers", "1", environment={
        **os.environ, "GST_DEBUG": "openclcontext:INFO", "GST_DEBUG_NO_COLOR": "1"}), 0)
    assert said[-1].startswith("20 processed, 0 failed"), said
    assert wrong.count("new context on ") == 1, wrong.count("new context on ")


def check_plugins(folder, aside):
    """Workers that were started without GST_PLUGIN_PATH use the client's plugins."""
    record_small(folder, ["scan.npy"])
    without = {name: value for name, value in os.environ.items() if name != "GST_PLUGIN_PATH"}
    without["GST_REGISTRY"] = str(aside / "registry.bin")
    elsewhere = aside / "reprocess.py"
    shutil.copy(SCRIPT, elsewhere)
    with cluster(aside, 1, without) as (address, _):
        _, wrong = finish(reprocess(
            folder, "--scheduler", address, script=elsewhere, environment=without), 1)
        assert "scan.npy: " in wrong and "GST_PLUGIN_PATH" in wrong, wrong
        finish(reprocess(folder, "--scheduler", address, script=elsewhere), 0)
    check_result(folder, "scan.npy")


def check_refusals(folder):
    for options, words in {
        ("--workers", "0"): "--workers 0: expected 1 or more",
        ("--names", "*.raw"): "nothing there is named *.raw",
        ("--names", "../*.npy"): "--names ../*.npy: ",
        ("--names", "/tmp/*.npy"): "--names /tmp/*.npy: ",
        ("--chain", "octfft ! nosuchelement"): "nosuchelement",
        ("--scheduler", "tcp://127.0.0.1:9"): "--scheduler tcp://127.0.0.1:9: no scheduler answers",
        ("--scheduler", "anywhere:here"): "--scheduler anywhere:here: no scheduler answers",
    }.items():
        _, wrong = finish(reprocess(folder, *options), 2 if "--workers" in options else 1)
        assert words in wrong and TRACED not in wrong, wrong


def check_large(folder, aside):
    record(folder)
    check_a_killed_worker(folder, aside)
    check_going_on(folder)
    check_another_chain(folder)
    check_refusals(folder)


for check in (check_large, check_folders, check_nothing_overwritten, check_failures_keep_results,
              check_one_context, check_plugins):
    print(check.__name__, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        recordings, aside = pathlib.Path(temporary) / "recordings", pathlib.Path(temporary)
        recordings.mkdir()
        check(recordings, *[aside] * (check.__code__.co_argcount - 1))
