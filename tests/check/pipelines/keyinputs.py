#!/usr/bin/env python3
"""Promise: the frame that opencl-key keys has the pixels that FFmpeg decodes from the same file, or
Pillow. A frame of more than 8 bits keeps them, to the file of the result.

usage: keyinputs.py

Skipped if FFmpeg or Pillow is not installed.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

WIDTH, HEIGHT = 64, 48
SKIPPED = 77
BT709 = "-colorspace bt709 -color_primaries bt709 -color_trc bt709"
# Files with the options of FFmpeg that write them
PICTURES = {
    "444.jpg": "-pix_fmt yuvj444p -q:v 1", "422.jpg": "-pix_fmt yuvj422p -q:v 1",
    "420.jpg": "-pix_fmt yuvj420p -q:v 1",
    "rgb.png": "-pix_fmt rgb24", "rgba.png": "-pix_fmt rgba", "gray.png": "-pix_fmt gray",
    "palette.png": "-pix_fmt pal8", "rgb16.png": "-pix_fmt rgb48be",
    "rgba16.png": "-pix_fmt rgba64be", "gray16.png": "-pix_fmt gray16be",
    "grayalpha.png": "-pix_fmt ya8", "rgb.tif": "-pix_fmt rgb24", "rgb.bmp": "-pix_fmt bgr24",
    "rgb.webp": "-c:v libwebp -lossless 1",
}
# Films of limited and of full range, and the element that decodes them without gstreamer1.0-libav
FILMS = {
    "{}-264.mp4": ("-c:v libx264 -qp 4 -pix_fmt yuv420p", "openh264dec"),
    "{}-265.mp4": ("-c:v libx265 -x265-params log-level=0:qp=4 -pix_fmt yuv420p", "libde265dec"),
    "{}-265.mkv": ("-c:v libx265 -x265-params log-level=0:qp=4 -pix_fmt yuv420p", "libde265dec"),
    "{}-vp9.webm": ("-c:v libvpx-vp9 -crf 4 -b:v 0 -pix_fmt yuv420p", "vp9dec"),
    "{}-10.webm": ("-c:v libvpx-vp9 -crf 4 -b:v 0 -pix_fmt yuv420p10le", "vp9dec"),
    "{}-prores.mov": ("-c:v prores_ks -profile:v 3 -pix_fmt yuv422p10le", "avdec_prores"),
}
# Greatest mean and maximum difference in levels: of pictures without chroma that is subsampled, and
# of those between whose samples decoders interpolate in their own ways
EXACT, SAMPLED = (0.4, 4), (1.6, 10)


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *words], check=True, timeout=100)


def drawn():
    """Waves of all colours, with 16 bits."""
    x, y = np.meshgrid(np.arange(WIDTH) / WIDTH, np.arange(HEIGHT) / HEIGHT)
    waves = [0.5 + 0.45 * np.sin(2 * np.pi * (x * a + y * b) + c)
             for a, b, c in ((0.3, 0.1, 0), (-0.1, 0.3, 2), (0.2, 0.2, 4))]  # fmt: skip
    return np.stack([*waves, np.ones_like(x)], -1)


def write(path, options, count=1):
    ffmpeg("-f", "rawvideo", "-pix_fmt", "rgba64le", "-stream_loop", str(count - 1),
           "-s", f"{WIDTH}x{HEIGHT}", "-i", "drawn.raw", *options.split(), path)  # fmt: skip


def levels(path, is_deep):
    """Returns raw RGBA of 8 or 16 bits, in levels of 8 bits."""
    return np.fromfile(path, "<u2" if is_deep else np.uint8) / (257 if is_deep else 1)


def expected(path, is_deep, matrix="auto"):
    """Returns the first frame as FFmpeg decodes it, which does not read the matrix of ProRes."""
    ffmpeg("-i", path, "-frames:v", "1", "-vf", f"scale=in_color_matrix={matrix}:"
           "flags=accurate_rnd+full_chroma_int+full_chroma_inp+bilinear",
           "-f", "rawvideo", "-pix_fmt", "rgba64le" if is_deep else "rgba", "out.raw")  # fmt: skip
    return levels("out.raw", is_deep)


def keyed(path, output="none.png"):
    """Returns the frame before the key, with 16 bits if it keeps them."""
    run = Run(parsed(["--background", "none", "--key", "00ff00", "--output", output, path]))
    keying = Keying(run.asked, run.size, run.is_still, run.films)
    parts = [*keying.filmed(), "! opencldownload ! filesink name=raw", Value("location", "raw")]
    with played(parts, "keyinputs", prepare):
        pass
    return levels("raw", keying.is_deep)[:WIDTH * HEIGHT * 4], keying.is_deep


def compare(path, frame, reference, bounds=(0, 0)):
    difference = np.abs(frame - reference)
    print(f"{path}: mean {difference.mean():.3f}, maximum {difference.max():.2f} levels", flush=True)
    assert difference.mean() <= bounds[0] and difference.max() <= bounds[1], path


def check_pictures():
    for path, options in PICTURES.items():
        write(path, options)
        frame, is_deep = keyed(path)
        assert is_deep == ("16" in path), path
        bounds = SAMPLED if path == "420.jpg" else EXACT if "jpg" in path else (0, 0)
        compare(path, frame, expected(path, is_deep), bounds)


def check_pictures_of_pillow():
    """Gray, CMYK, and a picture that a telephone has turned"""
    image = Image.open("rgb.png").convert("RGB")
    exif = Image.Exif()
    exif[0x112] = 6  # orientation: shown a quarter turn clockwise
    for path, mode, more in ("gray.jpg", "L", {}), ("cmyk.jpg", "CMYK", {}), \
            ("turned.jpg", "RGB", {"exif": exif}), ("some.gif", "P", {}):
        image.convert(mode).save(path, **more)
        shown = Image.open(path).convert("RGBA")
        if "turned" in path:
            shown = shown.transpose(Image.Transpose.ROTATE_270)
        compare(path, keyed(path)[0], np.asarray(shown).ravel())


def check_broken():
    """A picture that cannot be read is one line."""
    with open("444.jpg", "rb") as file:
        data = file.read()
    contents = {"cut.jpg": data[:-99], "noise.jpg": b"\xff\xd8\xff" + bytes(999), "none.tif": b""}
    for path, content in contents.items():
        with open(path, "wb") as file:
            file.write(content)
    Image.new("1", (20000, 20000)).save("large.tif", compression="group4")
    Image.new("I;16", (9, 9)).save("deep.tif")
    for path in *contents, "large.tif", "deep.tif":
        try:
            keyed(path)
        except ValueError as error:
            print(error)
            assert f"{path} is no film or picture" in str(error) and "\n" not in str(error), error
        else:
            raise AssertionError(path)


def check_films():
    for name, (options, decoder) in FILMS.items():
        if not Gst.ElementFactory.find(decoder):
            print(name, "left out: no", decoder)
            continue
        for kind in ["tv"] if "prores" in name else ["tv", "pc"]:
            path = name.format(kind)
            write(path, f"-vf scale=out_range={kind}:out_color_matrix=bt709 -color_range {kind}"
                  f" {BT709} {options}", 3)  # fmt: skip
            frame, is_deep = keyed(path)
            assert is_deep == ("10" in options), path
            compare(path, frame, expected(path, is_deep, "bt709"), SAMPLED)


def check_results():
    """Colours that no key changes arrive with 16 bits, and may be multiplied by alpha."""
    write("half16.png", "-vf colorchannelmixer=aa=0.5 -pix_fmt rgba64be")
    for path, output, alpha, bounds in (("rgba16.png", "deep.png", "straight", (0, 0)),
                                        ("half16.png", "half.png", "premultiplied", (0.01, 0.01)),
                                        ("tv-10.webm", "deep.mov", "straight", SAMPLED)):
        run_of(parsed(["--background", "none", "--method", "distance", "--tolerance", "0", "--spill",
                       "0", "--alpha", alpha, "--key", "00ff00", "--output", output, path]))
        source = expected(path, True).reshape(-1, 4)
        if alpha == "premultiplied":
            source[:, :3] *= source[:, 3:] / 255
        result = expected(output, True)
        compare(output, result, source.ravel(), bounds)
        assert len(np.unique(result)) > 300, output


def main():
    np.round(drawn() * 65535).astype("<u2").tofile("drawn.raw")
    for check in [value for name, value in globals().items() if name.startswith("check_")]:
        check()


if __name__ == "__main__":
    try:
        from PIL import Image
        HAS = shutil.which("ffmpeg")
    except ImportError:
        HAS = None
    if not HAS:
        print("NOT CHECKED: no ffmpeg or no Pillow")
        sys.exit(SKIPPED)
    from gstopencl.keying.arguments import parsed
    from gstopencl.keying.pipeline import Keying
    from gstopencl.keying.run import Gst, Run, prepare, run as run_of
    from gstopencl.launch import Value
    from gstopencl.play import played
    Gst.init(None)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
        os.chdir("/")
