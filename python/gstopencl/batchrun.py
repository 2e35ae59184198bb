"""A run of oct-process: its Dask workers, and the tasks that they are given

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import contextlib
import logging
import os
import pathlib
import tempfile
import zipfile
from asyncio import CancelledError

from .jobs import (PACKAGE, TOPIC, Plan, begin_all, discard, extent_of, finish, journal_of,
                   listed_devices, parts_done, run_part, version)
from .program import Failed
from .recordings import library
from .system import END_AT_ONCE, without_interrupts

# Dask needs some 10 ms of a CPU for a task, so that small recordings share tasks.
PACK, PACK_BYTES, PACKS_OF_WORKER = 64, 32 << 20, 4
SCHEDULER_ANSWERS_AFTER = 10  # seconds
LOCAL = "127.0.0.1:0"


def kill_workers(cluster):
    """Ends workers, also in the middle of a task. Dask would wait for tasks, and some of its
    versions close workers twice and log a traceback."""
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # does not start another one
        if nanny.pid:
            os.kill(nanny.pid, END_AT_ONCE)


@contextlib.contextmanager
def connected(asked):
    """Yields a client of the scheduler that was asked for, or of workers of this machine."""
    distributed = library("distributed", "python3-distributed")
    logging.disable()  # failures are listed at the end
    if asked.scheduler or asked.scheduler_file:
        with connect_to_scheduler(distributed, asked) as client:
            yield client
        return
    library("cryptography", "python3-cryptography")  # for Dask's Security
    from dask import config
    config.set({"distributed.worker.profile.enabled": False})
    with contextlib.ExitStack() as stack:
        with without_interrupts():
            folder = stack.enter_context(tempfile.TemporaryDirectory(
                prefix="oct-process-", ignore_cleanup_errors=True))
            stack.enter_context(config.set({"temporary-directory": folder}))  # of the scheduler
            # Pages of files that are mapped into memory must not count against a worker. Keys of
            # this run keep other users of this machine out, whose pickles could run any code.
            cluster = stack.enter_context(distributed.LocalCluster(
                n_workers=asked.workers or len(listed_devices()), threads_per_worker=1,
                memory_limit=0, local_directory=folder, dashboard_address=LOCAL,
                worker_dashboard_address=LOCAL, security=distributed.Security.temporary(),
                silence_logs=logging.CRITICAL))
            client = stack.enter_context(distributed.Client(cluster))
        stack.callback(kill_workers, cluster)
        yield client


def connect_to_scheduler(distributed, asked):
    option, where = ("--scheduler", {"address": asked.scheduler}) if asked.scheduler else \
                    ("--scheduler-file", {"scheduler_file": asked.scheduler_file})
    value = asked.scheduler or asked.scheduler_file
    if asked.scheduler_file and not os.path.isfile(value):
        raise Failed(f"{option} {value}: no such file")
    try:
        client = distributed.Client(**where, timeout=SCHEDULER_ANSWERS_AFTER)
    except (OSError, ValueError) as error:
        raise Failed(f"{option} {value}: no scheduler answers there: {error}") from None
    send_package(client)
    return client


def send_package(client):
    """Gives this package to the workers, where it need not be installed."""
    from distributed.diagnostics.plugin import UploadFile
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / f"gstopencl-{version()}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for module in PACKAGE.glob("*.py"):
                file.write(module, f"gstopencl/{module.name}")
        register = getattr(client, "register_plugin", None) or client.register_worker_plugin
        register(UploadFile(str(archive)))


def reason_of(error):
    by_name = {"KilledWorker": "each worker that processed it died",
               "CancelledError": "the connection to the scheduler was lost"}
    if type(error).__name__ in by_name:
        return by_name[type(error).__name__]
    said = str(error) or type(error).__name__
    return said.splitlines()[0]


def size_of(job):
    try:
        return extent_of(job.recording)[0]
    except OSError:
        return 0  # the worker reports it


class Parts:
    """A recording that is processed in parts"""

    def __init__(self, plan):
        self.plan, self.journal = plan, journal_of(plan.unfinished)
        done = parts_done(plan.unfinished)
        self.left = {number for number, part in enumerate(plan.parts) if part[:2] not in done}
        self.seconds, self.warnings = 0, set()

    def end_part(self, number, result):
        self.left.discard(number)
        self.seconds += result["seconds"]
        self.warnings.update(result["warnings"])
        with open(self.journal, "a", encoding="ascii") as journal:
            journal.write("{} {}\n".format(*self.plan.parts[number]))

    def discard(self):
        """Makes room for the other recordings. What tasks still write is removed at the end."""
        with contextlib.suppress(OSError):
            discard(self.plan.unfinished)

    def share(self, number):
        start, stop = self.plan.parts[number][:2]
        return (stop - start) / self.plan.parts[-1][1]


def packs_of(jobs, sizes, workers):
    """Yields tuples of jobs that a worker does in one task. A timeout is for each recording."""
    limit = max(1, min(PACK, len(jobs) // (PACKS_OF_WORKER * max(workers, 1))))
    pack, room = [], 0
    for job in jobs:
        room -= sizes[job]
        if pack and (len(pack) == limit or room < 0 or job.timeout):
            yield tuple(pack)
            pack = []
        if not pack:
            room = PACK_BYTES - sizes[job]
        pack.append(job)
    yield tuple(pack)


class Run:
    """Jobs at work: the next tasks are submitted as others finish. Outcomes go into `outcomes`,
    dictionaries with a reason where a job failed."""

    def __init__(self, client, jobs, retries, outcomes):
        self.client, self.retries, self.outcomes = client, retries, outcomes
        self.sizes = {job: size_of(job) for job in jobs}
        self.total = sum(self.sizes.values())
        self.parts, self.tasks = {}, {}
        self.jobs = jobs

    def submit(self, job, after, function, *arguments):
        """Lets a worker call function (job, *arguments), and then calls after (job, result,
        *arguments)."""
        future = self.client.submit(function, job, *arguments, pure=False, retries=self.retries)
        self.tasks[future] = job, after, arguments
        self.futures.add(future)

    def run(self, progress):
        from distributed import as_completed
        self.progress, self.futures = progress, as_completed()
        by_name = {str(job.recording): job for job in self.jobs}

        def note(event):
            job = by_name.get(event[1]["recording"])  # None: of another client
            if job and job not in self.outcomes:
                progress.running[job] = self.sizes[job] * event[1]["share"]

        self.client.subscribe_topic(TOPIC, note)
        workers = len(self.client.scheduler_info()["workers"])
        for pack in packs_of(self.jobs, self.sizes, workers):
            self.submit(pack, self.after_begin, begin_all)
        for future in self.futures:
            work, after, arguments = self.tasks.pop(future)
            if work in self.outcomes:
                continue  # another part has failed
            try:
                result = future.result()
            except (Exception, CancelledError) as error:  # of any library
                result = reason_of(error)
            future.release()
            after(work, result, *arguments)

    def after_begin(self, pack, results):
        if isinstance(results, str):
            results = [None if len(pack) > 1 else {"reason": results}] * len(pack)
        for job, result in zip(pack, results):
            if result is None:
                self.submit((job,), self.after_begin, begin_all)
            elif isinstance(result, Plan):
                self.begin_parts(job, result)
            else:
                self.end(job, result)

    def begin_parts(self, job, result):
        self.parts[job] = parts = Parts(result)
        for number in range(len(result.parts)):
            if number in parts.left:
                self.submit(job, self.after_part, run_part, result, number)
            else:
                self.progress.add(self.sizes[job] * parts.share(number))
        self.finish_if_complete(job)

    def after_part(self, job, result, _, number):
        parts = self.parts[job]
        if self.has_failed(job, result):
            return
        try:
            parts.end_part(number, result)
        except OSError as error:
            self.end(job, {"reason": f"{parts.journal.parent}: {error.strerror}"})
            return
        self.progress.add(self.sizes[job] * parts.share(number))
        self.finish_if_complete(job)

    def finish_if_complete(self, job):
        if not self.parts[job].left:
            self.submit(job, self.after_finish, finish, self.parts[job].plan)

    def after_finish(self, job, result, _):
        parts = self.parts[job]
        if self.has_failed(job, result):
            return
        parts.journal.unlink(missing_ok=True)
        result["seconds"] += parts.seconds
        result["warnings"] = sorted(parts.warnings.union(result["warnings"]))
        result["parts"] = len(parts.plan.parts)
        self.end(job, result)

    def has_failed(self, job, result):
        """Ends a job of which a part has failed."""
        if isinstance(result, str):
            result = {"reason": result}
        if "reason" in result:
            self.end(job, result)
        return "reason" in result

    def end(self, job, result):
        if "reason" in result and str(job.recording) not in result["reason"]:
            result["reason"] = f"{job.recording}: {result['reason']}"
        self.outcomes[job] = {"bytes": self.sizes[job], **result}
        self.progress.running.pop(job, None)
        if job not in self.parts:
            self.progress.add(self.sizes[job])
        elif "reason" in result:
            self.client.cancel([future for future, (other, *_) in self.tasks.items()
                                if other == job])
            self.parts[job].discard()
        self.progress.end_recording()
