"""Progress of long work on one line of a terminal, with the remaining time

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys
import threading
import time

STEP, SHORT = 0.5, 3  # seconds between two reports, and before the first one
UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def in_bytes(number):
    unit = 0
    while number >= (999.95 if unit else 999.5) and unit < len(UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.{1 if unit else 0}f} {UNITS[unit]}"


def in_time(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


class Progress:
    """Shows which share is done and how long the rest takes. Shows nothing in the first seconds, and
    nothing where standard error is no terminal."""

    def __init__(self, file=None):
        self.file, self.began, self.said = file, time.monotonic(), 0
        self.is_terminal = (file or sys.stderr).isatty()

    def __call__(self, share, text=""):
        """Shows a share from 0 to 1, and a text about it. 0 is not shown: it may be unknown."""
        now = time.monotonic()
        if share > 0 and now >= max(self.said + STEP, self.began + SHORT):
            left = in_time((now - self.began) * (1 - share) / share)
            self.show(f"{share:.0%}{text}, remaining time {left}")

    def show(self, text):
        if self.is_terminal:
            self.said = time.monotonic()
            print(f"\r{text}\x1b[K", end="", file=self.file or sys.stderr, flush=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.said:
            self.show("")


class FilesProgress(Progress):
    """Progress of a program that plays files one after another"""

    def __init__(self, count=1):
        super().__init__()
        self.count = count
        self.begin(0)

    def begin(self, number):
        """Notes that `number` files have been played."""
        self.number, self.text = number, f", file {number + 1} of {self.count}" * (self.count > 1)
        self(number / self.count, self.text)

    def poll(self, pipeline):
        """Asks the element "file_shown" how much of the file has been played."""
        from gi.repository import Gst
        film = pipeline.get_by_name("file_shown")
        has_end, end = film.query_duration(Gst.Format.TIME) if film else (False, 0)
        if not has_end or end <= 0:  # A decoder that has no time logs an error when it is asked.
            return
        has_place, place = film.query_position(Gst.Format.TIME)
        if has_place and 0 < place < end:
            self((self.number + place / end) / self.count, self.text)


class BytesProgress(Progress):
    """Progress of recordings, of which other threads say how much is done. `total` is the number of
    bytes, `recordings` the number of recordings."""

    def __init__(self, total, recordings, file=None):
        super().__init__(file)
        self.total, self.recordings, self.done, self.finished = total, recordings, 0, 0
        self.running = {}  # bytes done of recordings that are not finished, by recording
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.report, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        super().__exit__()

    def add(self, count):
        self.done += count

    def end_recording(self):
        self.finished += 1

    def report(self):
        while not self.ended.wait(STEP):
            done = self.done + sum(list(self.running.values()))
            rate = done / max(time.monotonic() - self.began, 1e-3)
            self(done / max(self.total, 1), f", {in_bytes(done)} of {in_bytes(self.total)}, "
                 f"{self.finished} of {self.recordings} recordings, {in_bytes(rate)}/s")
