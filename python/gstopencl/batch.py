"""oct-process: processes recordings with a chain of elements, on the workers of Dask

oct-process [OPTION…] FOLDER|FILE…

Each recording of raw spectra becomes a result of the same name and subfolder in the output folder.
A .json beside it says by which chain it was made of which recording. Recordings are .npy, Thorlabs
.oct, HDF5 (.h5, .hdf5), TIFF (.tif, .tiff), folders of zarr (.zarr) and raw files (.raw, .bin,
.dat; with --size).

Without --scheduler the workers are processes of this machine, one for each of its GPUs, else one
for the CPU. With --scheduler they are the workers of that scheduler, which must see the folders by
the same names. Each worker uses a device of its own, with one OpenCL context and one pipeline for
all recordings. A recording larger than --task-bytes is split between two groups of B-scans, and
several workers process it.

A run that was interrupted continues when it is started again: results of the same chain stay.
Results of another chain are replaced once the new ones are complete. Results of other recordings
are never replaced, and results of these recordings are not taken as recordings. Recordings that
fail are listed at the end with the reason; the others are processed, and the exit status is 1.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import contextlib
import functools
import importlib.util
import json
import os
import pathlib
import re
import signal
import sys
import time

from .chain import DEPTHS
from .files import write_whole
from .jobs import (OWN_NAME, Job, plugin_folders, read_record, record_of, remove, unfinished_name,
                   version)
from .program import SIGNALS, Ended, Failed
from .progress import BytesProgress
from .recordings import RAW, READERS, Options, read_text
from .results import FORMATS, check_library
from .batchrun import Run, connected
from .system import lock_folder
from .view.arguments import Parser, Refused
from .view.octoptions import add_raw, layout_of

SIZES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
PROGRAM = "oct-process"
LARGEST = 9 * 10**9  # timers of Python take no more seconds


# --- arguments ---


def size(text):
    """Returns the number of bytes of a text such as 500M."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)([kMGT]?)B?", text)
    if not match:
        raise argparse.ArgumentTypeError("expected bytes, as 500M or 2G")
    return int(float(match[1]) * SIZES[match[2]])


def number(kind, or_zero, text):
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if not 0 <= value <= LARGEST or not (value or or_zero):
        raise argparse.ArgumentTypeError(
            f"expected a number {'from' if or_zero else 'above'} 0, up to {LARGEST}")
    return value


count, whole = functools.partial(number, int, False), functools.partial(number, int, True)


def add_work(parser):
    group = parser.add_argument_group("what is processed")
    group.add_argument("--chain", metavar="ELEMENTS", help="elements between openclupload and "
                       "opencldownload (octwindowinterp and octfft, which give levels in dB)")
    group.add_argument("--settings", metavar="FILE", type=pathlib.Path,
                       help="settings of octwindowinterp from oct-calibrate (without --chain: "
                       "settings.txt of the folder, else RECORDING.txt beside each recording)")
    group.add_argument("--names", metavar="PATTERN", help="recordings in a FOLDER, as '**/*.npy' "
                       "(all in it, not those in subfolders)")
    group.add_argument("--output", metavar="FOLDER", type=pathlib.Path,
                       help="folder of the results (FOLDER/processed)")
    group.add_argument("--to", choices=FORMATS, default="npy",
                       help="format of results (%(default)s)")


def add_reading(parser):
    group = parser.add_argument_group("how recordings are read")
    add_raw(group)
    group.add_argument("--camera", metavar="N", type=int, choices=(0, 1), default=0,
                       help="camera of a .oct recording of two cameras (%(default)s)")
    group.add_argument("--dataset", metavar="NAME", help="array in a file of several arrays")
    group.add_argument("--task-bytes", metavar="SIZE", type=size, default=size("256M"),
                       help="split larger recordings into tasks of this size (256M; 0 = never)")
    group.add_argument("--group", metavar="N", type=count, help="number of frames after which a "
                       "recording may be split (found from the chain)")


def add_workers(parser):
    group = parser.add_argument_group("who processes them")
    where = group.add_mutually_exclusive_group()
    where.add_argument("--workers", metavar="N", type=count, help="number of processes of this machine")
    where.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask scheduler")
    where.add_argument("--scheduler-file", metavar="FILE",
                       help="file that dask-scheduler --scheduler-file has written")
    group.add_argument("--retries", metavar="N", type=whole, default=2,
                       help="how often a task that failed is tried again (%(default)s)")
    group.add_argument("--timeout", metavar="SECONDS", type=functools.partial(number, float, False),
                       help="time limit of each task (none)")
    group.add_argument("--report", metavar="FILE", type=pathlib.Path,
                       help="JSON file that says what became of each recording")


def parse_arguments(words):
    usage, _, rest = __doc__.partition("\n\n")[2].partition("\n\n")
    parser = Parser(prog=PROGRAM, usage=usage, description=rest.partition("SPDX")[0])
    parser.add_argument("recordings", metavar="FOLDER|FILE", type=pathlib.Path, nargs="+",
                        help="recordings, and folders of them")
    for add in add_work, add_reading, add_workers:
        add(parser)
    asked = parser.parse_args(words)
    for path in asked.recordings:
        if not path.exists():
            raise Refused(f"{path}: no such file or folder")
    return asked


# --- recordings and their jobs ---


def is_recording_by_name(path, has_sizes):
    suffix = path.suffix.lower()
    return suffix in READERS and (suffix not in RAW or has_sizes) \
        and path.is_dir() == (suffix == ".zarr")


def source_of(result):
    """Returns the recording that a run made this result of, by the record beside it; None where it
    is no result."""
    made_of = read_record(record_of(result))
    # Records had no such line when all results were made in a subfolder.
    recording = made_of.get("recording", f"../{result.name}")
    if not {"chain", "bytes", "modified"} <= made_of.keys() or not isinstance(recording, str):
        return None
    return pathlib.Path(os.path.normpath(result.parent.resolve() / recording))


def files_of_settings(file, text):
    """Returns the files that a settings file names, which are no recordings, and itself."""
    if not file:
        return set()
    found = {file.resolve()}
    for value in filter(None, (line.partition("=")[2].strip() for line in text.splitlines())):
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # no name of a file
            found.add((file.parent / value).resolve())
    return found


def is_of_window(path):
    """Returns whether opencl-view --oct has recorded these depths beside spectra."""
    stem = path.stem.removesuffix("-depths")
    return stem != path.stem and path.with_name(f"{stem}.txt").exists()


def raw_files(folder, others):
    """Returns a sentence about raw files, of which the sizes are not known, if there are any."""
    names = sorted(path.name for path in folder.glob("*") if path not in others
                   and path.suffix.lower() in RAW and path.is_file())
    return names and f"raw files need --size: {', '.join(names[:3])}" \
        f"{' …' if names[3:] else ''}"


def recordings_of(folder, names, has_sizes, others):
    """Returns all files of these names but the results of a run over this folder, and others."""
    if names and ".." in pathlib.PurePath(names).parts:
        raise Refused(f"--names {names}: leads out of {folder}")
    try:
        found = sorted(path for path in folder.glob(names or "*")
                       if is_recording_by_name(path, has_sizes) or names and not path.is_dir())
    except (ValueError, NotImplementedError) as error:
        raise Refused(f"--names {names}: {error}") from None
    sources = {path: source_of(path) for path in found}
    unread = None if names or has_sizes else raw_files(folder, others)
    found = [path for path, source in sources.items()
             if not (source and folder in source.parents)
             and not OWN_NAME.fullmatch(path.name) and path not in others
             and not (is_of_window(path) and not names)
             and not any(parent.suffix.lower() == ".zarr" for parent in path.parents)]
    if not found:
        raise Failed(f"{folder}: nothing there is named {names}" if names else
                     f"{folder}: no recording there; {unread or '--names PATTERN selects others'}")
    if unread:
        print(f"{PROGRAM}: {folder}: left out: {unread}", file=sys.stderr)
    return found


def read_settings(file):
    """Returns the path of a settings file and its text."""
    try:
        return file.resolve(), read_text(file)
    except UnicodeDecodeError:
        raise Failed(f"{file}: not a text file") from None


def settings_of_folder(asked, folder):
    """Returns (path, text) of --settings, or without --chain of the folder's settings.txt; (None,
    None) if there is none."""
    file = asked.settings or folder / "settings.txt"
    return read_settings(file) if asked.settings or not asked.chain and file.exists() \
        else (None, None)


def settings_beside(asked, recording):
    """Returns (path, text) of the file that opencl-view --oct has written beside a recording."""
    file = recording.with_suffix(".txt")
    return read_settings(file) if not asked.chain and file.exists() else (None, None)


def without_comments(text):
    """Returns the lines of settings. Comments do not change the result."""
    return text and "".join(line for line in text.splitlines(True) if not line.startswith("#"))


def jobs_of(root, asked):
    """Returns the jobs of a folder or of one recording."""
    is_one = not root.is_dir() or root.suffix.lower() == ".zarr"
    folder = root.parent if is_one else root
    common = settings_of_folder(asked, folder)
    found = [root] if is_one else recordings_of(
        folder, asked.names, asked.size, files_of_settings(*common))
    output = (asked.output or folder / "processed").resolve()
    options = Options(**layout_of(asked), dataset=asked.dataset, camera=asked.camera)
    jobs = []
    for recording in found:
        settings, said = common if common[0] else settings_beside(asked, recording)
        result = (output / recording.relative_to(folder)).with_suffix(f".{asked.to}")
        jobs.append(Job(
            recording, result, output, asked.chain or DEPTHS, settings and str(settings),
            without_comments(said), asked.to, options, asked.group, asked.task_bytes,
            asked.timeout, tuple(plugin_folders()), version()))
    return jobs


def refuse_conflicts(jobs):
    """A result replaces no file but an earlier result of the same recording."""
    makers = {}
    for job in jobs:
        for file in job.result, job.record:
            other = makers.setdefault(file, job).recording
            if other != job.recording:
                raise Failed(f"{file}: both {other} and {job.recording} would make it: "
                             "select one of them by --names")
        is_there = job.result.exists() or job.record.exists()
        if is_there and source_of(job.result) != job.recording:
            raise Failed(f"{job.result}: is there, and was not made of {job.recording}: "
                         "choose another --output")


def lock(folder):
    """Two at once in one folder would each take away what the other has not finished."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock_folder(folder)
    except BlockingIOError:
        raise Failed(f"{folder}: another {PROGRAM} is at work") from None


def tidy(folder, kept):
    """Removes unfinished files of killed workers, but for those that a run continues."""
    for leftover in folder.glob(unfinished_name("*", "*")):
        if OWN_NAME.fullmatch(leftover.name) and leftover.name[1:17] not in kept:
            remove(leftover)


def names_kept(jobs):
    """Returns the names of unfinished results of which parts may be written."""
    kept = set()
    for job in jobs:
        with contextlib.suppress(OSError):  # the recording is gone, which the worker reports
            kept.add(job.temporary().name[1:17])
    return kept


# --- the run ---


def summary(job, result):
    """Returns what the report says of a recording."""
    status = "failed" if "reason" in result else result.pop("status", "processed")
    return {"recording": str(job.recording), "result": str(job.result), "status": status, **result}


def write_report(path, asked, outcomes, began):
    report = {"arguments": sys.argv[1:], "chain": asked.chain or DEPTHS,
              "began": time.strftime("%FT%T%z", time.localtime(began)),
              "seconds": round(time.time() - began, 3),
              "recordings": [summary(job, dict(result)) for job, result in outcomes.items()]}
    write_whole(path, json.dumps(report, indent=1) + "\n")


def print_dashboard(client):
    try:
        link = client.dashboard_link
    except KeyError:  # a scheduler without one
        return
    if client.cluster and not importlib.util.find_spec("bokeh"):
        link = link.replace("/status", "/info/main/workers.html")  # works without Bokeh's plots
    print(f"Dashboard: {link}", flush=True)


def process(asked, jobs, outcomes):
    """Processes the jobs and adds their outcomes. Returns the exit status of an interruption."""
    try:
        with connected(asked) as client:
            print_dashboard(client)
            run = Run(client, jobs, asked.retries, outcomes)
            with BytesProgress(run.total, len(jobs)) as progress:
                run.run(progress)
    except Ended as ended:
        return ended.args[0]
    return None


def print_outcomes(outcomes):
    about = {}  # recordings, by what is said of them
    for job, result in outcomes.items():
        for warning in result.get("warnings", []):
            said = warning.removeprefix(f"{job.recording}: ")
            about.setdefault(said, []).append(job.recording)
    for said, (first, *others) in about.items():
        more = f" and {len(others)} more" if others else ""
        print(f"{PROGRAM}: {first}{more}: {said}", file=sys.stderr)
    failed = [result["reason"] for result in outcomes.values() if "reason" in result]
    for reason in failed:
        print(reason, file=sys.stderr)
    return len(failed)


def main(words):
    asked = parse_arguments(words)
    began = time.time()
    check_library(asked.to)
    all_jobs = [job for path in asked.recordings for job in jobs_of(path.resolve(), asked)]
    outputs = dict.fromkeys(job.output for job in all_jobs)
    refuse_conflicts(all_jobs)
    for output in outputs:
        lock(output)
        tidy(output, names_kept(all_jobs))
    # For workers that this process starts, which read their registry of plugins once
    os.environ["GST_PLUGIN_PATH"] = os.pathsep.join(plugin_folders())
    outcomes = {job: {"status": "done before"} for job in all_jobs if job.is_done()}
    jobs = [job for job in all_jobs if job not in outcomes]
    print(f"{len(all_jobs)} recordings, {len(outcomes)} of them done before", flush=True)
    interrupted = process(asked, jobs, outcomes) if jobs else None
    for ending in SIGNALS:
        signal.signal(ending, signal.SIG_IGN)
    for output in outputs:
        tidy(output, names_kept(jobs) if interrupted else [])
    failed = print_outcomes(outcomes)
    if asked.report:
        write_report(asked.report, asked, outcomes, began)
    if interrupted:
        print(f"{PROGRAM}: interrupted; the same command continues with the "
              f"{len(all_jobs) - len(outcomes)} recordings that are left", file=sys.stderr)
        sys.exit(interrupted)
    processed = len(jobs) - failed
    print(f"{processed} processed, {failed} failed, into {', '.join(map(str, outputs))}")
    sys.exit(1 if failed else 0)
