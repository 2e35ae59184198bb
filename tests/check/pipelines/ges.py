#!/usr/bin/env python3
"""Promise: GStreamer Editing Services mix a timeline with openclcompositorbin as with compositor.

Two clips overlap with a cross-fade over a third one, and a keyed clip lies above them. Frames of
both mixers are compared.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import subprocess
import sys
import tempfile

import gi
import numpy

gi.require_version("GES", "1.0")
gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import GES, Gst, GstApp  # noqa: E402, F401

WIDTH, HEIGHT, RATE, SECONDS = 1280, 720, 10, 2  # of the clips: other sizes are scaled in other ways
MIXERS = ("compositor", "openclcompositorbin")


def add_clip(layer, pattern, start, seconds):
    clip = GES.TestClip.new()
    clip.set_start(int(start * Gst.SECOND))
    clip.set_duration(int(seconds * Gst.SECOND))
    clip.set_vpattern(pattern)
    clip.set_mute(True)
    assert layer.add_clip(clip)
    return clip


def timeline():
    line = GES.Timeline.new()
    track = GES.VideoTrack.new()
    track.set_restriction_caps(Gst.Caps(
        f"video/x-raw,width={WIDTH},height={HEIGHT},framerate={RATE}/1"))
    assert line.add_track(track)
    above, faded, below = (line.append_layer() for _ in range(3))
    key = add_clip(above, GES.VideoTestPattern.GREEN, 0.2, 0.6)
    key.add(GES.Effect.new("greenscreenbin background-color=0 auto-key=none key-color=0xff00ff00"))
    faded.set_auto_transition(True)
    add_clip(faded, GES.VideoTestPattern.SMPTE75, 0, 1.2)
    add_clip(faded, GES.VideoTestPattern.CHECKERS_8, 0.8, 1.2)
    add_clip(below, GES.VideoTestPattern.BLUE, 0, SECONDS)
    line.commit()
    return line


def mixers_of(pipeline):
    found = pipeline.iterate_recurse()
    while (item := found.next())[0] == Gst.IteratorResult.OK:
        factory = item[1].get_factory()
        if factory and factory.get_name() in MIXERS:
            yield factory.get_name()


def render(mixer, path):
    """Writes all frames of the timeline."""
    Gst.init(None)
    Gst.Registry.get().find_feature(mixer, Gst.ElementFactory).set_rank(1000)
    GES.init()
    sink = Gst.parse_bin_from_description(
        "videoconvert ! video/x-raw,format=RGBA ! appsink name=frames sync=false", True)
    pipeline = GES.Pipeline.new()
    assert pipeline.set_timeline(timeline())
    pipeline.preview_set_video_sink(sink)
    pipeline.set_mode(GES.PipelineFlags.VIDEO_PREVIEW)
    pipeline.set_state(Gst.State.PAUSED)
    assert pipeline.get_state(60 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS
    pipeline.set_state(Gst.State.PLAYING)
    frames = sink.get_by_name("frames")
    with open(path, "wb") as file:
        while sample := frames.try_pull_sample(20 * Gst.SECOND):
            buffer = sample.get_buffer()
            file.write(buffer.extract_dup(0, buffer.get_size()))
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    assert not error, error.parse_error()
    assert set(mixers_of(pipeline)) == {mixer}, set(mixers_of(pipeline))
    pipeline.set_state(Gst.State.NULL)


def main():
    if len(sys.argv) == 3:
        render(*sys.argv[1:])
        return
    made = []
    for mixer in MIXERS:
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run([sys.executable, __file__, mixer, file.name], check=True, timeout=200)
            made.append(numpy.fromfile(file.name, "u1").reshape(-1, HEIGHT, WIDTH, 4).astype(int))
    expected, mixed = made
    assert mixed.shape == expected.shape and len(mixed) >= RATE * SECONDS, \
        (mixed.shape, expected.shape)
    assert len({frame.tobytes() for frame in mixed}) > 4  # the cross-fade
    apart = abs(mixed - expected)[..., :3]
    # compositor blends with weights of eight bits, and in Y'CbCr of eight bits since 1.24.
    still = [frame.mean() for number, frame in enumerate(apart) if number not in range(8, 12)]
    assert apart.max() <= 8 and max(still) <= 2, (apart.max(), still)
    print(f"{len(mixed)} frames, at most {apart.max()} levels apart")


if __name__ == "__main__":
    main()
