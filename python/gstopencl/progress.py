"""Progress in bytes, with rate and remaining time

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import sys
import threading
import time

ON_TERMINAL, REDIRECTED = 0.5, 10  # seconds between two reports
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
    """Reports on one line of a terminal, or in lines where the output is redirected. `total` is the
    number of bytes, `recordings` the number of recordings."""

    def __init__(self, total, recordings, file=None):
        self.file = file or sys.stdout
        self.total, self.recordings, self.done, self.finished = total, recordings, 0, 0
        self.running = {}  # bytes done of recordings that are not finished, by recording
        self.is_terminal, self.began = self.file.isatty(), time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.report, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        if self.is_terminal:
            print(file=self.file)

    def add(self, count):
        self.done += count

    def end_recording(self):
        self.finished += 1

    def line(self):
        done = self.done + sum(list(self.running.values()))
        rate = done / max(time.monotonic() - self.began, 1e-3)
        left = in_time((self.total - done) / rate) if done else "unknown"
        return f"{in_bytes(done)} of {in_bytes(self.total)}, {self.finished} of " \
               f"{self.recordings} recordings, {in_bytes(rate)}/s, remaining time {left}"

    def report(self):
        while not self.ended.wait(ON_TERMINAL if self.is_terminal else REDIRECTED):
            self.show()
        self.show()

    def show(self):
        if self.is_terminal:
            print(f"\r{self.line()}\x1b[K", end="", file=self.file, flush=True)
        else:
            print(self.line(), file=self.file, flush=True)
