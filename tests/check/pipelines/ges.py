#!/usr/bin/env python3
"""Promise: GStreamer Editing Services mix timelines with openclcompositorbin as with compositor.

ges.py [NUMBER [FIRST]]   NUMBER of random timelines (default 8) from seed FIRST (default 0) on

Each timeline has clips of mixed sizes, rates and formats, that overlap with transitions of several
kinds, with titles, rotation, effects, changes of speed, positions and animated properties. Both
mixers render each of them, and all frames are compared.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import pathlib
import random
import subprocess
import sys
import tempfile

import gi
import numpy

SKIPPED = 77
try:
    gi.require_version("GES", "1.0")
except ValueError:
    print("NOT CHECKED: no gir1.2-ges-1.0")
    sys.exit(SKIPPED)
gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
gi.require_version("GstController", "1.0")
from gi.repository import GES, GObject, Gst, GstApp, GstController  # noqa: E402, F401

MIXERS = ("compositor", "openclcompositorbin")
SECONDS = 1.5
# Smooth colours of legal RGB, which both mixers scale alike: a small picture that is scaled up
SMOOTH = ("videotestsrc num-buffers={frames} pattern={pattern} ! video/x-raw,format=RGBA,width=12,"
          "height=9,framerate={rate}/1 ! videoscale method=bilinear2 add-borders=false ! "
          "video/x-raw,width={width},height={height},pixel-aspect-ratio=1/1 ! "
          "videoconvert dither=none ! video/x-raw,format={format} ! ")
TURNED = "taginject tags=image-orientation=rotate-90 ! qtmux"
SOFT = "smptealpha type=101 position=0.3 border=30000 ! video/x-raw,format=RGBA ! pngenc ! qtmux"
# Places are even, because compositor moves odd ones in 4:2:0 video.
CLIPS = {  # name: pattern, width, height, rate, format, encoder and container
    "small.mkv": ("smpte75", 176, 132, 25, "I420", "matroskamux"),
    "wide.mkv": ("snow", 384, 216, 30, "I420", "matroskamux"),
    "large.mkv": ("colors", 480, 270, 10, "YUY2", "matroskamux"),
    "alpha.mov": ("smpte", 160, 120, 15, "RGBA", SOFT),
    "deep.mov": ("smpte100", 320, 180, 24, "v210", "qtmux"),
    "turned.mov": ("smpte", 180, 180, 25, "RGB", TURNED),
}
TRACKS = [(320, 240, 15), (320, 180, 10), (256, 192, 12)]
TRANSITIONS = ["CROSSFADE", "BAR_WIPE_LR", "BOX_WIPE_TL", "IRIS_RECT", "CLOCK_CW12", "FADE_IN"]
# Those that make no colours outside RGB, which compositor keeps in Y'CbCr
EFFECTS = ["videobalance saturation=0.4", "videoflip method=horizontal-flip",
           "videoflip method=rotate-180"]
KEY = "greenscreenbin background-color=0 auto-key=none key-color=0xff00ff00"
# compositor blends with weights of eight bits, in Y'CbCr of eight bits, and scales by another
# filter. In 4:2:0 it moves layers that are at odd places.
MOST_MEAN, MOST_OF_99_PERCENT = 6, 32


def run(line):
    pipeline = Gst.parse_launch(line)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    assert message and message.type == Gst.MessageType.EOS, (line, message.parse_error())
    pipeline.set_state(Gst.State.NULL)


def write_clips(folder):
    for name, (pattern, width, height, rate, pixels, end) in CLIPS.items():
        run(SMOOTH.format(frames=int(rate * 3.2), pattern=pattern, rate=rate, width=width,
                          height=height, format=pixels)
            + f"{end} ! filesink location={folder}/{name}")


def add_clip(draw, folder, layer, start, seconds, inpoint=None):
    """Adds a clip of a random file."""
    path = folder / draw.choice(sorted(CLIPS))
    asset = GES.UriClipAsset.request_sync(path.as_uri())
    inpoint = draw.choice([0, 0.4]) if inpoint is None else inpoint
    clip = layer.add_asset(asset, int(start * Gst.SECOND), int(inpoint * Gst.SECOND),
                           int(seconds * Gst.SECOND), GES.TrackType.VIDEO)
    assert clip, path
    return clip


def animate(source, name, first, last):
    control = GstController.InterpolationControlSource.new()
    control.set_property("mode", GstController.InterpolationMode.LINEAR)
    control.set(0, first)
    control.set(4 * Gst.SECOND, last)
    assert source.set_control_source(control, name, "direct-absolute")


def place(draw, clip, width, height):
    """Places a clip, or animates it."""
    source = clip.find_track_element(None, GES.VideoSource)
    kind = draw.choice(["none", "none", "corner", "moving", "fading", "shown through"])
    if kind in ("corner", "moving"):
        for name, value in (("posx", draw.randrange(-20, width // 2, 2)), ("posy", draw.randrange(
                -20, height // 2, 2)), ("width", width // 2), ("height", height // 2)):
            assert source.set_child_property(name, value)
    if kind == "moving":
        animate(source, "posx", -40, width)
    elif kind == "fading":
        animate(source, "alpha", 1, 0)
    elif kind == "shown through":
        assert source.set_child_property("alpha", draw.choice([0.25, 0.5, 0.8]))


def add_overlapping(draw, folder, layer, size):
    """Two clips with a transition between them"""
    layer.set_auto_transition(True)
    for start, seconds in ((0, 1), (0.5, 1)):
        clip = add_clip(draw, folder, layer, start, seconds)
        if draw.random() < 0.3:
            place(draw, clip, *size)
        if draw.random() < 0.3:
            assert clip.add(GES.Effect.new(draw.choice(EFFECTS)))
    for clip in layer.get_clips():
        if isinstance(clip, GES.TransitionClip):
            clip.set_property("vtype", getattr(
                GES.VideoStandardTransitionType, draw.choice(TRANSITIONS)))


def add_single(draw, folder, layer, size):
    """A clip with an effect, another speed, a place, or a keyed background"""
    kind = draw.choice(["speed", "effect", "place", "key"])
    if kind == "key":
        add_other(GES.TestClip.new(), layer, vpattern=GES.VideoTestPattern.GREEN, mute=True).add(
            GES.Effect.new(KEY))
        return
    clip = add_clip(draw, folder, layer, draw.choice([0, 0.2]), 1.2, 0)
    if kind == "speed":
        clip.set_duration(Gst.SECOND // 2)
        assert clip.add(GES.Effect.new(f"videorate rate={draw.choice([0.5, 2])}"))
        clip.set_duration(Gst.SECOND)
    elif kind == "effect":
        assert clip.add(GES.Effect.new(draw.choice(EFFECTS)))
    else:
        place(draw, clip, *size)


def add_other(clip, layer, **properties):
    """Adds a clip that is no file."""
    for name, value in properties.items():
        clip.set_property(name, value)
    clip.set_start(int(0.3 * Gst.SECOND))
    clip.set_duration(Gst.SECOND)
    assert layer.add_clip(clip)
    return clip


def add_title(draw, layer):
    clip = add_other(GES.TitleClip.new(), layer)
    for name, value in (("background", draw.choice([0, 0x80204060])), ("color", 0xffffe080)):
        assert clip.set_child_property(name, GObject.Value(GObject.TYPE_UINT, value)), name
    for name, value in (("text", "Title"), ("font-desc", "Sans 30")):
        assert clip.set_child_property(name, value), name


def timeline(seed, folder):
    draw = random.Random(seed)
    width, height, rate = draw.choice(TRACKS)
    line = GES.Timeline.new()
    track = GES.VideoTrack.new()
    track.set_restriction_caps(Gst.Caps.from_string(
        f"video/x-raw,width={width},height={height},framerate={rate}/1"))
    assert line.add_track(track)
    if draw.random() < 0.3:
        add_title(draw, line.append_layer())
    if draw.random() < 0.5:
        add_single(draw, folder, line.append_layer(), (width, height))
    add_overlapping(draw, folder, line.append_layer(), (width, height))
    if draw.random() < 0.5:
        add_clip(draw, folder, line.append_layer(), 0, SECONDS)
    line.commit()
    return line, (height, width)


def mixers_of(pipeline):
    found = pipeline.iterate_recurse()
    while (item := found.next())[0] == Gst.IteratorResult.OK:
        factory = item[1].get_factory()
        if factory and factory.get_name() in MIXERS:
            yield factory.get_name()


def render(mixer, seed, folder):
    """Writes all frames of the timeline as RGBA."""
    line, size = timeline(seed, folder)
    sink = Gst.parse_bin_from_description(
        "videoconvert dither=none ! video/x-raw,format=RGBA ! appsink name=frames sync=false", True)
    pipeline = GES.Pipeline.new()
    assert pipeline.set_timeline(line)
    pipeline.preview_set_video_sink(sink)
    pipeline.set_mode(GES.PipelineFlags.VIDEO_PREVIEW)
    pipeline.set_state(Gst.State.PAUSED)
    assert pipeline.get_state(60 * Gst.SECOND)[0] == Gst.StateChangeReturn.SUCCESS, \
        pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR).parse_error()
    pipeline.set_state(Gst.State.PLAYING)
    frames = sink.get_by_name("frames")
    made = []
    while sample := frames.try_pull_sample(90 * Gst.SECOND):
        buffer = sample.get_buffer()
        made.append(numpy.frombuffer(buffer.extract_dup(0, buffer.get_size()), "u1"))
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    assert not error, error.parse_error()
    assert frames.is_eos(), f"{mixer}, timeline {seed}: no frame for 90 s after {len(made)}"
    assert set(mixers_of(pipeline)) == {mixer}, set(mixers_of(pipeline))
    pipeline.set_state(Gst.State.NULL)
    numpy.save(folder / f"{mixer}-{seed}.npy", numpy.reshape(made, (len(made), *size, 4)))


def render_all(mixer, first, number, folder):
    Gst.init(None)
    Gst.Registry.get().find_feature(mixer, Gst.ElementFactory).set_rank(1000)
    GES.init()
    for seed in range(first, first + number):
        render(mixer, seed, folder)


def render_in_both(first, number, folder):
    """The two processes run at the same time."""
    running = [subprocess.Popen([sys.executable, __file__, mixer, str(first), str(number), folder])
               for mixer in MIXERS]
    for process in running:
        assert process.wait(60 + 60 * number) == 0


def difference(seed, folder):
    """Largest mean and 99th percentile of a frame, and largest difference of a sample"""
    expected, mixed = (numpy.load(folder / f"{mixer}-{seed}.npy") for mixer in MIXERS)
    assert mixed.shape == expected.shape and len(mixed) >= 10, (seed, mixed.shape, expected.shape)
    assert len({frame.tobytes() for frame in mixed}) > 1, seed
    apart = abs(mixed[..., :3].astype("i2") - expected[..., :3]).reshape(len(mixed), -1)
    found = apart.mean(1).max(), numpy.percentile(apart, 99, axis=1).max(), apart.max()
    print(f"timeline {seed}: {len(mixed)} frames, mean {found[0]:.2f}, 99 % {found[1]:.0f}, "
          f"largest {found[2]}")
    return found


def main():
    if len(sys.argv) == 5:
        render_all(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]))
        return
    number, first = [int(given) for given in sys.argv[1:]] + [8, 0][len(sys.argv) - 1:]
    Gst.init(None)
    with tempfile.TemporaryDirectory() as folder:
        write_clips(folder)
        render_in_both(first, number, folder)
        found = numpy.array([difference(seed, pathlib.Path(folder))
                             for seed in range(first, first + number)])
    mean, most, largest = found.max(0)
    print(f"{number} timelines: mean {mean:.2f}, 99 % {most:.0f}, largest {largest:.0f}")
    assert mean <= MOST_MEAN and most <= MOST_OF_99_PERCENT


if __name__ == "__main__":
    main()
