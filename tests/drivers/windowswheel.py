#!/usr/bin/env python3
"""Promises of the wheel for Windows, which is installed by pip into a CPython that runs in Wine:
its programs and elements give what those of this system's build give, also by paths of Windows.
Without an OpenCL driver, plugins load and an error says what to install. Caches are in LocalAppData.

usage: windowswheel.py BUILD WINE SCRIPTS

SCRIPTS is the folder in which pip installed programs. The last line is "N passed, N failed".

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import onnxwriter  # noqa: E402

BUILD, WINE, SCRIPTS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
DRIVE = pathlib.Path(os.environ["WINEPREFIX"]) / "drive_c"
LIMIT = 400 * int(os.environ.get("CK_TIMEOUT_MULTIPLIER", 1))  # seconds
WIDTH, HEIGHT, SAMPLES = 256, 128, 1024
SPECTRA = "octtestsrc num-buffers=2 pattern=layers ! " \
          "video/x-raw(memory:OpenCLMemory),width=512,height=64 ! octwindowinterp ! octfft " \
          "db-min=0 db-max=60 ! opencldownload"
GRAY = f"video/x-raw,format=GRAY8,width={WIDTH},height={HEIGHT}"
COLORS = f"video/x-raw,format=RGBA,width={WIDTH},height={HEIGHT}"


# --- programs of both systems ---


def own(program, *words):
    tool = BUILD / "tools" / program
    return subprocess.run([tool if tool.exists() else program, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT, check=False)


def of_windows(program, *words, folder=SCRIPTS, **more):
    # The build's own plugins and packages are in this environment.
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("GST_", "GI_", "PYTHON", "XDG_", "LD_LIBRARY"))}
    environment |= {"LD_PRELOAD": str(SCRIPTS.parents[1] / "keepsignals.so"),
                    "GST_OPENCL_SELF_CHECK": "0", **more}
    done = subprocess.run([WINE, folder / f"{program}.exe", *words], stdin=subprocess.DEVNULL,
                          env=environment, capture_output=True, text=True, errors="replace",
                          timeout=LIMIT, check=False)
    done.stderr = "\n".join(line for line in done.stderr.splitlines() if "ALSA lib" not in line)
    return done


def both(program, *words):
    """Runs a program in the folders linux and windows, and returns what each printed."""
    said = []
    for run, folder in (own, "linux"), (of_windows, "windows"):
        os.chdir(folder)
        done = run(program, *words)
        os.chdir("..")
        assert done.returncode == 0, (folder, program, words, done.stdout, done.stderr)
        said.append(done.stdout)
    return said


def launched(text, **names):
    """Runs a pipeline with the words of a shell. Names in it differ between the systems."""
    for run, folder, name in (own, "linux", 0), (of_windows, "windows", 1):
        os.chdir(folder)
        words = text.format(**{key: value[name] for key, value in names.items()}).split()
        done = run("gst-launch-1.0", "--quiet", *words)
        os.chdir("..")
        assert done.returncode == 0, (folder, words, done.stdout, done.stderr)


def same(name):
    made = [pathlib.Path(folder, name).read_bytes() for folder in ("linux", "windows")]
    assert made[0] and made[0] == made[1], (name, [len(bytes) for bytes in made])


def frames_of(path):
    done = own("gst-launch-1.0", "-q", *f"filesrc location={path} ! decodebin ! videoconvert ! "
               "video/x-raw,format=RGBA ! filesink location=frames.rgba".split())
    assert done.returncode == 0, done.stderr
    return pathlib.Path("frames.rgba").read_bytes()


# --- promises ---


def check_b_scan():
    launched(f"{SPECTRA} ! filesink location=bscan.gray")
    same("bscan.gray")


def check_recording_of_numbers():
    """Numbers stand in the name of the file, not in that of a folder."""
    for folder in "linux/of%d", "windows/of%d":
        os.mkdir(folder)
    launched(f"{SPECTRA} ! npysink location={{name}}", name=("of%d/f%d.npy", r"of%d\\f%d.npy"))
    for n in range(2):
        same(f"of%d/f{n}.npy")


def check_kernel_by_path():
    """A program that includes a file beside it, by a path with a drive and backslashes"""
    for folder in pathlib.Path("linux/kernels"), DRIVE / "kernels":
        folder.mkdir(exist_ok=True)
        (folder / "half.clh").write_text("#define HALF(x) ((x) / 2)\n")
        (folder / "dim.cl").write_text('#include "half.clh"\n' + DIM)
        (folder / "wrong.cl").write_text("\n\n" + DIM)
    pipeline = f"videotestsrc num-buffers=2 ! {GRAY} ! openclupload ! openclkernel " \
               "location={location} ! opencldownload ! filesink location=dim.gray"
    launched(pipeline, location=("kernels/dim.cl", r"C:\\kernels\\dim.cl"))
    same("dim.gray")
    wrong = pipeline.format(location=r"C:\\kernels\\wrong.cl")
    done = of_windows("gst-launch-1.0", "--quiet", *wrong.split())
    assert done.returncode != 0 and "wrong.cl:7" in done.stderr, done


def check_keyed_film():
    """A red box before green, over blue"""
    frames = np.zeros((5, HEIGHT, WIDTH, 4), np.uint8)
    frames[:] = 20, 200, 40, 255
    for n, frame in enumerate(frames):
        frame[40:90, 20 + 20 * n:80 + 20 * n] = 220, 30, 60, 255
    frames.tofile("film.rgba")
    done = own("gst-launch-1.0", "-q", *"filesrc location=film.rgba ! rawvideoparse format=rgba "
               f"width={WIDTH} height={HEIGHT} ! pngenc ! qtmux ! filesink location=film.mov".split())
    assert done.returncode == 0, done.stderr
    both("opencl-key", "--background", "0000ff", "--output", "keyed.mov", "../film.mov")
    keyed = [frames_of(f"{folder}/keyed.mov") for folder in ("linux", "windows")]
    assert keyed[0] == keyed[1] and len(keyed[0]) == frames.size, [len(each) for each in keyed]
    # A JPEG is read with Pillow, into a temporary file.
    done = own("gst-launch-1.0", "-q", *f"videotestsrc num-buffers=1 ! {COLORS} ! videoconvert ! jpegenc ! "
               "filesink location=picture.jpg".split())
    assert done.returncode == 0, done.stderr
    said = both("opencl-key", "--key", "00ff00", "--background", "none", "--output", "keyed.png",
                "../picture.jpg")
    assert "pil" not in "".join(said), said
    assert frames_of("linux/keyed.png") == frames_of("windows/keyed.png")


def check_network():
    network = onnxwriter.Network("red")
    network.input("frame", (1, 3, 64, 64))
    network.output("map", (1, 1, 64, 64))
    network.add("Conv", "frame", np.float32([1, 0, 0]).reshape(1, 3, 1, 1), output="map")
    pathlib.Path("red.onnx").write_bytes(network.encoded())
    said = both("opencl-detect", "--model", "../red.onnx", "--fit", "stretch", "--threshold", ".3",
                "../film.mov")
    found = [[json.loads(line.replace("..\\\\", "../")) for line in text.splitlines()]
             for text in said]
    assert found[0] == found[1] and len(found[0]) == 5 and found[0][0]["objects"], found


def check_batch():
    """Two recordings, each of several parts, by two workers"""
    for n in range(2):
        spectra = np.random.default_rng(n).integers(0, 4096, (8, 16, SAMPLES)).astype("<u2")
        np.save(f"recording{n}.npy", spectra)
    both("oct-process", "--workers", "2", "--task-bytes", "64k", "--output", "processed",
         "../recording0.npy", "../recording1.npy")
    for n in range(2):
        same(f"processed/recording{n}.npy")
    done = of_windows("oct-process", "--to", "tiff", "--output", "tiff", "recording0.npy")
    assert done.returncode == 1 and "pip install tifffile" in done.stderr, done


def check_python():
    """Without a call that sets up GStreamer's wheels before"""
    pathlib.Path("process.py").write_text("""import gstopencl, numpy
numpy.save ("python.npy", gstopencl.process ("recording0.npy"))
assert gstopencl.run ("sqrt (x*x + y*y)", x=[3., 5.], y=[4., 12.]).tolist () == [5, 13]
print (gstopencl.__version__)
""")
    done = of_windows("python", "process.py", folder=SCRIPTS.parent)
    assert done.returncode == 0 and re.fullmatch(r"[0-9.]+\s*", done.stdout), done
    expected = np.load("linux/processed/recording0.npy")
    assert np.array_equal(np.load("python.npy"), expected)


def check_calibration():
    u, place = np.linspace(-1, 1, SAMPLES), np.arange(SAMPLES)
    place = place * (1 + 0.12 * (1 - place / (SAMPLES - 1)))
    for name, depth, side in ("one", 60, 1), ("two", 130, -1):
        bend = side * 5 * (2 * place / (SAMPLES - 1) - 1) ** 2
        np.save(name, np.exp(-1.5 * u**2) * np.cos(2 * np.pi * depth * place / SAMPLES + bend))
    both("oct-calibrate", "--mirror", "../one.npy", "--mirror", "../two.npy")
    for name in "resample-map.npy", "dispersion-phase.npy":
        made = [np.load(f"{folder}/{name}") for folder in ("linux", "windows")]
        assert np.allclose(*made, atol=1e-3), np.abs(made[0] - made[1]).max()
    same("settings.txt")


def check_other_programs():
    for program in "opencl-key", "opencl-detect", "oct-process", "oct-calibrate":
        done = of_windows(program, "--help")
        assert done.returncode == 0 and program in done.stdout, done
        done = of_windows(program, "--no-such-option", "film.mov")
        assert done.returncode == 2 and "no-such-option" in done.stderr, done
    assert "by its name or number" in of_windows("opencl-detect", "--help").stdout
    done = of_windows("opencl-detect", "--camera", "0", "--model", "red.onnx")
    assert done.returncode == 1 and "v4l2" not in done.stderr, done
    done = of_windows("opencl-devices")
    assert done.returncode == 0 and re.search(r"(?m)^0:0 ", done.stdout), done
    done = of_windows("opencl-view")
    assert done.returncode == 1 and "GTK 3" in done.stderr and done.stderr.count("\n") < 2, done


def check_no_driver():
    """Plugins load without OpenCL.dll, and the error says what to install."""
    missing = {"WINEDLLOVERRIDES": f"{os.environ['WINEDLLOVERRIDES']};opencl="}
    for element in "octfft", "chromakey", "openclinference", "openclkernel", "npysink":
        done = of_windows("gst-inspect-1.0", element, **missing)
        assert done.returncode == 0 and "Factory Details" in done.stdout, done
    for program, *words in [("gst-launch-1.0", *SPECTRA.split(), "!", "fakesink"),
                            ("opencl-key", "film.mov", "--output", "none.mov"),
                            ("oct-process", "--output", "none", "recording0.npy")]:
        done = of_windows(program, *words, **missing)
        assert done.returncode != 0 and "brings OpenCL.dll" in done.stderr, (done, done.stderr)


def check_caches():
    """The folder that Windows empties has none of ours."""
    done = of_windows("opencl-devices", "--check", GST_OPENCL_SELF_CHECK="600")
    assert done.returncode == 0, done
    found = [folder.relative_to(DRIVE) for folder in DRIVE.rglob("gst-opencl")]
    assert found and all(folder.parts[-3:-1] == ("AppData", "Local") for folder in found), found


DIM = """
kernel void dim (global const uchar *input, global uchar *output, int stride)
{
  const size_t i = get_global_id (1) * stride + get_global_id (0);
  output[i] = HALF (input[i]);
}
"""
CHECKS = (check_b_scan, check_recording_of_numbers, check_kernel_by_path, check_keyed_film,
          check_network, check_batch, check_python, check_calibration, check_other_programs, check_no_driver,
          check_caches)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in "linux", "windows":
            os.mkdir(name)
        for check in CHECKS:
            print(check.__name__, flush=True)
            try:
                check()
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                os.chdir(folder)
                failed += 1
                print(f"{error}\nFAILED: {check.__name__}", flush=True)
        os.chdir("/")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
