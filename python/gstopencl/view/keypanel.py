"""Panel of opencl-view --key: key colour, background and outputs

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .controls import colour_of, rgba_of
from .gtk import GLib, Gtk, Pango, name_widget


def rgb_of(swatch):
    """Returns the colour 0xRRGGBB of a Gtk.ColorButton."""
    return colour_of(swatch) & 0xffffff


def button_of(text, tooltip, act, kind=Gtk.Button):
    """Returns a button. act (button)"""
    button = kind(label=text, tooltip_text=tooltip)
    button.connect("toggled" if issubclass(kind, Gtk.ToggleButton) else "clicked", act)
    return button


class Panel:
    """Rows of the panel, in `widget`.

    `view` has use_background (URI or colour), pick_key (), find_key (), draw_garbage (),
    record (path, microphone), end_recording (), feed_camera (on)."""

    def __init__(self, view, has_sound):
        self.view = view
        self.widget = Gtk.Grid(column_spacing=6, row_spacing=6, margin=12)
        self.swatch = Gtk.ColorButton(tooltip_text="Key colour")
        name_widget(self.swatch, "Key colour")
        self.swatch.connect("color-set", lambda b: view.use_key(rgb_of(b)))
        self.colour = Gtk.ColorButton(tooltip_text="A colour as the background")
        name_widget(self.colour, "Background colour")
        self.colour.connect("color-set", lambda b: view.use_background(rgb_of(b)))
        self.behind = button_of(
            "Picture or film…", "A picture or film as the background. It can also be dropped on "
            "the picture", lambda _: self.choose_background())
        self.behind.get_child().set_ellipsize(Pango.EllipsizeMode.MIDDLE)
        self.record = button_of("Record to file…", "Write the result to a film (Ctrl+R)",
                                lambda _: self.choose_record())
        self.microphone = Gtk.CheckButton(
            label="With microphone", no_show_all=has_sound, tooltip_text="Record sound, too")
        self.camera = button_of(
            "Virtual camera", "Give the result to programs for video calls",
            lambda b: view.feed_camera(b.get_active()), Gtk.ToggleButton)
        rows = (
            ("Key", button_of("Pick", "Click into the picture, on the screen",
                              lambda _: view.pick_key()),
             button_of("Find screen", "Find a green or blue screen in the next frames",
                       lambda _: view.find_key()), self.swatch),
            ("", button_of("Garbage polygon", "Draw a polygon around what is to stay (g)",
                           lambda _: view.draw_garbage())),
            ("Background", self.behind, self.colour),
            ("Output", self.record, self.camera),
            ("", self.microphone))
        for row, (text, *widgets) in enumerate(rows):
            self.widget.attach(Gtk.Label(label=text, xalign=0), 0, row, 1, 1)
            box = Gtk.Box(spacing=6, hexpand=True)
            for widget in widgets:
                box.pack_start(widget, not isinstance(widget, Gtk.ColorButton), True, 0)
            self.widget.attach(box, 1, row, 1, 1)

    # Key and background

    def show_key(self, colour):
        self.swatch.set_rgba(rgba_of(0xff000000 | colour))

    def show_background(self, value):
        """Shows what is behind: a colour or the name of a file."""
        is_colour = isinstance(value, int)
        self.behind.set_label("Picture or film…" if is_colour else " ".join(value.splitlines()))
        self.behind.get_child().set_ellipsize(Pango.EllipsizeMode.MIDDLE)
        if is_colour:
            self.colour.set_rgba(rgba_of(0xff000000 | value))

    def choose_background(self):
        dialog = Gtk.FileChooserNative.new(
            "Background", self.view.window, Gtk.FileChooserAction.OPEN, None, None)
        kinds = Gtk.FileFilter()
        kinds.set_name("Pictures and films")
        for kind in "image/*", "video/*":
            kinds.add_mime_type(kind)
        dialog.add_filter(kinds)
        if dialog.run() == Gtk.ResponseType.ACCEPT:
            self.view.use_background(dialog.get_uri())

    # Recording

    def choose_record(self):
        if self.view.recording:
            self.view.end_recording()
            return
        dialog = Gtk.FileChooserNative.new(
            "Record to file", self.view.window, Gtk.FileChooserAction.SAVE, None, None)
        dialog.set_do_overwrite_confirmation(True)
        dialog.set_current_name(GLib.DateTime.new_now_local().format("keyed-%Y%m%d-%H%M%S.mkv"))
        if dialog.run() == Gtk.ResponseType.ACCEPT:
            self.view.record(dialog.get_filename(), self.microphone.get_active())

    def show_recording(self, is_recording):
        self.record.set_label("Stop recording" if is_recording else "Record to file…")
        self.microphone.set_sensitive(not is_recording)

    def show_camera(self, is_fed):
        self.camera.set_active(is_fed)
