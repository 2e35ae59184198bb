"""A run of opencl-key: what it reads, and what it writes

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import contextlib
import glob
import mmap
import os
import pathlib
import re
import struct
import subprocess
import sys
import zlib

from ..launch import Value, printed
from ..play import PlayError, check_window, played, written, written_series
from ..program import reason_of
from ..progress import FilesProgress
from . import formats
from .arguments import PROGRAM, colour_of
from .films import film_of, keep_range
from .gst import GObject, Gst
from .mixing import mixing_of
from .pipeline import DEEP_MATTE, Keying

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
SIZE_OF_CAMERA = 1280, 720
# avdec_h264 pushes a second frame while it drains, which pngenc would write, too.
FIRST_FRAME = "identity eos-after=2 ! pngenc snapshot=true !"


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


def file_end(path, has_alpha, has_sound, size):
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
    if suffix == ".mp4":  # openh264enc leaves out odd columns and rows, but mp4mux does not see it.
        caps = f"videocrop right={size[0] % 2} bottom={size[1] % 2} ! {caps}"
    heard = "" if not has_sound else \
        "file_frames. ! audioconvert ! audioresample ! queue" \
        f" ! {formats.installed(sound, name)} ! queue ! film. "
    return heard, [f"{caps} ! {formats.installed(video, name)} ! {muxer} name=film !"]


def is_series(path):
    """Returns whether a path names pictures with numbers."""
    return re.fullmatch("[^%]*%(0[1-9])?d[^%]*", os.path.basename(path)) is not None


def matte_end(path, is_one):
    """Returns the branch that writes the matte, without its file. Raises ValueError. is_one:
    whether the result is one frame"""
    suffix = pathlib.Path(path).suffix.lower()
    if suffix not in formats.MATTES or is_one and suffix != ".png":
        expected = ".png" if is_one else ", ".join(formats.MATTES)
        raise ValueError(f"--matte {path}: expected {expected}")
    if suffix == ".png" and not is_one and not is_series(path):
        raise ValueError(f"--matte {path}: of a film, expected a number, such as matte-%05d.png")
    encoders, muxer = formats.MATTES[suffix]
    encoder = FIRST_FRAME.rstrip(" !") if is_one else formats.installed(encoders, f"--matte {path}")
    sink = "multifilesink" if is_series(path) else "filesink"
    return [DEEP_MATTE, encoder, muxer, f"! {sink} async=false name=matte"]


def png_head(width, height, kind):
    """Returns the beginning of a PNG of 16 bits. kind: 0 for gray, 6 for RGBA"""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n\0\0\0\x0d" + head + struct.pack(">I", zlib.crc32(head))


def unpack_colours(path, width, height):
    """Makes RGBA of the PNGs in a file whose gray is four samples a pixel; pngenc sets no filter."""
    packed, colours = png_head(4 * width, height, 0), png_head(width, height, 6)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        at = data.find(packed)
        while at >= 0:
            data[at:at + len(packed)] = colours
            at = data.find(packed, at + len(packed))


def prepare(pipeline):
    """Keeps the range of films, and makes the compositor blend light while a soft key does."""
    pipeline.connect("deep-element-added", keep_range)
    key, result = pipeline.get_by_name("chromakey"), pipeline.get_by_name("result")
    if key and result:
        key.bind_property("linear", result, "linear", GObject.BindingFlags.SYNC_CREATE)


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
        if os.path.isdir(asked.output) \
                and pathlib.Path(asked.output).suffix not in (".png", *formats.FILMS):
            suffix = ".png" if self.is_still else ".mov" if has_alpha else ".mp4"
            asked.output = os.path.join(asked.output, pathlib.Path(self.name).stem + suffix)
        self.heard, self.end, self.is_file = "", ["autovideosink"], False
        if asked.output == "window" and has_alpha:
            raise ValueError("--background none: needs --output with .png, .mov or .mkv")
        if asked.output == "window":
            check_window()
        elif is_virtual_camera(asked.output):
            self.end = camera_end(asked.output, has_alpha)
        else:
            has_sound, self.is_file = self.film and self.film.has_sound, True
            self.heard, self.end = file_end(asked.output, has_alpha, has_sound, self.size)
        if asked.matte and asked.matte == asked.output:
            raise ValueError(f"--matte {asked.matte}: beside --output {asked.output}")
        if asked.matte:
            self.matte = matte_end(asked.matte, self.is_still or self.end == [FIRST_FRAME])

    def play(self):
        """Plays the pipelines of the frame before keying, and of the result. Raises PlayError."""
        asked, keying = self.asked, Keying(self.asked, self.size, self.is_still, self.films)
        self.is_packed = keying.is_deep
        if asked.before:
            step(f"First frame of {self.name} before keying")
            self.write({"before": [*keying.filmed(), "! opencldownload ! videoconvert !",
                                   FIRST_FRAME, "filesink name=output"]})
        if keying.is_soft and not self.is_still and asked.mixing in (None, "auto"):
            asked.mixing = mixing_of(asked.file, keying.judged()) if asked.file else "light"
        step(f"{'Finding the person in' if asked.screen == 'none' else 'Keying'} {self.name}"
             + (f", mixed as {asked.mixing}" if keying.is_soft and asked.mixing else ""))
        files = {"matte": self.matte} if asked.matte else {}
        if self.is_packed:  # pngenc's frames are four times as wide.
            self.end = [part.replace(" ! qtmux", f" ! capssetter caps=image/png,width={self.size[0]}"
                                     " ! qtmux") for part in self.end]
        result = [self.heard, *keying.keyed(), *self.end]
        if self.is_file:
            files["output"] = [*result, "filesink name=output"]
        self.write(files, [] if self.is_file else result, self.check_screen)

    def write(self, files, shown=(), check=set):
        """Plays what becomes files, and what does not. files: from an option to parts. check
        (names): of element messages, before there are files"""
        def located(place):
            return [word for option, parts in files.items()
                    for word in (*parts, Value("location", place(option)))] + [*shown]

        self.show(located(lambda option: getattr(self.asked, option)))
        with contextlib.ExitStack() as stack:
            parts = located(lambda option: stack.enter_context(self.unfinished(option)))
            progress = stack.enter_context(FilesProgress())
            with played(parts, PROGRAM, prepare, progress.poll) as (pipeline, messages):
                check(messages)
                if "chromakey-mixing" in messages and self.is_still:
                    is_light = pipeline.get_by_name("chromakey").get_property("linear")
                    step(f"{self.name} was mixed as {'light' if is_light else 'levels'}")
            if self.is_packed and "output" in files:
                unpack_colours(parts[-1].text, *self.size)

    def unfinished(self, option):
        """Returns the context in which the file of an option is written."""
        path = getattr(self.asked, option)
        write = written_series if option == "matte" and is_series(path) else written
        return write(option, path)

    def show(self, parts):
        """Prints a line to paste: pictures are their files, not copies that end with the process."""
        if not self.asked.verbose:
            return
        for name, film in self.films.items():
            head = film and film.copy and film.copy.source(name)
            if head and head[0] in parts:
                at = parts.index(head[0]) + 1
                parts[at:at + 2] = [Value("location", getattr(self.asked, name)), "! decodebin"]
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
    if asked.file or not asked.files:
        run_one(asked)
        return
    files = [file for name in asked.files for file in (
        sorted(glob.glob(os.path.join(glob.escape(name), "*"))) if os.path.isdir(name) else [name])]
    if not files:
        raise ValueError(f"{asked.files[0]}: an empty folder")
    for name in "camera", "matte", "before":
        if getattr(asked, name):
            raise ValueError(f"--{name} {getattr(asked, name)}: not with several files")
    if not os.path.isdir(asked.output or ""):
        given_output = f"--output {asked.output}: not a folder, " if asked.output else ""
        raise ValueError(f"{given_output}expected --output FOLDER for {len(files)} files")
    stems = [pathlib.Path(file).stem for file in files]
    for file, stem in zip(files, stems):
        if stems.count(stem) > 1:
            raise ValueError(f"{file}: two files named {stem}")
        if os.path.realpath(os.path.dirname(file)) == os.path.realpath(asked.output or "."):
            raise ValueError(f"{file}: --output needs another folder for several files")
    failed = 0
    for file in files:
        try:
            run_one(argparse.Namespace(**vars(asked) | {"file": file}))
        except Exception as error:  # of this file
            failed += 1
            step(f"{PROGRAM}: {reason_of(error)}")
    if failed:
        raise PlayError(f"{failed} of {len(files)} files failed")


def run_one(asked):
    """Raises ValueError for arguments that cannot be used."""
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
        raise PlayError(f"{asked.file or asked.camera}: {error}") from None
