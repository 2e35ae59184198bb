#!/bin/bash
# Makes the pictures of README.md and of docs/keying.md: greenscreen.sh's scene, stage by
# stage; and frames that were filmed, by its defaults and by a hard key.
#
# Usage: keyingpictures.sh [FOLDER [FRAME…]]     (default: docs, and no frames)
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
here=$(realpath "$(dirname "$0")")
frames=()
for frame in "${@:2}"; do
  frames+=("$(realpath "$frame")")
done
cd "${1:-$here/../docs}"

"$here/greenscreen.sh" --size 400x225 --before greenscreen-before.png \
  --output greenscreen.png

# Too small for a screen that is lit unevenly, so that the repairs have something to do
hard='--method distance --tolerance 0.15 --limit 0 --spill 0'
while read -r name options; do
  # shellcheck disable=SC2086
  "$here/greenscreen.sh" --size 320x180 --background 6060c0 --output "keying-$name.png" \
    $options
done <<END
  distance $hard --fill 0 --noise 0 --flow 0
  fill $hard --fill 1 --noise 0 --flow 0
  noise $hard --fill 1 --noise 5 --flow 0
  flow $hard --fill 1 --noise 5 --flow 90
  limit $hard --fill 1 --noise 5 --flow 90 --limit 0.37
  chroma --method chroma --spill 0
  spill --method chroma
END

number=0
for frame in "${frames[@]}"; do
  number=$((number + 1))
  "$here/greenscreen.sh" --size 240x150 --background c060c0 \
    --output "keying-frame$number.png" "$frame"
  "$here/greenscreen.sh" --size 240x150 --background c060c0 --method distance \
    --output "keying-frame$number-hard.png" "$frame"
done
