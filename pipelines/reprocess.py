#!/usr/bin/python3
"""reprocess: a chain of elements over all recordings of a folder, on the workers of Dask.

reprocess.py [--chain ELEMENTS] [--output FOLDER] [--names PATTERN]
             [--scheduler ADDRESS | --workers N] FOLDER

Each recording, a .npy of spectra, becomes a .npy of the same name and subfolder in the output
folder. A .json beside it says by which chain it was made of which recording. Without
--scheduler the workers are processes of this machine, one for each of its GPUs, else one for
the CPU. With --scheduler they are the workers of that scheduler, which must see the folders by
the same names. Each worker uses a device of its own, with one OpenCL context for all recordings.

A run that was interrupted continues when it is started again: results of the same chain stay.
Results of another chain are replaced once the new ones are complete. Results of other recordings
are never replaced, and results of these recordings are not taken as recordings. Recordings that
fail are listed at the end with the reason; the others are processed, and the exit status is 1.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import errno
import fcntl
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

try:
    from distributed import Client, LocalCluster, get_worker, progress, wait
except ImportError:
    sys.exit("Dask is missing: install python3-distributed")

SCHEDULER_ANSWERS_AFTER = 10  # seconds
CONTEXT_TYPE = "gst.opencl.context"
CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
CHAIN = "octwindowinterp{settings} ! octfft ! " \
        "application/x-oct(memory:OpenCLMemory),domain=depth,format=F32LE"


def listed_devices():
    """The GPUs of this host, else its CPUs, as `device` takes them; [None]: any."""
    tool = shutil.which("opencl-devices") or CHECKOUT / "build/tools/opencl-devices"
    asked = os.environ.get("GST_OPENCL_DEVICE")
    for kind in [asked] if asked else ["gpu", "cpu"]:
        try:
            said = subprocess.run([tool, kind], capture_output=True, text=True, check=False)
        except OSError:
            break
        devices = re.findall(r"^(\d+:\d+)  ", said.stdout, re.MULTILINE)
        if devices:
            return devices
    return [None]


def claim_device(devices):
    """A device, and a claim on it that ends with this process, however it ends: a name of
    a socket, which no two processes of a host have. More workers than devices share them,
    and all have the first where the system has no such names."""
    for seat in itertools.count():
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0opencl-reprocess-{os.getuid()}-{seat}")
            return devices[seat % len(devices)], claim
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                return devices[0], None


def device_of_worker():
    """This worker's own, for as long as it lives."""
    worker = get_worker()
    if not hasattr(worker, "opencl_device"):
        worker.opencl_device, worker.opencl_claim = claim_device(listed_devices())
    return worker.opencl_device


def plugin_folders():
    """Where this process finds plugins: GST_PLUGIN_PATH, and the build of this checkout"""
    build = pathlib.Path(os.environ.get("GST_OPENCL_BUILD", CHECKOUT / "build"))
    built = [str(folder) for folder in build.glob("gst/*/")
             if not (folder / "libgstopencl-1.0.so").exists()]
    asked = os.environ.get("GST_PLUGIN_PATH", "").split(os.pathsep)
    return list(dict.fromkeys(filter(None, [*asked, *built])))


def add_plugins(folders):
    """A worker of another process has an environment of its own."""
    from gi.repository import Gst
    known = os.environ.get("GST_PLUGIN_PATH", "").split(os.pathsep)
    Gst.init(None)
    new = [folder for folder in folders if folder not in known]
    for folder in new:
        Gst.Registry.get().scan_path(folder)
    os.environ["GST_PLUGIN_PATH"] = os.pathsep.join(filter(None, [*known, *new]))


def play(recording, result, chain, plugins):
    """Recording to result; None, or what went wrong."""
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, Gst
    add_plugins(plugins)
    worker, device = get_worker(), device_of_worker()
    try:
        pipeline = Gst.parse_launch(
            "filesrc name=recording ! npyparse ! openclupload name=upload ! "
            f"{chain} ! opencldownload ! npysink name=result")
    except GLib.Error as error:
        if error.matches(Gst.ParseError.quark(), Gst.ParseError.NO_SUCH_ELEMENT):
            return f"--chain: {error.message} on {socket.gethostname()}: install its plugin " \
                   "there, or start the worker with GST_PLUGIN_PATH"
        return f"--chain: {error.message}"
    pipeline.get_by_name("recording").set_property("location", str(recording))
    pipeline.get_by_name("result").set_property("location", str(result))
    if device:
        pipeline.get_by_name("upload").set_property("device", device)
    if hasattr(worker, "opencl_context"):
        pipeline.set_context(worker.opencl_context)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.EOS:
        worker.opencl_context = pipeline.get_context(CONTEXT_TYPE)
        return None
    return f"{message.src.get_name()}: {message.parse_error()[0].message}"


def source_of(result):
    """The recording that a run made this result of, by the record beside it; None: no result"""
    try:
        made_of = json.loads(result.with_suffix(".json").read_text())
        if not {"chain", "bytes", "modified"} <= made_of.keys():
            return None
    except (OSError, ValueError, AttributeError):
        return None
    # Records had no such line when all results were made in a subfolder.
    recording = made_of.get("recording", f"../{result.name}")
    return pathlib.Path(os.path.normpath(result.parent.resolve() / recording))


class Job:
    """A recording, and what becomes of it; sent to whichever worker is free."""

    def __init__(self, recording, folder, output, chain, settings):
        self.recording, self.output = recording, output
        self.result = output / recording.relative_to(folder)
        self.chain, self.settings, self.plugins = chain, settings, plugin_folders()

    @property
    def record(self):
        return self.result.with_suffix(".json")

    def made_of(self):
        state = self.recording.stat()
        return {"chain": self.chain, "settings": self.settings, "bytes": state.st_size,
                "modified": state.st_mtime_ns,
                "recording": os.path.relpath(self.recording, self.result.parent)}

    def is_done(self):
        try:
            return self.result.exists() and json.loads(self.record.read_text()) == self.made_of()
        except (OSError, ValueError):
            return False

    def publish(self, unfinished, made_of):
        """Publishes the result whole or not at all. The record goes first: alone it counts for
        nothing."""
        written = unfinished.with_suffix(".unfinished-json")
        written.write_text(json.dumps(made_of, indent=1) + "\n")
        self.result.parent.mkdir(parents=True, exist_ok=True)
        self.result.unlink(missing_ok=True)
        os.replace(written, self.record)
        os.replace(unfinished, self.result)

    def process(self):
        made_of = self.made_of()
        file, name = tempfile.mkstemp(
            prefix=f".{self.result.name}.", suffix=".unfinished", dir=self.output)
        unfinished = pathlib.Path(name)
        try:
            wrong = play(self.recording, unfinished, self.chain, self.plugins)
            if not wrong:
                os.fchmod(file, 0o666 & ~current_umask())
                os.fsync(file)
                self.publish(unfinished, made_of)
            return wrong
        finally:
            os.close(file)
            unfinished.unlink(missing_ok=True)

    def run(self):
        """None, or what went wrong. Dask asks again where a worker is lost that knew."""
        try:
            return None if self.is_done() else self.process()
        except OSError as error:
            return str(error)


def current_umask():
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def parse_arguments():
    usage, _, rest = __doc__.partition("\n\n")[2].partition("\n\n")
    parser = argparse.ArgumentParser(
        usage=usage, description=rest.partition("SPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("--chain", help="elements between openclupload and opencldownload "
                        "(octwindowinterp, with FOLDER/settings.txt where that is, and octfft)")
    parser.add_argument("--output", metavar="FOLDER", type=pathlib.Path,
                        help="where results go (FOLDER/processed)")
    parser.add_argument("--names", metavar="PATTERN", default="*.npy",
                        help="the recordings in FOLDER (%(default)s)")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler")
    where.add_argument("--workers", metavar="N", type=int, help="processes of this machine")
    asked = parser.parse_args()
    if not asked.folder.is_dir():
        parser.error(f"{asked.folder}: no such folder")
    if asked.workers is not None and asked.workers < 1:
        parser.error(f"--workers {asked.workers}: expected 1 or more")
    return asked


def chain_and_settings(asked, folder):
    """Returns the chain of --chain, or the default chain with the folder's settings, and these."""
    file = folder / "settings.txt"
    if asked.chain:
        return asked.chain, None
    if not file.exists():
        return CHAIN.format(settings=""), None
    return CHAIN.format(settings=f' settings="{file}"'), file.read_text()


def recordings_of(folder, names):
    """All files of these names but the results of a run over this folder"""
    if ".." in pathlib.PurePath(names).parts:
        sys.exit(f"--names {names}: leads out of {folder}")
    try:
        found = sorted(path for path in folder.glob(names) if not path.is_dir())
    except (ValueError, NotImplementedError) as error:
        sys.exit(f"--names {names}: {error}")
    sources = {path: source_of(path) for path in found}
    found = [path for path, source in sources.items()
             if not (source and folder in source.parents)
             and not path.suffix.startswith(".unfinished")]
    if not found:
        sys.exit(f"{folder}: nothing there is named {names}")
    return found


def refuse_conflicts(jobs):
    """A result replaces no file but an earlier result of the same recording."""
    makers = {}
    for job in jobs:
        for file in job.result, job.record:
            other = makers.setdefault(file, job).recording
            if other != job.recording:
                sys.exit(f"{file}: both {other} and {job.recording} would make it: "
                         "select one of them by --names")
        is_there = job.result.exists() or job.record.exists()
        if is_there and source_of(job.result) != job.recording:
            sys.exit(f"{job.result}: is there, and was not made of {job.recording}: "
                     "choose another --output")


def lock(folder):
    """Two at once in one folder would each take away what the other has not finished."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"{folder}: another reprocess.py is at work")


def tidy(folder):
    """Removes unfinished files of killed workers."""
    for leftover in folder.glob(".*.unfinished*"):
        leftover.unlink(missing_ok=True)


def connect(asked):
    if asked.scheduler:
        try:
            return Client(asked.scheduler, timeout=SCHEDULER_ANSWERS_AFTER)
        except (OSError, ValueError) as error:
            sys.exit(f"--scheduler {asked.scheduler}: no scheduler answers there: {error}")
    return Client(LocalCluster(
        n_workers=asked.workers or len(listed_devices()), threads_per_worker=1,
        dashboard_address=None))


def run(client, jobs):
    """(recording, why not) of those that failed, all others done."""
    futures = client.map(Job.run, jobs, pure=False)
    progress(futures, notebook=False)
    wait(futures)
    print()
    reasons = [future.exception() or future.result() for future in futures]
    return [(job.recording, reason) for job, reason in zip(jobs, reasons) if reason]


def main():
    asked = parse_arguments()
    folder = asked.folder.resolve()
    output = (asked.output or folder / "processed").resolve()
    chain, settings = chain_and_settings(asked, folder)
    output.mkdir(parents=True, exist_ok=True)
    lock(output)
    tidy(output)
    # For workers that this process starts, which read their registry of plugins once
    os.environ["GST_PLUGIN_PATH"] = os.pathsep.join(plugin_folders())
    all_jobs = [Job(recording, folder, output, chain, settings)
                for recording in recordings_of(folder, asked.names)]
    refuse_conflicts(all_jobs)
    jobs = [job for job in all_jobs if not job.is_done()]
    print(f"{len(all_jobs)} recordings, {len(all_jobs) - len(jobs)} of them done before")
    failed = []
    if jobs:
        with connect(asked) as client:
            failed = run(client, jobs)
        tidy(output)
    for recording, reason in failed:
        print(f"{recording}: {reason}", file=sys.stderr)
    print(f"{len(jobs) - len(failed)} processed, {len(failed)} failed, into {output}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
