"""Encoders and muxers of films, as constant launch text

SPDX-License-Identifier: LGPL-2.1-or-later
"""
from .gst import Gst

# Encoders, with their settings. The first that is installed is used.
X264 = ("x264enc", "speed-preset=veryfast pass=quant quantizer=20 key-int-max=50 ! h264parse")
OPENH264 = ("openh264enc", "name=h264 rate-control=bitrate bitrate=8000000 ! h264parse")
VP8 = (("vp8enc", "deadline=1 cpu-used=8 target-bitrate=8000000 keyframe-max-dist=50"),)
OPUS = (("opusenc", ""), ("vorbisenc", ""))
AAC = (("avenc_aac", ""), ("fdkaacenc", ""), ("voaacenc", ""))
PCM = (("capsfilter", "caps=audio/x-raw,format=S16LE"),)
PNG, JPEG, FFV1 = (("pngenc", ""),), (("jpegenc", ""),), (("avenc_ffv1", ""),)
PACKAGES = {"openh264enc": "gstreamer1.0-plugins-bad", "avenc_ffv1": "gstreamer1.0-libav"}
# By the end of a file's name: caps before the encoder, muxer, encoders of video and of sound.
# I420 is what all players show. JPEG has levels of full range, which jpegenc does not ask for. AVI has no times of frames, so compositor repeats
# those of uneven times; videorate would show the nearest one.
FILMS = {
    ".mp4": ("video/x-raw,format=I420", "mp4mux", (OPENH264, X264), AAC),
    ".webm": ("video/x-raw", "webmmux", VP8, OPUS),
    ".mkv": ("video/x-raw", "matroskamux", VP8, OPUS),
    ".mov": ("video/x-raw", "qtmux", PNG, PCM),
    ".avi": ("compositor ! video/x-raw,format=I420,colorimetry=1:4:0:0", "avimux", JPEG, PCM),
}
FILMS_OF_ALPHA = {
    ".mov": FILMS[".mov"],
    ".mkv": ("video/x-raw,format=BGRA", "matroskamux", FFV1, OPUS),
}
# Encoders of gray in 16 bits and muxer, by the end of the name of a matte's file
MATTES = {".png": (PNG, ""), ".mov": (PNG, "! qtmux"), ".mkv": (FFV1, "! matroskamux")}


def installed(elements, name):
    """Returns the launch text of the first element that is installed. Raises ValueError.

    name: of the file, for the reason"""
    for element, settings in elements:
        if Gst.ElementFactory.find(element):
            return f"{element} {settings}"
    names = ", ".join(f"{element} (package {PACKAGES[element]} of Debian)" if element in PACKAGES
                      else element for element, _ in elements)
    raise ValueError(f"{name}: none of these encoders is installed: {names}")
