#!/usr/bin/python3
"""reprocess: a chain of elements over all recordings of a folder, on the workers of Dask.

reprocess.py [--chain ELEMENTS] [--output FOLDER] [--names PATTERN]
             [--scheduler ADDRESS | --workers N] FOLDER

Each recording, a .npy of spectra, becomes a .npy of the same name in the output folder, and
a .json beside it that says by which chain. Without --scheduler the workers are processes of
this machine, one for each of its GPUs, else one for the CPU; with it they are whatever that
scheduler has, and see the folders by the same names. Each worker takes a device of its own.

What is there by this chain stays as it is, so that whoever is interrupted starts it again.
What fails is named at the end, and the others go on.

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


def play(recording, result, chain, device):
    """Recording to result; None, or what went wrong."""
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, Gst
    Gst.init(None)
    try:
        pipeline = Gst.parse_launch(
            "filesrc name=recording ! npyparse ! openclupload name=upload ! "
            f"{chain} ! opencldownload ! npysink name=result")
    except GLib.Error as error:
        return f"--chain: {error.message}"
    pipeline.get_by_name("recording").set_property("location", str(recording))
    pipeline.get_by_name("result").set_property("location", str(result))
    if device:
        pipeline.get_by_name("upload").set_property("device", device)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.EOS:
        return None
    return f"{message.src.get_name()}: {message.parse_error()[0].message}"


class Job:
    """A recording, and what becomes of it; sent to whichever worker is free."""

    def __init__(self, recording, folder, chain, settings):
        state = recording.stat()
        self.recording, self.result = recording, folder / recording.name
        self.chain = chain
        self.made_of = {"chain": chain, "settings": settings, "bytes": state.st_size,
                        "modified": state.st_mtime_ns}

    @property
    def record(self):
        return self.result.with_suffix(".json")

    def is_done(self):
        try:
            return self.result.exists() and json.loads(self.record.read_text()) == self.made_of
        except (OSError, ValueError):
            return False

    def discard(self):
        """What another chain, or another recording of that name, has left."""
        self.record.unlink(missing_ok=True)
        self.result.unlink(missing_ok=True)

    def publish(self, unfinished):
        """Whole or not at all. The record goes first: without a result nobody believes it."""
        written = unfinished.with_suffix(".unfinished-json")
        written.write_text(json.dumps(self.made_of, indent=1) + "\n")
        os.replace(written, self.record)
        os.replace(unfinished, self.result)

    def run(self):
        """None, or what went wrong. Dask asks again where a worker is lost that knew."""
        if self.is_done():
            return None
        file, name = tempfile.mkstemp(
            prefix=f".{self.result.name}.", suffix=".unfinished", dir=self.result.parent)
        unfinished = pathlib.Path(name)
        try:
            wrong = play(self.recording, unfinished, self.chain, device_of_worker())
            if not wrong:
                os.fchmod(file, 0o666 & ~current_umask())
                os.fsync(file)
                self.publish(unfinished)
            return wrong
        finally:
            os.close(file)
            unfinished.unlink(missing_ok=True)


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
    """What --chain says, else the usual with the folder's settings, and those."""
    file = folder / "settings.txt"
    if asked.chain:
        return asked.chain, None
    if not file.exists():
        return CHAIN.format(settings=""), None
    return CHAIN.format(settings=f' settings="{file}"'), file.read_text()


def use_what_is_built():
    """A checkout's plugins, for this process and those that it starts."""
    built = [str(folder) for folder in CHECKOUT.glob("build/gst/*/")
             if not (folder / "libgstopencl-1.0.so").exists()]
    os.environ["GST_PLUGIN_PATH"] = os.pathsep.join(
        filter(None, [os.environ.get("GST_PLUGIN_PATH"), *built]))


def lock(folder):
    """Two at once in one folder would each take away what the other has not finished."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"{folder}: another reprocess.py is at work")


def tidy(folder):
    """Of what workers that were killed had begun."""
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
    futures = [client.submit(Job.run, job, pure=False) for job in jobs]
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
    use_what_is_built()
    all_jobs = [Job(recording, output, chain, settings)
                for recording in sorted(folder.glob(asked.names))]
    jobs = [job for job in all_jobs if not job.is_done()]
    print(f"{len(all_jobs)} recordings, {len(all_jobs) - len(jobs)} of them done before")
    if not all_jobs:
        sys.exit(f"{folder}: nothing there is named {asked.names}")
    failed = []
    if jobs:
        with connect(asked) as client:
            for job in jobs:
                job.discard()
            failed = run(client, jobs)
        tidy(output)
    for recording, reason in failed:
        print(f"{recording}: {reason}", file=sys.stderr)
    print(f"{len(jobs) - len(failed)} processed, {len(failed)} failed, into {output}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
