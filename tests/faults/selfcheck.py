#!/usr/bin/env python3
"""Promises of the self-check: until an engine has its verdict, a plainer one works; a verdict is
kept for the next start; an engine that is wrong, aborts or hangs is left out with one warning. A
check without a result is not kept, and neither are verdicts that others may write. A crash does not
count for processes with larger limits, and not for ever. One check runs at a time, and ends with
the processes that wait for it. Pictures are right in each case.

usage: selfcheck.py BROKEN-KERNEL-LIBRARY OPENCL-DEVICES [TEST...]

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
DEVICES = pathlib.Path(sys.argv[2]).resolve()
SAMPLES, LINES = 512, 32
FRAME = SAMPLES // 2 * LINES
# Butterflies of the fused kernels; no other program has this text.
BUTTERFLIES = "a * b + c * d|"
WRONG = BUTTERFLIES + "a * b - c * d"
SOURCE = ("octtestsrc num-buffers={frames} ! "
          f"video/x-raw(ANY),format=GRAY16_LE,width={SAMPLES},height={LINES} ! {{between}}")
OCT = (SOURCE + "octwindowinterp ! octfft name=fft {options} ! video/x-raw(ANY),format=GRAY8 ! "
       "opencldownload ! filesink location={output}")
SLOWLY = "identity sleep-time=5000 ! "
TIMEOUT = 100
ENDLESS = 100000  # frames, which last for longer than a test waits
FUSED = "fused-depth"
WAIT = {"GST_OPENCL_WAIT_FOR_CHECKS": "1"}


class Cache:
    """A cache folder, empty at first, and the verdicts of one engine in it"""

    def __init__(self, folder, engine):
        self.folder, self.engine = pathlib.Path(folder), engine

    def files(self):
        return [path for path in sorted(self.folder.glob("gst-opencl/verdicts/*"))
                if f"engine={self.engine}\n" in path.read_text()]

    def results(self):
        return [re.search("(?m)^result=(.*)$", path.read_text())[1] for path in self.files()]

    def state(self):
        """Changes when a file is written anew."""
        return [(path.name, path.stat().st_ino, path.stat().st_mtime_ns) for path in self.files()]


@contextlib.contextmanager
def empty_cache(engine=FUSED):
    # A self-check of an engine that the test does not wait for may still write here.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Cache(folder, engine)


def environment(cache, broken="", check="80", **more):
    made = {**os.environ, "GST_DEBUG": "GST_TRACER:7,default:2", "GST_TRACERS": "openclstats",
            "GST_DEBUG_NO_COLOR": "1", "GST_OPENCL_SELF_CHECK": check}
    # PoCL's compiled kernels stay where other tests have put them.
    made.setdefault("POCL_CACHE_DIR", os.path.expanduser("~/.cache/pocl/kcache"))
    made["XDG_CACHE_HOME"] = str(cache.folder if isinstance(cache, Cache) else cache)
    made.update(more)
    if broken:
        made.update(BROKEN_KERNEL=broken, LD_PRELOAD=str(LIBRARY))
    return made


class Run:
    """A pipeline that has ended"""

    def __init__(self, cache, pipeline, until=None, **kind):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "frames"
            log = pathlib.Path(folder) / "log"
            command = pipeline.replace("{output}", str(output)).split()
            with open(log, "w", encoding="utf-8") as file, subprocess.Popen(
                    ["gst-launch-1.0", "-e", *command], stdout=file, stderr=file,
                    env=environment(cache, **kind)) as process:
                if until:
                    self.wait(process, log, until, output)
                    process.send_signal(signal.SIGINT)
                self.status = process.wait(timeout=TIMEOUT)
            self.log = log.read_text(errors="replace")
            self.bytes = np.fromfile(output, np.uint8) if output.exists() else np.zeros(0)

    @staticmethod
    def wait(process, log, until, output):
        """Goes on after the condition for as many frames as before, at least twenty: however
        long a check takes, most frames come after it."""
        def holds(condition):
            assert process.poll() is None, log.read_text()
            return condition()

        wait_for(lambda: holds(lambda: until(log.read_text(errors="replace"))))
        written = 2 * output.stat().st_size + 20 * FRAME
        wait_for(lambda: holds(lambda: output.stat().st_size >= written))

    def frames(self):
        return self.bytes[:len(self.bytes) // FRAME * FRAME].reshape(-1, FRAME).astype(int)

    def launches(self, element):
        return int(re.search(rf"element=\(string\){element}.*?launches=\(guint64\)(\d+)",
                             self.log)[1])

    def warnings(self):
        return re.findall("WARNING: from element .*", self.log)

    def errors(self):
        return re.findall("ERROR: from element .*", self.log)


def oct_pipeline(frames=5, between="", options=""):
    return OCT.format(frames=frames, between=between, options=options, output="{output}")


class Reference:
    """Frames of separate kernels, which no test breaks; made once, and again where more are needed"""

    made = np.zeros(0, np.uint8)

    @classmethod
    def frames(cls, count):
        if cls.made.size < count * FRAME:
            with empty_cache() as cache:
                run = Run(cache, oct_pipeline(count + 100, options="fused=never"), check="0")
            assert run.status == 0, run.log
            cls.made = run.bytes
        return cls.made[:count * FRAME].reshape(-1, FRAME).astype(int)


def launches_of_five_frames(fused):
    """octwindowinterp's, which leaves most to octfft where both are fused"""
    with empty_cache() as cache:
        run = Run(cache, oct_pipeline(options="fused=" + fused), check="0")
        return run.launches("octwindowinterp0")


def expect_right(run):
    frames = run.frames()
    assert run.status == 0 and len(frames) > 0, run.log
    largest = np.abs(frames - Reference.frames(len(frames))).max()
    assert largest <= 1, f"levels differ by {largest}"


def is_kept(cache, *results):
    return cache.results() == list(results)


def wait_for(condition):
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def first_start(cache, **kind):
    """Until the verdict has come"""
    run = Run(cache, oct_pipeline(ENDLESS, SLOWLY), until=lambda _: cache.files(), **kind)
    expect_right(run)
    assert run.launches("octwindowinterp0") > IN_ONE, "the plain engine did not begin"
    return run


def first_and_second_start():
    with empty_cache() as cache:
        first = first_start(cache)
        assert is_kept(cache, "right") and not first.warnings(), first.log
        assert first.launches("octwindowinterp0") < len(first.frames()), "it did not change over"
        before = cache.state()
        second = Run(cache, oct_pipeline())
        expect_right(second)
        assert second.launches("octwindowinterp0") == IN_ONE, "the verdict was not known"
        assert cache.state() == before, "it was checked again"
        replaces_damaged_files(cache)


def replaces_damaged_files(cache):
    file, = cache.files()
    whole = file.read_text()
    for damaged in [whole[:len(whole) // 2], whole.replace("build=", "build=other"),
                    whole.replace("right", "left")]:
        file.write_text(damaged)
        run = Run(cache, oct_pipeline())
        expect_right(run)
        assert run.launches("octwindowinterp0") > IN_ONE, (damaged, run.log)
        assert not run.warnings() and file.read_text() == damaged, (damaged, run.log)
        expect_right(Run(cache, oct_pipeline(), **WAIT))
        assert file.read_text() == whole


def works_without_a_folder_that_can_be_written():
    with tempfile.NamedTemporaryFile() as file:  # root may write in any folder
        for options in "", "fused=always":
            run = Run(file.name, oct_pipeline(options=options))
            expect_right(run)
            assert not run.warnings(), run.log
            assert (run.launches("octwindowinterp0") == IN_ONE) == bool(options), run.log


def leaves_out(broken, reason, **kind):
    with empty_cache() as cache:
        first = first_start(cache, broken=broken, **kind)
        second = Run(cache, oct_pipeline(), broken=broken, **kind)
        expect_right(second)
        assert second.launches("octwindowinterp0") == APART, "the faulty engine was used"
        for run in first, second:
            warning, = run.warnings()
            assert FUSED in warning and reason in warning and "driver" in warning, warning
        demanded = Run(cache, oct_pipeline(options="fused=always"), broken=broken, **kind)
        assert demanded.status == 1 and reason in demanded.errors()[0], demanded.log
        assert demanded.launches("fft") == 0, demanded.log


def leaves_out_a_wrong_engine():
    with empty_cache() as cache:
        wrong = Run(cache, oct_pipeline(), broken=WRONG, check="0").frames()
        assert np.abs(wrong - Reference.frames(5)).max() > 20, "the library breaks nothing"
    leaves_out(WRONG, "values differ")


def leaves_out_an_engine_that_aborts():
    leaves_out(BUTTERFLIES + "!abort", "Aborted")


def start_without_result(cache, until=lambda: None, **kind):
    """Until the warning that the check hangs. Nothing is kept."""
    first_start(cache)  # verdicts of FFT libraries, for which a short limit may not suffice
    cache.files()[0].unlink()
    run = Run(cache, oct_pipeline(ENDLESS, SLOWLY),
              until=lambda log: until() or "WARNING: from element" in log, **kind)
    expect_right(run)
    warning, = run.warnings()
    assert all(part in warning for part in (FUSED, "hangs", "GST_OPENCL_SELF_CHECK")), warning
    assert not cache.files(), cache.results()


def leaves_out_an_engine_that_hangs():
    kind = {"broken": BUTTERFLIES + "!hang", "check": "3"}
    with empty_cache() as cache:
        start_without_result(cache, **kind)
        demanded = Run(cache, oct_pipeline(options="fused=always"), **kind)
        assert demanded.status == 1 and "hangs" in demanded.errors()[0], demanded.log
        assert demanded.launches("fft") == 0 and not cache.files(), demanded.log
        first_start(cache)  # it hangs no more
        assert is_kept(cache, "right"), cache.results()


def checks_of(cache):
    """Returns the processes that check, and the engine of each."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text(errors="replace").split("\0")
            if pathlib.Path(words[0]).name == "gst-opencl-check" and str(cache.folder) in words[3]:
                found[int(folder.name)] = words[2]
    return found


def check_of(cache):
    """Returns the process that checks the engine once it works; else None."""
    return next((process for process, engine in checks_of(cache).items()
                 if engine == FUSED and has_plugin(process)), None)


def has_plugin(process):
    with contextlib.suppress(OSError):
        return "libgstoctopencl" in pathlib.Path(f"/proc/{process}/maps").read_text()
    return False


def tries_a_stopped_check_again():
    with empty_cache() as cache:
        stopped = []

        def stop():
            if not stopped and check_of(cache):
                stopped.append(check_of(cache))
                os.kill(stopped[0], signal.SIGSTOP)

        start_without_result(cache, stop, check="2")
        assert stopped, "the check was over too early"
        second = first_start(cache)
        assert is_kept(cache, "right") and not second.warnings(), second.log


def is_alive(process):
    try:
        status = pathlib.Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    return "State:\tZ" not in status


def one_check_runs_at_a_time_and_ends_with_its_last_waiter():
    """Three processes wait for the same engines. The first one ends while its check is stopped, as
    one that never ends."""
    pipeline = oct_pipeline(ENDLESS, SLOWLY).replace("{output}", os.devnull).split()
    with empty_cache() as cache, contextlib.ExitStack() as stack:
        started = [stack.enter_context(subprocess.Popen(
            ["gst-launch-1.0", *pipeline], env=environment(cache, check="60"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) for _ in range(3)]
        stack.callback(lambda: [process.kill() for process in started])
        seen = {}

        def look():
            found = checks_of(cache)
            assert len(found) <= 1, found
            seen.update(found)
            return found

        stack.callback(lambda: [os.kill(check, signal.SIGKILL) for check in filter(is_alive, seen)])
        wait_for(lambda: any(map(has_plugin, look())))
        check, = look()
        os.kill(check, signal.SIGSTOP)
        status = pathlib.Path(f"/proc/{check}/status").read_text()
        parent = int(re.search(r"PPid:\s*(\d+)", status)[1])
        first, = (process for process in started if process.pid == parent)
        first.kill()
        wait_for(lambda: not is_alive(check))
        wait_for(look)  # of another process
        for process in started:
            process.kill()
        wait_for(lambda: not any(map(is_alive, seen)))
        assert not cache.files() and not checks_of(cache), cache.results()


def refuses_numbers_out_of_range():
    for check in "1000000000", "3 s":
        with empty_cache() as cache:
            run = first_start(cache, check=check)
            assert is_kept(cache, "right") and not run.warnings(), run.log
            assert f"GST_OPENCL_SELF_CHECK={check}: expected 0 to 3600" in run.log, run.log


def uses_no_verdicts_that_others_may_write():
    with empty_cache() as cache:
        first_start(cache)
        file, = cache.files()
        for path, mode in (file, 0o602), (file, 0o620), (file.parent, 0o770):
            path.chmod(mode)
            run = Run(cache, oct_pipeline())
            expect_right(run)
            assert run.launches("octwindowinterp0") > IN_ONE, (path, run.log)
            assert "other users may write" in run.log, run.log
            if path == file:  # it is replaced
                Run(cache, oct_pipeline(), **WAIT)
                assert file.stat().st_mode & 0o777 == 0o600


def leaves_out_an_engine_that_does_not_compile():
    leaves_out(BUTTERFLIES + "a *", "does not build")


# Engines that nothing replaces: text of their programs, and pipelines
ALONE = {
    "display-range": ("find_range (", oct_pipeline(options="db-auto=true")),
    "rendering": ("render (global", SOURCE.format(frames=4, between="octscan b-scans=4 ! ")
                  + "octwindowinterp ! octfft ! octvolume ! octrender ! opencldownload ! "
                  "filesink location={output}"),
    "soft-key": ("vstore16 (distance, 0, tile->distance",
                 "videotestsrc num-buffers=3 ! video/x-raw,format=RGBA,width=128,height=96 ! "
                 "openclupload ! chromakey method=chroma key-color=0xff0000ff ! "
                 "opencldownload ! filesink location={output}"),
}


def one_error(engine, broken, reason, **kind):
    text, pipeline = ALONE[engine]
    with empty_cache() as cache:
        for _ in range(2):  # the second time, the verdict is in the cache
            run = Run(cache, pipeline, broken=text + "|" + broken, **kind)
            # A source adds that its stream has ended.
            error = run.errors()[0]
            assert run.status == 1 and engine in error and reason in error, run.log


def gives_one_error_where_nothing_replaces_an_engine():
    for engine, (_, pipeline) in ALONE.items():
        with empty_cache(engine) as cache:
            run = Run(cache, pipeline)
            assert run.status == 0 and run.bytes.any() and not run.warnings(), run.log
            assert is_kept(cache, "right"), cache.results()
        one_error(engine, "!abort", "Aborted")
    one_error("display-range", "!hang", "hangs", check="3")
    one_error("soft-key", "vstore16 (1 - distance, 0, tile->distance", "values differ")


# No iterations instead of up to 63; no other program has this text.
STEPS = "((uint)(steps)&63)|((uint)(steps)&0)"
KEY = ("videotestsrc num-buffers=3 ! video/x-raw,format=RGBA,width=128,height=96 ! "
       "openclupload ! chromakey tolerance=0.4 ! noisereduce ! flowkey iterations=9 ! "
       "opencldownload ! filesink location={output}")


def leaves_out_a_wrong_key_run():
    with empty_cache("key-run") as cache:
        right = Run(cache, KEY, check="0").bytes
        wrong = Run(cache, KEY, broken=STEPS, check="0").bytes
        assert len(right) == len(wrong) and (right != wrong).any(), "the library breaks nothing"
        first = Run(cache, KEY, broken=STEPS)
        Run(cache, KEY, broken=STEPS, **WAIT)
        second = Run(cache, KEY, broken=STEPS)
        for run in first, second:
            assert run.status == 0 and (run.bytes == right).all(), run.log
        warning, = second.warnings()
        assert "key-run" in warning and "values differ" in warning, warning


# The product of spectra, by which openclconvolve is fastest with a large kernel
SPECTRA = "a.x * b.x + a.y * b.y|a.x * b.x - a.y * b.y"
CONVOLVED = ("videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=96,height=80 ! "
             "openclupload ! openclconvolve kernel={kernel} scale={scale} ! opencldownload ! "
             "filesink location={output}")


def leaves_out_a_wrong_convolution_method():
    taps = np.random.default_rng(3).random((61, 61))
    with empty_cache("convolution-fft") as cache:
        kernel = cache.folder / "kernel.npy"
        np.save(kernel, taps)
        pipeline = CONVOLVED.replace("{kernel}", str(kernel)).replace("{scale}", str(1 / taps.sum()))
        right = Run(cache, pipeline, check="0").bytes.astype(int)
        wrong = Run(cache, pipeline, broken=SPECTRA, check="0").bytes.astype(int)
        assert right.shape == wrong.shape and abs(right - wrong).max() > 9, "nothing is broken"
        first = Run(cache, pipeline, broken=SPECTRA)
        Run(cache, pipeline, broken=SPECTRA, **WAIT)
        second = Run(cache, pipeline, broken=SPECTRA)
        for run in first, second:
            assert run.status == 0 and abs(run.bytes.astype(int) - right).max() <= 1, run.log
        warning, = second.warnings()
        assert "convolution-fft" in warning and "values differ" in warning, warning


# A butterfly of VkFFT's
TRANSFORM = "temp_0.x - loc_0.x|temp_0.x + loc_0.x"


def leaves_out_a_wrong_fft_library():
    pipeline = oct_pipeline(options="fused=never fft-library={library}")
    automatic = pipeline.replace("{library}", "auto")
    with empty_cache("fft-vkfft") as cache:
        right = Run(cache, automatic, check="0").frames()
        wrong = Run(cache, automatic, broken=TRANSFORM, check="0").frames()
        assert abs(right - wrong).max() > 20, "the library breaks nothing"
        assert Run(cache, automatic, broken=TRANSFORM, **WAIT).status == 0
        second = Run(cache, automatic, broken=TRANSFORM)
        assert second.status == 0 and abs(second.frames() - right).max() <= 1, second.log
        warning, = second.warnings()
        assert all(part in warning for part in ("fft-vkfft", "values differ", "clFFT")), warning
        demanded = Run(cache, pipeline.replace("{library}", "vkfft"), broken=TRANSFORM)
        error = demanded.errors()[0]
        assert demanded.status == 1 and "fft-vkfft" in error and "differ" in error, demanded.log


def devices(cache, option="", before=None, **kind):
    run = subprocess.run([DEVICES, *option.split()], env=environment(cache, **kind), text=True,
                         capture_output=True, check=False, preexec_fn=before)
    return run.returncode, dict(re.findall(r"(?m)([a-z-]+): (.*)$", run.stdout))


def devices_shows_verdicts():
    with empty_cache() as cache:
        status, shown = devices(cache)
        assert status == 0 and set(shown.values()) == {"not checked yet"}, shown
        status, shown = devices(cache, "--check", broken=WRONG)
        wrong = shown.pop(FUSED)
        assert status == 1 and wrong.startswith("wrong: ") and "differ" in wrong, wrong
        assert set(shown.values()) == {"right"}, shown
        assert devices(cache) == (0, {**shown, FUSED: wrong})
        status, shown = devices(cache, "--check")
        assert status == 0 and set(shown.values()) == {"right"}, shown


def keeps_no_shortage():
    """A check in a process with a small limit says nothing about processes without."""
    for limit, most in (resource.RLIMIT_AS, 500000 << 10), (resource.RLIMIT_NOFILE, 12):
        with empty_cache() as cache:
            def small(limit=limit, most=most):
                resource.setrlimit(limit, (most, most))

            kernels = {"POCL_CACHE_DIR": str(cache.folder / "kernels")}  # none is compiled before
            shown = devices(cache, "--check", small, **kernels)[1]
            kept = {engine for engine, said in shown.items() if said.startswith("unusable: ")}
            assert kept and "right" not in shown.values(), shown
            again = devices(cache, "", small)[1]
            assert kept == {engine for engine in shown if again[engine] == shown[engine]}, again
            assert set(devices(cache)[1].values()) == {"not checked yet"}
            devices(cache, "--forget")
            assert set(devices(cache, "", small)[1].values()) == {"not checked yet"}


IN_ONE, APART = map(launches_of_five_frames, ("always", "never"))
assert IN_ONE < APART, (IN_ONE, APART)
passed = failed = 0
WANTED = sys.argv[3:]
for test in (first_and_second_start, works_without_a_folder_that_can_be_written,
             leaves_out_a_wrong_engine, leaves_out_a_wrong_key_run,
             leaves_out_a_wrong_convolution_method, leaves_out_a_wrong_fft_library,
             devices_shows_verdicts,
             leaves_out_an_engine_that_aborts, keeps_no_shortage,
             gives_one_error_where_nothing_replaces_an_engine,
             leaves_out_an_engine_that_hangs, leaves_out_an_engine_that_does_not_compile,
             tries_a_stopped_check_again,
             one_check_runs_at_a_time_and_ends_with_its_last_waiter, refuses_numbers_out_of_range,
             uses_no_verdicts_that_others_may_write):
    if WANTED and test.__name__ not in WANTED:
        continue
    begun = time.monotonic()
    try:
        test()
        passed += 1
        print(f"{test.__name__}: passed ({time.monotonic() - begun:.1f} s)", flush=True)
    except AssertionError as error:
        failed += 1
        print(f"{test.__name__}: FAILED: {error}", flush=True)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
