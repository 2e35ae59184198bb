"""opencl-detect: what a network finds in pictures, films and a camera, as JSON lines and drawn

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import argparse
import contextlib
import csv
import functools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

from .files import replaced
from .launch import Value
from .program import Failed, reason_of
from .progress import FilesProgress
from .system import CAMERA_HELP, FIRST_CAMERA, camera_source
from .view.arguments import Parser, Refused, check_utf8
from .view.octoptions import existing, of_pattern, whole

PROGRAM = "opencl-detect"
USAGE = """\
opencl-detect [OPTION…] FILE|FOLDER…
       opencl-detect [OPTION…] --camera [DEVICE]

Runs a network over pictures, films, folders of both, or a camera, and prints what it finds in each
frame as a line of JSON: file, number of the frame, time in seconds, and objects with label, class,
score and box (x, y, width, height in pixels). --output draws boxes and labels."""
EXAMPLES = """Examples:
  opencl-detect group.jpg
  opencl-detect --model yolov8n.onnx --labels coco.txt --output cars.webm road.mp4
  opencl-detect --model resnet50.onnx --method classification --labels imagenet.txt \\
      --mean 0.485,0.456,0.406 --deviation 0.229,0.224,0.225 --csv photos > classes.csv"""
PICTURES = ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"
FILMS = ".mp4", ".mkv", ".webm", ".avi", ".mov", ".mpg", ".ts"
ENCODERS = {".png": "pngenc snapshot=true", ".webm": "vp8enc deadline=1 ! webmmux",
            ".avi": "jpegenc ! avimux"}
NUMBERS = r"-?\d*\.?\d+(,-?\d*\.?\d+){0,2}"
# option, property of openclinference or opencltensordecoder, check of the value, explanation
OF_NETWORK = (
    ("--fit", "fit", of_pattern("stretch|letterbox|crop", "stretch, letterbox or crop"),
     "how frames get the network's shape"),
    ("--mean", "mean", of_pattern(NUMBERS, "numbers"),
     "mean of the training data, for levels from 0 to 1: one number, or three with commas"),
    ("--deviation", "deviation", of_pattern(NUMBERS, "numbers"), "standard deviation of the training data, as --mean"),
    ("--colors", "colors", of_pattern("rgb|bgr|gray", "rgb, bgr or gray"),
     "order of colours that the network takes (rgb)"),
    ("--precision", "precision", of_pattern("float|half", "float or half"),
     "precision of the network's arithmetic (float)"),
    ("--letterbox-color", "letterbox-color",
     of_pattern("0x[0-9a-fA-F]{8}", "a colour as 0xAARRGGBB"),
     "borders of frames of another shape (black; with --model the grey of YOLO)"))
OF_DECODER = (
    ("--labels", "label-file", existing, "names of the classes, one per line (MODEL.txt)"),
    ("--method", "method", of_pattern("[a-z0-9-]+", "a name"),
     "what the outputs are: auto, classification, yolo-v8 … (auto)"),
    ("--threshold", "class-confidence-threshold", of_pattern(r"0|1|0?\.\d+|1\.0+",
                                                             "a number from 0 to 1"),
     "lowest score, 0 to 1"),
    ("--overlap", "iou-threshold", of_pattern(r"0|1|0?\.\d+|1\.0+", "a number from 0 to 1"),
     "largest intersection over union of two boxes, 0 to 1"),
    ("--top", "max-detections", functools.partial(whole, 1, 9999), "largest number of results"),
    ("--track", "track-frames", functools.partial(whole, 1, 9999),
     "gives objects a number (id), and keeps it for N frames without a box, such as 15"))
METAVARS = {"--track": "N", "--top": "N", "--labels": "FILE", "--fit": "stretch|letterbox|crop",
            "--colors": "rgb|bgr|gray", "--precision": "float|half", "--method": "NAME",
            "--letterbox-color": "0xAARRGGBB"}
FACES = {"fit": "letterbox", "class-confidence-threshold": "0.5", "iou-threshold": "0.3"}
OF_LINES = {"regions": "objects", "region-labels": "text", "fit": "line", "colors": "bgr",
            "max-regions": "1000", "letterbox-color": "0xff808080", "mean": "0.5",
            "deviation": "0.5"}
OF_TEXT = "--precision", "--threshold", "--top", "--track"
# Options of the tool that fetches, and properties of each network: those of the regions that one
# finds are in the same order
FETCHED = {
    "faces": ([], [{**FACES, "mean": "0.5", "deviation": "0.5"}]),
    "hands": (["--hands"], [FACES]),
    "text": (["--text"], [
        {"mean": "0.5", "deviation": "0.5", "colors": "bgr", "open-size": "736",
         "open-multiple": "32", "method": "text", "class-confidence-threshold": "0.3",
         "box-confidence-threshold": "0.5", "max-detections": "1000"},
        {**OF_LINES, "open-size": "192+x48", "method": "classification", "turn-regions": "true",
         "class-confidence-threshold": "0.9"},
        {**OF_LINES, "open-size": "320+x48", "method": "ctc",
         "class-confidence-threshold": "0.5"}])}


# --- arguments ---


def parse_arguments(words):
    check_utf8(words)
    parser = Parser(prog=PROGRAM, usage=USAGE, epilog=EXAMPLES)
    parser.add_argument("files", nargs="*", metavar="FILE|FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--camera", metavar="DEVICE", nargs="?", const=FIRST_CAMERA,
                        help=f"a video device {CAMERA_HELP}")
    network = parser.add_argument_group("Network")
    network.add_argument("--network", metavar="faces|hands|text", default="faces",
                         type=of_pattern("faces|hands|text", "faces, hands or text"),
                         help="network that is fetched from PyPI: faces or hands of MediaPipe, or "
                              "text of RapidOCR (faces)")
    network.add_argument("--model", metavar="FILE", type=existing, help="an ONNX file")
    for option, name, kind, text in OF_NETWORK + OF_DECODER:
        metavar = METAVARS.get(option, "VALUE")
        network.add_argument(option, dest=name, metavar=metavar, type=kind, help=text)
    results = parser.add_argument_group("Results")
    results.add_argument("--csv", action="store_true", help="a row for each object instead of JSON")
    results.add_argument("--results", metavar="FILE", help="instead of standard output")
    results.add_argument("--output", metavar="FILE|FOLDER",
                         help=".png, .webm or .avi with boxes and labels; a folder for several")
    results.add_argument("--show", action="store_true", help="shows the frames in a window")
    results.add_argument("--device", metavar="DEVICE",
                         help="auto, gpu, cpu, accelerator, PLATFORM:DEVICE or part of a name")
    asked = parser.parse_args(words)
    if bool(asked.files) == bool(asked.camera):
        raise Refused(f"--camera {asked.camera}: beside {asked.files[0]}" if asked.files else
                      "expected FILE or --camera (see --help)")
    if asked.method == "segmentation" and not (asked.output or asked.show):
        raise Refused("--method segmentation: expected --output or --show, which show the pixels")
    if asked.network == "text" and not asked.model:
        for option, name, _, _ in OF_NETWORK + OF_DECODER:
            if getattr(asked, name) and option not in OF_TEXT:
                raise Refused(f"{option}: not with --network text, whose networks have their own")
    return asked


def files_of(asked):
    """Returns the files, those of a folder by their suffixes."""
    found = []
    for path in map(pathlib.Path, asked.files):
        if path.is_dir():
            inside = sorted(file for file in path.iterdir()
                            if file.suffix.lower() in PICTURES + FILMS and file.is_file())
            if not inside:
                raise Refused(f"{path}: no pictures and no films there")
            found += inside
        else:
            found.append(pathlib.Path(existing_file(str(path))))
    return found


def existing_file(path):
    try:
        return existing(path)
    except argparse.ArgumentTypeError as error:
        raise Refused(f"{path}: {error}") from None


def is_picture(path):
    return path is not None and path.suffix.lower() in PICTURES


def outputs_of(asked, files):
    """Returns the file that is drawn for each input, or None."""
    if not asked.output:
        return {file: None for file in files}
    output = pathlib.Path(asked.output)
    if len(files) == 1 and not output.is_dir():
        if output.suffix.lower() not in ENCODERS:
            raise Refused(f"--output {output}: expected {', '.join(ENCODERS)}, or a folder")
        return {files[0]: output}
    output.mkdir(parents=True, exist_ok=True)
    targets = {file: output / f"{file.stem}{'.png' if is_picture(file) else '.webm'}"
               for file in files}
    doubled = [file for file, target in targets.items() if list(targets.values()).count(target) > 1]
    if doubled:
        raise Refused(f"--output {output}: {doubled[0]} and another file have the same name")
    return targets


def labels_of(model):
    labels = model.removesuffix(".onnx") + ".txt"
    return {"label-file": labels} if os.path.isfile(labels) else {}


def networks_of(asked):
    """Returns the ONNX files, and the properties that each has by default."""
    if asked.model:
        usual = {"letterbox-color": "0xff727272", "fit": "letterbox", **labels_of(asked.model)}
        if asked.method == "classification":
            usual |= {"fit": "crop", "class-confidence-threshold": "0.05", "max-detections": "5"}
        return [(asked.model, usual)]
    from .keying.run import shipped
    words, usual = FETCHED[asked.network]
    done = subprocess.run([sys.executable, shipped("fetch-detection-model.py"), *words],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Failed("no network fetched, expected --model or a connection to PyPI")
    return [(model, labels_of(model) | properties)
            for model, properties in zip(done.stdout.split("\n"), usual)]


# --- results ---


def score_of(structure):
    return round(structure.get_double("score").value, 4)


def in_order(found):
    """Sorts lines of text from top to bottom, and those side by side from left to right, of a page
    that is turned as most of them are."""
    tilt = math.radians(statistics.median(one.get("angle", 0) for one in found)) if found else 0
    rows = []

    def place(one):
        x, y, width, height = one["box"]
        x, y = x + width / 2, y + height / 2
        return (-math.sin(tilt) * x + math.cos(tilt) * y, math.cos(tilt) * x + math.sin(tilt) * y)

    for one in sorted(found, key=place):
        down, _ = place(one)
        if not rows or down - rows[-1][0] > 10:
            rows.append((down, []))
        rows[-1][1].append(one)
    return [one for _, row in rows for one in sorted(row, key=lambda one: place(one)[1])]


def corners_of(structure):
    """Returns x, y of the corners of a turned box, clockwise from the text's upper left one."""
    x, y, width, height, angle = (structure.get_double(name).value for name in (
        "center-x", "center-y", "turned-width", "turned-height", "angle"))
    right = complex(math.cos(math.radians(angle)), math.sin(math.radians(angle))) / 2
    corners = (complex(x, y) + (across * width + down * height * 1j) * right
               for across, down in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    return [[round(corner.real, 1), round(corner.imag, 1)] for corner in corners]


def numbers_of(structure, name):
    values = structure.get_array(name)[1]
    return [round(values.get_nth(n), 6) for n in range(values.n_values)]


def result_of(structure):
    """Returns a structure of opencltensordecoder as a dictionary. A class has no box."""
    found = {"label": structure.get_string("label"), "class": structure.get_int("class-id").value,
             "score": score_of(structure)}
    if structure.has_field("angle"):
        found |= {"angle": round(structure.get_double("angle").value, 1),
                  "corners": corners_of(structure)}
    if structure.has_field("text"):
        words = structure.get_value("text")
        found |= {"text": words.get_string("text"), "text-score": score_of(words)}
    if structure.has_field("id"):
        found["id"] = structure.get_uint("id").value
    if structure.get_name() == "detection":
        found["box"] = [structure.get_int(name).value for name in ("x", "y", "width", "height")]
    if structure.has_field("points"):
        numbers = numbers_of(structure, "points")
        found["points"] = [numbers[n:n + 3] for n in range(0, len(numbers), 3)]
    if structure.has_field("embedding"):
        found["embedding"] = numbers_of(structure.get_value("embedding"), "values")
    return found


class Lines:
    """Writes a line for each frame, or a row for each object, as they come"""

    def __init__(self, file, as_rows):
        self.file, self.rows = file, csv.writer(file) if as_rows else None
        self.failed = None
        if as_rows:
            self.rows.writerow(["file", "frame", "time", "label", "class", "score", "x", "y",
                                "width", "height", "id", "text"])

    def begin(self, name):
        self.name, self.number = name, 0

    def hear(self, _bus, message):
        """Takes an element message, in the thread of the decoder."""
        structure = message.get_structure()
        if structure.get_name() != "opencltensordecoder" or self.failed:
            return
        known, stamp = structure.get_uint64("stream-time")
        seconds = stamp / 1e9 if known and stamp < 1 << 63 else None
        _, objects = structure.get_array("objects")
        found = [result_of(objects.get_nth(n)) for n in range(objects.n_values)] if objects else []
        if all("text" in one for one in found):
            found = in_order(found)
        try:
            self.write(seconds, found)
        except OSError as error:  # a closed pipe, a full disk
            self.failed = error
        self.number += 1

    def write(self, seconds, found):
        if self.rows:
            for one in found:
                self.rows.writerow([self.name, self.number, seconds, one["label"], one["class"],
                                    one["score"], *one.get("box", [""] * 4),
                                    one.get("id", ""), one.get("text", "")])
        else:
            print(json.dumps({"file": self.name, "frame": self.number, "time": seconds,
                              "objects": found}, ensure_ascii=False), file=self.file)
        self.file.flush()


@contextlib.contextmanager
def results_file(path):
    if not path:
        yield sys.stdout
        return
    with replaced(path, f"--results {path}") as unfinished, \
            open(unfinished, "w", encoding="utf-8", newline="") as file:
        yield file


# --- the pipeline ---


def stage_of(model, properties, number, is_last):
    """Returns the elements of a network and its decoder."""
    of_decoder = [name for _, name, _, _ in OF_DECODER] + [
        "box-confidence-threshold", "turn-regions"]
    groups = [[Value(name, str(value)) for name, value in properties.items()
               if value and (name in of_decoder) == is_decoder] for is_decoder in (False, True)]
    return [f"! openclinference name=network{number}", Value("model-file", model), *groups[0],
            f"output=meta ! queue max-size-buffers=2 ! opencltensordecoder name=decoder{number}",
            f"post-messages={is_last}".lower(), *groups[1]]


def words_of(asked, networks, file, end):
    """Returns the parts of the launch line, whose frames go to `end`. Options are of the first
    network, but for the threshold, which is of the last one, and the precision of all."""
    stages = [dict(properties) for _, properties in networks]
    for _, name, _, _ in OF_NETWORK + OF_DECODER:
        which = {"class-confidence-threshold": stages[-1:], "precision": stages}
        for stage in which.get(name, stages[:1]) if getattr(asked, name) else ():
            stage[name] = getattr(asked, name)
    source = camera_source("source", asked.camera) if asked.camera else \
        ["filesrc name=source", Value("location", str(file)), "! decodebin"]
    # Boxes are drawn in 8 bits.
    words = [*source, "! openclupload ! openclconvert name=file_shown"]
    for number, ((model, _), properties) in enumerate(zip(networks, stages)):
        words += stage_of(model, properties, number, number == len(networks) - 1)
    return [*words, "!", *end]


def play(words, lines, progress):
    from .play import played

    def prepare(pipeline):
        bus = pipeline.get_bus()
        bus.enable_sync_message_emission()
        bus.connect("sync-message::element", lines.hear)

    def poll(pipeline):
        if lines.failed:
            raise lines.failed
        progress.poll(pipeline)

    with played(words, PROGRAM, prepare, poll):
        pass
    if lines.failed:
        raise lines.failed


def detect(asked, networks, file, target, lines, progress):
    lines.begin(asked.camera or str(file))
    drawn = "opencldrawboxes ! opencldownload ! videoconvert !"
    if target:
        encoder = ENCODERS[target.suffix.lower()]
        with replaced(target, f"--output {target}") as unfinished:
            play(words_of(asked, networks, file, [drawn, encoder, "! filesink name=file",
                                                  Value("location", unfinished)]), lines, progress)
            if not os.path.getsize(unfinished):
                raise Failed(f"{file}: not one whole frame")
    elif asked.show:
        play(words_of(asked, networks, file, [drawn, "autovideosink"]), lines, progress)
    else:
        play(words_of(asked, networks, file, ["fakesink"]), lines, progress)


def main(words):
    asked = parse_arguments(words)
    files = files_of(asked) or [None]
    targets = outputs_of(asked, files)
    networks = networks_of(asked)
    from .frames import start_gstreamer
    from .play import PlayError, check_window

    start_gstreamer()
    if asked.show:
        check_window()
    progress, failed = FilesProgress(len(files)), 0
    if sys.stdout.isatty() and not asked.results:
        progress.is_terminal = False  # The results show it.
    with results_file(asked.results) as file, progress:
        lines = Lines(file, asked.csv)
        for number, source in enumerate(files):
            progress.begin(number)
            try:
                detect(asked, networks, source, targets[source], lines, progress)
            except (PlayError, Failed) as error:
                if len(files) == 1:
                    raise
                failed += 1
                print(f"{PROGRAM}: {source}: {reason_of(error)}", file=sys.stderr)
    if failed:
        raise Failed(f"{failed} of {len(files)} files failed")
