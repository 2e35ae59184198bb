#!/bin/bash
# Shows matting: puts a person in front of any background, by a neural network.
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/keyingoptions.sh"
packages+=(python3-pip) # fetches the network and the photograph

usage () {
  cat <<END
Usage: background.sh [OPTION…] [FILE]

Installs what is missing (Debian 12 and 13), builds, finds the person in the picture or film
FILE, and puts this person over a background. No green screen is needed. Without FILE, takes a
portrait in the public domain (NASA, from scikit-image of PyPI) and writes background.png.

  --camera DEVICE         instead of FILE, such as /dev/video0

$(explain_background)

Network:
  --model FILE            ONNX file of a matting network (default: MediaPipe's selfie
                          segmentation, which tools/fetch-selfie-model.py fetches from PyPI)
  --mean LEVELS           subtracted from red, green and blue, as 0.485,0.456,0.406
  --deviation LEVELS      divides red, green and blue after that
  --output-index NUMBER   output that is the matte (0)
  --channel NUMBER        channel of that output (0)
  --state IN=OUT,…        outputs that are inputs of the next frame (recurrent networks)
  --precision PRECISION   float (default) or half
docs/keying.md has settings for some networks.

$(explain_result)

Examples:
  background.sh --background beach.jpg --output out.png portrait.jpg
  background.sh --camera /dev/video0 --background 203060
END
}

file='' model=''
network=()

while [ $# -gt 0 ]; do
  option=$1
  if take_switch "$option"; then
    shift
    continue
  fi
  case $option in
    --help) usage; exit 0 ;;
    --*) [ $# -ge 2 ] || fail "$option: expected a value (see --help)"; value=$2; shift ;;
  esac
  case $option in
    --model) model=$value ;;
    --mean | --deviation)
      check "$option" "$value" "$number(,$number)*" "numbers with commas between them"
      network+=("${option#--}=<$value>") ;;
    --output-index | --channel)
      check "$option" "$value" "$whole" "a whole number"
      network+=("${option#--}=$value") ;;
    --state) network+=("state=$value") ;;
    --precision)
      check "$option" "$value" "float|half" "float or half"
      network+=("precision=$value") ;;
    *) take_option "$option" "${value-}" ;;
  esac
  shift
done

# fetch_portrait: the path in `file`
fetch_portrait () {
  file=$(PYTHONPATH=$root/tools /usr/bin/python3 -c '
import packages
try:
    print(packages.wheel_folder("scikit-image==0.25.2") + "/skimage/data/astronaut.png")
except packages.Missing as fault:
    raise SystemExit(str(fault))') || fail "no portrait fetched, expected FILE or a connection to PyPI"
}

check_common_options
[ -z "$model" ] || check_file --model "$model"
prepare
choose_model "${model:-selfie}"
[ -n "$file$camera" ] || fetch_portrait
choose_output
if [ -n "$camera" ]; then
  source_of_camera
else
  source_of_file
fi
what_is_behind
keyer=(openclinference output=alpha "model-file=$model" "${network[@]}" ! matterefine)
compose "Finding the person in"
