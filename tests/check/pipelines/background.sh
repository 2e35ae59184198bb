#!/bin/bash
# Promise: background.sh shows the person that a network finds, over a background.
#
# With a small network of the test, whose matte is the red channel, it checks pixels. With "selfie"
# it runs without arguments, if the network and the portrait are in the user's cache.
#
# Usage: background.sh SCRIPT BUILD [selfie]
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/keyingscript.sh"
tools=$(realpath "$(dirname "$script")/../tools")

# made NAME COLOUR FRAMES ENCODER…: writes frames of one colour
made () {
  gst-launch-1.0 -q videotestsrc "num-buffers=$3" pattern=solid-color \
    "foreground-color=0xff$2" ! video/x-raw,format=RGBA,width=160,height=96 ! videoconvert \
    ! "${@:4}" ! filesink "location=$1"
}

# shows FILE: decodes its first frame, and checks that the pixel at its centre is near RRGGBB
shows () {
  pixels "$1"
  /usr/bin/python3 "$here/background.py" "$1.rgba" "$2" "$3"
}

if [ "${3-}" = selfie ]; then
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/gst-opencl/models
  for name in mediapipe/selfie_segmentation.onnx wheels/scikit-image; do
    compgen -G "$cache/$name*" >/dev/null || { echo "NOT CHECKED: no $name in the cache"; exit 0; }
  done
  run --background 00ff00
  grep --quiet "License: Apache-2.0" log
  shows background.png 512x512 portrait
  exit
fi

PYTHONPATH=$tools /usr/bin/python3 - <<'END'
import numpy as np
import onnxwriter
network = onnxwriter.Network("red")
network.input("frame", (1, 3, 8, 8))
network.output("other", (1, 3, 8, 8))
network.output("matte", (1, 1, 8, 8))
network.add("Add", "frame", np.float32([0]), output="other")
network.add("Conv", "frame", np.float32([1, 0, 0]).reshape(1, 3, 1, 1), output="matte")
with open("red.onnx", "wb") as file:
    file.write(network.encoded())
END
red=(--model red.onnx --output-index 1)
made red.png ff4080 1 pngenc
made green.png 00c040 1 pngenc
made film.avi ff4080 5 video/x-raw,format=I420,colorimetry=1:4:0:0 ! jpegenc quality=95 ! avimux

run --help-all
grep -q -- --model log
run "${red[@]}" --background 2040c0 red.png
grep --quiet "License of red.onnx: unknown" log
shows background.png 160x96 ff4080
run "${red[@]}" --background 2040c0 --output nobody.png green.png
shows nobody.png 160x96 2040c0
run "${red[@]}" --background green.png --output half.png --deviation 2 red.png
shows half.png 160x96 808260
run "${red[@]}" --background 2040c0 --mean 1,0,0 --size 80x48 --output none.png red.png
shows none.png 80x48 2040c0
run --model red.onnx --output-index 0 --channel 2 --background ffffff --output blue.png red.png
shows blue.png 160x96 ff9cbc
run "${red[@]}" --background red.png --output film.webm film.avi
shows film.webm 160x96 ff4080
run "${red[@]}" --background red.png --output film.mp4 film.avi
shows film.mp4 160x96 ff4080
touch LICENSE
run "${red[@]}" --precision half --output license.png red.png
grep --quiet "License of red.onnx: ./LICENSE" log
crafted='x" ! filesink location=pwned filesrc location=red.png name="'
cp red.onnx "$crafted"
run --model "$crafted" --output-index 1 --background red.png --output named.png red.png
"$script" "${red[@]}" --state "$crafted" --output named.png red.png >log 2>&1 && { cat log; exit 1; }
[ ! -e pwned ]

refused "not-there: no such file" not-there
refused "--model none.onnx: no such file" --model none.onnx
refused "--mean red: expected numbers" --mean red
refused "--precision double: expected float or half" --precision double
refused "--background sky.jpg: no such file" --background sky.jpg
refused "--camera /dev/video0: beside film.avi" --camera /dev/video0 film.avi
