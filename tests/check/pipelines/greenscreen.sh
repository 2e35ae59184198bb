#!/bin/bash
# Promise: greenscreen.sh shows the foreground, and nothing of the screen, over a background.
#
# Runs it without arguments, and with videos and backgrounds of the test, and checks pixels.
#
# Usage: greenscreen.sh SCRIPT BUILD
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/keyingscript.sh"

# A video of a white square before a screen, and a picture of another size. In YUV, videotestsrc
# of GStreamer 1.26 always makes limited range, whatever range the caps have.
make_input () {
  gst-launch-1.0 -q compositor name=film sink_1::xpos=64 sink_1::ypos=32 \
    ! video/x-raw,format=RGBA ! videoconvert \
    ! video/x-raw,format=I420,colorimetry=1:4:0:0 ! jpegenc quality=95 ! avimux \
    ! filesink location=film.avi \
    videotestsrc num-buffers=5 pattern=solid-color foreground-color=0xff10a030 \
    ! video/x-raw,width=160,height=96 ! film.sink_0 \
    videotestsrc num-buffers=5 pattern=white ! video/x-raw,width=32,height=32 ! film.sink_1
  gst-launch-1.0 -q videotestsrc num-buffers=1 pattern=solid-color \
    foreground-color=0xff2040c0 ! video/x-raw,width=64,height=64 ! pngenc \
    ! filesink location=blue.png
}

make_input
run
run --help
grep -q -- --background log
for method in difference distance; do
  run --method $method --tolerance 0.12 --background 4060a0 --output $method.png
done
run --size 320x180 --background 4060a0 --output half.png
run --background 000000 --output black.png
run --background ffffff --output white.png
run --key 10a030 --background blue.png --output film.webm film.avi
run --pick 155,4 --background blue.png --output film2.avi film.avi
run --background blue.png --before film-before.png --output film.png film.avi
run --size 80x48 --background film.avi --output small.png film.avi
ln -s linked.png link.png
touch linked.png && chmod 640 linked.png
run --background blue.png --output link.png
[ -L link.png ] && [ -s linked.png ] && [ "$(stat -c %a linked.png)" = 640 ]
rm link.png
mkfifo fifo.png
"$script" --output fifo.png >log 2>&1 && exit 1
grep --fixed-strings -- "--output fifo.png: not a regular file" log
[ -p fifo.png ] && rm fifo.png
cp "$(dirname "$script")/../docs/garden.jpg" .
for file in *.png *.jpg *.webm film2.avi; do pixels "$file"; done
python3 "$here/greenscreen.py"

refused "not-there: no such file" not-there
refused "--key green: expected RRGGBB" --key green
refused "for a corner, --pick X,Y" --key top-left
refused "--background sky.jpg: no such file" --background sky.jpg
refused "--background red: no such file, and no colour such as ff0000" --background red
refused "--method best: expected chroma, difference or distance" --method best
refused "--size 10: expected WIDTHxHEIGHT" --size 10
refused "blue.png.rgba is no film or picture" blue.png.rgba
refused "--camera /dev/video0: beside film.avi" --camera /dev/video0 film.avi
