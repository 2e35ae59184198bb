#!/usr/bin/env python3
"""ges-effect: a film over a background on a timeline, keyed by an effect of GStreamer Editing Services.

ges-effect.py FILM BACKGROUND OUTPUT.webm [KEY-COLOUR]

Pitivi lists the same effect as "Green screen". With a transparent background colour the lower layer
shows through. The result has no sound, and the size and rate that GES has by itself.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import sys

import gi

gi.require_version("GES", "1.0")
gi.require_version("Gst", "1.0")
gi.require_version("GstPbutils", "1.0")
from gi.repository import GES, GLib, Gst, GstPbutils  # noqa: E402

EFFECT = "greenscreenbin background-color=0"  # which finds the colour of the screen


def add_clip(timeline, path, duration=None):
    """Adds a layer below those that the timeline has, with a clip of this file."""
    try:
        asset = GES.UriClipAsset.request_sync(path.resolve().as_uri())
    except GLib.Error as error:
        raise SystemExit(f"{path}: {error.message}") from None
    return timeline.append_layer().add_asset(
        asset, 0, 0, duration or asset.get_duration(), GES.TrackType.VIDEO)


def webm():
    profile = GstPbutils.EncodingContainerProfile.new(None, None, Gst.Caps("video/webm"), None)
    profile.add_profile(GstPbutils.EncodingVideoProfile.new(Gst.Caps("video/x-vp8"), None, None, 0))
    return profile


def render(timeline, output):
    pipeline = GES.Pipeline()
    pipeline.set_timeline(timeline)
    pipeline.set_render_settings(output.resolve().as_uri(), webm())
    pipeline.set_mode(GES.PipelineFlags.RENDER)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        raise SystemExit(message.parse_error()[0].message)


def main():
    if len(sys.argv) not in (4, 5):
        raise SystemExit(__doc__.split("\n\n")[1])
    film, background, output = map(pathlib.Path, sys.argv[1:4])
    Gst.init(None)
    GES.init()
    timeline = GES.Timeline.new_audio_video()
    actor = add_clip(timeline, film)
    key = f" auto-key=none key-color={sys.argv[4]}" if sys.argv[4:] else ""
    actor.add(GES.Effect.new(EFFECT + key))
    add_clip(timeline, background, actor.get_duration())
    render(timeline, output)
    print(f"{output}: {actor.get_duration() / Gst.SECOND:.1f} s")


main()
