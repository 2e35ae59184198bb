"""Bar with play and pause, position, duration and loop of a pipeline

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .gtk import Gst, Gtk, icon_button, name_widget

SECONDS_PER_KEY = 5  # of Left and Right in the seek bar


class Transport:
    """`view`: a View, whose pipeline plays and which handles play, pause and loop"""

    def __init__(self, view):
        self.view = view
        self.seekable = self.updating = False
        self.wanted = None  # position of a seek that waits for the one before it
        self.seeking = False
        self.play = icon_button("media-playback-pause-symbolic", f"Pause ({view.PLAY_KEY})",
                                view.toggle_play)
        self.loop = icon_button("media-playlist-repeat-symbolic", "Loop: play again at the end (L)",
                                lambda: None, "Loop", Gtk.ToggleButton)
        self.adjustment = Gtk.Adjustment(step_increment=1, page_increment=SECONDS_PER_KEY)
        self.adjustment.connect("value-changed", lambda a: self.seek(a.get_value()))
        self.bar = Gtk.Scale(adjustment=self.adjustment, draw_value=False, no_show_all=True)
        self.bar.connect("scroll-event", lambda *_: True)
        name_widget(self.bar, "Position in seconds")
        self.time = Gtk.Label(no_show_all=True)
        self.time.get_style_context().add_class("status")

    def show_state(self, state):
        """Shows the button for what a click does. `state`: playing, paused or ended"""
        icon, text = {
            "playing": ("media-playback-pause-symbolic", f"Pause ({self.view.PLAY_KEY})"),
            "paused": ("media-playback-start-symbolic", f"Play ({self.view.PLAY_KEY})"),
            "ended": ("media-playback-start-symbolic", f"Play again ({self.view.PLAY_KEY})"),
        }[state]
        self.play.get_image().set_from_icon_name(icon, Gtk.IconSize.BUTTON)
        self.play.set_tooltip_text(text)
        name_widget(self.play, text.partition(" (")[0])

    def update(self):
        """Shows the position, and the seek bar once the pipeline says that it can seek."""
        pipeline = self.view.pipeline
        self.seekable = self.seekable or can_seek(pipeline)
        known, duration = pipeline.query_duration(Gst.Format.TIME)
        found, position = pipeline.query_position(Gst.Format.TIME)
        shown = bool(self.seekable and known and duration > 0)
        self.bar.set_visible(shown)
        self.time.set_visible(shown)
        if not shown or not found or self.seeking:
            return
        self.updating = True
        self.adjustment.set_upper(duration / Gst.SECOND)
        self.adjustment.set_value(position / Gst.SECOND)
        self.updating = False
        self.time.set_text(f"{clock(position)} / {clock(duration)}")

    def seek(self, seconds):
        """Seeks, unless a seek is under way: then the last position that was asked for follows."""
        if self.updating:
            return
        if self.seeking:
            self.wanted = seconds
            return
        self.wanted = None
        self.seeking = self.view.sinks[0].seek_simple(
            Gst.Format.TIME, Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE,
            round(seconds * Gst.SECOND))
        self.view.has_moved()

    def seek_is_done(self):
        self.seeking = False
        if self.view.playing and not self.view.ended:
            # A seek that flushes several branches can leave a pipeline paused.
            self.view.pipeline.set_state(Gst.State.PLAYING)
        if self.wanted is not None:
            self.seek(self.wanted)

    def rewind(self):
        """Seeks to the start. Returns whether that was possible."""
        self.seeking, self.wanted = False, None
        self.seekable = self.seekable or can_seek(self.view.pipeline)
        return self.seekable and self.view.sinks[0].seek_simple(
            Gst.Format.TIME, Gst.SeekFlags.FLUSH, 0)


def can_seek(pipeline):
    query = Gst.Query.new_seeking(Gst.Format.TIME)
    return pipeline.query(query) and query.parse_seeking()[1]


def clock(time):
    """Returns a time in nanoseconds as m:ss or h:mm:ss."""
    minutes, seconds = divmod(time // Gst.SECOND, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
