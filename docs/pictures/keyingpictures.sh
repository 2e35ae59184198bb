#!/bin/bash
# Makes the pictures of README.md and of docs/keying.md. --help says how.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
here=$(realpath "$(dirname "$0")")
usage='Usage: keyingpictures.sh [FOLDER [FRAME…]]

Makes the pictures of README.md and of docs/keying.md in FOLDER (docs) from the picture of
greenscreen.sh: keyed, pairs of before and after, and a hard key stage by stage. Also keys each
FRAME, a picture, with the defaults and with a hard key. Installs what is missing, and builds.'
# shellcheck source=docs/pictures/arguments.sh
. "$here/arguments.sh"
frames=()
for frame in "${@:2}"; do
  frames+=("$(realpath "$frame")")
done
cd "${1:-$docs}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$pipelines/greenscreen.sh" --output greenscreen.png

# White to the left of the person, where the glass and the table are
gst-launch-1.0 -q videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xffffffff \
  ! video/x-raw,format=RGBA,width=130,height=360 ! videobox right=-510 fill=black ! pngenc \
  ! filesink location="$work/garbage.png"

# crop FILE: the elements that read the part of it that is shown
crop () {
  crop=(filesrc "location=$1" ! pngdec ! videocrop "left=$left" "top=$top"
    "right=$((640 - left - 190))" "bottom=$((360 - top - 120))" ! pair.)
}

while IFS='|' read -r name left top before after; do
  # shellcheck disable=SC2086
  "$pipelines/greenscreen.sh" --output "$work/before.png" $before
  # shellcheck disable=SC2086
  "$pipelines/greenscreen.sh" --output "$work/after.png" $after
  crop "$work/before.png"
  from=("${crop[@]}")
  crop "$work/after.png"
  gst-launch-1.0 -q compositor name=pair sink_1::xpos=190 ! video/x-raw,format=RGBA \
    ! videoconvert ! video/x-raw,format=RGB ! pngenc ! filesink "location=keying-$name.png" \
    "${from[@]}" "${crop[@]}"
done <<END
markers|440|180|--background ffffff|--background ffffff --similarity 0.2
hair|130|0|--method distance|
spill|440|120|--spill 0|
balance|50|235|--background 6060c0|--background 6060c0 --balance 0.25
grow|440|120|--background ffffff|--background ffffff --grow -1 --feather 1
wrap|200|0||--light-wrap 0.6
garbage|0|180||--garbage $work/garbage.png
END

# Too small for a screen that is lit unevenly, so that the repairs have something to do
hard='--method distance --tolerance 0.15 --limit 0 --spill 0'
while read -r name options; do
  # shellcheck disable=SC2086
  "$pipelines/greenscreen.sh" --size 320x180 --background 6060c0 --output "keying-$name.png" \
    $options
done <<END
  distance $hard --fill 0 --noise 0 --flow 0
  fill $hard --fill 1 --noise 0 --flow 0
  noise $hard --fill 1 --noise 5 --flow 0
  flow $hard --fill 1 --noise 5 --flow 90
  limit $hard --fill 1 --noise 5 --flow 90 --limit 0.37
END

number=0
for frame in "${frames[@]}"; do
  number=$((number + 1))
  "$pipelines/greenscreen.sh" --size 240x150 --background c060c0 \
    --output "keying-frame$number.png" "$frame"
  "$pipelines/greenscreen.sh" --size 240x150 --background c060c0 --method distance \
    --output "keying-frame$number-hard.png" "$frame"
done
