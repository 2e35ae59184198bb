#!/bin/bash
# Makes the moving picture of README.md. --help says how.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
here=$(realpath "$(dirname "$0")")
usage='Usage: frontpicture.sh [FILE]

Makes the moving picture of README.md (docs/front.webp): the window of live OCT, and below it a
person as filmed and keyed. Installs what is missing, and builds.'
# shellcheck source=docs/pictures/arguments.sh
. "$here/arguments.sh"
picture=$(realpath "${1:-$docs/front.webp}")
# shellcheck source=pipelines/setup.sh
. "$pipelines/setup.sh"
# shellcheck source=pipelines/common.sh
. "$pipelines/common.sh"
packages+=(xvfb xauth webp)
prepare
cd "$(mktemp -d)"
mkdir retina && cd retina # the window shows its name
export frames=32 rate=6 # of the moving picture
width=800 height=532 small=225

# Tissue takes longer to simulate than to show, so the window plays a recording of it, of 20 seconds.
# It fills its screen. It takes 64 B-scans to fill the projection, which is empty when the recording
# begins again: that is before the pictures are taken, and after them.
gst-launch-1.0 -q octtestsrc pattern=tissue b-scans=64 num-buffers=512 \
  ! "video/x-raw,width=1024,height=256" ! npysink location=retina.npy
# shellcheck disable=SC2016  # variables of that bash
xvfb-run --auto-servernum --server-args="-screen 0 1200x800x24" bash -c '
  "$0" --oct --wavelength-range 1187,1433 --wavelength-unit nm --background frame --depth 8,400 \
    --b-scans 64 retina.npy & window=$!
  until [ "$(gst-launch-1.0 -q ximagesrc num-buffers=1 ! videoconvert ! pngenc ! fdsink | wc -c)" \
    -gt 200000 ]; do sleep 2; done
  sleep 25
  gst-launch-1.0 -q ximagesrc num-buffers=$frames use-damage=false show-pointer=false \
    ! video/x-raw,framerate=$rate/1 ! videoconvert ! video/x-raw,format=RGB \
    ! filesink location=window.raw
  kill $window && wait $window || true' "$build/tools/opencl-view"

# scaled WIDTH HEIGHT: elements that make a picture that large
scaled () {
  scaled=(pngdec ! videoconvert ! videoscale method=lanczos ! "video/x-raw,width=$1,height=$2")
}

# still FILE: elements that show a picture below
still () {
  scaled $((width / 2)) $small
  still=(filesrc "location=$1" ! "${scaled[@]}" ! imagefreeze "num-buffers=$frames"
    ! "video/x-raw,framerate=$rate/1" ! front.)
}
still "$docs/greenscreen-before.png"
filmed=("${still[@]}")
still "$docs/greenscreen.png"
scaled $width $height
gst-launch-1.0 -q compositor name=front sink_1::ypos=$height sink_2::ypos=$height \
  sink_2::xpos=$((width / 2)) ! videoconvert ! pngenc ! multifilesink location=front-%02d.png \
  filesrc location=window.raw ! rawvideoparse format=rgb width=1200 height=800 framerate=$rate/1 \
  ! "${scaled[@]:2}" ! front. "${filmed[@]}" "${still[@]}"
img2webp -loop 0 -lossy -q 55 -m 6 -d $((1000 / rate)) front-*.png -o "$picture"
rm -r "${PWD%/retina}"
ls -l "$picture"
