"""Jobs of oct-process on a worker: a recording as a whole, or in parts

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import dataclasses
import errno
import functools
import hashlib
import json
import math
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

from .chain import ChainError, chain_for  # noqa: E402
from .frames import start_gstreamer, view_of  # noqa: E402
from .groups import Unsplittable, group_of  # noqa: E402
from .notices import collected, warn  # noqa: E402
from .recordings import Options, RecordingError, open_recording, read_text, states_of  # noqa: E402
from .results import FORMATS, steps_of, write_frames_to_disk, write_to_disk  # noqa: E402
from .system import claim_device  # noqa: E402
from .waits import wait  # noqa: E402

PACKAGE = pathlib.Path(__file__).parent
CHECKOUT = PACKAGE.parent.parent
UNFINISHED = ".unfinished"
# Names of the files and folders that runs make and remove
OWN_NAME = re.compile(rf"\.[0-9a-f]{{16}}{re.escape(UNFINISHED)}(\.new)?(\.[a-z]+)?")
TOPIC = "oct-process"  # of Dask's events, for progress within a task
GRACE = 10  # seconds after the timeout until a worker that hangs ends


# --- devices and plugins of a worker ---


def listed_devices():
    """Returns the GPUs of this host, else its CPUs, as the property `device` takes them; [None] for
    any."""
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


claimed = []  # the device of this worker and its claim, once it has one
claimed_lock = threading.Lock()


def device_of_worker():
    with claimed_lock:
        if not claimed:
            claimed.extend(claim_device(listed_devices()))
    return claimed[0]


def plugin_folders():
    """Returns where this process finds plugins: GST_PLUGIN_PATH, and the build of this checkout."""
    build = pathlib.Path(os.environ.get("GST_OPENCL_BUILD", CHECKOUT / "build"))
    built = [str(folder) for folder in build.glob("gst/*/")
             if not (folder / "libgstopencl-1.0.so").exists()]
    asked = os.environ.get("GST_PLUGIN_PATH", "").split(os.pathsep)
    return list(dict.fromkeys(filter(None, [*asked, *built])))


def add_plugins(folders):
    """Adds the client's folders: a worker of another process has an environment of its own."""
    known = os.environ.get("GST_PLUGIN_PATH", "").split(os.pathsep)
    start_gstreamer()
    new = [folder for folder in folders if folder not in known]
    for folder in new:
        Gst.Registry.get().scan_path(folder)
    os.environ["GST_PLUGIN_PATH"] = os.pathsep.join(filter(None, [*known, *new]))


# --- a recording and its result ---


@dataclasses.dataclass(frozen=True)
class Job:
    """A recording, its result, and how the one is made of the other; sent to workers."""
    recording: pathlib.Path
    result: pathlib.Path
    output: pathlib.Path  # folder of this and all other results
    chain: str
    settings: str = None  # path of a settings file
    said: str = None  # its text
    to: str = "npy"
    options: Options = Options()
    group: int = None
    task_bytes: int = 0
    timeout: float = None
    plugins: tuple = ()
    version: str = None  # of this package

    @property
    def record(self):
        return record_of(self.result)

    def made_of(self):
        """Returns the content of the record. A result with this record is complete."""
        size, modified = extent_of(self.recording)
        made_of = {"chain": self.chain, "settings": self.said, "bytes": size, "modified": modified,
                   "recording": os.path.relpath(self.recording, self.result.parent)}
        return made_of | self.options.given() | ({"group": self.group} if self.group else {})

    def is_done(self):
        try:
            return self.result.exists() and read_record(self.record) == self.made_of()
        except OSError:  # the recording is gone
            return False

    def temporary(self):
        """Returns the name of an unfinished result that no other job has."""
        made_of = json.dumps([str(self.result), self.to, self.made_of()])
        name = hashlib.sha256(made_of.encode()).hexdigest()[:16]
        return self.output / unfinished_name(name, f".{self.to}")

    def publish(self, unfinished, made_of):
        """Publishes the result whole or not at all. The record goes first: alone it counts for
        nothing."""
        written = unfinished.with_suffix(".json")
        written.write_text(json.dumps(made_of, indent=1) + "\n")
        self.result.parent.mkdir(parents=True, exist_ok=True)
        remove(self.result)
        os.replace(written, self.record)
        os.replace(unfinished, self.result)

    def chain_of(self, recording):
        """Returns the chain of this worker for a recording."""
        add_plugins(self.plugins)
        try:
            return chain_for(self.chain, self.settings, device_of_worker(), recording.parser)
        except ChainError as error:
            if "no element" not in str(error):
                raise
            raise ChainError(
                f"--{error} on {socket.gethostname()}: install its plugin there, or start the "
                "worker with GST_PLUGIN_PATH") from None


def unfinished_name(name, suffix=""):
    """Returns a name that OWN_NAME matches, of 16 hexadecimal digits."""
    return f".{name}{UNFINISHED}{suffix}"


def record_of(result):
    """Returns the file beside a result that says how it was made: scan.json of scan.npy, and
    scan.zarr.json of scan.zarr."""
    return result.with_suffix(".json" if result.suffix == ".npy" else f"{result.suffix}.json")


def read_record(path):
    """Returns the content of a record, which is empty if the file is missing or damaged."""
    try:
        made_of = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return made_of if isinstance(made_of, dict) else {}


def extent_of(path):
    """Returns the bytes of a file or of all files of a folder, and their latest modification."""
    states = states_of(path)
    return (sum(state.st_size for state in states),
            max((state.st_mtime_ns for state in states), default=0))


def remove(path):
    """Removes a file or a folder, which may be missing."""
    if path.is_dir() and not path.is_symlink():
        # Renamed first, so that no result is ever there in part
        leftover = path.with_name(unfinished_name(secrets.token_hex(8)))
        os.replace(path, leftover)
        shutil.rmtree(leftover)
    else:
        path.unlink(missing_ok=True)


def discard(unfinished):
    """Removes an unfinished result, and all files that belong to it."""
    for leftover in unfinished.parent.glob(f"{unfinished.stem}*"):
        remove(leftover)


def journal_of(unfinished):
    """Returns the file with the first and the end frame of each part that is written."""
    return unfinished.with_suffix(".parts")


def parts_done(unfinished):
    """Returns (start, stop) of the parts that an interrupted run has written. Its parts may have
    had another size."""
    try:
        whole = read_text(journal_of(unfinished)).rpartition("\n")[0]
        return {tuple(map(int, line.split())) for line in whole.splitlines()}
    except (OSError, ValueError):
        return set()


# --- what workers run ---


@dataclasses.dataclass(frozen=True)
class Plan:
    """Parts of a recording, (start, stop, first, end): frames `start` to `stop` become frames
    `first` to `end` of the unfinished result."""
    unfinished: pathlib.Path
    made_of: dict
    count: int
    shape: tuple
    dtype: str
    steps: dict  # µm, as of steps_of
    parts: tuple


@contextlib.contextmanager
def limited(timeout):
    """Yields an event that is set after the timeout. A worker that does not return soon after it
    ends itself, and Dask starts another one."""
    if not timeout:
        yield None
        return
    is_over, returned = threading.Event(), threading.Event()

    def watch():
        if not wait(returned.wait, timeout):
            is_over.set()
            if not wait(returned.wait, GRACE):
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield is_over
    finally:
        returned.set()


@functools.cache
def version():
    """Returns a hash of this package; that of an archive is in its name."""
    if PACKAGE.parent.suffix == ".zip":
        return PACKAGE.parent.stem.partition("-")[2]
    files = sorted(PACKAGE.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def check_version(job):
    if job.version != version():
        raise RecordingError(f"{job.recording}: the worker on {socket.gethostname()} has loaded "
                             "another version of gstopencl: restart it")


def outcome(job, task):
    """Returns what `task` returns, or a dictionary that says why it failed for good. Other errors
    are raised, for Dask to try again."""
    began = time.time()
    with collected() as said:
        try:
            with limited(job.timeout) as deadline:
                result = task(deadline)
        except (RecordingError, ChainError, ValueError) as error:
            result = {"reason": str(error)}
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise  # may go away
            result = {"reason": f"{job.recording}: {job.output}: {error.strerror}"}
    if isinstance(result, dict):
        result = {"host": socket.gethostname(), "seconds": time.time() - began,
                  "warnings": sorted(said), **result}
    return result


def reporter(job):
    """Returns a function that tells the client which share of a recording is read, at most once
    in a second."""
    try:
        from distributed import get_worker
        worker = get_worker()
    except (ImportError, ValueError):
        return lambda share: None
    last = [time.monotonic()]

    def report(share):
        if time.monotonic() - last[0] > 1:
            last[0] = time.monotonic()
            worker.log_event(TOPIC, {"recording": str(job.recording), "share": share})

    return report


def run_whole(job, recording, deadline):
    """Processes a recording frame by frame."""
    report = reporter(job)
    made_of, chain = job.made_of(), job.chain_of(recording)
    unfinished = job.output / unfinished_name(secrets.token_hex(8), f".{job.to}")
    stream = FORMATS[job.to][0](unfinished, recording.count)
    try:
        with contextlib.closing(chain.samples(recording, deadline=deadline)) as samples:
            for sample in samples:
                stream.write(sample)
                report(chain.share(recording))
        if not stream.count:
            raise ChainError(f"{recording}: the chain outputs nothing")
        stream.close()
        write_to_disk(unfinished)
        job.publish(unfinished, made_of)
    finally:
        stream.discard()
        discard(unfinished)
    return {"frames": stream.count}


def split(job, recording, group):
    """Returns the number of frames of a part: as many whole groups, and chunks of the recording,
    as task_bytes has room for."""
    unit = math.lcm(group, recording.chunk())
    return max(1, job.task_bytes // recording.frame_bytes // unit) * unit


def may_split(job, recording):
    large = recording.frame_bytes and job.task_bytes \
        and recording.count * recording.frame_bytes > job.task_bytes
    return large and FORMATS[job.to][1] is not None


def plan_parts(job, recording, chain, deadline):
    """Returns the Plan of a large recording, or None where it is processed as a whole."""
    group = job.group or group_of(chain.elements())
    step, count = split(job, recording, group), recording.count
    if step >= count:
        return None
    shape, dtype, steps, per_group = probe(chain, recording, 0, group, deadline)
    rest = count % group
    of_rest = probe(chain, recording, count - rest, count, deadline)[3] if rest else 0
    if not per_group:
        return None
    total = count // group * per_group + of_rest
    parts = []
    for start in range(0, count, step):
        stop = min(start + step, count)
        end = total if stop == count else stop // group * per_group
        parts.append((start, stop, start // group * per_group, end))
    return Plan(job.temporary(), job.made_of(), total, shape, dtype, steps, tuple(parts))


def probe(chain, recording, start, stop, deadline):
    """Returns the shape, type, steps and number of frames that the chain outputs."""
    shape, dtype, steps, count = None, None, {}, 0
    for sample in chain.samples(recording, start, stop, deadline):
        frame = view_of(sample)
        shape, dtype, count = frame.shape, frame.dtype.str, count + 1
        steps = steps_of(sample)
    return shape, dtype, steps, count


def begin(job):
    """Processes a recording, or returns a Plan where it is large and may be split."""
    def task(deadline):
        check_version(job)
        if job.is_done():
            return {}
        recording = open_recording(job.recording, **vars(job.options))
        plan = None
        if may_split(job, recording):
            try:
                plan = plan_parts(job, recording, job.chain_of(recording), deadline)
            except Unsplittable as error:
                warn(f"{recording}: not split into parts, because {error}; --group N says after "
                     "how many frames it may be")
        if not plan:
            return run_whole(job, recording, deadline)
        create_slots(job, plan)
        return plan

    return outcome(job, task)


def begin_all(jobs):
    """Returns what begin returns for each of these jobs; None for one that is to be tried again by
    itself. A single one is tried again by Dask. While one result goes to the disk, the chain
    processes the next recording."""
    def begin_or_none(job):
        try:
            return begin(job)
        except Exception:  # of any library
            return None

    if len(jobs) == 1:
        return [begin(jobs[0])]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(begin_or_none, jobs))


def create_slots(job, plan):
    """Creates the unfinished result at its full size, whole or not at all. One that an interrupted
    run has left stays."""
    if plan.unfinished.exists():
        return
    journal_of(plan.unfinished).unlink(missing_ok=True)
    created = plan.unfinished.with_suffix(f".new.{job.to}")
    remove(created)
    try:
        FORMATS[job.to][1](created, (plan.count, *plan.shape), plan.dtype, plan.steps)
        os.replace(created, plan.unfinished)
    finally:
        remove(created)  # makes room for the other recordings


def run_part(job, plan, number):
    """Writes a part of a recording into the slots of the unfinished result."""
    start, stop, first, end = plan.parts[number]

    def task(deadline):
        recording = open_recording(job.recording, **vars(job.options))
        slots, place = FORMATS[job.to][2](plan.unfinished), first
        chain = job.chain_of(recording)
        with contextlib.closing(chain.samples(recording, start, stop, deadline)) as samples:
            for sample in samples:
                if place < end:
                    slots[place] = view_of(sample)
                place += 1
        if place != end:
            raise ChainError(f"{recording}: frames {start} to {stop - 1} gave {place - first} "
                             f"frames, expected {end - first}: --task-bytes 0 does not split")
        write_frames_to_disk(slots, plan.unfinished, first, end)
        return {}

    return outcome(job, task)


def finish(job, plan):
    """Publishes a result whose parts are all written."""
    def task(_):
        if not plan.unfinished.exists() and job.is_done():
            return {"frames": plan.count}  # by a worker that died before it could say so
        if job.made_of() != plan.made_of:
            raise RecordingError(f"{job.recording}: has changed while it was processed")
        write_to_disk(plan.unfinished)
        job.publish(plan.unfinished, plan.made_of)
        return {"frames": plan.count}

    return outcome(job, task)
