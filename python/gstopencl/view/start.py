"""First page of opencl-view: what to open. Each choice runs opencl-view again with arguments; the
page comes back with the reason if that fails.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import subprocess
import sys
import threading

from .gtk import GLib, Gtk, MessageBar, at_signal, in_column, name_widget, need_display, pack
from .main import FILMS, RECORDINGS

EXAMPLE = "videotestsrc is-live=true pattern=ball ! openclupload ! openclconvert"


class Start:
    """`run (words)`: starts the program and returns a subprocess.Popen with its errors"""

    def __init__(self, run=None):
        self.run = run or run_program
        self.status, self.child = 0, None
        self.window = Gtk.Window(title="opencl-view", default_width=620, icon_name="opencl-view")
        self.window.connect("delete-event", lambda *_: Gtk.main_quit() or True)
        self.window.add(self.layout())

    def layout(self):
        self.line = Gtk.Entry(text=EXAMPLE)
        name_widget(self.line, "Pipeline")
        self.line.connect("activate", lambda _: self.open_line())
        choices = (
            ("Optical coherence tomography",
             "B-scans, en face view and plots of a recording or a simulated phantom",
             [("Open a _recording…", lambda: self.open_file("--oct", "OCT recordings", RECORDINGS)),
              ("_Phantom", lambda: self.open(["--oct"]))]),
            ("Green screen",
             "Key a film or a camera, and put another background behind it",
             [("Open a _film…", lambda: self.open_file("--key", "Films", FILMS)),
              ("_Camera", lambda: self.open(["--key"]))]),
            ("Any pipeline", "Elements as for gst-launch-1.0, without a sink",
             [self.line, ("_Show", self.open_line)]),
        )
        self.messages = MessageBar()
        return in_column(self.messages.bar, *(choice(*one) for one in choices))

    def open_line(self):
        line = self.line.get_text().strip()
        if line:
            self.open([line])
        else:
            self.fail("The pipeline is empty.")

    def open_file(self, entry, name, suffixes):
        chooser = Gtk.FileChooserNative(title="Open", transient_for=self.window,
                                        action=Gtk.FileChooserAction.OPEN)
        for text, ends in (name, suffixes), ("All files", ("",)):
            kind = Gtk.FileFilter()
            kind.set_name(text)
            for end in ends:
                kind.add_pattern(f"*{end}")
                kind.add_pattern(f"*{end.upper()}")
            chooser.add_filter(kind)
        if chooser.run() == Gtk.ResponseType.ACCEPT:
            self.open([entry, chooser.get_filename()])
        chooser.destroy()

    def open(self, words):
        """Hides the page until the program ends."""
        self.messages.bar.hide()
        self.window.hide()
        self.child = self.run(words)
        threading.Thread(target=self.wait, args=[self.child], daemon=True).start()

    def wait(self, child):
        errors = child.communicate()[1]
        GLib.idle_add(self.ended, child.returncode, errors)

    def ended(self, status, errors):
        """Ends with the program, or shows why it failed."""
        sys.stderr.write(errors)
        if status == 0:
            Gtk.main_quit()
        else:
            lines = [line for line in errors.splitlines() if line.strip()]
            self.window.show()
            self.fail(lines[-1] if lines else f"opencl-view ended with status {status}.")

    def fail(self, reason):
        self.messages.show(reason, Gtk.MessageType.ERROR)


def choice(title, text, widgets):
    """Returns a frame with a title, a sentence, and buttons or other widgets."""
    heading = Gtk.Label(xalign=0)
    heading.set_markup(f"<big><b>{title}</b></big>")
    line = Gtk.Box(spacing=8)
    for widget in widgets:
        if isinstance(widget, tuple):
            label, act = widget
            widget = Gtk.Button(label=label, use_underline=True)
            widget.connect("clicked", lambda _, act=act: act())
        pack(line, widget, expand=[widget] if isinstance(widget, Gtk.Entry) else ())
    return in_column(heading, Gtk.Label(label=text, xalign=0, wrap=True), line, spacing=6,
                     margin=14)


def run_program(words):
    return subprocess.Popen([sys.executable, sys.argv[0], *words], stderr=subprocess.PIPE,
                            text=True)


def main(_words):
    need_display()
    page = Start()
    at_signal(Gtk.main_quit)
    page.window.show_all()
    Gtk.main()
    if page.child and page.child.poll() is None:
        page.child.terminate()
