"""A run of opencl-key: what it reads, and what it writes

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import glob
import os
import pathlib
import subprocess
import sys

from ..launch import Value, printed
from ..play import PlayError, check_window, played, written
from . import formats
from .arguments import PROGRAM, colour_of
from .films import film_of
from .gst import Gst
from .pipeline import Keying

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
SIZE_OF_CAMERA = 1280, 720
FIRST_FRAME = "pngenc snapshot=true !"


def step(text):
    """Prints one line about what happens next."""
    print(text, file=sys.stderr, flush=True)


def shipped(name):
    """Returns the path of a file that is installed with the package, or is in the checkout."""
    folders = PACKAGE / "data", PACKAGE.parents[1] / "docs", PACKAGE.parents[1] / "tools"
    return str(next(folder / name for folder in folders if (folder / name).exists()))


def portrait():
    sys.path.insert(0, os.path.dirname(shipped("packages.py")))
    import packages
    try:
        return packages.wheel_folder("scikit-image==0.25.2") + "/skimage/data/astronaut.png"
    except packages.Missing as fault:
        raise ValueError(f"no portrait fetched, FILE is needed: {fault}") from None


def model_of(name):
    """Returns the path of a network, and prints its license."""
    if name != "selfie":
        licenses = glob.glob(os.path.join(glob.escape(os.path.dirname(name) or "."), "LICENSE*"))
        step(f"License of {name}: {min(licenses, default='unknown, no file LICENSE beside it')}")
        return name
    step("MediaPipe's network for selfie segmentation")
    done = subprocess.run([sys.executable, shipped("fetch-selfie-model.py")],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ValueError("no network fetched, expected a file or a connection to PyPI")
    return done.stdout.strip()


def choose_file(asked):
    """Without a file or a camera, chooses a picture."""
    if asked.screen == "none":
        asked.file = portrait()
        return
    if not asked.output:
        asked.before = asked.before or "greenscreen-before.png"
    asked.file = shipped("greenscreen-before.png")


def is_virtual_camera(path):
    """Returns whether a path is that of a device, which need not exist yet."""
    return path.startswith("/dev/video") or pathlib.Path(path).is_char_device()


def camera_end(path, has_alpha):
    """Returns what follows the result, into a virtual camera. Raises ValueError."""
    if has_alpha:
        raise ValueError(f"--output {path}: a camera has no alpha")
    if not os.path.exists(path):
        raise ValueError(
            f"--output {path}: no such device; \"sudo modprobe v4l2loopback exclusive_caps=1 "
            f"video_nr={path[len('/dev/video'):]}\" makes it (package v4l2loopback-dkms)")
    # Buffers of v4l2loopback's own do not suit elements before v4l2sink.
    return ["video/x-raw,format=YUY2 ! identity drop-allocation=true ! v4l2sink name=output",
            Value("device", path)]


def file_end(path, has_alpha, has_sound):
    """Returns a branch for sound, and what follows the result, before a filesink. Raises
    ValueError."""
    name, suffix = f"--output {path}", pathlib.Path(path).suffix.lower()
    kinds = formats.FILMS_OF_ALPHA if has_alpha else formats.FILMS
    if suffix == ".png":
        return "", [FIRST_FRAME]
    if suffix not in formats.FILMS:
        raise ValueError(f"{name}: expected .png, {', '.join(formats.FILMS)} or \"window\"")
    if suffix not in kinds:
        raise ValueError(f"{name}: keeps no alpha; --background none needs .png, .mov or .mkv")
    caps, muxer, video, sound = kinds[suffix]
    heard = "" if not has_sound else \
        "file_frames. ! audioconvert ! audioresample ! queue" \
        f" ! {formats.installed(sound, name)} ! queue ! film. "
    return heard, [f"{caps} ! {formats.installed(video, name)} ! {muxer} name=film !"]


class Run:
    """The pipelines of the arguments. Raises ValueError if these cannot be made."""

    def __init__(self, asked):
        self.asked, self.name = asked, asked.file or asked.camera
        self.film = None if asked.camera else film_of(os.path.abspath(asked.file))
        self.is_still = bool(self.film) and self.film.is_still
        self.films = {"file": self.film}
        for name in "background", "garbage", "holdout":
            other = getattr(asked, name)
            if other not in (None, "none") and colour_of(other) is None:
                self.films[name] = film_of(os.path.abspath(other))
        self.size = tuple(map(int, asked.size.split("x"))) if asked.size \
            else self.film.size if self.film else SIZE_OF_CAMERA
        if asked.pick:
            pick = asked.pick = tuple(map(int, asked.pick.split(",")))
            if pick[0] >= self.size[0] or pick[1] >= self.size[1]:
                raise ValueError("--pick {},{}: outside of {}x{} pixels".format(*pick, *self.size))
        self.choose_end()

    def choose_end(self):
        """Chooses a window for what moves, a file for what does not."""
        asked, has_alpha = self.asked, self.asked.background == "none"
        picture = "background.png" if asked.screen == "none" else "greenscreen.png"
        asked.output = asked.output or (picture if self.is_still else "window")
        self.heard, self.end, self.is_file = "", ["autovideosink"], False
        if asked.output == "window" and has_alpha:
            raise ValueError("--background none: needs --output with .png, .mov or .mkv")
        if asked.output == "window":
            check_window()
        elif is_virtual_camera(asked.output):
            self.end = camera_end(asked.output, has_alpha)
        else:
            has_sound, self.is_file = self.film and self.film.has_sound, True
            self.heard, self.end = file_end(asked.output, has_alpha, has_sound)

    def play(self):
        """Plays the pipelines of the frame before keying, and of the result. Raises PlayError."""
        asked, keying = self.asked, Keying(self.asked, self.size, self.is_still, self.films)
        if asked.before:
            step(f"First frame of {self.name} before keying")
            self.write("before", [*keying.filmed(), "! opencldownload ! videoconvert !",
                                  FIRST_FRAME])
        step(f"{'Finding the person in' if asked.screen == 'none' else 'Keying'} {self.name}")
        parts = [self.heard, *keying.keyed(), *self.end]
        if self.is_file:
            self.write("output", parts, self.check_screen)
        else:
            self.show(parts)
            with played(parts, PROGRAM) as (_, messages):
                self.check_screen(messages)

    def write(self, option, parts, check=set):
        """Plays what becomes the file of an option. check (names): of element messages, before it
        does"""
        path, parts = getattr(self.asked, option), [*parts, "filesink name=output"]
        self.show([*parts, Value("location", path)])
        with written(PROGRAM, option, path) as unfinished, \
                played([*parts, Value("location", unfinished)], PROGRAM) as (_, messages):
            check(messages)

    def show(self, parts):
        if self.asked.verbose:
            step(f"gst-launch-1.0 {printed(parts)}")

    def check_screen(self, messages):
        """Fails if a picture was to be keyed that shows no screen; of films, chromakey warns."""
        asked = self.asked
        searches = asked.screen != "none" and asked.key == "screen" and not asked.pick
        is_picture = self.is_still or self.end == [FIRST_FRAME]
        if searches and is_picture and "chromakey-key" not in messages:
            raise PlayError("no green or blue screen found; --key or --pick say its colour")


def run(asked):
    """Raises ValueError for arguments that cannot be used."""
    if asked.device:
        os.environ["GST_OPENCL_DEVICE"] = asked.device
    Gst.init(None)
    asked.background = asked.background or shipped("garden.jpg")
    if not asked.file and not asked.camera:
        choose_file(asked)
    try:
        keying = Run(asked)
        if asked.screen == "none":
            asked.model = model_of(asked.model or "selfie")
        if asked.network:
            asked.network = model_of(asked.network)
        keying.play()
    except PlayError as error:
        sys.exit(f"{PROGRAM}: {asked.file or asked.camera}: {error}")
