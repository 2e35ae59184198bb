#!/bin/bash
# Draws boxes and labels around what a network finds: faces, or with your own network anything.
#
# Usage: detect.sh [OPTION…] [FILE]
#
# FILE is a film or a picture (default: the camera).
#
#   --network NAME          faces (default) or hands: networks of MediaPipe, which are fetched
#                           from PyPI
#   --overlap NUMBER        largest intersection over union of two boxes, 0 to 1
#   --letterbox-color COLOR borders of frames of another shape, 0xAARRGGBB (default: black; with
#                           --model the grey 114 of YOLO)
#
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
name=detected
names='model labels method threshold overlap fit mean deviation colors precision output network letterbox-color'
source "$(dirname "$0")/recognition.sh"

read_options "$@"
check_option network 'faces|hands' 'faces or hands'
check_options
if [ -z "${option[model]-}" ]; then
  packages+=(python3-pip) # fetches the network
  hands=()
  [ "${option[network]-}" != hands ] || hands=(--hands)
  [ "${#hands[@]}" -gt 0 ] || option[mean]=0.5 option[deviation]=0.5
  prepare
  option[model]=$("$root/tools/fetch-detection-model.py" "${hands[@]}") || exit 1
  option[threshold]=${option[threshold]:-0.5} option[overlap]=${option[overlap]:-0.3}
else
  prepare
  option[letterbox-color]=${option[letterbox-color]:-0xff727272}
fi
option[fit]=${option[fit]:-letterbox}
recognize
